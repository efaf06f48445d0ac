//! The memory of each tenant: what it took when it was made ready, and the peaks while all ran.

use jetlag_figure::section::{Cell, Table};

use super::{Section, tenant};
use crate::analysis::Summary;
use crate::analysis::summary::MemorySummary;
use crate::units::Bytes;

/// The section; none where the run file tells no memory.
pub(super) fn section(summary: &Summary) -> Option<Section> {
    let mut table = PARTS
        .iter()
        .fold(Table::new("").words("tenant"), |table, part| table.number(part.0));
    for (number, of) in summary.tenants.iter().enumerate() {
        let Some(memory) = &of.memory else { continue };
        let figures = PARTS.iter().map(|part| part.cell(memory));
        table.row(std::iter::once(tenant(number, of)).chain(figures));
    }
    let table = table.without_empty_columns();
    let has_peak = table.columns.iter().any(|column| column.name == DEVICE_PEAK.0);
    Section::new("memory", "Memory", note(has_peak))
        .table(table)
        .remarks(reasons(summary))
        .unless_empty()
}

/// What the figures are of.
fn note(has_device_peak: bool) -> &'static str {
    match has_device_peak {
        true => {
            "taken at start-up; peaks are of all that uses a GPU, and of the whole process with all of its tenants"
        }
        false => "taken at start-up; the peak is of the whole process with all of its tenants",
    }
}

/// A part of the memory: the head of its column, its name, and its bytes.
struct Part(&'static str, &'static str, fn(&MemorySummary) -> Option<u64>);

const DEVICE_PEAK: Part = Part("GPU peak", "device_peak", |of| of.device_peak_bytes);
const PARTS: [Part; 8] = [
    Part("networks", "networks", |of| of.networks_bytes),
    Part("contexts", "contexts", |of| of.contexts_bytes),
    Part("GPU tensors", "device_tensors", |of| of.device_tensors_bytes),
    Part("pinned", "pinned", |of| of.pinned_bytes),
    Part("host tensors", "host_tensors", |of| of.host_tensors_bytes),
    Part("GPU in all", "device", |of| of.device_bytes),
    DEVICE_PEAK,
    Part("process peak", "process_peak", |of| of.process_peak_bytes),
];

impl Part {
    /// Empty for a part that a tenant does not have, which is not the same as one that is not known.
    fn cell(&self, memory: &MemorySummary) -> Cell {
        let Part(_, name, bytes) = self;
        match bytes(memory) {
            Some(bytes) => Cell::new(Bytes(bytes).to_string()),
            None if memory.unknown.iter().any(|unknown| unknown.part == *name) => Cell::unknown(),
            None => Cell::default(),
        }
    }
}

/// Why parts are not known, each reason once with the tenants that it is of: `networks (camera, lidar): …`.
fn reasons(summary: &Summary) -> Vec<String> {
    let mut found: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    for tenant in &summary.tenants {
        for unknown in tenant.memory.iter().flat_map(|memory| &memory.unknown) {
            let part = PARTS.iter().find(|part| part.1 == unknown.part);
            let title = part.map_or(unknown.part, |part| part.0);
            let known = found
                .iter_mut()
                .find(|(of, reason, _)| (*of, *reason) == (title, unknown.reason.as_str()));
            match known {
                Some((.., tenants)) => tenants.push(&tenant.name),
                None => found.push((title, &unknown.reason, vec![&tenant.name])),
            }
        }
    }
    let line = |(title, reason, tenants): (&str, &str, Vec<&str>)| {
        format!("{title} ({}): {reason}", tenants.join(", "))
    };
    found.into_iter().map(line).collect()
}
