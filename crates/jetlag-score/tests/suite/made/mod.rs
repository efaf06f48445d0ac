//! Made problems: numbers from a seed, and how Python is asked about them.

#![allow(dead_code, reason = "the example takes a part of it")]

pub(crate) mod coco;
pub(crate) mod kitti;
pub(crate) mod nuscenes;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use jetlag_stats::random::SplitMix64;
use nvidia_doubles::machine::python;
use serde_json::Value;

pub(crate) struct Dice(SplitMix64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Dice(SplitMix64::new(seed))
    }

    /// From 0 to below 1.
    pub(crate) fn share(&mut self) -> f64 {
        self.0.unit()
    }

    pub(crate) fn between(&mut self, from: f64, to: f64) -> f64 {
        from + (to - from) * self.share()
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.share() * end as f64) as usize
    }

    pub(crate) fn chance(&mut self, share: f64) -> bool {
        self.share() < share
    }

    /// About normal, of deviation 1.
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.share()).sum::<f64>() - 6.0
    }
}

/// Runs a script beside these tests; one JSON value a line goes in and comes out. `None` where this machine has no such Python.
pub(crate) fn ask(script: &str, modules: &str, arguments: &[&str], lines: &[Value]) -> Option<Vec<Value>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/python")
        .join(script);
    let mut child = Command::new(python(modules)?)
        .arg(script)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    Some(
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect(),
    )
}

pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}
