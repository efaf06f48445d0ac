//! Compares two or more sides, each of one or several runs: by how much each tenant's figures differ, with which
//! interval, and what may be concluded.
//!
//! All intervals of one comparison hold *jointly* with 95 % confidence: with m figures judged, each is computed at 1
//! − 0.05 ÷ m (Bonferroni). So of a hundred comparisons of equal sides at most five report any difference at all,
//! however many tenants and figures they have. `effect` computes the numbers; `matching` decides whether there is
//! anything to compare.

mod effect;
mod gate;
mod limit;
mod matching;
mod rows;
mod side;

use serde::Serialize;

pub use limit::{Limit, LimitError, parse as parse_limit};
pub use matching::Incomparable;
pub use rows::{By, CandidateRows, OfNoLayer, RowComparison, Rows, TenantRows, Unmatched};
pub use side::{RunSample, RunSampler};

use super::quantile::Quantile;
use super::stats::six_decimals;
use super::summary::Unit;
use effect::Promises;
pub(super) use effect::{Effect, Unknown, of_quantile, of_rates};

/// What is compared of each tenant, by the names of `--fail-if`.
pub const FIGURES: [&str; 4] = ["response.p50", "response.p99", "miss_rate", "energy"];

/// Version of the JSON form of a comparison.
pub const SCHEMA: u32 = 1;

/// A side: a name for it, and its runs.
pub struct Side {
    /// What messages call it: its scenario or file.
    pub name: String,
    /// The files of its runs.
    pub files: Vec<String>,
    /// Its runs, at least one.
    pub runs: Vec<RunSample>,
}

