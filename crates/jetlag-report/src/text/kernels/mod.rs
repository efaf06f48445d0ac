//! What the GPU did in the traced phases, for `jetlag report --kernels`: what tracing changed, how busy each GPU was, and per
//! tenant its layers, kernels, copies, frames, waits and slow frames.

mod frames;
pub(crate) mod names;

use std::io::{self, Write};

use super::{cut, dim, heading, plain, unit_of, wrapped};
use crate::Style;
use crate::analysis::Summary;
use crate::analysis::summary::kernels::{
    CopyTime, KernelPhase, KernelTime, LaunchShape, TenantKernels, TraceSummary,
};
use crate::analysis::summary::observer::{Observed, ObservedFigure, ObservedPhase, ObservedTenant};
use crate::number::{TimeUnit, change, change_range, or_unknown, percent, short};
use crate::table::{Align, Grid, Ink, Text};
use crate::units::Bytes;
use names::shortened;

/// Kernels and layers shown of a tenant; JSON has all.
const SHOWN: usize = 15;

/// Writes the traced phases of each run.
pub fn write(summaries: &[Summary], out: &mut dyn Write, style: &Style) -> io::Result<()> {
    let sections: Vec<String> = summaries.iter().map(|summary| run(summary, style)).collect();
    out.write_all(sections.join("\n\n").as_bytes())
}

fn run(summary: &Summary, style: &Style) -> String {
    let Some(kernels) = &summary.kernels else {
        let recorded = summary.run.recorded;
        return format!(
            "{}: {}, so nothing is known of its kernels. {}\n",
            summary.run.name,
            recorded.untraced(),
            recorded.to_trace()
        );
    };
    let observed = summary.observer.iter().flat_map(|observer| &observer.phases);
    let mut observed = observed.map(Some).chain(std::iter::repeat(None));
    let mut sections = Vec::new();
    for phase in &kernels.phases {
        sections.push(head(phase, style));
        sections.extend(observed.next().flatten().map(|observed| changed(observed, style)));
        sections.push(gpus(phase, style));
        for tenant in &phase.tenants {
            sections.extend(of_tenant(tenant, style));
        }
    }
    sections.retain(|section| !section.is_empty());
    sections.join("\n")
}

/// Lines of a paragraph below a table.
fn paragraph(text: &str, ink: Ink, style: &Style) -> String {
    let lines = wrapped(text, usize::from(style.width.max(60)) - 2);
    lines
        .iter()
        .map(|line| format!("  {}\n", ink.paint(line, style)))
        .collect()
}

fn head(phase: &KernelPhase, style: &Style) -> String {
    let mut about = vec![phase.label.clone()];
    about.extend(phase.measured_s.map(|seconds| format!("{seconds:.1} s measured")));
    about.extend(phase.sharing.clone());
    let mut text = heading("TRACED PHASE", &about.join(", "), style);
    let (ink, said) = match phase.perturbed {
        Some(true) => (
            Ink::Warn,
            "Perturbed: tracing changed response times, so gaps, waits and turnarounds include what tracing cost.",
        ),
        Some(false) => (
            Ink::Dim,
            "Tracing changed no median response time by more than 3 %.",
        ),
        None => (Ink::Warn, "Whether tracing changed these times cannot be told."),
    };
    text += &paragraph(said, ink, style);
    if phase.traces.is_empty() {
        text += &paragraph("Nothing was traced in it.", Ink::Warn, style);
    }
    for trace in &phase.traces {
        text += &paragraph(&traced(trace), Ink::Dim, style);
    }
    text
}

fn traced(trace: &TraceSummary) -> String {
    let graphs = if trace.graph_nodes {
        "nodes of graphs"
    } else {
        "graphs as a whole"
    };
    let calls = match (trace.calls, trace.calls_left_out) {
        (false, _) => "without calls".to_owned(),
        (true, 0) => "with calls".to_owned(),
        (true, functions) => {
            format!("with calls but those of {functions} functions that only ask (cudaGetDevice)")
        }
    };
    let mut said = format!(
        "Process {}: {}, {} activities, {graphs}, {calls}",
        trace.process, trace.tracer, trace.activities
    );
    for (count, what) in [
        (trace.dropped, "dropped"),
        (trace.lost_stamps, "without stamps"),
        (trace.not_kept, "not kept"),
    ] {
        if count > 0 {
            said += &format!(", {count} {what}");
        }
    }
    if trace.clock_residual_us > 0.0 {
        said += &format!("; stamps within {} µs", short(trace.clock_residual_us));
    }
    said + "."
}

