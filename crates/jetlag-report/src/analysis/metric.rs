//! The figures of a tenant that an expectation may name, and where each is found in its summary.

use jetlag_stats::quantile::Quantile;

use super::missed;
use super::summary::{Lack, Stage, Stats, TenantSummary, Unit};

/// A figure of one tenant, such as `response.p99`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Metric {
    /// A statistic of a series of durations.
    Time(TimeSeries, Statistic),
    /// A count of frames or objects.
    Count(CountOf),
    /// A plain figure of the tenant.
    Figure(Figure),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeSeries {
    Response,
    Service,
    Lateness,
    Age,
    Stage(Stage),
}

/// Quantiles of one series whose intervals are known.
pub(super) type Intervals = Vec<(Quantile, [f64; 2])>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Statistic {
    Mean,
    Sd,
    Min,
    Max,
    Quantile(Quantile),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CountOf {
    Offered,
    Completed,
    Dropped,
    Missed,
    Failed,
    LostRecords,
    Detections,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Figure {
    Throughput,
    MissRate,
    Jitter,
    InterquartileRange,
    Cv,
    WorstOverMedian,
    SlowdownP50,
    SlowdownP90,
    SlowdownP99,
}

const STATISTICS: [(&str, Statistic); 9] = [
    ("mean", Statistic::Mean),
    ("sd", Statistic::Sd),
    ("min", Statistic::Min),
    ("p50", Statistic::Quantile(Quantile::P50)),
    ("p90", Statistic::Quantile(Quantile::P90)),
    ("p95", Statistic::Quantile(Quantile::P95)),
    ("p99", Statistic::Quantile(Quantile::P99)),
    ("p99_9", Statistic::Quantile(Quantile::P99_9)),
    ("max", Statistic::Max),
];

const COUNTS: [(&str, CountOf); 7] = [
    ("offered", CountOf::Offered),
    ("completed", CountOf::Completed),
    ("dropped", CountOf::Dropped),
    ("missed", CountOf::Missed),
    ("failed", CountOf::Failed),
    ("lost_records", CountOf::LostRecords),
    ("detections", CountOf::Detections),
];

const FIGURES: [(&str, Figure); 9] = [
    ("throughput", Figure::Throughput),
    ("miss_rate", Figure::MissRate),
    ("jitter", Figure::Jitter),
    ("iqr", Figure::InterquartileRange),
    ("cv", Figure::Cv),
    ("worst_over_median", Figure::WorstOverMedian),
    ("slowdown.p50", Figure::SlowdownP50),
    ("slowdown.p90", Figure::SlowdownP90),
    ("slowdown.p99", Figure::SlowdownP99),
];

/// A metric's value in a run, with its interval, in its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reading {
    pub(super) value: Option<f64>,
    pub(super) ci95: Option<[f64; 2]>,
}

/// Why a figure would be as good as any other, whatever the tenant did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SaysNothing {
    /// Misses of a tenant that has no deadline to miss.
    NoDeadline,
    /// Lateness of releases that nothing but the tenant itself was waiting for.
    ClosedLoop,
}

/// The quantile and the sample behind a value, to say what is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) quantile: Quantile,
    pub(super) count: u64,
    /// What the frames lack for its interval.
    pub(super) lacks: Option<Lack>,
}

impl Sample {
    /// Whether it lacks an interval because frames depend on each other, and not because independent ones would be too few.
    pub(super) fn depends(self) -> bool {
        self.lacks > Some(Lack::Frames(self.quantile.needs()))
    }
}

impl Metric {
    /// All metrics with their names.
    pub(super) fn all() -> impl Iterator<Item = (String, Metric)> {
        let series = [
            ("response".to_owned(), TimeSeries::Response),
            ("service".to_owned(), TimeSeries::Service),
            ("lateness".to_owned(), TimeSeries::Lateness),
            ("age".to_owned(), TimeSeries::Age),
        ];
        let stages = Stage::ALL.map(|stage| (format!("stages.{}", stage.name()), TimeSeries::Stage(stage)));
        let times = series.into_iter().chain(stages).flat_map(|(name, series)| {
            STATISTICS.map(|(statistic, which)| (format!("{name}.{statistic}"), Metric::Time(series, which)))
        });
        let counts = COUNTS.map(|(name, count)| (name.to_owned(), Metric::Count(count)));
        let figures = FIGURES.map(|(name, figure)| (name.to_owned(), Metric::Figure(figure)));
        times.chain(counts).chain(figures)
    }

