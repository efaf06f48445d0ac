//! A traced phase as a model that can be run again: durations, and how long after what each node begins.
//!
//! A node begins when everything that it waited for is over, and then a little later: by the time that was seen for what let it
//! begin last. For what did not, only a bound was seen; there it is what is usual for the tenant, within that bound. So the model,
//! run without a change, ends every node when it ended. Where tenants were seen to have the device one at a time
//! ([`Model::in_turn`]), the time in which others had it is no part of that, but comes out of running the model.

use std::collections::HashMap;

use jetlag_stats::quantile::Quantile;

use crate::analysis::topics::traces::critical::{
    Graph, Member, NO_FRAME, NO_TENANT, Resource, Via, What, is_other,
};
use crate::record::FrameRecord;

/// Cases from which what is usual is known.
pub(super) const ENOUGH: usize = 11;
/// Share of work that ran beside another tenant's up to which tenants are said to have the device one at a time: stamps are off
/// by about a microsecond.
const BESIDE: f64 = 0.02;
/// From one kernel to the next of a graph: what an H100 was measured to take.
const USUAL_GAP: i64 = 500;
/// The most that it is where nothing was seen.
const MOST_GAP: i64 = 2 * USUAL_GAP;
/// Work that was launched so long before the work in front of it ended was waiting for that alone. A launch takes a few
/// microseconds to reach the device, and stamps of device and host were seen to be 40 µs apart.
const SURELY_QUEUED: i64 = 100_000;

/// A phase as a model.
#[derive(Clone, Debug)]
pub(super) struct Model<'a> {
    pub(super) graph: &'a Graph,
    /// How long each node takes.
    pub(super) took: Vec<i64>,
    /// By edges: how long after the other's end the node may begin. Below 0 where work begins before the call returns.
    pub(super) lag: Vec<i64>,
    /// Nodes that are not there, because their tenant is not.
    pub(super) absent: Vec<bool>,
    /// How long after its release a frame begins if nothing else keeps it.
    pub(super) after_release: Vec<i64>,
    /// What a waiting call takes after the end of what it waited for, and where it has not to wait; by tenant.
    pub(super) woken: HashMap<u16, i64>,
    pub(super) quick: HashMap<u16, i64>,
    /// Whether each tenant is a closed loop.
    closed: Vec<bool>,
    /// Whether tenants have the device one at a time.
    pub(super) in_turn: bool,
    usual: HashMap<(u16, Kind), i64>,
    /// From kernel to kernel, by tenant.
    gaps: HashMap<u16, Gap>,
}

/// The time between two kernels of a stream, the second of which was waiting for the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// The median over kernels that were queued behind others.
    Seen(i64),
    /// Too few were: nearly the shortest time between two kernels, whoever the second waited for. In a graph it is no longer than this.
    Shortest(i64),
    /// There are too few kernels.
    Assumed(i64),
}

/// Which time is taken where the trace has only the most that it can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Between {
    Least,
    Middle,
    Most,
}

impl Gap {
    pub(super) fn ns(self, between: Between) -> i64 {
        match (self, between) {
            (Gap::Seen(ns), _) | (Gap::Shortest(ns) | Gap::Assumed(ns), Between::Most) => ns,
            (Gap::Shortest(ns) | Gap::Assumed(ns), Between::Middle) => (ns / 2).min(USUAL_GAP),
            (Gap::Shortest(_) | Gap::Assumed(_), Between::Least) => 0,
        }
    }

    /// From what was seen of kernels that were queued, and of all.
    fn of(mut queued: Vec<i64>, mut all: Vec<i64>) -> Gap {
        let enough = queued.len() >= ENOUGH;
        if let Some(gap) = Quantile::P50.of(&mut queued, Ord::cmp).filter(|_| enough) {
            return Gap::Seen(gap);
        }
        // Not the very shortest, which may be a bad stamp.
        match all.len().checked_sub(ENOUGH) {
            Some(_) => Gap::Shortest(*all.select_nth_unstable(ENOUGH - 1).1),
            None => Gap::Assumed(MOST_GAP),
        }
    }
}

/// What a usual lag is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Edge(Via),
    Release,
}

