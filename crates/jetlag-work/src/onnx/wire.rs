//! Protobuf's wire format, read without believing a length: nothing is set aside by what the file says, and what is not
//! needed is passed over without being read.

use std::io::{BufRead, Read as _, Seek};

use super::tensor::shown;
use crate::error::WorkError;

/// As deep as messages may lie within each other, as in protobuf's own parsers. A graph within a node takes three.
const MOST_DEPTH: usize = 100;
/// As many messages as a file may hold: 50 000 nodes with attributes and shapes are 600 000.
const MOST_MESSAGES: usize = 4_000_000;
/// As long as a name may be.
const MOST_TEXT: u64 = 1 << 16;
/// As many numbers as all lists of the file may hold together that are kept.
const MOST_NUMBERS: usize = 16_000_000;

/// A field's content.
pub(super) enum Content {
    /// A number as it stands.
    Number(u64),
    /// Four bytes.
    Four([u8; 4]),
    /// Eight bytes.
    Eight([u8; 8]),
    /// So many bytes, which come next.
    Bytes(u64),
}

/// A place in a file of messages.
pub(super) struct Wire<R> {
    input: R,
    at: u64,
    depth: usize,
    messages: usize,
    numbers: usize,
}

impl<R: BufRead + Seek> Wire<R> {
    pub(super) fn new(input: R) -> Self {
        Wire {
            input,
            at: 0,
            depth: 0,
            messages: 0,
            numbers: 0,
        }
    }

