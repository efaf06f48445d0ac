//! A board that is somebody else's: what it says and sends never leaves `--out`, replaces nothing, and ends when it is told to.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::board::TestBoard;
use crate::common::output::{assert_refused, stderr};

/// Answers like a board whose last run is called what `$NAME` says, and sends what `$ARCHIVE` makes.
/// At the verb `$HANGS_AT` it says nothing more, at `$BREAKS_AT` the connection is lost.
const SSH: &str = r#"verb=$(printf %s "$*" | sed -n "s/.*'--' '\([a-z]*\)'.*/\1/p")
if [ -n "$verb" ] && [ "$verb" = "$HANGS_AT" ]; then echo $$ >"$HERE/hangs"; exec sleep 3600; fi
if [ -n "$verb" ] && [ "$verb" = "$BREAKS_AT" ]; then echo 'Connection reset' >&2; exit 255; fi
case $verb in
  probe)
    printf 'machine x86_64\nprocessors 4\nglibc glibc 2.36\nfolder /home/x/jetlag\nfree_kib 100000\n'
    [ -z "$NAME" ] || printf 'last %s\nstate %s\n' "$NAME" "$(cat "$HERE/state" 2>/dev/null || echo 'ended 0')"
    [ -z "$SWEEP" ] || printf 'sweep %s\n' "$SWEEP" ;;
  results) sh -c "$RESULTS" ;;
  send) sh -c "$SEND" ;;
  start) printf '%s\n' "$STARTED" ;;
  follow) echo $$ >"$HERE/follows"; exec sh -c "$FOLLOW" ;;
  stop) echo asked >"$HERE/asked"; [ -n "$DEAF" ] && exit 75; echo 'ended 130' >"$HERE/state"; printf %s "$NEVER" ;;
  state) cat "$HERE/state" 2>/dev/null || echo 'ended 0' ;;
  bring) echo begun >"$HERE/bringing"; sh -c "$ARCHIVE" || exit ;;
esac
cat >/dev/null
"#;

pub(crate) struct Hostile {
    here: tempfile::TempDir,
}

impl Hostile {
    pub(crate) fn new() -> Hostile {
        let here = tempfile::tempdir().unwrap();
        fs::create_dir(here.path().join("bin")).unwrap();
        let ssh = here.path().join("bin/ssh");
        nvidia_doubles::script(&ssh, SSH);
        fs::create_dir(here.path().join("victim")).unwrap();
        fs::write(here.path().join("victim/keep.mcap"), "precious").unwrap();
        Hostile { here }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.here.path().join(name)
    }

    pub(crate) fn fetch(&self, name: &str, archive: &str) -> Command {
        let mut command = self.deploy(&["--fetch", "--quiet"]);
        command.env("NAME", name).env("ARCHIVE", archive);
        command
    }

