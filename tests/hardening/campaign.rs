//! How long a campaign goes on, and with which random numbers.

use std::time::{Duration, Instant};

use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// Seconds of each part of a campaign; without it, a few rounds that show that the campaign works.
const SECONDS: &str = "JETLAG_CAMPAIGN_SECONDS";
/// The first seed; every round has one of its own.
const SEED: &str = "JETLAG_CAMPAIGN_SEED";

fn number(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    let number: Result<u64, _> = value.parse();
    Some(number.unwrap_or_else(|_| panic!("{name} is `{value}`, and must be a whole number")))
}

/// How long somebody asked each part to go on.
pub(super) fn seconds() -> Option<u64> {
    number(SECONDS)
}

/// A part of a campaign.
pub(super) struct Campaign {
    first: u64,
    done: u64,
    rounds: u64,
    until: Option<Instant>,
}

impl Campaign {
    /// Of so many rounds, where nobody asked for a time.
    pub(super) fn new(rounds: u64) -> Campaign {
        Campaign {
            first: number(SEED).unwrap_or(1),
            done: 0,
            rounds,
            until: seconds().map(|seconds| Instant::now() + Duration::from_secs(seconds)),
        }
    }

    /// Whether somebody asked for a time: only then do figures of time count, since the tests' machine may be busy.
    pub(super) fn is_long(&self) -> bool {
        self.until.is_some()
    }

    /// The seeds of the rounds so far.
    pub(super) fn seeds(&self) -> String {
        format!("seeds {}–{}", self.first, self.first + self.done.max(1) - 1)
    }

    pub(super) fn done(&self) -> u64 {
        self.done
    }
}

impl Iterator for Campaign {
    /// The round's seed, and its random numbers.
    type Item = (u64, Random);

    fn next(&mut self) -> Option<Self::Item> {
        let over = match self.until {
            Some(until) => Instant::now() >= until,
            None => self.done >= self.rounds,
        };
        if over {
            return None;
        }
        let seed = self.first + self.done;
        self.done += 1;
        Some((seed, Random(Pcg64::seed_from_u64(seed))))
    }
}

/// Random numbers of a round.
pub(super) struct Random(Pcg64);

impl Random {
    /// Below `end`, which is not 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.0.next_u64() % end as u64) as usize
    }

    /// A part of `0..len`, not longer than `most`.
    pub(super) fn range(&mut self, len: usize, most: usize) -> std::ops::Range<usize> {
        let from = self.below(len);
        let length = 1 + self.below(most.min(len - from));
        from..from + length
    }

    pub(super) fn byte(&mut self) -> u8 {
        self.0.next_u32() as u8
    }
}
