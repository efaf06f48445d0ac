//! A table of a section: columns, and rows of cells.

use std::borrow::Cow;

use crate::digits::range;
use crate::number::{UNKNOWN, short_beside};

/// A table whose first column names its rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What the rows are of; empty where the section's heading says it.
    pub caption: String,
    /// From left to right.
    pub columns: Vec<Column>,
    /// From top to bottom, each of as many cells as there are columns.
    pub rows: Vec<Row>,
}

/// A column of words or of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its head.
    pub name: Cow<'static, str>,
    /// Whether it holds numbers, which end at the right.
    pub is_number: bool,
    /// What becomes of it where there is no room.
    pub room: Room,
}

/// What becomes of a column where there is no room for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// It stays.
    Always,
    /// It is left out; the last of these goes first.
    Optional,
    /// It is told below the table, row by row.
    Below,
}

/// One row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// As many as there are columns.
    pub cells: Vec<Cell>,
    /// Whether it is left out on a terminal, where a page has it.
    pub is_detail: bool,
}

/// How a cell stands out. Colour only repeats what the words say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Like most.
    #[default]
    Plain,
    /// What the eye should find.
    Strong,
    /// What may be passed over.
    Dim,
    /// A promise that holds.
    Good,
    /// What is not decided.
    Warn,
    /// What is lost, late or broken.
    Bad,
}

/// A bar: where it begins and how long it is, as shares of its column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// Where it begins.
    pub from: f64,
    /// How long it is.
    pub share: f64,
}

/// One cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// What it says.
    pub text: String,
    /// What belongs below it: a figure's interval, or why there is none.
    pub note: String,
    /// How it stands out.
    pub tone: Tone,
    /// Whether it names a group of rows: it stands once where several of one group follow each other.
    pub is_group: bool,
    /// The number of the tenant that it names.
    pub tenant: Option<usize>,
    /// A bar in place of a text.
    pub bar: Option<Bar>,
    /// Whether it is a name in a program: it keeps both ends where it is cut.
    pub is_code: bool,
    /// How large its value is, from 0 to 1, where a page colours cells by that.
    pub warmth: Option<f64>,
}

impl Table {
    /// A table without columns and rows.
    pub fn new(caption: impl Into<String>) -> Self {
        Table {
            caption: caption.into(),
            ..Table::default()
        }
    }

    fn with(mut self, name: impl Into<Cow<'static, str>>, is_number: bool, room: Room) -> Self {
        self.columns.push(Column {
            name: name.into(),
            is_number,
            room,
        });
        self
    }

    /// With a column of words.
    #[must_use]
    pub fn words(self, name: impl Into<Cow<'static, str>>) -> Self {
        self.with(name, false, Room::Always)
    }

    /// With a column of numbers.
    #[must_use]
    pub fn number(self, name: impl Into<Cow<'static, str>>) -> Self {
        self.with(name, true, Room::Always)
    }

    /// With columns of numbers.
    #[must_use]
    pub fn numbers<const N: usize>(self, names: [&'static str; N]) -> Self {
        names.into_iter().fold(self, Table::number)
    }

    /// With a column of words that may be left out.
    #[must_use]
    pub fn optional_words(self, name: impl Into<Cow<'static, str>>) -> Self {
        self.with(name, false, Room::Optional)
    }

    /// With a column of numbers that may be left out.
    #[must_use]
    pub fn optional_number(self, name: impl Into<Cow<'static, str>>) -> Self {
        self.with(name, true, Room::Optional)
    }

    /// With a column of words that go below the table where there is no room beside.
    #[must_use]
    pub fn words_or_below(self, name: impl Into<Cow<'static, str>>) -> Self {
        self.with(name, false, Room::Below)
    }

    /// With a column of numbers that go below the table where there is no room beside.
    #[must_use]
    pub fn number_or_below(self, name: impl Into<Cow<'static, str>>) -> Self {
        self.with(name, true, Room::Below)
    }

    /// Adds a row; missing cells are empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.push(cells, false);
    }

