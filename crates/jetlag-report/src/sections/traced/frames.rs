//! Frames on the GPU: their turnaround, what they waited beside, and what the slow ones consisted of.

use jetlag_figure::section::{Cell, Table, Tone};

use super::names::shortened;
use super::{Traced, whose};
use crate::analysis::summary::kernels::{SlowFrames, TenantKernels};
use crate::number::{TimeUnit, percent};
use crate::sections::{Section, named, plain_time, unit_of};

/// Kernels of co-runners.
const RAN: usize = 8;
/// Letters of a name; a terminal shows fewer.
const NAME: usize = 90;

/// Turnaround, computation and wait of each tenant's frames.
pub(super) fn section(of: Traced<'_>) -> Option<Section> {
    let known = || {
        of.phase
            .tenants
            .iter()
            .filter_map(|tenant| Some((tenant, tenant.per_frame.as_ref()?)))
    };
    let unit = unit_of(known().map(|(_, frame)| &frame.turnaround_ms));
    let mut table = Table::new("")
        .words("tenant")
        .words("")
        .numbers(["mean", "p50", "p95", "p99", "max", "frames"]);
    let mut said = Vec::new();
    for (tenant, frame) in known() {
        let shown = [
            ("turnaround", Some(&frame.turnaround_ms)),
            ("computation", Some(&frame.computation_ms)),
            ("wait", Some(&frame.wait_ms)),
            ("internal copies", Some(&frame.internal_ms)),
            ("external copies", Some(&frame.external_ms)),
            ("launch-bound", frame.launch_bound_ms.as_ref()),
        ];
        for (what, stats) in shown {
            let known = |value: Option<f64>| plain_time(unit, value);
            table.row([
                named(of.summary, &tenant.tenant),
                Cell::new(what),
                known(stats.and_then(|stats| stats.mean.value)),
                known(stats.and_then(|stats| stats.p50.value)),
                known(stats.and_then(|stats| stats.p95.value)),
                known(stats.and_then(|stats| stats.p99.value)),
                known(stats.and_then(|stats| stats.max)),
                Cell::of(stats, |stats| stats.count.to_string()),
            ]);
        }
        if let Some(share) = frame.launch_bound_share {
            said.push(format!(
                "{}: the GPU was idle for {} of the turnaround while the host was still enqueuing; tracing makes enqueuing slower.",
                tenant.tenant,
                percent(share)
            ));
        }
        if frame.graph_gaps_ms > 0.0 {
            said.push(format!(
                "{}: of the wait, {} {} a frame lie between two kernels of one graph, which the tracer itself pushes apart.",
                tenant.tenant,
                unit.show(frame.graph_gaps_ms),
                unit.name()
            ));
        }
    }
    Section::new("gpu-frames", "A frame on the GPU", unit.name())
        .table(table)
        .texts(said)
        .unless_empty()
}

/// What was on the GPU while frames waited.
pub(super) fn waits(of: Traced<'_>) -> Option<Section> {
    let known = || {
        of.phase
            .tenants
            .iter()
            .filter_map(|tenant| Some((tenant, tenant.waits.as_ref()?)))
    };
    let unit = TimeUnit::for_millis(known().map(|(_, waits)| waits.longer.wait_ms));
    let mut table = Table::new("in the gaps of a frame")
        .words("tenant")
        .words("")
        .numbers(["above the median", "the others", "more"]);
    let mut ran = Table::new("meanwhile ran; kernels that ran side by side count each")
        .words("tenant")
        .words("kernel")
        .words("of")
        .numbers(["above", "others", "of the wait", "of all time"])
        .optional_words("");
    let more = |ms: f64| Cell::new(unit.show(ms).replace('-', "−"));
    let mut said = Vec::new();
    for (tenant, waits) in known() {
        let (longer, shorter) = (&waits.longer, &waits.shorter);
        let name = || named(of.summary, &tenant.tenant);
        for (what, above, not) in [
            ("wait", longer.wait_ms, shorter.wait_ms),
            (
                "while co-runners were on the GPU",
                longer.co_runners_ms,
                shorter.co_runners_ms,
            ),
            ("while other work was", longer.other_ms, shorter.other_ms),
            ("while nothing was", longer.idle_ms, shorter.idle_ms),
            ("own work beside co-runners'", longer.beside_ms, shorter.beside_ms),
        ] {
            let times = [above, not].map(|ms| plain_time(unit, Some(ms)));
            let cells = [name(), Cell::new(what)].into_iter().chain(times);
            table.row(cells.chain([more(above - not)]));
        }
        for kernel in waits.while_ran.iter().take(RAN) {
            ran.row([
                name(),
                Cell::new(shortened(&kernel.kernel, NAME)).code(),
                whose(of.summary, kernel.tenant.as_ref()).tone(Tone::Plain),
                plain_time(unit, Some(kernel.longer_ms)),
                plain_time(unit, Some(kernel.shorter_ms)),
                Cell::new(percent(kernel.share_of_wait)),
                Cell::new(percent(kernel.share_of_time)),
                Cell::bar(0.0, kernel.share_of_wait),
            ]);
        }
        let ran_more = waits
            .while_ran
            .iter()
            .map(|kernel| (kernel.more_ms, &kernel.tenant, &kernel.kernel));
        let parts: Vec<String> = said_of(ran_more, unit, "of it").collect();
        let of_it = match parts.is_empty() {
            true => String::new(),
            false => format!(": {}", parts.join(", ")),
        };
        said.push(format!(
            "{}: {} frames waited longer than the median of {} and {} did not; they waited {} {} more{of_it}. This is what was on \
             the GPU meanwhile, and names no cause.",
            tenant.tenant,
            longer.frames,
            unit.show(waits.median_ms),
            shorter.frames,
            unit.show(waits.more_ms),
            unit.name()
        ));
    }
    Section::new("contention", "Waits", format!("{} a frame", unit.name()))
        .explained("What was on the GPU while a frame of the traced phase waited between its own kernels.")
        .table(table)
        .table(ran)
        .texts(said)
        .unless_empty()
}

