//! What the frames of a series lack for the interval of a quantile, and how long it would take to have it.

use jetlag_stats::spells;
use serde::Serialize;

/// What the frames of a series lack for the interval of a quantile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    /// There are too few of them: so many are needed in all, as they depend on each other.
    Frames(u64),
    /// They are fast or slow for many frames at a time, and the rarer state came only so often.
    Spells(u32),
    /// What they follow changes more slowly than the run is long: no number of frames can be named.
    Wanders,
}

impl Lack {
    /// Seconds beyond which more time is no answer: half an hour.
    pub(in crate::analysis) const PATIENCE: f64 = 1800.0;

    /// How long it takes a series to have enough frames that has `count` in so many seconds; `None` where more time is no answer that
    /// a person would wait for.
    pub fn seconds(self, count: u64, seconds: f64) -> Option<f64> {
        let needed = match self {
            Lack::Frames(frames) => frames as f64 * seconds / count as f64,
            Lack::Spells(seen) => f64::from(spells::ENOUGH) * seconds / f64::from(seen),
            Lack::Wanders => return None,
        };
        (needed > 0.0 && needed <= Self::PATIENCE).then_some(needed)
    }

    /// What stands in place of the interval of a quantile of `count` frames in so many seconds: of which frames a value is that is
    /// shown all the same, or how long it takes to have one. No seconds where a longer run would answer no more.
    pub fn in_words(self, is_shown: bool, count: u64, seconds: Option<f64>) -> String {
        match (is_shown, seconds.and_then(|seconds| self.seconds(count, seconds))) {
            (true, _) => "this run".to_owned(),
            (false, Some(needed)) if needed < 120.0 => format!("takes {:.0} s", needed.ceil()),
            (false, Some(needed)) => format!("takes {:.0} min", (needed / 60.0).ceil()),
            (false, None) => "not known".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_run_is_named_where_it_answers_and_somebody_would_wait_for_it() {
        let lack = Lack::Frames(600);
        assert_eq!(lack.in_words(false, 300, Some(10.0)), "takes 20 s");
        assert_eq!(lack.in_words(false, 300, Some(100.0)), "takes 4 min");
        assert_eq!(lack.in_words(false, 3, Some(100.0)), "not known");
        assert_eq!(lack.in_words(false, 300, None), "not known");
        assert_eq!(lack.in_words(true, 300, None), "this run");
    }
}
