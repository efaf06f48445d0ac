//! A run's setup as its manifest has it: enough to tell whether another run had the same.

use std::io::{self, Write};

use super::Style;
use super::table::{Align, Grid, Ink};
use crate::record::Manifest;
use crate::shell;

/// Writes the run's origin, its machine and its tenants' networks.
pub fn write(manifest: &Manifest, out: &mut dyn Write, style: &Style) -> io::Result<()> {
    let mut grid = Grid::headless().column("", Align::Left).column("", Align::Left);
    let mut row =
        |name: &str, value: String| grid.row(vec![(name.to_owned(), Ink::Dim), (value, Ink::Plain)]);
    row(
        "jetlag",
        format!(
            "{}, record {}.{}",
            manifest.jetlag_version, manifest.schema_major, manifest.schema_minor
        ),
    );
    row("command", shell::line(&manifest.command_line));
    if let Some(scenario) = manifest.scenario() {
        row("seed", scenario.seed.to_string());
        row("sharing", format!("{:?}", scenario.sharing));
    }
    for (fact, value) in &manifest.machine {
        row(fact, value.clone());
    }
    for tenant in &manifest.tenants {
        let detector = tenant.detector.as_deref().unwrap_or("no detector");
        row(
            &tenant.name,
            format!("{detector} on {}, fed by {}", tenant.backend, tenant.source),
        );
        for network in &tenant.networks {
            let hash = network.blake3.get(..16).unwrap_or(&network.blake3);
            row(
                "",
                format!("{}, {} bytes, blake3 {hash}…", network.name, network.bytes),
            );
        }
    }
    writeln!(out, "{}", Ink::Bold.paint("RECORD", style))?;
    writeln!(out, "{}", grid.render(style))
}
