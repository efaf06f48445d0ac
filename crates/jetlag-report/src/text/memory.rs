//! The memory of each tenant: what it took when it was made ready, and the peaks while all ran.

use super::scaled::paragraph;
use super::{dim, heading, name_of, plain};
use crate::Style;
use crate::analysis::Summary;
use crate::analysis::summary::MemorySummary;
use crate::number::UNKNOWN;
use crate::table::{Align, Grid, Ink};
use crate::units::Bytes;

/// What the figures of these parts are of.
pub(crate) fn note(parts: &[&Part]) -> &'static str {
    match parts.iter().any(|part| part.name == "device_peak") {
        true => {
            "taken when made ready; peaks are of all that uses a GPU, and of a process with all of its tenants"
        }
        false => "taken when made ready; the peak is of a process with all of its tenants",
    }
}

/// A part of the memory, as a column.
pub(crate) struct Part {
    /// The head of the column.
    pub(crate) title: &'static str,
    name: &'static str,
    bytes: fn(&MemorySummary) -> Option<u64>,
}

impl Part {
    /// What a tenant's cell shows: nothing for a part that it does not have, which is not the same as one that is not known.
    pub(crate) fn shown(&self, memory: &MemorySummary) -> String {
        match (self.bytes)(memory) {
            Some(bytes) => Bytes(bytes).to_string(),
            None if self.is_unknown(memory) => UNKNOWN.to_owned(),
            None => String::new(),
        }
    }

    fn is_unknown(&self, memory: &MemorySummary) -> bool {
        memory.unknown.iter().any(|unknown| unknown.part == self.name)
    }
}

const PARTS: [Part; 8] = [
    Part {
        title: "networks",
        name: "networks",
        bytes: |memory| memory.networks_bytes,
    },
    Part {
        title: "contexts",
        name: "contexts",
        bytes: |memory| memory.contexts_bytes,
    },
    Part {
        title: "GPU tensors",
        name: "device_tensors",
        bytes: |memory| memory.device_tensors_bytes,
    },
    Part {
        title: "pinned",
        name: "pinned",
        bytes: |memory| memory.pinned_bytes,
    },
    Part {
        title: "host tensors",
        name: "host_tensors",
        bytes: |memory| memory.host_tensors_bytes,
    },
    Part {
        title: "GPU in all",
        name: "device",
        bytes: |memory| memory.device_bytes,
    },
    Part {
        title: "GPU peak",
        name: "device_peak",
        bytes: |memory| memory.device_peak_bytes,
    },
    Part {
        title: "process peak",
        name: "process_peak",
        bytes: |memory| memory.process_peak_bytes,
    },
];

/// The parts that at least one tenant has.
pub(crate) fn parts(summary: &Summary) -> Vec<&'static Part> {
    let memories = || summary.tenants.iter().filter_map(|tenant| tenant.memory.as_ref());
    let has = |part: &Part| memories().any(|memory| !part.shown(memory).is_empty());
    PARTS.iter().filter(|part| has(part)).collect()
}

/// Why parts are not known, each reason once with the tenants that it is of: `networks (camera, lidar): …`.
pub(crate) fn reasons(summary: &Summary) -> Vec<String> {
    let mut found: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    for tenant in &summary.tenants {
        for unknown in tenant.memory.iter().flat_map(|memory| &memory.unknown) {
            let part = PARTS.iter().find(|part| part.name == unknown.part);
            let title = part.map_or(unknown.part, |part| part.title);
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

/// The table; empty where the run file tells no memory.
pub(super) fn section(summary: &Summary, style: &Style) -> String {
    let parts = parts(summary);
    if parts.is_empty() {
        return String::new();
    }
    let mut grid = Grid::headed().column("tenant", Align::Left);
    for part in &parts {
        grid = grid.column(part.title, Align::Right);
    }
    for tenant in &summary.tenants {
        let Some(memory) = &tenant.memory else { continue };
        let mut row = vec![(name_of(tenant, style), Ink::Bold)];
        row.extend(parts.iter().map(|part| match part.shown(memory) {
            unknown if unknown == UNKNOWN => dim(unknown),
            known => plain(known),
        }));
        grid.row(row);
    }
    let mut text = heading("MEMORY", note(&parts), style) + &grid.render(style);
    for reason in reasons(summary) {
        text += &Ink::Dim.paint(paragraph(&reason, "  ", style).trim_end(), style);
        text.push('\n');
    }
    text
}
