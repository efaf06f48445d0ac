//! The answer of a run in sentences: how each tenant kept its promise, what the board drew, what was expected.
//!
//! Each sentence is a pure function of the summary. What is not known is said to be unknown, or left out; a share never
//! reads as all or none unless it is.

use super::power::{in_thousands, mean};
use super::stages::{goes_to, waits};
use crate::analysis::Summary;
use crate::analysis::summary::{EnergySummary, Estimate, ExpectationResult, Lack, TenantSummary};
use crate::number::{TimeUnit, mark, measured, percent, short};

/// Frames from which a share is said in percent; of fewer, the frames are counted.
const MANY: u64 = 200;

/// What became of a tenant's frames, how long the worst took, and where the time went.
pub(crate) fn tenant(tenant: &TenantSummary) -> String {
    let frames = &tenant.frames;
    if frames.completed == 0 {
        return nothing_completed(tenant);
    }
    let mut said = vec![promise(tenant)];
    said.extend(worst(tenant));
    said.push(time_goes(tenant));
    if frames.lost_records > 0 {
        let were = if frames.lost_records == 1 { "was" } else { "were" };
        said.push(format!("{} {were} not recorded", counted(frames.lost_records)));
    }
    if tenant.closed_loop {
        said.push("frames were released when it was ready, so no waiting is measured".to_owned());
    }
    format!("{} {}.", tenant.name, said.join("; "))
}

fn counted(frames: u64) -> String {
    match frames {
        1 => "1 frame".to_owned(),
        frames => format!("{frames} frames"),
    }
}

fn nothing_completed(tenant: &TenantSummary) -> String {
    let frames = &tenant.frames;
    let others = others(tenant);
    let why = match others.is_empty() {
        true => String::new(),
        false => format!(": {}", others.join(", ")),
    };
    match frames.offered {
        0 => format!(
            "{} has no result: no frame ended in the measured time{why}.",
            tenant.name
        ),
        1 => format!("{} has no result: its frame was not completed{why}.", tenant.name),
        offered => format!(
            "{} has no result: none of its {offered} frames was completed{why}.",
            tenant.name
        ),
    }
}

/// What became of the frames without a result, where there are any.
fn others(tenant: &TenantSummary) -> Vec<String> {
    let frames = &tenant.frames;
    let of = [
        (frames.dropped, "dropped"),
        (frames.failed, "failed"),
        (frames.overdue, "still waiting past the deadline at the end"),
        (frames.failed_in_warmup, "failed in the warm-up"),
    ];
    let there = of.iter().filter(|(count, _)| *count > 0);
    there.map(|(count, what)| format!("{count} {what}")).collect()
}

/// How often the deadline was met; without one, the median and the p99.
fn promise(tenant: &TenantSummary) -> String {
    let frames = &tenant.frames;
    let what = match tenant.deadline_ms {
        Some(ms) => format!("{} ms", mark(ms)),
        None if frames.missed > 0 => "its deadlines".to_owned(),
        None => return quantiles(tenant),
    };
    let met = frames.offered.saturating_sub(frames.missed);
    match (met, frames.missed) {
        (0, missed) => format!("missed all {missed} deadlines ({what})"),
        (met, missed) if met < missed => format!("missed {missed} of {} deadlines ({what})", frames.offered),
        (met, 0) => format!("meets {what} in all {}", counted(met)),
        (met, _) if frames.offered < MANY => format!("meets {what} in {met} of {}", counted(frames.offered)),
        (_, missed) => format!(
            "meets {what} in {} of frames ({missed} of {} missed)",
            share(met, frames.offered),
            frames.offered
        ),
    }
}

/// A share between none and all in percent, with the digits that it takes not to read as one of them.
fn share(of: u64, all: u64) -> String {
    let percent = of as f64 / all as f64 * 100.0;
    let rounded = (1..=9).map(|decimals| format!("{percent:.decimals$}"));
    let between = |text: &String| text.parse().is_ok_and(|value: f64| value > 0.0 && value < 100.0);
    let shown = rounded.into_iter().find(between);
    format!("{} %", shown.unwrap_or_else(|| percent.to_string()))
}

