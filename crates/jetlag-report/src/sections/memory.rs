//! The memory of each tenant: what it took when it was made ready, and the peaks while all ran.

use jetlag_figure::section::Table;

use super::{Section, columns, tenant};
use crate::analysis::Summary;
use crate::analysis::figures::key::{Plain, Shown};

/// The section; none where the run file tells no memory.
pub(super) fn section(summary: &Summary) -> Option<Section> {
    let heads = columns::of(Shown::Memory);
    let mut table = heads.fold(Table::new("").words("tenant"), |table, (_, head)| {
        table.number(head)
    });
    for (number, of) in summary.tenants.iter().enumerate() {
        if of.memory.is_some() {
            table.row(std::iter::once(tenant(number, of)).chain(columns::cells(Shown::Memory, of)));
        }
    }
    let has_peak = summary
        .tenants
        .iter()
        .any(|of| Plain::MemoryDevicePeak.read(of).is_ok());
    Section::new("memory", "Memory", note(has_peak))
        .table(table.without_empty_columns())
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

/// Why parts are not known, each reason once with the tenants that it is of: `networks (camera, lidar): …`.
fn reasons(summary: &Summary) -> Vec<String> {
    let mut found: Vec<(&str, String, Vec<&str>)> = Vec::new();
    for tenant in &summary.tenants {
        for (head, reason) in columns::reasons(Shown::Memory, tenant) {
            match found
                .iter_mut()
                .find(|(of, known, _)| (*of, known) == (head, &reason))
            {
                Some((.., tenants)) => tenants.push(&tenant.name),
                None => found.push((head, reason, vec![&tenant.name])),
            }
        }
    }
    let line = |(title, reason, tenants): (&str, String, Vec<&str>)| {
        format!("{title} ({}): {reason}", tenants.join(", "))
    };
    found.into_iter().map(line).collect()
}