impl<'a> Model<'a> {
    pub(super) fn new(graph: &'a Graph, members: &[Member]) -> Model<'a> {
        let in_turn = in_turn(graph);
        let mut model = Model {
            graph,
            took: graph.nodes.iter().map(|node| node.to - node.from).collect(),
            lag: vec![0; graph.edge_count()],
            absent: vec![false; graph.nodes.len()],
            after_release: vec![0; graph.frames.len()],
            woken: HashMap::new(),
            quick: HashMap::new(),
            closed: members.iter().map(|member| member.closed).collect(),
            in_turn,
            usual: HashMap::new(),
            gaps: HashMap::new(),
        };
        model.learn();
        model
    }

    /// Whether the frame's tenant is a closed loop.
    pub(super) fn is_closed(&self, frame: &FrameRecord) -> bool {
        self.closed
            .get(usize::from(frame.tenant))
            .copied()
            .unwrap_or(false)
    }

    /// What is usual for a tenant, where that is known.
    pub(super) fn usual(&self, tenant: u16, via: Via) -> Option<i64> {
        self.usual.get(&(tenant, Kind::Edge(via))).copied()
    }

    /// From kernel to the next that is queued behind it.
    pub(super) fn gap(&self, tenant: u16) -> Gap {
        self.gaps.get(&tenant).copied().unwrap_or(Gap::Assumed(MOST_GAP))
    }

    /// Kernels behind kernels: times between them with the device free, of those that had been launched long before, and of all.
    fn learn_gaps(&mut self) {
        let graph = self.graph;
        let computes = |node: u32| Resource::of(graph.nodes[node as usize].what) == Some(Resource::Compute);
        let mut seen: HashMap<u16, (Vec<i64>, Vec<i64>)> = HashMap::new();
        for (node, at) in graph.nodes.iter().zip(0u32..).filter(|(_, at)| computes(*at)) {
            // From a copy to a kernel it takes longer, since another engine has to be told.
            let in_stream = graph.edges(at).iter().filter(|edge| edge.via == Via::Stream);
            for edge in in_stream.filter(|edge| computes(edge.pred)) {
                let moment = graph.nodes[edge.pred as usize].to;
                if node.from < moment || self.others_within(at, moment, |_| true) > 0 {
                    continue;
                }
                let (queued, all) = seen.entry(node.tenant).or_default();
                all.push(node.from - moment);
                if self.was_queued(at, moment) {
                    queued.push(node.from - moment);
                }
            }
        }
        self.gaps = seen
            .into_iter()
            .map(|(tenant, (queued, all))| (tenant, Gap::of(queued, all)))
            .collect();
    }

    /// Whether the node's work was launched long before this moment.
    fn was_queued(&self, node: u32, moment: i64) -> bool {
        let graph = self.graph;
        let mut launches = graph.edges(node).iter().filter(|edge| edge.via == Via::Launch);
        launches.any(|edge| graph.nodes[edge.pred as usize].to <= moment - SURELY_QUEUED)
    }

    /// Whether the edge is what let the node begin last, and what it would be to begin at once.
    fn binding(&self, node: u32) -> Option<(usize, i64)> {
        let graph = self.graph;
        graph
            .edges(node)
            .iter()
            .zip(graph.first_edge(node)..)
            .map(|(edge, at)| {
                (
                    at,
                    graph.let_begin(node, *edge),
                    graph.nodes[edge.pred as usize].what.is_device(),
                )
            })
            .max_by_key(|(_, moment, is_device)| (*moment, *is_device))
            .map(|(at, moment, _)| (at, moment))
    }

    /// What was seen of each edge, then what is usual, then the lags.
    fn learn(&mut self) {
        let graph = self.graph;
        let mut seen: HashMap<(u16, Kind), Vec<i64>> = HashMap::new();
        let mut calls: HashMap<(u16, bool), Vec<i64>> = HashMap::new();
        let mut bound: Vec<Option<usize>> = vec![None; graph.nodes.len()];
        let mut released: Vec<bool> = vec![false; graph.frames.len()];
        for (node, at) in graph.nodes.iter().zip(0u32..) {
            let Some((edge, moment)) = self.binding(at) else {
                continue;
            };
            let via = graph.edges(at)[edge - graph.first_edge(at)].via;
            if node.what == What::Start {
                let record = &graph.frames[node.frame as usize].record;
                if !self.is_closed(record) && record.released.0 >= moment {
                    released[node.frame as usize] = true;
                    let late = node.from - record.released.0;
                    seen.entry((node.tenant, Kind::Release)).or_default().push(late);
                    continue;
                }
            }
            bound[at as usize] = Some(edge);
            if let What::Exit(_) = node.what {
                let waited = via == Via::Awaits;
                calls
                    .entry((node.tenant, waited))
                    .or_default()
                    .push(node.to - node.from);
                continue;
            }
            if self.others_within(at, moment, |_| true) == 0 {
                seen.entry((node.tenant, Kind::Edge(via)))
                    .or_default()
                    .push(self.seen_lag(at, edge));
            }
        }
        self.learn_gaps();
        self.usual = seen
            .into_iter()
            .filter_map(|(key, mut values)| Some((key, Quantile::P50.of(&mut values, Ord::cmp)?)))
            .collect();
        for ((tenant, waited), mut values) in calls {
            let is_known = values.len() >= ENOUGH;
            if let Some(usual) = Quantile::P50.of(&mut values, Ord::cmp).filter(|_| is_known) {
                let known = if waited { &mut self.woken } else { &mut self.quick };
                known.insert(tenant, usual);
            }
        }
        for at in 0..graph.nodes.len() as u32 {
            for edge in graph.first_edge(at)..graph.first_edge(at) + graph.edges(at).len() {
                let is_bound = bound[at as usize] == Some(edge);
                self.lag[edge] = self.lag_of(at, edge, is_bound);
            }
        }
        for (frame, place) in graph.frames.iter().zip(0..) {
            let record = &frame.record;
            let late = record.started.0 - record.released.0;
            let usual = self.usual.get(&(record.tenant, Kind::Release)).copied();
            self.after_release[place] = match released[place] {
                true => late,
                false => usual.unwrap_or(0).min(late),
            };
        }
    }

    /// From the end of the other node to the begin of this one, as seen.
    fn seen_lag(&self, node: u32, edge: usize) -> i64 {
        let graph = self.graph;
        let edge = graph.edges(node)[edge - graph.first_edge(node)];
        graph.nodes[node as usize].from - self.end_of(node, edge.pred, edge.via)
    }

    /// The end that an edge counts from. Stamps of host and device may contradict each other by a little; only launches may
    /// really be ahead of the end.
    fn end_of(&self, node: u32, pred: u32, via: Via) -> i64 {
        let to = self.graph.nodes[pred as usize].to;
        match via {
            Via::Launch | Via::Untraced => to,
            _ => to.min(self.graph.nodes[node as usize].from),
        }
    }

    fn lag_of(&self, node: u32, edge: usize, is_bound: bool) -> i64 {
        let graph = self.graph;
        let (tenant, here) = (graph.nodes[node as usize].tenant, graph.nodes[node as usize]);
        let Some(found) = graph.edges(node).get(edge - graph.first_edge(node)).copied() else {
            return 0;
        };
        let seen = self.seen_lag(node, edge);
        if let What::Exit(_) = here.what {
            return 0;
        }
        if !is_bound {
            return self.usual(tenant, found.via).unwrap_or(0).min(seen);
        }
        let moment = graph.let_begin(node, found);
        if self.in_turn && here.what.is_device() && self.others_within(node, moment, |_| true) > 0 {
            return self.without_others(node, seen, moment, found.via, |_| true);
        }
        seen
    }

    /// How long other tenants had what the node needs, from a moment to its begin.
    pub(super) fn others_within(&self, node: u32, from: i64, who: impl Fn(u16) -> bool) -> i64 {
        let here = self.graph.nodes[node as usize];
        let resource = match here.what {
            What::Call(_) | What::Enter(_) if self.graph.turns => Some(Resource::Compute),
            what => Resource::of(what),
        };
        let is_other = is_other(here.tenant);
        resource.map_or(0, |resource| {
            let who = |tenant| is_other(tenant) && who(tenant);
            self.graph.busy.of_whom(resource, (from, here.from), who)
        })
    }

    /// What a lag would be if some other tenants had not had the device in it.
    pub(super) fn without_others(
        &self,
        node: u32,
        seen: i64,
        moment: i64,
        via: Via,
        who: impl Fn(u16) -> bool,
    ) -> i64 {
        let tenant = self.graph.nodes[node as usize].tenant;
        let rest = seen - self.others_within(node, moment, who);
        self.usual(tenant, via).map_or(rest, |usual| usual.min(seen))
    }
}

/// Whether tenants had the multiprocessors one at a time, and waited for each other.
fn in_turn(graph: &Graph) -> bool {
    let (mut beside, mut all, mut waited) = (0i64, 0i64, 0usize);
    for (node, at) in graph.nodes.iter().zip(0u32..) {
        if node.tenant == NO_TENANT || Resource::of(node.what) != Some(Resource::Compute) {
            continue;
        }
        let others = is_other(node.tenant);
        beside += graph
            .busy
            .of_whom(Resource::Compute, (node.from, node.to), &others);
        all += node.to - node.from;
        let ready = graph
            .edges(at)
            .iter()
            .map(|edge| graph.let_begin(at, *edge))
            .max();
        let held =
            ready.is_some_and(|ready| graph.busy.of_whom(Resource::Compute, (ready, node.from), &others) > 0);
        waited += usize::from(held && node.frame != NO_FRAME);
    }
    waited >= ENOUGH && (beside as f64) < BESIDE * all as f64
}
