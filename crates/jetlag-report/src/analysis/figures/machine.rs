//! Where a summary has the figures of the machine: power, energy, temperatures, clocks and loads.
//!
//! Which rails and sensors a machine has is known only from its run, so their names are looked up when a figure is read; what is missing
//! then is a fact ([`Absent`]).

use super::key::{Host, Key, Kind, Level, Line, OfRail, PerFrame, Power, Whole};
use super::{Absent, Found, Reading, Run};
use crate::analysis::gathering::uncertainty::UNSEEN;
use crate::analysis::summary::{EnergySummary, P95_VALUES, RailSummary, SensorSummary};
use crate::record::Part;

/// A figure that is no tenant's.
pub(super) fn read(run: &Run<'_>, key: &Key) -> Reading {
    match key {
        Key::Power(Line::Total, power) => total(run, *power),
        Key::Power(Line::Rail(name), power) => of_power(rail(run, name)?, *power),
        Key::Rail(name, figure) => of_rail(rail(run, name)?, *figure),
        Key::Energy(whole) => {
            let energy = run.energy.ok_or_else(|| no_total(run))?;
            Ok(Found {
                doubt: coverage(run, energy),
                ..whole.read(energy)?
            })
        }
        Key::Sensor(kind, name, level) => of_sensor(run, *kind, name, *level),
        Key::Host(figure) => figure.read(run.host.ok_or(Absent::Nothing)?),
        _ => Err(Absent::Nothing),
    }
}

/// All that a machine was measured for, by names that are found again: a rail that shares its name is named with its sampler.
pub(super) fn keys(run: &Run<'_>) -> impl Iterator<Item = Key> {
    let power = |line: Line| {
        Power::ALL
            .iter()
            .map(move |power| Key::Power(line.clone(), *power))
    };
    let total = run.energy.into_iter().flat_map(move |_| {
        let energy = Whole::ALL.iter().map(|whole| Key::Energy(*whole));
        energy.chain(power(Line::Total))
    });
    let is_named = |rail: &RailSummary| {
        let same = run
            .rails
            .iter()
            .filter(|other| other.rail.eq_ignore_ascii_case(&rail.rail));
        same.count() == 1 && rail.rail != "total"
    };
    let name = move |rail: &RailSummary| match is_named(rail) {
        true => rail.rail.clone(),
        false => full(rail),
    };
    let rails = run.rails.iter().map(name).flat_map(move |name| {
        let of_rail = OfRail::ALL.iter().map({
            let name = name.clone();
            move |figure| Key::Rail(name.clone(), *figure)
        });
        power(Line::Rail(name)).chain(of_rail)
    });
    // Two samplers may read the same sensor: the first counts, as where it is looked up.
    let is_first = |(place, sensor): &(usize, &SensorSummary)| {
        let mut earlier = run.sensors.iter().take(*place);
        !earlier.any(|other| {
            other.quantity == sensor.quantity && other.signal.eq_ignore_ascii_case(&sensor.signal)
        })
    };
    let sensors = run
        .sensors
        .iter()
        .enumerate()
        .filter(is_first)
        .flat_map(|(_, sensor)| {
            let kind = Kind::named(sensor.quantity).into_iter();
            kind.flat_map(|kind| {
                let name = sensor.signal.clone();
                Level::ALL
                    .iter()
                    .map(move |level| Key::Sensor(kind, name.clone(), *level))
            })
        });
    let host = run
        .host
        .into_iter()
        .flat_map(|_| Host::ALL.iter().map(|host| Key::Host(*host)));
    let all: Vec<Key> = total.chain(rails).chain(sensors).chain(host).collect();
    all.into_iter()
}

fn full(rail: &RailSummary) -> String {
    format!("{}/{}", rail.source, rail.rail)
}

fn no_total(run: &Run<'_>) -> Absent {
    match run.rails.is_empty() {
        true => Absent::Power,
        false => Absent::Total {
            rails: names(run.rails),
        },
    }
}

fn names(rails: &[RailSummary]) -> Vec<String> {
    rails.iter().map(|rail| rail.rail.clone()).collect()
}

/// The lines that were added up to the total.
fn members<'a>(run: &Run<'a>, energy: &'a EnergySummary) -> impl Iterator<Item = &'a RailSummary> + use<'a> {
    let is_member = move |rail: &&RailSummary| energy.rails.contains(&full(rail));
    run.rails.iter().filter(is_member)
}

/// The lines of the total that were not measured all the time, as a doubt.
fn coverage(run: &Run<'_>, energy: &EnergySummary) -> Option<Absent> {
    let integrated = members(run, energy).filter(|rail| rail.energy_from == "power");
    let least = integrated.min_by(|a, b| a.sampled.total_cmp(&b.sampled))?;
    too_little(&least.rail, least.sampled)
}

fn too_little(of: &str, sampled: f64) -> Option<Absent> {
    (sampled < 1.0 - UNSEEN).then(|| Absent::Coverage {
        of: of.to_owned(),
        share: sampled,
    })
}

