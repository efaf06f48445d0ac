//! Pairs that JSON has as an object.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// Pairs as a JSON object that keeps their order.
pub(super) fn as_map<S: Serializer, V: Serialize>(
    pairs: &[(&'static str, V)],
    out: S,
) -> Result<S::Ok, S::Error> {
    let mut map = out.serialize_map(Some(pairs.len()))?;
    for (name, value) in pairs {
        map.serialize_entry(name, value)?;
    }
    map.end()
}
