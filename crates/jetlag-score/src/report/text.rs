//! Tables in plain text.

use std::fmt::Write;

use super::{Comparison, Drawn, Scores};
use crate::bootstrap::{Interval, NoInterval};

const UNKNOWN: &str = "–";

/// Decimals so that half of the interval has two digits that count, two to six of them; four without an interval.
fn decimals(interval: Option<&Interval>) -> usize {
    let half = interval.map(|interval| (interval.high - interval.low) / 2.0);
    match half {
        Some(half) if half > 0.0 && half.is_finite() => (1.0 - half.log10().floor()).clamp(2.0, 6.0) as usize,
        _ => 4,
    }
}

fn value(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), |value| format!("{value:.decimals$}"))
}

fn range(interval: Option<&Interval>, decimals: usize) -> String {
    interval.map_or_else(
        || UNKNOWN.to_owned(),
        |interval| format!("{:.decimals$} to {:.decimals$}", interval.low, interval.high),
    )
}

fn level(drawn: &Drawn) -> String {
    format!("{} %", drawn.settings.level * 100.0)
}

fn explained(drawn: &Drawn) -> String {
    format!(
        "intervals of {} from {} draws of {} {}, seed {}",
        level(drawn),
        drawn.settings.resamples,
        drawn.units,
        drawn.what,
        drawn.settings.seed
    )
}

pub(super) fn scores(scores: &Scores) -> String {
    let head = format!(
        "{}, {}: {}; {} frames",
        scores.benchmark,
        scores.mode.name(),
        scores.mode.meaning(),
        scores.frames
    );
    let mut rows = vec![vec!["figure".to_owned(), "value".to_owned()]];
    if let (Some(row), Some(drawn)) = (rows.first_mut(), &scores.drawn) {
        row.push(level(drawn));
    }
    let mut reasons = Reasons::default();
    for scored in &scores.figures {
        let interval = scored
            .interval
            .as_ref()
            .and_then(|interval| interval.as_ref().ok());
        let decimals = decimals(interval);
        let mut row = vec![scored.figure.name.clone(), value(scored.figure.value, decimals)];
        if let Some(why) = scored.figure.why {
            reasons.add(why, &scored.figure.name);
        }
        if scores.drawn.is_some() {
            row.push(range(interval, decimals));
            reasons.interval(&scored.figure.name, scored.interval.as_ref());
        }
        rows.push(row);
    }
    let notes = scores
        .drawn
        .iter()
        .map(explained)
        .chain(scores.notes.iter().cloned());
    page(&head, &rows, &reasons, notes)
}

pub(super) fn comparison(comparison: &Comparison) -> String {
    let head = format!(
        "{}, {}: {}; {} frames",
        comparison.benchmark,
        comparison.mode.name(),
        comparison.mode.meaning(),
        comparison.frames
    );
    let [first, second] = comparison.names.clone();
    let mut rows = vec![vec![
        "figure".to_owned(),
        first,
        second,
        "difference".to_owned(),
        level(&comparison.drawn),
    ]];
    let mut reasons = Reasons::default();
    for difference in &comparison.differences {
        let name = &difference.first.name;
        let interval = difference.interval.as_ref().ok();
        let decimals = decimals(interval);
        rows.push(vec![
            name.clone(),
            value(difference.first.value, decimals),
            value(difference.second.value, decimals),
            difference
                .difference
                .map_or_else(|| UNKNOWN.to_owned(), |value| format!("{value:+.decimals$}")),
            range(interval, decimals),
        ]);
        for figure in [&difference.first, &difference.second] {
            if let Some(why) = figure.why {
                reasons.add(why, name);
            }
        }
        reasons.interval(name, Some(&difference.interval));
    }
    let drawn = explained(&comparison.drawn) + ", the same draws for both runs";
    let notes = std::iter::once(drawn).chain(comparison.notes.iter().cloned());
    page(&head, &rows, &reasons, notes)
}

/// Why figures are withheld, each reason once.
#[derive(Default)]
struct Reasons(Vec<(String, Vec<String>)>);

impl Reasons {
    fn add(&mut self, why: &str, name: &str) {
        let known = self.0.iter_mut().find(|(known, _)| known == why);
        match known {
            Some((_, names)) if names.last().is_some_and(|last| last == name) => {}
            Some((_, names)) => names.push(name.to_owned()),
            None => self.0.push((why.to_owned(), vec![name.to_owned()])),
        }
    }

    fn interval(&mut self, name: &str, interval: Option<&Result<Interval, NoInterval>>) {
        match interval {
            // Said of the figure itself.
            Some(Err(NoInterval::NoFigure)) | Some(Ok(_)) | None => {}
            Some(Err(why)) => self.add(&format!("no interval: {why}"), name),
        }
    }
}

fn page(head: &str, rows: &[Vec<String>], reasons: &Reasons, notes: impl Iterator<Item = String>) -> String {
    let mut text = format!("{head}\n\n");
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            // Names to the left, numbers to the right.
            let _ = match column {
                0 => write!(line, "{cell:<width$}"),
                _ => write!(line, "  {cell:>width$}"),
            };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text.push('\n');
    for (why, names) in &reasons.0 {
        const SHOWN: usize = 6;
        let shown = names.get(..SHOWN).unwrap_or(names).join(", ");
        let more = names.len().saturating_sub(SHOWN);
        let rest = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        let _ = writeln!(text, "{UNKNOWN} {shown}{rest}: {why}");
    }
    for note in notes {
        let _ = writeln!(text, "{note}");
    }
    text
}
