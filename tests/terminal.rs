//! The dashboard on a terminal of its own: a pseudo-terminal, had through util-linux's `script`.
use crate::common::boards;
use crate::common::under_way;

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use nvidia_doubles::machine;

/// Runs jetlag on a terminal of 80 × 24, presses `keys` once what was drawn is what is waited for, and answers all that was drawn with the
/// exit code. `None`, with the test skipped, where there is no `script`.
fn on_a_terminal(
    root: &Path,
    arguments: &str,
    is_awaited: impl Fn(&str) -> bool,
    keys: &str,
) -> Option<(String, i32)> {
    let jetlag = env!("CARGO_BIN_EXE_jetlag");
    let command = format!("stty rows 24 cols 80; exec '{jetlag}' {arguments}");
    let started = Command::new("script")
        .args([
            "--quiet",
            "--return",
            "--flush",
            "--command",
            &command,
            "/dev/null",
        ])
        .env("JETLAG_ROOT", root)
        .env("TERM", "xterm-256color")
        .current_dir(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = started else {
        machine::skip("no `script` of util-linux to have a terminal from");
        return None;
    };
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let (mut drawn, mut buffer) = (Vec::new(), [0; 4096]);
    let mut pressed = false;
    loop {
        let read = stdout.read(&mut buffer).unwrap_or(0);
        if read == 0 {
            break;
        }
        drawn.extend_from_slice(&buffer[..read]);
        if !pressed && is_awaited(&String::from_utf8_lossy(&drawn)) {
            pressed = true;
            stdin.write_all(keys.as_bytes()).unwrap();
        }
    }
    let code = child.wait().unwrap().code().unwrap_or(-1);
    Some((String::from_utf8_lossy(&drawn).into_owned(), code))
}

/// What gives the screen back: the other one, and the cursor.
const GIVEN_BACK: [&str; 2] = ["\u{1b}[?1049l", "\u{1b}[?25h"];

#[test]
fn a_run_shows_its_tenants_above_the_board_and_q_ends_it_with_its_results() {
    let root = boards::board("agx-orin-r36");
    let scenario = "Scenario(name: \"two\", duration: \"5min\", warmup: \"0s\", telemetry: (interval: \"100ms\"), tenants: [\
        Tenant(name: \"camera\", backend: Sim(Fixed(\"5ms\")), arrival: Periodic(hz: 50), deadline: \"20ms\"),\
        Tenant(name: \"lidar\", backend: Sim(Fixed(\"60ms\")), arrival: Periodic(hz: 50), deadline: \"20ms\",\
               overload: DropOldest(queue: 1))])";
    fs::write(root.path().join("s.ron"), scenario).unwrap();
    let arguments = "run s.ron --live --out r.mcap --format json > results.json";
    let words = [
        "tenant", "rate /s", "p50 ms", "p99 ms", "missed", "deadline", "camera", "lidar", "q quit", "POWER",
    ];
    let record = root.path().join("r.mcap");
    let has_dropped = || {
        let frames = under_way::frames(&record, 1);
        frames
            .iter()
            .any(|frame| frame.outcome == jetlag::record::Outcome::Dropped)
    };
    // All is drawn, and there is something to drop.
    let is_awaited = |drawn: &str| words.iter().all(|words| drawn.contains(words)) && has_dropped();
    let Some((drawn, code)) = on_a_terminal(root.path(), arguments, is_awaited, "q") else {
        return;
    };
    assert_eq!(code, 130, "{drawn}");
    for words in words {
        assert!(drawn.contains(words), "{words}: {drawn}");
    }
    let tenants = drawn.find("lidar").unwrap();
    assert!(tenants < drawn.find("POWER").unwrap(), "{drawn}");
    assert!(
        GIVEN_BACK.iter().all(|sequence| drawn.contains(sequence)),
        "{drawn}"
    );
    let results: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(root.path().join("results.json")).unwrap()).unwrap();
    assert!(results["tenants"][1]["frames"]["dropped"].as_u64().unwrap() > 0);
}

#[test]
fn a_log_is_replayed_until_q_is_pressed() {
    let root = tempfile::tempdir().unwrap();
    let log = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/boards/tegrastats.log");
    let is_awaited = |drawn: &str| drawn.contains("end of the recording") && drawn.contains("POWER");
    let arguments = format!("monitor --from-tegrastats '{log}' --speed 100");
    let Some((drawn, code)) = on_a_terminal(root.path(), &arguments, is_awaited, "q") else {
        return;
    };
    assert_eq!(code, 0, "{drawn}");
    assert!(
        drawn.contains("tegrastats.log (tegrastats log)") && drawn.contains("POWER"),
        "{drawn}"
    );
    assert!(
        GIVEN_BACK.iter().all(|sequence| drawn.contains(sequence)),
        "{drawn}"
    );
}

