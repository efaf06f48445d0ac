//! The power mode of a Jetson, from the file in which nvpmodel keeps it: anyone may read it, and no program
//! has to be started.

use super::{Sampler, SamplerError};
use crate::board::Roots;
use crate::record::{Averaging, Event, SampleRecord, SignalRecord};
use crate::units::{Nanos, Stamp};

/// Where nvpmodel keeps the mode: `pmode:0002 fmode:fan_mode_quiet`.
pub(crate) const STATUS: &str = "/var/lib/nvpmodel/status";
/// Modes change by hand.
const SHORTEST: Nanos = Nanos::from_millis(1000);

/// Samples the mode's number.
pub(super) struct PowerMode {
    roots: Roots,
    period: Nanos,
    described: bool,
}

/// The sampler; none where nvpmodel keeps no mode.
pub(super) fn find(roots: &Roots, interval: Nanos) -> Option<PowerMode> {
    current(roots)?;
    Some(PowerMode {
        roots: roots.clone(),
        period: interval.max(SHORTEST),
        described: false,
    })
}

/// The number of the mode in force.
pub(crate) fn current(roots: &Roots) -> Option<u32> {
    number(&roots.text(STATUS)?)
}

fn number(text: &str) -> Option<u32> {
    let word = text
        .split_whitespace()
        .find_map(|word| word.strip_prefix("pmode:"))?;
    word.parse().ok()
}

impl Sampler for PowerMode {
    fn name(&self) -> &str {
        "power mode"
    }
    fn period(&self) -> Nanos {
        self.period
    }
    fn sample(&mut self, at: Stamp, out: &mut Vec<SampleRecord>) -> Result<(), SamplerError> {
        out.push(SampleRecord {
            at,
            source: "nvpmodel".to_owned(),
            signal: "power_mode".to_owned(),
            value: current(&self.roots).map(f64::from),
            unit: "id".to_owned(),
        });
        Ok(())
    }
    fn asides(&mut self, out: &mut Vec<Event>) {
        if !std::mem::replace(&mut self.described, true) {
            out.push(Event::Signal(SignalRecord {
                source: "nvpmodel".to_owned(),
                signal: "power_mode".to_owned(),
                unit: "id".to_owned(),
                origin: STATUS.to_owned(),
                period: Some(self.period),
                averaging: Averaging::Instant,
                ..SignalRecord::default()
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::testing::{readings, tree};

    #[test]
    fn the_mode_is_read_and_a_cut_file_has_none() {
        let root = tree(&[(STATUS, "pmode:0002 fmode:fan_mode_quiet\n")]);
        let roots = Roots::at(root.path());
        let mut mode = find(&roots, Nanos::from_millis(10)).unwrap();
        assert_eq!(readings(&mut mode)["power_mode"], Some(2.0));
        std::fs::write(root.path().join("var/lib/nvpmodel/status"), "pmo").unwrap();
        assert_eq!(readings(&mut mode)["power_mode"], None);
        assert!(find(&roots, Nanos::from_millis(10)).is_none());
    }
}
