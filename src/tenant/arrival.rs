//! When frames are due: a seeded sequence of releases, independent of how the tenant keeps up.
//!
//! That independence is the point: response time counts from these stamps, so a tenant that stalls is
//! charged for every frame that waited (Tene's "coordinated omission" cannot occur).

use rand_distr::{Distribution, Exp};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

use crate::scenario::Arrival;
use crate::source::timeline::Timeline;
use crate::units::{Nanos, Stamp};

/// The releases of one tenant in one phase, in order of time.
pub struct Releases {
    kind: Kind,
    rng: Pcg64,
    epoch: Stamp,
    end: Stamp,
    next: Option<Due>,
    count: u64,
    /// Sets so far that stay incomplete, which have no number in the source.
    incomplete: u64,
}

/// A frame that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// When.
    pub at: Stamp,
    /// Number of its frame in the source, counted through all repetitions.
    pub frame: u64,
    /// When its content was captured, where releases follow a recording.
    pub captured: Option<Stamp>,
    /// What its set needs, where it is one of several sensors.
    pub set: SetDue,
}

/// A frame's set of sensors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SetDue {
    /// It is there when it is due, and so is every frame of one sensor.
    #[default]
    There,
    /// It is complete at this moment.
    Complete(Stamp),
    /// It stays incomplete, and is given up at this moment.
    Incomplete(Stamp),
}

enum Kind {
    Closed,
    /// Frames are due when they come, which nobody knows before: [`ReleaseLine`](super::release_line::ReleaseLine) has them from the
    /// source.
    Live,
    Periodic {
        period_ns: f64,
        phase: Nanos,
        jitter: Nanos,
    },
    Poisson(Exp<f64>),
    Sampled {
        timeline: Timeline,
        period_ns: f64,
        phase: Nanos,
        /// Ticks of the timer so far, also those before the first frame came.
        ticks: u64,
    },
    Replay {
        timeline: Timeline,
        speed: f64,
    },
}

impl Releases {
    /// The releases from `epoch` until before `end`. `timeline` has the times of the source's frames, for `Replay`.
    pub fn new(arrival: Arrival, seed: u64, epoch: Stamp, end: Stamp, timeline: Option<&Timeline>) -> Self {
        let kind = match arrival {
            Arrival::Closed => Kind::Closed,
            Arrival::Live => Kind::Live,
            Arrival::Periodic { hz, phase, jitter } => Kind::Periodic {
                period_ns: 1e9 / hz,
                phase,
                jitter,
            },
            // A rate that makes no distribution is refused by resolve; one event a second stands in for it.
            Arrival::Poisson { hz } => {
                Kind::Poisson(Exp::new(hz / 1e9).unwrap_or(Exp::new(1e-9).expect("a positive rate")))
            }
            Arrival::Sampled { hz, phase } => Kind::Sampled {
                timeline: timeline.cloned().unwrap_or_default(),
                period_ns: 1e9 / hz,
                phase,
                ticks: 0,
            },
            Arrival::Replay { speed } => Kind::Replay {
                timeline: timeline.cloned().unwrap_or_default(),
                speed,
            },
        };
        let mut releases = Releases {
            kind,
            rng: Pcg64::seed_from_u64(seed),
            epoch,
            end,
            next: None,
            count: 0,
            incomplete: 0,
        };
        releases.next = releases.generate();
        releases
    }

    /// Whether the next frame is due whenever there is room for it.
    pub fn is_closed(&self) -> bool {
        matches!(self.kind, Kind::Closed)
    }

    /// When the next frame is due; `None` when there is none before the end. For a closed arrival
    /// process this is always in the past: the frame is due now.
    pub fn peek(&self) -> Option<Stamp> {
        self.next.map(|due| due.at)
    }

    /// Whether releases take the newest frame, and may take one again.
    pub fn is_sampled(&self) -> bool {
        matches!(self.kind, Kind::Sampled { .. })
    }

    /// The number of the next release's frame in the source.
    pub fn next_frame(&self) -> Option<u64> {
        self.next.map(|due| due.frame)
    }

    /// Takes the next release.
    pub fn take(&mut self) -> Option<Due> {
        let due = self.next?;
        match due.set {
            SetDue::Incomplete(_) => self.incomplete += 1,
            SetDue::There | SetDue::Complete(_) => self.count += 1,
        }
        self.next = self.generate();
        Some(due)
    }

