//! A camera detector as written in RON, and what it builds. docs/detectors.md describes every field.
//!
//! Everything that can be known without the network is checked here; the shapes of the network's outputs show on the first frame and are checked by the heads.

use std::collections::HashMap;

use serde::Deserialize;

use super::also::Also;
use super::classes::COCO80;
use super::fit::FitSpec;
use super::head::{Geometry, Head};
use super::nms::Nms;
use super::postprocess::CameraPostprocess;
use super::preprocess::{CameraPreprocess, Colour, Element, InputFormat, Layout, block};
use crate::backend::{DeviceInput, NetworkSource, Program, Step, TensorSpec};
use crate::detector::Detector;
use crate::engine::network::Port;
use crate::record::{fields, words};
use crate::source::ContentKind;
use crate::written::{Kind, Node, ProblemKind, Reader, Rules, shown};

/// A camera detector as written.
#[derive(Clone, Debug, PartialEq)]
pub struct CameraSpec {
    /// Shown in results; the spec's own name where it is left out.
    pub name: Option<String>,
    /// What the network tells apart.
    pub classes: Classes,
    /// The ONNX file, from the spec's folder.
    pub network: String,
    /// What the network wants of its input.
    pub input: InputSpec,
    /// What it takes beside it.
    pub also: Vec<Also>,
    /// How its outputs are read.
    pub head: Head,
    /// The lowest score that counts as a detection.
    pub score_threshold: f32,
    /// How overlapping boxes are thinned.
    pub nms: Nms,
}

/// Class names: a known set, or a list.
#[derive(Clone, Debug, PartialEq)]
pub enum Classes {
    /// A set that many networks share.
    Known(KnownClasses),
    /// Names of the classes; the index is the network's class number.
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

fields! {
    /// What the network wants of its input, as written.
    #[derive(Clone, Debug, PartialEq)]
    pub struct InputSpec: no default, "Input", "fields in parentheses, such as (tensor: \"images\", width: 640, height: 640)" {
        /// Name of the input.
        pub tensor: String = String::new();
        /// Width of the input in pixels.
        pub width: usize, required "width: 640";
        /// Height of the input in pixels.
        pub height: usize, required "height: 640";
        /// Order of the input's dimensions.
        pub layout: Layout = Layout::default();
        /// Order of the input's colour channels.
        pub colour: Colour = Colour::default();
        /// How the image is brought to that size.
        pub fit: FitSpec = FitSpec::default();
        /// `value = (pixel × scale − mean) / std`, pixel in 0..=255.
        pub scale: f32 = 1.0;
        /// Per channel, in the order of `colour`.
        pub mean: [f32; 3] = [0.0; 3];
        /// Per channel, in the order of `colour`.
        pub std: [f32; 3] = [1.0; 3];
        /// The type of the input's elements.
        pub element: Element = Element::default();
    }
}

/// The widest and highest input that is taken; anything above is a slip of the pen.
pub(in crate::detector) const LARGEST_SIDE: usize = 16_384;

const CAMERA_FIELDS: &[&str] = &[
    "name",
    "classes",
    "network",
    "input",
    "also",
    "head",
    "score_threshold",
    "nms",
];
words! {
    Layout: "layout";
    Colour: "colour";
    Element: "element";
}

impl Classes {
    fn read(r: &mut Reader, node: &Node, field: &str) -> Option<Self> {
        let expected = "the name of a known set (Coco80) or a list of names, such as [\"car\", \"person\"]";
        match &node.kind {
            Kind::Call(_) => r.word(node, "set of classes").map(Classes::Known),
            _ => r.values(node, field, expected, Reader::text).map(Classes::Names),
        }
    }
}

impl InputSpec {
    /// Reads it; `has_tensor` where it must name its tensor.
    pub(in crate::detector) fn read_named(
        r: &mut Reader,
        node: &Node,
        field: &str,
        has_tensor: bool,
    ) -> Option<Self> {
        let expected = "fields in parentheses, such as (tensor: \"images\", width: 640, height: 640)";
        let fields = r.record(node, field, "Input", expected, InputSpec::FIELDS)?;
        let lacks_tensor = has_tensor && fields.get("tensor").is_none();
        if lacks_tensor {
            let kind = ProblemKind::Missing {
                field: "tensor",
                owner: fields.owner.clone(),
                example: "tensor: \"images\"".to_owned(),
            };
            r.report(&fields.place, kind);
        }
        InputSpec::read_fields(&mut r.entries(&fields, "")).filter(|_| !lacks_tensor)
    }
}

impl InputSpec {
    /// What preprocessing is told of it.
    pub(in crate::detector) fn format(&self) -> InputFormat {
        InputFormat {
            tensor: self.tensor.clone(),
            size: [self.width, self.height],
            layout: self.layout,
            colour: self.colour,
            fit: self.fit,
            scale: self.scale,
            mean: self.mean,
            std: self.std,
            element: self.element,
        }
    }

