//! Collects what is needed of a run's phases, in bounded memory.

use std::collections::{BTreeMap, HashMap};

use jetlag_stats::moments::Moments;

use super::spans::{Span, Spans};
use super::turns::{Frame, Round, of_blocks, slowdown};
use crate::analysis::gathering::responses::Responses;
use crate::analysis::gathering::series::Series;
use crate::analysis::gathering::timeline::Timeline;
use crate::analysis::summary::{FrameCounts, Slowdown};
use crate::analysis::topics::latency::tenant::Samples;
use crate::record::{FrameRecord, Outcome, Phase, PhaseRecord, PhaseSpec};
use crate::units::{Nanos, Stamp};

/// The phases of a run, collected record by record.
#[derive(Default)]
pub(in crate::analysis) struct Phases {
    specs: Vec<PhaseSpec>,
    /// Each tenant's samples of the measurement.
    named: Vec<Samples>,
    /// Each tenant's samples of every other phase.
    other: HashMap<(Phase, u16), Other>,
    /// Each tenant's frames in each phase, and the end of that phase.
    parts: Vec<Part>,
    /// Index into `parts`.
    places: HashMap<(Phase, u16), usize>,
    /// … of each tenant's latest phase.
    latest: Vec<usize>,
    spans: Spans,
    cells: Vec<Cell>,
    /// Each tenant's turns, by cell.
    turns: HashMap<(usize, u16), Turns>,
}

/// What is compared with what: a phase, or all the turns of the same tenants at the same rates, sharing in the same way.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::analysis) struct Cell {
    /// What the first of its phases is.
    pub(in crate::analysis) spec: PhaseSpec,
    /// Its phases, in the order in which they ran.
    pub(in crate::analysis) phases: Vec<Phase>,
    /// Its place among the cells.
    place: usize,
}

impl Cell {
    /// Whether its phases are turns.
    pub(in crate::analysis) fn is_of_turns(&self) -> bool {
        self.spec.round.is_some()
    }

    /// Whether these tenants ran in it, at their own rates, sharing in this way.
    pub(in crate::analysis) fn is_of(&self, members: &[u16], sharing: &str) -> bool {
        self.spec.members == members && self.spec.sharing == sharing && self.spec.rate.is_none()
    }
}

/// What turns of one cell have in common: members, sharing, and whose rate is which.
type Kind = (Vec<u16>, String, Option<u16>, Option<u64>);

/// A tenant's turns of one cell.
struct Turns {
    /// All of them.
    pooled: Responses,
    by_round: BTreeMap<u16, Vec<Frame>>,
}

/// One tenant in a phase that is not the measurement.
#[derive(Default)]
struct Other {
    response: Series,
    /// Response, and the first frame of its batch.
    timeline: Timeline<2>,
    finished: Option<Responses>,
}

/// A tenant's part in a phase.
#[derive(Clone, Copy, Debug)]
pub(in crate::analysis) struct Part {
    pub(in crate::analysis) phase: Phase,
    pub(in crate::analysis) tenant: u16,
    covered: Option<Stamp>,
    /// How long it had a frame in service.
    total: i64,
    /// The record of its end, if that was reached.
    pub(in crate::analysis) end: Option<PhaseRecord>,
    /// What became of its frames.
    pub(in crate::analysis) frames: FrameCounts,
    /// Releases later than the budget.
    pub(in crate::analysis) late: u64,
    /// Service times of its frames, ns.
    pub(in crate::analysis) service: Moments,
}

impl Phases {
    /// Adds the description of a phase.
    pub(in crate::analysis) fn spec(&mut self, spec: &PhaseSpec) {
        self.specs.push(spec.clone());
    }

    /// Adds the end of a tenant's part of a phase.
    pub(in crate::analysis) fn phase(&mut self, phase: &PhaseRecord) {
        let part = self.part_mut(phase.phase, phase.tenant);
        part.end = Some(*phase);
        part.frames.lost_records = part.frames.lost_records.saturating_add(phase.lost_records);
    }

