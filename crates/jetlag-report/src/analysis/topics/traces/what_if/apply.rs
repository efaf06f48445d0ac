//! Changes a model: other durations, a tenant that is not there, launches that become one launch of a graph.
//!
//! What has to be assumed for that is said in words.

use std::collections::{BTreeMap, HashMap};

use jetlag_stats::quantile::Quantile;

use super::change::{Alteration, Change, ChangeError, Pattern, Scaled};
use super::model::{Between, ENOUGH, Gap, Model};
use crate::analysis::topics::traces::critical::{
    Graph, Member, NO_FRAME, Node, Resource, Via, What, copy_word, last_to_let, text,
};
use crate::nearest::nearest;
use crate::record::Definition;
use crate::record::activity::Direction;
use crate::units::Nanos;

/// Names that an error lists.
const LISTED: usize = 6;

/// What was assumed of changes.
#[derive(Debug, Default)]
pub(super) struct Applied {
    /// A sentence each.
    pub(super) assumed: Vec<String>,
    /// Whether the trace leaves open how much time passes between two works of a graph, so that `between` makes a difference.
    pub(super) is_open: bool,
}

/// Applies changes to a model; answers what was assumed. `between` says which time passes between two works of a graph where the
/// trace leaves that open.
///
/// # Errors
/// A change says nothing about this trace.
pub(super) fn apply(
    model: &mut Model<'_>,
    changes: &[Change],
    names: &BTreeMap<u32, Definition>,
    members: &[Member],
    between: Between,
) -> Result<Applied, ChangeError> {
    let mut applied = Applied::default();
    let absent: Vec<u16> = changes
        .iter()
        .filter(|change| change.what == Alteration::Without)
        .map(|change| change.tenant)
        .collect();
    for change in changes {
        let not_there = |advice| ChangeError::NotThere {
            text: change.text.clone(),
            tenant: name_of(members, change.tenant),
            advice,
        };
        if change.what != Alteration::Without && absent.contains(&change.tenant) {
            return Err(not_there("change another tenant, or leave out the `without`"));
        }
        let others = model.graph.frames.iter().map(|frame| frame.record.tenant);
        if change.what == Alteration::Without && others.into_iter().all(|tenant| absent.contains(&tenant)) {
            return Err(not_there("leave a tenant whose response is to be predicted"));
        }
    }
    if !absent.is_empty() {
        without(model, &absent, members, &mut applied.assumed);
    }
    for change in changes {
        match &change.what {
            Alteration::Scale { work, factor } => scale(model, change, work, *factor, names, members)?,
            Alteration::Without => {}
            Alteration::Graph => graph(model, change, names, members, between, &mut applied)?,
        }
    }
    Ok(applied)
}

fn name_of(members: &[Member], tenant: u16) -> String {
    let known = members.get(usize::from(tenant));
    known.map_or_else(|| format!("tenant {tenant}"), |member| member.name.clone())
}

/// Some work takes another time.
fn scale(
    model: &mut Model<'_>,
    change: &Change,
    work: &Scaled,
    factor: f64,
    names: &BTreeMap<u32, Definition>,
    members: &[Member],
) -> Result<(), ChangeError> {
    let graph = model.graph;
    let named = |pattern: &Pattern| -> Vec<u32> {
        let fitting = names.values().filter(|name| pattern.fits(&name.text));
        fitting.map(|name| name.number).collect()
    };
    let fitting = match work {
        Scaled::Kernel(pattern) | Scaled::Layer(pattern) | Scaled::Call(pattern) => named(pattern),
        Scaled::H2d | Scaled::D2h | Scaled::Stage(_) => Vec::new(),
    };
    let fits = |name: Option<u32>| name.is_some_and(|name| fitting.binary_search(&name).is_ok());
    let is_meant = |node: &Node| {
        node.tenant == change.tenant
            && match (work, node.what) {
                (Scaled::Kernel(_), What::Kernel(name)) => fits(name),
                (Scaled::Layer(_), what) => what.is_device() && fits(Some(node.layer)),
                (Scaled::Call(_), What::Call(name) | What::Exit(name)) => fits(name),
                (Scaled::H2d, what) => what == What::Copy(Direction::HostToDevice),
                (Scaled::D2h, what) => what == What::Copy(Direction::DeviceToHost),
                (Scaled::Stage(stage), what) => what == What::Stage(*stage),
                _ => false,
            }
    };
    let meant: Vec<u32> = graph
        .nodes
        .iter()
        .zip(0..)
        .filter(|(node, _)| is_meant(node))
        .map(|(_, at)| at)
        .collect();
    if meant.is_empty() {
        return Err(nothing_such(model, change, work, names, members));
    }
    let launches = launching(graph, |node| node.what.is_device());
    for node in meant {
        let took = &mut model.took[node as usize];
        *took = (*took as f64 * factor).round() as i64;
        if factor == 0.0 && graph.nodes[node as usize].what.is_device() {
            leave_out(model, node, &launches);
        }
    }
    Ok(())
}

