//! What a spec says of the cameras of a network that takes images beside a sweep: how it is written, and what must hold.

use super::read::value;
use crate::detector::camera::preprocess::CameraPreprocess;
use crate::detector::camera::spec::InputSpec;
use crate::detector::inputs::check_names;
use crate::detector::lidar::cameras::{CalibrationSpec, CameraInputs, Images};
use crate::engine::network::Port;
use crate::written::{Choices, Node, Reader, Rules, choice, one_of, plain};

/// The most cameras of a set: a source names 32 sensors at most.
const MOST: usize = 31;

/// The cameras of a network, as written.
#[derive(Clone, Debug, PartialEq)]
pub struct CamerasSpec {
    /// How many there are.
    pub count: usize,
    /// What the network wants of each image.
    pub input: InputSpec,
    /// How the images lie in tensors.
    pub images: Images,
    /// Which matrices it takes.
    pub calibration: Vec<CalibrationSpec>,
}

static IMAGES: Choices<'_> = Choices {
    what: "images",
    default: "Stacked",
    all: &[
        plain("Stacked"),
        plain("Batched"),
        choice("Apart", &["tensors"], 1, "Apart(tensors: [\"front\", \"back\"])"),
    ],
};

impl CamerasSpec {
    pub(super) fn read(r: &mut Reader, node: &Node, field: &str) -> Option<Self> {
        let example = "fields, such as (count: 6, input: (tensor: \"images\", width: 704, height: 256))";
        let known = &["count", "input", "images", "calibration"];
        let f = r.record(node, field, "Cameras", example, known)?;
        let count = r.needed(&f, "count", "count: 6", Reader::whole);
        let images = r.optional(&f, "images", |r, node, _| {
            let (name, f) = r.choice(node, &IMAGES)?;
            Some(match name {
                "Apart" => {
                    let example = "tensors: [\"front\", \"back\"]";
                    Images::Apart(r.needed(&f, "tensors", example, |r, node, field| {
                        let expected = "a list of inputs, one a camera, such as [\"front\", \"back\"]";
                        r.values(node, field, expected, Reader::text)
                    })?)
                }
                "Batched" => Images::Batched,
                _ => Images::Stacked,
            })
        });
        let images = value(images).unwrap_or_default();
        let has_one = !matches!(images, Images::Apart(_));
        let input = r.needed(
            &f,
            "input",
            "input: (tensor: \"images\", width: 704, height: 256)",
            |r, node, field| InputSpec::read_named(r, node, field, has_one),
        );
        let calibration = r.optional(&f, "calibration", |r, node, field| {
            let expected = "a list, such as [(tensor: \"lidar2image\", matrix: LidarToImage)]";
            r.values(node, field, expected, CalibrationSpec::read)
        });
        Some(CamerasSpec {
            count: count?,
            input: input?,
            images,
            calibration: value(calibration).unwrap_or_default(),
        })
    }

    /// Its tensors, each with the field that names it.
    pub(super) fn tensors(&self) -> Vec<(&str, String)> {
        let images: Vec<(&str, String)> = match &self.images {
            Images::Apart(names) => names
                .iter()
                .enumerate()
                .map(|(n, name)| (name.as_str(), format!("cameras.images.tensors[{n}]")))
                .collect(),
            Images::Stacked | Images::Batched => {
                vec![(self.input.tensor.as_str(), "cameras.input.tensor".to_owned())]
            }
        };
        let matrices = self.calibration.iter().enumerate();
        let matrices =
            matrices.map(|(n, of)| (of.tensor.as_str(), format!("cameras.calibration[{n}].tensor")));
        images.into_iter().chain(matrices).collect()
    }

    /// What must hold of its numbers and names.
    pub(super) fn check(&self, rules: &mut Rules<'_>) {
        let (count, wanted) = (self.count, format!("from 1 to {MOST}"));
        rules.require((1..=MOST).contains(&count), "cameras.count", count, wanted);
        self.input.check("cameras.input", rules);
        for (name, path) in self.tensors() {
            let is_named = !name.trim().is_empty();
            rules.require(is_named, &path, "empty", "the name of the network's input");
        }
        if let Images::Apart(names) = &self.images {
            rules.require(
                names.len() == count,
                "cameras.images.tensors",
                format!("a list of {}", names.len()),
                format!("one input for each of the {count} cameras"),
            );
            if !self.input.tensor.is_empty() {
                let why = "`images: Apart` names the input of each camera";
                rules.contradiction("cameras.input.tensor", why, "leave it out");
            }
        }
        for (n, of) in self.calibration.iter().enumerate() {
            for (field, side) in [("rows", of.size[0]), ("columns", of.size[1])] {
                let path = format!("cameras.calibration[{n}].{field}");
                rules.require((1..=4).contains(&side), &path, side, "from 1 to 4");
            }
        }
    }

    /// Refuses tensors that the network does not have: what is written to them would go nowhere. What it has is not always known.
    pub(super) fn check_inputs(&self, inputs: &[Port], rules: &mut Rules<'_>) {
        check_names(self.tensors(), inputs, rules);
    }

    /// What fills the inputs of a spec without problems.
    pub(super) fn inputs(self) -> CameraInputs {
        CameraInputs {
            count: self.count,
            tensor: self.input.tensor.clone(),
            prepare: CameraPreprocess::new(self.input.format()),
            images: self.images,
            calibration: self.calibration,
        }
    }
}

impl CalibrationSpec {
    fn read(r: &mut Reader, node: &Node, _: &str) -> Option<Self> {
        let example = "(tensor: \"lidar2image\", matrix: LidarToImage)";
        let known = &["tensor", "matrix", "rows", "columns"];
        let f = r.record(node, "a matrix", "Calibration", example, known)?;
        let tensor = r.needed(&f, "tensor", "tensor: \"lidar2image\"", Reader::text);
        let matrix = r.needed(&f, "matrix", "matrix: LidarToImage", one_of("matrix"));
        let rows = r.optional(&f, "rows", Reader::whole).or(4);
        let columns = r.optional(&f, "columns", Reader::whole).or(4);
        Some(CalibrationSpec {
            tensor: tensor?,
            matrix: matrix?,
            size: [rows, columns],
        })
    }
}
