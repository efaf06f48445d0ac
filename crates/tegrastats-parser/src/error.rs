//! Why a line gave no sample. The error owns its token, so it outlives the line; only a refused line pays for that.

use alloc::string::String;
use core::fmt;

/// Longest token an error quotes, in bytes: a log may hold binary rubbish without a blank in it.
const MAX_TOKEN: usize = 64;

/// A line that gave no sample: what was found, where, and what was wanted there.
///
/// Skip the line, count it and go on: log files hold headers, messages of other programs and lines cut by a
/// kill, so one refused line says nothing about the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineError {
    kind: LineErrorKind,
    token: String,
    column: usize,
}

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LineErrorKind {
    /// The line is empty, or has nothing but blanks.
    Empty,
    /// Other text: neither a `RAM` field nor two other fields that only tegrastats prints.
    NotTegrastats,
    /// A field began and did not end as it must: the line was cut, garbled or mixed with another one.
    Malformed {
        /// The field as tegrastats heads it, without `_FREQ`: `RAM`, `SWAP`, `IRAM`, `CPU`, `EMC`, `GR3D`,
        /// `GR3D2`, `MTS`, `EDP`.
        field: &'static str,
        /// The form wanted where the token stands.
        expected: &'static str,
    },
    /// A field that a line holds once came again, or a zone or rail on both sides of `RAM`: two lines run into
    /// each other. Their values cannot be told
    /// apart, so none is given.
    Repeated {
        /// The field that came twice, named as for [`LineErrorKind::Malformed`], or `zone`, `rail`.
        field: &'static str,
    },
}

impl LineError {
    /// `start` is the byte where the token begins; the token runs to the next blank and is quoted up to a limit.
    pub(crate) fn new(kind: LineErrorKind, token: &str, start: usize) -> Self {
        let mut end = token.len().min(MAX_TOKEN);
        while !token.is_char_boundary(end) {
            end -= 1;
        }
        let mut quoted = String::from(token.get(..end).unwrap_or_default());
        if end < token.len() {
            quoted.push('…');
        }
        Self {
            kind,
            token: quoted,
            column: start + 1,
        }
    }

    /// What is wrong with the line.
    pub fn kind(&self) -> LineErrorKind {
        self.kind
    }

    /// The offending token: text between blanks, or one element of the CPU list. Cut after 64 bytes, then with
    /// `…` at its end. Empty only for [`LineErrorKind::Empty`].
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Where the token starts in the line: counted in bytes, from 1. (tegrastats prints ASCII, so this is the
    /// editor's column unless a logger put other letters before it.)
    pub fn column(&self) -> usize {
        self.column
    }
}

impl fmt::Display for LineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (token, column) = (&self.token, self.column);
        match self.kind {
            LineErrorKind::Empty => write!(f, "column {column}: the line is empty; skip it"),
            LineErrorKind::NotTegrastats => write!(
                f,
                "column {column}: not a tegrastats line: it starts with `{token}` and holds no `RAM used/totalMB`; skip it"
            ),
            LineErrorKind::Malformed { field, expected } => write!(
                f,
                "column {column}: {field} expects {expected}, found `{token}`: the line is cut, garbled or mixed \
                 with another; skip it"
            ),
            LineErrorKind::Repeated { field } => write!(
                f,
                "column {column}: {field} appears a second time at `{token}`: two lines were mixed; skip both"
            ),
        }
    }
}

impl core::error::Error for LineError {}
