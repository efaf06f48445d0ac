//! `jetlag predict pairs`: a matrix of simulated networks and loads, and runs of which no model of pairs can be made.

use std::fs;
use std::path::Path;

use jetlag::record::{RunReader, RunWriter};
use jetlag::scenario::{BackendChoice, Resource, Stress};
use jetlag::units::Nanos;

use super::{done, json};
use crate::common::output::{assert_refused, run};

/// Tenants that stand for networks, and for loads: names and medians in milliseconds.
const NETWORKS: [(&str, u32); 5] = [("one", 6), ("two", 12), ("three", 18), ("four", 25), ("five", 31)];
const LOADS: [(&str, u32, Resource); 2] = [("compute", 9, Resource::Compute), ("dram", 4, Resource::Dram)];

/// Runs the matrix under the virtual clock, where a load is a tenant like any other, and writes it with what the loads stand for.
fn matrix(folder: &Path) {
    let loads = LOADS.map(|(name, ms, _)| (name, ms));
    let tenant = |(name, ms): &(&str, u32)| {
        let backend = format!("Sim(LogNormal(median: \"{ms}ms\", sigma: 0.1))");
        format!("Tenant(name: \"{name}\", backend: {backend}, arrival: Poisson(hz: 25))")
    };
    let tenants: Vec<String> = NETWORKS.iter().chain(&loads).map(tenant).collect();
    let scenario = format!(
        "Scenario(clock: Virtual, sim_contention: 0.6, duration: \"30s\", matrix: (sharing: [Streams]), tenants: [{}])",
        tenants.join(", ")
    );
    fs::write(folder.join("all.ron"), scenario).unwrap();
    done(&["run", "all.ron", "--out", "sim.mcap", "-q"], folder);
    let mut reader = RunReader::open(&folder.join("sim.mcap")).unwrap();
    let mut manifest = reader.manifest().clone();
    for tenant in &mut manifest.scenario_mut().unwrap().tenants {
        let load = LOADS.iter().find(|(name, ..)| *name == tenant.name);
        if let Some((.., resource)) = load {
            tenant.backend = BackendChoice::Stress(Stress {
                resource: *resource,
                level: 0.5,
                burst: Nanos::from_millis(1),
            });
        }
    }
    let mut writer = RunWriter::create(&folder.join("all.mcap"), &manifest).unwrap();
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
        said.contains("Fitted on 20 slowdowns in pairs of five, four, one, three, two"),
        "{said}"
    );
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
    assert!(said.contains("two beside one: "), "{said}");
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
