//! What a sweep refuses, before the first run and in words.

use std::fs;

use super::{done, folder};
use crate::common::output::{assert_refused, run};

fn of(axes: &str) -> String {
    format!("Sweep(base: \"base.ron\", axes: [{axes}])")
}

#[test]
fn points_that_make_no_scenario_are_all_told_before_the_first_run() {
    for (sweep, said) in [
        (
            of("Axis(set: \"tenants.camera.arival.hz\", values: [1, 2])"),
            vec![
                "--set tenants.camera.arival.hz=1: unknown field `arival`",
                "did you mean `arrival`?",
            ],
        ),
        (
            of("Axis(set: \"tenants.camra.depth\", values: [1])"),
            vec!["no tenant is called `camra`", "did you mean `camera`?"],
        ),
        (
            of(
                "Axis(set: \"tenants.camera.arrival.hz\", values: [10, -1, 1e9]), Axis(set: \"duration\", values: [\"1s\", \"0s\"])",
            ),
            vec![
                "arrival.hz=-1",
                "arrival.hz=1e9",
                "duration=0s",
                "nothing was run",
            ],
        ),
        (
            of("Axis(set: \"tenants.camera.backend\", values: [\"Cpu(\"])"),
            vec!["cannot be read"],
        ),
    ] {
        let folder = folder(&sweep);
        let output = run(&["sweep", "s.ron", "-o", "s"], folder.path());
        assert_refused(&output, 2, &said);
        assert!(!folder.path().join("s").exists(), "{sweep}");
    }
}

#[test]
fn huge_grids_are_sentences_and_large_ones_are_asked_for() {
    let values: Vec<String> = (1..=1000).map(|n| n.to_string()).collect();
    let axis = |set: &str| format!("Axis(set: \"{set}\", values: [{}])", values.join(", "));
    let huge = of(&[
        axis("tenants.camera.arrival.hz"),
        axis("seed"),
        axis("sim_contention"),
    ]
    .join(", "));
    let folder = folder(&huge);
    assert_refused(
        &run(&["sweep", "s.ron", "-o", "s"], folder.path()),
        2,
        &["the grid has 1000000000 points"],
    );
    fs::write(
        folder.path().join("s.ron"),
        of(&[
            axis("seed"),
            "Axis(set: \"tenants.camera.arrival.hz\", values: [1, 2])".to_owned(),
        ]
        .join(", ")),
    )
    .unwrap();
    assert_refused(
        &run(&["sweep", "s.ron", "-o", "s"], folder.path()),
        2,
        &["2000 runs", "--yes", "sample"],
    );
}

#[test]
fn another_sweeps_folder_is_told_point_by_point() {
    let folder = folder(&of("Axis(set: \"tenants.camera.arrival.hz\", values: [10, 20])"));
    done(&["sweep", "s.ron", "-o", "s", "--quiet"], folder.path());
    fs::write(
        folder.path().join("s.ron"),
        of("Axis(set: \"tenants.camera.arrival.hz\", values: [20, 40])"),
    )
    .unwrap();
    assert_refused(
        &run(&["sweep", "s.ron", "-o", "s"], folder.path()),
        2,
        &[
            "new: tenants.camera.arrival.hz=40",
            "gone: tenants.camera.arrival.hz=10",
            "as before: 1 point",
            "--extend",
        ],
    );
    let output = run(&["sweep", "s.ron", "-o", "s", "--extend"], folder.path());
    let said = crate::common::output::stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("going on: 1 of 2 runs"), "{said}");
    // A base that has changed has other runs.
    fs::write(folder.path().join("base.ron"), super::BASE.replace("9ms", "8ms")).unwrap();
    assert_refused(
        &run(&["sweep", "s.ron", "-o", "s", "--extend"], folder.path()),
        2,
        &["the base has changed", "name another folder"],
    );
    // Somebody's folder.
    fs::create_dir(folder.path().join("mine")).unwrap();
    fs::write(folder.path().join("mine/thesis.txt"), "").unwrap();
    assert_refused(
        &run(&["sweep", "s.ron", "-o", "mine"], folder.path()),
        2,
        &["holds thesis.txt, and no sweep"],
    );
}

