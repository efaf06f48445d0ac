//! Holds what jetlag prints against runs whose true answers are known, over hundreds of seeds.
//!
//! ```text
//! $ cargo run --release --example truth -- --seeds 300
//! ```
//!
//! Each row of the table is one promise in one kind of run: how often an interval holds the true value, how often a
//! finding is raised where nothing is wrong, how often it is raised where something is. The runs are simulated under the
//! virtual clock and summarised by the same code as every run file. A promise counts as broken where chance alone would
//! give a result this bad in less than one table in a hundred; then the program exits with 1.
//!
//! The table has each promise once, with the kind of run that keeps it worst; `--all` shows every kind. `--only WORD` runs the
//! parts whose name contains the word. docs/measurement.md carries the table with its date.

mod beside;
mod causes;
mod changed;
mod drive;
mod energy;
mod equals;
mod inputs;
mod overload;
mod precision;
mod predict;
mod quantiles;
mod recorded;
mod slowdown;
mod stamps;
mod steady;
mod table;
mod world;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Parser;
use table::Row;

/// Compares what jetlag prints with the known truth of simulated runs.
#[derive(Parser)]
struct Arguments {
    /// Runs of each kind, each with a seed of its own.
    #[arg(long, default_value_t = 300)]
    seeds: u64,
    /// Only parts whose name contains this word: quantiles, precision, compare, slowdown, beside, steady, stamps, overload, causes,
    /// energy, inputs, predict, changed.
    #[arg(long)]
    only: Option<String>,
    /// Every kind of run, and not the worst of each promise alone.
    #[arg(long)]
    all: bool,
    /// Cut these run files into windows instead, and hold each window against the whole.
    #[arg(long, value_name = "RUN")]
    recording: Vec<PathBuf>,
    /// Seconds of a window.
    #[arg(long, default_value_t = 20)]
    window: u32,
}

/// One kind of run, to be tried with so many seeds.
struct Cell {
    part: &'static str,
    rows: Box<dyn Fn(u64) -> Vec<Row> + Send + Sync>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if !arguments.recording.is_empty() {
        let mut out = std::io::stdout().lock();
        for recording in &arguments.recording {
            if let Err(error) = recorded::write(recording, arguments.window, &mut out) {
                let _ = writeln!(std::io::stderr(), "truth: {}: {error}", recording.display());
                return ExitCode::FAILURE;
            }
        }
        return ExitCode::SUCCESS;
    }
    let cells: Vec<Cell> = [
        quantiles::cells(),
        precision::cells(),
        equals::cells(),
        slowdown::cells(),
        beside::cells(),
        steady::cells(),
        stamps::cells(),
        overload::cells(),
        causes::cells(),
        energy::cells(),
        inputs::cells(),
        predict::cells(),
        changed::cells(),
    ]
    .into_iter()
    .flatten()
    .filter(|cell| {
        let only = arguments.only.as_ref();
        only.is_none_or(|word| cell.part.contains(word.as_str()))
    })
    .collect();
    if cells.is_empty() {
        let _ = writeln!(std::io::stderr(), "truth: no part has this name; see --help");
        return ExitCode::from(2);
    }
    let rows = tried(&cells, arguments.seeds);
    let broken = rows.iter().filter(|row| row.is_broken(rows.len())).count();
    let mut out = std::io::stdout().lock();
    let written = table::write(&rows, arguments.seeds, arguments.all, &mut out);
    let precision = table::write_precision(&rows, precision::PART, &mut out);
    if written.is_err() || precision.is_err() || broken > 0 {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// The rows of all cells in the order of the cells, worked on by as many threads as there are processors.
fn tried(cells: &[Cell], seeds: u64) -> Vec<Row> {
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<(usize, Vec<Row>)>> = Mutex::default();
    let work = || {
        while let Some((number, cell)) = {
            let number = next.fetch_add(1, Ordering::Relaxed);
            cells.get(number).map(|cell| (number, cell))
        } {
            let rows = (cell.rows)(seeds);
            let mut found = found.lock().expect("no thread panics while it holds this");
            found.push((number, rows));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let mut found = found.into_inner().expect("no thread panicked");
    found.sort_by_key(|(number, _)| *number);
    found.into_iter().flat_map(|(_, rows)| rows).collect()
}
