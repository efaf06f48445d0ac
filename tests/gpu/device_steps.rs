//! Steps on the device instead of the host: the same bits, and no way back to the host between engines.

use jetlag::backend::gpu::kernels;
use jetlag::backend::{DeviceStep, HostStep};
use jetlag::detector::lidar::encode::CELLS;
use jetlag::detector::lidar::scatter::{FeatureLayout, Scatter as HostScatter};
use jetlag::gpu::{DeviceMemory, Gpu, SCATTER, Scatter, Stream};
use jetlag::tensor::{ElementType, HostTensor, Shape, TensorSet};
use nvidia_doubles::cuda::{self, Control};
use nvidia_doubles::machine;

use super::scene::{Scene, number};
use super::under_way;
use jetlag::record::Outcome;

mod fit;
mod pillars;
pub(super) mod slots;

const CHANNELS: usize = 8;
const NX: usize = 16;
const NY: usize = 12;
const MOST: usize = 64;

/// Numbers without a pattern, the same each time.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    *state >> 33
}

/// A frame's cells, no two alike, with rows behind them that only fill up.
fn cells_of(pillars: usize, state: &mut u64) -> Vec<[i32; 2]> {
    let mut all: Vec<usize> = (0..NX * NY).collect();
    for last in (1..all.len()).rev() {
        all.swap(last, random(state) as usize % (last + 1));
    }
    let mut cells: Vec<[i32; 2]> = all[..pillars]
        .iter()
        .map(|cell| [(cell % NX) as i32, (cell / NX) as i32])
        .collect();
    cells.extend([[-1, -1]; 2]);
    cells
}

/// Frames of one slot on host and device, of both layouts; every canvas is the same to the bit.
fn scatters_are_the_same() {
    let gpu = Gpu::open(0).unwrap();
    let module = kernels(&gpu, SCATTER).unwrap();
    let stream = Stream::new(&gpu, 0).unwrap();
    for layout in [FeatureLayout::PillarsChannels, FeatureLayout::ChannelsPillars] {
        let host = HostScatter {
            features: "features".to_owned(),
            layout,
            canvas: "canvas".to_owned(),
            channels: CHANNELS,
            cells: [NX as u32, NY as u32],
            max_pillars: MOST,
        };
        let Some(DeviceStep::Scatter(step)) = host.on_device() else {
            panic!("the scatter has kernels");
        };
        let dims = |dims: [usize; 3]| Shape::new(&dims).unwrap();
        let mut set = TensorSet::default();
        set.push(HostTensor::zeroed(
            "features",
            ElementType::F32,
            dims([1, MOST, CHANNELS]),
        ));
        set.push(HostTensor::zeroed(CELLS, ElementType::I32, dims([1, MOST, 2])));
        for (name, element, shape) in host.tensors() {
            set.push(HostTensor::zeroed(name, element, shape));
        }
        let canvas_bytes = CHANNELS * NX * NY * 4;
        let memory = |bytes| DeviceMemory::new(&gpu, bytes).unwrap();
        let (features, cells, canvas) = (
            memory(MOST * CHANNELS * 4),
            memory(MOST * 8),
            memory(canvas_bytes),
        );
        let mut device =
            Scatter::new(&module, step.shape, features.span(), cells.span(), canvas.span()).unwrap();
        let mut state = 7;
        for pillars in [40, 3, 0, MOST - 2, 17] {
            let frame = cells_of(pillars, &mut state);
            let rows = frame.len();
            let tensor = set.get_mut(CELLS).unwrap();
            tensor.set_shape(dims([1, rows, 2])).unwrap();
            tensor.i32_mut().unwrap().copy_from_slice(frame.as_flattened());
            cells.fill(tensor.bytes()).unwrap();
            let tensor = set.get_mut("features").unwrap();
            let shape = match layout {
                FeatureLayout::PillarsChannels => dims([1, rows, CHANNELS]),
                FeatureLayout::ChannelsPillars => dims([1, CHANNELS, rows]),
            };
            tensor.set_shape(shape).unwrap();
            for value in tensor.f32_mut().unwrap() {
                *value = f32::from_bits(0x3f80_0000 | (random(&mut state) as u32 & 0x7f_ffff)) - 1.5;
            }
            features.fill(tensor.bytes()).unwrap();
            host.run(&mut set).unwrap();
            device.enqueue(&stream, rows, rows).unwrap();
            stream.synchronize().unwrap();
            let wanted = set.get("canvas").unwrap().bytes();
            assert!(wanted == canvas.read().unwrap(), "{layout:?}, {pillars} pillars");
            let filled = wanted.iter().any(|byte| *byte != 0);
            assert_eq!(filled, pillars > 0, "the comparison is of something");
        }
        assert!(
            device.enqueue(&stream, MOST + 1, MOST + 1).is_err(),
            "more than there is room for"
        );
    }
}

