//! `jetlag predict` on a sweep's folder: real runs of small networks on the embedded backend, the same journal with other figures and
//! failures, and folders of which no model can be made.

mod modes;
mod pairs;

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use jetlag::record::{Failure, FailureKind, FailureStage};
use jetlag_sweep::journal::{Entry, Header, JournalFile, RunEntry};
use jetlag_sweep::{Column, Estimate};
use serde_json::Value;

use crate::common::output::{assert_refused, flowing, run, stderr, stdout};

const CAMERA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/engines/camera.onnx");
const BASE: &str = r#"Scenario(duration: "600s", warmup: "0s", tenants: [
    Tenant(name: "net", detector: "nets/one.onnx", backend: Cpu(threads: 1), frames: 3)])"#;
const SWEEP: &str =
    r#"Sweep(base: "base.ron", axes: [Axis(set: "tenants.net.detector", files: "nets/*.onnx")])"#;

#[track_caller]
fn done(arguments: &[&str], folder: &Path) -> String {
    let output = run(arguments, folder);
    assert_eq!(
        output.status.code(),
        Some(0),
        "{arguments:?}: {}",
        stderr(&output)
    );
    stdout(&output)
}

#[track_caller]
fn json(arguments: &[&str], folder: &Path) -> Value {
    let all = [arguments, &["--format", "json"]].concat();
    serde_json::from_str(&done(&all, folder)).unwrap()
}

/// A folder with a base, a sweep, and these networks, each with a variant at 40 and at 80 %.
fn folder(networks: &[&str], base: &str, sweep: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("nets")).unwrap();
    for name in networks {
        let file = format!("{name}.onnx");
        fs::copy(CAMERA, folder.path().join("nets").join(&file)).unwrap();
        fs::copy(CAMERA, folder.path().join(&file)).unwrap();
        let variants = ["data", "variants", &file, "--prune", "40,80", "-o", name];
        done(&variants, folder.path());
        for level in [40, 80] {
            let file = format!("{name}_random_{level}.onnx");
            fs::rename(
                folder.path().join(name).join(&file),
                folder.path().join("nets").join(&file),
            )
            .unwrap();
        }
    }
    fs::write(folder.path().join("base.ron"), base).unwrap();
    fs::write(folder.path().join("s.ron"), sweep).unwrap();
    folder
}

/// A finished sweep of three networks and their variants; made once.
fn swept() -> &'static Path {
    static SWEPT: OnceLock<tempfile::TempDir> = OnceLock::new();
    SWEPT
        .get_or_init(|| {
            let folder = folder(&["one", "two", "three"], BASE, SWEEP);
            done(&["sweep", "s.ron", "-o", "s", "-q"], folder.path());
            folder
        })
        .path()
}

/// A sweep's journal, to be changed.
struct Begun {
    header: Header,
    runs: Vec<RunEntry>,
    columns: HashMap<u32, Vec<Column>>,
}

impl Begun {
    /// The journal of a folder, in which every run has a latency that follows from its network: real ones are the machine's, and
    /// withheld where it is busy.
    fn read(folder: &Path) -> Begun {
        let journal = JournalFile::read(&folder.join("s/journal.jsonl")).unwrap();
        let columns = journal.columns.into_iter();
        let mut begun = Begun {
            header: journal.header.unwrap(),
            runs: journal.runs,
            columns: columns.map(|(id, columns)| (id, columns.to_vec())).collect(),
        };
        for run in 0..begun.runs.len() {
            let file = begun.runs[run].settings[0].value.clone();
            let whole = match file {
                _ if file.contains("_80") => 1.0,
                _ if file.contains("_40") => 2.0,
                _ => 3.0,
            };
            // One network is a little slower than the other.
            begun.latency(run, whole * (1.0 + file.len() as f64 / 1000.0));
        }
        begun
    }

    fn latency(&mut self, run: usize, value: f64) {
        let place = self.place(run);
        self.runs[run].figures[place] = Estimate::plain(value);
    }

