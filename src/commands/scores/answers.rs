//! What the tenants of a run answered, frame by frame.

use std::collections::BTreeMap;
use std::path::Path;

use crate::detector::Detection;
use crate::record::{Event, Outcome, Phase, RunReader, Selection};
use crate::scenario::SourceSpec;
use crate::units::{Nanos, Stamp};

use crate::commands::outcome::WrongUse;

/// A frame of a tenant.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    /// Its number among the tenant's releases.
    pub(super) sequence: u64,
    /// Index of its content in the source; `None` for one that was never fetched.
    pub(super) content: Option<u64>,
    /// When it was due.
    pub(super) released: Stamp,
    /// When its answer was ready; `None` for one that was dropped or failed.
    pub(super) finished: Option<Stamp>,
    /// When its content was captured, where the run knows it.
    pub(super) captured: Option<Stamp>,
    /// What was found, best first.
    pub(super) found: Vec<Detection>,
}

/// A tenant of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answers {
    /// Its name.
    pub(super) tenant: String,
    /// The classes of its detector.
    pub(super) classes: Vec<String>,
    /// Where its frames came from; of sets of sensors, the LiDAR's.
    pub(super) source: SourceSpec,
    /// Which frames that source had; `None` where they were made, and in files before version 1.16.
    pub(super) selection: Option<Selection>,
    /// Whether a camera's images are in its answers.
    pub(super) uses_camera: bool,
    /// Its deadline, if it has one.
    pub(super) deadline: Option<Nanos>,
    /// Its measured frames, in the order of their release.
    pub(super) frames: Vec<Answer>,
    /// Frames whose detections were lost on their way to the file, and are left out.
    pub(super) lost: usize,
}

/// The tenants of a run that have detections, or the one named.
///
/// # Errors
/// No run file; a tenant that is not there; no tenant whose detections were recorded, with what to do.
pub(super) fn read(path: &Path, tenant: Option<&str>) -> anyhow::Result<Vec<Answers>> {
    let mut reader = RunReader::open(path).map_err(WrongUse::because)?;
    let manifest = reader.manifest();
    let Some(scenario) = manifest.scenario().cloned() else {
        return Err(WrongUse(format!(
            "{}: an application's record has no detections to score",
            path.display()
        ))
        .into());
    };
    let names: Vec<&str> = scenario
        .tenants
        .iter()
        .map(|tenant| tenant.name.as_str())
        .collect();
    if let Some(name) = tenant
        && !names.contains(&name)
    {
        return Err(WrongUse(format!(
            "{} has no tenant `{name}`; it has {}",
            path.display(),
            names.join(", ")
        ))
        .into());
    }
    let mut all: Vec<Answers> = scenario
        .tenants
        .iter()
        .zip(&manifest.tenants)
        .map(|(tenant, known)| Answers {
            tenant: tenant.name.clone(),
            classes: known.classes.clone(),
            source: tenant.source.recorded_as().clone(),
            selection: known.selection.clone(),
            uses_camera: uses_camera(&tenant.source),
            deadline: tenant.deadline,
            frames: Vec::new(),
            lost: 0,
        })
        .collect();
    let recorded: Vec<bool> = scenario
        .tenants
        .iter()
        .map(|tenant| tenant.record_detections)
        .collect();
    fill(&mut reader, &mut all)?;
    let wanted = |answers: &Answers| tenant.is_none_or(|name| name == answers.tenant);
    let chosen: Vec<Answers> = all
        .into_iter()
        .zip(recorded)
        .filter(|(answers, recorded)| *recorded && wanted(answers) && !answers.classes.is_empty())
        .map(|(answers, _)| answers)
        .collect();
    if chosen.is_empty() {
        let whose = tenant.map_or("no tenant's detections are".to_owned(), |name| {
            format!("the detections of {name} are not")
        });
        return Err(WrongUse(format!(
            "{}: {whose} in it; give the tenant `record_detections: true` and run it again",
            path.display()
        ))
        .into());
    }
    Ok(chosen)
}

/// Whether a source has a camera of nuScenes: alone, or beside the LiDAR.
fn uses_camera(source: &SourceSpec) -> bool {
    match source {
        SourceSpec::NuScenes(spec) => spec.sensor.starts_with("CAM"),
        SourceSpec::Synchronised(_) => true,
        SourceSpec::Cameras(all) => all.iter().any(uses_camera),
        _ => false,
    }
}

/// Frames of the measurement; its warm-up and other phases are left out.
fn fill(reader: &mut RunReader, all: &mut [Answers]) -> anyhow::Result<()> {
    // Sequences begin anew in each phase, so the time of the result tells which phase's it is.
    let mut found: Vec<BTreeMap<(u64, Stamp), Vec<Detection>>> = vec![BTreeMap::new(); all.len()];
    let mut frames: Vec<BTreeMap<u64, (Answer, u32)>> = vec![BTreeMap::new(); all.len()];
    for event in reader.by_ref() {
        match event? {
            Event::Frame(frame)
                if frame.phase == Phase::Together
                    && !frame.warmup
                    && frame.outcome != Outcome::Unfinished =>
            {
                let completed = frame.outcome == Outcome::Completed;
                let answer = Answer {
                    sequence: frame.sequence,
                    content: (frame.source_index != crate::record::NO_CONTENT).then_some(frame.source_index),
                    released: frame.released,
                    finished: completed.then_some(frame.finished),
                    captured: frame.captured,
                    found: Vec::new(),
                };
                if let Some(frames) = frames.get_mut(usize::from(frame.tenant)) {
                    frames.insert(frame.sequence, (answer, frame.detections));
                }
            }
            Event::Detections(record) => {
                if let Some(found) = found.get_mut(usize::from(record.tenant)) {
                    found.insert((record.sequence, record.at), record.detections);
                }
            }
            _ => {}
        }
    }
    for ((answers, frames), mut found) in all.iter_mut().zip(frames).zip(found) {
        for (sequence, (mut answer, count)) in frames {
            let ready = answer.finished.unwrap_or(answer.released);
            match found.remove(&(sequence, ready)) {
                Some(detections) => answer.found = detections,
                None if count == 0 => {}
                None => {
                    answers.lost += 1;
                    continue;
                }
            }
            answers.frames.push(answer);
        }
    }
    Ok(())
}
