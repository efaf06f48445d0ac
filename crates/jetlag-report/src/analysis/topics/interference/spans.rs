//! Which frames were in service when, of all tenants, in bounded memory: what ran beside what is told from them.

use crate::units::{Nanos, Stamp};

/// Spans kept at most, for all tenants together: 32 bytes each.
const MOST_SPANS: usize = 1 << 18;
/// Spans of a slice of this length are kept or discarded together.
const SLICE: i64 = 4_000_000_000;

/// One frame that was due while all ran together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    pub(super) started: Stamp,
    pub(super) finished: Stamp,
    /// When it was due.
    pub(super) released: Stamp,
    /// Its number, modulo 2³².
    pub(super) sequence: u32,
    /// Whether it is a frame to estimate from: completed, and not of the warm-up. Other frames still count as company.
    pub(super) counts: bool,
}

impl Span {
    /// Whether it was in service at all. One that was dropped starts and ends when it was due.
    pub(super) fn is_served(&self) -> bool {
        self.finished > self.started
    }
}

/// Frames in service by tenant; in very long runs, in slices of time spread evenly over the run.
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
    pub(super) fn push(&mut self, tenant: u16, span: Span) {
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

    /// Puts each tenant's into the order of time.
    pub(super) fn sort(&mut self) {
        self.of.iter_mut().for_each(|spans| spans.sort_unstable());
    }

    /// Whether everything is kept that can have run beside a span that starts then; `longest` is the longest service there is.
    /// That the span itself is short must not count for it: those that are left would be the short ones.
    pub(super) fn sees_all_from(&self, started: Stamp, longest: Nanos) -> bool {
        let since = started.0.rem_euclid(SLICE);
        self.every == 1 || (since >= longest.0 && longest.0 <= SLICE - since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
                        released: started,
                        sequence: i as u32,
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

    #[test]
    fn the_span_that_makes_room_necessary_is_kept_where_its_slice_is() {
        let slice = |n: i64, i: i64| Stamp(n * SLICE + i);
        let span = |started: Stamp| Span {
            started,
            finished: started + Nanos(1),
            released: started,
            sequence: 0,
            counts: true,
        };
        let mut spans = Spans::default();
        let half = MOST_SPANS as i64 / 2;
        for n in 0..2 {
            (0..half).for_each(|i| spans.push(0, span(slice(n, i))));
        }
        assert_eq!((spans.every, spans.kept), (1, MOST_SPANS));
        spans.push(0, span(slice(2, 0)));
        assert_eq!((spans.every, spans.kept), (2, MOST_SPANS / 2 + 1));
        assert!(spans.of[0].iter().all(|span| span.started.0 / SLICE % 2 == 0));
        assert_eq!(spans.of[0].last().map(|span| span.started), Some(slice(2, 0)));
        // One of a slice that is not kept is not.
        spans.push(0, span(slice(3, 0)));
        assert_eq!(spans.kept, MOST_SPANS / 2 + 1);
    }
}
