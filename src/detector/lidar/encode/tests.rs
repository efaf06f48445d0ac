//! The layouts against each other, and frame after frame in one set of tensors.

use proptest::prelude::*;

use super::*;
use crate::detector::lidar::voxelise::WhenFull;
use crate::source::PointCloud;

const GRID: Grid = Grid {
    min: [0.0, -2.0, -1.0],
    size: [0.5, 0.5, 2.0],
    cells: [8, 8],
};
const POINTS: usize = 3;
const ROWS: usize = 12;
const ALL: [Feature; 12] = [
    Feature::X,
    Feature::Y,
    Feature::Z,
    Feature::Intensity,
    Feature::MeanX,
    Feature::MeanY,
    Feature::MeanZ,
    Feature::CentreX,
    Feature::CentreY,
    Feature::CentreZ,
    Feature::Zero,
    Feature::Time,
];

/// A time for each point, which is told by its intensity.
fn times(points: &[[f32; 4]]) -> Vec<f32> {
    points.iter().map(|[.., intensity]| intensity / 2.0).collect()
}

fn voxelised(points: &[[f32; 4]]) -> Voxeliser {
    let mut voxeliser = Voxeliser::new(GRID, POINTS as u32, ROWS as u32, WhenFull::Skip);
    voxeliser.run(points);
    voxeliser.gather_times(&times(points));
    voxeliser
}

/// Memory that a backend sets aside, full of what was there before.
fn dirty(encoder: &Encoder) -> TensorSet {
    let tensors = encoder.tensors().into_iter().map(|(name, element, shape)| {
        let mut tensor = HostTensor::zeroed(name, element, shape);
        tensor.bytes_mut().fill(0x55);
        tensor
    });
    TensorSet::new(tensors.collect())
}

fn points_features(fixed: bool) -> Encoder {
    let layout = Layout::PillarsPointsFeatures {
        tensor: "in".to_owned(),
        features: ALL.to_vec(),
        mask: Some("mask".to_owned()),
        batched: true,
    };
    Encoder::new(layout, GRID, POINTS, ROWS, fixed)
}

fn floats<'a>(set: &'a TensorSet, name: &str) -> &'a [f32] {
    set.get(name).unwrap().f32().unwrap()
}

fn sweep() -> impl Strategy<Value = Vec<[f32; 4]>> {
    prop::collection::vec([0.0f32..4.0, -2.0f32..2.0, -1.0f32..1.0, 0.0f32..1.0], 0..40)
}

#[test]
fn features_are_what_their_names_say() {
    let points = [[1.1, 0.1, 0.5, 0.9], [1.3, 0.3, -0.5, 0.1]];
    let encoder = points_features(false);
    let mut set = dirty(&encoder);
    encoder.fill(&voxelised(&points), &mut set).unwrap();
    let wanted = [
        [1.1, 0.1, 0.5, 0.9, -0.1, -0.1, 0.5, -0.15, -0.15, 0.5, 0.0, 0.45],
        [1.3, 0.3, -0.5, 0.1, 0.1, 0.1, -0.5, 0.05, 0.05, -0.5, 0.0, 0.05],
        [0.0; 12],
    ];
    for (found, wanted) in floats(&set, "in").iter().zip(wanted.as_flattened()) {
        assert!((found - wanted).abs() < 1e-6, "{found} {wanted}");
    }
    assert_eq!(floats(&set, "mask"), [1.0, 1.0, 0.0]);
    assert_eq!(set.get(CELLS).unwrap().i32().unwrap(), [2, 4]);
}

#[test]
fn a_sweep_without_points_is_one_row_of_padding() {
    let planes = Layout::Planes(Planes {
        values: ["x", "y", "z", "i"].map(str::to_owned),
        centres: ["cx", "cy"].map(str::to_owned),
        mask: "mask".to_owned(),
        count: "count".to_owned(),
        first_centre: [0.25, -1.75],
    });
    let encoder = Encoder::new(planes, GRID, POINTS, ROWS, false);
    let mut set = dirty(&encoder);
    encoder.fill(&voxelised(&[]), &mut set).unwrap();
    for name in ["x", "y", "z", "i", "cx", "cy", "mask"] {
        assert_eq!(floats(&set, name), [0.0; POINTS], "{name}");
    }
    assert_eq!(floats(&set, "count"), [1.0], "networks divide by it");
    assert_eq!(set.get(CELLS).unwrap().i32().unwrap(), [-1, -1]);
}

