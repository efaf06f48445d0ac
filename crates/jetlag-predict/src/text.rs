//! Evaluations, models and answers as lines for a terminal. No arithmetic that a program would want: that is in the types.

use std::fmt::Write;

use crate::dataset::{Dataset, STALL_RULE, Stall, Target, Undescribed};
use crate::eval::{Evaluation, Protocol};
use crate::features::FeatureSet;
use crate::model::{Answer, HeldOut, Kin, Model, Prediction, Reason, Verdict};
use crate::words::many;

/// A table of errors, and what was left out.
pub fn evaluation(evaluation: &Evaluation) -> String {
    let mut text = String::new();
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
    line(
        &mut text,
        format_args!(
            "Relative error, %: {features}; {how}; {} trees, seed {}",
            evaluation.trees, evaluation.seed
        ),
    );
    line(&mut text, format_args!(""));
    let wide = evaluation
        .scores
        .iter()
        .map(|score| score.network.chars().count())
        .max()
        .unwrap_or(0)
        .max(7);
    line(
        &mut text,
        format_args!(
            "{:<17} {:<wide$} {:>6} {:>6} {:>7} {:>7} {:>7}  {:>16} {:>7}",
            "target", "network", "fitted", "scored", "mean", "median", "95th", "in the interval", "width"
        ),
    );
    for score in &evaluation.scores {
        let errors = score.errors;
        let (inside, width) = match score.coverage {
            Some(found) => (
                format!("{:.1} of {:.0}", found.found_pct, found.aimed_pct),
                format!("{:.0}", found.width_pct),
            ),
            None => ("withheld".to_owned(), "-".to_owned()),
        };
        line(
            &mut text,
            format_args!(
                "{:<17} {:<wide$} {:>6} {:>6} {:>7.2} {:>7.2} {:>7.2}  {inside:>16} {width:>7}",
                format!("{} {}", score.stage, score.target),
                score.network,
                score.fit_rows,
                errors.rows,
                errors.mean_pct,
                errors.median_pct,
                errors.p95_pct,
            ),
        );
    }
    line(&mut text, format_args!(""));
    for mean in &evaluation.means {
        let without = match (mean.mean_without_stalls_pct - mean.mean_pct).abs() > 1e-9 {
            true => format!(" ({:.2} without stalls)", mean.mean_without_stalls_pct),
            false => String::new(),
        };
        line(
            &mut text,
            format_args!(
                "{} {}: {:.2} in the mean of {}{without}",
                mean.stage,
                mean.target,
                mean.mean_pct,
                many(mean.networks, "network")
            ),
        );
    }
    let mut reasons: Vec<&String> = evaluation
        .scores
        .iter()
        .filter_map(|score| score.withheld.as_ref())
        .collect();
    reasons.dedup();
    for reason in reasons {
        line(&mut text, format_args!("{reason}"));
    }
    line(
        &mut text,
        format_args!(
            "Failed rows, neither fitted nor scored: {}",
            evaluation.failed_rows
        ),
    );
    undescribed(&mut text, &evaluation.undescribed);
    stalls(&mut text, "scored and never fitted", &evaluation.stalls);
    text
}

/// Which rows of a folder a model is not fitted on, and why. Empty where it is fitted on all.
pub fn left_out(data: &Dataset) -> String {
    let mut text = String::new();
    if !data.failed.is_empty() {
        line(
            &mut text,
            format_args!("Failed rows, not fitted: {}", data.failed.len()),
        );
    }
    undescribed(&mut text, &data.undescribed);
    stalls(&mut text, "not fitted", &data.stalls);
    text
}

fn undescribed(text: &mut String, networks: &[Undescribed]) {
    for network in networks {
        line(
            text,
            format_args!(
                "{}: {} of variants {} left out: {}",
                network.network,
                many(network.rows, "row"),
                network.variants.join(", "),
                network.reason
            ),
        );
    }
}

fn stalls(text: &mut String, what: &str, stalls: &[Stall]) {
    if stalls.is_empty() {
        return;
    }
    line(text, format_args!("Taken for stalls, {what}:"));
    for stall in stalls {
        line(
            text,
            format_args!(
                "  {} {} {} batch {}: {} {}, where {} was expected at most",
                stall.target,
                stall.network,
                stall.variant,
                stall.batch,
                figure(stall.value),
                stall.target.unit(),
                figure(stall.expected_at_most)
            ),
        );
    }
    line(text, format_args!("  Rule: {STALL_RULE}"));
}

