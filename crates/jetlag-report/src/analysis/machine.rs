//! The figures of the machine that an expectation may name: power, energy, temperatures and clocks.
//!
//! A name is `power.total.mean`, `power.RAIL.p95`, `energy.total`, `energy.TENANT.per_frame`, `temperature.SENSOR.max`
//! or `clock.CLOCK.min`. Which rails and sensors a machine has is known only from its run, so their names are looked
//! up when a run is judged; what is missing then is a fact ([`Absent`]), of which `limit` makes sentences. The figures
//! of tenants are in `metric`.

use super::metric::Reading;
use super::summary::{EnergySummary, P95_VALUES, RailSummary, SensorSummary, TenantSummary, Unit};
use super::uncertainty::UNSEEN;
use crate::nearest::nearest;
use crate::record::Part;

/// What names of such figures begin with.
pub(super) const FAMILIES: [&str; 4] = ["power", "energy", "temperature", "clock"];

/// A figure of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MachineMetric {
    /// Power of the total, or of one rail.
    Power(Line, Level),
    /// Energy of all that was measured.
    Energy(Whole),
    /// Energy of one tenant's frames.
    Frames(String, PerFrame),
    /// A temperature or a clock, by the name as written.
    Sensor(Kind, String, Level),
}

/// A power line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    Total,
    Rail(String),
}

/// How high something was over the measured time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Min,
    Mean,
    Median,
    P95,
    Max,
}

/// Energy over the measured time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole {
    Total,
    AboveIdle,
}

/// Energy of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PerFrame {
    Total,
    AboveIdle,
    FramesPerJoule,
}

/// What a sensor measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Temperature,
    Clock,
}

impl Kind {
    /// As names and JSON have it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Kind::Temperature => "temperature",
            Kind::Clock => "clock",
        }
    }
}

const POWER: [(&str, Level); 6] = [
    ("mean", Level::Mean),
    ("median", Level::Median),
    ("p50", Level::Median),
    ("p95", Level::P95),
    ("peak", Level::Max),
    ("max", Level::Max),
];
const SENSOR: [(&str, Level); 6] = [
    ("min", Level::Min),
    ("mean", Level::Mean),
    ("median", Level::Median),
    ("p50", Level::Median),
    ("p95", Level::P95),
    ("max", Level::Max),
];
const WHOLE: [(&str, Whole); 2] = [("total", Whole::Total), ("above_idle", Whole::AboveIdle)];
const PER_FRAME: [(&str, PerFrame); 3] = [
    ("per_frame", PerFrame::Total),
    ("per_frame_above_idle", PerFrame::AboveIdle),
    ("frames_per_joule", PerFrame::FramesPerJoule),
];

/// All of them, for people.
pub(super) fn list() -> &'static str {
    "of the machine: power.total and power.RAIL, each with .mean .median .p95 .peak; energy.total, energy.above_idle, \
     energy.TENANT with .per_frame .per_frame_above_idle .frames_per_joule; temperature.SENSOR and clock.CLOCK, each \
     with .min .mean .median .p95 .max"
}

/// Why a name is none of a figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unnamed {
    /// Its last word is no figure of its family.
    Figure {
        /// What stands there.
        written: String,
        /// The figure whose name is nearest.
        nearest: Option<String>,
    },
    /// It names no tenant of the scenario.
    Tenant(String),
    /// It does not say of what, or which figure: what to write, in backticks.
    Incomplete(String),
}

/// The figure of this name; nothing if the name begins like none.
pub(super) fn named(path: &str, tenants: &[&str]) -> Option<Result<MachineMetric, Unnamed>> {
    let (family, rest) = path.split_once('.').unwrap_or((path, ""));
    if let Some(examples) = incomplete(family, rest, tenants) {
        return Some(Err(Unnamed::Incomplete(examples)));
    }
    let found = match family {
        "power" => last_word(rest, &POWER).map(|(line, level)| {
            let line = match line {
                "total" => Line::Total,
                rail => Line::Rail(rail.to_owned()),
            };
            MachineMetric::Power(line, level)
        }),
        "energy" => energy(rest, tenants),
        "temperature" => sensor(Kind::Temperature, rest),
        "clock" => sensor(Kind::Clock, rest),
        _ => return None,
    };
    Some(found)
}

