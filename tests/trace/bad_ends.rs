//! Programs that do not end as they should: what they did before is there, and the run says how they ended.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Stdio;

use super::{Run, app, trace, traced};
use crate::common::output::{jetlag, stderr};

#[test]
fn a_program_that_dies_leaves_what_it_did_before() {
    for (end, code) in [("crash", 139), ("kill", 137), ("_exit", 5)] {
        let Some((output, found)) = traced(&format!("batches 11 settle batches 2 {end}")) else {
            return;
        };
        assert_eq!(output.status.code(), Some(code), "{end}: {}", stderr(&output));
        assert!(found.frames.len() >= 10, "{end}: {}", found.frames.len());
        assert_eq!(found.codes(), ["trace-incomplete"], "{end}");
        let message = &found.findings[0].message;
        assert!(message.contains("app") && message.contains("ended"), "{message}");
    }
}

#[test]
fn a_program_that_ends_at_once_is_whole() {
    let Some((output, found)) = traced("batches 2") else {
        return;
    };
    assert!(output.status.success());
    assert_eq!(
        (found.frames.len(), found.codes().len()),
        (1, 0),
        "{:?}",
        found.findings
    );
}

#[test]
fn the_child_of_a_fork_writes_nothing_into_its_parents_file() {
    let Some((output, found)) = traced("batches 4 fork batches 4") else {
        return;
    };
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(found.tenants(), ["app"]);
    assert_eq!(found.frames.len(), 6);
    assert!(found.codes().is_empty(), "{:?}", found.findings);
}

#[test]
fn a_process_that_becomes_another_program_is_both() {
    let Some((output, found)) = traced("batches 4 settle exec batches 3") else {
        return;
    };
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(found.tenants(), ["app", "again"]);
    let of = |tenant| found.frames.iter().filter(|frame| frame.tenant == tenant).count();
    assert_eq!((of(0), of(1)), (3, 2));
    assert_eq!(found.codes(), ["trace-incomplete"], "the first had no end");
}

#[test]
fn a_signal_is_passed_on_and_the_run_file_is_written() {
    let Some(app) = app() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (words, code) in [("batches 3 on-term wait", 9), ("batches 3 settle wait", 143)] {
        let mut command = vec![app.as_os_str()];
        command.extend(words.split(' ').map(std::ffi::OsStr::new));
        let mut child = trace(folder.path(), &["--force"], &command)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        // Open to the end: the program may print more.
        let mut said = BufReader::new(child.stdout.take().unwrap());
        said.read_line(&mut line).unwrap();
        assert_eq!(line, "waiting\n");
        let process = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
        rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
        let status = child.wait().unwrap();
        assert_eq!((status.code(), status.signal()), (Some(code), None), "{words}");
        assert_eq!(
            Run::read(&folder.path().join("app.mcap")).frames.len(),
            2,
            "{words}"
        );
    }
}

