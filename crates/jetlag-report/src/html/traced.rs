//! What the GPU did in a traced phase: kernels by layer, what ran while frames waited, and frames drawn.
//!
//! A page shows one traced phase, that with the most tenants; the others are named. Nothing of this is on the page of a run
//! without a trace.

use super::charts::frame;
use super::view::{Block, Cell, Chart, Key, Section, Table, cell, tenant_cell, words};
use crate::analysis::Summary;
use crate::analysis::plot::{FramePlot, Hue, TracedPlot};
use crate::analysis::summary::kernels::{KernelPhase, KernelTime, TenantKernels};
use crate::analysis::summary::observer::{Observed, ObservedFigure, ObservedPhase};
use crate::number::{TimeUnit, change, change_range, or_unknown, percent, short};
use crate::text::kernels::names::shortened;
use crate::text::kernels::undecided;

/// Layers shown of a tenant, kernels of a layer, and co-runners' kernels; JSON has all.
const LAYERS: usize = 12;
const OF_LAYER: usize = 3;
const RAN: usize = 8;
/// Letters of a name.
const NAME: usize = 90;

/// The phase that is shown, with its place among the traced ones.
fn shown(summary: &Summary) -> Option<(usize, &KernelPhase)> {
    let phases = &summary.kernels.as_ref()?.phases;
    let drawn = summary.plots.traced.first().map(|drawn| drawn.phase);
    let most = || {
        let all = phases.iter().enumerate();
        let most = all.max_by_key(|(place, phase)| (phase.tenants.len(), std::cmp::Reverse(*place)));
        most.map(|(place, _)| place)
    };
    let place = drawn.or_else(most)?;
    Some((place, phases.get(place)?))
}

/// The place of a tenant in the scenario, which has its colour.
fn number(summary: &Summary, tenant: &str) -> usize {
    let mut tenants = summary.tenants.iter();
    tenants.position(|known| known.name == tenant).unwrap_or(0)
}

/// What a perturbed phase's times are.
fn warning(phase: &KernelPhase) -> &'static str {
    match phase.perturbed {
        Some(true) => {
            "`perturbed`: tracing changed response times, so gaps, waits and turnarounds include what tracing cost."
        }
        Some(false) => "Tracing changed no median response time by more than 3 %.",
        None => "Whether tracing changed these times cannot be told.",
    }
}

/// Kernels by layer, and what tracing changed.
pub(super) fn kernels(summary: &Summary, prefix: &str) -> Option<Section> {
    let (place, phase) = shown(summary)?;
    let mut blocks = vec![Block::Text(words(warning(phase)))];
    let observed = summary.observer.as_ref();
    if let Some(observed) = observed.and_then(|observer| observer.phases.get(place)) {
        blocks.push(Block::Table(changed(summary, observed)));
        blocks.extend(
            observed
                .tenants
                .iter()
                // What else keeps it undecided stands in the table.
                .filter(|tenant| tenant.needs.is_some())
                .filter_map(undecided)
                .map(|said| Block::Text(words(&said))),
        );
    }
    for tenant in phase.tenants.iter().filter(|tenant| !tenant.kernels.is_empty()) {
        blocks.push(Block::Table(by_layer(tenant, number(summary, &tenant.tenant))));
        let rest = rows(tenant).len().saturating_sub(LAYERS);
        if rest > 0 {
            blocks.push(Block::Text(words(&format!(
                "{rest} more are in the JSON output (`--format json`)."
            ))));
        }
    }
    for work in &phase.unowned {
        blocks.push(Block::Text(words(&format!(
            "Of no tenant: {} × {}, {} ms in all; in no tenant's figures.",
            work.count,
            work.kind.unwrap_or("work"),
            short(work.ms)
        ))));
    }
    let others = summary
        .kernels
        .as_ref()
        .map_or(0, |kernels| kernels.phases.len() - 1);
    if others > 0 {
        blocks.push(Block::Text(words(&format!(
            "{others} more traced {}: `jetlag report --kernels` shows {}.",
            if others == 1 { "phase" } else { "phases" },
            if others == 1 { "it" } else { "them" },
        ))));
    }
    let mut about = vec![phase.label.clone()];
    about.extend(phase.sharing.clone());
    about.extend(phase.measured_s.map(|seconds| format!("{seconds:.1} s measured")));
    Some(Section {
        id: format!("{prefix}-kernels"),
        title: "Kernels".into(),
        note: format!(
            "From the traced phase ({}); its frames are in no other figure of this page. Shares are of the tenant's time on the GPU.",
            about.join(", ")
        ),
        blocks,
    })
}

