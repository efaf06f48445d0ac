//! `jetlag compare` as a process: exit codes, kept files, and runs that cannot be compared.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::output::{flowing, run, stderr, stdout};

/// A simulated camera for 10 s, with this median.
fn scenario(folder: &Path, name: &str, median: &str) -> String {
    let path = folder.join(format!("{name}.ron"));
    let text = format!(
        "Scenario(name: {name:?}, duration: \"10s\", warmup: \"0s\", seed: 3, clock: Virtual, tenants: [\
         Tenant(name: \"camera\", backend: Sim(LogNormal(median: {median:?}, sigma: 0.1)), \
         arrival: Periodic(hz: 30), deadline: \"33ms\")])"
    );
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn two_scenarios_are_run_in_turns_compared_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (
        scenario(folder.path(), "a", "9ms"),
        scenario(folder.path(), "b", "9.9ms"),
    );
    let args = [
        "compare", "--ab", &a, &b, "--rounds", "3", "--out", "kept", "--format", "json",
    ];
    let output = run(&args, folder.path());
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("round 3 of 3"), "{said}");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let p50 = &json["candidates"][0]["tenants"][0]["figures"][0];
    assert_eq!(p50["verdict"], "higher");
    assert!((p50["change"].as_f64().unwrap() - 0.1).abs() < 0.02, "{p50}");
    let mut kept: Vec<String> = fs::read_dir(folder.path().join("kept"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    kept.sort();
    assert_eq!(
        kept,
        [
            "1-A.mcap", "1-B.mcap", "2-A.mcap", "2-B.mcap", "3-A.mcap", "3-B.mcap"
        ]
    );

    // Stage by stage, over the same rounds.
    let arguments = [
        "compare", "--ab", &a, &b, "--rounds", "2", "--stages", "--format", "json",
    ];
    let output = run(&arguments, folder.path());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let by_stage: Value = serde_json::from_slice(&output.stdout).unwrap();
    let compute = &by_stage["rows"]["candidates"][0]["tenants"][0]["rows"][0];
    assert_eq!(
        (&compute["name"], &compute["verdict"]),
        (&"compute".into(), &"higher".into())
    );

    // The kept files give the same answer again.
    let side = |label: &str| {
        (1..=3)
            .map(|n| format!("kept/{n}-{label}.mcap"))
            .collect::<Vec<_>>()
            .join(",")
    };
    let again = run(
        &["compare", &side("A"), &side("B"), "--format", "json"],
        folder.path(),
    );
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(
        again["candidates"][0]["tenants"],
        json["candidates"][0]["tenants"]
    );

    // And do not let themselves be written over.
    let refused = run(&args, folder.path());
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr(&refused).contains("kept is not empty"),
        "{}",
        stderr(&refused)
    );
}

#[test]
fn a_limit_that_is_passed_is_exit_code_3_and_one_that_is_not_is_0() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (
        scenario(folder.path(), "a", "9ms"),
        scenario(folder.path(), "b", "9.9ms"),
    );
    for (file, path) in [("a.mcap", &a), ("b.mcap", &b)] {
        let seed = format!(
            "seed={}",
            path.len() + file.len() + usize::from(file.as_bytes()[0])
        );
        let output = run(&["run", path, "--out", file, "--set", &seed], folder.path());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    let with = |limit: &str| {
        run(
            &["compare", "a.mcap", "b.mcap", "--fail-if", limit],
            folder.path(),
        )
    };
    let fails = with("camera.response.p50 +5%");
    assert_eq!(fails.status.code(), Some(3), "{}", stdout(&fails));
    assert!(stdout(&fails).contains("fails"), "{}", stdout(&fails));
    assert_eq!(with("camera.response.p50 +15%").status.code(), Some(0));
    let wrong = with("camera.respnse.p50 +5%");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        stderr(&wrong).contains("did you mean `response.p50`"),
        "{}",
        stderr(&wrong)
    );
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_reason_and_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let a = scenario(folder.path(), "a", "9ms");
    let recorded = run(&["run", &a, "--out", "a.mcap"], folder.path());
    assert_eq!(recorded.status.code(), Some(0));
    let real = [
        "run",
        &a,
        "--out",
        "real.mcap",
        "--quiet",
        "--set",
        "clock=Real",
        "--set",
        "duration=300ms",
    ];
    run(&real, folder.path());
    fs::write(folder.path().join("no.mcap"), "nothing of the kind").unwrap();
    for (args, code, phrase) in [
        (
            &["compare", "a.mcap", "real.mcap"][..],
            2,
            "a.mcap ran under the virtual clock and real.mcap under the real one",
        ),
        (&["compare", "a.mcap"], 2, "cannot compare a single run"),
        (&["compare"], 2, "required"),
        (&["compare", "a.mcap", "no.mcap"], 2, "is not a run file"),
        (&["compare", "a.mcap", "absent.mcap"], 2, "Name a run file"),
        (&["compare", "a.mcap", "a.mcap", "--rounds", "3"], 2, "--ab"),
        (&["compare", "--ab", &a, "absent.ron"], 2, "absent.ron"),
        (
            &["compare", "--ab", &a, &a, "--rounds", "0"],
            2,
            "--rounds must be at least 1",
        ),
        (
            &[
                "compare",
                "--ab",
                &a,
                &a,
                "--set",
                "tenants.camera.arrival.hertz=3",
            ],
            2,
            "hertz",
        ),
    ] {
        let output = run(args, folder.path());
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        assert!(said.contains(phrase), "{args:?}: {said}");
        assert!(!said.contains("panicked"), "{args:?}: {said}");
    }
}

