//! What can go wrong between here and a board: one clear sentence each, and the way out.

use std::fs;
use std::process::{Command, Output};

use super::board::TestBoard;
use super::{sim, wrapper};
use crate::common::output::stderr;

/// It failed with this code, said all of this in one line, and did not panic.
fn assert_refused(output: &Output, code: i32, phrases: &[&str]) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    let line = said
        .lines()
        .find(|line| line.starts_with("error: "))
        .unwrap_or_default();
    for phrase in phrases {
        assert!(line.contains(phrase), "`{phrase}` is not in: {said}");
    }
    assert!(!said.contains("panicked"), "{said}");
}

#[test]
fn a_host_that_ssh_does_not_know_or_does_not_trust_is_refused() {
    let Some(board) = TestBoard::start() else { return };
    let scenario = sim(&board);
    let deploy = |known: &str, key: &str| board.deploy_as(known, key, &[&scenario]).output().unwrap();

    fs::write(board.path("nobody"), "").unwrap();
    assert_refused(
        &deploy("nobody", "user"),
        1,
        &["cannot reach localhost", "accept its key"],
    );

    let known = fs::read_to_string(board.path("known")).unwrap();
    let host = fs::read_to_string(board.path("host.pub")).unwrap();
    let stranger = fs::read_to_string(board.path("stranger.pub")).unwrap();
    fs::write(board.path("other"), known.replace(host.trim(), stranger.trim())).unwrap();
    assert_refused(
        &deploy("other", "user"),
        1,
        &[
            "its host key differs from the one in ssh's known_hosts",
            "ssh-keygen -R '[localhost]:",
        ],
    );

    assert_refused(
        &deploy("known", "stranger"),
        1,
        &["Permission denied", "ssh-copy-id localhost"],
    );
}

#[test]
fn a_board_that_does_not_answer_is_told() {
    let Some(board) = TestBoard::start() else { return };
    let scenario = sim(&board);
    // Nothing listens on port 1; ssh takes the first value that it is given.
    let run = |host: &str, arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_jetlag"))
            .args(["deploy", host, &scenario, "--ssh-option", "BatchMode=yes"])
            .args(arguments)
            .output()
            .unwrap()
    };
    assert_refused(
        &run("127.0.0.1", &["--ssh-option", "Port=1"]),
        1,
        &["Connection refused", "start an ssh server there"],
    );
    assert_refused(
        &run("no-such-board.invalid", &[]),
        1,
        &["cannot reach no-such-board.invalid", "use its address"],
    );
    // What would be an option of ssh is none of ours.
    let option = Command::new(env!("CARGO_BIN_EXE_jetlag"))
        .args(["deploy", "--", "-oProxyCommand=true", &scenario])
        .output()
        .unwrap();
    assert_refused(&option, 2, &["`-oProxyCommand=true` is not a host"]);
}

#[test]
fn without_ssh_here_the_package_is_named() {
    let Some(board) = TestBoard::start() else { return };
    let scenario = sim(&board);
    let output = board
        .deploy(&[&scenario])
        .env("PATH", board.here.path())
        .output()
        .unwrap();
    assert_refused(&output, 1, &["`ssh` cannot be started here", "openssh-client"]);
}

#[test]
fn a_binary_for_other_processors_is_refused_before_anything_is_copied() {
    let Some(board) = TestBoard::start() else { return };
    let other = if cfg!(target_arch = "x86_64") { 183_u16 } else { 62 };
    let mut elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0".to_vec();
    elf.extend(other.to_le_bytes());
    fs::write(board.path("other"), elf).unwrap();
    let binary = board.path("other").display().to_string();
    let output = board.run(&[&sim(&board), "--binary", &binary]);
    assert_refused(
        &output,
        1,
        &["is for", "but localhost is", "scripts/cross.sh --arch"],
    );
    assert!(!board.path("board/jetlag/bin/jetlag").exists());
}