    /// Adds a frame; returns how many durations were kept of it.
    pub(in crate::analysis) fn frame(&mut self, frame: &FrameRecord, late_after: Nanos, exact: bool) -> u64 {
        let served = matches!(frame.outcome, Outcome::Completed | Outcome::Failed);
        // Waiting for the others of a batch is no service, and the batch is one piece of work, due when it was full.
        let is_one = frame.batch.is_none_or(|batch| batch.first == frame.sequence);
        if is_one && frame.phase == Phase::Together && frame.outcome != Outcome::Unfinished {
            let [started, finished] = match served {
                true => [frame.worked_from(), frame.finished],
                false => [frame.released; 2],
            };
            let span = Span {
                started,
                finished,
                released: frame.batch.map_or(frame.released, |_| started),
                sequence: frame.sequence as u32,
                counts: frame.outcome == Outcome::Completed && !frame.warmup,
            };
            self.spans.push(frame.tenant, span);
        }
        let part = self.part_mut(frame.phase, frame.tenant);
        part.frames.note(frame);
        if frame.warmup {
            return 0;
        }
        let cut_off = frame.outcome == Outcome::Unfinished && !frame.missed();
        part.late += u64::from(!cut_off && frame.lateness > late_after);
        if !served {
            return 0;
        }
        part.serve(frame.worked_from(), frame.finished);
        part.service.add(frame.service().0 as f64);
        match frame.phase {
            Phase::Alone | Phase::Other(_) if frame.outcome == Outcome::Completed => {
                let kept = self.other.entry((frame.phase, frame.tenant)).or_default();
                kept.response.push(frame.response(), exact);
                let batch = frame.batch.map(|batch| batch.first.cast_signed());
                let response = || [Some(frame.response().0), batch];
                kept.timeline.push(frame.sequence, frame.released, response);
                1
            }
            _ => 0,
        }
    }

    /// To be called once, before the questions below, with what was gathered of each tenant in the measurement.
    ///
    /// Restricts each phase's response times to the time in which all its tenants ran: after one of them has ended,
    /// the others run without it. If one completed nothing, the phase has no samples.
    pub(in crate::analysis) fn settle(&mut self, named: Vec<Samples>) {
        self.named = named;
        self.sort();
        if self.specs.is_empty() {
            self.specs = self.specs_of_old_files(self.named.len());
        }
        for spec in self.specs.clone().iter().filter(|spec| spec.members.len() > 1) {
            let Some((from, to)) = self.shared(spec) else {
                continue;
            };
            for &tenant in &spec.members {
                let longer = self
                    .part(spec.phase, tenant)
                    .and_then(|part| part.end)
                    .is_some_and(|end| end.measured_to > to);
                if let Some(sample) = self.sample_mut(spec.phase, tenant).filter(|_| longer) {
                    *sample = sample.within(from, to);
                }
            }
            let completed = |tenant: &u16| self.sample(spec.phase, *tenant).is_some();
            if !spec.members.iter().all(completed) {
                for &tenant in &spec.members {
                    if let Some(sample) = self.sample_mut(spec.phase, tenant) {
                        *sample = Responses::default();
                    }
                }
            }
        }
        self.gather_cells();
    }

