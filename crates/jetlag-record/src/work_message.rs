//! The static work of a node as a CDR message, both ways, as msg/Work.msg has it.

use crate::cdr::{CdrError, Decoder, Encoder};
use crate::common_fields::{skip_time, time};
use crate::work::{MovedTensor, Sureness, WorkRecord};

/// "Not known" in a field of whole numbers.
const NOT_KNOWN: i64 = -1;

pub(super) fn encode(out: &mut Vec<u8>, unix_ns: u64, r: &WorkRecord) {
    let mut e = Encoder::new(out);
    let or_not =
        |count: Option<u64>| count.map_or(NOT_KNOWN, |count| i64::try_from(count).unwrap_or(i64::MAX));
    time(&mut e, unix_ns);
    e.i64(or_not(r.flops));
    e.i64(or_not(r.macs));
    e.i64(or_not(r.bytes_read));
    e.i64(or_not(r.bytes_written));
    e.u64(r.params);
    e.u64(r.times);
    e.u32(r.node);
    e.u16(r.tenant);
    e.u16(r.network);
    e.u8(r.sureness as u8);
    e.bool(r.at_load);
    e.str(&r.name);
    e.str(&r.operator);
    e.str(&r.element);
    e.str(r.input_shape.as_deref().unwrap_or_default());
    e.str(r.output_shape.as_deref().unwrap_or_default());
    e.str(&r.why);
    for moved in [&r.reads, &r.writes] {
        e.len(moved.len());
        moved.iter().for_each(|one| e.u32(one.tensor));
        e.len(moved.len());
        moved.iter().for_each(|one| e.u64(one.bytes));
    }
    e.len(r.writes.len());
    r.writes.iter().for_each(|one| e.bool(one.leaves));
}

pub(super) fn decode(data: &[u8]) -> Result<WorkRecord, CdrError> {
    let mut d = Decoder::new(data)?;
    skip_time(&mut d)?;
    let mut record = WorkRecord {
        flops: u64::try_from(d.i64()?).ok(),
        macs: u64::try_from(d.i64()?).ok(),
        bytes_read: u64::try_from(d.i64()?).ok(),
        bytes_written: u64::try_from(d.i64()?).ok(),
        params: d.u64()?,
        times: d.u64()?,
        node: d.u32()?,
        tenant: d.u16()?,
        network: d.u16()?,
        sureness: match d.u8()? {
            0 => Sureness::Exact,
            1 => Sureness::UpperBound,
            // What a newer version may tell apart is not known here.
            _ => Sureness::Unknown,
        },
        at_load: d.bool()?,
        name: d.str()?.to_owned(),
        operator: d.str()?.to_owned(),
        element: d.str()?.to_owned(),
        input_shape: Some(d.str()?.to_owned()).filter(|shape| !shape.is_empty()),
        output_shape: Some(d.str()?.to_owned()).filter(|shape| !shape.is_empty()),
        why: d.str()?.to_owned(),
        reads: moved(&mut d)?,
        writes: moved(&mut d)?,
    };
    let leaves = d.len()?;
    if leaves != record.writes.len() {
        return Err(columns(leaves));
    }
    for one in &mut record.writes {
        one.leaves = d.bool()?;
    }
    Ok(record)
}

fn moved(d: &mut Decoder<'_>) -> Result<Vec<MovedTensor>, CdrError> {
    let count = d.len()?;
    // A count is believed for as much memory as a node needs; a larger one has to prove itself.
    let mut all = Vec::with_capacity(count.min(64));
    for _ in 0..count {
        all.push(MovedTensor {
            tensor: d.u32()?,
            bytes: 0,
            leaves: false,
        });
    }
    let sizes = d.len()?;
    if sizes != all.len() {
        return Err(columns(sizes));
    }
    for one in &mut all {
        one.bytes = d.u64()?;
    }
    Ok(all)
}

fn columns(found: usize) -> CdrError {
    CdrError::UnknownValue {
        field: "tensors that a node moves",
        value: found as u64,
    }
}
