//! Sections on a terminal: a heading in capitals, tables that fit its width, sentences in lines that do.

use super::{Block, Cell, Room, Row, Section, Table, Tone};
use crate::Style;
use crate::table::{Align, Grid, Ink, Text};

/// Characters of a bar, where the screen is narrow and where it is not.
const BARS: [usize; 2] = [20, 30];
/// Columns that may be left out, of which so many are worth more than columns that may go below.
const LEAST_OPTIONAL: usize = 3;

/// A heading with its note, which goes on below where it does not fit beside.
pub fn heading(title: &str, note: &str, style: &Style) -> String {
    let title = title.to_uppercase();
    let room = usize::from(style.width.max(60));
    let beside = room.saturating_sub(title.chars().count() + 2).max(20);
    let (mut first, mut rest) = (String::new(), String::new());
    for word in note.split_whitespace() {
        let is_first = rest.is_empty() && first.chars().count() + 1 + word.chars().count() <= beside;
        let line = if is_first { &mut first } else { &mut rest };
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    let mut text = Ink::Bold.paint(&title, style);
    if !first.is_empty() {
        text += &format!("  {}", Ink::Dim.paint(&first, style));
    }
    text.push('\n');
    for line in wrapped(&rest, room - 2).iter().filter(|line| !line.is_empty()) {
        text += &format!("  {}\n", Ink::Dim.paint(line, style));
    }
    text
}

/// A section, drawings by `draw`; empty where nothing of it is shown here.
pub fn section<D>(section: &Section<D>, draw: impl Fn(&D) -> String, style: &Style) -> String {
    let blocks = section.blocks.iter().map(|block| match block {
        Block::Table(of) => table(of, style),
        Block::Text(text) => paragraph(text, Ink::Plain, style),
        Block::Remark(text) => paragraph(text, Ink::Dim, style),
        Block::Drawing(drawing) => draw(drawing),
    });
    let shown: String = blocks.collect();
    match shown.is_empty() {
        true => shown,
        false => heading(&section.title, &section.note, style) + &shown,
    }
}

/// A table, each row with its notes below; empty where all rows are details.
pub fn table(table: &Table, style: &Style) -> String {
    let shown = || table.rows.iter().filter(|row| !row.is_detail);
    if shown().next().is_none() {
        return String::new();
    }
    let mut text = String::new();
    if !table.caption.is_empty() {
        text += &paragraph(&table.caption, Ink::Dim, style);
    }
    let optional = table
        .columns
        .iter()
        .filter(|column| column.room == Room::Optional)
        .count();
    let has_below = table.columns.iter().any(|column| column.room == Room::Below);
    let beside = grid(table, true, style);
    match has_below && (!beside.fits(style) || beside.kept(style) < optional.min(LEAST_OPTIONAL)) {
        false => text += &beside.render(style),
        true => {
            text += &grid(table, false, style).render(style);
            text += &below(table).render(style);
        }
    }
    match table.rows.len() - shown().count() {
        0 => text,
        more => text + &paragraph(&format!("{more} more on the page (`--html`)"), Ink::Dim, style),
    }
}

/// A table without the rows that are details; with the columns that may go below it, or without them.
fn grid(table: &Table, is_beside: bool, style: &Style) -> Grid {
    let is_shown = |place: usize| {
        let column = table.columns.get(place);
        column.is_some_and(|column| is_beside || column.room != Room::Below)
    };
    let is_headless = table.columns.iter().all(|column| column.name.is_empty());
    let mut grid = match is_headless {
        true => Grid::headless(),
        false => Grid::headed(),
    };
    for (place, column) in table.columns.iter().enumerate() {
        let align = if column.is_number {
            Align::Right
        } else {
            Align::Left
        };
        grid = match column.room {
            Room::Optional => grid.optional(column.name.clone(), align),
            _ if is_shown(place) => grid.column(column.name.clone(), align),
            _ => grid,
        };
    }
    let mut above: Option<&Row> = None;
    for row in table.rows.iter().filter(|row| !row.is_detail) {
        let cells = || row.cells.iter().enumerate().filter(|(place, _)| is_shown(*place));
        grid.row(
            cells()
                .map(|(place, cell)| text_of(cell, repeats(row, above, place), style))
                .collect(),
        );
        if row.cells.iter().any(|cell| !cell.note.is_empty()) {
            let notes = cells().map(|(place, cell)| match repeats(row, above, place) {
                true => (String::new(), Ink::Dim),
                false => (cell.note.clone(), Ink::Dim),
            });
            grid.row(notes.collect());
        }
        above = Some(row);
    }
    grid
}

/// Each row's name, and what it has in the columns that went below the table.
fn below(table: &Table) -> Grid {
    let columns: Vec<(usize, &str)> = table
        .columns
        .iter()
        .enumerate()
        .filter(|(_, column)| column.room == Room::Below)
        .map(|(place, column)| (place, &*column.name))
        .collect();
    let (of, name) = match (table.columns.first(), columns.as_slice()) {
        (Some(first), [(_, only)]) => (first.name.clone(), (*only).to_owned()),
        (Some(first), _) => (first.name.clone(), String::new()),
        (None, _) => return Grid::headless(),
    };
    let mut grid = Grid::headed().column(of, Align::Right).column(name, Align::Left);
    for row in table.rows.iter().filter(|row| !row.is_detail) {
        let cells = columns
            .iter()
            .filter_map(|(place, name)| Some((name, row.cells.get(*place)?)));
        let told = cells.map(|(name, cell)| match columns.len() {
            1 => cell.text.clone(),
            _ => format!("{name}={}", cell.text),
        });
        let told: Vec<String> = told.collect();
        let first = row.cells.first().map_or(String::new(), |cell| cell.text.clone());
        grid.row(vec![(first, Ink::Plain), (told.join(" "), Ink::Plain)]);
    }
    grid
}

/// Whether a cell says of whom the row is, and the row above said the same.
fn repeats(row: &Row, above: Option<&Row>, place: usize) -> bool {
    let is_same = |place: usize| {
        let before = above.and_then(|above| above.cells.get(place));
        let own = row.cells.get(place);
        own.zip(before)
            .is_some_and(|(own, before)| own.is_group && own.text == before.text)
    };
    (0..=place).all(is_same)
}

fn text_of(cell: &Cell, repeats: bool, style: &Style) -> Text {
    let ink = match cell.tone {
        Tone::Plain => Ink::Plain,
        Tone::Strong => Ink::Bold,
        Tone::Dim => Ink::Dim,
        Tone::Good => Ink::Good,
        Tone::Warn => Ink::Warn,
        Tone::Bad => Ink::Bad,
    };
    match cell.bar {
        Some(of) => {
            let [narrow, wide] = BARS;
            let full = if style.width < 100 { narrow } else { wide };
            (bar(of.share, full), Ink::Accent)
        }
        None if repeats => (String::new(), ink),
        None if cell.is_group => (name(&cell.text, style), ink),
        None if cell.is_code => (
            both_ends(&cell.text, if style.width < 100 { 24 } else { 36 }),
            ink,
        ),
        None => (cell.text.clone(), ink),
    }
}

/// A name, shortened if it would push figures off the screen.
pub fn name(name: &str, style: &Style) -> String {
    let room = if style.width < 100 { 12 } else { 20 };
    if name.chars().count() <= room {
        return name.to_owned();
    }
    let mut name: String = name.chars().take(room - 1).collect();
    name.push('…');
    name
}

/// At most `room` characters of a name, keeping its beginning and its end.
pub fn both_ends(name: &str, room: usize) -> String {
    let length = name.chars().count();
    if length <= room {
        return name.to_owned();
    }
    let kept = room.saturating_sub(1);
    let (before, after) = (kept / 2, kept - kept / 2);
    let first: String = name.chars().take(before).collect();
    let last: String = name.chars().skip(length - after).collect();
    format!("{first}…{last}")
}

/// A bar in eighths of a character; a value above zero shows at least a thin line.
fn bar(share: f64, full: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * full as f64 * 8.0).round() as usize;
    let eighths = if share > 0.0 { eighths.max(1) } else { 0 };
    format!("{}{}", "█".repeat(eighths / 8), PARTS[eighths % 8])
}

