//! SIGKILL of `jetlag trace` at random moments. What must hold: its command ends with it, what was traced until then becomes a run file
//! that can be read, with nothing asked for, at most its last second is missing, and nothing is left in TMPDIR.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use jetlag::record::{Completeness, Event, RunReader};

use super::campaign::{Campaign, Random};
use super::kill::{group, now};
use super::under_way;
use crate::common::output::stderr;
use crate::trace::{app, library};

#[derive(Default)]
struct Seen {
    kills: u64,
    /// Before anything was traced.
    early: u64,
    lost_ms: Vec<i64>,
}

#[test]
fn traces() {
    if let Some(line) = campaign() {
        println!("{line}");
    }
}

/// Kills traces again and again; answers a line of the table.
fn campaign() -> Option<String> {
    let app = app()?;
    let mut campaign = Campaign::new(3);
    let mut seen = Seen::default();
    for (seed, mut random) in campaign.by_ref() {
        let round = std::panic::AssertUnwindSafe(|| kill(&app, &mut random, &mut seen));
        if let Err(panic) = std::panic::catch_unwind(round) {
            eprintln!("trace, seed {seed}:");
            std::panic::resume_unwind(panic);
        }
    }
    let most = seen.lost_ms.iter().max().copied().unwrap_or(0);
    assert!(most < 1250 || !campaign.is_long(), "trace: {most} ms are missing");
    Some(format!(
        "{:<22} {:>6} kills, {:>4} before anything was traced, 0 unreadable, at most {most:>4} ms missing   {}",
        "trace",
        seen.kills,
        seen.early,
        campaign.seeds()
    ))
}

fn kill(app: &std::path::Path, random: &mut Random, seen: &mut Seen) {
    let folder = tempfile::tempdir().unwrap();
    let temporary = folder.path().join("temporary");
    fs::create_dir(&temporary).unwrap();
    let jetlag = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jetlag"));
        command
            .current_dir(folder.path())
            .env("TMPDIR", &temporary)
            .env("JETLAG_INJECTION", library())
            .env_remove("CUDA_INJECTION64_PATH")
            .env_remove("NVTX_INJECTION64_PATH")
            .env_remove("RUST_LOG")
            .args(arguments);
        command
    };
    let app = app.display().to_string();
    let mut child = jetlag(&["trace", "-o", "run.mcap", "--", &app, "paced"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(random.below(3000) as u64));
    let killed = now();
    child.kill().unwrap();
    assert_eq!(
        child.wait().unwrap().code(),
        None,
        "it ended before it was killed"
    );
    seen.kills += 1;
    under_way::wait_until("its command ends too", || group(child.id()) == 0);

    let path = folder.path().join("run.mcap");
    // A folder was left from before it had its owner's whole word, or before the process that makes the run file was started.
    let spools = || fs::read_dir(&temporary).unwrap().flatten();
    let has_traced = spools().any(|folder| {
        let files = fs::read_dir(folder.path()).into_iter().flatten().flatten();
        files
            .map(|file| file.path())
            .any(|file| file.extension().is_some_and(|of| of == "spool"))
    });
    if has_traced {
        under_way::wait_until("its run file is made", || spools().next().is_none());
        assert!(path.exists());
    }
    let recovered = jetlag(&["trace", "--recover"]).output().unwrap();
    assert!(recovered.status.success(), "{}", stderr(&recovered));
    if !path.exists() {
        seen.early += 1;
        return;
    }
    let mut reader = RunReader::open(&path).unwrap();
    let mut last = None;
    for event in reader.by_ref() {
        if let Event::Frame(frame) = event.unwrap() {
            last = last.max(Some(frame.finished));
        }
    }
    assert_eq!(reader.completeness(), Completeness::Whole);
    match last {
        Some(last) => seen.lost_ms.push((killed - last).0 / 1_000_000),
        None => seen.early += 1,
    }
}
