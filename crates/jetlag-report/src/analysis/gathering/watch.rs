//! Keeps some frames whole while the run goes by: the slowest of each tenant, and a sample of its usual frames to
//! compare them with. `outliers` decides what distinguishes them.
//!
//! For each kept frame it also records which frames of other tenants were in service at the same time, whether these
//! were recorded before or after it, and which frames of its own tenant it waited for. Memory and time per frame are
//! bounded: [`SLOWEST`] and at most [`USUAL`] frames per tenant, the latest [`RECENT`] frames of each, and at most
//! [`MOST_BESIDE`] frames of another tenant for each kept one. Of more than [`MOST_TENANTS`] tenants, only so many are looked at beside
//! each other, since pairs grow with their square: those that were longest at work in the first frames.

use std::collections::VecDeque;

use jetlag_stats::random::scattered;

use crate::record::{FrameRecord, Outcome, Phase, Stage};
use crate::units::{Nanos, Stamp};

/// Slowest frames kept per tenant.
pub(in crate::analysis) const SLOWEST: usize = 256;
/// Usual frames kept per tenant at most: every frame, then one of two, one of four, …, chosen pseudo-randomly by
/// number. A regular choice would always be the same half where a co-runner is released with every second frame.
const USUAL: usize = 1024;
/// The same of more than [`MOST_TENANTS`] tenants: what is kept of all together is not to grow without bound.
const SLOWEST_OF_MANY: usize = 64;
const USUAL_OF_MANY: usize = 256;
/// Latest frames of a tenant that are remembered for those of others: one tenant's records may come this much ahead.
const RECENT: usize = 1024;
/// Frames of another tenant that are noted for a kept one; the earliest.
const MOST_BESIDE: usize = 8;
/// Tenants that are looked at beside each other.
pub(in crate::analysis) const MOST_TENANTS: usize = 32;
/// Of more, those are chosen that were longest at work until so many frames a tenant had come.
const BEFORE_CHOICE: usize = 16;
/// A frame that started this long after its release without waiting for its own tenant was not held up by another
/// frame.
const WAITED: Nanos = Nanos::from_micros(50);

/// A stretch of time in which a frame was in service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::analysis) struct Span {
    pub(in crate::analysis) started: Stamp,
    pub(in crate::analysis) finished: Stamp,
}

impl Span {
    pub(in crate::analysis) fn of(frame: &FrameRecord) -> Span {
        Span {
            started: frame.started,
            finished: frame.finished,
        }
    }

    /// Without the time in which it waited for its turn on the device, which takes nothing from others.
    pub(in crate::analysis) fn at_work(frame: &FrameRecord) -> Span {
        let queue = frame.stages[Stage::Queue as usize].unwrap_or(Nanos::ZERO);
        Span {
            started: (frame.started + queue.max(Nanos::ZERO)).min(frame.finished),
            finished: frame.finished,
        }
    }

    pub(in crate::analysis) fn meets(&self, other: Span) -> bool {
        self.started < other.finished && other.started < self.finished
    }
}

/// A frame that is kept.
#[derive(Clone, Debug)]
pub(in crate::analysis) struct Kept {
    pub(in crate::analysis) frame: FrameRecord,
    /// The first frame of the busy period (without a gap) that includes this one.
    pub(in crate::analysis) head: u64,
    /// The frames of that busy period before this one.
    pub(in crate::analysis) behind: Option<Behind>,
    /// When frames of each other tenant were at work meanwhile.
    pub(in crate::analysis) beside: Vec<Vec<Span>>,
}

/// The frames that others waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::analysis) struct Behind {
    /// The one that took longest.
    pub(in crate::analysis) sequence: u64,
    pub(in crate::analysis) service: Nanos,
    /// Number of frames that it waited for.
    pub(in crate::analysis) frames: u64,
    pub(in crate::analysis) work: Nanos,
}

/// What is kept of one tenant.
#[derive(Clone, Debug, Default)]
pub(in crate::analysis) struct Watched {
    /// The slowest frames, in no order.
    pub(in crate::analysis) slowest: Vec<Kept>,
    /// The shortest response time among them, once as many as possible are kept.
    to_beat: Option<Nanos>,
    /// A sample of the completed frames, in order of arrival.
    pub(in crate::analysis) usual: Vec<Kept>,
    seen: u64,
    every: u64,
    /// How many of either are kept.
    most: [usize; 2],
    recent: VecDeque<Span>,
    busy: Option<Busy>,
    /// For each other tenant, by its place in `beside`: the latest moment at which one of its frames may still overlap a kept one.
    open_until: Vec<Option<Stamp>>,
    /// The tenants that it was looked at beside, in their order; all where that is not said, none where it is not one of them.
    company: Option<Vec<usize>>,
}