    /// The metric of this name; `p99.9`, `frames.dropped` and `throughput_fps` are understood too.
    pub(super) fn named(name: &str) -> Option<Metric> {
        let name = name.replace("p99.9", "p99_9");
        let name = name.strip_prefix("frames.").unwrap_or(&name);
        let name = if name == "throughput_fps" {
            "throughput"
        } else {
            name
        };
        Metric::all()
            .find(|(known, _)| known == name)
            .map(|(_, metric)| metric)
    }

    /// Whether its values are never below zero: a release may come early.
    pub(super) fn is_from_zero(self) -> bool {
        !matches!(self, Metric::Time(TimeSeries::Lateness, _))
    }

    /// What its values are measured in.
    pub(super) fn unit(self) -> Unit {
        match self {
            Metric::Time(..) => Unit::Ms,
            Metric::Count(_) => Unit::Count,
            Metric::Figure(Figure::Throughput) => Unit::Fps,
            Metric::Figure(Figure::MissRate) => Unit::Ratio,
            Metric::Figure(Figure::Jitter | Figure::InterquartileRange) => Unit::Ms,
            Metric::Figure(_) => Unit::Factor,
        }
    }

    /// Its value in a run.
    pub(super) fn read(self, tenant: &TenantSummary) -> Reading {
        let plain = |value| Reading { value, ci95: None };
        match self {
            Metric::Time(series, statistic) => {
                series_of(series, tenant).map_or(plain(None), |stats| read_statistic(stats, statistic))
            }
            Metric::Count(count) => plain(read_count(count, tenant).map(|count| count as f64)),
            Metric::Figure(figure) => read_figure(figure, tenant),
        }
    }

    /// Why its value cannot show that all is well with this tenant, where it cannot.
    pub(super) fn says_nothing(self, tenant: &TenantSummary) -> Option<SaysNothing> {
        match self {
            Metric::Count(CountOf::Missed) | Metric::Figure(Figure::MissRate) => {
                tenant.deadline_ms.is_none().then_some(SaysNothing::NoDeadline)
            }
            Metric::Time(TimeSeries::Lateness, _) => tenant.closed_loop.then_some(SaysNothing::ClosedLoop),
            _ => None,
        }
    }

    /// Frames that a limit on it needs, where it is a share of frames that the run's are too few for.
    pub(super) fn needs(self, limit: f64, tenant: &TenantSummary) -> Option<u64> {
        let Metric::Figure(Figure::MissRate) = self else {
            return None;
        };
        let needs = missed::needs(limit)?;
        let worth = tenant.miss_rate_frames;
        (worth < needs).then(|| (tenant.frames.offered as f64 * needs / worth.max(1.0)).ceil() as u64)
    }

    /// Whether it compares a tenant with itself alone.
    pub(super) fn is_slowdown(self) -> bool {
        matches!(
            self,
            Metric::Figure(Figure::SlowdownP50 | Figure::SlowdownP90 | Figure::SlowdownP99)
        )
    }

    /// Which quantile it is, and those of the same series that have an interval; none if it is no quantile.
    pub(super) fn quantiles(self, tenant: &TenantSummary) -> Option<(Quantile, Intervals)> {
        let Metric::Time(series, Statistic::Quantile(own)) = self else {
            return None;
        };
        let of = series_of(series, tenant)?.ci95;
        let all = [
            (Quantile::P50, of.p50),
            (Quantile::P90, of.p90),
            (Quantile::P95, of.p95),
            (Quantile::P99, of.p99),
            (Quantile::P99_9, of.p99_9),
        ];
        let known = all
            .into_iter()
            .filter_map(|(quantile, ends)| Some((quantile, ends?)));
        Some((own, known.collect()))
    }

