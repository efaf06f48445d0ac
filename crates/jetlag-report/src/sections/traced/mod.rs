//! What the GPU did in a traced phase: what tracing changed, how busy each GPU was, and per tenant its layers, kernels, copies,
//! frames, waits and slow frames.

mod frames;
mod kernels;
pub(crate) mod names;
mod observed;

use jetlag_figure::section::{Cell, Table, Tone};

use super::{Drawing, Section, named};
use crate::analysis::Summary;
use crate::analysis::summary::kernels::{KernelPhase, TraceSummary};
use crate::analysis::summary::observer::ObservedPhase;
use crate::number::{TimeUnit, percent, short};

/// A traced phase with what tracing changed in it.
#[derive(Clone, Copy)]
struct Traced<'a> {
    summary: &'a Summary,
    phase: &'a KernelPhase,
    observed: Option<&'a ObservedPhase>,
}

/// The sections of every traced phase; none of a run without one.
pub(crate) fn of_all(summary: &Summary) -> Vec<Section> {
    phases(summary).flat_map(sections).collect()
}

/// Those of the phase that a page shows: that with the most tenants, whose frames are drawn.
pub(crate) fn of_largest(summary: &Summary) -> Vec<Section> {
    let drawn = summary.plots.traced.first().map(|drawn| drawn.phase);
    let all = || phases(summary).enumerate();
    let most = all().max_by_key(|(place, of)| (of.phase.tenants.len(), std::cmp::Reverse(*place)));
    let place = drawn.or(most.map(|(place, _)| place));
    let Some((_, largest)) = all().find(|(number, _)| Some(*number) == place) else {
        return Vec::new();
    };
    let others = match all().count() - 1 {
        0 => None,
        1 => Some("1 more traced phase: `jetlag report --kernels` shows it.".to_owned()),
        more => Some(format!(
            "{more} more traced phases: `jetlag report --kernels` shows them."
        )),
    };
    let mut sections = sections(largest);
    if let Some(first) = sections.first_mut() {
        *first = std::mem::replace(first, Section::new("", "", "")).remarks(others);
    }
    if !summary.plots.traced.is_empty() {
        sections.push(drawings(largest.phase));
    }
    sections
}

fn phases(summary: &Summary) -> impl Iterator<Item = Traced<'_>> {
    let all = summary.kernels.iter().flat_map(|kernels| &kernels.phases);
    let observed = summary.observer.iter().flat_map(|observer| &observer.phases);
    let observed = observed.map(Some).chain(std::iter::repeat(None));
    all.zip(observed).map(move |(phase, observed)| Traced {
        summary,
        phase,
        observed,
    })
}

fn sections(of: Traced<'_>) -> Vec<Section> {
    let made = [
        Some(head(of)),
        kernels::section(of),
        frames::section(of),
        frames::waits(of),
        frames::slow(of),
    ];
    made.into_iter().flatten().collect()
}

/// Traced frames, drawn.
fn drawings(phase: &KernelPhase) -> Section {
    let note = match phase.perturbed {
        Some(true) => "the phase is perturbed: gaps between kernels are partly the tracer's",
        _ => "the median frame, and a slow one where there are enough",
    };
    Section::new("frames", "Traced frames", note)
        .explained(
            "From release to result: what the host did, the frame's kernels by layer, its copies, and what others had on the same \
             GPU. What is on the critical path is underlined; its last lane shows it whole. Bars that no pixel can tell apart are \
             one.",
        )
        .drawing(Drawing::TracedFrames)
}

/// What was traced, how far it can be trusted, and how busy each GPU was.
fn head(of: Traced<'_>) -> Section {
    let phase = of.phase;
    let mut about = vec![phase.label.clone()];
    about.extend(phase.measured_s.map(|seconds| format!("{seconds:.1} s measured")));
    about.extend(phase.sharing.clone());
    let said = match phase.perturbed {
        Some(true) => {
            "Perturbed: tracing changed response times, so gaps, waits and turnarounds include what tracing cost."
        }
        Some(false) => "Tracing changed no median response time by more than 3 %.",
        None => "Whether tracing changed these times cannot be told.",
    };
    let nothing = phase
        .traces
        .is_empty()
        .then(|| "Nothing was traced in it.".to_owned());
    let unowned = phase.unowned.iter().map(|work| {
        let kind = work.kind.unwrap_or("work");
        format!(
            "Of no tenant: {} × {kind}, {} ms; in no tenant's figures.",
            work.count,
            TimeUnit::Millis.show(work.ms)
        )
    });
    let section = Section::new("traced", "Traced phase", about.join(", "))
        .explained("Its frames are in no other figure of this report.")
        .texts(std::iter::once(said.to_owned()).chain(nothing))
        .remarks(phase.traces.iter().map(traced));
    let section = match of.observed {
        Some(observed) => section
            .table(observed::table(of.summary, observed))
            .remarks(observed.tenants.iter().filter_map(observed::undecided)),
        None => section,
    };
    section.table(gpus(of)).texts(unowned)
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

fn gpus(of: Traced<'_>) -> Table {
    let unit = TimeUnit::Millis;
    let mut table = Table::new("each GPU, ms of the measured time")
        .words("GPU")
        .words("")
        .numbers(["time", "share"]);
    for gpu in &of.phase.gpus {
        let mut row = |what: Cell, ms: f64, share: Option<f64>| {
            table.row([
                Cell::group(gpu.gpu.to_string()).tone(Tone::Strong),
                what,
                Cell::new(unit.show(ms)),
                share.map_or_else(Cell::default, |share| Cell::new(percent(share))),
            ]);
        };
        let busy = match &gpu.name {
            Some(name) => format!("{name}, busy"),
            None => "busy".to_owned(),
        };
        row(Cell::new(busy), gpu.busy_ms, Some(gpu.busy_share));
        for tenant in &gpu.tenants {
            let whose = tenant.tenant.as_deref().unwrap_or("no tenant");
            let by = Cell::new(format!("by {whose}")).tone(Tone::Dim);
            row(by, tenant.busy_ms, Some(tenant.busy_share));
        }
        let both = Cell::new("of two tenants at once");
        row(both, gpu.overlap_ms, Some(gpu.overlap_share));
        row(Cell::new("idle"), gpu.idle_ms, None);
    }
    table
}

/// The cell of a tenant, or of none.
fn whose(summary: &Summary, tenant: Option<&String>) -> Cell {
    match tenant {
        Some(name) => named(summary, name),
        None => Cell::group("no tenant").tone(Tone::Dim),
    }
}