fn quantiles(tenant: &TenantSummary) -> String {
    let stats = &tenant.response_ms;
    let unit = unit_of(tenant);
    let said = |of: Estimate| match (of.value, of.lack) {
        (Some(ms), None) => format!("is {} {}", unit.show(ms), unit.name()),
        (Some(ms), Some(_)) => format!("was {} {} in this run", unit.show(ms), unit.name()),
        (None, Some(Lack::Frames(frames))) => format!("takes {}", counted(frames)),
        (None, _) => "is not known".to_owned(),
    };
    format!(
        "has no deadline; its median {}, its p99 {}",
        said(stats.p50),
        said(stats.p99)
    )
}

pub(crate) fn unit_of(tenant: &TenantSummary) -> TimeUnit {
    TimeUnit::for_millis(tenant.response_ms.usual().into_iter())
}

/// The longest response time: of all frames, or of those that were completed.
fn worst(tenant: &TenantSummary) -> Option<String> {
    let unit = unit_of(tenant);
    let max = tenant.response_ms.max?;
    let time = format!("{} {}", unit.show(max), unit.name());
    let others = others(tenant);
    Some(match others.is_empty() {
        true => format!("the worst was {time}"),
        false => format!("the worst completed frame took {time}; {}", others.join(", ")),
    })
}

/// The part with most of the time.
fn time_goes(tenant: &TenantSummary) -> String {
    let parts = &tenant.waterfall.parts;
    let largest = parts
        .iter()
        .find(|part| Some(&part.part) == tenant.waterfall.largest.as_ref());
    let goes = match (largest, parts.len()) {
        (Some(only), 1) => format!("all of the time {}", goes_to(tenant, &only.part)),
        (Some(largest), _) => format!(
            "{} of the time {} ({})",
            if largest.share > 0.5 {
                "most"
            } else {
                "the largest part"
            },
            goes_to(tenant, &largest.part),
            percent(largest.share)
        ),
        (None, _) => "where the time goes was not recorded".to_owned(),
    };
    goes + waits(tenant)
}

/// Mean and peak power, and the energy of a frame; or that it is not known.
pub(crate) fn power(summary: &Summary) -> String {
    let Some(energy) = &summary.energy else {
        return match summary.power.is_empty() {
            true => "Power was not measured.".to_owned(),
            false => "The total power is not known: which of the measured rails add up to it is unknown, or one was not read."
                .to_owned(),
        };
    };
    let watts = |mw: f64| format!("{} W", short(mw / 1e3));
    let peak = energy
        .peak_mw
        .map_or(String::new(), |mw| format!(", {} at the peak", watts(mw)));
    let mut text = format!(
        "The {} drew {} W on average{peak}",
        energy.of,
        mean(energy.mean_mw, energy.total_mj, energy.ci95_mj)
    );
    text.push_str(&per_frame(summary, energy));
    text.push('.');
    if let Some((budget, share)) = summary
        .budget
        .as_ref()
        .and_then(|budget| Some((budget, budget.share_above?)))
    {
        text.push_str(&format!(
            " It was above the budget of {} in {} of the time.",
            watts(budget.limit_mw),
            percent(share)
        ));
    }
    text
}

fn per_frame(summary: &Summary, energy: &EnergySummary) -> String {
    let known: Vec<String> = summary
        .tenants
        .iter()
        .filter_map(|tenant| Some((tenant, tenant.energy_mj_per_frame?)))
        .map(|(tenant, of)| format!("{} {}", tenant.name, joules(of.total, of.ci95)))
        .collect();
    if known.is_empty() {
        return String::new();
    }
    let how = match energy.attribution {
        Some(_) => ", attributed by compute time and not measured per tenant",
        None => "",
    };
    format!("; energy per frame: {}{how}", known.join(", "))
}

fn joules(mj: f64, interval: Option<[f64; 2]>) -> String {
    match mj.abs() < 1e3 {
        true => format!("{} mJ", measured(mj, interval)),
        false => format!("{} J", in_thousands(mj, interval)),
    }
}

/// What a machine did that was watched without tenants: its load and its hottest sensor.
pub(crate) fn machine(summary: &Summary) -> Vec<String> {
    let load = summary.host.and_then(|host| host.cpu_load_percent);
    let load = load.map(|load| format!("The processors were {load:.0} % busy."));
    let hottest = summary
        .sensors
        .iter()
        .filter(|sensor| sensor.quantity == "temperature")
        .max_by(|a, b| a.max.total_cmp(&b.max));
    let hottest = hottest.map(|sensor| {
        format!(
            "The hottest sensor was {}: {:.0} °C at most.",
            sensor.signal, sensor.max
        )
    });
    load.into_iter().chain(hottest).collect()
}