/// What tracing changed.
fn changed(summary: &Summary, observed: &ObservedPhase) -> Table {
    let caption = match &observed.untraced {
        Some(untraced) => format!("What tracing changed, beside {untraced}"),
        None => "What tracing changed: no untraced phase has the same tenants, rates and sharing".to_owned(),
    };
    let columns = [
        "tenant",
        "figure",
        "#untraced",
        "#traced",
        "#change",
        "95 % interval",
    ];
    let mut table = Table::new(caption, &columns);
    for tenant in &observed.tenants {
        for (nth, figure) in tenant.figures.iter().enumerate() {
            let value = |value: Option<f64>, figure: &ObservedFigure| {
                cell(or_unknown(value, |value| {
                    format!("{} {}", short(value), figure.unit)
                }))
            };
            let perturbed = nth == 0 && tenant.verdict == Observed::Perturbed;
            table.row(vec![
                match nth {
                    0 => tenant_cell(&tenant.tenant, number(summary, &tenant.tenant)),
                    _ => cell(""),
                },
                cell(figure.figure),
                value(figure.untraced, figure),
                value(figure.traced, figure),
                cell(or_unknown(figure.change, |of| change(of, figure.ci95))).class(if perturbed {
                    "warn strong"
                } else {
                    ""
                }),
                match (figure.ci95, &figure.reason) {
                    (Some(bounds), _) => cell(change_range(bounds)),
                    (None, reason) => cell("–").note(reason.clone().unwrap_or_default()),
                },
            ]);
        }
    }
    table
}

/// A bar beside long names.
fn slim(share: f64, colour: usize) -> Cell {
    Cell::bar(0.0, share, colour).class(&format!("barcell slim t{}", colour % 8))
}

/// A row of layers with its kernels, or of one kernel where no layer is known.
struct Row<'a> {
    name: &'a str,
    calls: f64,
    ms: f64,
    share: f64,
    kernels: Vec<&'a KernelTime>,
}

fn rows(tenant: &TenantKernels) -> Vec<Row<'_>> {
    let has_layers = tenant.kernels.iter().any(|kernel| kernel.layer.is_some());
    if !has_layers {
        let of_kernel = |kernel: &'_ KernelTime| (kernel.calls_per_frame, kernel.ms, kernel.share);
        return tenant
            .kernels
            .iter()
            .map(|kernel| {
                let (calls, ms, share) = of_kernel(kernel);
                Row {
                    name: kernel.name.as_deref().unwrap_or(kernel.kind),
                    calls,
                    ms,
                    share,
                    kernels: vec![kernel],
                }
            })
            .collect();
    }
    tenant
        .layers
        .iter()
        .map(|layer| Row {
            name: layer.layer.as_deref().unwrap_or("no layer"),
            calls: layer.calls_per_frame,
            ms: layer.ms,
            share: layer.share,
            kernels: tenant
                .kernels
                .iter()
                .filter(|kernel| kernel.layer == layer.layer)
                .collect(),
        })
        .collect()
}

fn calls(per_frame: f64) -> String {
    match per_frame.fract() == 0.0 {
        true => format!("{per_frame:.0}"),
        false => short(per_frame),
    }
}

