//! What became of an output of a bare network, as a record and as the CDR message that msg/Output.msg has.

use crate::cdr::{CdrError, Decoder, Encoder};
use crate::common_fields::{skip_time, time};

/// One output of a tenant's network after the last frame of the run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutputRecord {
    /// Position of the tenant in the scenario.
    pub tenant: u16,
    /// Its name in the network.
    pub name: String,
    /// Type of its elements: `f32`.
    pub element: String,
    /// Its extents: `1x1000`; empty for a single number.
    pub shape: String,
    /// How many elements it has.
    pub elements: u64,
    /// How many of them are NaN.
    pub not_numbers: u64,
    /// How it compares with its reference; `None` where it was not compared.
    pub compared: Option<Compared>,
    /// The file that it was written to.
    pub kept: Option<String>,
    /// Why it was not compared, or not kept, a sentence.
    pub problem: Option<String>,
}

/// An output beside its reference.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Compared {
    /// Elements that are further from the reference than the tolerances allow, or NaN on either side.
    pub differing: u64,
    /// Largest finite distance; `None` where no element has one.
    pub largest_absolute: Option<f64>,
    /// The same over the reference's magnitude, of elements whose reference is not zero.
    pub largest_relative: Option<f64>,
}

impl OutputRecord {
    /// Whether it was compared and is as its reference.
    pub fn is_within(&self) -> bool {
        self.problem.is_none() && self.compared.is_some_and(|compared| compared.differing == 0)
    }
}

pub(super) fn encode(out: &mut Vec<u8>, unix_ns: u64, r: &OutputRecord) {
    let mut e = Encoder::new(out);
    time(&mut e, unix_ns);
    e.u64(r.elements);
    e.u64(r.not_numbers);
    let differing = r.compared.map(|compared| compared.differing);
    e.i64(differing.map_or(-1, |count| i64::try_from(count).unwrap_or(i64::MAX)));
    let largest = |of: fn(Compared) -> Option<f64>| r.compared.and_then(of).unwrap_or(f64::NAN);
    e.f64(largest(|compared| compared.largest_absolute));
    e.f64(largest(|compared| compared.largest_relative));
    e.u16(r.tenant);
    for text in [&r.name, &r.element, &r.shape] {
        e.str(text);
    }
    e.str(r.kept.as_deref().unwrap_or_default());
    e.str(r.problem.as_deref().unwrap_or_default());
}

pub(super) fn decode(data: &[u8]) -> Result<OutputRecord, CdrError> {
    let mut d = Decoder::new(data)?;
    skip_time(&mut d)?;
    let (elements, not_numbers) = (d.u64()?, d.u64()?);
    let differing = u64::try_from(d.i64()?).ok();
    let known = |value: f64| Some(value).filter(|value| value.is_finite());
    let (largest_absolute, largest_relative) = (known(d.f64()?), known(d.f64()?));
    let tenant = d.u16()?;
    let mut text = || d.str().map(str::to_owned);
    let (name, element, shape) = (text()?, text()?, text()?);
    let given = |text: String| Some(text).filter(|text| !text.is_empty());
    Ok(OutputRecord {
        tenant,
        name,
        element,
        shape,
        elements,
        not_numbers,
        compared: differing.map(|differing| Compared {
            differing,
            largest_absolute,
            largest_relative,
        }),
        kept: given(text()?),
        problem: given(text()?),
    })
}
