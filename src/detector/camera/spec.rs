//! A camera detector as written in RON, and what it builds. docs/detectors.md describes every field.
//!
//! Everything that can be known without the network is checked here, all problems in one message; the
//! shapes of the network's outputs show on the first frame and are checked by the heads.

use std::path::Path;

use serde::Deserialize;

use super::classes::COCO80;
use super::fit::FitSpec;
use super::head::{Geometry, Head};
use super::nms::Nms;
use super::postprocess::CameraPostprocess;
use super::preprocess::{CameraPreprocess, Colour, InputFormat, Layout, block};
use crate::backend::{DeviceInput, NetworkSource, Program, Step, TensorSpec};
use crate::detector::{Detector, DetectorError};
use crate::source::ContentKind;
use crate::tensor::ElementType;

/// A camera detector as written.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CameraSpec {
    /// Shown in results; the spec's own name where it is left out.
    #[serde(default)]
    pub name: Option<String>,
    /// What the network tells apart.
    pub classes: Classes,
    /// The ONNX file, from the spec's folder.
    pub network: String,
    /// What the network wants of its input.
    pub input: InputSpec,
    /// How its outputs are read.
    pub head: Head,
    /// The lowest score that counts as a detection.
    #[serde(default = "usual_threshold")]
    pub score_threshold: f32,
    /// How overlapping boxes are thinned.
    #[serde(default)]
    pub nms: Nms,
}

fn usual_threshold() -> f32 {
    0.25
}

/// Class names: a known set, or a list.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(
    untagged,
    expecting = "classes are the name of a known set (Coco80) or a list of names, such as [\"car\", \"person\"]"
)]
pub enum Classes {
    /// A set that many networks share.
    Known(KnownClasses),
    /// Names by index.
    Names(Vec<String>),
}

/// Sets of classes that many networks share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum KnownClasses {
    /// The 80 of COCO.
    Coco80,
}

impl Classes {
    /// The names by index.
    pub fn names(&self) -> Vec<String> {
        match self {
            Classes::Known(KnownClasses::Coco80) => COCO80.map(str::to_owned).to_vec(),
            Classes::Names(names) => names.clone(),
        }
    }
}

/// What the network wants of its input, as written.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputSpec {
    /// Name of the input.
    pub tensor: String,
    /// In pixels.
    pub width: usize,
    /// In pixels.
    pub height: usize,
    /// Order of dimensions.
    #[serde(default)]
    pub layout: Layout,
    /// Order of channels.
    #[serde(default)]
    pub colour: Colour,
    /// How the image is brought to that size.
    #[serde(default)]
    pub fit: FitSpec,
    /// `value = (pixel × scale − mean) / std`, pixel in 0..=255.
    #[serde(default = "one")]
    pub scale: f32,
    /// Per channel, in the order of `colour`.
    #[serde(default = "zeros")]
    pub mean: Fixed<3>,
    /// Per channel, in the order of `colour`.
    #[serde(default = "ones")]
    pub std: Fixed<3>,
}

fn one() -> f32 {
    1.0
}
fn zeros() -> Fixed<3> {
    Fixed([0.0; 3])
}
fn ones() -> Fixed<3> {
    Fixed([1.0; 3])
}

/// So many numbers, written `[1, 2, 3]` (RON's own form for them is a tuple, which nobody expects).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Vec<f32>")]
pub struct Fixed<const N: usize>(pub [f32; N]);

impl<const N: usize> TryFrom<Vec<f32>> for Fixed<N> {
    type Error = String;
    fn try_from(list: Vec<f32>) -> Result<Self, String> {
        let found = list.len();
        let wrong = |_| format!("expected {N} numbers in brackets, found {found}");
        list.try_into().map(Fixed).map_err(wrong)
    }
}

/// The widest and highest input that is taken; anything above is a slip of the pen.
const LARGEST_SIDE: usize = 16_384;