/// Runs the body of the test of this name: with JETLAG_GPU=1 on the GPU and with the NVRTC of this machine, else on their
/// doubles.
pub(super) fn on_the_device(test: &str, body: impl FnOnce()) {
    if machine::is_asked("JETLAG_GPU") {
        return body();
    }
    let Some(nvrtc) = cuda::nvrtc() else { return };
    let folder = tempfile::tempdir().unwrap();
    let control = Control::default()
        .variable("JETLAG_NVRTC", nvrtc)
        .variable("JETLAG_CACHE", folder.path());
    cuda::beside(test, &control, body);
}

#[test]
fn the_device_scatters_as_the_host_to_the_bit() {
    on_the_device(
        "gpu::device_steps::the_device_scatters_as_the_host_to_the_bit",
        scatters_are_the_same,
    );
}

#[test]
fn a_lidar_detector_stays_on_the_device_between_its_engines() {
    let Some(scene) = Scene::new() else { return };
    scene.demo(1_000, 6_000);
    let downloads = |preprocess: &str, graph: &str| -> Option<(f64, u64)> {
        let log = scene.path(&format!("{preprocess}-{graph}.log"));
        let lidar = format!("arrival: Closed, preprocess: {preprocess}, graph: {graph}");
        // Ended by frames, so that none is cut off whose copies were made; so many that a busy host is not late in each.
        let scenario = scene.by_frames(scene.scenario("", "arrival: Periodic(40)", &lidar), 60);
        let summary = scene.run(&Control::default().log(&log), &scenario)?;
        assert_eq!(number(&summary, "lidar", "/frames/failed"), 0.0, "{summary}");
        let frames = number(&summary, "lidar", "/frames/completed");
        assert!(frames > 0.0, "{summary}");
        let compute = number(&summary, "lidar", "/stages_ms/compute/min");
        // The double runs our kernels on the processor, which takes as long as it takes.
        let most = if preprocess == "Gpu" { 200.0 } else { 12.0 };
        assert!(
            (6.0..most).contains(&compute),
            "both engines and the steps between: {compute}"
        );
        let log = cuda::read_log(&log);
        let run = log
            .iter()
            .max_by_key(|entry| entry["operations"].as_u64())
            .unwrap();
        for kind in ["allocations", "graphs", "executable_graphs"] {
            assert_eq!(run["live"][kind], 0, "{kind}: {run}");
        }
        if preprocess == "Gpu" && graph == "On" {
            // One slot, and nothing of a sweep but its bytes differs from the one before.
            assert_eq!(run["calls"]["cuGraphInstantiateWithFlags"], 1, "{run}");
        }
        let copies = run["calls"]["cuMemcpyDtoHAsync_v2"].as_f64().unwrap();
        let served = |tenant| {
            let all = under_way::frames(&scene.path("run.mcap"), tenant);
            let completed = all.iter().filter(|frame| frame.outcome == Outcome::Completed);
            completed.count() as f64
        };
        // The camera has one head, whose result is copied back for each of its frames.
        let of_lidar = (copies - served(0)) / served(1);
        Some((of_lidar, run["live"]["modules"].as_u64().unwrap()))
    };
    let (Some((host, theirs)), Some((device, modules))) = (downloads("Host", "Off"), downloads("Gpu", "Off"))
    else {
        return;
    };
    // Two heads a frame either way; through the host the features as well.
    assert_eq!((host, device), (3.0, 2.0), "copies back a frame");
    // The double of TensorRT keeps a module of its own.
    assert_eq!(modules, theirs);
    downloads("Gpu", "On");
}

