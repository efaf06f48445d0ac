//! Keeps some frames whole while the run goes by: the slowest of each tenant, and a sample of its usual frames to
//! compare them with. `outliers` decides what distinguishes them.
//!
//! For each kept frame it also records which frames of other tenants were in service at the same time, whether these
//! were recorded before or after it, and which frames of its own tenant it waited for. Memory and time per frame are
//! bounded: [`SLOWEST`] and at most [`USUAL`] frames per tenant, the latest [`RECENT`] frames of each, and at most
//! [`MOST_BESIDE`] frames of another tenant for each kept one.

use std::collections::VecDeque;

use crate::record::{FrameRecord, Outcome, Phase, Stage};
use crate::units::{Nanos, Stamp};

/// Slowest frames kept per tenant.
pub(super) const SLOWEST: usize = 256;
/// Usual frames kept per tenant at most: every frame, then one of two, one of four, …, chosen pseudo-randomly by
/// number. A regular choice would always be the same half where a co-runner is released with every second frame.
const USUAL: usize = 1024;
/// Latest frames of a tenant that are remembered for those of others: one tenant's records may come this much ahead.
const RECENT: usize = 1024;
/// Frames of another tenant that are noted for a kept one; the earliest.
const MOST_BESIDE: usize = 8;
/// A frame that started this long after its release without waiting for its own tenant was not held up by another
/// frame.
const WAITED: Nanos = Nanos::from_micros(50);

/// A stretch of time in which a frame was in service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) started: Stamp,
    pub(super) finished: Stamp,
}

impl Span {
    pub(super) fn of(frame: &FrameRecord) -> Span {
        Span {
            started: frame.started,
            finished: frame.finished,
        }
    }

    /// Without the time in which it waited for its turn on the device, which takes nothing from others.
    pub(super) fn at_work(frame: &FrameRecord) -> Span {
        let queue = frame.stages[Stage::Queue as usize].unwrap_or(Nanos::ZERO);
        Span {
            started: (frame.started + queue.max(Nanos::ZERO)).min(frame.finished),
            finished: frame.finished,
        }
    }

    pub(super) fn meets(&self, other: Span) -> bool {
        self.started < other.finished && other.started < self.finished
    }
}

/// A frame that is kept.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) frame: FrameRecord,
    /// The first frame of the busy period (without a gap) that includes this one.
    pub(super) head: u64,
    /// The frames of that busy period before this one.
    pub(super) behind: Option<Behind>,
    /// When frames of each other tenant were at work meanwhile.
    pub(super) beside: Vec<Vec<Span>>,
}

/// The frames that others waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Behind {
    /// The one that took longest.
    pub(super) sequence: u64,
    pub(super) service: Nanos,
    /// Number of frames that it waited for.
    pub(super) frames: u64,
    pub(super) work: Nanos,
}

/// What is kept of one tenant.
#[derive(Clone, Debug, Default)]
pub(super) struct Watched {
    /// The slowest frames, in no order.
    pub(super) slowest: Vec<Kept>,
    /// The shortest response time among them, once as many as possible are kept.
    to_beat: Option<Nanos>,
    /// A sample of the completed frames, in order of arrival.
    pub(super) usual: Vec<Kept>,
    seen: u64,
    every: u64,
    recent: VecDeque<Span>,
    busy: Option<Busy>,
    /// For each other tenant: the latest moment at which one of its frames may still overlap a kept one.
    open_until: Vec<Option<Stamp>>,
}

/// A busy period: consecutive frames without a gap.
#[derive(Clone, Copy, Debug)]
struct Busy {
    head: u64,
    so_far: Behind,
}

/// The watched frames of all tenants.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    tenants: Vec<Watched>,
}

impl Watch {
    pub(super) fn new(tenants: usize) -> Self {
        let watched = Watched {
            every: 1,
            open_until: vec![None; tenants],
            ..Watched::default()
        };
        Watch {
            tenants: vec![watched; tenants],
        }
    }

    /// Adds a frame; only frames completed in the measured time can be kept.
    pub(super) fn frame(&mut self, frame: &FrameRecord) {
        let number = usize::from(frame.tenant);
        let served = matches!(frame.outcome, Outcome::Completed | Outcome::Failed);
        if frame.phase != Phase::Together || !served || number >= self.tenants.len() {
            return;
        }
        let at_work = Span::at_work(frame);
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

    /// Everything that was kept, by tenant.
    pub(super) fn finish(self) -> Vec<Watched> {
        self.tenants
    }

    /// Adds a frame to the kept frames of other tenants that it overlaps.
    fn note_beside(&mut self, number: usize, span: Span) {
        for (other, tenant) in self.tenants.iter_mut().enumerate() {
            let awaited = tenant.open_until.get(number).copied().flatten();
            if other == number || awaited.is_none_or(|until| span.started >= until) {
                continue;
            }
            let mut until: Option<Stamp> = None;
            for kept in tenant.slowest.iter_mut().chain(&mut tenant.usual) {
                let Some(beside) = kept.beside.get_mut(number) else {
                    continue;
                };
                if beside.len() < MOST_BESIDE && span.meets(Span::of(&kept.frame)) {
                    beside.push(span);
                }
                if beside.len() < MOST_BESIDE && span.started < kept.frame.finished {
                    until = Some(until.map_or(kept.frame.finished, |known| known.max(kept.frame.finished)));
                }
            }
            if let Some(place) = tenant.open_until.get_mut(number) {
                *place = until;
            }
        }
    }

    /// The frames of other tenants, recorded so far, that overlap a span.
    fn beside(&self, number: usize, span: Span) -> Vec<Vec<Span>> {
        let all = self.tenants.iter().enumerate();
        all.map(|(other, tenant)| {
            if other == number {
                return Vec::new();
            }
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

    /// Completed frames in the measured time.
    pub(super) fn frames(&self) -> u64 {
        self.seen
    }

    /// Whether the next frame belongs to the sample.
    fn is_sampled(&mut self, sequence: u64) -> bool {
        self.seen += 1;
        let drawn = |sequence: u64, every: u64| scrambled(sequence).is_multiple_of(every);
        while self.usual.len() >= USUAL && drawn(sequence, self.every) {
            self.every *= 2;
            let every = self.every;
            self.usual.retain(|kept| drawn(kept.frame.sequence, every));
            if every >= 1 << 40 {
                break;
            }
        }
        self.usual.len() < USUAL && drawn(sequence, self.every)
    }

    fn keep_among_slowest(&mut self, kept: Kept) {
        if self.slowest.len() < SLOWEST {
            self.slowest.push(kept);
        } else if let Some(least) = self.slowest.iter_mut().min_by_key(|kept| kept.frame.response()) {
            *least = kept;
        }
        if self.slowest.len() == SLOWEST {
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

/// A hash of a number (the last step of SplitMix64): neighbouring numbers give unrelated results.
fn scrambled(number: u64) -> u64 {
    let mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
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