impl CameraSpec {
    /// The detector that this describes. `base` is the folder that the network's path starts from,
    /// `spec_name` what messages call the spec. No file is read.
    ///
    /// # Errors
    /// [`DetectorError::BadSpec`], with everything that contradicts itself.
    pub fn build(self, base: &Path, spec_name: &str) -> Result<Detector, DetectorError> {
        let classes = self.classes.names();
        let geometry = Geometry {
            width: self.input.width,
            height: self.input.height,
            classes: classes.len(),
        };
        let problems = self.problems(&classes, &geometry);
        if !problems.is_empty() {
            return Err(DetectorError::BadSpec {
                spec: spec_name.to_owned(),
                problem: problems.join("; "),
            });
        }
        let input = self.input;
        let format = InputFormat {
            tensor: input.tensor,
            size: [input.width, input.height],
            layout: input.layout,
            colour: input.colour,
            fit: input.fit,
            scale: input.scale,
            mean: input.mean.0,
            std: input.std.0,
        };
        Ok(Detector {
            reach: None,
            name: self.name.unwrap_or_else(|| spec_name.to_owned()),
            input: ContentKind::Image,
            classes,
            program: Program {
                engines: vec![NetworkSource::File(base.join(&self.network))],
                steps: vec![Step::Engine(0)],
                host_tensors: vec![TensorSpec {
                    name: format.tensor.clone(),
                    element: ElementType::F32,
                    max_shape: format.shape(),
                }],
                first: Some(DeviceInput::Fit(block::on_device(&format))),
                read_back: Vec::new(),
            },
            preprocess: Box::new(CameraPreprocess::new(format)),
            postprocess: Box::new(CameraPostprocess::new(
                spec_name.to_owned(),
                geometry,
                self.head,
                self.score_threshold,
                self.nms,
            )),
        })
    }

    /// What is wrong with the numbers and names, in sentences.
    fn problems(&self, classes: &[String], geometry: &Geometry) -> Vec<String> {
        let mut problems = Vec::new();
        let mut wrong = |is: bool, problem: String| {
            if is {
                problems.push(problem);
            }
        };
        wrong(self.network.trim().is_empty(), "network: no file name".to_owned());
        wrong(
            classes.is_empty(),
            "classes: the list is empty; name at least one class".to_owned(),
        );
        wrong(
            classes.len() > usize::from(u16::MAX),
            format!("classes: {} names, the maximum is {}", classes.len(), u16::MAX),
        );
        for (i, name) in classes.iter().enumerate() {
            wrong(
                name.trim().is_empty(),
                format!("classes: name {i} (from 0) is empty"),
            );
            wrong(
                classes[..i].contains(name),
                format!("classes: `{name}` is listed twice"),
            );
        }
        let input = &self.input;
        wrong(
            input.tensor.trim().is_empty(),
            "input.tensor: the input has no name".to_owned(),
        );
        for (side, pixels) in [("width", input.width), ("height", input.height)] {
            wrong(
                pixels == 0 || pixels > LARGEST_SIDE,
                format!("input.{side}: {pixels} pixels, expected 1 to {LARGEST_SIDE}"),
            );
        }
        wrong(
            !(input.scale.is_finite() && input.scale != 0.0),
            format!(
                "input.scale: {}, expected a finite number other than 0",
                input.scale
            ),
        );
        wrong(
            !input.mean.0.iter().all(|m| m.is_finite()),
            format!("input.mean: {:?}, expected finite numbers", input.mean.0),
        );
        wrong(
            !input.std.0.iter().all(|s| s.is_finite() && *s != 0.0),
            format!(
                "input.std: {:?}, expected finite numbers other than 0 (values are divided by it)",
                input.std.0
            ),
        );
        for (name, value) in [
            ("score_threshold", self.score_threshold),
            ("nms.iou", self.nms.iou),
        ] {
            wrong(
                !(0.0..=1.0).contains(&value),
                format!("{name}: {value}, expected 0 to 1"),
            );
        }
        for (name, value) in [
            ("nms.max_detections", self.nms.max_detections),
            ("nms.max_candidates", self.nms.max_candidates),
        ] {
            wrong(value == 0, format!("{name}: 0, expected at least 1"));
        }
        self.head.check(geometry, &mut problems);
        problems
    }
}