/// The result of a comparison. Serialised, it is the JSON form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Version of the JSON form, [`SCHEMA`].
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
    pub notes: Vec<String>,
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
    pub not_compared: Option<String>,
    /// Its figures, those of [`FIGURES`] that it has.
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
    fn of_interval([low, high]: [f64; 2]) -> (Verdict, Option<f64>) {
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
    /// Name of the figure, one of [`FIGURES`].
    pub figure: &'static str,
    /// `ms`, `ratio` or `mj`.
    pub unit: &'static str,
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
        let (baseline, interval) = (self.baseline.filter(|_| self.unit == "ms")?, self.interval?);
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

/// Joint confidence of all intervals of a comparison.
const CONFIDENCE: f64 = 0.95;

/// What is judged at a confidence at which all of its intervals hold jointly (Bonferroni): their number must be known before any is
/// judged. At a higher confidence fewer have enough frames, so the number of the first pass is the larger.
fn jointly<T>(judged: impl Fn(f64) -> T, intervals: impl Fn(&T) -> usize) -> T {
    let m = intervals(&judged(CONFIDENCE)).max(1);
    judged(1.0 - (1.0 - CONFIDENCE) / m as f64)
}

/// Compares every side with the first.
pub fn compare(sides: &[Side], limits: &[Limit]) -> Result<Comparison, Incomparable> {
    let (baseline, others) = match sides {
        [baseline, others @ ..] if sides.iter().all(|side| !side.runs.is_empty()) => (baseline, others),
        _ => {
            return Err(Incomparable::Nothing {
                a: "A".to_owned(),
                b: "B".to_owned(),
                reasons: "a side has no run".to_owned(),
            });
        }
    };
    let mut matched = Vec::new();
    for (number, other) in others.iter().enumerate() {
        matched.push(match_tenants(baseline, other, &label(number + 1))?);
    }
    let judged = |confidence: f64| -> Vec<Vec<TenantComparison>> {
        others
            .iter()
            .zip(&matched)
            .map(|(other, tenants)| compare_tenants(baseline, other, tenants, confidence))
            .collect()
    };
    let all = jointly(judged, |all| {
        let figures = all.iter().flatten().flat_map(|tenant| &tenant.figures);
        figures.filter(|figure| figure.interval.is_some()).count()
    });
    let candidates: Vec<Candidate> = others
        .iter()
        .zip(all)
        .enumerate()
        .map(|(number, (other, tenants))| Candidate {
            side: summary_of(other, number + 1),
            notes: matching::notes(&baseline.runs, &other.runs, &label(number + 1)),
            tenants,
        })
        .collect();
    let limits = limits
        .iter()
        .flat_map(|limit| {
            let others = others.iter().enumerate();
            others.map(move |(number, other)| gate::judge(limit, label(number + 1), baseline, other))
        })
        .collect();
    Ok(Comparison {
        schema: SCHEMA,
        confidence: CONFIDENCE,
        baseline: summary_of(baseline, 0),
        candidates,
        limits,
        rows: None,
    })
}

/// The same, with rows of stages, layers or kernels; the runs were read for them.
pub fn compare_by(by: By, sides: &[Side], limits: &[Limit]) -> Result<Comparison, Incomparable> {
    let comparison = compare(sides, limits)?;
    Ok(Comparison {
        rows: Some(rows::compare(by, sides)),
        ..comparison
    })
}

/// The tenants that every side has, with the same setup in all, by name.
pub fn common_tenants(sides: &[Side]) -> Vec<String> {
    let Some((first, others)) = sides.split_first() else {
        return Vec::new();
    };
    let Some(run) = first.runs.first() else {
        return Vec::new();
    };
    let comparable = |name: &str| {
        let mut runs = others.iter().filter_map(|side| side.runs.first());
        runs.all(|other| matching::difference_of_kind(name, run, (&label(1), other)).is_none())
    };
    let names = run.plan.tenants.iter().map(|tenant| tenant.name.clone());
    names.filter(|name| comparable(name)).collect()
}

fn summary_of(side: &Side, number: usize) -> SideSummary {
    SideSummary {
        label: label(number),
        name: side.name.clone(),
        files: side.files.clone(),
    }
}

/// `A`, `B`, …, and `#27` where letters end.
fn label(number: usize) -> String {
    match u8::try_from(number) {
        Ok(number @ 0..26) => char::from(b'A' + number).to_string(),
        _ => format!("#{}", number + 1),
    }
}

/// Each tenant of the baseline or of the side with this label, with the reason why it is not compared, if there is one.
fn match_tenants(a: &Side, b: &Side, label: &str) -> Result<Vec<(String, Option<String>)>, Incomparable> {
    let (first_a, first_b) = (&a.runs[0], &b.runs[0]);
    for (side, first) in [(a, first_a), (b, first_b)] {
        for run in side.runs.iter().skip(1) {
            matching::clocks_and_tenants((&side.name, first), (&side.name, run))?;
        }
    }
    matching::clocks_and_tenants((&a.name, first_a), (&b.name, first_b))?;
    let mut names: Vec<String> = Vec::new();
    for tenant in first_a.plan.tenants.iter().chain(&first_b.plan.tenants) {
        if !names.contains(&tenant.name) {
            names.push(tenant.name.clone());
        }
    }
    let matched: Vec<(String, Option<String>)> = names
        .into_iter()
        .map(|name| {
            let all = a
                .runs
                .iter()
                .flat_map(|in_a| b.runs.iter().map(move |in_b| (in_a, in_b)));
            let reason = all
                .into_iter()
                .find_map(|(in_a, in_b)| matching::difference_of_kind(&name, in_a, (label, in_b)));
            (name, reason)
        })
        .collect();
    if matched.iter().all(|(_, reason)| reason.is_some()) {
        let reasons: Vec<String> = matched
            .iter()
            .filter_map(|(name, reason)| Some(format!("{name}: {}", reason.as_ref()?)))
            .collect();
        return Err(Incomparable::Nothing {
            a: a.name.clone(),
            b: b.name.clone(),
            reasons: reasons.join("; "),
        });
    }
    Ok(matched)
}

fn compare_tenants(
    a: &Side,
    b: &Side,
    tenants: &[(String, Option<String>)],
    confidence: f64,
) -> Vec<TenantComparison> {
    tenants
        .iter()
        .map(|(name, reason)| {
            let figures = if reason.is_some() {
                Vec::new()
            } else {
                let shown = FIGURES.iter().filter(|which| has(which, name, a, b));
                shown.map(|which| figure(which, name, a, b, confidence)).collect()
            };
            TenantComparison {
                name: name.clone(),
                not_compared: reason.clone(),
                figures,
            }
        })
        .collect()
}

/// Whether a figure exists for a tenant: misses if frames can miss, energy if power was measured.
fn has(figure: &str, tenant: &str, a: &Side, b: &Side) -> bool {
    let runs = || a.runs.iter().chain(&b.runs);
    match figure {
        "miss_rate" => runs().any(|run| {
            let mut tenants = run.summary.tenants.iter().filter(|known| known.name == tenant);
            tenants.any(|known| known.deadline_ms.is_some() || known.frames.missed > 0)
        }),
        "energy" => runs().any(|run| run.energy(tenant).is_some()),
        _ => true,
    }
}

fn figure(which: &'static str, tenant: &str, a: &Side, b: &Side, confidence: f64) -> FigureComparison {
    match which {
        "response.p50" => quantile(which, Quantile::P50, tenant, a, b, confidence),
        "response.p99" => quantile(which, Quantile::P99, tenant, a, b, confidence),
        "miss_rate" => {
            let promises = |side: &Side| Promises {
                missed: side.runs.iter().map(|run| run.misses(tenant)).collect(),
                responses: side.runs.iter().map(|run| run.responses(tenant)).collect(),
            };
            let (of_a, of_b) = (promises(a), promises(b));
            let deadline = |side: &Side| {
                let mut tenants = side.runs[0].summary.tenants.iter();
                tenants
                    .find(|known| known.name == tenant)
                    .and_then(|known| known.deadline_ms)
            };
            if deadline(a) != deadline(b) {
                return unknown(which, "ratio", "the deadlines are different".to_owned());
            }
            let offered = |side: &Promises| side.missed.iter().map(Vec::len).sum();
            match effect::of_misses([&of_a, &of_b], confidence) {
                Ok(effect) => known(which, "ratio", 1.0, effect),
                Err(Unknown::NoFrame) => unknown(which, "ratio", "no frame was offered".to_owned()),
                Err(why) => unknown(which, "ratio", because(why, [offered(&of_a), offered(&of_b)])),
            }
        }
        _ => energy(which, tenant, a, b, confidence),
    }
}

fn quantile(
    which: &'static str,
    quantile: Quantile,
    tenant: &str,
    a: &Side,
    b: &Side,
    confidence: f64,
) -> FigureComparison {
    let responses =
        |side: &Side| -> Vec<Vec<i64>> { side.runs.iter().map(|run| run.responses(tenant)).collect() };
    let (of_a, of_b) = (responses(a), responses(b));
    match effect::of_quantile(quantile, [&of_a, &of_b], confidence) {
        Ok(effect) => known(which, "ms", 1e-6, effect),
        Err(why) => {
            let frames = |runs: &[Vec<i64>]| runs.iter().map(Vec::len).sum::<usize>();
            unknown(which, "ms", because(why, [frames(&of_a), frames(&of_b)]))
        }
    }
}

/// Why a figure is unknown, with the number of frames of both sides.
pub(super) fn because(why: Unknown, [a, b]: [usize; 2]) -> String {
    match why {
        Unknown::Frames(wanting) if wanting.repeats => format!(
            "its frames are autocorrelated (slow frames follow slow frames), so it needs about {} frames per side; \
             there are {a} and {b}",
            wanting.needs
        ),
        Unknown::Frames(wanting) => {
            format!(
                "it needs {} frames per side; there are {a} and {b}",
                wanting.needs
            )
        }
        Unknown::NoFrame => "one side completed no frame".to_owned(),
        Unknown::NoRatio => "a response time is zero, so there is no ratio".to_owned(),
    }
}

fn energy(which: &'static str, tenant: &str, a: &Side, b: &Side, confidence: f64) -> FigureComparison {
    let energies =
        |side: &Side| -> Vec<f64> { side.runs.iter().filter_map(|run| run.energy(tenant)).collect() };
    let (of_a, of_b) = (energies(a), energies(b));
    match effect::of_runs([&of_a, &of_b], confidence) {
        Some((baseline, candidate, change, Some(interval))) => {
            let effect = Effect {
                baseline,
                candidate,
                change,
                interval,
            };
            known(which, "mj", 1.0, effect)
        }
        Some((baseline, candidate, change, None)) => FigureComparison {
            baseline: Some(six_decimals(baseline)),
            candidate: Some(six_decimals(candidate)),
            change: Some(six_decimals(change)),
            ..unknown(which, "mj", "its interval needs two runs per side".to_owned())
        },
        None => unknown(which, "mj", "power was not measured in every run".to_owned()),
    }
}

fn known(figure: &'static str, unit: &'static str, scale: f64, effect: Effect) -> FigureComparison {
    let interval = effect.interval.map(six_decimals);
    let (verdict, within) = Verdict::of_interval(interval);
    FigureComparison {
        figure,
        unit,
        baseline: Some(six_decimals(effect.baseline * scale)),
        candidate: Some(six_decimals(effect.candidate * scale)),
        change: Some(six_decimals(effect.change)),
        interval: Some(interval),
        verdict,
        within,
        reason: None,
    }
}

fn unknown(figure: &'static str, unit: &'static str, reason: String) -> FigureComparison {
    FigureComparison {
        figure,
        unit,
        baseline: None,
        candidate: None,
        change: None,
        interval: None,
        verdict: Verdict::Unknown,
        within: None,
        reason: Some(reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::quantile::Wanting;

    #[test]
    fn an_interval_is_laid_off_from_the_baselines_figure_and_a_withheld_one_nowhere() {
        let mut figure = FigureComparison {
            figure: "response.p50",
            unit: "ms",
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
        figure.unit = "ratio";
        assert_eq!(figure.interval_ms(), None);
        (figure.unit, figure.interval) = ("ms", None);
        assert_eq!(figure.interval_ms(), None);
    }

    #[test]
    fn why_a_figure_is_unknown_is_said_with_what_it_takes() {
        let frames = |repeats| {
            Unknown::Frames(Wanting {
                needs: 2_000,
                repeats,
            })
        };
        for (why, said) in [
            (
                frames(false),
                "it needs 2000 frames per side; there are 300 and 400",
            ),
            (
                frames(true),
                "its frames are autocorrelated (slow frames follow slow frames), so it needs about 2000 frames per \
                 side; there are 300 and 400",
            ),
            (Unknown::NoFrame, "one side completed no frame"),
            (Unknown::NoRatio, "a response time is zero, so there is no ratio"),
        ] {
            assert_eq!(because(why, [300, 400]), said);
        }
    }

    #[test]
    fn a_figure_is_higher_or_lower_where_its_interval_leaves_nothing_out() {
        let figure = |low: f64, high: f64| {
            let effect = Effect {
                baseline: 2.0,
                candidate: 3.0,
                change: 0.5,
                interval: [low, high],
            };
            known("response.p50", "ms", 10.0, effect)
        };
        let same = figure(-0.1, 0.2);
        assert_eq!((same.baseline, same.candidate), (Some(20.0), Some(30.0)));
        assert_eq!((same.change, same.within), (Some(0.5), Some(0.2)));
        assert_eq!(figure(0.01, 0.1).within, None, "it is not the same");
        let verdict = |low: f64, high: f64| figure(low, high).verdict;
        assert_eq!(verdict(0.01, 0.1), Verdict::Higher);
        assert_eq!(verdict(-0.1, -0.01), Verdict::Lower);
        for (low, high) in [(-0.1, 0.1), (0.0, 0.1), (-0.1, 0.0), (0.0, 0.0)] {
            assert_eq!(verdict(low, high), Verdict::Same, "{low} to {high}");
        }
    }

    #[test]
    fn a_side_without_a_run_is_compared_with_nothing() {
        let side = |name: &str| Side {
            name: name.to_owned(),
            files: Vec::new(),
            runs: Vec::new(),
        };
        for sides in [vec![], vec![side("a")], vec![side("a"), side("b")]] {
            let found = compare(&sides, &[]);
            assert!(matches!(found, Err(Incomparable::Nothing { .. })), "{found:?}");
        }
    }
}
