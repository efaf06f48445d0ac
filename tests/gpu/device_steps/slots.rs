//! Frames through slots whose device pre-processes, beside those whose host does: the networks' outputs are the same.

use std::sync::Arc;

use jetlag::backend::gpu::{Claim, Options, SharedGpu};
use jetlag::backend::tensorrt::{TensorRtBackend, over_plans};
use jetlag::backend::{Backend, Slot};
use jetlag::detector::fusion::fuse;
use jetlag::detector::lidar::encode::CELLS;
use jetlag::detector::{Carry, Detector, spec};
use jetlag::scenario::{Associate, GpuUse, Graph, Preprocess, Sharing, Transfer};
use jetlag::source::synchronised::SensorSet;
use jetlag::source::{Content, Frame, Image, PointCloud};
use jetlag::tensor::HeapMemory;

use super::{on_the_device, random};
use crate::common::under_way::PATIENCE;
use crate::gpu::scene::Scene;

/// A detector with one slot.
pub(in crate::gpu) struct Open {
    pub(in crate::gpu) detector: Detector,
    pub(in crate::gpu) slot: Box<dyn Slot>,
}

/// A detector of one spec, or a fusion of two: `camera.ron + lidar.ron`, or `2 × camera.ron + lidar.ron`.
fn load(scene: &Scene, specs: &str) -> Detector {
    let one = |name: &str| spec::load(&scene.path(name)).unwrap();
    match specs.split_once(" + ") {
        Some((cameras, lidar)) => {
            let (count, camera) = cameras.split_once(" × ").unwrap_or(("1", cameras));
            let count = count.parse().unwrap();
            fuse(one(camera), count, one(lidar), Associate::default()).unwrap()
        }
        None => one(specs),
    }
}

impl Open {
    pub(in crate::gpu) fn new(scene: &Scene, detector: &str, plans: &[&str], gpu: GpuUse) -> Self {
        let detector = load(scene, detector);
        let plans: Vec<_> = plans.iter().map(|plan| scene.path(plan)).collect();
        let program = over_plans(&detector.program, &plans).unwrap();
        let claim = Claim::default();
        let backend = TensorRtBackend {
            library: scene.library(),
            shared: Arc::new(SharedGpu::open(0, &[Sharing::Streams], &[claim]).unwrap()),
            claim,
            options: Options {
                backend: "tensorrt",
                gpu,
                watchdog: PATIENCE,
                findings: Vec::new(),
            },
            profile: false,
            networks: Vec::new(),
        };
        let mut slots = backend.open(&program, 1).unwrap().slots;
        let mut slot = slots.pop().unwrap();
        assert_eq!(slot.take_findings(), []);
        Open { detector, slot }
    }

    /// Bytes of these outputs for a frame.
    pub(in crate::gpu) fn outputs(&mut self, frame: &Frame, names: &[&str]) -> Vec<Vec<u8>> {
        let mut carry = Carry::default();
        let tensors = self.slot.tensors_mut();
        self.detector.preprocess.run(frame, tensors, &mut carry).unwrap();
        self.slot.submit().unwrap();
        let times = self.slot.wait().unwrap();
        assert!(times.compute.is_some());
        let bytes = |name: &&str| self.slot.tensors().get(name).unwrap().bytes().to_vec();
        names.iter().map(bytes).collect()
    }
}

/// Every way in which a frame can go to the device and through it.
fn ways() -> Vec<GpuUse> {
    let mut ways = Vec::new();
    for transfer in [Transfer::Copy, Transfer::ZeroCopy, Transfer::Managed] {
        for graph in [Graph::Off, Graph::On, Graph::Auto] {
            ways.push(GpuUse {
                transfer,
                graph,
                preprocess: Preprocess::Gpu,
                ..GpuUse::default()
            });
        }
    }
    ways
}

