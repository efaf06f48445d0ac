//! Files of strangers: names that a terminal would obey are shown, what is no regular file is not waited for, and a limit on
//! files is an error like any other.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use jetlag::record::Event;
use jetlag::record::writer::RunWriter;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;

use super::under_way::PATIENCE;
use super::{DEMO, jetlag, run, stderr, stdout};

use crate::common::planned::Planned as _;
use crate::run_file::made;

/// Sets the title, clears the screen by a C1 control, rings, turns the order of letters round, and closes a tag.
const NAME: &str = "cam\u{1b}]0;owned\u{7}\u{9b}2J\u{7f}\u{202e}<script>alert(1)</script>\"'";

/// Whether a terminal would obey any of it.
fn is_plain(output: &Output) -> bool {
    let obeyed = |text: &str| text.contains(jetlag::shown::is_obeyed);
    !obeyed(&stdout(output)) && !obeyed(&stderr(output))
}

fn hostile_run(path: &Path) {
    let mut manifest = made::manifest();
    manifest.plan().name = NAME.to_owned();
    manifest.plan().tenants[0].name = NAME.to_owned();
    manifest.tenants[0].name = NAME.to_owned();
    manifest.tenants[0].backend = NAME.to_owned();
    manifest.tenants[0].source = NAME.to_owned();
    manifest.tenants[0].networks[0].name = NAME.to_owned();
    manifest.machine.insert(NAME.to_owned(), NAME.to_owned());
    manifest.command_line.push(NAME.to_owned());
    let mut writer = RunWriter::create(path, &manifest).unwrap();
    for n in 0..40 {
        for tenant in [0, 1] {
            writer.write(&Event::Frame(made::frame(tenant, n))).unwrap();
        }
    }
    writer.finish().unwrap();
}

#[test]
fn names_of_a_run_file_are_shown_and_not_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    hostile_run(&folder.path().join("r.mcap"));
    for arguments in [
        &["report", "r.mcap"][..],
        &["inspect", "r.mcap"],
        &["compare", "r.mcap", "r.mcap"],
        &["export", "r.mcap", "--format", "markdown"],
    ] {
        let output = run(arguments, folder.path());
        assert!(is_plain(&output), "{arguments:?}: {:?}", stdout(&output));
        // Markdown escapes the bracket, too.
        let shown = stdout(&output).replace("\\]", "]");
        assert!(
            shown.contains("cam\\u001b]0;owned\\u0007\\u009b2J\\u007f\\u202e"),
            "{arguments:?}: {shown}{}",
            stderr(&output)
        );
    }
    // A document says what the file says.
    let json = run(&["report", "r.mcap", "--format", "json"], folder.path());
    assert!(is_plain(&json), "{:?}", stdout(&json));
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["tenants"][0]["name"], NAME);

    let page = run(&["report", "r.mcap", "--html", "r.html"], folder.path());
    assert!(is_plain(&page), "{:?}", stderr(&page));
    let page = fs::read_to_string(folder.path().join("r.html")).unwrap();
    assert!(page.contains("owned"), "the name is on the page");
    assert!(!page.contains("<script>alert"), "and is no markup there");
    // Nothing on a page acts on letters, or asks anybody for anything.
    assert!(!page.contains(jetlag::shown::is_obeyed), "{page}");
    assert!(page.contains("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"));

    let out = ["report", "r.mcap", "--junit", "r.xml"];
    run(&out, folder.path());
    let results = fs::read_to_string(folder.path().join("r.xml")).unwrap();
    assert!(
        results.contains("owned") && !results.contains(jetlag::shown::is_obeyed),
        "{results}"
    );
    let output = run(
        &["export", "r.mcap", "--format", "csv", "-o", "tables"],
        folder.path(),
    );
    assert!(is_plain(&output), "{:?}", stderr(&output));
    for table in fs::read_dir(folder.path().join("tables")).unwrap() {
        let table = fs::read_to_string(table.unwrap().path())
            .unwrap()
            .replace('\r', "");
        assert!(!table.contains(jetlag::shown::is_obeyed), "{table}");
    }
}

#[test]
fn names_of_files_and_what_stands_in_them_are_shown_and_not_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    let name = "run\u{1b}[2J\u{202e}.ron";
    fs::write(
        folder.path().join(name),
        format!("(tenants: [(name: \"{NAME}\")])").replace("\"'\"", "\""),
    )
    .unwrap();
    for arguments in [
        &["run", name][..],
        &["report", name],
        &["inspect", name],
        &["run", "no\u{9b}2J.ron"],
        &["run", "--no\u{9b}2J-such"],
        &["report", "r.mcap", "--format", "\u{9b}2J"],
    ] {
        let output = run(arguments, folder.path());
        assert_ne!(output.status.code(), Some(0));
        assert!(is_plain(&output), "{arguments:?}: {:?}", stderr(&output));
        assert!(
            stderr(&output).contains("\\u00"),
            "{arguments:?}: {}",
            stderr(&output)
        );
    }
    // The warning of a log is one of those ways.
    fs::write(folder.path().join("a.plan"), "no plan").unwrap();
    let manifest = serde_json::json!({ "schema": NAME }).to_string();
    fs::write(folder.path().join("a.plan.json"), manifest).unwrap();
    let output = run(&["inspect", "a.plan", "-v"], folder.path());
    assert!(is_plain(&output), "{:?}", stdout(&output));
    assert!(stdout(&output).contains("owned"), "{}", stdout(&output));
}

