//! Expectations such as `camera.response.p99 < 33ms`: parsed when the scenario is resolved, judged when the run is
//! over.
//!
//! A line is `TENANT.METRIC OPERATOR LIMIT`, or one of a figure of the machine (`machine`), such as
//! `power.total.mean < 15W`. It is judged by the estimate; the result also says whether the whole interval lies on the
//! same side of the limit. A line whose figure the run does not support does not hold: its value is unknown, and a
//! finding says what is missing. The same is true for a tenant that completed no frame, and for a figure that says
//! nothing of its tenant: misses without a deadline, lateness in a closed loop.

mod error;
mod parse;

use jetlag_stats::quantile::Quantile;

pub use error::ExpectationError;
pub use parse::parse;

use super::machine::{Absent, Machine, MachineMetric};
use super::metric::{Metric, Reading};
use super::summary::{ExpectationResult, TenantSummary, Unit};

/// One line of `expect`: a metric of a tenant or of the machine, a comparison and a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    text: String,
    pub(super) of: Of,
    comparison: Comparison,
    /// In the metric's unit.
    limit: f64,
}

/// Of what a figure is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Of {
    /// Of the tenant of this name.
    Tenant(String, Metric),
    Machine(MachineMetric),
}

impl Of {
    /// Whether its values are never below zero. Energy above idle may be, a temperature too, and a release that came early.
    fn is_from_zero(&self) -> bool {
        match self {
            Of::Tenant(_, metric) => metric.is_from_zero(),
            Of::Machine(metric) => metric.is_from_zero(),
        }
    }

    /// Whether it is a share, which is never above one.
    fn is_share(&self) -> bool {
        matches!(self.unit(), Unit::Ratio)
    }

    fn unit(&self) -> Unit {
        match self {
            Of::Tenant(_, metric) => metric.unit(),
            Of::Machine(metric) => metric.unit(),
        }
    }
}

/// The run that a line is judged by.
pub(super) struct Run<'a> {
    pub(super) tenants: Vec<&'a TenantSummary>,
    pub(super) machine: Machine<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Less,
    AtMost,
    Greater,
    AtLeast,
    Equal,
    /// Nobody writes it: the opposite of `Equal`.
    Different,
}

impl Comparison {
    /// What holds exactly where this does not.
    fn opposite(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::AtLeast,
            Comparison::AtMost => Comparison::Greater,
            Comparison::Greater => Comparison::AtMost,
            Comparison::AtLeast => Comparison::Less,
            Comparison::Equal => Comparison::Different,
            Comparison::Different => Comparison::Equal,
        }
    }
}

impl Expectation {
    /// The tenant that it is about; none if it is about the machine.
    pub fn tenant(&self) -> Option<&str> {
        match &self.of {
            Of::Tenant(tenant, _) => Some(tenant),
            Of::Machine(_) => None,
        }
    }

    /// The line that holds exactly where this one is known not to.
    pub(super) fn opposite(&self) -> Expectation {
        Expectation {
            comparison: self.comparison.opposite(),
            ..self.clone()
        }
    }

    /// What stands before the comparison: `camera.response.p99`.
    pub fn figure(&self) -> &str {
        self.text.split(['<', '>', '=']).next().unwrap_or_default().trim()
    }

    /// The line as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Judges it by the figures of a run; of a figure of the machine that it cannot be judged by, also says why.
    pub(super) fn evaluate(&self, run: &Run<'_>) -> (ExpectationResult, Option<Absent>) {
        let unknown = Reading {
            value: None,
            ci95: None,
        };
        match &self.of {
            Of::Tenant(name, metric) => {
                let tenant = run.tenants.iter().find(|tenant| tenant.name == *name);
                let reading = tenant.map_or(unknown, |tenant| self.read(*metric, tenant));
                (self.judge(reading), None)
            }
            Of::Machine(metric) => match metric.read(&run.machine, &run.tenants) {
                Ok(found) => {
                    // What was seen for a part of the time can break a line, and cannot keep it.
                    let holds = found.reading.value.is_some_and(|value| self.holds_for(value));
                    match found.doubt.filter(|_| holds) {
                        Some(doubt) => (self.judge(unknown), Some(doubt)),
                        None => (self.judge(found.reading), None),
                    }
                }
                Err(absent) => (self.judge(unknown), Some(absent)),
            },
        }
    }