/// A busy period: consecutive frames without a gap.
#[derive(Clone, Copy, Debug)]
struct Busy {
    head: u64,
    so_far: Behind,
}

/// The watched frames of all tenants.
#[derive(Clone, Debug, Default)]
pub(in crate::analysis) struct Watch {
    tenants: Vec<Watched>,
    /// Until it is known which of many tenants are looked at beside each other: how long each was at work, and how many frames came.
    choosing: Option<(Vec<Nanos>, usize)>,
    /// Those that are, in their order; all where that is not said.
    company: Option<Vec<usize>>,
}

impl Watch {
    pub(in crate::analysis) fn new(tenants: usize) -> Self {
        let has_many = tenants > MOST_TENANTS;
        let watched = Watched {
            every: 1,
            most: if has_many {
                [SLOWEST_OF_MANY, USUAL_OF_MANY]
            } else {
                [SLOWEST, USUAL]
            },
            open_until: vec![None; if has_many { 0 } else { tenants }],
            company: has_many.then(Vec::new),
            ..Watched::default()
        };
        Watch {
            tenants: vec![watched; tenants],
            choosing: has_many.then(|| (vec![Nanos::ZERO; tenants], 0)),
            company: has_many.then(Vec::new),
        }
    }

    /// Adds a frame; only frames completed in the measured time can be kept.
    pub(in crate::analysis) fn frame(&mut self, frame: &FrameRecord) {
        let number = usize::from(frame.tenant);
        let served = matches!(frame.outcome, Outcome::Completed | Outcome::Failed);
        if frame.phase != Phase::Together || !served || number >= self.tenants.len() {
            return;
        }
        let at_work = Span::at_work(frame);
        self.choose(number, at_work);
        self.note_beside(number, at_work);
        let own = &mut self.tenants[number];
        if own.recent.len() == RECENT {
            own.recent.pop_front();
        }
        own.recent.push_back(at_work);
        if frame.warmup || frame.outcome != Outcome::Completed {
            return;
        }
        let (head, behind) = own.stretch(frame);
        let usual = own.is_sampled(frame.sequence);
        let slow = own.to_beat.is_none_or(|least| frame.response() > least);
        if !usual && !slow {
            return;
        }
        let kept = Kept {
            frame: *frame,
            head,
            behind,
            beside: self.beside(number, Span::of(frame)),
        };
        let own = &mut self.tenants[number];
        own.open(&kept);
        if usual {
            own.usual.push(kept.clone());
        }
        if slow {
            own.keep_among_slowest(kept);
        }
    }

    /// Chooses which of many tenants are looked at beside each other, once enough frames have come. What was kept until then was
    /// looked at beside none, and goes.
    fn choose(&mut self, number: usize, span: Span) {
        let Some((at_work, frames)) = &mut self.choosing else {
            return;
        };
        if let Some(so_far) = at_work.get_mut(number) {
            *so_far = Nanos(
                so_far
                    .0
                    .saturating_add(span.finished.0.saturating_sub(span.started.0)),
            );
        }
        *frames += 1;
        if *frames < BEFORE_CHOICE * at_work.len() {
            return;
        }
        let mut company: Vec<usize> = (0..at_work.len()).collect();
        company.sort_by_key(|tenant| std::cmp::Reverse(at_work.get(*tenant).copied()));
        company.truncate(MOST_TENANTS);
        company.sort_unstable();
        for tenant in &company {
            if let Some(watched) = self.tenants.get_mut(*tenant) {
                watched.open_until = vec![None; company.len()];
                watched.company = Some(company.clone());
                watched.usual.clear();
                watched.slowest.clear();
                watched.to_beat = None;
            }
        }
        self.company = Some(company);
        self.choosing = None;
    }

    /// Everything that was kept, by tenant.
    pub(in crate::analysis) fn finish(self) -> Vec<Watched> {
        self.tenants
    }

    /// How many tenants are looked at beside each other.
    fn places(&self) -> usize {
        self.company.as_ref().map_or(self.tenants.len(), Vec::len)
    }

    /// The tenant of a place among them.
    fn at(&self, place: usize) -> Option<usize> {
        match &self.company {
            Some(company) => company.get(place).copied(),
            None => Some(place),
        }
    }