#[test]
fn a_board_whose_glibc_is_too_old_is_told_with_both_versions() {
    let Some(board) = TestBoard::start() else { return };
    // What glibc's loader says, of two versions that are missing.
    let said = "jetlag: /lib/libc.so.6: version \\`GLIBC_2.9' not found (required by jetlag)\n\
                jetlag: /lib/libc.so.6: version \\`GLIBC_2.99' not found (required by jetlag)";
    let binary = wrapper(&board, &format!("echo \"{said}\" >&2; exit 1"));
    let output = board.run(&[&sim(&board), "--binary", &binary]);
    assert_refused(
        &output,
        1,
        &[
            "needs glibc 2.99, but localhost has 2.",
            "scripts/cross.sh --arch",
        ],
    );
}

#[test]
fn a_disk_that_is_too_small_is_told_before_and_one_that_fills_up_when_it_does() {
    let Some(board) = TestBoard::start() else { return };
    let disk = board.path("board");
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
        .arg(&disk)
        .output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        return nvidia_doubles::machine::skip("only root can mount a small disk");
    }
    let scenario = sim(&board);
    let before = board.run(&[&scenario]);
    // Room for nothing more at all: even the folder of the run.
    let script = wrapper(
        &board,
        &format!(
            "head -c 900000 /dev/zero >{}/jetlag/filler; exit 0",
            disk.display()
        ),
    );
    let filled = board.run(&[&scenario, "--no-doctor", "--binary", &script]);
    let data = board.path("frames");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("1.bin"), vec![0; 16 * 20_000]).unwrap();
    let points = board.path("points.ron").display().to_string();
    fs::write(
        &points,
        "(tenants: [(name: \"l\", backend: Null, source: Points(path: \"frames\"))])",
    )
    .unwrap();
    let full = board.run(&[&points, "--no-doctor", "--binary", &script]);
    let _ = Command::new("umount").arg("-l").arg(&disk).status();
    assert_refused(
        &before,
        1,
        &["the disk of localhost is full", " free, but ", "--folder"],
    );
    assert_refused(
        &filled,
        1,
        &[
            "the disk of localhost is full: No space left on device",
            "--folder",
        ],
    );
    assert_refused(&full, 1, &["the disk of localhost is full", "--folder"]);
}

#[test]
fn a_wrong_scenario_is_told_before_anything_is_copied() {
    let Some(board) = TestBoard::start() else { return };
    let missing = board.run(&["nowhere.ron"]);
    assert_refused(&missing, 2, &["scenario nowhere.ron does not exist"]);
    let path = board.path("wrong.ron");
    fs::write(&path, "(tenants: [(name: \"a\", detector: \"gone.ron\")])").unwrap();
    let wrong = board.run(&[&path.display().to_string()]);
    assert_eq!(wrong.status.code(), Some(2), "{}", stderr(&wrong));
    assert!(stderr(&wrong).contains("gone.ron"), "{}", stderr(&wrong));
    assert!(!board.path("board/jetlag/bin/jetlag").exists());
}

#[test]
fn there_is_nothing_to_fetch_where_nothing_ran() {
    let Some(board) = TestBoard::start() else { return };
    let output = board.run(&["--fetch"]);
    assert_refused(
        &output,
        1,
        &["there is no run on localhost", "jetlag deploy localhost SCENARIO"],
    );
}

#[test]
fn options_of_a_sweep_are_refused_where_they_would_do_nothing() {
    for given in ["s.ron", "--resume", "--fetch"] {
        for option in [&["--limit", "3s"][..], &["--yes"], &["--extend"]] {
            let output = Command::new(env!("CARGO_BIN_EXE_jetlag"))
                .args(["deploy", "no-such-board.invalid"])
                .arg(given)
                .args(option)
                .output()
                .unwrap();
            assert_refused(&output, 2, &[option[0]]);
        }
    }
}
