//! Tables without lines: aligned columns that are shortened, the last first, where the terminal is narrow.

use std::borrow::Cow;

use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, Table};

use crate::Style;

/// How a piece of text stands out. Colour only repeats what the words say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Ink {
    #[default]
    Plain,
    Bold,
    Dim,
    Good,
    Warn,
    Bad,
    Accent,
}

impl Ink {
    fn on(self, cell: Cell) -> Cell {
        match self {
            Ink::Plain => cell,
            Ink::Bold => cell.add_attribute(Attribute::Bold),
            Ink::Dim => cell.add_attribute(Attribute::Dim),
            Ink::Good => cell.fg(Color::Green).add_attribute(Attribute::Bold),
            Ink::Warn => cell.fg(Color::Yellow).add_attribute(Attribute::Bold),
            Ink::Bad => cell.fg(Color::Red).add_attribute(Attribute::Bold),
            Ink::Accent => cell.fg(Color::Cyan),
        }
    }

    /// The text with its escape sequences, where the style allows them.
    pub fn paint(self, text: &str, style: &Style) -> String {
        let code = match self {
            _ if !style.colour => return text.to_owned(),
            Ink::Plain => return text.to_owned(),
            Ink::Bold => "1",
            Ink::Dim => "2",
            Ink::Good => "1;32",
            Ink::Warn => "1;33",
            Ink::Bad => "1;31",
            Ink::Accent => "36",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// Text in a cell.
pub type Text = (String, Ink);

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Align {
    Left,
    Right,
}

/// A table while it is filled.
pub struct Grid {
    columns: Vec<(Cow<'static, str>, Align, bool)>,
    rows: Vec<Vec<Text>>,
    header: bool,
}

impl Grid {
    /// A table with a header.
    pub fn headed() -> Self {
        Grid {
            columns: Vec::new(),
            rows: Vec::new(),
            header: true,
        }
    }

    /// A table without a header.
    pub fn headless() -> Self {
        Grid {
            header: false,
            ..Grid::headed()
        }
    }

    /// Adds a column that is always shown.
    pub fn column(mut self, name: impl Into<Cow<'static, str>>, align: Align) -> Self {
        self.columns.push((name.into(), align, true));
        self
    }

    /// Adds a column that is dropped if there is no room; the last of these goes first.
    pub fn optional(mut self, name: impl Into<Cow<'static, str>>, align: Align) -> Self {
        self.columns.push((name.into(), align, false));
        self
    }

    /// Adds a row, one text a column; missing ones are empty.
    pub fn row(&mut self, mut row: Vec<Text>) {
        row.resize(self.columns.len(), (String::new(), Ink::Plain));
        self.rows.push(row);
    }

    /// The lines, each indented by two and ended by a newline. They are no wider than the style allows, as far as
    /// dropping columns and, finally, wrapping can achieve it.
    pub fn render(mut self, style: &Style) -> String {
        let room = style.width.max(60) - INDENT.len() as u16;
        while self.width() > usize::from(room) {
            let Some(last) = self.columns.iter().rposition(|(_, _, always)| !always) else {
                break;
            };
            self.columns.remove(last);
            for row in &mut self.rows {
                row.remove(last);
            }
        }
        let mut table = self.table();
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(room);
        if style.colour {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        let mut text = String::new();
        for line in table.lines() {
            text.push_str(format!("{INDENT}{line}").trim_end());
            text.push('\n');
        }
        text
    }

    fn width(&self) -> usize {
        let widths = self.table().column_max_content_widths();
        let content: usize = widths.iter().map(|&width| usize::from(width)).sum();
        content + usize::from(GAP) * widths.len().saturating_sub(1)
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_style(comfy_table::presets::NOTHING);
        if self.header {
            let names = self
                .columns
                .iter()
                .map(|(name, _, _)| Ink::Dim.on(Cell::new(name)));
            table.set_header(names.collect::<Vec<_>>());
        }
        for row in &self.rows {
            let cells = row.iter().map(|(text, ink)| ink.on(Cell::new(text)));
            table.add_row(cells.collect::<Vec<_>>());
        }
        let last = self.columns.len().saturating_sub(1);
        for (index, (_, align, _)) in self.columns.iter().enumerate() {
            if let Some(column) = table.column_mut(index) {
                column.set_padding((0, if index == last { 0 } else { GAP }));
                column.set_cell_alignment(match *align {
                    Align::Left => CellAlignment::Left,
                    Align::Right => CellAlignment::Right,
                });
            }
        }
        table
    }
}

const INDENT: &str = "  ";
/// Width of the gap between two columns.
const GAP: u16 = 2;
