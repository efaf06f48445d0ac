//! Keys: what a figure is called, by parts with meanings and not by a text. `tenant` and `machine` have what there is;
//! `parse` reads what people write.

mod absent;
pub(crate) mod found;
mod list;
mod machine;
mod parse;
mod tenant;
#[cfg(test)]
mod tests;
mod words;

use std::borrow::Cow;
use std::fmt;

use jetlag_figure::Unit;
use jetlag_record::Stage;

pub use list::{documented, listed};
pub use machine::{Host, Kind, Level, OfRail, Power, Whole};
pub use parse::{FAMILIES, KeyError};
pub(super) use tenant::for_quartiles;
pub use tenant::{PerFrame, Plain, Series, Statistic};
pub use words::{Better, Entry, Shown};

/// What a figure is: of whom, and what. Its name is what it displays as: `camera.response.p99`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// A statistic of a tenant's durations.
    Time(String, Series, Statistic),
    /// A statistic of a tenant's stage.
    Stage(String, Stage, Statistic),
    /// A plain figure of a tenant.
    Plain(String, Plain),
    /// A share of a tenant's mean response time.
    TimeShare(String, Part),
    /// Energy of a tenant's frames.
    Frames(String, PerFrame),
    /// Power of the total, or of one rail.
    Power(Line, Power),
    /// What else there is of a rail.
    Rail(String, OfRail),
    /// Energy of all that was measured.
    Energy(Whole),
    /// A temperature, a clock or a load, by its name.
    Sensor(Kind, String, Level),
    /// The machine's load.
    Host(Host),
}

/// What a statistic of a stage is of.
const OF_STAGES: &str = "a stage, of completed frames that have it";
/// What a share of time is.
const OF_TIME: &str = "share of the mean response time: `queueing`, a stage, `other`";

/// A power line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Line {
    /// The sum of what counts.
    Total,
    /// A rail by its name.
    Rail(String),
}

/// What a share of the mean response time is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// Waiting for its turn.
    Queueing,
    /// A stage.
    Stage(Stage),
    /// What is in neither.
    Other,
}

impl Part {
    /// All of them, in order.
    pub fn all() -> impl Iterator<Item = Part> {
        let stages = Stage::ALL.into_iter().map(Part::Stage);
        [Part::Queueing].into_iter().chain(stages).chain([Part::Other])
    }

    /// As JSON has it.
    pub fn name(self) -> &'static str {
        match self {
            Part::Queueing => "queueing",
            Part::Stage(stage) => stage.name(),
            Part::Other => "other",
        }
    }
}

impl Statistic {
    /// Whether it is a quantile, which only enough frames support.
    pub fn is_quantile(self) -> bool {
        Statistic::QUANTILES.contains(&self)
    }

    /// The quantiles, from low to high.
    pub const QUANTILES: [Statistic; 5] = [
        Statistic::P50,
        Statistic::P90,
        Statistic::P95,
        Statistic::P99,
        Statistic::P99_9,
    ];
}

impl Key {
    /// Whose it is, of a tenant's.
    pub fn tenant(&self) -> Option<&str> {
        match self {
            Key::Time(tenant, ..)
            | Key::Stage(tenant, ..)
            | Key::Plain(tenant, _)
            | Key::TimeShare(tenant, _)
            | Key::Frames(tenant, _) => Some(tenant),
            Key::Power(..) | Key::Rail(..) | Key::Energy(_) | Key::Sensor(..) | Key::Host(_) => None,
        }
    }

    /// Its name without the tenant: `response.p99`, `energy.per_frame`; the whole name of what is no tenant's.
    pub fn within(&self) -> Cow<'static, str> {
        match self {
            Key::Time(_, series, statistic) => format!("{}.{}", series.name(), statistic.name()).into(),
            Key::Stage(_, stage, statistic) => format!("stages.{}.{}", stage.name(), statistic.name()).into(),
            Key::Plain(_, plain) => plain.name().into(),
            Key::TimeShare(_, part) => format!("time_share.{}", part.name()).into(),
            Key::Frames(_, figure) => format!("energy.{}", figure.name()).into(),
            Key::Power(Line::Total, power) => format!("power.total.{}", power.name()).into(),
            Key::Power(Line::Rail(rail), power) => format!("power.{rail}.{}", power.name()).into(),
            Key::Rail(rail, figure) => format!("power.{rail}.{}", figure.name()).into(),
            Key::Energy(whole) => format!("energy.{}", whole.name()).into(),
            Key::Sensor(kind, sensor, level) => format!("{}.{sensor}.{}", kind.name(), level.name()).into(),
            Key::Host(host) => format!("host.{}", host.name()).into(),
        }
    }

    /// Its line of a table; a statistic's says what its series is.
    fn entry(&self) -> Entry {
        match self {
            Key::Time(_, series, statistic) => Entry {
                doc: series.doc(),
                ..statistic.entry()
            },
            Key::Stage(_, _, statistic) => Entry {
                doc: OF_STAGES,
                ..statistic.entry()
            },
            Key::TimeShare(_, part) => Entry {
                name: part.name(),
                unit: Unit::Ratio,
                better: Better::Neither,
                doc: OF_TIME,
                shown: None,
            },
            Key::Plain(_, plain) => plain.entry(),
            Key::Frames(_, figure) => figure.entry(),
            Key::Power(_, power) => power.entry(),
            Key::Rail(_, figure) => figure.entry(),
            Key::Energy(whole) => whole.entry(),
            Key::Sensor(kind, ..) => kind.entry(),
            Key::Host(host) => host.entry(),
        }
    }

    /// What its values are measured in.
    pub fn unit(&self) -> Unit {
        self.entry().unit
    }

    /// Which way it is better.
    pub fn better(&self) -> Better {
        self.entry().better
    }

    /// What it is, in words; of a statistic's series.
    pub fn doc(&self) -> &'static str {
        self.entry().doc
    }

    /// The statistic that it is, of a series of durations.
    pub fn statistic(&self) -> Option<Statistic> {
        match self {
            Key::Time(_, _, statistic) | Key::Stage(_, _, statistic) => Some(*statistic),
            _ => None,
        }
    }

    /// The same of another statistic of its series.
    pub fn with(&self, statistic: Statistic) -> Option<Key> {
        match self {
            Key::Time(tenant, series, _) => Some(Key::Time(tenant.clone(), *series, statistic)),
            Key::Stage(tenant, stage, _) => Some(Key::Stage(tenant.clone(), *stage, statistic)),
            _ => None,
        }
    }

    /// Whether its values are never below zero. What is above an idle mean may be, a temperature, a relative change, and a release that
    /// came early.
    pub fn is_from_zero(&self) -> bool {
        !matches!(
            self,
            Key::Time(_, Series::Lateness, _)
                | Key::Plain(_, Plain::Autocorrelation | Plain::Settling | Plain::Drift)
                | Key::Frames(_, PerFrame::AboveIdle)
                | Key::Rail(_, OfRail::AboveIdle)
                | Key::Energy(Whole::AboveIdle)
                | Key::Sensor(Kind::Temperature, ..)
        )
    }

    /// Whether a change of it has a ratio: a temperature has no zero that counts.
    pub fn has_ratio(&self) -> bool {
        self.unit() != Unit::C
    }
}

impl fmt::Display for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Frames(tenant, figure) => write!(out, "energy.{tenant}.{}", figure.name()),
            of_machine if of_machine.tenant().is_none() => out.write_str(&self.within()),
            of_tenant => write!(
                out,
                "{}.{}",
                of_tenant.tenant().unwrap_or_default(),
                self.within()
            ),
        }
    }
}
