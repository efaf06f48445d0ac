//! Expectations such as `camera.response.p99 < 33ms`: parsed when the scenario is resolved, judged when the run is
//! over.
//!
//! A line is `TENANT.METRIC OPERATOR LIMIT`, or one of a figure of the machine (`machine`), such as
//! `power.total.mean < 15W`. It is judged by the estimate; the result also says whether the whole interval lies on the
//! same side of the limit. A line whose figure the run does not support does not hold: its value is unknown, and a
//! finding says what is missing. The same is true for a tenant that completed no frame, and for a figure that says
//! nothing of its tenant: misses without a deadline, lateness in a closed loop.

use super::amounts::{self, Unreadable};
use super::machine::{self, Absent, Machine, MachineMetric, Unnamed};
use super::metric::{Metric, Reading};
use super::summary::{ExpectationResult, TenantSummary, Unit};
use crate::nearest::nearest;
use crate::units::QuantityError;

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

/// Longer operators first, so that `<=` is not read as `<`.
const COMPARISONS: [(&str, Comparison); 5] = [
    ("<=", Comparison::AtMost),
    (">=", Comparison::AtLeast),
    ("==", Comparison::Equal),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

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

/// Parses a line; tenants are known by name.
pub fn parse(text: &str, tenants: &[&str]) -> Result<Expectation, ExpectationError> {
    let (path, comparison, limit) = split(text).ok_or_else(|| ExpectationError::NoComparison {
        text: text.to_owned(),
    })?;
    let of = subject(text, path, tenants)?;
    let limit = parse_limit(text, limit, of.unit())?;
    if let Some((always, bound)) = says_nothing(&of, comparison, limit) {
        return Err(ExpectationError::SaysNothing {
            text: text.to_owned(),
            always,
            bound,
        });
    }
    Ok(Expectation {
        text: text.to_owned(),
        comparison,
        limit,
        of,
    })
}

/// What the words before the comparison name. A tenant may be called `power` or `clock`: its own metrics come first.
fn subject(text: &str, path: &str, tenants: &[&str]) -> Result<Of, ExpectationError> {
    let split = split_tenant(text, path, tenants);
    if let Ok((tenant, metric)) = &split
        && let Some(metric) = Metric::named(metric)
    {
        return Ok(Of::Tenant((*tenant).to_owned(), metric));
    }
    match machine::named(path, tenants) {
        Some(Ok(metric)) => return Ok(Of::Machine(metric)),
        Some(Err(Unnamed::Figure { written, nearest })) if split.is_err() => {
            return Err(ExpectationError::UnknownFigure {
                text: text.to_owned(),
                figure: written,
                nearest,
            });
        }
        Some(Err(Unnamed::Incomplete(examples))) if split.is_err() => {
            return Err(ExpectationError::Incomplete {
                text: text.to_owned(),
                path: path.to_owned(),
                examples,
            });
        }
        Some(Err(Unnamed::Tenant(tenant))) if split.is_err() => {
            return Err(unknown_tenant(text, &tenant, tenants));
        }
        _ => {}
    }
    let (_, metric) = split?;
    let names: Vec<String> = Metric::all().map(|(name, _)| name).collect();
    Err(ExpectationError::UnknownMetric {
        text: text.to_owned(),
        metric: metric.to_owned(),
        nearest: meant(metric)
            .or_else(|| nearest(metric, names.iter().map(String::as_str)).map(str::to_owned)),
    })
}

/// What other tools call metrics, and what they are called here.
const SYNONYMS: [(&str, &str); 6] = [
    ("latency", "response"),
    ("fps", "throughput"),
    ("frame_rate", "throughput"),
    ("drops", "dropped"),
    ("misses", "missed"),
    ("failures", "failed"),
];

/// The metric that was meant by a name that other tools have, or that lacks its statistic or its series.
fn meant(metric: &str) -> Option<String> {
    let (first, rest) = metric.split_once('.').unwrap_or((metric, ""));
    let synonym = SYNONYMS.iter().find(|(name, _)| *name == first);
    let first = synonym.map_or(first, |(_, ours)| ours);
    let known = |name: &String| Metric::named(name).is_some();
    let whole = match rest {
        "" => first.to_owned(),
        rest => format!("{first}.{rest}"),
    };
    let all = [
        format!("{metric}.p99"),
        format!("{first}.p99"),
        format!("response.{metric}"),
    ];
    [whole].into_iter().chain(all).find(known)
}

/// Whether a line holds whatever a run is like, or never does; and where the figure's values end.
fn says_nothing(of: &Of, comparison: Comparison, limit: f64) -> Option<(bool, &'static str)> {
    use Comparison::{AtLeast, AtMost, Different, Equal, Greater, Less};
    let below = match comparison {
        Greater if limit < 0.0 => Some(true),
        AtLeast if limit <= 0.0 => Some(true),
        Less if limit <= 0.0 => Some(false),
        AtMost | Equal if limit < 0.0 => Some(false),
        Greater | AtLeast | Less | AtMost | Equal | Different => None,
    };
    let above = match comparison {
        Less if limit > 1.0 => Some(true),
        AtMost if limit >= 1.0 => Some(true),
        Greater if limit >= 1.0 => Some(false),
        AtLeast | Equal if limit > 1.0 => Some(false),
        Greater | AtLeast | Less | AtMost | Equal | Different => None,
    };
    let below = below
        .filter(|_| of.is_from_zero())
        .map(|always| (always, "below 0"));
    below.or_else(|| {
        above
            .filter(|_| of.is_share())
            .map(|always| (always, "above 100 %"))
    })
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
        let value = value.filter(|&value| tells || !self.holds_for(value));
        Reading {
            value,
            ci95: ci95.filter(|_| value.is_some()),
        }
    }

    fn judge(&self, Reading { value, ci95 }: Reading) -> ExpectationResult {
        let holds = value.is_some_and(|value| self.holds_for(value));
        let is_certain = |[low, high]: [f64; 2]| {
            // For `==`, an interval around the limit has no end exactly on it.
            let by_value = matches!(self.comparison, Comparison::Equal | Comparison::Different);
            let is_around = by_value && low < self.limit && self.limit < high;
            !is_around && [low, high].iter().all(|&bound| self.holds_for(bound) == holds)
        };
        ExpectationResult {
            text: self.text.clone(),
            holds,
            value,
            unit: Some(self.of.unit()),
            ci95,
            certain: ci95.map(is_certain),
        }
    }

    fn holds_for(&self, value: f64) -> bool {
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

fn split(text: &str) -> Option<(&str, Comparison, &str)> {
    let at = text.find(['<', '>', '='])?;
    let (path, rest) = text.split_at(at);
    let (operator, comparison) = COMPARISONS
        .iter()
        .find(|(operator, _)| rest.starts_with(operator))?;
    let limit = rest.strip_prefix(operator)?.trim();
    (!path.trim().is_empty() && !limit.is_empty()).then(|| (path.trim(), *comparison, limit))
}

/// The longest tenant name that the path starts with, since a name may hold dots itself; and the rest.
fn split_tenant<'a>(
    text: &str,
    path: &'a str,
    tenants: &[&'a str],
) -> Result<(&'a str, &'a str), ExpectationError> {
    let known = tenants
        .iter()
        .filter_map(|tenant| Some((*tenant, path.strip_prefix(tenant)?.strip_prefix('.')?)))
        .max_by_key(|(tenant, _)| tenant.len());
    if let Some(found) = known {
        return Ok(found);
    }
    let list = tenants.join(", ");
    if tenants.contains(&path) {
        return Err(ExpectationError::Incomplete {
            text: text.to_owned(),
            path: path.to_owned(),
            examples: format!("`{path}.response.p99`, or another metric of it"),
        });
    }
    if let (Some(metric), Some(first)) = (meant(path), tenants.first()) {
        return Err(ExpectationError::NoTenant {
            text: text.to_owned(),
            example: text.replacen(path, &format!("{first}.{metric}"), 1),
            tenants: list,
        });
    }
    Err(unknown_tenant(
        text,
        path.split('.').next().unwrap_or(path),
        tenants,
    ))
}

fn unknown_tenant(text: &str, tenant: &str, tenants: &[&str]) -> ExpectationError {
    let known = tenants.iter().copied().chain(machine::FAMILIES);
    ExpectationError::UnknownTenant {
        text: text.to_owned(),
        tenant: tenant.to_owned(),
        nearest: nearest(tenant, known).map(str::to_owned),
        tenants: tenants.join(", "),
    }
}

fn parse_limit(text: &str, limit: &str, unit: Unit) -> Result<f64, ExpectationError> {
    amounts::read(limit, unit).map_err(|problem| match problem {
        Unreadable::Duration(problem) => ExpectationError::BadDuration {
            text: text.to_owned(),
            problem,
        },
        Unreadable::Not(wanted) => ExpectationError::BadLimit {
            text: text.to_owned(),
            limit: limit.to_owned(),
            wanted,
        },
    })
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest
        .map(|name| format!(" (did you mean `{name}`?)"))
        .unwrap_or_default()
}

fn metric_list() -> &'static str {
    "response, service, lateness and stages.STAGE, each with .mean .sd .min .p50 .p90 .p95 .p99 .p99_9 .max; \
     offered, completed, dropped, missed, failed, lost_records, detections; throughput, miss_rate, jitter, \
     iqr, cv, worst_over_median, slowdown.p50, slowdown.p99; of the machine, without a tenant: power, energy, \
     temperature and clock (docs/scenarios.md)"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summary::Stage;

    const TENANTS: [&str; 2] = ["camera", "lidar"];

    fn error(text: &str) -> String {
        parse(text, &TENANTS).unwrap_err().to_string()
    }

    #[test]
    fn every_kind_of_line_is_read() {
        for (text, limit) in [
            ("camera.response.p99 < 33ms", 33.0),
            ("lidar.miss_rate < 1%", 0.01),
            ("lidar.miss_rate <= 0.01", 0.01),
            ("camera.throughput >= 29.5", 29.5),
            ("camera.throughput_fps > 29.5 fps", 29.5),
            ("camera.stages.compute.p90 < 20ms", 20.0),
            ("camera.dropped == 0", 0.0),
            ("camera.frames.dropped==0", 0.0),
            ("camera.slowdown.p50 < 1.5x", 1.5),
            ("lidar.response.p99.9 <250us", 0.25),
            ("lidar.jitter < 2ms", 2.0),
            ("power.total.mean < 15W", 15_000.0),
            ("power.VDD_GPU_SOC.p95 <= 800 mW", 800.0),
            ("energy.camera.per_frame < 200mJ", 200.0),
            ("energy.total<2kJ", 2e6),
            ("energy.camera.frames_per_joule > 5", 5.0),
            ("temperature.tj.max < 90C", 90.0),
            ("clock.gpu.min > 1GHz", 1_000.0),
        ] {
            let expectation = parse(text, &TENANTS).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(expectation.limit, limit, "{text}");
            assert_eq!(expectation.text(), text);
        }
    }

    #[test]
    fn a_tenants_own_metrics_come_before_those_of_the_machine() {
        let of = |text: &str| parse(text, &["power", "camera"]).map(|line| line.tenant().map(str::to_owned));
        assert_eq!(of("power.response.p99 < 33ms"), Ok(Some("power".to_owned())));
        assert_eq!(of("power.total.mean < 15W"), Ok(None));
        let error = of("power.respnse.p99 < 33ms").unwrap_err().to_string();
        assert!(error.contains("no metric `respnse.p99`"), "{error}");
    }

    #[test]
    fn a_figure_of_the_machine_that_is_none_is_answered_with_all() {
        let message = error("power.total.peek < 15W");
        assert!(
            message.contains("no figure `peek` (did you mean `peak`?)"),
            "{message}"
        );
        assert!(message.contains("temperature.SENSOR"), "{message}");
        assert!(error("energy.camra.per_frame < 1J").contains("did you mean `camera`?"));
        assert!(error("pwer.total.mean < 15W").contains("did you mean `power`?"));
        let message = error("power.mean < 15W");
        assert!(
            message.contains("`power.mean` is not complete: write `power.total.mean` or `power.RAIL.mean`")
                && !message.contains("did you mean"),
            "{message}"
        );
    }

    #[test]
    fn names_of_other_tools_and_halves_of_names_lead_to_the_whole() {
        for (text, meant) in [
            ("camera.latency.p99 < 33ms", "did you mean `response.p99`?"),
            ("camera.latency < 33ms", "did you mean `response.p99`?"),
            ("camera.response < 33ms", "did you mean `response.p99`?"),
            ("camera.p99 < 33ms", "did you mean `response.p99`?"),
            (
                "camera.stages.compute < 33ms",
                "did you mean `stages.compute.p99`?",
            ),
            ("camera.fps > 29", "did you mean `throughput`?"),
            ("camera.drops == 0", "did you mean `dropped`?"),
            (
                "p99 < 33ms",
                "it names no tenant: write `camera.response.p99 < 33ms`",
            ),
            (
                "camera < 33ms",
                "`camera` is not complete: write `camera.response.p99`",
            ),
        ] {
            assert!(error(text).contains(meant), "{text}: {}", error(text));
        }
    }

    #[test]
    fn limits_that_every_run_keeps_or_none_does_are_refused() {
        for (text, says) in [
            (
                "camera.dropped > -1",
                "always holds, since the figure is never below 0",
            ),
            ("camera.dropped >= 0", "always holds"),
            ("camera.dropped < 0", "can never hold"),
            ("camera.dropped <= -0.5", "can never hold"),
            ("camera.dropped == -3", "can never hold"),
            ("camera.response.p99 < 0ms", "can never hold"),
            ("power.total.mean > -15W", "always holds"),
            ("clock.gpu.min >= -1GHz", "always holds"),
            ("energy.camera.per_frame < -2J", "can never hold"),
            ("camera.miss_rate < -1%", "can never hold"),
            (
                "camera.miss_rate <= 100%",
                "always holds, since the figure is never above 100 %",
            ),
            ("camera.miss_rate < 2", "always holds"),
            ("camera.miss_rate > 100%", "can never hold"),
        ] {
            assert!(error(text).contains(says), "{text}: {}", error(text));
        }
        for text in [
            "camera.dropped <= 0",
            "camera.dropped == 0",
            "camera.dropped > 0",
            "camera.miss_rate < 100%",
            "camera.miss_rate == 100%",
            "temperature.tj.min > -20C",
            "energy.above_idle > -1J",
            "energy.camera.per_frame_above_idle >= 0J",
        ] {
            assert!(parse(text, &TENANTS).is_ok(), "{text}");
        }
    }

    #[test]
    fn the_opposite_holds_exactly_where_the_line_does_not() {
        for operator in ["<", "<=", ">", ">=", "=="] {
            let line = parse(&format!("camera.throughput {operator} 30"), &TENANTS).unwrap();
            for value in [30.0_f64.next_down(), 30.0, 30.0_f64.next_up()] {
                assert_ne!(
                    line.holds_for(value),
                    line.opposite().holds_for(value),
                    "{operator} {value}"
                );
            }
            assert_eq!(line.opposite().opposite(), line);
        }
    }

    #[test]
    fn each_operator_decides_as_it_is_written_below_at_and_above_its_limit() {
        for (operator, holds) in [
            ("<", [true, false, false]),
            ("<=", [true, true, false]),
            (">", [false, false, true]),
            (">=", [false, true, true]),
            ("==", [false, true, false]),
        ] {
            for blank in ["", " "] {
                let text = format!("camera.throughput{blank}{operator}{blank}30");
                let expectation = parse(&text, &TENANTS).unwrap();
                let next = 30.0_f64.next_up();
                let found = [30.0_f64.next_down(), 30.0, next].map(|value| expectation.holds_for(value));
                assert_eq!(found, holds, "{text}");
            }
        }
    }

    #[test]
    fn a_line_is_certain_where_its_whole_interval_is_on_the_estimates_side_of_the_limit() {
        let judged = |line: &str, [low, value, high]: [f64; 3]| {
            let reading = Reading {
                value: Some(value),
                ci95: Some([low, high]),
            };
            let result = parse(line, &TENANTS).unwrap().judge(reading);
            (result.holds, result.certain)
        };
        for (line, [low, value, high], holds, certain) in [
            ("camera.response.p50 < 7ms", [4.0, 5.0, 6.0], true, true),
            ("camera.response.p50 < 6ms", [4.0, 5.0, 6.0], true, false),
            ("camera.response.p50 <= 6ms", [4.0, 5.0, 6.0], true, true),
            ("camera.response.p50 < 5ms", [4.0, 5.0, 6.0], false, false),
            ("camera.response.p50 < 4ms", [4.0, 5.0, 6.0], false, true),
            ("camera.response.p50 <= 4ms", [4.0, 5.0, 6.0], false, false),
            ("camera.response.p50 > 4ms", [4.0, 5.0, 6.0], true, false),
            ("camera.response.p50 >= 4ms", [4.0, 5.0, 6.0], true, true),
            ("camera.response.p50 > 6ms", [4.0, 5.0, 6.0], false, true),
            ("camera.response.p50 >= 6ms", [4.0, 5.0, 6.0], false, false),
            ("camera.response.p50 == 5ms", [5.0, 5.0, 5.0], true, true),
            ("camera.response.p50 == 5ms", [4.0, 5.0, 6.0], true, false),
            ("camera.response.p50 == 5ms", [4.0, 5.5, 6.0], false, false),
            ("camera.response.p50 == 5ms", [5.5, 6.0, 7.0], false, true),
            ("camera.response.p50 == 5ms", [5.0, 6.0, 7.0], false, false),
        ] {
            assert_eq!(judged(line, [low, value, high]), (holds, Some(certain)), "{line}");
        }
    }

    #[test]
    fn every_metric_that_exists_can_be_named() {
        for (name, metric) in Metric::all() {
            assert_eq!(Metric::named(&name), Some(metric), "{name}");
        }
        for stage in Stage::ALL {
            assert!(Metric::named(&format!("stages.{}.p50", stage.name())).is_some());
        }
    }

    #[test]
    fn a_tenant_with_dots_in_its_name_is_found_whole() {
        let expectation = parse("cam.front.response.p50 < 1ms", &["cam", "cam.front"]).unwrap();
        assert_eq!(expectation.tenant(), Some("cam.front"));
    }

    #[test]
    fn an_unknown_tenant_is_answered_with_the_nearest_and_all() {
        assert_eq!(
            error("camra.response.p99 < 33ms"),
            "`camra.response.p99 < 33ms`: no tenant is named `camra` (did you mean `camera`?); \
             the tenants are camera, lidar; figures of the machine begin with power, energy, temperature or clock"
        );
        assert_eq!(
            error("response.p99 < 33ms"),
            "`response.p99 < 33ms`: it names no tenant: write `camera.response.p99 < 33ms`; \
             the tenants are camera, lidar"
        );
    }

    #[test]
    fn an_unknown_metric_is_answered_with_the_nearest_and_all() {
        let message = error("camera.respnse.p99 < 33ms");
        assert!(
            message.contains("no metric `respnse.p99` (did you mean `response.p99`?)"),
            "{message}"
        );
        assert!(message.contains("miss_rate"), "{message}");
        assert!(error("camera.response.p98 < 33ms").contains("response.p9"));
    }

    #[test]
    fn a_limit_of_the_wrong_kind_says_what_is_wanted() {
        assert!(error("camera.response.p99 < 33").contains("has no unit: write \"33ms\""));
        assert!(error("camera.miss_rate < few").contains("`few` is not a share"));
        assert!(error("camera.throughput > 30ms").contains("not a rate"));
        assert!(error("camera.dropped == none").contains("not a number of frames"));
        assert!(error("camera.miss_rate < nan").contains("not a share"));
    }

    #[test]
    fn a_line_that_compares_nothing_shows_how_one_looks() {
        for text in [
            "",
            "camera.response.p99",
            "camera.response.p99 <",
            "< 33ms",
            "camera.dropped = 0",
        ] {
            assert!(error(text).contains("compares nothing"), "{text}");
        }
    }

    #[test]
    fn the_list_in_the_message_names_every_metric() {
        for (name, _) in Metric::all() {
            let last = name.rsplit('.').next().unwrap_or(&name);
            assert!(metric_list().contains(last), "{name}");
        }
    }
}
