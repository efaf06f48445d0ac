//! Rooflines as a page of its own: a chart for each run's device, tables of networks and layers, what energy costs.

use std::io::{self, Write};

use askama::Template;

use super::charts::roofline::{Mark, NamedRoofs, below, chart};
use super::filters;
use super::view::{Block, Cell, Chart, FindingView, Key, Section, Table, cell, words};
use crate::analysis::roofline::{Ceilings, Roofline, RunRoofline, TenantRoofline};
use crate::text::number::{UNKNOWN, or_unknown, percent, short};
use crate::text::roofline::{file_name, follows, in_order, prices, run_name, scaled};

/// Layers in the table of one tenant.
const MOST_LAYERS: usize = 60;

#[derive(Template)]
#[template(path = "roofline.html")]
struct Page {
    version: &'static str,
    title: String,
    about: String,
    findings: Vec<FindingView>,
    sections: Vec<Section>,
}

/// Writes the page.
pub fn write(roofline: &Roofline, out: &mut dyn Write) -> io::Result<()> {
    let title = match &roofline.runs[..] {
        [one] => format!("Roofline of {}", one.name),
        several => format!("Rooflines of {} runs", several.len()),
    };
    let mut sections = charts(roofline);
    sections.push(networks(roofline));
    for (number, run) in roofline.runs.iter().enumerate() {
        sections.extend(
            run.tenants
                .iter()
                .filter_map(|tenant| layers(roofline, number, tenant)),
        );
    }
    sections.push(energy(roofline));
    sections.push(ceilings(roofline));
    let findings = roofline.runs.iter().flat_map(|run| &run.findings).enumerate();
    let page = Page {
        version: env!("CARGO_PKG_VERSION"),
        about: about(&roofline.runs),
        findings: findings
            .map(|(at, finding)| FindingView {
                id: format!("finding{at}"),
                code: finding.code.clone(),
                tenant: finding.tenant.clone().unwrap_or_default(),
                message: words(&finding.message),
                advice: words(&finding.advice),
            })
            .collect(),
        title,
        sections,
    };
    let mut out = out;
    page.write_into(&mut out)
}

fn about(runs: &[RunRoofline]) -> String {
    let points = in_order(runs);
    let best = points
        .iter()
        .filter_map(|(_, tenant)| Some((tenant, tenant.network.as_ref()?)))
        .max_by(|a, b| a.1.share.total_cmp(&b.1.share));
    match best {
        Some((tenant, point)) => format!(
            "{} reaches {} of what its device allows, {}",
            tenant.name,
            percent(point.share),
            below(point.roof)
        ),
        None => "no point could be placed; the table says why".to_owned(),
    }
}

/// One chart for all runs below the same ceilings.
fn charts(roofline: &Roofline) -> Vec<Section> {
    let mut groups: Vec<(&Ceilings, Vec<usize>)> = Vec::new();
    for (number, run) in roofline.runs.iter().enumerate() {
        let Some(own) = &run.ceilings else { continue };
        match groups.iter_mut().find(|(known, _)| *known == own) {
            Some((_, members)) => members.push(number),
            None => groups.push((own, vec![number])),
        }
    }
    let each = groups.into_iter().enumerate();
    each.filter_map(|(at, (own, members))| one_chart(roofline, at, own, &members))
        .collect()
}

fn one_chart(roofline: &Roofline, at: usize, own: &Ceilings, members: &[usize]) -> Option<Section> {
    let mut roofs: Vec<NamedRoofs> = Vec::new();
    let mut points = Vec::new();
    let mut keys = Vec::new();
    let ordered = in_order(&roofline.runs);
    let shown = ordered.iter().filter(|(run, _)| members.contains(run));
    for (colour, (run, tenant)) in shown.enumerate() {
        if let (Some(of), Some(precision)) = (tenant.roofs, &tenant.precision)
            && !roofs.iter().any(|known| known.roofs == of)
        {
            roofs.push(NamedRoofs {
                name: precision.clone(),
                roofs: of,
            });
        }
        let before = points.len();
        marks(&mut points, tenant, colour);
        if points.len() > before {
            let batch = tenant
                .batch
                .map_or(String::new(), |batch| format!(", batch {batch}"));
            let of_run = match roofline.runs.len() > 1 {
                true => format!(" ({})", run_name(&roofline.runs, *run)),
                false => String::new(),
            };
            keys.push(Key::new(colour % 8, format!("{}{batch}{of_run}", tenant.name)));
        }
    }
    let said = format!(
        "Roofline chart of {}: {} marks below {} roofs.",
        own.name,
        points.len(),
        roofs.len()
    );
    let svg = chart(&roofs, &points, &said)?.svg;
    let mut blocks = vec![Block::Charts(vec![Chart {
        title: "Rate over intensity".to_owned(),
        keys,
        svg,
    }])];
    let moving = ordered
        .iter()
        .filter(|(run, _)| members.contains(run))
        .flat_map(|(_, tenant)| &tenant.layers)
        .filter(|layer| layer.flops == Some(0))
        .count();
    if moving > 0 {
        blocks.push(Block::Text(words(&format!(
            "{moving} layers compute nothing and only move; they have no place on the chart and stand in the table."
        ))));
    }
    Some(Section {
        id: format!("chart{at}"),
        title: "Roofline",
        note: format!(
            "{}, {}. Filled: a network, all of a frame. Rings: its layers. Left of a roof's bend the memory limits, right of it the arithmetic.",
            own.name, own.source
        ),
        blocks,
    })
}

