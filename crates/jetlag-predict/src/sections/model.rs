//! What a model was fitted on.

use jetlag_figure::section::{Cell, Table};

use super::{Section, stalls, undescribed};
use crate::dataset::Dataset;
use crate::features::FeatureSet;
use crate::model::{HeldOut, Model, TargetFacts};
use crate::pairs::PairModel;
use crate::words::many;

/// The rows of each target, how networks are described, and how far off it is on networks left out.
pub fn model(model: &Model) -> Section {
    let facts = model.facts();
    let devices: Vec<&str> = facts.devices.iter().map(|device| device.name.as_str()).collect();
    let note = format!(
        "on {} ({}), data {}",
        facts.networks.join(", "),
        devices.join(", "),
        facts.data_hash
    );
    let mut table = Table::new("")
        .words("target")
        .numbers(["rows", "variants"])
        .words("for their variants")
        .words("for other networks");
    let targets = model.targets();
    for target in &targets {
        table.row([
            Cell::new(name(target)),
            Cell::new(target.rows.to_string()),
            Cell::new(target.variants.to_string()),
            Cell::new(described(target.features_near, target.trees_used_near)),
            Cell::new(described(target.features_far, target.trees_used_far)),
        ]);
    }
    Section::new("fitted", "Fitted", note)
        .table(table)
        .remarks(["%: how much of what the trees correct is used".to_owned()])
        .remarks(targets.iter().flat_map(remarks))
}

/// The same of a model of pairs.
pub fn pair_model(model: &PairModel) -> Section {
    let on = format!(
        "{} slowdowns in pairs of {}",
        model.rows(),
        model.networks().join(", ")
    );
    Section::new("fitted", "Fitted", model.place()).texts([on])
}

/// Which rows of a folder a model is not fitted on, and why; none where it is fitted on all.
pub fn left_out(data: &Dataset) -> Option<Section> {
    let failed = (!data.failed.is_empty()).then(|| format!("Failed rows: {}", data.failed.len()));
    Section::new("left-out", "Not fitted", "")
        .remarks(failed)
        .remarks(undescribed(&data.undescribed))
        .remarks(stalls("not fitted", &data.stalls))
        .unless_empty()
}

fn name(target: &TargetFacts) -> String {
    format!("{} {}", target.stage, target.target)
}

fn described(features: FeatureSet, trees: f64) -> String {
    match features {
        FeatureSet::Perf4sight => features.to_string(),
        FeatureSet::Jetlag | FeatureSet::Both => format!("{features}, {:.0} %", 100.0 * trees),
    }
}

fn remarks(target: &TargetFacts) -> impl Iterator<Item = String> {
    let held_out = target.held_out.as_ref().map(held_out);
    let modes = (target.modes > 0).then(|| {
        format!(
            "in {} power modes; {:.0} % of the correction is used in others",
            target.modes,
            100.0 * target.trees_used_modes
        )
    });
    let withheld = target.near_withheld.iter().chain(&target.far_withheld);
    let withheld = withheld.chain(&target.modes_withheld).map(ToString::to_string);
    let name = name(target);
    held_out
        .into_iter()
        .chain(modes)
        .chain(withheld.collect::<Vec<_>>())
        .map(move |said| format!("{name}: {said}"))
}

/// How far off a model is on the networks that were left out in turn.
pub(super) fn held_out(own: &HeldOut) -> String {
    format!(
        "each of {} left out: {:.1} % off in the mean, {:.0} % of rows in intervals that aim at {:.0} %",
        many(own.networks, "network"),
        own.mean_pct,
        own.inside_pct,
        own.aimed_pct
    )
}
