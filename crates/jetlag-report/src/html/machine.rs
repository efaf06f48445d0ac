//! The machine of a run: what ran where, power and clocks over time, energy; and the expectations.

use super::charts::{energy, signals};
use super::view::{Block, Chart, Key, Section, Table, cell, tenant_cell, words};
use crate::analysis::plot::SignalPlot;
use crate::analysis::summary::Summary;
use crate::digits::range;
use crate::number::{measured, or_unknown, percent, short};
use crate::record::Manifest;
use crate::shell;
use crate::text::machine::groups;
use crate::text::memory;
use crate::text::power::{in_thousands, joules_within, mean, role};
use crate::text::{sampling_cost, value_of};
use crate::units::Bytes;

/// Values with more characters take the full width.
const LONG: usize = 44;

/// The expectations, and whether each held; nothing where the scenario has none.
pub(super) fn expectations(summary: &Summary, prefix: &str) -> Option<Section> {
    let mut table = Table::new("", &["expectation", "", "#found", ""]);
    for result in &summary.expectations {
        let (mark, class) = match (result.value, result.holds) {
            (None, _) => ("undecided", "warn strong"),
            (_, true) => ("holds", "good strong"),
            (_, false) => ("broken", "bad strong"),
        };
        let remark = match (result.value, result.certain) {
            (None, _) => "see the findings",
            (_, Some(false)) => "close: the interval contains the limit",
            _ => "",
        };
        table.row(vec![
            cell(&result.text).class("code"),
            cell(mark).class(class),
            cell(value_of(result)),
            cell(remark).class("dim"),
        ]);
    }
    (!table.rows.is_empty()).then(|| Section {
        id: format!("{prefix}-expectations"),
        title: "Expectations".into(),
        note: String::new(),
        blocks: vec![Block::Table(table)],
    })
}

/// The memory of each tenant; nothing where the run file does not tell.
fn memory_of(summary: &Summary) -> Option<Table> {
    let parts = memory::parts(summary);
    if parts.is_empty() {
        return None;
    }
    let heads: Vec<String> = parts.iter().map(|part| format!("#{}", part.title)).collect();
    let heads: Vec<&str> = std::iter::once("tenant")
        .chain(heads.iter().map(String::as_str))
        .collect();
    let mut table = Table::new("Memory", &heads);
    for (number, tenant) in summary.tenants.iter().enumerate() {
        let Some(memory) = &tenant.memory else { continue };
        let mut row = vec![tenant_cell(&tenant.name, number)];
        row.extend(parts.iter().map(|part| cell(part.shown(memory))));
        table.row(row);
    }
    Some(table)
}

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
    if let Some(table) = memory_of(summary) {
        blocks.push(Block::Table(table));
        let mut notes = vec![memory::note(&memory::parts(summary)).to_owned()];
        notes.extend(memory::reasons(summary));
        blocks.extend(notes.into_iter().map(|note| Block::Text(words(&note))));
    }
    Section {
        id: format!("{prefix}-where"),
        title: "What ran where".into(),
        note: String::new(),
        blocks,
    }
}

/// Power lines, clocks and temperatures over time, with their figures.
pub(super) fn power(summary: &Summary, prefix: &str) -> Option<Section> {
    let length = summary.plots.length_s;
    let kinds = [
        ("Power", "mw", "W", 1e-3),
        ("Clocks", "mhz", "MHz", 1.0),
        ("Temperatures", "c", "°C", 1.0),
    ];
    let mut blocks: Vec<Block> = Vec::new();
    for (what, unit, shown, scale) in kinds {
        let all = summary.plots.signals.iter().filter(|signal| signal.unit == unit);
        let chosen = signals::chosen(all);
        if let Some(chart) = signals::chart(&chosen.drawn, length, what, shown, scale) {
            blocks.push(Block::Charts(vec![Chart {
                title: format!("{what}, {shown}"),
                keys: chosen
                    .drawn
                    .iter()
                    .enumerate()
                    .map(|(n, signal)| Key::new(n % 8, &signal.signal))
                    .collect(),
                svg: chart.svg,
            }]));
            blocks.extend(not_drawn(&chosen.left_out));
        }
    }
    if !summary.power.is_empty() {
        blocks.push(Block::Table(rails(summary)));
    }
    (!blocks.is_empty()).then(|| Section {
        id: format!("{prefix}-power"),
        title: "Power and clocks".into(),
        note: match summary.tenants.is_empty() {
            true => String::new(),
            false => "On the same time axis as the response times above.".to_owned(),
        },
        blocks,
    })
}

