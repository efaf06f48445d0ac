//! What commands print: results to stdout, everything said to the person to stderr.

use std::borrow::Cow;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

use anyhow::Context;

use crate::cli::Colours;
use crate::report::Style;
use crate::shown::{shown, shown_with_styles};

/// As the command line has it; once for the whole program.
static COLOURS: OnceLock<Colours> = OnceLock::new();

/// Sets when results are coloured.
pub(super) fn colours(wanted: Colours) {
    let _ = COLOURS.set(wanted);
}

/// Whether results are coloured where a terminal would have them so.
fn is_coloured(on_this_terminal: bool) -> bool {
    match COLOURS.get().copied().unwrap_or_default() {
        Colours::Auto => on_this_terminal,
        Colours::Always => true,
        Colours::Never => false,
    }
}

/// As wide as the terminal, and coloured if it is one and nobody has asked for none (NO_COLOR).
pub(super) fn style() -> Style {
    let is_terminal = std::io::stdout().is_terminal();
    let columns = || {
        ratatui::crossterm::terminal::size()
            .ok()
            .map(|(columns, _)| columns)
    };
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    // Whoever sets it has measured: a pager, or a person whose output goes elsewhere.
    let asked = std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.trim().parse::<u16>().ok())
        .filter(|columns| *columns > 0);
    let plain = Style::default();
    Style {
        colour: is_coloured(is_terminal && !refused),
        width: asked
            .or_else(|| is_terminal.then(columns).flatten())
            .unwrap_or(plain.width),
    }
}

/// As [`print`], of a report that may be coloured: where it is, its own colours stay.
pub(super) fn print_styled(text: &str, is_coloured: bool) -> anyhow::Result<()> {
    match is_coloured {
        true => write(&shown_with_styles(text)).map(drop),
        false => print(text),
    }
}

/// Writes a result to stdout; what a terminal would obey in it is shown ([`shown`]). A reader that has gone away (`| head`) has all it wanted; any other failure is one.
pub(super) fn print(text: &str) -> anyhow::Result<()> {
    print_while_read(text).map(drop)
}

/// As [`print`], of words between vertical tabs, at which bash takes them apart: these stay as they are.
pub(super) fn print_words(text: &str) -> anyhow::Result<()> {
    let words: Vec<String> = text.split('\u{b}').map(|word| shown(word).into_owned()).collect();
    write(&words.join("\u{b}")).map(drop)
}

/// As [`print`], and says whether somebody still reads.
pub(super) fn print_while_read(text: &str) -> anyhow::Result<bool> {
    write(&shown(text))
}

fn write(text: &str) -> anyhow::Result<bool> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error).context("cannot write the result to stdout; the output is incomplete"),
    }
}

/// Says something to the person, on stderr; what a terminal would obey in it is shown.
pub(super) fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", shown(&shortened(text)));
}

/// Bytes of what is said that are kept of its beginning and of its end, where it is longer than both: somebody's file may have lines
/// without end, and the end says what to do.
const SAID: [usize; 2] = [12 << 10, 4 << 10];

fn shortened(text: &str) -> Cow<'_, str> {
    let [begin, end] = SAID;
    if text.len() <= begin + end {
        return Cow::Borrowed(text);
    }
    let (begin, end) = (
        text.floor_char_boundary(begin),
        text.ceil_char_boundary(text.len() - end),
    );
    let left_out = end - begin;
    Cow::Owned(format!(
        "{} … ({left_out} bytes are left out) … {}",
        &text[..begin],
        &text[end..]
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_has_a_bound_and_keeps_its_beginning_and_its_end() {
        assert_eq!(shortened("as it is"), "as it is");
        let long = format!("wanted {}; do this", "é".repeat(1 << 20));
        let short = shortened(&long);
        assert!(short.len() < 17 << 10, "{}", short.len());
        assert!(short.starts_with("wanted éé") && short.ends_with("éé; do this"));
        assert!(short.contains("bytes are left out"));
    }
}
