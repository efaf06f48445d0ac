//! Counters of the hardware: a part of what an H100 counted, made-up tables, and the program around a made-up profiler.

use std::path::PathBuf;

use serde_json::Value;

#[cfg(all(feature = "cpu", feature = "onnxruntime"))]
use crate::common::output::jetlag;
use crate::common::output::{assert_refused, run, stderr, stdout};

/// What Nsight Compute 2025.3.1 counted on an H100 in PyTorch's ResNet-50 (fp16, batch 8, channels last): all kernels of the stem and of
/// the first block of the first and the last stage; columns about device and launch were left out.
const RECORDED: &str = "tests/counters/resnet50_part_h100.csv";

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn json(arguments: &[&str]) -> Value {
    let output = run(arguments, &repository());
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

#[test]
fn what_an_h100_counted_is_read_by_layer_kernel_and_pipe() {
    let all = json(&["counters", "--from", RECORDED, "--format", "json"]);
    let own = &all["measurements"][0];
    assert_eq!(
        (&own["tenant"], &own["frames"], &own["compute_capability"]),
        (&"resnet50".into(), &1.into(), &"9.0".into())
    );
    let flops = |name: &str| {
        let layers = own["layers"].as_array().unwrap();
        let layer = layers.iter().find(|layer| layer["name"] == name).unwrap();
        layer["counted"]["flops_by_pipe"]["tensor fp16"].as_f64().unwrap()
    };
    // 3 × 3, 64 to 64 channels, 56 × 56, 8 images: nothing is padded, and the hardware counts what the file says.
    let exact = 2.0 * 8.0 * 56.0 * 56.0 * 64.0 * 64.0 * 9.0;
    assert_eq!(flops("layer1.0.conv2"), exact);
    // 7 × 7 positions do not fill tiles: a third more is executed than the file says.
    let padded = flops("layer4.0.conv2") / (2.0 * 8.0 * 7.0 * 7.0 * 512.0 * 512.0 * 9.0);
    assert!(padded > 1.3 && padded < 1.31, "{padded}");
    let total = &own["total"];
    for generation in ["wgmma", "mma.sync"] {
        assert!(
            total["tensor_instructions"][generation].as_f64().unwrap() > 1e5,
            "{total}"
        );
    }
    for figure in ["flops", "dram_bytes", "l2_bytes", "l1_bytes", "seconds"] {
        assert!(total[figure].as_f64().unwrap() > 0.0, "{figure}: {total}");
    }
    let sums = |of: &str| -> f64 {
        let all = own[of].as_array().unwrap();
        all.iter()
            .map(|one| one["counted"]["dram_bytes"].as_f64().unwrap())
            .sum()
    };
    for of in ["layers", "kernels"] {
        assert!(
            (sums(of) / total["dram_bytes"].as_f64().unwrap() - 1.0).abs() < 1e-9,
            "{of}"
        );
    }
    let output = run(&["counters", "--from", RECORDED], &repository());
    let text = stdout(&output);
    for said in [
        "COUNTED BY THE HARDWARE",
        "tensor fp16",
        "wgmma",
        "LAYERS",
        "layer1.0.conv2",
        "KERNELS",
        "DRAM",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn metrics_are_listed_with_what_nvprof_called_them() {
    let output = run(&["counters", "--list"], &repository());
    let text = stdout(&output);
    for said in [
        "dram__bytes_read.sum",
        "sm__inst_executed_pipe_tensor_op_gmma.sum",
        "flop_count_sp",
        "has no successor",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

#[test]
fn files_that_are_none_of_ncu_s_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.csv").display().to_string();
    for (text, said) in [
        ("a,b\n1,2\n", "no table of Nsight Compute"),
        (
            "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n",
            "ERR_NVGPUCTRPERM",
        ),
        ("\"ID\",\"Kernel Name\",\"dram__bytes.sum\"\n", "no launch in it"),
    ] {
        std::fs::write(&file, text).unwrap();
        assert_refused(
            &run(&["counters", "--from", &file], &repository()),
            2,
            &["x.csv", said],
        );
    }
    assert_refused(
        &run(&["counters", "--from", "nowhere.csv"], &repository()),
        2,
        &["nowhere.csv"],
    );
    std::fs::write(&file, "{\"schema\": 7, \"measurements\": []}").unwrap();
    let refused = run(
        &["roofline", "tests/records/run.mcap", "--counters", &file],
        &repository(),
    );
    assert_refused(&refused, 2, &["version 7", "count again"]);
}

/// Counters are set beside the tenant and the networks that they were counted of, and beside no others.
#[cfg(feature = "cpu")]
#[test]
fn counters_of_another_tenant_or_of_other_networks_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (record, counters) = (at("r.mcap"), at("c.json"));
    let network = "engines/camera.onnx";
    let line = [
        "run",
        network,
        "--set",
        "tenants.0.frames=3",
        "--set",
        "warmup=0s",
        "--quiet",
        "--out",
        &record,
    ];
    let made = run(&line, &repository());
    assert!(made.status.success(), "{}", stderr(&made));
    let read = run(&["counters", "--from", RECORDED, "-o", &counters], &repository());
    assert!(read.status.success(), "{}", stderr(&read));
    let said = || {
        let output = run(
            &["roofline", &record, "--counters", &counters, "--format", "json"],
            &repository(),
        );
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    let other = said();
    assert!(
        other.contains("the counters are of resnet50, and none of the tenant camera"),
        "{other}"
    );
    let mut of_camera: Value = serde_json::from_slice(&std::fs::read(&counters).unwrap()).unwrap();
    of_camera["measurements"][0]["tenant"] = "camera".into();
    std::fs::write(&counters, of_camera.to_string()).unwrap();
    let trusted = said();
    assert!(
        trusted.contains("that it is this one is taken on trust"),
        "{trusted}"
    );
    of_camera["measurements"][0]["networks"] = serde_json::json!(["00ff"]);
    std::fs::write(&counters, of_camera.to_string()).unwrap();
    let others = said();
    assert!(
        others.contains("the counters are of other networks (BLAKE3 00ff)"),
        "{others}"
    );
}

/// A profiler of our own making, which writes what it was called with to a file beside it.
#[cfg(all(feature = "cpu", feature = "onnxruntime"))]
fn profiler(folder: &std::path::Path, script: &str) -> String {
    let file = folder.join("ncu");
    let text = format!(
        "printf '%s\\n' \"$@\" > {0}/called\nwhile [ $# -gt 0 ]; do case \"$1\" in --log-file) log=$2;; esac; shift; done\n{script}",
        folder.display()
    );
    nvidia_doubles::script(&file, &text);
    file.display().to_string()
}

/// A scenario of two tenants, of which one is on a GPU that need not be there.
#[cfg(all(feature = "cpu", feature = "onnxruntime"))]
fn scenario(folder: &std::path::Path) -> String {
    let file = folder.join("two.ron");
    let network = repository().join("engines/camera.onnx");
    let text = format!(
        "Scenario(name: \"two\", trace: (), tenants: [
            Tenant(name: \"net\", detector: Network(network: {network:?}), backend: OnnxRuntime(provider: Cuda)),
            Tenant(name: \"host\", detector: Network(network: {network:?}), backend: Cpu(threads: 1)),
        ])"
    );
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

#[cfg(all(feature = "cpu", feature = "onnxruntime"))]
#[test]
fn the_profiler_is_asked_for_few_frames_of_one_tenant() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join("recorded.csv");
    let recorded = std::fs::read_to_string(repository().join(RECORDED)).unwrap();
    std::fs::write(&table, recorded.replace("resnet50 3 submit", "net 3 submit")).unwrap();
    let ncu = profiler(folder.path(), &format!("cp {} \"$log\"", table.display()));
    let (scenario, output) = (scenario(folder.path()), folder.path().join("net.json"));
    let out = output.display().to_string();
    let arguments = [
        "counters",
        &scenario,
        "--ncu",
        &ncu,
        "-o",
        &out,
        "--frames",
        "1",
        "--skip",
        "3",
        "--metrics",
        "flop_count_sp,dram_read_transactions",
    ];
    let done = run(&arguments, &repository());
    assert!(done.status.success(), "{}", stderr(&done));
    assert!(stderr(&done).contains("trace was left out"), "{}", stderr(&done));
    let called = std::fs::read_to_string(folder.path().join("called")).unwrap();
    let words: Vec<&str> = called.lines().collect();
    let after = |flag: &str| words[words.iter().position(|word| *word == flag).unwrap() + 1];
    assert_eq!(after("--nvtx-include"), "jetlag@net 3 submit/");
    assert_eq!((after("--clock-control"), after("--counted")), ("none", "net=4"));
    assert!(after("--metrics").contains("dram__sectors_read.sum"), "{called}");
    assert!(!words.contains(&"--cache-control"));
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&output).unwrap()).unwrap();
    let own = &written["measurements"][0];
    assert_eq!(
        (&own["tenant"], &own["caches"]),
        (&"net".into(), &"emptied".into())
    );
    // ncu's own table is kept, and neither file is replaced unasked.
    assert!(folder.path().join("net.csv").is_file());
    assert_refused(&run(&arguments, &repository()), 2, &["net.json", "--force"]);
    // Passes of an application that keep the caches.
    let done = run(
        &[
            "counters",
            &scenario,
            "--ncu",
            &ncu,
            "--keep-caches",
            "--format",
            "json",
        ],
        &repository(),
    );
    assert!(done.status.success(), "{}", stderr(&done));
    let called = std::fs::read_to_string(folder.path().join("called")).unwrap();
    assert!(called.contains("--replay-mode\napplication\n"), "{called}");
}

#[cfg(all(feature = "cpu", feature = "onnxruntime"))]
#[test]
fn a_profiler_that_is_absent_or_refused_is_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = scenario(folder.path());
    let absent = jetlag(&["counters", &scenario], &repository())
        .env("PATH", folder.path())
        .env_remove("JETLAG_NCU")
        .output()
        .unwrap();
    if !std::path::Path::new("/usr/local/cuda/bin/ncu").exists()
        && !std::path::Path::new("/opt/nvidia/nsight-compute").exists()
    {
        assert_refused(&absent, 1, &["Nsight Compute is not here", "--ncu", "--from"]);
    }
    for (script, said) in [
        (
            "echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission' > \"$log\"; exit 1",
            "may not read the GPU's counters",
        ),
        (
            "echo '==ERROR== Failed to initialize the profiler: LibraryNotLoaded' > \"$log\"; exit 1",
            "LibraryNotLoaded",
        ),
        (
            "echo '==WARNING== No kernels were profiled.' > \"$log\"",
            "no kernel",
        ),
        ("echo 'error: there is no GPU'; exit 9", "there is no GPU"),
        ("exit 3", "exit status: 3"),
    ] {
        let ncu = profiler(folder.path(), script);
        let output = run(&["counters", &scenario, "--ncu", &ncu], &repository());
        assert_refused(&output, 1, &["nothing was counted", said]);
    }
    let refused = run(&["counters", &scenario, "--tenant", "host"], &repository());
    assert_refused(&refused, 2, &["host runs on the backend cpu"]);
    let refused = run(&["counters", &scenario, "--tenant", "nobody"], &repository());
    assert_refused(&refused, 2, &["the scenario has net, host"]);
}
