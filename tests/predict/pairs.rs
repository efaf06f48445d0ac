//! `jetlag predict pairs`: a matrix of simulated networks and loads, and runs of which no model of pairs can be made.

use std::fs;
use std::path::Path;
use std::process::Command;

use jetlag::record::{Manifest, RunReader, RunWriter};
use jetlag::scenario::{BackendChoice, Resource, Stress};
use jetlag::units::Nanos;

use super::{done, json};
use crate::common::output::{assert_refused, run, stderr, stdout};
use nvidia_doubles::machine;

/// Tenants that stand for networks, and for loads: names and medians in milliseconds.
const NETWORKS: [(&str, u32); 5] = [("one", 6), ("two", 12), ("three", 18), ("four", 25), ("five", 31)];
const LOADS: [(&str, u32, Resource); 2] = [("compute", 9, Resource::Compute), ("dram", 4, Resource::Dram)];

/// Runs the matrix under the virtual clock, where a load is a tenant like any other, and writes it with what the loads stand for. Loads
/// come first, so that nothing may be taken from the first tenant.
fn matrix(folder: &Path) {
    let loads = LOADS.map(|(name, ms, _)| (name, ms));
    let tenant = |(name, ms): &(&str, u32)| {
        let backend = format!("Sim(LogNormal(median: \"{ms}ms\", sigma: 0.1))");
        format!("Tenant(name: \"{name}\", backend: {backend}, arrival: Poisson(hz: 25))")
    };
    let tenants: Vec<String> = loads.iter().chain(&NETWORKS).map(tenant).collect();
    let scenario = format!(
        "Scenario(clock: Virtual, sim_contention: 0.6, duration: \"30s\", matrix: (sharing: [Streams]), tenants: [{}])",
        tenants.join(", ")
    );
    fs::write(folder.join("all.ron"), scenario).unwrap();
    done(&["run", "all.ron", "--out", "sim.mcap", "-q"], folder);
    stand_for(folder, "all.mcap", LOADS.map(|(.., resource)| resource), |_| {});
}

/// Writes the simulated run with loads of these resources, and with a manifest that is changed.
fn stand_for(folder: &Path, to: &str, resources: [Resource; 2], change: impl FnOnce(&mut Manifest)) {
    let mut reader = RunReader::open(&folder.join("sim.mcap")).unwrap();
    let mut manifest = reader.manifest().clone();
    for (at, resource) in resources.into_iter().enumerate() {
        manifest.tenants[at].backend = "stress".to_owned();
        manifest.scenario_mut().unwrap().tenants[at].backend = BackendChoice::Stress(Stress {
            resource,
            level: 0.5,
            burst: Nanos::from_millis(1),
        });
    }
    change(&mut manifest);
    let mut writer = RunWriter::create(&folder.join(to), &manifest).unwrap();
    for event in reader.by_ref() {
        writer.write(&event.unwrap()).unwrap();
    }
    writer.finish().unwrap();
}

#[test]
fn a_matrix_of_networks_and_loads_is_fitted_scored_and_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    matrix(path);
    let said = done(&["predict", "pairs", "fit", "all.mcap", "-o", "m"], path);
    assert!(
        said.contains("20 slowdowns in pairs of five, four, one, three, two"),
        "{said}"
    );
    assert!(said.contains(", sim, Streams\n"), "{said}");
    let scored = json(&["predict", "pairs", "eval", "all.mcap"], path);
    assert_eq!(
        (&scored["networks"], &scored["rows"]),
        (&5.into(), &20.into()),
        "{scored}"
    );
    let left_out = |at: usize| scored["scores"][at]["left_out"].as_str().unwrap();
    assert_eq!([left_out(0), left_out(1)], ["pair", "network"]);
    let answers = json(&["predict", "pairs", "apply", "m", "one", "two"], path);
    assert_eq!(answers[0]["network"], "one");
    assert_eq!(answers[1]["beside"], "one");
    assert!(answers[0]["slowdown"].as_f64().unwrap() > 0.2, "{answers}");
    let said = done(&["predict", "pairs", "apply", "m", "one", "two"], path);
    assert!(said.contains("PREDICTION  two beside one\n"), "{said}");
    // Two of one network: one answer.
    let said = done(&["predict", "pairs", "apply", "m", "one", "one"], path);
    assert_eq!(said.matches("one beside one").count(), 1, "{said}");
    let refused = |arguments: &[&str], words: &[&str]| assert_refused(&run(arguments, path), 2, words);
    refused(
        &["predict", "pairs", "apply", "m", "one", "six"],
        &["six was not run beside loads; those that were are five, four, one, three, two"],
    );
    refused(
        &[
            "predict",
            "pairs",
            "fit",
            "all.mcap",
            "-o",
            "n",
            "--sharing",
            "Edf",
        ],
        &["all.mcap: the run has no Edf, but Streams"],
    );
    refused(&["predict", "pairs", "fit", "all.mcap", "-o", "m"], &["m exists"]);
    fs::copy(super::CAMERA, path.join("one.onnx")).unwrap();
    refused(
        &["predict", "apply", "m", "one.onnx"],
        &["not a model of jetlag predict"],
    );
    refused(
        &["predict", "pairs", "eval", "sim.mcap"],
        &["0 slowdowns in pairs of 0 networks"],
    );
    stand_for(path, "twice.mcap", [Resource::Dram; 2], |_| {});
    refused(
        &["predict", "pairs", "eval", "twice.mcap"],
        &["twice.mcap: compute and dram are the same load, Dram at 0.5"],
    );
    let resources = LOADS.map(|(.., resource)| resource);
    stand_for(path, "mixed.mcap", resources, |manifest| {
        manifest.tenants[4].backend = "cpu".to_owned();
    });
    refused(
        &["predict", "pairs", "eval", "mixed.mcap"],
        &["mixed.mcap: its networks ran on several backends or devices: one on sim, three on cpu"],
    );
}

#[test]
fn a_run_without_a_matrix_says_how_to_make_one() {
    let folder = tempfile::tempdir().unwrap();
    let simulated = r#"Scenario(duration: "1s", clock: Virtual, tenants: [Tenant(name: "a", backend: Sim(Fixed("9ms")))])"#;
    fs::write(folder.path().join("s.ron"), simulated).unwrap();
    done(&["run", "s.ron", "--out", "s.mcap", "-q"], folder.path());
    assert_refused(
        &run(&["predict", "pairs", "eval", "s.mcap"], folder.path()),
        2,
        &["s.mcap: the run has no matrix", "--matrix"],
    );
}

#[test]
fn the_script_gives_every_tenant_a_name_of_its_own() {
    let Some(python) = machine::python("json") else {
        return machine::skip("no Python");
    };
    let folder = tempfile::tempdir().unwrap();
    let files = ["a.onnx", "a-2.onnx", "dram-0-5.onnx"];
    for file in files {
        fs::write(folder.path().join(file), "").unwrap();
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/gpu/pairs.py");
    let program =
        "import runpy, sys; print(*runpy.run_path(sys.argv[1])['tenants'](sys.argv[2:], 0), sep='\\n')";
    let output = Command::new(python)
        .args(["-c", program, script, "a.onnx"])
        .args(files)
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stdout(&output);
    let names: Vec<&str> = said.lines().filter_map(|line| line.split('"').nth(1)).collect();
    assert_eq!(
        names,
        [
            "a",
            "a-2",
            "a-2-2",
            "dram-0-5-2",
            "compute-0-5",
            "compute-0-9",
            "dram-0-5",
            "dram-0-9",
            "l2-0-5",
            "l2-0-9"
        ]
    );
}