#[test]
fn a_replayed_run_shows_its_tenants() {
    let root = tempfile::tempdir().unwrap();
    let record = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/records/traced.mcap");
    let is_awaited = |drawn: &str| drawn.contains("end of the recording") && drawn.contains("camera");
    let arguments = format!("monitor --replay '{record}' --speed 100");
    let Some((drawn, code)) = on_a_terminal(root.path(), &arguments, is_awaited, "?23q") else {
        return;
    };
    assert_eq!(code, 0, "{drawn}");
    assert!(
        drawn.contains("p99 ms") && drawn.contains("1 tenants") && drawn.contains("deadline"),
        "{drawn}"
    );
    // Without a terminal they are in lines.
    let lines = Command::new(env!("CARGO_BIN_EXE_jetlag"))
        .args(["monitor", "--replay", record])
        .output()
        .unwrap();
    let lines = String::from_utf8(lines.stdout).unwrap();
    assert!(
        lines
            .lines()
            .any(|line| line.contains("camera") && line.contains(" /s p50 ")),
        "{lines}"
    );
}

/// Starts jetlag on a terminal, without the signal that tells of its end, takes the terminal away once what was drawn is what is
/// waited for, and answers when jetlag has ended. `None`, with the test skipped, where there is no `script`.
fn on_a_terminal_that_goes_away(
    root: &Path,
    arguments: &str,
    is_awaited: impl Fn(&str) -> bool,
) -> Option<()> {
    let jetlag = env!("CARGO_BIN_EXE_jetlag");
    let pid = root.join("pid");
    let command = format!(
        "stty rows 24 cols 80; trap '' HUP; echo $$ > '{}'; exec '{jetlag}' {arguments}",
        pid.display()
    );
    let started = Command::new("script")
        .args(["--quiet", "--flush", "--command", &command, "/dev/null"])
        .env("JETLAG_ROOT", root)
        .env("TERM", "xterm-256color")
        .env("SHELL", "/bin/sh")
        .current_dir(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut terminal) = started else {
        machine::skip("no `script` of util-linux to have a terminal from");
        return None;
    };
    let mut stdout = terminal.stdout.take().unwrap();
    let (mut drawn, mut buffer) = (Vec::new(), [0; 4096]);
    while !is_awaited(&String::from_utf8_lossy(&drawn)) {
        let read = stdout.read(&mut buffer).unwrap_or(0);
        assert!(read > 0, "it ended: {}", String::from_utf8_lossy(&drawn));
        drawn.extend_from_slice(&buffer[..read]);
    }
    terminal.kill().unwrap();
    terminal.wait().unwrap();
    let pid = fs::read_to_string(pid).unwrap();
    let stat = format!("/proc/{}/stat", pid.trim());
    under_way::wait_until("the program ends without its terminal", || {
        let state = fs::read_to_string(&stat).unwrap_or_default();
        let state = state.rsplit_once(')').map(|(_, rest)| rest.trim_start());
        state.is_none_or(|state| state.starts_with(['Z', 'X']))
    });
    Some(())
}

#[test]
fn a_dashboard_ends_with_its_terminal() {
    let root = boards::board("agx-orin-r36");
    let log = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/boards/tegrastats.log");
    let is_drawn = |drawn: &str| drawn.contains("VDD_GPU_SOC");
    let ended = |drawn: &str| drawn.contains("end of the recording");
    let replay = format!("monitor --from-tegrastats '{log}' --speed 100");
    if on_a_terminal_that_goes_away(root.path(), "monitor", is_drawn).is_some() {
        on_a_terminal_that_goes_away(root.path(), &replay, ended);
    }
}

#[test]
fn a_run_that_was_told_to_outlive_its_terminal_ends_with_its_results() {
    let root = boards::board("agx-orin-r36");
    let scenario = "Scenario(name: \"long\", duration: \"2s\", warmup: \"0s\", tenants: [\
        Tenant(name: \"camera\", backend: Sim(Fixed(\"5ms\")), arrival: Periodic(hz: 50))])";
    fs::write(root.path().join("s.ron"), scenario).unwrap();
    let arguments = "run s.ron --live --out r.mcap --format json > results.json";
    let is_drawn = |drawn: &str| drawn.contains("camera");
    if on_a_terminal_that_goes_away(root.path(), arguments, is_drawn).is_none() {
        return;
    }
    let results: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(root.path().join("results.json")).unwrap()).unwrap();
    let phases = results["phases"].as_array().unwrap();
    let measured = phases.iter().find(|phase| phase["kind"] == "together").unwrap();
    assert_eq!(measured["tenants"][0]["ended"], "duration", "{measured}");
}
