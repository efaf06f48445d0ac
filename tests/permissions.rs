//! Files of the machine's that are there and closed to the user: each is said with what to do, and none reads as zero.
//!
//! Root may read and write everything, so where the tests run as root, jetlag is run as the user `nobody`.
use crate::common::boards;
use crate::common::output::stderr;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use nvidia_doubles::machine;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// The user's number that owns nothing.
const NOBODY: u32 = 65534;

/// A made-up board in which `nobody` may read what everybody may.
fn board(name: &str) -> tempfile::TempDir {
    let root = boards::board(name);
    mode(root.path(), 0o755);
    // Results go here.
    fs::create_dir(root.path().join("out")).unwrap();
    mode(&root.path().join("out"), 0o777);
    root
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Closes every file below a folder whose name fits to all but root; how many those were.
fn close(folder: PathBuf, fits: fn(&str) -> bool) -> usize {
    let mut closed = 0;
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() {
            closed += close(path, fits);
        } else if fits(name.to_str().unwrap()) {
            mode(&path, 0o000);
            closed += 1;
        }
    }
    closed
}

fn command(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jetlag"));
    command
        .args(arguments)
        .env("JETLAG_ROOT", root)
        .current_dir(root.join("out"));
    command
}

fn as_root(root: &Path, arguments: &[&str]) -> Output {
    command(root, arguments).output().unwrap()
}

/// jetlag as `nobody`, where that can be chosen.
fn nobody(root: &Path, arguments: &[&str]) -> Command {
    let mut command = command(root, arguments);
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// `None`, with the test skipped, where the user cannot be changed, or the program is out of that user's reach.
fn as_nobody(root: &Path, arguments: &[&str]) -> Option<Output> {
    match nobody(root, arguments).output() {
        Ok(output) => Some(output),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            machine::skip(&format!("jetlag cannot be run as user {NOBODY} here ({error})"));
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(output)))
}

fn check<'v>(doctor: &'v Value, subject: &str) -> &'v Value {
    let checks = doctor["checks"].as_array().unwrap();
    checks.iter().find(|check| check["subject"] == subject).unwrap()
}

/// A run of one tenant beside the board's sensors, as `nobody`.
fn run(root: &Path) -> Option<Value> {
    let scenario = "Scenario(name: \"closed\", duration: \"1500ms\", warmup: \"0s\", telemetry: (interval: \"50ms\"), \
                    tenants: [Tenant(name: \"a\", backend: Null, arrival: Periodic(hz: 50))])";
    fs::write(root.join("s.ron"), scenario).unwrap();
    let output = as_nobody(
        root,
        &[
            "run", "../s.ron", "--quiet", "--format", "json", "--out", "r.mcap", "--force",
        ],
    )?;
    Some(json(&output))
}

fn finding<'v>(summary: &'v Value, code: &str, words: &str) -> &'v Value {
    let findings = summary["run"]["findings"].as_array().unwrap();
    let fits = |f: &&Value| f["code"] == code && f["message"].as_str().unwrap().contains(words);
    findings
        .iter()
        .find(fits)
        .unwrap_or_else(|| panic!("no {code} with {words} in {findings:?}"))
}

#[test]
fn rails_that_may_not_be_read_are_a_gap_with_its_fix_and_a_finding_and_no_energy() {
    for (name, folder) in [("orin-nano-r36", "sys/class/hwmon"), ("nano-r32", "sys/bus/i2c")] {
        let root = board(name);
        assert!(close(root.path().join(folder), |file| file.ends_with("_input")) >= 3);
        let Some(output) = as_nobody(root.path(), &["doctor", "--format", "json"]) else {
            return;
        };
        assert_eq!(output.status.code(), Some(1), "{name}");
        let doctor = json(&output);
        let rails = check(&doctor, "Power rails");
        assert_eq!(rails["status"], "gap", "{name}: {rails}");
        assert!(
            rails["found"].as_str().unwrap().contains("not readable now"),
            "{rails}"
        );
        assert!(rails["fix"].as_str().unwrap().contains("Run as root"), "{rails}");
        let summary = run(root.path()).unwrap();
        let lost = finding(&summary, "power-not-measured", "gave no reading");
        assert!(
            lost["advice"].as_str().unwrap().contains("this may need root"),
            "{lost}"
        );
        assert!(
            summary["energy"].is_null(),
            "not measured is not 0: {}",
            summary["energy"]
        );
        for rail in summary["power"].as_array().unwrap() {
            assert!(rail["mean_mw"].is_null(), "{rail}");
        }
    }
}

