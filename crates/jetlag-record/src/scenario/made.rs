//! Inputs that are made, for a network that runs without pre- and post-processing.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What a bare network is fed: the same content for every frame.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeInputs {
    /// Shapes of inputs; those that the network itself fixes need none.
    pub shapes: Shapes,
    /// What the inputs hold.
    pub fill: Fill,
}

/// Content of made inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fill {
    /// Zeros. A device may take less power for them than for real data.
    Zeros,
    /// Ones.
    Ones,
    /// Random numbers: floats from 0 to 1, any byte, and other integers, which are often indices.
    Random {
        /// Equal seeds give equal inputs.
        seed: u64,
        /// Integers of four and eight bytes are below this; 0 or 1 without it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max: Option<NonZeroU32>,
    },
}

impl Default for Fill {
    fn default() -> Self {
        Fill::Random { seed: 0, max: None }
    }
}

impl fmt::Display for Fill {
    /// As a scenario has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fill::Zeros => f.write_str("Zeros"),
            Fill::Ones => f.write_str("Ones"),
            Fill::Random { seed, max: None } => write!(f, "Random(seed: {seed})"),
            Fill::Random { seed, max: Some(max) } => write!(f, "Random(seed: {seed}, max: {max})"),
        }
    }
}

/// Shapes of inputs by name, written as trtexec writes them: `images:1x3x640x640,anchors:100x4`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shapes(pub BTreeMap<String, Vec<usize>>);

/// What is wrong with a list of shapes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WrongShapes {
    /// One of them cannot be read.
    #[error("`{part}`: write INPUT:1x3x640x640, several separated by commas")]
    NotAShape {
        /// The part between two commas.
        part: String,
    },
    /// One input has two.
    #[error("input `{input}` is given twice in `{text}`")]
    Twice {
        /// The input's name.
        input: String,
        /// All that was written.
        text: String,
    },
}

impl FromStr for Shapes {
    type Err = WrongShapes;

    fn from_str(text: &str) -> Result<Self, WrongShapes> {
        let mut shapes = BTreeMap::new();
        for part in text.split(',') {
            let wrong = || WrongShapes::NotAShape {
                part: part.to_owned(),
            };
            // Names of tensors may hold colons ("images:0"); the shape follows the last.
            let (name, shape) = part.trim().rsplit_once(':').ok_or_else(wrong)?;
            let extents: Result<Vec<usize>, _> = shape.split(['x', 'X']).map(str::parse).collect();
            let extents = extents.map_err(|_| wrong())?;
            if name.is_empty() {
                return Err(wrong());
            }
            let input = name.trim_matches('\'').to_owned();
            if shapes.insert(input.clone(), extents).is_some() {
                return Err(WrongShapes::Twice {
                    input,
                    text: text.to_owned(),
                });
            }
        }
        Ok(Self(shapes))
    }
}

impl fmt::Display for Shapes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (name, extents)) in self.0.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            let extents: Vec<String> = extents.iter().map(usize::to_string).collect();
            write!(f, "{comma}{name}:{}", extents.join("x"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_read_and_written_as_trtexec_writes_them() {
        let text = "images:0:1x3x640x640,scale:1";
        let shapes: Shapes = text.parse().expect("shapes");
        assert_eq!(shapes.0["images:0"], [1, 3, 640, 640]);
        assert_eq!(shapes.to_string(), text);
        for wrong in [
            "images",
            "images:",
            ":1x2",
            "images:1x-3",
            "images:1xx3",
            "a:1,a:2",
            "",
        ] {
            assert!(wrong.parse::<Shapes>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_fill_is_shown_as_a_scenario_has_it() {
        let random = |max| Fill::Random {
            seed: 7,
            max: NonZeroU32::new(max),
        };
        assert_eq!(random(0).to_string(), "Random(seed: 7)");
        assert_eq!(random(30522).to_string(), "Random(seed: 7, max: 30522)");
        assert_eq!(Fill::Zeros.to_string(), "Zeros");
    }
}
