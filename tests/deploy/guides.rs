//! The guides: every command line in them is run, in order, in a copy of what a clone has. Lines under a comment that says
//! why they are not are still held against the command line's definition and the scripts that there are.

use std::fs;
use std::path::Path;
use std::process::Command;

use clap::Parser;
use jetlag::cli::Cli;

use super::board::TestBoard;
use super::common::machine;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// What is done with the lines of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Treatment {
    Run,
    RunWithRtx,
    CheckOnly,
}

/// The lines of a guide's `sh` blocks.
fn lines(guide: &str) -> Vec<(Treatment, String)> {
    let text = fs::read_to_string(Path::new(ROOT).join("docs").join(guide)).unwrap();
    let mut found = Vec::new();
    let mut next = Treatment::Run;
    let mut inside = None;
    for line in text.lines() {
        match (inside, line.trim()) {
            (Some(_), "```") => inside = None,
            (Some(treatment), line) if !line.is_empty() => found.push((treatment, line.to_owned())),
            (None, "```sh") => inside = Some(std::mem::replace(&mut next, Treatment::Run)),
            (None, line) if line.starts_with("<!-- not run by the test: ") => next = Treatment::CheckOnly,
            (None, line) if line.starts_with("<!-- run where TensorRT-RTX") => next = Treatment::RunWithRtx,
            _ => {}
        }
    }
    found
}

/// A clone's files, with runs and plans of the test's own.
fn clone(folder: &Path) {
    for name in ["configs", "engines", "jetson", "scripts", "Cargo.toml"] {
        let copied = Command::new("cp")
            .arg("-r")
            .arg(Path::new(ROOT).join(name))
            .arg(folder)
            .status();
        assert!(copied.unwrap().success());
    }
}

/// The exit codes that a line may have here, where neither time nor hardware is promised.
fn allowed(line: &str) -> &'static [i32] {
    match line.split_whitespace().nth(1) {
        Some("doctor") => &[0, 1],
        Some("run" | "demo" | "report" | "deploy") => &[0, 3],
        _ => &[0],
    }
}

fn follow(guide: &str, folder: &Path, path: &str, at_least: usize) {
    clone(folder);
    let mut run = 0;
    for (treatment, line) in lines(guide) {
        check(guide, &line);
        let mut command = Command::new("bash");
        command.args(["-c", &line]).current_dir(folder);
        command
            .env("PATH", path)
            .env("JETLAG_CACHE", folder.join("plans"))
            .env("NO_COLOR", "1");
        match treatment {
            Treatment::Run => {}
            Treatment::RunWithRtx => {
                let Some(rtx) = machine::environment("rtx-1.7", "JETLAG_REQUIRE_TENSORRT") else {
                    machine::skip(&format!("{guide}: {line} (no TensorRT-RTX)"));
                    continue;
                };
                command.env("JETLAG_TENSORRT", rtx);
            }
            Treatment::CheckOnly => continue,
        }
        let output = command.output().unwrap();
        let code = output.status.code();
        assert!(
            code.is_some_and(|code| allowed(&line).contains(&code)),
            "{guide}: `{line}` ended with {code:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        run += 1;
    }
    assert!(run >= at_least, "{guide}: only {run} lines were run");
}

/// Every jetlag line must parse, and every script that is called must be there.
fn check(guide: &str, line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.first() {
        // What another program fills in is seen when the line is run.
        Some(&"jetlag") if !line.contains("$(") => {
            // `--version` and `--help` are no mistakes, although they end the parsing.
            let wrong = Cli::try_parse_from(&words)
                .err()
                .filter(|error| error.use_stderr());
            assert!(wrong.is_none(), "{guide}: `{line}`: {}", wrong.unwrap());
        }
        Some(first) if first.contains('/') && !first.starts_with('~') => {
            assert!(
                Path::new(ROOT).join(first).is_file(),
                "{guide}: `{line}`: no such file"
            );
        }
        _ => {}
    }
}

/// A PATH on which `jetlag` is ours.
fn path(folder: &Path) -> String {
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_jetlag"), folder.join("jetlag")).unwrap();
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

/// The words of a line as a shell splits them.
fn words(line: &str) -> Vec<String> {
    let script = format!("printf '%s\\0' {line}");
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert!(output.status.success(), "{line}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_terminator('\0').map(str::to_owned).collect()
}

/// Holds the examples of a command's help, and of those below it, against the definition.
fn examples(command: &clap::Command, path: &str) {
    let mut below = command
        .get_subcommands()
        .filter(|c| !c.is_hide_set() && c.get_name() != "help")
        .peekable();
    if below.peek().is_some() {
        below.for_each(|c| examples(c, &format!("{path} {}", c.get_name())));
        return;
    }
    let help = command
        .get_after_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    let mut found = 0;
    for line in help.lines() {
        // Behind an example, two blanks and more may say what it is for.
        let Some(at) = line.find("jetlag ") else { continue };
        for part in line[at..]
            .split(['&', ';'])
            .filter_map(|part| part.find("jetlag ").map(|at| &part[at..]))
        {
            let example = part.split("   ").next().unwrap_or_default();
            if example.contains('…') {
                continue;
            }
            let wrong = Cli::try_parse_from(words(example))
                .err()
                .filter(|e| e.use_stderr());
            assert!(wrong.is_none(), "{path}: `{example}`: {}", wrong.unwrap());
            found += 1;
        }
    }
    assert!(found > 0, "{path} --help has no example");
}

#[test]
fn every_verb_s_help_has_an_example_that_parses() {
    examples(&<Cli as clap::CommandFactory>::command(), "jetlag");
}

#[test]
fn the_desktop_guide_s_lines_all_work() {
    let folder = tempfile::tempdir().unwrap();
    let bin = tempfile::tempdir().unwrap();
    follow("quickstart-desktop.md", folder.path(), &path(bin.path()), 12);
}

#[test]
fn the_jetson_guide_s_lines_all_work_against_a_board_named_orin() {
    let Some(board) = TestBoard::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let bin = tempfile::tempdir().unwrap();
    let path = path(bin.path());
    // An ssh whose config knows `orin`, as the guide asks for.
    board.ssh_that_knows("orin", &bin.path().join("ssh"));
    follow("quickstart-jetson.md", folder.path(), &path, 6);
    let runs = fs::read_dir(folder.path().join("runs")).unwrap().count();
    assert!(runs >= 6, "three runs, each with its log: {runs}");
}
