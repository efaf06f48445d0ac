//! The text of a comparison: first the conclusions, then the figures, then what else differs.

mod rows;

use std::io::{self, Write};

use super::Style;
use super::digits::{Digits, beside, percent_range};
use super::table::{Align, Grid, Ink, Text};
use crate::analysis::compare::{Candidate, Comparison, FigureComparison, LimitResult, SideSummary, Verdict};
use crate::analysis::summary::Unit;

/// Writes the comparison as tables for a terminal.
pub fn write(comparison: &Comparison, out: &mut dyn Write, style: &Style) -> io::Result<()> {
    let mut sections = vec![sides(comparison, style)];
    if let Some(all) = &comparison.rows {
        sections.extend(rows::write(all, style));
        sections.extend(
            comparison
                .candidates
                .iter()
                .map(|candidate| notes(candidate, style)),
        );
    }
    for candidate in comparison.candidates.iter().filter(|_| comparison.rows.is_none()) {
        sections.push(findings(candidate, style));
        sections.push(figures(candidate, style));
        sections.push(notes(candidate, style));
    }
    sections.push(limits(&comparison.limits, style));
    sections.retain(|section| !section.is_empty());
    out.write_all(sections.join("\n").as_bytes())
}

fn heading(title: &str, note: &str, style: &Style) -> String {
    format!(
        "{}  {}\n",
        Ink::Bold.paint(title, style),
        Ink::Dim.paint(note, style)
    )
}

fn sides(comparison: &Comparison, style: &Style) -> String {
    let mut text = String::new();
    let all = std::iter::once(&comparison.baseline).chain(comparison.candidates.iter().map(|c| &c.side));
    for side in all {
        text.push_str(&side_in_words(side, style));
    }
    text
}

/// Files are never wrapped, so that they can be copied whole.
fn side_in_words(side: &SideSummary, style: &Style) -> String {
    let label = Ink::Bold.paint(&side.label, style);
    match &side.files[..] {
        [file] if *file == side.name => format!("{label}  {file}\n"),
        files => {
            let runs = if files.len() == 1 {
                "1 run".to_owned()
            } else {
                format!("{} runs", files.len())
            };
            let mut text = format!("{label}  {}  {}\n", side.name, Ink::Dim.paint(&runs, style));
            for file in files {
                text.push_str(&format!("   {}\n", Ink::Dim.paint(file, style)));
            }
            text
        }
    }
}

fn findings(candidate: &Candidate, style: &Style) -> String {
    let label = &candidate.side.label;
    let mut grid = Grid::headless()
        .column("", Align::Left)
        .column("", Align::Left)
        .column("", Align::Left);
    for tenant in &candidate.tenants {
        let name = || (tenant.name.clone(), Ink::Bold);
        if let Some(reason) = &tenant.not_compared {
            let text = format!("not compared: {reason}");
            grid.row(vec![("?".to_owned(), Ink::Warn), name(), (text, Ink::Plain)]);
        }
        for figure in &tenant.figures {
            grid.row(vec![
                mark(figure.verdict),
                name(),
                (sentence(figure, label), Ink::Plain),
            ]);
        }
    }
    let title = if candidate.differs() {
        format!("{label} DIFFERS FROM A")
    } else if candidate.is_judged() {
        format!("NO DIFFERENCE FOUND BETWEEN A AND {label}")
    } else {
        format!("NO COMPARISON POSSIBLE BETWEEN A AND {label}")
    };
    heading(&title, "joint 95 % confidence", style) + &grid.render(style)
}

/// The sign at the head of a line.
fn mark(verdict: Verdict) -> Text {
    let (mark, ink) = match verdict {
        Verdict::Higher => ("▲", Ink::Bad),
        Verdict::Lower => ("▼", Ink::Good),
        Verdict::Same => ("=", Ink::Plain),
        Verdict::Unknown => ("?", Ink::Warn),
    };
    (mark.to_owned(), ink)
}

/// The result for one figure, in a sentence.
pub(crate) fn sentence(figure: &FigureComparison, label: &str) -> String {
    let name = short_name(figure.figure);
    let share = figure.figure == "miss_rate";
    let size = |change: f64| amount(change.abs(), None, share);
    match (figure.verdict, figure.change, figure.reason.as_deref()) {
        (Verdict::Higher | Verdict::Lower, Some(change), _) => {
            let way = match (figure.figure, figure.verdict == Verdict::Higher) {
                ("miss_rate", true) => "more",
                ("miss_rate", false) => "fewer",
                ("energy", true) => "more",
                ("energy", false) => "less",
                (_, true) => "slower",
                (_, false) => "faster",
            };
            let interval = figure
                .interval
                .map(|interval| format!(" ({})", interval_of(interval, share)))
                .unwrap_or_default();
            let verb = verb(figure.figure);
            let size = amount(change.abs(), figure.interval, share);
            format!("{name}: {label} {verb} {size} {way}{interval}")
        }
        (Verdict::Same, ..) => match figure.within {
            Some(within) => format!("{name}: no difference larger than {}", size(within)),
            None => format!("{name}: no difference found"),
        },
        (_, _, reason) => format!("{name}: unknown; {}", reason.unwrap_or("no value")),
    }
}

