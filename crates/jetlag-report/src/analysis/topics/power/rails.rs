//! The power lines of the measured window: which there are, which of them make up the total, and how much energy that
//! is.
//!
//! Lines are added only where the run file says how they relate to the total: a rail that is fed by another is never
//! counted twice, and a board whose total is unknown has none. The arithmetic is in `energy`; thresholds and
//! definitions are in docs/measurement.md.

use std::borrow::Cow;

use crate::analysis::catalogue::{Limit, NoIdle, Pace, PowerLimit};
use crate::analysis::gathering::curve::Curve;
use crate::analysis::gathering::energy::{integrate, observed_refresh};
use crate::analysis::gathering::energy_counter::{Beside, Counted, counted};
use crate::analysis::gathering::track::{Track, Tracks};
use crate::analysis::gathering::uncertainty::{Line, NoInterval, Sight, UNSEEN, half_mw};
use crate::analysis::stats::six_decimals;
use crate::analysis::summary::{EnergySummary, P95_VALUES, RailSummary};
use crate::analysis::topics::power::attribution::Part;
use crate::analysis::topics::power::feeds::{Feeds, feeds};
use crate::analysis::topics::power::total::Total;
use crate::record::{Averaging, Quantity, RailRole};
use crate::units::{Nanos, Stamp};

/// Sources of a board's rails, the preferred first.
const BOARD_SOURCES: [&str; 4] = ["ina3221", "ina238", "ina3221x", "tegrastats"];
/// Sensor updates that a window must contain: on a board, and on a desktop.
const RENEWALS: (f64, f64) = (10.0, 50.0);
/// Largest relative difference between a counter and integrated power that is not a finding.
const COUNTER_SHARE: f64 = 0.05;
/// Largest relative difference between the named rails and the total that is not a finding.
const RAILS_SHARE: f64 = 0.10;

/// The results on power and energy.
#[derive(Debug, Default)]
pub(in crate::analysis) struct Power {
    /// Each line that has readings in the window.
    pub(in crate::analysis) rails: Vec<RailSummary>,
    /// The total energy, where it is known.
    pub(in crate::analysis) energy: Option<EnergySummary>,
    /// The total over time, likewise.
    pub(in crate::analysis) total: Option<Total>,
    /// The total, divided by what the lines feed.
    pub(in crate::analysis) parts: Vec<Part>,
    /// Findings about the measurement of power and energy.
    pub(in crate::analysis) limits: Vec<Limit>,
}

impl Power {
    /// What to say where there is no total.
    pub(in crate::analysis) fn why_no_total(&self) -> &'static str {
        match self.rails.is_empty() {
            true => {
                "no power was measured; `jetlag doctor` shows which sensors this machine has, and which of them need root"
            }
            false => {
                "there is no total on this machine: it is unknown which of its rails add up to it, or one of them was not read"
            }
        }
    }
}