fn changed(observed: &ObservedPhase, style: &Style) -> String {
    let note = match &observed.untraced {
        Some(untraced) => format!("beside {untraced}"),
        None => "no untraced phase has the same tenants, rates and sharing".to_owned(),
    };
    let mut grid = Grid::headed()
        .column("tenant", Align::Left)
        .column("figure", Align::Left)
        .column("untraced", Align::Right)
        .column("traced", Align::Right)
        .column("change", Align::Right)
        .column("95 % interval", Align::Left);
    for tenant in &observed.tenants {
        let mut name = cut(&tenant.tenant, style);
        let (perturbed, mut first) = (tenant.verdict == Observed::Perturbed, true);
        for figure in &tenant.figures {
            let ink = if perturbed && first { Ink::Warn } else { Ink::Plain };
            first = false;
            grid.row(vec![
                (std::mem::take(&mut name), Ink::Bold),
                plain(figure.figure),
                plain(valued(figure.untraced, figure)),
                plain(valued(figure.traced, figure)),
                (or_unknown(figure.change, |of| change(of, figure.ci95)), ink),
                match figure.ci95 {
                    Some(bounds) => dim(change_range(bounds)),
                    None => dim("–"),
                },
            ]);
        }
    }
    let mut text = heading("WHAT TRACING CHANGED", &note, style) + &grid.render(style);
    for said in observed.tenants.iter().filter_map(undecided) {
        text += &paragraph(&said, Ink::Dim, style);
    }
    text
}

/// Why it cannot be told whether tracing changed a tenant's times, and what would decide it.
pub(crate) fn undecided(tenant: &ObservedTenant) -> Option<String> {
    if tenant.verdict != Observed::Undecided {
        return None;
    }
    let reason = tenant.figures.first().and_then(|p50| p50.reason.as_deref());
    let mut said = format!(
        "{}: undecided; {}",
        tenant.tenant,
        reason.unwrap_or("the interval is too wide")
    );
    if let Some(needs) = &tenant.needs {
        said += &format!("; about {} traced frames would decide it", needs.traced_frames);
        if let Some(seconds) = needs.traced_s {
            said += &format!(", {:.0} s at this rate", seconds.ceil());
        }
        if let Some(frames) = needs.untraced_frames {
            said += &format!(", beside {frames} untraced ones");
        }
    }
    Some(said + ".")
}

fn valued(value: Option<f64>, figure: &ObservedFigure) -> String {
    or_unknown(value, |value| format!("{} {}", short(value), figure.unit))
}

fn gpus(phase: &KernelPhase, style: &Style) -> String {
    let mut grid = Grid::headed()
        .column("GPU", Align::Left)
        .column("", Align::Left)
        .column("time", Align::Right)
        .column("share", Align::Right);
    let unit = TimeUnit::Millis;
    for gpu in &phase.gpus {
        let mut number = gpu.gpu.to_string();
        let mut row = |what: Text, ms: f64, share: String| {
            grid.row(vec![
                (std::mem::take(&mut number), Ink::Bold),
                what,
                plain(unit.show(ms)),
                plain(share),
            ]);
        };
        let busy = match &gpu.name {
            Some(name) => format!("{name}, busy"),
            None => "busy".to_owned(),
        };
        row(plain(busy), gpu.busy_ms, percent(gpu.busy_share));
        for tenant in &gpu.tenants {
            let whose = tenant
                .tenant
                .as_deref()
                .map_or("no tenant".to_owned(), |name| cut(name, style));
            row(
                dim(format!("  by {whose}")),
                tenant.busy_ms,
                percent(tenant.busy_share),
            );
        }
        row(
            plain("of two tenants at once"),
            gpu.overlap_ms,
            percent(gpu.overlap_share),
        );
        row(plain("idle"), gpu.idle_ms, String::new());
    }
    let mut text = match phase.gpus.is_empty() {
        true => String::new(),
        false => heading("GPU", "ms of the measured time", style) + &grid.render(style),
    };
    for work in &phase.unowned {
        let kind = work.kind.unwrap_or("work");
        let said = format!(
            "Of no tenant: {} × {kind}, {} ms; in no tenant's figures.",
            work.count,
            unit.show(work.ms)
        );
        text += &paragraph(&said, Ink::Warn, style);
    }
    text
}

