//! The CPU time that sampling took while the tenants ran, from the readings that the samplers' thread records of
//! itself.

use crate::analysis::gathering::track::{Track, Tracks};
use crate::analysis::stats::six_decimals;
use crate::analysis::summary::{SamplerCost, Sampling};
use crate::record::Part;
use crate::units::Stamp;

/// The signal for the whole thread.
const ALL: &str = "all";

/// Means over the window, the costliest sampler first; none if the thread's cost was not read in it.
pub(in crate::analysis) fn summarize(tracks: &Tracks, window: (Stamp, Stamp)) -> Option<Sampling> {
    let mean = |track: &Track| {
        let points = track.within(window);
        let sum: f64 = points.iter().map(|point| point.value).sum();
        (!points.is_empty()).then(|| six_decimals(sum / points.len() as f64))
    };
    let own = tracks.iter().filter(|track| track.part() == Part::Sampler);
    let mut samplers: Vec<SamplerCost> = own
        .filter_map(|track| {
            Some(SamplerCost {
                name: track.signal.signal.strip_suffix("_cost")?.to_owned(),
                percent_of_core: mean(track)?,
            })
        })
        .collect();
    let all = samplers.iter().position(|sampler| sampler.name == ALL)?;
    let all = samplers.remove(all);
    samplers.sort_by(|a, b| b.percent_of_core.total_cmp(&a.percent_of_core));
    Some(Sampling {
        percent_of_core: all.percent_of_core,
        samplers,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::SampleRecord;

    #[test]
    fn costs_are_means_over_the_window_and_none_where_nothing_was_read() {
        let mut tracks = Tracks::default();
        for second in 0..10 {
            for (signal, value) in [("rails_cost", 0.1), ("nvml_cost", 0.3), ("all_cost", 0.5)] {
                tracks.sample(&SampleRecord {
                    at: Stamp(second * 1_000_000_000),
                    source: "samplers".into(),
                    signal: signal.into(),
                    // Before the window it cost ten times as much.
                    value: Some(if second < 5 { 10.0 * value } else { value }),
                    unit: "percent".into(),
                });
            }
        }
        let tracks = tracks.finish();
        let window = |from: i64, to: i64| (Stamp(from * 1_000_000_000), Stamp(to * 1_000_000_000));
        let found = summarize(&tracks, window(5, 9)).unwrap();
        assert_eq!(found.percent_of_core, 0.5);
        let named: Vec<(&str, f64)> = found
            .samplers
            .iter()
            .map(|s| (s.name.as_str(), s.percent_of_core))
            .collect();
        assert_eq!(named, [("nvml", 0.3), ("rails", 0.1)]);
        assert_eq!(summarize(&tracks, window(20, 30)), None);
        assert_eq!(summarize(&Tracks::default(), window(0, 30)), None);
    }
}
