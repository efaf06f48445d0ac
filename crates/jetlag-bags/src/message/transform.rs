//! Where frames of reference are.

use super::Header;
use crate::cdr::{CdrError, Decoder};

/// `geometry_msgs/TransformStamped`: where the child's frame is, in that of the header.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransformStamped<'a> {
    /// The time, and the parent's frame.
    pub header: Header<'a>,
    /// The child's frame.
    pub child_frame_id: &'a str,
    /// x, y, z in metres.
    pub translation: [f64; 3],
    /// The quaternion x, y, z, w.
    pub rotation: [f64; 4],
}

/// Bytes of the smallest transform: two empty texts, a stamp, seven numbers.
const SMALLEST: usize = 72;

impl<'a> TransformStamped<'a> {
    /// Of a message.
    ///
    /// # Errors
    /// The message is cut off.
    pub fn decode(message: &'a [u8]) -> Result<TransformStamped<'a>, CdrError> {
        TransformStamped::next(&mut Decoder::new(message)?)
    }

    fn next(decoder: &mut Decoder<'a>) -> Result<TransformStamped<'a>, CdrError> {
        Ok(TransformStamped {
            header: Header::decode(decoder)?,
            child_frame_id: decoder.str()?,
            translation: decoder.f64s()?,
            rotation: decoder.f64s()?,
        })
    }
}

/// The transforms of a `tf2_msgs/TFMessage`.
///
/// # Errors
/// The message is cut off.
pub fn transforms(message: &[u8]) -> Result<Vec<TransformStamped<'_>>, CdrError> {
    let mut decoder = Decoder::new(message)?;
    let count = decoder.structures(SMALLEST)?;
    (0..count).map(|_| TransformStamped::next(&mut decoder)).collect()
}