#[test]
fn a_processors_counters_that_take_root_are_a_gap_with_its_fix_and_a_finding() {
    let root = board("desktop");
    assert!(close(root.path().join("sys/class/powercap"), |file| file == "energy_uj") >= 1);
    let Some(output) = as_nobody(root.path(), &["doctor", "--format", "json"]) else {
        return;
    };
    let doctor = json(&output);
    let rapl = check(&doctor, "RAPL");
    assert_eq!(rapl["status"], "gap", "{rapl}");
    assert!(rapl["fix"].as_str().unwrap().contains("chmod a+r"), "{rapl}");
    assert!(
        check(&doctor, "Rights")["meaning"]
            .as_str()
            .unwrap()
            .contains("RAPL"),
        "{doctor}"
    );
    let summary = run(root.path()).unwrap();
    let ended = finding(&summary, "sampler-ended", "rapl");
    assert!(
        ended["message"]
            .as_str()
            .unwrap()
            .contains("make energy_uj readable for your group")
    );
    assert!(summary["energy"].is_null());
}

#[test]
fn a_memory_controller_that_takes_root_is_told_and_all_else_is_sampled() {
    let root = board("agx-orin-r36");
    mode(&root.path().join("sys/kernel/debug"), 0o700);
    let Some(output) = as_nobody(root.path(), &["doctor", "--format", "json"]) else {
        return;
    };
    let doctor = json(&output);
    let memory = check(&doctor, "Memory clock");
    assert_eq!(memory["status"], "note", "{memory}");
    assert!(memory["fix"].as_str().unwrap().contains("Needs root"), "{memory}");
    let summary = run(root.path()).unwrap();
    assert_eq!(summary["energy"]["of"], "module", "{}", summary["energy"]);
    // By root it is read.
    let doctor = json(&as_root(root.path(), &["doctor", "--format", "json"]));
    if rustix::process::geteuid().is_root() {
        assert!(check(&doctor, "Memory clock")["found"].is_string());
    }
}

#[test]
fn doctor_needs_no_rights_on_any_board() {
    for name in [
        "nano-r32",
        "xavier-nx-r35",
        "agx-orin-r36",
        "orin-nano-r36",
        "thor-r38",
        "desktop",
    ] {
        let root = board(name);
        let Some(output) = as_nobody(root.path(), &["doctor", "--format", "json"]) else {
            return;
        };
        let doctor = json(&output);
        let rights = check(&doctor, "Rights");
        assert_eq!(rights["found"], "not root", "{name}");
        assert!(rights["fix"].as_str().unwrap().contains("sudo jetlag"), "{name}");
        for check in doctor["checks"].as_array().unwrap() {
            assert!(
                check["status"] != "gap" || check["fix"].is_string(),
                "{name}: {check}"
            );
        }
    }
}

const GPU: &str = "sys/class/devfreq/17000000.gpu/min_freq";

fn hertz(root: &Path) -> String {
    fs::read_to_string(root.join(GPU)).unwrap().trim().to_owned()
}

