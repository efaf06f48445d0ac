//! trtexec's figures: against an implementation in Python, on files of its own, and on runs.

use std::fs;

use jetlag::analysis::trtexec::{Figures, PERCENTILES, percentile_index};
use jetlag::record::{Event, Phase, Stage};
use nvidia_doubles::machine::python;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use crate::common::output::run;
use crate::summary::export::{ended, text, write_run};
use crate::summary::made_up::{self, ms};
use crate::summary::scipy::judged;

#[test]
fn figures_agree_with_an_implementation_in_python_bit_for_bit() {
    let Some(python) = python("struct") else { return };
    let mut random = TestRunner::new_with_rng(
        Config::default(),
        TestRng::deterministic_rng(RngAlgorithm::ChaCha),
    );
    let any = proptest::collection::vec(0.001f32..500.0, 1..400);
    let mut samples: Vec<Vec<f32>> = [10, 99, 100, 101, 1000]
        .map(|n| (0..n).map(|i| 1.0 + (i * 7919 % n) as f32 / n as f32).collect())
        .to_vec();
    for _ in 0..200 {
        samples.push(any.new_tree(&mut random).expect("a sample").current());
    }
    let cases: Vec<Value> = samples
        .into_iter()
        .enumerate()
        .map(|(i, values)| {
            let sizes = [values.len(), 1 + i * 37, 100 * (1 + i)];
            let indices: Vec<Value> = sizes
                .iter()
                .flat_map(|&n| PERCENTILES.map(|p| json!([p, n, percentile_index(p, n)])))
                .collect();
            let figures = Figures::of(values.clone()).expect("a sample");
            json!({ "values": values, "figures": figures, "indices": indices })
        })
        .collect();
    let said = judged(
        &python,
        "trtexec_judge.py",
        &serde_json::to_vec(&cases).expect("JSON"),
    );
    assert_eq!(said.trim(), format!("{} cases agree", cases.len()));
}

proptest! {
    #[test]
    fn the_index_is_of_the_sample_and_grows_with_the_percentile(n in 1usize..2_000_000, p in 0.0f32..=100.0) {
        let index = percentile_index(p, n);
        prop_assert!(index < n);
        prop_assert!(percentile_index(100.0, n) == n - 1);
        prop_assert!(percentile_index((p / 2.0).max(0.0), n) <= index);
    }
}

fn times(n: usize) -> String {
    let entry = |i: usize| {
        let start = 20.0 + 10.0 * i as f64;
        // One digit after the point: what six digits leave after ten seconds.
        let stamp = |at: f64| (at * 10.0).round() / 10.0;
        let compute = 5.0 + (i % 5) as f64 * 0.25;
        json!({
            "startEnqMs": stamp(start), "endEnqMs": stamp(start + 0.4),
            "startH2dMs": stamp(start), "endH2dMs": stamp(start + 0.5),
            "startComputeMs": stamp(start + 0.6), "endComputeMs": stamp(start + 0.6 + compute),
            "startD2hMs": stamp(start + 7.0), "endD2hMs": stamp(start + 7.1),
            "h2dMs": 0.5, "computeMs": compute, "d2hMs": 0.125, "latencyMs": 0.625 + compute,
        })
    };
    serde_json::to_string(&(0..n).map(entry).collect::<Vec<_>>()).expect("JSON")
}

#[test]
fn a_file_of_times_gives_the_summary_that_trtexec_printed() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("times.json"), times(100)).expect("room");
    let output = run(&["report", "--from-trtexec", "times.json"], folder.path());
    ended(&output, 0);
    let said = text(&output.stdout);
    for line in [
        // 100 queries, from 20 ms to 1017.1 ms.
        "[I] Throughput: 100.291 qps",
        "[I] Latency: min = 5.625 ms, max = 6.625 ms, mean = 6.125 ms, median = 6.125 ms, percentile(90%) = 6.625 ms, \
         percentile(95%) = 6.625 ms, percentile(99%) = 6.625 ms",
        "[I] H2D Latency: min = 0.5 ms, max = 0.5 ms,",
        "[I] GPU Compute Time: min = 5 ms, max = 6 ms, mean = 5.5 ms, median = 5.5 ms,",
        "[I] D2H Latency: min = 0.125 ms,",
        "[I] Total Host Walltime: 0.9971 s",
        "[I] Total GPU Compute Time: 0.55 s",
        "[W] * GPU compute time is unstable, with coefficient of variance = 6.42824%.",
        "a resolution of 10 µs",
        "latency = sum of stages (trtexec)",
    ] {
        assert!(said.contains(line), "`{line}` is not in:\n{said}");
    }
    assert!(
        !said.contains("released"),
        "none of our figures are in it: {said}"
    );
}

