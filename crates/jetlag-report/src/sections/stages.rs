//! Where the time goes: each part of a frame's response time, and a sentence that sums it up.

use jetlag_figure::section::{Cell, Table, Tone};

use super::{Section, plain_time, tenant};
use crate::analysis::Summary;
use crate::analysis::summary::{Part, Synchronised, TenantSummary};
use crate::analysis::waterfall::UNATTRIBUTED_NAME;
use crate::number::{TimeUnit, or_unknown, percent};
use crate::record::APPLICATION_BACKEND;

/// The section; none where no tenant's time has parts: of one part nothing is to be divided.
pub(super) fn section(summary: &Summary) -> Option<Section> {
    let all = summary.tenants.iter().enumerate();
    let told = || {
        all.clone()
            .filter(|(_, tenant)| !tenant.waterfall.parts.is_empty())
    };
    let divided = || told().filter(|(_, tenant)| tenant.waterfall.parts.len() > 1);
    divided().next()?;
    let parts = told().flat_map(|(_, tenant)| &tenant.waterfall.parts);
    let unit = TimeUnit::for_millis(parts.map(|part| part.mean_ms));
    let mut table = Table::new("")
        .words("tenant")
        .words("part")
        .numbers(["mean", "share", "p99", "slowest 1 %"])
        .optional_words("");
    for (number, of) in told() {
        rows(&mut table, number, of, unit);
    }
    let sentences = divided().map(|(_, tenant)| sentence(tenant, unit));
    // In sentences too: the last column is left out where the screen is narrow.
    let sets = told().filter_map(|(_, tenant)| {
        let sets = tenant.synchronised.as_ref()?;
        Some(format!("{}: {}", tenant.name, synchronised(sets)))
    });
    // What has no interval says so.
    let note = format!(
        "{}, of this run; means add up to the mean response time",
        unit.name()
    );
    Section::new("stages", "Where the time goes", note)
        .explained("From release to result, part by part.")
        .table(table.without_empty_columns())
        .texts(sentences.chain(sets))
        .unless_empty()
}

/// A tenant's parts, their sum, and what is beside them.
fn rows(table: &mut Table, number: usize, of: &TenantSummary, unit: TimeUnit) {
    let mut from = 0.0;
    let slowest = of.waterfall.slowest.as_ref();
    for part in &of.waterfall.parts {
        let start = from;
        from += part.share;
        if is_zero(unit, part) {
            continue;
        }
        table.row([
            tenant(number, of),
            Cell::new(part.part.clone()),
            plain_time(unit, Some(part.mean_ms)),
            Cell::new(percent(part.share)),
            plain_time(unit, part.p99_ms),
            slowest.map_or_else(Cell::default, |_| plain_time(unit, part.slowest_mean_ms)),
            Cell::bar(start, part.share),
        ]);
    }
    let dim = |ms: Option<f64>| plain_time(unit, ms).tone(Tone::Dim);
    let mut beside = |what: &str, mean: Option<f64>, p99: Option<f64>, slowest: Cell, note: String| {
        table.row([
            tenant(number, of),
            Cell::new(what).tone(Tone::Dim),
            dim(mean),
            Cell::default(),
            dim(p99),
            slowest,
            Cell::new(note).tone(Tone::Dim),
        ]);
    };
    let response = &of.response_ms;
    let of_slowest = slowest.map_or_else(Cell::default, |slowest| dim(Some(slowest.mean_ms)));
    beside(
        "= response",
        response.mean.value,
        response.p99.value,
        of_slowest,
        String::new(),
    );
    if let Some(age) = &of.age_ms {
        let note = sampled(of).unwrap_or_else(|| "since its capture".to_owned());
        beside(
            "age of the result",
            age.mean.value,
            age.p99.value,
            Cell::default(),
            note,
        );
    }
    if let Some(sets) = &of.synchronised {
        let (mean, p99) = sets
            .skew_ms
            .as_ref()
            .map_or((None, None), |skew| (skew.mean.value, skew.p99.value));
        beside("skew of the sensors", mean, p99, Cell::default(), String::new());
    }
    if let Some(submission) = &of.submission_ms {
        let share = of.submitting.and_then(|submitting| submitting.share.p50);
        let note = share.map(|share| format!("overlaps {} of compute (p50)", percent(share)));
        let note = note.unwrap_or_default();
        beside(
            "submission",
            submission.mean.value,
            submission.p99.value,
            Cell::default(),
            note,
        );
    }
}

/// What became of sets of sensors.
fn synchronised(sets: &Synchronised) -> String {
    let all = sets.complete.saturating_add(sets.incomplete);
    format!(
        "{} complete sets/s; {} of {all} ({}) stayed incomplete",
        or_unknown(sets.rate_hz, |hz| format!("{hz:.1}")),
        sets.incomplete,
        or_unknown(sets.incomplete_share, percent),
    )
}

/// What a timer made of the frames that came.
fn sampled(tenant: &TenantSummary) -> Option<String> {
    let sampled = tenant.sampled?;
    Some(format!(
        "{} repeated, {} skipped",
        sampled.repeated, sampled.skipped
    ))
}

/// Whether a part would be a row of zeros.
fn is_zero(unit: TimeUnit, part: &Part) -> bool {
    let times = [Some(part.mean_ms), part.p99_ms, part.slowest_mean_ms];
    let reads_zero = |ms: f64| unit.show(ms).chars().all(|c| matches!(c, '0' | '.'));
    times.into_iter().flatten().all(reads_zero)
}

/// A sentence about the largest part, and about what makes the slowest frames slow.
fn sentence(tenant: &TenantSummary, unit: TimeUnit) -> String {
    let waterfall = &tenant.waterfall;
    let largest = waterfall
        .parts
        .iter()
        .find(|part| Some(&part.part) == waterfall.largest.as_ref());
    let mean = tenant.response_ms.mean.value;
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
pub(super) fn waits(tenant: &TenantSummary) -> &'static str {
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
pub(super) fn goes_to(tenant: &TenantSummary, part: &str) -> String {
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