fn by_layer(tenant: &TenantKernels, colour: usize) -> Table {
    let has_layers = tenant.kernels.iter().any(|kernel| kernel.layer.is_some());
    let mut table = Table::new(
        format!(
            "{}: {} ms on the GPU a frame, mean of {} traced frames; mean and p99 are of one call",
            tenant.tenant,
            short(tenant.device_ms),
            tenant.frames
        ),
        &[
            if has_layers {
                "layer and its kernels"
            } else {
                "kernel"
            },
            "#calls a frame",
            "#mean, µs",
            "#p99, µs",
            "#ms a frame",
            "#share",
            "",
        ],
    );
    for row in rows(tenant).iter().take(LAYERS) {
        let of_call = |value: fn(&KernelTime) -> Option<f64>| match &row.kernels[..] {
            [one] => cell(or_unknown(value(one), short)),
            _ => cell(""),
        };
        let mean = |kernel: &KernelTime| Some(kernel.mean_us);
        let p99 = |kernel: &KernelTime| kernel.p99_us;
        let alone = match &row.kernels[..] {
            [one] if has_layers => one
                .name
                .as_deref()
                .map_or(String::new(), |name| shortened(name, NAME)),
            _ => String::new(),
        };
        table.row(vec![
            cell(shortened(row.name, NAME)).note(alone).class("code kernel"),
            cell(calls(row.calls)),
            of_call(mean),
            of_call(p99),
            cell(short(row.ms)),
            cell(percent(row.share)),
            slim(row.share, colour),
        ]);
        if row.kernels.len() < 2 {
            continue;
        }
        for kernel in row.kernels.iter().take(OF_LAYER) {
            let name = kernel.name.as_deref().unwrap_or(kernel.kind);
            table.row(vec![
                cell(shortened(name, NAME)).class("code kernel in dim"),
                cell(calls(kernel.calls_per_frame)).class("dim"),
                cell(short(kernel.mean_us)).class("dim"),
                cell(or_unknown(kernel.p99_us, short)).class("dim"),
                cell(short(kernel.ms)).class("dim"),
                cell(percent(kernel.share)).class("dim"),
                cell(""),
            ]);
        }
        if row.kernels.len() > OF_LAYER {
            let rest = row.kernels.len() - OF_LAYER;
            let mut last = vec![cell(format!("{rest} more kernels of this layer")).class("in dim")];
            last.extend((0..6).map(|_| cell("")));
            table.row(last);
        }
    }
    table
}

/// Whose kernels were on the GPU while frames waited.
pub(super) fn contention(summary: &Summary, prefix: &str) -> Option<Section> {
    let (_, phase) = shown(summary)?;
    let mut blocks = Vec::new();
    for tenant in &phase.tenants {
        let Some(waits) = &tenant.waits else { continue };
        let unit = TimeUnit::for_millis([waits.longer.wait_ms].into_iter());
        let caption = format!(
            "{}, {} a frame: {} frames that waited longer than the median of {}, beside the other {}",
            tenant.tenant,
            unit.name(),
            waits.longer.frames,
            unit.show(waits.median_ms),
            waits.shorter.frames
        );
        let columns = [
            "in the gaps of a frame",
            "#waited longer",
            "#the others",
            "#more",
            "#of the wait",
            "#of all time",
            "",
        ];
        let mut table = Table::new(caption, &columns);
        let (longer, shorter) = (&waits.longer, &waits.shorter);
        let more = |more: f64| unit.show(more).replace('-', "−");
        let share = |part: f64| part / longer.wait_ms.max(f64::MIN_POSITIVE);
        for (what, above, not) in [
            ("wait", longer.wait_ms, shorter.wait_ms),
            (
                "while co-runners were on the GPU",
                longer.co_runners_ms,
                shorter.co_runners_ms,
            ),
            ("while other work was", longer.other_ms, shorter.other_ms),
            ("while nothing was", longer.idle_ms, shorter.idle_ms),
        ] {
            table.row(vec![
                cell(what).class(if what == "wait" { "" } else { "in" }),
                cell(unit.show(above)),
                cell(unit.show(not)),
                cell(more(above - not)),
                cell(percent(share(above))),
                cell(""),
                cell(""),
            ]);
        }
        for ran in waits.while_ran.iter().take(RAN) {
            let whose = ran.tenant.as_deref();
            table.row(vec![
                cell(shortened(&ran.kernel, NAME))
                    .note(whose.map_or("of no tenant".to_owned(), |whose| format!("of {whose}")))
                    .class("code kernel"),
                cell(unit.show(ran.longer_ms)),
                cell(unit.show(ran.shorter_ms)),
                cell(more(ran.more_ms)),
                cell(percent(ran.share_of_wait)),
                cell(percent(ran.share_of_time)),
                Cell::bar(
                    0.0,
                    ran.share_of_wait,
                    whose.map_or(0, |whose| number(summary, whose)),
                ),
            ]);
        }
        blocks.push(Block::Table(table));
    }
    (!blocks.is_empty()).then(|| Section {
        id: format!("{prefix}-contention"),
        title: "Contention".into(),
        note: format!(
            "What was on the GPU while a frame of the traced phase waited between its own kernels. Kernels that ran side by side \
             count each; this names no cause. {}",
            match phase.perturbed {
                Some(true) => "The phase is perturbed: waits include what tracing cost.",
                _ => "",
            }
        ),
        blocks,
    })
}