/// What to write in place of a family's name alone, or with a single word: the figure without what it is of, or that without a figure.
fn incomplete(family: &str, word: &str, tenants: &[&str]) -> Option<String> {
    let known = |names: &[&'static str]| names.iter().find(|name| **name == word).copied();
    let (of, figures): (&[&str], Vec<&'static str>) = match family {
        "power" => (&["total", "RAIL"], POWER.iter().map(|(name, _)| *name).collect()),
        "temperature" => (&["SENSOR"], SENSOR.iter().map(|(name, _)| *name).collect()),
        "clock" => (&["CLOCK"], SENSOR.iter().map(|(name, _)| *name).collect()),
        "energy" if WHOLE.iter().any(|(name, _)| *name == word) => return None,
        "energy" => (&["TENANT"], PER_FRAME.iter().map(|(name, _)| *name).collect()),
        _ => return None,
    };
    if word.contains('.') {
        return None;
    }
    let written = |of: &str, figure: &str| format!("`{family}.{of}.{figure}`");
    let usual = if family == "energy" { "per_frame" } else { "mean" };
    let is_meant = |names: &[&'static str]| nearest(word, names.iter().copied());
    let examples: Vec<String> = match known(&figures) {
        Some(figure) => of.iter().map(|of| written(of, figure)).collect(),
        None if word.is_empty() => of.iter().map(|of| written(of, usual)).collect(),
        None if family == "energy" && !tenants.contains(&word) => {
            let figure = is_meant(&figures).unwrap_or(usual);
            vec!["`energy.total`".to_owned(), written("TENANT", figure)]
        }
        None => match is_meant(&figures).filter(|_| word != "total") {
            Some(figure) => of.iter().map(|of| written(of, figure)).collect(),
            None => vec![written(word, usual)],
        },
    };
    Some(examples.join(" or "))
}

fn sensor(kind: Kind, rest: &str) -> Result<MachineMetric, Unnamed> {
    last_word(rest, &SENSOR).map(|(name, level)| MachineMetric::Sensor(kind, name.to_owned(), level))
}

fn energy(rest: &str, tenants: &[&str]) -> Result<MachineMetric, Unnamed> {
    if let Some((_, whole)) = WHOLE.into_iter().find(|(name, _)| *name == rest) {
        return Ok(MachineMetric::Energy(whole));
    }
    let (tenant, figure) = last_word(rest, &PER_FRAME)?;
    match tenants.contains(&tenant) {
        true => Ok(MachineMetric::Frames(tenant.to_owned(), figure)),
        false => Err(Unnamed::Tenant(tenant.to_owned())),
    }
}

/// What stands before the last dot, and the figure after it.
fn last_word<'a, T: Copy>(rest: &'a str, known: &[(&str, T)]) -> Result<(&'a str, T), Unnamed> {
    let (before, word) = rest.rsplit_once('.').unwrap_or(("", rest));
    let found = known.iter().find(|(name, _)| *name == word);
    match found {
        Some(&(_, figure)) if !before.is_empty() => Ok((before, figure)),
        _ => Err(Unnamed::Figure {
            written: word.to_owned(),
            nearest: nearest(word, known.iter().map(|(name, _)| *name)).map(str::to_owned),
        }),
    }
}

/// The machine of a run in figures.
#[derive(Clone, Copy)]
pub(super) struct Machine<'a> {
    pub(super) rails: &'a [RailSummary],
    pub(super) energy: Option<&'a EnergySummary>,
    pub(super) sensors: &'a [SensorSummary],
}

