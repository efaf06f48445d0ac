//! A board that is somebody else's: what it says and sends never leaves `--out`, replaces nothing, and ends when it is told to.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::board::stderr;

/// Answers like a board whose last run is called what `$NAME` says, and sends what `$ARCHIVE` makes.
const SSH: &str = r#"#!/bin/sh
case "$*" in
  *"'probe'"*)
    printf 'machine x86_64\nprocessors 4\nglibc glibc 2.36\nfolder /home/x/jetlag\nfree_kib 100000\nlast %s\nstate ended 0\n' "$NAME" ;;
  *"'state'"*) echo 'ended 0' ;;
  *"'bring'"*) echo begun >"$HERE/bringing"; sh -c "$ARCHIVE" ;;
esac
cat >/dev/null
"#;

struct Hostile {
    here: tempfile::TempDir,
}

impl Hostile {
    fn new() -> Hostile {
        let here = tempfile::tempdir().unwrap();
        fs::create_dir(here.path().join("bin")).unwrap();
        let ssh = here.path().join("bin/ssh");
        fs::write(&ssh, SSH).unwrap();
        fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(here.path().join("victim")).unwrap();
        fs::write(here.path().join("victim/keep.mcap"), "precious").unwrap();
        Hostile { here }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.here.path().join(name)
    }

    fn fetch(&self, name: &str, archive: &str) -> Command {
        let path = format!(
            "{}:{}",
            self.path("bin").display(),
            std::env::var("PATH").unwrap()
        );
        let mut command = Command::new(env!("CARGO_BIN_EXE_jetlag"));
        command
            .args(["deploy", "board", "--fetch", "--quiet", "--out"])
            .arg(self.path("out"))
            .current_dir(self.here.path())
            .env("PATH", path)
            .env("NAME", name)
            .env("ARCHIVE", archive)
            .env("HERE", self.here.path())
            .env_remove("RUST_LOG");
        command
    }

    fn fetched(&self, name: &str, archive: &str) -> Output {
        self.fetch(name, archive).output().unwrap()
    }

    fn assert_kept(&self) {
        let victim = self.path("victim");
        assert_eq!(fs::read(victim.join("keep.mcap")).unwrap(), b"precious");
        assert_eq!(fs::read_dir(victim).unwrap().count(), 1);
    }
}

/// Everything below a folder, by its path.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| {
            let inside = if path.is_dir() { below(&path) } else { Vec::new() };
            std::iter::once(path).chain(inside)
        })
        .collect()
}

#[test]
fn a_name_of_a_run_that_is_a_path_is_refused() {
    let board = Hostile::new();
    let absolute = board.path("victim/keep").display().to_string();
    let archive = "cd victim && tar -c ./keep.mcap";
    for name in [
        "../victim/keep",
        &absolute,
        "victim/keep",
        "..",
        ".hidden",
        "-x",
        "a b",
        "a\u{1b}[2J",
        "$(touch owned)",
        &"x".repeat(97),
    ] {
        let output = board.fetched(name, archive);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{name}: {said}");
        assert!(said.contains("name of its last run"), "{name}: {said}");
        assert!(!said.contains('\u{1b}'), "{said:?}");
    }
    board.assert_kept();
    assert!(below(&board.path("out")).is_empty());
    assert!(!board.path("owned").exists());
}

#[test]
fn what_is_no_plain_file_is_refused_and_nothing_of_it_is_kept() {
    let board = Hostile::new();
    for (archive, why) in [
        ("cd $(mktemp -d) && mkfifo log && tar -c ./log", "no regular file"),
        (
            "cd $(mktemp -d) && ln -s \"$HERE/victim\" r.mcap && tar -c ./r.mcap",
            "no regular file",
        ),
        ("head -c 4096 /dev/urandom", "no archive"),
        (
            "cd $(mktemp -d) && echo a >log && tar -c ./log ./log",
            "no regular file",
        ),
    ] {
        let output = board.fetched("r", archive);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{archive}: {said}");
        assert!(said.contains(why), "{archive}: {said}");
        assert!(below(&board.path("out")).is_empty(), "{archive}");
    }
    board.assert_kept();
}

#[test]
fn files_that_lead_elsewhere_are_not_written() {
    let board = Hostile::new();
    // Out of the folder, with an absolute path, and under the name of the work folder.
    let archive = "cd $(mktemp -d) && echo a >log && echo x >x && tar -c -P --transform \"s,^x$,../victim/y,\" ./log x && exit 0";
    let output = board.fetched("r", archive);
    let said = stderr(&output);
    // There is no run file, which is said with the log.
    assert!(said.contains("left no run file"), "{said}");
    assert_eq!(below(&board.path("out")), [board.path("out/r.log")]);
    board.assert_kept();
}

#[test]
fn a_run_that_was_fetched_under_the_same_name_stays() {
    let board = Hostile::new();
    fs::create_dir(board.path("out")).unwrap();
    fs::write(board.path("out/r.mcap"), "of another board").unwrap();
    let archive = "cd $(mktemp -d) && echo run >r.mcap && tar -c ./r.mcap";
    let output = board.fetched("r", archive);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("r.mcap") && said.contains("is there already"),
        "{said}"
    );
    assert_eq!(fs::read(board.path("out/r.mcap")).unwrap(), b"of another board");
}

#[test]
fn a_board_that_sends_nothing_is_left_by_one_signal() {
    // SIGTERM to jetlag alone, and a terminal's Ctrl-C, which ends ssh too.
    for to_all in [false, true] {
        let board = Hostile::new();
        let mut fetch = board
            .fetch("r", "exec sleep 3600")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        super::under_way::wait_until("the fetch", || board.path("bringing").exists());
        let pid = Pid::from_child(&fetch);
        match to_all {
            true => kill_process_group(pid, Signal::INT).unwrap(),
            false => kill_process(pid, Signal::TERM).unwrap(),
        }
        assert_eq!(fetch.wait().unwrap().code(), Some(130), "to all: {to_all}");
        assert!(below(&board.path("out")).is_empty());
    }
}
