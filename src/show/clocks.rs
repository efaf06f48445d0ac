//! The clocks of a machine, as `jetlag clocks show` lists them.

use std::io::{self, Write};

use serde::Serialize;

use crate::report::Style;
use crate::report::table::{Align, Grid, Ink};
use crate::telemetry::clocks::ClockRow;

/// For people: a line a clock; processors whose lines are equal are drawn together.
pub fn text(rows: &[ClockRow], holder: Option<Option<u32>>, out: &mut dyn Write) -> io::Result<()> {
    if rows.is_empty() {
        return writeln!(
            out,
            "No clock can be read here, which is usual in virtual machines and containers."
        );
    }
    let mut grid = Grid::headed()
        .column("clock", Align::Left)
        .column("min", Align::Right)
        .column("max", Align::Right)
        .column("now", Align::Right)
        .column("", Align::Left);
    let mhz = |value: Option<f64>| value.map_or("–".to_owned(), |mhz| format!("{mhz:.0} MHz"));
    for row in rows {
        let state = if row.held { "locked" } else { "follows the load" };
        grid.row(vec![
            (row.of.clone(), Ink::Bold),
            (mhz(row.min_mhz), Ink::Plain),
            (mhz(row.max_mhz), Ink::Plain),
            (mhz(row.current_mhz), Ink::Plain),
            (state.to_owned(), Ink::Plain),
        ]);
    }
    out.write_all(grid.render(&Style::default()).as_bytes())?;
    match holder {
        Some(Some(pid)) => writeln!(out, "\nLocked by process {pid} until its run ends."),
        Some(None) => writeln!(
            out,
            "\nLocked by `jetlag clocks max`; restore them with `jetlag clocks restore`."
        ),
        None => Ok(()),
    }
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    clocks: &'a [ClockRow],
    held_by_jetlag: bool,
    holder_pid: Option<u32>,
}

/// Writes the clocks and who holds them as JSON.
pub fn json(rows: &[ClockRow], holder: Option<Option<u32>>, out: &mut dyn Write) -> io::Result<()> {
    let document = Document {
        schema: 1,
        clocks: rows,
        held_by_jetlag: holder.is_some(),
        holder_pid: holder.flatten(),
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}
