//! A disk that is full from one write on, at each write of each command that writes files: the command says so, ends by itself with
//! another code than 0, and leaves nothing half written that passes for whole.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use jetlag::record::{Completeness, RunReader};
use nvidia_doubles::cuda::Control;

use super::board::TestBoard;
use super::campaign::seconds;
use super::faults::library;
use super::scene::{DEMO_CAMERA, Scene};
use crate::trace;

const TENANT: &str = "Tenant(name: \"a\", backend: Sim(Fixed(\"2ms\")), arrival: Periodic(hz: 50), \
                      deadline: \"33ms\")";

/// What the commands read, in `in/`; they write into `out/`.
fn inputs(at: &Path) {
    fs::create_dir(at.join("in")).unwrap();
    let scenario = |tenant: &str, more: &str| {
        format!("Scenario(name: \"s\", duration: \"2s\", warmup: \"0s\", {more} tenants: [{tenant}])")
    };
    let network = "Tenant(name: \"n\", backend: Cpu(), frames: 2, detector: Network(network: \"net.onnx\", \
                   shapes: \"pillar_points:1x128x16x9\", record_outputs: (keep: \"../out/kept\")))";
    for (name, text) in [
        ("s.ron", scenario(TENANT, "clock: Virtual,")),
        ("kept.ron", scenario(network, "")),
        (
            "sweep.ron",
            "Sweep(base: \"s.ron\", axes: [Axis(set: \"tenants.a.arrival.hz\", values: [10, 20])])"
                .to_owned(),
        ),
    ] {
        fs::write(at.join("in").join(name), text).unwrap();
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (from, to) in [
        ("engines/lidar_encoder.onnx", "net.onnx"),
        ("fuzz/corpus/counters/raw", "ncu.csv"),
    ] {
        fs::copy(root.join(from), at.join("in").join(to)).unwrap();
    }
    for line in [
        "run in/s.ron --quiet --out in/run.mcap",
        "data synth --format nuscenes --out in/drive --seconds 1 --seed 5",
    ] {
        let output = jetlag(at, line).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{line}: {output:?}");
    }
}

fn jetlag(at: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jetlag"));
    command
        .current_dir(at)
        .env_remove("RUST_LOG")
        .args(line.split(' '));
    command
}

const LINES: [&str; 16] = [
    "run in/s.ron --quiet --out out/run.mcap",
    "run in/kept.ron --quiet --out out/run.mcap",
    "sweep in/sweep.ron -o out/sweep --quiet",
    "sweep in/s.ron -o out/knee --quiet --knee tenants.a.arrival.hz:10..30 --step 10 --while a.miss_rate<1%",
    "compare --ab in/s.ron in/s.ron --rounds 1 -o out/ab",
    "data convert in/drive --out out/bag.mcap",
    "data convert in/drive --out out/bag.db3",
    "data synth --format nuscenes --out out/drive --seconds 1 --seed 5",
    "data synth --format kitti --out out/kitti --seed 5",
    "report in/run.mcap --html out/page.html",
    "report in/run.mcap --junit out/results.xml",
    "export in/run.mcap --format csv -o out/tables",
    "export in/run.mcap --format parquet -o out/tables",
    "export in/run.mcap --format perfetto -o out/trace",
    "init in/net.onnx --out out --shapes pillar_points:1x128x16x9",
    "counters --from in/ncu.csv -o out/counters.json",
];

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let all = entries.map(|entry| entry.unwrap().path());
    all.flat_map(|path| match path.is_dir() {
        true => files(&path),
        false => vec![path],
    })
    .collect()
}

struct Counted {
    writes: u64,
    /// By exit code; those with 0 said it.
    codes: std::collections::BTreeMap<i32, u64>,
}

