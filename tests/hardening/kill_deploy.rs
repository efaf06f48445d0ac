//! SIGKILL of `jetlag deploy` at random moments. What must hold: the run on the board is whole and is fetched later, what lies
//! here under a run's name is whole, and nothing goes on.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Output, Stdio};
use std::time::Duration;

use jetlag::record::{Completeness, RunReader};

use super::board::TestBoard;
use super::campaign::{Campaign, Random};
use super::kill::group;
use super::under_way;
use crate::common::output::stderr;

#[derive(Default)]
struct Seen {
    kills: u64,
    /// Before the run had begun, so that the board has none, or an earlier one.
    not_begun: u64,
    /// Runs that were brought after the kill.
    fetched: u64,
}

#[test]
fn deployments() {
    if let Some(line) = campaign() {
        println!("{line}");
    }
}

/// Kills deployments again and again; answers a line of the table.
fn campaign() -> Option<String> {
    let board = TestBoard::start()?;
    let scenario = board.path("s.ron");
    // Ended by its frames, it is a good run on any machine.
    let text = "Scenario(name: \"killed\", duration: \"10min\", warmup: \"0s\", tenants: [\
                Tenant(name: \"a\", backend: Sim(Fixed(\"2ms\")), arrival: Periodic(hz: 100), frames: 100)])";
    fs::write(&scenario, text).unwrap();
    let scenario = scenario.display().to_string();
    let mut campaign = Campaign::new(3);
    let mut seen = Seen::default();
    for (seed, mut random) in campaign.by_ref() {
        let round = std::panic::AssertUnwindSafe(|| kill(&board, &scenario, &mut random, &mut seen));
        if let Err(panic) = std::panic::catch_unwind(round) {
            eprintln!("deploy, seed {seed}:");
            std::panic::resume_unwind(panic);
        }
    }
    Some(format!(
        "{:<22} {:>6} kills, {:>4} before the run had begun, {} fetched afterwards, 0 unreadable   {}",
        "deploy",
        seen.kills,
        seen.not_begun,
        seen.fetched,
        campaign.seeds()
    ))
}

fn kill(board: &TestBoard, scenario: &str, random: &mut Random, seen: &mut Seen) {
    let mut deploy = board
        .deploy(&[scenario, "--no-doctor", "--quiet"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(random.below(5000) as u64));
    deploy.kill().unwrap();
    // It may have ended before, which is no kill.
    seen.kills += u64::from(deploy.wait().unwrap().code().is_none());
    under_way::wait_until("what it started ends too", || group(deploy.id()) == 0);
    let before = assert_whole(board);

    let fetch = board.run(&["--fetch", "--quiet", "--format", "json"]);
    let after = assert_whole(board);
    match there(&fetch) {
        false => seen.not_begun += 1,
        // What was brought before is the same, and stays.
        true if after == before => seen.not_begun += 1,
        true => seen.fetched += 1,
    }
    let mut left = fs::read_dir(board.path("out")).into_iter().flatten().flatten();
    let half = left.find(|entry| entry.file_name().to_string_lossy().ends_with(".part"));
    assert!(half.is_none(), "{half:?}");
    let runs = board.path("board/jetlag/runs");
    let in_runs = || {
        let mut processes = fs::read_dir("/proc").unwrap().flatten();
        processes.any(|process| {
            fs::read_link(process.path().join("cwd")).is_ok_and(|folder| folder.starts_with(&runs))
        })
    };
    under_way::wait_until("nothing goes on at the board", || !in_runs());
}

/// Whether a fetch brought a run, or said that there is none.
fn there(fetch: &Output) -> bool {
    let said = stderr(fetch);
    match fetch.status.code() {
        Some(0 | 3 | 4) => true,
        Some(1) if said.contains("there is no run on localhost") => false,
        code => panic!("{code:?}: {said}"),
    }
}

/// Reads every run that lies here; how many there are.
fn assert_whole(board: &TestBoard) -> usize {
    let brought = board.brought();
    for path in &brought {
        let mut reader = RunReader::open(path).unwrap();
        for event in reader.by_ref() {
            event.unwrap();
        }
        assert_eq!(reader.completeness(), Completeness::Whole, "{}", path.display());
    }
    brought.len()
}
