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
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

fn digit(character: u8) -> Option<u8> {
    match character {
        b'0'..=b'9' => Some(character - b'0'),
        b'a'..=b'f' => Some(character - b'a' + 10),
        _ => None,
    }
}

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