    /// The latency that was set.
    fn value(&self, run: usize) -> f64 {
        self.runs[run].figures[self.place(run)].value.unwrap()
    }

    fn place(&self, run: usize) -> usize {
        let columns = &self.columns[&self.runs[run].columns.unwrap()];
        let is_meant = |column: &Column| column.name == "net.stages.compute.p50";
        columns.iter().position(is_meant).unwrap()
    }

    /// Every run so many times.
    fn repeat(&mut self, times: u32) {
        self.header.plan.repeats = times;
        let again = |repeat: u32| {
            self.runs.iter().map(move |run| RunEntry {
                repeat,
                ..run.clone()
            })
        };
        self.runs = (0..times).flat_map(again).collect();
    }
}

/// A copy of a finished sweep, with another journal.
fn copy_of(from: &Path, change: impl FnOnce(&mut Begun)) -> tempfile::TempDir {
    let to = tempfile::tempdir().unwrap();
    for part in ["nets", "s", "s/runs"] {
        fs::create_dir(to.path().join(part)).unwrap();
    }
    for part in ["nets", "s/runs"] {
        for entry in fs::read_dir(from.join(part)).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), to.path().join(part).join(entry.file_name())).unwrap();
        }
    }
    let mut begun = Begun::read(from);
    change(&mut begun);
    let (mut file, _) = JournalFile::open(&to.path().join("s/journal.jsonl")).unwrap();
    file.append(&Entry::Sweep(begun.header)).unwrap();
    for (id, columns) in begun.columns {
        file.append(&Entry::Columns { id, columns }).unwrap();
    }
    for run in begun.runs {
        file.append(&Entry::Run(run)).unwrap();
    }
    to
}

fn changed(change: impl FnOnce(&mut Begun)) -> tempfile::TempDir {
    copy_of(swept(), change)
}

fn fail(run: &mut RunEntry, kind: FailureKind) {
    run.failed = Some(Failure {
        stage: FailureStage::Run,
        kind,
        tenant: Some("net".to_owned()),
        message: "it did not go on".to_owned(),
    });
}

#[test]
fn a_sweep_over_networks_is_fitted_scored_and_asked() {
    let copy = changed(|begun| begun.repeat(2));
    let folder = copy.path();
    let out = tempfile::tempdir().unwrap();
    let model = out.path().join("board.model").display().to_string();
    let said = flowing(&done(&["predict", "fit", "s", "-o", &model], folder));
    assert!(said.contains("FITTED on one, three, two ("), "{said}");
    assert!(said.contains("inference latency 18 9 "), "{said}");
    assert!(said.contains("inference memory 18 9 "), "{said}");
    let scored = json(
        &["predict", "eval", "s", "--protocol", "leave-one-network-out"],
        folder,
    );
    let rows = |target: &str| -> Vec<(String, u64)> {
        let scores = scored["scores"].as_array().unwrap().iter();
        let own = scores.filter(|score| score["target"] == target);
        own.map(|score| {
            let name = score["network"].as_str().unwrap().to_owned();
            (name, score["errors"]["rows"].as_u64().unwrap())
        })
        .collect()
    };
    let each: Vec<(String, u64)> = ["one", "three", "two"].map(|name| (name.to_owned(), 6)).into();
    assert_eq!((rows("latency"), rows("memory")), (each.clone(), each));
    let answer = json(&["predict", "apply", &model, "nets/one.onnx"], folder);
    let latency = &answer["predictions"][0];
    assert_eq!(latency["target"], "latency");
    assert_eq!(latency["kin"], "fitted", "{answer}");
    // The process's peak beside the machine's memory. Without an interval nothing is certain.
    assert!(answer["fits"]["limit_mib"].as_f64().unwrap() > 256.0, "{answer}");
    assert_eq!(answer["fits"]["verdict"], "open", "{answer}");
    // The latency is the table's median of compute.
    let value = latency["value"].as_f64().unwrap();
    assert!((2.0..4.0).contains(&value), "{answer}");
}

