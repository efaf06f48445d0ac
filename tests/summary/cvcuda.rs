//! CV-CUDA's benchmark files: the reference cases, both layouts, damaged files, and runs exported to it.

use std::fs;
use std::path::{Path, PathBuf};

use nvidia_doubles::machine::shared;
use serde_json::{Value, json};

use crate::common::output::run;
use crate::summary::export::{ended, text, write_run};
use crate::summary::made_up;

/// Equal in shape, and in numbers to four decimals: all that the files hold.
fn assert_same(ours: &Value, theirs: &Value, at: &str) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            let names = |of: &serde_json::Map<String, Value>| of.keys().cloned().collect::<Vec<_>>();
            assert_eq!(names(a), names(b), "{at}");
            for (name, value) in a {
                assert_same(value, &b[name], &format!("{at}/{name}"));
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{at}");
            a.iter().zip(b).for_each(|(a, b)| assert_same(a, b, at));
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (
                a.as_f64().unwrap_or(f64::NAN),
                b.as_f64().unwrap_or(f64::INFINITY),
            );
            assert!((a - b).abs() < 1e-9, "{at}: {a}, and should be {b}");
        }
        _ => assert_eq!(ours, theirs, "{at}"),
    }
}

fn json_of(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).expect("a file")).expect("JSON")
}

fn expanded(input: &Path, more: &[&str]) -> Value {
    let input = input.display().to_string();
    let mut args = vec!["export", "--cvcuda-expand", &input];
    args.extend(more);
    let output = run(&args, Path::new("/"));
    ended(&output, 0);
    serde_json::from_str(&text(&output.stdout)).expect("JSON")
}

fn cases() -> Option<PathBuf> {
    shared("data/cvcuda")
}

#[test]
fn every_reference_case_is_expanded_to_four_decimals() {
    let Some(folder) = cases() else { return };
    let mut seen = 0;
    for entry in fs::read_dir(&folder).expect("a folder").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(case) = name.strip_suffix(".input.json") else {
            continue;
        };
        let expected = json_of(&folder.join(format!("{case}.expected_v0.15.json")));
        let mut ours = expanded(&entry.path(), &[]);
        if let (Value::Object(ours), Value::Object(expected)) = (&mut ours, &expected) {
            ours.retain(|block, _| expected.contains_key(block));
        }
        assert_same(&ours, &expected, case);
        seen += 1;
    }
    assert!(seen >= 4, "{seen} cases");
}

#[test]
fn files_of_the_older_layout_are_read_and_come_out_as_the_newer() {
    let Some(folder) = cases() else { return };
    for (case, warmup) in [("toy3_w1", "1"), ("det10_w1", "1"), ("short3_w2", "2")] {
        let older = folder.join(format!("{case}.expected_v0.4.json"));
        let ours = expanded(&older, &["--warmup-batches", warmup]);
        let expected = json_of(&folder.join(format!("{case}.expected_v0.15.json")));
        for block in ["data", "data_stats_minus_warmup", "batch_info"] {
            assert_same(&ours[block], &expected[block], &format!("{case}: {block}"));
        }
        // What is new already comes out as it was.
        let newer = folder.join(format!("{case}.expected_v0.15.json"));
        let again = expanded(&newer, &["--warmup-batches", warmup]);
        assert_same(&again, &expected, case);
    }
}

