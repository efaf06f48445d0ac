//! What ran where: facts of the machine, of the run and of each tenant.

use super::view::{Block, Section, Table, cell, tenant_cell};
use crate::analysis::summary::Summary;
use crate::number::{or_unknown, short};
use crate::record::Manifest;
use crate::shell;
use crate::text::sampling_cost;
use crate::units::Bytes;

/// Values with more characters take the full width.
const LONG: usize = 44;

/// What ran where: facts of the machine and of each tenant.
pub(super) fn facts(manifest: &Manifest, summary: &Summary, prefix: &str) -> Section {
    let mut facts: Vec<(String, String, bool)> = Vec::new();
    let mut fact = |name: &str, value: String| {
        let long = value.chars().count() > LONG;
        facts.push((name.to_owned(), value, long));
    };
    for (name, value) in &manifest.machine {
        fact(name, value.clone());
    }
    if let Some(scenario) = manifest.scenario() {
        fact("sharing", format!("{:?}", scenario.sharing));
        fact("clocks", format!("{:?}", scenario.clocks));
        fact("seed", scenario.seed.to_string());
    }
    fact("jetlag", manifest.jetlag_version.clone());
    if let Some(host) = summary.host {
        if let Some(load) = host.cpu_load_percent {
            let others = host
                .others_percent
                .map_or(String::new(), |x| format!(", {x:.0} % by other programs"));
            fact("CPU", format!("{load:.0} % busy{others}"));
        }
        if let Some(bytes) = host.memory_peak_bytes {
            fact("peak memory use", Bytes(bytes).to_string());
        }
    }
    if let Some(own) = summary.run.overhead_us {
        let micros = |value: Option<f64>| or_unknown(value, |us| format!("{} µs", short(us)));
        fact(
            "own cost",
            format!("p50 {}, p99 {} per frame", micros(own.p50), micros(own.p99)),
        );
    }
    if let Some(sampling) = &summary.run.sampling {
        fact("sampling", sampling_cost(sampling));
    }
    if !manifest.command_line.is_empty() {
        fact("command", shell::line(&manifest.command_line));
    }
    if let Some(file) = &summary.run.file {
        fact("record", file.clone());
    }
    let mut table = Table::new("", &["tenant", "detector", "backend", "source", "networks"]);
    for (number, tenant) in manifest.tenants.iter().enumerate() {
        let networks: Vec<String> = tenant
            .networks
            .iter()
            .map(|network| {
                let hash = network.blake3.get(..12).unwrap_or(&network.blake3);
                format!("{} ({}, {hash})", network.name, Bytes(network.bytes))
            })
            .collect();
        table.row(vec![
            tenant_cell(&tenant.name, number),
            cell(tenant.detector.as_deref().unwrap_or("none")),
            cell(&tenant.backend),
            cell(&tenant.source),
            cell(networks.join(", ")),
        ]);
    }
    let mut blocks = vec![Block::Facts(facts)];
    if !table.rows.is_empty() {
        blocks.push(Block::Table(table));
    }
    Section {
        id: format!("{prefix}-where"),
        title: "What ran where".into(),
        note: String::new(),
        blocks,
    }
}
