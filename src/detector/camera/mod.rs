//! Camera detectors: an image fitted and normalised into one input tensor, one network, and a decode
//! head that turns its outputs into boxes of the original image.
//!
//! [`spec`] is what is written in RON and what it builds; [`fit`] places the image in the input;
//! [`preprocess`] resizes, normalises and lays out in one pass; [`head`] has a file a family of networks;
//! [`nms`] thins the candidates and [`postprocess`] joins the two. Executing the network is the backend's
//! affair, decoding files the source's. docs/detectors.md describes the spec for its writers.

pub mod also;
pub mod classes;
pub mod fit;
pub mod head;
pub mod nms;
pub mod postprocess;
pub mod preprocess;
pub mod spec;

use crate::detector::Box2d;

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

impl Fit {
    /// From pixels of the image to pixels of the network's input.
    pub fn to_network(&self, b: Box2d) -> Box2d {
        let [sx, sy] = self.scale;
        let [ox, oy] = self.offset;
        Box2d {
            x1: b.x1 * sx + ox,
            y1: b.y1 * sy + oy,
            x2: b.x2 * sx + ox,
            y2: b.y2 * sy + oy,
        }
    }

    /// From pixels of the network's input to pixels of the image; may reach beyond the image.
    pub fn to_image(&self, b: Box2d) -> Box2d {
        let [sx, sy] = self.scale;
        let [ox, oy] = self.offset;
        Box2d {
            x1: (b.x1 - ox) / sx,
            y1: (b.y1 - oy) / sy,
            x2: (b.x2 - ox) / sx,
            y2: (b.y2 - oy) / sy,
        }
    }

    /// The part of a box that lies in the image; `None` where nothing of it does.
    pub fn clip(&self, b: Box2d) -> Option<Box2d> {
        let [width, height] = self.image;
        let clipped = Box2d {
            x1: b.x1.max(0.0),
            y1: b.y1.max(0.0),
            x2: b.x2.min(width),
            y2: b.y2.min(height),
        };
        (clipped.x1 < clipped.x2 && clipped.y1 < clipped.y2).then_some(clipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_box_beside_the_image_nothing_is_left() {
        let fit = Fit {
            scale: [1.0; 2],
            offset: [0.0; 2],
            image: [640.0, 480.0],
        };
        let clipped = |x1: f32, y1: f32, x2: f32, y2: f32| fit.clip(Box2d { x1, y1, x2, y2 });
        for (x1, y1, x2, y2) in [
            (640.0, 10.0, 700.0, 20.0),
            (-20.0, 10.0, 0.0, 20.0),
            (10.0, 480.0, 20.0, 490.0),
            (10.0, -5.0, 20.0, 0.0),
        ] {
            assert_eq!(clipped(x1, y1, x2, y2), None);
        }
        let inside = clipped(630.0, -5.0, 700.0, 20.0);
        assert_eq!(
            inside,
            Some(Box2d {
                x1: 630.0,
                y1: 0.0,
                x2: 640.0,
                y2: 20.0
            })
        );
    }
}