/// The camera's frames come as they are, of several sizes, and one graph serves them all.
#[test]
fn images_of_changing_size_keep_their_graph() {
    let Some(scene) = Scene::new() else { return };
    scene.demo(1_000, 1_000);
    let folder = scene.path("pictures");
    std::fs::create_dir(&folder).unwrap();
    for (number, (width, height)) in [(64, 64), (200, 120), (90, 131)].into_iter().enumerate() {
        let image =
            image::RgbImage::from_fn(width, height, |x, y| image::Rgb([x as u8, y as u8, number as u8]));
        image.save(folder.join(format!("{number}.png"))).unwrap();
    }
    let run = |preprocess: &str| {
        let log = scene.path(&format!("{preprocess}.log"));
        let tenant = format!("arrival: Closed, depth: 2, graph: On, preprocess: {preprocess}");
        let scenario = scene.by_frames(scene.scenario("", &tenant, ""), 12);
        let text = std::fs::read_to_string(&scenario).unwrap();
        let synthetic = "Synthetic(sensor: Camera, scenes: 1)";
        assert!(text.contains(synthetic));
        std::fs::write(&scenario, text.replace(synthetic, "Images(\"pictures\")")).unwrap();
        let summary = scene.run(&Control::default().log(&log), &scenario)?;
        assert_eq!(number(&summary, "camera", "/frames/failed"), 0.0, "{summary}");
        assert!(
            number(&summary, "camera", "/frames/completed") >= 3.0,
            "{summary}"
        );
        assert!(!summary["run"]["findings"].to_string().contains("step-on-host"));
        let log = cuda::read_log(&log);
        let run = log.into_iter().max_by_key(|entry| entry["operations"].as_u64());
        run.map(|run| run["calls"].clone())
    };
    let (Some(host), Some(device)) = (run("Host"), run("Gpu")) else {
        return;
    };
    for calls in [&host, &device] {
        assert_eq!(calls["cuGraphInstantiateWithFlags"], 2, "one a slot: {calls}");
        assert!(calls["cuGraphLaunch"].as_u64().unwrap() >= 3, "{calls}");
    }
    let modules = |calls: &serde_json::Value| calls["cuModuleLoadData"].as_u64().unwrap_or(0);
    assert_eq!(
        modules(&device),
        modules(&host) + 1,
        "the resize is the device's: {device}"
    );
}

#[test]
fn without_nvrtc_the_step_stays_on_the_host_and_a_finding_says_so() {
    let Some(scene) = Scene::new() else { return };
    scene.demo(1_000, 2_000);
    let scenario = scene.scenario(
        "",
        "arrival: Periodic(20), preprocess: Gpu",
        "arrival: Periodic(20), preprocess: Gpu",
    );
    let scenario = scene.by_frames(scenario, 20);
    let control = Control::default().variable("JETLAG_NVRTC", "/nowhere/libnvrtc.so.12");
    let Some(summary) = scene.run(&control, &scenario) else {
        return;
    };
    for tenant in ["camera", "lidar"] {
        assert_eq!(number(&summary, tenant, "/frames/failed"), 0.0);
        assert!(number(&summary, tenant, "/frames/completed") > 0.0);
    }
    let findings = summary["run"]["findings"].to_string();
    for part in [
        "step-on-host",
        "the voxelisation and the scatter",
        "the resize of images",
    ] {
        assert!(findings.contains(part), "{part}: {findings}");
    }
}