    /// A tenant's place among them; none where it is not one.
    fn place(&self, tenant: usize) -> Option<usize> {
        match &self.company {
            Some(company) => company.binary_search(&tenant).ok(),
            None => Some(tenant),
        }
    }

    /// Adds a frame to the kept frames of other tenants that it overlaps.
    fn note_beside(&mut self, number: usize, span: Span) {
        let Some(place) = self.place(number) else { return };
        for other in 0..self.places() {
            let Some(other) = self.at(other) else { continue };
            let Some(tenant) = self.tenants.get_mut(other) else {
                continue;
            };
            let awaited = tenant.open_until.get(place).copied().flatten();
            if other == number || awaited.is_none_or(|until| span.started >= until) {
                continue;
            }
            let mut until: Option<Stamp> = None;
            for kept in tenant.slowest.iter_mut().chain(&mut tenant.usual) {
                let Some(beside) = kept.beside.get_mut(place) else {
                    continue;
                };
                if beside.len() < MOST_BESIDE && span.meets(Span::of(&kept.frame)) {
                    beside.push(span);
                }
                if beside.len() < MOST_BESIDE && span.started < kept.frame.finished {
                    until = Some(until.map_or(kept.frame.finished, |known| known.max(kept.frame.finished)));
                }
            }
            if let Some(open) = tenant.open_until.get_mut(place) {
                *open = until;
            }
        }
    }

    /// The frames of other tenants, recorded so far, that overlap a span.
    fn beside(&self, number: usize, span: Span) -> Vec<Vec<Span>> {
        let places = if self.place(number).is_some() {
            self.places()
        } else {
            0
        };
        let others = (0..places).filter_map(|place| self.at(place));
        others
            .map(|other| {
                let Some(tenant) = self.tenants.get(other).filter(|_| other != number) else {
                    return Vec::new();
                };
                // Frames of a tenant come in the order in which they finish.
                let latest = tenant.recent.iter().rev();
                let mut met: Vec<Span> = latest
                    .take_while(|known| known.finished > span.started)
                    .copied()
                    .filter(|known| known.meets(span))
                    .collect();
                met.reverse();
                met.truncate(MOST_BESIDE);
                met
            })
            .collect()
    }
}

impl Watched {
    /// The busy period that a frame belongs to: its first frame, and the longest before this one.
    fn stretch(&mut self, frame: &FrameRecord) -> (u64, Option<Behind>) {
        let this = Behind {
            sequence: frame.sequence,
            service: frame.service(),
            frames: 1,
            work: frame.service(),
        };
        let waited = frame.queueing() - frame.lateness > WAITED;
        match &mut self.busy {
            Some(busy) if waited => {
                let behind = busy.so_far;
                busy.so_far = behind.and(this);
                (busy.head, Some(behind))
            }
            _ => {
                self.busy = Some(Busy {
                    head: frame.sequence,
                    so_far: this,
                });
                (frame.sequence, None)
            }
        }
    }

    /// When frames of another tenant were at work while a kept one was; none where the two were not looked at beside each other.
    pub(in crate::analysis) fn beside<'k>(&self, kept: &'k Kept, other: usize) -> Option<&'k [Span]> {
        let place = match &self.company {
            Some(company) => company.binary_search(&other).ok()?,
            None => other,
        };
        kept.beside.get(place).map(Vec::as_slice)
    }

    /// The tenants that it was looked at beside, of so many.
    pub(in crate::analysis) fn company(&self, tenants: usize) -> Vec<usize> {
        match &self.company {
            Some(company) => company.clone(),
            None => (0..tenants).collect(),
        }
    }

    /// Completed frames in the measured time.
    pub(in crate::analysis) fn frames(&self) -> u64 {
        self.seen
    }

    /// Whether the next frame belongs to the sample.
    fn is_sampled(&mut self, sequence: u64) -> bool {
        self.seen += 1;
        let [_, most] = self.most;
        let drawn = |sequence: u64, every: u64| scattered(sequence).is_multiple_of(every);
        while self.usual.len() >= most && drawn(sequence, self.every) {
            self.every *= 2;
            let every = self.every;
            self.usual.retain(|kept| drawn(kept.frame.sequence, every));
            if every >= 1 << 40 {
                break;
            }
        }
        self.usual.len() < most && drawn(sequence, self.every)
    }

    fn keep_among_slowest(&mut self, kept: Kept) {
        let [most, _] = self.most;
        if self.slowest.len() < most {
            self.slowest.push(kept);
        } else if let Some(least) = self.slowest.iter_mut().min_by_key(|kept| kept.frame.response()) {
            *least = kept;
        }
        if self.slowest.len() == most {
            self.to_beat = self.slowest.iter().map(|kept| kept.frame.response()).min();
        }
    }

    fn open(&mut self, kept: &Kept) {
        let finished = kept.frame.finished;
        for (until, beside) in self.open_until.iter_mut().zip(&kept.beside) {
            if beside.len() < MOST_BESIDE {
                *until = Some(until.map_or(finished, |known| known.max(finished)));
            }
        }
    }
}