#[test]
fn a_run_becomes_a_launch_for_each_tenant() {
    let folder = tempfile::tempdir().expect("a folder");
    let (manifest, events) = made_up::demo(4);
    write_run(&folder.path().join("run.mcap"), &manifest, &events);
    let output = run(
        &["export", "run.mcap", "--format", "cvcuda", "-o", "out"],
        folder.path(),
    );
    ended(&output, 0);
    let file = folder.path().join("out/lidar/proc_0_gpu_0/benchmark.json");
    let benchmark = json_of(&file);
    let level = &benchmark["data"]["lidar"]["run_sample"]["pipeline"];
    assert_eq!(level["total_items"], 40);
    assert_eq!(level["total_items_minus_warmup"], 38);
    let summary = made_up::summarize(&manifest, &events);
    let batch = &level["batch_7"];
    // Frame 7 was the one in whose way the other was: 27 ms × 1.32 × 3 and its wobble.
    let compute = batch["compute"]["cpu_time"].as_f64().expect("a time");
    assert!((106.9..114.5).contains(&compute), "{compute}");
    assert_eq!(batch["compute"]["gpu_time"], 0.0, "the cpu backend uses no GPU");
    let spread = &benchmark["data_stats_minus_warmup"]["lidar/run_sample/pipeline"]["cpu_time"];
    assert_eq!(spread["total_items"], 38);
    let largest = summary.tenants[1].service_ms.max.expect("frames");
    assert!((spread["max"].as_f64().expect("a time") - largest).abs() < 1e-4);
    // What was written can be read again, and means the same.
    let again = expanded(&file, &[]);
    assert_same(&again, &benchmark, "read again");
    let mean = json_of(&folder.path().join("out/lidar/benchmark_mean.json"));
    let rate = &mean["data_stats_minus_warmup_all_procs"]["lidar/run_sample/pipeline"]["cpu_time_per_item"]["throughput"];
    assert_eq!(
        (&rate["multiplier"], &rate["unit"]),
        (&json!(1), &json!("frames_per_second"))
    );
}

/// The record made on an H100: its traced frames are the batches, and their GPU time is the span of what their calls asked for.
#[test]
fn a_traced_run_s_gpu_times_are_the_spans_that_another_program_computes() {
    let folder = tempfile::tempdir().expect("a folder");
    let record = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/records/traced.mcap");
    let output = run(
        &["export", record, "--format", "cvcuda", "-o", "out"],
        folder.path(),
    );
    ended(&output, 0);
    let benchmark = json_of(&folder.path().join("out/load/proc_0_gpu_0/benchmark.json"));
    let level = &benchmark["data"]["load"]["run_sample"]["pipeline"];
    // The load has one kernel a frame, of about a millisecond; from the first to the last lie 0.6 s.
    let batch = level["batch_7"]["gpu_time"].as_f64().expect("a time");
    assert!((0.8..2.5).contains(&batch), "{batch}");
    assert_eq!(
        level["batch_7"]["compute"]["gpu_time"],
        level["batch_7"]["gpu_time"]
    );
    assert!(level["gpu_time"].as_f64().expect("a time") > 500.0);
    let Some(python) = nvidia_doubles::machine::python("mcap_ros2") else {
        return;
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/cvcuda_judge.py");
    let judged = std::process::Command::new(python)
        .arg(script)
        .arg(record)
        .arg(folder.path().join("out"))
        .output()
        .expect("python starts");
    assert!(
        judged.status.success(),
        "{}",
        String::from_utf8_lossy(&judged.stderr)
    );
    let said = String::from_utf8_lossy(&judged.stdout);
    assert!(said.ends_with("frames' spans agree\n"), "{said}");
    println!("{said}");
}

#[test]
fn damaged_files_and_those_of_others_are_refused_with_what_is_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("in.json");
    for (content, phrase) in [
        ("{\"data\": {\"a/b\": [1, 2", "it is not JSON"),
        ("", "it is not JSON"),
        ("[1, 2]", "not a file of CV-CUDA's benchmark"),
        ("{\"data\": 3}", "not a file of CV-CUDA's benchmark"),
        ("{\"results\": []}", "not a file of CV-CUDA's benchmark"),
        (
            "{\"data\": {\"a/b\": \"fast\"}}",
            "`data` is not as CV-CUDA writes it",
        ),
        (
            "{\"placeholder\": {\"data\": 3}, \"warmup_batches\": -1}",
            "`placeholder`",
        ),
        ("{\"data\": {\"a/b\": [-1.0, 0.0]}}", "took -1 ms"),
        ("{\"data\": {}, \"batch_info\": {\"a/b_0\": [0, 1]}}", "no times"),
    ] {
        fs::write(&path, content).expect("room");
        let said = ended(&run(&["export", "--cvcuda-expand", "in.json"], folder.path()), 1);
        assert!(said.contains(phrase), "{content}: {said}");
        assert!(said.contains("in.json"), "{said}");
    }
    let said = ended(
        &run(&["export", "--cvcuda-expand", "absent.json"], folder.path()),
        2,
    );
    assert!(said.contains("absent.json"), "{said}");
}
