//! `jetlag monitor`, and what is sampled beside a run, on made-up boards and recorded lines.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

#[path = "common/boards.rs"]
mod boards;
mod common;
#[path = "monitor/logs.rs"]
mod logs;

fn jetlag(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jetlag"));
    command.args(arguments).env("JETLAG_ROOT", root).current_dir(root);
    command
}

fn run(root: &Path, arguments: &[&str]) -> Output {
    jetlag(root, arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn objects(output: &Output) -> Vec<Value> {
    stdout(output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

const LINE: &str = "RAM 6185/7620MB (lfb 8x2MB) CPU [15%@729,off] EMC_FREQ 43%@2133 GR3D_FREQ 63%@[621] \
    cpu@53.968C gpu@-256C VDD_IN 12479mW/12479mW VDD_CPU_GPU_CV 0mW/0mW VDD_SOC 2817mW/2817mW";

#[test]
fn what_is_recorded_can_be_reported_and_replayed() {
    let root = boards::board("orin-nano-r36");
    let recorded = run(
        root.path(),
        &[
            "monitor",
            "--duration",
            "1500ms",
            "--interval",
            "50ms",
            "--record",
            "board.mcap",
        ],
    );
    assert!(recorded.status.success(), "{}", stderr(&recorded));
    assert!(
        stdout(&recorded).contains("VDD_IN 12.48 W"),
        "{}",
        stdout(&recorded)
    );
    let report = run(root.path(), &["report", "board.mcap", "--format", "json"]);
    let summary: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!(summary["power"][0]["rail"], "VDD_IN");
    let mean = summary["power"][0]["mean_mw"].as_f64().unwrap();
    assert!((mean - 12_476.48).abs() < 0.01, "{mean}");
    assert_eq!(summary["energy"]["of"], "module");
    assert!(
        summary["energy"]["above_idle_mj"].is_null(),
        "idle was not measured"
    );
    let sampling = &summary["run"]["sampling"];
    let all = sampling["percent_of_core"].as_f64().unwrap();
    let samplers = sampling["samplers"].as_array().unwrap();
    assert!(all > 0.0 && all < 100.0, "{sampling}");
    let rails = samplers
        .iter()
        .find(|sampler| sampler["name"] == "rails")
        .unwrap();
    assert!(rails["percent_of_core"].as_f64().unwrap() < all, "{sampling}");
    let text = stdout(&run(root.path(), &["report", "board.mcap"]));
    assert!(text.contains("% of one core"), "{text}");
    let replayed = run(
        root.path(),
        &["monitor", "--replay", "board.mcap", "--format", "json"],
    );
    let objects = objects(&replayed);
    let watts = |o: &Value| o["signals"]["ina3221/VDD_IN"]["value"].as_f64();
    assert!(
        objects.iter().filter_map(watts).count() >= 10,
        "{}",
        stdout(&replayed)
    );
    // Not over a file that is no run.
    fs::write(root.path().join("notes.txt"), "mine").unwrap();
    let refused = run(
        root.path(),
        &["monitor", "--duration", "1s", "--record", "notes.txt"],
    );
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn a_counter_of_the_processor_that_was_reset_is_said_and_gives_no_megawatts() {
    let root = tempfile::tempdir().unwrap();
    let zone = root.path().join("sys/class/powercap/intel-rapl:0");
    fs::create_dir_all(&zone).unwrap();
    fs::write(zone.join("name"), "package-0").unwrap();
    fs::write(zone.join("max_energy_range_uj"), "262143328850").unwrap();
    let count = |uj: u64| {
        // In one go: half a number is a number too.
        fs::write(zone.join("next"), uj.to_string()).unwrap();
        fs::rename(zone.join("next"), zone.join("energy_uj")).unwrap();
    };
    count(4_000_000);
    let child = jetlag(
        root.path(),
        &[
            "monitor",
            "--duration",
            "3s",
            "--interval",
            "100ms",
            "--record",
            "r.mcap",
        ],
    )
    .stdout(Stdio::null())
    .spawn()
    .unwrap();
    let begun = Instant::now();
    for n in 1..=28_u64 {
        std::thread::sleep(Duration::from_millis(n * 100).saturating_sub(begun.elapsed()));
        // A watt, and anew after one and a half seconds.
        count(if n < 15 { 4_000_000 } else { 1_000_000 } + n * 100_000);
    }
    assert!(child.wait_with_output().unwrap().status.success());
    let report = run(root.path(), &["report", "r.mcap", "--format", "json"]);
    let summary: Value = serde_json::from_slice(&report.stdout).unwrap();
    let rail = &summary["power"][0];
    assert_eq!(rail["rail"], "package-0");
    assert_eq!(rail["energy_from"], "power", "{rail}");
    assert!(rail["peak_mw"].as_f64().unwrap() < 50_000.0, "{rail}");
    assert!(rail["energy_mj"].as_f64().unwrap() < 20_000.0, "{rail}");
    let findings = summary["run"]["findings"].as_array().unwrap();
    assert!(
        findings.iter().any(|f| f["code"] == "counter-reset"),
        "{findings:?}"
    );
}

#[test]
fn cards_are_sampled_through_nvml_with_what_they_answer() {
    let root = boards::board("desktop");
    let folder = root.path().join("nvml");
    let state = "count 2\ninstant 250000\n1/instant 80000\naverage 240000\nenergy 1000000\nload 97\nclock 1980\n\
        throttle 4\ntemperature 66\n";
    let Some(nvml) = boards::fake_nvml(&folder, state) else {
        return;
    };
    let monitor = |duration: &str| {
        jetlag(
            root.path(),
            &[
                "monitor",
                "--duration",
                duration,
                "--interval",
                "50ms",
                "--format",
                "json",
            ],
        )
        .env("JETLAG_NVML", &nvml)
        .output()
        .unwrap()
    };
    let output = monitor("1200ms");
    let first = &objects(&output)[0]["signals"];
    assert_eq!(first["nvml/gpu0_power_instant"]["value"], 250_000.0);
    assert_eq!(first["nvml/gpu1_power_instant"]["value"], 80_000.0, "two cards");
    assert_eq!(first["nvml/gpu0_throttle_reasons"]["value"], 4.0);
    assert!(
        first["nvml/gpu0_memory_used"].is_null(),
        "not supported: not there"
    );
    // A card that is lost while it is watched: a finding, and the rest goes on.
    let begun = Instant::now();
    let child = jetlag(
        root.path(),
        &[
            "monitor",
            "--duration",
            "3s",
            "--interval",
            "50ms",
            "--format",
            "json",
        ],
    )
    .env("JETLAG_NVML", &nvml)
    .stdout(Stdio::piped())
    .spawn()
    .unwrap();
    std::thread::sleep(Duration::from_millis(800).saturating_sub(begun.elapsed()));
    fs::write(folder.join("state"), format!("{state}lost 1\n")).unwrap();
    let output = child.wait_with_output().unwrap();
    let lines = stdout(&output);
    assert!(
        lines.contains("sampler-ended") && lines.contains("NVML does not answer"),
        "{lines}"
    );
    assert!(output.status.success());
    // One of two: the other goes on, and nothing of the lost one is 0.
    fs::write(folder.join("state"), format!("{state}1/lost 1\n")).unwrap();
    // It counts two devices and answers of one only.
    let seen = objects(&monitor("500ms"));
    let first = &seen.iter().find(|o| o["signals"].is_object()).unwrap()["signals"];
    assert_eq!(first["nvml/gpu0_power_instant"]["value"], 250_000.0);
    assert!(first["nvml/gpu1_power_instant"].is_null());
    let finding = seen
        .iter()
        .find(|o| o["finding"]["code"] == "sampler-ended")
        .unwrap();
    let message = finding["finding"]["message"].as_str().unwrap();
    assert!(
        message.contains("GPU 1"),
        "half of the power is missing from its sum: {finding}"
    );
    let doctor = jetlag(root.path(), &["doctor", "--format", "json"])
        .env("JETLAG_NVML", &nvml)
        .output()
        .unwrap();
    let checks: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let mut checks = checks["checks"].as_array().unwrap().iter();
    let check = checks.find(|check| check["subject"] == "NVML").unwrap();
    assert_eq!(check["status"], "gap", "{check}");
    assert!(check["meaning"].as_str().unwrap().contains("GPU 1"), "{check}");
    fs::write(folder.join("state"), state).unwrap();
    let arguments = [
        "monitor",
        "--duration",
        "4s",
        "--interval",
        "50ms",
        "--format",
        "json",
    ];
    let child = jetlag(root.path(), &arguments)
        .env("JETLAG_NVML", &nvml)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    fs::write(folder.join("state"), format!("{state}1/lost 1\n")).unwrap();
    let output = child.wait_with_output().unwrap();
    let seen = objects(&output);
    let finding = seen
        .iter()
        .find(|o| o["finding"]["code"] == "sampler-ended")
        .unwrap();
    assert!(
        finding["finding"]["message"].as_str().unwrap().contains("GPU 1"),
        "{finding}"
    );
    let last = &seen.iter().rfind(|o| o["signals"].is_object()).unwrap()["signals"];
    assert_eq!(last["nvml/gpu0_power_instant"]["value"], 250_000.0);
    assert!(last["nvml/gpu1_power_instant"]["value"].is_null(), "{last}");
    // A library that refuses to start, and one without a device.
    for state in ["init 9\n", "count 0\n"] {
        fs::write(folder.join("state"), state).unwrap();
        let output = monitor("300ms");
        assert!(
            output.status.success()
                && stdout(&output).contains("host/")
                && !stdout(&output).contains("nvml/"),
            "{state}: {}",
            stdout(&output)
        );
    }
}

/// How often each signal has a value in a run file.
fn readings(root: &Path, file: &str) -> std::collections::BTreeMap<String, usize> {
    let output = run(root, &["monitor", "--replay", file, "--format", "json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let mut counts = std::collections::BTreeMap::new();
    for object in objects(&output) {
        let signals = object["signals"].as_object().into_iter().flatten();
        for (name, _) in signals.filter(|(_, signal)| !signal["value"].is_null()) {
            *counts.entry(name.clone()).or_default() += 1;
        }
    }
    counts
}

#[test]
fn one_measure_of_power_is_asked_at_each_reading_and_loads_once() {
    let root = boards::board("desktop");
    let folder = root.path().join("nvml");
    let all = "instant 250000\naverage 240000\npower 240000\nenergy 1000000\nload 97\nlimit 700000\n";
    let older = "average 240000\npower 240000\nenergy 1000000\nload 97\n";
    for (state, rail, others) in [
        (all, "power_instant", ["power_average", "power"].as_slice()),
        (older, "power_average", &["power"]),
    ] {
        let Some(nvml) = boards::fake_nvml(&folder, state) else {
            return;
        };
        let file = format!("{rail}.mcap");
        let _ = fs::remove_file(folder.join("state.loads"));
        let arguments = [
            "monitor",
            "--duration",
            "1s",
            "--interval",
            "20ms",
            "--record",
            &file,
            "--format",
            "json",
        ];
        let output = jetlag(root.path(), &arguments)
            .env("JETLAG_NVML", &nvml)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let seen = readings(root.path(), &file);
        let of = |signal: &str| seen.get(&format!("nvml/gpu0_{signal}")).copied().unwrap_or(0);
        assert!(of(rail) > 5, "{seen:?}");
        // Within a second what is not asked at each reading is asked at the first; on a busy machine once more.
        for seldom in others.iter().chain(&["energy"]) {
            assert!((1..=2).contains(&of(seldom)), "{seldom}: {seen:?}");
        }
        assert_eq!((of("load"), of("memory_load")), (of(rail), of(rail)), "{seen:?}");
        let asked = fs::read_to_string(folder.join("state.loads"))
            .unwrap()
            .lines()
            .count();
        assert!(
            asked <= of(rail) + 2,
            "{asked} for {} readings and a look beforehand",
            of(rail)
        );
    }
}

/// A stand-in for tegrastats that writes its process number to a file and then a line every 50 ms.
fn tegrastats(root: &Path) -> std::path::PathBuf {
    let path = root.join("usr/bin/tegrastats");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let pid = root.join("tegrastats.pid");
    let script = format!(
        "#!/bin/sh\necho $$ > '{0}.part' && mv '{0}.part' '{0}'\nwhile :; do echo '{LINE}'; sleep 0.05; done\n",
        pid.display()
    );
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    pid
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether a process is there, and not only waiting to be buried.
fn runs(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(')')
        .is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

#[test]
fn tegrastats_is_read_where_no_rail_is_and_does_not_outlive_a_killed_jetlag() {
    let root = tempfile::tempdir().unwrap();
    let pid_file = tegrastats(root.path());
    let mut child = jetlag(
        root.path(),
        &["monitor", "--interval", "50ms", "--format", "json"],
    )
    .stdout(Stdio::piped())
    .spawn()
    .unwrap();
    wait_until("tegrastats starts", || pid_file.exists());
    let pid = fs::read_to_string(&pid_file).unwrap();
    assert!(runs(&pid));
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("tegrastats ends with us", || !runs(&pid));
    fs::remove_file(&pid_file).unwrap();
    // And in the ordinary way.
    let output = run(
        root.path(),
        &[
            "monitor",
            "--interval",
            "50ms",
            "--duration",
            "2s",
            "--format",
            "json",
        ],
    );
    let value = |o: &Value| o["signals"]["tegrastats/VDD_IN"]["value"].as_f64();
    assert!(
        objects(&output).iter().filter_map(value).any(|mw| mw == 12_479.0),
        "{}",
        stdout(&output)
    );
    let pid = fs::read_to_string(&pid_file).unwrap();
    wait_until("tegrastats ends", || !runs(&pid));
}

#[test]
fn a_run_beside_a_boards_sensors_has_energy_per_frame() {
    let root = boards::board("orin-nano-r36");
    fs::write(
        root.path().join("s.ron"),
        "Scenario(name: \"powered\", duration: \"3s\", warmup: \"0s\", baseline: (idle: \"1s\"), telemetry: (interval: \"50ms\"), \
         tenants: [Tenant(name: \"a\", backend: Sim(Fixed(\"5ms\")), arrival: Periodic(hz: 50))])",
    )
    .unwrap();
    let output = run(root.path(), &["run", "s.ron", "--quiet", "--format", "json"]);
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let energy = &summary["tenants"][0]["energy_mj_per_frame"];
    // 12 476.48 mW over 50 frames a second, and nothing above idle, since the made-up sensors stand still.
    let total = energy["total"].as_f64().unwrap();
    assert!((total - 249.5).abs() < 6.0, "{energy}");
    assert!(energy["above_idle"].as_f64().unwrap().abs() < 1e-3, "{energy}");
    assert_eq!(energy["attributed"], false, "one tenant");
    assert_eq!(summary["power"].as_array().unwrap().len(), 3);
}

#[test]
fn sensors_that_vanish_or_turn_to_nonsense_in_the_middle_are_said_and_never_zero() {
    let root = boards::board("orin-nano-r36");
    fs::write(
        root.path().join("s.ron"),
        "Scenario(name: \"lost\", duration: \"3s\", warmup: \"0s\", telemetry: (interval: \"50ms\"), \
         tenants: [Tenant(name: \"a\", backend: Null, arrival: Periodic(hz: 50))])",
    )
    .unwrap();
    let child = jetlag(root.path(), &["run", "s.ron", "--quiet", "--format", "json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(2500));
    let hwmon = root.path().join("sys/class/hwmon/hwmon1");
    fs::write(hwmon.join("in2_input"), "garbage").unwrap();
    fs::write(hwmon.join("curr3_input"), "999999999").unwrap();
    fs::remove_file(hwmon.join("in1_input")).unwrap();
    let summary: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    for rail in summary["power"].as_array().unwrap() {
        let mean = rail["mean_mw"].as_f64().unwrap();
        assert!(
            mean > 2_000.0 && rail["peak_mw"].as_f64().unwrap() < 20_000.0,
            "{rail}"
        );
        assert!(
            rail["sampled"].as_f64().unwrap() < 0.95 && rail["unread"].as_u64().unwrap() > 0,
            "{rail}"
        );
    }
    let findings = summary["run"]["findings"].as_array().unwrap();
    assert!(
        findings.iter().any(|f| f["code"] == "sampler-gaps"),
        "{findings:?}"
    );
}
