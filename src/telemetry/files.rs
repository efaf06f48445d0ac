//! A sampler over files of the kernel's: most sources are a list of signals, each with its file and its scale.
//!
//! Which files, and what their numbers mean, is said by the source that makes the list.

use super::file::{NumberFile, Unread};
use super::{Disturbs, Sampler, SamplerError};
use crate::record::{Event, SampleRecord, SignalRecord};
use crate::units::{Nanos, Stamp};

/// Readings in which nothing at all could be read, after which the sampler ends.
const SILENT_READINGS: u32 = 5;

/// How a signal's value comes of its files.
#[derive(Debug)]
pub(super) enum Formula {
    /// The number × a factor.
    Scaled(NumberFile, f64),
    /// The product of two numbers × a factor: voltage × current.
    Product(NumberFile, NumberFile, f64),
    /// The first over the second × a factor.
    Ratio(NumberFile, NumberFile, f64),
}

/// A signal with the files that its value is read from.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) signal: SignalRecord,
    pub(super) formula: Formula,
    /// Values outside are nonsense, and no reading.
    pub(super) plausible: (f64, f64),
}

/// Samples a list of files.
pub(super) struct Files {
    name: &'static str,
    period: Nanos,
    channels: Vec<Channel>,
    /// Signals that have not been described yet: a description is due with the first reading.
    asides: Vec<Event>,
    silent: u32,
    at_random: bool,
    disturbs: Disturbs,
}

impl Files {
    /// A sampler of these; none where there are none.
    pub(super) fn new(name: &'static str, period: Nanos, mut channels: Vec<Channel>) -> Option<Files> {
        for channel in &mut channels {
            channel.signal.period = Some(period);
        }
        let asides = channels.iter().map(|c| Event::Signal(c.signal.clone())).collect();
        (!channels.is_empty()).then_some(Files {
            name,
            period,
            channels,
            asides,
            silent: 0,
            at_random: false,
            disturbs: Disturbs::Nothing,
        })
    }

    /// The same, read at random moments of its periods.
    pub(super) fn read_at_random(self) -> Files {
        Files {
            at_random: true,
            ..self
        }
    }

    /// The same, whose readings keep the GPU from being switched off.
    pub(super) fn that_keeps_the_gpu_on(self) -> Files {
        Files {
            disturbs: Disturbs::WhileReading,
            ..self
        }
    }

    /// The signals that it reads.
    #[cfg(test)]
    pub(super) fn signals(&self) -> impl Iterator<Item = &SignalRecord> {
        self.channels.iter().map(|channel| &channel.signal)
    }
}

impl Formula {
    fn value(&mut self) -> Result<f64, Unread> {
        match self {
            Formula::Scaled(file, factor) => Ok(file.read()? * *factor),
            Formula::Product(a, b, factor) => Ok(a.read()? * b.read()? * *factor),
            Formula::Ratio(a, b, factor) => {
                let (a, b) = (a.read()?, b.read()?);
                if b == 0.0 {
                    return Err(Unread::Gated);
                }
                Ok(a / b * *factor)
            }
        }
    }

    fn first(&self) -> &NumberFile {
        let (Formula::Scaled(file, _) | Formula::Product(file, ..) | Formula::Ratio(file, ..)) = self;
        file
    }
}

impl Sampler for Files {
    fn name(&self) -> &str {
        self.name
    }
    fn period(&self) -> Nanos {
        self.period
    }
    fn at_random(&self) -> bool {
        self.at_random
    }
    fn disturbs(&self) -> Disturbs {
        self.disturbs
    }
    fn sample(&mut self, at: Stamp, out: &mut Vec<SampleRecord>) -> Result<(), SamplerError> {
        let mut last = None;
        let mut any = false;
        for channel in &mut self.channels {
            let value = channel.formula.value();
            any |= value.is_ok();
            last = value.as_ref().err().copied().or(last);
            let (least, most) = channel.plausible;
            let value = value.ok().filter(|value| (least..=most).contains(value));
            let signal = &channel.signal;
            out.push(SampleRecord {
                at,
                source: signal.source.clone(),
                signal: signal.signal.clone(),
                value,
                unit: signal.unit.clone(),
            });
        }
        // What is gated may answer again at any time.
        self.silent = match last {
            Some(Unread::Missing | Unread::Denied) if !any => self.silent + 1,
            _ => 0,
        };
        if self.silent >= SILENT_READINGS {
            let path = self.channels.first().map_or(String::new(), |channel| {
                channel.formula.first().path().display().to_string()
            });
            return Err(SamplerError::Silent {
                files: self.channels.len(),
                path,
                why: match last {
                    Some(Unread::Denied) => "permission denied; run as root",
                    _ => "they no longer exist",
                },
            });
        }
        Ok(())
    }
    fn asides(&mut self, out: &mut Vec<Event>) {
        out.append(&mut self.asides);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(path: &std::path::Path) -> Channel {
        Channel {
            signal: SignalRecord {
                source: "made".into(),
                signal: "x".into(),
                unit: "mw".into(),
                ..SignalRecord::default()
            },
            formula: Formula::Scaled(NumberFile::new(path.to_owned()), 0.5),
            plausible: (0.0, 100.0),
        }
    }

    #[test]
    fn nonsense_has_no_value_and_a_sampler_whose_files_are_gone_ends_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, "20").unwrap();
        let mut files = Files::new("made", Nanos::from_millis(10), vec![channel(&path)]).unwrap();
        let mut out = Vec::new();
        files.sample(Stamp(1), &mut out).unwrap();
        std::fs::write(&path, "99999").unwrap();
        files.sample(Stamp(2), &mut out).unwrap();
        assert_eq!((out[0].value, out[1].value), (Some(10.0), None));
        std::fs::remove_file(&path).unwrap();
        let ends: Vec<bool> = (0..5)
            .map(|n| files.sample(Stamp(n), &mut out).is_err())
            .collect();
        assert_eq!(ends, [false, false, false, false, true]);
        let error = files.sample(Stamp(9), &mut out).unwrap_err().to_string();
        assert!(
            error.contains("no longer exist") && error.contains("/x"),
            "{error}"
        );
        assert!(out[2..].iter().all(|s| s.value.is_none()), "gone is not zero");
    }

    #[test]
    fn nothing_to_read_is_no_sampler() {
        assert!(Files::new("made", Nanos::from_millis(10), vec![]).is_none());
    }
}