/// Runs what is made anew for each time, with room for one write more each time.
fn each(name: &str, at: &Path, make: &dyn Fn() -> Command, good: &[i32]) -> Counted {
    let (out, flag) = (at.join("out"), at.join("writes"));
    let full = |from: u64| -> (Output, u64) {
        let _ = fs::remove_dir_all(&out);
        fs::create_dir(&out).unwrap();
        fs::write(&flag, "").unwrap();
        let output = make()
            .env("LD_PRELOAD", library())
            .env("JETLAG_FAULT", "full")
            .env("JETLAG_FAULT_IN", &out)
            .env("JETLAG_FAULT_AT", from.to_string())
            .env("JETLAG_FAULT_FLAG", &flag)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        (output, fs::metadata(&flag).unwrap().len())
    };
    let (whole, writes) = full(u64::from(u32::MAX));
    let said = String::from_utf8_lossy(&whole.stderr).into_owned();
    assert!(
        whole.status.code().is_some_and(|code| good.contains(&code)),
        "{name}: {said}"
    );
    assert!(writes > 0, "{name} writes nothing in {}", out.display());
    let numbers: Vec<u64> = match seconds() {
        // Where there are many, they are of files or pages that are all alike.
        Some(_) => (1..=writes).step_by(1 + writes as usize / 100).collect(),
        None => vec![1 + writes / 2],
    };
    let mut counted = Counted {
        writes: numbers.len() as u64,
        codes: Default::default(),
    };
    for number in numbers {
        let (output, met) = full(number);
        let told = String::from_utf8_lossy(&output.stderr);
        let said = format!("{name}, write {number} of {writes}: {:?}: {told}", output.status);
        let code = output.status.code();
        assert!(code.is_some() && !said.contains("panicked"), "{said}");
        // How often is written differs from time to time where threads do it.
        if met < number {
            continue;
        }
        let is_told = told.contains("No space left") || told.contains("disk is full");
        assert!(
            is_told && told.contains("out"),
            "what cannot be written where: {said}"
        );
        *counted.codes.entry(code.unwrap()).or_default() += 1;
        for file in files(&out) {
            let name = file.display().to_string();
            assert!(!name.ends_with(".unfinished"), "{name} is left: {said}");
            if name.ends_with(".mcap")
                && code == Some(0)
                && let Ok(mut reader) = RunReader::open(&file)
            {
                reader.by_ref().for_each(|event| drop(event.unwrap()));
                assert_eq!(reader.completeness(), Completeness::Whole, "{said}");
            }
        }
    }
    counted
}

fn say(line: &str, counted: &Counted) {
    println!(
        "{:>5} writes, exit codes {:?}   {line}",
        counted.writes, counted.codes
    );
}

#[test]
fn a_disk_that_is_full_from_each_write_on() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().canonicalize().unwrap();
    inputs(&at);
    for line in LINES {
        // Arguments with blanks in them.
        let words = || {
            line.split(' ')
                .map(|word| word.replace(":10..30", " in 10..30").replace('<', " < "))
        };
        let make = || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_jetlag"));
            command.current_dir(&at).env_remove("RUST_LOG").args(words());
            command
        };
        say(line, &each(line, &at, &make, &[0, 3]));
    }
}

/// What takes a library of its own, a compiler's minute or a board; the latter two for campaigns alone.
#[test]
fn a_disk_that_is_full_under_traces_plans_and_fetched_runs() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().canonicalize().unwrap();
    inputs(&at);
    if let Some(app) = trace::app() {
        let make = || {
            let mut command = jetlag(&at, "trace -o out/run.mcap --");
            command
                .arg(&app)
                .args(["batches", "20"])
                .env("JETLAG_INJECTION", trace::library())
                .env_remove("CUDA_INJECTION64_PATH")
                .env_remove("NVTX_INJECTION64_PATH");
            command
        };
        say("trace", &each("trace", &at, &make, &[0]));
    }
    let is_long = seconds().is_some();
    if let Some(scene) = is_long.then(|| Scene::of_era('B')).flatten() {
        let network = scene.onnx("camera", DEMO_CAMERA);
        let make = || {
            let words = ["build", network.to_str().unwrap(), "-o", "out/camera.plan"];
            let mut command = scene.command(&Control::default(), &words).unwrap();
            command.current_dir(&at).env("JETLAG_CACHE", at.join("out/cache"));
            command
        };
        say("build", &each("build", &at, &make, &[0]));
    }
    if let Some(board) = is_long.then(TestBoard::start).flatten() {
        let scenario = at.join("in/s.ron").display().to_string();
        let began = board.run(&[&scenario, "--no-doctor", "--quiet"]);
        assert!(
            began.status.code().is_some_and(|code| [0, 3].contains(&code)),
            "{began:?}"
        );
        let make = || board.deploy_into(&["--fetch", "--quiet"], &at.join("out"));
        say("deploy --fetch", &each("deploy --fetch", &at, &make, &[0, 3]));
    }
}
