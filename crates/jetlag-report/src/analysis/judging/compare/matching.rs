//! Decides whether two runs can be compared, and which of their tenants.

use serde::{Serialize, Serializer};

use super::RunSample;
use crate::analysis::gathering::recorded::Recorded;
use crate::record::Manifest;
use crate::scenario::{Arrival, ClockKind, Scenario, Tenant};

/// The label of the side that all others are compared with.
pub(super) const BASELINE: &str = "A";

/// Why runs cannot be compared at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Incomparable {
    /// One run in simulated time, the other in real time.
    #[error(
        "{virtual_run} ran under the virtual clock and {real_run} under the real one: simulated latencies say \
         nothing about a machine; compare runs under the same clock"
    )]
    Clocks {
        /// Which one was simulated.
        virtual_run: String,
        /// Which one was not.
        real_run: String,
    },
    /// The runs have no tenant name in common.
    #[error(
        "{a} and {b} have no tenant in common ({a_tenants}; {b_tenants}): tenants are compared by name; give them the same names"
    )]
    NoTenant {
        /// Name of the first run.
        a: String,
        /// Name of the second run.
        b: String,
        /// Names of the first run's tenants, separated by commas.
        a_tenants: String,
        /// Names of the second run's tenants, separated by commas.
        b_tenants: String,
    },
    /// The runs have tenants in common, but none does the same in both.
    #[error("nothing in {a} can be compared with {b}: {}", reasons(.tenants))]
    Nothing {
        /// Name of the first run.
        a: String,
        /// Name of the second run.
        b: String,
        /// Each tenant of a run, and why it is not the same; empty where a side has no run.
        tenants: Vec<(String, Unlike)>,
    },
}

fn reasons(tenants: &[(String, Unlike)]) -> String {
    let reasons: Vec<String> = tenants
        .iter()
        .map(|(name, why)| format!("{name}: {why}"))
        .collect();
    match reasons.is_empty() {
        true => "a side has no run".to_owned(),
        false => reasons.join("; "),
    }
}

/// Checks what applies to the runs as a whole.
pub(super) fn clocks_and_tenants(
    (a_name, a): (&str, &RunSample),
    (b_name, b): (&str, &RunSample),
) -> Result<(), Incomparable> {
    if a.plan.clock != b.plan.clock {
        let (virtual_run, real_run) = match a.plan.clock {
            ClockKind::Virtual => (a_name, b_name),
            ClockKind::Real => (b_name, a_name),
        };
        return Err(Incomparable::Clocks {
            virtual_run: virtual_run.to_owned(),
            real_run: real_run.to_owned(),
        });
    }
    if a.plan
        .tenants
        .iter()
        .any(|known| tenant(&b.plan, &known.name).is_some())
    {
        return Ok(());
    }
    Err(Incomparable::NoTenant {
        a: a_name.to_owned(),
        b: b_name.to_owned(),
        a_tenants: listed(a),
        b_tenants: listed(b),
    })
}

fn listed(run: &RunSample) -> String {
    let names: Vec<&str> = run
        .plan
        .tenants
        .iter()
        .map(|tenant| tenant.name.as_str())
        .collect();
    match (&names[..], Recorded::of(&run.manifest)) {
        ([], Recorded::Program) => "none, since `jetlag trace` saw no process that it could trace".to_owned(),
        ([], _) => "none in what `jetlag monitor` recorded".to_owned(),
        (names, _) => names.join(", "),
    }
}

/// Why a tenant is not the same in two runs, which are called by their letters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unlike {
    /// Only one has it.
    #[error("it is in {has} but not in {lacks}")]
    Absent {
        /// Which has it.
        has: String,
        /// Which has not.
        lacks: String,
    },
    /// Its detector is another.
    #[error("different detectors: {} in {BASELINE}, {} in {label}", detector(&.detectors[0]), detector(&.detectors[1]))]
    Detectors {
        /// That of the baseline and that of the other.
        detectors: [Option<String>; 2],
        /// The other.
        label: String,
    },
    /// It waits for its last frame in one alone.
    #[error("closed loop in {closed}, which cannot show queueing, and paced in {paced}")]
    Loops {
        /// In which.
        closed: String,
        /// In which it does not.
        paced: String,
    },
}

fn detector(name: &Option<String>) -> String {
    name.as_ref()
        .map_or("no detector".to_owned(), |name| format!("`{name}`"))
}

impl Serialize for Unlike {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Why a tenant of this name is not the same in both runs; `None` if it is.
pub(super) fn unlike(name: &str, a: &RunSample, (label, b): (&str, &RunSample)) -> Option<Unlike> {
    let sides = |is_baseline: bool| {
        let (one, other) = if is_baseline {
            (BASELINE, label)
        } else {
            (label, BASELINE)
        };
        (one.to_owned(), other.to_owned())
    };
    let (Some(in_a), Some(in_b)) = (tenant(&a.plan, name), tenant(&b.plan, name)) else {
        let (has, lacks) = sides(tenant(&a.plan, name).is_some());
        return Some(Unlike::Absent { has, lacks });
    };
    let detector = |manifest: &Manifest| {
        let tenants = manifest.tenants.iter();
        tenants
            .filter(|tenant| tenant.name == name)
            .find_map(|tenant| tenant.detector.clone())
    };
    let detectors = [detector(&a.manifest), detector(&b.manifest)];
    if detectors[0] != detectors[1] {
        return Some(Unlike::Detectors {
            detectors,
            label: label.to_owned(),
        });
    }
    let is_closed = |tenant: &Tenant| matches!(tenant.arrival, Arrival::Closed);
    (is_closed(in_a) != is_closed(in_b)).then(|| {
        let (closed, paced) = sides(is_closed(in_a));
        Unlike::Loops { closed, paced }
    })
}

pub(super) fn tenant<'a>(plan: &'a Scenario, name: &str) -> Option<&'a Tenant> {
    plan.tenants.iter().find(|tenant| tenant.name == name)
}
