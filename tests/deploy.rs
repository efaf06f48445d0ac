//! `jetlag deploy` against a real sshd on loopback: this machine is the board.

use crate::common::output::stderr;
use crate::common::under_way;

mod bad_input;
pub(crate) mod board;
mod guides;
pub(crate) mod hostile;
mod install;
mod sweeps;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use board::TestBoard;
use nvidia_doubles::machine;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Simulated tenants in real time: a run without networks, of the length that is asked for.
const SIM: &str = "Scenario(name: \"sim\", warmup: \"0s\", telemetry: (interval: \"1s\"), tenants: [Tenant(name: \"camera\", \
                   backend: Sim(Fixed(\"2ms\")), arrival: Periodic(hz: 50))])";

/// Three frames of [`SIM`]: a good run, however long a busy machine takes for them.
const THREE_FRAMES: [&str; 4] = ["--set", "duration=10min", "--set", "tenants.camera.frames=3"];

/// Two frames of each of the demo's tenants, however long they take: no time is promised here, and emulation has none to give.
const TWO_FRAMES: [&str; 14] = [
    "--set",
    "warmup=0s",
    "--set",
    "duration=10min",
    "--set",
    "tenants.camera.arrival=Closed",
    "--set",
    "tenants.camera.frames=2",
    "--set",
    "tenants.lidar.arrival=Closed",
    "--set",
    "tenants.lidar.frames=2",
    "--format",
    "json",
];

fn sim(board: &TestBoard) -> String {
    let path = board.path("sim.ron");
    fs::write(&path, SIM).unwrap();
    path.display().to_string()
}

/// A program that starts jetlag on the board in its own way.
fn wrapper(board: &TestBoard, line: &str) -> String {
    let path = board.path("wrapper");
    nvidia_doubles::script(&path, line);
    path.display().to_string()
}

#[test]
fn the_demo_runs_on_the_board_and_only_what_changed_is_sent_again() {
    let Some(board) = TestBoard::start() else { return };
    // A copy, so that one of its files can change.
    for folder in ["configs", "engines"] {
        let copied = Command::new("cp")
            .args(["-r", folder])
            .arg(board.here.path())
            .status();
        assert!(copied.unwrap().success());
    }
    let demo = board.path("configs/demo.ron").display().to_string();
    let deploy = || board.run(&[&[demo.as_str()], &TWO_FRAMES[..]].concat());
    let first = deploy();
    let said = stderr(&first);
    assert!(matches!(first.status.code(), Some(0 | 3)), "{said}");
    assert!(said.contains("copied 7 of 7 files"), "{said}");
    let summary: Value = serde_json::from_slice(&first.stdout).unwrap();
    for tenant in summary["tenants"].as_array().unwrap() {
        assert_eq!(tenant["frames"]["completed"], 2, "{tenant}");
        assert!(tenant["detections"].as_u64().unwrap() > 0, "{tenant}");
    }
    assert_eq!(board.brought().len(), 1);

    // Run names have whole seconds.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let second = deploy();
    assert!(
        stderr(&second).contains("copied 0 of 7 files (0 B)"),
        "{}",
        stderr(&second)
    );

    std::thread::sleep(std::time::Duration::from_millis(1100));
    let spec = board.path("engines/camera.ron");
    let text = fs::read_to_string(&spec).unwrap();
    fs::write(&spec, format!("// changed\n{text}")).unwrap();
    let third = deploy();
    assert!(
        stderr(&third).contains("copied 1 of 7 files"),
        "{}",
        stderr(&third)
    );
    assert_eq!(board.brought().len(), 3);
    // What has been brought does not pile up there.
    let there = fs::read_dir(board.path("board/jetlag/runs")).unwrap().count();
    assert_eq!(there, 1, "runs on the board");
}

#[test]
fn frames_that_are_gone_here_are_gone_on_the_board() {
    let Some(board) = TestBoard::start() else { return };
    let frames = board.path("frames");
    fs::create_dir(&frames).unwrap();
    for name in ["1.bin", "2.bin"] {
        fs::write(frames.join(name), [0; 16 * 100]).unwrap();
    }
    let scenario = board.path("points.ron").display().to_string();
    fs::write(
        &scenario,
        "(duration: \"10min\", warmup: \"0s\", tenants: [(name: \"lidar\", backend: Null, source: Points(path: \"frames\"), \
         arrival: Periodic(hz: 50), frames: 5)])",
    )
    .unwrap();
    let first = board.run(&[&scenario]);
    assert!(first.status.success(), "{}", stderr(&first));
    let there = board
        .path("board/jetlag/files")
        .join(frames.strip_prefix("/").unwrap());
    assert_eq!(fs::read_dir(&there).unwrap().count(), 2);
    fs::remove_file(frames.join("2.bin")).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let second = board.run(&[&scenario]);
    assert!(second.status.success(), "{}", stderr(&second));
    assert_eq!(fs::read_dir(&there).unwrap().count(), 1);
}

