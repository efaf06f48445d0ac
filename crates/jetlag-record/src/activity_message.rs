//! Batches of activities, their names and their trace as CDR messages, both ways.
//!
//! A batch is stored by columns: most of them hardly change from one activity to the next, and a compressed chunk of columns
//! is a third of one of rows. What an activity is stands in `kind`; which columns say more is in msg/Activities.msg.

use crate::activity::{
    Activity, ActivityBatch, Definition, Direction, Interface, Launch, MemoryKind, OnStream, Owner,
    TraceRecord, TracedDevice, WaitKind, Work,
};
use crate::cdr::{CdrError, Decoder, Encoder};
use crate::common_fields::{phase, skip_time, time};
use crate::phase::Phase;
use crate::units::{Nanos, Stamp};

/// No [`Definition`] has this number.
const NO_NAME: u32 = u32::MAX;
const NO_TENANT: u16 = u16::MAX;
const NO_FRAME: i64 = -1;
/// In a trace's `phase`: it belongs to none.
const NO_PHASE: u8 = u8::MAX;

const KERNEL: u8 = 1;
const COPY: u8 = 2;
const FILL: u8 = 3;
const GRAPH: u8 = 4;
const CALL: u8 = 5;
const WAIT: u8 = 6;
const EVENT: u8 = 7;
const RANGE: u8 = 8;
const OVERHEAD: u8 = 9;
const SLICE: u8 = 10;

/// What an activity's columns hold beside times and owner; 0 where its kind has no use for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Row {
    kind: u8,
    on: OnStream,
    thread: u32,
    correlation: u32,
    graph: u32,
    value: u64,
    detail: u8,
    source: u8,
    destination: u8,
}

fn row(work: &Work) -> Row {
    let none = Row::default();
    match *work {
        Work::Kernel {
            on,
            correlation,
            graph,
        } => Row {
            kind: KERNEL,
            on,
            correlation,
            graph,
            ..none
        },
        Work::Copy {
            on,
            correlation,
            graph,
            direction,
            source,
            destination,
            bytes,
        } => Row {
            kind: COPY,
            on,
            correlation,
            graph,
            value: bytes,
            detail: direction as u8,
            source: source as u8,
            destination: destination as u8,
            ..none
        },
        Work::Fill {
            on,
            correlation,
            graph,
            memory,
            bytes,
        } => Row {
            kind: FILL,
            on,
            correlation,
            graph,
            value: bytes,
            detail: memory as u8,
            ..none
        },
        Work::Graph {
            on,
            correlation,
            graph,
        } => Row {
            kind: GRAPH,
            on,
            correlation,
            graph,
            ..none
        },
        Work::Call {
            thread,
            correlation,
            interface,
        } => Row {
            kind: CALL,
            thread,
            correlation,
            detail: interface as u8,
            ..none
        },
        Work::Wait {
            on,
            correlation,
            how,
            event,
        } => Row {
            kind: WAIT,
            on,
            correlation,
            value: event,
            detail: how as u8,
            ..none
        },
        Work::Event {
            on,
            correlation,
            event,
        } => Row {
            kind: EVENT,
            on,
            correlation,
            value: event,
            ..none
        },
        Work::Range {
            thread,
            domain,
            payload,
        } => Row {
            kind: RANGE,
            thread,
            graph: domain.map_or(0, |domain| domain.wrapping_add(1)),
            value: payload.unwrap_or(0) as u64,
            detail: u8::from(payload.is_some()),
            ..none
        },
        Work::Overhead { thread } => Row {
            kind: OVERHEAD,
            thread,
            ..none
        },
        Work::Slice { device, process } => Row {
            kind: SLICE,
            on: OnStream { device, ..none.on },
            thread: process,
            ..none
        },
    }
}

/// The work of a row; `None` for a kind that a newer version added.
fn work(row: Row) -> Option<Work> {
    let Row {
        kind,
        on,
        thread,
        correlation,
        graph,
        value,
        detail,
        source,
        destination,
    } = row;
    Some(match kind {
        KERNEL => Work::Kernel {
            on,
            correlation,
            graph,
        },
        COPY => Work::Copy {
            on,
            correlation,
            graph,
            direction: Direction::of_number(detail),
            source: MemoryKind::of_number(source),
            destination: MemoryKind::of_number(destination),
            bytes: value,
        },
        FILL => Work::Fill {
            on,
            correlation,
            graph,
            memory: MemoryKind::of_number(detail),
            bytes: value,
        },
        GRAPH => Work::Graph {
            on,
            correlation,
            graph,
        },
        CALL => Work::Call {
            thread,
            correlation,
            interface: Interface::of_number(detail),
        },
        WAIT => Work::Wait {
            on,
            correlation,
            how: WaitKind::of_number(detail),
            event: value,
        },
        EVENT => Work::Event {
            on,
            correlation,
            event: value,
        },
        RANGE => Work::Range {
            thread,
            domain: graph.checked_sub(1),
            payload: (detail != 0).then_some(value as i64),
        },
        OVERHEAD => Work::Overhead { thread },
        SLICE => Work::Slice {
            device: on.device,
            process: thread,
        },
        _ => return None,
    })
}

