//! A recording of a machine by `jetlag monitor`: its loads, clocks and temperatures.

use super::number::{or_unknown, short};
use super::{dim, heading, plain};
use crate::Style;
use crate::analysis::summary::SensorSummary;
use crate::analysis::{Recorded, Summary};
use crate::table::{Align, Grid, Ink};

/// Rows of each kind; a server has hundreds of processors. JSON has all.
const MOST: usize = 16;

/// The sections, in the order in which people look at them; empty for runs, whose report is of their tenants.
pub(super) fn section(summary: &Summary, style: &Style) -> String {
    if summary.run.recorded != Recorded::Machine {
        return String::new();
    }
    let sections = [
        ("load", "LOAD", "% of the time"),
        ("temperature", "TEMPERATURE", "°C"),
        ("clock", "CLOCKS", "MHz, without the time in which one was off"),
    ];
    let shown: Vec<String> = sections
        .into_iter()
        .filter_map(|(quantity, title, unit)| table(summary, quantity, title, unit, style))
        .collect();
    shown.join("\n")
}

fn table(summary: &Summary, quantity: &str, title: &str, unit: &str, style: &Style) -> Option<String> {
    let told = |sensor: &&SensorSummary| sensor.quantity == quantity;
    let all: Vec<&SensorSummary> = summary.sensors.iter().filter(told).collect();
    // What was never busy is not worth a row.
    let worth = all.iter().filter(|sensor| quantity != "load" || sensor.max > 0.0);
    let mut grid = Grid::headed()
        .column("", Align::Left)
        .column("mean", Align::Right)
        .column("median", Align::Right)
        .column("p95", Align::Right)
        .column("lowest", Align::Right)
        .column("highest", Align::Right)
        .optional("source", Align::Left);
    let mut rows = 0;
    for sensor in worth.clone().take(MOST) {
        rows += 1;
        grid.row(vec![
            (sensor.signal.clone(), Ink::Bold),
            plain(or_unknown(sensor.mean, short)),
            plain(or_unknown(sensor.median, short)),
            plain(or_unknown(sensor.p95, short)),
            plain(short(sensor.min)),
            plain(short(sensor.max)),
            dim(&sensor.source),
        ]);
    }
    if rows == 0 {
        return None;
    }
    let mut text = heading(title, unit, style) + &grid.render(style);
    let rest = worth.count() - rows;
    if rest > 0 {
        text += &format!(
            "  {}\n",
            Ink::Dim.paint(&format!("{rest} more are in JSON"), style)
        );
    }
    Some(text)
}
