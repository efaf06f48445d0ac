//! Divides energy among tenants: the energy of each power line goes to the tenants that used what the line feeds.
//!
//! A sensor cannot tell tenants apart, so where several used what it measures, their shares are an attribution and
//! not a measurement. Energy that no tenant used is charged to none. Definitions are in docs/measurement.md.

use crate::analysis::stats::six_decimals;
use crate::analysis::summary::{Charged, Energy, EnergySummary, RailSummary};
use crate::analysis::topics::latency::tenant::{Measured, Used};
use crate::analysis::topics::power::feeds::{Feeds, feeds};
use crate::record::Device;

/// The lines of the total that feed the same parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::analysis) struct Part {
    pub(in crate::analysis) feeds: Feeds,
    pub(in crate::analysis) mj: f64,
    pub(in crate::analysis) above_idle_mj: Option<f64>,
    /// Half of the 95 % interval of `mj`.
    pub(in crate::analysis) half_mj: Option<f64>,
    /// Half of the 95 % interval of `above_idle_mj`; it includes the error of the idle baseline.
    pub(in crate::analysis) above_idle_half_mj: Option<f64>,
}

/// Divides the energy of the rails among the tenants.
pub(in crate::analysis) fn attribute(
    energy: &mut EnergySummary,
    rails: &[RailSummary],
    parts: &[Part],
    tenants: &mut [Measured<'_>],
) {
    let of_total: Vec<(usize, Feeds)> = rails
        .iter()
        .enumerate()
        .filter(|(_, rail)| energy.rails.contains(&format!("{}/{}", rail.source, rail.rail)))
        .map(|(place, rail)| (place, feeds(rail, energy.board)))
        .collect();
    let used: Vec<(Device, Used)> = tenants
        .iter()
        .map(|tenant| (tenant.summary.device, tenant.facts.used))
        .collect();
    let shares: Vec<Vec<f64>> = parts.iter().map(|part| shares(part.feeds, &used)).collect();
    let divided = |shares: &Vec<f64>| shares.iter().filter(|share| **share > 0.0).count() > 1;
    for (place, Measured { summary, .. }) in tenants.iter_mut().enumerate() {
        let frames = summary.frames.completed as f64;
        let charged: Vec<(&Part, f64, bool)> = parts
            .iter()
            .zip(&shares)
            .filter_map(|(part, shares)| Some((part, *shares.get(place)?, divided(shares))))
            .filter(|(_, share, _)| *share > 0.0)
            .collect();
        if charged.is_empty() || frames == 0.0 {
            continue;
        }
        let sum = |of: &dyn Fn(&Part) -> Option<f64>| -> Option<f64> {
            charged
                .iter()
                .map(|(part, share, _)| of(part).map(|mj| mj * share))
                .sum()
        };
        let total: f64 = charged.iter().map(|(part, share, _)| part.mj * share).sum();
        let per_frame = |mj: f64| six_decimals(mj / frames);
        // The errors of the parts' sensors may have the same sign, so they are added up.
        let half = sum(&|part| part.half_mj);
        let above_idle = sum(&|part| part.above_idle_mj);
        let above_idle_half = sum(&|part| part.above_idle_half_mj);
        let around = |mj: f64, half: f64| [per_frame(mj - half), per_frame(mj + half)];
        let of_rail = |&(rail, feeds): &(usize, Feeds)| {
            let (_, share, _) = charged.iter().find(|(part, ..)| part.feeds == feeds)?;
            Some((rail, *share))
        };
        energy.charged.push(Charged {
            tenant: place,
            mj: total,
            above_idle_mj: above_idle,
            half_mj: half,
            rails: of_total.iter().filter_map(of_rail).collect(),
        });
        summary.energy_mj_per_frame = Some(Energy {
            total: per_frame(total),
            above_idle: above_idle.map(per_frame),
            ci95: half.map(|half| around(total, half)),
            above_idle_ci95: above_idle.zip(above_idle_half).map(|(mj, half)| around(mj, half)),
            share: match energy.total_mj {
                whole if whole > 0.0 => six_decimals(total / whole),
                _ => {
                    six_decimals(charged.iter().map(|(_, share, _)| share).sum::<f64>() / parts.len() as f64)
                }
            },
            attributed: charged.iter().any(|(_, _, divided)| *divided),
            frames_per_joule: (total > 0.0).then(|| six_decimals(frames * 1e3 / total)),
        });
    }
    let in_words = |(part, _): (&Part, &Vec<f64>)| match part.feeds {
        Feeds::Module | Feeds::Gpus => "share of compute time",
        Feeds::Processors => "share of time on the processors",
    };
    let mut words: Vec<&'static str> = parts
        .iter()
        .zip(&shares)
        .filter(|(_, shares)| divided(shares))
        .map(in_words)
        .collect();
    words.dedup();
    energy.attribution = match words.as_slice() {
        [] => None,
        [one] => Some(one),
        _ => Some("share of compute time on the GPUs, of time on the processors"),
    };
}

/// The share of a line that each tenant is charged with; none where no tenant used what it feeds.
fn shares(feeds: Feeds, tenants: &[(Device, Used)]) -> Vec<f64> {
    let weigh = |weight: &dyn Fn(Device, Used) -> i128| -> Option<Vec<f64>> {
        let weights: Vec<i128> = tenants
            .iter()
            .map(|&(device, used)| weight(device, used).max(0))
            .collect();
        let all: i128 = weights.iter().sum();
        (all > 0).then(|| weights.iter().map(|part| *part as f64 / all as f64).collect())
    };
    let compute_of = |counts: &dyn Fn(Device) -> bool| {
        weigh(&|device, used| if counts(device) { used.compute } else { 0 })
    };
    let found = match feeds {
        Feeds::Gpus => compute_of(&Device::is_gpu),
        // A simulated tenant draws no power of its own: next to one that executes, it is charged with nothing.
        Feeds::Module => compute_of(&|device| device != Device::None).or_else(|| compute_of(&|_| true)),
        Feeds::Processors => weigh(&|device, used| match device {
            Device::Host => used.compute + used.around,
            Device::Gpu(_) => used.around,
            Device::None => 0,
        })
        .or_else(|| compute_of(&|_| true)),
    };
    found.unwrap_or_else(|| vec![0.0; tenants.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    const GPU: Device = Device::Gpu(0);

    fn used(device: Device, compute: i128, around: i128) -> (Device, Used) {
        (device, Used { compute, around })
    }

    #[test]
    fn a_cards_energy_goes_to_the_tenants_on_it_and_to_no_other() {
        let tenants = [
            used(GPU, 30, 1),
            used(Device::Host, 500, 9),
            used(GPU, 10, 2),
            used(Device::None, 900, 0),
        ];
        assert_eq!(shares(Feeds::Gpus, &tenants), [0.75, 0.0, 0.25, 0.0]);
        let nobody = [used(Device::Host, 30, 1), used(Device::None, 500, 9)];
        assert_eq!(
            shares(Feeds::Gpus, &nobody),
            [0.0, 0.0],
            "a card that nobody used"
        );
    }

    #[test]
    fn processors_are_charged_to_all_that_work_on_them_and_a_board_by_compute_time() {
        let tenants = [
            used(GPU, 70, 25),
            used(Device::Host, 70, 5),
            used(Device::None, 1_000, 0),
        ];
        assert_eq!(shares(Feeds::Processors, &tenants), [0.25, 0.75, 0.0]);
        assert_eq!(shares(Feeds::Module, &tenants), [0.5, 0.5, 0.0]);
        let simulated = [used(Device::None, 70, 25), used(Device::None, 70, 5)];
        assert_eq!(shares(Feeds::Module, &simulated), [0.5, 0.5]);
    }
}
