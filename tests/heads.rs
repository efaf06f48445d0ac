//! Every head from an image or a sweep to boxes, beside NumPy: a small network whose outputs are known is executed on the embedded
//! backend and on ONNX Runtime, and `tests/python/heads.py` decodes the same outputs by formulas of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use jetlag::backend::{Program, Slot};
use jetlag::detector::{Detection, Detector, Place, spec};
use jetlag::source::{Content, Frame, Image};
use nvidia_doubles::machine;
use rten_onnx::onnx::{DataType, GraphProto, NodeProto};
use serde_json::{Value, json};

use crate::common::onnx::{self, floats, node, node_with, sized, wholes};
use crate::common::pipeline::{found_in, numpy, try_open_slot};

mod beside;
mod cases;
mod lidar;

use cases::cases;

/// Width and height of the network's input, and of the image.
const INPUT: [usize; 2] = [64, 32];
const IMAGE: [usize; 2] = [160, 120];

/// An output of a network: its values are numbers of this type.
struct Output {
    name: &'static str,
    dims: Vec<usize>,
    values: Vec<f64>,
    whole: bool,
}

/// An input beside the image: its name, its type and its shape.
type Beside = (&'static str, DataType, &'static [usize]);

/// A head as a spec writes it, and the outputs that it reads.
struct Case {
    name: &'static str,
    classes: usize,
    head: &'static str,
    /// What stands in the spec beside the head.
    also: &'static str,
    outputs: Vec<Output>,
    /// What the network takes beside the image.
    beside: &'static [Beside],
    /// Nodes that make `factor` of it, by which the first output is multiplied.
    factor: Vec<NodeProto>,
}

/// A network with these outputs, whatever the image: each is its constant, plus the image times zero; the first is multiplied by
/// what the network makes of its other inputs.
fn network(path: &Path, case: &Case) {
    let mut initializers = vec![
        floats("nothing", &[1], &[0.0]),
        floats("ones", &[1, 2], &[1.0, 1.0]),
        wholes("turned", &[2], &[1, 0]),
    ];
    let mut nodes = vec![
        node("GlobalAveragePool", &["image"], "pooled"),
        node("ReduceMax", &["pooled"], "most"),
        node("Mul", &["most", "nothing"], "most_of_nothing"),
        node("Squeeze", &["most_of_nothing"], "zero"),
        node_with("Cast", &["zero"], "zero_whole", ("to", 7)),
    ];
    nodes.extend(case.factor.iter().cloned());
    for (place, output) in case.outputs.iter().enumerate() {
        let name = format!("{}_values", output.name);
        let (stored, zero) = match output.whole {
            true => {
                let values: Vec<i64> = output.values.iter().map(|v| *v as i64).collect();
                (wholes(&name, &output.dims, &values), "zero_whole")
            }
            false => {
                let values: Vec<f32> = output.values.iter().map(|v| *v as f32).collect();
                (floats(&name, &output.dims, &values), "zero")
            }
        };
        initializers.push(stored);
        let is_multiplied = place == 0 && !case.factor.is_empty();
        if is_multiplied {
            nodes.push(node("Mul", &[&name, "factor"], "multiplied"));
        }
        let of = if is_multiplied {
            "multiplied"
        } else {
            name.as_str()
        };
        nodes.push(node("Add", &[of, zero], output.name));
    }
    let element = |output: &Output| match output.whole {
        true => DataType::INT64,
        false => DataType::FLOAT,
    };
    let image = sized("image", DataType::FLOAT, &[1, 3, INPUT[1], INPUT[0]]);
    let beside = case.beside.iter();
    let beside = beside.map(|(name, element, dims)| sized(name, *element, dims));
    let outputs = case.outputs.iter();
    let graph = GraphProto {
        node: nodes,
        initializer: initializers,
        input: std::iter::once(image).chain(beside).collect(),
        output: outputs.map(|o| sized(o.name, element(o), &o.dims)).collect(),
        ..GraphProto::default()
    };
    onnx::write(path, graph);
}

/// The detector of a case, in a folder of its own.
fn made(folder: &Path, case: &Case) -> Detector {
    network(&folder.join("net.onnx"), case);
    let classes: Vec<String> = (0..case.classes).map(|n| format!("\"class{n}\"")).collect();
    let text = format!(
        r#"Camera(classes: [{}], network: "net.onnx", input: (tensor: "image", width: {}, height: {}), {} head: {})"#,
        classes.join(", "),
        INPUT[0],
        INPUT[1],
        case.also,
        case.head
    );
    let path = folder.join("spec.ron");
    fs::write(&path, text).unwrap();
    spec::load(&path).unwrap_or_else(|error| panic!("{}: {error}", case.name))
}

/// What the cases find on a backend, which makes slots.
pub(crate) fn found_on(
    mut open: impl FnMut(&Program) -> Box<dyn Slot>,
) -> BTreeMap<&'static str, Vec<[f64; 6]>> {
    let folder = tempfile::tempdir().unwrap();
    let frame = Frame {
        shared: Some(Arc::new(Content::Image(Image {
            width: IMAGE[0],
            height: IMAGE[1],
            rgb: vec![100; IMAGE[0] * IMAGE[1] * 3],
        }))),
        ..Frame::default()
    };
    let mut all = BTreeMap::new();
    for case in &cases() {
        let mut detector = made(folder.path(), case);
        let mut slot = open(&detector.program);
        let found = found_in(&mut detector, &mut *slot, &frame);
        assert!(!found.is_empty(), "{} finds nothing", case.name);
        all.insert(case.name, found.iter().map(told).collect());
    }
    all
}

fn told(detection: &Detection) -> [f64; 6] {
    let Place::Image(b) = detection.place else {
        panic!("a box in the image")
    };
    [
        f64::from(detection.class),
        detection.score.into(),
        b.x1.into(),
        b.y1.into(),
        b.x2.into(),
        b.y2.into(),
    ]
}

/// Every case finds the same as another, but for rounding.
pub(crate) fn assert_same(
    ours: &BTreeMap<&str, Vec<[f64; 6]>>,
    theirs: &BTreeMap<String, Vec<[f64; 6]>>,
    who: &str,
) {
    for (name, found) in ours {
        let wanted = &theirs[*name];
        assert_eq!(
            found.len(),
            wanted.len(),
            "{name}: {found:?} and {who}'s {wanted:?}"
        );
        for (a, b) in found.iter().flatten().zip(wanted.iter().flatten()) {
            assert!((a - b).abs() < 1e-3, "{name}: {found:?} and {who}'s {wanted:?}");
        }
    }
}

#[test]
fn every_head_finds_what_numpy_finds() {
    let Some(python) = machine::python("numpy") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let ours = found_on(|program| try_open_slot(program).unwrap());
    let mut asked: BTreeMap<&str, Value> = BTreeMap::new();
    for case in &cases() {
        let outputs: BTreeMap<&str, Value> = case
            .outputs
            .iter()
            .map(|o| (o.name, json!({ "dims": o.dims, "values": o.values })))
            .collect();
        asked.insert(case.name, json!(outputs));
    }
    let question = json!({ "input": INPUT, "image": IMAGE, "cases": asked });
    let theirs = numpy(&python, "heads.py", folder.path(), &question);
    assert_same(&ours, &serde_json::from_value(theirs).unwrap(), "NumPy");
}