#[test]
fn where_nothing_of_a_side_can_be_compared_the_code_is_2() {
    let folder = tempfile::tempdir().unwrap();
    let a = scenario(folder.path(), "a", "9ms");
    // Without a deadline there are quantiles alone, and of one frame none has an interval.
    let text = fs::read_to_string(&a).unwrap();
    fs::write(&a, text.replace(", deadline: \"33ms\"", "")).unwrap();
    for (file, frames) in [("a.mcap", "300"), ("few.mcap", "1")] {
        let frames = format!("tenants.camera.frames={frames}");
        let recorded = run(&["run", &a, "--out", file, "--set", &frames], folder.path());
        assert_eq!(recorded.status.code(), Some(0), "{}", stderr(&recorded));
    }
    for (sides, code) in [
        (&["a.mcap", "a.mcap"][..], 0),
        (&["a.mcap", "few.mcap"], 2),
        (&["a.mcap", "a.mcap", "few.mcap"], 2),
    ] {
        let output = run(&[&["compare"], sides].concat(), folder.path());
        assert_eq!(output.status.code(), Some(code), "{sides:?}: {}", stdout(&output));
        let impossible = stdout(&output).contains("NO COMPARISON POSSIBLE");
        assert_eq!(impossible, code == 2, "{}", stdout(&output));
    }
    // What was asked with --fail-if has its own answer: unknown fails.
    let limit = [
        "compare",
        "a.mcap",
        "few.mcap",
        "--fail-if",
        "camera.response.p50 +5%",
    ];
    assert_eq!(run(&limit, folder.path()).status.code(), Some(3));
}

#[test]
fn a_run_that_was_cut_off_is_compared_as_far_as_it_goes_and_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let a = scenario(folder.path(), "a", "9ms");
    let recorded = run(&["run", &a, "--out", "a.mcap"], folder.path());
    assert_eq!(recorded.status.code(), Some(0));
    let whole = fs::read(folder.path().join("a.mcap")).unwrap();
    fs::write(folder.path().join("cut.mcap"), &whole[..whole.len() * 3 / 5]).unwrap();
    let output = run(&["compare", "a.mcap", "cut.mcap"], folder.path());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let shown = stdout(&output);
    assert!(shown.contains("truncated-file"), "{shown}");
}

/// The record of a traced run beside itself, row by row; and what a run without a trace lacks.
#[test]
fn rows_are_compared_where_there_are_any_and_what_a_run_lacks_is_said() {
    let records = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/records");
    let folder = tempfile::tempdir().expect("a folder");
    let compared = |arguments: &[&str]| {
        let output = run(&[&["compare"], arguments].concat(), folder.path());
        (output.status.code(), stdout(&output), stderr(&output))
    };
    let traced = format!("{records}/traced.mcap");
    for (by, said) in [
        ("--stages", "NO DIFFERENCE FOUND BETWEEN STAGES OF A AND B"),
        ("--layers", "Work of no known layer, 0."),
        ("--kernels", "rows cover 100 % of A's time and 100 % of B's"),
    ] {
        let (code, text, errors) = compared(&[&traced, &traced, by]);
        assert_eq!(code, Some(0), "{errors}");
        // Lines may break anywhere.
        let flowing = flowing(&text);
        assert!(
            flowing.contains(said) && flowing.contains("95 % confidence"),
            "{text}"
        );
        assert!(
            !text.contains("only A has") && !text.contains("only B has"),
            "{text}"
        );
    }
    let (code, text, errors) = compared(&[&traced, &traced, "--kernels", "--format", "json"]);
    assert_eq!(code, Some(0), "{errors}");
    let json: Value = serde_json::from_str(&text).expect("JSON");
    let rows = &json["rows"];
    assert_eq!(
        (&rows["by"], &rows["candidates"][0]["needs"]),
        (&"kernels".into(), &Value::Null)
    );
    let camera = &rows["candidates"][0]["tenants"][0];
    assert_eq!(
        (&camera["tenant"], &camera["frames"]),
        (&"camera".into(), &serde_json::json!([18, 18]))
    );
    assert_eq!(camera["covered"], serde_json::json!([1.0, 1.0]));
    // A run beside itself: no row changes, and no interval leaves that out.
    for row in camera["rows"].as_array().expect("rows") {
        assert!(row["verdict"] == "same" || row["verdict"] == "unknown", "{row}");
    }
    let untraced = folder.path().join("untraced.mcap").display().to_string();
    let simulated = scenario(folder.path(), "untraced", "9ms");
    let recorded = run(&["run", &simulated, "--quiet", "--out", &untraced], folder.path());
    assert_eq!(recorded.status.code(), Some(0), "{}", stderr(&recorded));
    let (code, text, errors) = compared(&[&untraced, &untraced, "--kernels"]);
    assert_eq!(
        code,
        Some(2),
        "nothing that was asked for can be compared: {errors}"
    );
    assert!(
        text.contains("NO COMPARISON POSSIBLE BETWEEN KERNELS OF A AND B"),
        "{text}"
    );
    assert!(
        text.contains("A has a run without a traced phase: record it with `jetlag run SCENARIO --trace`"),
        "{text}"
    );
    let (code, _, _) = compared(&[&traced, &traced, "--kernels", "--layers"]);
    assert_eq!(code, Some(2));
}

