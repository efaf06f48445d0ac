//! Enums of plain words, such as `Streams` or `Exclusive`: their declaration for serde is the only list of the words.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeOwned, IntoDeserializer};

/// The words for an enum whose variants hold nothing, in the order of its declaration.
pub fn words<T: DeserializeOwned>() -> &'static [&'static str] {
    // No variant is called so, and serde then names those that there are.
    match parsed::<T>("") {
        Err(NoSuchWord { words }) => words,
        Ok(_) => &[],
    }
}

/// The variant of this name.
pub fn word<T: DeserializeOwned>(name: &str) -> Option<T> {
    parsed(name).ok()
}

fn parsed<T: DeserializeOwned>(name: &str) -> Result<T, NoSuchWord> {
    let name: StrDeserializer<'_, NoSuchWord> = name.into_deserializer();
    T::deserialize(name)
}

/// serde's complaint, as far as it is of use here.
#[derive(Debug)]
struct NoSuchWord {
    /// Those that there are.
    words: &'static [&'static str],
}

impl fmt::Display for NoSuchWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected one of {}", self.words.join(", "))
    }
}

impl std::error::Error for NoSuchWord {}

impl de::Error for NoSuchWord {
    fn custom<T: fmt::Display>(_: T) -> Self {
        NoSuchWord { words: &[] }
    }
    fn unknown_variant(_: &str, words: &'static [&'static str]) -> Self {
        NoSuchWord { words }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{ClockKind, Sharing};

    #[test]
    fn the_words_of_an_enum_are_those_of_its_declaration() {
        assert_eq!(words::<ClockKind>(), ["Real", "Virtual"]);
        assert_eq!(words::<Sharing>().first(), Some(&"Streams"));
        for name in words::<Sharing>() {
            let sharing: Option<Sharing> = word(name);
            assert_eq!(
                sharing.map(|sharing| format!("{sharing:?}")).as_deref(),
                Some(*name)
            );
        }
        assert_eq!(word::<ClockKind>("real"), None);
    }
}
