//! `jetlag clocks` and `clocks: Max` on made-up boards and a stand-in for NVML: nothing here touches a real clock.
use crate::common::boards;
use crate::common::output::stderr;
use crate::common::under_way;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use nvidia_doubles::nvml;

fn command(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jetlag"));
    command.args(arguments).env("JETLAG_ROOT", root).current_dir(root);
    command
}

fn clocks(root: &Path, arguments: &[&str]) -> Output {
    let arguments: Vec<&str> = ["clocks"].iter().chain(arguments).copied().collect();
    command(root, &arguments).output().unwrap()
}

/// Every file below a folder with its content, but for what jetlag keeps.
fn files(root: &Path) -> std::collections::BTreeMap<String, String> {
    let mut found = std::collections::BTreeMap::new();
    let mut folders = vec![root.join("sys"), root.join("var")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = fs::read_to_string(&path).unwrap_or_default();
                found.insert(path.display().to_string(), text.trim().to_owned());
            }
        }
    }
    found
}

fn read(root: &Path, path: &str) -> String {
    fs::read_to_string(root.join(path)).unwrap().trim().to_owned()
}

const GPU: &str = "sys/class/devfreq/17000000.gpu/min_freq";
const STATE: &str = "run/jetlag/clocks.json";

#[test]
fn max_holds_every_clock_of_each_board_and_restore_puts_back_every_file() {
    for board in [
        "nano-r32",
        "xavier-nx-r35",
        "agx-orin-r36",
        "orin-nano-r36",
        "thor-r38",
    ] {
        let root = boards::board(board);
        let idle = "sys/devices/system/cpu/cpu0/cpuidle/state1/disable";
        fs::create_dir_all(root.path().join(idle).parent().unwrap()).unwrap();
        fs::write(root.path().join(idle), "0").unwrap();
        let before = files(root.path());
        let held = clocks(root.path(), &["max"]);
        assert!(held.status.success(), "{board}: {}", stderr(&held));
        assert_eq!(read(root.path(), idle), "1");
        let shown = clocks(root.path(), &["show", "--format", "json"]);
        let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
        let rows = shown["clocks"].as_array().unwrap();
        assert!(rows.len() >= 5, "{board}: {shown}");
        let emc_without_limits = |row: &serde_json::Value| row["of"] == "emc" && row["max_mhz"].is_null();
        for row in rows.iter().filter(|row| !emc_without_limits(row)) {
            assert_eq!(row["held"], true, "{board}: {row}");
        }
        assert_eq!(shown["held_by_jetlag"], true);
        let restored = clocks(root.path(), &["restore"]);
        assert!(restored.status.success(), "{board}: {}", stderr(&restored));
        assert_eq!(files(root.path()), before, "{board}");
        assert!(!root.path().join(STATE).exists());
        assert!(stderr(&clocks(root.path(), &["restore"])).contains("no clock is locked"));
    }
}