/// Computes everything from the power readings; `idle` is the window of the baseline, `asked_idle` whether one was
/// requested.
pub(in crate::analysis) fn summarize(
    tracks: &Tracks,
    window: (Stamp, Stamp),
    idle: Option<(Stamp, Stamp)>,
    asked_idle: bool,
) -> Power {
    let mut limits = Vec::new();
    let mut read: Vec<(RailSummary, Behind<'_>)> = Vec::new();
    let mut silent = Vec::new();
    for track in tracks.iter().filter(|track| is_rail(track)) {
        match rail(track, counter_of(tracks, track), window, idle, &mut limits) {
            Some(rail) => read.push(rail),
            None => silent.push(track),
        }
    }
    // A line of the total that cannot be used is a finding.
    for track in &silent {
        let within_run = track.unread_within(window) > 0 || !track.points().is_empty();
        if within_run && matters(track.signal.role) {
            limits.push(PowerLimit::NotMeasured {
                rail: track.signal.signal.clone(),
                source: track.signal.source.clone(),
            });
        }
    }
    read.sort_by(|(a, _), (b, _)| (order(a.role), &a.source).cmp(&(order(b.role), &b.source)));
    let (rails, behind): (Vec<RailSummary>, Vec<Behind<'_>>) = read.into_iter().unzip();
    let length = window.1 - window.0;
    let basis = basis(&rails, &silent);
    let members = basis.as_ref().map(|basis| members(&rails, &behind, basis));
    let (mut parts, mut withheld) = (Vec::new(), None);
    for (feeds, members) in members.unwrap_or_default() {
        let (part, why) = part(feeds, &members, window, idle);
        parts.push(part);
        withheld = withheld.or(why);
    }
    let of_basis = |basis: &Basis| -> Vec<(&RailSummary, &Curve)> {
        let members = basis.rails.iter();
        members
            .filter_map(|n| Some((rails.get(*n)?, &behind.get(*n)?.curve)))
            .collect()
    };
    let whole = basis
        .as_ref()
        .map(|basis| Total::of(basis.what, &of_basis(basis)));
    let energy = basis.zip(whole.as_ref()).map(|(basis, whole)| {
        let energy = total(&rails, &basis, &parts, length, idle, withheld);
        whole.spread(energy, &of_basis(&basis))
    });
    limits.extend(gaps(&rails, length));
    match &energy {
        Some(energy) => {
            limits.extend(short_for_sensor(&rails, energy, length));
            limits.extend(rails_do_not_add_up(energy));
            if asked_idle && energy.idle_mw.is_none() {
                limits.push(PowerLimit::IdleNotMeasured {
                    why: NoIdle::NoReadings,
                });
            }
        }
        None if !rails.is_empty() => limits.push(PowerLimit::NoTotal {
            rails: rails.iter().map(|rail| rail.rail.clone()).collect(),
        }),
        None if asked_idle => limits.push(PowerLimit::IdleNotMeasured {
            why: NoIdle::NoSensor,
        }),
        None => {}
    }
    Power {
        rails,
        energy,
        total: whole,
        parts,
        limits: limits.into_iter().map(Limit::Power).collect(),
    }
}

/// How the table is sorted.
fn order(role: RailRole) -> u8 {
    match role {
        RailRole::Total => 0,
        RailRole::Summand => 1,
        RailRole::Part => 2,
        RailRole::Within => 3,
        RailRole::Input => 4,
        RailRole::None | RailRole::Unknown => 5,
    }
}

fn is_rail(track: &Track) -> bool {
    // A line in mW that no record describes is an unknown rail.
    track.quantity() == Quantity::Power
        && (track.signal.role != RailRole::None || track.signal.origin.is_empty())
}

fn matters(role: RailRole) -> bool {
    matches!(role, RailRole::Total | RailRole::Summand | RailRole::Input)
}

/// The counter of the same line.
fn counter_of<'t>(tracks: &'t Tracks, rail: &Track) -> Option<&'t Track> {
    tracks.iter().find(|track| {
        let signal = &track.signal;
        track.quantity() == Quantity::Energy
            && signal.averaging == Averaging::Counter
            && signal.source == rail.signal.source
            && signal.within.as_deref() == Some(&rail.signal.signal)
    })
}

/// The inputs of a line's energy interval.
struct Behind<'t> {
    line: Line<'t>,
    /// If the energy is a counter's: half of its interval, mJ.
    counted: Option<f64>,
    /// The same of the idle baseline, as a mean power.
    idle_counted: Option<f64>,
    /// Its power over the window.
    curve: Curve,
}

/// A line's readings and the properties of its sensor.
fn line(track: &Track, renewed: Option<Nanos>) -> Line<'_> {
    let signal = &track.signal;
    Line {
        points: Cow::Borrowed(track.points()),
        period: signal.period.unwrap_or(Nanos::ZERO),
        each: track.each(),
        refresh: signal.refresh.unwrap_or(Nanos::ZERO),
        renewed: renewed.unwrap_or(Nanos::ZERO),
        sight: match (signal.averaging, signal.window) {
            (Averaging::Mean, Some(window)) => Sight::Mean(window),
            (Averaging::Filter, Some(lag)) => Sight::Filter(lag),
            (Averaging::Instant, _) => Sight::Moment,
            (Averaging::Mean | Averaging::Filter | Averaging::Unknown | Averaging::Counter, _) => {
                Sight::Unknown
            }
        },
        step: signal.step,
    }
}

