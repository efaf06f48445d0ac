//! When frames were due: the part of a tenant's presence that no frame's length decides.
//!
//! Who is in service when a frame begins is no coincidence. Whatever slows both tenants down (a clock, a host that is busy every
//! other second) makes the co-runner stay longer, so a slow frame meets it more often, though neither costs the other anything. When
//! frames are *due* follows from the scenario or the sensor alone. So presence is taken as if each of the co-runner's frames lasted
//! as long as its median, from its release on, and is looked at over the median service time of the tenant from each of its releases.
//! In a closed loop frames are due when they begin.
//!
//! What is left is the frame's number. Where rates are multiples, the co-runner is due at every third frame, say, and so is
//! whatever repeats with the content: the key frames of a video, every n-th heavy image. [`Cycle`] is what has to be taken off then.

use jetlag_stats::median::upper_median;
use jetlag_stats::rhythm::rhythm;

use super::cover::Cover;
use super::spans::Span;
use crate::scenario::Arrival;
use crate::units::{Nanos, Stamp};

/// Longest cycle of frames that is looked for: that of a video's key frames beside a tenant that runs once a second.
const LONGEST: u32 = 64;

/// When a frame was due, in a closed loop when it began.
pub(super) fn due(span: &Span, arrival: Arrival) -> Stamp {
    match arrival {
        Arrival::Closed => span.started,
        _ => span.released,
    }
}

fn after(stamp: Stamp, by: Nanos) -> Stamp {
    Stamp(stamp.0.saturating_add(by.0))
}

/// The times in which a tenant would be in service if all its frames lasted as long as their median, from when they were due.
pub(super) fn presence(spans: &[Span], arrival: Arrival) -> Cover {
    let served = spans.iter().filter(|span| span.is_served());
    let mut lasting: Vec<Nanos> = served.map(|span| span.finished - due(span, arrival)).collect();
    let lasts = upper_median(&mut lasting, Ord::cmp).unwrap_or(Nanos::ZERO);
    let mut dues: Vec<Stamp> = spans.iter().map(|span| due(span, arrival)).collect();
    dues.sort_unstable();
    Cover::of_stretches(dues.into_iter().map(|due| (due, after(due, lasts))))
}

/// For each frame, the share of a median frame from when it was due that company would cover.
pub(super) fn met(frames: &[Span], arrival: Arrival, company: &Cover) -> Vec<f64> {
    let mut lasting: Vec<Nanos> = frames
        .iter()
        .map(|frame| frame.finished - frame.started)
        .collect();
    let lasts = upper_median(&mut lasting, Ord::cmp)
        .unwrap_or(Nanos::ZERO)
        .max(Nanos(1));
    let share = |frame: &Span| {
        // Not beyond the last stamp there is, which a damaged file may name.
        let from = due(frame, arrival).min(Stamp(i64::MAX - lasts.0));
        company.share(from, after(from, lasts))
    };
    frames.iter().map(share).collect()
}

/// So many pieces of work of a tenant after which a co-runner's releases are where they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cycle {
    length: u32,
    /// Frames of a piece of work: of a batch.
    step: u32,
}

impl Cycle {
    /// Of two tenants, unless the releases of either do not repeat.
    pub(super) fn of(own: (&[Span], Arrival), other: (&[Span], Arrival)) -> Option<Cycle> {
        let (own, other) = (Releases::of(own)?, Releases::of(other)?);
        let length = rhythm(own.number, own.period, other.period, LONGEST)?;
        Some(Cycle {
            length,
            step: own.step,
        })
    }

    fn place(self, frame: &Span) -> u32 {
        frame.sequence / self.step % self.length
    }

    /// Of a closed loop whose service times repeat: when its frames begin then follows from what repeats.
    pub(super) fn of_content(frames: &[Span], arrival: Arrival) -> Option<Cycle> {
        if arrival != Arrival::Closed {
            return None;
        }
        let services: Vec<f64> = frames
            .iter()
            .map(|frame| (frame.finished - frame.started).0 as f64)
            .collect();
        let n = services.len() as f64;
        let mean = services.iter().sum::<f64>() / n;
        let all: f64 = services.iter().map(|service| (service - mean).powi(2)).sum();
        let cycle = |length| Cycle { length, step: 1 };
        (2..=LONGEST).map(cycle).find(|cycle| {
            let mut places = vec![(0.0, 0.0); cycle.length as usize];
            for (frame, service) in frames.iter().zip(&services) {
                let place = &mut places[cycle.place(frame) as usize];
                *place = (place.0 + service - mean, place.1 + 1.0);
            }
            let between: f64 = places
                .iter()
                .map(|(sum, count)| sum * sum / f64::max(*count, 1.0))
                .sum();
            let (freedom, left) = (f64::from(cycle.length - 1), n - f64::from(cycle.length));
            // The F statistic against five of its standard deviations.
            left > 0.0 && between * left > (all - between) * freedom * (1.0 + 5.0 * (2.0 / freedom).sqrt())
        })
    }

    /// For each place in the cycle but the last, which frames have it; centred by the last.
    pub(super) fn places(self, frames: &[Span]) -> impl Iterator<Item = Vec<f64>> {
        (0..self.length - 1).map(move |of| {
            let is_there = |frame: &Span| f64::from(u8::from(self.place(frame) == of));
            frames.iter().map(is_there).collect()
        })
    }
}

/// Releases that come at a rate.
struct Releases {
    /// Pieces of work.
    number: f64,
    /// Nanoseconds between two.
    period: f64,
    /// Frames of each.
    step: u32,
}

