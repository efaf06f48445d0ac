//! `inspect`, `data synth` and `eval`: what files hold, and making them.

use std::fs;

use serde_json::Value;

use super::{DEMO, assert_refused, run, stderr, stdout};

#[test]
fn inspect_tells_runs_networks_and_detectors_apart() {
    let folder = tempfile::tempdir().unwrap();
    let engines = concat!(env!("CARGO_MANIFEST_DIR"), "/engines");
    let network = run(&["inspect", &format!("{engines}/camera.onnx")], folder.path());
    let text = stdout(&network);
    assert!(
        text.contains("images") && text.contains("output0") && text.contains("Conv"),
        "{text}"
    );
    let detector = run(
        &["inspect", &format!("{engines}/lidar.ron"), "--format", "json"],
        folder.path(),
    );
    let value: Value = serde_json::from_slice(&detector.stdout).unwrap();
    assert_eq!(value["engines"].as_array().unwrap().len(), 2, "{value}");
    let profiled = run(
        &[
            "inspect",
            &format!("{engines}/camera.onnx"),
            "--profile",
            "2",
            "--format",
            "json",
        ],
        folder.path(),
    );
    let value: Value = serde_json::from_slice(&profiled.stdout).unwrap();
    assert!(
        value["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .any(|n| n["operator"].as_str().unwrap().contains("Conv"))
    );
    assert_refused(
        &run(
            &["inspect", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.lock")],
            folder.path(),
        ),
        2,
        &[".mcap", ".onnx", ".ron"],
    );
    for absent in ["absent.onnx", "absent.txt"] {
        let output = run(&["inspect", absent], folder.path());
        assert_refused(&output, 2, &[absent, "does not exist"]);
    }
}

#[test]
fn inspect_refuses_scenarios_and_options_that_the_file_does_not_take() {
    let folder = tempfile::tempdir().unwrap();
    let network = concat!(env!("CARGO_MANIFEST_DIR"), "/engines/camera.onnx");
    let spec = concat!(env!("CARGO_MANIFEST_DIR"), "/engines/camera.ron");
    for (args, phrases) in [
        (&[DEMO][..], &["this is a scenario", "jetlag run"][..]),
        (&[spec, "--profile", "3"], &["--profile", ".onnx"]),
        (&[spec, "--dim", "batch=1"], &["--dim", ".onnx"]),
        (&[network, "--profile", "0"], &["--profile must be at least 1"]),
        (&[network, "--dim", "batch=1"], &["--profile TIMES"]),
        (
            &[network, "--profile", "1", "--dim", "nothing=1"],
            &["--dim nothing"],
        ),
    ] {
        let output = run(&[&["inspect"], args].concat(), folder.path());
        assert_refused(&output, 2, phrases);
    }
}

#[test]
fn synthetic_data_is_written_and_a_detector_is_evaluated_on_it() {
    let folder = tempfile::tempdir().unwrap();
    let synth = run(
        &[
            "data", "synth", "--out", "scenes", "--count", "12", "--seed", "77",
        ],
        folder.path(),
    );
    assert!(synth.status.success(), "{}", stderr(&synth));
    let said = stdout(&synth);
    assert!(
        said.starts_with("12 scenes written to scenes")
            && said.contains("--data scenes")
            && said.lines().count() == 1,
        "{said}"
    );
    for detector in ["builtin:camera", "builtin:lidar"] {
        let eval = run(
            &["eval", detector, "--data", "scenes", "--format", "json"],
            folder.path(),
        );
        assert!(eval.status.success(), "{}", stderr(&eval));
        let table: Value = serde_json::from_slice(&eval.stdout).unwrap();
        assert!(table.to_string().contains("recall"), "{table}");
    }
    assert_refused(
        &run(&["eval", "builtin:camera", "--data", "nowhere"], folder.path()),
        2,
        &["nowhere", "KITTI's layout"],
    );
    for (args, phrase) in [
        (["builtin:camera", "--iou", "0"], "--iou 0"),
        (["builtin:camera", "--iou", "-0.5"], "--iou -0.5"),
        (["builtin:camera", "--iou", "NaN"], "--iou NaN"),
        (["builtin:camera", "--threshold", "1.5"], "--threshold 1.5"),
        (["builtin:camera", "--threshold", "-1"], "--threshold -1"),
        (["builtin:camera", "--limit", "0"], "--limit must be at least 1"),
        (["builtin:radar", "--limit", "1"], "camera, lidar"),
        (["absent.ron", "--limit", "1"], "absent.ron"),
    ] {
        let eval = [&["eval"], &args[..], &["--data", "scenes"]].concat();
        assert_refused(&run(&eval, folder.path()), 2, &[phrase]);
    }
    for name in ["label_2/000003.txt", "calib/000001.txt"] {
        fs::remove_file(folder.path().join("scenes").join(name)).unwrap();
        let eval = run(&["eval", "builtin:lidar", "--data", "scenes"], folder.path());
        assert_refused(&eval, 2, &[name, "does not exist, but", "KITTI's layout"]);
    }
}

#[test]
fn scenes_that_cannot_be_numbered_or_written_are_refused_with_words() {
    let folder = tempfile::tempdir().unwrap();
    let synth = |more: &[&str]| {
        let args = [&["data", "synth", "--out", "scenes"], more].concat();
        run(&args, folder.path())
    };
    assert_refused(
        &synth(&["--start", "18446744073709551615", "--count", "1"]),
        2,
        &["--start 18446744073709551615", "exceeds the highest scene number"],
    );
    assert_refused(&synth(&["--count", "0"]), 2, &["--count must be at least 1"]);
    assert!(!folder.path().join("scenes").exists());

    // The last scene there is, and no other.
    let last = synth(&["--start", "18446744073709551614", "--count", "1"]);
    assert!(last.status.success(), "{}", stderr(&last));
    assert_eq!(
        fs::read_dir(folder.path().join("scenes/image_2"))
            .unwrap()
            .count(),
        1
    );

    fs::write(folder.path().join("file"), "").unwrap();
    let output = run(&["data", "synth", "--out", "file", "--count", "1"], folder.path());
    assert_refused(&output, 1, &["cannot write file/image_2"]);
    assert!(!stderr(&output).contains("cannot read"), "{}", stderr(&output));
}

#[test]
fn inspect_tells_what_is_in_a_run_file_and_report_what_came_out() {
    let folder = tempfile::tempdir().unwrap();
    let text = "Scenario(name: \"t\", duration: \"300ms\", warmup: \"100ms\", clock: Virtual, \
                tenants: [Tenant(name: \"front\", backend: Null, arrival: Periodic(hz: 50))])";
    std::fs::write(folder.path().join("s.ron"), text).unwrap();
    run(&["run", "s.ron", "--quiet", "--out", "r.mcap"], folder.path());
    let inspected = stdout(&run(&["inspect", "r.mcap"], folder.path()));
    for said in [
        "WHAT RAN WHERE",
        "FRAMES",
        "front",
        "together",
        "jetlag report r.mcap",
    ] {
        assert!(inspected.contains(said), "{said}: {inspected}");
    }
    // A simulated run has no readings; a record that was made has some.
    let made = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/records/run.mcap");
    let made = stdout(&run(&["inspect", made], folder.path()));
    assert!(
        made.contains("RECORDS") && made.contains("readings by host"),
        "{made}"
    );
    let reported = stdout(&run(&["report", "r.mcap"], folder.path()));
    for figure in ["RESPONSE TIME", "p99", "EXPECTATIONS", "WHERE THE TIME GOES"] {
        assert!(!inspected.contains(figure), "{figure}: {inspected}");
    }
    assert!(
        reported.contains("RESPONSE TIME") && !reported.contains("readings by host"),
        "{reported}"
    );
    let json = run(&["inspect", "r.mcap", "--format", "json"], folder.path());
    let value: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert!(value["summary"].is_null() && value["incomplete"].is_null());
    let frames = value["contents"]["frames"].as_array().unwrap();
    let measured = frames
        .iter()
        .find(|of| of["tenant"] == "front" && of["phase"] == "together");
    let measured = measured.expect("the tenant's frames");
    let number = |key: &str| measured[key].as_u64().unwrap();
    assert!(
        0 < number("warmup") && number("warmup") < number("frames"),
        "{measured}"
    );
}
