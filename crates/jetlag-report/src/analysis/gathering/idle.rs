//! How awake the host's processors were: their share of time in deep idle states, and their mean clock.
//!
//! Reads the host sampler's signals: time in deep idle states, in percent of all sampled processors' time, shallowest
//! state first, and each processor's clock in MHz. A state's name is the end of its signal's name.

use std::fmt;

use serde::Serialize;

use crate::analysis::gathering::track::{Track, Tracks};
use crate::record::Quantity;
use crate::units::Stamp;

/// The prefix of a deep state's signal.
const DEEP: &str = "cpu_deep_idle_";

/// The figures of a window; at least one of the two is known.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(in crate::analysis) struct HostIdle {
    deep: Option<DeepIdle>,
    /// Mean clock over readings and processors, MHz.
    mhz: Option<f64>,
}

/// Time in deep idle states.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct DeepIdle {
    /// Name of the shallowest of them.
    state: String,
    /// Of the time in it or a deeper one.
    percent: f64,
}

impl HostIdle {
    /// The figures of this window; none if no signal shows them.
    pub(in crate::analysis) fn of(tracks: &Tracks, window: (Stamp, Stamp)) -> Option<Self> {
        let means = |is_it: &dyn Fn(&Track) -> bool| -> Vec<(String, f64)> {
            let of_host = tracks.iter().filter(|track| track.signal.source == "host");
            let mean = |track: &Track| {
                let points = track.within(window);
                let sum: f64 = points.iter().map(|point| point.value).sum();
                (!points.is_empty()).then(|| (track.signal.signal.clone(), sum / points.len() as f64))
            };
            of_host.filter(|track| is_it(track)).filter_map(mean).collect()
        };
        let deep = means(&|track| track.quantity() == Quantity::DeepIdle);
        let clocks = means(&Track::is_processor_clock);
        let all = deep.iter().map(|(_, percent)| percent).sum();
        let idle = HostIdle {
            deep: deep.first().and_then(|(signal, _)| {
                Some(DeepIdle {
                    state: signal.strip_prefix(DEEP)?.to_owned(),
                    percent: all,
                })
            }),
            mhz: (!clocks.is_empty())
                .then(|| clocks.iter().map(|(_, mhz)| mhz).sum::<f64>() / clocks.len() as f64),
        };
        (idle.deep.is_some() || idle.mhz.is_some()).then_some(idle)
    }
}

/// Writes a whole sentence, which findings append to their message.
impl fmt::Display for HostIdle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("The host's processors ")?;
        if let Some(DeepIdle { state, percent }) = &self.deep {
            write!(f, "were in {state} or deeper for {percent:.0} % of the time")?;
        }
        match (&self.deep, self.mhz) {
            (Some(_), Some(mhz)) => write!(f, ", and ran at {:.2} GHz on average.", mhz / 1e3),
            (None, Some(mhz)) => write!(f, "ran at {:.2} GHz on average.", mhz / 1e3),
            _ => f.write_str("."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::SampleRecord;

    fn said(signals: &[(&str, f64)]) -> Option<String> {
        let mut tracks = Tracks::default();
        for at in 0..10 {
            for (signal, value) in signals {
                tracks.sample(&SampleRecord {
                    at: Stamp(at * 1_000_000_000),
                    source: "host".into(),
                    signal: (*signal).into(),
                    // The first reading of a residency has nothing to be compared with.
                    value: (at > 0 || signal.ends_with("_frequency")).then_some(*value),
                    unit: match signal.ends_with("_frequency") {
                        true => "mhz".into(),
                        false => "percent".into(),
                    },
                });
            }
        }
        let window = (Stamp(0), Stamp(10_000_000_000));
        HostIdle::of(&tracks.finish(), window).map(|idle| idle.to_string())
    }

    #[test]
    fn deep_states_add_up_under_the_shallowest_s_name_and_what_is_not_sampled_is_not_said() {
        let clocks = [("cpu0_frequency", 800.0), ("cpu1_frequency", 1600.0)];
        let deep = [
            ("cpu_idle_C1", 20.0),
            ("cpu_deep_idle_C2", 50.0),
            ("cpu_deep_idle_C6", 13.0),
        ];
        let both: Vec<_> = clocks.into_iter().chain(deep).collect();
        assert_eq!(
            said(&both).unwrap(),
            "The host's processors were in C2 or deeper for 63 % of the time, and ran at 1.20 GHz on average."
        );
        assert_eq!(
            said(&clocks).unwrap(),
            "The host's processors ran at 1.20 GHz on average."
        );
        assert_eq!(
            said(&deep).unwrap(),
            "The host's processors were in C2 or deeper for 63 % of the time."
        );
        assert_eq!(said(&[("cpu_load", 3.0)]), None);
    }
}