/// The kernels that ran longer in some frames than in others, each in a sentence.
fn said_of<'a>(
    ran: impl Iterator<Item = (f64, &'a Option<String>, &'a String)>,
    unit: TimeUnit,
    of_what: &'static str,
) -> impl Iterator<Item = String> {
    ran.filter(|(more, ..)| *more > 0.0)
        .take(3)
        .map(move |(more, tenant, kernel)| {
            let whose = tenant.as_deref().unwrap_or("no tenant");
            let kernel = shortened(kernel, 40);
            format!(
                "{} {} {of_what} while {whose}'s `{kernel}` ran",
                unit.show(more),
                unit.name()
            )
        })
}

/// What slow frames consisted of.
pub(super) fn slow(of: Traced<'_>) -> Option<Section> {
    let tenants = &of.phase.tenants;
    let unit = TimeUnit::for_millis(
        tenants
            .iter()
            .filter_map(|tenant| Some(tenant.slow.as_ref()?.slow_ms)),
    );
    let mut table = Table::new("")
        .words("tenant")
        .words("")
        .numbers(["slow", "usual", "more"]);
    let mut said = Vec::new();
    for tenant in tenants {
        match (&tenant.slow, tenant.slow_needs) {
            (Some(slow), _) => {
                parts(&mut table, &named(of.summary, &tenant.tenant), slow, unit);
                said.push(frames(tenant, slow, unit));
                let ran = slow
                    .while_ran
                    .iter()
                    .map(|kernel| (kernel.more_ms, &kernel.tenant, &kernel.kernel));
                said.extend(said_of(ran, unit, "more").map(|part| format!("{}: {part}", tenant.tenant)));
            }
            (None, Some(needs)) if tenant.frames > 0 => {
                said.push(format!(
                    "{}: needs {needs} frames with work on the GPU",
                    tenant.tenant
                ));
            }
            (None, _) => {}
        }
    }
    Section::new("slow-frames", "Slow frames on the GPU", unit.name())
        .table(table)
        .texts(said)
        .unless_empty()
}

fn frames(tenant: &TenantKernels, slow: &SlowFrames, unit: TimeUnit) -> String {
    format!(
        "{}: {} frames from {} {} on (p95), {} usual ones",
        tenant.tenant,
        slow.frames,
        unit.show(slow.from_ms),
        unit.name(),
        slow.usual_frames
    )
}

fn parts(table: &mut Table, tenant: &Cell, slow: &SlowFrames, unit: TimeUnit) {
    let signed = |ms: f64| Cell::new(unit.show(ms).replace('-', "−"));
    for part in slow.parts.iter().chain(&slow.host_waits) {
        let name = match part.part {
            "before" => "before the first work",
            "co-runners" => "waiting, co-runners on the GPU",
            "other work" => "waiting, other work on the GPU",
            "launch-bound" => "GPU idle, host enqueuing",
            "idle" => "GPU idle",
            "after" => "after the last work",
            "host waits" => "(the host waited for the GPU)",
            other => other,
        };
        let times = [part.slow_ms, part.usual_ms, part.more_ms].map(signed);
        table.row([tenant.clone(), Cell::new(name)].into_iter().chain(times));
    }
    let dim = |ms: f64| plain_time(unit, Some(ms)).tone(Tone::Dim);
    table.row([
        tenant.clone(),
        Cell::new("= response").tone(Tone::Dim),
        dim(slow.slow_ms),
        dim(slow.usual_ms),
    ]);
}
