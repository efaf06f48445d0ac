//! What is kept of the phases of a run, in bounded memory.

use std::collections::HashMap;

use crate::analysis::series::Series;
use crate::analysis::tenant::{Sample, Samples};
use crate::analysis::timeline::Timeline;
use crate::record::{FrameRecord, Outcome, Phase, PhaseRecord, PhaseSpec};
use crate::units::{Nanos, Stamp};

/// Spans kept at most, of all tenants together: 24 bytes each.
const MOST_SPANS: usize = 1 << 18;
/// Spans of so much time are kept or let go together.
const SLICE: i64 = 4_000_000_000;

/// The phases of a run, gathered record by record.
#[derive(Default)]
pub(in crate::analysis) struct Phases {
    specs: Vec<PhaseSpec>,
    numbered: HashMap<(u16, u16), Numbered>,
    /// How long each tenant was in service in each phase, and when that phase was over.
    busy: Vec<Busy>,
    /// Where each tenant's latest is in `busy`.
    latest: Vec<usize>,
    spans: Spans,
}

/// One tenant in a phase that has a number.
#[derive(Default)]
struct Numbered {
    response: Series,
    timeline: Timeline<1>,
    finished: Option<Sample>,
}

/// The time in which a tenant had a frame in service.
#[derive(Clone, Copy, Debug)]
struct Busy {
    phase: Phase,
    tenant: u16,
    covered: Option<Stamp>,
    total: i64,
    end: Option<PhaseRecord>,
}

/// One frame in service while all ran together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    pub(super) started: Stamp,
    pub(super) finished: Stamp,
    /// Whether it is one to judge: completed, and not of the warm-up. Others are company all the same.
    pub(super) counts: bool,
}

/// Frames in service by tenant; of very long runs, of slices of time spread evenly over the run.
#[derive(Debug)]
pub(super) struct Spans {
    pub(super) of: Vec<Vec<Span>>,
    kept: usize,
    every: i64,
}

impl Default for Spans {
    fn default() -> Self {
        Spans {
            of: Vec::new(),
            kept: 0,
            every: 1,
        }
    }
}

impl Spans {
    fn push(&mut self, tenant: u16, span: Span) {
        if !self.keeps(span.started) {
            return;
        }
        if self.kept >= MOST_SPANS {
            self.thin();
            if !self.keeps(span.started) || self.kept >= MOST_SPANS {
                return;
            }
        }
        let tenant = usize::from(tenant);
        if self.of.len() <= tenant {
            self.of.resize_with(tenant + 1, Vec::new);
        }
        self.of[tenant].push(span);
        self.kept += 1;
    }

    fn keeps(&self, at: Stamp) -> bool {
        at.0.div_euclid(SLICE).rem_euclid(self.every) == 0
    }

    fn thin(&mut self) {
        while self.kept >= MOST_SPANS && self.every < 1 << 40 {
            self.every *= 2;
            let every = self.every;
            for spans in &mut self.of {
                spans.retain(|span| span.started.0.div_euclid(SLICE).rem_euclid(every) == 0);
            }
            self.kept = self.of.iter().map(Vec::len).sum();
        }
    }

    /// Whether everything is kept that can have run beside a span that starts then; `longest` is the longest service there is.
    /// That the span itself is short must not count for it: those that are left would be the short ones.
    pub(super) fn sees_all_from(&self, started: Stamp, longest: Nanos) -> bool {
        let since = started.0.rem_euclid(SLICE);
        self.every == 1 || (since >= longest.0 && longest.0 <= SLICE - since)
    }
}

impl Phases {
    /// Takes in what a phase is.
    pub(in crate::analysis) fn spec(&mut self, spec: &PhaseSpec) {
        self.specs.push(spec.clone());
    }

    /// Takes in the end of a tenant's part of a phase.
    pub(in crate::analysis) fn phase(&mut self, phase: &PhaseRecord) {
        self.busy_mut(phase.phase, phase.tenant).end = Some(*phase);
    }

    /// Takes in one frame; returns how many durations were kept of it.
    pub(in crate::analysis) fn frame(&mut self, frame: &FrameRecord, exact: bool) -> u64 {
        let served = matches!(frame.outcome, Outcome::Completed | Outcome::Failed);
        if served && frame.phase == Phase::Together {
            let span = Span {
                started: frame.started,
                finished: frame.finished,
                counts: frame.outcome == Outcome::Completed && !frame.warmup,
            };
            self.spans.push(frame.tenant, span);
        }
        if frame.warmup || !served {
            return 0;
        }
        self.busy_mut(frame.phase, frame.tenant)
            .serve(frame.started, frame.finished);
        match frame.phase {
            Phase::Other(number) if frame.outcome == Outcome::Completed => {
                let kept = self.numbered.entry((number, frame.tenant)).or_default();
                kept.response.push(frame.response(), exact);
                let response = || [Some(frame.response().0)];
                kept.timeline.push(frame.sequence, frame.released, response);
                1
            }
            _ => 0,
        }
    }

