//! Bare networks with inputs from files, and their outputs kept and compared. The arrays are NumPy's own where there is one.

use std::fs;
use std::path::Path;

use rten_onnx::onnx::DataType;
use serde_json::Value;

use super::network;
use crate::common::output::{assert_refused, run, stderr, stdout};

/// An array as numpy.save writes it, of floats.
fn array(path: &Path, shape: &str, values: &[f32]) {
    let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
    let text = format!("{text:<117}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((text.len() as u16).to_le_bytes());
    file.extend(text.bytes());
    file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    fs::write(path, file).unwrap();
}

fn scenario(folder: &Path, sharing: &str, fields: &str) {
    let text = format!(
        "Scenario(duration: \"60s\", warmup: \"0s\", sharing: {sharing}, tenants: [\
         Tenant(name: \"net\", detector: Network(network: \"net.onnx\", {fields}), backend: Cpu(), frames: 3)])"
    );
    fs::write(folder.join("s.ron"), text).unwrap();
}

const FILES: &str = "fill: Files([\"a.npy\", (input: \"b\", file: \"b.bin\")])";

#[test]
fn outputs_of_files_are_kept_and_compared_and_ci_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let inputs: [(&str, DataType, &[&str]); 2] = [
        ("a", DataType::FLOAT, &["n", "2"]),
        ("b", DataType::INT32, &["2"]),
    ];
    network(at, "net.onnx", &inputs);
    // Its shape is that of the input, which the network leaves open.
    array(&at.join("a.npy"), "(2, 2)", &[1.0, -2.0, 3.5, 4.0]);
    fs::write(at.join("b.bin"), [7, 0, 0, 0, 1, 1, 0, 0]).unwrap();

    scenario(
        at,
        "Streams",
        &format!("{FILES}, record_outputs: (keep: \"kept\")"),
    );
    let dry = run(&["run", "s.ron", "--dry-run"], at);
    assert!(dry.status.success(), "{}", stderr(&dry));
    assert!(!at.join("kept").exists(), "a dry run makes no folder");
    let kept = run(&["run", "s.ron"], at);
    assert!(kept.status.success(), "{}", stderr(&kept));
    assert!(stdout(&kept).contains("kept/y0.npy"), "{}", stdout(&kept));
    // The network hands its inputs on.
    assert_eq!(
        fs::read(at.join("kept/y0.npy")).unwrap()[128..],
        fs::read(at.join("a.npy")).unwrap()[128..]
    );
    let whole = fs::read(at.join("kept/y1.npy")).unwrap();
    assert_eq!(whole[whole.len() - 8..], [7, 0, 0, 0, 1, 1, 0, 0]);

    // Another file there stays, and so does what a link of that name leads to.
    fs::write(at.join("theirs"), "dear").unwrap();
    fs::create_dir(at.join("linked")).unwrap();
    std::os::unix::fs::symlink(at.join("theirs"), at.join("linked/y0.npy")).unwrap();
    for (folder, force) in [("kept", "--quiet"), ("kept", "--force"), ("linked", "--force")] {
        scenario(
            at,
            "Streams",
            &format!("{FILES}, record_outputs: (keep: \"{folder}\")"),
        );
        let again = run(&["run", "s.ron", force], at);
        assert_refused(&again, 2, &["y0.npy exists", "replace nothing"]);
    }
    assert_eq!(fs::read(at.join("theirs")).unwrap(), b"dear");
    assert_eq!(fs::read(at.join("kept/y1.npy")).unwrap(), whole);

    let compare = |sharing: &str| {
        scenario(
            at,
            sharing,
            &format!("{FILES}, record_outputs: (reference: \"kept\", absolute: 0.01, relative: 0)"),
        );
        let output = run(&["run", "s.ron", "--format", "json"], at);
        let summary: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
        (output.status.code(), summary)
    };
    let (code, summary) = compare("Processes");
    let outputs = &summary["tenants"][0]["outputs"];
    assert_eq!(code, Some(0), "{summary}");
    assert_eq!(
        (&outputs[0]["within"], &outputs[1]["within"]),
        (&true.into(), &true.into())
    );
    assert_eq!(outputs[0]["shape"], serde_json::json!([2, 2]));
    assert_eq!(summary["expectations"][0]["holds"], true, "{summary}");

    array(&at.join("kept/y0.npy"), "(2, 2)", &[1.005, -2.5, f32::NAN, 4.0]);
    let (code, summary) = compare("Streams");
    let output = &summary["tenants"][0]["outputs"][0];
    assert_eq!(code, Some(3), "{summary}");
    assert_eq!(
        (&output["differing"], &output["within"]),
        (&2.into(), &false.into())
    );
    // Infinite, which JSON has no number for: one side is not a number.
    assert_eq!(
        (&output["largest_absolute"], &output["largest_relative"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(summary["expectations"][0]["value"], 2.0, "{summary}");

    array(&at.join("kept/y0.npy"), "(1, 2)", &[1.0, 2.0]);
    let (code, summary) = compare("Streams");
    assert_eq!(code, Some(3), "{summary}");
    let finding = summary["run"]["findings"].to_string();
    assert!(
        finding.contains("outputs-not-compared")
            && finding.contains("[2, 2], and that of its reference [1, 2]"),
        "{finding}"
    );
    assert_eq!(summary["expectations"][0]["value"], Value::Null, "{summary}");
}

#[test]
fn what_does_not_fit_is_told_before_the_first_frame() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let inputs: [(&str, DataType, &[&str]); 2] =
        [("a", DataType::FLOAT, &["2"]), ("b", DataType::INT32, &["2"])];
    network(at, "net.onnx", &inputs);
    array(&at.join("a.npy"), "(3,)", &[1.0, 2.0, 3.0]);
    fs::write(at.join("b.bin"), [0; 9]).unwrap();
    fs::create_dir(at.join("empty")).unwrap();
    let refused = |fields: &str, phrases: &[&str]| {
        scenario(at, "Streams", fields);
        assert_refused(&run(&["run", "s.ron"], at), 2, phrases);
    };
    refused(
        FILES,
        &[
            "a.npy is f32 [3], and input `a` takes f32 [2]",
            "b.bin has 9 bytes, and input `b` (i32 [2]) takes 8",
        ],
    );
    refused(
        "fill: Files([\"none.npy\"])",
        &["file of an input not found", "none.npy"],
    );
    refused("record_outputs: ()", &["neither `keep` nor `reference`"]);
    refused(
        "record_outputs: (keep: \"k\", relative: -1)",
        &["`relative` is -1", "1e-5"],
    );
    refused(
        "record_outputs: (reference: \"nowhere\")",
        &["folder of .npy files not found", "nowhere"],
    );
    refused(
        "record_outputs: (reference: \"empty\")",
        &[
            "no reference for output `y0`",
            "empty/y0.npy is missing",
            "`keep` writes one",
        ],
    );
}