    /// What must hold of its numbers; `path` is the field that it stands in.
    pub(in crate::detector) fn check(&self, path: &str, rules: &mut Rules<'_>) {
        for (side, pixels) in [("width", self.width), ("height", self.height)] {
            let ok = (1..=LARGEST_SIDE).contains(&pixels);
            let wanted = format!("from 1 to {LARGEST_SIDE} pixels");
            rules.require(ok, &format!("{path}.{side}"), pixels, wanted);
        }
        let divides = |value: &f32| value.is_finite() && *value != 0.0;
        rules.require(
            divides(&self.scale),
            &format!("{path}.scale"),
            self.scale,
            "a finite number other than 0",
        );
        let finite = self.mean.iter().all(|mean| mean.is_finite());
        rules.require(
            finite,
            &format!("{path}.mean"),
            format!("{:?}", self.mean),
            "finite numbers",
        );
        let wanted = "finite numbers other than 0, since values are divided by them";
        rules.require(
            self.std.iter().all(divides),
            &format!("{path}.std"),
            format!("{:?}", self.std),
            wanted,
        );
    }
}

impl CameraSpec {
    /// Reads it; what is wrong with it is in the reader afterwards.
    pub(crate) fn read(r: &mut Reader, node: &Node) -> Option<Self> {
        let expected = "Camera(…) with named fields";
        let f = r.record(node, "a camera detector", "Camera", expected, CAMERA_FIELDS)?;
        let name = r.optional(&f, "name", Reader::text);
        let classes = r.needed(&f, "classes", "classes: [\"car\", \"person\"]", Classes::read);
        let network = r.needed(&f, "network", "network: \"camera.onnx\"", Reader::text);
        let input = "input: (tensor: \"images\", width: 640, height: 640)";
        let input = r.needed(&f, "input", input, |r, node, field| {
            InputSpec::read_named(r, node, field, true)
        });
        let also = r.optional(&f, "also", |r, node, field| {
            let expected = "a list, such as [(tensor: \"scale_factor\", values: [ScaleY, ScaleX])]";
            r.values(node, field, expected, Also::read)
        });
        let head = r.needed(
            &f,
            "head",
            "head: YoloAnchorFree(output: \"output0\")",
            |r, node, field| r.value::<Head>(node, field, ""),
        );
        let usual = head.as_ref().map_or_else(Nms::default, Head::usual_nms);
        let threshold = head.as_ref().map_or(0.25, Head::usual_threshold);
        let score_threshold = r.optional(&f, "score_threshold", Reader::number).or(threshold);
        let nms = r
            .optional(&f, "nms", |r, node, field| Nms::read(r, node, field, usual))
            .or(usual);
        Some(CameraSpec {
            name: name.given().map(|spot| spot.value.clone()),
            classes: classes?,
            network: network?,
            input: input?,
            also: also.or_default(),
            head: head?,
            score_threshold,
            nms,
        })
    }