#[test]
fn a_run_by_trtexecs_definitions_is_the_sum_of_its_stages() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut manifest = made_up::manifest(1, vec![made_up::tenant("camera", 30.0, 33.0)]);
    manifest.tenants[0].backend = "tensorrt".to_owned();
    let mut events = Vec::new();
    for i in 0..200u64 {
        // It waited 3 ms and took 9 ms, of which the device had 4.5 ms.
        let mut frame = made_up::frame(i, ms(10.0 * i as f64), ms(3.0), ms(9.0));
        frame.stages[Stage::H2d as usize] = Some(ms(0.25));
        frame.stages[Stage::Compute as usize] = Some(ms(4.0));
        frame.stages[Stage::D2h as usize] = Some(ms(0.25));
        // What does not count: the warm-up, and the baseline.
        frame.warmup = i < 50;
        frame.phase = if (50..100).contains(&i) {
            Phase::Alone
        } else {
            Phase::Together
        };
        events.push(Event::Frame(frame));
    }
    write_run(&folder.path().join("run.mcap"), &manifest, &events);
    let of = |version: &str| -> Value {
        let output = run(
            &["report", "run.mcap", "--compat", version, "--format", "json"],
            folder.path(),
        );
        ended(&output, 0);
        serde_json::from_str::<Value>(&text(&output.stdout)).expect("JSON")[0]["trtexec"].clone()
    };
    let ten = of("trtexec10");
    assert_eq!(ten["queries"], 100);
    assert_eq!(ten["latency_ms"]["median"], 4.5);
    assert_eq!(ten["h2d_ms"]["max"], 0.25);
    assert_eq!(ten["enqueue_ms"], Value::Null, "not recorded is not zero");
    // 100 frames, 10 ms apart, the last of 9 ms.
    assert!((ten["walltime_s"].as_f64().expect("a time") - 0.999).abs() < 1e-6);
    let eleven = of("trtexec11");
    assert_eq!(eleven["latency_ms"]["median"], 4.0, "11 leaves copies out");
    assert_eq!(eleven["h2d_ms"]["max"], 0.0);
    // Both in one call: two summaries, each whole, in the same definitions.
    fs::write(folder.path().join("times.json"), times(20)).expect("room");
    let both = run(
        &[
            "report",
            "run.mcap",
            "--compat",
            "trtexec10",
            "--from-trtexec",
            "times.json",
        ],
        folder.path(),
    );
    let said = text(&both.stdout);
    assert_eq!(said.matches("=== Performance summary ===").count(), 2, "{said}");
    assert!(said.contains("Enqueue Time: not recorded"), "{said}");
}

#[test]
fn files_that_are_no_times_are_refused_in_plain_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = times(3);
    for (content, phrase) in [
        (
            &whole[..whole.len() / 2],
            "it is not JSON as `trtexec --exportTimes` writes it",
        ),
        ("[]", "no query to summarise"),
        ("{\"count\": 3}", "an array of objects"),
        ("[{\"computeMs\": 1.0}]", "missing field"),
        (
            &whole.replacen("\"computeMs\":5.0", "\"computeMs\":-5.0", 1),
            "computeMs = -5",
        ),
    ] {
        fs::write(folder.path().join("times.json"), content).expect("room");
        let output = run(&["report", "--from-trtexec", "times.json"], folder.path());
        let said = ended(&output, 1);
        assert!(said.contains(phrase) && said.contains("times.json"), "{said}");
        assert!(output.stdout.is_empty());
    }
    let absent = run(&["report", "--from-trtexec", "absent.json"], folder.path());
    assert!(ended(&absent, 2).contains("absent.json"));
    ended(&run(&["report"], folder.path()), 2);
}