/// Why a run does not have a figure.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Absent {
    /// No power was measured.
    Power,
    /// These rails were, and nothing says which of them are the total.
    Total { rails: Vec<String> },
    /// No rail has this name.
    Rail { name: String, rails: Vec<String> },
    /// Several have it, with what tells them apart.
    Rails { name: String, rails: Vec<String> },
    /// No sensor has this name.
    Sensor {
        kind: Kind,
        name: String,
        known: Vec<String>,
    },
    /// Several have it, of which only the lowest and the highest value can be told together.
    Several { name: String, sensors: Vec<String> },
    /// Too few values for a p95.
    Values {
        of: String,
        values: u64,
        /// How often there is one, if that is known.
        every_ms: Option<f64>,
    },
    /// It was measured for this share of the time, and the line would hold in that.
    Coverage { of: String, share: f64 },
    /// Power was not measured in the idle baseline.
    Idle,
    /// Nothing that this tenant ran on was measured, or it completed no frame.
    Tenant(String),
}

/// A figure that a run has.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) reading: Reading,
    /// Why it does not show that a line holds, where it covers too little.
    pub(super) doubt: Option<Absent>,
}

impl MachineMetric {
    /// Whether its values are never below zero: what is above an idle mean may be, and a temperature.
    pub(super) fn is_from_zero(&self) -> bool {
        !matches!(
            self,
            MachineMetric::Energy(Whole::AboveIdle)
                | MachineMetric::Frames(_, PerFrame::AboveIdle)
                | MachineMetric::Sensor(Kind::Temperature, ..)
        )
    }

    /// What its values are measured in.
    pub(super) fn unit(&self) -> Unit {
        match self {
            MachineMetric::Power(..) => Unit::Mw,
            MachineMetric::Energy(_) | MachineMetric::Frames(_, PerFrame::Total | PerFrame::AboveIdle) => {
                Unit::Mj
            }
            MachineMetric::Frames(_, PerFrame::FramesPerJoule) => Unit::FramesPerJoule,
            MachineMetric::Sensor(Kind::Temperature, ..) => Unit::C,
            MachineMetric::Sensor(Kind::Clock, ..) => Unit::Mhz,
        }
    }

    /// Its value in a run.
    pub(super) fn read(&self, machine: &Machine<'_>, tenants: &[&TenantSummary]) -> Result<Found, Absent> {
        match self {
            MachineMetric::Power(Line::Total, level) => total(machine, *level),
            MachineMetric::Power(Line::Rail(name), level) => rail(machine, name, *level),
            MachineMetric::Energy(whole) => {
                let energy = machine.energy.ok_or_else(|| no_total(machine))?;
                let found = match whole {
                    Whole::Total => sure(energy.total_mj, energy.ci95_mj),
                    Whole::AboveIdle => sure(
                        energy.above_idle_mj.ok_or(Absent::Idle)?,
                        energy.above_idle_ci95_mj,
                    ),
                };
                Ok(Found {
                    doubt: coverage(machine, energy),
                    ..found
                })
            }
            MachineMetric::Frames(name, figure) => of_frames(machine, tenants, name, *figure),
            MachineMetric::Sensor(kind, name, level) => of_sensor(machine, *kind, name, *level),
        }
    }
}

fn sure(value: f64, ci95: Option<[f64; 2]>) -> Found {
    Found {
        reading: Reading {
            value: Some(value),
            ci95,
        },
        doubt: None,
    }
}

fn no_total(machine: &Machine<'_>) -> Absent {
    match machine.rails.is_empty() {
        true => Absent::Power,
        false => Absent::Total {
            rails: names(machine.rails),
        },
    }
}

fn names(rails: &[RailSummary]) -> Vec<String> {
    rails.iter().map(|rail| rail.rail.clone()).collect()
}

/// The lines that were added up to the total.
fn members<'a>(
    machine: &Machine<'a>,
    energy: &'a EnergySummary,
) -> impl Iterator<Item = &'a RailSummary> + use<'a> {
    let is_member =
        move |rail: &&RailSummary| energy.rails.contains(&format!("{}/{}", rail.source, rail.rail));
    machine.rails.iter().filter(is_member)
}

/// The lines of the total that were not measured all the time, as a doubt.
fn coverage(machine: &Machine<'_>, energy: &EnergySummary) -> Option<Absent> {
    let integrated = members(machine, energy).filter(|rail| rail.energy_from == "power");
    let least = integrated.min_by(|a, b| a.sampled.total_cmp(&b.sampled))?;
    too_little(&least.rail, least.sampled)
}