fn total(run: &Run<'_>, power: Power) -> Reading {
    let energy = run.energy.ok_or_else(|| no_total(run))?;
    let value = match power {
        Power::Mean => Some(energy.mean_mw),
        Power::Median => energy.median_mw,
        Power::P95 => energy.p95_mw,
        Power::Peak => energy.peak_mw,
        Power::Idle => Some(energy.idle_mw.ok_or(Absent::Idle)?),
    };
    let of = energy.rails.join(" + ");
    let value = value.ok_or_else(|| Absent::Values {
        of: of.clone(),
        values: energy.values,
        every_ms: members(run, energy)
            .filter_map(|rail| rail.refresh_ms)
            .reduce(f64::max),
    })?;
    let ci95 = energy
        .ci95_mj
        .filter(|_| power == Power::Mean && energy.total_mj > 0.0);
    let in_power = |mj: f64| mj * energy.mean_mw / energy.total_mj;
    // Of the other figures of a sum only time in which all lines were read counts.
    let partly = match power {
        Power::Idle => None,
        Power::Mean => coverage(run, energy),
        _ => {
            let sampled = members(run, energy).map(|rail| rail.sampled);
            let least = sampled.fold(1.0, f64::min);
            too_little(&of, least)
        }
    };
    Ok(Found {
        doubt: partly,
        ..Found::between(value, ci95.map(|bounds| bounds.map(in_power)))
    })
}

fn rail<'a>(run: &Run<'a>, name: &str) -> Result<&'a RailSummary, Absent> {
    if run.rails.is_empty() {
        return Err(Absent::Power);
    }
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
    let best = run.rails.iter().filter_map(fits).min();
    let found: Vec<&RailSummary> = run
        .rails
        .iter()
        .filter(|rail| best.is_some() && fits(rail) == best)
        .collect();
    match found[..] {
        [] => Err(Absent::Rail {
            name: name.to_owned(),
            rails: names(run.rails),
        }),
        [one] => Ok(one),
        // Two lines of one name need not be of one wire.
        _ => Err(Absent::Rails {
            name: name.to_owned(),
            rails: found.iter().map(|rail| full(rail)).collect(),
        }),
    }
}

fn of_power(rail: &RailSummary, power: Power) -> Reading {
    let value = match power {
        Power::Mean => Some(rail.mean_mw),
        Power::Median => rail.median_mw,
        Power::P95 => rail.p95_mw,
        Power::Peak => Some(rail.peak_mw),
        Power::Idle => return rail.idle_mw.map(Found::of_run).ok_or(Absent::Idle),
    };
    let value = value.ok_or_else(|| Absent::Values {
        of: rail.rail.clone(),
        values: rail.values,
        every_ms: rail.refresh_ms,
    })?;
    let ci95 = rail
        .ci95_mj
        .filter(|_| power == Power::Mean && rail.energy_mj > 0.0);
    let in_power = |mj: f64| mj * rail.mean_mw / rail.energy_mj;
    Ok(Found {
        doubt: unseen(rail, power == Power::Mean),
        ..Found::between(value, ci95.map(|bounds| bounds.map(in_power)))
    })
}

/// What was not seen of a rail; nothing of what its counter counts all the same.
fn unseen(rail: &RailSummary, is_energy: bool) -> Option<Absent> {
    let counted = is_energy && rail.energy_from == "counter";
    too_little(&rail.rail, rail.sampled).filter(|_| !counted)
}

/// How a rail was measured has no doubt of its own.
fn of_rail(rail: &RailSummary, figure: OfRail) -> Reading {
    let found = figure.read(rail)?;
    let doubt = match figure {
        OfRail::Energy | OfRail::AboveIdle | OfRail::Integrated => unseen(rail, figure != OfRail::Integrated),
        _ => None,
    };
    Ok(Found { doubt, ..found })
}

/// Energy of a tenant's frames, which is measured for the machine.
pub(super) fn of_frames(run: &Run<'_>, name: &str, figure: PerFrame) -> Reading {
    let energy = run.energy.ok_or_else(|| no_total(run))?;
    let per_frame = run.tenant(name).and_then(|tenant| tenant.energy_mj_per_frame);
    let per_frame = per_frame.ok_or_else(|| Absent::Tenant(name.to_owned()))?;
    let found = match figure.read(&per_frame) {
        Err(Absent::Nothing) => return Err(Absent::Tenant(name.to_owned())),
        found => found?,
    };
    Ok(Found {
        doubt: coverage(run, energy),
        ..found
    })
}

fn of_sensor(run: &Run<'_>, kind: Kind, name: &str, level: Level) -> Reading {
    let of_kind = || run.sensors.iter().filter(|sensor| sensor.quantity == kind.name());
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
        ..Found::of_run(value)
    })
}

/// Whether people call a sensor so: by its name without the word for what it measures, or by the part that it is of.
fn is_called(sensor: &SensorSummary, kind: Kind, name: &str) -> bool {
    let endings: &[&str] = match kind {
        Kind::Temperature => &["_temperature", "-thermal", "_thermal"],
        Kind::Clock => &["_sm_frequency", "_frequency"],
        Kind::Load => &["_load"],
    };
    let short = endings
        .iter()
        .find_map(|ending| sensor.signal.strip_suffix(ending));
    let of_part = match (kind, sensor.part) {
        (_, Part::Gpu(_)) => "gpu",
        (Kind::Clock | Kind::Load, Part::Processor(_) | Part::Processors) => "cpu",
        (Kind::Clock, Part::MemoryController) => "emc",
        (Kind::Clock, Part::GpuMemory(_)) => "gpu_memory",
        _ => "",
    };
    short.is_some_and(|short| short.eq_ignore_ascii_case(name)) || of_part.eq_ignore_ascii_case(name)
}
