//! Checks of what is sampled: each source by itself, and side by side with tegrastats, idle and under load.

use std::time::Duration;

use super::backends::{Known, best};
use super::networks::{On, Run, Way};
use super::probe::SENSOR;
use super::recorded::Recorded;
use super::session::{Session, Tools};
use super::side_by_side::{Apart, IDLE_PERCENT, Pair, pairs};
use crate::board::{Roots, libraries};
use crate::cli::SelftestGroup as Group;
use crate::record::SampleRecord;
use crate::scenario::TelemetrySource;
use crate::show::selftest::Verdict;
use crate::whole;

/// A sensor that hangs hangs its own process.
const READ_WITHIN: Duration = Duration::from_secs(40);
/// A recording, with what it takes to start a load.
const RECORDED_WITHIN: Duration = Duration::from_secs(60);
/// How long both are sampled.
const SAMPLED: &str = "6s";
/// An anchor of the device's clock is good to this (microseconds): host and device are then told apart by less than a frame's
/// stages take.
const CLOCK_OFF_US: f64 = 100.0;
const SOCTHERM: &str = "soctherm_oc";

/// Each source of samples that there is, in a process of its own.
pub(super) fn sources(session: &mut Session<'_>) -> anyhow::Result<()> {
    for source in TelemetrySource::ALL {
        let name = format!("{source:?}");
        session.check(Group::Sensors, &name, READ_WITHIN, |tools, _| {
            tools.probe(&format!("{SENSOR}{name}"))
        })?;
    }
    Ok(())
}

/// A counter of over-current events, and how many it has counted since the board started.
pub(super) type OverCurrent = Vec<(String, u64)>;

/// The counters of the SoC's over-current alarms. Reading them clears nothing, unlike the alarms' own registers.
pub(super) fn over_current(roots: &Roots) -> OverCurrent {
    let mut counters = OverCurrent::new();
    for monitor in roots.names("/sys/class/hwmon") {
        let folder = format!("/sys/class/hwmon/{monitor}");
        if roots.text(&format!("{folder}/name")).as_deref() != Some(SOCTHERM) {
            continue;
        }
        for file in roots.names(&folder) {
            let Some(alarm) = file.strip_suffix("_event_cnt") else {
                continue;
            };
            let count = roots.text(&format!("{folder}/{file}"));
            if let Some(count) = count.and_then(|count| count.parse().ok()) {
                counters.push((alarm.to_owned(), count));
            }
        }
    }
    counters
}

/// Idle and under load beside tegrastats, the device's clock, and what the over-current alarms counted meanwhile.
pub(super) fn beside(session: &mut Session<'_>, known: &Known, before: &OverCurrent) -> anyhow::Result<()> {
    let tegrastats = libraries::program(&session.tools.roots, "tegrastats").is_some();
    match tegrastats && session.wants(Group::Tegrastats) {
        true => {
            let idle = recording(session, "idle", idle)?;
            side_by_side(session, "idle", idle.as_ref())?;
        }
        false => session.skip(Group::Tegrastats, "idle", "no tegrastats on the PATH")?,
    }
    let device = match session.wants(Group::Tegrastats) && tegrastats || session.wants(Group::GpuClock) {
        true => Some(best(&session.tools, known)),
        false => None,
    };
    match tegrastats && session.wants(Group::Tegrastats) {
        true => {
            let on = device.clone().unwrap_or(On::Cpu);
            let load = recording(session, "load", |tools, limit| load(tools, known, &on, limit))?;
            side_by_side(session, "load", load.as_ref())?;
        }
        false => session.skip(Group::Tegrastats, "load", "no tegrastats on the PATH")?,
    }
    gpu_clock(session, known, device)?;
    session.check(Group::Sensors, "over-current", READ_WITHIN, |tools, _| {
        over_current_since(before, &over_current(&tools.roots))
    })?;
    Ok(())
}