impl Behind {
    fn and(self, next: Behind) -> Behind {
        let longest = if next.service > self.service { next } else { self };
        Behind {
            frames: self.frames + next.frames,
            work: self.work + next.work,
            ..longest
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(tenant: u16, sequence: u64, [released, started, finished]: [i64; 3]) -> FrameRecord {
        let stamp = |ms: i64| Stamp(ms * 1_000_000);
        FrameRecord {
            tenant,
            sequence,
            source_index: sequence,
            started: stamp(started),
            ..FrameRecord::completed(stamp(released), stamp(finished))
        }
    }

    #[test]
    fn the_slowest_are_kept_and_a_sample_that_reaches_from_start_to_end() {
        let mut watch = Watch::new(1);
        for n in 0..100_000u64 {
            let (at, took) = (n as i64 * 10, 2 + (n as i64 * 7_919) % 100_003 / 20_000);
            let took = if n % 300 == 7 { 100 + n as i64 / 300 } else { took };
            watch.frame(&frame(0, n, [at, at, at + took]));
        }
        let [watched] = &watch.finish()[..] else { panic!() };
        let mut slowest: Vec<u64> = watched.slowest.iter().map(|kept| kept.frame.sequence).collect();
        slowest.sort_unstable();
        let expected: Vec<u64> = (78..334).map(|n| n * 300 + 7).collect();
        assert_eq!(slowest, expected);
        assert!((USUAL / 2..=USUAL).contains(&watched.usual.len()));
        assert!(watched.usual.last().unwrap().frame.sequence > 99_000);
    }

    #[test]
    fn frames_of_others_are_noted_whether_they_were_recorded_before_or_after() {
        let mut watch = Watch::new(2);
        watch.frame(&frame(1, 0, [0, 0, 5]));
        watch.frame(&frame(1, 1, [10, 10, 22]));
        watch.frame(&frame(0, 0, [20, 20, 40]));
        watch.frame(&frame(1, 2, [30, 30, 50]));
        watch.frame(&frame(1, 3, [40, 50, 60]));
        let beside = watch.finish()[0].slowest[0].beside[1].clone();
        let started: Vec<i64> = beside.iter().map(|span| span.started.0 / 1_000_000).collect();
        assert_eq!(started, [10, 30]);
    }

    #[test]
    fn of_many_tenants_those_longest_at_work_are_looked_at_beside_each_other() {
        let many = 3 * MOST_TENANTS;
        let mut watch = Watch::new(many);
        // Every third works for 9 ms of each 10, the others for 1 ms; all begin together.
        for n in 0..100 {
            let mut records: Vec<FrameRecord> = (0..many)
                .map(|tenant| {
                    let took = if tenant % 3 == 1 { 9 } else { 1 };
                    frame(
                        tenant as u16,
                        n,
                        [n as i64 * 10, n as i64 * 10, n as i64 * 10 + took],
                    )
                })
                .collect();
            records.sort_by_key(|record| record.finished);
            records.iter().for_each(|record| watch.frame(record));
        }
        let watched = watch.finish();
        let busy: Vec<usize> = (0..many).filter(|tenant| tenant % 3 == 1).collect();
        assert_eq!(watched[1].company(many), busy);
        assert!(watched[0].company(many).is_empty());
        let last = watched[1].usual.last().unwrap();
        assert_eq!(last.beside.len(), MOST_TENANTS);
        assert_eq!(watched[1].beside(last, 4).unwrap().len(), 1);
        assert_eq!(watched[1].beside(last, 2), None);
        // What is kept of the others takes no room for pairs.
        assert!(watched[0].usual.iter().all(|kept| kept.beside.is_empty()));
        assert_eq!(watched[0].usual.len(), 100);
    }

    #[test]
    fn frames_that_waited_know_the_one_that_held_them_up() {
        let mut watch = Watch::new(1);
        watch.frame(&frame(0, 0, [0, 0, 2]));
        watch.frame(&frame(0, 1, [10, 10, 100]));
        watch.frame(&frame(0, 2, [20, 100, 102]));
        watch.frame(&frame(0, 3, [30, 102, 104]));
        watch.frame(&frame(0, 4, [110, 110, 112]));
        let kept = &watch.finish()[0].usual;
        let behind: Vec<Option<u64>> = kept.iter().map(|k| k.behind.map(|b| b.sequence)).collect();
        assert_eq!(behind, [None, None, Some(1), Some(1), None]);
        let heads: Vec<u64> = kept.iter().map(|k| k.head).collect();
        assert_eq!(heads, [0, 1, 1, 1, 4]);
    }

    #[test]
    fn a_damaged_file_takes_neither_time_nor_memory() {
        let mut watch = Watch::new(2);
        for n in 0..20_000u64 {
            let mut record = frame((n % 2) as u16, n, [0, 0, 0]);
            (record.started, record.finished) = (Stamp(i64::MIN), Stamp(i64::MAX - n as i64));
            watch.frame(&record);
        }
        for tenant in watch.finish() {
            assert!(tenant.slowest.len() <= SLOWEST && tenant.usual.len() <= USUAL);
            let kept = tenant.slowest.iter().chain(&tenant.usual);
            assert!(
                kept.flat_map(|kept| &kept.beside)
                    .all(|beside| beside.len() <= MOST_BESIDE)
            );
        }
    }

    #[test]
    fn frames_that_only_touch_do_not_meet_and_those_of_the_own_tenant_are_nobodys_company() {
        let span = |from: i64, to: i64| Span {
            started: Stamp(from),
            finished: Stamp(to),
        };
        assert!(!span(0, 5).meets(span(5, 9)) && !span(5, 9).meets(span(0, 5)));
        assert!(span(0, 5).meets(span(4, 9)) && span(4, 9).meets(span(0, 5)));
        let mut watch = Watch::new(2);
        watch.frame(&frame(0, 0, [0, 0, 20]));
        watch.frame(&frame(0, 1, [10, 10, 30]));
        watch.frame(&frame(0, 2, [15, 15, 40]));
        for kept in &watch.finish()[0].usual {
            assert_eq!(kept.beside, [[], []]);
        }
    }

    #[test]
    fn of_the_frames_beside_a_kept_one_the_first_eight_are_noted() {
        let mut watch = Watch::new(2);
        watch.frame(&frame(0, 0, [0, 0, 100]));
        // This one is longer, so that more is looked for when the first has its eight.
        watch.frame(&frame(0, 1, [20, 20, 200]));
        (0..20).for_each(|n| watch.frame(&frame(1, n as u64, [n * 5, n * 5, n * 5 + 4])));
        let started = |kept: &Kept| -> Vec<i64> {
            let spans = kept.beside[1].iter();
            spans.map(|span| span.started.0 / 1_000_000).collect()
        };
        let kept = &watch.finish()[0].usual;
        assert_eq!(started(&kept[0]), [0, 5, 10, 15, 20, 25, 30, 35]);
        assert_eq!(started(&kept[1]), [20, 25, 30, 35, 40, 45, 50, 55]);
    }

    #[test]
    fn a_line_is_counted_with_its_work_and_the_frames_of_the_measured_time_with_it() {
        let mut watch = Watch::new(1);
        watch.frame(&frame(0, 0, [0, 0, 10]));
        watch.frame(&frame(0, 1, [2, 10, 30]));
        watch.frame(&frame(0, 2, [4, 30, 35]));
        watch.frame(&frame(0, 3, [6, 35, 36]));
        let watched = &watch.finish()[0];
        assert_eq!(watched.frames(), 4);
        let behind: Vec<_> = watched.usual.iter().filter_map(|kept| kept.behind).collect();
        let told: Vec<(u64, i64, u64, i64)> = behind
            .iter()
            .map(|behind| {
                let ms = |time: Nanos| time.0 / 1_000_000;
                (
                    behind.sequence,
                    ms(behind.service),
                    behind.frames,
                    ms(behind.work),
                )
            })
            .collect();
        assert_eq!(told, [(0, 10, 1, 10), (1, 20, 2, 30), (1, 20, 3, 35)]);
    }

    #[test]
    fn a_frame_that_began_fifty_microseconds_after_its_release_did_not_wait() {
        let began_after = |micros: i64| {
            let mut watch = Watch::new(1);
            watch.frame(&frame(0, 0, [0, 0, 10]));
            let mut next = frame(0, 1, [10, 10, 20]);
            next.started = next.released + Nanos(micros * 1_000);
            watch.frame(&next);
            watch.finish()[0].usual[1].behind.is_some()
        };
        assert!(!began_after(50) && began_after(51));
    }
}
