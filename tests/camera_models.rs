//! Trained third-party camera networks through the real path: file, source, preprocessing, cpu
//! backend, postprocessing; against outputs that onnxruntime gave for the same files.
//!
//! Two comparisons a network and image:
//!
//! - From the **stored network pixels** (the exact 8-bit pixels that entered the reference, fitted without
//!   change): the raw outputs' l2 norm, mean, spread and first values agree within 1e-3, relative to what the
//!   reference keeps of them, and so do the boxes. A difference here is the network's or the head's.
//! - From the **original file**: every box within 2 pixels, every score within 0.02. Here decoding and resizing are
//!   ours, and agree to the bit with the libjpeg-turbo and OpenCV that made the references: no pixel differs.
//!
//! Reference boxes are not clipped to the image where the deployment that made them does not clip; ours are, so
//! they are clipped before comparing.

#![allow(
    clippy::print_stderr,
    reason = "what differs, and by how much, is shown with --nocapture"
)]

use crate::common::pipeline;

use std::path::{Path, PathBuf};

use jetlag::detector::camera::Fit;
use jetlag::detector::camera::fit::{Align, FitSpec, Letterbox, Rounding};
use jetlag::detector::camera::preprocess::{CameraPreprocess, Colour, Element, InputFormat, Layout};
use jetlag::detector::{Box2d, Detection, Place, spec};
use jetlag::scenario::Reading;
use jetlag::source::{Content, Frame, Image, images};
use jetlag::tensor::HostTensor;
use nvidia_doubles::machine;
use pipeline::{Pipeline, frame_at};
use serde::Deserialize;

/// What is kept of a reference run; the fields of `*.ref.json` that are compared.
#[derive(Deserialize)]
struct Reference {
    image: String,
    network_pixels: String,
    raw_outputs: std::collections::BTreeMap<String, RawOutput>,
    detections: Vec<ReferenceBox>,
}

#[derive(Deserialize)]
struct RawOutput {
    shape: Vec<usize>,
    mean: f64,
    std: f64,
    l2: f64,
    first8: Vec<f64>,
}

#[derive(Deserialize)]
struct ReferenceBox {
    class_id: u16,
    score: f32,
    box_xyxy: [f32; 4],
}

/// The detector of a spec in engines/, opened on the cpu backend.
fn load(spec_name: &str, folder: &Path) -> Pipeline {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/engines")).join(spec_name);
    let text = std::fs::read_to_string(&path).unwrap();
    Pipeline::open(spec::from_str(&text, spec_name, folder, &|_| None).unwrap())
}

/// A file through the source that users have: a folder that holds a copy of it alone.
fn frame_of(path: &Path) -> Frame {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(path, folder.path().join(path.file_name().unwrap())).unwrap();
    let listed = images::open(folder.path(), false, 64).unwrap();
    frame_at(&mut listed.read(Reading::default()).unwrap(), 0)
}

fn image_of(frame: &Frame) -> &Image {
    let Content::Image(image) = &frame.content else {
        panic!("an image was decoded");
    };
    image
}

fn references(folder: &Path) -> Vec<Reference> {
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".ref.json"))
        .collect();
    paths.sort();
    paths
        .iter()
        .map(|path| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap())
        .collect()
}

/// Largest relative difference of what the reference keeps of an output: l2, mean and spread relative to the
/// values' own size, the first values to the largest of them.
fn raw_difference(found: &HostTensor, expected: &RawOutput) -> f64 {
    assert_eq!(found.shape().dims(), expected.shape);
    let values: Vec<f64> = found.f32().unwrap().iter().map(|v| f64::from(*v)).collect();
    let count = values.len() as f64;
    let l2 = values.iter().map(|v| v * v).sum::<f64>().sqrt();
    let mean = values.iter().sum::<f64>() / count;
    let std = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / count).sqrt();
    let rms = expected.l2 / count.sqrt();
    let largest = expected.first8.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    let first = values
        .iter()
        .zip(&expected.first8)
        .map(|(a, b)| (a - b).abs() / largest);
    [
        (l2 - expected.l2).abs() / expected.l2,
        (mean - expected.mean).abs() / rms,
        (std - expected.std).abs() / expected.std,
    ]
    .into_iter()
    .chain(first)
    .fold(0.0, f64::max)
}

/// How far boxes are from the reference's: the largest differences of an edge, in pixels, and of a score.
#[derive(Debug, Default)]
struct Agreement {
    edge: f32,
    score: f32,
}

fn place(detection: &Detection) -> Box2d {
    let Place::Image(place) = detection.place else {
        panic!("a camera detector finds boxes in the image");
    };
    place
}

