//! `jetlag doctor --selftest` as a process: on this machine, and on a made-up Orin. Beside the doubles of CUDA and TensorRT
//! it is tried in tests/gpu/selftest.rs.
use crate::common::boards;
use crate::common::under_way;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use under_way::wait_until;

const OUTCOMES: [&str; 3] = ["pass", "fail", "not applicable"];

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jetlag"));
    command
        .args(["doctor", "--selftest"])
        // A machine that has more to do than these tests is no reason to fail.
        .args(["--patience", "20"])
        .args(arguments)
        .current_dir(folder);
    command
}

/// A line of the file: outcome, group/name, time, evidence.
fn fields(line: &str) -> Vec<&str> {
    let fields = line.split("  ").map(str::trim);
    fields.filter(|field| !field.is_empty()).collect()
}

/// The checks of a report's file, each of which has to be whole.
fn lines(file: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.starts_with("jetlag selftest 1"), "{text}");
    let parts: Vec<&str> = text.split("\n\n").collect();
    let [head, checks, end] = parts[..] else {
        panic!("head, checks and end: {text}");
    };
    assert!(head.contains("\nCPU  "), "{head}");
    let lines: Vec<Vec<String>> = checks
        .lines()
        .map(|line| {
            let fields = fields(line);
            assert_eq!(fields.len(), 4, "{line}");
            assert!(OUTCOMES.contains(&fields[0]), "{line}");
            assert!(fields[1].contains('/') && fields[2].ends_with(" s"), "{line}");
            fields.into_iter().map(str::to_owned).collect()
        })
        .collect();
    assert!(end.starts_with(&format!("end  {} checks", lines.len())), "{end}");
    lines
}

/// The outcome of a check, and what was seen.
fn check<'v>(report: &'v Value, group: &str, name: &str) -> (&'v str, &'v str) {
    let checks = report["checks"].as_array().unwrap();
    let found = checks
        .iter()
        .find(|check| check["group"] == group && check["name"] == name)
        .unwrap_or_else(|| panic!("no {group}/{name} in {report:#}"));
    (
        found["outcome"].as_str().unwrap(),
        found["seen"].as_str().unwrap(),
    )
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn every_line_has_an_outcome_and_evidence_and_the_exit_code_says_whether_one_failed() {
    let folder = tempfile::tempdir().unwrap();
    let groups = ["machine", "libraries", "sim", "cpu", "tensorrt", "dla"];
    let mut arguments = vec!["--out", "report.txt"];
    groups
        .iter()
        .for_each(|group| arguments.extend(["--only", group]));
    let output = command(folder.path(), &arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("the report is in report.txt"), "{said}");
    let file = folder.path().join("report.txt");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        printed,
        fs::read_to_string(&file).unwrap(),
        "the file is what was printed"
    );
    let lines = lines(&file);
    let failed = lines.iter().any(|line| line[0] == "fail");
    let code = match failed {
        true => 3,
        false => 0,
    };
    assert_eq!(output.status.code(), Some(code), "{printed}");
    let has = |name: &str| {
        let line = lines.iter().find(|line| line[1] == name);
        line.unwrap_or_else(|| panic!("no {name} in {printed}"))
    };
    assert_eq!(has("machine/doctor")[0], "pass");
    if cfg!(feature = "cpu") {
        let boxes = has("cpu/boxes");
        assert_eq!(boxes[0], "pass", "{boxes:?}");
        assert!(boxes[3].contains("of the scenes' objects found"), "{boxes:?}");
        assert_eq!(has("cpu/sharing=Processes")[0], "pass");
    }
    assert_eq!(has("cpu/sharing=SingleStream")[0], "not applicable");
    assert_eq!(has("sim/sharing=Edf")[0], "pass");
    assert_eq!(has("sim/sharing=Partition")[0], "not applicable");
    // Every depth with every transfer and graph, whether or not it can be tried here.
    for depth in 1..=4 {
        for transfer in ["Copy", "ZeroCopy"] {
            for graph in ["On", "Off"] {
                has(&format!(
                    "tensorrt/depth={depth} transfer={transfer} graph={graph}"
                ));
            }
        }
    }
    // Only what was asked for, and no machine's name.
    let group = |line: &Vec<String>| line[1].split('/').next().unwrap().to_owned();
    assert!(lines.iter().all(|line| groups.contains(&group(line).as_str())));
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if host.trim().len() >= 8 {
        assert!(!printed.contains(host.trim()), "{printed}");
    }
}

