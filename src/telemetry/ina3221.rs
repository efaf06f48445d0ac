//! How an INA3221 averages, from what its driver tells.
//!
//! The chip converts bus and shunt voltage of each channel in turn: one cycle. Where it is set to more than one sample it
//! does not make a mean of so many and begin anew. At each conversion it adds 1 ÷ samples of the difference to what stands
//! in its register (data sheet, "Averaging Function"): a filter of the first order, whose time constant is samples ×
//! cycle. After a step of the load so much of it is missing from a reading:
//!
//! | after | of the step |
//! |---|---|
//! | 1 time constant | 37 % |
//! | 3 | 5 % |
//! | 5 | 0.7 % |
//!
//! `update_interval` is in whole milliseconds. The driver of Linux 5.10 (L4T R35) counts all samples in it, later ones only
//! one cycle; which of the two is told by the number itself, as a cycle can take few lengths.

use crate::units::Nanos;

/// Conversion times that the chip knows, µs; the driver sets the same for bus and shunt.
const CONVERSIONS_US: [u32; 8] = [140, 204, 332, 588, 1_100, 2_116, 4_156, 8_244];
/// Time constants after which a reading tells of what is now: 0.7 % of a step are left.
const SETTLED: i64 = 5;
/// The time constant that is assumed where the driver tells none (L4T R32 and older): 512 samples of three channels at the
/// shortest conversions, as R35 sets it.
pub(super) const UNTOLD: Nanos = Nanos(512 * 3 * 2 * 140 * 1_000);

/// How a chip averages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Averages {
    /// From one conversion of a channel to its next: how often its value is renewed.
    pub(super) cycle: Nanos,
    /// The filter's time constant; none where each value is of one cycle.
    pub(super) lag: Option<Nanos>,
}

/// From the number of enabled channels, of samples, and the stated interval in ms. Of several settings that would state
/// the same, the slowest: what is settled for it is settled for the others. None where nothing fits.
pub(super) fn averages(channels: u32, samples: u32, stated_ms: u32) -> Option<Averages> {
    let (channels, samples) = (channels.clamp(1, 3), samples.max(1));
    let rounded = |us: u64| (us + 500) / 1_000;
    let fits = |cycle_us: &u64| {
        let all = cycle_us * u64::from(samples);
        [*cycle_us, all]
            .into_iter()
            .any(|us| rounded(us) == u64::from(stated_ms))
    };
    let cycles = CONVERSIONS_US.map(|us| u64::from(channels * 2 * us));
    // Bus and shunt may take different times where another program set them.
    let otherwise = || {
        let longest = rounded(cycles.into_iter().max()?);
        let us = u64::from(stated_ms) * 1_000;
        let of_all = u64::from(stated_ms) > longest;
        (us > 0).then_some(if of_all { us / u64::from(samples) } else { us })
    };
    let cycle_us = cycles.into_iter().filter(fits).max().or_else(otherwise)?;
    let cycle = Nanos(i64::try_from(cycle_us * 1_000).ok()?);
    Some(Averages {
        cycle,
        lag: (samples > 1).then(|| cycle * i64::from(samples)),
    })
}

/// How long a filter takes until it tells of what is now.
pub(super) fn settled(lag: Nanos) -> Nanos {
    lag * SETTLED
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(averages: Option<Averages>) -> Option<(i64, Option<i64>)> {
        averages.map(|a| (a.cycle.0 / 1_000, a.lag.map(|lag| lag.0 / 1_000)))
    }

    #[test]
    fn cycle_and_lag_come_of_what_either_driver_states() {
        for (channels, samples, stated_ms, wanted) in [
            // As the chip wakes up.
            (3, 1, 7, Some((6_600, None))),
            (1, 1, 2, Some((2_200, None))),
            // Linux 5.10 with what L4T R35 sets: all samples are in it.
            (3, 512, 430, Some((840, Some(430_080)))),
            // Later drivers state one cycle; 140 and 204 µs both round to 1 ms.
            (3, 512, 1, Some((1_224, Some(626_688)))),
            (3, 64, 7, Some((6_600, Some(422_400)))),
            (3, 64, 422, Some((6_600, Some(422_400)))),
            (1, 512, 0, Some((408, Some(208_896)))),
            // Bus and shunt at different times.
            (3, 512, 724, Some((1_414, Some(723_968)))),
            (3, 1, 100, Some((100_000, None))),
            (3, 1, 0, None),
        ] {
            let found = us(averages(channels, samples, stated_ms));
            assert_eq!(found, wanted, "{channels} × {samples}, {stated_ms} ms");
        }
    }

    #[test]
    fn a_settled_filter_has_less_than_a_hundredth_of_a_step_left() {
        let chip = averages(3, 512, 430).unwrap();
        let (cycle, lag) = (chip.cycle, chip.lag.unwrap());
        // The chip's own rule, conversion by conversion.
        let mut register = 1.0;
        let conversions = settled(lag).0 / cycle.0;
        for _ in 0..conversions {
            register += (0.0 - register) / 512.0;
        }
        assert!(register < 0.01, "{register}");
        // Half a second was not enough.
        let left = (1.0f64 - 1.0 / 512.0).powf(500e6 / cycle.0 as f64);
        assert!(left > 0.3, "{left}");
    }
}
