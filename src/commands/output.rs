//! What commands print: results to stdout, everything said to the person to stderr.

use std::io::{ErrorKind, Write};

use anyhow::Context;

use crate::shown::shown;

/// Writes a result to stdout; what a terminal would obey in it is shown ([`shown`]). A reader that has gone away (`| head`) has all it wanted; any other failure is one.
pub(super) fn print(text: &str) -> anyhow::Result<()> {
    print_while_read(text).map(drop)
}

/// As [`print`], and says whether somebody still reads.
pub(super) fn print_while_read(text: &str) -> anyhow::Result<bool> {
    let mut out = std::io::stdout().lock();
    match out.write_all(shown(text).as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error).context("cannot write the result to stdout; the output is incomplete"),
    }
}

/// Says something to the person, on stderr; what a terminal would obey in it is shown.
pub(super) fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", shown(text));
}
