//! What a frame's response time depends on: its critical path through host and device, and who waited for what.
//!
//! The dependency graph of a traced phase (`build`) has the host's stretches (stages, calls, time between
//! them) and the work on the device as nodes. Its edges are the order in a thread, the order in a stream, from a launch to its
//! work, from work to the call that waited for it, and from an event in one stream to the work of another that waits for it. The
//! critical path of a frame (`path`) is the longest way through it without waiting, as in profilers of parallel
//! programs: time in which a node waits for another is the other's.
//!
//! Of several nodes that may have let one begin, that counts which did so last. What the trace lacks is inferred, and said in
//! the notes. `what_if` walks the same graph with other durations.

mod align;
mod build;
mod busy;
mod calls;
mod gather;
mod graph;
mod host;
mod node;
mod order;
mod path;
#[cfg(test)]
pub(in crate::analysis) mod recorded;
#[cfg(test)]
pub(in crate::analysis) mod tests;

use std::collections::BTreeMap;

use crate::analysis::gathering::plan;
use crate::analysis::gathering::traced::TracedPhase;
use crate::analysis::stats::{ns_to_ms, six_decimals};
use crate::analysis::summary::critical::{CriticalPath, Part, PathRow, TenantPath};
use crate::record::activity::Direction;
use crate::record::{Definition, Manifest, Outcome};
use crate::scenario::{Arrival, Tenant};
use crate::units::Nanos;
use node::NONE;
use path::{Gap, held_up};

pub(in crate::analysis) use build::build;
pub(in crate::analysis) use busy::{Resource, is_other};
use calls::Calls;
pub(in crate::analysis) use graph::{Graph, Via};
pub(in crate::analysis) use node::{NO_TENANT, NONE as NO_FRAME, Node, What};
pub(in crate::analysis) use path::{Account, Segment, last_to_let, path};

/// Moves of stamps that are told: CUPTI's are within a microsecond or two of the truth at best.
const TOLD: i64 = 2_000;

/// What the analysis needs to know of a tenant of the scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Frames in flight.
    pub depth: usize,
    /// Whether it is a closed loop: a frame is released when it can be started.
    pub closed: bool,
}

impl Member {
    /// The tenants of a run, in its order.
    pub fn of_run(manifest: &Manifest) -> Vec<Member> {
        let member = |tenant: Tenant| Member {
            depth: tenant.depth.max(1),
            closed: matches!(tenant.arrival, Arrival::Closed),
            name: tenant.name,
        };
        plan::of(manifest).tenants.into_iter().map(member).collect()
    }
}

/// The critical path of each tenant of a traced phase.
pub fn critical(phase: &TracedPhase, names: &BTreeMap<u32, Definition>, members: &[Member]) -> CriticalPath {
    let (graph, calls) = build(phase, names, members);
    let tenants = members
        .iter()
        .zip(0u16..)
        .filter_map(|(member, tenant)| tenant_path(phase, &graph, &calls, names, members, (member, tenant)))
        .collect();
    CriticalPath {
        phase: phase.spec.label.clone(),
        tenants,
        notes: notes(phase, &graph),
    }
}

/// One tenant's; none if it ran no frame.
fn tenant_path(
    phase: &TracedPhase,
    graph: &Graph,
    calls: &Calls,
    names: &BTreeMap<u32, Definition>,
    members: &[Member],
    (member, tenant): (&Member, u16),
) -> Option<TenantPath> {
    let of = |warmup: bool| -> Vec<u32> {
        let frames = graph.frames.iter().zip(0..);
        frames
            .filter(|(frame, _)| {
                let record = &frame.record;
                record.tenant == tenant && record.warmup == warmup && record.outcome == Outcome::Completed
            })
            .map(|(_, place)| place)
            .collect()
    };
    let (steady, start_up) = (of(false), of(true));
    if steady.is_empty() && start_up.is_empty() {
        return None;
    }
    let waits = waits(graph, tenant);
    let part = |frames: &[u32]| part(graph, calls, &waits, names, members, frames);
    let spans = || graph.frames.iter().filter(|frame| frame.record.tenant == tenant);
    let first = spans().map(|frame| frame.record.started.0).min()?;
    let last = spans().map(|frame| frame.record.finished.0).max()?;
    let outside = |from: i64, to: i64| {
        let within = calls
            .outside(tenant)
            .filter(|made| (from..to).contains(&made.from));
        calls::rows(within, 0, names)
    };
    let skipped = phase
        .frames
        .iter()
        .filter(|frame| frame.tenant == tenant && frame.outcome == Outcome::Completed)
        .filter(|frame| !build::ran(frame))
        .count() as u64;
    Some(TenantPath {
        tenant: member.name.clone(),
        steady: (!steady.is_empty()).then(|| part(&steady)),
        start_up: (!start_up.is_empty()).then(|| part(&start_up)),
        calls_before: outside(i64::MIN, first),
        calls_between: outside(first, last),
        calls_after: outside(last, i64::MAX),
        skipped,
    })
}

