//! How busy the machine was besides the tenants, and how much of that was other programs' work.
//!
//! Reads the host sampler's signals: load of the processors and jetlag's own load, in percent of all processors
//! together (0 to 100), and memory in use, in bytes.

use jetlag_stats::moments::mean;

use crate::analysis::summary::HostSummary;
use crate::record::{Measurand, Part, Quantity, SampleRecord};
use crate::units::Stamp;

/// Name of the host sampler. tegrastats reports the same, less exactly.
const SOURCE: &str = "host";

/// Readings as they come.
#[derive(Debug, Default)]
pub(in crate::analysis) struct HostReadings {
    load: Vec<(Stamp, f64)>,
    own: Vec<(Stamp, f64)>,
    memory: Vec<(Stamp, f64)>,
}

impl HostReadings {
    /// Adds a reading; ignores those of other samplers.
    pub(in crate::analysis) fn sample(&mut self, measurand: Measurand, sample: &SampleRecord) {
        let Some(value) = sample.value.filter(|value| value.is_finite()) else {
            return;
        };
        if sample.source != SOURCE {
            return;
        }
        let readings = match (measurand.quantity, measurand.part) {
            (Quantity::Load, Part::Processors) => &mut self.load,
            (Quantity::Load, Part::Jetlag) => &mut self.own,
            (Quantity::MemoryUsed, Part::Board) => &mut self.memory,
            _ => return,
        };
        readings.push((sample.at, value));
    }

    /// The figures of the window from `from` to `to`; `None` if nothing was read in it.
    pub(in crate::analysis) fn finish(&self, from: Stamp, to: Stamp) -> Option<HostSummary> {
        let within = |readings: &[(Stamp, f64)]| -> Vec<f64> {
            let inside = readings.iter().filter(|(at, _)| (from..=to).contains(at));
            inside.map(|&(_, value)| value).collect()
        };
        let (load, own, memory) = (within(&self.load), within(&self.own), within(&self.memory));
        if load.is_empty() && memory.is_empty() {
            return None;
        }
        let cpu_load_percent = mean(&load);
        Some(HostSummary {
            cpu_load_percent,
            others_percent: cpu_load_percent
                .zip(mean(&own))
                .map(|(all, own)| (all - own).max(0.0)),
            memory_peak_bytes: memory.iter().copied().reduce(f64::max).map(|bytes| bytes as u64),
            samples: load.len() as u64,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_known_by_its_load_or_its_memory() {
        let read = |signals: &[&str]| {
            let mut readings = HostReadings::default();
            for signal in signals {
                let sample = SampleRecord {
                    at: Stamp(5),
                    source: SOURCE.to_owned(),
                    signal: (*signal).to_owned(),
                    value: Some(40.0),
                    unit: String::new(),
                };
                readings.sample(Measurand::of_names(SOURCE, signal, ""), &sample);
            }
            readings.finish(Stamp(0), Stamp(10))
        };
        assert_eq!(read(&["cpu_load"]).unwrap().cpu_load_percent, Some(40.0));
        assert_eq!(read(&["memory_used"]).unwrap().cpu_load_percent, None);
        assert!(read(&["own_cpu_load"]).is_none() && read(&[]).is_none());
    }
}
