//! How long scores of 100 000 detections take, beside pycocotools and nuscenes-devkit: `cargo run --release -p jetlag-score
//! --example beside`. Medians; ours with checking and matching, theirs without loading. It needs `scripts/setup.sh --test`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "an example tells by printing, and fails by panicking"
)]

#[path = "../tests/suite/made/mod.rs"]
mod made;

use std::time::Instant;

use jetlag_score::bootstrap::{Settings, Units, intervals};
use jetlag_score::coco::Coco;
use jetlag_score::kitti::Kitti;
use jetlag_score::nuscenes::{Config, NuScenes};
use jetlag_score::{Benchmark, Counts};
use serde_json::Value;

const WANTED: usize = 100_000;
/// Each of theirs takes many seconds.
const THEIR_RUNS: &str = "3";

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

fn timed<T>(runs: usize, mut work: impl FnMut() -> T) -> f64 {
    let run = |_| {
        let begin = Instant::now();
        std::hint::black_box(work());
        begin.elapsed().as_secs_f64()
    };
    median((0..runs).map(run).collect())
}

/// As many of the made frames as hold the wanted number of detections.
fn enough<T>(frames: Vec<T>, found: impl Fn(&T) -> usize) -> (Vec<T>, usize) {
    let mut count = 0;
    let mut kept = Vec::new();
    for frame in frames {
        if count >= WANTED {
            break;
        }
        count += found(&frame);
        kept.push(frame);
    }
    (kept, count)
}

fn beside(what: &str, count: usize, ours: f64, script: &str, modules: &str, problem: Value) {
    print!("{what}: {count} detections, ours {:.1} ms", ours * 1e3);
    match made::ask(script, modules, &["time", THEIR_RUNS], &[problem]) {
        Some(answers) => {
            let seconds = answers[0].as_array().unwrap().iter().map(made::number).collect();
            let theirs = median(seconds);
            println!(", {script} {:.1} ms: {:.0} times", theirs * 1e3, theirs / ours);
        }
        None => println!(", and no Python to compare with"),
    }
}

fn drawn(what: &str, benchmark: &dyn Benchmark) {
    let units = Units::choose(&vec![0; benchmark.frames()]);
    let settings = Settings {
        resamples: 100,
        ..Settings::default()
    };
    let seconds = timed(3, || intervals(benchmark, &units, &settings).unwrap());
    println!("{what}: 100 draws take {:.0} ms", seconds * 1e3);
}

fn main() {
    let names: Vec<String> = (0..10).map(|n| format!("class{n}")).collect();
    let (images, count) = enough(made::coco::made(1, 20_000, 10, 40), |image| image.found.len());
    let ours = timed(11, || Coco::new(&names, &images).unwrap().scores(Counts::ONCE));
    let problem = made::coco::problem(&images, 10);
    beside("COCO", count, ours, "coco.py", "pycocotools, numpy", problem);
    drawn("COCO", &Coco::new(&names, &images).unwrap());

    let (samples, count) = enough(made::nuscenes::made(1, 20_000, 120), |sample| sample.found.len());
    let score = || {
        NuScenes::new(Config::default(), &samples)
            .unwrap()
            .scores(Counts::ONCE)
    };
    let ours = timed(11, score);
    let problem = made::nuscenes::problem(&samples);
    let modules = "pyquaternion, PIL, scipy";
    beside("nuScenes", count, ours, "nuscenes_eval.py", modules, problem);
    drawn("nuScenes", &NuScenes::new(Config::default(), &samples).unwrap());

    let (frames, count) = enough(made::kitti::made(1, 40_000, 40), |frame| frame.found.len());
    let ours = timed(5, || Kitti::new(&frames).unwrap().scores(Counts::ONCE));
    println!("KITTI: {count} detections, ours {:.1} ms", ours * 1e3);
    drawn("KITTI", &Kitti::new(&frames).unwrap());
}
