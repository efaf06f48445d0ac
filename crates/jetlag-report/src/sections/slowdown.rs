//! How tenants slow each other down: alone and with others in turns, and under load on one resource.

use jetlag_figure::section::{Cell, Table, Tone};

use super::{Drawing, Section, factor, grouped, named};
use crate::analysis::Summary;
use crate::analysis::summary::interference::{Cell as Pair, Way};
use crate::analysis::summary::{Estimate, Slowdown};
use crate::number::percent;

/// A figure of a slowdown.
type Pick = fn(&Slowdown) -> Estimate;

const QUANTILES: [(&str, Pick); 3] = [
    ("p50", |slowdown| slowdown.p50),
    ("p90", |slowdown| slowdown.p90),
    ("p99", |slowdown| slowdown.p99),
];

/// The section; none where no tenant was measured alone.
pub(super) fn section(summary: &Summary) -> Option<Section> {
    let note = "response time with others ÷ alone, in turns, with 95 % interval";
    let section = Section::new("slowdown", "Slowdown", note).explained(
        "Response time with others ÷ response time alone. The two took turns, so that what the machine did meanwhile is in both.",
    );
    let ways = &summary.interference.matrix;
    let of_tenants = || {
        let tenants = summary.tenants.iter();
        tenants.filter_map(|tenant| Some((tenant.name.clone(), tenant.slowdown.as_ref()?)))
    };
    let section = match ways.is_empty() {
        true => section.table(together(summary)).remarks(remarks(of_tenants())),
        false => {
            let section = ways
                .iter()
                .fold(section, |section, way| section.table(matrix(summary, way)));
            let pairs = ways.iter().flat_map(|way| &way.cells);
            section.remarks(remarks(pairs.filter_map(|pair| {
                let name = format!("{} with {}", pair.tenant, pair.with.join(", "));
                Some((name, pair.slowdown.as_ref()?))
            })))
        }
    };
    let has_rounds = of_tenants().any(|(_, slowdown)| slowdown.rounds > 0);
    let section = match has_rounds {
        true => section.drawing(Drawing::Rounds),
        false => section,
    };
    section.unless_empty()
}

/// Each tenant with all others, if no pairs were measured.
fn together(summary: &Summary) -> Table {
    let mut table = Table::new("")
        .words("tenant")
        .numbers(["p50", "p90", "p99", "rounds"]);
    for (number, of) in summary.tenants.iter().enumerate() {
        let Some(slowdown) = &of.slowdown else { continue };
        let quantiles = QUANTILES.map(|(_, pick)| pick(slowdown));
        let mut row = vec![super::tenant(number, of)];
        row.extend(quantiles.map(factor));
        row.push(Cell::new(slowdown.rounds.to_string()));
        table.row(row);
    }
    table
}

/// A row for each tenant and quantile, a column for each co-runner.
fn matrix(summary: &Summary, way: &Way) -> Table {
    // Rows and columns in one order, that of the scenario; loads that are no tenants come last.
    let place = |name: &str| {
        let mut tenants = summary.tenants.iter();
        tenants
            .position(|tenant| tenant.name == name)
            .unwrap_or(usize::MAX)
    };
    let mut rows: Vec<&str> = Vec::new();
    let mut beside: Vec<&str> = Vec::new();
    for pair in &way.cells {
        if !rows.contains(&pair.tenant.as_str()) {
            rows.push(&pair.tenant);
        }
        if let [only] = pair.with.as_slice()
            && !beside.contains(&only.as_str())
        {
            beside.push(only);
        }
    }
    rows.sort_by_key(|name| place(name));
    beside.sort_by_key(|name| place(name));
    let everyone = way.cells.iter().any(|pair| pair.with.len() > 1);
    let mut table = Table::new(format!("sharing {}", way.sharing))
        .words("tenant")
        .words("");
    for name in &beside {
        table = table.number(format!("with {name}"));
    }
    if everyone {
        table = table.number("with all");
    }
    for name in rows {
        let own = || way.cells.iter().filter(move |pair| pair.tenant == name);
        let mut pairs: Vec<Option<&Pair>> = beside
            .iter()
            .map(|with| own().find(|pair| pair.with.as_slice() == [*with]))
            .collect();
        pairs.extend(everyone.then(|| own().find(|pair| pair.with.len() > 1)));
        for (label, pick) in QUANTILES {
            let shown = pairs.iter().map(|pair| of_pair(*pair, pick));
            let head = [named(summary, name), Cell::new(label)];
            table.row(head.into_iter().chain(shown));
        }
        let rounds = pairs.iter().map(|pair| {
            let slowdown = pair.and_then(|pair| pair.slowdown.as_ref());
            slowdown.map_or_else(Cell::default, |of| {
                Cell::new(of.rounds.to_string()).tone(Tone::Dim)
            })
        });
        let head = [named(summary, name), Cell::new("rounds").tone(Tone::Dim)];
        table.row(head.into_iter().chain(rounds));
    }
    table
}

/// Empty where the two were not measured together.
fn of_pair(pair: Option<&Pair>, pick: Pick) -> Cell {
    let Some(pair) = pair else {
        return Cell::default();
    };
    match pair.slowdown.as_ref().map(pick) {
        Some(ratio) => factor(ratio),
        None => Cell::unknown().note("no frame"),
    }
}

/// What is to be said of slowdowns, each by the name of whose it is: what is withheld and why, and what is left out.
fn remarks<'a>(found: impl Iterator<Item = (String, &'a Slowdown)>) -> Vec<String> {
    grouped(found.flat_map(|(name, slowdown)| {
        let left_out = (slowdown.left_out_share > 0.0).then(|| {
            format!(
                "the first {} of each turn differs from the rest and is left out",
                percent(slowdown.left_out_share)
            )
        });
        let withheld = slowdown
            .withheld
            .as_ref()
            .map(|withheld| withheld.message.clone());
        let said = [withheld, left_out].into_iter().flatten();
        said.map(move |why| (name.clone(), why))
    }))
}

/// Slowdown under load on one resource; none where no tenant is a load.
pub(super) fn sensitivity(summary: &Summary) -> Option<Section> {
    let mut table = Table::new("")
        .words("tenant")
        .words("resource")
        .numbers(["level", "p50", "p99"])
        .optional_words("sharing");
    for of in &summary.interference.sensitivity {
        for point in &of.points {
            let pick = |pick: Pick| factor(point.slowdown.as_ref().map(pick).unwrap_or_default());
            let [(_, p50), _, (_, p99)] = QUANTILES;
            table.row([
                named(summary, &of.tenant),
                Cell::group(&of.resource),
                Cell::new(percent(point.level)),
                pick(p50),
                pick(p99),
                Cell::group(&of.sharing),
            ]);
        }
    }
    let note = "slowdown under a load on one resource, with 95 % interval";
    Section::new("sensitivity", "Sensitivity", note)
        .explained(
            "Relative to the turns alone. Each figure has its own 95 % interval. A load on one resource also uses a little of the \
             others.",
        )
        .table(table)
        .unless_empty()
}
