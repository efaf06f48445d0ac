//! The result of a comparison, which is its JSON form: each side, tenant, figure and limit, with what was concluded.

use serde::Serialize;

use super::{CandidateRows, Note, Rows, Unlike};
use crate::analysis::summary::Unit;

/// The result of a comparison. Serialised, it is the JSON form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Version of the JSON form, [`SCHEMA`](super::SCHEMA).
    pub schema: u32,
    /// Joint confidence of all intervals.
    pub confidence: f64,
    /// The side that all others are compared with.
    pub baseline: SideSummary,
    /// The other sides, each compared with the baseline.
    pub candidates: Vec<Candidate>,
    /// The result of each `--fail-if`, for each candidate.
    pub limits: Vec<LimitResult>,
    /// Stages, layers or kernels, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<Rows>,
}

/// The names of a side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SideSummary {
    /// Its letter in texts: `A` for the baseline, then `B`, `C`, ….
    pub label: String,
    /// Its scenario or file.
    pub name: String,
    /// Paths of its run files, one for each run.
    pub files: Vec<String>,
}

/// One side, compared with the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// The candidate's label, name and files.
    pub side: SideSummary,
    /// Other differences, and limits of the comparison.
    pub notes: Vec<Note>,
    /// Each tenant that both have, in the baseline's order, then those that only one has.
    pub tenants: Vec<TenantComparison>,
}

impl Candidate {
    /// Whether any figure of any tenant differs.
    pub fn differs(&self) -> bool {
        let mut figures = self.tenants.iter().flat_map(|tenant| &tenant.figures);
        figures.any(|figure| figure.verdict.is_difference())
    }

    /// Whether a conclusion is possible for any figure of any tenant.
    pub fn is_judged(&self) -> bool {
        let mut figures = self.tenants.iter().flat_map(|tenant| &tenant.figures);
        figures.any(|figure| figure.verdict != Verdict::Unknown)
    }
}

/// One tenant of a candidate, compared with the tenant of that name in the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TenantComparison {
    /// Name of the tenant.
    pub name: String,
    /// Why it was not compared, where it was not.
    pub not_compared: Option<Unlike>,
    /// Its figures, those of [`FIGURES`](super::FIGURES) that it has.
    pub figures: Vec<FigureComparison>,
}

/// The conclusion on a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The candidate's figure is higher.
    Higher,
    /// The candidate's figure is lower.
    Lower,
    /// No difference was found; it is at most `within`.
    Same,
    /// Not enough is known.
    Unknown,
}

impl Verdict {
    /// Whether the candidate differs.
    pub fn is_difference(self) -> bool {
        matches!(self, Verdict::Higher | Verdict::Lower)
    }

    /// What an interval of the change allows to conclude; if that is `same`, also the largest difference in it.
    pub(super) fn of_interval([low, high]: [f64; 2]) -> (Verdict, Option<f64>) {
        match (low > 0.0, high < 0.0) {
            (true, _) => (Verdict::Higher, None),
            (_, true) => (Verdict::Lower, None),
            _ => (Verdict::Same, Some(low.abs().max(high.abs()))),
        }
    }
}

/// One figure of one tenant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureComparison {
    /// Name of the figure, one of [`FIGURES`](super::FIGURES).
    pub figure: &'static str,
    /// `ms`, `ratio` or `mj`.
    pub unit: Unit,
    /// The figure of the baseline in `unit`; `None` where it has no such figure.
    pub baseline: Option<f64>,
    /// The figure of the candidate in `unit`; `None` where it has no such figure.
    pub candidate: Option<f64>,
    /// Relative change, candidate over baseline less one; for `miss_rate` the difference, candidate less baseline.
    pub change: Option<f64>,
    /// The interval of `change`; all intervals of a comparison hold jointly with 95 % confidence.
    pub interval: Option<[f64; 2]>,
    /// What may be concluded from the interval.
    pub verdict: Verdict,
    /// If it is `same`: the largest difference that the interval allows.
    pub within: Option<f64>,
    /// If it is `unknown`: what is missing.
    pub reason: Option<String>,
}

impl FigureComparison {
    /// The interval of a response time's difference laid off from the baseline's figure, in milliseconds: where the candidate's lies
    /// by it. `None` for other figures, and where the interval was withheld.
    pub fn interval_ms(&self) -> Option<[f64; 2]> {
        let (baseline, interval) = (self.baseline.filter(|_| self.unit == Unit::Ms)?, self.interval?);
        Some(interval.map(|change| baseline * (1.0 + change)))
    }
}

/// The result of a `--fail-if`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LimitResult {
    /// The `--fail-if` text as written.
    pub text: String,
    /// Label of the candidate to which it was applied: `B`, `C`, ….
    pub side: String,
    /// Whether it applies: the change is beyond the limit with 95 % confidence, or the comparison holds in one of the
    /// runs; `None` where that is unknown.
    pub passed: Option<bool>,
    /// The change of that figure, as in [`FigureComparison`]; `None` where it is unknown.
    pub change: Option<f64>,
    /// Its own 95 % interval, not corrected for the number of figures.
    pub ci95: Option<[f64; 2]>,
    /// If it is unknown: what is missing.
    pub reason: Option<String>,
    /// Of a comparison with a limit: the figure, of the first run in which it applies, else of the first; absent of a change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// The unit of `value`; absent likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// Whether `change` is a difference of shares, and no ratio.
    #[serde(skip)]
    pub is_in_points: bool,
}

impl Comparison {
    /// Whether a change is too large, or may be: a result that is unknown fails.
    pub fn fails(&self) -> bool {
        self.limits.iter().any(|limit| limit.passed != Some(false))
    }

    /// Whether a conclusion is possible on anything of each candidate: of its rows where they were asked for, else of its figures.
    pub fn is_judged(&self) -> bool {
        match &self.rows {
            Some(rows) => rows.candidates.iter().all(CandidateRows::is_judged),
            None => self.candidates.iter().all(Candidate::is_judged),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_laid_off_from_the_baselines_figure_and_a_withheld_one_nowhere() {
        let mut figure = FigureComparison {
            figure: "response.p50",
            unit: Unit::Ms,
            baseline: Some(20.0),
            candidate: Some(22.0),
            change: Some(0.1),
            interval: Some([0.05, 0.15]),
            verdict: Verdict::Higher,
            within: None,
            reason: None,
        };
        let [low, high] = figure.interval_ms().unwrap();
        assert!((low - 21.0).abs() < 1e-9 && (high - 23.0).abs() < 1e-9);
        figure.unit = Unit::Ratio;
        assert_eq!(figure.interval_ms(), None);
        (figure.unit, figure.interval) = (Unit::Ms, None);
        assert_eq!(figure.interval_ms(), None);
    }
}
