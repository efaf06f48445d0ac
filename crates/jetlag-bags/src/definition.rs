//! What a type of messages is, as a bag describes it to readers that do not know it.

/// The description of a type, with all types that it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The language: `ros2msg` or `ros2idl`.
    pub encoding: String,
    /// The text, as stored.
    pub text: Vec<u8>,
}
