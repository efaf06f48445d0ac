//! `jetlag ceilings --backend gpu` on a device of known rates, with and without the toolkit's libraries.

use std::process::Output;

use nvidia_doubles::cuda::{self, Control};
use serde_json::Value;

use super::scene::Scene;
use crate::common::output::stderr;

/// Matrices of 1024 rows fit a quarter of what such a device has free, and no larger ones of fp32.
fn control() -> Option<Control> {
    let control = Control::default()
        .memory_bytes(700 << 20)
        .copies(2_000_000_000, 3_000_000_000);
    Some(control.variable("JETLAG_CUBLAS", cuda::cublas()?))
}

fn run(scene: &Scene, control: &Control, more: &[&str]) -> Option<Output> {
    let mut arguments = vec!["ceilings", "--backend", "gpu", "--each", "100ms"];
    arguments.extend(more);
    scene.jetlag(control, &arguments)
}

fn measured(scene: &Scene, control: &Control) -> Option<Value> {
    let output = run(scene, control, &["--format", "json"])?;
    assert!(output.status.success(), "{}", stderr(&output));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// The figures of a list, by their name.
fn rates<'a>(ceilings: &'a Value, list: &str, name: &str, rate: &str) -> Vec<(&'a str, f64)> {
    let all = ceilings[list].as_array().unwrap().iter();
    all.map(|one| (one[name].as_str().unwrap(), one[rate].as_f64().unwrap()))
        .collect()
}

/// A busy host can only make a round longer: nothing is above the truth, whatever else runs.
fn assert_near(found: &[(&str, f64)], truth: &[(&str, f64)]) {
    let names = |all: &[(&str, f64)]| all.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(names(found), names(truth));
    for ((name, found), (_, truth)) in found.iter().zip(truth) {
        assert!(
            (0.5 * truth..1.01 * truth).contains(found),
            "{name}: {found}, which is {truth}"
        );
    }
}

#[test]
fn rates_of_a_known_device_are_found() {
    let Some(scene) = Scene::new() else { return };
    let Some(control) = control() else { return };
    let Some(ceilings) = measured(&scene, &control) else {
        return;
    };
    println!("{ceilings:#}");
    assert_eq!(ceilings["processor"], "gpu");
    assert_near(
        &rates(&ceilings, "peaks", "precision", "flops_per_s"),
        &[
            ("fp32", 10e12),
            ("tf32", 40e12),
            ("fp16", 80e12),
            ("int8", 160e12),
        ],
    );
    // Of the two ways to add 16 bits up the faster one.
    let how = ceilings["peaks"][2]["how"].as_str().unwrap();
    assert!(
        how.contains("cuBLAS 12.9.1") && how.contains("sums of 32 bits"),
        "{how}"
    );
    assert_near(
        &rates(&ceilings, "copies", "name", "bytes_per_s")[1..],
        &[("copy to the device", 2e9), ("copy to the host", 3e9)],
    );
    let bandwidths = rates(&ceilings, "bandwidths", "name", "bytes_per_s");
    assert_near(&bandwidths[1..], &[("L2", 400e9)]);
    // The double has no rate for copies within its memory: it takes as long as the host does.
    let within = ceilings["copies"][0]["bytes_per_s"].as_f64().unwrap();
    assert_eq!(bandwidths[0], ("memory", within));
    // Roofs are taken of it.
    std::fs::write(scene.path("gpu.json"), ceilings.to_string()).unwrap();
    let text = stderr(
        &scene
            .jetlag(&control, &["roofline", "none.mcap", "--ceilings", "gpu.json"])
            .unwrap(),
    );
    assert!(text.contains("none.mcap") && !text.contains("gpu.json"), "{text}");
}

#[test]
fn what_the_device_does_not_compute_with_is_said() {
    let Some(scene) = Scene::new() else { return };
    let Some(control) = control() else { return };
    let control = control.variable("JETLAG_CUBLAS_DOUBLE_RATES", "10000 0 80000 90000 0");
    let Some(ceilings) = measured(&scene, &control) else {
        return;
    };
    let peaks = rates(&ceilings, "peaks", "precision", "flops_per_s");
    assert_near(&peaks, &[("fp32", 10e12), ("fp16", 90e12)]);
    let how = ceilings["peaks"][1]["how"].as_str().unwrap();
    assert!(how.contains("sums of 16 bits"), "{how}");
    let notes = ceilings["notes"].to_string();
    for part in [
        "tf32 is not measured",
        "int8 is not measured",
        "clocks that the GPU had",
    ] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
}

