//! `jetlag data variants`: networks with fewer channels, judged by ONNX Runtime (`tests/python/variants_judge.py`), and every way in
//! which there are none.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use nvidia_doubles::machine;
use serde_json::Value;

use crate::common::output::{assert_refused, run, stderr, stdout};

const CAMERA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/engines/camera.onnx");

/// A Python with onnx, and the packages of the one with ONNX Runtime.
fn judge() -> Option<(PathBuf, PathBuf)> {
    let python = machine::python("numpy, onnx")?;
    let runtime = machine::environment("onnxruntime", "JETLAG_REQUIRE_ONNXRUNTIME")?;
    let versions = std::fs::read_dir(runtime.join("lib")).unwrap();
    let packages = versions.map(|entry| entry.unwrap().path().join("site-packages"));
    let mut packages = packages.filter(|path| path.join("onnxruntime").is_dir());
    Some((python, packages.next().expect("the environment has the wheel")))
}

/// The judge's word on these arguments.
#[track_caller]
fn ask(judge: &(PathBuf, PathBuf), arguments: &[&OsStr]) -> String {
    let output = Command::new(&judge.0)
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/python/variants_judge.py"
        ))
        .args(arguments)
        .env("PYTHONPATH", &judge.1)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{arguments:?}: {}{}",
        stdout(&output),
        stderr(&output)
    );
    stdout(&output)
}

/// The judge runs a network and all that was made of it.
#[track_caller]
fn check(judge: &(PathBuf, PathBuf), net: &Path, made: &Path, is_same: bool) {
    let more: &[&OsStr] = if is_same { &["same".as_ref()] } else { &[] };
    let first = ["check".as_ref(), net.as_os_str(), made.as_os_str()];
    let said = ask(judge, &[&first, more].concat());
    assert!(said.ends_with(" variants\n"), "{said}");
}

/// What the command says in its machine form.
#[track_caller]
fn made(arguments: &[&str], folder: &Path) -> Value {
    let all = [&["data", "variants"], arguments, &["--format", "json"]].concat();
    let output = run(&all, folder);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{arguments:?}: {}",
        stderr(&output)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn zero_channels_leave_the_outputs_what_they_were_and_others_their_shapes() {
    let Some(judge) = judge() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    ask(&judge, &["make".as_ref(), path.as_os_str()]);
    for (name, is_same) in [
        ("residual", true),
        ("mobile", true),
        ("joined", true),
        ("grouped", true),
        ("shared", true),
        ("normed", false),
        ("half", false),
    ] {
        let net = format!("{name}.onnx");
        let (zeros, others) = (format!("{name}_zeros"), format!("{name}_others"));
        // Each layer has as many dead channels as go at this level, and they are the smallest.
        let said = made(&[&net, "--prune", "50", "--mode", "l1", "-o", &zeros], path);
        assert_eq!(said["variants"][0]["reached_of_free_percent"], 50.0, "{said}");
        // What stays is what reaches the outputs, and nothing else.
        let left = said["left_whole"].as_array().unwrap();
        let is_last = |left: &Value| {
            left["reason"]
                .as_str()
                .unwrap()
                .starts_with("they reach the output")
        };
        assert!(left.iter().all(is_last), "{said}");
        check(&judge, &path.join(&net), &path.join(&zeros), is_same);
        let levels = ["--prune", "1,5..95,99", "--step", "15", "--seed", "4"];
        made(&[&[&*net, "-o", &others], &levels[..]].concat(), path);
        check(&judge, &path.join(&net), &path.join(&others), false);
    }
}

#[test]
fn real_networks_run_with_fewer_channels() {
    let Some(judge) = judge() else { return };
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "graphs/light_densenet121.onnx",
        "graphs/light_inception_v1.onnx",
        "graphs/light_resnet50.onnx",
        "graphs/light_shufflenet.onnx",
        "graphs/light_squeezenet.onnx",
        "nanodet_m_416/nanodet_m.onnx",
        "pointpillars_kitti_car/rpn_fp32.onnx",
        "ultraface_rfb_320/version-RFB-320.onnx",
        "yolox_nano/yolox_nano.onnx",
    ] {
        let Some(net) = machine::shared(&format!("data/models/{name}")) else {
            return;
        };
        let out = folder.path().join(net.file_stem().unwrap());
        for (mode, levels) in [("random", "5,60"), ("l1", "90")] {
            let arguments = [
                net.to_str().unwrap(),
                "--prune",
                levels,
                "--mode",
                mode,
                "-o",
                out.to_str().unwrap(),
            ];
            let said = made(&arguments, folder.path());
            for counts in said["variants"].as_array().unwrap() {
                let share = |name: &str| counts[name].as_f64().unwrap();
                // What shuffles tie goes in large steps; elsewhere what is asked for is reached, up to whole channels.
                let most_off = match name.split('/').next_back() {
                    Some("light_shufflenet.onnx") => 27.0,
                    Some("nanodet_m.onnx") => 9.0,
                    _ => 4.0,
                };
                assert!(
                    (share("reached_of_free_percent") - share("asked_percent")).abs() < most_off,
                    "{name}: {counts}"
                );
                assert!(counts["macs"]["after"].as_u64() < counts["macs"]["before"].as_u64());
            }
        }
        check(&judge, &net, &out, false);
    }
}