#[test]
fn a_run_goes_on_when_the_connection_is_lost_and_is_fetched_later() {
    let Some(board) = TestBoard::start() else { return };
    let scenario = sim(&board);
    // Long enough to be measuring when the link is cut. It counts as under way until the test has seen what is said meanwhile,
    // however long that takes a busy machine.
    let over = board.path("over");
    let line = format!(
        "[ \"$1\" = run ] || exec {0} \"$@\"\n{0} \"$@\"\ncode=$?\nuntil [ -e {1} ]; do sleep 0.05; done\nexit $code",
        env!("CARGO_BIN_EXE_jetlag"),
        over.display()
    );
    let binary = wrapper(&board, &line);
    let more = ["--no-doctor", "--set", "duration=15s", "--binary", &binary];
    let child = board
        .deploy(&[&[scenario.as_str()], &more[..]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    board.wait_for_follower();
    board.cut_connections();
    let lost = child.wait_with_output().unwrap();
    let said = stderr(&lost);
    assert_eq!(lost.status.code(), Some(1), "{said}");
    assert!(
        said.contains("the run continues there; fetch it with: jetlag deploy localhost --fetch"),
        "{said}"
    );
    assert!(said.contains("the connection to localhost was lost"), "{said}");
    assert!(board.brought().is_empty());

    // It is still under way: a second one is refused, and the fetch waits for its end.
    let busy = board.run(&[&scenario, "--no-doctor"]);
    assert_eq!(busy.status.code(), Some(1));
    assert!(
        stderr(&busy).contains("is still running on localhost"),
        "{}",
        stderr(&busy)
    );
    let fetch = board
        .deploy(&["--fetch", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    board.wait_for_follower();
    fs::write(over, "").unwrap();
    let fetched = fetch.wait_with_output().unwrap();
    assert!(fetched.status.success(), "{}", stderr(&fetched));
    let summary: Value = serde_json::from_slice(&fetched.stdout).unwrap();
    // On a busy machine the end may cut off a frame or two, which then count as unfinished.
    let ended = &summary["phases"][0]["tenants"][0]["ended"];
    assert_eq!(ended, "duration", "the run was not cut: {summary}");
    assert_eq!(board.brought().len(), 1);
}

#[test]
fn a_detached_run_is_ended_by_ctrl_c_of_whoever_fetches_it() {
    let Some(board) = TestBoard::start() else { return };
    let scenario = sim(&board);
    let started = board.run(&[&scenario, "--detach", "--no-doctor", "--set", "duration=10min"]);
    assert!(started.status.success(), "{}", stderr(&started));
    board.wait_for_frames();
    let fetch = board
        .deploy(&["--fetch", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    board.wait_for_follower();
    kill_process(Pid::from_child(&fetch), Signal::INT).unwrap();
    let ended = fetch.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{}", stderr(&ended));
    let summary: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert!(
        summary["tenants"][0]["frames"]["completed"].as_u64().unwrap() > 0,
        "{summary}"
    );
}

#[test]
fn a_run_that_does_not_listen_yet_is_ended_once_it_does() {
    let Some(board) = TestBoard::start() else { return };
    let scenario = sim(&board);
    // A shell in the background ignores SIGINT: it would be lost there.
    let line = format!(
        "if [ \"$1\" = run ]; then touch {}; until [ -e {} ]; do sleep 0.05; done; fi\nexec {} \"$@\"",
        board.path("begun").display(),
        board.path("asked").display(),
        env!("CARGO_BIN_EXE_jetlag")
    );
    let binary = wrapper(&board, &line);
    let run = board
        .deploy(&[
            &scenario,
            "--no-doctor",
            "--set",
            "duration=10min",
            "--binary",
            &binary,
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    under_way::wait_until("the run begins", || board.path("begun").exists());
    // While it is being started, an interruption leaves it to itself.
    board.wait_for_follower();
    kill_process(Pid::from_child(&run), Signal::INT).unwrap();
    let runs = board.path("board/jetlag/runs");
    let asked = || {
        fs::read_dir(&runs)
            .unwrap()
            .flatten()
            .any(|run| run.path().join("stop").exists())
    };
    under_way::wait_until("the run is asked to end", asked);
    fs::write(board.path("asked"), "").unwrap();
    let ended = run.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130), "{}", stderr(&ended));
    let kept = fs::read_dir(&runs).unwrap().next().unwrap().unwrap().path();
    assert_eq!(fs::read_to_string(kept.join("exit")).unwrap(), "130\n");
}

#[test]
fn on_a_terminal_the_board_s_dashboard_is_shown() {
    let Some(board) = TestBoard::start() else { return };
    let scenario = sim(&board);
    let command = board.deploy(&[&scenario, "--no-doctor", "--set", "duration=6s"]);
    let words: Vec<String> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| format!("'{}'", word.to_str().unwrap()))
        .collect();
    let shown = Command::new("script")
        .args([
            "-q",
            "-e",
            "-c",
            &format!("stty rows 30 cols 100; {}", words.join(" ")),
        ])
        .arg("/dev/null")
        .stdin(Stdio::null())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("TERM", "xterm")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&shown.stdout);
    assert!(shown.status.success(), "{text}");
    let (before, after) = text.split_once("\x1b[?1049h").expect("the dashboard opens");
    assert!(before.contains("running sim-"), "{before}");
    let (dashboard, summary) = after.split_once("\x1b[?1049l").expect("and is left");
    assert!(dashboard.contains("camera"), "{dashboard}");
    assert!(summary.contains("RESPONSE TIME"), "{summary}");
}

/// NVIDIA's TensorRT-RTX builds without a GPU, which a run cannot: the plans are built before it, into the same cache.
#[test]
fn the_manifests_of_the_board_s_plans_come_back_and_its_plans_stay() {
    let Some(tensorrt) = machine::environment("rtx-1.7", "JETLAG_REQUIRE_TENSORRT") else {
        return;
    };
    let Some(board) = TestBoard::start() else { return };
    let jetlag = env!("CARGO_BIN_EXE_jetlag");
    let network = concat!(env!("CARGO_MANIFEST_DIR"), "/engines/camera.onnx");
    let line = format!(
        "[ \"$1\" != run ] || JETLAG_TENSORRT='{}' {jetlag} build {network} --compute-capability 89 --quiet >/dev/null || exit\nexec {jetlag} \"$@\"",
        tensorrt.display()
    );
    let binary = wrapper(&board, &line);
    let more = ["--binary", &binary, "--no-doctor"];
    let done = board.run(&[&[sim(&board).as_str()], &more[..], &THREE_FRAMES].concat());
    let said = stderr(&done);
    assert!(done.status.success(), "{said}");
    assert!(said.contains("manifests of its plans: "), "{said}");
    let of = |folder: &Path, ending: &str| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries
            .filter(|path| path.to_str().unwrap().ends_with(ending))
            .collect()
    };
    let there = board.path("board/jetlag/plans");
    let here = board.brought()[0].with_extension("plans");
    let [manifest] = &of(&here, ".plan.json")[..] else {
        panic!("{here:?}: {said}")
    };
    let original = there.join(manifest.file_name().unwrap());
    assert_eq!(fs::read(manifest).unwrap(), fs::read(original).unwrap());
    assert_eq!((of(&here, ".plan").len(), of(&there, ".plan").len()), (0, 1));
}

#[test]
fn a_board_without_cuda_is_told_what_that_means() {
    let Some(board) = TestBoard::start() else { return };
    let bare = board.path("bare");
    fs::create_dir(&bare).unwrap();
    let jetlag = env!("CARGO_BIN_EXE_jetlag");
    let binary = wrapper(
        &board,
        &format!("JETLAG_ROOT={} exec {jetlag} \"$@\"", bare.display()),
    );
    let more = ["--binary", binary.as_str()];
    let done = board.run(&[&[sim(&board).as_str()], &more[..], &THREE_FRAMES].concat());
    let said = stderr(&done);
    assert!(done.status.success(), "{said}");
    assert!(
        said.contains(
            "localhost has no CUDA driver and no TensorRT: tenants with `backend: Auto` run on its"
        ),
        "{said}"
    );
    assert!(said.contains("nvidia-jetpack"), "{said}");
}

/// With `JETLAG_AARCH64` naming a cross-built binary: scripts/cross_check.sh does that.
#[test]
fn an_aarch64_jetlag_runs_under_qemu_as_the_board_s() {
    let Some(cross) = machine::variable("JETLAG_AARCH64") else {
        return machine::skip("JETLAG_AARCH64 names no binary (scripts/cross_check.sh does)");
    };
    let board = TestBoard::start().expect("JETLAG_AARCH64 asks for a deployment, which takes an sshd");
    let cross = Path::new(&cross)
        .canonicalize()
        .expect("JETLAG_AARCH64 names a binary");
    let line = format!(
        "exec qemu-aarch64 -L /usr/aarch64-linux-gnu {} \"$@\"",
        cross.display()
    );
    let binary = wrapper(&board, &line);
    let done = board.run(&[&["configs/demo.ron", "--binary", &binary], &TWO_FRAMES[..]].concat());
    assert!(matches!(done.status.code(), Some(0 | 3)), "{}", stderr(&done));
    let summary: Value = serde_json::from_slice(&done.stdout).unwrap();
    for tenant in summary["tenants"].as_array().unwrap() {
        assert_eq!(tenant["frames"]["completed"], 2, "{tenant}");
    }
}
