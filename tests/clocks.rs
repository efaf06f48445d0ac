//! `jetlag clocks` and `clocks: Max` on made-up boards and a stand-in for NVML: nothing here touches a real clock.

mod gpu;
mod modes;
mod runs;

use crate::common::boards;
use crate::common::output::stderr;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

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
    nvidia_doubles::script(&path, script);
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
