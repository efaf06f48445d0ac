//! Why the slowest frames were slow.

use jetlag_figure::section::{Cell, Table, Tone};

use super::{Section, tenant, unit_of};
use crate::analysis::Summary;
use crate::analysis::summary::SlowFrame;
use crate::number::{TimeUnit, percent, short};

/// Slow frames of a tenant on a terminal; a page has more.
const SHOWN: usize = 3;

/// The section; none where no frame is beyond its tenant's usual spread.
pub(super) fn section(summary: &Summary) -> Option<Section> {
    let unit = unit_of(summary.tenants.iter().map(|tenant| &tenant.response_ms));
    let mut table = Table::new("")
        .words("tenant")
        .numbers(["no.", "frame", "at", "response"])
        .words("what grew")
        .numbers(["", "usually"])
        .words("likely cause")
        .optional_words("others in service")
        .optional_number("clock")
        .optional_number("temperature");
    let mut causes = Vec::new();
    for (number, of) in summary.tenants.iter().enumerate() {
        let slow = of.slowest.iter().filter(|slow| slow.beyond_spread);
        for (place, slow) in slow.enumerate() {
            let cells = std::iter::once(tenant(number, of)).chain(cells(place + 1, slow, unit));
            match place < SHOWN {
                true => table.row(cells),
                false => table.detail(cells),
            }
            if slow.cause.is_some() && place < SHOWN {
                causes.push(format!("{} {}: {}", of.name, slow.sequence, slow.explanation));
            }
        }
    }
    let cause = match causes.is_empty() {
        true => "no likely cause found in what was measured",
        false => "likely causes where one was found",
    };
    let note = format!("{}; {cause}", unit.name());
    Section::new("slowest", "Slowest frames", note)
        .explained(
            "Frames that took longer than p50 + 4 (p90 − p50), and what was different when they started. A circumstance is named \
             as the likely cause only if it occurs with slow frames more often than by chance.",
        )
        .table(table.without_empty_columns())
        .texts(causes)
        .unless_empty()
}

fn cells(number: usize, slow: &SlowFrame, unit: TimeUnit) -> [Cell; 11] {
    let more = match slow.frames {
        1 => String::new(),
        frames => format!("and {} more", frames - 1),
    };
    let others: Vec<String> = slow
        .co_runners
        .iter()
        .map(|other| format!("{} {}", other.tenant, percent(other.active)))
        .collect();
    let seldom = |value: Option<f64>, unit: &str| {
        value.map_or_else(Cell::default, |value| Cell::new(format!("{value:.0} {unit}")))
    };
    [
        Cell::new(number.to_string()),
        Cell::new(slow.sequence.to_string()).note(more),
        Cell::new(format!("{} s", short(slow.at_s))),
        Cell::new(unit.show(slow.response_ms)),
        Cell::new(slow.grew.name),
        Cell::new(unit.show(slow.grew.ms)),
        Cell::new(unit.show(slow.grew.usual_ms)).tone(Tone::Dim),
        cause(slow),
        Cell::new(others.join(", ")).tone(Tone::Dim),
        seldom(slow.clock_mhz, "MHz"),
        seldom(slow.temperature_c, "°C"),
    ]
}

/// The cause in a word or two.
fn cause(slow: &SlowFrame) -> Cell {
    let strong = |cause: &str| Cell::new(cause).tone(Tone::Strong);
    match slow.cause {
        Some("late-release") => strong("late release"),
        Some("waited") => strong("waited for another frame"),
        Some("low-clock") => strong("lower clock"),
        Some("larger-input") => strong("larger input"),
        Some("co-runner") => strong("a co-runner"),
        Some("locked") => Cell::new("not known: rates in step").tone(Tone::Dim),
        Some(other) => strong(other),
        None => Cell::default(),
    }
}
