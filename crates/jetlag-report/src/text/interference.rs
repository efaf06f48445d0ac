//! How tenants slow each other down: slowdown matrix, overlap, effects of inputs, and load on one resource.

use super::{cut, dim, heading, plain, wrapped};
use crate::Style;
use crate::analysis::Summary;
use crate::analysis::summary::Slowdown;
use crate::analysis::summary::interference::{Cell, Contrast, Effect, Overlap, Way};
use crate::digits::{Digits, range};
use crate::number::{TimeUnit, UNKNOWN, or_unknown, percent, short, short_beside};
use crate::table::{Align, Grid, Ink, Text};

/// A table for each sharing mode; empty if no matrix was run.
pub(super) fn matrix(summary: &Summary, style: &Style) -> String {
    let mut text = String::new();
    for way in &summary.interference.matrix {
        if !text.is_empty() {
            text.push('\n');
        }
        let note = format!("sharing {}; with others ÷ alone, with 95 % interval", way.sharing);
        text += &heading("SLOWDOWN", &note, style);
        text += &way_of(way, style);
    }
    text
}

fn way_of(way: &Way, style: &Style) -> String {
    // In the order of the tenants, which is that of the cells.
    let mut tenants: Vec<&str> = Vec::new();
    for cell in &way.cells {
        if !tenants.contains(&cell.tenant.as_str()) {
            tenants.push(&cell.tenant);
        }
    }
    let pairs = |name: &&str| {
        way.cells
            .iter()
            .any(|cell| cell.with.len() == 1 && cell.with[0] == **name)
    };
    let columns: Vec<&str> = tenants.iter().copied().filter(|name| pairs(name)).collect();
    let everyone = way.cells.iter().any(|cell| cell.with.len() > 1);
    let mut grid = Grid::headed()
        .column("tenant", Align::Left)
        .column("", Align::Left);
    for column in &columns {
        grid = grid.column(format!("with {}", cut(column, style)), Align::Right);
    }
    if everyone {
        grid = grid.column("with all", Align::Right);
    }
    for tenant in tenants {
        let of_it = || way.cells.iter().filter(|cell| cell.tenant == tenant);
        let mut cells: Vec<Option<&Cell>> = columns
            .iter()
            .map(|column| of_it().find(|cell| cell.with.as_slice() == [*column]))
            .collect();
        if everyone {
            cells.push(of_it().find(|cell| cell.with.len() > 1));
        }
        let row = |name: Text, label: Text, show: &dyn Fn(&Cell) -> Text| -> Vec<Text> {
            let shown = cells.iter().map(|cell| cell.map_or_else(|| dim(""), show));
            [name, label].into_iter().chain(shown).collect()
        };
        let figure = |pick: Pick| {
            move |cell: &Cell| match cell.slowdown.as_ref().map(pick) {
                Some((Some(x), interval)) => plain(format!("×{}", short_beside(x, interval))),
                _ => dim(UNKNOWN),
            }
        };
        let interval = |pick: Pick| {
            move |cell: &Cell| match &cell.slowdown {
                None => dim("no frame"),
                Some(slowdown) => dim(pick(slowdown).1.map_or(String::new(), range)),
            }
        };
        let quantiles: [(&str, Pick); 3] = [
            ("p50", |s| (s.p50, s.ci95.p50)),
            ("p90", |s| (s.p90, s.ci95.p90)),
            ("p99", |s| (s.p99, s.ci95.p99)),
        ];
        let mut name = (cut(tenant, style), Ink::Bold);
        for (label, pick) in quantiles {
            let name = std::mem::replace(&mut name, plain(""));
            grid.row(row(name, plain(label), &figure(pick)));
            grid.row(row(plain(""), plain(""), &interval(pick)));
        }
        grid.row(row(plain(""), dim("rounds"), &|cell| {
            let rounds = cell.slowdown.as_ref().map(|s| s.rounds.to_string());
            dim(or_unknown(rounds, |rounds| rounds))
        }));
    }
    let found = way
        .cells
        .iter()
        .filter_map(|cell| Some((cell_name(cell), cell.slowdown.as_ref()?)));
    grid.render(style) + &sentences(&remarks(found), style)
}

