//! Against independent programs: the shapes of onnx's own inference, and the counts of onnx-tool, whose differences follow from
//! its rules and are printed as a table.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use jetlag_work::{Given, Graph, Options, Work, work};
use nvidia_doubles::machine::{python, repository, shared};
use serde_json::Value;

/// The networks of the reference data whose sizes are all fixed.
fn networks() -> Option<Vec<PathBuf>> {
    let root = shared("data/models")?;
    let mut found = Vec::new();
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "onnx") && !path.ends_with("pfe.onnx") {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(found.len() > 15);
    Some(found)
}

fn ask(python: &Path, networks: &[PathBuf]) -> Vec<Value> {
    let script = repository().join("crates/jetlag-work/tests/python/counters.py");
    let output = Command::new(python).arg(script).args(networks).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn count(path: &Path) -> Work {
    work(
        &Graph::open(path).unwrap(),
        &Given::default(),
        &Options::default(),
    )
    .unwrap()
}

#[test]
fn shapes_are_those_of_onnx_and_counts_those_of_onnx_tool_but_for_its_rules() {
    let Some(networks) = networks() else { return };
    let Some(python) = python("onnx, onnx_tool") else {
        return;
    };
    let answers = ask(&python, &networks);
    let mut table = String::from("\nnetwork, operator: multiply-adds here; onnx-tool's; why they differ\n");
    let mut shapes = 0;
    for (path, answer) in networks.iter().zip(&answers) {
        let made = count(path);
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let ours: HashMap<&str, &Vec<Option<Vec<u64>>>> = made
            .nodes
            .iter()
            .map(|node| (&*node.name, &node.outputs))
            .collect();
        for node in answer["nodes"].as_array().unwrap() {
            let (label, theirs) = (node[0].as_str().unwrap(), node[1].as_array().unwrap());
            for (at, shape) in theirs.iter().enumerate().filter(|(_, shape)| !shape.is_null()) {
                let shape: Vec<u64> = serde_json::from_value(shape.clone()).unwrap();
                assert_eq!(ours[label][at], Some(shape), "{name}, {label}");
                shapes += 1;
            }
        }
        if let Some(why) = answer["failed"].as_str() {
            table += &format!("{name}: onnx-tool stops: {why}\n");
            continue;
        }
        for (operator, ours) in &made.totals.macs_by_operator {
            let theirs = answer["macs"][operator].as_u64().unwrap_or(0);
            let by_rules = answer["expected"][operator].as_u64();
            let why = match (&**operator, by_rules) {
                _ if *ours == theirs => "equal",
                (_, Some(by_rules)) if by_rules == theirs && operator == "ConvTranspose" => {
                    "it counts by the output, every element with the kernels of all output channels, and adds the bias"
                }
                (_, Some(by_rules)) if by_rules == theirs => "it adds the bias as multiply-adds",
                ("LSTM" | "GRU", _) => "it counts what happens at the gates as multiply-adds",
                ("Attention" | "QLinearConv", _) if theirs == 0 => "it has no rule for the operator",
                _ => "",
            };
            assert!(
                !why.is_empty(),
                "{name}, {operator}: {ours} and {theirs} ({by_rules:?})"
            );
            table += &format!("{name}, {operator}: {ours}; {theirs}; {why}\n");
        }
    }
    assert!(shapes > 1500, "{shapes}");
    table += &format!("{shapes} shapes are equal to those of onnx\n");
    std::io::stdout().write_all(table.as_bytes()).unwrap();
}
