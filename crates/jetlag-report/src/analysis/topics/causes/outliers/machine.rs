//! The machine's state at one moment, from the readings just before it. A reading from within a frame may be a result
//! of the frame itself, such as a clock that idles while the frame is held up.

use crate::analysis::gathering::track::{Point, Track, Tracks};
use crate::analysis::topics::causes::conditions;
use crate::record::{Device, Part, Quantity};
use crate::units::Stamp;

/// Clock, temperature and throttling at a moment.
pub(super) struct Machine<'a> {
    throttling: Vec<Sensor<'a>>,
    clock: Option<Sensor<'a>>,
    temperature: Option<Sensor<'a>>,
}

/// A signal, and the largest age at which a reading still describes a moment.
struct Sensor<'a> {
    track: &'a Track,
    reach: i64,
}

impl<'a> Machine<'a> {
    /// What can slow down a tenant that executes on this device.
    pub(super) fn new(tracks: &'a Tracks, device: Device) -> Self {
        let most = |track: &Track| track.points().iter().map(|p| p.value).fold(f64::MIN, f64::max);
        let hottest = |a: &&Track, b: &&Track| most(a).total_cmp(&most(b));
        let of_gpu = |track: &&Track| matches!(track.part(), Part::Gpu(_));
        let warm = || {
            tracks
                .iter()
                .filter(|track| track.quantity() == Quantity::Temperature)
        };
        let throttling = tracks.iter().filter(|track| {
            let of_a_gpu = track.quantity() == Quantity::ThrottleReasons;
            conditions::tells_throttling(track)
                && device != Device::None
                && (!of_a_gpu || is_of(track, device))
        });
        let clock = tracks
            .iter()
            .find(|track| track.is_gpu_clock() && is_of(track, device));
        let temperature = warm()
            .filter(of_gpu)
            .max_by(hottest)
            .or_else(|| warm().max_by(hottest));
        Machine {
            throttling: throttling.filter_map(Sensor::of).collect(),
            clock: clock.and_then(Sensor::of),
            temperature: temperature.and_then(Sensor::of),
        }
    }

    pub(super) fn throttled(&self, at: Stamp) -> Option<bool> {
        let states = self.throttling.iter().filter_map(|sensor| {
            let reading = sensor.before(at)?;
            Some(conditions::is_throttled(sensor.track, reading.high))
        });
        states.reduce(|a, b| a || b)
    }

    pub(super) fn clock(&self, at: Stamp) -> Option<f64> {
        let reading = self.clock.as_ref()?.before(at)?;
        // Zero is a GPU that is switched off between frames, and not a clock.
        Some(reading.value).filter(|mhz| *mhz > 0.0)
    }

    pub(super) fn temperature(&self, at: Stamp) -> Option<f64> {
        Some(self.temperature.as_ref()?.before(at)?.value)
    }
}

/// Whether a GPU's signal is of this one: of its number, or of a board's only one.
fn is_of(track: &Track, device: Device) -> bool {
    match (track.part(), device) {
        (Part::Gpu(of), Device::Gpu(number)) => of.is_none_or(|of| of == u32::from(number)),
        _ => false,
    }
}

impl<'a> Sensor<'a> {
    fn of(track: &'a Track) -> Option<Self> {
        let period = track.spacing()?.0;
        Some(Sensor {
            track,
            reach: period.saturating_add(period / 2),
        })
    }

    /// The latest reading before a moment, where there is one within reach.
    fn before(&self, at: Stamp) -> Option<Point> {
        let points = self.track.points();
        let latest = points.partition_point(|point| point.at < at).checked_sub(1)?;
        let reading = *points.get(latest)?;
        ((at - reading.at).0 <= self.reach).then_some(reading)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::SampleRecord;

    #[test]
    fn one_signal_that_tells_throttling_is_enough() {
        let throttled = |values: &[(&str, &str, f64)]| {
            let mut tracks = Tracks::default();
            for (signal, unit, value) in values {
                for at in 0..10 {
                    tracks.sample(&SampleRecord {
                        at: Stamp(at * 100_000_000),
                        source: "s".into(),
                        signal: (*signal).into(),
                        value: Some(*value),
                        unit: (*unit).into(),
                    });
                }
            }
            let tracks = tracks.finish();
            Machine::new(&tracks, Device::Gpu(0)).throttled(Stamp(850_000_000))
        };
        let reasons = |bits| ("gpu0_throttle_reasons", "bits", bits);
        let cooling = |state| ("cpufreq-cpu0_cooling", "state", state);
        assert_eq!(throttled(&[]), None);
        assert_eq!(throttled(&[reasons(1.0), cooling(0.0)]), Some(false));
        assert_eq!(throttled(&[reasons(64.0), cooling(0.0)]), Some(true));
        assert_eq!(throttled(&[reasons(1.0), cooling(2.0)]), Some(true));
        assert_eq!(throttled(&[reasons(64.0), cooling(2.0)]), Some(true));
    }

    #[test]
    fn a_reading_tells_of_the_moments_up_to_one_and_a_half_times_its_period_after_it() {
        let clock_at = |mhz: f64, at_ms: i64| {
            let mut tracks = Tracks::default();
            for at in 0..10 {
                tracks.sample(&SampleRecord {
                    at: Stamp(at * 100_000_000),
                    source: "nvml".into(),
                    signal: "gpu0_sm_frequency".into(),
                    value: Some(mhz),
                    unit: "mhz".into(),
                });
            }
            let tracks = tracks.finish();
            Machine::new(&tracks, Device::Gpu(0)).clock(Stamp(at_ms * 1_000_000))
        };
        assert_eq!(clock_at(1_300.0, 950), Some(1_300.0));
        assert_eq!(clock_at(1_300.0, 1_050), Some(1_300.0));
        assert_eq!(clock_at(1_300.0, 1_051), None);
        assert_eq!(clock_at(0.0, 950), None, "switched off");
    }
}