/// What tegrastats would say of the made-up Orin, but for what each test changes.
const LINE: &str = "RAM 59899/62841MB (lfb 1x4MB) SWAP 0/31420MB (cached 0MB) CPU [2%@1190,2%@1190,2%@1190,2%@1190,2%@1190,\
                    2%@1190,2%@1190,2%@1190,off,off,off,off] EMC_FREQ 20%@3199 GR3D_FREQ 0%@[306,306] cpu@45.375C gpu@41.25C \
                    soc0@42.906C tj@45.375C tboard@36.5C VDD_GPU_SOC 3268mW/3268mW VDD_CPU_CV 779mW/779mW VIN_SYS_5V0 \
                    3912mW/3912mW VDDQ_VDD2_1V8AO 902mW/902mW";

fn orin(line: &str) -> tempfile::TempDir {
    let root = boards::board("agx-orin-r36");
    let program = root.path().join("usr/bin/tegrastats");
    nvidia_doubles::script(&program, &format!("while :; do echo '{line}'; sleep 0.1; done"));
    let alarms = root.path().join("sys/class/hwmon/hwmon5");
    fs::create_dir_all(&alarms).unwrap();
    for (file, text) in [
        ("name", "soctherm_oc"),
        ("oc1_event_cnt", "0"),
        ("oc3_event_cnt", "7"),
    ] {
        fs::write(alarms.join(file), text).unwrap();
    }
    root
}

/// Every file of the board that a self-test might change.
fn files(root: &Path) -> std::collections::BTreeMap<String, String> {
    let mut found = std::collections::BTreeMap::new();
    let mut folders = vec![root.join("sys"), root.join("var"), root.join("run")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path => {
                    let text = fs::read_to_string(&path).unwrap_or_default();
                    found.insert(path.display().to_string(), text.trim().to_owned());
                }
            }
        }
    }
    found
}

#[test]
fn on_a_made_up_orin_sensors_agree_with_tegrastats_and_clocks_are_held_and_given_back() {
    let root = orin(LINE);
    let before = files(root.path());
    let folder = tempfile::tempdir().unwrap();
    let groups = ["sensors", "tegrastats", "clocks", "dla", "gpu-clock"];
    let mut arguments = vec!["--out", "report.txt", "--format", "json"];
    groups
        .iter()
        .for_each(|group| arguments.extend(["--only", group]));
    let output = command(folder.path(), &arguments)
        .env("JETLAG_ROOT", root.path())
        .output()
        .unwrap();
    let report = json(&output);
    let failed = report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| check["outcome"] == "fail");
    assert_eq!(failed.collect::<Vec<_>>(), [] as [&Value; 0]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(files(root.path()), before, "the board is as it was");
    let machine = report["machine"].as_array().unwrap();
    for (name, value) in [("JetPack", "6.2.1"), ("Power mode", "MODE_30W (id 2)")] {
        let told = machine.iter().find(|fact| fact["name"] == name).unwrap();
        assert!(told["value"].as_str().unwrap().contains(value), "{told}");
    }
    let (outcome, seen) = check(&report, "sensors", "Rails");
    assert!(outcome == "pass" && seen.contains("VDD_GPU_SOC 3.27 W"), "{seen}");
    let (outcome, seen) = check(&report, "sensors", "over-current");
    assert!(
        outcome == "pass" && seen.starts_with("events: oc1 0, ") && seen.ends_with("oc3 7"),
        "{seen}"
    );
    for quantity in [
        "VDD_GPU_SOC",
        "VIN_SYS_5V0",
        "tj_temperature",
        "emc_frequency",
        "emc_load",
        "gpu_load",
    ] {
        for when in ["idle", "load"] {
            let (outcome, seen) = check(&report, "tegrastats", &format!("{when} {quantity}"));
            assert!(
                outcome == "pass" && seen.contains("may differ by"),
                "{quantity}: {seen}"
            );
        }
    }
    let (outcome, seen) = check(&report, "tegrastats", "idle gpu_frequency");
    assert_eq!(outcome, "not_applicable", "{seen}");
    let (_, seen) = check(&report, "clocks", "held");
    assert!(seen.contains("17000000.gpu 612 MHz"), "{seen}");
    let (outcome, seen) = check(&report, "clocks", "given back");
    assert!(
        outcome == "pass" && seen.contains("clocks have their earlier limits"),
        "{seen}"
    );
    assert_eq!(check(&report, "dla", "core=0").0, "not_applicable");
    // The same checks are in the file.
    let lines = lines(&folder.path().join("report.txt"));
    assert_eq!(lines.len(), report["checks"].as_array().unwrap().len());
    let text = fs::read_to_string(folder.path().join("report.txt")).unwrap();
    assert!(!text.contains(&root.path().display().to_string()), "{text}");
}

