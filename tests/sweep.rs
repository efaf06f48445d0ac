//! `jetlag sweep` as a process: points, journal and table, whatever interrupts it; knees and fronts; what it refuses.

mod cooling;
mod kills;
mod knees;
mod links;
mod refused;
mod rows;

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::output::{run, stderr, stdout};

/// A simulated camera for a minute of simulated time.
pub(crate) const BASE: &str = "Scenario(duration: \"60s\", warmup: \"0s\", seed: 3, clock: Virtual, tenants: [\
                    Tenant(name: \"camera\", backend: Sim(LogNormal(median: \"9ms\", sigma: 0.1)), \
                    arrival: Periodic(hz: 30), deadline: \"33ms\", overload: Queue(capacity: 16))])";

/// A folder with the base and this sweep of it.
fn folder(sweep: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("base.ron"), BASE).unwrap();
    fs::write(folder.path().join("s.ron"), sweep).unwrap();
    folder
}

/// What a line that succeeds prints.
fn done(args: &[&str], folder: &Path) -> String {
    let output = run(args, folder);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", stderr(&output));
    stdout(&output)
}

fn json(args: &[&str], folder: &Path) -> Value {
    serde_json::from_str(&done(args, folder)).unwrap()
}

/// A table without what differs from one making of a run to another: how long it took.
fn without_times(table: &str) -> Vec<String> {
    let mut lines = table.lines();
    let head = lines.next().unwrap_or_default();
    let took = head.split(',').position(|name| name == "took_s").unwrap();
    let without = |line: &str| {
        let mut cells: Vec<&str> = line.split(',').collect();
        cells.remove(took);
        cells.join(",")
    };
    std::iter::once(head).chain(lines).map(without).collect()
}

pub(crate) fn table(folder: &Path) -> Vec<String> {
    without_times(&fs::read_to_string(folder.join("table.csv")).unwrap())
}