    /// The quantile that it is made of, and the number of frames for it; none if it is not made of a quantile.
    pub(super) fn sample(self, tenant: &TenantSummary) -> Option<Sample> {
        let response = tenant.response_ms.count;
        let of_response = |quantile| (quantile, Some(response), lacking(&tenant.response_ms, quantile));
        let (quantile, count, lacks) = match self {
            Metric::Time(series, Statistic::Quantile(quantile)) => {
                let stats = series_of(series, tenant);
                let lacks = stats.and_then(|stats| lacking(stats, quantile));
                (quantile, stats.map(|stats| stats.count), lacks)
            }
            Metric::Figure(Figure::Jitter) => of_response(Quantile::P99),
            Metric::Figure(Figure::InterquartileRange) => {
                // It needs what the median needs, and in addition enough independent frames for the quartiles.
                let quartiles = Lack::Frames(Quantile::P75.needs());
                let lacks = tenant.response_ms.lacks.p50.unwrap_or(quartiles).max(quartiles);
                let withheld = tenant.iqr_ms.is_none().then_some(lacks);
                (Quantile::P75, Some(response), withheld)
            }
            Metric::Figure(Figure::WorstOverMedian) => of_response(Quantile::P50),
            _ => return None,
        };
        count.map(|count| Sample {
            quantile,
            count,
            lacks,
        })
    }
}

fn series_of(series: TimeSeries, tenant: &TenantSummary) -> Option<&Stats> {
    match series {
        TimeSeries::Response => Some(&tenant.response_ms),
        TimeSeries::Service => Some(&tenant.service_ms),
        TimeSeries::Lateness => Some(&tenant.lateness_ms),
        TimeSeries::Age => tenant.age_ms.as_ref(),
        TimeSeries::Stage(stage) => {
            let found = tenant.stages_ms.iter().find(|(name, _)| *name == stage.name());
            found.map(|(_, stats)| stats)
        }
    }
}

/// What the frames lack for the interval of a quantile.
fn lacking(stats: &Stats, quantile: Quantile) -> Option<Lack> {
    match quantile {
        Quantile::P50 => stats.lacks.p50,
        Quantile::P90 => stats.lacks.p90,
        Quantile::P95 => stats.lacks.p95,
        Quantile::P99 => stats.lacks.p99,
        Quantile::P99_9 => stats.lacks.p99_9,
        _ => None,
    }
}

fn read_statistic(stats: &Stats, statistic: Statistic) -> Reading {
    let (value, ci95) = match statistic {
        Statistic::Mean => (stats.mean, None),
        Statistic::Sd => (stats.sd, None),
        Statistic::Min => (stats.min, None),
        Statistic::Max => (stats.max, None),
        Statistic::Quantile(Quantile::P50) => (stats.p50, stats.ci95.p50),
        Statistic::Quantile(Quantile::P90) => (stats.p90, stats.ci95.p90),
        Statistic::Quantile(Quantile::P95) => (stats.p95, stats.ci95.p95),
        Statistic::Quantile(Quantile::P99) => (stats.p99, stats.ci95.p99),
        Statistic::Quantile(Quantile::P99_9) => (stats.p99_9, stats.ci95.p99_9),
        Statistic::Quantile(_) => (None, None),
    };
    Reading { value, ci95 }
}

fn read_count(count: CountOf, tenant: &TenantSummary) -> Option<u64> {
    Some(match count {
        CountOf::Offered => tenant.frames.offered,
        CountOf::Completed => tenant.frames.completed,
        CountOf::Dropped => tenant.frames.dropped,
        CountOf::Missed => tenant.frames.missed,
        // Also before the measured time: a detector that failed at first has failed.
        CountOf::Failed => tenant.frames.failed + tenant.frames.failed_in_warmup,
        CountOf::LostRecords => tenant.frames.lost_records,
        CountOf::Detections => return tenant.detections,
    })
}

fn read_figure(figure: Figure, tenant: &TenantSummary) -> Reading {
    let slowdown = tenant.slowdown.as_ref();
    let (value, ci95) = match figure {
        Figure::Throughput => (tenant.throughput_fps, None),
        Figure::MissRate => (tenant.miss_rate, tenant.miss_rate_ci95),
        Figure::Jitter => (tenant.jitter_ms, None),
        Figure::InterquartileRange => (tenant.iqr_ms, None),
        Figure::Cv => (tenant.cv, None),
        Figure::WorstOverMedian => (tenant.worst_over_median, None),
        Figure::SlowdownP50 => (slowdown.and_then(|s| s.p50), slowdown.and_then(|s| s.ci95.p50)),
        Figure::SlowdownP90 => (slowdown.and_then(|s| s.p90), slowdown.and_then(|s| s.ci95.p90)),
        Figure::SlowdownP99 => (slowdown.and_then(|s| s.p99), slowdown.and_then(|s| s.ci95.p99)),
    };
    Reading { value, ci95 }
}
