//! The static work of each tenant's networks, and of their layers where those were timed.

use super::sections;
use super::view::{Block, Section, Table, cell, tenant_cell, words};
use crate::analysis::roofline::RunRoofline;
use crate::number::{UNKNOWN, or_unknown, scaled, short};
use crate::record::{Manifest, NetworkManifest, NetworkWork};
use crate::sections::Extent;
use crate::sections::roofline::{file_name, of_tenant};

/// What the networks compute and move in one inference; nothing where the run file says nothing of it.
pub(super) fn networks(manifest: &Manifest, prefix: &str) -> Option<Section> {
    let mut table = Table::new(
        "one inference",
        &[
            "tenant",
            "network",
            "#FLOP",
            "#byte, fused",
            "#byte, round trip",
            "#FLOP/byte",
            "#parameters",
            "#peak activations",
        ],
    );
    let mut without = Vec::new();
    for (number, tenant) in manifest.tenants.iter().enumerate() {
        for network in &tenant.networks {
            let NetworkManifest {
                name, work, no_work, ..
            } = network;
            let Some(work) = work else {
                let why = no_work.iter().map(|why| {
                    format!(
                        "The work of {} of {} is not known: {why}.",
                        file_name(name),
                        tenant.name
                    )
                });
                without.extend(why);
                continue;
            };
            let [flops, fused, round_trip] =
                [work.flops, work.fused_bytes, work.round_trip_bytes].map(|sum| bounded(work, sum));
            let intensity = (work.fused_bytes > 0 && is_exact(work))
                .then(|| short(work.flops as f64 / work.fused_bytes as f64));
            table.row(vec![
                tenant_cell(&tenant.name, number),
                cell(file_name(name)).note(&work.precision),
                cell(flops),
                cell(fused),
                cell(round_trip),
                cell(intensity.unwrap_or_else(|| UNKNOWN.to_owned())),
                cell(scaled(work.params as f64)).note(format!("{}B", scaled(work.params_bytes as f64))),
                cell(or_unknown(work.peak_activation_bytes, |bytes| {
                    format!("{}B", scaled(bytes as f64))
                })),
            ]);
        }
    }
    let mut blocks = Vec::new();
    if !table.rows.is_empty() {
        blocks.push(Block::Table(table));
    }
    blocks.extend(without.iter().map(|why| Block::Text(words(why))));
    (!blocks.is_empty()).then(|| Section {
        id: format!("{prefix}-work"),
        title: "Work of the networks".into(),
        note: "Counted from the networks' files before the run, not measured. Fused: as if chains of operators stay on the chip, \
               which FLOP/byte is of; round trip: as if every operator goes through memory. ≥: operators are in no sum; ≤: some \
               depends on data and is the most that can occur; ≈: both."
            .to_owned(),
        blocks,
    })
}

/// Layers with their work, tenant by tenant.
pub(super) fn layers(run: Option<&RunRoofline>, prefix: &str) -> Vec<Section> {
    let tenants = run.map_or(&[][..], |run| &run.tenants);
    tenants
        .iter()
        .enumerate()
        .filter(|(_, tenant)| tenant.has_more_than_times())
        .filter_map(|(number, tenant)| {
            let own = of_tenant(tenant, Extent::Most)?;
            Some(Section {
                id: format!("{prefix}-work{number}"),
                title: format!("Work of {}'s layers", tenant.name).into(),
                ..sections::of(own, "", |nothing| match nothing {})
            })
        })
        .collect()
}

fn is_exact(work: &NetworkWork) -> bool {
    work.not_counted.is_empty()
}

/// A sum with the sign of what it is where it is not exact; operators that are missing outweigh bounds of others, and with both it is neither.
fn bounded(work: &NetworkWork, sum: u64) -> String {
    let sign = match (is_exact(work), work.nodes_bound > 0) {
        (true, false) => "",
        (true, true) => "≤ ",
        (false, false) => "≥ ",
        (false, true) => "≈ ",
    };
    format!("{sign}{}", scaled(sum as f64))
}
