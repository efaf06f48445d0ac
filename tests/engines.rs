//! The specs in engines/ against the networks that they are for: the comment on top of each says what its network takes and gives,
//! and of just that a network is made here. So what a spec tells its reader is what it really fits.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jetlag::detector::{Detector, spec};
use jetlag::source::{Content, ContentKind, Frame, Image, PointCloud};
use rten_onnx::onnx::{DataType, GraphProto};

use crate::common::mistakes::files;
use crate::common::onnx::{self, node, node_with, value, wholes};
use crate::common::pipeline::{found_in, try_open_slot};

/// An input or an output; an extent that is open is none.
struct Port {
    name: String,
    element: DataType,
    dims: Vec<Option<usize>>,
}

/// A network as a spec's comment describes it.
struct Described {
    file: String,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
}

/// What the comments of a spec say: `FILE.onnx: NAME TYPE [SHAPE], … -> NAME TYPE [SHAPE], …`, with further lines indented.
fn described(text: &str) -> Vec<Described> {
    let mut entries: Vec<String> = Vec::new();
    let mut open = false;
    for line in text.lines().map_while(|line| line.strip_prefix("//")) {
        let begins = line.starts_with(' ') && !line.starts_with("  ") && line.contains(".onnx: ");
        let goes_on = open && line.starts_with("     ");
        match entries.last_mut() {
            Some(last) if goes_on => last.push_str(line),
            _ if begins => entries.push(line.trim().to_owned()),
            _ => {}
        }
        open = begins || goes_on;
    }
    entries
        .iter()
        .map(|entry| {
            let (file, ports) = entry.split_once(": ").unwrap();
            let (inputs, outputs) = ports.split_once("->").unwrap();
            Described {
                file: file.to_owned(),
                inputs: told(inputs),
                outputs: told(outputs),
            }
        })
        .collect()
}

fn told(ports: &str) -> Vec<Port> {
    let one = |text: &str| {
        let (name, dims) = text.split_once('[').unwrap();
        let mut words = name.trim_start_matches([',', ' ']).split_whitespace();
        Port {
            name: words.next().unwrap().to_owned(),
            element: match words.next() {
                None => DataType::FLOAT,
                Some("u8") => DataType::UINT8,
                Some("i32") => DataType::INT32,
                Some("i64") => DataType::INT64,
                Some(other) => panic!("{other} in {ports}"),
            },
            dims: dims.split(',').map(|extent| extent.trim().parse().ok()).collect(),
        }
    };
    let each = ports.split(']').map(str::trim);
    each.filter(|text| !text.is_empty()).map(one).collect()
}

/// Writes a network that gives zeros, of one row where an extent is open.
fn make(network: &Described, folder: &Path) {
    let (mut nodes, mut shapes) = (Vec::new(), Vec::new());
    for output in &network.outputs {
        let dims: Vec<i64> = output
            .dims
            .iter()
            .map(|extent| extent.unwrap_or(1) as i64)
            .collect();
        let [shape, zeros] = ["shape", "zeros"].map(|what| format!("{}_{what}", output.name));
        shapes.push(wholes(&shape, &[dims.len()], &dims));
        nodes.push(node("ConstantOfShape", &[&shape], &zeros));
        nodes.push(node_with(
            "Cast",
            &[&zeros],
            &output.name,
            ("to", i64::from(output.element.0)),
        ));
    }
    let ports = |ports: &[Port]| {
        let each = ports.iter();
        each.map(|port| value(&port.name, port.element, &port.dims))
            .collect()
    };
    let graph = GraphProto {
        node: nodes,
        initializer: shapes,
        input: ports(&network.inputs),
        output: ports(&network.outputs),
        ..GraphProto::default()
    };
    onnx::write(&folder.join(&network.file), graph);
}

fn frame(kind: ContentKind) -> Frame {
    let content = match kind {
        ContentKind::Image => Content::Image(Image {
            width: 96,
            height: 64,
            rgb: vec![100; 96 * 64 * 3],
        }),
        // A sweep without a point gets one pillar of padding.
        _ => Content::Points(PointCloud::default()),
    };
    Frame {
        shared: Some(Arc::new(content)),
        ..Frame::default()
    }
}

#[test]
fn every_spec_in_engines_fits_the_network_that_its_comment_describes() {
    let specs: Vec<PathBuf> = files("engines");
    assert!(specs.len() >= 25, "{specs:?}");
    for path in specs {
        let text = fs::read_to_string(&path).unwrap();
        let name = path.display().to_string();
        let folder = tempfile::tempdir().unwrap();
        let networks = described(&text);
        // The demo's networks are there.
        let base = match networks.is_empty() {
            true => path.parent().unwrap(),
            false => folder.path(),
        };
        networks.iter().for_each(|network| make(network, base));
        let mut detector: Detector =
            spec::from_str(&text, &name, base, &|_| None).unwrap_or_else(|error| panic!("{error}"));
        let mut slot = try_open_slot(&detector.program).unwrap_or_else(|error| panic!("{name}: {error}"));
        let frame = frame(detector.input);
        found_in(&mut detector, &mut *slot, &frame);
    }
}

#[test]
fn a_row_of_the_documentation_tells_of_every_spec_in_engines() {
    let docs = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/detectors.md")).unwrap();
    for path in files("engines") {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(
            docs.contains(&format!("| `{name}` |")),
            "docs/detectors.md has no row of {name}"
        );
    }
}
