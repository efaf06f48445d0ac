//! A recording of a machine by `jetlag monitor`: its loads, clocks and temperatures.

use super::{dim, heading, plain};
use crate::Style;
use crate::analysis::summary::SensorSummary;
use crate::analysis::{Recorded, Summary};
use crate::number::{or_unknown, short};
use crate::table::{Align, Grid, Ink};

/// Rows of each kind; a server has hundreds of processors. JSON has all.
const MOST: usize = 16;

/// The sensors of one quantity.
pub(crate) struct Group<'a> {
    /// The quantity, as a heading.
    pub(crate) title: &'static str,
    /// The unit of its figures, with what else has to be said of them.
    pub(crate) unit: &'static str,
    /// Those that are shown.
    pub(crate) sensors: Vec<&'a SensorSummary>,
    /// How many more there are.
    pub(crate) rest: usize,
}

/// What is told of a machine that was recorded by itself, in the order in which people look at it; nothing for runs, whose
/// report is of their tenants.
pub(crate) fn groups(summary: &Summary) -> Vec<Group<'_>> {
    if summary.run.recorded != Recorded::Machine {
        return Vec::new();
    }
    let quantities = [
        ("load", "Load", "% of the time"),
        ("temperature", "Temperature", "°C"),
        ("clock", "Clocks", "MHz, without the time in which one was off"),
    ];
    let groups = quantities.map(|(quantity, title, unit)| {
        let all = summary
            .sensors
            .iter()
            .filter(|sensor| sensor.quantity == quantity);
        // What was never busy is not worth a row.
        let mut sensors: Vec<&SensorSummary> = all
            .filter(|sensor| quantity != "load" || sensor.max > 0.0)
            .collect();
        let rest = sensors.split_off(sensors.len().min(MOST)).len();
        Group {
            title,
            unit,
            sensors,
            rest,
        }
    });
    groups
        .into_iter()
        .filter(|group| !group.sensors.is_empty())
        .collect()
}

/// A table for each group.
pub(super) fn section(summary: &Summary, style: &Style) -> String {
    let tables: Vec<String> = groups(summary).iter().map(|group| table(group, style)).collect();
    tables.join("\n")
}

fn table(group: &Group<'_>, style: &Style) -> String {
    let mut grid = Grid::headed()
        .column("", Align::Left)
        .column("mean", Align::Right)
        .column("median", Align::Right)
        .column("p95", Align::Right)
        .column("lowest", Align::Right)
        .column("highest", Align::Right)
        .optional("source", Align::Left);
    for sensor in &group.sensors {
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
    let mut text = heading(&group.title.to_uppercase(), group.unit, style) + &grid.render(style);
    if group.rest > 0 {
        let more = format!("{} more are in JSON", group.rest);
        text += &format!("  {}\n", Ink::Dim.paint(&more, style));
    }
    text
}