proptest! {
    #[test]
    fn a_used_slot_holds_what_a_new_one_would(sweeps in prop::collection::vec(sweep(), 1..5), fixed in any::<bool>()) {
        let encoder = points_features(fixed);
        let mut used = dirty(&encoder);
        for sweep in &sweeps {
            let pillars = voxelised(sweep);
            let mut new = dirty(&encoder);
            encoder.fill(&pillars, &mut used).unwrap();
            encoder.fill(&pillars, &mut new).unwrap();
            for name in ["in", "mask", CELLS] {
                prop_assert_eq!(used.get(name).unwrap().bytes(), new.get(name).unwrap().bytes());
            }
            let rows = if fixed { ROWS } else { pillars.filled().max(1) };
            prop_assert_eq!(used.get("in").unwrap().shape().dims(), &[1, rows, POINTS, ALL.len()]);
            let beyond = &floats(&used, "in")[pillars.filled() * POINTS * ALL.len()..];
            prop_assert!(beyond.iter().all(|v| *v == 0.0));
        }
    }

    #[test]
    fn the_layouts_differ_in_order_alone(sweep in sweep()) {
        let pillars = voxelised(&sweep);
        let (rows, width) = (pillars.filled().max(1), ALL.len());
        let plain = points_features(false);
        let mut set = dirty(&plain);
        plain.fill(&pillars, &mut set).unwrap();
        let layout = Layout::FeaturesPillarsPoints { tensor: "in".to_owned(), features: ALL.to_vec() };
        let turned = Encoder::new(layout, GRID, POINTS, ROWS, false);
        let mut turned_set = dirty(&turned);
        turned.fill(&pillars, &mut turned_set).unwrap();
        let (a, b) = (floats(&set, "in"), floats(&turned_set, "in"));
        for point in 0..rows * POINTS {
            for f in 0..width {
                prop_assert_eq!(a[point * width + f], b[f * rows * POINTS + point]);
            }
        }
    }
}

#[test]
fn a_block_holds_the_sweep_and_how_many_points_it_has_up_to_the_most() {
    let points = [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]];
    let layout = Layout::FeaturesPillarsPoints {
        tensor: "in".to_owned(),
        features: vec![Feature::X],
    };
    let step = Encoder::new(layout, GRID, POINTS, ROWS, true).on_device(&voxelised(&points));
    let mut block = HostTensor::zeroed(on_device::BLOCK, ElementType::F32, step.block.max_shape);
    let mut fill = |points: Vec<[f32; 4]>| {
        let filled = on_device::fill_block(&PointCloud::of(points), false, &mut block);
        filled.map(|()| {
            let bytes = block.bytes();
            let count = u32::from_ne_bytes(*bytes.first_chunk().unwrap());
            (count as usize, bytes.len(), bytes[bytes.len() - 4..].to_vec())
        })
    };
    let last = 8f32.to_ne_bytes().to_vec();
    assert_eq!(fill(points.to_vec()), Ok((2, 3 * 16, last)));
    assert_eq!(
        fill(Vec::new()).map(|(count, length, _)| (count, length)),
        Ok((0, 16))
    );
    let most = vec![points[1]; on_device::MOST_POINTS];
    let filled = fill(most.clone()).map(|(count, length, _)| (count, length));
    assert_eq!(
        filled,
        Ok((on_device::MOST_POINTS, (1 + on_device::MOST_POINTS) * 16))
    );
    let said = fill([most, points.to_vec()].concat()).unwrap_err().to_string();
    assert!(
        said.contains("takes at most 524288: set `preprocess: Host`"),
        "{said}"
    );
}

#[test]
fn times_stand_behind_the_points_of_a_block_and_are_zero_where_the_sweep_has_none() {
    let points = [[1.0; 4], [2.0; 4], [3.0; 4], [4.0; 4], [5.0; 4]];
    let step = points_features(true).on_device(&voxelised(&points));
    assert_eq!(
        step.rules.block_bytes(),
        step.block.max_shape.len() * 4,
        "a device has room for the largest"
    );
    let mut block = HostTensor::zeroed(on_device::BLOCK, ElementType::F32, step.block.max_shape);
    for times in [vec![0.25, 0.5, 0.0, 0.75, 1.0], vec![]] {
        block.bytes_mut().fill(0x55);
        let cloud = PointCloud {
            points: points.to_vec(),
            time: times.clone(),
            ring: Vec::new(),
        };
        on_device::fill_block(&cloud, true, &mut block).unwrap();
        assert_eq!(block.shape().dims(), [1 + 5 + 2, 4]);
        let behind = &block.f32().unwrap()[4 * 6..];
        let mut wanted = [0.0; 8];
        wanted[..times.len()].copy_from_slice(&times);
        assert_eq!(behind, wanted);
    }
}

