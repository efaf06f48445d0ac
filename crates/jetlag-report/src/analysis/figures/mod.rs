//! The figures of a run, each by its key, with what supports it: expectations, gates, sweeps, tables of tenants and the JSON form take them
//! from here. What figures there are, and where the summary has them, are the tables `key/tenant.rs` and `key/machine.rs`.

mod figure;
pub mod key;
mod machine;
mod rules;
mod series;
#[cfg(test)]
mod tests;

use jetlag_figure::{Known, Support};

pub use figure::Figure;
pub use key::{Key, KeyError};

pub(crate) use key::found::Absent;
pub(super) use key::found::{Found, Reading};
pub(super) use rules::{QuantileSupport, SaysNothing, is_slowdown, needs, quantiles, sample, says_nothing};
pub(super) use series::quantile as quantile_of;

use crate::analysis::summary::{
    EnergySummary, HostSummary, RailSummary, SensorSummary, Summary, TenantSummary,
};

/// A run in figures: what a summary has, also while it is made.
#[derive(Clone, Debug)]
pub(super) struct Run<'a> {
    pub(super) tenants: Vec<&'a TenantSummary>,
    pub(super) rails: &'a [RailSummary],
    pub(super) energy: Option<&'a EnergySummary>,
    pub(super) sensors: &'a [SensorSummary],
    pub(super) host: Option<&'a HostSummary>,
}

impl<'a> From<&'a Summary> for Run<'a> {
    fn from(summary: &'a Summary) -> Run<'a> {
        Run {
            tenants: summary.tenants.iter().collect(),
            rails: &summary.power,
            energy: summary.energy.as_ref(),
            sensors: &summary.sensors,
            host: summary.host.as_ref(),
        }
    }
}

/// Every figure of a run: those that it has, and those that it measured for and cannot support.
pub fn figures(summary: &Summary) -> Vec<Figure> {
    let run = Run::from(summary);
    let keys = run
        .tenants
        .iter()
        .flat_map(|tenant| Key::all_of_tenant(&tenant.name));
    let all = keys.chain(machine::keys(&run)).map(|key| run.figure(key));
    all.filter(|figure| figure.known != Known::NotMeasured).collect()
}

impl<'a> Run<'a> {
    pub(super) fn tenant(&self, name: &str) -> Option<&'a TenantSummary> {
        self.tenants.iter().copied().find(|tenant| tenant.name == name)
    }

    /// A figure's value, or why there is none.
    pub(super) fn read(&self, key: &Key) -> Reading {
        match (key, key.tenant()) {
            (Key::Frames(name, figure), _) => machine::of_frames(self, name, *figure),
            (key, Some(name)) => series::read(key, self.tenant(name).ok_or(Absent::Nothing)?),
            (key, None) => machine::read(self, key),
        }
    }

    fn figure(&self, key: Key) -> Figure {
        match self.read(&key) {
            Ok(found) => Figure {
                key,
                known: Known::Measured(found.value),
                support: found.support,
            },
            Err(absent) => Figure {
                key,
                known: absent.known(),
                support: Support::Nothing,
            },
        }
    }
}
