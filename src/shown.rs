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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_json_document_says_the_same_afterwards() {
        let name = "a\x1b\u{9b}\x7f\u{202e}\n\"\\";
        let document = serde_json::to_string_pretty(&serde_json::json!({ "name": name })).unwrap();
        let safe = shown(&document);
        assert!(!safe.contains(is_obeyed), "{safe}");
        let again: serde_json::Value = serde_json::from_str(&safe).unwrap();
        assert_eq!(again["name"], name);
    }
}