/// What a model was fitted on.
pub fn model(model: &Model) -> String {
    let mut text = String::new();
    let facts = model.facts();
    let devices: Vec<&str> = facts.devices.iter().map(|device| device.name.as_str()).collect();
    line(
        &mut text,
        format_args!(
            "Fitted on {} ({}), data {}",
            facts.networks.join(", "),
            devices.join(", "),
            facts.data_hash
        ),
    );
    for target in model.targets() {
        line(
            &mut text,
            format_args!(
                "  {} {}: {} of {}; {} for variants of these networks, {} for others",
                target.stage,
                target.target,
                many(target.rows, "row"),
                many(target.variants, "variant"),
                described(target.features_near, target.trees_used_near),
                described(target.features_far, target.trees_used_far)
            ),
        );
        if let Some(own) = &target.held_out {
            line(&mut text, format_args!("    {}", held_out(own)));
        }
        if target.modes > 0 {
            line(
                &mut text,
                format_args!(
                    "    in {} power modes; {:.0} % of the correction is used in others",
                    target.modes,
                    100.0 * target.trees_used_modes
                ),
            );
        }
        let withheld = target.near_withheld.iter().chain(&target.far_withheld);
        for why in withheld.chain(&target.modes_withheld) {
            line(&mut text, format_args!("    {why}"));
        }
    }
    text
}

fn described(features: FeatureSet, trees: f64) -> String {
    match features {
        FeatureSet::Perf4sight => features.to_string(),
        FeatureSet::Jetlag | FeatureSet::Both => {
            format!(
                "{features}, corrected by {:.0} % of what the trees say",
                100.0 * trees
            )
        }
    }
}

fn held_out(own: &HeldOut) -> String {
    format!(
        "each of {} left out: {:.1} % off in the mean, {:.0} % of rows in intervals that aim at {:.0} %",
        many(own.networks, "network"),
        own.mean_pct,
        own.inside_pct,
        own.aimed_pct
    )
}

/// Values with their intervals, whether it fits and is in time, and every reason to doubt.
pub fn answer(answer: &Answer) -> String {
    let mut text = String::new();
    line(
        &mut text,
        format_args!(
            "{} of a batch of {} on {}",
            answer.stage, answer.batch, answer.device
        ),
    );
    for said in &answer.predictions {
        let unit = said.target.unit();
        let interval = match (said.interval, &said.withheld) {
            (Some(own), _) => format!(
                "{} to {} {unit} ({:.0} %)",
                figure(own.low),
                figure(own.high),
                100.0 * own.level
            ),
            (None, Some(why)) => why.to_string(),
            (None, None) => "no interval".to_owned(),
        };
        let name = name(said.target);
        line(
            &mut text,
            format_args!("  {name:<15} {:>9} {unit:<4} {interval}", figure(said.value)),
        );
    }
    for none in &answer.withheld {
        let name = name(none.target);
        line(&mut text, format_args!("  {name:<15} withheld: {}", none.why));
    }
    if let Some(fits) = answer.fits {
        let word = match fits.verdict {
            Verdict::Yes => "fits",
            Verdict::No => "does not fit",
            Verdict::Open => "may or may not fit",
        };
        line(
            &mut text,
            format_args!(
                "  {word}: {}{} MiB of {} MiB",
                if fits.is_least { "at least " } else { "" },
                figure(fits.demand_mib),
                figure(fits.limit_mib)
            ),
        );
    }
    if let Some(late) = answer.late {
        let word = match late.in_time {
            Verdict::Yes => "in time",
            Verdict::No => "late",
            Verdict::Open => "may or may not be in time",
        };
        let (by, side) = (
            figure(late.late_by_ms.abs()),
            if late.late_by_ms > 0.0 { "after" } else { "before" },
        );
        line(
            &mut text,
            format_args!(
                "  {word}: {by} ms {side} the deadline of {} ms",
                figure(late.deadline_ms)
            ),
        );
    }
    if answer.only_weights {
        line(
            &mut text,
            format_args!(
                "  Layers without weights were left aside: the fitted networks were described without them."
            ),
        );
    }
    let mut reasons: Vec<String> = Vec::new();
    for said in &answer.predictions {
        let doubt = said.unlike.iter().map(ToString::to_string);
        reasons.extend(
            doubt
                .filter(|reason| !reasons.contains(reason))
                .collect::<Vec<_>>(),
        );
    }
    if answer.predictions.iter().any(|said| said.kin == Kin::Other) {
        line(
            &mut text,
            format_args!("  Degraded: this network is none of the fitted ones."),
        );
        for said in &answer.predictions {
            if let Some(own) = &said.held_out {
                line(
                    &mut text,
                    format_args!("    {}: {}", name(said.target), held_out(own)),
                );
            }
        }
    }
    if answer.predictions.iter().any(|said| !said.is_measured_mode) {
        line(
            &mut text,
            format_args!("  This power mode was not measured: values follow from its clocks."),
        );
    }
    let is_extrapolated = |said: &Prediction| {
        let beyond = |reason: &Reason| matches!(reason, Reason::Beyond { .. });
        said.unlike.iter().any(beyond)
    };
    if answer.predictions.iter().any(is_extrapolated) {
        line(
            &mut text,
            format_args!(
                "  Extrapolated beyond the data: intervals tell how far off rows within them were, and may be too narrow here."
            ),
        );
    }
    for reason in reasons {
        line(&mut text, format_args!("  - {reason}"));
    }
    text
}

fn name(target: Target) -> &'static str {
    match target {
        Target::Memory => "peak memory",
        Target::Energy => "energy a frame",
        Target::Power => "mean power",
        Target::Latency => "latency",
    }
}

/// Three digits, or all before the point.
fn figure(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}