#[test]
fn a_process_that_outlives_the_command_is_told() {
    let Some(app) = app() else { return };
    let folder = tempfile::tempdir().unwrap();
    // In the background: nothing of jetlag's stays open in it.
    let words = "\"$0\" batches 3 on-term settle wait > said 2> /dev/null & echo $! > process; \
                 until [ -s said ]; do sleep 0.01; done";
    let command = ["sh".as_ref(), "-c".as_ref(), words.as_ref(), app.as_os_str()];
    let output = trace(folder.path(), &[], &command).output().unwrap();
    let process = std::fs::read_to_string(folder.path().join("process")).unwrap();
    let process = rustix::process::Pid::from_raw(process.trim().parse().unwrap()).unwrap();
    let alive = rustix::process::kill_process(process, rustix::process::Signal::TERM);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(alive.is_ok(), "it was to run on");
    let found = Run::read(&folder.path().join("app.mcap"));
    assert_eq!((found.tenants(), found.frames.len()), (vec!["app"], 2));
    assert_eq!(found.codes(), ["trace-incomplete"]);
    let message = &found.findings[0].message;
    assert!(message.contains("outlived the command"), "{message}");
    assert!(
        stderr(&output).contains("outlived the command"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_trace_that_is_killed_leaves_no_file_and_the_next_one_removes_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let temporary = folder.path().join("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let spools = || -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&temporary).unwrap();
        let mut all: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        all.retain(|path| path.join("owner").metadata().is_ok_and(|owner| owner.len() > 0));
        all
    };
    let start = |name: &str| {
        let before = spools().len();
        let mut jetlag = jetlag(&["trace", "-o", name, "--", "cat"], folder.path());
        jetlag
            .env("JETLAG_INJECTION", super::library())
            .env("TMPDIR", &temporary)
            .env_remove("CUDA_INJECTION64_PATH")
            .env_remove("NVTX_INJECTION64_PATH");
        // The command ends with its input, whatever became of who started it.
        let child = jetlag
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        while spools().len() == before {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        child
    };
    let mut alive = start("alive.mcap");
    let of_alive = spools();
    let mut killed = start("killed.mcap");
    let input = killed.stdin.take();
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(spools().len(), 2);
    let left: Vec<_> = (std::fs::read_dir(folder.path()).unwrap())
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["temporary"], "no run file before it is whole");
    let next = trace(folder.path(), &[], &["true".as_ref()])
        .env("TMPDIR", &temporary)
        .output()
        .unwrap();
    assert!(next.status.success(), "{}", stderr(&next));
    assert_eq!(spools(), of_alive, "what is in use stays");
    drop((input, alive.stdin.take()));
    assert!(alive.wait().unwrap().success());
    assert!(folder.path().join("alive.mcap").is_file());
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
}

#[test]
fn an_interrupt_that_no_terminal_has_sent_is_passed_on() {
    use std::os::unix::process::CommandExt;
    let Some(app) = app() else { return };
    let folder = tempfile::tempdir().unwrap();
    let words = ["batches", "3", "settle", "wait"].map(std::ffi::OsStr::new);
    let command = [&[app.as_os_str()], &words[..]].concat();
    // A group of its own is in no terminal's foreground.
    let mut child = trace(folder.path(), &[], &command)
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let mut line = String::new();
    // Open to the end: the program may print more.
    let mut said = BufReader::new(child.stdout.take().unwrap());
    said.read_line(&mut line).unwrap();
    let process = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(Run::read(&folder.path().join("app.mcap")).frames.len(), 2);
}

#[test]
fn where_nothing_can_be_written_the_program_runs_as_ever() {
    // The program's own folder of spools is no folder: the library finds nowhere to write.
    let Some(app) = app() else { return };
    let output = std::process::Command::new(&app)
        .args(["batches", "5", "exit", "4"])
        .env("NVTX_INJECTION64_PATH", super::library())
        .env("JETLAG_SPOOL", "/proc/nowhere")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    // Nor where nobody asked.
    let output = std::process::Command::new(&app)
        .args(["batches", "5", "exit", "4"])
        .env("NVTX_INJECTION64_PATH", super::library())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn a_full_disk_leaves_what_was_written_and_the_program_runs_on() {
    // As on a full disk: no file of the command may grow longer.
    let Some(app) = app() else { return };
    let folder = tempfile::tempdir().unwrap();
    let words = format!(
        "ulimit -f 1; trap '' XFSZ; exec {} batches 200 rest batches 3000 rest exit 8",
        app.display()
    );
    let output = trace(
        folder.path(),
        &[],
        &["sh".as_ref(), "-c".as_ref(), words.as_ref()],
    )
    .output()
    .unwrap();
    assert_eq!(output.status.code(), Some(8), "{}", stderr(&output));
    let found = Run::read(&folder.path().join("app.mcap"));
    assert!(found.frames.len() < 3000, "{}", found.frames.len());
    assert!(
        found.codes().contains(&"trace-incomplete") || found.codes().contains(&"not-traced"),
        "{:?}",
        found.codes()
    );
}
