//! Text of other people's files, made safe to look at. A name in a run file, a scenario, a board's answer or a file's name may
//! hold what a terminal obeys: sequences that clear the screen, set its title or type into it, and marks that turn the order of
//! letters round. They are shown and not sent.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a terminal obeys this character instead of showing it: C0 and C1 controls, DEL, and marks of direction. Line feeds
/// and tabs are not meant: text is made of them.
pub fn is_obeyed(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // Direction: Arabic letter mark, LRM and RLM, embeddings, overrides and isolates; line and paragraph separators.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        c => c.is_control(),
    }
}

/// The text with every such character written as `\u001b` is. That is JSON's own notation, so that a document stays one and
/// says the same: outside of its strings, none of them occurs.
pub fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_obeyed(c) {
            // Writing to a string does not fail.
            let _ = write!(safe, "\\u{:04x}", u32::from(c));
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

/// What a program that calculates takes for the beginning of a formula.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// Text as a cell of a CSV file: as [`shown`], and what a spreadsheet would calculate begins with an apostrophe, which it does not show.
/// Numbers stay what they are.
pub fn cell(text: &str) -> Cow<'_, str> {
    let text = shown(text);
    match text.starts_with(FORMULA) && text.trim().parse::<f64>().is_err() {
        true => Cow::Owned(format!("'{text}")),
        false => text,
    }
}

/// The text of a [`cell`], without the apostrophe that was set before it.
pub fn text_of_cell(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(text) if text.starts_with(FORMULA) => text,
        _ => cell,
    }
}

/// As [`shown`], for text that jetlag coloured itself: the sequences that it uses for that stay. Somebody else's text may be coloured
/// by them, too, and nothing more.
pub fn shown_with_styles(text: &str) -> Cow<'_, str> {
    let mut pieces = text.split('\u{1b}');
    let mut safe = shown(pieces.next().unwrap_or_default()).into_owned();
    for piece in pieces {
        match style(piece) {
            Some(length) => {
                safe.push('\u{1b}');
                safe.push_str(&piece[..length]);
                safe.push_str(&shown(&piece[length..]));
            }
            None => {
                safe.push_str("\\u001b");
                safe.push_str(&shown(piece));
            }
        }
    }
    Cow::Owned(safe)
}

/// The length of a sequence that sets or resets weight or colour, where a text begins with one (behind its escape character).
fn style(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix('[')?.split_once('m')?.0;
    let is_ours = matches!(
        parameters,
        "0" | "1" | "2" | "22" | "39" | "49" | "36" | "1;31" | "1;32" | "1;33"
    );
    let is_one_of_256 =
        |colour: &str| (1..=3).contains(&colour.len()) && colour.bytes().all(|byte| byte.is_ascii_digit());
    let ours = is_ours || parameters.strip_prefix("38;5;").is_some_and(is_one_of_256);
    ours.then_some(parameters.len() + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_spreadsheet_would_calculate_is_text_and_numbers_stay() {
        for (text, safe) in [
            ("=HYPERLINK(\"http://x\")", "'=HYPERLINK(\"http://x\")"),
            ("+1-1", "'+1-1"),
            ("-cmd|' /C calc'!A0", "'-cmd|' /C calc'!A0"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            ("-0.5", "-0.5"),
            ("+7e3", "+7e3"),
            ("camera", "camera"),
            ("'=x", "'=x"),
            ("a\u{202e}b\u{1b}[31m", "a\\u202eb\\u001b[31m"),
        ] {
            assert_eq!(cell(text), safe);
            if !text.starts_with('\'') && !text.contains('\u{1b}') {
                assert_eq!(text_of_cell(&cell(text)), text);
            }
        }
    }

    #[test]
    fn what_a_terminal_obeys_is_shown_and_all_else_stays() {
        for (text, safe) in [
            ("camera\x1b[2J", "camera\\u001b[2J"),
            ("\u{9b}31m", "\\u009b31m"),
            ("a\x07b\rc\x7f", "a\\u0007b\\u000dc\\u007f"),
            ("gpj.\u{202e}exe", "gpj.\\u202eexe"),
            ("\u{2066}\u{2069}\u{200f}", "\\u2066\\u2069\\u200f"),
            ("µs – 1\n\tπ 東京 👍", "µs – 1\n\tπ 東京 👍"),
        ] {
            assert_eq!(shown(text), safe);
        }
        for c in (0..=0x9f).filter_map(char::from_u32) {
            let stays = matches!(c, '\n' | '\t' | ' '..='~');
            assert_eq!(shown(&c.to_string()) == c.to_string(), stays, "{c:?}");
        }
    }

    #[test]
    fn colours_stay_where_they_are_ours_and_nothing_else_does() {
        for (text, safe) in [
            ("\x1b[1;33mLIMITED\x1b[0m", "\x1b[1;33mLIMITED\x1b[0m"),
            ("\x1b[38;5;11ma\x1b[39m", "\x1b[38;5;11ma\x1b[39m"),
            ("a\x1b[2Jb\x07", "a\\u001b[2Jb\\u0007"),
            ("\x1b[8mhidden", "\\u001b[8mhidden"),
            ("\x1b]0;title\x07\x1b", "\\u001b]0;title\\u0007\\u001b"),
            ("\x1b[38;5;m", "\\u001b[38;5;m"),
            ("\x1b[38;5;1000m", "\\u001b[38;5;1000m"),
        ] {
            assert_eq!(shown_with_styles(text), safe);
        }
    }

    #[test]
    fn a_json_document_says_the_same_afterwards() {
        let name = "a\x1b\u{9b}\x7f\u{202e}\n\"\\";
        let document = serde_json::to_string_pretty(&serde_json::json!({ "name": name })).unwrap();
        let safe = shown(&document);
        assert!(!safe.contains(is_obeyed), "{safe}");
        let again: serde_json::Value = serde_json::from_str(&safe).unwrap();
        assert_eq!(again["name"], name);
    }
}
