//! Compares two or more sides, each of one or several runs: by how much each tenant's figures differ, with which
//! interval, and what may be concluded.
//!
//! All intervals of one comparison hold *jointly* with 95 % confidence: with m figures judged, each is computed at 1
//! − 0.05 ÷ m (Bonferroni). So of a hundred comparisons of equal sides at most five report any difference at all,
//! however many tenants and figures they have. `effect` computes the numbers, `figures` judges each figure by them;
//! `matching` decides whether there is anything to compare.

mod fail_if;
mod figures;
mod gate;
mod matching;
mod notes;
mod result;
mod rows;
mod side;

pub use fail_if::{Limit, LimitError, parse as parse_limit};
pub use matching::{Incomparable, Unlike};
pub use notes::Note;
pub use result::{
    Candidate, Comparison, FigureComparison, LimitResult, SideSummary, TenantComparison, Verdict,
};
pub use rows::{By, CandidateRows, OfNoLayer, RowComparison, Rows, TenantRows, Unmatched};
pub use side::{RunSample, RunSampler};

use figures::compare_tenants;

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
    /// Whether its runs took turns with those of the other sides: the n-th of each are neighbours in time.
    pub in_turns: bool,
    /// Runs that were left out, as they have the frames of an earlier one: their files, each with that of the earlier.
    pub repeated: Vec<(String, String)>,
}

impl Side {
    /// A side of these runs, each with its file. Of runs with equal frames the first alone counts: the others say nothing more.
    pub fn new(name: String, runs: Vec<(String, RunSample)>, in_turns: bool) -> Side {
        let mut side = Side {
            name,
            files: Vec::new(),
            runs: Vec::new(),
            in_turns,
            repeated: Vec::new(),
        };
        for (file, run) in runs {
            match side.runs.iter().position(|known| known.has_frames_of(&run)) {
                Some(earlier) => side.repeated.push((file, side.files[earlier].clone())),
                None => {
                    side.files.push(file);
                    side.runs.push(run);
                }
            }
        }
        side
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
                tenants: Vec::new(),
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
            notes: notes::notes(baseline, other, &label(number + 1)),
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
        runs.all(|other| matching::unlike(name, run, (&label(1), other)).is_none())
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
fn match_tenants(a: &Side, b: &Side, label: &str) -> Result<Vec<(String, Option<Unlike>)>, Incomparable> {
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
    let matched: Vec<(String, Option<Unlike>)> = names
        .into_iter()
        .map(|name| {
            let all = a
                .runs
                .iter()
                .flat_map(|in_a| b.runs.iter().map(move |in_b| (in_a, in_b)));
            let reason = all
                .into_iter()
                .find_map(|(in_a, in_b)| matching::unlike(&name, in_a, (label, in_b)));
            (name, reason)
        })
        .collect();
    if matched.iter().all(|(_, reason)| reason.is_some()) {
        return Err(Incomparable::Nothing {
            a: a.name.clone(),
            b: b.name.clone(),
            tenants: matched
                .into_iter()
                .filter_map(|(name, reason)| Some((name, reason?)))
                .collect(),
        });
    }
    Ok(matched)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_without_a_run_is_compared_with_nothing() {
        let side = |name: &str| Side {
            name: name.to_owned(),
            files: Vec::new(),
            runs: Vec::new(),
            in_turns: false,
            repeated: Vec::new(),
        };
        for sides in [vec![], vec![side("a")], vec![side("a"), side("b")]] {
            let found = compare(&sides, &[]);
            assert!(matches!(found, Err(Incomparable::Nothing { .. })), "{found:?}");
        }
    }
}