/// A run of this seed of a scenario.
fn simulated(folder: &Path, scenario: &str, file: &str, seed: u32) {
    let seed = format!("seed={seed}");
    let output = run(&["run", scenario, "--out", file, "--set", &seed], folder);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn a_run_that_is_named_twice_in_a_side_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let a = scenario(folder.path(), "a", "9ms");
    simulated(folder.path(), &a, "a.mcap", 1);
    simulated(folder.path(), &a, "b.mcap", 2);
    std::os::unix::fs::symlink("a.mcap", folder.path().join("link.mcap")).unwrap();
    for (sides, wanted) in [
        (["a.mcap,a.mcap", "b.mcap"], "a.mcap is named twice in a side"),
        (["b.mcap", "a.mcap,./a.mcap"], "a.mcap and ./a.mcap are one file"),
        (
            ["a.mcap,link.mcap", "b.mcap"],
            "a.mcap and link.mcap are one file",
        ),
    ] {
        let refused = run(&["compare", sides[0], sides[1]], folder.path());
        assert_eq!(refused.status.code(), Some(2), "{}", stdout(&refused));
        assert!(stderr(&refused).contains(wanted), "{}", stderr(&refused));
        assert!(
            stderr(&refused).contains("name each file once"),
            "{}",
            stderr(&refused)
        );
    }
}

#[test]
fn runs_with_equal_frames_count_once_and_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let a = scenario(folder.path(), "a", "9ms");
    // What a CI does that reruns a scenario under the virtual clock, and copies.
    for (file, seed) in [
        ("a1.mcap", 1),
        ("a2.mcap", 1),
        ("b1.mcap", 2),
        ("b2.mcap", 2),
        ("b4.mcap", 3),
    ] {
        simulated(folder.path(), &a, file, seed);
    }
    fs::copy(folder.path().join("b1.mcap"), folder.path().join("b3.mcap")).unwrap();
    let compared = |sides: [&str; 2]| -> Value {
        let output = run(
            &["compare", sides[0], sides[1], "--format", "json"],
            folder.path(),
        );
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let several = compared(["a1.mcap,a2.mcap", "b1.mcap,b2.mcap,b3.mcap"]);
    let once = compared(["a1.mcap", "b1.mcap"]);
    assert_eq!(
        several["candidates"][0]["tenants"],
        once["candidates"][0]["tenants"]
    );
    assert_eq!(several["baseline"]["files"], serde_json::json!(["a1.mcap"]));
    assert_eq!(
        several["candidates"][0]["side"]["files"],
        serde_json::json!(["b1.mcap"])
    );
    let notes = |of: &Value| of["candidates"][0]["notes"].to_string();
    for said in [
        "A: a2.mcap has the same frames as a1.mcap, to the nanosecond; they count once, so A has 1 run",
        "B: b2.mcap has the same frames as b1.mcap, to the nanosecond, and 1 more likewise; they count once, so B has 1 run",
    ] {
        assert!(notes(&several).contains(said), "{}", notes(&several));
    }
    assert!(!notes(&once).contains("same frames"), "{}", notes(&once));
    // Of both sides, and of seeds that were used twice by scenarios that differ.
    let itself = compared(["a1.mcap", "a2.mcap,b1.mcap"]);
    assert!(
        notes(&itself).contains("1 of 2 runs of B have the same frames as a run of A"),
        "{itself}"
    );
    let slower = scenario(folder.path(), "slower", "9.5ms");
    simulated(folder.path(), &slower, "slower.mcap", 2);
    let seeds = compared(["a1.mcap", "b1.mcap,slower.mcap,b4.mcap"]);
    assert!(
        notes(&seeds).contains("B: 3 simulated runs have 2 seeds between them"),
        "{}",
        notes(&seeds)
    );
    let fresh = compared(["a1.mcap", "b1.mcap,b4.mcap"]);
    assert!(!notes(&fresh).contains("seed"), "{}", notes(&fresh));
}
