//! Models, answers and evaluations as sections, which terminal and Markdown show.

mod answer;
mod model;

use std::convert::Infallible;

pub use answer::{answer, pair};
pub use model::{left_out, model, pair_model};

use jetlag_figure::section::{Cell, Section as OfReport, Table};

use crate::dataset::{STALL_RULE, Stall, Undescribed};
use crate::eval::{Evaluation, Protocol};
use crate::pairs::{LeftOut, PairEvaluation};
use crate::score::Errors;
use crate::words::{figure, many};

/// A section without drawings.
pub type Section = OfReport<Infallible>;

/// A table of errors, and what was left out.
pub fn evaluation(evaluation: &Evaluation) -> Section {
    let features = evaluation.features.map_or_else(
        || "features chosen by what is fitted".to_owned(),
        |features| features.to_string(),
    );
    let how = match evaluation.protocol {
        None => "fitted on another folder".to_owned(),
        Some(Protocol::SameNetwork) => {
            "each network by itself, fitted on levels 0, 30, 50, 70, 90".to_owned()
        }
        Some(Protocol::Pooled) => "all networks together, fitted on levels 0, 30, 50, 70, 90".to_owned(),
        Some(Protocol::LeaveOneNetworkOut) => "each network from the others".to_owned(),
        Some(Protocol::LeaveModesOut) => {
            format!("power modes from {} others", evaluation.modes.unwrap_or_default())
        }
    };
    let note = format!(
        "%: {features}; {how}; {} trees, seed {}",
        evaluation.trees, evaluation.seed
    );
    let mut table = Table::new("").words("target").words("network").numbers([
        "fitted",
        "scored",
        "mean",
        "median",
        "95th",
        "in the interval",
        "width",
    ]);
    for score in &evaluation.scores {
        let target = Cell::group(format!("{} {}", score.stage, score.target));
        let network = Cell::new(score.network.as_str());
        let fitted = Cell::new(score.fit_rows.to_string());
        let inside = score.coverage.map_or(Cell::new("withheld"), |found| {
            Cell::new(format!("{:.1} of {:.0}", found.found_pct, found.aimed_pct))
        });
        let width = Cell::of(score.coverage, |found| format!("{:.0}", found.width_pct));
        let row = [target, network, fitted].into_iter().chain(errors(&score.errors));
        table.row(row.chain([inside, width]));
    }
    let means = evaluation.means.iter().map(|mean| {
        let without = match (mean.mean_without_stalls_pct - mean.mean_pct).abs() > 1e-9 {
            true => format!(" ({:.2} without stalls)", mean.mean_without_stalls_pct),
            false => String::new(),
        };
        format!(
            "{} {}: {:.2} in the mean of {}{without}",
            mean.stage,
            mean.target,
            mean.mean_pct,
            many(mean.networks, "network")
        )
    });
    let mut reasons: Vec<String> = evaluation
        .scores
        .iter()
        .filter_map(|score| score.withheld.clone())
        .collect();
    reasons.dedup();
    let failed = format!(
        "Failed rows, neither fitted nor scored: {}",
        evaluation.failed_rows
    );
    Section::new("errors", "Relative errors", note)
        .table(table)
        .texts(means)
        .remarks(reasons)
        .remarks([failed])
        .remarks(undescribed(&evaluation.undescribed))
        .remarks(stalls("scored and never fitted", &evaluation.stalls))
}

/// The same of slowdowns in pairs.
pub fn pairs(found: &PairEvaluation) -> Section {
    let note = format!(
        "of slowdowns, %: {}; {} slowdowns of {} networks, seed {}",
        found.place, found.rows, found.networks, found.seed
    );
    let mut table = Table::new("").words("left out").numbers([
        "scored",
        "mean",
        "median",
        "95th",
        "in the interval",
        "without model",
    ]);
    for score in &found.scores {
        let left_out = match score.left_out {
            LeftOut::Pair => "each pair",
            LeftOut::Network => "each network",
        };
        let inside = score.found_pct.map_or(Cell::new("withheld"), |found| {
            Cell::new(format!("{found:.1} of {:.0}", score.aimed_pct))
        });
        let row = [Cell::new(left_out)].into_iter().chain(errors(&score.errors));
        table.row(row.chain([inside, Cell::new(format!("{:.2}", score.without_model_pct))]));
    }
    Section::new("errors", "Relative errors", note).table(table)
}

/// How many rows, and how far off they are.
fn errors(errors: &Errors) -> impl Iterator<Item = Cell> {
    let figures = [errors.mean_pct, errors.median_pct, errors.p95_pct];
    let figures = figures.into_iter().map(|value| Cell::new(format!("{value:.2}")));
    [Cell::new(errors.rows.to_string())].into_iter().chain(figures)
}

fn undescribed(networks: &[Undescribed]) -> impl Iterator<Item = String> {
    networks.iter().map(|network| {
        format!(
            "{}: {} of variants {} left out: {}",
            network.network,
            many(network.rows, "row"),
            network.variants.join(", "),
            network.reason
        )
    })
}

fn stalls(what: &str, stalls: &[Stall]) -> Vec<String> {
    if stalls.is_empty() {
        return Vec::new();
    }
    let mut said = vec![format!("Taken for stalls, {what}:")];
    said.extend(stalls.iter().map(|stall| {
        format!(
            "{} {} {} batch {}: {} {}, where {} was expected at most",
            stall.target,
            stall.network,
            stall.variant,
            stall.batch,
            figure(stall.value),
            stall.target.unit(),
            figure(stall.expected_at_most)
        )
    }));
    said.push(format!("Rule: {STALL_RULE}"));
    said
}
