//! Scores and comparisons as sections, which terminal and Markdown show.

use std::convert::Infallible;

use jetlag_figure::section::{Cell, Section as OfReport, Table};

use super::{Comparison, Drawn, Mode, Scores};
use crate::bootstrap::{Interval, NoInterval};

/// A section without drawings.
pub type Section = OfReport<Infallible>;

/// Decimals so that half of the interval has two digits that count, two to six of them; four without an interval.
fn decimals(interval: Option<&Interval>) -> usize {
    let half = interval.map(|interval| (interval.high - interval.low) / 2.0);
    match half {
        Some(half) if half > 0.0 && half.is_finite() => (1.0 - half.log10().floor()).clamp(2.0, 6.0) as usize,
        _ => 4,
    }
}

fn value(value: Option<f64>, decimals: usize) -> Cell {
    Cell::of(value, |value| format!("{value:.decimals$}"))
}

fn range(interval: Option<&Interval>, decimals: usize) -> Cell {
    Cell::of(interval, |interval| {
        format!("{:.decimals$} to {:.decimals$}", interval.low, interval.high)
    })
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

/// The heading: whose figures, by which rules, of which truth.
fn of(tenant: &str, benchmark: &str, mode: Mode, frames: usize) -> Section {
    let note = format!(
        "{}, {}: {}; {frames} frames",
        benchmark,
        mode.name(),
        mode.meaning()
    );
    Section::new("scores", format!("Scores of {tenant}"), note)
}

pub(super) fn scores(scores: &Scores, tenant: &str) -> Section {
    let mut table = Table::new("").words("figure").number("value");
    if let Some(drawn) = &scores.drawn {
        table = table.number(level(drawn));
    }
    let mut reasons = Reasons::default();
    for scored in &scores.figures {
        let interval = scored
            .interval
            .as_ref()
            .and_then(|interval| interval.as_ref().ok());
        let decimals = decimals(interval);
        let name = &scored.figure.name;
        let mut row = vec![Cell::new(name.as_str()), value(scored.figure.value, decimals)];
        if let Some(why) = scored.figure.why {
            reasons.add(why, name);
        }
        if scores.drawn.is_some() {
            row.push(range(interval, decimals));
            reasons.interval(name, scored.interval.as_ref());
        }
        table.row(row);
    }
    of(tenant, scores.benchmark, scores.mode, scores.frames)
        .table(table)
        .remarks(reasons.sentences())
        .remarks(scores.drawn.iter().map(explained))
        .remarks(scores.notes.iter().cloned())
}

pub(super) fn comparison(comparison: &Comparison, tenant: &str) -> Section {
    let [first, second] = comparison.names.clone();
    let mut table = Table::new("")
        .words("figure")
        .number(first)
        .number(second)
        .number("difference")
        .number(level(&comparison.drawn));
    let mut reasons = Reasons::default();
    for difference in &comparison.differences {
        let name = &difference.first.name;
        let interval = difference.interval.as_ref().ok();
        let decimals = decimals(interval);
        table.row([
            Cell::new(name.as_str()),
            value(difference.first.value, decimals),
            value(difference.second.value, decimals),
            Cell::of(difference.difference, |value| format!("{value:+.decimals$}")),
            range(interval, decimals),
        ]);
        for figure in [&difference.first, &difference.second] {
            if let Some(why) = figure.why {
                reasons.add(why, name);
            }
        }
        reasons.interval(name, Some(&difference.interval));
    }
    of(tenant, comparison.benchmark, comparison.mode, comparison.frames)
        .table(table)
        .remarks(reasons.sentences())
        .remarks([explained(&comparison.drawn) + ", the same draws for both runs"])
        .remarks(comparison.notes.iter().cloned())
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

    fn sentences(self) -> impl Iterator<Item = String> {
        const SHOWN: usize = 6;
        self.0.into_iter().map(|(why, names)| {
            let shown = names.get(..SHOWN).unwrap_or(&names).join(", ");
            match names.len().saturating_sub(SHOWN) {
                0 => format!("{shown}: {why}"),
                more => format!("{shown} and {more} more: {why}"),
            }
        })
    }
}
