//! What is kept of a run to compare it: its summary, and each tenant's response times and misses in order.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::rows::{By, Collector, Lacking, OfRun};
use crate::analysis::Summary;
use crate::analysis::gathering::plan;
use crate::analysis::gathering::stamps::StampCheck;
use crate::analysis::gathering::timeline::Timeline;
use crate::record::{Event, FrameRecord, Manifest, Outcome, Phase};
use crate::scenario::Scenario;

/// Places in a tenant's timeline.
const RESPONSE: usize = 0;
const MISS: usize = 1;

/// Collects a run's frames for a comparison, next to the [`Summarizer`](crate::analysis::Summarizer).
pub struct RunSampler {
    manifest: Manifest,
    plan: Scenario,
    stamps: StampCheck,
    tenants: Vec<Timeline<2>>,
    print: FramePrint,
    rows: Option<Collector>,
}

impl RunSampler {
    /// A run of which nothing but its manifest is known yet.
    pub fn new(manifest: &Manifest) -> Self {
        let plan = plan::of(manifest);
        RunSampler {
            tenants: plan
                .tenants
                .iter()
                .map(|_| Timeline::of_one_of(plan.tenants.len()))
                .collect(),
            manifest: manifest.clone(),
            stamps: StampCheck::new(manifest),
            plan,
            print: FramePrint::default(),
            rows: None,
        }
    }

    /// Reads it for rows as well.
    pub fn by(mut self, by: By) -> Self {
        self.rows = Some(Collector::new(by, self.tenants.len()));
        self
    }

    /// Adds an event; of frames only those of the measured time are used.
    pub fn push(&mut self, event: &Event) {
        if !self.stamps.passes(event) {
            return;
        }
        if let Some(rows) = &mut self.rows {
            rows.push(event);
        }
        if let Event::Frame(frame) = event
            && frame.phase == Phase::Together
            && !frame.warmup
            && let Some(timeline) = self.tenants.get_mut(usize::from(frame.tenant))
            && let Some(values) = values(frame)
        {
            self.print.frame(frame);
            timeline.push(frame.sequence, frame.released, || values);
        }
    }

    /// The run, with the summary of the same events.
    pub fn finish(mut self, summary: Summary) -> RunSample {
        self.tenants.iter_mut().for_each(Timeline::sort);
        let rows = self.rows.map(|rows| rows.finish(&self.plan));
        RunSample {
            rows: rows.unwrap_or(Err(Lacking::Unread)),
            summary,
            manifest: self.manifest,
            plan: self.plan,
            tenants: self.tenants,
            print: self.print,
        }
    }
}

/// Response time of a completed frame, and whether it missed; nothing for a frame that has no outcome yet.
fn values(frame: &FrameRecord) -> Option<[Option<i64>; 2]> {
    let response = (frame.outcome == Outcome::Completed).then_some(frame.response().0);
    let known = frame.outcome != Outcome::Unfinished || frame.missed();
    known.then_some([response, Some(i64::from(frame.missed()))])
}

/// A run as far as a comparison needs it. Of very long runs, whole stretches of consecutive frames are kept, 65 536
/// frames of a tenant at most, and fewer of more than 16 tenants.
pub struct RunSample {
    pub(super) summary: Summary,
    pub(super) manifest: Manifest,
    pub(super) plan: Scenario,
    tenants: Vec<Timeline<2>>,
    print: FramePrint,
    rows: OfRun,
}

/// What tells whether two runs have the same frames, in whichever order they were recorded: of copies, and of simulated runs that drew the
/// same numbers. Times count from each frame's own release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FramePrint {
    frames: u64,
    sum: u64,
}

impl FramePrint {
    fn frame(&mut self, frame: &FrameRecord) {
        let mut hasher = DefaultHasher::new();
        let what = (
            frame.tenant,
            frame.sequence,
            frame.outcome,
            frame.queueing(),
            frame.response(),
        );
        (what, frame.lateness, frame.stages, frame.missed()).hash(&mut hasher);
        self.frames += 1;
        self.sum = self.sum.wrapping_add(hasher.finish());
    }
}

impl RunSample {
    /// The run in figures.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Whether the other run has the same frames, to the nanosecond: the two say no more than one of them.
    pub(super) fn has_frames_of(&self, other: &RunSample) -> bool {
        self.print.frames > 0 && self.print == other.print
    }

    /// Times per stage, layer or kernel, or what the run lacks.
    pub(super) fn rows(&self) -> &OfRun {
        &self.rows
    }

    fn place(&self, tenant: &str) -> Option<usize> {
        let mut tenants = self.plan.tenants.iter();
        tenants.position(|known| known.name == tenant)
    }

    /// Response times in order, in nanoseconds.
    pub(super) fn responses(&self, tenant: &str) -> Vec<i64> {
        self.place(tenant)
            .map_or_else(Vec::new, |place| self.tenants[place].values(RESPONSE))
    }

    /// Whether each offered frame, in order, was missed.
    pub(super) fn misses(&self, tenant: &str) -> Vec<bool> {
        let values = self.place(tenant).map(|place| self.tenants[place].values(MISS));
        values.into_iter().flatten().map(|miss| miss != 0).collect()
    }

    /// Tenants of which only some frames were kept, with how many.
    pub(super) fn thinned(&self) -> impl Iterator<Item = (&str, usize)> {
        let tenants = self.plan.tenants.iter().zip(&self.tenants);
        tenants.filter_map(|(tenant, timeline)| Some((tenant.name.as_str(), timeline.thinned_to()?)))
    }
}