    /// Adds a row that a terminal leaves out.
    pub fn detail(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.push(cells, true);
    }

    fn push(&mut self, cells: impl IntoIterator<Item = Cell>, is_detail: bool) {
        let mut cells: Vec<Cell> = cells.into_iter().collect();
        cells.resize(self.columns.len(), Cell::default());
        self.rows.push(Row { cells, is_detail });
    }

    /// Leaves out the columns in which no row has anything.
    #[must_use]
    pub fn without_empty_columns(mut self) -> Self {
        let is_used = |place: usize| {
            let cells = self.rows.iter().filter_map(|row| row.cells.get(place));
            cells.into_iter().any(|cell| !cell.is_empty())
        };
        let kept: Vec<bool> = (0..self.columns.len()).map(is_used).collect();
        let mut of_columns = kept.iter();
        self.columns.retain(|_| of_columns.next() == Some(&true));
        for row in &mut self.rows {
            let mut of_cells = kept.iter();
            row.cells.retain(|_| of_cells.next() == Some(&true));
        }
        self
    }
}

impl Cell {
    /// A text.
    pub fn new(text: impl Into<String>) -> Self {
        Cell {
            text: text.into(),
            ..Cell::default()
        }
    }

    /// What is not known.
    pub fn unknown() -> Self {
        Cell::new(UNKNOWN).tone(Tone::Dim)
    }

    /// A value as it is shown, or that it is not known.
    pub fn of<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> Self {
        value.map_or_else(Cell::unknown, |value| Cell::new(show(value)))
    }

    /// A value with the digits of its interval, and that below it.
    pub fn figure(value: Option<f64>, interval: Option<[f64; 2]>) -> Self {
        Cell::of(value, |value| short_beside(value, interval)).note(interval.map_or(String::new(), range))
    }

    /// A count of what should not be: it stands out where there is any.
    pub fn alarming(count: u64) -> Self {
        let tone = if count > 0 { Tone::Bad } else { Tone::Plain };
        Cell::new(count.to_string()).tone(tone)
    }

    /// The name of a group of rows.
    pub fn group(name: impl Into<String>) -> Self {
        Cell {
            is_group: true,
            ..Cell::new(name)
        }
    }

    /// The name of a tenant, by its number among them.
    pub fn tenant(name: impl Into<String>, number: usize) -> Self {
        Cell {
            tenant: Some(number),
            ..Cell::group(name).tone(Tone::Strong)
        }
    }

    /// A bar.
    pub fn bar(from: f64, share: f64) -> Self {
        Cell {
            bar: Some(Bar { from, share }),
            ..Cell::default()
        }
    }

    /// As a name in a program.
    #[must_use]
    pub fn code(mut self) -> Self {
        self.is_code = true;
        self
    }

    /// With what belongs below it.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// Standing out otherwise.
    #[must_use]
    pub fn tone(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }

    fn is_empty(&self) -> bool {
        self.text.is_empty() && self.note.is_empty() && self.bar.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_in_which_nothing_stands_are_left_out() {
        let mut table = Table::new("").words("tenant").numbers(["a", "b"]);
        table.row([Cell::tenant("camera", 0), Cell::default(), Cell::new("1")]);
        table.row([Cell::tenant("lidar", 1)]);
        let table = table.without_empty_columns();
        let heads: Vec<&str> = table.columns.iter().map(|column| &*column.name).collect();
        assert_eq!(heads, ["tenant", "b"]);
        assert!(table.rows.iter().all(|row| row.cells.len() == 2));
    }

    #[test]
    fn a_figure_has_its_interval_below_it_and_the_digits_of_that() {
        let cell = Cell::figure(Some(12.3456), Some([12.3, 12.4]));
        assert_eq!((cell.text.as_str(), cell.note.as_str()), ("12.35", "12.30–12.40"));
        assert_eq!(Cell::figure(None, None), Cell::unknown());
    }
}
