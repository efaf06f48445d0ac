//! The memory of tenants of the host, from a network whose tensors have a known size to every form of a report.

use std::fs;
use std::path::Path;

use rten_onnx::onnx::{DataType, GraphProto, NodeProto};
use serde_json::Value;

use crate::common::onnx;
use crate::common::output::{run, stderr, stdout};
use crate::init::network;

const MIB: u64 = 1 << 20;
/// Bytes of the input of the large network, and of its output.
const LARGE: u64 = 32 * MIB;

/// Two networks, which copy their input: one of a few bytes, one of [`LARGE`].
fn scenario(folder: &Path, fields: &str) {
    network(folder, "copy.onnx", &[("x", DataType::FLOAT, &["n"])]);
    let tenant = |name: &str, elements: u64| {
        format!(
            "Tenant(name: \"{name}\", detector: Network(network: \"copy.onnx\", shapes: \"x:{elements}\"), backend: Cpu(threads: \
             1), arrival: Closed(), frames: 3)"
        )
    };
    let text = format!(
        "Scenario(name: \"memory\", duration: \"100s\", warmup: \"0s\", telemetry: (sources: [Host]), {fields}\n    tenants: [{},\n    \
         {}],\n)\n",
        tenant("small", 4),
        tenant("large", LARGE / 4)
    );
    fs::write(folder.join("memory.ron"), text).unwrap();
}

fn summary(folder: &Path) -> Value {
    let arguments = [
        "run",
        "memory.ron",
        "--quiet",
        "--format",
        "json",
        "--out",
        "run.mcap",
        "--force",
    ];
    let output = run(&arguments, folder);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn bytes(summary: &Value, tenant: usize, field: &str) -> u64 {
    let value = &summary["tenants"][tenant]["memory"][field];
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{field}: {}", summary["tenants"][tenant]["memory"]))
}

#[test]
fn processes_have_peaks_of_their_own_which_hold_input_and_output() {
    let made = tempfile::tempdir().unwrap();
    scenario(made.path(), "sharing: Processes,");
    let summary = summary(made.path());
    let host = |tenant| bytes(&summary, tenant, "host_tensors_bytes");
    assert_eq!((host(0), host(1)), (16, LARGE));
    let peak = |tenant| bytes(&summary, tenant, "process_peak_bytes");
    let more = peak(1) - peak(0);
    // Its input, its output, and at the moment when a new output comes the one before.
    assert!(
        (2 * LARGE - 2 * MIB..4 * LARGE).contains(&more),
        "{more} of {}",
        peak(1)
    );
}

#[test]
fn a_process_with_all_tenants_has_one_peak_and_every_form_tells_it_with_what_is_not_known() {
    let made = tempfile::tempdir().unwrap();
    scenario(made.path(), "");
    let summary = summary(made.path());
    let peak = bytes(&summary, 0, "process_peak_bytes");
    assert!(
        peak > 2 * LARGE && peak == bytes(&summary, 1, "process_peak_bytes"),
        "{peak}"
    );
    let memory = &summary["tenants"][1]["memory"];
    for absent in [
        "networks_bytes",
        "contexts_bytes",
        "pinned_bytes",
        "device_bytes",
        "device_peak_bytes",
    ] {
        assert!(memory[absent].is_null(), "{absent}: {memory}");
    }
    let unknown = memory["unknown"].as_array().unwrap();
    assert_eq!(unknown.len(), 1, "{memory}");
    assert_eq!(unknown[0]["part"], "networks");

    let report = run(&["report", "run.mcap"], made.path());
    let text = stdout(&report);
    let table: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("MEMORY"))
        .collect();
    assert!(
        table[1].contains("networks") && table[1].contains("host tensors") && !table[1].contains("GPU"),
        "{text}"
    );
    let large = table.iter().find(|line| line.contains("large")).unwrap();
    assert!(large.contains("32.0 MiB") && large.contains('–'), "{large}");
    assert!(
        text.contains("networks (small, large): the embedded runtime"),
        "{text}"
    );
    let page = run(&["report", "run.mcap", "--html", "run.html"], made.path());
    assert!(page.status.success(), "{}", stderr(&page));
    let page = fs::read_to_string(made.path().join("run.html")).unwrap();
    assert!(page.contains("process peak") && page.contains("32.0\u{a0}MiB"));
}

/// Equal seeds give equal files in simulated time, where nothing is allocated.
#[test]
fn simulated_time_tells_no_memory() {
    let made = tempfile::tempdir().unwrap();
    let text = "Scenario(name: \"memory\", clock: Virtual, duration: \"1s\", tenants: [Tenant(name: \"a\", backend: Sim(Fixed(\"5ms\")), \
                arrival: Periodic(hz: 30))])";
    fs::write(made.path().join("memory.ron"), text).unwrap();
    let summary = summary(made.path());
    assert_eq!(summary["tenants"][0].get("memory"), None);
}

/// A network of a few hundred bytes that doubles its input 35 times: 32 TiB from 256 floats. With `constant`, of a constant, which a
/// runtime computes when it loads the network.
fn doubling(path: &Path, constant: bool) {
    let mut nodes: Vec<NodeProto> = (0..35)
        .map(|step| {
            let from = format!("t{step}");
            onnx::node_with("Concat", &[&from, &from], &format!("t{}", step + 1), ("axis", 0))
        })
        .collect();
    let start = onnx::floats("t0", &[256], &[0.0; 256]);
    let (input, initializer) = match constant {
        false => (onnx::sized("t0", DataType::FLOAT, &[256]), Vec::new()),
        true => (onnx::sized("x", DataType::FLOAT, &[1]), vec![start]),
    };
    let last = if constant { "y" } else { "t35" };
    if constant {
        nodes.push(onnx::node("Add", &["x", "t35"], "y"));
    }
    let graph = GraphProto {
        node: nodes,
        input: vec![input],
        output: vec![onnx::value(last, DataType::FLOAT, &[None])],
        initializer,
        ..GraphProto::default()
    };
    onnx::write(path, graph);
}

#[test]
fn a_network_that_needs_more_memory_than_there_is_is_told_before_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let said = [
        "not enough memory for",
        "(Concat) makes a tensor of",
        "GB are free",
    ];
    for constant in [false, true] {
        doubling(&folder.join("doubles.onnx"), constant);
        let profiled = run(&["inspect", "doubles.onnx", "--profile", "1"], folder);
        assert_eq!(profiled.status.code(), Some(1), "{}", stderr(&profiled));
        let failed = run(
            &[
                "run",
                "doubles.onnx",
                "--quiet",
                "--set",
                "duration=1s",
                "--out",
                "run.mcap",
                "--force",
            ],
            folder,
        );
        for output in [&profiled, &failed] {
            let text = stdout(output) + &stderr(output);
            said.iter()
                .for_each(|said| assert!(text.contains(said), "no {said:?} in {text}"));
        }
    }
}