fn marks(points: &mut Vec<Mark>, tenant: &TenantRoofline, colour: usize) {
    for layer in &tenant.layers {
        let (Some(intensity), Some(rate)) = (layer.intensity, layer.achieved_flops_per_s) else {
            continue;
        };
        if rate > 0.0 && intensity > 0.0 && tenant.roofs.is_some() {
            points.push(Mark {
                intensity,
                flops_per_s: rate,
                text: format!(
                    "{}: {} ms, {} of the roof",
                    layer.name,
                    short(layer.ms),
                    or_unknown(layer.share, percent)
                ),
                colour,
                is_network: false,
                is_above: layer.is_above,
            });
        }
    }
    if let Some(point) = &tenant.network {
        points.push(Mark {
            intensity: point.intensity,
            flops_per_s: point.achieved_flops_per_s,
            text: format!(
                "{}: {} ms, {}FLOP/s, {} of the roof",
                tenant.name,
                short(point.ms),
                scaled(point.achieved_flops_per_s),
                percent(point.share)
            ),
            colour,
            is_network: true,
            is_above: point.share > 1.05,
        });
    }
}

fn networks(roofline: &Roofline) -> Section {
    let mut table = Table::new(
        "a frame; bytes if chains of operators stay on the chip",
        &[
            "network",
            "#batch",
            "#time",
            "#FLOP",
            "#byte",
            "#FLOP/byte",
            "#FLOP/s",
            "#attainable",
            "#share",
            "bound",
        ],
    );
    let mut blocks = Vec::new();
    for (run, tenant) in in_order(&roofline.runs) {
        let networks: Vec<&str> = tenant.networks.iter().map(|name| file_name(name)).collect();
        let networks = networks.join(" + ");
        let Some(point) = &tenant.network else {
            let why = tenant.why_not.as_deref().unwrap_or(UNKNOWN);
            blocks.push(Block::Text(words(&format!(
                "{} ({networks}) has no point: {why}.",
                tenant.name
            ))));
            continue;
        };
        let of_run = match roofline.runs.len() > 1 {
            true => run_name(&roofline.runs, run),
            false => String::new(),
        };
        let items = tenant
            .throughput_items
            .map_or(String::new(), |items| format!("{} items/s", short(items)));
        table.row(vec![
            cell(networks).note(of_run).class("wide"),
            cell(or_unknown(tenant.batch, |batch| batch.to_string())).note(items),
            cell(format!("{} ms", short(point.ms))),
            cell(scaled(point.flops as f64)),
            cell(scaled(point.bytes as f64)),
            cell(short(point.intensity)),
            cell(scaled(point.achieved_flops_per_s)),
            cell(scaled(point.attainable_flops_per_s)),
            cell(percent(point.share)).class(if point.share > 1.05 {
                "bad strong"
            } else {
                "strong"
            }),
            cell(point.bound.word()),
        ]);
    }
    if !table.rows.is_empty() {
        blocks.insert(0, Block::Table(table));
    }
    Section {
        id: "networks".to_owned(),
        title: "Networks",
        note: "Share is the rate that was reached over the rate that the roofs allow at this intensity."
            .to_owned(),
        blocks,
    }
}