    /// The detector of a spec that keeps the rules. `engines` are its networks, `spec_name` what messages call the spec.
    pub(crate) fn build(self, engines: Vec<NetworkSource>, spec_name: &str) -> Detector {
        let geometry = self.geometry();
        let classes = self.classes.names();
        let format = self.input.format();
        let beside = self.also.iter().map(|also| TensorSpec {
            name: also.tensor.clone(),
            element: also.element,
            max_shape: also.shape(),
        });
        let image = TensorSpec {
            name: format.tensor.clone(),
            element: format.element.of_tensor(),
            max_shape: format.shape(),
        };
        let host_tensors = std::iter::once(image).chain(beside).collect();
        Detector {
            reach: None,
            name: self.name.unwrap_or_else(|| spec_name.to_owned()),
            input: ContentKind::Image,
            cameras: 0,
            classes,
            program: Program {
                engines,
                steps: vec![Step::Engine(0)],
                host_tensors,
                // The device writes f32.
                first: match format.element {
                    Element::F32 => vec![DeviceInput::Fit(block::on_device(&format))],
                    Element::F16 | Element::U8 => Vec::new(),
                },
                read_back: Vec::new(),
            },
            preprocess: Box::new(CameraPreprocess::new(format).beside(self.also)),
            outputs: None,
            postprocess: Box::new(CameraPostprocess::new(
                spec_name.to_owned(),
                geometry,
                self.head,
                self.score_threshold,
                self.nms,
            )),
        }
    }

    fn geometry(&self) -> Geometry {
        Geometry {
            width: self.input.width,
            height: self.input.height,
            classes: self.classes.names().len(),
        }
    }

    /// What must hold of the numbers and names.
    pub(crate) fn check(&self, rules: &mut Rules<'_>) {
        let named = |name: &str| !name.trim().is_empty();
        rules.require(named(&self.network), "network", "empty", "an ONNX file");
        self.check_classes(rules);
        rules.require(
            named(&self.input.tensor),
            "input.tensor",
            "empty",
            "the name of the network's input",
        );
        self.input.check("input", rules);
        Also::check_all(&self.also, &self.input.tensor, rules);
        for (path, value) in [
            ("score_threshold", self.score_threshold),
            ("nms.iou", self.nms.iou),
        ] {
            rules.require((0.0..=1.0).contains(&value), path, value, "from 0 to 1");
        }
        for (path, value) in [
            ("nms.max_detections", self.nms.max_detections),
            ("nms.max_candidates", self.nms.max_candidates),
        ] {
            rules.require(value > 0, path, value, "at least 1");
        }
        self.head.check(&self.geometry(), rules);
    }

    /// What must hold between the spec and the inputs of its network, where these are known.
    pub(crate) fn check_inputs(&self, inputs: &[Port], rules: &mut Rules<'_>) {
        Also::check_inputs(&self.also, inputs, rules);
    }

    fn check_classes(&self, rules: &mut Rules<'_>) {
        let classes = self.classes.names();
        let most = usize::from(u16::MAX);
        let found = format!("a list of {}", classes.len());
        rules.require(
            !classes.is_empty(),
            "classes",
            "an empty list",
            "at least one name",
        );
        rules.require(
            classes.len() <= most,
            "classes",
            found,
            format!("at most {most} names"),
        );
        let mut first_of: HashMap<&str, usize> = HashMap::new();
        for (index, name) in classes.iter().enumerate() {
            let path = format!("classes[{index}]");
            rules.require(!name.trim().is_empty(), &path, "empty", "a name");
            match first_of.get(name.as_str()) {
                Some(first) => {
                    let what = format!("`{}` in `classes`", shown(name));
                    rules.twice(&path, &format!("classes[{first}]"), what);
                }
                None => drop(first_of.insert(name, index)),
            }
        }
    }
}