fn rail<'t>(
    track: &'t Track,
    counter: Option<&Track>,
    window: (Stamp, Stamp),
    idle: Option<(Stamp, Stamp)>,
    limits: &mut Vec<PowerLimit>,
) -> Option<(RailSummary, Behind<'t>)> {
    let signal = &track.signal;
    let length = window.1 - window.0;
    let seconds = length.as_secs_f64();
    let spacing = track.spacing().or(signal.period)?;
    let points = track.points();
    // As planned: where readings come as they should, nothing is missing between them.
    let period = signal.period.unwrap_or(Nanos::ZERO);
    let integral = integrate(points, period, window)?;
    let (refresh, refresh_from) = match (signal.refresh, observed_refresh(points)) {
        (Some(stated), _) => (Some(stated), Some("stated")),
        (None, Some(seen)) => (Some(seen), Some("observed")),
        (None, None) => (None, None),
    };
    let sampled = integral.covered.0 as f64 / length.0.max(1) as f64;
    // A sensor that averages for a part of its refresh is blind for the rest of it; so is one that is read more seldom.
    let between = Nanos(spacing.0 / i64::from(track.each())).max(signal.refresh.unwrap_or(Nanos::ZERO));
    let seen = match (signal.averaging, signal.window) {
        (Averaging::Mean | Averaging::Filter, Some(window)) if between > Nanos::ZERO => {
            (window.0 as f64 / between.0 as f64).min(1.0)
        }
        _ => 1.0,
    };
    let integrated = integral.mean_mw * seconds;
    let beside = Beside {
        points,
        spacing,
        lag: spacing
            .max(refresh.unwrap_or(spacing))
            .max(signal.window.unwrap_or(spacing)),
        step: signal.step.unwrap_or(0.0),
    };
    let by_counter = |window| {
        let counter = counter?;
        let every = counter.spacing().or(counter.signal.period)?;
        Some(counted(counter.points(), every, &beside, window))
    };
    let said = by_counter(window);
    limits.extend(
        said.as_ref()
            .and_then(|said| counter_is_off(&signal.signal, said)),
    );
    let metered = match said {
        Some(Counted::By(metered)) => Some(metered),
        _ => None,
    };
    let energy_mj = metered.map_or(integrated, |metered| metered.mj);
    // Mean power over the baseline; by the counter where it counted that, as for the run.
    let idle_metered = idle.and_then(|idle| match by_counter(idle) {
        Some(Counted::By(metered)) if idle.0 < idle.1 => Some((metered, (idle.1 - idle.0).as_secs_f64())),
        _ => None,
    });
    let idle_mw = match idle_metered {
        Some((metered, seconds)) => Some(metered.mj / seconds),
        None => idle
            .and_then(|idle| integrate(points, period, idle))
            .map(|integral| integral.mean_mw),
    };
    let behind = Behind {
        line: line(track, refresh),
        counted: metered.map(|metered| metered.half),
        idle_counted: idle_metered.map(|(metered, seconds)| metered.half / seconds),
        curve: Curve::of(points, period, window),
    };
    let half = match behind.counted {
        Some(half) => Ok(half),
        None => half_mw(std::slice::from_ref(&behind.line), window).map(|half_mw| half_mw * seconds),
    };
    // What is read more seldom than it is renewed is renewed, for us, when it is read.
    let read = integral.covered.as_millis_f64() / integral.count.max(1) as f64;
    let renewed = refresh.map_or(read, |refresh| refresh.as_millis_f64().max(read));
    let lag = signal.window.filter(|_| signal.averaging == Averaging::Filter);
    let values =
        (integral.covered.as_millis_f64() / renewed.max(lag.map_or(0.0, Nanos::as_millis_f64))) as u64;
    let summary = RailSummary {
        source: signal.source.clone(),
        rail: signal.signal.clone(),
        mean_mw: six_decimals(energy_mj / seconds.max(f64::MIN_POSITIVE)),
        peak_mw: integral.peak_mw,
        idle_mw: idle_mw.map(six_decimals),
        energy_mj: six_decimals(energy_mj),
        refresh_ms: refresh.map(|refresh| six_decimals(refresh.as_millis_f64())),
        coverage: six_decimals((sampled * seen).min(1.0)),
        above_idle_mj: idle_mw.map(|idle| six_decimals(energy_mj - idle * seconds)),
        ci95_mj: half.ok().map(|half| around(energy_mj, half)),
        ci95_withheld: half.err(),
        energy_from: if metered.is_some() { "counter" } else { "power" },
        integrated_mj: six_decimals(integrated),
        counter_mj: metered.map(|metered| six_decimals(metered.mj)),
        role: signal.role,
        within: signal.within.clone(),
        refresh_from,
        averaging: match signal.averaging {
            Averaging::Unknown => "unknown",
            Averaging::Instant => "instant",
            Averaging::Mean => "mean",
            Averaging::Counter => "counter",
            Averaging::Filter => "filter",
        },
        window_ms: signal.window.map(|window| six_decimals(window.as_millis_f64())),
        step_mw: signal.step.map(six_decimals),
        sampled: six_decimals(sampled.min(1.0)),
        readings: integral.count as u64,
        unread: track.unread_within(window) as u64,
        values,
        median_mw: behind.curve.quantile(0.5).map(six_decimals),
        p95_mw: behind
            .curve
            .quantile(0.95)
            .filter(|_| values >= P95_VALUES)
            .map(six_decimals),
    };
    Some((summary, behind))
}

