//! Rooflines as tables: networks of all runs beside each other, layers by type and one by one, what energy costs.

use std::cmp::Reverse;
use std::io::{self, Write};

pub(crate) use super::scaled::scaled;
use super::scaled::{ending, paragraph};
use super::{dim, heading, plain};
use crate::Style;
use crate::analysis::roofline::{
    Ceilings, Coefficient, EnergyRoofline, LayerPoint, NetworkPoint, OperatorPoints, Roofline, RunRoofline,
    TenantRoofline,
};
use crate::number::{UNKNOWN, or_unknown, percent, short};
use crate::table::{Align, Grid, Ink, Text};

/// Layers shown of a tenant beside its networks; `--layers` and JSON have all.
const SHOWN: usize = 10;

/// Writes all of it.
pub fn write(roofline: &Roofline, out: &mut dyn Write, style: &Style) -> io::Result<()> {
    let mut sections = vec![ceilings(roofline, style), networks(roofline, style)];
    for run in &roofline.runs {
        for tenant in &run.tenants {
            sections.push(of_layers(tenant, SHOWN, style));
            sections.push(counted(tenant, style));
        }
    }
    sections.push(energy(&roofline.energy, style));
    sections.push(findings(&roofline.runs, style));
    sections.retain(|section| !section.is_empty());
    out.write_all(sections.join("\n").as_bytes())
}

/// The layers of a run's tenants, all of them, with their work: empty where no layer has any.
pub fn layers(run: &RunRoofline, style: &Style) -> String {
    let tenants = run.tenants.iter();
    let known = tenants.filter(|tenant| tenant.has_more_than_times());
    let mut sections: Vec<String> = known
        .flat_map(|tenant| [of_layers(tenant, usize::MAX, style), told(tenant, style)])
        .collect();
    if !sections.is_empty() {
        sections.push(findings(std::slice::from_ref(run), style));
    }
    sections.retain(|section| !section.is_empty());
    sections.join("\n")
}

/// What the hardware counted of a tenant, where counters were given.
fn counted(tenant: &TenantRoofline, style: &Style) -> String {
    match (&tenant.counters, &tenant.no_counters) {
        (Some(own), _) => super::counters::against(own, style),
        (None, Some(why)) => heading("COUNTERS", &tenant.name, style) + &paragraph(why, "  ", style),
        (None, None) => String::new(),
    }
}

/// The last part of a path, which is short.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn ceilings(roofline: &Roofline, style: &Style) -> String {
    let mut shown: Vec<&Ceilings> = Vec::new();
    for own in roofline.runs.iter().filter_map(|run| run.ceilings.as_ref()) {
        if !shown.contains(&own) {
            shown.push(own);
        }
    }
    shown.into_iter().map(|own| of_ceilings(own, style)).collect()
}

/// Ceilings as a table.
pub fn of_ceilings(own: &Ceilings, style: &Style) -> String {
    let threads = |threads: Option<u32>| match threads {
        Some(1) => " on 1 thread".to_owned(),
        Some(threads) => format!(" on {threads} threads"),
        None => String::new(),
    };
    let mut grid = Grid::headless()
        .column("", Align::Left)
        .column("", Align::Right)
        .column("", Align::Left);
    for peak in &own.peaks {
        grid.row(vec![
            plain(format!("{}{}", peak.precision, threads(peak.threads))),
            plain(format!("{}FLOP/s", spaced(peak.flops_per_s))),
            dim(&peak.how),
        ]);
    }
    for of in own.bandwidths.iter().chain(&own.copies) {
        grid.row(vec![
            plain(format!("{}{}", of.name, threads(of.threads))),
            plain(format!("{}B/s", spaced(of.bytes_per_s))),
            dim(&of.how),
        ]);
    }
    let mut text = heading("CEILINGS", &format!("{}, {}", own.name, own.source), style) + &grid.render(style);
    for note in &own.notes {
        text += &paragraph(note, "  ", style);
    }
    text
}

/// The same with a blank before a unit.
fn spaced(number: f64) -> String {
    let text = scaled(number);
    match text.ends_with(|last: char| last.is_ascii_digit()) {
        true => text + " ",
        false => text,
    }
}

/// Runs and tenants: those of one network beside each other, by batch.
pub(crate) fn in_order(runs: &[RunRoofline]) -> Vec<(usize, &TenantRoofline)> {
    let all = runs.iter().enumerate();
    let mut all: Vec<(usize, &TenantRoofline)> = all
        .flat_map(|(number, run)| run.tenants.iter().map(move |tenant| (number, tenant)))
        .collect();
    let first = |tenant: &TenantRoofline| {
        let same = |(_, other): &(usize, &TenantRoofline)| other.networks == tenant.networks;
        all.iter().position(same)
    };
    let places: Vec<Option<usize>> = all.iter().map(|(_, tenant)| first(tenant)).collect();
    let mut numbered: Vec<(Option<usize>, (usize, &TenantRoofline))> =
        places.into_iter().zip(all.drain(..)).collect();
    numbered.sort_by_key(|(place, (_, tenant))| (*place, tenant.batch));
    numbered.into_iter().map(|(_, own)| own).collect()
}

