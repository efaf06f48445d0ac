//! `jetlag doctor` on made-up boards: what it says of each, and its exit code.
use crate::common::boards;

use std::path::Path;
use std::process::{Command, Output};

use nvidia_doubles::nvml;
#[cfg(feature = "trace")]
use nvidia_doubles::{cuda, cupti};
use serde_json::Value;

fn doctor(root: &Path, nvml: Option<&Path>) -> (Output, Value) {
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jetlag"));
        command.args(arguments).env("JETLAG_ROOT", root);
        command.envs(nvml.map(|path| ("JETLAG_NVML", path)));
        command.output().unwrap()
    };
    let text = String::from_utf8(run(&["doctor"]).stdout).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let output = run(&["doctor", "--format", "json"]);
    let json = serde_json::from_slice(&output.stdout).unwrap();
    (output, json)
}

fn check<'v>(json: &'v Value, subject: &str) -> &'v Value {
    let checks = json["checks"].as_array().unwrap();
    checks
        .iter()
        .find(|check| check["subject"] == subject)
        .unwrap_or_else(|| panic!("no {subject} in {json}"))
}

fn found<'v>(json: &'v Value, subject: &str) -> &'v str {
    check(json, subject)["found"].as_str().unwrap_or_default()
}

fn meaning<'v>(json: &'v Value, subject: &str) -> &'v str {
    check(json, subject)["meaning"].as_str().unwrap()
}

#[test]
fn each_jetson_is_known_with_its_release_its_mode_and_what_its_rails_tell() {
    for (board, jetpack, mode, total) in [
        (
            "nano-r32",
            "4.6.1 to 4.6.6",
            "MAXN (id 0)",
            "POM_5V_IN is the module's total",
        ),
        (
            "xavier-nx-r35",
            "5.1.1 to 5.1.6",
            "MODE_15W_6CORE (id 2)",
            "VDD_IN is the module's total",
        ),
        (
            "agx-orin-r36",
            "6.2.1",
            "MODE_30W (id 2)",
            "VDD_GPU_SOC + VDD_CPU_CV + VIN_SYS_5V0",
        ),
        (
            "orin-nano-r36",
            "6.2.1",
            "25W (id 1)",
            "VDD_IN is the module's total",
        ),
        ("thor-r38", "7.0", "120W (id 1)", "VIN is the board's input"),
        ("t4000-r38", "7.1", "id 1", "VIN is the board's input"),
        (
            "orin-nx-super-r36",
            "6.2.1",
            "40W (id 4)",
            "VDD_IN is the module's total",
        ),
        (
            "orin-nx-r36",
            "6.2.1",
            "25W (id 3)",
            "VDD_IN is the module's total",
        ),
        (
            "agx-xavier-industrial-r35",
            "5.1.1 to 5.1.6",
            "MODE_40W_ALL (id 2)",
            "GPU + CPU + SOC + CV + VDDRQ + SYS5V",
        ),
    ] {
        let root = boards::board(board);
        let (_, json) = doctor(root.path(), None);
        assert_eq!(found(&json, "JetPack"), jetpack, "{board}");
        assert_eq!(found(&json, "Power mode"), mode, "{board}");
        assert!(meaning(&json, "Power rails").contains(total), "{board}: {json}");
        assert!(found(&json, "Clocks").contains("MHz"), "{board}");
        assert!(found(&json, "Temperatures").contains("hottest"), "{board}");
    }
}

#[test]
fn modules_that_resemble_each_other_are_told_apart_and_their_modes_are_of_their_own_flash() {
    for (board, module, mode) in [
        (
            "t4000-r38",
            "L4T R38.4.0, Jetson T4000 (p3834-0000)",
            "its name and caps are not known: /etc/nvpmodel.conf cannot be read, and jetlag's table does not have \
             this mode. Results are valid only for this mode",
        ),
        (
            "thor-r38",
            "L4T R38.2.0, Jetson T5000 (p3834-0008)",
            "a preset of clocks and cores; its caps are not known (from jetlag's table for Jetson T5000; \
             /etc/nvpmodel.conf cannot be read)",
        ),
        (
            "orin-nx-super-r36",
            "L4T R36.4.4, Jetson Orin NX 16GB (p3767-0000-super), flashed as Super",
            "a preset of clocks and cores: GPU up to 1173 MHz, 8 of 8 SMs, 8 of 8 cores up to 1497.6 MHz (from \
             /etc/nvpmodel.conf)",
        ),
        (
            "orin-nx-r36",
            "L4T R36.4.4, Jetson Orin NX 16GB (p3767-0000), flashed without Super",
            "a preset of clocks and cores: GPU up to 408 MHz, 8 of 8 cores up to 1497.6 MHz (from jetlag's table for \
             Jetson Orin NX 16GB, flashed without Super; /etc/nvpmodel.conf cannot be read)",
        ),
        (
            "agx-xavier-industrial-r35",
            "L4T R35.4.1, Jetson AGX Xavier Industrial (jetson-xavier-industrial)",
            "a preset of clocks and cores: GPU up to 900 MHz, 8 of 8 cores up to 1200 MHz, memory up to 1600 MHz (from \
             jetlag's table for Jetson AGX Xavier Industrial; /etc/nvpmodel.conf cannot be read)",
        ),
        (
            "agx-orin-r36",
            "L4T R36.4.4, Jetson AGX Orin 64GB (p3701-0005)",
            "a preset of clocks and cores: GPU up to 612 MHz, 8 of 16 SMs, 8 of 12 cores up to 1728 MHz (from jetlag's \
             table for Jetson AGX Orin 64GB; /etc/nvpmodel.conf cannot be read)",
        ),
    ] {
        let root = boards::board(board);
        let (_, json) = doctor(root.path(), None);
        assert_eq!(meaning(&json, "Jetson"), module, "{board}");
        assert_eq!(meaning(&json, "Power mode"), mode, "{board}");
    }
    // The set of the other flash has no mode 4, although the release is the same.
    let root = boards::board("orin-nx-r36");
    std::fs::write(root.path().join("var/lib/nvpmodel/status"), "pmode:0004").unwrap();
    assert_eq!(found(&doctor(root.path(), None).1, "Power mode"), "id 4");
}

