//! What a detector finds in a frame: on the embedded backend here and now, or in a run on any other backend.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};

use crate::backend::cpu::CpuBackend;
use crate::backend::{Backend, Slot};
use crate::commands::outcome::WrongUse;
use crate::detector::{Carry, Detection, Detector};
use crate::record::{Event, Outcome, RunReader};
use crate::source::{ContentKind, Frame};
use crate::whole;

/// Where detections come from.
pub(super) enum Detections {
    /// The detector executes on the embedded backend.
    Here {
        detector: Box<Detector>,
        slot: Box<dyn Slot>,
        carry: Carry,
    },
    /// A run has found them, by the index of the frame.
    Found(BTreeMap<u64, Vec<Detection>>),
}

impl Detections {
    /// Of the embedded backend.
    pub(super) fn here(detector: Detector) -> anyhow::Result<Detections> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let slots = CpuBackend::new(threads, false).open(&detector.program, 1)?.slots;
        Ok(Detections::Here {
            slot: slots.into_iter().next().context("the backend returned no slot")?,
            detector: Box::new(detector),
            carry: Carry::default(),
        })
    }

    /// Of a run of this detector on a backend, which is written as in a scenario. The run is a process of its own, as a run of any
    /// other scenario: a backend that takes the process with it does not take the evaluation.
    pub(super) fn of_run(
        detector: &str,
        data: &Path,
        input: ContentKind,
        backend: &str,
        frames: usize,
    ) -> anyhow::Result<Detections> {
        let folder = tempfile::tempdir().context("there is no folder for temporary files")?;
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let data = absolute(data);
        let source = match input {
            ContentKind::Image => format!("Images(path: {:?})", data.join("image_2").display().to_string()),
            _ => format!("Points(path: {:?})", data.join("velodyne").display().to_string()),
        };
        let named = match detector.strip_prefix("builtin:") {
            Some(_) => format!("{detector:?}"),
            None => format!("{:?}", absolute(Path::new(detector)).display().to_string()),
        };
        let scenario = folder.path().join("evaluated.ron");
        let text = format!(
            "Scenario(name: \"evaluated\", duration: \"24h\", warmup: \"0s\", telemetry: (sources: [Host]), tenants: [Tenant(\n    name: \"detector\", detector: {named}, \
             source: {source},\n    arrival: Closed(), frames: {frames}, backend: {backend}, record_detections: true,\n)])\n"
        );
        whole::write(&scenario, text, false).with_context(|| scenario.display().to_string())?;
        let run = folder.path().join("evaluated.mcap");
        let program = std::env::current_exe().context("cannot find jetlag's executable")?;
        let output = Command::new(program)
            .arg("run")
            .arg(&scenario)
            .arg("--out")
            .arg(&run)
            .output()
            .context("cannot start the run")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(match output.status.code() {
                Some(2) => WrongUse(format!("--backend {backend}: {said}")).into(),
                _ => anyhow::anyhow!("the run on {backend} failed: {said}"),
            });
        }
        Ok(Detections::Found(read(&run)?))
    }

    /// Replaces `found` by what is found in a decoded frame.
    pub(super) fn of(&mut self, frame: &Frame, found: &mut Vec<Detection>) -> anyhow::Result<()> {
        match self {
            Detections::Here {
                detector,
                slot,
                carry,
            } => {
                detector.preprocess.run(frame, slot.tensors_mut(), carry)?;
                slot.submit()?;
                slot.wait()?;
                detector.postprocess.run(slot.tensors(), carry, found)?;
            }
            Detections::Found(all) => {
                let Some(of_frame) = all.remove(&frame.index) else {
                    bail!("the run has no answer for it");
                };
                *found = of_frame;
            }
        }
        Ok(())
    }
}

fn read(run: &Path) -> anyhow::Result<BTreeMap<u64, Vec<Detection>>> {
    let mut found: BTreeMap<u64, Vec<Detection>> = BTreeMap::new();
    for event in RunReader::open(run)?.by_ref() {
        match event? {
            // A frame in which nothing was found has no record of it.
            Event::Frame(frame) if frame.outcome == Outcome::Completed => {
                found.entry(frame.source_index).or_default();
            }
            Event::Detections(record) => {
                found.insert(record.source_index, record.detections);
            }
            _ => {}
        }
    }
    Ok(found)
}