/// Traced frames, drawn.
pub(super) fn frames(summary: &Summary, prefix: &str) -> Option<Section> {
    let (_, phase) = shown(summary)?;
    let mut blocks = Vec::new();
    for plot in &summary.plots.traced {
        let Some(tenant) = summary.tenants.get(plot.tenant) else {
            continue;
        };
        for drawn in &plot.frames {
            let unit = TimeUnit::for_millis([drawn.response_ns as f64 / 1e6].into_iter());
            let Some(chart) = frame::chart(&tenant.name, drawn, unit, &plain(plot)) else {
                continue;
            };
            blocks.push(Block::Charts(vec![Chart {
                title: title(&tenant.name, plot, drawn, unit),
                keys: keys(plot, drawn),
                svg: chart.svg,
            }]));
        }
    }
    (!blocks.is_empty()).then(|| Section {
        id: format!("{prefix}-frames"),
        title: "Traced frames".into(),
        note: format!(
            "From release to result: what the host did, the frame's kernels by layer, its copies, and what others had on the same GPU. \
             What is on the critical path is underlined; its last lane shows it whole. Bars that no pixel can tell apart are one.{}",
            match phase.perturbed {
                Some(true) => " The phase is perturbed: gaps between kernels are partly the tracer's.",
                _ => "",
            }
        ),
        blocks,
    })
}

/// The colour of kernels of no known layer: the tenant's own, where no layer needs to be told from another.
fn plain(plot: &TracedPlot) -> String {
    match plot.layers.is_empty() {
        true => (plot.tenant % 8).to_string(),
        false => "other".to_owned(),
    }
}

fn title(tenant: &str, plot: &TracedPlot, frame: &FramePlot, unit: TimeUnit) -> String {
    let response = format!("{} {}", unit.show(frame.response_ns as f64 / 1e6), unit.name());
    let which = match frame.rank {
        rank if rank > 0.9 => format!(
            "a slow frame, {} of {} took at most as long",
            percent(rank),
            plot.of
        ),
        _ => format!("the median of {} frames", plot.of),
    };
    format!("{tenant}: {which}; {response}, axis in {}", unit.name())
}

/// The legend: what is in the drawing, and nothing else.
fn keys(plot: &TracedPlot, frame: &FramePlot) -> Vec<Key> {
    let has = |hue: Hue| {
        let mut bars = frame.lanes.iter().flat_map(|lane| &lane.bars);
        bars.any(|bar| bar.hue == hue)
    };
    let mut keys: Vec<Key> = plot
        .layers
        .iter()
        .enumerate()
        .filter(|(number, _)| has(Hue::Layer(*number)))
        .map(|(number, layer)| Key::new(number % 6, shortened(layer, 40)))
        .collect();
    for (hue, colour, text) in [
        (Hue::OtherLayer, "6", "other layers"),
        (Hue::NoLayer, &plain(plot), "kernels of no known layer"),
        (Hue::Copy, "7", "copies"),
        (Hue::Host, "host", "host"),
    ] {
        if has(hue) {
            keys.push(Key::new(colour, text));
        }
    }
    keys.push(Key::new("path", "on the critical path"));
    keys
}