fn verb(figure: &str) -> &'static str {
    match figure {
        "miss_rate" => "misses",
        "energy" => "takes",
        _ => "is",
    }
}

fn short_name(figure: &str) -> &str {
    match figure {
        "miss_rate" => "misses",
        "energy" => "energy per frame",
        other => other.strip_prefix("response.").unwrap_or(other),
    }
}

/// The digits of a change beside its interval.
fn digits_of(change: f64, interval: Option<[f64; 2]>) -> Digits {
    let percent = interval.map(|ends| ends.map(|end| end * 100.0));
    beside(change * 100.0, percent, Digits::of_percent)
}

/// Percent, or percentage points for a share.
fn unit_of(share: bool) -> &'static str {
    if share { "points" } else { "%" }
}

/// A change without its sign.
fn amount(change: f64, interval: Option<[f64; 2]>, share: bool) -> String {
    let digits = digits_of(change, interval);
    format!("{} {}", digits.show(change * 100.0), unit_of(share))
}

/// A change with its sign.
fn signed(change: f64, interval: Option<[f64; 2]>, share: bool) -> String {
    let digits = digits_of(change, interval);
    format!("{} {}", digits.signed(change * 100.0), unit_of(share))
}

fn interval_of(interval: [f64; 2], share: bool) -> String {
    format!("{} {}", percent_range(interval), unit_of(share))
}

fn figures(candidate: &Candidate, style: &Style) -> String {
    let label = &candidate.side.label;
    let mut grid = Grid::headless()
        .column("", Align::Left)
        .column("", Align::Left)
        .column("", Align::Right)
        .column("", Align::Right)
        .column("", Align::Right)
        .column("", Align::Left);
    let dim = |text: &str| (text.to_owned(), Ink::Dim);
    let head = ["tenant", "figure", "A", label, "change", "interval"];
    grid.row(head.iter().map(|name| dim(name)).collect());
    let mut any = false;
    for tenant in &candidate.tenants {
        let mut name = tenant.name.clone();
        for figure in &tenant.figures {
            any = true;
            let share = figure.figure == "miss_rate";
            let value = |value: Option<f64>| match value {
                None => dim("–"),
                Some(_) => (shown_figure(value, figure), Ink::Plain),
            };
            let change = figure.change.map_or(dim("–"), |change| {
                (signed(change, figure.interval, share), Ink::Plain)
            });
            let interval = figure
                .interval
                .map_or(String::new(), |interval| interval_of(interval, share));
            grid.row(vec![
                (std::mem::take(&mut name), Ink::Bold),
                (figure.figure.to_owned(), Ink::Plain),
                value(figure.baseline),
                value(figure.candidate),
                change,
                (interval, Ink::Dim),
            ]);
        }
    }
    if any { grid.render(style) } else { String::new() }
}

/// A figure with its unit.
pub(super) fn shown_figure(value: Option<f64>, figure: &FigureComparison) -> String {
    match (value, figure.unit) {
        (None, _) => "–".to_owned(),
        (Some(value), Unit::Ratio) => format!("{} %", Digits::of_percent(value * 100.0).show(value * 100.0)),
        (Some(value), Unit::Mj) => format!("{value:.3} mJ"),
        (Some(value), unit) => format!("{value:.3} {}", unit.symbol()),
    }
}

fn notes(candidate: &Candidate, style: &Style) -> String {
    if candidate.notes.is_empty() {
        return String::new();
    }
    let mut grid = Grid::headless().column("", Align::Left);
    for note in &candidate.notes {
        grid.row(vec![(note.clone(), Ink::Plain)]);
    }
    let title = format!("OTHER DIFFERENCES BETWEEN A AND {}", candidate.side.label);
    heading(&title, "and limits of this comparison", style) + &grid.render(style)
}

fn limits(limits: &[LimitResult], style: &Style) -> String {
    if limits.is_empty() {
        return String::new();
    }
    let mut grid = Grid::headless()
        .column("", Align::Left)
        .column("", Align::Left)
        .column("", Align::Left)
        .column("", Align::Left);
    for limit in limits {
        let found = limit.value.zip(limit.unit).map(|(value, unit)| unit.show(value));
        let (mark, ink, says) = match limit.passed {
            Some(true) if found.is_some() => ("✗", Ink::Bad, "fails: it applies".to_owned()),
            Some(true) => (
                "✗",
                Ink::Bad,
                "fails: the whole interval is beyond the limit".to_owned(),
            ),
            Some(false) => ("✓", Ink::Good, "passes".to_owned()),
            None => {
                let reason = limit.reason.as_deref().unwrap_or("no interval");
                ("?", Ink::Warn, format!("fails: unknown ({reason})"))
            }
        };
        let share = limit.text.contains("miss_rate");
        // The interval of a change; of a comparison, the figure itself.
        let interval = found.unwrap_or_else(|| {
            limit
                .ci95
                .map_or(String::new(), |interval| interval_of(interval, share))
        });
        grid.row(vec![
            (mark.to_owned(), ink),
            (format!("{} in {}", limit.text, limit.side), Ink::Plain),
            (interval, Ink::Dim),
            (says, Ink::Plain),
        ]);
    }
    heading("LIMITS", "each with its own 95 % interval", style) + &grid.render(style)
}
