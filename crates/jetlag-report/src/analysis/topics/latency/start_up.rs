//! How long each tenant took to start: what the manifest says of loading and allocation, and its first frame from the record.
//!
//! Frames of traced phases do not count: they may be of another process, which started for itself.

use std::collections::HashSet;

use crate::analysis::summary::start_up::TenantStart;
use crate::record::{Event, FrameRecord, Manifest, Outcome, Phase};

/// Finds each tenant's first frame while a run is read.
#[derive(Debug)]
pub struct FirstFrames {
    first: Vec<Option<FrameRecord>>,
    traced: HashSet<Phase>,
}

impl FirstFrames {
    /// Of so many tenants.
    pub fn new(tenants: usize) -> Self {
        FirstFrames {
            first: vec![None; tenants],
            traced: HashSet::new(),
        }
    }

    /// Takes in one event.
    pub fn push(&mut self, event: &Event) {
        match event {
            Event::PhaseSpec(spec) if spec.traced => drop(self.traced.insert(spec.phase)),
            Event::Frame(frame)
                if frame.outcome == Outcome::Completed
                    && frame.phase != Phase::Overhead
                    && !self.traced.contains(&frame.phase) =>
            {
                if let Some(first) = self.first.get_mut(usize::from(frame.tenant))
                    && first.is_none_or(|first| frame.started < first.started)
                {
                    *first = Some(*frame);
                }
            }
            _ => {}
        }
    }

    /// The start of each tenant.
    pub fn finish(&self, manifest: &Manifest) -> Vec<TenantStart> {
        let tenants = manifest.tenants.iter().zip(&self.first);
        tenants
            .map(|(tenant, first)| {
                let part = |of: fn(&crate::record::StartUp) -> crate::units::Nanos| {
                    tenant.start_up.as_ref().map(|times| of(times).as_millis_f64())
                };
                TenantStart {
                    tenant: tenant.name.clone(),
                    devices_ms: part(|times| times.devices),
                    detector_ms: part(|times| times.detector),
                    networks_ms: part(|times| times.networks),
                    load_ms: part(|times| times.load),
                    allocate_ms: part(|times| times.allocate),
                    first_frame_ms: first.map(|frame| frame.service().as_millis_f64()),
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::topics::traces::kernels::tests::made::Made;
    use crate::record::StartUp;
    use crate::units::Nanos;

    #[test]
    fn the_first_frame_is_the_first_untraced_one_and_parts_are_the_manifest_s() {
        let mut made = Made::new(&["camera"], 1_000_000);
        // The traced phase's frame is earlier in time, and of another process.
        made.frame(0, 0, 0, 2_000);
        made.untraced(0, 1, 50_000, 56_000);
        made.untraced(0, 2, 20_000, 29_000);
        let events = made.events();
        let mut manifest = made.manifest.clone();
        let mut first = FirstFrames::new(manifest.tenants.len());
        events.iter().for_each(|event| first.push(event));
        let found = first.finish(&manifest);
        assert_eq!((found[0].first_frame_ms, found[0].load_ms), (Some(9.0), None));
        manifest.tenants[0].start_up = Some(StartUp {
            load: Nanos::from_millis(1_500),
            ..StartUp::default()
        });
        assert_eq!(first.finish(&manifest)[0].load_ms, Some(1_500.0));
        assert_eq!(first.finish(&manifest)[0].devices_ms, Some(0.0));
    }
}