/// How many expectations hold; nothing where there are none.
pub(crate) fn expectations(results: &[ExpectationResult]) -> Option<String> {
    let held = results.iter().filter(|result| result.holds).count();
    let undecided = results.iter().filter(|result| result.value.is_none()).count();
    let mut text = match (results.len(), held) {
        (0, _) => return None,
        (1, 1) => "the expectation holds".to_owned(),
        (1, _) if undecided == 1 => return Some("the expectation is undecided".to_owned()),
        (1, _) => "the expectation is broken".to_owned(),
        (all, held) if all == held => format!("all {all} expectations hold"),
        (all, held) => format!("{held} of {all} expectations hold"),
    };
    if undecided > 0 {
        text.push_str(&format!(", {undecided} undecided"));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Summarizer;
    use crate::analysis::summary::waterfall::{Part, Waterfall};
    use crate::analysis::summary::{FrameCounts, Stats};
    use crate::record::{Manifest, TenantManifest};
    use crate::scenario::{BackendChoice, Scenario, Tenant};
    use crate::units::Stamp;

    /// A tenant of which nothing is known.
    fn blank() -> TenantSummary {
        let scenario = Scenario {
            tenants: vec![Tenant::of_backend("camera", BackendChoice::Null)],
            ..Scenario::empty("made")
        };
        let manifest = Manifest {
            schema_major: 1,
            schema_minor: 0,
            subject: scenario.into(),
            tenants: vec![TenantManifest {
                name: "camera".to_owned(),
                backend: "null".to_owned(),
                ..TenantManifest::default()
            }],
            machine: std::collections::BTreeMap::new(),
            anchor: Stamp(0),
            ..Manifest::default()
        };
        Summarizer::new(&manifest).finish(None).tenants.remove(0)
    }

    fn of(offered: u64, missed: u64) -> TenantSummary {
        let part = |part: &'static str, mean_ms: f64, share: f64| Part {
            part: part.into(),
            mean_ms,
            share,
            p99_ms: None,
            slowest_mean_ms: None,
        };
        let mut tenant = blank();
        tenant.closed_loop = false;
        tenant.deadline_ms = Some(33.0);
        tenant.frames = FrameCounts {
            offered,
            completed: offered,
            missed,
            ..FrameCounts::default()
        };
        tenant.response_ms = Stats {
            count: offered,
            p50: Estimate::of_run(12.0),
            max: Some(58.0),
            ..Stats::default()
        };
        tenant.waterfall = Waterfall {
            parts: vec![part("wait", 4.0, 0.25), part("compute", 12.0, 0.75)],
            largest: Some("compute".into()),
            slowest: None,
            waits_for_processors: false,
        };
        tenant
    }

    #[test]
    fn a_share_reads_as_all_or_none_only_if_it_is() {
        let promise = |offered, missed| super::promise(&of(offered, missed));
        assert_eq!(promise(2_100, 0), "meets 33 ms in all 2100 frames");
        assert_eq!(promise(2_100, 2_100), "missed all 2100 deadlines (33 ms)");
        assert_eq!(promise(750, 749), "missed 749 of 750 deadlines (33 ms)");
        assert_eq!(promise(7, 1), "meets 33 ms in 6 of 7 frames");
        assert!(
            promise(1_000_000, 3).contains("in 99.9997 % of frames"),
            "{}",
            promise(1_000_000, 3)
        );
        assert!(promise(u64::MAX, 1).contains("(1 of 18446744073709551615 missed)"));
    }

    #[test]
    fn what_is_withheld_is_said_with_what_it_needs() {
        let mut few = of(20, 0);
        few.deadline_ms = None;
        few.response_ms.p50 = Estimate {
            lack: Some(Lack::Frames(30)),
            ..Estimate::default()
        };
        few.response_ms.p99.lack = Some(Lack::Frames(662));
        few.waterfall = Waterfall::default();
        assert_eq!(
            tenant(&few),
            "camera has no deadline; its median takes 30 frames, its p99 takes 662 frames; the worst was 58.00 ms; where the \
             time goes was not recorded."
        );
    }

    #[test]
    fn a_tenant_without_a_result_has_no_figures() {
        let mut none = of(12, 12);
        none.frames.completed = 0;
        none.frames.failed = 12;
        assert_eq!(
            tenant(&none),
            "camera has no result: none of its 12 frames was completed: 12 failed."
        );
        none.frames = FrameCounts::default();
        assert_eq!(
            tenant(&none),
            "camera has no result: no frame ended in the measured time."
        );
    }
}
