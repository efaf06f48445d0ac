//! Expectations such as `camera.response.p99 < 33ms`: parsed when the scenario is resolved, judged when the run is
//! over.
//!
//! A line is `FIGURE OPERATOR LIMIT`, such as `power.total.mean < 15W`; `figures` has the figures. It is judged by the estimate; the result also says whether the whole interval lies on the
//! same side of the limit. A line whose figure the run does not support does not hold: its value is unknown, and a
//! finding says what is missing. The same is true for a tenant that completed no frame, and for a figure that says
//! nothing of its tenant: misses without a deadline, lateness in a closed loop.

mod error;
mod parse;

use jetlag_stats::quantile::Quantile;

pub use error::ExpectationError;
pub use parse::parse;

use crate::analysis::figures::Key;
use jetlag_figure::Support;

use crate::analysis::figures::{self, Absent, Found, Run};
use crate::analysis::summary::{ExpectationResult, TenantSummary};

/// One line of `expect`: a figure of a tenant or of the machine, a comparison and a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    text: String,
    pub(super) key: Key,
    comparison: Comparison,
    /// In the figure's unit.
    limit: f64,
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
    /// The tenant that it is about; none if it is about the machine, as energy is.
    pub fn tenant(&self) -> Option<&str> {
        match &self.key {
            Key::Frames(..) => None,
            key => key.tenant(),
        }
    }

    /// The line that holds exactly where this one is known not to.
    pub(super) fn opposite(&self) -> Expectation {
        Expectation {
            comparison: self.comparison.opposite(),
            ..self.clone()
        }
    }

    /// The figure that it compares.
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// The line as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Judges it by the figures of a run; of a figure of the machine that it cannot be judged by, also says why.
    pub(super) fn evaluate(&self, run: &Run<'_>) -> (ExpectationResult, Option<Absent>) {
        let found = run.read(&self.key);
        if let Some(name) = self.tenant() {
            let tenant = run.tenant(name);
            let found = tenant.and_then(|tenant| self.promised(found.ok()?, tenant));
            return (self.judge(found), None);
        }
        match found {
            // What was seen for a part of the time can break a line, and cannot keep it.
            Ok(Found {
                doubt: Some(doubt),
                value,
                ..
            }) if self.holds_for(value) => (self.judge(None), Some(doubt)),
            Ok(found) => (self.judge(Some(found)), None),
            Err(absent) => (self.judge(None), Some(absent)),
        }
    }

    /// A tenant that completed no frame does not meet an expectation such as "nothing dropped", nor one without a deadline
    /// one on misses: such a figure may show that the line is broken, and otherwise nothing is known.
    fn promised(&self, found: Found, tenant: &TenantSummary) -> Option<Found> {
        let holds = self.holds_for(found.value);
        let tells = tenant.frames.completed > 0 && figures::says_nothing(&self.key, tenant).is_none();
        let is_certain = || {
            let ends = found.support.interval();
            ends.is_some_and(|ends| self.is_certain(found.value, ends))
        };
        let is_known = match found.support {
            Support::Interval(_) | Support::Exact | Support::ThisRun => true,
            // It describes these frames, and is no basis of a promise unless another one decides it.
            Support::Nothing => figures::quantiles(&self.key, tenant)
                .is_some_and(|(own, known)| self.by_order(own, &known) == Some(holds)),
        };
        let is_enough = self.needs(tenant).is_none() || is_certain();
        (is_known && (tells || !holds) && is_enough).then_some(found)
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

    fn judge(&self, found: Option<Found>) -> ExpectationResult {
        let value = found.as_ref().map(|found| found.value);
        let ci95 = found.and_then(|found| found.support.interval());
        ExpectationResult {
            text: self.text.clone(),
            holds: value.is_some_and(|value| self.holds_for(value)),
            value,
            unit: Some(self.key.unit()),
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
        figures::needs(&self.key, self.limit, tenant)
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