/// What root sees of a memory controller, generation by generation, and what holding it is to leave there.
#[test]
fn memory_controllers_are_held_as_jetson_clocks_holds_them() {
    const BPMP: &str = "sys/kernel/debug/bpmp/debug/clk/emc";
    const BWMGR: &str = "sys/kernel/debug/tegra_bwmgr";
    const OVERRIDE: &str = "sys/kernel/debug/clk/override.emc";
    let bpmp = |max: &str, now: &str| {
        let file = |name: &str, text: &str| (format!("{BPMP}/{name}"), text.to_owned());
        vec![
            file("min_rate", "204000000"),
            file("max_rate", max),
            file("rate", now),
            file("mrq_rate_locked", "0"),
        ]
    };
    let nano = vec![
        (format!("{BWMGR}/emc_min_rate"), "204000000".to_owned()),
        (format!("{BWMGR}/emc_max_rate"), "1600000000".to_owned()),
        (format!("{OVERRIDE}/clk_rate"), "408000000".to_owned()),
        (format!("{OVERRIDE}/clk_update_rate"), "408000000".to_owned()),
        (format!("{OVERRIDE}/clk_state"), "0".to_owned()),
    ];
    let cap = (
        "sys/kernel/nvpmodel_emc_cap/emc_iso_cap".to_owned(),
        "2133000000".to_owned(),
    );
    let no_cap = (cap.0.clone(), "0".to_owned());
    // R36 and later: what the clock may take, which is the highest rate where nothing caps it.
    let cap_r36 = (
        "sys/kernel/nvpmodel_clk_cap/emc".to_owned(),
        "2133000000".to_owned(),
    );
    let no_cap_r36 = (cap_r36.0.clone(), "3199000000".to_owned());
    let with = |mut files: Vec<(String, String)>, more: &(String, String)| {
        files.push(more.clone());
        files
    };
    let nano_held = [
        (format!("{OVERRIDE}/clk_state"), "1"),
        (format!("{OVERRIDE}/clk_update_rate"), "1600000000"),
    ];
    let held = |rate| {
        [
            (format!("{BPMP}/mrq_rate_locked"), "1"),
            (format!("{BPMP}/rate"), rate),
        ]
    };
    for (board, given, wanted, shown_max) in [
        ("nano-r32", nano, nano_held, 1600.0),
        (
            "xavier-nx-r35",
            with(bpmp("1866000000", "1600000000"), &no_cap),
            held("1866000000"),
            1866.0,
        ),
        // What is seen at its highest may fall before it is locked.
        (
            "agx-orin-r36",
            with(bpmp("3199000000", "3199000000"), &no_cap_r36),
            held("3199000000"),
            3199.0,
        ),
        // A power mode caps it.
        (
            "xavier-nx-r35",
            with(
                bpmp("1866000000", "665600000"),
                &(cap.0.clone(), "1600000000".to_owned()),
            ),
            held("1600000000"),
            1600.0,
        ),
        (
            "orin-nano-r36",
            with(bpmp("3199000000", "665600000"), &cap_r36),
            held("2133000000"),
            2133.0,
        ),
        (
            "thor-r38",
            with(
                bpmp("4266000000", "665600000"),
                &(cap_r36.0.clone(), "3199000000".to_owned()),
            ),
            held("3199000000"),
            3199.0,
        ),
        // Both are there after an update: what is asked for exceeds neither.
        (
            "orin-nano-r36",
            with(with(bpmp("3199000000", "665600000"), &cap), &no_cap_r36),
            held("2133000000"),
            2133.0,
        ),
    ] {
        let root = boards::board(board);
        for (path, text) in &given {
            fs::create_dir_all(root.path().join(path).parent().unwrap()).unwrap();
            fs::write(root.path().join(path), text).unwrap();
        }
        let before = files(root.path());
        let max = clocks(root.path(), &["max"]);
        assert!(max.status.success(), "{board}: {}", stderr(&max));
        for (path, value) in &wanted {
            assert_eq!(read(root.path(), path), *value, "{board}: {path}");
        }
        if board == "thor-r38" {
            let devfreq = "sys/class/devfreq/bwmgr/min_freq";
            assert_eq!(
                read(root.path(), devfreq),
                "3199000000",
                "its other way to the same clock"
            );
        }
        let shown = clocks(root.path(), &["show", "--format", "json"]);
        let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
        let row = shown["clocks"]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["of"] == "emc");
        let row = row.unwrap_or_else(|| panic!("{board}: {shown}"));
        assert_eq!(
            (&row["held"], row["max_mhz"].as_f64()),
            (&true.into(), Some(shown_max)),
            "{board}: {row}"
        );
        // In the state file, and so undone, in the order lock, rate: the rate goes back before the lock opens.
        let state: serde_json::Value = serde_json::from_str(&read(root.path(), STATE)).unwrap();
        let paths = state["changes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|change| change["path"].as_str().unwrap());
        let memory: Vec<&str> = paths.filter(|path| path.contains("emc")).collect();
        assert_eq!(
            memory,
            wanted.each_ref().map(|(path, _)| format!("/{path}")),
            "{board}"
        );
        let restored = clocks(root.path(), &["restore"]);
        assert!(restored.status.success(), "{board}: {}", stderr(&restored));
        assert_eq!(files(root.path()), before, "{board}");
    }
}