/// A text in lines that fit, below a heading; lines that go on are further in.
pub fn paragraph(text: &str, ink: Ink, style: &Style) -> String {
    let lines = wrapped(text, usize::from(style.width.max(60)) - 4);
    let lines = lines.iter().enumerate().map(|(number, line)| {
        let indent = if number == 0 { "  " } else { "    " };
        format!("{indent}{}\n", ink.paint(line, style))
    });
    lines.collect()
}

/// Wraps a text into lines of at most `room` characters.
pub fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= room {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const NARROW: Style = Style {
        colour: false,
        width: 80,
    };

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        assert_eq!(bar(0.0, 8), "");
        assert_eq!(bar(0.000_1, 8), "▏");
        assert_eq!(bar(0.5, 8), "████");
        assert_eq!(bar(1.0, 2), "██");
        assert_eq!(bar(f64::NAN, 2), "");
    }

    #[test]
    fn names_of_code_keep_both_ends() {
        assert_eq!(both_ends("/a/b/Conv", 9), "/a/b/Conv");
        assert_eq!(both_ends("/ä/b/Conv", 6), "/ä…onv");
    }

    #[test]
    fn columns_go_below_where_there_is_no_room_beside() {
        let of = |value: &str| {
            let mut table = Table::new("")
                .number("point")
                .number_or_below("rate")
                .words_or_below("backend")
                .number("p50");
            table.row(["1", "30", value, "9.0"].map(Cell::new));
            super::table(&table, &NARROW)
        };
        assert_eq!(of("Sim").lines().count(), 2);
        let long = format!("Sim({})", "x".repeat(70));
        let below = of(&long);
        let lines: Vec<&str> = below.lines().map(str::trim).collect();
        assert_eq!(lines[..2], ["point  p50", "1  9.0"]);
        let told = lines[3..].join(" ");
        assert!(
            told.starts_with("1  rate=30") && told.contains("backend=Sim("),
            "{below}"
        );
    }

    fn of_two() -> Table {
        let mut table = Table::new("").words("tenant").words("part").number("mean");
        table.row([Cell::tenant("camera", 0), Cell::new("compute"), Cell::new("3.00")]);
        table.row([
            Cell::tenant("camera", 0),
            Cell::new("wait"),
            Cell::new("1.00").note("0.9–1.1"),
        ]);
        table.row([Cell::tenant("lidar", 1), Cell::new("wait"), Cell::unknown()]);
        table
    }

    #[test]
    fn a_tenant_is_named_once_and_notes_stand_below_their_figures() {
        let text = table(&of_two(), &NARROW);
        assert_eq!(
            text,
            "  tenant  part        mean\n  camera  compute     3.00\n          wait        1.00\n                   0.9–1.1\n  lidar   wait           –\n"
        );
    }

    #[test]
    fn a_note_that_does_not_fit_beside_its_heading_goes_on_below() {
        let note = "so many words that they do not fit beside the heading of a section, which is long";
        let text = heading("Time per layer", note, &NARROW);
        assert_eq!(
            text,
            "TIME PER LAYER  so many words that they do not fit beside the heading of a\n  section, which is long\n"
        );
    }

    #[test]
    fn details_are_counted_and_a_section_of_details_alone_is_absent() {
        let mut of = of_two();
        of.detail([Cell::tenant("lidar", 1), Cell::new("compute")]);
        assert!(table(&of, &NARROW).ends_with("  1 more on the page (`--html`)\n"));
        let mut details = Table::new("").words("tenant");
        details.detail([Cell::tenant("lidar", 1)]);
        let absent = Section::<()>::new("a", "A", "").table(details);
        assert_eq!(section(&absent, |()| String::new(), &NARROW), "");
    }
}