#[test]
fn files_are_named_by_their_levels_and_equal_seeds_give_equal_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let said = made(
        &[
            CAMERA, "--prune", "5..20,60", "--step", "10", "--seed", "7", "-o", "a",
        ],
        path,
    );
    assert_eq!(
        (&said["mode"], &said["seed"]),
        (&Value::from("random"), &Value::from(7))
    );
    let variants = said["variants"].as_array().unwrap();
    let names: Vec<&str> = variants
        .iter()
        .map(|made| made["file"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "a/camera_random_05.onnx",
            "a/camera_random_15.onnx",
            "a/camera_random_20.onnx",
            "a/camera_random_60.onnx"
        ]
    );
    let counts = |what: &str| -> Vec<u64> {
        let after = variants.iter().map(|made| made[what]["after"].as_u64().unwrap());
        after.collect()
    };
    for what in ["channels", "params", "macs"] {
        assert!(
            counts(what).is_sorted_by(|one, other| one > other),
            "{what}: {:?}",
            counts(what)
        );
    }
    // The work that `inspect` counts of the file is what was said.
    let inspected = run(&["inspect", "--work", names[3], "--format", "json"], path);
    let inspected: Value = serde_json::from_slice(&inspected.stdout).unwrap();
    assert_eq!(inspected["totals"]["macs"], variants[3]["macs"]["after"]);
    made(&[CAMERA, "--prune", "60", "--seed", "7", "-o", "b"], path);
    let bytes = |name: &str| std::fs::read(path.join(name)).unwrap();
    assert_eq!(bytes("a/camera_random_60.onnx"), bytes("b/camera_random_60.onnx"));
    made(
        &[CAMERA, "--prune", "60", "--seed", "8", "-o", "b", "--force"],
        path,
    );
    assert_ne!(bytes("a/camera_random_60.onnx"), bytes("b/camera_random_60.onnx"));
    // Both modes have room beside each other; the text has the same figures.
    let output = run(
        &[
            "data", "variants", CAMERA, "--prune", "60", "--mode", "l1", "-o", "b",
        ],
        path,
    );
    let text = stdout(&output);
    assert!(
        text.contains("camera_l1_60.onnx") && text.contains("the smallest sums"),
        "{text}"
    );
    assert!(text.contains("they reach the output"), "{text}");
}

#[test]
fn a_folder_with_something_else_in_it_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let variants = |more: &[&str]| {
        run(
            &[&["data", "variants", CAMERA, "--prune", "50", "-o", "v"], more].concat(),
            path,
        )
    };
    assert_eq!(variants(&[]).status.code(), Some(0));
    let exists = "v/camera_random_50.onnx exists; name another folder, or replace it with --force";
    assert_refused(&variants(&[]), 2, &[exists]);
    assert_eq!(variants(&["--force"]).status.code(), Some(0));
    std::fs::write(path.join("v/notes.txt"), "mine").unwrap();
    assert_refused(
        &variants(&["--force"]),
        2,
        &["v holds something else", "notes.txt", "name another folder"],
    );
    std::fs::write(path.join("file"), "mine").unwrap();
    assert_refused(
        &run(&["data", "variants", CAMERA, "--prune", "50", "-o", "file"], path),
        2,
        &["cannot write to file"],
    );
}