/// Locked at whatever rate it has now, a memory controller would be worse off than before.
#[test]
fn a_memory_controller_whose_highest_rate_is_not_known_is_left_alone() {
    let root = boards::board("agx-orin-r36");
    let lock = "sys/kernel/debug/bpmp/debug/clk/emc/mrq_rate_locked";
    fs::write(root.path().join(lock), "0").unwrap();
    assert!(clocks(root.path(), &["max"]).status.success());
    assert_eq!(read(root.path(), lock), "0");
}

#[test]
fn a_clock_that_cannot_be_set_is_an_error_and_what_was_set_is_put_back() {
    let root = boards::board("agx-orin-r36");
    let before = files(root.path());
    // A folder in the place of the last file of the plan that can be read: reading fails, or writing does.
    let path = root.path().join(GPU);
    let locked = root.path().join("sys/class/devfreq/bwmgr");
    fs::create_dir_all(&locked).unwrap();
    fs::write(locked.join("cur_freq"), "1").unwrap();
    fs::write(locked.join("max_freq"), "2").unwrap();
    std::os::unix::fs::symlink("/proc/self/cmdline", locked.join("min_freq")).unwrap();
    let failed = clocks(root.path(), &["max"]);
    assert_eq!(failed.status.code(), Some(1), "{}", stderr(&failed));
    assert!(stderr(&failed).contains("cannot set") && stderr(&failed).contains("bwmgr/min_freq"));
    assert_eq!(fs::read_to_string(path).unwrap().trim(), "306000000");
    fs::remove_dir_all(locked).unwrap();
    assert_eq!(files(root.path()), before);
}

#[test]
fn a_machine_without_clocks_says_so() {
    let root = tempfile::tempdir().unwrap();
    let output = clocks(root.path(), &["max"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("this machine's clocks cannot be set"));
    let shown = clocks(root.path(), &["show"]);
    assert!(String::from_utf8_lossy(&shown.stdout).contains("No clock can be read"));
}

#[test]
fn a_damaged_state_file_is_said_and_nothing_is_changed() {
    let root = boards::board("agx-orin-r36");
    fs::create_dir_all(root.path().join("run/jetlag")).unwrap();
    fs::write(root.path().join(STATE), "{ cut").unwrap();
    for verb in ["max", "restore"] {
        let output = clocks(root.path(), &[verb]);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("cannot parse"), "{}", stderr(&output));
    }
    assert_eq!(read(root.path(), GPU), "306000000");
}

/// A made-up nvpmodel: writes the mode to the status file, or refuses.
fn nvpmodel(root: &Path, script: &str) {
    let path = root.join("usr/bin/nvpmodel");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_power_mode_is_set_first_and_given_back_last() {
    let root = boards::board("agx-orin-r36");
    let status = root.path().join("var/lib/nvpmodel/status");
    nvpmodel(
        root.path(),
        &format!("printf 'pmode:%04d' \"$2\" > '{}'", status.display()),
    );
    assert!(clocks(root.path(), &["max", "--mode", "0"]).status.success());
    assert_eq!(fs::read_to_string(&status).unwrap(), "pmode:0000");
    assert!(clocks(root.path(), &["restore"]).status.success());
    assert_eq!(fs::read_to_string(&status).unwrap(), "pmode:0002");
    // One that takes a reboot does nothing without a terminal.
    nvpmodel(root.path(), "exit 0");
    let refused = clocks(root.path(), &["max", "--mode", "0"]);
    assert!(
        stderr(&refused).contains("it may need a reboot"),
        "{}",
        stderr(&refused)
    );
    assert_eq!(read(root.path(), GPU), "306000000", "nothing was changed");
    assert!(!root.path().join(STATE).exists());
}

#[test]
fn a_card_is_held_through_nvml_and_released() {
    let root = boards::board("desktop");
    let folder = root.path().join("nvml");
    let Some(nvml) = nvml::library(&folder, "clock_max 1980\npersistence 0\n") else {
        return;
    };
    let run = |verb: &str| {
        command(root.path(), &["clocks", verb])
            .env("JETLAG_NVML", &nvml)
            .output()
            .unwrap()
    };
    let before = files(root.path());
    assert!(run("max").status.success());
    assert!(run("restore").status.success());
    let set = fs::read_to_string(folder.join("state.set")).unwrap();
    assert_eq!(
        set,
        "persistence 0 1 0\nlock 0 1980 1980\nunlock 0 0 0\npersistence 0 0 0\n"
    );
    assert_eq!(files(root.path()), before);
    // Without rights: said, and the processors are as they were.
    fs::write(folder.join("state"), "clock_max 1980\nroot 0\n").unwrap();
    let refused = run("max");
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("needs root"), "{}", stderr(&refused));
    assert_eq!(files(root.path()), before);
    // A file left behind would say that a person holds them, and runs would believe it.
    assert!(!root.path().join(STATE).exists());
}

