//! What a field is once it is read.

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
