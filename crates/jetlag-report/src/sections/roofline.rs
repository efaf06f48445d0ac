//! Rooflines in sections: ceilings, networks of all runs beside each other, layers by type and one by one, what energy costs.

use std::cmp::Reverse;
use std::convert::Infallible;

use jetlag_figure::section::{Cell, Section as OfReport, Table, Tone};

use super::layers::known;
use super::{Extent, grouped};
use crate::analysis::roofline::{
    Ceilings, Coefficient, EnergyRoofline, LayerPoint, NetworkPoint, OperatorPoints, Roofline, RunRoofline,
    TenantRoofline, by_operator,
};
use crate::number::{UNKNOWN, percent, scaled, short};

/// A section of a roofline; its drawings are the page's.
pub(crate) type Section = OfReport<Infallible>;

/// Layers of a tenant on a terminal; a page has more, and `--layers` and JSON have all.
const SHOWN: usize = 10;
/// Layers of a tenant on a page.
const ON_PAGE: usize = 60;

/// The ceilings of all runs, each once.
pub(crate) fn ceilings(roofline: &Roofline) -> Option<Section> {
    let mut all: Vec<&Ceilings> = Vec::new();
    for own in roofline.runs.iter().filter_map(|run| run.ceilings.as_ref()) {
        if !all.contains(&own) {
            all.push(own);
        }
    }
    let section = Section::new("ceilings", "Ceilings", "what each device can reach");
    let section = all.into_iter().fold(section, of_ceilings);
    section.unless_empty()
}

/// A section with the ceilings of one device.
pub(crate) fn of_ceilings(section: Section, own: &Ceilings) -> Section {
    let mut table = Table::new(format!("{}, {}", own.name, own.source))
        .words("ceiling")
        .number("rate")
        .words("how");
    let threads = |threads: Option<u32>| match threads {
        Some(1) => " on 1 thread".to_owned(),
        Some(threads) => format!(" on {threads} threads"),
        None => String::new(),
    };
    let peaks = own.peaks.iter().map(|peak| {
        let rate = format!("{}FLOP/s", spaced(peak.flops_per_s));
        (&peak.precision, peak.threads, rate, &peak.how)
    });
    let rates = own.bandwidths.iter().chain(&own.copies).map(|of| {
        let rate = format!("{}B/s", spaced(of.bytes_per_s));
        (&of.name, of.threads, rate, &of.how)
    });
    for (name, on, rate, how) in peaks.chain(rates) {
        table.row([
            Cell::new(format!("{name}{}", threads(on))),
            Cell::new(rate),
            Cell::new(how.clone()).tone(Tone::Dim),
        ]);
    }
    section.table(table).texts(own.notes.iter().cloned())
}

/// A number with its prefix, and a blank before a unit.
pub(crate) fn spaced(number: f64) -> String {
    let text = scaled(number);
    match text.ends_with(|last: char| last.is_ascii_digit()) {
        true => text + " ",
        false => text,
    }
}