/// JetPack 5 without a screen: the GPU's clock is not there before the driver was woken.
#[test]
fn a_gpu_that_was_never_used_is_woken_for_its_clock_and_let_sleep_afterwards() {
    const CONTROL: &str = "sys/devices/gpu.0/power/control";
    const DEVFREQ: &str = "sys/class/devfreq/17000000.gv11b";
    let root = boards::board("xavier-nx-r35");
    let clock = root.path().join(DEVFREQ);
    let aside = root.path().join("clock");
    fs::rename(&clock, &aside).unwrap();
    let control = root.path().join(CONTROL);
    fs::create_dir_all(control.parent().unwrap()).unwrap();
    fs::write(&control, "auto").unwrap();
    let run = |verb: &str| clocks(root.path(), &[verb]);
    // The driver: once the GPU is on it has a clock, and goes on having it.
    let held = std::thread::scope(|scope| {
        scope.spawn(|| {
            under_way::wait_until("the GPU is switched on", || {
                fs::read_to_string(&control).is_ok_and(|text| text == "on")
            });
            fs::rename(&aside, &clock).unwrap();
        });
        run("max")
    });
    assert!(held.status.success(), "{}", stderr(&held));
    assert_eq!(read(root.path(), &format!("{DEVFREQ}/min_freq")), "1109250000");
    let restored = run("restore");
    assert!(restored.status.success(), "{}", stderr(&restored));
    assert_eq!(read(root.path(), &format!("{DEVFREQ}/min_freq")), "114750000");
    assert_eq!(read(root.path(), CONTROL), "auto");
}

#[test]
fn a_gpu_that_was_woken_is_let_sleep_also_where_the_program_was_killed_meanwhile() {
    const CONTROL: &str = "sys/devices/gpu.0/power/control";
    let root = boards::board("xavier-nx-r35");
    fs::remove_dir_all(root.path().join("sys/class/devfreq")).unwrap();
    let control = root.path().join(CONTROL);
    fs::create_dir_all(control.parent().unwrap()).unwrap();
    fs::write(&control, "auto").unwrap();
    let before = files(root.path());
    // Its clock never comes, and the program waits for it.
    let mut waiting = command(root.path(), &["clocks", "max"]).spawn().unwrap();
    under_way::wait_until("the GPU is switched on", || {
        fs::read_to_string(&control).is_ok_and(|text| text == "on")
    });
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    assert!(clocks(root.path(), &["restore"]).status.success());
    assert_eq!(files(root.path()), before);
}

