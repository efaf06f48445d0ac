//! The names of rows. nuScenes makes them of 32 hexadecimal digits, which are kept as 16 bytes: there are millions.

use std::fmt;
use std::sync::Arc;

/// The name of a row, as tables refer to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(Kind);

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Kind {
    Digits([u8; 16]),
    /// Of a dataset that names its rows otherwise.
    Text(Arc<str>),
}

impl Token {
    /// Of its text; two are equal where their texts are.
    pub fn new(text: &str) -> Self {
        Token(digits(text).map_or_else(|| Kind::Text(text.into()), Kind::Digits))
    }

    /// Its first half as a number: what differs first in tokens that are random, and the same for all texts.
    pub(super) fn beginning(&self) -> u64 {
        match &self.0 {
            Kind::Digits([a, b, c, d, e, f, g, h, ..]) => {
                u64::from_be_bytes([*a, *b, *c, *d, *e, *f, *g, *h])
            }
            Kind::Text(_) => u64::MAX,
        }
    }

    /// The text, cut where an error would become unreadable.
    pub(super) fn shortened(&self) -> String {
        shortened(&self.to_string())
    }
}

/// The beginning of a text from a file, for a message.
pub(super) fn shortened(text: &str) -> String {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// 32 lower-case hexadecimal digits. Others would not come out again as they were.
fn digits(text: &str) -> Option<[u8; 16]> {
    let text: &[u8; 32] = text.as_bytes().try_into().ok()?;
    let mut bytes = [0; 16];
    let mut other = 0;
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        let [high, low] = [DIGITS[usize::from(pair[0])], DIGITS[usize::from(pair[1])]];
        *byte = (high << 4) | (low & 0xf);
        other |= high | low;
    }
    (other < 16).then_some(bytes)
}

/// The value of each character as a digit; 16 and more for what is none.
const DIGITS: [u8; 256] = {
    let mut digits = [0xf0; 256];
    let mut value = 0;
    while value < 16 {
        digits[b"0123456789abcdef"[value] as usize] = value as u8;
        value += 1;
    }
    digits
};

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Digits(bytes) => bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
            Kind::Text(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_token_comes_out_as_it_went_in(text in "[0-9a-fA-F]{30,34}|.{0,40}") {
            prop_assert_eq!(Token::new(&text).to_string(), text);
        }
    }

    #[test]
    fn only_plain_digits_are_kept_as_bytes() {
        assert!(matches!(
            Token::new("ca9a282c9e77460f8360f564131a8af5").0,
            Kind::Digits(_)
        ));
        assert!(matches!(
            Token::new("CA9a282c9e77460f8360f564131a8af5").0,
            Kind::Text(_)
        ));
        assert!(matches!(Token::new("4").0, Kind::Text(_)));
    }
}
