//! Models and answers as lines for a terminal. No arithmetic that a program would want: that is in the types.

use std::fmt::Write;

use crate::dataset::{Dataset, Target};
use crate::features::FeatureSet;
use crate::model::{Answer, HeldOut, Kin, Model, Prediction, Reason, Verdict};
use crate::sections;
use crate::words::{figure, many};

/// Which rows of a folder a model is not fitted on, and why. Empty where it is fitted on all.
pub fn left_out(data: &Dataset) -> String {
    let mut text = String::new();
    if !data.failed.is_empty() {
        line(
            &mut text,
            format_args!("Failed rows, not fitted: {}", data.failed.len()),
        );
    }
    for said in sections::undescribed(&data.undescribed) {
        line(&mut text, format_args!("{said}"));
    }
    for (place, said) in sections::stalls("not fitted", &data.stalls).iter().enumerate() {
        let indent = if place == 0 { "" } else { "  " };
        line(&mut text, format_args!("{indent}{said}"));
    }
    text
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

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}
