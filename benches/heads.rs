//! Postprocessing on one core: heads on outputs of full size, suppression in space, drawing. `cargo bench --bench heads` (with
//! `--profile dist` for what ships).
//!
//! ```sh
//! cargo bench --bench heads
//! scripts/bench_peer_heads.py --alternate 3        # beside torchvision and NumPy
//! ```
//!
//! With `JETLAG_BENCH_OUTPUTS=FOLDER` the outputs that the heads read are written there as they lie in memory, and how many objects
//! were found in them.

use std::path::PathBuf;

use divan::Bencher;
use jetlag::detector::camera::head::{Geometry, Head};
use jetlag::detector::camera::nms::{Candidates, Labels, Nms};
use jetlag::detector::lidar::anchors::{Activation, Convention};
use jetlag::detector::lidar::grid::Grid;
use jetlag::detector::lidar::heatmap::{
    Head as Heat, HeatmapDecode, HeatmapSpec, RotationOrder, Sides, Task,
};
use jetlag::detector::lidar::nms::{Candidate, Suppress};
use jetlag::detector::{Box2d, Box3d, Carry, Place, Postprocess, spec};
use jetlag::tensor::{ElementType, HostTensor, Shape, TensorSet};
use jetlag_draw::{Kind, Mark, draw};

fn main() {
    divan::main();
}

/// Numbers from 0 to 1 that are the same each time.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1u64 << 24) as f32
    }
}

fn tensor(name: &str, dims: &[usize], mut value: impl FnMut(usize) -> f32) -> HostTensor {
    let mut tensor = HostTensor::zeroed(name, ElementType::F32, Shape::new(dims).expect("few dimensions"));
    let values = tensor.f32_mut().expect("floats");
    values
        .iter_mut()
        .enumerate()
        .for_each(|(index, v)| *v = value(index));
    tensor
}

/// For the peers: what a head reads, and how many it finds.
fn hand_over(name: &str, outputs: &TensorSet, found: usize) {
    let Some(folder) = std::env::var_os("JETLAG_BENCH_OUTPUTS").map(PathBuf::from) else {
        return;
    };
    for tensor in outputs.as_slice() {
        let file = folder.join(format!("{}.f32", tensor.name()));
        std::fs::write(file, tensor.bytes()).expect("written");
    }
    std::fs::write(folder.join(format!("{name}.count")), found.to_string()).expect("written");
}

const YOLO: Geometry = Geometry {
    width: 640,
    height: 640,
    classes: 80,
};

/// 8400 candidates of 80 classes in planes, of which a hundred or so are objects.
fn yolo() -> TensorSet {
    let mut noise = Noise(1);
    let boxes = 8400;
    TensorSet::new(vec![tensor("output0", &[1, 84, boxes], |index| {
        let (plane, cell) = (index / boxes, index % boxes);
        match plane {
            0 | 1 => noise.next() * 640.0,
            2 | 3 => 10.0 + noise.next() * 100.0,
            _ if cell % 80 == 0 && plane == 4 + cell / 80 % 80 => 0.3 + noise.next() * 0.7,
            _ => noise.next() * 0.1,
        }
    })])
}

fn head(text: &str) -> Head {
    let text = format!(
        "Camera(classes: Coco80, network: \"n.onnx\", input: (tensor: \"images\", width: 640, height: 640), head: {text})"
    );
    match spec::read(&text, "bench").expect("a spec") {
        spec::DetectorSpec::Camera(camera) => camera.head,
        _ => unreachable!("a camera"),
    }
}

#[divan::bench(args = [
    r#"YoloAnchorFree(output: "output0")"#,
    r#"Grid(tensors: ["output0"], columns: [[X, Y, Width, Height, Classes]], layout: Columns, point: Origin, levels: [(stride: 8), (stride: 16), (stride: 32)], offset: Identity(times: Pixels))"#,
])]
fn yolo_of_8400_candidates(bencher: Bencher<'_, '_>, text: &str) {
    let (mut head, outputs, nms) = (head(text), yolo(), Nms::default());
    let mut found = Candidates::new(0.25, Labels::Best);
    let mut decode = || {
        found.clear();
        head.decode(&YOLO, &outputs, &mut found).expect("decoded");
        found.suppress(&nms);
        found.as_slice().len()
    };
    hand_over("yolo", &outputs, decode());
    bencher.bench_local(decode);
}