fn networks(roofline: &Roofline, style: &Style) -> String {
    let several = roofline.runs.len() > 1;
    let mut grid = Grid::headed();
    if several {
        grid = grid.column("run", Align::Left);
    }
    let with_batch = in_order(&roofline.runs)
        .iter()
        .any(|(_, tenant)| tenant.batch.is_some());
    grid = grid.column("network", Align::Left);
    if with_batch {
        grid = grid.column("batch", Align::Right);
    }
    grid = grid
        .column("ms", Align::Right)
        .optional("FLOP", Align::Right)
        .optional("byte", Align::Right)
        .column("FLOP/byte", Align::Right)
        .column("FLOP/s", Align::Right)
        .column("attainable", Align::Right)
        .column("share", Align::Right)
        .column("bound", Align::Left);
    if with_batch {
        grid = grid.optional("items/s", Align::Right);
    }
    let mut below: String = without_point(&roofline.runs)
        .iter()
        .map(|said| paragraph(said, "  ", style))
        .collect();
    for (number, tenant) in in_order(&roofline.runs) {
        let networks: Vec<&str> = tenant.networks.iter().map(|name| file_name(name)).collect();
        let networks = networks.join(" + ");
        let Some(point) = &tenant.network else {
            continue;
        };
        let mut row: Vec<Text> = Vec::new();
        if several {
            row.push(plain(run_name(&roofline.runs, number)));
        }
        row.push((networks, Ink::Bold));
        if with_batch {
            row.push(plain(or_unknown(tenant.batch, |batch| batch.to_string())));
        }
        row.extend(of_point(point));
        if with_batch {
            row.push(plain(or_unknown(tenant.throughput_items, short)));
        }
        grid.row(row);
        for own in &tenant.apart {
            let mut row: Vec<Text> = Vec::new();
            if several {
                row.push(plain(""));
            }
            row.push(plain(format!("  {}", file_name(&own.name))));
            if with_batch {
                row.push(plain(""));
            }
            row.extend(of_point(&own.point));
            if with_batch {
                row.push(plain(""));
            }
            grid.row(row);
        }
        if let Some(why) = &tenant.why_together {
            below += &paragraph(&format!("{}: {why}", tenant.name), "  ", style);
        }
    }
    let note = "a frame; bytes if chains of operators stay on the chip; share of what the roofs allow";
    heading("ROOFLINE", note, style) + &grid.render(style) + &below
}

/// A sentence for each reason why networks and runs have no point, with all of them that it holds for.
pub(crate) fn without_point(runs: &[RunRoofline]) -> Vec<String> {
    let several = runs.len() > 1;
    let networks = in_order(runs)
        .into_iter()
        .filter(|(_, tenant)| tenant.network.is_none())
        .map(|(number, tenant)| {
            let networks: Vec<&str> = tenant.networks.iter().map(|name| file_name(name)).collect();
            let own = format!("{} ({})", tenant.name, networks.join(" + "));
            let own = match several {
                true => format!("{} of {}", own, run_name(runs, number)),
                false => own,
            };
            (tenant.why_not.as_deref().unwrap_or(UNKNOWN), own)
        });
    let empty = (0..runs.len())
        .filter(|number| runs[*number].tenants.is_empty())
        .map(|number| (NO_NETWORK, run_name(runs, number)));
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for (why, own) in networks.chain(empty) {
        match reasons.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, named)) if named.contains(&own) => {}
            Some((_, named)) => named.push(own),
            None => reasons.push((why, vec![own])),
        }
    }
    let sentence = |(why, named): (&str, Vec<String>)| {
        let has = if named.len() == 1 { "has" } else { "have" };
        format!("{} {has} no point: {why}", named.join(", "))
    };
    reasons.into_iter().map(sentence).collect()
}

const NO_NETWORK: &str = "no tenant executed a network, or the file ends before one did";

/// The columns that every point has.
fn of_point(point: &NetworkPoint) -> [Text; 8] {
    let at_most = if point.is_upper_bound { "≤ " } else { "" };
    [
        plain(short(point.ms)),
        plain(format!("{at_most}{}", scaled(point.flops as f64))),
        plain(scaled(point.bytes as f64)),
        plain(short(point.intensity)),
        plain(scaled(point.achieved_flops_per_s)),
        plain(scaled(point.attainable_flops_per_s)),
        (
            format!("{at_most}{}", percent(point.share)),
            if point.share > 1.05 { Ink::Bad } else { Ink::Bold },
        ),
        plain(point.bound.word()),
    ]
}

