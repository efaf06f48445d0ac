//! Runs with `power_mode`: nvpmodel sets it before anything is made ready, and it is given back however a run ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use jetlag::record::{POWER_MODE_FACT, RunReader};
use jetlag::scenario::{PowerMode, ResolveEnv, from_str, ron};

use super::{GPU, STATE, clocks, command, files, nvpmodel, read};
use crate::common::boards;
use crate::common::output::stderr;
use crate::common::under_way;

/// The board is in mode 2, MODE_30W, and its table has MAXN, MODE_15W, MODE_30W and MODE_50W.
fn board() -> tempfile::TempDir {
    let root = boards::board("agx-orin-r36");
    let (status, asked) = (status(root.path()), root.path().join("asked"));
    nvpmodel(
        root.path(),
        &format!(
            "echo \"$2\" >> '{}'; printf 'pmode:%04d' \"$2\" > '{}'",
            asked.display(),
            status.display()
        ),
    );
    root
}

fn status(root: &Path) -> PathBuf {
    root.join("var/lib/nvpmodel/status")
}

/// The modes that nvpmodel was asked for, in order.
fn asked(root: &Path) -> Vec<String> {
    let text = fs::read_to_string(root.join("asked")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn scenario(fields: &str, duration: &str) -> String {
    format!(
        "Scenario(name: \"held\", duration: \"{duration}\", warmup: \"0s\", {fields} telemetry: (sources: [Host]), tenants: [Tenant(name: \
         \"n\", backend: Null, arrival: Periodic(hz: 20))])"
    )
}

/// The same, ended by its frames: a good run, however busy the machine is.
fn short(fields: &str) -> String {
    scenario(fields, "10min").replace("Periodic(hz: 20)", "Periodic(hz: 20), frames: 3")
}

fn start(root: &Path, scenario: &str) -> Child {
    fs::write(root.join("s.ron"), scenario).unwrap();
    command(root, &["run", "s.ron", "--quiet", "--out", "r.mcap", "--force"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn ended(root: &Path, fields: &str) -> Output {
    start(root, &short(fields)).wait_with_output().unwrap()
}

#[test]
fn a_run_has_its_power_mode_says_so_and_gives_it_back_however_it_ends() {
    let root = board();
    let before = files(root.path());
    let output = ended(root.path(), "power_mode: \"15W\",");
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", stderr(&output));
    assert!(
        stderr(&output)
            .contains("power mode MODE_15W (id 1) is set; MODE_30W (id 2) is set again when the run ends"),
        "{}",
        stderr(&output)
    );
    assert_eq!(asked(root.path()), ["1", "2"]);
    // But for how the status file is written.
    let mut after = files(root.path());
    let status_file = status(root.path()).display().to_string();
    assert_eq!(after.get(&status_file).unwrap(), "pmode:0002");
    after.insert(status_file.clone(), before[&status_file].clone());
    assert_eq!(after, before);
    assert!(!root.path().join(STATE).exists());
    let run = RunReader::open(&root.path().join("r.mcap")).unwrap();
    assert_eq!(run.manifest().machine[POWER_MODE_FACT], "MODE_15W (id 1)");
    assert_eq!(
        run.manifest().scenario().unwrap().power_mode,
        Some(PowerMode::Name("15W".to_owned()))
    );
    for signal in ["TERM", "INT", "KILL"] {
        let mut child = start(root.path(), &scenario("power_mode: 0,", "10min"));
        let is_set = || fs::read_to_string(status(root.path())).is_ok_and(|text| text == "pmode:0000");
        under_way::wait_until("the mode is set", is_set);
        under_way::wait_until("the run has begun", || root.path().join("r.mcap").exists());
        let pid = child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-s", signal, &pid])
                .status()
                .unwrap()
                .success()
        );
        child.wait().unwrap();
        if signal == "KILL" {
            assert!(is_set(), "nobody was there to give it back");
            assert!(clocks(root.path(), &["restore"]).status.success());
        }
        assert_eq!(
            fs::read_to_string(status(root.path())).unwrap(),
            "pmode:0002",
            "{signal}"
        );
        assert!(!root.path().join(STATE).exists(), "{signal}");
    }
}

/// As [`board`], but nvpmodel works until there is a file `go`, and writes the mode before or after that.
fn slow_board(sets_first: bool) -> tempfile::TempDir {
    let root = boards::board("agx-orin-r36");
    let folder = root.path().display();
    let wait = format!("while [ -d '{folder}' ] && [ ! -e '{folder}/go' ]; do sleep 0.02; done");
    let set = format!("printf 'pmode:%04d' \"$2\" > '{}'", status(root.path()).display());
    let (first, second) = match sets_first {
        true => (set, wait),
        false => (wait, set),
    };
    let script =
        format!("echo \"$2\" >> '{folder}/asked'; {first}; {second}; echo \"$2\" >> '{folder}/ended'");
    nvpmodel(root.path(), &script);
    root
}

/// The process of nvpmodel that the state file names.
fn setter(root: &Path) -> Option<u64> {
    let state = fs::read(root.join(STATE)).ok()?;
    let state: serde_json::Value = serde_json::from_slice(&state).ok()?;
    state["setter"][0].as_u64()
}

/// Whether a program ends soon, where it should not: as long as a mistake would need.
fn ends_soon(child: &mut Child) -> bool {
    (0..25).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        child.try_wait().unwrap().is_some()
    })
}

fn send(child: &Child, signal: &str) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-s", signal, &pid]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn a_signal_while_nvpmodel_works_waits_for_it_and_gives_the_mode_back() {
    for signal in ["TERM", "KILL"] {
        let root = slow_board(false);
        let mut run = start(root.path(), &scenario("power_mode: 1,", "10min"));
        under_way::wait_until("nvpmodel works", || asked(root.path()) == ["1"]);
        // Whoever finds the run killed knows of nvpmodel from there.
        under_way::wait_until("the state file names nvpmodel", || setter(root.path()).is_some());
        send(&run, signal);
        let mut restores = match signal {
            // The next command finds nvpmodel at its work.
            "KILL" => {
                run.wait().unwrap();
                command(root.path(), &["clocks", "restore"]).spawn().unwrap()
            }
            _ => run,
        };
        assert!(!ends_soon(&mut restores), "{signal}: nvpmodel still works");
        fs::write(root.path().join("go"), "").unwrap();
        let code = restores.wait().unwrap().code();
        assert_eq!(code, Some(if signal == "KILL" { 0 } else { 130 }), "{signal}");
        assert_eq!(asked(root.path()), ["1", "2"], "{signal}");
        let ended = fs::read_to_string(root.path().join("ended")).unwrap();
        assert_eq!(ended.lines().collect::<Vec<_>>(), ["1", "2"], "{signal}");
        assert_eq!(fs::read_to_string(status(root.path())).unwrap(), "pmode:0002");
        assert!(!root.path().join(STATE).exists(), "{signal}");
    }
}

#[test]
fn an_nvpmodel_that_hangs_does_not_make_a_run_deaf_and_what_is_left_is_given_back_later() {
    let root = slow_board(true);
    let mut run = start(root.path(), &scenario("power_mode: 1,", "10min"));
    let is_set = || fs::read_to_string(status(root.path())).is_ok_and(|text| text == "pmode:0001");
    under_way::wait_until("the mode is set", is_set);
    send(&run, "TERM");
    assert!(!ends_soon(&mut run), "nvpmodel still works");
    send(&run, "INT");
    assert_eq!(run.wait().unwrap().code(), Some(130));
    assert!(is_set() && root.path().join(STATE).exists());
    fs::write(root.path().join("go"), "").unwrap();
    assert!(clocks(root.path(), &["restore"]).status.success());
    assert_eq!(fs::read_to_string(status(root.path())).unwrap(), "pmode:0002");
    assert!(!root.path().join(STATE).exists());
}

#[test]
fn an_nvpmodel_that_fails_after_it_changed_the_mode_leaves_the_mode_of_before() {
    let root = board();
    let status = status(root.path());
    for end in ["exit 1", "kill -9 $$"] {
        let script = format!(
            "printf 'pmode:%04d' \"$2\" > '{}'; [ \"$2\" = 2 ] || {end}",
            status.display()
        );
        nvpmodel(root.path(), &script);
        let output = ended(root.path(), "power_mode: 1,");
        assert_eq!(output.status.code(), Some(1), "{end}: {}", stderr(&output));
        assert!(
            stderr(&output).contains("cannot set power mode 1"),
            "{}",
            stderr(&output)
        );
        assert_eq!(fs::read_to_string(&status).unwrap(), "pmode:0002", "{end}");
        assert!(!root.path().join(STATE).exists(), "{end}");
    }
}

#[test]
fn a_mode_goes_with_the_highest_clocks_and_one_in_force_changes_nothing() {
    let root = board();
    let output = ended(root.path(), "clocks: Max, power_mode: 3,");
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", stderr(&output));
    assert_eq!(asked(root.path()), ["3", "2"]);
    assert_eq!(read(root.path(), GPU), "306000000");
    let output = ended(root.path(), "power_mode: \"MODE_30W\",");
    assert!(!stderr(&output).contains("is set"), "{}", stderr(&output));
    assert_eq!(
        asked(root.path()),
        ["3", "2"],
        "the mode in force is not set again"
    );
    // What a person holds outlasts a run that wants the same, and is not overruled by one that wants another mode.
    assert!(clocks(root.path(), &["max"]).status.success());
    let output = ended(root.path(), "clocks: Max, power_mode: \"30W\",");
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", stderr(&output));
    assert_eq!(read(root.path(), GPU), "612000000");
    assert!(root.path().join(STATE).exists());
    let output = ended(root.path(), "power_mode: 0,");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("`jetlag clocks max` under power mode MODE_30W (id 2)"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_mode_that_cannot_be_had_starts_nothing_and_the_nearest_is_named() {
    let refused = |root: &Path, fields: &str, phrases: &[&str]| {
        let output = ended(root, fields);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        for phrase in phrases.iter().chain(&["nothing was started"]) {
            assert!(said.contains(phrase), "`{phrase}` is not in: {said}");
        }
        assert!(
            !root.join("r.mcap").exists() && !root.join(STATE).exists(),
            "{said}"
        );
    };
    let root = board();
    refused(
        root.path(),
        "power_mode: \"20W\",",
        &["has no power mode \"20W\"; the nearest is MODE_15W (id 1); it has MAXN (id 0), MODE_15W (id 1)"],
    );
    refused(
        root.path(),
        "power_mode: 7,",
        &["has no power mode 7; the nearest is MODE_50W (id 3)"],
    );
    let dry = command(root.path(), &["run", "s.ron", "--dry-run"])
        .output()
        .unwrap();
    assert_eq!(dry.status.code(), Some(2), "{}", stderr(&dry));
    assert!(stderr(&dry).contains("power_mode: this board has no power mode 7"));
    assert!(asked(root.path()).is_empty());
    // One that takes a reboot does nothing without a terminal.
    nvpmodel(root.path(), "exit 0");
    refused(
        root.path(),
        "power_mode: 0,",
        &["the mode is still 2; it may need a reboot: sudo nvpmodel -m 0"],
    );
    let nothing = tempfile::tempdir().unwrap();
    refused(
        nothing.path(),
        "power_mode: \"15W\",",
        &["this machine has no power modes", "leave `power_mode` out"],
    );
}

#[test]
fn a_sweep_varies_the_mode_and_each_run_gives_it_back() {
    let root = board();
    fs::write(root.path().join("s.ron"), short("")).unwrap();
    let sweep =
        "Sweep(base: \"s.ron\", axes: [Axis(set: \"power_mode\", values: [\"15W\", 0, \"MAXN\", \"20W\"])])";
    fs::write(root.path().join("sweep.ron"), sweep).unwrap();
    let output = command(
        root.path(),
        &["sweep", "sweep.ron", "-o", "points", "--format", "json"],
    )
    .output()
    .unwrap();
    assert_eq!(
        asked(root.path()),
        ["1", "2", "0", "2", "0", "2"],
        "{}",
        stderr(&output)
    );
    let table = fs::read_to_string(root.path().join("points/table.csv")).unwrap();
    assert_eq!(table.lines().count(), 5, "{table}");
    assert!(
        table.contains("has no power mode"),
        "the failed point has its cause: {table}"
    );
    assert!(table.lines().next().unwrap().contains("n.memory."), "{table}");
}

#[test]
fn a_mode_is_written_as_a_name_or_a_number_and_not_for_simulated_time() {
    let resolved = |text: &str, sets: &[String]| {
        from_str(text, "made", Path::new("."), sets, &ResolveEnv::default()).map_err(|p| p.to_string())
    };
    let plain = scenario("", "1s");
    for (typed, wanted) in [
        ("15W", PowerMode::Name("15W".to_owned())),
        ("\"MAXN\"", PowerMode::Name("MAXN".to_owned())),
        ("MAXN", PowerMode::Name("MAXN".to_owned())),
        ("2", PowerMode::Id(2)),
    ] {
        let found = resolved(&plain, &[format!("power_mode={typed}")]).unwrap();
        assert_eq!(found.power_mode.as_ref(), Some(&wanted), "{typed}");
        assert_eq!(
            resolved(&ron(&found, ""), &[]).unwrap().power_mode,
            Some(wanted),
            "{typed}"
        );
    }
    assert_eq!(resolved(&plain, &[]).unwrap().power_mode, None);
    let of_virtual = scenario("clock: Virtual, power_mode: 1,", "1s");
    let refused = resolved(&of_virtual, &[]).unwrap_err();
    assert!(refused.contains("nothing runs on this machine"), "{refused}");
    for wrong in ["power_mode: -1,", "power_mode: 1.5,", "power_mode: [1],"] {
        assert!(resolved(&scenario(wrong, "1s"), &[]).is_err(), "{wrong}");
    }
}