/// Work that takes no time is not asked for either: the host does nothing of what it did since the last work that it asked for, or
/// waited for.
fn leave_out(model: &mut Model<'_>, node: u32, launches: &[bool]) {
    let graph = model.graph;
    let is_call = |node: u32| matches!(graph.nodes[node as usize].what, What::Call(_));
    at_once(model, node);
    for launch in graph.edges(node).iter().filter(|edge| edge.via == Via::Launch) {
        let mut next = Some(launch.pred).filter(|call| is_call(*call));
        while let Some(call) = next {
            model.took[call as usize] = 0;
            at_once(model, call);
            let before = graph.edges(call).iter().find(|edge| edge.via == Via::Thread);
            next = before
                .map(|edge| edge.pred)
                .filter(|before| is_call(*before) && !launches[*before as usize]);
        }
    }
}

/// The node begins when what it waits for is over, and no later.
fn at_once(model: &mut Model<'_>, node: u32) {
    let first = model.graph.first_edge(node);
    for lag in &mut model.lag[first..first + model.graph.edges(node).len()] {
        *lag = (*lag).min(0);
    }
}

/// Of each node, whether it is a call that asked for work that is meant.
fn launching(graph: &Graph, is_meant: impl Fn(&Node) -> bool) -> Vec<bool> {
    let mut launches = vec![false; graph.nodes.len()];
    for (_, at) in graph.nodes.iter().zip(0u32..).filter(|(node, _)| is_meant(node)) {
        for edge in graph.edges(at).iter().filter(|edge| edge.via == Via::Launch) {
            launches[edge.pred as usize] = true;
        }
    }
    launches
}

fn nothing_such(
    model: &Model<'_>,
    change: &Change,
    work: &Scaled,
    names: &BTreeMap<u32, Definition>,
    members: &[Member],
) -> ChangeError {
    let mut times: HashMap<String, i64> = HashMap::new();
    let own = |node: &&Node| node.tenant == change.tenant;
    for node in model.graph.nodes.iter().filter(own) {
        let name = match (work, node.what) {
            (Scaled::Kernel(_), What::Kernel(name)) => text(names, name),
            (Scaled::Layer(_), what) if what.is_device() && node.layer != NO_FRAME => {
                text(names, Some(node.layer))
            }
            (Scaled::Call(_), What::Call(name) | What::Exit(name)) => text(names, name),
            _ => continue,
        };
        let time = times.entry(name).or_default();
        *time = time.saturating_add(node.to - node.from);
    }
    let mut known: Vec<(String, i64)> = times.into_iter().collect();
    known.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let (wanted, pattern) = match work {
        Scaled::Kernel(pattern) => (format!("kernel `{}`", pattern.0), Some(pattern)),
        Scaled::Layer(pattern) => (format!("layer `{}`", pattern.0), Some(pattern)),
        Scaled::Call(pattern) => (format!("call `{}`", pattern.0), Some(pattern)),
        Scaled::H2d => ("copy to the device".to_owned(), None),
        Scaled::D2h => ("copy from the device".to_owned(), None),
        Scaled::Stage(stage) => (format!("stage {}", stage.name()), None),
    };
    let near = pattern.and_then(|pattern| {
        let bare = pattern.0.trim_matches('*');
        nearest(bare, known.iter().map(|(name, _)| name.as_str())).map(str::to_owned)
    });
    ChangeError::NothingSuch {
        text: change.text.clone(),
        wanted,
        tenant: name_of(members, change.tenant),
        nearest: near,
        known: known.into_iter().take(LISTED).map(|(name, _)| name).collect(),
    }
}

