//! Where the time goes: each part of a frame's response time, and a sentence that sums it up.

use super::{bar, dim, heading, name_of, plain, wrapped};
use crate::Style;
use crate::analysis::Summary;
use crate::analysis::summary::{Part, Stats, Synchronised, TenantSummary};
use crate::analysis::waterfall::UNATTRIBUTED_NAME;
use crate::number::{TimeUnit, or_unknown, percent};
use crate::record::APPLICATION_BACKEND;
use crate::table::{Align, Grid, Ink};

/// The section; empty where no tenant's time has parts.
pub(super) fn section(summary: &Summary, style: &Style) -> String {
    let told = || {
        summary
            .tenants
            .iter()
            .filter(|tenant| !tenant.waterfall.parts.is_empty())
    };
    // Of one part nothing is to be divided.
    if !told().any(|tenant| tenant.waterfall.parts.len() > 1) {
        return String::new();
    }
    let parts = told().flat_map(|tenant| &tenant.waterfall.parts);
    let unit = TimeUnit::for_millis(parts.map(|part| part.mean_ms));
    // What has no interval says so.
    let note = format!(
        "{}, of this run; means add up to the mean response time",
        unit.name()
    );
    let slowest = told().any(|tenant| tenant.waterfall.slowest.is_some());
    let mut grid = Grid::headed()
        .column("tenant", Align::Left)
        .column("part", Align::Left)
        .column("mean", Align::Right)
        .column("share", Align::Right)
        .column("p99", Align::Right);
    if slowest {
        grid = grid.column("slowest 1 %", Align::Right);
    }
    let mut grid = grid.optional("", Align::Left);
    let time = |ms: Option<f64>| or_unknown(ms, |ms| unit.show(ms));
    // A row below the parts, which is none of them.
    let beside = |what: &str, mean: Option<f64>, p99: Option<f64>, of_slowest: String, note: String| {
        let mut row = vec![plain(""), dim(what), dim(time(mean)), plain(""), dim(time(p99))];
        if slowest {
            row.push(dim(of_slowest));
        }
        row.push(dim(note));
        row
    };
    for tenant in told() {
        let mut name = name_of(tenant, style);
        for part in tenant.waterfall.parts.iter().filter(|part| !hides(unit, part)) {
            let mut row = vec![
                (std::mem::take(&mut name), Ink::Bold),
                plain(part.part.clone()),
                plain(unit.show(part.mean_ms)),
                plain(percent(part.share)),
                plain(or_unknown(part.p99_ms, |ms| unit.show(ms))),
            ];
            if slowest {
                row.push(plain(or_unknown(part.slowest_mean_ms, |ms| unit.show(ms))));
            }
            row.push((
                bar(part.share, if style.width < 100 { 20 } else { 30 }),
                Ink::Accent,
            ));
            grid.row(row);
        }
        let response = &tenant.response_ms;
        let of_slowest = time(tenant.waterfall.slowest.as_ref().map(|slowest| slowest.mean_ms));
        let none = String::new;
        grid.row(beside(
            "= response",
            response.mean,
            response.p99,
            of_slowest,
            none(),
        ));
        if let Some(age) = &tenant.age_ms {
            let note = sampled(tenant).unwrap_or_else(|| "since its capture".to_owned());
            grid.row(beside("age of the result", age.mean, age.p99, none(), note));
        }
        if let Some(sets) = &tenant.synchronised {
            let skew = |figure: fn(&Stats) -> Option<f64>| sets.skew_ms.as_ref().and_then(figure);
            let (mean, p99) = (skew(|skew| skew.mean), skew(|skew| skew.p99));
            grid.row(beside("skew of the sensors", mean, p99, none(), none()));
        }
        if let Some(submission) = &tenant.submission_ms {
            let share = tenant.submitting.and_then(|submitting| submitting.share.p50);
            let note = share.map(|share| format!("overlaps {} of compute (p50)", percent(share)));
            let note = note.unwrap_or_default();
            grid.row(beside(
                "submission",
                submission.mean,
                submission.p99,
                none(),
                note,
            ));
        }
    }
    let mut text = heading("WHERE THE TIME GOES", &note, style) + &grid.render(style);
    for tenant in told().filter(|tenant| tenant.waterfall.parts.len() > 1) {
        for line in wrapped(&sentence(tenant, unit), usize::from(style.width.max(60)) - 2) {
            text.push_str(&format!("  {line}\n"));
        }
    }
    // A line of its own: the last column is left out where the screen is narrow.
    for tenant in told() {
        if let Some(sets) = &tenant.synchronised {
            text.push_str(&format!("  {}: {}\n", tenant.name, synchronised(sets)));
        }
    }
    text
}

