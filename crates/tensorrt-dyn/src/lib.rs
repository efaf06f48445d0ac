//! Placeholder of the crate that the double under `tests/double` belongs to.