impl Releases {
    fn of((spans, arrival): (&[Span], Arrival)) -> Option<Releases> {
        match arrival {
            Arrival::Closed | Arrival::Poisson { .. } => return None,
            Arrival::Periodic { .. } | Arrival::Sampled { .. } | Arrival::Replay { .. } | Arrival::Live => {}
        }
        let first = spans.iter().min_by_key(|span| span.released)?;
        let last = spans.iter().max_by_key(|span| span.released)?;
        let mut sequences: Vec<u32> = spans.iter().map(|span| span.sequence).collect();
        sequences.sort_unstable();
        let mut steps: Vec<u32> = sequences.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let step = upper_median(&mut steps, Ord::cmp)?.max(1);
        let number = f64::from(last.sequence.wrapping_sub(first.sequence)) / f64::from(step);
        let period = (last.released - first.released).0 as f64 / number;
        (number > 0.0 && period > 0.0).then_some(Releases { number, period, step })
    }
}

#[cfg(test)]
mod tests {
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::{Rng as _, SeedableRng};

    use super::*;

    fn span(sequence: u32, released: i64, started: i64, finished: i64) -> Span {
        Span {
            started: Stamp(started),
            finished: Stamp(finished),
            released: Stamp(released),
            sequence,
            counts: true,
        }
    }

    const MS: i64 = 1_000_000;

    /// Frames at a rate, each in service for 10 ms.
    fn at(hz: f64, frames: u32) -> Vec<Span> {
        let released = |frame: u32| (f64::from(frame) / hz * 1e9) as i64;
        (0..frames)
            .map(|frame| span(frame, released(frame), released(frame), released(frame) + 10 * MS))
            .collect()
    }

    fn periodic(hz: f64) -> Arrival {
        Arrival::Periodic {
            hz,
            phase: Nanos::ZERO,
            jitter: Nanos::from_millis(5),
        }
    }

    #[test]
    fn rates_that_are_multiples_repeat_after_so_many_frames_and_others_do_not() {
        let cycle = |own: f64, other: f64| {
            let (frames, of_other) = (at(own, 1_800), at(other, (1_800.0 * other / own) as u32));
            let found = Cycle::of((&frames, periodic(own)), (&of_other, periodic(other)));
            found.map(|cycle| cycle.length)
        };
        assert_eq!(cycle(30.0, 10.0), Some(3));
        assert_eq!(cycle(10.0, 30.0), Some(2));
        assert_eq!(cycle(30.0, 20.0), Some(3));
        // The two drift apart by a period in the whole run: content may stay in step with them.
        assert_eq!(cycle(30.0, 10.01), Some(3));
        assert_eq!(cycle(30.0, 1.0), Some(30));
        assert_eq!(cycle(30.0, 13.7), None);
        let frames = at(30.0, 90);
        let poisson = Arrival::Poisson { hz: 10.0 };
        assert_eq!(Cycle::of((&frames, periodic(30.0)), (&frames, poisson)), None);
        assert_eq!(
            Cycle::of((&frames, Arrival::Closed), (&frames, periodic(30.0))),
            None
        );
        assert_eq!(Cycle::of((&[], periodic(30.0)), (&[], periodic(30.0))), None);
    }

    #[test]
    fn batches_repeat_as_a_whole() {
        // Every fourth frame of 40 Hz begins one: ten in a second, beside 30 Hz.
        let batches: Vec<Span> = at(40.0, 2_400).into_iter().step_by(4).collect();
        let frames = at(30.0, 1_800);
        let cycle = Cycle::of((&batches, periodic(40.0)), (&frames, periodic(30.0))).unwrap();
        assert_eq!((cycle.length, cycle.step), (2, 4));
        let beside = Cycle::of((&frames, periodic(30.0)), (&batches, periodic(40.0))).unwrap();
        assert_eq!((beside.length, beside.step), (3, 1));
    }

    #[test]
    fn a_closed_loop_whose_frames_repeat_is_found_by_its_service_times() {
        let of = |ms: &[i64]| {
            let mut random = Pcg64::seed_from_u64(1);
            let mut at = 0;
            let frames = (0..300_u32).map(|frame| {
                let from = at;
                // Not quite the same each time.
                at += ms[frame as usize % ms.len()] * MS + (random.next_u64() % 1_000_000) as i64;
                span(frame, from, from, at)
            });
            let frames: Vec<Span> = frames.collect();
            Cycle::of_content(&frames, Arrival::Closed).map(|cycle| cycle.length)
        };
        assert_eq!(of(&[19, 11, 11]), Some(3));
        assert_eq!(of(&[18, 11, 11, 11, 11]), Some(5));
        assert_eq!(of(&[11]), None);
    }

    #[test]
    fn presence_follows_from_when_frames_were_due_and_not_from_how_long_they_took() {
        // The second frame took ten times as long as the others and the third had to wait for it.
        let frames = [
            span(0, 0, 0, 10),
            span(1, 100, 100, 200),
            span(2, 150, 200, 210),
            span(3, 300, 300, 310),
        ];
        let cover = presence(&frames, periodic(30.0));
        // As long as the third: 60 from its release.
        let covered = |from: i64, to: i64| cover.within(Stamp(from), Stamp(to));
        assert_eq!(
            [covered(0, 100), covered(100, 300), covered(300, 400)],
            [60.0, 110.0, 60.0]
        );
        let closed = presence(&frames, Arrival::Closed);
        assert_eq!(closed.within(Stamp(0), Stamp(100)), 10.0);
        // A frame that was dropped was due, too.
        let dropped = [span(0, 0, 0, 10), span(1, 50, 50, 50)];
        assert_eq!(
            presence(&dropped, periodic(20.0)).within(Stamp(50), Stamp(90)),
            10.0
        );
    }
}