#[divan::bench]
fn centerpoint_of_128_by_128_cells_and_10_classes(bencher: Bencher<'_, '_>) {
    let mut noise = Noise(2);
    let maps = [
        ("heatmap", 10),
        ("reg", 2),
        ("height", 1),
        ("dim", 3),
        ("rot", 2),
        ("vel", 2),
    ];
    let outputs = maps.map(|(name, channels)| {
        tensor(name, &[1, channels, 128, 128], |index| match name {
            "heatmap" if index % 400 == 0 => 1.0 + noise.next(),
            "heatmap" => -6.0 + noise.next(),
            _ => noise.next(),
        })
    });
    let outputs = TensorSet::new(outputs.into());
    let grid = Grid {
        min: [-51.2, -51.2, -5.0],
        size: [0.8, 0.8, 8.0],
        cells: [128, 128],
    };
    let how = HeatmapSpec {
        tasks: vec![Task {
            classes: (0..10).collect(),
            heatmap: "heatmap".to_owned(),
            offset: "reg".to_owned(),
            height: "height".to_owned(),
            size: "dim".to_owned(),
            rotation: "rot".to_owned(),
            velocity: Some("vel".to_owned()),
            distance: Some(1.0),
        }],
        stride: 1,
        activation: Activation::Sigmoid,
        sides: Sides::Logarithms,
        rotation_order: RotationOrder::SinCos,
        convention: Convention::Heading,
        peaks: true,
        least_rotation: 0.0,
    };
    let head = Heat {
        how,
        score_threshold: 0.3,
        before: 1000,
        min: [-51.2, -51.2],
        pillar: [0.8, 0.8],
    };
    let mut decode = HeatmapDecode::new(head, grid, Suppress::new(0.2, 300, true));
    let mut found = Vec::new();
    let mut decode = || {
        decode
            .run(&outputs, &Carry::default(), &mut found)
            .expect("decoded");
        found.len()
    };
    hand_over("centerpoint", &outputs, decode());
    bencher.bench_local(decode);
}

#[divan::bench]
fn suppression_of_1000_boxes_in_space(bencher: Bencher<'_, '_>) {
    let mut noise = Noise(3);
    let candidates: Vec<Candidate> = (0..1000)
        .map(|rank| Candidate {
            score: 1.0 - rank as f32 / 1000.0,
            class: 0,
            at: Box3d {
                x: noise.next() * 100.0 - 50.0,
                y: noise.next() * 100.0 - 50.0,
                z: 0.0,
                l: 4.2,
                w: 1.8,
                h: 1.6,
                yaw: noise.next() * 6.2 - 3.1,
            },
        })
        .collect();
    let mut suppress = Suppress::new(0.1, 1000, true);
    bencher.bench_local(|| {
        let mut left = 0;
        suppress.run(&candidates, |_| left += 1);
        left
    });
}

#[divan::bench]
fn fifty_boxes_drawn_into_1080p(bencher: Bencher<'_, '_>) {
    let mut noise = Noise(4);
    let marks: Vec<Mark<'_>> = (0..50)
        .map(|number| {
            let (x1, y1) = (noise.next() * 1700.0, noise.next() * 900.0);
            let (w, h) = (30.0 + noise.next() * 180.0, 30.0 + noise.next() * 140.0);
            Mark {
                kind: Kind::Found,
                class: number,
                text: format!("car {:.2}", noise.next()).into(),
                place: Place::Image(Box2d {
                    x1,
                    y1,
                    x2: x1 + w,
                    y2: y1 + h,
                }),
            }
        })
        .collect();
    let mut rgb = vec![0; 1920 * 1080 * 3];
    bencher.bench_local(|| draw(&mut rgb, [1920, 1080], &marks).expect("drawn"));
}
