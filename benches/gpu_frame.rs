//! What a frame of a GPU tenant costs the host beside a bare C++ loop: copies, stamps and `enqueueV3` of one slot.
//!
//! `cargo bench --bench gpu_frame -- [libnvinfer]`, where a CUDA driver and a device are. Budget: at most 5 µs a frame beyond
//! the loop. The engine is the double of TensorRT (made here, or the file that is named, as `scripts/gpu/measure.sh kit`
//! leaves it), so that both loops enqueue the same, once with nothing behind `enqueueV3` and once with its kernels. Both run
//! in one process, in rounds that take turns; the median of the rounds counts. What a tenant does around its slot is in
//! `--bench pipeline`. A plain program and not a divan benchmark, because the difference is the result.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    unsafe_code,
    reason = "a benchmark reports on stdout and calls the double's C++"
)]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jetlag::backend::gpu::{Claim, Options, SharedGpu};
use jetlag::backend::tensorrt::TensorRtBackend;
use jetlag::backend::{Backend, NetworkSource, Program, Slot, Step, TensorSpec};
use jetlag::scenario::{GpuUse, Sharing, Sync};
use jetlag::tensor::{ElementType, Shape};
use nvidia_doubles::tensorrt;
use tensorrt_dyn::{ContextMemory, Library, NetworkOptions};

const NETWORK: &str =
    "double-network\ninput images f32 1x3x64x64\noutput output0 f32 1x7x84\nlayer only Conv\n";
const INPUT_BYTES: u64 = 3 * 64 * 64 * 4;
const OUTPUT_BYTES: u64 = 7 * 84 * 4;
const ROUNDS: usize = 61;
const FRAMES: u64 = 1_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if !arguments.iter().any(|argument| argument == "--bench") {
        return; // `cargo test --benches` wants to know only that it starts
    }
    let named = arguments.iter().find(|argument| !argument.starts_with("--"));
    let Some(infer) = named
        .map(PathBuf::from)
        .or_else(|| tensorrt::era('C').map(|double| double.infer.clone()))
    else {
        return; // The double said why.
    };
    let claim = Claim::default();
    let shared = match SharedGpu::open(0, &[Sharing::Streams], &[claim]) {
        Ok(shared) => Arc::new(shared),
        Err(error) => {
            println!("skipped: {error}");
            return;
        }
    };
    println!(
        "a frame, median of {ROUNDS} rounds of {FRAMES} frames, µs; {}",
        shared.gpu().device().name
    );
    println!("{:<26}{:>9}{:>9}{:>12}", "", "C++", "Rust", "difference");
    for (what, computes) in [
        ("nothing behind enqueueV3", false),
        ("the double's kernels", true),
    ] {
        let [whole, submit] = compare(&infer, &shared, claim, computes);
        println!("{what}");
        for (part, [cpp, rust, difference]) in [("  until enqueued", submit), ("  whole, closed loop", whole)]
        {
            println!("{part:<26}{cpp:>9.2}{rust:>9.2}{difference:>12.2}");
        }
    }
}

/// Microseconds a frame from C++, through a slot, and the median of the rounds' differences: whole, and until enqueued.
fn compare(infer: &std::path::Path, shared: &Arc<SharedGpu>, claim: Claim, computes: bool) -> [[f64; 3]; 2] {
    let library = Library::open(infer).unwrap();
    let control = tensorrt::Control::open(infer);
    let builder = library.builder().unwrap();
    let mut parser = builder
        .network(NetworkOptions::default())
        .unwrap()
        .parser()
        .unwrap();
    parser.parse(NETWORK.as_bytes(), "a network").unwrap();
    let plan = builder.build(&parser, &builder.config().unwrap()).unwrap();
    let engine = library.runtime().unwrap().engine(plan.bytes()).unwrap();
    let context = engine.context(ContextMemory::Own).unwrap();
    let file = std::env::temp_dir().join(format!("jetlag-gpu-frame-{}.plan", std::process::id()));
    std::fs::write(&file, plan.bytes()).unwrap();
    let backend = TensorRtBackend {
        library,
        shared: Arc::clone(shared),
        claim,
        options: Options {
            backend: "tensorrt",
            gpu: GpuUse {
                sync: Sync::Spin,
                graph: jetlag::scenario::Graph::Off,
                ..GpuUse::default()
            },
            watchdog: Duration::from_secs(10),
            findings: Vec::new(),
        },
        profile: false,
        networks: Vec::new(),
    };
    let program = Program {
        engines: vec![NetworkSource::File(file.clone())],
        steps: vec![Step::Engine(0)],
        host_tensors: vec![TensorSpec {
            name: "images".to_owned(),
            element: ElementType::F32,
            max_shape: Shape::new(&[1, 3, 64, 64]).unwrap(),
        }],
        ..Program::default()
    };
    let mut slot = backend.open(&program, 1).unwrap().slots.remove(0);
    std::fs::remove_file(&file).unwrap();
    control.set_compute(computes);
    let cpp = || -> [f64; 2] {
        // SAFETY: a living context of this library; opening the slot made the device's context current.
        let took = unsafe {
            control.bench_frames(
                context.as_raw(),
                (c"images", INPUT_BYTES),
                (c"output0", OUTPUT_BYTES),
                FRAMES,
            )
        };
        let (whole, submitting) = took.unwrap();
        [whole, submitting].map(|nanos| nanos as f64 / FRAMES as f64 / 1e3)
    };
    let mut rust = || frames(slot.as_mut());
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        rounds.push(match round % 2 {
            0 => [cpp(), rust()],
            _ => {
                let rust = rust();
                [cpp(), rust]
            }
        });
    }
    control.set_compute(true);
    [0, 1].map(|part| {
        let all = |value: fn([f64; 2]) -> f64| {
            median(rounds.iter().map(|[cpp, rust]| value([cpp[part], rust[part]])))
        };
        [
            all(|pair| pair[0]),
            all(|pair| pair[1]),
            all(|pair| pair[1] - pair[0]),
        ]
    })
}

/// Microseconds a frame: whole, and until enqueued.
fn frames(slot: &mut dyn Slot) -> [f64; 2] {
    let mut submitting = Duration::ZERO;
    let begin = Instant::now();
    for _ in 0..FRAMES {
        let before = Instant::now();
        slot.submit().unwrap();
        submitting += before.elapsed();
        slot.wait().unwrap();
    }
    [begin.elapsed(), submitting].map(|took| took.as_secs_f64() * 1e6 / FRAMES as f64)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