    /// The release numbered `self.count`.
    fn generate(&mut self) -> Option<Due> {
        let previous = self.peek().unwrap_or(self.epoch);
        let frame = self.count;
        let the_next = |at| Due {
            at,
            frame,
            captured: None,
            set: SetDue::There,
        };
        let due = match &mut self.kind {
            Kind::Closed => return Some(the_next(self.epoch)),
            Kind::Live => return None,
            Kind::Periodic {
                period_ns,
                phase,
                jitter,
            } => {
                // From the count and not from the last release, so that no rounding accumulates.
                let ideal = Nanos((frame as f64 * *period_ns).round() as i64);
                let moved = match jitter.0 {
                    0 => 0,
                    j => (self.rng.next_u64() % (2 * j as u64 + 1)) as i64 - j,
                };
                // Jitter is below half a period, so releases stay in order; none precedes the epoch.
                the_next((self.epoch + *phase + ideal + Nanos(moved)).max(previous))
            }
            Kind::Poisson(gaps) => the_next(previous + Nanos(gaps.sample(&mut self.rng).round() as i64)),
            Kind::Sampled {
                timeline,
                period_ns,
                phase,
                ticks,
            } => {
                // A tick at which nothing has come yet is none.
                loop {
                    let since = *phase + Nanos((*ticks as f64 * *period_ns).round() as i64);
                    *ticks += 1;
                    let at = self.epoch + since;
                    if at >= self.end {
                        return None;
                    }
                    if let Some(frame) = timeline.newest(since) {
                        let captured = timeline.at(frame)?.captured;
                        break Due {
                            at,
                            frame,
                            captured: Some(self.epoch + captured),
                            set: SetDue::There,
                        };
                    }
                }
            }
            Kind::Replay { timeline, speed } => {
                let time = timeline.at(frame)?;
                let given_up = timeline.incomplete(self.incomplete);
                let on_the_run =
                    |recorded: Nanos| self.epoch + Nanos((recorded.0 as f64 / *speed).round() as i64);
                match given_up.filter(|(opened, _)| *opened < time.came) {
                    Some((opened, given_up)) => Due {
                        at: on_the_run(opened).max(previous),
                        frame,
                        captured: Some(on_the_run(opened)),
                        set: SetDue::Incomplete(on_the_run(given_up)),
                    },
                    None => Due {
                        at: on_the_run(time.came).max(previous),
                        frame,
                        captured: Some(on_the_run(time.captured)),
                        set: timeline
                            .complete(frame)
                            .map_or(SetDue::There, |at| SetDue::Complete(on_the_run(at))),
                    },
                }
            }
        };
        (due.at < self.end).then_some(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::timeline::{FrameTime, Sets};

    fn all(arrival: Arrival, seed: u64, end: i64, captured: &[Nanos]) -> Vec<i64> {
        let timeline = Timeline::of_captures(captured.iter().copied());
        let (epoch, end) = (Stamp(1_000), Stamp(1_000 + end));
        let mut releases = Releases::new(arrival, seed, epoch, end, Some(&timeline));
        std::iter::from_fn(|| releases.take().map(|due| due.at.0 - 1_000)).collect()
    }

    #[test]
    fn a_periodic_tenant_is_released_on_the_period_without_drift() {
        let at = all(
            Arrival::Periodic {
                hz: 30.0,
                phase: Nanos(5),
                jitter: Nanos::ZERO,
            },
            0,
            10_000_000_000,
            &[],
        );
        assert_eq!(at.len(), 300);
        assert_eq!(at[0], 5);
        assert_eq!(at[299], 5 + 9_966_666_667);
    }

    #[test]
    fn jitter_moves_each_release_within_its_bound_and_keeps_the_order() {
        let jitter = Nanos::from_millis(4);
        let at = all(
            Arrival::Periodic {
                hz: 100.0,
                phase: Nanos::ZERO,
                jitter,
            },
            9,
            10_000_000_000,
            &[],
        );
        assert!(at.is_sorted());
        for (i, t) in at.iter().enumerate().skip(1) {
            assert!((t - i as i64 * 10_000_000).abs() <= jitter.0);
        }
        assert!(
            at.iter()
                .enumerate()
                .any(|(i, t)| (t - i as i64 * 10_000_000).abs() > 3_000_000)
        );
    }

    #[test]
    fn jitter_is_any_of_the_numbers_within_its_bound() {
        let arrival = Arrival::Periodic {
            hz: 1e6,
            phase: Nanos::ZERO,
            jitter: Nanos(3),
        };
        let at = all(arrival, 9, 1_000_000, &[]);
        // The first is not before the epoch.
        let moved = at.iter().enumerate().skip(1).map(|(i, t)| t - i as i64 * 1_000);
        let moved: std::collections::BTreeSet<i64> = moved.collect();
        assert!(moved.into_iter().eq(-3..=3));
    }

    #[test]
    fn poisson_arrivals_have_the_rate_and_the_spread_of_an_exponential() {
        let at = all(Arrival::Poisson { hz: 1000.0 }, 3, 20_000_000_000, &[]);
        assert!((at.len() as f64 - 20_000.0).abs() < 600.0, "{}", at.len());
        let gaps: Vec<f64> = at.windows(2).map(|w| (w[1] - w[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let sd = (gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
        assert!(
            (sd / mean - 1.0).abs() < 0.05,
            "coefficient of variation {}",
            sd / mean
        );
        assert_eq!(at, all(Arrival::Poisson { hz: 1000.0 }, 3, 20_000_000_000, &[]));
    }

    #[test]
    fn replay_follows_the_capture_times_at_its_speed_and_comes_round_again() {
        let captured = [Nanos(0), Nanos(100), Nanos(300)];
        assert_eq!(
            all(Arrival::Replay { speed: 2.0 }, 0, 500, &captured),
            [0, 50, 150, 225, 275, 375, 450]
        );
        assert!(all(Arrival::Replay { speed: 1.0 }, 0, 500, &[]).is_empty());
    }

    #[test]
    fn a_replayed_frame_that_took_time_to_come_was_captured_before_its_release() {
        let frames = [(0, 40), (100, 160)].map(|(captured, came)| FrameTime {
            captured: Nanos(captured),
            came: Nanos(came),
        });
        let timeline = Timeline::new(frames.to_vec(), Nanos(200));
        let (epoch, end) = (Stamp(1_000), Stamp(2_000));
        let mut releases = Releases::new(Arrival::Replay { speed: 2.0 }, 0, epoch, end, Some(&timeline));
        let dues: Vec<Due> = std::iter::from_fn(|| releases.take()).take(3).collect();
        let wanted = [(1_020, 0, 1_000), (1_080, 1, 1_050), (1_120, 2, 1_100)];
        let due = |(at, frame, captured)| Due {
            at: Stamp(at),
            frame,
            captured: Some(Stamp(captured)),
            set: SetDue::There,
        };
        assert_eq!(dues, wanted.map(due));
    }

    #[test]
    fn sets_are_released_with_their_first_frame_and_incomplete_ones_between_them() {
        let frames = [(5, 0), (105, 100)].map(|(captured, came)| FrameTime {
            captured: Nanos(captured),
            came: Nanos(came),
        });
        let timeline = Timeline::new(frames.to_vec(), Nanos(200)).of_sets(Sets {
            complete: [30, 130].map(Nanos).to_vec(),
            skew: Vec::new(),
            incomplete: vec![Nanos(60)],
            tolerance: Nanos(50),
        });
        let (epoch, end) = (Stamp(1_000), Stamp(1_180));
        let mut releases = Releases::new(Arrival::Replay { speed: 2.0 }, 0, epoch, end, Some(&timeline));
        let dues = std::iter::from_fn(|| releases.take().map(|due| (due.at.0, due.frame, due.set)));
        let (complete, incomplete) = (
            |at| SetDue::Complete(Stamp(at)),
            |at| SetDue::Incomplete(Stamp(at)),
        );
        assert_eq!(
            dues.collect::<Vec<_>>(),
            [
                (1_000, 0, complete(1_015)),
                (1_030, 1, incomplete(1_055)),
                (1_050, 1, complete(1_065)),
                (1_100, 2, complete(1_115)),
                (1_130, 3, incomplete(1_155)),
                (1_150, 3, complete(1_165)),
            ]
        );
    }

    #[test]
    fn a_timer_takes_the_newest_frame_and_begins_when_there_is_one() {
        let frames = [(0, 15), (20, 35), (40, 55), (60, 75)].map(|(captured, came)| FrameTime {
            captured: Nanos(captured),
            came: Nanos(came),
        });
        let timeline = Timeline::new(frames.to_vec(), Nanos(80));
        let taken = |hz| {
            let sampled = Arrival::Sampled {
                hz,
                phase: Nanos::ZERO,
            };
            let mut releases = Releases::new(sampled, 0, Stamp(1_000), Stamp(1_100), Some(&timeline));
            let dues = std::iter::from_fn(move || releases.take());
            dues.map(|due| (due.at.0 - 1_000, due.frame, due.captured.unwrap().0 - 1_000))
                .collect::<Vec<_>>()
        };
        // Every 30 ns: nothing has come at 0, the frame of 55 is skipped for none, that of 75 is there at 90.
        assert_eq!(taken(1e9 / 30.0), [(30, 0, 0), (60, 2, 40), (90, 3, 60)]);
        // Every 10 ns: frames are taken again.
        let often: Vec<u64> = taken(1e8).into_iter().map(|(_, frame, _)| frame).collect();
        assert_eq!(often, [0, 0, 1, 1, 2, 2, 3, 3]);
    }

    #[test]
    fn one_captured_frame_comes_again_each_second() {
        let at = all(Arrival::Replay { speed: 1.0 }, 0, 2_500_000_000, &[Nanos(0)]);
        assert_eq!(at, [0, 1_000_000_000, 2_000_000_000]);
    }
}
