//! What commands print: results to stdout, everything said to the person to stderr.

use std::io::{ErrorKind, Write};
use std::sync::OnceLock;

use anyhow::Context;

use crate::cli::Colours;
use crate::shown::{shown, shown_with_styles};

/// As the command line has it; once for the whole program.
static COLOURS: OnceLock<Colours> = OnceLock::new();

/// Sets when results are coloured.
pub(super) fn colours(wanted: Colours) {
    let _ = COLOURS.set(wanted);
}

/// Whether results are coloured where a terminal would have them so.
pub(super) fn is_coloured(on_this_terminal: bool) -> bool {
    match COLOURS.get().copied().unwrap_or_default() {
        Colours::Auto => on_this_terminal,
        Colours::Always => true,
        Colours::Never => false,
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
    let _ = writeln!(std::io::stderr().lock(), "{}", shown(text));
}
