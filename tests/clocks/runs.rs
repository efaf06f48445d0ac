//! Runs with `clocks: Max`: the clocks are given back however a run ends.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{GPU, STATE, clocks, command, files, read};
use crate::common::boards;
use crate::common::output::stderr;
use crate::common::under_way;

const SCENARIO: &str = "Scenario(name: \"held\", duration: \"10min\", warmup: \"0s\", clocks: Max, telemetry: (sources: [Host]), \
    tenants: [Tenant(name: \"n\", backend: Null, arrival: Periodic(hz: 20))])";

/// The same, ended by its frames: a good run, however busy the machine is.
fn short() -> String {
    SCENARIO.replace("Periodic(hz: 20)", "Periodic(hz: 20), frames: 10")
}

fn start(root: &Path, scenario: &str) -> std::process::Child {
    fs::write(root.join("s.ron"), scenario).unwrap();
    command(root, &["run", "s.ron", "--quiet", "--out", "r.mcap", "--force"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Until the GPU's clock is this.
fn wait_for(root: &Path, hz: &str) {
    under_way::wait_until("the clock changes", || read(root, GPU) == hz);
}

#[test]
fn a_run_gives_its_clocks_back_when_it_ends_and_when_it_is_told_to() {
    let root = boards::board("agx-orin-r36");
    let before = files(root.path());
    let ended = start(root.path(), &short()).wait_with_output().unwrap();
    assert!(matches!(ended.status.code(), Some(0 | 3)), "{}", stderr(&ended));
    assert_eq!(files(root.path()), before);
    for signal in ["TERM", "INT"] {
        let mut child = start(root.path(), SCENARIO);
        wait_for(root.path(), "612000000");
        let pid = child.id().to_string();
        let held = clocks(root.path(), &["max"]);
        assert!(
            stderr(&held).contains(&format!("locked by process {pid}")),
            "{}",
            stderr(&held)
        );
        assert!(
            Command::new("kill")
                .args(["-s", signal, &pid])
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal}");
        assert_eq!(files(root.path()), before, "{signal}");
    }
}

#[test]
fn what_a_killed_run_left_is_put_back_by_restore_and_by_the_next_run() {
    let root = boards::board("agx-orin-r36");
    let before = files(root.path());
    let kill = || {
        let mut child = start(root.path(), SCENARIO);
        wait_for(root.path(), "612000000");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(
            read(root.path(), GPU),
            "612000000",
            "nobody was there to give it back"
        );
    };
    kill();
    assert!(clocks(root.path(), &["restore"]).status.success());
    assert_eq!(files(root.path()), before);
    kill();
    let as_is = short().replace("clocks: Max, ", "");
    let next = start(root.path(), &as_is).wait_with_output().unwrap();
    assert!(stderr(&next).contains("restored"), "{}", stderr(&next));
    assert_eq!(files(root.path()), before);
}

/// Panics where a line of the program's own log has certain words: a real panic, in the middle of a real run.
struct PanicAt(String);

impl log::Log for PanicAt {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }
    fn log(&self, record: &log::Record<'_>) {
        let line = record.args().to_string();
        if line.contains(&self.0) {
            // Seen by the other test: the clocks were held at this moment.
            let held = fs::read_to_string(GPU).unwrap_or_default();
            fs::write("held", held.trim()).unwrap();
            panic!("made to panic at: {line}");
        }
    }
    fn flush(&self) {}
}

const PANIC_AT: &str = "JETLAG_TEST_PANIC_AT";

/// Not a test by itself: the program that the next test starts, in a board's folder.
#[test]
#[ignore = "started by a_panic_gives_the_clocks_back"]
fn a_run_that_panics() {
    use clap::Parser;
    let Ok(words) = std::env::var(PANIC_AT) else {
        return;
    };
    log::set_boxed_logger(Box::new(PanicAt(words))).unwrap();
    log::set_max_level(log::LevelFilter::Info);
    let arguments = ["jetlag", "run", "s.ron", "--quiet", "--out", "r.mcap", "--force"];
    match jetlag::cli::Cli::try_parse_from(arguments).unwrap().command {
        jetlag::cli::Command::Run(args) => {
            let origin = jetlag::commands::run::Origin::File(args.scenario, None);
            jetlag::commands::run::run(origin, args.options).unwrap();
        }
        _ => unreachable!(),
    }
}

#[test]
fn a_panic_gives_the_clocks_back() {
    // On the thread that holds them, and on one of a tenant, whose frames fail (33 bytes are no points).
    let tenant = "Tenant(name: \"n\", detector: \"builtin:lidar\", backend: Cpu(threads: 1), source: Points(\"points\"), \
                  arrival: Periodic(hz: 20), frames: 3)])";
    let broken = SCENARIO.split("Tenant(").next().unwrap().to_owned() + tenant;
    for (words, scenario, code) in [
        ("clock settings changed", SCENARIO, 101),
        ("33 bytes is not", broken.as_str(), 0),
    ] {
        let root = boards::board("agx-orin-r36");
        let before = files(root.path());
        fs::write(root.path().join("s.ron"), scenario).unwrap();
        fs::create_dir(root.path().join("points")).unwrap();
        fs::write(root.path().join("points/odd.bin"), [0u8; 33]).unwrap();
        let output = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "clocks::runs::a_run_that_panics",
                "--ignored",
                "--nocapture",
            ])
            .env(PANIC_AT, words)
            .env("JETLAG_ROOT", root.path())
            .current_dir(root.path())
            .output()
            .unwrap();
        assert!(
            stderr(&output).contains("made to panic at"),
            "{words}: {}",
            stderr(&output)
        );
        assert_eq!(output.status.code(), Some(code), "{words}: {}", stderr(&output));
        assert_eq!(
            read(root.path(), "held"),
            "612000000",
            "they were held when it panicked"
        );
        assert_eq!(files(root.path()), before, "{words}");
        assert!(!root.path().join(STATE).exists(), "{words}");
    }
}

#[test]
fn a_run_that_cannot_hold_the_clocks_does_not_start() {
    let root = tempfile::tempdir().unwrap();
    let refused = start(root.path(), SCENARIO).wait_with_output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        stderr(&refused).contains("nothing was started"),
        "{}",
        stderr(&refused)
    );
    assert!(!root.path().join("r.mcap").exists());
}