fn too_little(of: &str, sampled: f64) -> Option<Absent> {
    (sampled < 1.0 - UNSEEN).then(|| Absent::Coverage {
        of: of.to_owned(),
        share: sampled,
    })
}

fn total(machine: &Machine<'_>, level: Level) -> Result<Found, Absent> {
    let energy = machine.energy.ok_or_else(|| no_total(machine))?;
    let value = match level {
        Level::Mean => Some(energy.mean_mw),
        Level::Median => energy.median_mw,
        Level::P95 => energy.p95_mw,
        Level::Max | Level::Min => energy.peak_mw,
    };
    let of = energy.rails.join(" + ");
    let value = value.ok_or_else(|| Absent::Values {
        of: of.clone(),
        values: energy.values,
        every_ms: members(machine, energy)
            .filter_map(|rail| rail.refresh_ms)
            .reduce(f64::max),
    })?;
    let ci95 = energy
        .ci95_mj
        .filter(|_| level == Level::Mean && energy.total_mj > 0.0);
    let in_power = |mj: f64| mj * energy.mean_mw / energy.total_mj;
    // Of the other figures of a sum only time in which all lines were read counts.
    let partly = match level {
        Level::Mean => coverage(machine, energy),
        _ => {
            let sampled = members(machine, energy).map(|rail| rail.sampled);
            let least = sampled.fold(1.0, f64::min);
            too_little(&of, least)
        }
    };
    Ok(Found {
        doubt: partly,
        ..sure(value, ci95.map(|bounds| bounds.map(in_power)))
    })
}

fn rail(machine: &Machine<'_>, name: &str, level: Level) -> Result<Found, Absent> {
    if machine.rails.is_empty() {
        return Err(Absent::Power);
    }
    let full = |rail: &RailSummary| format!("{}/{}", rail.source, rail.rail);
    // How well it fits, the best first. NVML's lines of a card end in what kind of reading they are, of which the first here is the rail.
    let fits = |rail: &RailSummary| {
        let endings = ["_power_instant", "_power_average", "_power"];
        let is_short = |ending: &&str| {
            rail.rail
                .strip_suffix(*ending)
                .is_some_and(|card| card.eq_ignore_ascii_case(name))
        };
        match (
            full(rail).eq_ignore_ascii_case(name),
            rail.rail.eq_ignore_ascii_case(name),
        ) {
            (true, _) => Some(0),
            (_, true) => Some(1),
            _ => endings.iter().position(is_short).map(|place| 2 + place),
        }
    };
    let best = machine.rails.iter().filter_map(fits).min();
    let found: Vec<&RailSummary> = machine
        .rails
        .iter()
        .filter(|rail| best.is_some() && fits(rail) == best)
        .collect();
    let rail = match found[..] {
        [] => {
            return Err(Absent::Rail {
                name: name.to_owned(),
                rails: names(machine.rails),
            });
        }
        [one] => one,
        // Two lines of one name need not be of one wire.
        _ => {
            return Err(Absent::Rails {
                name: name.to_owned(),
                rails: found.iter().map(|rail| full(rail)).collect(),
            });
        }
    };
    let value = match level {
        Level::Mean => Some(rail.mean_mw),
        Level::Median => rail.median_mw,
        Level::P95 => rail.p95_mw,
        Level::Max | Level::Min => Some(rail.peak_mw),
    };
    let value = value.ok_or_else(|| Absent::Values {
        of: rail.rail.clone(),
        values: rail.values,
        every_ms: rail.refresh_ms,
    })?;
    let ci95 = rail
        .ci95_mj
        .filter(|_| level == Level::Mean && rail.energy_mj > 0.0);
    let in_power = |mj: f64| mj * rail.mean_mw / rail.energy_mj;
    let counted = level == Level::Mean && rail.energy_from == "counter";
    Ok(Found {
        doubt: too_little(&rail.rail, rail.sampled).filter(|_| !counted),
        ..sure(value, ci95.map(|bounds| bounds.map(in_power)))
    })
}

