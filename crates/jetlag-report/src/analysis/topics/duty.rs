//! One tenant at several rates: how its response time changes with idle gaps, next to the clocks that were sampled.
//!
//! While frames arrive seldom, clocks fall and caches cool; a closed loop never lets them. Each step is
//! a phase. Whether the clocks explain the difference is left to the reader.

use crate::analysis::gathering::track::{Point, Track, Tracks};
use crate::analysis::stats::{six_decimals, stats};
use crate::analysis::summary::duty::{Clock, Step};
use crate::analysis::summary::{DutyCycle, FrameCounts, Stats};
use crate::analysis::topics::interference::Phases;
use crate::scenario::Scenario;
use crate::units::Stamp;

/// The rates and what came of them; `None` where none was asked for, or none of its steps was reached.
pub(in crate::analysis) fn summarize(
    scenario: &Scenario,
    phases: &Phases,
    tracks: &Tracks,
) -> Option<DutyCycle> {
    let duty_cycle = scenario.duty_cycle.as_ref()?;
    let steps: Vec<Step> = phases
        .cells()
        .iter()
        .filter_map(|cell| {
            let spec = &cell.spec;
            let rate = spec.rate?;
            let window = phases.window(spec.phase, rate.tenant);
            let sample = phases.sample(spec.phase, rate.tenant);
            let clock = |of: fn(&Track) -> bool| window.and_then(|window| clock(tracks, window, of));
            Some(Step {
                hz: rate.hz,
                idle_share: phases
                    .busy_share(spec.phase, rate.tenant)
                    .map(|busy| six_decimals(1.0 - busy)),
                frames: phases
                    .part(spec.phase, rate.tenant)
                    .map_or_else(FrameCounts::default, |part| part.frames),
                response_ms: sample.map_or_else(Stats::default, |sample| {
                    stats(&sample.distribution, &sample.dependence())
                }),
                gpu_clock: clock(Track::is_gpu_clock),
                cpu_clock: clock(Track::is_processor_clock),
            })
        })
        .collect();
    (!steps.is_empty()).then(|| DutyCycle {
        tenant: duty_cycle.tenant.clone(),
        steps,
    })
}

fn clock(tracks: &Tracks, window: (Stamp, Stamp), is_it: fn(&Track) -> bool) -> Option<Clock> {
    let readings: Vec<f64> = tracks
        .iter()
        .filter(|track| is_it(track))
        .flat_map(|track| track.within(window))
        .map(|point: &Point| point.value)
        .filter(|&mhz| mhz > 0.0)
        .collect();
    let min_mhz = readings.iter().copied().reduce(f64::min)?;
    Some(Clock {
        mean_mhz: six_decimals(readings.iter().sum::<f64>() / readings.len() as f64),
        min_mhz,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::SampleRecord;

    #[test]
    fn clocks_of_processors_are_those_alone_and_what_is_off_has_none() {
        let mut tracks = Tracks::default();
        for (signal, unit, values) in [
            ("cpu0_frequency", "mhz", [900.0, 1_500.0, 0.0]),
            ("cpu1_frequency", "mhz", [0.0, 0.0, 0.0]),
            ("cpu2_frequency", "hz", [9.0, 9.0, 9.0]),
            ("gpu_frequency", "mhz", [300.0, 300.0, 300.0]),
        ] {
            for (at, value) in (0..).zip(values) {
                tracks.sample(&SampleRecord {
                    at: Stamp(at),
                    source: "s".into(),
                    signal: signal.into(),
                    value: Some(value),
                    unit: unit.into(),
                });
            }
        }
        let tracks = tracks.finish();
        let known = Clock {
            mean_mhz: 1_200.0,
            min_mhz: 900.0,
        };
        assert_eq!(
            clock(&tracks, (Stamp(0), Stamp(2)), Track::is_processor_clock),
            Some(known)
        );
        assert_eq!(
            clock(&tracks, (Stamp(3), Stamp(4)), Track::is_processor_clock),
            None
        );
    }
}