#[test]
fn clocks_that_may_not_be_set_say_that_it_takes_root_and_nothing_is_changed() {
    let root = board("agx-orin-r36");
    // What keeps the earlier clocks cannot be written.
    let Some(output) = as_nobody(root.path(), &["clocks", "max"]) else {
        return;
    };
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said.contains("nothing was changed") && said.contains("needs root: sudo"),
        "{said}"
    );
    // It can, and a clock cannot.
    fs::create_dir_all(root.path().join("run/jetlag")).unwrap();
    mode(&root.path().join("run/jetlag"), 0o777);
    let output = as_nobody(root.path(), &["clocks", "max"]).unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said.contains("cannot set") && said.contains("needs root: sudo"),
        "{said}"
    );
    assert!(
        !said.contains("could not be restored") && said.matches("Permission denied").count() == 1,
        "{said}"
    );
    assert_eq!(hertz(root.path()), "306000000");
    // A file left behind would say that a person holds them, and runs would believe it.
    assert!(!root.path().join("run/jetlag/clocks.json").exists());
    assert!(
        as_nobody(root.path(), &["clocks", "show"])
            .unwrap()
            .status
            .success()
    );
    // The same of a scenario: the run does not start.
    let scenario = "Scenario(duration: \"1s\", clocks: Max, tenants: [Tenant(name: \"a\", backend: Null, arrival: Periodic(hz: 9))])";
    fs::write(root.path().join("s.ron"), scenario).unwrap();
    let output = as_nobody(
        root.path(),
        &["run", "../s.ron", "--quiet", "--out", "r.mcap", "--force"],
    )
    .unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said.contains("nothing was started") && said.contains("sudo jetlag"),
        "{said}"
    );
    assert!(!root.path().join("out/r.mcap").exists());
}

#[test]
fn clocks_that_root_holds_are_given_back_by_root_only() {
    if !rustix::process::geteuid().is_root() {
        return machine::skip("only root can hold clocks");
    }
    let root = board("agx-orin-r36");
    assert!(as_root(root.path(), &["clocks", "max"]).status.success());
    let Some(output) = as_nobody(root.path(), &["clocks", "restore"]) else {
        return;
    };
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said.contains("could not be restored") && said.contains("needs root: sudo"),
        "{said}"
    );
    assert_eq!(hertz(root.path()), "612000000");
    // One that may not even be read is no damaged one.
    mode(&root.path().join("run/jetlag/clocks.json"), 0o600);
    let said = stderr(&as_nobody(root.path(), &["clocks", "restore"]).unwrap());
    assert!(
        said.contains("cannot read") && said.contains("needs root: sudo"),
        "{said}"
    );
    assert!(as_root(root.path(), &["clocks", "restore"]).status.success());
    assert_eq!(hertz(root.path()), "306000000");
}

#[test]
fn a_tegrastats_that_may_not_be_started_and_a_log_that_may_not_be_read_are_said() {
    let root = tempfile::tempdir().unwrap();
    mode(root.path(), 0o755);
    let program = root.path().join("usr/bin/tegrastats");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::write(&program, "#!/bin/sh\n").unwrap();
    mode(&program, 0o700);
    fs::create_dir(root.path().join("out")).unwrap();
    mode(&root.path().join("out"), 0o777);
    fs::write(root.path().join("log"), "RAM 1/2MB").unwrap();
    mode(&root.path().join("log"), 0o600);
    let Some(output) = as_nobody(root.path(), &["monitor", "--from-tegrastats", "../log"]) else {
        return;
    };
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("cannot read ../log"),
        "{}",
        stderr(&output)
    );
    // Ended long before; where what is waited for never comes, this is when it fails.
    let arguments = [
        "monitor",
        "--interval",
        "20ms",
        "--duration",
        "5min",
        "--format",
        "json",
    ];
    let mut monitor = nobody(root.path(), &arguments)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(monitor.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let mut lines = String::new();
    while !(lines.contains("sampler-ended") && lines.contains("cannot be started: Permission denied")) {
        lines += &said.next().unwrap_or_else(|| panic!("it ended: {lines}"));
    }
    kill_process(Pid::from_child(&monitor), Signal::INT).unwrap();
    lines.extend(said);
    assert!(monitor.wait().unwrap().success(), "{lines}");
    assert!(!lines.contains("tegrastats/"), "{lines}");
}