/// Thor's GPU is a PCI device that sleeps by itself, and its NVML sets a part of what is asked.
#[test]
fn what_thors_nvml_refuses_is_said_and_everything_else_is_held_and_given_back() {
    const CONTROL: &str = "sys/bus/pci/devices/0000:01:00.0/power/control";
    const MIN: &str = "sys/class/devfreq/gpu-gpc-0/min_freq";
    for (answers, said, set) in [
        (
            "clock_max 1575\npersistence 0\nrefuses_lock 3\n",
            "the clock lock of GPU 0 by NVML: this card's clock cannot be locked",
            "persistence 0 1 0\npersistence 0 0 0\n",
        ),
        (
            "clock_max 1575\npersistence 0\nrefuses_persistence 999\n",
            "persistence mode of GPU 0 by NVML",
            "lock 0 1575 1575\nunlock 0 0 0\n",
        ),
        // No clocks at all, as its first releases.
        ("persistence 0\n", "", "persistence 0 1 0\npersistence 0 0 0\n"),
        ("root 0\nclock_max 1575\n", "the clock lock of GPU 0 by NVML", ""),
    ] {
        let root = boards::board("thor-r38");
        let folder = root.path().join("nvml");
        let Some(nvml) = nvml::library(&folder, answers) else {
            return;
        };
        let run = |verb: &str| {
            let mut command = command(root.path(), &["clocks", verb]);
            command.env("JETLAG_NVML", &nvml).output().unwrap()
        };
        let before = files(root.path());
        let held = run("max");
        assert!(held.status.success(), "{}", stderr(&held));
        assert!(stderr(&held).contains(said), "{}", stderr(&held));
        assert_eq!(
            stderr(&held).contains("could not be set"),
            !said.is_empty(),
            "{}",
            stderr(&held)
        );
        assert_eq!(read(root.path(), MIN), "1575000000");
        assert_eq!(read(root.path(), CONTROL), "on");
        let bridge = "sys/bus/pci/devices/0000:00:00.0/power/control";
        assert_eq!(read(root.path(), bridge), "auto", "no GPU");
        let restored = run("restore");
        assert!(restored.status.success(), "{}", stderr(&restored));
        assert_eq!(files(root.path()), before);
        assert_eq!(
            fs::read_to_string(folder.join("state.set")).unwrap_or_default(),
            set
        );
        assert!(!root.path().join(STATE).exists());
    }
}

/// A run that was killed before it knew what NVML refuses left word that all of it is to be undone.
#[test]
fn what_nvml_never_did_is_no_reason_to_leave_the_clocks_held() {
    let root = boards::board("thor-r38");
    let folder = root.path().join("nvml");
    let refuses = "refuses_unlock 3\nrefuses_persistence 3\n";
    let Some(nvml) = nvml::library(&folder, refuses) else {
        return;
    };
    fs::create_dir_all(root.path().join("run/jetlag")).unwrap();
    fs::write(
        root.path().join(STATE),
        r#"{ "schema": 1, "owner": null, "mode": null, "changes": [], "cards": [{ "index": 0, "mhz": 1575, "persistence": false }] }"#,
    )
    .unwrap();
    let mut command = command(root.path(), &["clocks", "restore"]);
    let restored = command.env("JETLAG_NVML", &nvml).output().unwrap();
    assert!(restored.status.success(), "{}", stderr(&restored));
    assert!(!root.path().join(STATE).exists());
}

const SCENARIO: &str = "Scenario(name: \"held\", duration: \"10min\", warmup: \"0s\", clocks: Max, telemetry: (sources: [Host]), \
    tenants: [Tenant(name: \"n\", backend: Null, arrival: Periodic(hz: 20))])";