    /// Puts the turns of a cell together. A turn that did not come to its end is none.
    fn gather_cells(&mut self) {
        let mut known: HashMap<Kind, usize> = HashMap::new();
        for spec in self.specs.clone() {
            let Some(round) = spec.round else {
                self.cells.push(Cell {
                    phases: vec![spec.phase],
                    place: self.cells.len(),
                    spec,
                });
                continue;
            };
            let rate = spec.rate.map(|rate| rate.tenant);
            let hz = spec.rate.and_then(|rate| rate.hz).map(f64::to_bits);
            let next = self.cells.len();
            let place = *known
                .entry((spec.members.clone(), spec.sharing.clone(), rate, hz))
                .or_insert(next);
            if place == next {
                self.cells.push(Cell {
                    phases: Vec::new(),
                    place,
                    spec: spec.clone(),
                });
            }
            self.cells[place].phases.push(spec.phase);
            let ended = |tenant: &u16| {
                self.part(spec.phase, *tenant)
                    .is_some_and(|part| part.end.is_some())
            };
            let Some((from, to)) = self
                .shared(&spec)
                .filter(|(from, to)| to > from && spec.members.iter().all(ended))
            else {
                continue;
            };
            for &tenant in &spec.members {
                let found = self
                    .other
                    .remove(&(spec.phase, tenant))
                    .and_then(|other| other.finished);
                let Some(sample) = found else { continue };
                let length = (to - from).0 as f64;
                let at = |released: Stamp| (released - from).0 as f64 / length;
                let frames = sample.placed().iter().map(|frame| Frame {
                    at: at(frame.released),
                    took: frame.took,
                });
                let frames: Vec<Frame> = frames.collect();
                match self.turns.get_mut(&(place, tenant)) {
                    Some(turns) => {
                        turns.by_round.insert(round, frames);
                        turns.pooled.append(&sample);
                    }
                    None => {
                        let by_round = BTreeMap::from([(round, frames)]);
                        self.turns.insert(
                            (place, tenant),
                            Turns {
                                pooled: sample,
                                by_round,
                            },
                        );
                    }
                }
            }
        }
        self.turns
            .values_mut()
            .for_each(|turns| turns.pooled = turns.pooled.all());
    }

    fn sort(&mut self) {
        for (&(_, tenant), kept) in &mut self.other {
            let named = self.named.get(usize::from(tenant));
            kept.timeline.sort();
            kept.finished = Some(Responses::new(
                std::mem::take(&mut kept.response).finish(),
                kept.timeline.placed_in_batches(0, 1),
                named.map(|samples| samples.together.line).unwrap_or_default(),
            ));
        }
        self.spans.sort();
    }

    /// Files older than version 1.3 do not say what their phases are; they have these two.
    fn specs_of_old_files(&self, tenants: usize) -> Vec<PhaseSpec> {
        let spec = |phase, members: Vec<u16>| PhaseSpec {
            at: Stamp(0),
            phase,
            label: String::new(),
            sharing: String::new(),
            members,
            rate: None,
            traced: false,
            round: None,
        };
        let every = || (0..tenants).filter_map(|tenant| u16::try_from(tenant).ok());
        let alone = every().filter(|&tenant| self.part(Phase::Alone, tenant).is_some());
        let mut specs: Vec<PhaseSpec> = alone.map(|tenant| spec(Phase::Alone, vec![tenant])).collect();
        if self.parts.iter().any(|part| part.phase == Phase::Together) {
            specs.push(spec(Phase::Together, every().collect()));
        }
        specs
    }

    /// The measured time in which all tenants of a phase ran; empty where there was none, unknown where no end was
    /// recorded.
    pub(in crate::analysis) fn shared(&self, spec: &PhaseSpec) -> Option<(Stamp, Stamp)> {
        self.shared_in(spec.phase, &spec.members)
    }

    /// The same of a phase in which these ran.
    pub(in crate::analysis) fn shared_in(&self, phase: Phase, members: &[u16]) -> Option<(Stamp, Stamp)> {
        let ends = || members.iter().filter_map(|&tenant| self.part(phase, tenant)?.end);
        let from = ends().map(|end| end.measured_from).max()?;
        let to = ends().map(|end| end.measured_to).min()?;
        Some((from, to.max(from)))
    }

    /// A tenant's frames in a phase.
    pub(in crate::analysis) fn part(&self, phase: Phase, tenant: u16) -> Option<&Part> {
        self.parts.get(*self.places.get(&(phase, tenant))?)
    }

    /// All cells, in the order in which their first phases ran.
    pub(in crate::analysis) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// When each tenant was in service while all ran together.
    pub(super) fn spans(&self) -> &Spans {
        &self.spans
    }

    fn sample_mut(&mut self, phase: Phase, tenant: u16) -> Option<&mut Responses> {
        match phase {
            Phase::Together => self
                .named
                .get_mut(usize::from(tenant))
                .map(|samples| &mut samples.together),
            _ => self.other.get_mut(&(phase, tenant))?.finished.as_mut(),
        }
    }