/// What became of sets of sensors.
pub(crate) fn synchronised(sets: &Synchronised) -> String {
    let all = sets.complete.saturating_add(sets.incomplete);
    format!(
        "{} complete sets/s; {} of {all} ({}) stayed incomplete",
        or_unknown(sets.rate_hz, |hz| format!("{hz:.1}")),
        sets.incomplete,
        or_unknown(sets.incomplete_share, percent),
    )
}

/// What a timer made of the frames that came.
pub(crate) fn sampled(tenant: &TenantSummary) -> Option<String> {
    let sampled = tenant.sampled?;
    Some(format!(
        "{} repeated, {} skipped",
        sampled.repeated, sampled.skipped
    ))
}

/// Whether a part would be a row of zeros.
pub(crate) fn hides(unit: TimeUnit, part: &Part) -> bool {
    let times = [Some(part.mean_ms), part.p99_ms, part.slowest_mean_ms];
    let is_zero = |ms: f64| unit.show(ms).chars().all(|c| matches!(c, '0' | '.'));
    times.into_iter().flatten().all(is_zero)
}

/// A sentence about the largest part, and about what makes the slowest frames slow.
pub(crate) fn sentence(tenant: &TenantSummary, unit: TimeUnit) -> String {
    let waterfall = &tenant.waterfall;
    let largest = waterfall
        .parts
        .iter()
        .find(|part| Some(&part.part) == waterfall.largest.as_ref());
    let mean = tenant.response_ms.mean;
    let (Some(largest), Some(mean)) = (largest, mean) else {
        return String::new();
    };
    let mut text = format!(
        "{}: {} of the time {}, {} of {} {}",
        tenant.name,
        if largest.share > 0.5 {
            "most"
        } else {
            "the largest part"
        },
        goes_to(tenant, &largest.part),
        unit.show(largest.mean_ms),
        unit.show(mean),
        unit.name()
    );
    text.push_str(waits(tenant));
    if largest.part == "compute" {
        text.push_str(&submitting(tenant, unit));
    }
    if let Some(slowest) = &waterfall.slowest
        && slowest.mean_ms > mean
    {
        let more = slowest.mean_ms - mean;
        // One part can grow by more than all, where another is shorter in slow frames.
        let of_it = match slowest.growth_ms <= more {
            true => format!("{} of it", unit.show(slowest.growth_ms)),
            false => format!("{} more", unit.show(slowest.growth_ms)),
        };
        text.push_str(&format!(
            "; the slowest 1 % take {} {} more, {of_it} in {}",
            unit.show(more),
            unit.name(),
            in_words(tenant, &slowest.grows_most)
        ));
    }
    text + "."
}

/// What stands behind the part with most of the time, where waits for a processor are in it.
pub(crate) fn waits(tenant: &TenantSummary) -> &'static str {
    let waterfall = &tenant.waterfall;
    match waterfall.waits_for_processors && waterfall.largest.as_ref().is_some_and(|part| part != "wait") {
        true => ", with waits for a processor in it, as other programs used them",
        false => "",
    }
}

/// How much of *compute* the host was still submitting, if its launches are or may be the limit.
fn submitting(tenant: &TenantSummary, unit: TimeUnit) -> String {
    let Some(submitting) = tenant.submitting else {
        return String::new();
    };
    let limit = match submitting.host_bound {
        Some(true) => "the host's launches are the limit",
        Some(false) => return String::new(),
        None => "the host was launching or waiting for the device; the measurement cannot tell which",
    };
    format!(
        ", of which the host was still submitting for {} {}: {limit}",
        unit.show(submitting.mean_ms),
        unit.name()
    )
}

/// Where time goes that is in this part. What nobody measured goes nowhere.
pub(crate) fn goes_to(tenant: &TenantSummary, part: &str) -> String {
    match part {
        UNATTRIBUTED_NAME => format!("is {}", in_words(tenant, part)),
        _ => format!("goes to {}", in_words(tenant, part)),
    }
}

/// A part as a noun of a sentence.
fn in_words<'a>(tenant: &TenantSummary, part: &'a str) -> &'a str {
    let is_application = tenant.backend == APPLICATION_BACKEND;
    match part {
        "lateness" => "late releases",
        // A program of somebody else's tells when a batch was due and when it began, and not what it did between.
        "wait" if is_application => "the time before it began",
        "wait" => "the wait for a free slot",
        "h2d" => "the copy to the device",
        "d2h" => "the copy back",
        // For the device, for its turn, or for the others of its batch.
        "queue" => "the queue, ready and not yet executing",
        UNATTRIBUTED_NAME if is_application => "unattributed (in no range)",
        UNATTRIBUTED_NAME => "unattributed (in no stage)",
        other => other,
    }
}
