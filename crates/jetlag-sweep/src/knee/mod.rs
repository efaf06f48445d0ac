//! The knee: the highest value of an axis for which a promise holds, by intervals.
//!
//! A value *holds* or *breaks* only where the whole interval of its figures says so, made wider by half ([`CARE`]), since a search looks at
//! many values and the closest ones decide. What is neither is run again, up to a limit, and else stays *unclear*. The answer is an
//! interval: from the highest value that holds to the lowest that breaks.

mod answer;
mod drops;
mod less;
mod search;
mod table;

pub use answer::{Knee, answer};
pub use drops::{Dropped, dropped};
pub use less::broken_by_less;
pub(crate) use less::is_quantile;
pub use search::{Probe, Search, Step};
pub use table::{KneeOfTable, of_table};

use super::figures::Estimate;
use super::pooled::pooled;

/// How much wider than 95 % intervals are taken. Of a normal error, 1.5 times the half-width leaves 0.2 % beyond each end: the five to
/// ten values that a search finds close to the knee then leave 98 to 99 % for all of them together.
pub const CARE: f64 = 1.5;

/// Whether a promise holds at a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// For certain.
    Holds,
    /// For certain; also where a run failed.
    Breaks,
    /// The intervals do not say.
    Unclear,
    /// There is no figure to judge by.
    Unknown,
}

/// One run of a value: a figure for each promise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// In the order of the promises.
    pub figures: Vec<Estimate>,
    /// Whether the run, or a tenant of it, failed: that keeps no promise.
    pub failed: bool,
}

/// A promise: whether a value of its figure keeps it.
pub type Promise<'p> = &'p dyn Fn(f64) -> bool;

/// A figure that is known of the run's own frames alone.
fn has_no_interval(figure: &Estimate) -> bool {
    figure.value.is_some() && figure.ci95.is_none()
}

/// Judges a value by its runs.
pub fn verdict(runs: &[Told], promises: &[Promise<'_>]) -> Verdict {
    if runs.iter().any(|run| run.failed) {
        return Verdict::Breaks;
    }
    let mut all = Verdict::Holds;
    for (place, promise) in promises.iter().enumerate() {
        let figures: Vec<Estimate> = runs
            .iter()
            .filter_map(|run| run.figures.get(place).copied())
            .collect();
        let one = match pooled(&figures) {
            None => Verdict::Unknown,
            // Where runs differ in whether they have a figure, the spread of those that have it tells nothing of the others.
            Some(pooled) if pooled.runs < runs.len() && figures.iter().any(has_no_interval) => {
                Verdict::Unclear
            }
            Some(pooled) => match pooled.widened(CARE).map(|ends| ends.map(promise)) {
                Some([true, true]) if promise(pooled.value) => Verdict::Holds,
                Some([false, false]) if !promise(pooled.value) => Verdict::Breaks,
                _ => Verdict::Unclear,
            },
        };
        all = match (all, one) {
            // One broken promise is enough, whatever the others are.
            (_, Verdict::Breaks) => return Verdict::Breaks,
            (Verdict::Unknown, _) | (_, Verdict::Unknown) => Verdict::Unknown,
            (Verdict::Unclear, _) | (_, Verdict::Unclear) => Verdict::Unclear,
            (_, Verdict::Holds) => Verdict::Holds,
        };
    }
    all
}