#[test]
fn a_jetson_without_gaps_ends_with_0_and_one_with_a_gap_with_1() {
    let orin = boards::board("agx-orin-r36");
    assert_eq!(doctor(orin.path(), None).0.status.code(), Some(0));
    // No sensor: what a container without /sys sees.
    std::fs::remove_dir_all(orin.path().join("sys/class/hwmon")).unwrap();
    let (output, json) = doctor(orin.path(), None);
    assert_eq!(
        output.status.code(),
        Some(0),
        "a run takes its power from tegrastats"
    );
    assert_eq!(check(&json, "Power rails")["status"], "note");
    assert!(meaning(&json, "Power rails").contains("tegrastats reports power"));
    std::fs::remove_file(orin.path().join("usr/bin/tegrastats")).unwrap();
    let (output, json) = doctor(orin.path(), None);
    assert_eq!(output.status.code(), Some(1));
    let rails = check(&json, "Power rails");
    assert_eq!(rails["status"], "gap");
    assert!(rails["found"].is_null() && rails["fix"].as_str().unwrap().contains("mount /sys"));
}

#[test]
fn an_orins_guard_is_shown_with_its_limits_and_a_hot_surface_slows_nothing_down() {
    let root = boards::board("orin-nano-r36");
    let (_, json) = doctor(root.path(), None);
    let guard = "events since boot: under-voltage 0, average power 0, momentary power 37";
    assert_eq!(found(&json, "Over-current"), guard);
    assert_eq!(check(&json, "Over-current")["status"], "note");
    let limits = meaning(&json, "Over-current");
    // 163.8 mV at its shunt is what the sensor can measure at most: no limit for all of its rails together.
    assert!(limits.ends_with("limits: VDD_IN 4.98 A"), "{limits}");
    let rails = meaning(&json, "Power rails");
    assert!(rails.contains("through a filter of"), "{rails}");
    assert_eq!(check(&json, "Temperatures")["status"], "good");
    let alert = root.path().join("sys/class/thermal/cooling_device2/cur_state");
    std::fs::write(alert, "1").unwrap();
    let (_, json) = doctor(root.path(), None);
    assert_eq!(check(&json, "Temperatures")["status"], "note");
    assert!(meaning(&json, "Temperatures").contains("this does not throttle anything"));
    let agx = boards::board("agx-orin-r36");
    let (_, json) = doctor(agx.path(), None);
    let limits = meaning(&json, "Over-current");
    assert!(limits.contains("all rails of one sensor 32.76 A"), "{limits}");
}

#[test]
fn every_problem_has_its_fix() {
    for board in [
        "nano-r32",
        "xavier-nx-r35",
        "agx-orin-r36",
        "orin-nano-r36",
        "thor-r38",
        "t4000-r38",
        "orin-nx-super-r36",
        "orin-nx-r36",
        "agx-xavier-industrial-r35",
        "desktop",
    ] {
        let root = boards::board(board);
        let (_, json) = doctor(root.path(), None);
        for check in json["checks"].as_array().unwrap() {
            assert!(
                check["status"] != "gap" || check["fix"].is_string(),
                "{board}: {check}"
            );
        }
    }
}

#[test]
fn zero_watts_are_shown_and_a_rail_that_cannot_be_read_is_not_zero() {
    let nano = boards::board("nano-r32");
    let (_, json) = doctor(nano.path(), None);
    assert!(found(&json, "Power rails").contains("POM_5V_GPU 0.00 W"));
    let folder = nano
        .path()
        .join("sys/bus/i2c/drivers/ina3221x/6-0040/iio:device0");
    std::fs::write(folder.join("in_power1_input"), "gated").unwrap();
    let (_, json) = doctor(nano.path(), None);
    assert!(found(&json, "Power rails").contains("POM_5V_GPU (not readable now)"));
}

