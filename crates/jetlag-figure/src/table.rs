//! Tables without lines: aligned columns that are shortened, the last first, where the terminal is narrow.

use std::borrow::Cow;

use comfy_table::{
    Attribute, Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, Table, Width,
};

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

    /// How many of the columns that may be dropped are kept.
    pub fn kept(&self, style: &Style) -> usize {
        let optional = self.columns.iter().filter(|(_, _, always)| !always).count();
        let widths = self.widths();
        let room = Grid::room(style);
        let mut dropped = 0;
        // From the last on, as they are dropped.
        let mut width = Grid::whole(&widths);
        let last_first = self.columns.iter().zip(&widths).rev();
        for (_, own) in last_first.filter(|((_, _, always), _)| !always) {
            if width <= room {
                break;
            }
            width = width.saturating_sub(usize::from(*own) + usize::from(GAP));
            dropped += 1;
        }
        optional - dropped
    }

    /// Whether all columns that are always shown fit without being wrapped.
    pub fn fits(&self, style: &Style) -> bool {
        let widths = self.widths();
        let always = self.columns.iter().zip(&widths);
        let always: Vec<u16> = always
            .filter(|((_, _, always), _)| *always)
            .map(|(_, width)| *width)
            .collect();
        Grid::whole(&always) <= Grid::room(style)
    }

    /// The lines, each indented by two and ended by a newline. They are no wider than the style allows, as far as
    /// dropping columns and, finally, wrapping can achieve it.
    pub fn render(mut self, style: &Style) -> String {
        let room = Grid::room(style);
        while Grid::whole(&self.widths()) > room {
            let Some(last) = self.columns.iter().rposition(|(_, _, always)| !always) else {
                break;
            };
            self.columns.remove(last);
            for row in &mut self.rows {
                row.remove(last);
            }
            // What a row had in that column alone is gone with it.
            self.rows
                .retain(|row| row.iter().any(|(text, _)| !text.is_empty()));
        }
        let mut table = self.table();
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::try_from(room).unwrap_or(u16::MAX));
        if Grid::whole(&self.widths()) > room {
            self.keep_words_whole(&mut table);
        }
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

    /// A number that is broken in two reads as two: lines are broken between words.
    fn keep_words_whole(&self, table: &mut Table) {
        let last = self.columns.len().saturating_sub(1);
        for (index, (name, ..)) in self.columns.iter().enumerate() {
            let cells = self.rows.iter().filter_map(|row| row.get(index));
            let texts = cells.map(|(text, _)| text.as_str());
            let words = texts
                .chain(self.header.then_some(&**name))
                .flat_map(str::split_whitespace);
            let widest = words.map(|word| word.chars().count()).max().unwrap_or(0);
            if let Some(column) = table.column_mut(index)
                && widest <= LONGEST_WORD
            {
                let gap = if index == last { 0 } else { GAP };
                let width = Width::Fixed(widest as u16 + gap);
                column.set_constraint(ColumnConstraint::LowerBoundary(width));
            }
        }
    }

    fn room(style: &Style) -> usize {
        usize::from(style.width.max(60)) - INDENT.len()
    }

    fn widths(&self) -> Vec<u16> {
        self.table().column_max_content_widths()
    }

    /// Of columns so wide, with the gaps between them.
    fn whole(widths: &[u16]) -> usize {
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
/// Characters beyond which a word may be broken: numbers with their units and intervals are shorter.
const LONGEST_WORD: usize = 24;
/// Width of the gap between two columns.
const GAP: u16 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(numbers: usize) -> Grid {
        let mut grid = Grid::headed()
            .column("point", Align::Right)
            .column("standing", Align::Left);
        for number in 0..numbers {
            grid = grid.column(format!("camera.response.p{number}"), Align::Right);
        }
        let mut row = vec![
            ("1".to_owned(), Ink::Plain),
            ("out: 2 is better".to_owned(), Ink::Plain),
        ];
        row.extend((0..numbers).map(|_| ("12.345 (11.987–12.678)".to_owned(), Ink::Plain)));
        grid.row(row);
        grid
    }

    #[test]
    fn a_number_is_not_broken_where_there_is_no_room() {
        let style = Style {
            width: 80,
            ..Style::default()
        };
        assert!(grid(2).fits(&style));
        assert!(!grid(4).fits(&style));
        let text = grid(4).render(&style);
        for whole in ["12.345", "(11.987–12.678)", "standing"] {
            let wanted = if whole == "standing" { 1 } else { 4 };
            assert_eq!(text.matches(whole).count(), wanted, "{text}");
        }
    }

    #[test]
    fn what_is_kept_is_what_is_rendered() {
        for width in (60..160).step_by(7) {
            let style = Style {
                width,
                ..Style::default()
            };
            let mut grid = Grid::headed().column("point", Align::Right);
            for number in 0..6 {
                grid = grid.optional(format!("figure number {number}"), Align::Right);
            }
            grid.row(vec![("1".to_owned(), Ink::Plain)]);
            let kept = grid.kept(&style);
            assert_eq!(
                grid.render(&style).matches("figure number").count(),
                kept,
                "{width}"
            );
        }
    }
}