/// Waiting time of a tenant's nodes: frame, account, time.
fn waits(graph: &Graph, tenant: u16) -> Vec<(u32, Account, i64)> {
    let mut waits = Vec::new();
    for (node, at) in graph.nodes.iter().zip(0u32..) {
        if node.tenant != tenant || node.frame == NONE {
            continue;
        }
        let waited: i64 = match node.what {
            What::Exit(_) => graph
                .edges(at)
                .iter()
                .map(|edge| graph.nodes[edge.pred as usize])
                .find(|pred| matches!(pred.what, What::Enter(_)))
                .map_or(0, |enter| node.from - enter.from),
            what if what.is_device() => held_up(graph, at).iter().map(|(_, took)| took).sum(),
            _ => 0,
        };
        if waited > 0 {
            waits.push((node.frame, path::account_of(node.what), waited));
        }
    }
    waits
}

/// Means over some frames of a tenant.
fn part(
    graph: &Graph,
    calls: &Calls,
    waits: &[(u32, Account, i64)],
    names: &BTreeMap<u32, Definition>,
    members: &[Member],
    frames: &[u32],
) -> Part {
    #[derive(Default)]
    struct Sum {
        path: i128,
        waiting: i128,
        segments: u64,
    }
    let mut sums: BTreeMap<(&'static str, String), Sum> = BTreeMap::new();
    let mut keys: BTreeMap<Account, (&'static str, String)> = BTreeMap::new();
    let mut key = |account: Account| {
        keys.entry(account)
            .or_insert_with(|| words(account, names, members))
            .clone()
    };
    let mut by_account: BTreeMap<Account, Sum> = BTreeMap::new();
    let mut response = 0i128;
    for &place in frames {
        response += i128::from(graph.frames[place as usize].record.response().0);
        for segment in path(graph, place) {
            let sum = by_account.entry(segment.account).or_default();
            sum.path += i128::from(segment.to - segment.from);
            sum.segments += 1;
        }
    }
    let mut is_of = vec![false; graph.frames.len()];
    frames.iter().for_each(|&place| is_of[place as usize] = true);
    let of_these = |frame: u32| is_of.get(frame as usize).copied().unwrap_or(false);
    for &(frame, account, waited) in waits {
        if of_these(frame) {
            by_account.entry(account).or_default().waiting += i128::from(waited);
        }
    }
    // Shapes of one kernel's launches are one row.
    for (account, sum) in by_account {
        let row = sums.entry(key(account)).or_default();
        row.path += sum.path;
        row.waiting += sum.waiting;
        row.segments += sum.segments;
    }
    let count = frames.len() as u64;
    let mean = |sum: i128| ns_to_ms(sum as f64 / count as f64);
    let mut rows: Vec<PathRow> = sums
        .into_iter()
        .map(|((kind, name), sum)| PathRow {
            kind,
            name,
            share: if response == 0 {
                0.0
            } else {
                six_decimals(sum.path as f64 / response as f64)
            },
            path_ms: mean(sum.path),
            waiting_ms: mean(sum.waiting),
            per_frame: six_decimals(sum.segments as f64 / count as f64),
        })
        .collect();
    rows.sort_by(|a, b| {
        let by = |row: &PathRow| (row.path_ms, row.waiting_ms);
        by(b).partial_cmp(&by(a)).unwrap_or(std::cmp::Ordering::Equal)
    });
    let own = calls.all.iter().filter(|made| of_these(made.frame));
    let without = |has: fn(&graph::FrameNodes) -> bool| {
        frames
            .iter()
            .filter(|&&place| !has(&graph.frames[place as usize]))
            .count() as u64
    };
    Part {
        frames: count,
        response_ms: mean(response),
        rows,
        calls: calls::rows(own, count, names),
        without_work: without(|frame| frame.works > 0),
        without_calls: without(|frame| frame.calls > 0),
    }
}

/// Kind and name of an account, as tables and JSON have them.
pub(in crate::analysis) fn words(
    account: Account,
    names: &BTreeMap<u32, Definition>,
    members: &[Member],
) -> (&'static str, String) {
    let own = |word: &str| word.to_owned();
    match account {
        Account::Lateness => ("release", own("late release")),
        Account::Queueing => ("release", own("wait for a free slot")),
        Account::Stage(stage) => ("stage", own(stage.name())),
        Account::Call(name) => ("call", text(names, name)),
        Account::Host(gap) => (
            "host",
            own(match gap {
                Gap::BeforeCalls => "before the first call",
                Gap::BetweenCalls => "between calls",
                Gap::AfterCalls => "after the device",
                Gap::NoCalls => "in no call and no stage",
                Gap::Submitting => "submitting",
            }),
        ),
        Account::Kernel(name) => ("kernel", text(names, name)),
        Account::Copy(direction) => ("copy", own(copy_word(direction))),
        Account::Fill => ("fill", own("fill")),
        Account::Graph => ("graph", own("graph")),
        Account::Launch => ("device", own("from launch to begin")),
        Account::Between => ("device", own("between works of the frame")),
        Account::Busy(tenant) => (
            "busy",
            match members.get(usize::from(tenant)) {
                Some(member) => member.name.clone(),
                None => own("work of no tenant"),
            },
        ),
        Account::Unknown => ("unknown", own("not traced")),
    }
}

/// The word for copies of a direction.
pub(in crate::analysis) fn copy_word(direction: Direction) -> &'static str {
    match direction {
        Direction::HostToDevice => "h2d",
        Direction::DeviceToHost => "d2h",
        Direction::DeviceToDevice => "copy on the device",
        Direction::HostToHost => "copy on the host",
        Direction::Peer => "copy between devices",
        Direction::Unknown => "copy",
    }
}

/// The text of a name.
pub(in crate::analysis) fn text(names: &BTreeMap<u32, Definition>, name: Option<u32>) -> String {
    let known = name.and_then(|name| names.get(&name));
    known.map_or_else(|| "(no name)".to_owned(), |definition| definition.text.clone())
}

/// What limits the paths, a sentence each.
fn notes(phase: &TracedPhase, graph: &Graph) -> Vec<String> {
    let mut notes = Vec::new();
    let traces = &phase.traces;
    if traces.iter().any(|trace| !trace.is_whole()) {
        notes.push("The trace has gaps: what was lost is missing from the paths.".to_owned());
    }
    if traces.iter().any(|trace| !trace.calls) {
        notes.push(
            "Calls of CUDA were not traced: launches and waits are inferred from when work began and ended."
                .to_owned(),
        );
    }
    if traces.iter().any(|trace| !trace.graph_nodes)
        && graph.nodes.iter().any(|node| node.what == What::Graph)
    {
        notes.push("Graphs were traced as a whole: their kernels are not on the paths.".to_owned());
    }
    if graph.moved >= TOLD {
        notes.push(format!(
            "Stamps of the device contradicted the host's: they were moved by up to {}, the least that puts work after the call \
             that asked for it and before the end of the wait for it.",
            Nanos(graph.moved)
        ));
    }
    if phase.processes.len() > 1 {
        notes.push(
            "Tenants ran in processes of their own: what they did to each other is seen on the device alone."
                .to_owned(),
        );
    }
    notes
}