fn of_frames(
    machine: &Machine<'_>,
    tenants: &[&TenantSummary],
    name: &str,
    figure: PerFrame,
) -> Result<Found, Absent> {
    let energy = machine.energy.ok_or_else(|| no_total(machine))?;
    let tenant = tenants.iter().find(|tenant| tenant.name == name);
    let per_frame = tenant.and_then(|tenant| tenant.energy_mj_per_frame);
    let per_frame = per_frame.ok_or_else(|| Absent::Tenant(name.to_owned()))?;
    let found = match figure {
        PerFrame::Total => sure(per_frame.total, per_frame.ci95),
        PerFrame::AboveIdle => sure(
            per_frame.above_idle.ok_or(Absent::Idle)?,
            per_frame.above_idle_ci95,
        ),
        PerFrame::FramesPerJoule => {
            let value = per_frame.frames_per_joule;
            let value = value.ok_or_else(|| Absent::Tenant(name.to_owned()))?;
            sure(value, per_frame.frames_per_joule_ci95())
        }
    };
    Ok(Found {
        doubt: coverage(machine, energy),
        ..found
    })
}

fn of_sensor(machine: &Machine<'_>, kind: Kind, name: &str, level: Level) -> Result<Found, Absent> {
    let of_kind = || {
        machine
            .sensors
            .iter()
            .filter(|sensor| sensor.quantity == kind.word())
    };
    let exact = |sensor: &&SensorSummary| {
        sensor.signal.eq_ignore_ascii_case(name) || format!("{}/{}", sensor.source, sensor.signal) == name
    };
    let mut found: Vec<&SensorSummary> = of_kind().filter(exact).collect();
    if found.is_empty() {
        found = of_kind().filter(|sensor| is_called(sensor, kind, name)).collect();
    }
    let Some(first) = found.first().copied() else {
        return Err(Absent::Sensor {
            kind,
            name: name.to_owned(),
            known: of_kind().map(|sensor| sensor.signal.clone()).collect(),
        });
    };
    // Two samplers may read the same sensor.
    found.retain(|sensor| sensor.source == first.source);
    let several = || Absent::Several {
        name: name.to_owned(),
        sensors: found.iter().map(|sensor| sensor.signal.clone()).collect(),
    };
    let each = |value: fn(&SensorSummary) -> f64| found.iter().map(move |sensor| value(sensor));
    let of_one = |value: Option<f64>| match found.len() {
        1 => value.ok_or_else(|| Absent::Values {
            of: first.signal.clone(),
            values: first.readings,
            every_ms: None,
        }),
        _ => Err(several()),
    };
    let value = match level {
        Level::Min => each(|sensor| sensor.min).fold(first.min, f64::min),
        Level::Max => each(|sensor| sensor.max).fold(first.max, f64::max),
        Level::Mean => of_one(first.mean)?,
        Level::Median => of_one(first.median)?,
        Level::P95 => of_one(first.p95.filter(|_| first.readings >= P95_VALUES))?,
    };
    let least = found.iter().min_by(|a, b| a.sampled.total_cmp(&b.sampled));
    Ok(Found {
        doubt: least.and_then(|least| too_little(&least.signal, least.sampled)),
        ..sure(value, None)
    })
}

/// Whether people call a sensor so: by its name without the word for what it measures, or by the part that it is of.
fn is_called(sensor: &SensorSummary, kind: Kind, name: &str) -> bool {
    let endings: &[&str] = match kind {
        Kind::Temperature => &["_temperature", "-thermal", "_thermal"],
        Kind::Clock => &["_sm_frequency", "_frequency"],
    };
    let short = endings
        .iter()
        .find_map(|ending| sensor.signal.strip_suffix(ending));
    let of_part = match (kind, sensor.part) {
        (_, Part::Gpu(_)) => "gpu",
        (Kind::Clock, Part::Processor(_) | Part::Processors) => "cpu",
        (Kind::Clock, Part::MemoryController) => "emc",
        (Kind::Clock, Part::GpuMemory(_)) => "gpu_memory",
        _ => "",
    };
    short.is_some_and(|short| short.eq_ignore_ascii_case(name)) || of_part.eq_ignore_ascii_case(name)
}

#[cfg(test)]
mod tests;