    fn deploy(&self, arguments: &[&str]) -> Command {
        let path = format!(
            "{}:{}",
            self.path("bin").display(),
            std::env::var("PATH").unwrap()
        );
        let mut command = Command::new(env!("CARGO_BIN_EXE_jetlag"));
        command
            .args(["deploy", "board", "--out"])
            .arg(self.path("out"))
            .args(arguments)
            .current_dir(self.here.path())
            .env("PATH", path)
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
        (
            "cd $(mktemp -d) && mkfifo log && tar -c ./log",
            "not a regular file",
        ),
        (
            "cd $(mktemp -d) && ln -s \"$HERE/victim\" r.mcap && tar -c ./r.mcap",
            "not a regular file",
        ),
        ("head -c 4096 /dev/urandom", "not an archive"),
        (
            "cd $(mktemp -d) && echo a >log && tar -c ./log ./log",
            "not a regular file",
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
        said.contains("r.mcap") && said.contains("already exists"),
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

/// A terminal of `script`, on which jetlag follows a run that draws; what came on it.
struct Terminal {
    script: std::process::Child,
    jetlag: Pid,
    shown: PathBuf,
}

impl Terminal {
    fn follow(board: &Hostile, draws: &str, deaf: bool) -> Terminal {
        fs::write(board.path("state"), "running\n").unwrap();
        let deploy = board.deploy(&["--fetch"]);
        let words: Vec<String> = std::iter::once(deploy.get_program())
            .chain(deploy.get_args())
            .map(|word| format!("'{}'", word.to_str().unwrap()))
            .collect();
        let shown = board.path("shown");
        let script = Command::new("script")
            .args(["-q", "-f", "-e", "-c"])
            .arg(format!(
                "exec sh -c 'echo $$ >pid.new; mv pid.new pid; exec \"$@\"' sh {}",
                words.join(" ")
            ))
            .arg(&shown)
            .current_dir(board.here.path())
            .envs(deploy.get_envs().filter_map(|(key, value)| Some((key, value?))))
            .env("NAME", "r")
            .env("ARCHIVE", "cd $(mktemp -d) && echo said >log && tar -c ./log")
            .env("FOLLOW", format!("printf '{draws}'; exec sleep 3600"))
            .env("DEAF", if deaf { "yes" } else { "" })
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let drawn = || fs::read_to_string(&shown).is_ok_and(|text| text.contains("camera"));
        super::under_way::wait_until("the run is shown", drawn);
        let pid: i32 = fs::read_to_string(board.path("pid"))
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        Terminal {
            script,
            jetlag: Pid::from_raw(pid).unwrap(),
            shown,
        }
    }

    fn ended(mut self) -> (Option<i32>, String) {
        let status = self.script.wait().unwrap();
        (status.code(), fs::read_to_string(&self.shown).unwrap())
    }
}

const DRAWS: &str = "\\033[?1049h\\033[?25l\\033[2J\\033]0;owned\\007camera";

#[test]
fn a_terminal_is_given_back_after_ctrl_c_and_obeys_nothing_but_a_dashboard() {
    let board = Hostile::new();
    let terminal = Terminal::follow(&board, DRAWS, false);
    kill_process_group(terminal.jetlag, Signal::INT).unwrap();
    let (code, shown) = terminal.ended();
    assert_eq!(code, Some(130), "{shown:?}");
    assert!(board.path("asked").exists(), "the run was not asked to end");
    let (drawn, after) = shown.split_once("camera").unwrap();
    assert!(drawn.contains("\x1b[?1049h\x1b[?25l\x1b[2J"), "{shown:?}");
    assert!(drawn.contains("\\u001b]0;owned\\u0007"), "{shown:?}");
    assert!(!shown.contains("\x1b]"), "{shown:?}");
    assert!(after.contains("\x1b[?1049l\x1b[?25h"), "{shown:?}");
    assert!(after.contains("stopped before it had a run file"), "{shown:?}");
}

#[test]
fn a_second_signal_ends_at_once_and_gives_the_terminal_back() {
    let board = Hostile::new();
    let terminal = Terminal::follow(&board, DRAWS, true);
    kill_process(terminal.jetlag, Signal::TERM).unwrap();
    super::under_way::wait_until("the run is asked to end", || board.path("asked").exists());
    kill_process(terminal.jetlag, Signal::TERM).unwrap();
    let (code, shown) = terminal.ended();
    assert_eq!(code, Some(130), "{shown:?}");
    let (_, after) = shown.split_once("camera").unwrap();
    assert!(after.contains("\x1b[?1049l\x1b[?25h"), "{shown:?}");
    assert!(
        after.contains("the run on the board was asked to stop; fetch it with"),
        "{shown:?}"
    );
    // Nothing is left that follows the run.
    let follower = fs::read_to_string(board.path("follows")).unwrap();
    let line = || fs::read_to_string(format!("/proc/{}/cmdline", follower.trim())).unwrap_or_default();
    // One that was killed is there until it has had the processor once more.
    super::under_way::wait_until("nobody follows the run", || !line().contains("3600"));
}

#[test]
fn where_it_breaks_off_it_is_said_how_the_run_stands() {
    let board = Hostile::new();
    let scenario = board.path("s.ron");
    fs::write(&scenario, "(tenants: [(name: \"a\", backend: Null)])").unwrap();
    let scenario = scenario.display().to_string();
    let run = [&scenario, "--no-doctor", "--binary", "/bin/true"];
    let run = &run[..];
    let fetch = &["--fetch"][..];
    let none = "nothing was started on the board";
    let goes_on = "unless the board went down, the run continues there";
    let stays = "the run on the board has ended";
    for (arguments, verb, state, never, lost, interrupted) in [
        (run, "list", "", "", none, none),
        (
            run,
            "start",
            "",
            "",
            "the run may have started on the board",
            "the run on the board was asked to stop",
        ),
        (
            run,
            "start",
            "",
            "never",
            "the run may have started on the board",
            none,
        ),
        (run, "follow", "running", "", goes_on, ""),
        (fetch, "follow", "running", "", goes_on, ""),
        (fetch, "bring", "ended 0", "", stays, stays),
    ] {
        fs::write(board.path("state"), format!("{state}\n")).unwrap();
        let name = if arguments == fetch { "r" } else { "" };
        let broken = board
            .deploy(arguments)
            .env("NAME", name)
            .env("BREAKS_AT", verb)
            .output()
            .unwrap();
        let said = stderr(&broken);
        assert_eq!(broken.status.code(), Some(1), "{verb}: {said}");
        assert!(said.contains(lost), "{verb}: {said}");
        assert!(
            said.contains("the connection to board was lost"),
            "{verb}: {said}"
        );
        if interrupted.is_empty() {
            continue;
        }
        let _ = fs::remove_file(board.path("hangs"));
        let stopped = board
            .deploy(arguments)
            .env("NAME", name)
            .env("HANGS_AT", verb)
            .env("NEVER", never)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        super::under_way::wait_until(verb, || board.path("hangs").exists());
        kill_process(Pid::from_child(&stopped), Signal::INT).unwrap();
        let stopped = stopped.wait_with_output().unwrap();
        let said = stderr(&stopped);
        assert_eq!(stopped.status.code(), Some(130), "{verb}: {said}");
        assert!(said.contains(interrupted), "{verb}: {said}");
    }
    let busy = board.deploy(run).env("STARTED", "busy other-1").output().unwrap();
    assert!(
        stderr(&busy).contains("the run other-1 is still running on board"),
        "{}",
        stderr(&busy)
    );
}

#[test]
fn what_a_board_says_of_itself_reaches_no_terminal_as_a_command() {
    let board = Hostile::new();
    let ssh = SSH.replace("machine x86_64", "machine x\\033]0;owned\\007");
    nvidia_doubles::script(&board.path("bin/ssh"), &ssh);
    let output = board.fetched("r", "printf 'no \\033[2J such \\302\\233 file' >&2; exit 66");
    let said = stderr(&output);
    assert!(
        said.contains("x\\u001b]0;owned\\u0007") && said.contains("no \\u001b[2J such \\u009b"),
        "{said}"
    );
    assert!(!said.contains(['\u{1b}', '\u{7}', '\u{9b}']), "{said:?}");
}

#[test]
fn two_fetches_at_once_both_bring_the_run() {
    let board = Hostile::new();
    // Each sends its log once the other has begun.
    let archive = "cd $(mktemp -d) && touch \"$HERE/begun-$$\" && echo run >log && \
                   until [ $(ls \"$HERE\" | grep -c begun-) = 2 ]; do sleep 0.05; done; tar -c ./log";
    let fetches = [(); 2].map(|()| board.fetch("r", archive).stderr(Stdio::piped()).spawn().unwrap());
    for fetch in fetches {
        let output = fetch.wait_with_output().unwrap();
        let said = stderr(&output);
        // There is no run file, which is said with the log.
        assert!(said.contains("left no run file"), "{said}");
    }
    assert_eq!(below(&board.path("out")), [board.path("out/r.log")]);
}

#[test]
fn manifests_that_came_since_are_added_and_none_is_replaced() {
    let board = Hostile::new();
    let send = |files: &str| {
        let archive = format!("cd $(mktemp -d) && {files} echo said >log && tar -c ./log ./*.plan.json");
        stderr(&board.fetched("r", &archive))
    };
    let first = send("echo 1 >a.plan.json; echo 1 >b.plan.json;");
    assert!(first.contains("manifests of its plans: "), "{first}");
    assert!(!first.contains("already there"), "{first}");
    let second = send("echo 1 >a.plan.json; echo 2 >b.plan.json; echo 3 >c.plan.json;");
    assert!(
        second.contains(
            "(1 new, 1 already there); these differ from the board's and were not replaced: b.plan.json"
        ),
        "{second}"
    );
    let read = |name: &str| fs::read_to_string(board.path("out/r.plans").join(name)).unwrap();
    assert_eq!(
        ["a", "b", "c"].map(|name| read(&format!("{name}.plan.json"))),
        ["1\n", "1\n", "3\n"]
    );
    // Not through a link that somebody put there.
    fs::remove_dir_all(board.path("out/r.plans")).unwrap();
    std::os::unix::fs::symlink(board.path("victim"), board.path("out/r.plans")).unwrap();
    let third = send("echo 1 >a.plan.json;");
    assert!(third.contains("is not a folder"), "{third}");
    board.assert_kept();
}

/// A journal of a sweep in which a run has failed with a message that draws on terminals.
fn journal() -> String {
    use jetlag_sweep::journal::{Entry, FORMAT, Header, RunEntry, encode};
    use jetlag_sweep::{Axis, Plan};
    let plan = Plan {
        axes: vec![Axis {
            set: "duration\x1b]0;owned\x07".to_owned(),
            values: vec!["1s".to_owned()],
            till_first_fail: false,
        }],
        repeats: 1,
        ..Plan::default()
    };
    let point = plan.points().unwrap().remove(0);
    let failed =
        serde_json::json!({"stage": "run", "kind": "other", "tenant": null, "message": "\x1b[2Jowned"});
    let run = RunEntry {
        point: point.id(),
        settings: point.settings,
        repeat: 0,
        seed: None,
        began_unix_s: 0.0,
        took_s: 1.0,
        file: None,
        failed: Some(serde_json::from_value(failed).unwrap()),
        findings: Vec::new(),
        networks: Default::default(),
        columns: None,
        figures: Vec::new(),
    };
    let header = Header {
        format: FORMAT,
        jetlag: "0".to_owned(),
        base: "base\x1b[31m.ron".to_owned(),
        base_hash: String::new(),
        plan,
        files: Default::default(),
        limit_s: None,
        knee: None,
    };
    encode(&Entry::Sweep(header)).unwrap() + &encode(&Entry::Run(run)).unwrap()
}

#[test]
fn a_board_s_results_stay_within_their_folder() {
    let board = Hostile::new();
    let journal = journal();
    fs::write(board.path("journal"), &journal).unwrap();
    let fetched = |sweep: &str, results: &str, send: &str| {
        let mut command = board.fetch("r", "");
        command
            .env("SWEEP", sweep)
            .env("RESULTS", results)
            .env("SEND", send);
        command.output().unwrap()
    };
    let named = fetched("../victim", "", "");
    assert!(
        stderr(&named).contains("the name of its last sweep"),
        "{}",
        stderr(&named)
    );

    // Names that lead elsewhere are not asked for, and what comes beside what was asked for is not kept.
    let length = journal.len();
    let results = format!(
        "printf '5.0 {length} journal.jsonl\\0005.0 8 ../victim/keep.mcap\\0005.0 8 runs/../../victim/keep.mcap\\0005.0 8 /etc/x.mcap\\0005.0 8 lock\\000'"
    );
    let send = format!("echo '5.0 {length}'; cat \"$HERE/journal\"; printf more");
    let done = fetched("s", &results, &send);
    let said = stderr(&done);
    assert_eq!(done.status.code(), Some(0), "{said}");
    assert!(said.contains("fetched 1 of 1 files"), "{said}");
    let out = board.path("out");
    assert_eq!(fs::read_to_string(out.join("journal.jsonl")).unwrap(), journal);
    assert_eq!(fs::read_dir(out.join("runs")).unwrap().count(), 0);
    board.assert_kept();
    // What it says of its sweep is shown, and not obeyed.
    let shown = String::from_utf8_lossy(&done.stdout).into_owned() + &said;
    assert!(
        shown.contains("owned") && !shown.contains(['\x1b', '\x07']),
        "{shown:?}"
    );

    // A file that is another than was announced, one that never ends, and one that breaks off.
    for (results, send, phrase) in [
        (
            "printf '6.0 3 journal.jsonl\\000'",
            "echo '6.0 4'; printf abcd",
            "changed on board while it was fetched",
        ),
        (
            "printf '6.0 99999999999999 journal.jsonl\\000'",
            "cat /dev/zero",
            "raise the limit with --at-most",
        ),
        (
            "printf '6.0 30 journal.jsonl\\000'",
            "echo '6.0 30'; printf abc; exit 1",
            "sending the results failed on board: it ended before all was sent",
        ),
        (
            "printf '7.0 4 journal.jsonl\\000'",
            "echo '7.0 4'; printf 'xyz\\n'; cat /dev/zero | head -c 1000000",
            "holds another sweep",
        ),
        (
            "printf '7.0 4 table.csv\\000'",
            "",
            "could not begin with the sweep",
        ),
    ] {
        let refused = fetched("s", results, send);
        assert!(!refused.status.success(), "{results}");
        assert!(
            stderr(&refused).contains(phrase),
            "{phrase}: {}",
            stderr(&refused)
        );
        assert_eq!(fs::read_to_string(out.join("journal.jsonl")).unwrap(), journal);
    }
    board.assert_kept();
}

#[test]
fn sizes_whose_sum_no_number_holds_are_too_much() {
    let board = Hostile::new();
    let half = 1_u64 << 63;
    let results = format!("printf '5.0 {half} journal.jsonl\\0005.0 {half} runs/a.mcap\\000'");
    let mut command = board.fetch("r", "");
    command
        .env("SWEEP", "s")
        .env("RESULTS", results)
        .env("SEND", format!("echo '5.0 {half}'; cat /dev/zero"));
    let output = command.output().unwrap();
    assert_refused(&output, 1, &["raise the limit with --at-most"]);
    let kept = below(&board.path("out"));
    assert!(
        !kept
            .iter()
            .any(|path| path.extension().is_some_and(|ending| ending == "part")),
        "{kept:?}"
    );
}

#[test]
fn what_a_board_refuses_brings_no_other_sweep_s_results() {
    let board = Hostile::new();
    fs::write(
        board.path("base.ron"),
        "(tenants: [(name: \"a\", backend: Null)])",
    )
    .unwrap();
    let sweep = r#"Sweep(base: "base.ron", axes: [Axis(set: "duration", values: ["1s"])])"#;
    fs::write(board.path("s.ron"), sweep).unwrap();
    fs::write(board.path("state"), "ended 2\n").unwrap();
    fs::write(board.path("journal"), journal()).unwrap();
    let length = journal().len();
    let refused = board
        .deploy(&[
            "--sweep",
            "s.ron",
            "--no-doctor",
            "--binary",
            "/bin/true",
            "--quiet",
        ])
        .env("RESULTS", format!("printf '5.0 {length} journal.jsonl\\000'"))
        .env("SEND", format!("echo '5.0 {length}'; cat \"$HERE/journal\""))
        .env(
            "ARCHIVE",
            "cd $(mktemp -d) && echo 'error: begun with another sweep' >log && tar -c ./log",
        )
        .output()
        .unwrap();
    assert_refused(
        &refused,
        2,
        &["could not begin with the sweep: begun with another sweep"],
    );
    assert!(!board.path("out/journal.jsonl").exists());
}

#[test]
fn a_board_starts_only_programs_that_were_allowed_here() {
    let Some(board) = TestBoard::start() else { return };
    let mark = board.path("mark");
    let source = format!(
        "Camera(command: [\"sh\", \"-c\", \"touch {}; exec cat /dev/zero\"], size: \"8x8\")",
        mark.display()
    );
    let text = format!(
        "Scenario(duration: \"10min\", warmup: \"0s\", telemetry: (sources: [Host]), tenants: [\
         Tenant(name: \"cam\", backend: Null, source: {source}, frames: 3)])"
    );
    let (scenario, sweep) = (board.path("s.ron"), board.path("sweep.ron"));
    fs::write(&scenario, text).unwrap();
    fs::write(
        &sweep,
        "Sweep(base: \"s.ron\", axes: [Axis(set: \"seed\", values: [1])])",
    )
    .unwrap();
    let [scenario, sweep] = [scenario, sweep].map(|path| path.display().to_string());
    for line in [&[scenario.as_str()][..], &["--sweep", &sweep]] {
        let refused = board.run(line);
        assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
        assert!(
            stderr(&refused).contains("--allow-commands"),
            "{}",
            stderr(&refused)
        );
        assert!(
            !mark.exists() && !stderr(&refused).contains("copied"),
            "{}",
            stderr(&refused)
        );
    }
    for line in [
        &[scenario.as_str(), "--allow-commands"][..],
        &["--sweep", &sweep, "--allow-commands"],
    ] {
        let started = board.run(line);
        assert!(mark.exists(), "{}", stderr(&started));
        fs::remove_file(&mark).unwrap();
        let _ = fs::remove_dir_all(board.path("out"));
        std::thread::sleep(std::time::Duration::from_millis(1100));
    }
}
