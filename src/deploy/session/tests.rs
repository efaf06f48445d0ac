//! The states of a run, the board's shell, and what is brought.

use std::path::PathBuf;
use std::process::Command;

use super::brought::{Placed, place};
use super::*;

#[test]
fn the_states_of_a_run_are_read() {
    assert_eq!(state_of("running\n"), Some(State::Running));
    assert_eq!(state_of("ended 3\n"), Some(State::Ended(3)));
    assert_eq!(state_of("lost"), Some(State::Cut));
    assert_eq!(state_of("ended"), None);
    assert_eq!(state_of("motd: welcome"), None);
}

#[test]
fn a_run_whose_code_found_no_room_was_cut() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("runs/full");
    fs::create_dir_all(&run).unwrap();
    let state = |code: &str| {
        fs::write(run.join("exit"), code).unwrap();
        let answer = Command::new("sh")
            .args(["src/deploy/board.sh", "state"])
            .arg(folder.path())
            .arg("full")
            .output()
            .unwrap();
        state_of(&String::from_utf8_lossy(&answer.stdout))
    };
    assert_eq!(state(""), Some(State::Cut));
    assert_eq!(state("3\n"), Some(State::Ended(3)));
}

#[test]
fn what_is_asked_of_the_board_is_a_posix_script() {
    let checked = Command::new("sh")
        .args(["-n", "src/deploy/board.sh"])
        .output()
        .unwrap();
    assert!(checked.status.success(), "{checked:?}");
}

/// `board.sh` under one of the shells that a board may have.
struct BoardShell {
    shell: &'static [&'static str],
    folder: tempfile::TempDir,
}

impl BoardShell {
    /// One for each shell that there is here.
    fn each() -> Vec<BoardShell> {
        let shells: [&[&str]; 3] = [&["dash"], &["bash", "--posix"], &["busybox", "sh"]];
        let there = shells.into_iter().filter(|shell| {
            let there = Command::new(shell[0]).arg("--help").output().is_ok();
            if !there {
                eprintln!("skipped: there is no {}", shell[0]);
            }
            there
        });
        there
            .map(|shell| {
                let board = BoardShell {
                    shell,
                    folder: tempfile::tempdir().unwrap(),
                };
                for below in ["bin", "files", "plans", "runs"] {
                    fs::create_dir_all(board.path().join(below)).unwrap();
                }
                board
            })
            .collect()
    }

    /// A name that echo would expand.
    fn path(&self) -> PathBuf {
        self.folder.path().join("board\\new")
    }

    fn call(&self, verb: &str, words: &[&str]) -> Command {
        let mut command = Command::new(self.shell[0]);
        command
            .args(&self.shell[1..])
            .args(["src/deploy/board.sh", verb])
            .arg(self.path())
            .args(words);
        command
    }

    fn state(&self, run: &str) -> Option<State> {
        let answer = self.call("state", &[run]).output().unwrap();
        state_of(&String::from_utf8_lossy(&answer.stdout))
    }

    fn wait_for_end(&self, run: &str) -> Option<State> {
        while self.state(run) == Some(State::Running) {
            std::thread::sleep(LOOK);
        }
        self.state(run)
    }
}

#[test]
fn of_starts_at_once_one_begins_and_the_others_are_told_which() {
    for board in BoardShell::each() {
        // What a start leaves that was killed: nobody has this number, the highest there is being 2^22.
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        std::os::unix::fs::symlink(
            "4194305",
            board.path().join(format!("starting.{}.1", boot.trim())),
        )
        .unwrap();
        let names = ["a", "b", "c", "d", "e"];
        let until = "until [ -e ../../end ]; do sleep 0.05; done";
        let command = ["sh", "-c", until].map(shell::quoted).join(" ");
        let starts = names.map(|name| {
            board
                .call("start", &[name, "0", "0", &command])
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        });
        let answers = starts.map(|start| {
            let output = start.wait_with_output().unwrap();
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).unwrap()
        });
        let begun: Vec<&str> = names
            .into_iter()
            .zip(&answers)
            .filter(|(_, said)| said.is_empty())
            .map(|(name, _)| name)
            .collect();
        fs::write(board.path().join("end"), "").unwrap();
        let [run] = begun[..] else {
            panic!("{:?}: {answers:?}", board.shell)
        };
        let busy = format!("busy {run}\n");
        assert_eq!(
            answers.iter().filter(|said| **said == busy).count(),
            4,
            "{answers:?}"
        );
        assert_eq!(board.wait_for_end(run), Some(State::Ended(0)));
        assert_eq!(fs::read_dir(board.path().join("runs")).unwrap().count(), 1);
        // And the next one can.
        let next = board.call("start", &["f", "0", "0", "true"]).output().unwrap();
        assert!(next.status.success() && next.stdout.is_empty(), "{next:?}");
        assert_eq!(board.wait_for_end("f"), Some(State::Ended(0)));
    }
}

