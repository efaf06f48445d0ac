//! A recording of a machine by `jetlag monitor`: its loads, clocks and temperatures.

use jetlag_figure::section::{Cell, Table, Tone};

use super::Section;
use crate::analysis::summary::SensorSummary;
use crate::analysis::{Recorded, Summary};
use crate::number::short;

/// Rows of each kind; a server has hundreds of processors. JSON has all.
const MOST: usize = 16;

/// A section for each quantity, in the order in which people look at them; none for runs, whose report is of their tenants.
pub(super) fn sections(summary: &Summary) -> Vec<Section> {
    if summary.run.recorded != Recorded::Machine {
        return Vec::new();
    }
    let quantities = [
        ("load", "Load", "% of the time"),
        ("temperature", "Temperature", "°C"),
        ("clock", "Clocks", "MHz, without the time in which one was off"),
    ];
    let of_quantity = |(quantity, title, unit): (&'static str, &'static str, &str)| {
        let all = summary
            .sensors
            .iter()
            .filter(|sensor| sensor.quantity == quantity);
        // What was never busy is not worth a row.
        let shown: Vec<&SensorSummary> = all
            .filter(|sensor| quantity != "load" || sensor.max > 0.0)
            .collect();
        let rest = shown.len().saturating_sub(MOST);
        Section::new(quantity, title, unit)
            .table(table(shown.into_iter().take(MOST)))
            .remarks((rest > 0).then(|| format!("{rest} more are in JSON")))
            .unless_empty()
    };
    quantities.into_iter().filter_map(of_quantity).collect()
}

fn table<'a>(sensors: impl Iterator<Item = &'a SensorSummary>) -> Table {
    let mut table = Table::new("")
        .words("")
        .numbers(["mean", "median", "p95", "lowest", "highest"])
        .optional_words("source");
    for sensor in sensors {
        table.row([
            Cell::new(&sensor.signal).tone(Tone::Strong),
            Cell::of(sensor.mean, short),
            Cell::of(sensor.median, short),
            Cell::of(sensor.p95, short),
            Cell::new(short(sensor.min)),
            Cell::new(short(sensor.max)),
            Cell::new(&sensor.source).tone(Tone::Dim),
        ]);
    }
    table
}
