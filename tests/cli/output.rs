//! What becomes of results: names of run files, stdout that fails, arguments that are no UTF-8.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Stdio};

use jetlag::record::{Completeness, RunReader};

use super::{assert_refused, jetlag, run, scenario, stderr};

const QUICK: &str = "Scenario(name: \"quick\", duration: \"10s\", clock: Virtual, tenants: [\
                     Tenant(name: \"a\", backend: Sim(Fixed(\"5ms\")), arrival: Periodic(hz: 50))])";

#[test]
fn runs_that_begin_at_once_have_a_file_each() {
    let folder = tempfile::tempdir().unwrap();
    let path = scenario(folder.path(), QUICK);
    let begin = |_| {
        let mut command = jetlag(&["run", &path, "--quiet"], folder.path());
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    let all: Vec<Child> = (0..8).map(begin).collect();
    for mut child in all {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    let runs: Vec<_> = fs::read_dir(folder.path().join("runs"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(runs.len(), 8, "{runs:?}");
    for path in runs {
        let mut reader = RunReader::open(&path).unwrap();
        assert!(reader.by_ref().all(|event| event.is_ok()), "{path:?}");
        assert_eq!(reader.completeness(), Completeness::Whole, "{path:?}");
    }
}

#[test]
fn an_older_run_is_replaced_only_by_force() {
    let folder = tempfile::tempdir().unwrap();
    let path = scenario(folder.path(), QUICK);
    let out = folder.path().join("kept.mcap");
    let again = ["run", &path, "--out", "kept.mcap", "--quiet"];
    assert_eq!(run(&again, folder.path()).status.code(), Some(0));
    let kept = fs::read(&out).unwrap();
    assert_refused(&run(&again, folder.path()), 2, &["kept.mcap", "--force"]);
    // What cannot be prepared replaces nothing either, and leaves no file behind.
    let broken = [
        "--set",
        "tenants.a.detector=\"absent.ron\"",
        "--set",
        "tenants.a.backend=Cpu()",
    ];
    for name in ["kept.mcap", "new.mcap"] {
        let refused = run(
            &[&["run", &path, "--out", name, "--force"], &broken[..]].concat(),
            folder.path(),
        );
        assert_ne!(refused.status.code(), Some(0));
    }
    assert_eq!(fs::read(&out).unwrap(), kept);
    assert!(!folder.path().join("new.mcap").exists());
    let replaced = run(
        &[&again[..], &["--force", "--set", "duration=5s"]].concat(),
        folder.path(),
    );
    assert_eq!(replaced.status.code(), Some(0), "{}", stderr(&replaced));
    assert_ne!(fs::read(&out).unwrap(), kept);

    let record = ["monitor", "--replay", "kept.mcap", "--record", "copy.mcap"];
    let first = run(&record, folder.path());
    assert_eq!(first.status.code(), Some(0), "{}", stderr(&first));
    assert_refused(&run(&record, folder.path()), 2, &["copy.mcap", "--force"]);
    let forced = run(&[&record[..], &["--force"]].concat(), folder.path());
    assert_eq!(forced.status.code(), Some(0), "{}", stderr(&forced));
}

#[test]
fn a_result_that_cannot_be_written_is_an_error_and_a_reader_that_has_gone_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = scenario(folder.path(), QUICK);
    assert_eq!(
        run(&["run", &path, "--out", "run.mcap", "--quiet"], folder.path())
            .status
            .code(),
        Some(0)
    );
    for arguments in [
        &["report", "run.mcap"][..],
        &["report", "run.mcap", "--format", "json"],
        &["run", &path, "--dry-run"],
        &["export", "run.mcap", "--format", "json"],
        &["monitor", "--format", "json"],
        &["inspect", "run.mcap"],
        &["doctor"],
        &["--help"],
        &["run", "--help"],
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = jetlag(arguments, folder.path())
            .stdout(full)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert_eq!(
            output.status.code(),
            Some(1),
            "{arguments:?}: {}",
            stderr(&output)
        );

        // Its reader has gone before it writes: it ends as it does with one. (`doctor` may find an error on this machine.)
        let mut with_a_reader = jetlag(arguments, folder.path());
        if arguments[0] == "monitor" {
            // Only a line that cannot be written ends it sooner, whenever a busy machine has the first.
            with_a_reader.args(["--duration", "300ms"]);
        }
        let with_a_reader = with_a_reader.output().unwrap();
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = jetlag(arguments, folder.path())
            .stdout(writer)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert_eq!(
            output.status.code(),
            with_a_reader.status.code(),
            "{arguments:?}: {}",
            stderr(&output)
        );
        assert!(
            !stderr(&output).contains("error"),
            "{arguments:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn arguments_need_not_be_utf_8() {
    let folder = tempfile::tempdir().unwrap();
    let odd = OsStr::from_bytes(b"run-\xff.mcap");
    let path = scenario(folder.path(), QUICK);
    let ran = jetlag(&["run", &path, "--quiet", "--out"], folder.path())
        .arg(odd)
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    let manifest = RunReader::open(&folder.path().join(odd))
        .unwrap()
        .manifest()
        .clone();
    assert_eq!(manifest.command_line.last().unwrap(), "run-\u{fffd}.mcap");
    let monitored = jetlag(&["monitor", "--replay"], folder.path())
        .arg(odd)
        .args(["--record", "copy.mcap"])
        .output()
        .unwrap();
    assert_eq!(monitored.status.code(), Some(0), "{}", stderr(&monitored));
}