#[test]
fn a_request_to_end_that_comes_before_the_run_is_not_lost() {
    for board in BoardShell::each() {
        // A terminal for the run that takes its time.
        let bin = board.folder.path().join("programs");
        fs::create_dir(&bin).unwrap();
        let script = bin.join("script");
        nvidia_doubles::script(
            &script,
            "until [ -e ../../go ]; do sleep 0.05; done\nexec sh ./go",
        );
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let started = board
            .call("start", &["r", "24", "80", "touch ../../ran"])
            .env("PATH", path)
            .output()
            .unwrap();
        assert!(started.status.success(), "{started:?}");
        // It has no process yet that could be told.
        let stopped = board.call("stop", &["r"]).output().unwrap();
        assert_eq!(stopped.status.code(), Some(75), "{stopped:?}");
        fs::write(board.path().join("go"), "").unwrap();
        assert_eq!(
            board.wait_for_end("r"),
            Some(State::Ended(130)),
            "{:?}",
            board.shell
        );
        assert!(!board.path().join("ran").exists());
        assert!(board.call("stop", &["r"]).status().unwrap().success());
    }
}

#[test]
fn a_start_that_still_waits_is_called_off() {
    for board in BoardShell::each() {
        // Somebody else's start is under way, and goes on as long as this process.
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        let lock = board.path().join(format!("starting.{}.1", boot.trim()));
        std::os::unix::fs::symlink(std::process::id().to_string(), &lock).unwrap();
        let start = board
            .call("start", &["r", "0", "0", "touch ../../ran"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let asked = board.call("stop", &["r"]).output().unwrap();
        assert!(asked.status.success(), "{asked:?}");
        assert_eq!(String::from_utf8_lossy(&asked.stdout), "never\n");
        fs::remove_file(&lock).unwrap();
        let started = start.wait_with_output().unwrap();
        assert_eq!(started.status.code(), Some(73), "{:?}", board.shell);
        assert!(!board.path().join("ran").exists() && !board.path().join("last").exists());
        // The next one begins, and leaves no trace of this one.
        let next = board.call("start", &["s", "0", "0", "true"]).output().unwrap();
        assert!(next.status.success(), "{next:?}");
        assert_eq!(board.wait_for_end("s"), Some(State::Ended(0)));
        assert!(!board.path().join("runs/r").exists());
    }
}

#[test]
fn what_lies_at_a_place_is_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    fs::write(&from, "new").unwrap();
    fs::write(&to, "old").unwrap();
    assert!(matches!(place(&from, &to), Ok(Placed::Another)));
    assert_eq!(fs::read(&to).unwrap(), b"old");
    fs::write(&to, "new").unwrap();
    assert!(matches!(place(&from, &to), Ok(Placed::Same)));
    fs::remove_file(&to).unwrap();
    assert!(matches!(place(&from, &to), Ok(Placed::New)));
    assert!(!from.exists());
}

#[test]
fn every_character_of_an_argument_arrives_whatever_shell_the_board_has() {
    let all: String = (1..=127u8).map(char::from).collect();
    let word = format!("{all}\\0047$(touch owned)\\0047`touch owned`\\n\\c%s'\"");
    for board in BoardShell::each() {
        let run = ["printf", "%s", &word].map(shell::quoted).join(" ");
        let started = board.call("start", &["r", "0", "0", &run]).output().unwrap();
        assert!(started.status.success(), "{:?}: {started:?}", board.shell);
        assert_eq!(
            board.wait_for_end("r"),
            Some(State::Ended(0)),
            "{:?}",
            board.shell
        );
        let summary = fs::read_to_string(board.path().join("runs/r/summary")).unwrap();
        assert_eq!(summary, word, "{:?}", board.shell);
        assert!(!board.path().join("runs/r/owned").exists() && !Path::new("owned").exists());
    }
}

#[test]
fn a_command_that_jetlag_refuses_does_not_replace_the_sweep_s() {
    for board in BoardShell::each() {
        let swept = |run: &str, command: &str| {
            let started = board
                .call("start", &[run, "0", "0", command, "s"])
                .output()
                .unwrap();
            assert!(started.status.success(), "{:?}: {started:?}", board.shell);
            let ended = board.wait_for_end(run);
            let said = fs::read_to_string(board.path().join("runs").join(run).join("summary"));
            (ended, said.unwrap())
        };
        let words = |text: &str| ["sh", "-c", text].map(shell::quoted).join(" ");
        let (refused, taken) = (Some(State::Ended(2)), Some(State::Ended(0)));
        assert_eq!(swept("a", &words("echo first")), (taken, "first\n".to_owned()));
        assert_eq!(
            swept("b", &words("echo other; exit 2")),
            (refused, "other\n".to_owned())
        );
        assert_eq!(swept("c", ""), (taken, "first\n".to_owned()));
        // One that was cut off was not refused: it goes on.
        let keeper = board.path().join("runs/d/keeper");
        let cut = words(&format!(
            "echo longer; [ -e ../../cut ] || {{ >../../cut; kill -9 $(cat {}); }}",
            shell::quoted(&keeper.display().to_string())
        ));
        assert_eq!(swept("d", &cut), (Some(State::Cut), "longer\n".to_owned()));
        assert_eq!(swept("e", ""), (taken, "longer\n".to_owned()));
        assert_eq!(
            swept("f", &words("echo other; exit 2")),
            (refused, "other\n".to_owned())
        );
        assert_eq!(swept("g", ""), (taken, "longer\n".to_owned()));
        assert!(!board.path().join("sweeps/s.go.asked").exists());
    }
}