/// Runs to its end, or fails where there is none.
fn ended(mut command: Command) -> Output {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = std::time::Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > PATIENCE {
            let _ = child.kill();
            panic!("{command:?} waits without end");
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child.wait_with_output().unwrap()
}

fn fifo(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

#[test]
fn a_pipe_in_a_file_s_place_is_refused_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    fifo(&folder.path().join("pipe"));
    fifo(&folder.path().join("pipe.ron"));
    fifo(&folder.path().join("a.plan.json"));
    fs::write(folder.path().join("a.plan"), "no plan").unwrap();
    for arguments in [
        &["run", "pipe.ron", "--dry-run"][..],
        &["inspect", "pipe.ron"],
        &["report", "pipe"],
        &["inspect", "a.plan"],
        &["report", "--compat", "trtexec10", "--from-trtexec", "pipe"],
        &["monitor", "--from-tegrastats", "pipe"],
    ] {
        let output = ended(jetlag(arguments, folder.path()));
        let said = stdout(&output) + &stderr(&output);
        assert_ne!(output.status.code(), Some(0), "{arguments:?}: {said}");
        assert!(said.contains("is a named pipe"), "{arguments:?}: {said}");
    }
}

#[test]
fn a_board_whose_files_are_pipes_has_no_facts_and_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    for file in [
        "etc/nv_tegra_release",
        "etc/os-release",
        "etc/ld.so.cache",
        "proc/device-tree/model",
        "proc/device-tree/compatible",
        "proc/meminfo",
        "proc/stat",
        "proc/cpuinfo",
        "sys/class/hwmon/hwmon0/name",
        "sys/class/hwmon/hwmon0/in1_input",
        "sys/class/thermal/thermal_zone0/type",
        "sys/class/thermal/thermal_zone0/temp",
        "sys/class/devfreq/17000000.gpu/cur_freq",
        "sys/class/powercap/intel-rapl:0/name",
        "sys/class/powercap/intel-rapl:0/energy_uj",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq",
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_min_freq",
        "sys/devices/system/cpu/cpu0/cpuidle/state0/name",
        "sys/kernel/debug/bpmp/debug/clk/emc/rate",
        "var/lib/nvpmodel/status",
        "run/jetlag/clocks.json",
    ] {
        fifo(&folder.path().join(file));
    }
    let runs = tempfile::tempdir().unwrap();
    for arguments in [
        &["doctor"][..],
        &["clocks", "show"],
        &["monitor", "--duration", "300ms", "--interval", "50ms"],
        &["clocks", "max"],
        &["clocks", "restore"],
    ] {
        let mut command = jetlag(arguments, runs.path());
        command.env("JETLAG_ROOT", folder.path());
        let output = ended(command);
        assert!(
            !stderr(&output).contains("panicked"),
            "{arguments:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn a_scenario_comes_from_a_pipe_that_was_handed_over() {
    let folder = tempfile::tempdir().unwrap();
    let jetlag = env!("CARGO_BIN_EXE_jetlag");
    for line in [
        format!("'{jetlag}' run <(cat '{DEMO}' | sed 's|../engines/|builtin:|; s|\\.ron\"|\"|') --dry-run"),
        format!("echo '(tenants: [(name: \"a\", backend: Null)])' | '{jetlag}' run /dev/stdin --dry-run"),
    ] {
        let output = Command::new("bash")
            .args(["-c", &line])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{line}: {}", stderr(&output));
    }
}

#[test]
fn a_file_that_may_not_grow_further_is_told_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let jetlag = env!("CARGO_BIN_EXE_jetlag");
    fs::write(
        folder.path().join("s.ron"),
        "(duration: \"10min\", warmup: \"0s\", telemetry: (interval: \"10ms\"), tenants: [(name: \"a\", backend: Null, arrival: Closed)])",
    )
    .unwrap();
    // 64 KiB: bash counts in KiB.
    let line = format!("ulimit -f 64; exec '{jetlag}' run s.ron --quiet --out r.mcap");
    let output = Command::new("bash")
        .args(["-c", &line])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = stderr(&output);
    assert!(
        output.status.code().is_some_and(|code| code != 0),
        "{:?}: {said}",
        output.status
    );
    assert!(said.contains("File too large"), "{said}");
    // What was written before can be read, and is known to be a part.
    let report = run(&["report", "r.mcap", "--format", "json"], folder.path());
    assert_eq!(report.status.code(), Some(4), "{}", stderr(&report));
    assert!(stdout(&report).contains("truncated-file"), "{}", stdout(&report));
}

#[test]
fn a_name_that_is_no_text_is_told_and_not_sent() {
    let folder = tempfile::tempdir().unwrap();
    let name = std::ffi::OsStr::from_bytes(b"r\xff\x9b2J\x1b[2J.mcap");
    let output = jetlag(&["report"], folder.path()).arg(name).output().unwrap();
    assert_ne!(output.status.code(), Some(0));
    assert!(is_plain(&output), "{:?}", stderr(&output));
}
