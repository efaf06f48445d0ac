//! Logs of tegrastats, through `jetlag monitor --from-tegrastats`.

use std::fs;

use serde_json::Value;

use super::{LINE, objects, run, stderr};

#[test]
fn a_log_of_tegrastats_is_an_object_a_line_and_zero_is_told_from_not_measured() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("log"),
        format!("header\n{LINE}\nRAM 1/\n{LINE}\n{}\n", &LINE[..100]),
    )
    .unwrap();
    let output = run(
        folder.path(),
        &["monitor", "--from-tegrastats", "log", "--format", "json"],
    );
    assert!(output.status.success(), "{}", stderr(&output));
    let objects = objects(&output);
    let at: Vec<i64> = objects.iter().filter_map(|o| o["at_ns"].as_i64()).collect();
    assert_eq!(at[..2], [0, 2_000_000_000], "the cut row took a second too");
    assert!(
        objects.iter().any(|o| o["finding"]["code"] == "lines-skipped"),
        "{objects:?}"
    );
    let signals = &objects[1]["signals"];
    assert_eq!(signals["tegrastats/VDD_IN"]["value"], 12_479.0);
    assert_eq!(signals["tegrastats/VDD_CPU_GPU_CV"]["value"], 0.0);
    assert!(signals["tegrastats/gpu_temperature"]["value"].is_null());
    assert!(
        signals["tegrastats/cpu1_load"].is_null(),
        "a core that is off has no load"
    );
    assert!(
        stderr(&output).contains("are not tegrastats output"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_file_that_is_no_log_is_an_error_that_says_what_to_name() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("log"), "hello\nworld\n").unwrap();
    fs::write(folder.path().join("empty"), "").unwrap();
    for name in ["log", "empty"] {
        let output = run(folder.path(), &["monitor", "--from-tegrastats", name]);
        assert_eq!(output.status.code(), Some(1));
        assert!(
            stderr(&output).contains("tegrastats --logfile"),
            "{}",
            stderr(&output)
        );
    }
    fs::create_dir(folder.path().join("folder")).unwrap();
    let unreadable = run(folder.path(), &["monitor", "--from-tegrastats", "folder"]);
    assert_eq!(unreadable.status.code(), Some(2));
    assert!(
        stderr(&unreadable).contains("cannot read folder: is a directory"),
        "{}",
        stderr(&unreadable)
    );
    let missing = run(folder.path(), &["monitor", "--from-tegrastats", "nothing"]);
    assert_eq!(missing.status.code(), Some(2));
    let no_run = run(folder.path(), &["monitor", "--replay", "log"]);
    assert_eq!(no_run.status.code(), Some(2), "{}", stderr(&no_run));
}

#[test]
fn every_recorded_log_can_be_monitored() {
    let Some(samples) = nvidia_doubles::machine::shared("tegrastats/samples") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut count = 0;
    for entry in fs::read_dir(samples).unwrap().flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|e| e != "txt") {
            continue;
        }
        let path = path.to_str().unwrap();
        for format in ["json", "text"] {
            let output = run(
                folder.path(),
                &["monitor", "--from-tegrastats", path, "--format", format],
            );
            assert!(
                output.status.success() && !output.stdout.is_empty(),
                "{path}: {}",
                stderr(&output)
            );
        }
        count += 1;
    }
    assert!(count >= 10);
}

#[test]
fn a_log_becomes_a_run_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("log"), format!("{LINE}\n").repeat(60)).unwrap();
    let output = run(
        folder.path(),
        &["monitor", "--from-tegrastats", "log", "--record", "log.mcap"],
    );
    assert!(output.status.success(), "{}", stderr(&output));
    let report = run(folder.path(), &["report", "log.mcap", "--format", "json"]);
    let summary: Value = serde_json::from_slice(&report.stdout).unwrap();
    // 59 s between the first and the last of 60 lines.
    assert_eq!(summary["energy"]["total_mj"], 12_479.0 * 59.0);
    assert_eq!(
        summary["power"][1]["energy_mj"], 0.0,
        "0 mW was measured: {}",
        summary["power"][1]
    );
}

#[test]
fn rows_of_a_log_that_are_cut_take_nothing_from_its_energy_and_are_in_the_run_file() {
    let folder = tempfile::tempdir().unwrap();
    let row = |n: usize, stamped: bool| {
        let line = LINE.replace("12479mW", "10000mW");
        let row = match stamped {
            true => format!("11-15-2024 08:{:02}:{:02} {line}\n", 30 + n / 60, n % 60),
            false => format!("{line}\n"),
        };
        match n % 2 {
            0 => row,
            // Within its list of cores: a row that ends with a whole field can be read.
            _ => format!("{}\n", row.split(",off").next().unwrap()),
        }
    };
    for stamped in [true, false] {
        let log: String = (0..61).map(|n| row(n, stamped)).collect();
        fs::write(folder.path().join("log"), log).unwrap();
        let file = format!("{stamped}.mcap");
        let output = run(
            folder.path(),
            &["monitor", "--from-tegrastats", "log", "--record", &file],
        );
        assert!(output.status.success(), "{}", stderr(&output));
        let report = run(folder.path(), &["report", &file, "--format", "json"]);
        let summary: Value = serde_json::from_slice(&report.stdout).unwrap();
        // 10 W for the 60 s between the first row and the last.
        let total = summary["energy"]["total_mj"].as_f64().unwrap();
        assert!((total - 600_000.0).abs() < 1.0, "{}", summary["energy"]);
        let findings = summary["run"]["findings"].as_array().unwrap();
        let skipped = findings.iter().find(|f| f["code"] == "lines-skipped").unwrap();
        let message = skipped["message"].as_str().unwrap();
        assert!(message.starts_with("30 of 61 lines"), "{message}");
    }
}