fn number(phase: Phase) -> u16 {
    match phase {
        Phase::Other(number) => number,
        _ => 0,
    }
}

fn with_number(phase: Phase, number: u16) -> Phase {
    match phase {
        Phase::Other(_) => Phase::Other(number),
        named => named,
    }
}

pub(super) fn encode_batch(out: &mut Vec<u8>, unix_ns: u64, base: Stamp, batch: &ActivityBatch) {
    let mut e = Encoder::new(out);
    time(&mut e, unix_ns);
    e.i64(base.0);
    e.u32(batch.process);
    e.u8(batch.phase.code());
    e.u16(number(batch.phase));
    let all = &batch.activities;
    macro_rules! column {
        ($put:ident, $value:expr) => {
            e.len(all.len());
            for activity in all {
                e.$put($value(activity));
            }
        };
    }
    let of = |activity: &Activity| row(&activity.work);
    column!(u8, |a| of(a).kind);
    column!(i64, |a: &Activity| a.from.0.wrapping_sub(base.0));
    column!(i64, |a: &Activity| a.to.0.wrapping_sub(a.from.0));
    column!(u32, |a: &Activity| a.name.unwrap_or(NO_NAME));
    column!(u32, |a: &Activity| a.owner.layer.unwrap_or(NO_NAME));
    column!(u16, |a: &Activity| a.owner.tenant.unwrap_or(NO_TENANT));
    column!(i64, |a: &Activity| a
        .owner
        .frame
        .map_or(NO_FRAME, |frame| i64::try_from(frame).unwrap_or(NO_FRAME)));
    column!(u16, |a| of(a).on.device);
    column!(u32, |a| of(a).on.context);
    column!(u32, |a| of(a).on.stream);
    column!(u32, |a| of(a).thread);
    column!(u32, |a| of(a).correlation);
    column!(u32, |a| of(a).graph);
    column!(u64, |a| of(a).value);
    column!(u8, |a| of(a).detail);
    column!(u8, |a| of(a).source);
    column!(u8, |a| of(a).destination);
}

/// The next column, which is as long as the first.
fn column<'a, T>(
    d: &mut Decoder<'a>,
    wanted: usize,
    mut read: impl FnMut(&mut Decoder<'a>) -> Result<T, CdrError>,
) -> Result<Vec<T>, CdrError> {
    let length = d.len()?;
    if length != wanted {
        return Err(CdrError::UnknownValue {
            field: "length of a column",
            value: length as u64,
        });
    }
    // No more than the message has bytes, since every element has one at least.
    let mut column = Vec::with_capacity(length);
    for _ in 0..length {
        column.push(read(d)?);
    }
    Ok(column)
}

pub(super) fn decode_batch(data: &[u8]) -> Result<ActivityBatch, CdrError> {
    let mut d = Decoder::new(data)?;
    skip_time(&mut d)?;
    let base = d.i64()?;
    let process = d.u32()?;
    let of_phase = phase(d.u8()?)?;
    let of_phase = with_number(of_phase, d.u16()?);
    let count = d.len()?;
    let d = &mut d;
    let mut kind = Vec::with_capacity(count);
    for _ in 0..count {
        kind.push(d.u8()?);
    }
    let from = column(d, count, Decoder::i64)?;
    let duration = column(d, count, Decoder::i64)?;
    let name = column(d, count, Decoder::u32)?;
    let layer = column(d, count, Decoder::u32)?;
    let tenant = column(d, count, Decoder::u16)?;
    let frame = column(d, count, Decoder::i64)?;
    let device = column(d, count, Decoder::u16)?;
    let context = column(d, count, Decoder::u32)?;
    let stream = column(d, count, Decoder::u32)?;
    let thread = column(d, count, Decoder::u32)?;
    let correlation = column(d, count, Decoder::u32)?;
    let graph = column(d, count, Decoder::u32)?;
    let value = column(d, count, Decoder::u64)?;
    let detail = column(d, count, Decoder::u8)?;
    let source = column(d, count, Decoder::u8)?;
    let destination = column(d, count, Decoder::u8)?;
    let named = |number: u32| (number != NO_NAME).then_some(number);
    let activities = (0..count).filter_map(|at| {
        let from = Stamp(base.wrapping_add(from[at]));
        Some(Activity {
            from,
            to: Stamp(from.0.wrapping_add(duration[at])),
            name: named(name[at]),
            owner: Owner {
                tenant: (tenant[at] != NO_TENANT).then_some(tenant[at]),
                frame: u64::try_from(frame[at]).ok(),
                layer: named(layer[at]),
            },
            work: work(Row {
                kind: kind[at],
                on: OnStream {
                    device: device[at],
                    context: context[at],
                    stream: stream[at],
                },
                thread: thread[at],
                correlation: correlation[at],
                graph: graph[at],
                value: value[at],
                detail: detail[at],
                source: source[at],
                destination: destination[at],
            })?,
        })
    });
    Ok(ActivityBatch {
        phase: of_phase,
        process,
        activities: activities.collect(),
    })
}

