//! Detections drawn on images and on LiDAR sweeps seen from above.
//!
//! [`draw`] puts boxes on an image in place and allocates nothing, so that a video can be drawn frame by frame; [`above`] makes a
//! picture of a sweep; [`captioned`] adds a line of text below a picture; [`write_png`] writes it. Found boxes have
//! solid lines and truth has dashed ones: colour tells classes apart and nothing else.

mod above;
mod canvas;
mod colours;
mod error;
mod labels;
mod on_image;
mod picture;

pub use above::{View, above};
pub use error::DrawError;
pub use on_image::draw;
pub use picture::{Picture, captioned, write_png};

use jetlag_record::detection::Place;
use std::borrow::Cow;

/// A box to be drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark<'a> {
    /// Found or true.
    pub kind: Kind,
    /// Index of its class, which decides the colour.
    pub class: u16,
    /// What stands beside it, such as `car 0.91`; characters beyond Latin-1 become `?`.
    pub text: Cow<'a, str>,
    /// Where it is. [`draw`] shows boxes in the image alone, [`above`] those in space.
    pub place: Place,
}

/// What a box stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A detector found it: solid lines.
    Found,
    /// It is there: dashed lines.
    Truth,
}

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
