//! Whether two samplers of one quantity say the same, as far as readings at different moments can.

use jetlag_stats::moments::{mean, mean_and_variance};

use crate::record::SampleRecord;
use crate::telemetry::tegrastats;

/// Standard errors of the difference of two means by which scatter alone may part them.
const STANDARD_ERRORS: f64 = 3.0;
/// Below this load a GPU's clock is gated between two looks, and each tells another moment.
pub(super) const IDLE_PERCENT: f64 = 5.0;

/// A quantity that both told.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pair {
    /// tegrastats' word for it.
    pub(super) name: String,
    pub(super) unit: String,
    /// Our readings, and tegrastats'.
    pub(super) ours: Vec<f64>,
    pub(super) theirs: Vec<f64>,
}

/// How far apart they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Apart {
    pub(super) ours: f64,
    pub(super) theirs: f64,
    pub(super) may_be: f64,
}

impl Apart {
    pub(super) fn holds(&self) -> bool {
        (self.ours - self.theirs).abs() <= self.may_be
    }
}

impl Pair {
    /// The means, and by how much they may differ; none where either has no reading.
    pub(super) fn apart(&self) -> Option<Apart> {
        let (ours, our_error) = mean_and_error(&self.ours)?;
        let (theirs, their_error) = mean_and_error(&self.theirs)?;
        let (relative, absolute) = match self.name.as_str() {
            // Each look is at another processor in another moment, and looking makes it faster.
            "each_cpu_frequency" => (0.25, 0.0),
            _ => tolerance(&self.unit),
        };
        let scatter = STANDARD_ERRORS * our_error.hypot(their_error);
        Some(Apart {
            ours,
            theirs,
            may_be: (relative * theirs.abs()).max(absolute) + scatter,
        })
    }
}

/// The share and the amount by which means may differ beside their scatter. tegrastats rounds: to mW, half a degree or
/// less, whole percent, whole MHz and MB.
fn tolerance(unit: &str) -> (f64, f64) {
    match unit {
        "mw" => (0.05, 100.0),
        "c" => (0.0, 2.0),
        "percent" => (0.0, 10.0),
        "mhz" => (0.03, 5.0),
        "bytes" => (0.03, 64e6),
        _ => (0.0, 0.5),
    }
}

/// A mean and its standard error; none of nothing.
fn mean_and_error(values: &[f64]) -> Option<(f64, f64)> {
    match mean_and_variance(values) {
        Some((mean, variance)) => Some((mean, (variance / values.len() as f64).sqrt())),
        None => Some((mean(values)?, 0.0)),
    }
}

/// All quantities that both tell, by tegrastats' words for them. What tegrastats says of each processor is put together:
/// each is read at another moment, and their mean hardly moves.
pub(super) fn pairs(samples: &[SampleRecord]) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = Vec::new();
    for theirs in samples
        .iter()
        .filter(|sample| sample.source == tegrastats::SOURCE)
    {
        // Switches are told by both in their own way.
        if matches!(theirs.unit.as_str(), "flag" | "state") {
            continue;
        }
        let Some(value) = theirs.value else { continue };
        let name = together(&theirs.signal);
        match pairs
            .iter_mut()
            .find(|pair| pair.name == name && pair.unit == theirs.unit)
        {
            Some(pair) => pair.theirs.push(value),
            None => pairs.push(Pair {
                name,
                unit: theirs.unit.clone(),
                ours: Vec::new(),
                theirs: vec![value],
            }),
        }
    }
    for ours in samples.iter().filter(|sample| is_ours(&sample.source)) {
        let Some(value) = ours.value else { continue };
        let name = together(&ours.signal);
        let told = pairs.iter_mut().find(|pair| {
            pair.unit == ours.unit
                && (pair.name == name
                    || ours.unit == "c" && pair.name == format!("{}_temperature", name.to_ascii_lowercase()))
        });
        if let Some(pair) = told {
            pair.ours.push(value);
        }
    }
    pairs.retain(|pair| !pair.ours.is_empty());
    pairs
}

/// NVML and RAPL tell of other things, by the same words.
fn is_ours(source: &str) -> bool {
    source != tegrastats::SOURCE && !source.starts_with("nvml") && !source.starts_with("rapl")
}

/// `cpu3_load` and its like as one.
fn together(signal: &str) -> String {
    let of_cpu = signal.strip_prefix("cpu").and_then(|rest| rest.split_once('_'));
    match of_cpu {
        Some((number, what)) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => {
            format!("each_cpu_{what}")
        }
        _ => signal.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Stamp;

    fn sample(source: &str, signal: &str, unit: &str, value: Option<f64>) -> SampleRecord {
        SampleRecord {
            at: Stamp(0),
            source: source.to_owned(),
            signal: signal.to_owned(),
            value,
            unit: unit.to_owned(),
        }
    }

    #[test]
    fn what_both_tell_is_paired_by_name_and_unit() {
        let samples = [
            sample("tegrastats", "VDD_IN", "mw", Some(5000.0)),
            sample("tegrastats", "cpu_temperature", "c", Some(45.0)),
            sample("tegrastats", "cpu0_load", "percent", Some(10.0)),
            sample("tegrastats", "cpu1_load", "percent", Some(20.0)),
            sample("tegrastats", "gpu_load", "percent", None),
            sample("tegrastats", "vic_on", "flag", Some(0.0)),
            sample("ina3221", "VDD_IN", "mw", Some(5100.0)),
            sample("nvml", "VDD_IN", "mw", Some(9.0)),
            sample("thermal", "CPU", "c", Some(45.5)),
            sample("thermal", "CPU", "c", None),
            sample("host", "cpu0_load", "percent", Some(12.0)),
            sample("host", "cpu1_load", "percent", Some(18.0)),
            sample("host", "memory_used", "bytes", Some(1e9)),
        ];
        let pairs = pairs(&samples);
        let told: Vec<(&str, &[f64], &[f64])> = pairs
            .iter()
            .map(|pair| (pair.name.as_str(), &pair.ours[..], &pair.theirs[..]))
            .collect();
        assert_eq!(
            told,
            [
                ("VDD_IN", &[5100.0][..], &[5000.0][..]),
                ("cpu_temperature", &[45.5], &[45.0]),
                ("each_cpu_load", &[12.0, 18.0], &[10.0, 20.0]),
            ]
        );
    }

    #[test]
    fn a_difference_counts_beyond_the_tolerance_and_the_scatter() {
        let pair = |ours: &[f64], theirs: &[f64]| Pair {
            name: "VDD_IN".to_owned(),
            unit: "mw".to_owned(),
            ours: ours.to_vec(),
            theirs: theirs.to_vec(),
        };
        assert!(pair(&[5000.0; 10], &[5200.0; 6]).apart().unwrap().holds());
        assert!(!pair(&[5000.0; 10], &[5300.0; 6]).apart().unwrap().holds());
        // Small rails by 100 mW.
        assert!(pair(&[40.0; 10], &[120.0; 6]).apart().unwrap().holds());
        assert!(!pair(&[0.0; 10], &[120.0; 6]).apart().unwrap().holds());
        // A load that goes up and down by 4 W cannot tell 400 mW.
        let swings: Vec<f64> = (0..20).map(|n| 5000.0 + 4000.0 * f64::from(n % 2)).collect();
        let others: Vec<f64> = swings.iter().map(|value| value + 600.0).collect();
        assert!(pair(&swings, &others).apart().unwrap().holds());
        assert!(pair(&[], &[1.0]).apart().is_none());
    }
}
