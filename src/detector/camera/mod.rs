//! Camera detectors.

/// How an image was fitted into the network's input: network = image × scale + offset.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fit {
    /// Network pixels per image pixel, across and down.
    pub scale: [f32; 2],
    /// Where the image's corner lies in the network's input, across and down.
    pub offset: [f32; 2],
    /// Width and height of the image in pixels.
    pub image: [f32; 2],
}
