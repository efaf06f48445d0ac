//! A comparison in sections: first the conclusions, then the figures, then what else differs. Formats show them.

mod rows;

use std::convert::Infallible;
use std::io::{self, Write};

use jetlag_figure::section::{Cell, Section as OfReport, Table, Tone, markdown, terminal};

use super::Style;
use super::digits::{Digits, beside, percent_range};
use super::table::Ink;
use crate::analysis::compare::{Candidate, Comparison, FigureComparison, LimitResult, SideSummary, Verdict};
use crate::analysis::summary::Unit;

/// A section of a comparison, in which nothing is drawn.
pub(crate) type Section = OfReport<Infallible>;

/// Writes the comparison as tables for a terminal.
pub fn write(comparison: &Comparison, out: &mut dyn Write, style: &Style) -> io::Result<()> {
    let sides: String = sides(comparison).map(|side| side_in_words(side, style)).collect();
    let sections = sections(comparison);
    let shown = sections
        .iter()
        .map(|section| terminal::section(section, |nothing| match *nothing {}, style));
    let shown: Vec<String> = std::iter::once(sides).chain(shown).collect();
    out.write_all(shown.join("\n").as_bytes())
}

/// Writes it in GitHub's Markdown.
pub fn write_markdown(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    for side in sides(comparison) {
        let files = side.files.iter().map(|file| markdown::escaped(file));
        let files: Vec<String> = files.collect();
        writeln!(out, "- {}: {}", markdown::escaped(&side.label), files.join(", "))?;
    }
    for section in sections(comparison) {
        write!(out, "\n{}", markdown::section(&section))?;
    }
    Ok(())
}

fn sides(comparison: &Comparison) -> impl Iterator<Item = &SideSummary> {
    let others = comparison.candidates.iter().map(|candidate| &candidate.side);
    std::iter::once(&comparison.baseline).chain(others)
}

/// All sections, in the order in which they are read.
pub(crate) fn sections(comparison: &Comparison) -> Vec<Section> {
    let mut sections = Vec::new();
    if let Some(all) = &comparison.rows {
        sections.extend(rows::sections(all));
    }
    for candidate in &comparison.candidates {
        if comparison.rows.is_none() {
            sections.push(result(candidate));
        }
        sections.extend(notes(candidate));
    }
    sections.extend(limits(&comparison.limits));
    sections
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

/// What differs, in sentences, and the figures behind it.
fn result(candidate: &Candidate) -> Section {
    let label = &candidate.side.label;
    let title = match (candidate.differs(), candidate.is_judged()) {
        (true, _) => format!("{label} differs from A"),
        (false, true) => format!("No difference found between A and {label}"),
        (false, false) => format!("No comparison possible between A and {label}"),
    };
    let mut said = Table::new("").words("").words("").words("");
    let mut figures = Table::new("")
        .words("tenant")
        .words("figure")
        .number("A")
        .number(label.clone())
        .number("change");
    for (number, tenant) in candidate.tenants.iter().enumerate() {
        let name = || Cell::tenant(&tenant.name, number);
        if let Some(reason) = &tenant.not_compared {
            let text = Cell::new(format!("not compared: {reason}"));
            said.row([Cell::new("?").tone(Tone::Warn), name(), text]);
        }
        for figure in &tenant.figures {
            let is_share = figure.figure == "miss_rate";
            said.row([mark(figure.verdict), name(), Cell::new(sentence(figure, label))]);
            let value = |value: Option<f64>| Cell::of(value, |value| shown_figure(value, figure));
            let change = Cell::of(figure.change, |change| signed(change, figure.interval, is_share));
            let interval = figure.interval.map(|interval| interval_of(interval, is_share));
            figures.row([
                name(),
                Cell::new(figure.figure),
                value(figure.baseline),
                value(figure.candidate),
                change.note(interval.unwrap_or_default()),
            ]);
        }
    }
    Section::new("comparison", title, "joint 95 % confidence")
        .table(said)
        .table(figures)
}

/// The sign at the head of a line.
fn mark(verdict: Verdict) -> Cell {
    let (mark, tone) = match verdict {
        Verdict::Higher => ("▲", Tone::Bad),
        Verdict::Lower => ("▼", Tone::Good),
        Verdict::Same => ("=", Tone::Plain),
        Verdict::Unknown => ("?", Tone::Warn),
    };
    Cell::new(mark).tone(tone)
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

/// A figure with its unit.
fn shown_figure(value: f64, figure: &FigureComparison) -> String {
    match figure.unit {
        Unit::Ratio => format!("{} %", Digits::of_percent(value * 100.0).show(value * 100.0)),
        Unit::Mj => format!("{value:.3} mJ"),
        unit => format!("{value:.3} {}", unit.symbol()),
    }
}

fn notes(candidate: &Candidate) -> Option<Section> {
    let title = format!("Other differences between A and {}", candidate.side.label);
    Section::new("differences", title, "and limits of this comparison")
        .texts(candidate.notes.iter().map(ToString::to_string))
        .unless_empty()
}

fn limits(limits: &[LimitResult]) -> Option<Section> {
    let mut table = Table::new("").words("").words("").words("").words("");
    for limit in limits {
        let found = limit.value.zip(limit.unit).map(|(value, unit)| unit.show(value));
        let (mark, tone, says) = match limit.passed {
            Some(true) if found.is_some() => ("✗", Tone::Bad, "fails: it applies".to_owned()),
            Some(true) => (
                "✗",
                Tone::Bad,
                "fails: the whole interval is beyond the limit".to_owned(),
            ),
            Some(false) => ("✓", Tone::Good, "passes".to_owned()),
            None => {
                let reason = limit.reason.as_deref().unwrap_or("no interval");
                ("?", Tone::Warn, format!("fails: unknown ({reason})"))
            }
        };
        // The interval of a change; of a comparison, the figure itself.
        let interval = limit
            .ci95
            .map(|interval| interval_of(interval, limit.is_in_points));
        table.row([
            Cell::new(mark).tone(tone),
            Cell::new(format!("{} in {}", limit.text, limit.side)),
            Cell::new(found.or(interval).unwrap_or_default()).tone(Tone::Dim),
            Cell::new(says),
        ]);
    }
    Section::new("limits", "Limits", "each with its own 95 % interval")
        .table(table)
        .unless_empty()
}