fn start(root: &Path, scenario: &str) -> std::process::Child {
    fs::write(root.join("s.ron"), scenario).unwrap();
    command(root, &["run", "s.ron", "--quiet", "--out", "r.mcap", "--force"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Until the GPU's clock is this.
fn wait_for(root: &Path, hz: &str) {
    under_way::wait_until("the clock changes", || read(root, GPU) == hz);
}

#[test]
fn a_run_gives_its_clocks_back_when_it_ends_and_when_it_is_told_to() {
    let root = boards::board("agx-orin-r36");
    let before = files(root.path());
    let short = SCENARIO.replace("10min", "1s");
    let ended = start(root.path(), &short).wait_with_output().unwrap();
    assert!(matches!(ended.status.code(), Some(0 | 3)), "{}", stderr(&ended));
    assert_eq!(files(root.path()), before);
    for signal in ["TERM", "INT"] {
        let mut child = start(root.path(), SCENARIO);
        wait_for(root.path(), "612000000");
        let pid = child.id().to_string();
        let held = clocks(root.path(), &["max"]);
        assert!(
            stderr(&held).contains(&format!("locked by process {pid}")),
            "{}",
            stderr(&held)
        );
        assert!(
            Command::new("kill")
                .args(["-s", signal, &pid])
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal}");
        assert_eq!(files(root.path()), before, "{signal}");
    }
}

#[test]
fn what_a_killed_run_left_is_put_back_by_restore_and_by_the_next_run() {
    let root = boards::board("agx-orin-r36");
    let before = files(root.path());
    let kill = || {
        let mut child = start(root.path(), SCENARIO);
        wait_for(root.path(), "612000000");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(
            read(root.path(), GPU),
            "612000000",
            "nobody was there to give it back"
        );
    };
    kill();
    assert!(clocks(root.path(), &["restore"]).status.success());
    assert_eq!(files(root.path()), before);
    kill();
    let as_is = SCENARIO.replace("clocks: Max, ", "").replace("10min", "1s");
    let next = start(root.path(), &as_is).wait_with_output().unwrap();
    assert!(stderr(&next).contains("restored"), "{}", stderr(&next));
    assert_eq!(files(root.path()), before);
}

/// Panics where a line of the program's own log has certain words: a real panic, in the middle of a real run.
struct PanicAt(String);

impl log::Log for PanicAt {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }
    fn log(&self, record: &log::Record<'_>) {
        let line = record.args().to_string();
        if line.contains(&self.0) {
            // Seen by the other test: the clocks were held at this moment.
            let held = fs::read_to_string(GPU).unwrap_or_default();
            fs::write("held", held.trim()).unwrap();
            panic!("made to panic at: {line}");
        }
    }
    fn flush(&self) {}
}

const PANIC_AT: &str = "JETLAG_TEST_PANIC_AT";

/// Not a test by itself: the program that the next test starts, in a board's folder.
#[test]
#[ignore = "started by a_panic_gives_the_clocks_back"]
fn a_run_that_panics() {
    use clap::Parser;
    let Ok(words) = std::env::var(PANIC_AT) else {
        return;
    };
    log::set_boxed_logger(Box::new(PanicAt(words))).unwrap();
    log::set_max_level(log::LevelFilter::Info);
    let arguments = ["jetlag", "run", "s.ron", "--quiet", "--out", "r.mcap", "--force"];
    match jetlag::cli::Cli::try_parse_from(arguments).unwrap().command {
        jetlag::cli::Command::Run(args) => {
            let origin = jetlag::commands::run::Origin::File(args.scenario, None);
            jetlag::commands::run::run(origin, args.options).unwrap();
        }
        _ => unreachable!(),
    }
}

#[test]
fn a_panic_gives_the_clocks_back() {
    // On the thread that holds them, and on one of a tenant, whose frames fail (33 bytes are no points).
    let tenant = "Tenant(name: \"n\", detector: \"builtin:lidar\", backend: Cpu(threads: 1), source: Points(\"points\"), \
                  arrival: Periodic(hz: 20))])";
    let broken = SCENARIO.split("Tenant(").next().unwrap().replace("10min", "1s") + tenant;
    for (words, scenario, code) in [
        ("clock settings changed", SCENARIO, 101),
        ("33 bytes is not", broken.as_str(), 0),
    ] {
        let root = boards::board("agx-orin-r36");
        let before = files(root.path());
        fs::write(root.path().join("s.ron"), scenario).unwrap();
        fs::create_dir(root.path().join("points")).unwrap();
        fs::write(root.path().join("points/odd.bin"), [0u8; 33]).unwrap();
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "clocks::a_run_that_panics", "--ignored", "--nocapture"])
            .env(PANIC_AT, words)
            .env("JETLAG_ROOT", root.path())
            .current_dir(root.path())
            .output()
            .unwrap();
        assert!(
            stderr(&output).contains("made to panic at"),
            "{words}: {}",
            stderr(&output)
        );
        assert_eq!(output.status.code(), Some(code), "{words}: {}", stderr(&output));
        assert_eq!(
            read(root.path(), "held"),
            "612000000",
            "they were held when it panicked"
        );
        assert_eq!(files(root.path()), before, "{words}");
        assert!(!root.path().join(STATE).exists(), "{words}");
    }
}

#[test]
fn a_run_that_cannot_hold_the_clocks_does_not_start() {
    let root = tempfile::tempdir().unwrap();
    let refused = start(root.path(), SCENARIO).wait_with_output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        stderr(&refused).contains("nothing was started"),
        "{}",
        stderr(&refused)
    );
    assert!(!root.path().join("r.mcap").exists());
}
