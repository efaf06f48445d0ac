//! The rows of the table `energy`: each rail, its part that each tenant was charged with, and the sums of both.

use std::borrow::Cow;

use crate::analysis::Summary;
use crate::analysis::summary::{Charged, RailSummary, TenantSummary};

/// Name of the sum of the rails, where a rail's name stands; rails are called `source/rail`.
const TOTAL: &str = "total";

/// Energy of one rail, or of the sum of those that add up, over the measured time.
#[derive(Clone, Debug, PartialEq)]
pub struct Row<'a> {
    /// Who was charged with it; `None` for all that was drawn.
    pub tenant: Option<&'a str>,
    /// `source/rail`, or `total`.
    pub rail: Cow<'a, str>,
    /// Whether it is in the total; the total itself is.
    pub in_total: bool,
    /// The tenant's share of the rail's energy, or of the total, from 0 to 1.
    pub share: Option<f64>,
    /// In millijoules, idle power included.
    pub energy_mj: f64,
    /// The 95 % interval of it, where there is one.
    pub interval_mj: Option<[f64; 2]>,
    /// Without idle power; `None` if that was not measured.
    pub above_idle_mj: Option<f64>,
    /// Frames that the tenant completed.
    pub frames: Option<u64>,
}

impl Row<'_> {
    /// Energy of a completed frame.
    pub fn per_frame_mj(&self) -> Option<f64> {
        self.per_frame(self.energy_mj)
    }

    /// The 95 % interval of the energy of a completed frame.
    pub fn per_frame_interval_mj(&self) -> Option<[f64; 2]> {
        let [low, high] = self.interval_mj?;
        Some([self.per_frame(low)?, self.per_frame(high)?])
    }

    fn per_frame(&self, mj: f64) -> Option<f64> {
        let frames = self.frames.filter(|frames| *frames > 0)?;
        Some(mj / frames as f64)
    }
}

/// Both ends of an interval, or neither.
pub(super) fn bounds(interval: Option<[f64; 2]>) -> [Option<f64>; 2] {
    interval.map_or([None; 2], |ends| ends.map(Some))
}

/// The rails and their total, then those of each tenant.
pub fn rows(summary: &Summary) -> Vec<Row<'_>> {
    let energy = summary.energy.as_ref();
    let in_total =
        |rail: &RailSummary| energy.is_some_and(|energy| energy.rails.contains(&name_of(rail).into_owned()));
    let mut rows: Vec<Row<'_>> = summary
        .power
        .iter()
        .map(|rail| Row {
            tenant: None,
            rail: name_of(rail),
            in_total: in_total(rail),
            share: None,
            energy_mj: rail.energy_mj,
            interval_mj: rail.ci95_mj,
            above_idle_mj: rail.above_idle_mj,
            frames: None,
        })
        .collect();
    let Some(energy) = energy else {
        return rows;
    };
    rows.push(Row {
        tenant: None,
        rail: TOTAL.into(),
        in_total: true,
        share: None,
        energy_mj: energy.total_mj,
        interval_mj: energy.ci95_mj,
        above_idle_mj: energy.above_idle_mj,
        frames: None,
    });
    for charged in &energy.charged {
        if let Some(tenant) = summary.tenants.get(charged.tenant) {
            rows.extend(of_tenant(tenant, charged, &summary.power, energy.total_mj));
        }
    }
    rows
}

/// What a tenant was charged with, rail by rail and in all.
fn of_tenant<'a>(
    tenant: &'a TenantSummary,
    charged: &'a Charged,
    rails: &'a [RailSummary],
    total_mj: f64,
) -> impl Iterator<Item = Row<'a>> {
    let (name, frames) = (Some(tenant.name.as_str()), Some(tenant.frames.completed));
    let of_rail = move |&(place, share): &(usize, f64)| {
        let rail = rails.get(place)?;
        Some(Row {
            tenant: name,
            rail: name_of(rail),
            in_total: true,
            share: Some(share),
            energy_mj: rail.energy_mj * share,
            interval_mj: rail.ci95_mj.map(|ends| ends.map(|mj| mj * share)),
            above_idle_mj: rail.above_idle_mj.map(|mj| mj * share),
            frames,
        })
    };
    let whole = Row {
        tenant: name,
        rail: TOTAL.into(),
        in_total: true,
        share: (total_mj > 0.0).then(|| charged.mj / total_mj),
        energy_mj: charged.mj,
        interval_mj: charged.half_mj.map(|half| [charged.mj - half, charged.mj + half]),
        above_idle_mj: charged.above_idle_mj,
        frames,
    };
    charged
        .rails
        .iter()
        .filter_map(of_rail)
        .chain(std::iter::once(whole))
}

fn name_of(rail: &RailSummary) -> Cow<'_, str> {
    format!("{}/{}", rail.source, rail.rail).into()
}