/// Some tenants do not run: nothing waits for their work, and what ran beside it takes what it takes without.
fn without(model: &mut Model<'_>, absent: &[u16], members: &[Member], assumed: &mut Vec<String>) {
    let graph = model.graph;
    let is_absent = |tenant: u16| absent.contains(&tenant);
    let beside = |node: &Node| {
        Resource::of(node.what)
            .is_some_and(|resource| graph.busy.of_whom(resource, (node.from, node.to), is_absent) > 0)
    };
    type Same = (u16, What, u64);
    let mut alone: HashMap<Same, Vec<i64>> = HashMap::new();
    let same = |node: &Node| (node.tenant, node.what, node.bytes);
    let mut affected: Vec<u32> = Vec::new();
    for (node, at) in graph.nodes.iter().zip(0u32..) {
        if is_absent(node.tenant) {
            model.absent[at as usize] = true;
        } else if node.what.is_device() {
            match beside(node) {
                true => affected.push(at),
                false => alone.entry(same(node)).or_default().push(node.to - node.from),
            }
        }
        let Some((edge, moment)) = last_to_let(graph, at, node.frame) else {
            continue;
        };
        if model.others_within(at, moment, is_absent) > 0 {
            for (other, place) in graph.edges(at).iter().zip(graph.first_edge(at)..) {
                if other.pred == edge.pred {
                    let seen = model.lag[place];
                    model.lag[place] = model.without_others(at, seen, moment, edge.via, is_absent);
                }
            }
        }
    }
    // In the order in which they were seen, again and again: so their spread is kept, and the same trace gives the same answer.
    let mut next: HashMap<Same, usize> = HashMap::new();
    let (mut kept, mut kinds) = (0i64, std::collections::BTreeSet::new());
    for at in &affected {
        let node = &graph.nodes[*at as usize];
        match alone.get(&same(node)).filter(|alone| alone.len() >= ENOUGH) {
            Some(alone) => {
                let next = next.entry(same(node)).or_default();
                model.took[*at as usize] = alone[*next % alone.len()];
                *next += 1;
            }
            None => {
                kept += node.to - node.from;
                kinds.insert(same(node));
            }
        }
    }
    let gone: Vec<String> = absent.iter().map(|&tenant| name_of(members, tenant)).collect();
    let gone = gone.join(" and ");
    if !affected.is_empty() {
        assumed.push(format!(
            "Work that ran beside {gone} takes what the same work took when {gone} had no work on the device."
        ));
    }
    if !kinds.is_empty() {
        let all: i64 = affected
            .iter()
            .map(|at| graph.nodes[*at as usize].to - graph.nodes[*at as usize].from)
            .sum();
        assumed.push(format!(
            "{} kinds of work ran fewer than {ENOUGH} times without {gone}: they keep the times that they had beside it \
             ({:.0} % of the time beside it), so the true gain may be larger.",
            kinds.len(),
            100.0 * kept as f64 / all.max(1) as f64
        ));
    }
    assumed.push(format!(
        "Host time and clocks stay as they were beside {gone}; what it cost there is not in the prediction."
    ));
}

