//! Operators of the embedded backend on values at the edges, held against onnx's reference by tests/python/operators_judge.py, and
//! against ONNX Runtime too where Python has it. All of its cases take two minutes; these are of each kind.

use std::path::Path;
use std::process::Command;

use nvidia_doubles::machine;

#[test]
fn operators_answer_at_the_edges_as_onnx_says_or_are_refused_by_name() {
    let Some(python) = machine::python("numpy, onnx.reference") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/operators_judge.py"))
        .args([env!("CARGO_BIN_EXE_jetlag").as_ref(), folder.path()])
        .args([
            "ArgM",
            "Relu",
            "S",
            "Clip-nan",
            "Max",
            "Pow",
            "ReduceL2-int32-[]",
            "ReduceLogSum-int64-[]",
        ])
        .args(["ReduceMax-float-[1]", "ReduceSum-nothing", "LogSoftmax"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
