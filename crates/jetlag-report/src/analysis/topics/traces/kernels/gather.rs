//! A traced phase put in order for the figures: each measured frame with everything of its own, the work on each GPU in
//! the order of its begin, and what belongs to no frame.

use std::collections::{BTreeMap, HashMap};

use crate::analysis::gathering::traced::{Traced, TracedPhase};
use crate::record::activity::{Direction, Work};
use crate::record::{Activity, FrameRecord};
use crate::units::Stamp;

/// The number that stands for no tenant.
pub(super) const NOBODY: u16 = u16::MAX;

/// A traced phase in order.
pub(super) struct Gathered<'a> {
    /// The measured time.
    pub(super) window: Option<(Stamp, Stamp)>,
    /// By the number of the GPU.
    pub(super) gpus: BTreeMap<u16, OnGpu>,
    /// The measured frames of each tenant in order, with all activities of theirs.
    pub(super) frames: BTreeMap<u16, Vec<OfFrame<'a>>>,
    /// Work in the measured time that belongs to no measured frame, by tenant.
    pub(super) loose: BTreeMap<u16, Vec<&'a Activity>>,
    /// What work is called, by its number in [`Span`].
    pub(super) called: Vec<&'a str>,
}

/// A frame that was completed after the warm-up, and everything that belongs to it, by begin.
pub(super) struct OfFrame<'a> {
    pub(super) record: &'a FrameRecord,
    pub(super) activities: Vec<&'a Activity>,
}

/// Work on a GPU, whoever's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) from: i64,
    pub(super) to: i64,
    /// [`NOBODY`] if it belongs to no tenant.
    pub(super) tenant: u16,
    /// Index into [`Gathered::called`].
    pub(super) called: u32,
}

/// All work on one GPU, of all processes.
#[derive(Default)]
pub(super) struct OnGpu {
    /// In the order of their begin.
    pub(super) spans: Vec<Span>,
    /// The latest end up to each of them.
    reach: Vec<i64>,
}

impl OnGpu {
    fn settle(&mut self) {
        self.spans
            .sort_unstable_by_key(|span| (span.from, span.to, span.tenant, span.called));
        let mut latest = i64::MIN;
        let ends = self.spans.iter().map(|span| {
            latest = latest.max(span.to);
            latest
        });
        self.reach = ends.collect();
    }

    /// What was on it between two moments, in the order of its begin.
    pub(super) fn between(&self, from: i64, to: i64) -> impl Iterator<Item = &Span> {
        let first = self.reach.partition_point(|&reach| reach <= from);
        let begun = self.spans[first..].iter().take_while(move |span| span.from < to);
        begun.filter(move |span| span.to > from)
    }
}

/// The GPU that an activity was work on; none for what the host did, copies within its memory among it.
pub(super) fn gpu_of(work: &Work) -> Option<u16> {
    match work {
        Work::Copy {
            direction: Direction::HostToHost,
            ..
        } => None,
        work => work.on_device().map(|on| on.device),
    }
}

/// What kind of work it is; none for what the host did.
pub(super) fn kind_of(work: &Work) -> Option<&'static str> {
    work.on_device().map(|_| work.word())
}

/// What work without a name is called.
fn called_by_kind(work: &Work) -> &'static str {
    match work {
        Work::Copy { direction, .. } => match direction {
            Direction::HostToDevice => "copy to the device",
            Direction::DeviceToHost => "copy to the host",
            Direction::DeviceToDevice => "copy within the device",
            _ => "copy",
        },
        Work::Fill { .. } => "fill",
        Work::Graph { .. } => "graph",
        _ => "kernel without a name",
    }
}

/// Puts a phase in order.
pub(super) fn gather<'a>(traced: &'a Traced, phase: &'a TracedPhase) -> Gathered<'a> {
    let ends = traced.shared(phase.spec.phase);
    let mut gathered = Gathered {
        window: ends.or_else(|| seen(traced, phase)),
        gpus: BTreeMap::new(),
        frames: BTreeMap::new(),
        loose: BTreeMap::new(),
        called: Vec::new(),
    };
    let places = gathered.place_frames(traced, phase);
    let mut numbers: HashMap<&'a str, u32> = HashMap::new();
    for activity in phase.processes.values().flatten() {
        let owner = activity.owner;
        let place = owner.tenant.zip(owner.frame).and_then(|frame| places.get(&frame));
        if let Some(&(tenant, place)) = place
            && let Some(frame) = gathered
                .frames
                .get_mut(&tenant)
                .and_then(|frames| frames.get_mut(place))
        {
            frame.activities.push(activity);
        } else if kind_of(&activity.work).is_some() && gathered.is_measured(activity.from) {
            let tenant = owner.tenant.unwrap_or(NOBODY);
            gathered.loose.entry(tenant).or_default().push(activity);
        }
        if let Some(gpu) = gpu_of(&activity.work) {
            let called = traced
                .text(activity.name)
                .unwrap_or_else(|| called_by_kind(&activity.work));
            let fresh = gathered.called.len() as u32;
            let number = *numbers.entry(called).or_insert(fresh);
            if number == fresh {
                gathered.called.push(called);
            }
            gathered.gpus.entry(gpu).or_default().spans.push(Span {
                from: activity.from.0,
                to: activity.to.0.max(activity.from.0),
                tenant: owner.tenant.unwrap_or(NOBODY),
                called: number,
            });
        }
    }
    gathered.gpus.values_mut().for_each(OnGpu::settle);
    // Of one process they are in order already.
    for frame in gathered.frames.values_mut().flatten() {
        frame
            .activities
            .sort_by_key(|activity| (activity.from, activity.to));
    }
    gathered
}

impl<'a> Gathered<'a> {
    /// Lists the measured frames; returns the place of each by tenant and number.
    fn place_frames(&mut self, traced: &Traced, phase: &'a TracedPhase) -> HashMap<(u16, u64), (u16, usize)> {
        let mut places = HashMap::new();
        for record in traced.measured(phase) {
            let frames = self.frames.entry(record.tenant).or_default();
            places.insert((record.tenant, record.sequence), (record.tenant, frames.len()));
            frames.push(OfFrame {
                record,
                activities: Vec::new(),
            });
        }
        places
    }

    /// Whether something began in the measured time.
    fn is_measured(&self, from: Stamp) -> bool {
        self.window
            .is_some_and(|(begin, end)| from >= begin && from < end)
    }
}

/// From the first release of a measured frame to the last result, where the end of the phase was never recorded.
fn seen(traced: &Traced, phase: &TracedPhase) -> Option<(Stamp, Stamp)> {
    let measured = traced.measured(phase);
    let from = measured.iter().map(|frame| frame.released).min()?;
    let to = measured.iter().map(|frame| frame.finished).max()?;
    Some((from, to.max(from)))
}
