//! Why nothing is drawn or written.

/// Why nothing was drawn.
#[derive(Debug, thiserror::Error)]
pub enum DrawError {
    /// The buffer does not hold such an image.
    #[error(
        "a picture of {width} × {height} has width × height × 3 bytes, at most 32768 a side; this one has {bytes}"
    )]
    WrongSize {
        /// Width in pixels.
        width: usize,
        /// Height in pixels.
        height: usize,
        /// Bytes that were given.
        bytes: usize,
    },
    /// The picture cannot be written.
    #[error("the PNG cannot be written: {0}")]
    Png(#[from] png::EncodingError),
}