fn of_tenant(tenant: &TenantKernels, style: &Style) -> Vec<String> {
    vec![
        layers(tenant, style),
        kernels(tenant, style),
        launches(tenant, style),
        copies(tenant, style),
        frames::section(tenant, style),
        frames::waits(tenant, style),
        frames::slow(tenant, style),
    ]
}

/// Room for a name beside its figures.
fn room(style: &Style, beside: u16) -> usize {
    usize::from(style.width.clamp(80, 140) - 2 - beside)
}

/// What sums are of.
fn per(tenant: &TenantKernels) -> &'static str {
    match tenant.frames {
        0 => "in all: it has no frames",
        _ => "a frame",
    }
}

fn layers(tenant: &TenantKernels, style: &Style) -> String {
    // Without layers there is one line that says nothing.
    if tenant.layers.iter().all(|layer| layer.layer.is_none()) {
        return String::new();
    }
    let unit = TimeUnit::for_millis(tenant.layers.iter().map(|layer| layer.ms));
    let note = format!("{}, {} on the GPU {}", tenant.tenant, unit.name(), per(tenant));
    let mut grid = Grid::headed()
        .column("layer", Align::Left)
        .column("calls", Align::Right)
        .column("time", Align::Right)
        .column("share", Align::Right);
    for layer in tenant.layers.iter().take(SHOWN) {
        let name = layer.layer.as_deref();
        grid.row(vec![
            name.map_or(dim("no layer"), |name| plain(shortened(name, room(style, 30)))),
            plain(calls(layer.calls_per_frame)),
            plain(unit.show(layer.ms)),
            plain(percent(layer.share)),
        ]);
    }
    heading("TIME PER LAYER", &note, style) + &grid.render(style) + &more(tenant.layers.len(), style)
}

/// How many rows are not shown.
fn more(all: usize, style: &Style) -> String {
    match all.checked_sub(SHOWN) {
        None | Some(0) => String::new(),
        Some(rest) => paragraph(&format!("{rest} more; JSON has all"), Ink::Dim, style),
    }
}

fn calls(per_frame: f64) -> String {
    if per_frame.fract() == 0.0 {
        format!("{per_frame:.0}")
    } else {
        short(per_frame)
    }
}

fn named(kernel: &KernelTime, room: usize) -> Text {
    match &kernel.name {
        Some(name) => plain(shortened(name, room)),
        None => dim(kernel.kind),
    }
}

fn kernels(tenant: &TenantKernels, style: &Style) -> String {
    if tenant.kernels.is_empty() {
        return String::new();
    }
    let note = format!(
        "{}, µs a call; shares of its {} ms on the GPU {}",
        tenant.tenant,
        short(tenant.device_ms),
        per(tenant)
    );
    // The same kernel may run in several layers.
    let layered = tenant.kernels.iter().any(|kernel| kernel.layer.is_some());
    let (beside, layer_room) = match (layered, style.width < 100) {
        (false, _) => (46, 0),
        (true, true) => (50, 14),
        (true, false) => (67, 22),
    };
    let mut grid = Grid::headed().column("kernel", Align::Left);
    if layered {
        grid = grid.column("layer", Align::Left);
    }
    let mut grid = grid
        .column("calls", Align::Right)
        .column("mean", Align::Right)
        .optional("p50", Align::Right)
        .column("p99", Align::Right)
        .column("share", Align::Right);
    for kernel in tenant.kernels.iter().take(SHOWN) {
        let mut row = vec![named(kernel, room(style, beside))];
        if layered {
            row.push(match &kernel.layer {
                Some(layer) => plain(shortened(layer, layer_room)),
                None => dim("–"),
            });
        }
        row.extend([
            plain(calls(kernel.calls_per_frame)),
            plain(short(kernel.mean_us)),
            plain(or_unknown(kernel.p50_us, short)),
            plain(or_unknown(kernel.p99_us, short)),
            plain(percent(kernel.share)),
        ]);
        grid.row(row);
    }
    let mut text =
        heading("TIME PER KERNEL", &note, style) + &grid.render(style) + &more(tenant.kernels.len(), style);
    if let Some(outside) = tenant.outside_frames.as_ref().filter(|_| tenant.frames > 0) {
        let said = format!(
            "Beside these {} frames: {} pieces of work, {} ms in all, in none of them.",
            tenant.frames,
            outside.count,
            short(outside.ms)
        );
        text += &paragraph(&said, Ink::Dim, style);
    }
    text
}