    /// A tenant's response times in a phase that is no turn; `None` where there are none.
    pub(in crate::analysis) fn sample(&self, phase: Phase, tenant: u16) -> Option<&Responses> {
        let sample = match phase {
            Phase::Together => self
                .named
                .get(usize::from(tenant))
                .map(|samples| &samples.together),
            _ => self.other.get(&(phase, tenant))?.finished.as_ref(),
        };
        sample.filter(|sample| sample.distribution.count() > 0)
    }

    /// A tenant's response times in a cell: in all its turns, where it is of turns.
    pub(in crate::analysis) fn sample_of(&self, cell: &Cell, tenant: u16) -> Option<&Responses> {
        match cell.is_of_turns() {
            true => self.turns.get(&(cell.place, tenant)).map(|turns| &turns.pooled),
            false => self.sample(cell.spec.phase, tenant),
        }
        .filter(|sample| sample.distribution.count() > 0)
    }

    /// The host's time to submit each of a tenant's frames, in order; known of the measurement only.
    pub(in crate::analysis) fn submission(&self, phase: Phase, tenant: u16) -> &[i64] {
        match (phase, self.named.get(usize::from(tenant))) {
            (Phase::Together, Some(samples)) => &samples.submission,
            _ => &[],
        }
    }

    /// A tenant's slowdown among all, sharing as in the measurement; `None` if it has no frames beside them, or none alone.
    pub(in crate::analysis) fn slowdown(&self, tenant: u16) -> Option<Slowdown> {
        let measured = self.cells.iter().find(|cell| cell.spec.phase == Phase::Together);
        // A run that ended before its measurement has its turns.
        let everyone = || self.cells.iter().rev().max_by_key(|cell| cell.spec.members.len());
        let Cell { spec, .. } = measured.or_else(everyone)?;
        self.slowdown_beside(&spec.members, &spec.sharing, tenant)
    }

    /// A tenant's slowdown where these ran, it among them, over itself alone under the same way of sharing.
    pub(super) fn slowdown_beside(&self, members: &[u16], sharing: &str, tenant: u16) -> Option<Slowdown> {
        let [together, alone] = [members, &[tenant]].map(|members| self.turns(members, sharing, tenant));
        if let (Some(together), Some(alone)) = (together, alone) {
            let rounds = together.iter().filter_map(|(round, together)| {
                let alone = alone.get(round)?;
                Some(Round { together, alone })
            });
            return slowdown(&rounds.collect::<Vec<_>>());
        }
        let block = |is_it: &dyn Fn(&Cell) -> bool| {
            let cell = self
                .cells
                .iter()
                .find(|cell| !cell.is_of_turns() && is_it(cell))?;
            self.sample_of(cell, tenant)
        };
        let beside = block(&|cell| {
            let is_measured = cell.spec.phase == Phase::Together;
            cell.is_of(members, sharing)
                || is_measured && cell.spec.members == members && cell.spec.sharing == sharing
        });
        let alone = block(&|cell| cell.is_of(&[tenant], sharing) && cell.spec.phase != Phase::Together);
        Some(of_blocks(beside?, alone?))
    }

    /// A tenant's turns where these ran at their own rates, by round; none where they took no turns.
    pub(super) fn turns(
        &self,
        members: &[u16],
        sharing: &str,
        tenant: u16,
    ) -> Option<&BTreeMap<u16, Vec<Frame>>> {
        let cell = self
            .cells
            .iter()
            .find(|cell| cell.is_of_turns() && cell.is_of(members, sharing))?;
        Some(&self.turns.get(&(cell.place, tenant))?.by_round)
    }

    /// A tenant's response times alone, sharing as in the measurement, whether in turns or in one piece.
    pub(in crate::analysis) fn alone(&self, tenant: u16) -> Option<&Responses> {
        let measured = self.cells.iter().find(|cell| cell.spec.phase == Phase::Together);
        let sharing = measured.map(|cell| &cell.spec.sharing);
        let alone = self.cells.iter().find(|cell| {
            let is_of_it = sharing.is_none_or(|sharing| cell.is_of(&[tenant], sharing));
            is_of_it && cell.spec.members == [tenant] && cell.spec.phase != Phase::Together
        })?;
        self.sample_of(alone, tenant)
    }

