//! From a network to its roofline, through the program.

use std::path::{Path, PathBuf};

use jetlag::record::{Event, RunReader};
use nvidia_doubles::machine::shared;
use serde_json::Value;

use crate::common::output::{assert_refused, run, stderr, stdout};

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn done(arguments: &[&str]) -> String {
    let output = run(arguments, &repository());
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

/// A short run of a network on one thread, with the time of its nodes.
fn recorded(network: &str, folder: &Path, frames: u32) -> String {
    let file = folder.join("y.mcap").display().to_string();
    let frames = format!("tenants.0.frames={frames}");
    done(&[
        "run",
        network,
        "--set",
        "tenants.0.backend=Cpu(threads: 1, profile: true)",
        "--set",
        "warmup=0s",
        "--set",
        &frames,
        "--duration",
        "60s",
        "--out",
        &file,
        "-q",
    ]);
    file
}

/// Ceilings that no processor reaches.
fn high(folder: &Path) -> String {
    let file = folder.join("high.json");
    let text = r#"{"schema": 1, "name": "high", "processor": "cpu", "source": "by hand",
        "peaks": [{"precision": "fp32", "flops_per_s": 1e15}], "bandwidths": [{"name": "memory", "bytes_per_s": 1e14}]}"#;
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

#[test]
fn a_run_has_the_work_of_its_networks_and_its_roofline() {
    let folder = tempfile::tempdir().unwrap();
    let file = recorded("engines/camera.onnx", folder.path(), 3);
    let inspected: Value = serde_json::from_str(&done(&[
        "inspect",
        "--work",
        "engines/camera.onnx",
        "--format",
        "json",
    ]))
    .unwrap();
    let mut reader = RunReader::open(file.as_ref()).unwrap();
    let own = &reader.manifest().tenants[0];
    assert_eq!(own.batch, Some(1));
    let work = own.networks[0].work.clone().unwrap();
    assert_eq!(work.flops, inspected["totals"]["flops"].as_u64().unwrap());
    assert_eq!(
        work.fused_bytes,
        inspected["totals"]["fused_bytes"].as_u64().unwrap()
    );
    assert_eq!(work.precision, "fp32");
    let nodes = reader
        .by_ref()
        .filter(|event| matches!(event, Ok(Event::Work(_))))
        .count();
    assert_eq!(nodes, inspected["nodes"].as_array().unwrap().len());

    let ceilings = high(folder.path());
    let roofline: Value = serde_json::from_str(&done(&[
        "roofline",
        &file,
        "--ceilings",
        &ceilings,
        "--format",
        "json",
    ]))
    .unwrap();
    let tenant = &roofline["runs"][0]["tenants"][0];
    assert_eq!(tenant["network"]["flops"], work.flops);
    let share = tenant["network"]["share"].as_f64().unwrap();
    assert!(share > 0.0 && share < 0.1, "{share}");
    let placed = tenant["placed"]["work"].as_f64().unwrap();
    assert!(placed > 0.999, "{placed}");
    let layers = tenant["layers"].as_array().unwrap();
    assert!(
        layers.iter().all(|layer| layer["nodes"].as_u64() > Some(0)),
        "{layers:#?}"
    );
    let text = done(&["roofline", &file, "--ceilings", &ceilings]);
    for said in [
        "CEILINGS",
        "ROOFLINE",
        "by type",
        "camera.onnx",
        "No run has the energy",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    // Times and work of every layer, also without ceilings.
    let text = done(&["report", &file, "--layers"]);
    for said in ["TIME PER LAYER", "by type", "Conv", "no shares"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let text = done(&["report", &file, "--layers", "--ceilings", &ceilings]);
    assert!(
        text.contains("share of roof") && !text.contains("no shares"),
        "{text}"
    );
    let summary: Value = serde_json::from_str(&done(&["report", &file, "--format", "json"])).unwrap();
    let own = &summary["tenants"][0];
    assert_eq!(own["batch"], 1);
    let page = folder.path().join("roof.html");
    done(&[
        "roofline",
        &file,
        "--ceilings",
        &ceilings,
        "--html",
        &page.display().to_string(),
    ]);
    assert!(
        std::fs::read_to_string(page)
            .unwrap()
            .contains("<svg class=\"wide\"")
    );
}

#[test]
fn yolox_s_layers_lead_to_all_of_its_work() {
    let Some(network) = shared("data/models/yolox_nano/yolox_nano.onnx") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = recorded(&network.display().to_string(), folder.path(), 2);
    let ceilings = high(folder.path());
    let roofline: Value = serde_json::from_str(&done(&[
        "roofline",
        &file,
        "--ceilings",
        &ceilings,
        "--format",
        "json",
    ]))
    .unwrap();
    let tenant = &roofline["runs"][0]["tenants"][0];
    assert!(
        tenant["placed"]["work"].as_f64().unwrap() > 0.999,
        "{}",
        tenant["placed"]
    );
    assert!(tenant["network"]["flops"].as_u64().unwrap() > 1_000_000_000);
}

#[test]
fn ceilings_are_measured_written_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("host.json").display().to_string();
    let text = done(&[
        "ceilings",
        "--backend",
        "cpu",
        "--threads",
        "1",
        "--each",
        "1ms",
        "-o",
        &file,
    ]);
    assert!(
        text.contains("fp32 on 1 thread") && text.contains("copy within memory"),
        "{text}"
    );
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert!(
        written["peaks"][0]["flops_per_s"].as_f64().unwrap() > 1e6,
        "{written}"
    );
    assert_eq!(written["bandwidths"][0]["name"], "memory");
    // A file that is there is kept.
    let again = run(&["ceilings", "--each", "1ms", "-o", &file], &repository());
    assert_refused(&again, 2, &["exists", "--force"]);
}

#[test]
fn runs_without_networks_and_wrong_ceilings_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("sim.mcap").display().to_string();
    done(&[
        "run",
        "configs/sim.ron",
        "--duration",
        "60s",
        "--quiet",
        "--out",
        &made,
    ]);
    let run_file = made.as_str();
    let ceilings = high(folder.path());
    // Simulated tenants execute nothing: there is nothing to place, and that is no error.
    let text = done(&["roofline", run_file, "--ceilings", &ceilings]);
    assert!(text.contains("ROOFLINE"), "{text}");
    // Lines may break anywhere.
    let flowing = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flowing(&text).contains("sim.mcap: no point: no tenant"), "{text}");
    // A file that was cut off: what it lacks is lacking here as well, and of several runs those without a point are named.
    let cut = folder.path().join("cut.mcap");
    let whole = std::fs::read(repository().join(run_file)).unwrap();
    std::fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    let text = done(&["roofline", run_file, &cut.display().to_string()]);
    for said in ["truncated-file", "sim.mcap, cut.mcap: no point"] {
        assert!(flowing(&text).contains(said), "{said}: {text}");
    }
    for (arguments, said) in [
        (vec!["--board", "Jetson AGX Oryn 64GB"], "did you mean"),
        (
            vec!["--board", "Jetson AGX Orin 64GB", "--mode", "FAST"],
            "no power mode is called",
        ),
        (vec!["--ceilings", "tests/records/run.mcap"], "ceilings"),
        (vec!["--ceilings", "nowhere.json"], "nowhere.json"),
    ] {
        let output = run(&[&["roofline", run_file], &arguments[..]].concat(), &repository());
        assert_refused(&output, 2, &[said]);
    }
    let output = run(
        &["report", run_file, "--board", "Jetson AGX Orin 64GB"],
        &repository(),
    );
    assert_refused(&output, 2, &["--layers"]);
}