    /// To be called once, before the questions below.
    pub(in crate::analysis) fn sort(&mut self) {
        for kept in self.numbered.values_mut() {
            kept.timeline.sort();
            kept.finished = Some(Sample {
                in_order: kept.timeline.values(0),
                distribution: std::mem::take(&mut kept.response).finish(),
            });
        }
        self.spans.of.iter_mut().for_each(|spans| spans.sort_unstable());
    }

    /// All phases, in the order in which they ran.
    pub(in crate::analysis) fn specs(&self) -> &[PhaseSpec] {
        &self.specs
    }

    /// When each tenant was in service while all ran together.
    pub(super) fn spans(&self) -> &Spans {
        &self.spans
    }

    /// A tenant's response times in a phase, wherever they were gathered.
    pub(in crate::analysis) fn sample<'a>(
        &'a self,
        phase: Phase,
        tenant: u16,
        samples: &'a [Samples],
    ) -> Option<&'a Sample> {
        let named = samples.get(usize::from(tenant));
        match phase {
            Phase::Together => named.map(|samples| &samples.together),
            Phase::Alone => named.map(|samples| &samples.alone),
            Phase::Other(number) => self.numbered.get(&(number, tenant))?.finished.as_ref(),
            Phase::Overhead => None,
        }
    }

    /// The measured time of a tenant in a phase.
    pub(in crate::analysis) fn window(&self, phase: Phase, tenant: u16) -> Option<(Stamp, Stamp)> {
        let end = self.busy_of(phase, tenant)?.end?;
        Some((end.measured_from, end.measured_to))
    }

    /// Share of its measured time in which a tenant had a frame in service.
    pub(in crate::analysis) fn busy_share(&self, phase: Phase, tenant: u16) -> Option<f64> {
        let (from, to) = self.window(phase, tenant)?;
        let total = self.busy_of(phase, tenant)?.total;
        (to > from).then(|| (total as f64 / (to - from).0 as f64).min(1.0))
    }

    fn busy_of(&self, phase: Phase, tenant: u16) -> Option<&Busy> {
        self.busy
            .iter()
            .find(|busy| busy.phase == phase && busy.tenant == tenant)
    }

    /// A tenant's frames come phase by phase, so that its latest is nearly always the one.
    fn busy_mut(&mut self, phase: Phase, tenant: u16) -> &mut Busy {
        let number = usize::from(tenant);
        if self.latest.len() <= number {
            self.latest.resize(number + 1, usize::MAX);
        }
        let is_it = |busy: &Busy| busy.phase == phase && busy.tenant == tenant;
        let mut place = self.latest[number];
        if !self.busy.get(place).is_some_and(is_it) {
            place = self.busy.iter().position(is_it).unwrap_or(self.busy.len());
            if place == self.busy.len() {
                self.busy.push(Busy::new(phase, tenant));
            }
            self.latest[number] = place;
        }
        &mut self.busy[place]
    }

    /// Records lost in phases that have a number, of one tenant.
    pub(in crate::analysis) fn lost(&self, tenant: u16) -> u64 {
        let of_it = |busy: &&Busy| busy.tenant == tenant && matches!(busy.phase, Phase::Other(_));
        let ends = self.busy.iter().filter(of_it).filter_map(|busy| busy.end);
        ends.fold(0, |sum, end| sum.saturating_add(end.lost_records))
    }
}

impl Busy {
    fn new(phase: Phase, tenant: u16) -> Self {
        Busy {
            phase,
            tenant,
            covered: None,
            total: 0,
            end: None,
        }
    }

    /// A tenant's frames end in the order in which they began, so that what is covered only grows.
    fn serve(&mut self, started: Stamp, finished: Stamp) {
        let from = self.covered.map_or(started, |covered| covered.max(started));
        self.total = self.total.saturating_add((finished - from).0.max(0));
        self.covered = Some(finished.max(from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_service_counts_overlapping_frames_once() {
        let mut busy = Busy::new(Phase::Together, 0);
        for (started, finished) in [(0, 10), (5, 15), (20, 25), (21, 24)] {
            busy.serve(Stamp(started), Stamp(finished));
        }
        assert_eq!(busy.total, 20);
    }

    #[test]
    fn long_runs_keep_whole_slices_of_all_tenants() {
        let mut spans = Spans::default();
        let step = 10_000_000;
        for i in 0..400_000 {
            for tenant in 0..2 {
                let started = Stamp(i * step);
                spans.push(
                    tenant,
                    Span {
                        started,
                        finished: started + Nanos(step / 2),
                        counts: true,
                    },
                );
            }
        }
        assert!(
            spans.kept <= MOST_SPANS && spans.kept > MOST_SPANS / 4,
            "{}",
            spans.kept
        );
        assert_eq!(spans.of[0], spans.of[1]);
        let inner = spans.of[0][spans.of[0].len() / 2 + 7].started.0;
        let slice = inner.div_euclid(SLICE) * SLICE;
        let sees = |at: i64| spans.sees_all_from(Stamp(at), Nanos(step));
        assert!(spans.every > 1 && sees(slice + step) && sees(slice + SLICE - step));
        assert!(!sees(slice) && !sees(slice + SLICE - step / 2));
    }
}