#[test]
fn tf32_is_not_measured_where_cublas_would_compute_without_it() {
    let Some(scene) = Scene::new() else { return };
    let Some(control) = control() else { return };
    for (control, said) in [
        (control.clone().capability(72), "compute capability 8.0"),
        (
            control.variable("NVIDIA_TF32_OVERRIDE", "0"),
            "NVIDIA_TF32_OVERRIDE is 0",
        ),
    ] {
        let Some(ceilings) = measured(&scene, &control) else {
            return;
        };
        let peaks = rates(&ceilings, "peaks", "precision", "flops_per_s");
        let names: Vec<&str> = peaks.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["fp32", "fp16", "int8"]);
        assert!(ceilings["notes"].to_string().contains(said), "{ceilings}");
    }
}

#[test]
fn an_option_of_the_other_device_is_refused() {
    let Some(scene) = Scene::new() else { return };
    for (arguments, said) in [
        (["ceilings", "--gpu", "1"].as_slice(), "add --backend gpu"),
        (
            &["ceilings", "--backend", "gpu", "--threads", "4"],
            "leave it out",
        ),
    ] {
        let Some(output) = scene.jetlag(&Control::default(), arguments) else {
            return;
        };
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
}

#[test]
fn without_cublas_only_fp32_is_measured_and_why_is_said() {
    let Some(scene) = Scene::new() else { return };
    let control = Control::default()
        .memory_bytes(700 << 20)
        .variable("JETLAG_CUBLAS", "/nowhere/libcublas.so.12");
    let Some(ceilings) = measured(&scene, &control) else {
        return;
    };
    let peaks = rates(&ceilings, "peaks", "precision", "flops_per_s");
    assert!(
        peaks.len() == 1 && peaks[0].0 == "fp32" && peaks[0].1 > 0.0,
        "{peaks:?}"
    );
    assert_eq!(ceilings["peaks"][0]["how"], "multiply-adds in registers");
    let notes = ceilings["notes"].to_string();
    for part in [
        "tf32, fp16 and int8 are not measured",
        "/nowhere/libcublas.so.12",
        "JETLAG_CUBLAS",
    ] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
    // Nor without NVRTC: nothing is left to compute with.
    let control = control.variable("JETLAG_NVRTC", "/nowhere/libnvrtc.so.12");
    let Some(output) = run(&scene, &control, &[]) else {
        return;
    };
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for part in [
        "no peak of arithmetic",
        "/nowhere/libcublas.so.12",
        "/nowhere/libnvrtc.so.12",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn without_nvrtc_the_driver_copies_and_the_cache_is_left_out() {
    let Some(scene) = Scene::new() else { return };
    let Some(control) = control() else { return };
    let control = control.variable("JETLAG_NVRTC", "/nowhere/libnvrtc.so.12");
    let Some(ceilings) = measured(&scene, &control) else {
        return;
    };
    let bandwidths = rates(&ceilings, "bandwidths", "name", "bytes_per_s");
    assert!(
        bandwidths.len() == 1 && bandwidths[0].0 == "memory",
        "{bandwidths:?}"
    );
    assert!(
        ceilings["notes"].to_string().contains("L2 is not measured"),
        "{ceilings}"
    );
}

#[test]
fn a_gpu_that_is_not_there_is_told() {
    let Some(scene) = Scene::new() else { return };
    let Some(control) = control() else { return };
    for (control, arguments, said) in [
        (control.clone().devices(0), &[][..], "NO_DEVICE"),
        (control, &["--gpu", "3"], "GPU 3"),
    ] {
        let Some(output) = run(&scene, &control, arguments) else {
            return;
        };
        assert!(!output.status.success());
        let text = stderr(&output);
        assert!(text.contains(said), "{text}");
    }
}
