//! A scenario of somebody else's that names a program: it is shown, and started only where the user allows that.

use std::fs;
use std::path::Path;

use super::{assert_refused, jetlag, run, stderr};

const SWEEP: &str = "Sweep(base: \"s.ron\", axes: [Axis(set: \"seed\", values: [1, 2])])";

/// A scenario whose camera leaves a mark and then writes images.
fn scenario(folder: &Path, sharing: &str) -> String {
    let mark = folder.join("mark").display().to_string();
    let source =
        format!("Camera(command: [\"sh\", \"-c\", \"echo x >> {mark}; exec cat /dev/zero\"], size: \"8x8\")");
    format!(
        "Scenario(duration: \"10min\", warmup: \"0s\", sharing: {sharing}, telemetry: (sources: [Host]), tenants: [\
         Tenant(name: \"cam\", backend: Null, source: {source}, frames: 3)])"
    )
}

#[test]
fn a_program_that_a_scenario_names_is_started_only_where_that_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("s.ron"), scenario(at, "Streams")).unwrap();
    fs::write(at.join("p.ron"), scenario(at, "Processes")).unwrap();
    fs::write(at.join("sweep.ron"), SWEEP).unwrap();
    let knee = [
        "--knee",
        "tenants.cam.depth in 1..2",
        "--while",
        "cam.miss_rate < 1%",
    ];
    let lines: [&[&str]; 6] = [
        &["run", "s.ron"],
        &["run", "p.ron"],
        &["sweep", "sweep.ron", "-o", "s"],
        &["compare", "--ab", "s.ron", "s.ron"],
        &["sweep", "s.ron", "-o", "k", knee[0], knee[1], knee[2], knee[3]],
        &[
            "run",
            "plain.ron",
            "--set",
            "tenants.cam.source=Video(path: \"no.mp4\", command: [\"sh\", \"-c\", \"touch mark\"])",
        ],
    ];
    let plain = "Scenario(duration: \"1s\", tenants: [Tenant(name: \"cam\", backend: Null, source: Empty)])";
    fs::write(at.join("plain.ron"), plain).unwrap();
    fs::write(at.join("no.mp4"), "").unwrap();
    for line in lines {
        let output = run(line, at);
        assert_refused(&output, 2, &["tenant cam: sh -c", "--allow-commands"]);
        assert!(!at.join("mark").exists(), "{line:?}");
    }
    // Shown in full, and not started even then.
    for file in ["s.ron", "p.ron"] {
        let output = run(&["run", file, "--dry-run"], at);
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(
            stderr(&output).contains("exec cat /dev/zero"),
            "{}",
            stderr(&output)
        );
        let set = jetlag(&["run", file, "--dry-run"], at)
            .env("JETLAG_ALLOW_COMMANDS", "1")
            .output()
            .unwrap();
        assert!(set.status.success(), "{}", stderr(&set));
        assert!(!at.join("mark").exists(), "{file}");
    }
    assert!(
        !at.join("runs").exists() && !at.join("s").exists(),
        "nothing was begun"
    );
}

#[test]
fn what_is_allowed_is_started_also_in_processes_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("s.ron"), scenario(at, "Streams")).unwrap();
    fs::write(at.join("p.ron"), scenario(at, "Processes")).unwrap();
    fs::write(at.join("sweep.ron"), SWEEP).unwrap();
    let lines: [&[&str]; 4] = [
        &["run", "s.ron", "--allow-commands"],
        &["run", "p.ron", "--allow-commands"],
        &["sweep", "sweep.ron", "-o", "s", "--allow-commands"],
        &[
            "compare",
            "--ab",
            "s.ron",
            "s.ron",
            "--rounds",
            "1",
            "-o",
            "ab",
            "--allow-commands",
        ],
    ];
    for line in lines {
        let output = run(line, at);
        assert!(at.join("mark").exists(), "{line:?}: {}", stderr(&output));
        fs::remove_file(at.join("mark")).unwrap();
    }
    let set = jetlag(&["run", "s.ron"], at)
        .env("JETLAG_ALLOW_COMMANDS", "1")
        .output()
        .unwrap();
    assert!(at.join("mark").exists(), "{}", stderr(&set));
}
