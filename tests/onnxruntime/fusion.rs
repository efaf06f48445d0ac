//! Fusions on ONNX Runtime: several cameras through one network, and one network that takes all, give what they give on the embedded
//! backend.

use jetlag::backend::Backend;
use jetlag::backend::cpu::CpuBackend;
use jetlag::commands::opening;
use jetlag::detector::Place;
use jetlag::detector::fusion::fuse;
use jetlag::scenario::{Associate, DetectorRef, Sensor};
use jetlag::source::synchronised::SensorSet;
use jetlag::source::synthetic::SyntheticSource;
use jetlag::source::{Content, Frame};

use super::networks::{assert_equal, provider, slot};
use super::next_frame;
use crate::common::pipeline::found_in;
use crate::fusion::whole;

#[test]
fn two_cameras_and_a_lidar_find_what_they_find_on_the_embedded_backend() {
    let Some(onnxruntime) = provider(1) else { return };
    let of = |name: &str| opening::detector(&DetectorRef::Builtin(name.to_owned())).unwrap();
    let mut detector = fuse(of("camera"), 2, of("lidar"), Associate::default()).unwrap();
    let mut camera = SyntheticSource::open(Sensor::Camera, 3, 4, true);
    let mut lidar = SyntheticSource::open(Sensor::Lidar, 3, 4, true);
    let mut ours = slot(&CpuBackend::new(1, false), &detector.program);
    let mut theirs = slot(&onnxruntime, &detector.program);
    for _ in 0..2 {
        let image = next_frame(&mut camera);
        let set = SensorSet {
            // The second looks the same way, at the scene of before.
            cameras: vec![image.clone(), image],
            lidar: next_frame(&mut lidar),
            skew: None,
        };
        let frame = Frame {
            content: Content::Set(Box::new(set)),
            ..Frame::default()
        };
        let mut all = Vec::new();
        for slot in [&mut ours, &mut theirs] {
            all.push(found_in(&mut detector, &mut **slot, &frame));
        }
        assert!(assert_equal(ours.tensors(), theirs.tensors(), "fusion") > 1000);
        assert_eq!(all[0].len(), all[1].len());
        assert!(all[0].iter().any(|of| matches!(of.place, Place::Space(_))));
        for (a, b) in all[0].iter().zip(&all[1]) {
            assert_eq!((a.class, a.camera), (b.class, b.camera), "{a:?} and {b:?}");
            assert!((a.score - b.score).abs() < 1e-3, "{a:?} and {b:?}");
        }
    }
}

#[test]
fn one_network_of_all_sensors_gives_what_it_gives_on_the_embedded_backend() {
    let Some(onnxruntime) = provider(1) else { return };
    let folder = tempfile::tempdir().unwrap();
    for lie in whole::ALL {
        let mut detector = whole::made(folder.path(), lie);
        let mut of = |backend: &dyn Backend| {
            let mut slot = slot(backend, &detector.program);
            let found = found_in(&mut detector, &mut *slot, &whole::frame());
            (slot, found)
        };
        let (ours, found) = of(&CpuBackend::new(1, false));
        let (theirs, other) = of(&onnxruntime);
        assert!(assert_equal(ours.tensors(), theirs.tensors(), "whole") > 300);
        assert_eq!((found.len(), other.len()), (16, 16));
        for (a, b) in found.iter().zip(&other) {
            assert!((a.score - b.score).abs() < 1e-5, "{a:?} and {b:?}");
        }
    }
}