#[test]
fn a_desktop_is_told_what_its_card_answers() {
    let desktop = boards::board("desktop");
    let (output, json) = doctor(desktop.path(), None);
    assert_eq!(output.status.code(), Some(1), "a card, and no NVML");
    assert_eq!(check(&json, "NVML")["status"], "gap");
    assert!(found(&json, "RAPL").contains("package-0"));
    let Some(nvml) = nvml::library(&desktop.path().join("nvml"), "instant 30000\nenergy 5\nload 3\n") else {
        return;
    };
    let (output, json) = doctor(desktop.path(), Some(&nvml));
    assert_eq!(output.status.code(), Some(0), "{json}");
    assert!(meaning(&json, "NVML").contains("energy from its counter"));
    // A library without a device, and one that answers nothing.
    std::fs::write(desktop.path().join("nvml/state"), "count 0\n").unwrap();
    let (output, json) = doctor(desktop.path(), Some(&nvml));
    assert_eq!(output.status.code(), Some(1));
    assert!(meaning(&json, "NVML").contains("finds no GPU"));
    std::fs::write(desktop.path().join("nvml/state"), "count 1\n").unwrap();
    let orin = boards::board("agx-orin-r36");
    let (_, json) = doctor(orin.path(), Some(&nvml));
    assert!(meaning(&json, "NVML").contains("has no data here, as on Orin"));
    assert_ne!(check(&json, "NVML")["status"], "gap", "a fact, and no error");
}

#[test]
fn unknown_boards_and_releases_are_no_crash_and_say_what_is_not_known() {
    let root = boards::board("agx-orin-r36");
    let write = |path: &str, text: &str| std::fs::write(root.path().join(path), text).unwrap();
    write("etc/nv_tegra_release", "# R41 (release), REVISION: 0.1, GCID: 1");
    write(
        "proc/device-tree/compatible",
        "lanner,eai-i233\0nvidia,p9999-0001\0nvidia,tegra999\0",
    );
    write("sys/class/hwmon/hwmon3/in1_label", "VDD_MYSTERY");
    let (output, json) = doctor(root.path(), None);
    assert_eq!(output.status.code(), Some(1));
    assert!(meaning(&json, "JetPack").contains("unknown release"));
    assert!(meaning(&json, "Jetson").contains("module p9999-0001, unknown to this version"));
    assert_eq!(
        found(&json, "Power mode"),
        "id 2",
        "a number means nothing without its module"
    );
    assert!(meaning(&json, "Power rails").contains("is not known"));
}

/// What it says of CUPTI on this machine, beside the driver's double, where `JETLAG_CUPTI` names this.
#[cfg(feature = "trace")]
fn cupti_line(driver: i32, named: &Path) -> Option<Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jetlag"));
    command
        .args(["doctor", "--format", "json"])
        .env("JETLAG_CUPTI", named);
    // Nothing else that is installed here is part of the answer.
    command
        .env("JETLAG_TENSORRT", "/nowhere")
        .env("JETLAG_ONNXRUNTIME", "/nowhere");
    cuda::Control::default().driver(driver).apply(&mut command)?;
    let json: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    Some(check(&json, "CUPTI").clone())
}

#[cfg(feature = "trace")]
#[test]
fn cupti_is_told_with_its_release_and_whether_it_may_trace() {
    for (name, driver, release) in [
        ("12.4", 12080, "CUPTI of CUDA 12.4 (version 22)"),
        ("13.0", 13000, "CUPTI of CUDA 13.0.1"),
    ] {
        let Some(double) = cupti::release(name).and_then(|release| release.double()) else {
            return;
        };
        let Some(line) = cupti_line(driver, &double.folder) else {
            return;
        };
        assert_eq!(line["status"], "good", "{line}");
        assert_eq!(line["found"], release);
        assert!(
            line["meaning"].as_str().unwrap().ends_with(": may trace"),
            "{line}"
        );
    }
}

#[cfg(feature = "trace")]
#[test]
fn a_cupti_newer_than_the_driver_is_a_gap_and_none_is_a_note() {
    let Some(double) = cupti::release("13.0").and_then(|release| release.double()) else {
        return;
    };
    let Some(line) = cupti_line(12080, &double.library) else {
        return;
    };
    assert_eq!(line["status"], "gap");
    let meaning = line["meaning"].as_str().unwrap();
    assert!(
        meaning.contains("is of CUDA 13, and CUDA 12 is wanted, as the driver has it"),
        "{line}"
    );
    assert!(line["fix"].is_string());
    let line = cupti_line(12080, Path::new("/nowhere")).unwrap();
    assert_eq!(line["status"], "gap", "it was named, and is not there: {line}");
    let meaning = line["meaning"].as_str().unwrap();
    assert_eq!(meaning, "/nowhere (from JETLAG_CUPTI) holds no CUPTI");
}
