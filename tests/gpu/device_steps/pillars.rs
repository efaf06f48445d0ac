//! Sweeps on the device: the host's pillars in the host's order, and the encoder's inputs to the bit.

use jetlag::backend::gpu::kernels;
use jetlag::detector::lidar::encode::on_device::{self, MOST_POINTS};
use jetlag::detector::lidar::encode::{CELLS, Encoder, Feature, Layout, Planes};
use jetlag::detector::lidar::grid::Grid;
use jetlag::detector::lidar::voxelise::{Voxeliser, WhenFull};
use jetlag::gpu::{DeviceMemory, Gpu, PILLARS, Pillars, Stream};
use jetlag::source::PointCloud;
use jetlag::tensor::{ElementType, HostTensor, TensorSet};

use super::{on_the_device, random};

const GRID: Grid = Grid {
    min: [0.1, -4.0, -1.0],
    size: [0.4, 0.3, 2.5],
    cells: [20, 24],
};
const MOST_IN_A_PILLAR: usize = 5;

fn layouts() -> Vec<Layout> {
    use Feature::*;
    let name = str::to_owned;
    vec![
        Layout::PillarsPointsFeatures {
            tensor: name("in"),
            features: vec![
                X, Y, Z, Intensity, MeanX, MeanY, MeanZ, CentreX, CentreY, CentreZ, Zero, Time,
            ],
            mask: Some(name("mask")),
            batched: true,
        },
        Layout::FeaturesPillarsPoints {
            tensor: name("in"),
            features: vec![Intensity, Time, CentreY, MeanX],
        },
        Layout::Planes(Planes {
            values: ["x", "y", "z", "i"].map(name),
            centres: ["cx", "cy"].map(name),
            mask: name("mask"),
            count: name("count"),
            first_centre: [0.33, -3.87],
        }),
    ]
}

/// Points in and around the range, on its bounds, several to a cell, and some that are no numbers.
fn sweep(points: usize, spread: f32, state: &mut u64) -> Vec<[f32; 4]> {
    let mut unit = || random(state) as f32 / (1u64 << 31) as f32;
    let point = |place: usize| {
        let point = [
            0.1 + unit() * 8.4 * spread,
            -4.2 + unit() * 7.8 * spread,
            -1.2 + unit() * 3.0,
            unit(),
        ];
        match place % 53 {
            7 => [f32::NAN, point[1], point[2], point[3]],
            11 => [point[0], point[1], point[2], f32::INFINITY],
            13 => [0.1, -4.0, -1.0, 0.0],
            17 => [8.1, 3.2, 1.5, 0.0],
            _ => point,
        }
    };
    (0..points).map(point).collect()
}

fn tensors(encoder: &Encoder) -> TensorSet {
    let tensor = |(name, element, shape)| HostTensor::zeroed(name, element, shape);
    TensorSet::new(encoder.tensors().into_iter().map(tensor).collect())
}

fn pillars_are_the_same() {
    let gpu = Gpu::open(0).unwrap();
    let module = kernels(&gpu, PILLARS).unwrap();
    let stream = Stream::new(&gpu, 0).unwrap();
    let memory = |bytes| DeviceMemory::new(&gpu, bytes).unwrap();
    let mut state = 3;
    let (mut filled, mut crowded) = (0, 0);
    for layout in layouts() {
        for (when_full, rows) in [(WhenFull::Stop, 60), (WhenFull::Skip, 60), (WhenFull::Stop, 480)] {
            let mut voxeliser = Voxeliser::new(GRID, MOST_IN_A_PILLAR as u32, rows as u32, when_full);
            let encoder = Encoder::new(layout.clone(), GRID, MOST_IN_A_PILLAR, rows, true);
            let step = encoder.on_device(&voxeliser);
            let mut host = tensors(&encoder);
            let (name, shape) = (step.block.name.clone(), step.block.max_shape);
            let mut block = HostTensor::zeroed(name, ElementType::F32, shape);
            let on_device = memory(step.rules.block_bytes());
            let cells = memory(rows * 8);
            let made: Vec<(DeviceMemory, &str)> = step
                .tensors
                .iter()
                .map(|(name, _)| (memory(host.get(name).unwrap().bytes().len()), name.as_str()))
                .collect();
            let into = made.iter().zip(&step.tensors);
            let into = into.map(|((memory, _), (_, tensor))| (memory.span(), tensor.clone()));
            let pillars = Pillars::new(
                &module,
                step.rules,
                on_device.span(),
                cells.span(),
                into.collect(),
            )
            .unwrap();
            for (points, spread) in [
                (3000, 1.0),
                (0, 1.0),
                (1, 1.0),
                (700, 0.1),
                (200, 1.0),
                (2500, 3.0),
            ] {
                let points = sweep(points, spread, &mut state);
                let of_several = points.len() != 200;
                let times = points.iter().map(|_| random(&mut state) as f32 * 1e-10);
                let cloud = PointCloud {
                    time: if of_several { times.collect() } else { Vec::new() },
                    ring: Vec::new(),
                    points,
                };
                let points = cloud.points.len();
                let tally = voxeliser.run(&cloud.points);
                voxeliser.gather_times(&cloud.time);
                filled += usize::from(voxeliser.filled() == rows);
                crowded += tally.crowded;
                encoder.fill(&voxeliser, &mut host).unwrap();
                on_device::fill_block(&cloud, encoder.takes_time(), &mut block).unwrap();
                on_device.fill(block.bytes()).unwrap();
                pillars.enqueue(&stream).unwrap();
                stream.synchronize().unwrap();
                let said = format!("{points} points, {rows} rows, {when_full:?}, {layout:?}");
                // The host's has as many rows as there are pillars.
                let wanted = host.get(CELLS).unwrap().bytes();
                let found = cells.read().unwrap();
                assert!(found[..wanted.len()] == *wanted, "cells of {said}");
                assert!(
                    found[wanted.len()..].iter().all(|byte| *byte == 0xff),
                    "rows of {said}"
                );
                for (memory, name) in &made {
                    assert!(
                        memory.read().unwrap() == host.get(name).unwrap().bytes(),
                        "{name} of {said}"
                    );
                }
            }
        }
    }
    assert!(
        filled > 5 && crowded > 1000,
        "{filled} full sweeps, {crowded} points too many"
    );
}

#[test]
fn the_device_voxelises_as_the_host_to_the_bit() {
    on_the_device(
        "gpu::device_steps::pillars::the_device_voxelises_as_the_host_to_the_bit",
        pillars_are_the_same,
    );
}

#[test]
fn a_sweep_beyond_the_block_is_refused_in_words() {
    let cloud = PointCloud::of(vec![[0.0; 4]; MOST_POINTS + 1]);
    let encoder = Encoder::new(layouts().remove(0), GRID, 4, 4, true);
    let step = encoder.on_device(&Voxeliser::new(GRID, 4, 4, WhenFull::Stop));
    let mut block = HostTensor::zeroed("block", ElementType::F32, step.block.max_shape);
    let said = on_device::fill_block(&cloud, false, &mut block)
        .unwrap_err()
        .to_string();
    assert!(
        said.contains("524289") && said.contains("preprocess: Host"),
        "{said}"
    );
}