/// Frames through a slot of the host and one of the device; no two frames have the same outputs.
fn outputs_are_the_same(detector: &str, plans: &[&str], names: &[&str], frames: &[Frame]) {
    let Some(scene) = Scene::new() else { return };
    scene.demo(0, 0);
    let mut host = Open::new(&scene, detector, plans, GpuUse::default());
    let wanted: Vec<_> = frames.iter().map(|frame| host.outputs(frame, names)).collect();
    for (place, outputs) in wanted.iter().enumerate() {
        assert!(!wanted[..place].contains(outputs), "frame {place}");
    }
    for way in ways() {
        let mut device = Open::new(&scene, detector, plans, way.clone());
        for (place, (frame, wanted)) in frames.iter().zip(&wanted).enumerate() {
            assert!(device.outputs(frame, names) == *wanted, "frame {place}, {way:?}");
        }
    }
}

fn images() -> Vec<Frame> {
    let mut state = 5;
    let sizes = [[64, 64], [64, 64], [64, 64], [200, 120], [31, 90], [64, 64]];
    let image = |[width, height]: [usize; 2]| Image {
        width,
        height,
        rgb: (0..width * height * 3)
            .map(|_| random(&mut state) as u8)
            .collect(),
    };
    let frame = |image| Frame {
        content: Content::Image(image),
        ..Frame::default()
    };
    sizes.map(image).map(frame).into()
}

#[test]
fn images_of_any_size_come_out_as_from_the_host() {
    on_the_device(
        "gpu::device_steps::slots::images_of_any_size_come_out_as_from_the_host",
        || outputs_are_the_same("camera.ron", &["camera.plan"], &["output0"], &images()),
    );
}

fn sweeps() -> Vec<Frame> {
    let mut state = 9;
    let mut sweep = |points: usize| {
        let mut unit = |_| random(&mut state) as f32 / (1u64 << 31) as f32;
        let mut point = || {
            let [x, y, z, i] = std::array::from_fn(&mut unit);
            [x * 60.0 - 4.0, y * 60.0 - 30.0, z * 4.5 - 3.2, i]
        };
        Content::Points(PointCloud::of((0..points).map(|_| point()).collect()))
    };
    let frame = |content| Frame {
        content,
        ..Frame::default()
    };
    [5000, 900, 20, 0, 5000].map(&mut sweep).map(frame).into()
}

/// The features of rows that only fill up are not the host's, which has none; they are scattered nowhere.
#[test]
fn sweeps_of_any_size_come_out_as_from_the_host() {
    on_the_device(
        "gpu::device_steps::slots::sweeps_of_any_size_come_out_as_from_the_host",
        || {
            let plans = ["encoder.plan", "backbone.plan"];
            outputs_are_the_same("lidar.ron", &plans, &["box_preds", "cls_preds"], &sweeps());
        },
    );
}

/// Both networks of a fusion in one slot: each has what it has alone, and with the steps on the device both sensors' inputs are made
/// there.
#[test]
fn sets_of_two_sensors_come_out_as_from_the_host() {
    on_the_device(
        "gpu::device_steps::slots::sets_of_two_sensors_come_out_as_from_the_host",
        || {
            let set = |(camera, lidar)| set(vec![camera], lidar);
            let frames: Vec<Frame> = images().into_iter().zip(sweeps()).map(set).collect();
            let plans = ["camera.plan", "encoder.plan", "backbone.plan"];
            let names = ["output0", "box_preds", "cls_preds"];
            outputs_are_the_same("camera.ron + lidar.ron", &plans, &names, &frames);
        },
    );
}

fn set(cameras: Vec<Frame>, lidar: Frame) -> Frame {
    Frame {
        content: Content::Set(Box::new(SensorSet {
            cameras,
            lidar,
            skew: None,
        })),
        ..Frame::default()
    }
}