#[test]
fn a_sweep_without_times_has_zeros_also_where_the_one_before_had_some() {
    let points = [[1.1, 0.1, 0.5, 0.9]];
    let encoder = points_features(false);
    let mut set = dirty(&encoder);
    let mut pillars = voxelised(&points);
    pillars.run(&points);
    encoder.fill(&pillars, &mut set).unwrap();
    assert_eq!(floats(&set, "in")[11], 0.0);
    pillars.gather_times(&[]);
    encoder.fill(&pillars, &mut set).unwrap();
    assert_eq!(floats(&set, "in")[11], 0.0);
}

#[test]
fn a_device_is_told_where_each_value_of_a_layout_stands() {
    let points = [
        [0.1, 0.1, 0.5, 0.9],
        [3.3, 1.3, -0.5, 0.1],
        [0.2, 0.3, 0.4, 0.7],
        [2.2, -1.1, 0.3, 0.5],
    ];
    let pillars = voxelised(&points);
    let counts: Vec<usize> = pillars.pillars().map(|(_, points)| points.len()).collect();
    assert_eq!(counts, [2, 1, 1]);
    let plain = points_features(true);
    let mut all = dirty(&plain);
    plain.fill(&pillars, &mut all).unwrap();
    for layout in [
        Layout::PillarsPointsFeatures {
            tensor: "in".to_owned(),
            features: vec![Feature::Intensity, Feature::CentreY, Feature::MeanX],
            mask: Some("mask".to_owned()),
            batched: true,
        },
        Layout::FeaturesPillarsPoints {
            tensor: "in".to_owned(),
            features: vec![Feature::MeanZ, Feature::Time, Feature::X],
        },
        Layout::Planes(Planes {
            values: ["x", "y", "z", "i"].map(str::to_owned),
            centres: ["cx", "cy"].map(str::to_owned),
            mask: "mask".to_owned(),
            count: "count".to_owned(),
            first_centre: [0.25, -1.75],
        }),
    ] {
        let encoder = Encoder::new(layout, GRID, POINTS, ROWS, true);
        let mut set = dirty(&encoder);
        encoder.fill(&pillars, &mut set).unwrap();
        for (name, tensor) in encoder.on_device(&pillars).tensors {
            let [per_row, per_point, per_feature] = tensor.strides;
            for (row, count) in counts.iter().enumerate() {
                for point in 0..tensor.slots {
                    for (place, code) in tensor.features.iter().enumerate() {
                        let wanted = match usize::from(*code) {
                            15 => floats(&all, "in")[(row * POINTS + point) * ALL.len() + 11],
                            feature @ 0..11 => {
                                floats(&all, "in")[(row * POINTS + point) * ALL.len() + feature]
                            }
                            // Whether there is a point; the middle of a pillar, which nothing else has; how many points.
                            11 => f32::from(u8::from(point < *count)),
                            14 => *count as f32,
                            _ => continue,
                        };
                        let at = row * per_row + point * per_point + place * per_feature;
                        assert_eq!(floats(&set, &name)[at], wanted, "{name}: {row}, {point}, {code}");
                    }
                }
            }
        }
    }
}

#[test]
fn heights_are_measured_from_the_mean_of_the_points_and_from_the_middle_of_the_pillar() {
    let grid = Grid {
        min: [0.0, -2.0, -3.0],
        size: [0.5, 0.5, 4.0],
        ..GRID
    };
    let points = [[1.1, 0.1, 0.5, 0.9], [1.3, 0.4, -1.5, 0.1], [1.2, 0.1, -0.5, 0.2]];
    let origins = Origins::of(&grid, [2, 4], &points);
    // The mean is (1.2, 0.2, −0.5), the middle (1.25, 0.25, −1).
    let wanted = [1.1, 0.1, 0.5, 0.9, -0.1, -0.1, 1.0, -0.15, -0.15, 1.5, 0.0, 0.0];
    for (found, wanted) in origins.values(&points[0]).iter().zip(wanted) {
        assert!((found - wanted).abs() < 1e-6, "{found} {wanted}");
    }
}
