//! What the self-test reads of a run file.

use std::collections::BTreeMap;
use std::path::Path;

use super::boxes::Frames;
use crate::detector::Detection;
use crate::record::{Event, Outcome, ReadError, RunReader, SampleRecord};

/// A run, as far as checks look at it.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    /// By tenant: what was found in each completed frame, in the order of their release.
    pub(super) found: Vec<Frames>,
    /// Classes by index, by tenant.
    pub(super) classes: Vec<Vec<String>>,
    /// Everything that was sampled.
    pub(super) samples: Vec<SampleRecord>,
}

impl Recorded {
    /// Reads a run file whole.
    pub(super) fn read(path: &Path) -> Result<Recorded, ReadError> {
        let mut reader = RunReader::open(path)?;
        let tenants = &reader.manifest().tenants;
        let classes: Vec<Vec<String>> = tenants.iter().map(|tenant| tenant.classes.clone()).collect();
        let mut frames: Vec<BTreeMap<u64, (u64, u32)>> = vec![BTreeMap::new(); classes.len()];
        let mut detections: Vec<BTreeMap<u64, Vec<Detection>>> = vec![BTreeMap::new(); classes.len()];
        let mut samples = Vec::new();
        for event in reader.by_ref() {
            match event? {
                Event::Frame(frame) if frame.outcome == Outcome::Completed => {
                    if let Some(frames) = frames.get_mut(usize::from(frame.tenant)) {
                        frames.insert(frame.sequence, (frame.source_index, frame.detections));
                    }
                }
                Event::Detections(record) => {
                    if let Some(detections) = detections.get_mut(usize::from(record.tenant)) {
                        detections.insert(record.sequence, record.detections);
                    }
                }
                Event::Sample(sample) => samples.push(sample),
                _ => {}
            }
        }
        let found = frames
            .into_iter()
            .zip(detections)
            .map(|(frames, mut detections)| {
                let content = frames.into_iter().filter_map(|(sequence, (content, count))| {
                    match (detections.remove(&sequence), count) {
                        (Some(found), _) => Some((content, found)),
                        // A frame in which nothing was found has no record of it.
                        (None, 0) => Some((content, Vec::new())),
                        // What was found was lost on its way to the file, which the run says.
                        (None, _) => None,
                    }
                });
                content.collect()
            });
        Ok(Recorded {
            found: found.collect(),
            classes,
            samples,
        })
    }
}
