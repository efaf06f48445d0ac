//! The first layer, *declare*: layouts, vtable slots, enum values and entry points per era. No calls.
//!
//! A public TensorRT object is a small wrapper ([`layout::Wrapper`]) whose inline C++ methods forward to an
//! `apiv::V*` object behind it; those vtables are the ABI that the library keeps. A [`method::Method`] pairs
//! one slot with its C++ type, so that a call site cannot get either wrong, and is absent where a release
//! does not have it: an unknown slot is not an error but another function.
//!
//! Adding a release: compare its headers with the tables (see `docs/tensorrt.md` of the project), append what
//! is new, and raise [`crate::Era::newest_known`].

pub mod layout;
pub mod method;
pub mod slots_builder;
pub mod slots_parser;
pub mod slots_runtime;
pub mod values;

use method::Row;
use values::ValueRow;

/// Every row of every table.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    [slots_builder::ROWS, slots_runtime::ROWS, slots_parser::ROWS]
        .into_iter()
        .flatten()
        .flat_map(|rows| rows.iter().copied())
}

/// Every enumerator of every table.
pub fn value_rows() -> impl Iterator<Item = &'static ValueRow> {
    values::ROWS.iter().flat_map(|rows| rows.iter())
}
