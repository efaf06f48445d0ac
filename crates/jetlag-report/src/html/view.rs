//! The data of the page's template: text ready for display, in the order in which it is shown.

use std::borrow::Cow;

use jetlag_figure::section::Column;

/// Text in pieces, each with whether it is code.
pub(super) type Words = Vec<(bool, String)>;

/// Splits a text at its backticks; what stands between them is code.
pub(super) fn words(text: &str) -> Words {
    let pieces = text.split('`').enumerate();
    pieces
        .map(|(place, piece)| (place % 2 == 1, piece.to_owned()))
        .filter(|(_, piece)| !piece.is_empty())
        .collect()
}

/// A part of the page with a heading.
pub(super) struct Section {
    pub(super) id: String,
    pub(super) title: Cow<'static, str>,
    pub(super) note: String,
    pub(super) blocks: Vec<Block>,
}

impl Section {
    /// Whether it is so short that a printer's page should not split it.
    pub(super) fn is_short(&self) -> bool {
        let height = |block: &Block| match block {
            Block::Text(_) | Block::Finding(_) => 2,
            Block::Cards(cards) => 8 * cards.len().div_ceil(3),
            Block::Charts(_) => 12,
            // The timeline: a drawing for each slow frame.
            Block::Markup(_) => PRINTED + 1,
            Block::Table(table) => 2 + 2 * table.rows.len(),
        };
        self.blocks.iter().map(height).sum::<usize>() <= PRINTED
    }
}

/// Lines of a section that a printer's page has room for, roughly.
const PRINTED: usize = 40;

/// A finding, beside what it touches.
pub(super) struct FindingView {
    /// Where links find it on the page.
    pub(super) id: String,
    pub(super) code: String,
    pub(super) tenant: String,
    pub(super) message: Words,
    pub(super) advice: Words,
}

/// What a section is made of.
pub(super) enum Block {
    Finding(FindingView),
    Text(Words),
    Cards(Vec<Card>),
    /// Charts side by side, where there is room.
    Charts(Vec<Chart>),
    Table(Table),
    /// Markup that another template wrote.
    Markup(String),
}

/// A tenant at a glance.
pub(super) struct Card {
    pub(super) colour: usize,
    pub(super) name: String,
    pub(super) what: String,
    pub(super) figures: Vec<Glance>,
}

/// One figure of a card.
pub(super) struct Glance {
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) unit: &'static str,
    pub(super) note: String,
    pub(super) alarm: bool,
}

/// A chart with its title and legend.
pub(super) struct Chart {
    pub(super) title: String,
    pub(super) keys: Vec<Key>,
    pub(super) svg: String,
}

/// An entry of a legend: the number of its colour, or `other` or `alarm`, and its text.
pub(super) struct Key {
    pub(super) colour: String,
    pub(super) text: String,
}

impl Key {
    pub(super) fn new(colour: impl ToString, text: impl Into<String>) -> Key {
        Key {
            colour: colour.to_string(),
            text: text.into(),
        }
    }
}

/// A table whose first column names its rows.
#[derive(Default)]
pub(super) struct Table {
    pub(super) caption: String,
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Whether a telephone shows each row as a list: more columns than this do not fit side by side.
    pub(super) fn is_wide(&self) -> bool {
        self.columns.len() > 4
    }
}

/// One cell of a table, with its style.
#[derive(Default)]
pub(super) struct Cell {
    pub(super) text: String,
    /// Small text below the main text.
    pub(super) note: String,
    pub(super) class: String,
    pub(super) style: String,
    /// Whether a bar stands above the text; `style` has its position and length.
    pub(super) bar: bool,
}

impl Cell {
    /// A bar in a tenant's colour; start and length are shares of the cell's width.
    pub(super) fn bar(from: f64, share: f64, colour: usize) -> Cell {
        let percent = |share: f64| format!("{:.2}%", share.clamp(0.0, 1.0) * 100.0);
        Cell {
            style: format!(
                "--from:{};--share:{}",
                percent(from.min(1.0)),
                percent(share.min(1.0 - from.clamp(0.0, 1.0)))
            ),
            class: format!("barcell t{}", colour % 8),
            bar: true,
            ..Cell::default()
        }
    }
}
