//! The figures of a run, each by its key, with what supports it. This is the one place that reads them out of a summary: expectations,
//! gates, sweeps and the JSON form take them from here. What figures there are is a table of `jetlag_figure::key`.

mod absent;
mod machine;
mod rules;
mod tenant;
#[cfg(test)]
mod tests;

use jetlag_figure::{Figure, Key, Known, Support};

pub(super) use absent::Absent;
pub(super) use rules::{Sample, SaysNothing, is_slowdown, needs, quantiles, sample, says_nothing};
pub(super) use tenant::quantile as quantile_of;

use super::summary::{EnergySummary, HostSummary, RailSummary, SensorSummary, Summary, TenantSummary};

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

/// A figure that a run has.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) value: f64,
    pub(super) support: Support,
    /// Why it does not show that a line holds, where it covers too little.
    pub(super) doubt: Option<Absent>,
}

impl Found {
    fn with(value: f64, support: Support) -> Found {
        Found {
            value,
            support,
            doubt: None,
        }
    }

    fn exact(count: u64) -> Found {
        Found::with(count as f64, Support::Exact)
    }

    fn of_run(value: f64) -> Found {
        Found::with(value, Support::ThisRun)
    }

    fn between(value: f64, interval: Option<[f64; 2]>) -> Found {
        Found::with(value, Support::of(interval))
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
    pub(super) fn read(&self, key: &Key) -> Result<Found, Absent> {
        match (key, key.tenant()) {
            (Key::Frames(name, figure), _) => machine::of_frames(self, name, *figure),
            (key, Some(name)) => tenant::read(key, self.tenant(name).ok_or(Absent::Nothing)?),
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
