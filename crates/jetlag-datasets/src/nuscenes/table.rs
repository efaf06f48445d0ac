//! Reads a table row by row: a JSON list of objects of up to gigabytes, of which one row at a time is in memory.
//!
//! Each row is given to serde_json out of a buffer that holds many, which is several times faster than reading it byte by byte
//! from the file.

use std::io::{ErrorKind, Read};
use std::path::Path;

use jetlag_record::files;
use serde::de::DeserializeOwned;
use serde_json::Deserializer;

use super::field::Wrong;
use crate::table_error::{After, ShapeProblem, TableError};

/// Bytes of the longest row. Those of nuScenes have below 1 000.
const LONGEST_ROW: usize = 1 << 20;

/// Rows of the longest table, for they are numbered in 32 bits. nuScenes has 2.6 million.
const MOST_ROWS: usize = u32::MAX as usize - 1;

/// Reads a table, and hands over each row with its number from 0.
///
/// # Errors
/// A file that cannot be read or is no list of objects, and what `each` says of a row's field.
pub(super) fn read<R: DeserializeOwned>(
    path: &Path,
    each: impl FnMut(usize, R) -> Result<(), Wrong>,
) -> Result<(), TableError> {
    let io = |error| TableError::Io {
        path: path.to_owned(),
        error,
    };
    read_from(files::open(path).map_err(io)?, path, each)
}

/// Like [`read`], of what was opened already.
pub(super) fn read_from<R: DeserializeOwned>(
    file: impl Read,
    path: &Path,
    mut each: impl FnMut(usize, R) -> Result<(), Wrong>,
) -> Result<(), TableError> {
    let mut rows = Rows {
        file,
        buffer: vec![0; LONGEST_ROW],
        at: 0,
        end: 0,
    };
    let mut number = 0;
    loop {
        let row = rows.next(number).map_err(|stop| match stop {
            Stop::Io(error) => TableError::Io {
                path: path.to_owned(),
                error,
            },
            Stop::Shape(problem) => TableError::Shape {
                path: path.to_owned(),
                after: After(number),
                problem,
            },
        })?;
        let Some(row) = row else { return Ok(()) };
        each(number, row).map_err(|wrong| wrong.in_row(path, number))?;
        number += 1;
    }
}

enum Stop {
    Io(std::io::Error),
    Shape(ShapeProblem),
}

impl From<ShapeProblem> for Stop {
    fn from(problem: ShapeProblem) -> Self {
        Stop::Shape(problem)
    }
}

struct Rows<F> {
    file: F,
    /// Of the file: what is not yet read is at `at..end`.
    buffer: Vec<u8>,
    at: usize,
    end: usize,
}

impl<F: Read> Rows<F> {
    /// The next row after so many, or `None` after the last.
    fn next<R: DeserializeOwned>(&mut self, number: usize) -> Result<Option<R>, Stop> {
        if number == 0 {
            self.fill()?;
            if self.buffer[..self.end].starts_with(b"\xef\xbb\xbf") {
                self.at = 3; // The mark that some editors put before UTF-8.
            }
            match self.peek()? {
                Some(b'[') => self.at += 1,
                found => return Err(expected("`[` before the rows", found)),
            }
        }
        match (self.peek()?, number) {
            (Some(b']'), _) => {
                self.at += 1;
                return match self.peek()? {
                    None => Ok(None),
                    more => Err(expected("the end of the file", more)),
                };
            }
            (_, 0) => {}
            (Some(b','), _) => self.at += 1,
            (found, _) => return Err(expected("`,` or `]`", found)),
        }
        match self.peek()? {
            Some(b'{') if number >= MOST_ROWS => Err(ShapeProblem::ManyRows(MOST_ROWS).into()),
            Some(b'{') => self.row().map(Some),
            found => Err(expected("a row in `{…}`", found)),
        }
    }

    fn row<R: DeserializeOwned>(&mut self) -> Result<R, Stop> {
        loop {
            let mut values = Deserializer::from_slice(&self.buffer[self.at..self.end]).into_iter::<R>();
            let error = match values.next() {
                Some(Ok(row)) => {
                    self.at += values.byte_offset();
                    return Ok(row);
                }
                Some(Err(error)) => Some(error),
                None => None,
            };
            // Whatever the error: cut after its sign, a number is no number, and its rest may be in the file.
            if self.fill()? {
                continue;
            }
            return Err(match error {
                Some(error) if !error.is_eof() && !self.buffer[..self.end].ends_with(b"-") => {
                    ShapeProblem::Json(without_place(&error)).into()
                }
                _ if self.end == self.buffer.len() => ShapeProblem::LongRow(self.buffer.len()).into(),
                _ => ShapeProblem::Cut.into(),
            });
        }
    }

