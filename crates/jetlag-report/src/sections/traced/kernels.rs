//! A traced tenant's time on the GPU: by layer and by kernel, how kernels were launched, and copies.

use jetlag_figure::section::{Cell, Table, Tone};

use super::Traced;
use super::names::shortened;
use crate::analysis::summary::kernels::{CopyTime, KernelTime, LaunchShape, TenantKernels};
use crate::number::{TimeUnit, percent, short};
use crate::sections::{Section, named};
use crate::units::Bytes;

/// Layers and kernels of a tenant; JSON has all.
const SHOWN: usize = 15;
/// Letters of a name; a terminal shows fewer.
const NAME: usize = 90;

/// The section; none where no tenant had work on the GPU.
pub(super) fn section(of: Traced<'_>) -> Option<Section> {
    let tenants = &of.phase.tenants;
    let outside = tenants.iter().filter_map(|tenant| {
        let outside = tenant.outside_frames.as_ref().filter(|_| tenant.frames > 0)?;
        Some(format!(
            "{}: beside its {} frames, {} pieces of work, {} ms in all, in none of them.",
            tenant.tenant,
            tenant.frames,
            outside.count,
            short(outside.ms)
        ))
    });
    let no_frames = tenants
        .iter()
        .filter(|tenant| tenant.frames == 0 && !tenant.kernels.is_empty());
    let no_frames = no_frames.map(|tenant| format!("{}: sums are in all: it has no frames.", tenant.tenant));
    let needs = tenants.iter().filter_map(|tenant| {
        let needs = tenant.occupancy_needs.as_ref()?;
        Some(format!("{}: occupancy and waves: {needs}.", tenant.tenant))
    });
    let more = tenants.iter().filter_map(|tenant| {
        let rest = [tenant.layers.len(), tenant.kernels.len()].map(|all| all.saturating_sub(SHOWN));
        let [layers, kernels] = rest;
        (layers + kernels > 0).then(|| {
            format!(
                "{}: {layers} more layers and {kernels} more kernels are in JSON.",
                tenant.tenant
            )
        })
    });
    Section::new("kernels", "Time per kernel", "calls and ms a frame, µs a call")
        .explained("Shares are of the tenant's time on the GPU.")
        .table(layers(of))
        .table(kernels(of))
        .table(launches(of))
        .table(copies(of))
        .remarks(more.chain(outside).chain(no_frames).chain(needs))
        .unless_empty()
}

/// The tenants that are shown, and the first of each's rows.
fn first<'a, T: 'a>(
    of: Traced<'a>,
    rows: fn(&TenantKernels) -> &[T],
) -> impl Iterator<Item = (&'a TenantKernels, &'a T)> {
    let tenants = of.phase.tenants.iter();
    tenants.flat_map(move |tenant| rows(tenant).iter().take(SHOWN).map(move |row| (tenant, row)))
}

fn layers(of: Traced<'_>) -> Table {
    let mut table = Table::new("by layer")
        .words("tenant")
        .words("layer")
        .numbers(["calls", "time", "share"])
        .optional_words("");
    let unit = TimeUnit::for_millis(first(of, |tenant| &tenant.layers).map(|(_, layer)| layer.ms));
    for (tenant, layer) in first(of, |tenant| &tenant.layers) {
        // Without layers there is one line that says nothing.
        if tenant.layers.iter().all(|layer| layer.layer.is_none()) {
            continue;
        }
        table.row([
            named(of.summary, &tenant.tenant),
            match &layer.layer {
                Some(name) => Cell::new(shortened(name, NAME)).code(),
                None => Cell::new("no layer").tone(Tone::Dim),
            },
            Cell::new(calls(layer.calls_per_frame)),
            Cell::new(format!("{} {}", unit.show(layer.ms), unit.name())),
            Cell::new(percent(layer.share)),
            Cell::bar(0.0, layer.share),
        ]);
    }
    table
}

fn kernels(of: Traced<'_>) -> Table {
    let mut table = Table::new("by kernel")
        .words("tenant")
        .words("kernel")
        .numbers(["calls", "mean"])
        .optional_number("p50")
        .numbers(["p99", "share"])
        // The same kernel may run in several layers.
        .optional_words("layer");
    for (tenant, kernel) in first(of, |tenant| &tenant.kernels) {
        table.row([
            named(of.summary, &tenant.tenant),
            name(kernel),
            Cell::new(calls(kernel.calls_per_frame)),
            Cell::new(short(kernel.mean_us)),
            Cell::of(kernel.p50_us, short),
            Cell::of(kernel.p99_us, short),
            Cell::new(percent(kernel.share)),
            match &kernel.layer {
                Some(layer) => Cell::new(shortened(layer, NAME)).code(),
                None => Cell::default(),
            },
        ]);
    }
    table.without_empty_columns()
}

fn name(kernel: &KernelTime) -> Cell {
    match &kernel.name {
        Some(name) => Cell::new(shortened(name, NAME)).code(),
        None => Cell::new(kernel.kind).tone(Tone::Dim),
    }
}

fn calls(per_frame: f64) -> String {
    if per_frame.fract() == 0.0 {
        format!("{per_frame:.0}")
    } else {
        short(per_frame)
    }
}

fn launches(of: Traced<'_>) -> Table {
    let mut table = Table::new("launches")
        .words("tenant")
        .words("kernel")
        .numbers(["grid", "block", "regs", "shared", "occup.", "waves"]);
    let mut seen = Vec::new();
    for (tenant, kernel) in first(of, |tenant| &tenant.kernels) {
        let Some(launch) = &kernel.launch else { continue };
        // Once for all layers.
        if seen.contains(&(&tenant.tenant, &kernel.name, launch)) {
            continue;
        }
        seen.push((&tenant.tenant, &kernel.name, launch));
        table.row([
            named(of.summary, &tenant.tenant),
            name(kernel),
            Cell::new(extent(launch.grid)),
            Cell::new(extent(launch.block)),
            Cell::new(launch.registers.to_string()),
            Cell::new(shared(launch)),
            Cell::of(launch.occupancy, percent),
            Cell::of(launch.waves, short),
        ]);
    }
    table
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

fn copies(of: Traced<'_>) -> Table {
    let mut table = Table::new("copies")
        .words("tenant")
        .words("copy")
        .words("host memory")
        .numbers(["calls", "size", "time", "GB/s", "share"]);
    let unit = TimeUnit::for_millis(first(of, |tenant| &tenant.copies).map(|(_, copy)| copy.ms));
    for (tenant, copy) in first(of, |tenant| &tenant.copies) {
        table.row([
            named(of.summary, &tenant.tenant),
            Cell::new(copy.direction),
            Cell::new(host_memory(copy)),
            Cell::new(calls(copy.calls_per_frame)),
            Cell::new(Bytes(copy.bytes as u64).to_string()),
            Cell::new(format!("{} {}", unit.show(copy.ms), unit.name())),
            Cell::of(copy.gb_per_s, short),
            Cell::of(copy.share, percent),
        ]);
    }
    table
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
