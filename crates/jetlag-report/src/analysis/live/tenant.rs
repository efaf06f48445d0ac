//! What the dashboard shows of one tenant: its rate, quantiles of its latest frames, and the worst of each half second.

use std::collections::VecDeque;

use jetlag_stats::quantile::Quantile;

use crate::record::{FrameRecord, Outcome, Phase};
use crate::scenario::{Arrival, Tenant};
use crate::units::{Nanos, Stamp};

/// Responses that quantiles are taken over.
const RECENT: usize = 2048;
/// Time over which the rate is counted.
const RATE_WINDOW: Nanos = Nanos::from_secs(3);
/// Time that one column of a latency history stands for.
const COLUMN: Nanos = Nanos::from_millis(500);
/// Columns kept of a tenant: the widest sparkline.
const COLUMNS: usize = 200;

/// The rate at which frames are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Asked {
    /// Nothing is known of it, or it is that of a recording.
    #[default]
    Unknown,
    /// The next frame as soon as there is room.
    Closed,
    /// So many a second.
    Hz(f64),
}

impl Asked {
    fn of(arrival: &Arrival) -> Asked {
        match arrival {
            Arrival::Closed => Asked::Closed,
            Arrival::Periodic { hz, .. } | Arrival::Poisson { hz } | Arrival::Sampled { hz, .. } => {
                Asked::Hz(*hz)
            }
            Arrival::Replay { .. } | Arrival::Live => Asked::Unknown,
        }
    }
}

/// The frames of one tenant in the current phase; its warm-up counts only while it lasts.
#[derive(Clone, Debug, Default)]
pub struct LiveTenant {
    /// Name of the tenant.
    pub name: String,
    /// Its deadline, if it has one.
    pub deadline: Option<Nanos>,
    /// The rate that it is asked for in the current phase.
    pub asked: Asked,
    /// The frames after which it stops, where its scenario sets that.
    pub limit: Option<u64>,
    /// Whether it takes part in the current phase.
    pub takes_part: bool,
    /// Whether its frames are those of the warm-up.
    pub warmup: bool,
    /// Frames that ended: completed, dropped or failed.
    pub ended: u64,
    /// Of these, those after their deadline, dropped, or failed under one.
    pub missed: u64,
    /// Of the frames that ended, those that were dropped.
    pub dropped: u64,
    /// Of the frames that ended, those that failed.
    pub failed: u64,
    /// The phase that its frames belong to.
    phase: Option<Phase>,
    /// The rate that the scenario asks for, where a phase does not change it.
    own: Asked,
    responses: VecDeque<i64>,
    completed_at: VecDeque<Stamp>,
    columns: VecDeque<(i64, Column)>,
}

/// The frames of a tenant that ended within one column of its history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// The longest response of a completed frame.
    pub worst: Option<Nanos>,
    /// Whether a frame missed its deadline, was dropped or failed.
    pub bad: bool,
}

impl LiveTenant {
    /// One of which nothing but its name is known.
    pub(super) fn named(name: &str) -> LiveTenant {
        LiveTenant {
            name: name.to_owned(),
            takes_part: true,
            ..LiveTenant::default()
        }
    }

    /// One as its scenario has it.
    pub(super) fn planned(tenant: &Tenant) -> LiveTenant {
        let own = Asked::of(&tenant.arrival);
        LiveTenant {
            deadline: tenant.deadline,
            asked: own,
            own,
            limit: tenant.frames,
            ..LiveTenant::named(&tenant.name)
        }
    }

    /// A phase begins, in which it takes part or not, at this rate or its own.
    pub(super) fn phase(&mut self, takes_part: bool, swept: Option<Option<f64>>) {
        self.takes_part = takes_part;
        self.asked = match swept {
            Some(Some(hz)) => Asked::Hz(hz),
            Some(None) => Asked::Closed,
            None => self.own,
        };
    }

    pub(super) fn frame(&mut self, frame: &FrameRecord) {
        if frame.outcome == Outcome::Unfinished {
            return;
        }
        self.column(frame);
        self.deadline = frame.deadline.or(self.deadline);
        if self.phase != Some(frame.phase) || (self.warmup && !frame.warmup) {
            self.begin(frame);
        } else if frame.warmup && !self.warmup {
            // A late one of the warm-up, which is over.
            return;
        }
        self.ended += 1;
        self.missed += u64::from(frame.missed());
        self.dropped += u64::from(frame.outcome == Outcome::Dropped);
        self.failed += u64::from(frame.outcome == Outcome::Failed);
        if frame.outcome != Outcome::Completed {
            return;
        }
        if self.responses.len() == RECENT {
            self.responses.pop_front();
        }
        self.responses.push_back(frame.response().0);
        self.completed_at.push_back(frame.finished);
        while self
            .completed_at
            .front()
            .is_some_and(|at| frame.finished - *at > RATE_WINDOW)
        {
            self.completed_at.pop_front();
        }
    }

    /// The first frame of a phase, or of its measured part.
    fn begin(&mut self, frame: &FrameRecord) {
        self.phase = Some(frame.phase);
        self.warmup = frame.warmup;
        (self.ended, self.missed, self.dropped, self.failed) = (0, 0, 0, 0);
        self.responses.clear();
        self.completed_at.clear();
    }