/// Pairs each reference box with the nearest of its class in `found`. `fit` clips the reference, `moved` brings
/// ours there.
fn agreement(
    found: &[Detection],
    expected: &[ReferenceBox],
    fit: Fit,
    moved: impl Fn(Box2d) -> Box2d,
) -> Agreement {
    assert_eq!(found.len(), expected.len(), "found {found:?}");
    let mut free: Vec<&Detection> = found.iter().collect();
    let mut agreement = Agreement::default();
    for reference in expected {
        let [x1, y1, x2, y2] = reference.box_xyxy;
        let wanted = fit.clip(Box2d { x1, y1, x2, y2 }).unwrap();
        let edge = |d: &Detection| {
            let b = moved(place(d));
            [
                b.x1 - wanted.x1,
                b.y1 - wanted.y1,
                b.x2 - wanted.x2,
                b.y2 - wanted.y2,
            ]
            .iter()
            .fold(0.0, |worst: f32, d| worst.max(d.abs()))
        };
        let score = |d: &Detection| (d.score - reference.score).abs();
        let (nearest, _) = free
            .iter()
            .enumerate()
            .filter(|(_, d)| d.class == reference.class_id)
            .min_by(|a, b| edge(a.1).total_cmp(&edge(b.1)))
            .unwrap_or_else(|| panic!("no box left of class {} for {wanted:?}", reference.class_id));
        let nearest = free.remove(nearest);
        agreement.edge = agreement.edge.max(edge(nearest));
        agreement.score = agreement.score.max(score(nearest));
    }
    agreement
}

/// The 8-bit levels that our resize gives the network, in RGB order.
fn network_levels(fit: FitSpec, size: [usize; 2], image: &Image) -> Vec<u8> {
    let format = InputFormat {
        element: Element::F32,
        tensor: String::new(),
        size,
        layout: Layout::Nhwc,
        colour: Colour::Rgb,
        fit,
        scale: 1.0,
        mean: [0.0; 3],
        std: [1.0; 3],
    };
    let mut levels = vec![0.0; format.shape().len()];
    CameraPreprocess::new(format).fill(image, &mut levels).unwrap();
    levels.into_iter().map(|level| level as u8).collect()
}

/// Runs both comparisons for every reference of a network; returns how many images there were.
fn compare(spec_name: &str, folder: &Path, fit: FitSpec) -> usize {
    let mut pipeline = load(spec_name, folder);
    let references = references(folder);
    for reference in &references {
        let name = &reference.image;
        let original = frame_of(&folder.join(name));
        let stored = frame_of(&folder.join(&reference.network_pixels));
        let size = [image_of(&stored).width, image_of(&stored).height];
        let image = [image_of(&original).width, image_of(&original).height];
        let laid = fit.place(image, size).fit(image);

        let found = pipeline.run(&stored);
        for (output, expected) in &reference.raw_outputs {
            let difference = raw_difference(pipeline.slot.tensors().get(output).unwrap(), expected);
            eprintln!("{name}: output {output} differs by {difference:.1e}");
            assert!(
                difference < 1e-3,
                "{name}: output {output} differs by {difference:.1e}"
            );
        }
        // These boxes are in network pixels; the image lies in them as the fit says.
        let back = |b| laid.clip(laid.to_image(b)).unwrap();
        let agreed = agreement(&found, &reference.detections, laid, back);
        eprintln!("{name}: from network pixels, {} boxes, {agreed:.4?}", found.len());
        assert!(agreed.edge < 2.0 && agreed.score < 1e-3, "{name}: {agreed:?}");

        let levels = network_levels(fit, size, image_of(&original));
        let pairs = levels.iter().zip(&image_of(&stored).rgb);
        let largest = pairs.map(|(a, b)| a.abs_diff(*b)).max().unwrap();
        assert_eq!(largest, 0, "{name}: levels by which a network pixel differs");
        let found = pipeline.run(&original);
        let agreed = agreement(&found, &reference.detections, laid, |b| b);
        eprintln!("{name}: from the file, {} boxes, {agreed:.4?}", found.len());
        assert!(agreed.edge <= 2.0 && agreed.score <= 0.02, "{name}: {agreed:?}");
    }
    references.len()
}

fn letterbox(align: Align, pad: u8, rounding: Rounding) -> FitSpec {
    FitSpec::Letterbox(Letterbox { align, pad, rounding })
}

#[test]
fn yolox_nano_agrees_with_the_reference_on_five_images() {
    let Some(folder) = machine::shared("data/models/yolox_nano") else {
        return;
    };
    let fit = letterbox(Align::TopLeft, 114, Rounding::Down);
    assert_eq!(compare("yolox_nano.ron", &folder, fit), 5);
}

#[test]
fn nanodet_agrees_with_the_reference_on_three_images() {
    let Some(folder) = machine::shared("data/models/nanodet_m_416") else {
        return;
    };
    let fit = letterbox(Align::Centre, 0, Rounding::Nearest);
    assert_eq!(compare("nanodet_m_416.ron", &folder, fit), 3);
}

#[test]
fn ultraface_agrees_with_the_reference_on_two_images() {
    let Some(folder) = machine::shared("data/models/ultraface_rfb_320") else {
        return;
    };
    assert_eq!(compare("ultraface_rfb_320.ron", &folder, FitSpec::Stretch), 2);
}