pub(crate) fn run_name(runs: &[RunRoofline], number: usize) -> String {
    let run = runs.get(number);
    let name = run.map(|run| run.file.as_deref().map_or(run.name.as_str(), file_name));
    name.unwrap_or(UNKNOWN).to_owned()
}

/// A sum over the layers of a type; a lower bound where the work of some is not known, and no figure where that of none is.
pub(crate) fn of_known(own: &OperatorPoints, sum: u64) -> String {
    match own.unknown {
        0 => scaled(sum as f64),
        unknown if unknown == own.layers => UNKNOWN.to_owned(),
        _ => format!("≥ {}", scaled(sum as f64)),
    }
}

fn of_layers(tenant: &TenantRoofline, most: usize, style: &Style) -> String {
    if tenant.layers.is_empty() {
        return String::new();
    }
    let of_all = tenant.placed.map_or(String::new(), |placed| {
        format!("; names lead to {} of the work", percent(placed.work))
    });
    let mut operators = Grid::headed()
        .column("type", Align::Left)
        .column("layers", Align::Right)
        .column("ms", Align::Right)
        .column("time", Align::Right)
        .column("FLOP", Align::Right)
        .column("byte", Align::Right)
        .column("share of roof", Align::Right);
    let has_memory = tenant.has_told();
    if has_memory {
        operators = operators.column("memory", Align::Right);
    }
    for own in &tenant.operators {
        let mut row = vec![
            (
                match own.operator.as_str() {
                    "" => UNKNOWN.to_owned(),
                    operator => operator.to_owned(),
                },
                Ink::Bold,
            ),
            plain(own.layers.to_string()),
            plain(short(own.ms)),
            plain(percent(own.time_share)),
            plain(of_known(own, own.flops)),
            plain(of_known(own, own.bytes)),
            plain(or_unknown(own.share, percent)),
        ];
        if has_memory {
            row.push(plain(or_unknown(own.memory_bytes, |bytes| scaled(bytes as f64))));
        }
        operators.row(row);
    }
    let mut layers = Grid::headed()
        .column("layer", Align::Left)
        .optional("type", Align::Left)
        .optional("format", Align::Left)
        .column("in", Align::Left)
        .column("out", Align::Left)
        .column("ms", Align::Right)
        .optional("FLOP", Align::Right)
        .optional("byte", Align::Right)
        .column("FLOP/byte", Align::Right)
        .column("share", Align::Right)
        .column("bound", Align::Left);
    let slowest = slowest_first(&tenant.layers);
    for layer in slowest.iter().take(most) {
        let unknown = |value: &Option<String>| dim(value.as_deref().unwrap_or(UNKNOWN));
        layers.row(vec![
            plain(ending(&layer.name)),
            plain(&layer.operator),
            unknown(&layer.precision),
            unknown(&layer.input_shape),
            unknown(&layer.output_shape),
            plain(short(layer.ms)),
            plain(or_unknown(layer.flops, |flops| scaled(flops as f64))),
            plain(or_unknown(layer.bytes, |bytes| scaled(bytes as f64))),
            plain(or_unknown(layer.intensity, short)),
            plain(or_unknown(layer.share, percent)),
            plain(layer.bound.map_or(UNKNOWN, |bound| bound.word())),
        ]);
    }
    let mut text =
        heading("LAYERS BY TYPE", &format!("{}{of_all}", tenant.name), style) + &operators.render(style);
    text += "\n";
    text += &heading("LAYERS", &format!("{}, the slowest first", tenant.name), style);
    text += &layers.render(style);
    if let Some(rest) = slowest.len().checked_sub(most).filter(|rest| *rest > 0) {
        let said = format!("{rest} more: jetlag report RUN --layers, or --format json");
        text += &format!("  {}\n", Ink::Dim.paint(&said, style));
    }
    if let Some(why) = &tenant.why_not {
        text += &paragraph(&format!("no shares: {why}"), "  ", style);
    }
    text
}

/// What computes each layer and what memory it has, as the engine's inspector tells; why that is not known, where it is not.
fn told(tenant: &TenantRoofline, style: &Style) -> String {
    let mut text = String::new();
    if tenant.has_told() {
        let mut grid = Grid::headed()
            .column("layer", Align::Left)
            .column("memory", Align::Right)
            .column("weights", Align::Right)
            .column("tactic", Align::Left);
        for layer in slowest_first(&tenant.layers) {
            grid.row(vec![
                plain(ending(&layer.name)),
                plain(or_unknown(layer.memory_bytes(), |bytes| scaled(bytes as f64))),
                plain(or_unknown(layer.weights_bytes, |bytes| scaled(bytes as f64))),
                dim(layer.tactic.as_deref().unwrap_or(UNKNOWN)),
            ]);
        }
        let note = format!("{}, bytes of tensors and weights; the slowest first", tenant.name);
        text = heading("TACTICS AND MEMORY", &note, style) + &grid.render(style);
    }
    if let Some(why) = &tenant.why_not_told {
        let of = match tenant.has_told() {
            true => "not all memory",
            false => "no tactics and memory",
        };
        text += &paragraph(&format!("{}, {of}: {why}", tenant.name), "  ", style);
    }
    text
}