    /// The measured time of a tenant in a phase.
    pub(in crate::analysis) fn window(&self, phase: Phase, tenant: u16) -> Option<(Stamp, Stamp)> {
        let end = self.part(phase, tenant)?.end?;
        Some((end.measured_from, end.measured_to))
    }

    /// Share of its measured time in which a tenant had a frame in service.
    pub(in crate::analysis) fn busy_share(&self, phase: Phase, tenant: u16) -> Option<f64> {
        let (from, to) = self.window(phase, tenant)?;
        let total = self.part(phase, tenant)?.total;
        (to > from).then(|| (total as f64 / (to - from).0 as f64).min(1.0))
    }

    /// A tenant's frames come phase by phase, so that its latest is nearly always the one.
    fn part_mut(&mut self, phase: Phase, tenant: u16) -> &mut Part {
        let number = usize::from(tenant);
        if self.latest.len() <= number {
            self.latest.resize(number + 1, usize::MAX);
        }
        let is_it = |part: &Part| part.phase == phase && part.tenant == tenant;
        let mut place = self.latest[number];
        if !self.parts.get(place).is_some_and(is_it) {
            place = *self.places.entry((phase, tenant)).or_insert(self.parts.len());
            if place == self.parts.len() {
                self.parts.push(Part::new(phase, tenant));
            }
            self.latest[number] = place;
        }
        &mut self.parts[place]
    }

    /// Records lost in phases other than the measurement, of one tenant.
    pub(in crate::analysis) fn lost(&self, tenant: u16) -> u64 {
        let of_it = |part: &&Part| part.tenant == tenant && part.phase != Phase::Together;
        let parts = self.parts.iter().filter(of_it);
        parts.fold(0, |sum, part| sum.saturating_add(part.frames.lost_records))
    }
}

impl Part {
    fn new(phase: Phase, tenant: u16) -> Self {
        Part {
            phase,
            tenant,
            covered: None,
            total: 0,
            end: None,
            frames: FrameCounts::default(),
            late: 0,
            service: Moments::default(),
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
        let mut busy = Part::new(Phase::Together, 0);
        for (started, finished) in [(0, 10), (5, 15), (20, 25), (21, 24)] {
            busy.serve(Stamp(started), Stamp(finished));
        }
        assert_eq!(busy.total, 20);
    }

    #[test]
    fn a_release_is_late_beyond_the_budget() {
        let mut phases = Phases::default();
        for (sequence, micros) in [0, 999, 1_000, 1_001, 5_000].into_iter().enumerate() {
            let frame = FrameRecord {
                sequence: sequence as u64,
                lateness: Nanos::from_micros(micros),
                ..FrameRecord::completed(Stamp(0), Stamp(10))
            };
            phases.frame(&frame, Nanos::from_millis(1), true);
            // A frame that the end of the run cut off counts where it had missed its deadline by then.
            for (tenant, deadline) in [(1, 5), (2, 20)] {
                let cut_off = FrameRecord {
                    tenant,
                    outcome: Outcome::Unfinished,
                    deadline: Some(Nanos(deadline)),
                    ..frame
                };
                phases.frame(&cut_off, Nanos::from_millis(1), true);
            }
        }
        let late = |tenant| phases.part(Phase::Together, tenant).map(|part| part.late);
        assert_eq!([late(0), late(1), late(2)], [Some(2), Some(2), Some(0)]);
    }

    #[test]
    fn what_an_old_file_says_together_is_a_phase_and_what_it_does_not_is_none() {
        let labels = |parts: &[(Phase, u16)]| {
            let mut phases = Phases::default();
            for &(phase, tenant) in parts {
                phases.part_mut(phase, tenant);
            }
            let specs = phases.specs_of_old_files(2).into_iter();
            specs.map(|spec| (spec.phase, spec.members)).collect::<Vec<_>>()
        };
        assert_eq!(labels(&[]), []);
        assert_eq!(labels(&[(Phase::Together, 0)]), [(Phase::Together, vec![0, 1])]);
        assert_eq!(labels(&[(Phase::Alone, 1)]), [(Phase::Alone, vec![1])]);
    }
}
