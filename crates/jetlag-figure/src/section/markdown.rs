//! Sections in GitHub's Markdown, for a pull request or a wiki. Drawings are left out.

use std::fmt::Write;

use super::{Block, Cell, Section, Table, Tone};

/// A section; empty where it has drawings alone.
pub fn section<D>(section: &Section<D>) -> String {
    let blocks = section.blocks.iter().filter_map(|block| match block {
        Block::Table(of) => Some(table(of)),
        Block::Text(text) | Block::Remark(text) => Some(format!("{}\n", escaped(text))),
        Block::Drawing(_) => None,
    });
    let blocks: Vec<String> = blocks.collect();
    if blocks.is_empty() {
        return String::new();
    }
    let note = match section.note.is_empty() {
        true => String::new(),
        false => format!("{}\n\n", escaped(&section.note)),
    };
    format!("#### {}\n\n{note}{}", escaped(&section.title), blocks.join("\n"))
}

/// A table, details and all; a figure has its interval in brackets.
pub fn table(table: &Table) -> String {
    let mut text = String::new();
    if !table.caption.is_empty() {
        text += &format!("{}\n\n", escaped(&table.caption));
    }
    text += &line(table.columns.iter().map(|column| escaped(&column.name)));
    let rule = |is_number| if is_number { "---:" } else { "---" };
    text += "|";
    for column in &table.columns {
        let _ = write!(text, "{}|", rule(column.is_number));
    }
    text.push('\n');
    for row in &table.rows {
        text += &line(row.cells.iter().map(in_words));
    }
    text
}

fn line(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.collect();
    format!("| {} |\n", cells.join(" | "))
}

fn in_words(cell: &Cell) -> String {
    let text = escaped(&cell.text);
    let text = match cell.tone {
        Tone::Bad | Tone::Warn if !text.is_empty() => format!("**{text}**"),
        _ => text,
    };
    match cell.note.is_empty() {
        true => text,
        false => format!("{text} ({})", escaped(&cell.note)),
    }
}

/// Text for a line or a cell of a table, in which it reads as it is. Only what Markdown would take for its own is escaped:
/// code, cells, links, HTML and mentions everywhere; underlines and asterisks where they could begin or end emphasis.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let chars: Vec<char> = text.chars().collect();
    for (at, &c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| chars.get(before)).copied();
        let after = chars.get(at + 1).copied();
        let must = match c {
            '\n' | '\r' => {
                safe.push(' ');
                continue;
            }
            '|' | '`' | '[' | ']' => true,
            // HTML, also one that names no tag yet.
            '<' => after.is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')),
            // An entity would be read as its character.
            '&' => after.is_some_and(|c| c == '#' || c.is_ascii_alphanumeric()),
            // Within a word an underline is one; with space on both sides an asterisk is one.
            '_' => !(is_word(before) && is_word(after)),
            '*' => !(is_space(before) && is_space(after)),
            // Two of them strike through what is between.
            '~' => text.matches('~').count() > 1,
            // It escapes only punctuation.
            '\\' => after.is_none_or(|c| c.is_ascii_punctuation()),
            '@' => after.is_some_and(char::is_alphanumeric),
            // A number after it links to an issue.
            '#' => after.is_some_and(|c| c.is_ascii_digit()),
            _ => false,
        };
        if must {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}

fn is_word(c: Option<char>) -> bool {
    c.is_some_and(char::is_alphanumeric)
}

fn is_space(c: Option<char>) -> bool {
    c.is_none_or(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_markdown_would_take_for_its_own_is_escaped_and_nothing_else() {
        for plain in [
            "front_left",
            "x < y > z",
            "2 * 3",
            r"C:\new",
            "a & b",
            "~5 s",
            "run #a",
            "(see: sudo nvpmodel -q)",
        ] {
            assert_eq!(escaped(plain), plain);
        }
        for (text, safe) in [
            ("a|b", r"a\|b"),
            ("_a_", r"\_a\_"),
            ("*a*", r"\*a\*"),
            ("`a`", r"\`a\`"),
            ("[a](b)", r"\[a\](b)"),
            ("<b>", r"\<b>"),
            ("&amp;", r"\&amp;"),
            (r"\*", r"\\\*"),
            ("~~a~~", r"\~\~a\~\~"),
            ("#1 @me", r"\#1 \@me"),
            ("two\nlines", "two lines"),
        ] {
            assert_eq!(escaped(text), safe);
        }
    }
}
