//! A run's sections as a page shows them: drawings drawn, response times as cards.

use std::convert::Infallible;

use jetlag_figure::section::{self, Row, Section as OfReport, Tone};

use super::view::{self, Block, words};
use super::{cards, drawings};
use crate::analysis::Summary;
use crate::analysis::roofline::RunRoofline;
use crate::number::TimeUnit;
use crate::record::Manifest;
use crate::sections::{self, Extent};

/// How warm the warmest cell is, in percent of the colour.
const WARMEST: f64 = 55.0;

/// All sections of a run; first, what the eye looks for: response times over time.
pub(super) fn all(summary: &Summary, prefix: &str) -> Vec<view::Section> {
    let mut all = sections::all(summary);
    all.sort_by_key(|section| section.id != "time");
    all.into_iter()
        .map(|section| shown(section, summary, prefix))
        .filter(|section| !section.blocks.is_empty())
        .collect()
}

/// What is below the results: the work of networks and layers, the traced phase, what ran where.
pub(super) fn setup(
    manifest: &Manifest,
    summary: &Summary,
    roofline: Option<&RunRoofline>,
    prefix: &str,
) -> Vec<view::Section> {
    let shown = |section| shown(section, summary, prefix);
    let work = sections::work::section(manifest).into_iter().map(shown);
    let traced = sections::traced::of_largest(summary).into_iter().map(shown);
    work.chain(layers(roofline, prefix))
        .chain(traced)
        .chain([shown(sections::setup::section(manifest, Some(summary)))])
        .collect()
}

/// Layers with their work, tenant by tenant.
fn layers(run: Option<&RunRoofline>, prefix: &str) -> Vec<view::Section> {
    let tenants = run.map_or(&[][..], |run| &run.tenants).iter().enumerate();
    tenants
        .filter(|(_, tenant)| tenant.has_more_than_times())
        .filter_map(|(number, tenant)| {
            let own = sections::roofline::of_tenant(tenant, Extent::Most)?;
            Some(view::Section {
                id: format!("{prefix}-work{number}"),
                title: format!("Work of {}'s layers", tenant.name).into(),
                ..of(own, "", |nothing| match nothing {})
            })
        })
        .collect()
}

fn shown(section: sections::Section, summary: &Summary, prefix: &str) -> view::Section {
    let is_cards = section.id == "tenants";
    let shown = of(section, prefix, |drawing| drawings::blocks(drawing, summary));
    match is_cards {
        true => view::Section {
            blocks: vec![cards::cards(summary)],
            ..shown
        },
        false => shown,
    }
}

/// A section as the page shows it, with what is drawn in it.
pub(super) fn of<D>(section: OfReport<D>, prefix: &str, draw: impl Fn(D) -> Vec<Block>) -> view::Section {
    let note = sentence(section.note);
    let blocks = section.blocks.into_iter();
    view::Section {
        id: match prefix {
            "" => section.id.to_owned(),
            prefix => format!("{prefix}-{}", section.id),
        },
        title: section.title,
        note: match (note.is_empty(), section.explanation) {
            (_, "") => note,
            (true, explanation) => explanation.to_owned(),
            (false, explanation) => format!("{note}. {explanation}"),
        },
        blocks: blocks.flat_map(|block| of_block(block, &draw)).collect(),
    }
}

/// A phrase as the beginning of a sentence; a unit stays as it is.
fn sentence(note: String) -> String {
    let first = note.split([' ', ',', ';']).next().unwrap_or_default();
    if [TimeUnit::Millis, TimeUnit::Micros]
        .iter()
        .any(|unit| unit.name() == first)
    {
        return note;
    }
    let mut letters = note.chars();
    match letters.next() {
        Some(letter) => letter.to_uppercase().chain(letters).collect(),
        None => note,
    }
}

fn of_block<D>(block: section::Block<D>, draw: impl Fn(D) -> Vec<Block>) -> Vec<Block> {
    match block {
        section::Block::Table(of) => vec![Block::Table(table(of))],
        section::Block::Text(text) | section::Block::Remark(text) => vec![Block::Text(words(&text))],
        section::Block::Drawing(drawing) => draw(drawing),
    }
}

/// The blocks of a section within another one: its title is the caption of its first table.
pub(super) fn blocks(section: OfReport<Infallible>) -> Vec<Block> {
    let blocks = section.blocks.into_iter();
    let mut shown: Vec<Block> = blocks
        .flat_map(|block| of_block(block, |nothing| match nothing {}))
        .collect();
    match shown.first_mut() {
        Some(Block::Table(table)) => table.caption = section.title.into_owned(),
        _ => shown.insert(0, Block::Text(words(&section.title))),
    }
    shown
}

fn table(of: section::Table) -> view::Table {
    view::Table {
        caption: of.caption,
        columns: of.columns,
        rows: of.rows.into_iter().map(row).collect(),
    }
}

fn row(row: Row) -> Vec<view::Cell> {
    // A bar has the colour of the tenant that its row is of.
    let colour = row.cells.iter().find_map(|cell| cell.tenant);
    let cells = row.cells.into_iter();
    cells
        .map(|cell| of_cell(cell, colour.unwrap_or_default()))
        .collect()
}

fn of_cell(cell: section::Cell, colour: usize) -> view::Cell {
    if let Some(bar) = cell.bar {
        return view::Cell::bar(bar.from, bar.share, colour);
    }
    let tone = match cell.tone {
        Tone::Plain => "",
        Tone::Strong => "strong",
        Tone::Dim => "dim",
        Tone::Good => "good strong",
        Tone::Warn => "warn strong",
        Tone::Bad => "bad strong",
    };
    let (class, style) = match (cell.tenant, cell.warmth, cell.is_code) {
        (Some(number), ..) => (format!("name t{}", number % 8), String::new()),
        (None, Some(warmth), _) => ("heat".to_owned(), format!("--share:{:.0}%", warmth * WARMEST)),
        (None, None, true) => (format!("code {tone}"), String::new()),
        (None, None, false) => (tone.to_owned(), String::new()),
    };
    view::Cell {
        text: cell.text,
        note: cell.note,
        class,
        style,
        bar: false,
    }
}
