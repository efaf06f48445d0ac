//! Frames on the GPU: their turnaround, what they waited beside, and what the slow ones consisted of.

use super::names::shortened;
use super::{
    Align, Grid, Ink, TimeUnit, cut, dim, heading, or_unknown, paragraph, percent, plain, room, unit_of,
};
use crate::Style;
use crate::analysis::summary::Stats;
use crate::analysis::summary::kernels::{SlowFrames, TenantKernels};

/// Kernels of co-runners shown.
const RAN: usize = 5;

/// Turnaround, computation and wait of a tenant's frames.
pub(super) fn section(tenant: &TenantKernels, style: &Style) -> String {
    let Some(frame) = &tenant.per_frame else {
        return String::new();
    };
    let shown = [
        ("turnaround", Some(&frame.turnaround_ms)),
        ("computation", Some(&frame.computation_ms)),
        ("wait", Some(&frame.wait_ms)),
        ("internal copies", Some(&frame.internal_ms)),
        ("external copies", Some(&frame.external_ms)),
        ("launch-bound", frame.launch_bound_ms.as_ref()),
    ];
    let unit = unit_of([&frame.turnaround_ms].into_iter());
    let note = format!(
        "{}, {}; {} frames",
        tenant.tenant,
        unit.name(),
        frame.turnaround_ms.count
    );
    let mut grid = Grid::headed()
        .column("", Align::Left)
        .column("mean", Align::Right)
        .column("p50", Align::Right)
        .column("p95", Align::Right)
        .column("p99", Align::Right)
        .column("max", Align::Right);
    for (name, stats) in shown {
        let figure =
            |value: fn(&Stats) -> Option<f64>| plain(or_unknown(stats.and_then(value), |ms| unit.show(ms)));
        grid.row(vec![
            plain(name),
            figure(|stats| stats.mean),
            figure(|stats| stats.p50),
            figure(|stats| stats.p95),
            figure(|stats| stats.p99),
            figure(|stats| stats.max),
        ]);
    }
    let mut text = heading("A FRAME ON THE GPU", &note, style) + &grid.render(style);
    if let Some(share) = frame.launch_bound_share {
        let said = format!(
            "The GPU was idle for {} of the turnaround while the host was still enqueuing; tracing makes enqueuing slower.",
            percent(share)
        );
        text += &paragraph(&said, Ink::Dim, style);
    }
    if frame.graph_gaps_ms > 0.0 {
        let said = format!(
            "Of the wait, {} {} a frame lie between two kernels of one graph, which the tracer itself pushes apart.",
            unit.show(frame.graph_gaps_ms),
            unit.name()
        );
        text += &paragraph(&said, Ink::Warn, style);
    }
    text
}

fn whose(tenant: Option<&String>, style: &Style) -> String {
    tenant.map_or_else(|| "no tenant".to_owned(), |name| cut(name, style))
}

/// What was on the GPU while a tenant's frames waited.
pub(super) fn waits(tenant: &TenantKernels, style: &Style) -> String {
    let Some(waits) = &tenant.waits else {
        return String::new();
    };
    let unit = TimeUnit::for_millis([waits.longer.wait_ms].into_iter());
    let note = format!(
        "{}, {} a frame; {} frames above the median wait, {} not",
        tenant.tenant,
        unit.name(),
        waits.longer.frames,
        waits.shorter.frames
    );
    let mut grid = Grid::headed()
        .column("", Align::Left)
        .column("above", Align::Right)
        .column("not", Align::Right);
    let (longer, shorter) = (&waits.longer, &waits.shorter);
    for (what, above, not) in [
        ("wait", longer.wait_ms, shorter.wait_ms),
        (
            "  while co-runners were on the GPU",
            longer.co_runners_ms,
            shorter.co_runners_ms,
        ),
        ("  while other work was", longer.other_ms, shorter.other_ms),
        ("  while nothing was", longer.idle_ms, shorter.idle_ms),
        ("own work beside co-runners'", longer.beside_ms, shorter.beside_ms),
    ] {
        grid.row(vec![plain(what), plain(unit.show(above)), plain(unit.show(not))]);
    }
    let mut ran = Grid::headed()
        .column("meanwhile ran", Align::Left)
        .column("of", Align::Left)
        .column("above", Align::Right)
        .column("not", Align::Right)
        .column("of the wait", Align::Right)
        .column("of all time", Align::Right);
    for kernel in waits.while_ran.iter().take(RAN) {
        ran.row(vec![
            plain(shortened(&kernel.kernel, room(style, 56))),
            plain(whose(kernel.tenant.as_ref(), style)),
            plain(unit.show(kernel.longer_ms)),
            plain(unit.show(kernel.shorter_ms)),
            plain(percent(kernel.share_of_wait)),
            plain(percent(kernel.share_of_time)),
        ]);
    }
    let parts: Vec<String> = waits
        .while_ran
        .iter()
        .filter(|kernel| kernel.more_ms > 0.0)
        .take(3)
        .map(|kernel| {
            format!(
                "{} of it while {}'s `{}` ran",
                unit.show(kernel.more_ms),
                whose(kernel.tenant.as_ref(), style),
                shortened(&kernel.kernel, 40)
            )
        })
        .collect();
    let mut said = format!("{} {} more", unit.show(waits.more_ms), unit.name());
    if !parts.is_empty() {
        said += &format!(": {}", parts.join(", "));
    }
    said += ". This is what was on the GPU meanwhile, and names no cause.";
    heading("WAITS", &note, style)
        + &grid.render(style)
        + &ran.render(style)
        + &paragraph(&said, Ink::Plain, style)
}

/// What a tenant's slow frames consisted of.
pub(super) fn slow(tenant: &TenantKernels, style: &Style) -> String {
    let slow = match (&tenant.slow, tenant.slow_needs) {
        (Some(slow), _) => slow,
        (None, Some(needs)) if tenant.frames > 0 => {
            let note = format!("{}: needs {needs} frames with work on the GPU", tenant.tenant);
            return heading("SLOW FRAMES", &note, style);
        }
        (None, _) => return String::new(),
    };
    let unit = TimeUnit::for_millis([slow.slow_ms].into_iter());
    let note = format!(
        "{}, {}; {} frames from {} on (p95), {} usual ones",
        tenant.tenant,
        unit.name(),
        slow.frames,
        unit.show(slow.from_ms),
        slow.usual_frames
    );
    heading("SLOW FRAMES", &note, style) + &slow_parts(slow, unit, style)
}

fn slow_parts(slow: &SlowFrames, unit: TimeUnit, style: &Style) -> String {
    let mut grid = Grid::headed()
        .column("", Align::Left)
        .column("slow", Align::Right)
        .column("usual", Align::Right)
        .column("more", Align::Right);
    let more = |ms: f64| unit.show(ms).replace('-', "−");
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
        grid.row(vec![
            plain(name),
            plain(more(part.slow_ms)),
            plain(more(part.usual_ms)),
            plain(more(part.more_ms)),
        ]);
    }
    grid.row(vec![
        dim("= response"),
        dim(unit.show(slow.slow_ms)),
        dim(unit.show(slow.usual_ms)),
        plain(""),
    ]);
    let mut text = grid.render(style);
    for kernel in slow
        .while_ran
        .iter()
        .filter(|kernel| kernel.more_ms > 0.0)
        .take(3)
    {
        let said = format!(
            "{} {} more while {}'s `{}` ran",
            unit.show(kernel.more_ms),
            unit.name(),
            whose(kernel.tenant.as_ref(), style),
            shortened(&kernel.kernel, 40)
        );
        text += &paragraph(&said, Ink::Plain, style);
    }
    text
}
