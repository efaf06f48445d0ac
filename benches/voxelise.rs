//! Pillar voxelisation of one sweep of 120 000 points on one core, and what stands around it.
//!
//! The same sweep, from the same generator, goes through NumPy and C++ in scripts/bench_peer_lidar.py, which
//! reads it from the file that JETLAG_BENCH_SWEEP names where it is set.

use divan::Bencher;
use jetlag::detector::lidar::encode::{Encoder, Feature, Layout};
use jetlag::detector::lidar::grid::Grid;
use jetlag::detector::lidar::voxelise::{Voxeliser, WhenFull};
use jetlag::tensor::{HostTensor, TensorSet};

fn main() {
    divan::main();
}

/// PointPillars for KITTI: 432 × 496 pillars of 0.16 m.
const GRID: Grid = Grid {
    min: [0.0, -39.68, -3.0],
    size: [0.16, 0.16, 4.0],
    cells: [432, 496],
};

/// A spinning sensor of 64 beams on flat ground among walls: most of what lies in range is hit more than once.
fn sweep() -> Vec<[f32; 4]> {
    if let Some(path) = std::env::var_os("JETLAG_BENCH_SWEEP") {
        let bytes = std::fs::read(&path).expect("JETLAG_BENCH_SWEEP names a sweep that can be read");
        let float = |b: &[u8]| f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        let point = |b: &[u8]| [float(b), float(&b[4..]), float(&b[8..]), float(&b[12..])];
        return bytes.chunks_exact(16).map(point).collect();
    }
    let (beams, steps) = (64, 1875);
    let mut points = Vec::with_capacity(beams * steps);
    for beam in 0..beams {
        let down = (2.0 - 26.8 * beam as f32 / 63.0).to_radians();
        for step in 0..steps {
            let around = std::f32::consts::TAU * step as f32 / steps as f32;
            let wall = 12.0 + 18.0 * (around * 3.0).sin().abs() + 20.0 * (around * 1.5).cos().powi(2);
            let ground = if down < 0.0 { -1.73 / down.tan() } else { f32::MAX };
            let range = wall.min(ground);
            points.push([
                range * around.cos(),
                range * around.sin(),
                range * down.tan(),
                0.3,
            ]);
        }
    }
    points
}

fn voxeliser() -> Voxeliser {
    Voxeliser::new(GRID, 32, 12_000, WhenFull::Stop)
}

/// Points to pillars.
#[divan::bench]
fn points_to_pillars(bencher: Bencher) {
    let (points, mut voxeliser) = (sweep(), voxeliser());
    bencher.bench_local(|| voxeliser.run(divan::black_box(&points)));
}

/// Points to the encoder's input `[1, P, 32, 9]`.
#[divan::bench]
fn points_to_encoder_input(bencher: Bencher) {
    use Feature::{CentreX, CentreY, Intensity, MeanX, MeanY, MeanZ, X, Y, Z};
    let layout = Layout::PillarsPointsFeatures {
        tensor: "pillar_points".to_owned(),
        features: vec![X, Y, Z, Intensity, MeanX, MeanY, MeanZ, CentreX, CentreY],
        mask: None,
        batched: true,
    };
    let (points, mut voxeliser) = (sweep(), voxeliser());
    let encoder = Encoder::new(layout, GRID, 32, 12_000, false);
    let tensors = encoder.tensors().into_iter();
    let mut set = TensorSet::new(
        tensors
            .map(|(name, element, shape)| HostTensor::zeroed(name, element, shape))
            .collect(),
    );
    bencher.bench_local(|| {
        voxeliser.run(divan::black_box(&points));
        encoder
            .fill(&voxeliser, &mut set)
            .expect("the tensors were made for it");
    });
}
