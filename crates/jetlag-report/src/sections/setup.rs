//! What ran where: facts of the machine, of the run and of each tenant, and what measuring cost.

use jetlag_figure::section::{Cell, Table, Tone};

use super::Section;
use crate::analysis::Summary;
use crate::number::{or_unknown, short};
use crate::record::{Manifest, NetworkManifest};
use crate::shell;
use crate::units::Bytes;

/// The section; what only a summary knows is left out without one.
pub(crate) fn section(manifest: &Manifest, summary: Option<&Summary>) -> Section {
    let mut facts: Vec<(&str, String)> = Vec::new();
    facts.extend(
        manifest
            .machine
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone())),
    );
    if let Some(scenario) = manifest.scenario() {
        facts.push(("sharing", format!("{:?}", scenario.sharing)));
        facts.push(("clocks", format!("{:?}", scenario.clocks)));
        facts.push(("seed", scenario.seed.to_string()));
    }
    let (major, minor) = (manifest.schema_major, manifest.schema_minor);
    facts.push((
        "jetlag",
        format!("{}, record {major}.{minor}", manifest.jetlag_version),
    ));
    facts.extend(summary.map(costs).unwrap_or_default());
    if !manifest.command_line.is_empty() {
        facts.push(("command", shell::line(&manifest.command_line)));
    }
    facts.extend(summary.and_then(|summary| Some(("record", summary.run.file.clone()?))));
    let mut table = Table::new("").words("").words("");
    for (name, value) in facts {
        table.row([Cell::new(name).tone(Tone::Dim), Cell::new(value)]);
    }
    Section::new("where", "What ran where", "")
        .table(table)
        .table(tenants(manifest))
}

/// What measuring cost, and how busy the host was, each with its name.
pub(crate) fn costs(summary: &Summary) -> Vec<(&'static str, String)> {
    let mut costs = Vec::new();
    if let Some(own) = summary.run.overhead_us {
        let micros = |value: Option<f64>| or_unknown(value, |us| format!("{} µs", short(us)));
        let [p50, p99] = [own.p50, own.p99].map(micros);
        let text = format!("p50 {p50}, p99 {p99} per frame, measured with the null backend");
        costs.push(("own cost", text));
    }
    if let Some(sampling) = &summary.run.sampling {
        let most = sampling.samplers.first().map_or(String::new(), |sampler| {
            format!(", {} {:.2} %", sampler.name, sampler.percent_of_core)
        });
        let text = format!("{:.2} % of one core{most}", sampling.percent_of_core);
        costs.push(("sampling", text));
    }
    if let Some(host) = summary.host {
        let load = host.cpu_load_percent.map(|load| match host.others_percent {
            Some(others) => format!("CPU {load:.0} % busy, {others:.0} % by other programs"),
            None => format!("CPU {load:.0} % busy"),
        });
        let peak = host.memory_peak_bytes;
        let memory = peak.map(|bytes| format!("peak memory use {}", Bytes(bytes)));
        let parts: Vec<String> = load.into_iter().chain(memory).collect();
        costs.push(("host", parts.join("; ")));
    }
    costs
}

fn tenants(manifest: &Manifest) -> Table {
    let mut table = Table::new("")
        .words("tenant")
        .words("detector")
        .words("backend")
        .words_or_below("source")
        .words_or_below("networks");
    for (number, tenant) in manifest.tenants.iter().enumerate() {
        let networks: Vec<String> = tenant.networks.iter().map(network).collect();
        table.row([
            Cell::tenant(&tenant.name, number),
            Cell::new(tenant.detector.as_deref().unwrap_or("none")),
            Cell::new(&tenant.backend),
            Cell::new(&tenant.source),
            Cell::new(networks.join(", ")),
        ]);
    }
    table.without_empty_columns()
}

fn network(of: &NetworkManifest) -> String {
    let hash = of.blake3.get(..16).unwrap_or(&of.blake3);
    format!("{} ({}, blake3 {hash}…)", of.name, Bytes(of.bytes))
}