fn around(middle: f64, half: f64) -> [f64; 2] {
    [six_decimals(middle - half), six_decimals(middle + half)]
}

/// Findings about a line's counter and the power next to it.
fn counter_is_off(rail: &str, said: &Counted) -> Option<PowerLimit> {
    let rail = rail.to_owned();
    match said {
        Counted::WentBack => Some(PowerLimit::CounterReset { rail }),
        Counted::StoodStill => Some(PowerLimit::CounterStoodStill { rail }),
        Counted::By(metered) => {
            let off = metered.power_off.filter(|share| share.abs() > COUNTER_SHARE)?;
            Some(PowerLimit::CounterDisagrees { rail, off })
        }
        Counted::Unknown => None,
    }
}

/// The lines that together are the total, and what the total covers.
struct Basis {
    rails: Vec<usize>,
    what: &'static str,
    board: bool,
}

fn basis(rails: &[RailSummary], silent: &[&Track]) -> Option<Basis> {
    let of = |source: &str, role: RailRole| -> Vec<usize> {
        let fits = |(_, rail): &(usize, &RailSummary)| rail.source == source && rail.role == role;
        rails.iter().enumerate().filter(fits).map(|(n, _)| n).collect()
    };
    let complete = |source: &str, role: RailRole| {
        !silent
            .iter()
            .any(|track| track.signal.source == source && track.signal.role == role)
    };
    for (role, what) in [
        (RailRole::Total, "module"),
        (RailRole::Summand, "module"),
        (RailRole::Input, "board input, with carrier and fan"),
    ] {
        for source in BOARD_SOURCES {
            let found = of(source, role);
            if !found.is_empty() && complete(source, role) {
                let rails = if role == RailRole::Input {
                    found[..1].to_vec()
                } else {
                    found
                };
                return Some(Basis {
                    rails,
                    what,
                    board: true,
                });
            }
        }
    }
    let board = rails
        .iter()
        .any(|rail| BOARD_SOURCES.contains(&rail.source.as_str()));
    let (gpus, processors) = (of("nvml", RailRole::Total), of("rapl", RailRole::Total));
    let what = match (gpus.len(), processors.is_empty()) {
        _ if board => return None,
        (0, true) => return None,
        (0, false) => "processor",
        (1, true) => "GPU",
        (_, true) => "all GPUs",
        (1, false) => "GPU and processor",
        (_, false) => "all GPUs and processor",
    };
    Some(Basis {
        rails: gpus.into_iter().chain(processors).collect(),
        what,
        board: false,
    })
}

