//! Time slices: the GPU switches between the contexts that use it, and tells when it changed to each and from it.
//!
//! Pairs what CUPTI tells, says whose a slice was, and places it by the kernels ([`super::place`]).

use std::collections::HashMap;

use cupti_dyn::{Kind, Session, record};
use jetlag_record::TracedSlices;
use jetlag_record::activity::Work;
use jetlag_record::units::{Nanos, Stamp};

use super::gather::{Gathered, Raw};
use super::place::{self, Placed};

/// The first release that tells them, 13.1.
const FIRST: u32 = 130_100;

/// Has switches between contexts recorded where the release can; whether it does.
pub fn tell_slices(session: &mut Session) -> bool {
    const KIND: Kind = Kind::COMPUTE_ENGINE_CTX_SWITCH;
    if session.library().version().number < FIRST {
        return false;
    }
    // A trace without slices is better than none.
    if let Err(error) = session.enable(&[KIND]) {
        log::debug!("time slices are not traced: {error}");
    }
    session.enabled().contains(&KIND)
}

/// Switches that have come, by context those that the device has not left.
#[derive(Debug, Default)]
pub(crate) struct Switches {
    news: Vec<record::ContextSwitch>,
    open: HashMap<u32, u64>,
}

/// A context had the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    pub(crate) context: u32,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// What switches gave.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Paired {
    pub(crate) slices: Vec<Slice>,
    /// Begins without an end, and the other way round.
    pub(crate) unpaired: u64,
}

impl Switches {
    pub(crate) fn take(&mut self, switch: &record::ContextSwitch) {
        self.news.push(switch.clone());
    }

    /// Pairs what came since; `at_end` counts what is still open.
    pub(crate) fn pair(&mut self, at_end: bool) -> Paired {
        let mut paired = Paired::default();
        // The device leaves a context before it takes it again.
        self.news
            .sort_by_key(|switch| (switch.timestamp, switch.is_in() == Some(true)));
        for switch in self.news.drain(..) {
            let (context, at) = (switch.context, switch.timestamp);
            match switch.is_in() {
                Some(true) => paired.unpaired += u64::from(self.open.insert(context, at).is_some()),
                Some(false) => match self.open.remove(&context).filter(|from| *from <= at) {
                    Some(from) => paired.slices.push(Slice {
                        context,
                        from,
                        to: at,
                    }),
                    None => paired.unpaired += 1,
                },
                None => paired.unpaired += 1,
            }
        }
        if at_end {
            paired.unpaired += self.open.len() as u64;
            self.open.clear();
        }
        paired
    }
}

/// Gives slices the tenant whose kernels alone ran in their context, and their places.
pub(crate) fn settle(gathered: &mut Gathered) {
    let Some(mut told) = gathered.slices else {
        return;
    };
    by_context(&mut gathered.all);
    let (mut moved, mut slices) = (0i128, 0i128);
    let mut devices: Vec<u16> = gathered.all.iter().filter_map(device).collect();
    devices.sort_unstable();
    devices.dedup();
    (told.stamps, told.inside, told.within) = (0, 0, Nanos(0));
    for of in devices {
        let own = |raw: &Raw| match raw.activity.work {
            Work::Slice { device, .. } => device == of,
            _ => false,
        };
        let mut spans: Vec<(i64, i64)> = gathered.all.iter().filter(|raw| own(raw)).map(span).collect();
        spans.sort_unstable();
        let kernels = gathered.all.iter().filter(|raw| match raw.activity.work {
            Work::Kernel { on, .. } => on.device == of,
            _ => false,
        });
        let mut stamps: Vec<i64> = kernels.map(span).flat_map(|(from, to)| [from, to]).collect();
        stamps.sort_unstable();
        let Some(Placed {
            offsets,
            within,
            inside,
            stamps,
        }) = place::place(&spans, &stamps)
        else {
            continue;
        };
        told.stamps += stamps;
        told.inside += inside;
        told.within = told.within.max(Nanos(within));
        for raw in gathered.all.iter_mut().filter(|raw| own(raw)) {
            let offset = offsets.at(raw.activity.from.0);
            for stamp in [&mut raw.activity.from, &mut raw.activity.to] {
                *stamp = Stamp(stamp.0.saturating_add(offset));
            }
            moved += i128::from(offset);
            slices += 1;
        }
    }
    told.moved = Nanos(i64::try_from(moved / slices.max(1)).unwrap_or(0));
    name(gathered, &told);
    gathered.slices = Some(told);
}

/// A slice is called by how certain its place is.
fn name(gathered: &mut Gathered, told: &TracedSlices) {
    let text = match told.are_placed() {
        true => format!("time slice, placed within {}", told.within),
        false => "time slice, place unknown".to_owned(),
    };
    let name = gathered.names.number(&text.into(), None);
    for raw in &mut gathered.all {
        if device(raw).is_some() {
            raw.activity.name = name;
        }
    }
}

fn span(raw: &Raw) -> (i64, i64) {
    (raw.activity.from.0, raw.activity.to.0)
}

/// The device of a slice.
fn device(raw: &Raw) -> Option<u16> {
    match raw.activity.work {
        Work::Slice { device, .. } => Some(device),
        _ => None,
    }
}

/// A slice of a context that one tenant alone had work in is that tenant's.
fn by_context(all: &mut [Raw]) {
    let mut tenants: HashMap<(u16, u64), Option<u16>> = HashMap::new();
    for raw in all.iter() {
        if let (Some(on), Some(tenant)) = (raw.activity.work.on_device(), raw.activity.owner.tenant) {
            let seen = tenants
                .entry((on.device, on.context.into()))
                .or_insert(Some(tenant));
            if *seen != Some(tenant) {
                *seen = None;
            }
        }
    }
    for raw in all {
        if let Some(device) = device(raw) {
            raw.activity.owner.tenant = tenants.get(&(device, raw.node)).copied().flatten();
        }
    }
}

#[cfg(test)]
mod tests;
