//! A kind of file that users write: how large one may be, and what messages call it.

use crate::units::Bytes;

/// A kind of file that users write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Format {
    /// What messages call one: "scenario".
    pub(crate) what: &'static str,
    /// Longest text; one beyond this is something else, and not worth parsing.
    pub(crate) longest: Bytes,
    /// How one begins, for a file that holds none.
    pub(crate) begins: &'static str,
}