    /// The place in the file, in bytes.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    pub(super) fn damaged(&self, problem: impl Into<String>) -> WorkError {
        WorkError::Damaged {
            at: self.at,
            problem: problem.into(),
        }
    }

    /// Reads a message of this length: `field` gets each field and reads its content, or leaves it.
    pub(super) fn message(
        &mut self,
        length: u64,
        mut field: impl FnMut(&mut Self, u64, Content) -> Result<(), WorkError>,
    ) -> Result<(), WorkError> {
        self.messages += 1;
        if self.messages > MOST_MESSAGES {
            return Err(self.damaged("it has more nodes, tensors and shapes than any network"));
        }
        if self.depth >= MOST_DEPTH {
            return Err(self.damaged(format!("messages are nested more than {MOST_DEPTH} deep")));
        }
        self.depth += 1;
        let end = self.at.saturating_add(length);
        while self.at < end {
            let tag = self.number(end)?;
            let content = match tag & 7 {
                0 => Content::Number(self.number(end)?),
                1 => Content::Eight(self.fixed(end)?),
                2 => {
                    let length = self.number(end)?;
                    let left = end - self.at;
                    if length > left {
                        let problem = format!("a field claims {length} bytes, but only {left} are left");
                        return Err(self.damaged(problem));
                    }
                    Content::Bytes(length)
                }
                5 => Content::Four(self.fixed(end)?),
                kind => return Err(self.damaged(format!("a field of kind {kind} is invalid in ONNX"))),
            };
            if tag >> 3 == 0 || tag > u64::from(u32::MAX) {
                return Err(self.damaged(format!("tag {tag} is invalid in ONNX")));
            }
            let after = match content {
                Content::Bytes(length) => Some(self.at + length),
                _ => None,
            };
            field(self, tag >> 3, content)?;
            if let Some(after) = after {
                if self.at > after {
                    return Err(self.damaged("a field is longer than it says"));
                }
                self.skip(after - self.at)?;
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// A name or other text.
    pub(super) fn text(&mut self, content: &Content) -> Result<String, WorkError> {
        let Content::Bytes(length) = content else {
            return Err(self.damaged("there is a number where text should be"));
        };
        if *length > MOST_TEXT {
            return Err(self.damaged(format!("a name has {length} bytes")));
        }
        let bytes = self.bytes(*length)?;
        match String::from_utf8(bytes) {
            Ok(text) => Ok(text),
            // Old exporters wrote names in other alphabets; two of them are rarely confused by it.
            Err(error) => Ok(shown(&String::from_utf8_lossy(error.as_bytes()))),
        }
    }

    /// So many bytes as they are.
    pub(super) fn bytes(&mut self, length: u64) -> Result<Vec<u8>, WorkError> {
        let mut bytes = Vec::new();
        let got = (&mut self.input).take(length).read_to_end(&mut bytes);
        match got {
            Ok(got) if got as u64 == length => self.at += length,
            Ok(got) => {
                self.at += got as u64;
                return Err(self.damaged("the file ends here"));
            }
            Err(error) => return Err(self.damaged(error.to_string())),
        }
        Ok(bytes)
    }

    /// Whole numbers, one or a packed list.
    pub(super) fn ints(&mut self, content: &Content, into: &mut Vec<i64>) -> Result<(), WorkError> {
        match content {
            Content::Number(number) => self.keep(into, number.cast_signed())?,
            Content::Bytes(length) => {
                let end = self.at + length;
                while self.at < end {
                    let number = self.number(end)?;
                    self.keep(into, number.cast_signed())?;
                }
            }
            _ => return Err(self.damaged("a list of whole numbers is written as something else")),
        }
        Ok(())
    }

    /// Singles, one or a packed list.
    pub(super) fn floats(&mut self, content: &Content, into: &mut Vec<f32>) -> Result<(), WorkError> {
        match content {
            Content::Four(bytes) => self.keep(into, f32::from_le_bytes(*bytes))?,
            Content::Bytes(length) if length % 4 == 0 => {
                let end = self.at + length;
                while self.at < end {
                    let bytes = self.fixed(end)?;
                    self.keep(into, f32::from_le_bytes(bytes))?;
                }
            }
            _ => return Err(self.damaged("a list of singles is written as something else")),
        }
        Ok(())
    }

    /// Doubles, one or a packed list.
    pub(super) fn doubles(&mut self, content: &Content, into: &mut Vec<f64>) -> Result<(), WorkError> {
        match content {
            Content::Eight(bytes) => self.keep(into, f64::from_le_bytes(*bytes))?,
            Content::Bytes(length) if length % 8 == 0 => {
                let end = self.at + length;
                while self.at < end {
                    let bytes = self.fixed(end)?;
                    self.keep(into, f64::from_le_bytes(bytes))?;
                }
            }
            _ => return Err(self.damaged("a list of doubles is written as something else")),
        }
        Ok(())
    }

    fn keep<T>(&mut self, into: &mut Vec<T>, value: T) -> Result<(), WorkError> {
        self.numbers += 1;
        if self.numbers > MOST_NUMBERS {
            return Err(self.damaged("its attributes hold more numbers than any network's"));
        }
        into.push(value);
        Ok(())
    }

    /// A number of seven bits a byte, before `end`.
    fn number(&mut self, end: u64) -> Result<u64, WorkError> {
        let mut value = 0_u64;
        for place in 0..10 {
            let [byte] = self.fixed(end)?;
            value |= u64::from(byte & 0x7f).checked_shl(7 * place).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(self.damaged("a number has more than 64 bits"))
    }

    fn fixed<const N: usize>(&mut self, end: u64) -> Result<[u8; N], WorkError> {
        let mut bytes = [0; N];
        if self.at + N as u64 > end {
            return Err(self.damaged("a number is cut off"));
        }
        if let Err(error) = self.input.read_exact(&mut bytes) {
            return Err(self.damaged(error.to_string()));
        }
        self.at += N as u64;
        Ok(bytes)
    }

    fn skip(&mut self, length: u64) -> Result<(), WorkError> {
        if length == 0 {
            return Ok(());
        }
        match self.input.seek_relative(length.cast_signed()) {
            Ok(()) => self.at += length,
            Err(error) => return Err(self.damaged(error.to_string())),
        }
        Ok(())
    }
}
