//! Inputs that are made, for a network that runs without pre- and post-processing.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What a bare network is fed: the same content for every frame.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MadeInputs {
    /// Shapes of inputs; those that the network itself fixes need none.
    pub shapes: Shapes,
    /// What the inputs hold.
    pub fill: Fill,
    /// What is done with the outputs; `None` where they are left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record_outputs: Option<RecordOutputs>,
}

/// What is done with a bare network's outputs once the run is over: those of the last frame in each slot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordOutputs {
    /// The folder that they are written to, a `.npy` file each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<PathBuf>,
    /// The folder with what they are compared with, a `.npy` file each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<PathBuf>,
    /// How far an element may be from its reference …
    pub absolute: f64,
    /// … beside this share of the reference's magnitude.
    pub relative: f64,
}

impl RecordOutputs {
    /// Both tolerances where none is given, as Polygraphy has them.
    pub const TOLERANCE: f64 = 1e-5;
}

/// A file with the content of an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// The input's name; the one at the same place in the network where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// A `.npy` file, or one of exactly the input's bytes.
    pub file: PathBuf,
}

/// Content of made inputs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// What files hold, one for each input.
    Files(Vec<InputFile>),
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
            Fill::Files(files) => {
                let files: Vec<String> = files.iter().map(InputFile::to_string).collect();
                write!(f, "Files([{}])", files.join(", "))
            }
        }
    }
}

impl fmt::Display for InputFile {
    /// As a scenario has it; RON's strings are written as Rust's are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display().to_string();
        match &self.input {
            Some(input) => write!(f, "(input: {input:?}, file: {file:?})"),
            None => write!(f, "{file:?}"),
        }
    }
}

impl fmt::Display for RecordOutputs {
    /// As a scenario has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        for (name, folder) in [("keep", &self.keep), ("reference", &self.reference)] {
            if let Some(folder) = folder {
                write!(f, "{name}: {:?}, ", folder.display().to_string())?;
            }
        }
        write!(f, "absolute: {:?}, relative: {:?})", self.absolute, self.relative)
    }
}

impl fmt::Display for MadeInputs {
    /// The fields that follow `network` in a scenario.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.shapes.0.is_empty() {
            write!(f, "shapes: {:?}, ", self.shapes.to_string())?;
        }
        write!(f, "fill: {}", self.fill)?;
        match &self.record_outputs {
            Some(outputs) => write!(f, ", record_outputs: {outputs}"),
            None => Ok(()),
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
        let named = |input: Option<&str>, file: &str| InputFile {
            input: input.map(str::to_owned),
            file: file.into(),
        };
        let files = Fill::Files(vec![named(None, "a.npy"), named(Some("b"), "c.bin")]);
        assert_eq!(
            files.to_string(),
            "Files([\"a.npy\", (input: \"b\", file: \"c.bin\")])"
        );
    }
}
