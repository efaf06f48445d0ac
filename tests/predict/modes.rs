//! A sweep over power modes, on a made-up board whose mode is changed between runs: the clocks are read from the run files and from the
//! table of boards, and a mode that was not measured is answered from its clocks.

use std::fs;
use std::path::Path;

use jetlag_sweep::journal::{Entry, JournalFile};

use super::{BASE, Begun, SWEEP, done, folder, json};
use crate::common::output::{assert_refused, jetlag, run, stderr};

/// Modes of a Jetson AGX Orin that are run, and what time is multiplied by in each.
const MODES: [(u32, f64); 3] = [(0, 1.0), (1, 3.2), (2, 2.1)];

/// Sweeps in each of these modes, put together as repeats of one sweep.
fn swept_in_modes() -> tempfile::TempDir {
    let folder = folder(&["one", "two"], BASE, SWEEP);
    let tree = folder.path().join("root/proc/device-tree");
    let status = folder.path().join("root/var/lib/nvpmodel");
    fs::create_dir_all(&tree).unwrap();
    fs::create_dir_all(&status).unwrap();
    fs::write(
        tree.join("compatible"),
        "nvidia,p3737-0000+p3701-0005\0nvidia,tegra234",
    )
    .unwrap();
    let mut all: Option<Begun> = None;
    for (repeat, (id, slower)) in MODES.into_iter().enumerate() {
        fs::write(status.join("status"), format!("pmode:{id:04}\n")).unwrap();
        let output = jetlag(&["sweep", "s.ron", "-o", "s", "-q"], folder.path())
            .env("JETLAG_ROOT", folder.path().join("root"))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let mut begun = Begun::read(folder.path());
        for at in 0..begun.runs.len() {
            let value = begun.value(at);
            begun.latency(at, slower * value);
            let run = &mut begun.runs[at];
            run.repeat = repeat as u32;
            let moved = format!("{id}-{at}.mcap");
            fs::rename(
                folder.path().join("s").join(run.file.as_ref().unwrap()),
                folder.path().join(&moved),
            )
            .unwrap();
            run.file = Some(format!("runs/{moved}"));
        }
        fs::remove_dir_all(folder.path().join("s")).unwrap();
        match &mut all {
            Some(all) => all.runs.append(&mut begun.runs),
            None => all = Some(begun),
        }
    }
    let mut all = all.unwrap();
    all.header.plan.repeats = MODES.len() as u32;
    write(folder.path(), all);
    folder
}

fn write(folder: &Path, begun: Begun) {
    fs::create_dir_all(folder.join("s/runs")).unwrap();
    for run in &begun.runs {
        let file = run.file.as_ref().unwrap();
        fs::rename(
            folder.join(file.trim_start_matches("runs/")),
            folder.join("s").join(file),
        )
        .unwrap();
    }
    let (mut file, _) = JournalFile::open(&folder.join("s/journal.jsonl")).unwrap();
    file.append(&Entry::Sweep(begun.header)).unwrap();
    for (id, columns) in begun.columns {
        file.append(&Entry::Columns { id, columns }).unwrap();
    }
    for run in begun.runs {
        file.append(&Entry::Run(run)).unwrap();
    }
}

#[test]
fn a_sweep_over_power_modes_answers_for_one_that_was_not_measured() {
    let folder = swept_in_modes();
    let folder = folder.path();
    let said = done(&["predict", "fit", "s", "-o", "m"], folder);
    assert!(said.contains("latency: 18 rows of 6 variants"), "{said}");
    assert!(said.contains("in 3 power modes"), "{said}");
    assert!(
        said.contains("fitted on 3 modes, and at least 4 are needed"),
        "{said}"
    );
    let ask = |more: &[&str]| {
        let answer = json(
            &[&["predict", "apply", "m", "nets/one.onnx"], more].concat(),
            folder,
        );
        let latency = answer["predictions"][0].clone();
        assert_eq!(latency["target"], "latency");
        (latency["value"].as_f64().unwrap(), latency)
    };
    let (slow, measured) = ask(&["--mode", "15w"]);
    let (fast, _) = ask(&["--mode", "MAXN"]);
    assert!(slow > 2.0 * fast, "{slow} {fast}");
    assert_eq!(measured["is_measured_mode"], true);
    // The table of boards has its clocks, and `--clocks` are the same by hand.
    let (between, elsewhere) = ask(&["--mode", "MODE_50W"]);
    assert!((fast..slow).contains(&between), "{fast} {between} {slow}");
    assert_eq!(elsewhere["is_measured_mode"], false);
    assert_eq!(elsewhere["interval"], serde_json::Value::Null);
    let (by_hand, _) = ask(&["--clocks", "gpu=816,emc=3199,cpu=1497.6,cores=12"]);
    assert!((by_hand / between - 1.0).abs() < 0.05, "{by_hand} {between}");
    let refused = |more: &[&str], words: &[&str]| {
        let all = [&["predict", "apply", "m", "nets/one.onnx"], more].concat();
        assert_refused(&run(&all, folder), 2, words);
    };
    refused(&[], &["the model was fitted in", "--mode", "--clocks"]);
    refused(
        &["--mode", "40W"],
        &[
            "--mode 40W was not measured (MAXN, MODE_15W, MODE_30W)",
            "MODE_50W of Jetson AGX Orin",
            "Give them with --clocks",
        ],
    );
    refused(
        &["--board", "other", "--mode", "15W"],
        &["say with --board which board is meant"],
    );
    refused(
        &["--clocks", "gpu=816"],
        &["write gpu=612,emc=2133,cpu=1190.4,cores=4"],
    );
    let scored = json(
        &[
            "predict",
            "eval",
            "s",
            "--protocol",
            "leave-modes-out",
            "--modes",
            "2",
        ],
        folder,
    );
    assert_eq!(scored["modes"], 2);
    assert_eq!(scored["scores"][0]["fit_rows"], 12, "{scored}");
    let all = ["predict", "eval", "s", "--protocol", "leave-modes-out"];
    assert_refused(
        &run(&all, folder),
        2,
        &[
            "fit on 50 power modes",
            "the data have 3",
            "choose a smaller --modes",
        ],
    );
}
