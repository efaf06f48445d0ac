//! The static work of each tenant's networks.

use jetlag_figure::section::{Cell, Table};

use super::Section;
use super::roofline::file_name;
use crate::number::{scaled, short};
use crate::record::{Manifest, NetworkManifest, NetworkWork};

/// What the networks compute and move in one inference; none where the run file says nothing of it.
pub(crate) fn section(manifest: &Manifest) -> Option<Section> {
    let mut table = Table::new("")
        .words("tenant")
        .words("network")
        .numbers(["FLOP", "byte, fused"])
        .optional_number("byte, round trip")
        .number("FLOP/byte")
        .optional_number("parameters")
        .optional_number("peak activations");
    let mut without = Vec::new();
    for (number, tenant) in manifest.tenants.iter().enumerate() {
        for NetworkManifest {
            name, work, no_work, ..
        } in &tenant.networks
        {
            let (name, of) = (file_name(name), &tenant.name);
            match (work, no_work) {
                (Some(work), _) => table.row(
                    [Cell::tenant(of, number), Cell::new(name).note(&work.precision)]
                        .into_iter()
                        .chain(of_work(work)),
                ),
                (None, Some(why)) => without.push(format!("The work of {name} of {of} is not known: {why}.")),
                (None, None) => {}
            }
        }
    }
    Section::new(
        "work",
        "Work of the networks",
        "one inference, counted from the networks' files before the run and not measured",
    )
    .explained(
        "Fused: as if chains of operators stay on the chip, which FLOP/byte is of; round trip: as if every operator goes through \
         memory. ≥: operators are in no sum; ≤: some depends on data and is the most that can occur; ≈: both.",
    )
    .table(table)
    .texts(without)
    .unless_empty()
}

fn of_work(work: &NetworkWork) -> [Cell; 6] {
    let bytes = |bytes: u64| format!("{}B", scaled(bytes as f64));
    let intensity =
        (work.fused_bytes > 0 && is_exact(work)).then(|| work.flops as f64 / work.fused_bytes as f64);
    let [flops, fused, round_trip] =
        [work.flops, work.fused_bytes, work.round_trip_bytes].map(|sum| Cell::new(bounded(work, sum)));
    [
        flops,
        fused,
        round_trip,
        Cell::of(intensity, short),
        Cell::new(scaled(work.params as f64)).note(bytes(work.params_bytes)),
        Cell::of(work.peak_activation_bytes, bytes),
    ]
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
