//! Ten sweeps of 34 688 points, as nuScenes has them, put together on one core: the last frame of every keyframe network.
//! The budget is 8 ms.

// The macros make functions that nobody documents.
#![allow(missing_docs)]

use divan::{Bencher, black_box};
use jetlag_datasets::geometry::{Pose, Rotation};
use jetlag_datasets::sweeps::{MIN_DISTANCE, SweepCloud, SweepPlace};
use jetlag_record::units::Nanos;

const POINTS: usize = 34_688;

fn main() {
    divan::main();
}

/// Points on a spiral from the sensor outwards, some on the car.
fn sweep() -> Vec<u8> {
    let point = |number: usize| {
        let (share, angle) = (number as f32 / POINTS as f32, number as f32 * 0.01);
        let reach = share * share * 70.0;
        [
            reach * angle.cos(),
            reach * angle.sin(),
            share * 4.0 - 2.0,
            share * 255.0,
            (number % 32) as f32,
        ]
    };
    (0..POINTS).flat_map(point).flat_map(f32::to_le_bytes).collect()
}

fn places() -> Vec<SweepPlace> {
    let older = |number: i64| {
        let half = 0.002 * number as f64;
        let pose = Pose {
            translation: [-0.4 * number as f64, 0.01, 0.0],
            rotation: Rotation::from_quaternion([half.cos(), 0.0, 0.0, half.sin()]).unwrap_or(Rotation::NONE),
        };
        SweepPlace::new(&pose, Nanos::from_millis(50 * number))
    };
    std::iter::once(SweepPlace::newest())
        .chain((1..10).map(older))
        .collect()
}

#[divan::bench(sample_count = 200)]
fn ten(bencher: Bencher) {
    let (bytes, places) = (sweep(), places());
    let mut cloud = SweepCloud::default();
    bencher.bench_local(|| {
        cloud.clear();
        for place in &places {
            cloud
                .append(black_box(&bytes), place, MIN_DISTANCE)
                .expect("whole points");
        }
        black_box(&cloud);
    });
}

#[divan::bench(sample_count = 200)]
fn one(bencher: Bencher) {
    let bytes = sweep();
    let mut cloud = SweepCloud::default();
    bencher.bench_local(|| {
        cloud.clear();
        cloud
            .append(black_box(&bytes), &SweepPlace::newest(), MIN_DISTANCE)
            .expect("whole points");
        black_box(&cloud);
    });
}
