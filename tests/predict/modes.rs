//! A sweep over power modes, on a made-up board whose mode is changed between runs: the clocks are read from the run files and from the
//! table of boards, and a mode that was not measured is answered from its clocks.

use std::fs;
use std::path::Path;

use jetlag_sweep::journal::{Entry, JournalFile};

use super::{BASE, Begun, SWEEP, done, folder, json};
use crate::common::output::{assert_refused, flowing, jetlag, run, stderr, stdout};

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
    let said = flowing(&done(&["predict", "fit", "s", "-o", "m"], folder));
    assert!(said.contains("inference latency 18 6 "), "{said}");
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
    let (by_hand, _) = ask(&["--clocks", "gpu=816,emc=3199,cpu=1497.6,cores=12,sms=16"]);
    assert!((by_hand / between - 1.0).abs() < 0.05, "{by_hand} {between}");
    let refused = |more: &[&str], words: &[&str]| {
        let all = [&["predict", "apply", "m", "nets/one.onnx"], more].concat();
        assert_refused(&run(&all, folder), 2, words);
    };
    refused(&[], &["the model was fitted in", "--mode", "--clocks"]);
    refused(
        &["--mode", "40W"],
        &[
            "--mode 40W was not measured (MAXN; MODE_15W; MODE_30W)",
            "MODE_50W of Jetson AGX Orin",
            "Give them with --clocks",
        ],
    );
    refused(
        &["--board", "other", "--mode", "15W"],
        &["--board other: the model was fitted in power modes of the boards "],
    );
    refused(
        &["--clocks", "gpu=816,emc=3199,cpu=1497.6,cores=12"],
        &["the fitted modes differ in multiprocessors", "cores=12,sms=16"],
    );
    let asked = ["predict", "apply", "m", "nets/one.onnx", "--mode", "15w"];
    let answer = json(&asked, folder);
    let board = answer["device"].as_str().unwrap().strip_suffix(", MODE_15W");
    refused(
        &["--board", board.unwrap()],
        &[
            "the model was fitted in its modes MAXN; MODE_15W; MODE_30W",
            "--mode",
        ],
    );
    for other in [&["--protocol", "pooled"], &["--fit", "s"]] {
        let all = [&["predict", "eval", "s", "--modes", "2"], &other[..]].concat();
        assert_refused(
            &run(&all, folder),
            2,
            &["--modes 2 is of --protocol leave-modes-out, without --fit"],
        );
    }
    let unlike = ["--fit", "s", "--protocol", "pooled"];
    for (other, said) in [
        (&unlike[..], "cannot be used with"),
        (&unlike[..2], "the data to score are the same"),
    ] {
        let all = [&["predict", "eval", "s"], other].concat();
        assert_refused(&run(&all, folder), 2, &[said, "--fit"]);
    }
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

/// Tables of a board in four power modes: power in each, latency in the first alone.
fn tables(folder: &Path) {
    let head = "ic,oc,k_h,k_w,stride,pad_h,pad_w,groups,ip_h,ip_w,op_h,op_w";
    for name in ["layers", "orin_inference_latency", "orin_inference_power"] {
        fs::create_dir(folder.join(name)).unwrap();
    }
    let mut modes = "device,mode,gpu_mhz,emc_mhz,cpu_mhz,cores\n".to_owned();
    let mut power = "network,level,bs,passed,power_mw,mode\n".to_owned();
    let mut latency = "network,level,bs,passed,latency_ms,mode\n".to_owned();
    for mode in 0..4 {
        modes += &format!("orin,m{mode},{},3200,2000,12\n", 300 * (mode + 1));
    }
    for (level, channels) in [(0, 32), (50, 16)] {
        let layer = format!("{head}\n3,{channels},3,3,2,1,1,1,64,64,32,32\n");
        fs::write(folder.join(format!("layers/a_{level}.csv")), layer).unwrap();
        for batch in [1, 2, 4, 8] {
            latency += &format!("a,{level},{batch},True,{},m0\n", channels * batch);
            for mode in 0..4 {
                let value = 5000 + 2000 * mode + 10 * channels * batch;
                power += &format!("a,{level},{batch},True,{value},m{mode}\n");
            }
        }
    }
    fs::write(folder.join("modes.csv"), modes).unwrap();
    fs::write(folder.join("orin_inference_power/a.csv"), power).unwrap();
    fs::write(folder.join("orin_inference_latency/a.csv"), latency).unwrap();
    fs::copy(super::CAMERA, folder.join("n.onnx")).unwrap();
}

#[test]
fn a_target_of_one_mode_is_withheld_in_others_and_then_no_deadline_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    tables(folder);
    done(&["predict", "fit", ".", "-o", "m"], folder);
    let asked = ["predict", "apply", "m", "n.onnx"];
    let own = done(&[&asked[..], &["--mode", "m0"]].concat(), folder);
    assert!(!own.contains("withheld: its rows"), "{own}");
    let late = run(
        &[&asked[..], &["--mode", "m3", "--deadline", "600s"]].concat(),
        folder,
    );
    let said = flowing(&stdout(&late));
    assert_eq!(late.status.code(), Some(3), "{said}");
    assert!(
        said.contains(
            "latency – withheld: its rows are all of one power mode (gpu=300,emc=3200,cpu=2000,cores=12)"
        ),
        "{said}"
    );
    assert!(said.contains("mean power "), "{said}");
    let clocks = ["--clocks", "gpu=700,emc=3200,cpu=2000,cores=12,sms=8"];
    assert_refused(
        &run(&[&asked[..], &clocks].concat(), folder),
        2,
        &["fitted without multiprocessors; leave sms out"],
    );
}