type Member<'a> = (&'a RailSummary, &'a Behind<'a>);

/// The lines of the total, grouped by what they feed.
fn members<'a>(
    rails: &'a [RailSummary],
    behind: &'a [Behind<'a>],
    basis: &Basis,
) -> Vec<(Feeds, Vec<Member<'a>>)> {
    let of = |what: Feeds| {
        let all = basis
            .rails
            .iter()
            .filter_map(|n| rails.get(*n).zip(behind.get(*n)));
        let members: Vec<Member<'a>> = all.filter(|(rail, _)| feeds(rail, basis.board) == what).collect();
        (!members.is_empty()).then_some((what, members))
    };
    [Feeds::Module, Feeds::Gpus, Feeds::Processors]
        .into_iter()
        .filter_map(of)
        .collect()
}

/// The energy of lines that feed the same, and why it has no interval, if it has none.
fn part(
    feeds: Feeds,
    members: &[Member<'_>],
    window: (Stamp, Stamp),
    idle: Option<(Stamp, Stamp)>,
) -> (Part, Option<NoInterval>) {
    let seconds = (window.1 - window.0).as_secs_f64();
    let mj: f64 = members.iter().map(|(rail, _)| rail.energy_mj).sum();
    let idle_mw: Option<f64> = members.iter().map(|(rail, _)| rail.idle_mw).sum();
    let half = together(members, window, |behind| behind.counted.map(|mj| mj / seconds));
    let idle_half = idle.and_then(|idle| together(members, idle, |behind| behind.idle_counted).ok());
    let part = Part {
        feeds,
        mj,
        above_idle_mj: idle_mw.map(|idle| mj - idle * seconds),
        half_mj: half.ok().map(|half| half * seconds),
        above_idle_half_mj: half
            .ok()
            .zip(idle_half)
            .map(|(half, idle)| (half + idle) * seconds),
    };
    (part, half.err())
}

/// Half of the interval of the mean power of lines together, mW; those that `counted` knows are by their counters. Lines
/// follow one load: their readings are added up before anything is said of their scatter. What counters are off by is of
/// their edges, where one load changes for all: it is added.
fn together(
    members: &[Member<'_>],
    window: (Stamp, Stamp),
    counted: impl Fn(&Behind<'_>) -> Option<f64>,
) -> Result<f64, NoInterval> {
    let by_counters: f64 = members.iter().filter_map(|(_, behind)| counted(behind)).sum();
    let by_power = members.iter().filter(|(_, behind)| counted(behind).is_none());
    let lines: Vec<Line<'_>> = by_power.map(|(_, behind)| behind.line.clone()).collect();
    match lines.is_empty() {
        true => Ok(by_counters),
        false => Ok(by_counters + half_mw(&lines, window)?),
    }
}

fn total(
    rails: &[RailSummary],
    basis: &Basis,
    parts: &[Part],
    length: Nanos,
    idle: Option<(Stamp, Stamp)>,
    withheld: Option<NoInterval>,
) -> EnergySummary {
    let members = || basis.rails.iter().filter_map(|n| rails.get(*n));
    let seconds = length.as_secs_f64();
    let total_mj: f64 = parts.iter().map(|part| part.mj).sum();
    let idle_mw: Option<f64> = members().map(|rail| rail.idle_mw).sum();
    let half: Option<f64> = parts.iter().map(|part| part.half_mj).sum();
    let above_idle = idle_mw.map(|idle| total_mj - idle * seconds);
    let above_idle_half: Option<f64> = parts.iter().map(|part| part.above_idle_half_mj).sum();
    let first = members().next();
    let parts: f64 = rails
        .iter()
        .filter(|rail| rail.role == RailRole::Part && first.is_some_and(|first| first.source == rail.source))
        .map(|rail| rail.mean_mw)
        .sum();
    let has_parts = first.is_some_and(|first| {
        first.role == RailRole::Total
            && rails
                .iter()
                .any(|rail| rail.role == RailRole::Part && rail.source == first.source)
    });
    let mean_mw = total_mj / seconds.max(f64::MIN_POSITIVE);
    EnergySummary {
        of: basis.what,
        rails: members()
            .map(|rail| format!("{}/{}", rail.source, rail.rail))
            .collect(),
        total_mj: six_decimals(total_mj),
        above_idle_mj: above_idle.map(six_decimals),
        ci95_mj: half.map(|half| around(total_mj, half)),
        above_idle_ci95_mj: above_idle
            .zip(above_idle_half)
            .map(|(above, half)| around(above, half)),
        ci95_withheld: withheld,
        mean_mw: six_decimals(mean_mw),
        idle_mw: idle_mw.map(six_decimals),
        idle_s: idle.map(|(from, to)| six_decimals((to - from).as_secs_f64())),
        rails_share: (has_parts && mean_mw > 0.0).then(|| six_decimals(parts / mean_mw)),
        calibrated: false,
        attribution: None,
        values: 0,
        median_mw: None,
        p95_mw: None,
        peak_mw: None,
        board: basis.board,
        charged: Vec::new(),
    }
}

fn short_for_sensor(rails: &[RailSummary], energy: &EnergySummary, length: Nanos) -> Option<PowerLimit> {
    let needed = if energy.board { RENEWALS.0 } else { RENEWALS.1 };
    let slowest = rails
        .iter()
        .filter(|rail| energy.rails.contains(&format!("{}/{}", rail.source, rail.rail)))
        .filter_map(|rail| {
            // What is read more seldom than it is renewed has a new value, for us, when it is read; and where the renewal is not
            // known, it is renewed no more often than it is read.
            let read = length.as_millis_f64() / rail.readings.max(1) as f64;
            let (every, pace) = match rail.refresh_ms {
                Some(refresh) if refresh >= read => (refresh, Pace::Renewed),
                renewed_ms => (read, Pace::Read { renewed_ms }),
            };
            // A filter's value counts as new when the one before has decayed.
            let lag = rail
                .window_ms
                .filter(|lag| rail.averaging == "filter" && *lag > every);
            (rail.readings > 0).then(|| (rail, lag.map_or((every, pace), |lag| (lag, Pace::Settles))))
        })
        .max_by(|(_, (a, _)), (_, (b, _))| a.total_cmp(b))?;
    let (rail, (every_ms, pace)) = slowest;
    let renewals = length.as_millis_f64() / every_ms;
    (renewals < needed).then(|| PowerLimit::ShortForSensor {
        rail: rail.rail.clone(),
        pace,
        every_ms,
        renewals,
        needed,
        length,
    })
}

fn rails_do_not_add_up(energy: &EnergySummary) -> Option<PowerLimit> {
    let share = energy.rails_share?;
    ((share - 1.0).abs() > RAILS_SHARE).then(|| PowerLimit::RailsDoNotAddUp {
        share,
        total: energy.rails.clone(),
    })
}

fn gaps(rails: &[RailSummary], length: Nanos) -> Option<PowerLimit> {
    let worst = rails
        .iter()
        .filter(|rail| {
            rail.sampled < 1.0 - UNSEEN && rail.role != RailRole::Within && rail.energy_from == "power"
        })
        .min_by(|a, b| a.sampled.total_cmp(&b.sampled))?;
    Some(PowerLimit::SamplerGaps {
        rail: worst.rail.clone(),
        missing_s: length.as_secs_f64() * (1.0 - worst.sampled),
        length,
    })
}