fn over_current_since(before: &OverCurrent, after: &OverCurrent) -> Verdict {
    if after.is_empty() {
        return Verdict::not_applicable(format!("no {SOCTHERM} below /sys/class/hwmon, as before Orin"));
    }
    let counts = after.iter().map(|(alarm, count)| {
        let then = before
            .iter()
            .find(|(known, _)| known == alarm)
            .map(|(_, count)| *count);
        match then {
            Some(then) if then != *count => {
                format!("{alarm} {then} → {count} (the board was throttled meanwhile)")
            }
            _ => format!("{alarm} {count}"),
        }
    });
    Verdict::pass(format!("events: {}", counts.collect::<Vec<_>>().join(", ")))
}

/// Makes a recording that is compared; the check says whether tegrastats gave readings at all.
fn recording(
    session: &mut Session<'_>,
    name: &str,
    record: impl FnOnce(&Tools<'_>, Duration) -> Result<Recorded, Verdict>,
) -> anyhow::Result<Option<Recorded>> {
    let mut kept = None;
    session.check(Group::Tegrastats, name, RECORDED_WITHIN, |tools, limit| {
        let recorded = match record(tools, limit) {
            Ok(recorded) => recorded,
            Err(verdict) => return verdict,
        };
        let pairs = pairs(&recorded.samples);
        let seen = format!(
            "{} quantities from both, {} readings by tegrastats",
            pairs.len(),
            pairs.iter().map(|pair| pair.theirs.len()).sum::<usize>()
        );
        let verdict = match pairs.is_empty() {
            true => Verdict::fail(seen),
            false => Verdict::pass(seen),
        };
        kept = Some(recorded);
        verdict
    })?;
    Ok(kept)
}

/// A check for each quantity that both told.
fn side_by_side(session: &mut Session<'_>, when: &str, recorded: Option<&Recorded>) -> anyhow::Result<()> {
    let Some(recorded) = recorded else { return Ok(()) };
    let pairs = pairs(&recorded.samples);
    let load = pairs
        .iter()
        .find(|pair| pair.name == "gpu_load")
        .and_then(Pair::apart)
        .map_or(0.0, |apart| apart.theirs);
    for pair in &pairs {
        let name = format!("{when} {}", pair.name);
        session.check(Group::Tegrastats, &name, READ_WITHIN, |_, _| judge(pair, load))?;
    }
    Ok(())
}

fn judge(pair: &Pair, gpu_load: f64) -> Verdict {
    let Some(apart) = pair.apart() else {
        return Verdict::not_applicable("no reading of one of them");
    };
    let Apart { ours, theirs, may_be } = apart;
    let seen = format!(
        "jetlag {ours:.1} ({} readings), tegrastats {theirs:.1} ({} readings), {}; may differ by {may_be:.1}",
        pair.ours.len(),
        pair.theirs.len(),
        pair.unit
    );
    if pair.name.starts_with("gpu") && pair.unit == "mhz" && gpu_load < IDLE_PERCENT {
        return Verdict::not_applicable(format!(
            "the GPU is idle, and its clock is gated between readings: {seen}"
        ));
    }
    match apart.holds() {
        true => Verdict::pass(seen),
        false => Verdict::fail(seen),
    }
}

/// All sources, as a scenario has them.
fn all_sources() -> String {
    let names: Vec<String> = TelemetrySource::ALL.map(|source| format!("{source:?}")).into();
    format!("(interval: \"200ms\", sources: [{}])", names.join(", "))
}

/// A recording of a machine with nothing to do.
fn idle(tools: &Tools<'_>, limit: Duration) -> Result<Recorded, Verdict> {
    let text = format!(
        "Scenario(name: \"idle\", duration: \"{SAMPLED}\", warmup: \"1s\", telemetry: {}, tenants: [\
         Tenant(name: \"idle\", backend: Null, source: Empty, arrival: Periodic(hz: 1))])",
        all_sources()
    );
    let (path, file) = (tools.path("idle.ron"), tools.path("idle.mcap"));
    whole::write(&path, text, true)
        .map_err(|error| Verdict::fail(format!("its scenario cannot be written: {error}")))?;
    let (path, out) = (path.display().to_string(), file.display().to_string());
    let ended = tools.jetlag(
        &[
            "run", &path, "--quiet", "--format", "json", "--out", &out, "--force",
        ],
        limit,
    )?;
    match ended.code() {
        Some(0 | 3 | 4) => {
            Recorded::read(&file).map_err(|problem| Verdict::fail(format!("its run file: {problem}")))
        }
        _ => Err(Verdict::fail(ended.words())),
    }
}

/// A recording of all tenants in closed loops.
fn load(tools: &Tools<'_>, known: &Known, on: &On, limit: Duration) -> Result<Recorded, Verdict> {
    loaded(tools, known, on, &all_sources(), limit).map(|run| run.recorded)
}

fn loaded(
    tools: &Tools<'_>,
    known: &Known,
    on: &On,
    telemetry: &str,
    limit: Duration,
) -> Result<Run, Verdict> {
    let base = known
        .base
        .as_ref()
        .map_err(|why| Verdict::not_applicable(why.to_string()))?;
    let mut way = Way::new("load", on.clone())
        .with(format!("duration={SAMPLED}"))
        .with("warmup=1s")
        .with(format!("telemetry={telemetry}"))
        .each("depth=2");
    way.frames = None;
    base.run(tools, &way, limit)
}

/// How far the device's moments are off on the host's line.
fn gpu_clock(session: &mut Session<'_>, known: &Known, device: Option<On>) -> anyhow::Result<()> {
    let group = Group::GpuClock;
    if !session.wants(group) {
        return Ok(());
    }
    let on = match device {
        None | Some(On::Cpu) => return session.skip(group, "residual", "no backend runs on a GPU here"),
        Some(on) => on,
    };
    session.check(group, "residual", RECORDED_WITHIN, |tools, limit| {
        let run = match loaded(tools, known, &on, "(interval: \"1s\", sources: [Host])", limit) {
            Ok(run) => run,
            Err(verdict) => return verdict,
        };
        residual(&run.recorded.samples)
    })?;
    Ok(())
}

fn residual(samples: &[SampleRecord]) -> Verdict {
    let residuals: Vec<f64> = samples
        .iter()
        .filter(|sample| sample.source == "gpu" && sample.signal.contains("clock_residual"))
        .filter_map(|sample| sample.value)
        .map(f64::abs)
        .collect();
    let most = residuals.iter().copied().fold(0.0, f64::max);
    let seen = format!(
        "{} anchor updates, error before each at most {most:.1} µs; limit {CLOCK_OFF_US} µs",
        residuals.len()
    );
    match !residuals.is_empty() && most <= CLOCK_OFF_US {
        true => Verdict::pass(seen),
        false => Verdict::fail(seen),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::selftest::Outcome;

    #[test]
    fn counters_tell_what_was_counted_meanwhile() {
        let counters = |counts: [u64; 2]| -> OverCurrent {
            vec![("oc1".to_owned(), counts[0]), ("oc3".to_owned(), counts[1])]
        };
        let verdict = over_current_since(&counters([0, 4]), &counters([0, 6]));
        assert_eq!(
            verdict,
            Verdict::pass("events: oc1 0, oc3 4 → 6 (the board was throttled meanwhile)")
        );
        let none = over_current_since(&Vec::new(), &Vec::new());
        assert_eq!(none.outcome, Outcome::NotApplicable);
    }

    #[test]
    fn an_idle_gpus_clock_is_not_held_against_tegrastats() {
        let pair = Pair {
            name: "gpu_frequency".to_owned(),
            unit: "mhz".to_owned(),
            ours: vec![306.0; 5],
            theirs: vec![0.0; 5],
        };
        assert_eq!(judge(&pair, 0.0).outcome, Outcome::NotApplicable);
        assert_eq!(judge(&pair, 80.0).outcome, Outcome::Fail);
    }
}
