//! `jetlag doctor --measure`: which `transfer` is the fastest on this machine.
//!
//! The tenants of a scenario run with each in turns, in another order each round, so that a machine that warms up does so for
//! all; then they are compared with copying as `jetlag compare` compares runs, with intervals. Run files are not kept.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use anyhow::Context;

use super::compare::record;
use super::outcome::{Outcome, WrongUse};
use super::output::{print_styled, say, style};
use super::report;
use super::runs::resolved;
use super::signals::stop_on_signals;
use crate::analysis::compare::{self, Side};
use crate::cli::Format;
use crate::scenario::{Scenario, transfers};
use crate::whole;

/// How often each runs.
const ROUNDS: usize = 5;
/// What is compared with.
const PLAINEST: &str = "Copy";
/// `Auto` is one of the others.
const NOT_A_WAY: &str = "Auto";

/// The demo's detectors at rates that leave a board time, each by itself in most of its frames.
const SCENARIO: &str = r#"Scenario(
    name: "transfers", duration: "4s", warmup: "1s",
    tenants: [
        Tenant(
            name: "camera", detector: "builtin:camera", backend: TensorRt(build: "--precision fp16"),
            arrival: Periodic(hz: 20), record_detections: false,
        ),
        Tenant(
            name: "lidar", detector: "builtin:lidar", backend: TensorRt(build: "--precision fp16"),
            arrival: Periodic(hz: 10, phase: "25ms"), record_detections: false,
        ),
    ],
)
"#;

/// Runs the tenants with each way in turns and prints the comparison.
///
/// # Errors
/// [`WrongUse`] for a scenario without a GPU tenant; a run that fails, in its own words.
pub(super) fn run(scenario: Option<&Path>, format: Format) -> anyhow::Result<Outcome> {
    let folder = tempfile::Builder::new()
        .prefix("jetlag-measure-")
        .tempdir()
        .context("there is no folder for temporary files")?;
    let path = match scenario {
        Some(path) => path.to_owned(),
        None => {
            let path = folder.path().join("transfers.ron");
            whole::write(&path, SCENARIO, false).context("the scenario cannot be written")?;
            path
        }
    };
    let tenants = resolved(&path, &[])?;
    let ways: Vec<&str> = ways();
    let mut files: Vec<Vec<PathBuf>> = vec![Vec::new(); ways.len()];
    let stop = stop_on_signals()?;
    'rounds: for round in 0..ROUNDS {
        for place in 0..ways.len() {
            let number = (round + place) % ways.len();
            let way = ways[number];
            say(&format!("round {} of {ROUNDS}: transfer: {way}", round + 1));
            let file = folder.path().join(format!("{way}-{round}.mcap"));
            let seed = tenants.seed.wrapping_add(round as u64);
            if !record(&path, &sets(&tenants, way)?, (seed, false), &file, &stop)? {
                break 'rounds;
            }
            files[number].push(file);
        }
    }
    let interrupted = stop.load(Ordering::Relaxed);
    if interrupted && files.iter().any(Vec::is_empty) {
        return Ok(Outcome::Interrupted);
    }
    let side = |(way, files): (&&str, &Vec<PathBuf>)| -> anyhow::Result<Side> {
        let runs = files.iter().map(|file| report::sample_file(file, None));
        Ok(Side {
            name: format!("transfer: {way}"),
            files: Vec::new(),
            runs: runs.collect::<anyhow::Result<_>>()?,
            in_turns: true,
            repeated: Vec::new(),
        })
    };
    let sides: Vec<Side> = ways.iter().zip(&files).map(side).collect::<anyhow::Result<_>>()?;
    let comparison = compare::compare(&sides, &[]).map_err(|error| WrongUse(error.to_string()))?;
    let mut out = Vec::new();
    match format {
        Format::Text => crate::report::compare::write(&comparison, &mut out, &style())?,
        Format::Json => {
            serde_json::to_writer_pretty(&mut out, &comparison)?;
            out.push(b'\n');
        }
    }
    let is_coloured = format == Format::Text && style().colour;
    print_styled(&String::from_utf8(out)?, is_coloured)?;
    Ok(if interrupted {
        Outcome::Interrupted
    } else {
        Outcome::Done
    })
}

/// What is compared, the plainest first.
fn ways() -> Vec<&'static str> {
    let others = transfers().filter(|way| ![PLAINEST, NOT_A_WAY].contains(way));
    std::iter::once(PLAINEST).chain(others).collect()
}

/// What makes a scenario's GPU tenants use a way.
fn sets(scenario: &Scenario, way: &str) -> Result<Vec<String>, WrongUse> {
    let tenants = scenario.tenants.iter().enumerate();
    let on_gpu = tenants.filter(|(_, tenant)| tenant.device().is_gpu());
    let sets: Vec<String> = on_gpu
        .map(|(number, _)| format!("tenants.{number}.transfer={way}"))
        .collect();
    match sets.is_empty() {
        true => Err(WrongUse(
            "no tenant of this scenario runs on a GPU: name one with `backend: TensorRt(…)` or `OnnxRuntime(provider: Cuda)`"
                .to_owned(),
        )),
        false => Ok(sets),
    }
}