/// `camera with lidar`.
fn cell_name(cell: &Cell) -> String {
    format!("{} with {}", cell.tenant, cell.with.join(", "))
}

/// A figure and its interval.
type Shown = (Option<f64>, Option<[f64; 2]>);
/// Which figure of a slowdown.
type Pick = fn(&Slowdown) -> Shown;
/// What is to be said of slowdowns, each by the name of whose it is: what is withheld and why, and what is left out.
pub(crate) fn remarks<'a>(found: impl Iterator<Item = (String, &'a Slowdown)>) -> Vec<String> {
    let said = found.flat_map(|(name, slowdown)| {
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
        [withheld, left_out]
            .into_iter()
            .flatten()
            .map(move |why| (name.clone(), why))
    });
    grouped(said)
}

/// A sentence for each thing that is said, with all that it is said of.
fn grouped(said: impl Iterator<Item = (String, String)>) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for (of, reason) in said {
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, all)) => all.push(of),
            None => reasons.push((reason, vec![of])),
        }
    }
    let sentences = reasons.into_iter();
    sentences
        .map(|(reason, of)| format!("{}: {reason}", of.join(", ")))
        .collect()
}

/// Sentences below a table.
pub(super) fn sentences(all: &[String], style: &Style) -> String {
    let mut text = String::new();
    for sentence in all {
        let lines = wrapped(sentence, usize::from(style.width).saturating_sub(4));
        for (number, line) in lines.iter().enumerate() {
            let indent = if number == 0 { "  " } else { "    " };
            text += &format!("{indent}{}\n", Ink::Dim.paint(line, style));
        }
    }
    text
}

/// How much slower a frame runs while each co-runner is in service; empty if one tenant ran by itself.
pub(super) fn overlap(summary: &Summary, style: &Style) -> String {
    let all = &summary.interference.overlap;
    if all.is_empty() {
        return String::new();
    }
    let p50 = |overlap: &Overlap| overlap.without.service_p50_ms.or(overlap.beside.service_p50_ms);
    let unit = TimeUnit::for_millis(all.iter().filter_map(p50));
    let note = format!(
        "service time, {}; slowdown while the other tenant is in service",
        unit.name()
    );
    let mut grid = Grid::headed()
        .column("tenant", Align::Left)
        .column("with", Align::Left)
        .column("overlap", Align::Right)
        .column("p50 without", Align::Right)
        .column("p50 with", Align::Right)
        .column("slowdown", Align::Right)
        .column("", Align::Left);
    for overlap in all {
        let time = |ms: Option<f64>| match ms {
            Some(ms) => plain(unit.show(ms)),
            None => dim(UNKNOWN),
        };
        grid.row(vec![
            (cut(&overlap.tenant, style), Ink::Bold),
            plain(cut(&overlap.with, style)),
            plain(percent(overlap.mean_share)),
            time(overlap.without.service_p50_ms),
            time(overlap.beside.service_p50_ms),
            plain(or_unknown(overlap.slowdown, |x| format!("×{}", short(x)))),
            dim(or_nothing(overlap.slowdown_ci95)),
        ]);
    }
    heading("OVERLAP", &note, style) + &grid.render(style) + &sentences(&withheld(all), style)
}

/// An interval, which may have no upper end, as text; empty if there is none.
pub(crate) fn or_nothing(interval: Option<(f64, Option<f64>)>) -> String {
    match interval {
        Some((low, Some(high))) => range([low, high]),
        Some((low, None)) => format!("{} or more", short(low)),
        None => String::new(),
    }
}

/// Why there is no estimate: a sentence for each reason, with all pairs that it applies to.
pub(crate) fn withheld(all: &[Overlap]) -> Vec<String> {
    let said = all.iter().filter_map(|overlap| {
        let pair = format!("{} with {}", overlap.tenant, overlap.with);
        Some((pair, overlap.withheld.as_ref()?.message.clone()))
    });
    grouped(said)
}