/// Layers, the one that takes longest first.
pub(crate) fn slowest_first<'a>(layers: impl IntoIterator<Item = &'a LayerPoint>) -> Vec<&'a LayerPoint> {
    let mut slowest: Vec<&LayerPoint> = layers.into_iter().collect();
    slowest.sort_by_key(|layer| Reverse((layer.ms * 1e6) as i64));
    slowest
}

/// The prices in words: name, value with its unit, interval.
pub(crate) fn prices(energy: &EnergyRoofline) -> Vec<[String; 3]> {
    let Some(fit) = &energy.fit else {
        return Vec::new();
    };
    let row = |name: &str, price: &Coefficient, by: f64, unit: &str| {
        [
            name.to_owned(),
            price.value.map_or_else(
                || "not known".to_owned(),
                |value| format!("{} {unit}", short(value * by)),
            ),
            price.interval.map_or_else(String::new, |(low, high)| {
                format!("{} to {}", short(low * by), short(high * by))
            }),
        ]
    };
    vec![
        row("work", &fit.e_flop, 1e12, "pJ/FLOP"),
        row("traffic", &fit.e_byte, 1e12, "pJ/byte"),
        row("time", &fit.p0, 1.0, "W"),
    ]
}

/// What follows from the prices, a sentence each.
pub(crate) fn follows(energy: &EnergyRoofline) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(fit) = &energy.fit {
        said.push(format!(
            "{} runs; mean error {}, worst {}.",
            fit.rows,
            percent(fit.mean_relative_error),
            percent(fit.worst_relative_error)
        ));
    }
    if let Some(balance) = energy.balance {
        said.push(format!(
            "Work and traffic cost the same at {} FLOP/byte.",
            short(balance)
        ));
    }
    if let Some(racing) = energy.racing {
        let pays = match racing.pays {
            true => "it pays to be done early and rest",
            false => "that it pays to be done early is not shown",
        };
        said.push(format!(
            "Running takes {} W whatever is done, and idling {} W: {pays}.",
            short(racing.p0_w),
            short(racing.idle_w)
        ));
    }
    said.extend(energy.missing.iter().cloned());
    said
}

fn energy(energy: &EnergyRoofline, style: &Style) -> String {
    let mut text = heading(
        "ENERGY",
        "E = e_flop · W + e_byte · Q + p0 · T, with 95 % intervals",
        style,
    );
    let prices = prices(energy);
    if !prices.is_empty() {
        let mut grid = Grid::headless()
            .column("", Align::Left)
            .column("", Align::Right)
            .column("", Align::Left);
        for [name, value, interval] in prices {
            grid.row(vec![plain(name), (value, Ink::Bold), dim(interval)]);
        }
        text += &grid.render(style);
    }
    for said in follows(energy) {
        text += &paragraph(&said, "  ", style);
    }
    text
}

fn findings(runs: &[RunRoofline], style: &Style) -> String {
    let mut text = String::new();
    for (number, run) in runs.iter().enumerate() {
        for finding in &run.findings {
            let of = match (&finding.tenant, runs.len() > 1) {
                (Some(tenant), true) => format!("{}, {tenant}", run_name(runs, number)),
                (None, true) => run_name(runs, number),
                (Some(tenant), false) => tenant.clone(),
                (None, false) => String::new(),
            };
            text += &format!("  {}  {of}\n", Ink::Warn.paint(&finding.code, style));
            text += &paragraph(&finding.message, "    ", style);
            text += &paragraph(&format!("→ {}", finding.advice), "    ", style);
        }
    }
    match text.is_empty() {
        true => text,
        false => heading("FINDINGS", "", style) + &text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_types_are_lower_bounds_or_no_figures_where_layers_are_not_known() {
        let of = |unknown| OperatorPoints {
            operator: "Conv".to_owned(),
            layers: 3,
            ms: 1.0,
            time_share: 1.0,
            flops: 2_000,
            bytes: 0,
            unknown,
            memory_bytes: None,
            share: None,
        };
        let shown = [0, 1, 3].map(|unknown| of_known(&of(unknown), 2_000));
        assert_eq!(shown, ["2.00 k", "≥ 2.00 k", UNKNOWN]);
    }
}