/// The camera's network once for each of two cameras, whose tensors are their own.
#[test]
fn sets_of_two_cameras_and_a_lidar_come_out_as_from_the_host() {
    on_the_device(
        "gpu::device_steps::slots::sets_of_two_cameras_and_a_lidar_come_out_as_from_the_host",
        || {
            let others = images().into_iter().rev();
            let both = images().into_iter().zip(others).zip(sweeps());
            let set = |((one, other), lidar)| set(vec![one, other], lidar);
            let frames: Vec<Frame> = both.map(set).collect();
            let plans = ["camera.plan", "encoder.plan", "backbone.plan"];
            let names = [
                "output0 (camera 0)",
                "output0 (camera 1)",
                "box_preds",
                "cls_preds",
            ];
            outputs_are_the_same("2 × camera.ron + lidar.ron", &plans, &names, &frames);
        },
    );
}

/// Postprocessing that asks which pillars hold points finds them; otherwise they stay where they are.
fn cells_come_back() {
    let Some(scene) = Scene::new() else { return };
    scene.demo(0, 0);
    let text = std::fs::read_to_string(scene.path("lidar.ron")).unwrap();
    let text = text.replace("drop_empty: false", "drop_empty: true");
    std::fs::write(scene.path("drops.ron"), text).unwrap();
    let plans = ["encoder.plan", "backbone.plan"];
    let mut host = Open::new(&scene, "drops.ron", &plans, GpuUse::default());
    for way in ways() {
        let mut device = Open::new(&scene, "drops.ron", &plans, way.clone());
        let mut other = Open::new(&scene, "lidar.ron", &plans, way.clone());
        for frame in &sweeps() {
            let wanted = host.outputs(frame, &[CELLS]).remove(0);
            let found = device.outputs(frame, &[CELLS]).remove(0);
            let (held, rest) = found.split_at(wanted.len());
            assert!(held == wanted && rest.iter().all(|byte| *byte == 0xff), "{way:?}");
            assert!(other.outputs(frame, &[CELLS])[0].is_empty());
        }
        let cells = other.slot.tensors().get(CELLS).unwrap();
        let said = cells.i32().unwrap_err().to_string();
        assert!(said.contains("is only on the device"), "{said}");
    }
}

#[test]
fn pillars_come_back_where_postprocessing_asks_for_them() {
    on_the_device(
        "gpu::device_steps::slots::pillars_come_back_where_postprocessing_asks_for_them",
        cells_come_back,
    );
}

fn memory_has_one_user() {
    let Some(scene) = Scene::new() else { return };
    scene.demo(0, 0);
    let (frame, names) = (&images()[0], ["output0"]);
    for way in ways() {
        let mut open = Open::new(&scene, "camera.ron", &["camera.plan"], way);
        let wanted = open.outputs(frame, &names);
        let bytes = wanted[0].len();
        let tensors = open.slot.tensors_mut();
        open.detector
            .preprocess
            .run(frame, tensors, &mut Carry::default())
            .unwrap();
        open.slot.submit().unwrap();
        let lent = open.slot.tensors().get(names[0]).unwrap();
        assert!(lent.bytes().is_empty(), "the device may be writing");
        assert!(lent.f32().is_err());
        open.slot.wait().unwrap();
        assert!(open.slot.tensors().get(names[0]).unwrap().bytes() == wanted[0]);

        let taken = std::mem::take(open.slot.tensors_mut());
        let said = open.slot.submit().unwrap_err().to_string();
        assert!(said.contains("tensors were exchanged"), "{said}");
        *open.slot.tensors_mut() = taken;
        assert!(open.outputs(frame, &names) == wanted, "they are the slot's again");

        let output = open.slot.tensors_mut().get_mut(names[0]).unwrap();
        let shape = *output.shape();
        output
            .replace(shape, Box::new(HeapMemory::zeroed(bytes)))
            .unwrap();
        assert!(
            open.slot.submit().is_err(),
            "copies go into the slot's own memory"
        );
    }
}

#[test]
fn a_slots_memory_is_the_hosts_or_the_devices_and_never_exchanged() {
    on_the_device(
        "gpu::device_steps::slots::a_slots_memory_is_the_hosts_or_the_devices_and_never_exchanged",
        memory_has_one_user,
    );
}