#[test]
fn lines_that_ask_for_nothing_that_can_be_done_are_refused() {
    let folder = folder(&of("Axis(set: \"tenants.camera.arrival.hz\", values: [10])"));
    done(&["sweep", "s.ron", "-o", "s", "--quiet"], folder.path());
    fs::write(
        folder.path().join("t.csv"),
        "point,repeat,a,state,findings,camera.response.p99_ms\n1,1,5,done,,fast\n",
    )
    .unwrap();
    for (line, said) in [
        (&["sweep", "s.ron"][..], "-o DIR"),
        (&["sweep", "base.ron", "-o", "x"], "use jetlag run"),
        (&["sweep", "sweap.ron", "-o", "x"], "does not exist"),
        (
            &[
                "sweep",
                "s.ron",
                "--knee",
                "a in 1..2",
                "--while",
                "b < 1",
                "-o",
                "x",
            ],
            "is a sweep",
        ),
        (
            &["sweep", "s.ron", "--pareto", "response.p99"],
            "answers from a finished sweep",
        ),
        (
            &["sweep", "s", "--pareto", "respnse.p99"],
            "did you mean response.p99?",
        ),
        (
            &["sweep", "s", "--pareto", "energy"],
            "no run has the figure energy",
        ),
        (
            &["sweep", "s", "--pareto", "response.p99_9"],
            "no run has a value of camera.response.p99_9",
        ),
        (&["sweep", "s", "--pareto", ","], "names no figure"),
        (
            &[
                "sweep",
                "s",
                "--knee",
                "tenants.camera.arrival.h",
                "--while",
                "camera.response.p99 < 33ms",
            ],
            "did you mean tenants.camera.arrival.hz?",
        ),
        (
            &[
                "sweep",
                "s",
                "--knee",
                "tenants.camera.arrival.hz",
                "--while",
                "camera.response.p99 < 33ms",
                "--while",
                "camera.response.p99 < 33ms",
            ],
            "it is given twice",
        ),
        (&["sweep", "s", "-o", "x"], "-o"),
        (
            &[
                "sweep",
                "base.ron",
                "--knee",
                "a 1..2",
                "--while",
                "camera.dropped < 1",
                "-o",
                "x",
            ],
            "there is no ` in `",
        ),
        (&["sweep", "s.ron", "-o", "x", "--limit", "0s"], "above zero"),
        (&["sweep", "s/runs"], "holds no sweep"),
        (&["sweep", "t.csv"], "`fast` is no number"),
    ] {
        assert_refused(&run(line, folder.path()), 2, &[said]);
    }
}

#[test]
fn a_journal_that_is_a_pipe_is_refused_and_a_damaged_line_is_told() {
    let folder = folder(&of("Axis(set: \"tenants.camera.arrival.hz\", values: [10, 20])"));
    let journal = folder.path().join("s/journal.jsonl");
    done(&["sweep", "s.ron", "-o", "s", "--quiet"], folder.path());
    let text = fs::read_to_string(&journal).unwrap();
    let damage = |line: usize| {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let damaged = lines
            .iter()
            .enumerate()
            .map(|(place, own)| match place + 1 == line {
                true => format!("{}\n", own.replace("\"crc32\":", "\"crc32\":1")),
                false => format!("{own}\n"),
            });
        fs::write(&journal, damaged.collect::<String>()).unwrap();
        lines.len()
    };
    // The header, the names of figures, a run, then the other's names, where it has others, and the other.
    let lines = damage(3);
    assert!(lines == 4 || lines == 5, "{text}");
    let output = run(&["sweep", "s"], folder.path());
    let said = crate::common::output::stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        said.contains("has damaged lines (3); their runs count as not made"),
        "{said}"
    );
    damage(1);
    for line in [&["sweep", "s"][..], &["sweep", "s.ron", "-o", "s"]] {
        let said = ["the line that says of which sweep is damaged"];
        assert_refused(&run(line, folder.path()), 2, &said);
    }
    fs::remove_file(&journal).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&journal).status();
    assert!(made.unwrap().success());
    for line in [&["sweep", "s"][..], &["sweep", "s.ron", "-o", "s"]] {
        let output = run(line, folder.path());
        let said = crate::common::output::stderr(&output);
        assert!(
            !output.status.success() && said.contains("is no regular file"),
            "{said}"
        );
    }
}

#[test]
fn what_is_no_sweep_s_is_refused_and_stays() {
    let folder = folder(&of("Axis(set: \"tenants.camera.arrival.hz\", values: [10, 20])"));
    let at = folder.path().join("s");
    fs::create_dir(&at).unwrap();
    for (name, content, said) in [
        ("journal.jsonl", "dear diary\n", "no journal of a sweep"),
        ("journal.jsonl", "dear diary", "no journal of a sweep"),
        ("journal.jsonl", "{\"a\":1}\n", "no journal of a sweep"),
        ("lock", "my combination is 1234", "no sweep's lock"),
        ("notes.txt", "dear", "holds notes.txt"),
    ] {
        let path = at.join(name);
        fs::write(&path, content).unwrap();
        assert_refused(&run(&["sweep", "s.ron", "-o", "s"], folder.path()), 2, &[said]);
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
        assert_eq!(
            fs::read_dir(&at).unwrap().count(),
            1,
            "nothing was made beside {name}"
        );
        fs::remove_file(path).unwrap();
    }
}
