//! Frames whose stamps cannot be true: no figure is made of them, and a finding says how many they are.
//!
//! A frame starts and ends no earlier than it is due. Releases follow each other, and none comes after the time that the phase was
//! planned for. Where a record says otherwise, the clock was moved, or the file was damaged or written by something else; whatever such a
//! frame took is not known.

use serde::Serialize;

use crate::record::{Event, FrameRecord, Manifest, OVERHEAD_TENANT, Phase};
use crate::scenario::Scenario;
use crate::units::{Nanos, Stamp};

/// By how much a release may lie before one with a smaller number: the order of a recording, a program or a camera is not ours.
const BACK: Nanos = Nanos::from_secs(1);
/// How much later than planned a release may be stamped.
const LATE: Nanos = Nanos::from_secs(1);
/// How long after the planned end a frame that was in progress may still have ended.
const IN_PROGRESS: Nanos = Nanos::from_secs(600);

/// How many frames of a tenant were left out, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(in crate::analysis) struct Impossible {
    /// Frames that were looked at.
    pub(in crate::analysis) all: u64,
    /// They start or end before they are due.
    pub(in crate::analysis) reversed: u64,
    /// They are due before a frame that came before them.
    pub(in crate::analysis) set_back: u64,
    /// They are due, or end, long after their phase had ended.
    pub(in crate::analysis) ahead: u64,
}

impl Impossible {
    /// All that were left out.
    pub(in crate::analysis) fn count(&self) -> u64 {
        self.reversed + self.set_back + self.ahead
    }
}

/// Tells frames whose stamps can be true from those that no figure may be made of, while a run is read.
#[derive(Clone, Debug)]
pub struct StampCheck {
    tenants: Vec<OfTenant>,
    /// The longest that a phase was planned for; `None` where nothing was planned.
    planned: Option<Nanos>,
    /// The phase that began last, and when.
    phase: Option<(Phase, Stamp)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct OfTenant {
    latest: Option<Latest>,
    found: Impossible,
}

/// When a phase began.
#[derive(Clone, Copy, Debug)]
enum Began {
    At(Stamp),
    Before(Stamp),
}

/// The latest frame of a tenant that was kept.
#[derive(Clone, Copy, Debug)]
struct Latest {
    phase: Phase,
    began: Began,
    sequence: u64,
    released: Stamp,
}

impl StampCheck {
    /// For a run of this manifest.
    pub fn new(manifest: &Manifest) -> StampCheck {
        let scenario = manifest.scenario();
        let tenants = manifest
            .tenants
            .len()
            .max(scenario.map_or(0, |it| it.tenants.len()));
        StampCheck {
            tenants: vec![OfTenant::default(); tenants],
            planned: scenario.map(longest).filter(|planned| *planned > Nanos::ZERO),
            phase: None,
        }
    }

    /// Whether figures may be made of an event: all but frames whose stamps cannot be true, which are counted.
    pub fn passes(&mut self, event: &Event) -> bool {
        match event {
            Event::PhaseSpec(spec) => self.phase = Some((spec.phase, spec.at)),
            Event::Frame(frame) => return self.keeps(frame),
            _ => {}
        }
        true
    }

    fn keeps(&mut self, frame: &FrameRecord) -> bool {
        if frame.tenant == OVERHEAD_TENANT {
            return frame.is_in_order();
        }
        let (planned, phase) = (self.planned, self.phase);
        let Some(tenant) = self.tenants.get_mut(usize::from(frame.tenant)) else {
            return frame.is_in_order();
        };
        tenant.found.all += 1;
        if !frame.is_in_order() {
            tenant.found.reversed += 1;
            return false;
        }
        let latest = tenant.latest.filter(|latest| latest.phase == frame.phase);
        let began = match (latest, phase) {
            (Some(latest), _) => latest.began,
            (None, Some((phase, at))) if phase == frame.phase => Began::At(at),
            // No record says so: any frame is no earlier.
            (None, _) => Began::Before(frame.released),
        };
        let (Began::At(since) | Began::Before(since)) = began;
        if planned.is_some_and(|planned| {
            frame.released - since > planned + LATE || frame.finished - since > planned + IN_PROGRESS
        }) {
            tenant.found.ahead += 1;
            return false;
        }
        let goes_back = |latest: Latest| {
            // Frames are recorded as they end, which may be in another order.
            let (earlier, later) = match frame.sequence < latest.sequence {
                true => (frame.released, latest.released),
                false => (latest.released, frame.released),
            };
            earlier - later > BACK
        };
        let is_before = matches!(began, Began::At(at) if at - frame.released > BACK);
        if is_before || latest.is_some_and(goes_back) {
            tenant.found.set_back += 1;
            return false;
        }
        tenant.latest = Some(Latest {
            phase: frame.phase,
            began,
            sequence: frame.sequence,
            released: frame.released,
        });
        true
    }

    /// What was left out of a tenant's frames.
    pub(in crate::analysis) fn found(&self, tenant: usize) -> Impossible {
        self.tenants
            .get(tenant)
            .map_or_else(Impossible::default, |tenant| tenant.found)
    }
}

/// The longest that a phase of this scenario lasts.
fn longest(scenario: &Scenario) -> Nanos {
    let traced = scenario.trace.as_ref().map(|trace| trace.duration);
    let measured = [Some(scenario.duration), scenario.turn, traced];
    scenario.warmup + measured.into_iter().flatten().max().unwrap_or(Nanos::ZERO)
}
