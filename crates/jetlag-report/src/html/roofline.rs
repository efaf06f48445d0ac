//! Rooflines as a page of its own: a chart for each run's device, tables of networks and layers, what energy costs.

use std::io::{self, Write};

use askama::Template;

use super::charts::roofline::{Mark, NamedRoofs, below, chart};
use super::findings::view;
use super::view::{Block, Chart, FindingView, Key, Section, words};
use super::{filters, sections};
use crate::analysis::roofline::{
    Ceilings, LayerPoint, NetworkApart, NetworkPoint, Roofline, RunRoofline, TenantRoofline,
};
use crate::number::{or_unknown, percent, scaled, short};
use crate::record::shown::shown;
use crate::sections::Extent;
use crate::sections::roofline::{self as tables, file_name, in_order, run_name};

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
    let mut all = charts(roofline);
    all.push(of_page(tables::networks(roofline)));
    for (number, run) in roofline.runs.iter().enumerate() {
        all.extend(
            run.tenants
                .iter()
                .flat_map(|tenant| layers(roofline, number, tenant)),
        );
    }
    all.push(of_page(tables::energy(&roofline.energy)));
    all.extend(tables::ceilings(roofline).map(of_page));
    let findings = roofline.runs.iter().flat_map(|run| &run.findings).enumerate();
    let page = Page {
        version: env!("CARGO_PKG_VERSION"),
        about: about(&roofline.runs),
        findings: findings
            .map(|(at, finding)| view(finding, format!("finding{at}")))
            .collect(),
        title,
        sections: all,
    };
    // Names of other people's files may hold what acts instead of being shown: escape sequences, marks that turn letters round.
    let text = page.render().map_err(io::Error::other)?;
    out.write_all(shown(&text).as_bytes())
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
        title: "Roofline".into(),
        note: format!(
            "{}, {}. Filled: a network, all of a frame. Rings: its layers. Left of a roof's bend the memory limits, right of it the arithmetic.",
            own.name, own.source
        ),
        blocks,
    })
}

fn marks(points: &mut Vec<Mark>, tenant: &TenantRoofline, colour: usize) {
    if tenant.roofs.is_some() {
        points.extend(tenant.layers.iter().filter_map(|layer| layer_mark(layer, colour)));
    }
    if let Some(point) = &tenant.network {
        points.push(network_mark(&tenant.name, point, colour));
    }
}

/// A layer's mark; none where it has no place on the chart.
fn layer_mark(layer: &LayerPoint, colour: usize) -> Option<Mark> {
    let (intensity, rate) = (layer.intensity?, layer.achieved_flops_per_s?);
    (rate > 0.0 && intensity > 0.0).then(|| Mark {
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
    })
}

fn network_mark(name: &str, point: &NetworkPoint, colour: usize) -> Mark {
    Mark {
        intensity: point.intensity,
        flops_per_s: point.achieved_flops_per_s,
        text: format!(
            "{name}: {} ms, {}FLOP/s, {} of the roof",
            short(point.ms),
            scaled(point.achieved_flops_per_s),
            percent(point.share)
        ),
        colour,
        is_network: true,
        is_above: point.share > 1.05,
    }
}

/// The layers of a tenant of one network, or what several networks cannot be told apart in.
fn layers(roofline: &Roofline, run: usize, tenant: &TenantRoofline) -> Vec<Section> {
    if tenant.layers.is_empty() {
        return Vec::new();
    }
    let of_run = match roofline.runs.len() > 1 {
        true => format!(" of {}", run_name(&roofline.runs, run)),
        false => String::new(),
    };
    let id = format!("layers{run}-{}", tenant.name);
    if tenant.apart.is_empty() {
        let own = tables::of_tenant(tenant, Extent::Most).map(of_page);
        return own
            .into_iter()
            .map(|own| Section {
                id: id.clone(),
                title: format!("Layers of {}{of_run}", tenant.name).into(),
                ..own
            })
            .collect();
    }
    let mut sections: Vec<Section> = tenant
        .apart
        .iter()
        .enumerate()
        .map(|(network, own)| one_network(tenant, (network, own), &format!("{id}-{network}"), &of_run))
        .collect();
    let rest: Vec<&LayerPoint> = tenant
        .layers
        .iter()
        .filter(|layer| layer.network.is_none())
        .collect();
    if !rest.is_empty() {
        sections.push(Section {
            id,
            title: format!("Other layers of {}{of_run}", tenant.name).into(),
            note: "Their names lead to no network, or to several.".to_owned(),
            blocks: of_layers(&rest, tenant),
        });
    }
    if let Some(last) = sections.last_mut() {
        last.blocks
            .extend(tables::why_not(tenant).iter().map(|why| Block::Text(words(why))));
    }
    sections
}

fn of_page(section: tables::Section) -> Section {
    sections::of(section, "", |nothing| match nothing {})
}

/// The tables of some of a tenant's layers.
fn of_layers(layers: &[&LayerPoint], tenant: &TenantRoofline) -> Vec<Block> {
    let section = tables::Section::new("", "", "");
    of_page(tables::with_layers(
        section,
        layers,
        tenant.has_told(),
        Extent::Most,
    ))
    .blocks
}

/// One of a tenant's networks: its point among those of its layers, and the layers.
fn one_network(
    tenant: &TenantRoofline,
    (network, own): (usize, &NetworkApart),
    id: &str,
    of_run: &str,
) -> Section {
    let layers: Vec<&LayerPoint> = tenant
        .layers
        .iter()
        .filter(|layer| layer.network == Some(network))
        .collect();
    let name = file_name(&own.name);
    let mut points: Vec<Mark> = layers
        .iter()
        .filter_map(|layer| layer_mark(layer, network))
        .collect();
    points.push(network_mark(name, &own.point, network));
    let roofs: Vec<NamedRoofs> = tenant
        .roofs
        .zip(tenant.precision.clone())
        .map(|(roofs, name)| NamedRoofs { name, roofs })
        .into_iter()
        .collect();
    let said = format!("Roofline chart of {name}: {} marks.", points.len());
    let mut blocks: Vec<Block> = chart(&roofs, &points, &said)
        .map(|figure| {
            Block::Charts(vec![Chart {
                title: "Rate over intensity".to_owned(),
                keys: vec![Key::new(network % 8, name)],
                svg: figure.svg,
            }])
        })
        .into_iter()
        .collect();
    blocks.extend(of_layers(&layers, tenant));
    Section {
        id: id.to_owned(),
        title: format!("{name} of {}{of_run}", tenant.name).into(),
        note: "One of several networks; its time is the sum of its layers. Filled: all of it. Rings: its layers.".to_owned(),
        blocks,
    }
}
