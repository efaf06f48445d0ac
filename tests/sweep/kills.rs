//! A sweep that is killed at any moment has, once it is through, the table of an undisturbed one.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use super::{done, folder, table};
use crate::common::output::{jetlag, run, stderr};

/// How often sweeps are killed; CI is short of time.
fn kills() -> u64 {
    let asked = std::env::var("JETLAG_SWEEP_KILLS").ok();
    asked.and_then(|kills| kills.parse().ok()).unwrap_or(4)
}

/// A sweep of so many points.
fn sweep(points: usize) -> String {
    let values: Vec<String> = (0..points).map(|n| (10 + n).to_string()).collect();
    format!(
        "Sweep(base: \"base.ron\", order: Random(seed: 7), axes: [Axis(set: \"tenants.camera.arrival.hz\", values: [{}])])",
        values.join(", ")
    )
}

#[test]
fn kills_at_random_moments_leave_the_table_of_an_undisturbed_sweep() {
    let kills = kills();
    let points = if kills > 10 { 60 } else { 8 };
    let folder = folder(&sweep(points));
    done(&["sweep", "s.ron", "-o", "whole", "--quiet"], folder.path());
    let whole = table(&folder.path().join("whole"));
    assert_eq!(whole.len(), points + 1);
    let (mut killed, mut finished, mut moment) = (0, 0, 0x2545_f491_4f6c_dd1d_u64);
    while killed < kills {
        let name = format!("killed-{finished}");
        loop {
            let mut sweep = jetlag(&["sweep", "s.ron", "-o", &name, "--quiet"], folder.path())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            // Xorshift; a moment within the first runs of this life.
            moment ^= moment << 13;
            moment ^= moment >> 7;
            moment ^= moment << 17;
            std::thread::sleep(Duration::from_millis(20 + moment % 300));
            // SIGKILL.
            let _ = sweep.kill();
            let status = sweep.wait().unwrap();
            if status.success() {
                break;
            }
            killed += 1;
            if killed >= kills {
                break;
            }
        }
        let output = run(&["sweep", "s.ron", "-o", &name, "--quiet"], folder.path());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(table(&folder.path().join(&name)), whole, "after {killed} kills");
        let journal = fs::read_to_string(folder.path().join(&name).join("journal.jsonl")).unwrap();
        // A finished run is never made again.
        assert_eq!(journal.matches("{\"run\":{").count(), points);
        finished += 1;
    }
    println!(
        "{killed} kills in {finished} sweeps of {points} points: every table is that of the undisturbed one"
    );
}

#[test]
fn a_search_for_a_knee_that_is_killed_finds_the_same_knee() {
    let folder = folder("");
    let search = |name: &str| {
        let words = "sweep base.ron --knee";
        let mut words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let rest = [
            "tenants.camera.arrival.hz in 5..200",
            "--while",
            "camera.response.p99 < 33ms",
            "-o",
            name,
        ];
        words.extend(rest.map(str::to_owned));
        words.extend(["--quiet", "--format", "json"].map(str::to_owned));
        words
    };
    let run_of = |name: &str| {
        let words = search(name);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = run(&words, folder.path());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let mut knee: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        // Whose folder it is.
        knee.as_object_mut()
            .unwrap()
            .retain(|_, value| !value.to_string().contains(name));
        knee
    };
    let whole = run_of("whole");
    let (mut killed, mut moment, mut finished) = (0, 0x9e37_79b9_7f4a_7c15_u64, 0);
    while killed < kills() {
        let name = format!("killed-{finished}");
        loop {
            let words = search(&name);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let mut sweep = jetlag(&words, folder.path())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            moment ^= moment << 13;
            moment ^= moment >> 7;
            moment ^= moment << 17;
            std::thread::sleep(Duration::from_millis(20 + moment % 400));
            let _ = sweep.kill();
            if sweep.wait().unwrap().success() {
                break;
            }
            killed += 1;
            if killed >= kills() {
                break;
            }
        }
        assert_eq!(run_of(&name), whole, "after {killed} kills");
        finished += 1;
    }
    println!("{killed} kills in {finished} searches for a knee: each found that of the undisturbed one");
}

#[test]
fn half_a_line_is_cut_off_and_its_run_is_made_again() {
    let folder = folder(&sweep(3));
    done(&["sweep", "s.ron", "-o", "s", "--quiet"], folder.path());
    let whole = table(&folder.path().join("s"));
    let path = folder.path().join("s/journal.jsonl");
    let journal = fs::read(&path).unwrap();
    // As after a power loss: half of the last line, and a block of zeros.
    let mut cut = journal[..journal.len() - 40].to_vec();
    cut.extend([0; 512]);
    fs::write(&path, cut).unwrap();
    let output = run(&["sweep", "s.ron", "-o", "s"], folder.path());
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        said.contains("going on: 2 of 3 runs are finished") && said.contains("run 3 of 3"),
        "{said}"
    );
    assert_eq!(table(&folder.path().join("s")), whole);
    // Damage in the middle costs that run alone.
    let mut journal = fs::read(&path).unwrap();
    let second = journal
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .nth(2)
        .unwrap()
        .0;
    journal[second - 5] = b'#';
    fs::write(&path, journal).unwrap();
    let output = run(&["sweep", "s.ron", "-o", "s"], folder.path());
    assert!(
        stderr(&output).contains("s/journal.jsonl has damaged lines (3)"),
        "{}",
        stderr(&output)
    );
    assert_eq!(table(&folder.path().join("s")), whole);
}