#[test]
fn failed_and_stalled_runs_are_told_and_not_fitted() {
    let folder = changed(|begun| {
        begun.repeat(3);
        begun.latency(4, 30.0);
        fail(&mut begun.runs[0], FailureKind::OutOfMemory);
        fail(&mut begun.runs[1], FailureKind::Hang);
        begun.runs[1].file = None;
    });
    let said = flowing(&done(&["predict", "fit", "s", "-o", "m"], folder.path()));
    assert!(said.contains("inference latency 24 "), "{said}");
    assert!(said.contains("inference memory 25 "), "{said}");
    assert!(said.contains("NOT FITTED Failed rows: 2"), "{said}");
    assert!(said.contains("Taken for stalls, not fitted: latency"), "{said}");
    assert!(said.contains("Rule: of one variant on one board"), "{said}");
    let scored = json(
        &["predict", "eval", "s", "--protocol", "leave-one-network-out"],
        folder.path(),
    );
    assert_eq!(scored["failed_rows"].as_u64(), Some(2));
    assert_eq!(scored["stalls"].as_array().unwrap().len(), 1, "{scored}");
}

#[test]
fn networks_that_changed_or_are_gone_are_told_and_their_rows_left_out() {
    let folder = changed(|_| {});
    let nets = folder.path().join("nets");
    fs::remove_file(nets.join("two_random_40.onnx")).unwrap();
    fs::copy(CAMERA, nets.join("two_random_80.onnx")).unwrap();
    let refused = ["predict", "fit", "s", "-o", "m"];
    assert_refused(
        &run(&refused, folder.path()),
        2,
        &[
            "7 rows of 7 network variants",
            "at least 8 rows of 2 variants are needed",
        ],
    );
    let more = changed(|begun| begun.repeat(2));
    let nets = more.path().join("nets");
    fs::remove_file(nets.join("two_random_40.onnx")).unwrap();
    fs::copy(CAMERA, nets.join("two_random_80.onnx")).unwrap();
    let said = flowing(&done(&refused, more.path()));
    assert!(said.contains("inference latency 14 7 "), "{said}");
    assert!(said.contains("two: 4 rows of variants 40 left out:"), "{said}");
    assert!(
        said.contains("start from the folder where the sweep was started"),
        "{said}"
    );
    assert!(
        said.contains("has changed since the run: its BLAKE3 is"),
        "{said}"
    );
    fs::remove_dir_all(nets).unwrap();
    assert_refused(
        &run(&["predict", "eval", "s"], more.path()),
        2,
        &["the layers of no network of s are known", "nets/one.onnx"],
    );
}

#[test]
fn folders_of_which_no_model_can_be_made_say_what_is_missing() {
    let refused = |folder: &Path, words: &[&str]| {
        assert_refused(&run(&["predict", "fit", "s", "-o", "m"], folder), 2, words);
    };
    let failed = changed(|begun| begun.runs.iter_mut().for_each(|run| fail(run, FailureKind::Died)));
    refused(
        failed.path(),
        &["s has no run of a network to fit: of 9 runs 9 failed"],
    );
    let one = changed(|begun| begun.runs.truncate(1));
    refused(
        one.path(),
        &["1 row of 1 network variant;", "at least 8 rows of 2 variants"],
    );
    let gone = changed(|begun| begun.runs.iter_mut().for_each(|run| run.file = None));
    refused(
        gone.path(),
        &[
            "9 runs are left out: the run file is gone",
            "files: \"variants/*.onnx\"",
        ],
    );
    let equal = changed(|begun| (0..begun.runs.len()).for_each(|run| begun.latency(run, 3.0)));
    refused(equal.path(), &["inference latency: all 9 values are 3"]);
    // Simulated tenants execute no network.
    let simulated = tempfile::tempdir().unwrap();
    let base = r#"Scenario(duration: "1s", warmup: "0s", clock: Virtual, tenants: [
        Tenant(name: "net", backend: Sim(Fixed("9ms")))])"#;
    fs::write(simulated.path().join("base.ron"), base).unwrap();
    let sweep = r#"Sweep(base: "base.ron", axes: [Axis(set: "seed", values: [1, 2])])"#;
    fs::write(simulated.path().join("s.ron"), sweep).unwrap();
    done(&["sweep", "s.ron", "-o", "s", "-q"], simulated.path());
    refused(
        simulated.path(),
        &["2 runs are left out: no network is executed (sim, null, a stressor, an application)"],
    );
    fs::write(simulated.path().join("s/journal.jsonl"), "no journal\n").unwrap();
    refused(simulated.path(), &["journal.jsonl is no journal of a sweep"]);
}

