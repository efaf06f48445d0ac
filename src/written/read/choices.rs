//! What a field is once it is read, and the alternatives that a choice has.

use super::super::problems::Spot;

/// A field as read. `Wrong` is told apart from `Absent` so that a mistake is not reported a second time as
/// something missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Read<T> {
    /// Not written, or `None`.
    #[default]
    Absent,
    /// Written, wrong, and reported.
    Wrong,
    /// Written, with its place.
    Given(Spot<T>),
}

impl<T> Read<T> {
    pub(crate) fn given(&self) -> Option<&Spot<T>> {
        match self {
            Read::Given(spot) => Some(spot),
            _ => None,
        }
    }
    /// The value, or what it is without being written.
    pub(crate) fn or(&self, default: T) -> T
    where
        T: Clone,
    {
        self.given().map_or(default, |spot| spot.value.clone())
    }
    /// The value, or its type's default.
    pub(crate) fn or_default(&self) -> T
    where
        T: Clone + Default,
    {
        self.or(T::default())
    }
}

/// One alternative of a choice.
pub(crate) struct Choice {
    pub(crate) name: &'static str,
    /// Names of the fields that it has.
    pub(crate) fields: &'static [&'static str],
    /// How many of them, from the first, may be written without their name.
    pub(crate) bare: usize,
    /// The alternative in full, for messages.
    pub(crate) example: &'static str,
}

/// A choice that is one word.
pub(crate) const fn plain(name: &'static str) -> Choice {
    choice(name, &[], 0, name)
}

/// A choice with fields, of which the first `bare` may be written without their name.
pub(crate) const fn choice(
    name: &'static str,
    fields: &'static [&'static str],
    bare: usize,
    example: &'static str,
) -> Choice {
    Choice {
        name,
        fields,
        bare,
        example,
    }
}

/// A field with alternatives.
pub(crate) struct Choices<'c> {
    /// The field in words, such as "arrival".
    pub(crate) what: &'static str,
    /// What it is where it is not written; an override of one of its fields then means this.
    pub(crate) default: &'static str,
    pub(crate) all: &'c [Choice],
}