    /// A tenant that completed no frame does not meet an expectation such as "nothing dropped", nor one without a deadline
    /// one on misses: such a figure may show that the line is broken, and otherwise nothing is known.
    fn read(&self, metric: Metric, tenant: &TenantSummary) -> Reading {
        let Reading { value, ci95 } = metric.read(tenant);
        let tells = tenant.frames.completed > 0 && metric.says_nothing(tenant).is_none();
        let is_certain = |value| ci95.is_some_and(|ci95| self.is_certain(value, ci95));
        // A quantile without an interval describes these frames, and is no basis of a promise unless another one decides it.
        let is_known = |holds| {
            let alone = || {
                metric
                    .quantiles(tenant)
                    .is_none_or(|(own, known)| self.by_order(own, &known) == Some(holds))
            };
            ci95.is_some() || alone()
        };
        let value = value
            .filter(|&value| is_known(self.holds_for(value)))
            .filter(|&value| tells || !self.holds_for(value))
            .filter(|&value| self.needs(tenant).is_none() || is_certain(value));
        Reading {
            value,
            ci95: ci95.filter(|_| value.is_some()),
        }
    }

    /// Whether a limit on a quantile is kept or broken for certain by others of the same frames, whose intervals are known: a lower one
    /// lies above the limit, or a higher one below it.
    fn by_order(&self, own: Quantile, known: &[(Quantile, [f64; 2])]) -> Option<bool> {
        let is_above = |holds: bool| match self.comparison {
            Comparison::Less | Comparison::AtMost => Some(!holds),
            Comparison::Greater | Comparison::AtLeast => Some(holds),
            Comparison::Equal | Comparison::Different => None,
        };
        known.iter().find_map(|(other, ends)| {
            let [low, high] = ends.map(|end| self.holds_for(end));
            let above = is_above(low).filter(|_| low == high)?;
            (if above { *other <= own } else { *other >= own }).then_some(low)
        })
    }

    fn judge(&self, Reading { value, ci95 }: Reading) -> ExpectationResult {
        let holds = value.is_some_and(|value| self.holds_for(value));
        ExpectationResult {
            text: self.text.clone(),
            holds,
            value,
            unit: Some(self.of.unit()),
            ci95,
            certain: value.zip(ci95).map(|(value, ci95)| self.is_certain(value, ci95)),
        }
    }

    /// Whether the whole interval is on the same side of the limit as the value.
    fn is_certain(&self, value: f64, [low, high]: [f64; 2]) -> bool {
        // For `==`, an interval around the limit has no end exactly on it.
        let by_value = matches!(self.comparison, Comparison::Equal | Comparison::Different);
        let is_around = by_value && low < self.limit && self.limit < high;
        let holds = self.holds_for(value);
        !is_around && [low, high].iter().all(|&bound| self.holds_for(bound) == holds)
    }

    /// Frames that its limit needs, where the tenant's are too few to judge it by.
    pub(super) fn needs(&self, tenant: &TenantSummary) -> Option<u64> {
        match &self.of {
            Of::Tenant(_, metric) => metric.needs(self.limit, tenant),
            Of::Machine(_) => None,
        }
    }

    /// Whether a value of its figure, in the unit of the machine form, keeps it.
    pub fn holds_for(&self, value: f64) -> bool {
        match self.comparison {
            Comparison::Less => value < self.limit,
            Comparison::AtMost => value <= self.limit,
            Comparison::Greater => value > self.limit,
            Comparison::AtLeast => value >= self.limit,
            Comparison::Equal => value == self.limit,
            Comparison::Different => value != self.limit,
        }
    }
}

#[cfg(test)]
mod tests;
