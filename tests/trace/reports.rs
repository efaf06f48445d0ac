//! Reports of traced programs: kernels and critical paths of the measurement itself, and nothing untrue beside them.

use std::ffi::OsStr;

use serde_json::Value;

use super::gpu::beside;
use super::{app, trace};
use crate::common::output::{run, stderr, stdout};

#[test]
fn kernels_and_critical_paths_are_of_the_measurement_and_say_that_nothing_untraced_is_beside() {
    let (Some(beside), Some(app)) = (beside("13.0", 13000), app()) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let command = [app.as_os_str(), OsStr::new("gpu"), OsStr::new("30")];
    let mut jetlag = trace(folder.path(), &[], &command);
    beside(&mut jetlag);
    let output = jetlag.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let report = run(&["report", "app.mcap", "--format", "json"], folder.path());
    let summary: Value = serde_json::from_str(&stdout(&report)).unwrap();
    assert_eq!(summary["tenants"][0]["frames"]["completed"], 30);
    let phase = &summary["kernels"]["phases"][0];
    assert_eq!(phase["tenants"][0]["frames_with_work"], 30, "{phase}");
    assert_eq!(phase["tenants"][0]["layers"][0]["layer"], "conv", "{phase}");
    let observed = &summary["observer"]["phases"][0];
    assert!(observed["untraced"].is_null(), "{observed}");
    let codes: Vec<&str> = (summary["run"]["findings"].as_array().unwrap().iter())
        .map(|finding| finding["code"].as_str().unwrap())
        .collect();
    assert!(codes.contains(&"traced-frames"), "{codes:?}");
    let path = run(&["report", "app.mcap", "--critical-path"], folder.path());
    assert!(path.status.success(), "{}", stderr(&path));
    assert!(stdout(&path).contains("app in app"), "{}", stdout(&path));
    let export = run(
        &["export", "app.mcap", "--format", "cvcuda", "-o", "cv"],
        folder.path(),
    );
    assert!(export.status.success(), "{}", stderr(&export));
    let file = folder.path().join("cv/app/proc_0_gpu_0/benchmark.json");
    let benchmark: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let batch = &benchmark["data"]["app"]["batch_3"];
    // Two kernels of 50 µs in the inner range, and one more and the copies around them.
    let on_gpu = |range: &Value| range["gpu_time"].as_f64().unwrap();
    assert!(on_gpu(&batch["conv"]) >= 0.1, "{batch}");
    assert!(on_gpu(batch) >= on_gpu(&batch["conv"]) + 0.05, "{batch}");
    let perfetto = run(
        &["export", "app.mcap", "--format", "perfetto", "-o", "app.pftrace"],
        folder.path(),
    );
    assert!(perfetto.status.success(), "{}", stderr(&perfetto));
}

#[test]
fn without_batches_there_are_kernels_by_process_and_no_response_times() {
    let (Some(beside), Some(app)) = (beside("13.0", 13000), app()) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let words = ["gpu", "30", "spawn", "gpu", "20"].map(OsStr::new);
    let command = [&[app.as_os_str()], &words[..]].concat();
    let mut jetlag = trace(folder.path(), &["--batch", "none"], &command);
    beside(&mut jetlag);
    let output = jetlag.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let report = run(&["report", "app.mcap", "--format", "json"], folder.path());
    assert!(report.status.success(), "{}", stderr(&report));
    let summary: Value = serde_json::from_str(&stdout(&report)).unwrap();
    for (tenant, (name, kernels)) in [("app", 91), ("exe", 61)].into_iter().enumerate() {
        let of = &summary["kernels"]["phases"][0]["tenants"][tenant];
        assert_eq!((&of["tenant"], &of["frames"]), (&name.into(), &0.into()), "{of}");
        let counted: u64 = (of["kernels"].as_array().unwrap().iter())
            .filter(|kernel| kernel["kind"] == "kernel")
            .map(|kernel| kernel["count"].as_u64().unwrap())
            .sum();
        assert_eq!(counted, kernels, "{of}");
        // Here `none` is no name of a range: what was a batch is a layer.
        let layers: Vec<&str> = (of["layers"].as_array().unwrap().iter())
            .filter_map(|layer| layer["layer"].as_str())
            .collect();
        assert_eq!(layers, ["conv", "batch"], "{of}");
    }
    let text = stdout(&run(&["report", "app.mcap", "--kernels"], folder.path()));
    assert!(text.contains("in all: it has no frames"), "{text}");
    let text = stdout(&run(&["report", "app.mcap"], folder.path()));
    assert!(text.contains("marked no batches"), "{text}");
}