/// What a tenant launches between two waits becomes one launch.
fn graph(
    model: &mut Model<'_>,
    change: &Change,
    names: &BTreeMap<u32, Definition>,
    members: &[Member],
    between: Between,
    applied: &mut Applied,
) -> Result<(), ChangeError> {
    let graph = model.graph;
    let is_own = |node: &Node| node.tenant == change.tenant && node.frame != NO_FRAME;
    // Calls that asked for work which a graph would hold.
    let launches = launching(graph, |node| {
        let goes_in = Resource::of(node.what) == Some(Resource::Compute) && node.what != What::Graph;
        is_own(node) && goes_in
    });
    let is_graph_launch = |what: What| match what {
        What::Call(name) => text(names, name).contains("GraphLaunch"),
        _ => false,
    };
    let runs = runs(model, change.tenant, &launches, is_graph_launch);
    if runs.is_empty() {
        return Err(ChangeError::NothingSuch {
            text: change.text.clone(),
            wanted: "two launches of kernels in a row that are not a graph yet".to_owned(),
            tenant: name_of(members, change.tenant),
            nearest: None,
            known: Vec::new(),
        });
    }
    let times = |is: &dyn Fn(usize) -> bool| -> Vec<i64> {
        let nodes = graph.nodes.iter().enumerate();
        nodes
            .filter(|(at, node)| is_own(node) && is(*at))
            .map(|(_, node)| node.to - node.from)
            .collect()
    };
    let (cost, how) =
        match Quantile::P50.of(&mut times(&|at| is_graph_launch(graph.nodes[at].what)), Ord::cmp) {
            Some(cost) => (cost, "the median launch of a graph in this trace"),
            None => (
                Quantile::P50
                    .of(&mut times(&|at| launches[at]), Ord::cmp)
                    .unwrap_or(0),
                "the median launch of a kernel of it, since the trace has no launch of a graph",
            ),
        };
    let latency = model.usual(change.tenant, Via::Launch).unwrap_or(0).max(0);
    let gap = model.gap(change.tenant);
    let gap_ns = gap.ns(between);
    let launched: u64 = runs.iter().map(|run| run.len() as u64).sum();
    let mut is_in = vec![false; graph.nodes.len()];
    for run in &runs {
        for (nth, &call) in run.iter().enumerate() {
            is_in[call as usize] = true;
            model.took[call as usize] = if nth == 0 { cost } else { 0 };
            if nth > 0 {
                at_once(model, call);
            }
        }
    }
    for at in 0..graph.nodes.len() as u32 {
        let edges = graph.edges(at);
        let is_launched = edges
            .iter()
            .any(|edge| edge.via == Via::Launch && is_in[edge.pred as usize]);
        if !is_launched {
            continue;
        }
        for (edge, place) in edges.iter().zip(graph.first_edge(at)..) {
            match edge.via {
                Via::Launch => model.lag[place] = latency,
                Via::Stream | Via::Event => {
                    let moment = graph.let_begin(at, *edge);
                    let behind_kernel =
                        Resource::of(graph.nodes[edge.pred as usize].what) == Some(Resource::Compute);
                    if behind_kernel {
                        model.lag[place] = gap_ns;
                    } else if model.in_turn || model.others_within(at, moment, |_| true) == 0 {
                        model.lag[place] = model.lag[place].min(gap_ns);
                    }
                }
                _ => {}
            }
        }
    }
    let name = name_of(members, change.tenant);
    let assumed = &mut applied.assumed;
    assumed.push(format!(
        "{name}: {launched} calls in {} rows become one launch of a graph each, which takes {} ({how}).",
        runs.len(),
        Nanos(cost)
    ));
    assumed.push(format!(
        "{name}: the graph's work takes as long as before, begins {} after the launch, and runs in the order of its streams \
         with {} between two works; copies before the first kernel and after the last keep their calls.",
        Nanos(latency),
        Nanos(gap_ns)
    ));
    let most = match gap {
        Gap::Seen(_) => None,
        Gap::Shortest(_) => Some("nearly the shortest that was seen between two kernels"),
        Gap::Assumed(_) => Some("assumed"),
    };
    if let Some(most) = most {
        applied.is_open = true;
        assumed.push(format!(
            "{name}: how much time passes between two works of a graph is not in this trace, since too few kernels were queued \
             behind others. It is between nothing and {} ({most}); the prediction takes {}, and the interval has both ends.",
            Nanos(gap.ns(Between::Most)),
            Nanos(gap.ns(Between::Middle))
        ));
    }
    Ok(())
}

/// Calls in a row, from the first launch between two waits to the last, of at least two launches.
fn runs(
    model: &Model<'_>,
    tenant: u16,
    launches: &[bool],
    is_graph_launch: impl Fn(What) -> bool,
) -> Vec<Vec<u32>> {
    let graph = model.graph;
    let mut open: HashMap<u32, (Vec<u32>, usize)> = HashMap::new();
    let mut runs = Vec::new();
    let mut close = |(mut run, last): (Vec<u32>, usize)| {
        run.truncate(last);
        let count = run.iter().filter(|&&call| launches[call as usize]).count();
        let is_graph = run
            .iter()
            .any(|&call| is_graph_launch(graph.nodes[call as usize].what));
        if count >= 2 && !is_graph {
            runs.push(run);
        }
    };
    for (node, at) in graph.nodes.iter().zip(0u32..) {
        if node.tenant != tenant || node.frame == NO_FRAME {
            continue;
        }
        match node.what {
            What::Call(_) => {
                let is_launch = launches[at as usize];
                if is_launch || open.contains_key(&node.frame) {
                    let (run, last) = open.entry(node.frame).or_default();
                    run.push(at);
                    if is_launch {
                        *last = run.len();
                    }
                }
            }
            What::Enter(_) | What::Stage(_) | What::End => {
                if let Some(run) = open.remove(&node.frame) {
                    close(run);
                }
            }
            _ => {}
        }
    }
    open.into_values().for_each(close);
    runs
}

/// What a change is about, for the heading of its prediction.
pub(super) fn in_words(change: &Change, members: &[Member]) -> String {
    let name = name_of(members, change.tenant);
    match &change.what {
        Alteration::Without => format!("without {name}"),
        Alteration::Graph => format!("{name}: launches as a graph"),
        Alteration::Scale { work, factor } => {
            let what = match work {
                Scaled::Kernel(pattern) => format!("kernels {}", pattern.0),
                Scaled::Layer(pattern) => format!("layers {}", pattern.0),
                Scaled::Call(pattern) => format!("calls {}", pattern.0),
                Scaled::H2d => copy_word(Direction::HostToDevice).to_owned(),
                Scaled::D2h => copy_word(Direction::DeviceToHost).to_owned(),
                Scaled::Stage(stage) => stage.name().to_owned(),
            };
            format!("{name}: {what} × {factor}")
        }
    }
}
