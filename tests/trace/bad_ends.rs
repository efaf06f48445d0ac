//! Programs that do not end as they should: what they did before is there, and the run says how they ended.

use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use super::{Run, app, trace, traced};
use crate::common::output::{jetlag, stderr};
use crate::common::under_way::wait_until;

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
fn the_child_of_a_fork_writes_nothing_into_its_parents_file_and_is_told() {
    for end in ["fork", "fork_exit"] {
        let Some((output, found)) = traced(&format!("batches 4 {end} batches 4")) else {
            return;
        };
        assert!(output.status.success(), "{end}: {}", stderr(&output));
        assert_eq!(found.tenants(), ["app"], "{end}");
        assert_eq!(found.frames.len(), 6, "{end}");
        assert_eq!(found.codes(), ["lost-ranges"], "{end}");
        let said = &found.findings[0].message;
        // A batch has a range within it.
        let ranges: u64 = said.split(' ').next().unwrap().parse().unwrap();
        assert!(
            ranges >= 100 && said.contains("of children of a fork"),
            "{end}: {said}"
        );
    }
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

/// Folders for what is traced whose owner is written down.
fn folders(temporary: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(temporary).unwrap();
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    all.retain(|path| path.join("owner").metadata().is_ok_and(|owner| owner.len() > 0));
    all
}

/// The process that makes a trace's run file if that is killed.
fn successor(of: u32) -> Option<u32> {
    let children = std::fs::read_to_string(format!("/proc/{of}/task/{of}/children")).ok()?;
    let mut children = children.split_whitespace().filter_map(|child| child.parse().ok());
    children.find(|child: &u32| {
        let words = std::fs::read_to_string(format!("/proc/{child}/cmdline"));
        words.is_ok_and(|words| words.contains("--succeed"))
    })
}

/// Who is killed.
#[derive(Clone, Copy, PartialEq)]
enum Killed {
    TraceAlone,
    /// First the process that would make its run file.
    Both,
}

/// Kills `jetlag trace` while the program waits, and waits for the end of that.
fn kill_one(killed: Killed, folder: &Path, temporary: &Path, app: &Path) {
    let words = ["batches", "21", "settle", "wait"].map(std::ffi::OsStr::new);
    let command = [&[app.as_os_str()], &words[..]].concat();
    let mut child = trace(folder, &["--force"], &command)
        .env("TMPDIR", temporary)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(line, "waiting\n");
    if killed == Killed::Both {
        let successor = successor(child.id()).expect("a trace has a successor");
        let successor = Pid::from_raw(successor.cast_signed()).unwrap();
        kill_process(successor, Signal::KILL).unwrap();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // The program holds the pipe's other end: it ends with who traced it.
    line.clear();
    assert_eq!(
        said.read_line(&mut line).unwrap(),
        0,
        "the program ends with its tracer"
    );
}

#[test]
fn a_trace_that_is_killed_takes_its_command_with_it_and_is_recovered() {
    let Some(app) = app() else { return };
    let folder = tempfile::tempdir().unwrap();
    let temporary = folder.path().join("temporary");
    std::fs::create_dir(&temporary).unwrap();
    // By the process that waits for that; and where it was killed too, by the one that is asked to, and by the next trace. A run that came
    // there meanwhile stays.
    for (place, recovered) in [
        ("at once", "app.mcap"),
        ("--recover", "app-2.mcap"),
        ("next", "app-3.mcap"),
    ] {
        let is_alone = place == "at once";
        let killed = if is_alone {
            Killed::TraceAlone
        } else {
            Killed::Both
        };
        kill_one(killed, folder.path(), &temporary, &app);
        if is_alone {
            wait_until("the run file is made and the folder gone", || {
                folders(&temporary).is_empty()
            });
        } else {
            assert_eq!(folders(&temporary).len(), 1, "{place}");
            assert!(
                !folder.path().join(recovered).exists(),
                "no run file before it is whole"
            );
            let mut next = match place {
                "next" => jetlag(&["trace", "-o", "next.mcap", "--", "true"], folder.path()),
                _ => jetlag(&["trace", "--recover"], folder.path()),
            };
            let next = next
                .env("JETLAG_INJECTION", super::library())
                .env("TMPDIR", &temporary)
                .output()
                .unwrap();
            assert!(next.status.success(), "{}", stderr(&next));
            let said = stderr(&next);
            assert!(
                said.contains("recovered a trace of app that was killed") && said.contains(recovered),
                "{said}"
            );
        }
        let found = Run::read(&folder.path().join(recovered));
        assert_eq!(
            (found.tenants(), found.frames.len()),
            (vec!["app"], 20),
            "{place}"
        );
        assert!(
            found
                .findings
                .iter()
                .any(|finding| finding.message.contains("jetlag trace was killed"))
        );
        let command_line = &found.manifest.as_ref().unwrap().command_line;
        assert!(
            command_line.iter().any(|word| word == "settle"),
            "{command_line:?}"
        );
        assert_eq!(folders(&temporary).len(), 0, "{place}");
    }
    let nothing = jetlag(&["trace", "--recover"], folder.path())
        .env("TMPDIR", &temporary)
        .output()
        .unwrap();
    assert!(
        nothing.status.success() && stderr(&nothing).is_empty(),
        "{}",
        stderr(&nothing)
    );
}

#[test]
fn what_a_killed_trace_left_stays_until_its_run_file_can_be_written() {
    let Some(app) = app() else { return };
    let folder = tempfile::tempdir().unwrap();
    let [temporary, place] = ["temporary", "place"].map(|name| folder.path().join(name));
    std::fs::create_dir(&temporary).unwrap();
    std::fs::create_dir(&place).unwrap();
    kill_one(Killed::Both, &place, &temporary, &app);
    // In the place of the run file's folder there is a file now.
    std::fs::rename(&place, folder.path().join("elsewhere")).unwrap();
    std::fs::write(&place, "").unwrap();
    let recover = || {
        jetlag(&["trace", "--recover"], folder.path())
            .env("TMPDIR", &temporary)
            .output()
            .unwrap()
    };
    let failed = recover();
    assert_eq!(failed.status.code(), Some(125), "{}", stderr(&failed));
    assert!(stderr(&failed).contains("tries again"), "{}", stderr(&failed));
    assert_eq!(folders(&temporary).len(), 1);
    std::fs::remove_file(&place).unwrap();
    assert!(recover().status.success());
    assert_eq!(Run::read(&place.join("app.mcap")).frames.len(), 20);
    assert_eq!(folders(&temporary).len(), 0);
}

#[test]
fn a_trace_that_is_alive_is_recovered_by_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let temporary = folder.path().join("temporary");
    std::fs::create_dir(&temporary).unwrap();
    // Ends with its input.
    let mut alive = trace(folder.path(), &[], &["cat".as_ref()])
        .env("TMPDIR", &temporary)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    while folders(&temporary).is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let of_alive = folders(&temporary);
    let next = jetlag(&["trace", "--recover"], folder.path())
        .env("TMPDIR", &temporary)
        .output()
        .unwrap();
    assert!(
        next.status.success() && stderr(&next).is_empty(),
        "{}",
        stderr(&next)
    );
    assert_eq!(folders(&temporary), of_alive, "what is in use stays");
    drop(alive.stdin.take());
    assert!(alive.wait().unwrap().success());
    assert!(folder.path().join("app.mcap").is_file());
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
    assert_eq!(
        found.codes(),
        ["trace-incomplete", "lost-ranges"],
        "{:?}",
        found.findings
    );
    assert!(
        found.findings[0].message.contains("was full"),
        "{:?}",
        found.findings
    );
    // Every range is in the file or counted: 3 198 batches and the parts of each.
    let said = &found.findings[1].message;
    let missing: usize = said.split(' ').next().unwrap().parse().unwrap();
    let Some((_, whole)) = traced("batches 200 rest batches 3000 rest exit 8") else {
        return;
    };
    assert!(whole.codes().is_empty(), "{:?}", whole.findings);
    assert_eq!(found.ranges.len() + missing, whole.ranges.len(), "{said}");
}

#[test]
fn processes_that_could_not_write_a_word_are_counted() {
    let Some(app) = app() else { return };
    let folder = tempfile::tempdir().unwrap();
    let words = format!(
        "ulimit -f 0; trap '' XFSZ; exec {} batches 20 exit 8",
        app.display()
    );
    let command = ["sh".as_ref(), "-c".as_ref(), words.as_ref()];
    let output = trace(folder.path(), &[], &command).output().unwrap();
    assert_eq!(output.status.code(), Some(8), "{}", stderr(&output));
    let found = Run::read(&folder.path().join("app.mcap"));
    assert_eq!(
        found.codes(),
        ["not-traced", "trace-incomplete"],
        "{:?}",
        found.findings
    );
    assert!(
        found.findings[1].message.contains("could not write anything"),
        "{:?}",
        found.findings
    );
}
