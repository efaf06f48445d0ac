//! Ranges for NVIDIA's profilers, as a tool sees them that is put into the process in the way of NVTX 3 (feature `nvtx`).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

/// Ended by its frames, of which none is dropped, however busy the machine is.
const SCENARIO: &str = r#"Scenario(duration: "600s", warmup: "0s", tenants: [
    Tenant(name: "camera", detector: "builtin:camera", source: Synthetic(sensor: Camera, scenes: 1),
           backend: Sim(Fixed("1ms")), arrival: Periodic(20), depth: 2, overload: Queue(capacity: 100), frames: 20),
    Tenant(name: "radar", backend: Null, arrival: Periodic(50), frames: 50),
])"#;

fn run(tool: &Path, file: &Path) -> Output {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("scenario.ron"), SCENARIO).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_jetlag"));
    command
        .current_dir(folder.path())
        .env("NVTX_INJECTION64_PATH", tool);
    command.env("NVTX_TEST_FILE", file).args(["run", "scenario.ron"]);
    command.output().unwrap()
}

#[test]
fn each_stage_is_a_range_named_by_tenant_and_frame_on_the_thread_that_does_it() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nvtx");
    let Some(folder) = nvidia_doubles::library("libtool.so", &sources, &["tool"], &[]) else {
        return;
    };
    let file = tempfile::NamedTempFile::new().unwrap();
    let output = run(&folder.join("libtool.so"), file.path());
    assert!(output.status.success(), "{output:?}");
    let text = std::fs::read_to_string(file.path()).unwrap();
    assert_eq!(
        text.lines()
            .filter(|line| line.ends_with(" domain jetlag"))
            .count(),
        1
    );
    let categories: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_once(" category its-handle "))
        .map(|c| c.1)
        .collect();
    assert_eq!(categories.len(), 2, "{categories:?}");
    assert!(categories.contains(&"1 camera") && categories.contains(&"2 radar"));

    // On each thread every range ends before the next begins, and no other thread's range is ended.
    let mut open: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut stages: BTreeMap<(&str, u64), Vec<(&str, &str)>> = BTreeMap::new();
    for line in text.lines() {
        let (thread, what) = line.split_once(' ').unwrap();
        let ranges = open.entry(thread).or_default();
        if let Some(range) = what.strip_prefix("push its-handle ") {
            let [category, payload, tenant, frame, stage] =
                range.split(' ').collect::<Vec<_>>().try_into().unwrap();
            let number: u64 = frame.parse().unwrap();
            assert_eq!(payload, format!("1:{frame}"));
            // jetlag measures its own cost with a tenant that is not in the scenario.
            if let Some(own) = ["camera", "radar"].iter().position(|name| *name == tenant) {
                assert_eq!(category, (own + 1).to_string());
            }
            assert!(ranges.is_empty(), "stages follow each other: {line}");
            ranges.push(stage);
            stages.entry((tenant, number)).or_default().push((thread, stage));
        } else if what == "pop its-handle" {
            assert!(ranges.pop().is_some(), "{line}");
        }
    }
    assert!(open.values().all(Vec::is_empty), "{open:?}");

    let of = |tenant: &str| -> Vec<Vec<(&str, &str)>> {
        let own = stages.iter().filter(|((name, _), _)| *name == tenant);
        own.map(|(_, stages)| stages.clone()).collect()
    };
    let names = |frame: &[(&str, &str)]| frame.iter().map(|stage| stage.1.to_owned()).collect::<Vec<_>>();
    for frame in of("radar") {
        assert_eq!(names(&frame), ["acquire", "decode", "submit", "wait"]);
        assert!(
            frame.iter().all(|stage| stage.0 == frame[0].0),
            "one thread does all"
        );
    }
    let camera = of("camera");
    assert_eq!(camera.len(), 20);
    for frame in camera {
        assert_eq!(
            names(&frame),
            ["acquire", "decode", "preprocess", "submit", "wait"]
        );
        assert_eq!(frame[0].0, frame[2].0, "the first thread prepares");
        assert_ne!(frame[3].0, frame[4].0, "another than the one that submits waits");
    }
}

#[test]
fn a_tool_that_cannot_be_loaded_is_told_and_the_run_goes_on() {
    let output = run(Path::new("/nowhere/libtool.so"), Path::new("/nowhere"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("NVTX_INJECTION64_PATH names /nowhere/libtool.so"),
        "{said}"
    );
}
