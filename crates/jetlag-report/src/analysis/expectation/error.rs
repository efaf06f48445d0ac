//! What is said of a line of `expect` that could not be parsed.

use super::super::machine;
use crate::units::QuantityError;

/// Why a line could not be parsed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExpectationError {
    /// There is no comparison in it.
    #[error(
        "`{text}`: it compares nothing: write TENANT.METRIC, one of < <= > >= ==, and a limit, such as \"camera.response.p99 < 33ms\""
    )]
    NoComparison {
        /// The line of `expect`, as written.
        text: String,
    },
    /// It starts with no tenant of the scenario.
    #[error("`{text}`: no tenant is named `{tenant}`{}; the tenants are {tenants}; figures of the machine begin with power, energy, temperature or clock", did_you_mean(.nearest.as_deref()))]
    UnknownTenant {
        /// The line of `expect`, as written.
        text: String,
        /// What stands where the tenant should.
        tenant: String,
        /// The tenant whose name is nearest.
        nearest: Option<String>,
        /// The names of all tenants, separated by commas.
        tenants: String,
    },
    /// A metric without a tenant before it.
    #[error("`{text}`: it names no tenant: write `{example}`; the tenants are {tenants}")]
    NoTenant {
        /// The line of `expect`, as written.
        text: String,
        /// The line with a tenant before the metric.
        example: String,
        /// The names of all tenants, separated by commas.
        tenants: String,
    },
    /// A figure of the machine that does not exist.
    #[error("`{text}`: there is no figure `{figure}`{}; the metrics are {}", did_you_mean(.nearest.as_deref()), machine::list())]
    UnknownFigure {
        /// The line of `expect`, as written.
        text: String,
        /// The word that stands where the figure should.
        figure: String,
        /// The figure whose name is nearest.
        nearest: Option<String>,
    },
    /// A figure of the machine without what it is of, or without its last word.
    #[error("`{text}`: `{path}` is not complete: write {examples}")]
    Incomplete {
        /// The line of `expect`, as written.
        text: String,
        /// What stands before the comparison.
        path: String,
        /// What to write in its place.
        examples: String,
    },
    /// A limit beyond all values that the figure can have.
    #[error("`{text}`: it {}, since the figure is never {bound}; write another limit", if *.always { "always holds" } else { "can never hold" })]
    SaysNothing {
        /// The line of `expect`, as written.
        text: String,
        /// Whether every value keeps it.
        always: bool,
        /// Where the values end.
        bound: &'static str,
    },
    /// A tenant of the scenario, but a metric that does not exist.
    #[error("`{text}`: there is no metric `{metric}`{}; the metrics are {}", did_you_mean(.nearest.as_deref()), metric_list())]
    UnknownMetric {
        /// The line of `expect`, as written.
        text: String,
        /// The word that stands where the metric should.
        metric: String,
        /// The metric whose name is nearest.
        nearest: Option<String>,
    },
    /// A limit that is not a time, for a metric that is.
    #[error("`{text}`: {problem}")]
    BadDuration {
        /// The line of `expect`, as written.
        text: String,
        /// What is wrong with the limit.
        problem: QuantityError,
    },
    /// A limit that is not a number of the metric's kind.
    #[error("`{text}`: `{limit}` is not {wanted}")]
    BadLimit {
        /// The line of `expect`, as written.
        text: String,
        /// The text that stands where the limit should.
        limit: String,
        /// What the metric is compared with.
        wanted: &'static str,
    },
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest
        .map(|name| format!(" (did you mean `{name}`?)"))
        .unwrap_or_default()
}

pub(super) fn metric_list() -> &'static str {
    "response, service, lateness and stages.STAGE, each with .mean .sd .min .p50 .p90 .p95 .p99 .p99_9 .max; \
     offered, completed, dropped, missed, failed, lost_records, detections; throughput, miss_rate, jitter, \
     iqr, cv, worst_over_median, slowdown.p50, slowdown.p90, slowdown.p99; of the machine, without a tenant: power, energy, \
     temperature and clock (docs/scenarios.md)"
}