fn launches(tenant: &TenantKernels, style: &Style) -> String {
    let launched = || {
        let shown = tenant.kernels.iter().take(SHOWN);
        shown.filter_map(|kernel| Some((kernel, kernel.launch.as_ref()?)))
    };
    if launched().next().is_none() {
        return String::new();
    }
    let mut grid = Grid::headed()
        .column("kernel", Align::Left)
        .column("grid", Align::Right)
        .column("block", Align::Right)
        .column("regs", Align::Right)
        .column("shared", Align::Right)
        .column("occup.", Align::Right)
        .column("waves", Align::Right);
    let mut seen = Vec::new();
    for (kernel, launch) in launched() {
        // Once for all layers.
        if seen.contains(&(&kernel.name, launch)) {
            continue;
        }
        seen.push((&kernel.name, launch));
        grid.row(vec![
            named(kernel, room(style, 60)),
            plain(extent(launch.grid)),
            plain(extent(launch.block)),
            plain(launch.registers.to_string()),
            plain(shared(launch)),
            plain(or_unknown(launch.occupancy, percent)),
            plain(or_unknown(launch.waves, short)),
        ]);
    }
    let mut text = heading("LAUNCHES", &tenant.tenant, style) + &grid.render(style);
    if let Some(needs) = &tenant.occupancy_needs {
        text += &paragraph(&format!("Occupancy and waves: {needs}."), Ink::Dim, style);
    }
    text
}

/// `64`, `8×4`, `8×4×2`.
fn extent([x, y, z]: [u32; 3]) -> String {
    match (y, z) {
        (0 | 1, 0 | 1) => x.to_string(),
        (y, 0 | 1) => format!("{x}×{y}"),
        (y, z) => format!("{x}×{y}×{z}"),
    }
}

/// What the kernel declares, and what the launch adds to it.
fn shared(launch: &LaunchShape) -> String {
    let kib = |bytes: u32| match bytes {
        0 => "0".to_owned(),
        bytes if bytes < 1024 => format!("{bytes} B"),
        bytes => format!(
            "{} K",
            short(f64::from(bytes) / 1024.0)
                .trim_end_matches('0')
                .trim_end_matches('.')
        ),
    };
    match (launch.static_shared_bytes, launch.dynamic_shared_bytes) {
        (own, 0) => kib(own),
        (0, asked) => kib(asked),
        (own, asked) => format!("{}+{}", kib(own), kib(asked)),
    }
}

fn copies(tenant: &TenantKernels, style: &Style) -> String {
    if tenant.copies.is_empty() {
        return String::new();
    }
    let unit = TimeUnit::for_millis(tenant.copies.iter().map(|copy| copy.ms));
    let note = format!("{}, {} {}", tenant.tenant, unit.name(), per(tenant));
    let mut grid = Grid::headed()
        .column("copy", Align::Left)
        .column("host memory", Align::Left)
        .column("calls", Align::Right)
        .column("size", Align::Right)
        .column("time", Align::Right)
        .column("GB/s", Align::Right)
        .column("share", Align::Right);
    for copy in &tenant.copies {
        grid.row(vec![
            plain(copy.direction),
            plain(host_memory(copy)),
            plain(calls(copy.calls_per_frame)),
            plain(Bytes(copy.bytes as u64).to_string()),
            plain(unit.show(copy.ms)),
            plain(or_unknown(copy.gb_per_s, short)),
            plain(or_unknown(copy.share, percent)),
        ]);
    }
    heading("COPIES", &note, style) + &grid.render(style)
}

fn host_memory(copy: &CopyTime) -> String {
    let host = |memory: &'static str| (memory != "device" && memory != "array").then_some(memory);
    let both = [host(copy.source), host(copy.destination)];
    let words: Vec<&str> = both.into_iter().flatten().collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_and_shared_memory_are_short() {
        assert_eq!(
            [[64, 1, 1], [8, 4, 1], [8, 1, 2]].map(extent),
            ["64", "8×4", "8×1×2"]
        );
        let launch = |own, asked| LaunchShape {
            grid: [1; 3],
            block: [1; 3],
            cluster: None,
            registers: 1,
            static_shared_bytes: own,
            dynamic_shared_bytes: asked,
            local_bytes: 0,
            occupancy: None,
            limited_by: None,
            waves: None,
        };
        let shown = [(0, 0), (512, 0), (0, 49_152), (1536, 99 * 1024)]
            .map(|(own, asked)| shared(&launch(own, asked)));
        assert_eq!(shown, ["0", "512 B", "48 K", "1.5 K+99 K"]);
    }
}