    /// The next byte that is no white space, or `None` at the end of the file.
    fn peek(&mut self) -> Result<Option<u8>, Stop> {
        loop {
            while let Some(byte) = self.buffer[self.at..self.end].first() {
                if !byte.is_ascii_whitespace() {
                    return Ok(Some(*byte));
                }
                self.at += 1;
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// Makes room and reads on; `false` where nothing came: the file's end, or a full buffer.
    fn fill(&mut self) -> Result<bool, Stop> {
        self.buffer.copy_within(self.at..self.end, 0);
        self.end -= self.at;
        self.at = 0;
        let before = self.end;
        while self.end < self.buffer.len() {
            match self.file.read(&mut self.buffer[self.end..]) {
                Ok(0) => break,
                Ok(bytes) => self.end += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Stop::Io(error)),
            }
        }
        Ok(self.end > before)
    }
}

fn expected(wanted: &'static str, found: Option<u8>) -> Stop {
    match found {
        None => ShapeProblem::Cut.into(),
        Some(byte) => ShapeProblem::Expected {
            wanted,
            found: format!("`{}`", byte.escape_ascii()),
        }
        .into(),
    }
}

/// Its place counts from the beginning of the buffer, and so says nothing.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::field::Field;
    use super::super::token::Token;
    use super::*;

    #[derive(serde::Deserialize)]
    struct Row {
        #[serde(default)]
        token: Field<Token>,
    }

    /// Gives a byte at a time, as a slow disk might.
    struct Slowly<'a>(&'a [u8]);

    impl Read for Slowly<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let count = self.0.len().min(into.len()).min(1);
            into[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn tokens(text: &[u8]) -> Result<Vec<String>, String> {
        let mut found = Vec::new();
        read_from(Slowly(text), "t.json".as_ref(), |_, row: Row| {
            found.push(row.token.needed("token")?.to_string());
            Ok(())
        })
        .map_err(|error| error.to_string())?;
        Ok(found)
    }

    #[test]
    fn rows_come_in_order_and_what_is_not_needed_is_passed_over() {
        let text =
            b"\xef\xbb\xbf [ {\"x\": [{}, [1]], \"token\": \"a\"} ,\n{\"token\": 7, \"y\": \"}\\\"]\"}\n]\n";
        assert_eq!(tokens(text).unwrap(), ["a", "7"]);
        assert_eq!(tokens(b"[]").unwrap(), [""; 0]);
    }

    #[test]
    fn what_is_no_table_is_said_in_one_sentence() {
        for (text, phrase) in [
            ("", "at its beginning: the file ends in the middle"),
            ("{}", "`[` before the rows was expected, found `{`"),
            ("[1]", "a row in `{…}` was expected, found `1`"),
            ("[{\"token\":\"a\"}", "after row 1: the file ends in the middle"),
            ("[{\"token\":\"a\"} {", "`,` or `]` was expected, found `{`"),
            ("[{\"token\":\"a\"},]", "a row in `{…}` was expected, found `]`"),
            ("[{\"token\":\"a\"}]x", "the end of the file was expected"),
            ("[{\"token\":}]", "not valid JSON (expected value)"),
            ("[{\"x\": -", "the file ends in the middle"),
            ("[{\"token\":\"a\",\"token\":\"b\"}]", "duplicate field `token`"),
            ("[{}]", "row 1, `token`: is absent; a token is needed"),
            ("[{\"token\":null}]", "row 1, `token`: is absent"),
            ("[{\"token\":\"\"}]", "must be a token; found an empty text"),
            (
                "[{\"token\":[1,2]}]",
                "must be a token; found a list of 2 numbers",
            ),
            ("[{\"token\":{\"a\":1}}]", "must be a token; found an object"),
            ("[{\"token\":1e999}]", "number out of range"),
            ("[{\"token\":\"\u{1}\"}]", "control character"),
        ] {
            let error = tokens(text.as_bytes()).unwrap_err();
            assert!(
                error.contains(phrase) && error.starts_with("t.json"),
                "{text}: {error}"
            );
        }
        assert!(
            tokens(b"[{\"token\":\"\xff\"}]")
                .unwrap_err()
                .contains("not valid JSON")
        );
    }

    #[test]
    fn a_row_without_end_is_not_read_whole() {
        let endless = std::io::repeat(b' ').take(9 << 20);
        let text = b"[{\"x\": ".chain(endless);
        let error = read_from(text, "t.json".as_ref(), |_, _: Row| Ok(()))
            .unwrap_err()
            .to_string();
        assert!(error.contains("longer than 1048576 bytes"), "{error}");
        let deep = "[".repeat(200_000);
        assert!(tokens(format!("[{{\"x\":{deep}").as_bytes()).is_err());
        assert!(tokens(format!("[{{\"token\":{deep}").as_bytes()).is_err());
    }

    #[test]
    fn a_row_across_the_edge_of_the_buffer_is_whole() {
        let mut text = b"[".to_vec();
        let many = 60_000;
        for number in 0..many {
            text.extend(
                format!(
                    "{{\"token\": \"t{number}\", \"pad\": \"{}\"}},\n",
                    "p".repeat(number % 57)
                )
                .bytes(),
            );
        }
        text.truncate(text.len() - 2);
        text.push(b']');
        let mut next = 0;
        let mut seen = BTreeMap::new();
        read_from(text.as_slice(), "t.json".as_ref(), |number, row: Row| {
            assert_eq!(number, next);
            next += 1;
            seen.insert(row.token.needed("token")?, number);
            Ok(())
        })
        .unwrap();
        assert_eq!((next, seen.len()), (many, many));
    }
}