/// The last part of a path, which is short.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A run's file, or its name.
pub(crate) fn run_name(runs: &[RunRoofline], number: usize) -> String {
    let run = runs.get(number);
    let name = run.map(|run| run.file.as_deref().map_or(run.name.as_str(), file_name));
    name.unwrap_or(UNKNOWN).to_owned()
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

fn names(tenant: &TenantRoofline) -> String {
    let networks: Vec<&str> = tenant.networks.iter().map(|name| file_name(name)).collect();
    networks.join(" + ")
}

/// Networks of all runs beside each other.
pub(crate) fn networks(roofline: &Roofline) -> Section {
    let runs = &roofline.runs;
    let mut table = Table::new("")
        .words("run")
        .words("network")
        .numbers(["batch", "ms"])
        .optional_number("FLOP")
        .optional_number("byte")
        .numbers(["FLOP/byte", "FLOP/s", "attainable", "share"])
        .words("bound")
        .optional_number("items/s");
    let mut together = Vec::new();
    for (number, tenant) in in_order(runs) {
        let Some(point) = &tenant.network else { continue };
        let of_run = || match runs.len() > 1 {
            true => Cell::group(run_name(runs, number)),
            false => Cell::default(),
        };
        let batch = tenant
            .batch
            .map_or_else(Cell::default, |batch| Cell::new(batch.to_string()));
        let items = tenant.throughput_items.filter(|_| tenant.batch.is_some());
        let head = [of_run(), Cell::new(names(tenant)).tone(Tone::Strong), batch];
        let items = items.map_or_else(Cell::default, |items| Cell::new(short(items)));
        table.row(head.into_iter().chain(of_point(point)).chain([items]));
        for own in &tenant.apart {
            let name = Cell::new(format!("of it {}", file_name(&own.name)));
            let head = [of_run(), name, Cell::default()];
            table.row(head.into_iter().chain(of_point(&own.point)));
        }
        together.extend(
            tenant
                .why_together
                .iter()
                .map(|why| format!("{}: {why}.", tenant.name)),
        );
    }
    let note = "a frame; bytes if chains of operators stay on the chip; share of what the roofs allow";
    Section::new("networks", "Roofline", note)
        .explained("Share is the rate that was reached over the rate that the roofs allow at this intensity.")
        .table(table.without_empty_columns())
        .texts(without_point(runs).into_iter().chain(together))
}

/// The columns that every point has.
fn of_point(point: &NetworkPoint) -> [Cell; 8] {
    let at_most = if point.is_upper_bound { "≤ " } else { "" };
    let tone = if point.share > 1.05 {
        Tone::Bad
    } else {
        Tone::Strong
    };
    [
        Cell::new(short(point.ms)),
        Cell::new(format!("{at_most}{}", scaled(point.flops as f64))),
        Cell::new(scaled(point.bytes as f64)),
        Cell::new(short(point.intensity)),
        Cell::new(scaled(point.achieved_flops_per_s)),
        Cell::new(scaled(point.attainable_flops_per_s)),
        Cell::new(format!("{at_most}{}", percent(point.share))).tone(tone),
        Cell::new(point.bound.word()),
    ]
}

/// A sentence for each reason why networks and runs have no point, with all of them that it holds for.
fn without_point(runs: &[RunRoofline]) -> Vec<String> {
    let networks = in_order(runs)
        .into_iter()
        .filter(|(_, tenant)| tenant.network.is_none())
        .map(|(number, tenant)| {
            let own = format!("{} ({})", tenant.name, names(tenant));
            let own = match runs.len() > 1 {
                true => format!("{} of {}", own, run_name(runs, number)),
                false => own,
            };
            (own, tenant.why_not.as_deref().unwrap_or(UNKNOWN))
        });
    let empty = (0..runs.len())
        .filter(|number| runs[*number].tenants.is_empty())
        .map(|number| {
            (
                run_name(runs, number),
                "no tenant executed a network, or the file ends before one did",
            )
        });
    let mut said: Vec<(String, String)> = networks
        .chain(empty)
        .map(|(of, why)| (of, format!("no point: {why}.")))
        .collect();
    said.dedup();
    grouped(said.into_iter())
}

/// A sum over the layers of a type; a lower bound where the work of some is not known, and no figure where that of none is.
fn of_known(own: &OperatorPoints, sum: u64) -> String {
    match own.unknown {
        0 => scaled(sum as f64),
        unknown if unknown == own.layers => UNKNOWN.to_owned(),
        _ => format!("≥ {}", scaled(sum as f64)),
    }
}

/// The layers of a tenant: by type and one by one, with tactics and memory where an engine's inspector told of some.
pub(crate) fn of_tenant(tenant: &TenantRoofline, extent: Extent) -> Option<Section> {
    if tenant.layers.is_empty() {
        return None;
    }
    let placed = tenant
        .placed
        .map(|placed| format!("names lead to {} of the work", percent(placed.work)));
    let layers: Vec<&LayerPoint> = tenant.layers.iter().collect();
    let note = format!("of {}, {}", tenant.name, placed.unwrap_or_default());
    let section = Section::new("layer-work", "Work of layers", note.trim_end_matches([',', ' ']))
        .explained("A layer's share is the shortest time that the roofs allow over the time that it took.");
    Some(with_layers(section, &layers, tenant.has_told(), extent).texts(why_not(tenant)))
}

/// A section with the tables of some layers.
pub(crate) fn with_layers(
    section: Section,
    layers: &[&LayerPoint],
    has_told: bool,
    extent: Extent,
) -> Section {
    let mut slowest = layers.to_vec();
    slowest.sort_by_key(|layer| Reverse((layer.ms * 1e6) as i64));
    let most = match extent {
        Extent::Most => ON_PAGE,
        Extent::All => usize::MAX,
    };
    let rest = slowest.len().saturating_sub(most);
    slowest.truncate(most);
    let section = section
        .table(types(layers))
        .table(each(&slowest, extent))
        .remarks((rest > 0).then(|| {
            format!(
                "{rest} more layers: `jetlag report RUN --layers`, or `jetlag roofline RUN --format json`."
            )
        }));
    match has_told {
        true => section.table(told(&slowest, extent)),
        false => section,
    }
}

/// Why tactics and memory are not known, where they are not, and why there are no shares.
pub(crate) fn why_not(tenant: &TenantRoofline) -> Vec<String> {
    let shares = tenant
        .roofs
        .is_none()
        .then_some(tenant.why_not.as_ref())
        .flatten();
    let memory = match tenant.has_told() {
        true => "not all memory",
        false => "no tactics and memory",
    };
    let why = [("no shares", shares), (memory, tenant.why_not_told.as_ref())];
    why.into_iter()
        .filter_map(|(of, why)| Some(format!("{}, {of}: {}", tenant.name, why?)))
        .collect()
}

fn types(layers: &[&LayerPoint]) -> Table {
    let mut table = Table::new("by type").words("type").numbers([
        "layers",
        "ms",
        "time",
        "FLOP",
        "byte",
        "share of roof",
        "memory",
    ]);
    for own in by_operator(layers.iter().copied()) {
        table.row([
            Cell::new(known(&own.operator)).tone(Tone::Strong),
            Cell::new(own.layers.to_string()),
            Cell::new(short(own.ms)),
            Cell::new(percent(own.time_share)),
            Cell::new(of_known(&own, own.flops)),
            Cell::new(of_known(&own, own.bytes)),
            Cell::of(own.share, percent),
            own.memory_bytes
                .map_or_else(Cell::default, |bytes| Cell::new(scaled(bytes as f64))),
        ]);
    }
    table.without_empty_columns()
}

fn bytes(known: Option<u64>) -> Cell {
    Cell::of(known, |bytes| scaled(bytes as f64))
}

/// Rows beyond those that a terminal shows are details.
fn add(table: &mut Table, place: usize, extent: Extent, cells: impl IntoIterator<Item = Cell>) {
    match extent == Extent::All || place < SHOWN {
        true => table.row(cells),
        false => table.detail(cells),
    }
}

fn name(layer: &LayerPoint) -> Cell {
    Cell::new(known(&layer.name)).code()
}

fn each(slowest: &[&LayerPoint], extent: Extent) -> Table {
    let mut table = Table::new("the slowest first")
        .words("layer")
        .optional_words("type")
        .optional_words("format")
        .words("in")
        .words("out")
        .number("ms")
        .optional_number("FLOP")
        .optional_number("byte")
        .numbers(["FLOP/byte", "share"])
        .words("bound");
    for (place, layer) in slowest.iter().enumerate() {
        let text = |value: &Option<String>| Cell::of(value.as_deref(), str::to_owned);
        let tone = if layer.is_above { Tone::Bad } else { Tone::Plain };
        let cells = [
            name(layer),
            Cell::new(&layer.operator),
            text(&layer.precision),
            text(&layer.input_shape),
            text(&layer.output_shape),
            Cell::new(short(layer.ms)),
            bytes(layer.flops),
            bytes(layer.bytes),
            Cell::of(layer.intensity, short),
            Cell::of(layer.share, percent).tone(tone),
            Cell::of(layer.bound, |bound| bound.word().to_owned()),
        ];
        add(&mut table, place, extent, cells);
    }
    table
}

/// Tactics have long names, so they stand in a table of their own.
fn told(slowest: &[&LayerPoint], extent: Extent) -> Table {
    let mut table = Table::new("tactics, and bytes of tensors and weights; the slowest first")
        .words("layer")
        .numbers(["memory", "weights"])
        .words("tactic");
    for (place, layer) in slowest.iter().enumerate() {
        let tactic = Cell::of(layer.tactic.as_deref(), str::to_owned).tone(Tone::Dim);
        let cells = [
            name(layer),
            bytes(layer.memory_bytes()),
            bytes(layer.weights_bytes),
            tactic,
        ];
        add(&mut table, place, extent, cells);
    }
    table
}

/// What energy costs, and what follows from that.
pub(crate) fn energy(energy: &EnergyRoofline) -> Section {
    let mut table = Table::new("").words("price of").number("value");
    if let Some(fit) = &energy.fit {
        for (name, price, by, unit) in [
            ("work", &fit.e_flop, 1e12, "pJ/FLOP"),
            ("traffic", &fit.e_byte, 1e12, "pJ/byte"),
            ("time", &fit.p0, 1.0, "W"),
        ] {
            table.row([Cell::new(name), price_of(price, by, unit)]);
        }
    }
    let note = "E = e_flop · W + e_byte · Q + p0 · T, with 95 % intervals";
    Section::new("energy", "Energy", note)
        .explained("Energy of a frame as work, traffic and time, each with a price.")
        .table(table)
        .texts(follows(energy))
}

fn price_of(price: &Coefficient, by: f64, unit: &str) -> Cell {
    let value = match price.value {
        Some(value) => format!("{} {unit}", short(value * by)),
        None => "not known".to_owned(),
    };
    let interval = price
        .interval
        .map(|(low, high)| format!("{} to {}", short(low * by), short(high * by)));
    Cell::new(value)
        .note(interval.unwrap_or_default())
        .tone(Tone::Strong)
}

/// What follows from the prices, a sentence each.
fn follows(energy: &EnergyRoofline) -> Vec<String> {
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