#[test]
fn runs_under_several_conditions_are_fitted_one_by_one() {
    let sweep = r#"Sweep(base: "base.ron", axes: [
        Axis(set: "tenants.net.detector", files: "nets/*.onnx"),
        Axis(set: "tenants.net.backend", values: ["Cpu(threads: 1)", "Cpu(threads: 2)"])])"#;
    let real = folder(&["one", "two", "three"], BASE, sweep);
    done(&["sweep", "s.ron", "-o", "s", "-q"], real.path());
    let folder = copy_of(real.path(), |_| {});
    let fit = ["predict", "fit", "s", "-o", "m", "--force"];
    let with = |only: &[&str]| run(&[&fit[..], only].concat(), folder.path());
    assert_refused(
        &with(&[]),
        2,
        &[
            "the runs differ in tenants.net.backend (Cpu(threads: 1), Cpu(threads: 2))",
            "--where 'tenants.net.backend=Cpu(threads: 1)'",
        ],
    );
    let one = with(&["--where", "tenants.net.backend=Cpu(threads: 2)"]);
    assert!(
        flowing(&stdout(&one)).contains("inference latency 9 9 "),
        "{}",
        stderr(&one)
    );
    assert_refused(
        &with(&["--where", "tenants.net.backend=Cpu(threads: 3)"]),
        2,
        &["no run has that value; the runs have Cpu(threads: 1), Cpu(threads: 2)"],
    );
    assert_refused(
        &with(&["--where", "tenants.net.backends=1"]),
        2,
        &["tenants.net.backend"],
    );
    assert_refused(
        &with(&["--where", "backend"]),
        2,
        &["write an axis and its value"],
    );
    let tables = ["predict", "eval", "nets", "--where", "a=b"];
    assert_refused(
        &run(&tables, folder.path()),
        2,
        &["--where a=b chooses among the runs of a sweep"],
    );
}

#[test]
fn networks_of_a_detectors_spec_are_an_axis_and_rows_of_a_model() {
    let base = r#"Scenario(duration: "600s", warmup: "0s", tenants: [
        Tenant(name: "net", detector: "builtin:camera", source: Synthetic(Camera), backend: Cpu(threads: 1), frames: 3)])"#;
    let sweep = r#"Sweep(base: "base.ron", repeats: 2, axes: [Axis(set: "tenants.net.network", files: "nets/*.onnx")])"#;
    let folder = folder(&["one", "two", "three"], base, sweep);
    let table = json(&["sweep", "s.ron", "-o", "s", "-q"], folder.path());
    let rows = table["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 18);
    for row in rows {
        assert_eq!(row["state"], "done", "{row}");
        let file = row["set"]["tenants.net.network"].as_str().unwrap();
        let bytes = fs::read(folder.path().join(file)).unwrap();
        let hash = blake3::hash(&bytes).to_hex().to_string();
        assert_eq!(
            row["networks"],
            serde_json::json!([format!("net={hash}")]),
            "{row}"
        );
    }
    // Real times are the machine's; memory is there in any case.
    let scored = json(
        &["predict", "eval", "s", "--protocol", "leave-one-network-out"],
        folder.path(),
    );
    let text = scored.to_string();
    for name in ["one", "two", "three"] {
        assert!(text.contains(&format!("\"{name}\"")), "{name} in {text}");
    }
}
