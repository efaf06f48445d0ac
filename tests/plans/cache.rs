//! The plan cache through the binary: hits, damage, two builders at once, a build that is interrupted.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{CAMERA, build, files, jetlag, plans, rtx, stderr};

const TARGET: [&str; 3] = [CAMERA, "--compute-capability", "89"];

#[test]
fn a_plan_is_built_once_and_anew_for_every_option_that_changes_it() {
    let Some(library) = rtx("1.7") else { return };
    let folder = tempfile::tempdir().unwrap();
    let first = &plans(&build(&library, folder.path(), &TARGET))[0];
    assert_eq!(first["was_cached"], false);
    let again = &plans(&build(&library, folder.path(), &TARGET))[0];
    assert_eq!(again["was_cached"], true);
    assert_eq!(again["file"], first["file"]);
    for other in [
        ["--profiling-verbosity", "detailed"],
        ["--builder-optimization-level", "1"],
        ["--compute-capability", "120"],
    ] {
        let args: Vec<&str> = TARGET.into_iter().chain(other).collect();
        let plan = &plans(&build(&library, folder.path(), &args))[0];
        assert_eq!(plan["was_cached"], false, "{other:?}");
    }
    let list = jetlag(&library, folder.path())
        .args(["cache", "list", "--format", "json"])
        .output()
        .unwrap();
    let list: serde_json::Value = serde_json::from_slice(&list.stdout).unwrap();
    assert_eq!(list["plans"].as_array().unwrap().len(), 4);
    let clean = jetlag(&library, folder.path())
        .args(["cache", "clean", "--network", "camera"])
        .output()
        .unwrap();
    assert!(
        String::from_utf8(clean.stdout)
            .unwrap()
            .contains("4 plans removed")
    );
    assert!(files(folder.path()).is_empty());
    let empty = jetlag(&library, folder.path())
        .args(["cache", "list"])
        .output()
        .unwrap();
    assert!(String::from_utf8(empty.stdout).unwrap().contains("is empty"));
}

#[test]
fn a_damaged_entry_is_said_removed_and_built_again() {
    let Some(library) = rtx("1.7") else { return };
    let folder = tempfile::tempdir().unwrap();
    let first = plans(&build(&library, folder.path(), &TARGET))[0].clone();
    let file = Path::new(first["file"].as_str().unwrap());
    let mut bytes = std::fs::read(file).unwrap();
    bytes[1000] ^= 1;
    std::fs::write(file, bytes).unwrap();
    let output = build(&library, folder.path(), &TARGET);
    assert!(
        stderr(&output).contains("is damaged (it does not match its manifest)"),
        "{}",
        stderr(&output)
    );
    assert_eq!(plans(&output)[0]["was_cached"], false);
    let hash = blake3::hash(&std::fs::read(file).unwrap());
    assert_eq!(
        plans(&output)[0]["manifest"]["plan_blake3"],
        hash.to_hex().as_str()
    );
}

#[test]
fn of_two_builders_at_once_one_builds_and_both_have_the_plan() {
    let Some(library) = rtx("1.7") else { return };
    let folder = tempfile::tempdir().unwrap();
    let start = || {
        let mut command = jetlag(&library, folder.path());
        command
            .arg("build")
            .args(TARGET)
            .args(["--quiet", "--format", "json"]);
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let both = [start(), start()].map(|child| child.wait_with_output().unwrap());
    let cached = both
        .iter()
        .filter(|output| plans(output)[0]["was_cached"] == true)
        .count();
    assert_eq!(cached, 1);
}

#[test]
fn an_interrupted_build_stops_cleanly_and_leaves_no_plan() {
    let Some(library) = rtx("1.7") else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut command = jetlag(&library, folder.path());
    // The three-detector build gives the signal time to arrive.
    command.args(["build", "builtin:lidar", "--compute-capability", "89", "--quiet"]);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let began = Instant::now();
    // The lock is taken right before the build.
    while !files(folder.path()).iter().any(|name| name.ends_with(".lock")) {
        assert!(began.elapsed() < Duration::from_secs(300), "no build began");
        std::thread::sleep(Duration::from_millis(1));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("was stopped; nothing was written"),
        "{}",
        stderr(&output)
    );
    assert!(
        files(folder.path()).iter().all(|name| name.ends_with(".lock")),
        "{:?}",
        files(folder.path())
    );
}