/// Loads, temperatures and clocks of a machine that was recorded by itself.
pub(super) fn sensors(summary: &Summary, prefix: &str) -> Option<Section> {
    let mut blocks = Vec::new();
    for group in groups(summary) {
        let head = ["", "#mean", "#median", "#p95", "#lowest", "#highest", "source"];
        let mut table = Table::new(format!("{}, {}", group.title, group.unit), &head);
        for sensor in &group.sensors {
            table.row(vec![
                cell(&sensor.signal),
                cell(or_unknown(sensor.mean, short)),
                cell(or_unknown(sensor.median, short)),
                cell(or_unknown(sensor.p95, short)),
                cell(short(sensor.min)),
                cell(short(sensor.max)),
                cell(&sensor.source),
            ]);
        }
        blocks.push(Block::Table(table));
        if group.rest > 0 {
            let more = format!("{} more are in the JSON output (`--format json`).", group.rest);
            blocks.push(Block::Text(words(&more)));
        }
    }
    (!blocks.is_empty()).then(|| Section {
        id: format!("{prefix}-sensors"),
        title: "Load, temperatures and clocks".into(),
        note: "Over the time that was recorded.".to_owned(),
        blocks,
    })
}

/// Names what a chart has no room for.
fn not_drawn(left_out: &[&SignalPlot]) -> Option<Block> {
    let names: Vec<&str> = left_out.iter().map(|signal| signal.signal.as_str()).collect();
    (!names.is_empty()).then(|| {
        Block::Text(words(&format!(
            "Not drawn for lack of room: {}. The JSON output has their figures (`--format json`).",
            names.join(", ")
        )))
    })
}

fn rails(summary: &Summary) -> Table {
    let mut table = Table::new(
        "Over the measured time",
        &[
            "rail",
            "#mean",
            "#median",
            "#p95",
            "#peak",
            "#idle",
            "#energy",
            "#refresh",
            "#coverage",
            "source",
        ],
    );
    let watts = |mw: f64| format!("{} W", short(mw / 1e3));
    if let Some(energy) = summary.energy.as_ref().filter(|energy| energy.rails.len() > 1) {
        table.row(vec![
            cell(energy.of).note("sum"),
            cell(format!(
                "{} W",
                mean(energy.mean_mw, energy.total_mj, energy.ci95_mj)
            )),
            cell(or_unknown(energy.median_mw, watts)),
            cell(or_unknown(energy.p95_mw, watts)),
            cell(or_unknown(energy.peak_mw, watts)),
            cell(or_unknown(energy.idle_mw, watts)),
            cell(format!("{} J", in_thousands(energy.total_mj, energy.ci95_mj))),
            cell(""),
            cell(""),
            cell(""),
        ]);
    }
    for rail in &summary.power {
        table.row(vec![
            cell(&rail.rail).note(role(rail)),
            cell(format!("{} W", mean(rail.mean_mw, rail.energy_mj, rail.ci95_mj))),
            cell(or_unknown(rail.median_mw, watts)),
            cell(or_unknown(rail.p95_mw, watts)),
            cell(watts(rail.peak_mw)),
            cell(or_unknown(rail.idle_mw, watts)),
            cell(format!("{} J", in_thousands(rail.energy_mj, rail.ci95_mj))),
            cell(or_unknown(rail.refresh_ms, |ms| format!("{} ms", short(ms)))),
            cell(percent(rail.coverage)),
            cell(&rail.source),
        ]);
    }
    table
}

/// Energy of a frame, with its interval.
pub(super) fn energy(summary: &Summary, prefix: &str) -> Option<Section> {
    let of_all = summary.energy.as_ref()?;
    let withheld = of_all
        .ci95_withheld
        .map_or(String::new(), |why| format!(" (no interval: {why})"));
    let above = match of_all.above_idle_mj {
        Some(mj) => format!(
            ", {} of it above idle",
            joules_within(mj, of_all.above_idle_ci95_mj)
        ),
        None => ", idle not measured".to_owned(),
    };
    let attribution = match of_all.attribution {
        Some(_) => {
            " Energy is attributed to tenants by their share of compute time; it is not measured per tenant."
        }
        None => "",
    };
    let mut blocks = Vec::new();
    if let Some(chart) = energy::chart(&summary.tenants) {
        blocks.push(Block::Charts(vec![Chart {
            title: "Energy per frame".to_owned(),
            keys: Vec::new(),
            svg: chart.svg,
        }]));
    }
    let mut table = Table::new(
        "",
        &[
            "tenant",
            "#per frame",
            "#above idle",
            "#frames per joule",
            "#share",
        ],
    );
    for (number, tenant) in summary.tenants.iter().enumerate() {
        let Some(energy) = &tenant.energy_mj_per_frame else {
            continue;
        };
        let bounds = energy.ci95.map_or(String::new(), range);
        table.row(vec![
            tenant_cell(&tenant.name, number),
            cell(format!("{} mJ", measured(energy.total, energy.ci95))).note(bounds),
            cell(or_unknown(energy.above_idle, |mj| {
                format!("{} mJ", measured(mj, energy.above_idle_ci95))
            })),
            cell(or_unknown(energy.frames_per_joule, |frames| {
                measured(frames, energy.frames_per_joule_ci95())
            })),
            cell(percent(energy.share)),
        ]);
    }
    if !table.rows.is_empty() {
        blocks.push(Block::Table(table));
    }
    Some(Section {
        id: format!("{prefix}-energy"),
        title: "Energy".into(),
        note: format!(
            "{}: {}{withheld}{above}. Sensors are uncalibrated: gain and offset may be off by several percent.{attribution}",
            of_all.of,
            joules_within(of_all.total_mj, of_all.ci95_mj)
        ),
        blocks,
    })
}
