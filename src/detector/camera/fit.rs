//! Where an image comes to lie in the network's input: pure geometry, no pixels.
//!
//! Deployments differ by a pixel in how they round the resized size; a detector must be given the way its
//! network was trained with, so the way is written in the spec.

use serde::Deserialize;

use super::Fit;
use crate::record::{fields, words};

fields! {
    /// How an image of any size is brought to the size of the network's input.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum FitSpec: "fit", else "Letterbox" {
        /// Kept in proportion, the rest filled.
        Letterbox[Letterbox, 0, "Letterbox(align: TopLeft)"],
        /// Pulled to the full size, out of proportion if need be.
        Stretch,
    }
}

impl Default for FitSpec {
    fn default() -> Self {
        FitSpec::Letterbox(Letterbox::default())
    }
}

fields! {
    /// The terms of a letterbox.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Letterbox {
        /// Where the image lies.
        pub align: Align = Align::Centre;
        /// Grey level (0 to 255, before normalising) of the filled part.
        pub pad: u8 = 114;
        /// How the resized width and height become whole pixels.
        pub rounding: Rounding = Rounding::Nearest;
    }
}

words! {
    Align: "align";
    Rounding: "rounding";
}

/// Where a letterboxed image lies in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Align {
    /// In the middle; an odd pixel goes to the right and the bottom.
    #[serde(alias = "Center")]
    Centre,
    /// At the top left corner.
    TopLeft,
}

/// How `size × ratio` becomes whole pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Rounding {
    /// To the nearest, halves to even: Python's `round(size * ratio)`.
    Nearest,
    /// Down: Python's `int(size * ratio)`.
    Down,
}

/// The rectangle of the input that the resized image covers, in pixels of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the rectangle's edges and size")]
pub struct Placement {
    pub left: usize,
    pub top: usize,
    pub width: usize,
    pub height: usize,
}

impl FitSpec {
    /// Where an image of `image` (width, height) lies in an input of `network` (width, height).
    /// No size may be zero.
    pub fn place(&self, image: [usize; 2], network: [usize; 2]) -> Placement {
        let letterbox = match self {
            FitSpec::Stretch => {
                return Placement {
                    left: 0,
                    top: 0,
                    width: network[0],
                    height: network[1],
                };
            }
            FitSpec::Letterbox(letterbox) => letterbox,
        };
        // In f64 and in this order, as the deployments that are to be matched compute it.
        let ratio = f64::min(
            network[1] as f64 / image[1] as f64,
            network[0] as f64 / image[0] as f64,
        );
        let [width, height] = [0, 1].map(|axis| {
            let exact = image[axis] as f64 * ratio;
            let whole = match letterbox.rounding {
                Rounding::Nearest => exact.round_ties_even(),
                Rounding::Down => exact.floor(),
            };
            (whole as usize).clamp(1, network[axis])
        });
        let (left, top) = match letterbox.align {
            Align::TopLeft => (0, 0),
            Align::Centre => ((network[0] - width) / 2, (network[1] - height) / 2),
        };
        Placement {
            left,
            top,
            width,
            height,
        }
    }

    /// Grey level of what the image does not cover.
    pub fn pad(&self) -> u8 {
        match self {
            FitSpec::Letterbox(letterbox) => letterbox.pad,
            FitSpec::Stretch => 0,
        }
    }
}

impl Placement {
    /// The mapping that this placement makes for an image of `image` (width, height).
    ///
    /// It is the exact inverse of the resize, from whole sizes; deployments that divide by the unrounded
    /// ratio instead are off by up to half a pixel of the input at the far edge.
    pub fn fit(&self, image: [usize; 2]) -> Fit {
        Fit {
            scale: [
                self.width as f32 / image[0] as f32,
                self.height as f32 / image[1] as f32,
            ],
            offset: [self.left as f32, self.top as f32],
            image: [image[0] as f32, image[1] as f32],
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::detector::Box2d;

    fn letterbox(align: Align, rounding: Rounding) -> FitSpec {
        FitSpec::Letterbox(Letterbox {
            align,
            pad: 0,
            rounding,
        })
    }

    #[test]
    fn a_wide_image_is_rounded_as_the_spec_says() {
        // 375 × 416/1242 = 125.6
        let place = |align, rounding| {
            let p = letterbox(align, rounding).place([1242, 375], [416, 416]);
            (p.left, p.top, p.width, p.height)
        };
        assert_eq!(place(Align::TopLeft, Rounding::Down), (0, 0, 416, 125));
        assert_eq!(place(Align::TopLeft, Rounding::Nearest), (0, 0, 416, 126));
        assert_eq!(place(Align::Centre, Rounding::Nearest), (0, 145, 416, 126));
        assert_eq!(
            place(Align::Centre, Rounding::Down),
            (0, 145, 416, 125),
            "the odd row goes below"
        );
    }

    #[test]
    fn an_extreme_shape_keeps_at_least_one_pixel() {
        let p = FitSpec::default().place([10_000, 1], [64, 64]);
        assert_eq!((p.width, p.height), (64, 1));
    }

    #[test]
    fn a_box_outside_the_image_is_clipped_to_nothing() {
        let fit = FitSpec::Stretch.place([100, 50], [32, 32]).fit([100, 50]);
        let far = Box2d {
            x1: 101.0,
            y1: 3.0,
            x2: 140.0,
            y2: 9.0,
        };
        assert_eq!(fit.clip(far), None);
        let across = Box2d { x1: -4.0, ..far };
        assert_eq!(
            fit.clip(across),
            Some(Box2d {
                x1: 0.0,
                y1: 3.0,
                x2: 100.0,
                y2: 9.0
            })
        );
    }

    proptest! {
        #[test]
        fn a_box_survives_the_way_to_the_network_and_back(
            image in [1usize..4000, 1usize..4000],
            network in [1usize..1300, 1usize..1300],
            spec in prop_oneof![
                Just(FitSpec::Stretch),
                Just(letterbox(Align::Centre, Rounding::Nearest)),
                Just(letterbox(Align::TopLeft, Rounding::Down)),
            ],
            corners in [0f32..1.0, 0f32..1.0, 0f32..1.0, 0f32..1.0],
        ) {
            let placement = spec.place(image, network);
            prop_assert!(placement.left + placement.width <= network[0]);
            prop_assert!(placement.top + placement.height <= network[1]);
            let fit = placement.fit(image);
            let [w, h] = fit.image;
            let original = Box2d { x1: corners[0] * w, y1: corners[1] * h, x2: corners[2] * w, y2: corners[3] * h };
            let inside = fit.to_network(original);
            prop_assert!(inside.x1 >= placement.left as f32 - 1e-3);
            prop_assert!(inside.y2 <= (placement.top + placement.height) as f32 + 1e-2);
            let back = fit.to_image(inside);
            // One network pixel may be many image pixels; the offset costs bits of the f32 in between.
            let tolerance = |scale: f32| 1e-3 + 3e-4 / scale;
            prop_assert!((back.x1 - original.x1).abs() < tolerance(fit.scale[0]));
            prop_assert!((back.x2 - original.x2).abs() < tolerance(fit.scale[0]));
            prop_assert!((back.y1 - original.y1).abs() < tolerance(fit.scale[1]));
            prop_assert!((back.y2 - original.y2).abs() < tolerance(fit.scale[1]));
        }
    }
}
