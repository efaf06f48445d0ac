//! Networks that take several inputs on a GPU: the double's outputs follow from all bytes of all of them, so a value that does not arrive
//! shows.

use std::fs;

use jetlag::detector::Carry;
use jetlag::scenario::{GpuUse, Preprocess};
use jetlag::source::{Content, Frame, Image};
use jetlag::tensor::{HostTensor, TensorSet};

use super::device_steps::on_the_device;
use super::device_steps::slots::Open;
use super::scene::Scene;

/// The number at which the double's outputs begin, for inputs in the order of its ports.
fn start<'t>(inputs: impl Iterator<Item = &'t HostTensor>) -> u32 {
    let sum = |tensor: &HostTensor| tensor.bytes().iter().map(|byte| u32::from(*byte)).sum::<u32>();
    let all = inputs
        .zip(1_u32..)
        .map(|(tensor, port)| port.wrapping_mul(sum(tensor)));
    all.fold(0, u32::wrapping_add) % 127
}

/// What the double leaves in an f32 output: the `nth`, of so many elements.
fn left(start: u32, nth: u32, elements: usize) -> Vec<f32> {
    (0..elements as u32)
        .map(|i| ((start + nth + i) % 127) as f32)
        .collect()
}

fn facts_of_an_image_arrive() {
    const INPUTS: [&str; 3] = ["images", "orig_target_sizes", "scale_factor"];
    for (era, wholes) in [('C', "i64"), ('A', "i32")] {
        let Some(scene) = Scene::of_era(era) else { return };
        let plan = format!(
            "double-network\ninput images f32 1x3x64x64\ninput orig_target_sizes {wholes} 1x2\ninput scale_factor f32 1x2\n\
             output output0 f32 1x7x84 only\nlayer only Conv\n"
        );
        scene.plan("camera.plan", &plan);
        let text = fs::read_to_string(scene.path("camera.ron")).unwrap();
        let also = "also: [(tensor: \"orig_target_sizes\", values: [ImageWidth, ImageHeight], element: I64), \
                    (tensor: \"scale_factor\", values: [ScaleY, ScaleX])], head:";
        fs::write(scene.path("sized.ron"), text.replace("head:", also)).unwrap();
        let gpu = |preprocess| GpuUse {
            preprocess,
            ..GpuUse::default()
        };
        let mut host = Open::new(&scene, "sized.ron", &["camera.plan"], gpu(Preprocess::Host));
        let mut device = Open::new(&scene, "sized.ron", &["camera.plan"], gpu(Preprocess::Gpu));
        for [width, height] in [[64, 64], [200, 120], [31, 90]] {
            let frame = Frame {
                content: Content::Image(Image {
                    width,
                    height,
                    rgb: (0..width * height * 3).map(|n| (n * 37 % 251) as u8).collect(),
                }),
                ..Frame::default()
            };
            let found = host.outputs(&frame, &["output0"]);
            let tensors = host.slot.tensors();
            let sizes = tensors.get("orig_target_sizes").unwrap();
            assert_eq!(sizes.element().name(), wholes);
            let numbers = jetlag::tensor::Numbers::of(sizes).unwrap();
            assert_eq!(
                [0, 1].map(|at| numbers.at(at).unwrap()),
                [width as f32, height as f32]
            );
            let begin = start(INPUTS.iter().map(|name| tensors.get(name).unwrap()));
            let wanted = left(begin, 0, 7 * 84);
            assert_eq!(tensors.get("output0").unwrap().f32().unwrap(), wanted);
            assert!(
                device.outputs(&frame, &["output0"]) == found,
                "era {era}, {width} × {height}"
            );
        }
    }
}

#[test]
fn what_a_network_takes_beside_its_image_arrives_whoever_makes_the_image() {
    on_the_device(
        "gpu::inputs::what_a_network_takes_beside_its_image_arrives_whoever_makes_the_image",
        facts_of_an_image_arrive,
    );
}

/// One network of images, points and calibration, in each way in which its images lie.
#[cfg(all(feature = "models", feature = "recordings"))]
fn sets_arrive() {
    use crate::fusion::whole;

    let Some(scene) = Scene::new() else { return };
    for lie in whole::ALL {
        whole::made(scene.folder.path(), lie);
        // The double's plans have fixed shapes.
        let text = fs::read_to_string(scene.path("all.ron")).unwrap();
        let text = text.replace("max: 200000", "max: 32, fixed: true");
        fs::write(scene.path("fixed.ron"), text).unwrap();
        let detector = jetlag::detector::spec::load(&scene.path("fixed.ron")).unwrap();
        let inputs: Vec<String> = detector
            .program
            .host_tensors
            .iter()
            .map(|t| t.name.clone())
            .collect();
        assert!(inputs.len() >= 11, "{inputs:?}");
        let ports = detector.program.host_tensors.iter().map(|tensor| {
            let dims: Vec<String> = tensor.max_shape.dims().iter().map(usize::to_string).collect();
            format!("input {} f32 {}\n", tensor.name, dims.join("x"))
        });
        let maps = [("heatmap", 1), ("reg", 2), ("height", 1), ("rot", 2), ("dim", 3)];
        let outputs = maps.map(|(name, channels)| format!("output {name} f32 1x{channels}x4x4 only\n"));
        let plan = ports.chain(outputs).collect::<String>();
        scene.plan("all.plan", &format!("double-network\n{plan}layer only Conv\n"));
        let mut open = Open::new(&scene, "fixed.ron", &["all.plan"], GpuUse::default());
        let names = maps.map(|(name, _)| name);
        open.outputs(&whole::frame(), &names);
        let tensors = open.slot.tensors();
        let begin = start(inputs.iter().map(|name| tensors.get(name).unwrap()));
        let mut wanted = TensorSet::default();
        for (nth, (name, channels)) in (0..).zip(maps) {
            let found = tensors.get(name).unwrap();
            assert_eq!(found.f32().unwrap(), left(begin, nth, channels * 16), "{name}");
            let mut tensor = HostTensor::zeroed(name, found.element(), *found.shape());
            tensor.bytes_mut().copy_from_slice(found.bytes());
            wanted.push(tensor);
        }
        let mut boxes = |tensors: &TensorSet| {
            let mut found = Vec::new();
            let read = open
                .detector
                .postprocess
                .run(tensors, &Carry::default(), &mut found);
            read.unwrap();
            found
        };
        let found = boxes(open.slot.tensors());
        assert!(!found.is_empty());
        assert_eq!(found, boxes(&wanted));
    }
}

#[cfg(all(feature = "models", feature = "recordings"))]
#[test]
fn one_network_of_all_sensors_gets_all_of_its_inputs() {
    on_the_device(
        "gpu::inputs::one_network_of_all_sensors_gets_all_of_its_inputs",
        sets_arrive,
    );
}