#[test]
fn a_full_disk_leaves_no_half_of_a_network() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    // A limit on file sizes fails the write as a full disk does; the signal that comes with it is ignored.
    let command = format!(
        "trap '' XFSZ; ulimit -f 1; exec {} data variants {CAMERA} --prune 40,50 -o v",
        env!("CARGO_BIN_EXE_jetlag")
    );
    let output = Command::new("bash")
        .args(["-c", &command])
        .current_dir(path)
        .output()
        .unwrap();
    assert_refused(
        &output,
        1,
        &["cannot write v/camera_random_40.onnx", "File too large"],
    );
    assert_eq!(std::fs::read_dir(path.join("v")).unwrap().count(), 0);
}

#[test]
fn nothing_is_written_through_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::create_dir(path.join("v")).unwrap();
    std::fs::write(path.join("mine"), "precious").unwrap();
    for name in ["camera_random_50.onnx", "camera_random_50.onnx.part"] {
        let link = path.join("v").join(name);
        std::os::unix::fs::symlink(path.join("mine"), &link).unwrap();
        run(
            &["data", "variants", CAMERA, "--prune", "50", "-o", "v", "--force"],
            path,
        );
        assert_eq!(std::fs::read(path.join("mine")).unwrap(), b"precious", "{name}");
        std::fs::remove_file(link).unwrap();
    }
}

#[test]
fn what_cannot_be_pruned_is_refused_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let refused = |network: &str, arguments: &[&str], phrase: &str| {
        let output = run(
            &[&["data", "variants", network, "-o", "v"], arguments].concat(),
            path,
        );
        assert_refused(&output, 2, &[phrase]);
        assert!(!path.join("v").exists());
    };
    for level in ["0", "100", "5..100", "x", "5.."] {
        refused(
            CAMERA,
            &["--prune", level],
            "is no level; levels are whole numbers from 1 to 99",
        );
    }
    refused(CAMERA, &["--prune", "9..5"], "9 is above 5");
    refused(
        CAMERA,
        &["--prune", "5", "--mode", "l1", "--seed", "3"],
        "--seed is of --mode random",
    );
    refused(
        "nowhere.onnx",
        &["--prune", "5"],
        "cannot read the network nowhere.onnx",
    );
    refused(".", &["--prune", "5"], "is no name of a network");
    let whole = std::fs::read(CAMERA).unwrap();
    std::fs::write(path.join("cut.onnx"), &whole[..whole.len() / 2]).unwrap();
    refused(
        "cut.onnx",
        &["--prune", "5"],
        "cut.onnx: the network is incomplete or damaged at byte",
    );
    std::fs::write(path.join("text.onnx"), "no network").unwrap();
    refused("text.onnx", &["--prune", "5"], "text.onnx: ");
    refused(
        CAMERA,
        &["--prune", "5", "--dim", "bacth=2"],
        "no input has a dimension named `bacth`",
    );
}

#[test]
fn a_sweep_takes_them_in_the_order_of_their_levels() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    made(&[CAMERA, "--prune", "9,50,90", "-o", "variants"], path);
    let base = "Scenario(duration: \"1s\", warmup: \"0s\", telemetry: (interval: \"1s\", sources: [Host]), tenants: [Tenant(\
                name: \"camera\", detector: \"net.onnx\", backend: Sim(Fixed(\"5ms\")))])";
    std::fs::write(path.join("base.ron"), base).unwrap();
    std::fs::copy(CAMERA, path.join("net.onnx")).unwrap();
    let sweep = "Sweep(base: \"base.ron\", axes: [Axis(set: \"tenants.camera.detector\", files: \"variants/*.onnx\")])";
    std::fs::write(path.join("sweep.ron"), sweep).unwrap();
    let output = run(&["sweep", "sweep.ron", "-o", "s", "--quiet"], path);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}{}",
        stdout(&output),
        stderr(&output)
    );
    let table = std::fs::read_to_string(path.join("s/table.csv")).unwrap();
    let places = ["_09.onnx", "_50.onnx", "_90.onnx"].map(|name| table.find(name));
    assert!(places.is_sorted() && places[0].is_some(), "{table}");
}