pub(super) fn encode_definition(out: &mut Vec<u8>, unix_ns: u64, definition: &Definition) {
    let mut e = Encoder::new(out);
    time(&mut e, unix_ns);
    e.u32(definition.number);
    e.str(&definition.text);
    e.len(usize::from(definition.launch.is_some()));
    if let Some(launch) = definition.launch {
        for direction in [launch.grid, launch.block, launch.cluster].concat() {
            e.u32(direction);
        }
        e.u32(launch.registers);
        e.u32(launch.static_shared_bytes);
        e.u32(launch.dynamic_shared_bytes);
        e.u32(launch.local_bytes);
    }
}

pub(super) fn decode_definition(data: &[u8]) -> Result<Definition, CdrError> {
    let mut d = Decoder::new(data)?;
    skip_time(&mut d)?;
    let number = d.u32()?;
    let text = d.str()?.to_owned();
    let launch = match d.len()? {
        0 => None,
        1 => Some(decode_launch(&mut d)?),
        more => {
            return Err(CdrError::UnknownValue {
                field: "launches of one name",
                value: more as u64,
            });
        }
    };
    Ok(Definition { number, text, launch })
}

fn decode_launch(d: &mut Decoder<'_>) -> Result<Launch, CdrError> {
    let mut three = || Ok([d.u32()?, d.u32()?, d.u32()?]);
    let (grid, block, cluster) = (three()?, three()?, three()?);
    Ok(Launch {
        grid,
        block,
        cluster,
        registers: d.u32()?,
        static_shared_bytes: d.u32()?,
        dynamic_shared_bytes: d.u32()?,
        local_bytes: d.u32()?,
    })
}

pub(super) fn encode_trace(out: &mut Vec<u8>, unix_ns: u64, r: &TraceRecord) {
    let mut e = Encoder::new(out);
    time(&mut e, unix_ns);
    e.i64(r.from.0);
    e.i64(r.to.0);
    e.i64(r.clock_residual.0);
    e.u64(r.activities);
    e.u64(r.dropped);
    e.u64(r.lost_stamps);
    e.u64(r.not_kept);
    e.u32(r.process);
    e.u16(r.phase.map_or(0, number));
    e.u8(r.phase.map_or(NO_PHASE, Phase::code));
    e.bool(r.graph_nodes);
    e.bool(r.calls);
    e.str(&r.tracer);
    e.len(r.notes.len());
    r.notes.iter().for_each(|note| e.str(note));
    e.len(r.devices.len());
    for device in &r.devices {
        for number in [
            device.capability,
            device.multiprocessors,
            device.most_warps,
            device.most_blocks,
            device.registers,
            device.shared_bytes,
            device.warp_threads,
        ] {
            e.u32(number);
        }
        e.u16(device.device);
        e.str(&device.name);
    }
    e.u32(r.calls_left_out);
}

pub(super) fn decode_trace(data: &[u8]) -> Result<TraceRecord, CdrError> {
    let mut d = Decoder::new(data)?;
    skip_time(&mut d)?;
    let mut record = TraceRecord {
        from: Stamp(d.i64()?),
        to: Stamp(d.i64()?),
        clock_residual: Nanos(d.i64()?),
        activities: d.u64()?,
        dropped: d.u64()?,
        lost_stamps: d.u64()?,
        not_kept: d.u64()?,
        process: d.u32()?,
        ..TraceRecord::default()
    };
    let number = d.u16()?;
    record.phase = match d.u8()? {
        NO_PHASE => None,
        code => Some(with_number(phase(code)?, number)),
    };
    record.graph_nodes = d.bool()?;
    record.calls = d.bool()?;
    record.tracer = d.str()?.to_owned();
    let notes = d.len()?;
    for _ in 0..notes {
        record.notes.push(d.str()?.to_owned());
    }
    let devices = d.len()?;
    for _ in 0..devices {
        record.devices.push(TracedDevice {
            capability: d.u32()?,
            multiprocessors: d.u32()?,
            most_warps: d.u32()?,
            most_blocks: d.u32()?,
            registers: d.u32()?,
            shared_bytes: d.u32()?,
            warp_threads: d.u32()?,
            device: d.u16()?,
            name: d.str()?.to_owned(),
        });
    }
    record.calls_left_out = d.u32()?;
    Ok(record)
}

#[cfg(test)]
mod tests;