/// The effects of inputs on a detector and on its co-runner; empty if inputs were not crossed.
pub(super) fn crossed(summary: &Summary, style: &Style) -> String {
    let contrasts = &summary.interference.crossed;
    if contrasts.is_empty() {
        return String::new();
    }
    let mut grid = Grid::headed()
        .column("tenant", Align::Left)
        .column("with", Align::Left)
        .column("measure", Align::Left)
        .column("base", Align::Right)
        .column("own input", Align::Right)
        .column("co-runner's", Align::Right)
        .column("interaction", Align::Right);
    for contrast in contrasts {
        let effects = |effect: &Effect| {
            let mark = if effect.found { "*" } else { "" };
            let digits = Digits::of_interval(effect.ci95, Digits::of);
            plain(digits.signed(effect.value) + mark)
        };
        let intervals = |effect: &Effect| {
            let digits = Digits::of_interval(effect.ci95, Digits::of);
            dim(effect.ci95.map(|x| digits.signed(x)).join(" to "))
        };
        let three = |show: &dyn Fn(&Effect) -> Text| {
            [&contrast.own, &contrast.co_runner, &contrast.interaction].map(show)
        };
        let first = contrast.measure == "p50_ms";
        let names = |names: &[String; 2], which: usize| {
            if first {
                cut(&names[which], style)
            } else {
                String::new()
            }
        };
        let mut row = vec![
            (names(&contrast.tenant, 0), Ink::Bold),
            plain(names(&contrast.with, 0)),
            plain(measure(contrast)),
            plain(short(contrast.base)),
        ];
        row.extend(three(&effects));
        grid.row(row);
        let mut row = vec![
            plain(arrow(names(&contrast.tenant, 1))),
            plain(arrow(names(&contrast.with, 1))),
            plain(""),
            plain(""),
        ];
        row.extend(three(&intervals));
        grid.row(row);
    }
    let note = "change from the first input to the second, with 95 % interval";
    let any =
        |contrast: &Contrast| contrast.own.found || contrast.co_runner.found || contrast.interaction.found;
    let said = match contrasts.iter().any(any) {
        true => "* significant, all effects tested together.",
        false => "No significant effect, all tested together.",
    };
    heading("INPUTS", note, style) + &grid.render(style) + &format!("  {said}\n")
}

fn arrow(name: String) -> String {
    if name.is_empty() {
        name
    } else {
        format!("→ {name}")
    }
}

fn measure(contrast: &Contrast) -> &'static str {
    match contrast.measure {
        "p50_ms" => "p50 ms",
        "p99_ms" => "p99 ms",
        _ => "(p99−p50)/p50",
    }
}

/// The sensitivity of each tenant to load on one resource; empty if no tenant is a stressor.
pub(super) fn sensitivity(summary: &Summary, style: &Style) -> String {
    if summary.interference.sensitivity.is_empty() {
        return String::new();
    }
    let mut grid = Grid::headed()
        .column("tenant", Align::Left)
        .column("resource", Align::Left)
        .column("level", Align::Right)
        .column("p50", Align::Right)
        .column("", Align::Left)
        .column("p99", Align::Right)
        .column("", Align::Left)
        .optional("sharing", Align::Left);
    for sensitivity in &summary.interference.sensitivity {
        let (mut name, mut resource) = (cut(&sensitivity.tenant, style), sensitivity.resource.clone());
        for point in &sensitivity.points {
            let slowdown = point.slowdown.as_ref();
            let figure = |x: Option<f64>, interval| {
                plain(or_unknown(x, |x| format!("×{}", short_beside(x, interval))))
            };
            let interval = |bounds: Option<[f64; 2]>| dim(bounds.map_or(String::new(), range));
            grid.row(vec![
                (std::mem::take(&mut name), Ink::Bold),
                plain(std::mem::take(&mut resource)),
                plain(percent(point.level)),
                figure(slowdown.and_then(|s| s.p50), slowdown.and_then(|s| s.ci95.p50)),
                interval(slowdown.and_then(|s| s.ci95.p50)),
                figure(slowdown.and_then(|s| s.p99), slowdown.and_then(|s| s.ci95.p99)),
                interval(slowdown.and_then(|s| s.ci95.p99)),
                plain(&sensitivity.sharing),
            ]);
        }
    }
    let note = "slowdown under a load on one resource, with 95 % interval";
    heading("SENSITIVITY", note, style) + &grid.render(style)
}