    fn column(&mut self, frame: &FrameRecord) {
        let number = column_of(frame.finished);
        let place = match self.columns.iter().rposition(|(known, _)| *known == number) {
            Some(place) => place,
            // Frames come nearly in order; an older one has no column to go to.
            None if self.columns.back().is_some_and(|(last, _)| *last > number) => return,
            None => {
                if self.columns.len() == COLUMNS {
                    self.columns.pop_front();
                }
                self.columns.push_back((number, Column::default()));
                self.columns.len() - 1
            }
        };
        let (_, column) = &mut self.columns[place];
        column.bad |= frame.missed() || frame.outcome != Outcome::Completed;
        if frame.outcome == Outcome::Completed {
            let response = frame.response();
            column.worst = Some(column.worst.map_or(response, |worst| worst.max(response)));
        }
    }

    /// The columns up to now, the oldest first; none where no frame ended.
    pub fn history(&self, now: Stamp, columns: usize) -> Vec<Option<Column>> {
        let last = column_of(now);
        let mut history = vec![None; columns];
        for (number, column) in self.columns.iter().rev() {
            let back = usize::try_from(last - number).ok();
            if let Some(place) = back.and_then(|back| (columns.checked_sub(1)?).checked_sub(back)) {
                history[place] = Some(*column);
            }
        }
        history
    }

    /// Completed frames per second over the last seconds; none before the second frame.
    pub fn rate(&self) -> Option<f64> {
        let (first, last) = self.completed_at.front().zip(self.completed_at.back())?;
        let seconds = (*last - *first).as_secs_f64();
        (seconds > 0.0).then(|| (self.completed_at.len() - 1) as f64 / seconds)
    }

    /// The share of frames that missed; none before the first.
    pub fn missed_share(&self) -> Option<f64> {
        (self.ended > 0).then(|| self.missed as f64 / self.ended as f64)
    }

    /// Median response of the latest frames, in milliseconds.
    pub fn p50_ms(&self) -> Option<f64> {
        self.quantile(Quantile::P50)
    }

    /// 99 % of the latest frames took at most this, in milliseconds.
    pub fn p99_ms(&self) -> Option<f64> {
        self.quantile(Quantile::P99)
    }

    fn quantile(&self, quantile: Quantile) -> Option<f64> {
        let count = self.responses.len() as u64;
        if !quantile.supported_by(count) {
            return None;
        }
        let mut responses: Vec<i64> = self.responses.iter().copied().collect();
        quantile.of(&mut responses, Ord::cmp).map(|ns| ns as f64 / 1e6)
    }
}

fn column_of(at: Stamp) -> i64 {
    at.0.div_euclid(COLUMN.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(finished_ms: i64, response_ms: i64) -> FrameRecord {
        let finished = Stamp(finished_ms * 1_000_000);
        FrameRecord {
            deadline: Some(Nanos::from_millis(20)),
            ..FrameRecord::completed(finished - Nanos::from_millis(response_ms), finished)
        }
    }

    #[test]
    fn frames_that_ended_at_once_have_no_rate() {
        let mut tenant = LiveTenant::default();
        assert_eq!(tenant.rate(), None);
        for at in [Stamp(5), Stamp(5)] {
            tenant.completed_at.push_back(at);
            assert_eq!(tenant.rate(), None);
        }
    }

    #[test]
    fn a_column_has_the_worst_response_and_whether_a_frame_was_bad() {
        let mut tenant = LiveTenant::named("camera");
        tenant.frame(&frame(100, 5));
        tenant.frame(&frame(200, 9));
        tenant.frame(&frame(1_600, 30));
        tenant.frame(&FrameRecord {
            outcome: Outcome::Dropped,
            ..frame(2_100, 0)
        });
        let column = |ms: i64, bad| {
            Some(Column {
                worst: (ms > 0).then(|| Nanos::from_millis(ms)),
                bad,
            })
        };
        let now = Stamp(2_900_000_000);
        let all = [
            column(9, false),
            None,
            None,
            column(30, true),
            column(0, true),
            None,
        ];
        assert_eq!(tenant.history(now, 6), all);
        assert_eq!(tenant.history(now, 3), all[3..]);
        assert!(tenant.history(now, 0).is_empty());
        // A stamp from before changes nothing that is already shown.
        tenant.frame(&frame(900, 400));
        assert_eq!(tenant.history(now, 6), all);
        assert_eq!(tenant.deadline, Some(Nanos::from_millis(20)));
    }

    #[test]
    fn figures_are_of_the_phase_and_the_warm_up_counts_only_while_it_lasts() {
        let mut tenant = LiveTenant::named("camera");
        let warm = |at| FrameRecord {
            warmup: true,
            ..frame(at, 30)
        };
        (0..3).for_each(|n| tenant.frame(&warm(n * 10)));
        assert_eq!((tenant.ended, tenant.missed, tenant.warmup), (3, 3, true));
        tenant.frame(&frame(40, 5));
        tenant.frame(&warm(41));
        assert_eq!((tenant.ended, tenant.missed, tenant.warmup), (1, 0, false));
        tenant.frame(&FrameRecord {
            phase: Phase::Other(3),
            outcome: Outcome::Failed,
            ..frame(50, 5)
        });
        assert_eq!((tenant.ended, tenant.failed), (1, 1));
    }

    #[test]
    fn the_rate_that_is_asked_for_is_the_phases_else_its_own() {
        let mut tenant = LiveTenant::planned(&Tenant {
            arrival: Arrival::Poisson { hz: 30.0 },
            ..Tenant::of_backend("camera", crate::scenario::BackendChoice::Null)
        });
        assert_eq!(tenant.asked, Asked::Hz(30.0));
        tenant.phase(true, Some(Some(60.0)));
        assert_eq!(tenant.asked, Asked::Hz(60.0));
        tenant.phase(true, Some(None));
        assert_eq!(tenant.asked, Asked::Closed);
        tenant.phase(false, None);
        assert_eq!((tenant.asked, tenant.takes_part), (Asked::Hz(30.0), false));
    }
}