fn layers(roofline: &Roofline, run: usize, tenant: &TenantRoofline) -> Option<Section> {
    if tenant.layers.is_empty() {
        return None;
    }
    let mut types = Table::new(
        "by type",
        &[
            "type",
            "#layers",
            "#ms",
            "#of the time",
            "#FLOP",
            "#byte",
            "#share of the roof",
        ],
    );
    for own in &tenant.operators {
        let at_least = if own.unknown > 0 { "≥ " } else { "" };
        types.row(vec![
            cell(if own.operator.is_empty() {
                UNKNOWN
            } else {
                &own.operator
            }),
            cell(own.layers.to_string()),
            cell(short(own.ms)),
            cell(percent(own.time_share)),
            cell(format!("{at_least}{}", scaled(own.flops as f64))),
            cell(format!("{at_least}{}", scaled(own.bytes as f64))),
            cell(or_unknown(own.share, percent)),
        ]);
    }
    let mut each = Table::new(
        "the slowest first",
        &[
            "layer",
            "format",
            "shapes",
            "#ms",
            "#FLOP",
            "#byte",
            "#FLOP/byte",
            "#share",
            "bound",
        ],
    );
    let mut slowest: Vec<_> = tenant.layers.iter().collect();
    slowest.sort_by(|a, b| b.ms.total_cmp(&a.ms));
    for layer in slowest.iter().take(MOST_LAYERS) {
        let shape = |shape: &Option<String>| shape.clone().unwrap_or_else(|| UNKNOWN.to_owned());
        let name = if layer.name.is_empty() {
            UNKNOWN
        } else {
            &layer.name
        };
        each.row(vec![
            cell(name).note(&layer.operator).class("code"),
            cell(layer.precision.as_deref().unwrap_or(UNKNOWN)),
            shapes(&shape(&layer.input_shape), &shape(&layer.output_shape)),
            cell(short(layer.ms)),
            cell(or_unknown(layer.flops, |flops| scaled(flops as f64))),
            cell(or_unknown(layer.bytes, |bytes| scaled(bytes as f64))),
            cell(or_unknown(layer.intensity, short)),
            cell(or_unknown(layer.share, percent)).class(if layer.is_above { "bad strong" } else { "" }),
            cell(layer.bound.map_or(UNKNOWN, |bound| bound.word())),
        ]);
    }
    let mut blocks = vec![Block::Table(types), Block::Table(each)];
    if let Some(rest) = slowest.len().checked_sub(MOST_LAYERS).filter(|rest| *rest > 0) {
        blocks.push(Block::Text(words(&format!(
            "{rest} more layers are in the JSON output (`--format json`)."
        ))));
    }
    let placed = tenant.placed.map_or(String::new(), |placed| {
        format!(" Names lead to {} of the work.", percent(placed.work))
    });
    let of_run = match roofline.runs.len() > 1 {
        true => format!(" of {}", run_name(&roofline.runs, run)),
        false => String::new(),
    };
    Some(Section {
        id: format!("layers{run}-{}", tenant.name),
        title: "Layers",
        note: format!(
            "{}{of_run}. A layer's share is the shortest time that the roofs allow over the time that it took.{placed}",
            tenant.name
        ),
        blocks,
    })
}

fn shapes(input: &str, output: &str) -> Cell {
    cell(input.to_owned()).note(format!("→ {output}"))
}

fn energy(roofline: &Roofline) -> Section {
    let mut blocks = Vec::new();
    let prices = prices(&roofline.energy);
    if !prices.is_empty() {
        let mut table = Table::new("", &["price of", "#value", "95 % interval"]);
        for [name, value, interval] in prices {
            table.row(vec![cell(name), cell(value), cell(interval)]);
        }
        blocks.push(Block::Table(table));
    }
    blocks.extend(
        follows(&roofline.energy)
            .iter()
            .map(|said| Block::Text(words(said))),
    );
    Section {
        id: "energy".to_owned(),
        title: "Energy",
        note: "Energy of a frame as work, traffic and time, each with a price: E = e_flop · W + e_byte · Q + p0 · T.".to_owned(),
        blocks,
    }
}

fn ceilings(roofline: &Roofline) -> Section {
    let mut shown: Vec<&Ceilings> = Vec::new();
    for own in roofline.runs.iter().filter_map(|run| run.ceilings.as_ref()) {
        if !shown.contains(&own) {
            shown.push(own);
        }
    }
    let mut blocks = Vec::new();
    for own in shown {
        let mut table = Table::new(
            format!("{}, {}", own.name, own.source),
            &["ceiling", "#threads", "#rate", "how"],
        );
        let threads = |threads: Option<u32>| cell(or_unknown(threads, |threads| threads.to_string()));
        for peak in &own.peaks {
            let rate = format!("{}FLOP/s", scaled(peak.flops_per_s));
            table.row(vec![
                cell(&peak.precision),
                threads(peak.threads),
                cell(rate),
                cell(&peak.how),
            ]);
        }
        for of in own.bandwidths.iter().chain(&own.copies) {
            let rate = format!("{}B/s", scaled(of.bytes_per_s));
            table.row(vec![
                cell(&of.name),
                threads(of.threads),
                cell(rate),
                cell(&of.how),
            ]);
        }
        blocks.push(Block::Table(table));
        blocks.extend(own.notes.iter().map(|note| Block::Text(words(note))));
    }
    if blocks.is_empty() {
        blocks.push(Block::Text(words(
            "No ceilings are known: `jetlag ceilings -o FILE` measures them.",
        )));
    }
    Section {
        id: "ceilings".to_owned(),
        title: "Ceilings",
        note: String::new(),
        blocks,
    }
}