#[test]
fn a_sensor_that_tegrastats_contradicts_fails_and_the_exit_code_says_so() {
    let root = orin(&LINE.replace("VDD_GPU_SOC 3268mW", "VDD_GPU_SOC 6536mW"));
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--out", "report.txt", "--only", "tegrastats", "--clocks", "never"];
    let output = command(folder.path(), &arguments)
        .env("JETLAG_ROOT", root.path())
        .output()
        .unwrap();
    assert_eq!(
        output.status.code(),
        Some(3),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    let lines = lines(&folder.path().join("report.txt"));
    for line in &lines {
        let wrong = line[1].ends_with("VDD_GPU_SOC");
        assert_eq!(line[0] == "fail", wrong, "{line:?}");
        assert!(!wrong || line[3].contains("tegrastats 6536.0"), "{line:?}");
    }
}

#[test]
fn what_is_there_is_not_replaced_and_wrong_use_tries_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |arguments: &[&str], words: &str| {
        let output = command(folder.path(), arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{said}");
        assert!(output.stdout.is_empty());
    };
    fs::write(folder.path().join("letter.txt"), "dear").unwrap();
    refused(&["--out", "letter.txt", "--force"], "not a self-test report");
    fs::write(folder.path().join("older.txt"), "jetlag selftest 1: …").unwrap();
    refused(&["--out", "older.txt"], "--force");
    refused(&["--within", "soon"], "--within");
    refused(&["--scenario", "absent.ron"], "absent.ron");
    refused(&["--only", "everything"], "gpu-clock");
    assert_eq!(
        fs::read_to_string(folder.path().join("letter.txt")).unwrap(),
        "dear"
    );
    let mut alone = Command::new(env!("CARGO_BIN_EXE_jetlag"));
    let output = alone.args(["doctor", "--only", "cpu"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn interrupted_it_says_what_was_not_done() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.txt");
    let arguments = [
        "--out",
        "report.txt",
        "--only",
        "sensors",
        "--only",
        "sim",
        "--only",
        "dla",
    ];
    let child = command(folder.path(), &arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the first check is under way", || {
        fs::read_to_string(&file).unwrap_or_default().contains("\n\n")
    });
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let lines = lines(&file);
    let last = lines.iter().find(|line| line[1] == "dla/core=0").unwrap();
    assert_eq!(last[0], "not applicable");
    let sim = lines.iter().find(|line| line[1] == "sim/sharing=Edf").unwrap();
    assert!(
        sim[0] == "not applicable" && sim[3].contains("interrupted"),
        "{sim:?}"
    );
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.trim_end().ends_with("interrupted"), "{text}");
}

#[test]
fn what_does_not_fit_into_the_time_is_not_applicable() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--out", "report.txt", "--only", "sim", "--within", "1s"];
    let output = command(folder.path(), &arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    for line in lines(&folder.path().join("report.txt")) {
        assert!(
            line[0] == "not applicable" && line[3].starts_with("no time left"),
            "{line:?}"
        );
    }
}
