//! Chooses traced frames to be drawn, and fills their lanes: the median frame of each tenant, and a slow one beside it.
//!
//! Of the traced phase with the most tenants alone: a page shows one. The critical path is that of `critical`; how it looks is
//! for the report to say.

use std::collections::{BTreeMap, HashSet};

use crate::analysis::gathering::plot::{Bar, FramePlot, Hue, Lane, LaneKind, TracedPlot, merged};
use crate::analysis::gathering::trace::stages;
use crate::analysis::gathering::traced::{Traced, TracedPhase};
use crate::analysis::topics::traces::critical::{
    Account, Graph, Member, Segment, What, build, copy_word, path, words,
};
use crate::record::activity::{Direction, WaitKind, Work};
use crate::record::{Activity, FrameRecord};

/// Layers with a colour of their own.
const LAYERS: usize = 6;
/// Lanes of one kind; what is beyond shares the last one.
const LANES: usize = 4;
/// Bars of a lane: more cannot be told apart on any screen.
const SLOTS: usize = 1000;
/// The slow frame: so many take at most as long.
const SLOW: f64 = 0.975;
/// Frames from which one is chosen as slow.
const ENOUGH: usize = 20;

/// The drawn frames of each tenant that has any.
pub(in crate::analysis) fn drawn(traced: &Traced, members: &[Member]) -> Vec<TracedPlot> {
    let Some((phase_place, phase)) = traced.principal() else {
        return Vec::new();
    };
    let (graph, _) = build(phase, &traced.names, members);
    let measured: HashSet<(u16, u64)> = traced
        .measured(phase)
        .iter()
        .map(|frame| (frame.tenant, frame.sequence))
        .collect();
    let of_tenant = |tenant: u16| {
        let chosen = chosen(&graph, &measured, tenant);
        (!chosen.is_empty()).then(|| {
            let place = |place: u32| graph.frames[place as usize].record;
            let layers = layers(
                phase,
                &chosen.iter().map(|(at, _)| place(*at)).collect::<Vec<_>>(),
            );
            let drawing = Drawing {
                traced,
                phase,
                graph: &graph,
                members,
                layers: &layers,
            };
            TracedPlot {
                phase: phase_place,
                tenant: usize::from(tenant),
                layers: layers
                    .iter()
                    .map(|layer| traced.text(Some(*layer)).unwrap_or_default().to_owned())
                    .collect(),
                of: of(&graph, &measured, tenant).len() as u64,
                frames: chosen
                    .into_iter()
                    .map(|(place, rank)| drawing.frame(place, rank))
                    .collect(),
            }
        })
    };
    phase
        .spec
        .members
        .iter()
        .filter_map(|&tenant| of_tenant(tenant))
        .collect()
}

/// A tenant's measured frames with work on a GPU, by response time.
fn of(graph: &Graph, measured: &HashSet<(u16, u64)>, tenant: u16) -> Vec<u32> {
    let is_of = |record: &FrameRecord| {
        record.tenant == tenant && measured.contains(&(record.tenant, record.sequence))
    };
    let all = graph.frames.iter().zip(0u32..);
    let mut own: Vec<u32> = all
        .filter(|(frame, _)| frame.works > 0 && is_of(&frame.record))
        .map(|(_, place)| place)
        .collect();
    own.sort_by_key(|&place| (graph.frames[place as usize].record.response(), place));
    own
}

/// The median frame and, of enough frames, a slow one, each with the share of frames that took at most as long.
fn chosen(graph: &Graph, measured: &HashSet<(u16, u64)>, tenant: u16) -> Vec<(u32, f64)> {
    let own = of(graph, measured, tenant);
    let at = |share: f64| {
        let rank = ((own.len() as f64 * share).ceil() as usize).clamp(1, own.len().max(1));
        let place = own.get(rank - 1)?;
        Some((*place, rank as f64 / own.len() as f64))
    };
    let slow = (own.len() >= ENOUGH).then(|| at(SLOW)).flatten();
    at(0.5).into_iter().chain(slow).collect()
}

/// The layers of these frames that took most time on a GPU.
fn layers(phase: &TracedPhase, frames: &[FrameRecord]) -> Vec<u32> {
    let mut took: BTreeMap<u32, i64> = BTreeMap::new();
    for activity in phase.processes.values().flatten() {
        let is_own = || frames.iter().any(|frame| owned(activity, frame));
        if let (Some(_), Some(layer)) = (activity.work.on_device(), activity.owner.layer)
            && !matches!(activity.work, Work::Copy { .. })
            && is_own()
        {
            let sum = took.entry(layer).or_default();
            *sum = sum.saturating_add(activity.duration().0.max(0));
        }
    }
    let mut layers: Vec<(u32, i64)> = took.into_iter().collect();
    layers.sort_by_key(|&(layer, took)| (std::cmp::Reverse(took), layer));
    layers.into_iter().take(LAYERS).map(|(layer, _)| layer).collect()
}

fn owned(activity: &Activity, frame: &FrameRecord) -> bool {
    activity.owner.frame == Some(frame.sequence) && activity.owner.tenant == Some(frame.tenant)
}

/// What frames are drawn from.
struct Drawing<'a> {
    traced: &'a Traced,
    phase: &'a TracedPhase,
    graph: &'a Graph,
    members: &'a [Member],
    layers: &'a [u32],
}

/// Lanes of one kind by what tells them apart, while they are filled.
type Lanes = BTreeMap<(LaneKind, u64), Vec<Bar>>;

impl Drawing<'_> {
    fn frame(&self, place: u32, rank: f64) -> FramePlot {
        let record = &self.graph.frames[place as usize].record;
        let way = path(self.graph, place);
        let marks = Marks::of(self.graph, &way);
        let time = Time {
            from: record.released.0,
            to: record.finished.0,
        };
        let mut lanes = Lanes::new();
        self.stages(record, &marks, time, &mut lanes);
        self.activities(record, &marks, time, &mut lanes);
        let mut on_path: Vec<Bar> = way
            .iter()
            .rev()
            .filter_map(|segment| {
                let (kind, name) = words(segment.account, &self.traced.names, self.members);
                time.bar((segment.from, segment.to), hue_on_path(kind), name, false)
            })
            .collect();
        lanes.entry((LaneKind::Path, 0)).or_default().append(&mut on_path);
        FramePlot {
            number: record.sequence,
            rank,
            response_ns: record.response().0,
            lanes: self.named(lanes),
        }
    }

    /// The wait before the frame was begun, and its stages.
    fn stages(&self, record: &FrameRecord, marks: &Marks, time: Time, lanes: &mut Lanes) {
        let late = record.released + record.lateness;
        let before = [
            (record.released.0, late.0, "late release"),
            (
                late.0.max(record.released.0),
                record.started.0,
                "wait for a free slot",
            ),
        ];
        let stages = stages(record).map(|(stage, span)| (span.from.0, span.to.0, stage.name()));
        let bars = before.into_iter().chain(stages).filter_map(|(from, to, name)| {
            time.bar((from, to), Hue::Host, name.to_owned(), marks.in_stage(from, to))
        });
        lanes.entry((LaneKind::Stages, 0)).or_default().extend(bars);
    }

    /// What the tracer saw in the frame's time, the frame's own and that of others.
    fn activities(&self, record: &FrameRecord, marks: &Marks, time: Time, lanes: &mut Lanes) {
        let activities = || self.phase.processes.values().flatten();
        let gpus: HashSet<u16> = activities()
            .filter(|activity| owned(activity, record))
            .filter_map(|activity| Some(activity.work.on_device()?.device))
            .collect();
        // The end of the last call of each thread: calls within calls are part of them.
        let mut until: BTreeMap<u32, i64> = BTreeMap::new();
        for activity in activities() {
            let span = (activity.from.0, activity.to.0.max(activity.from.0));
            if span.0 >= time.to || span.1 <= time.from {
                continue;
            }
            let (lane, hue, name, on_path) = match (activity.work, owned(activity, record)) {
                (Work::Call { thread, .. }, true) => {
                    let last = until.entry(thread).or_insert(i64::MIN);
                    if span.1 <= *last {
                        continue;
                    }
                    *last = span.1;
                    let on_path = marks.in_call(span.0, span.1);
                    ((LaneKind::Calls, u64::from(thread)), Hue::Host, None, on_path)
                }
                (
                    Work::Wait {
                        how: WaitKind::Event | WaitKind::Stream | WaitKind::Context,
                        ..
                    },
                    true,
                ) => (
                    (LaneKind::Waits, 0),
                    Hue::Wait,
                    Some("the host waits for the GPU"),
                    false,
                ),
                (Work::Copy { direction, .. }, true) if direction != Direction::HostToHost => (
                    (LaneKind::Copies, 0),
                    Hue::Copy,
                    Some(copy_word(direction)),
                    marks.has(span),
                ),
                (work, true) => match work.on_device() {
                    Some(on) => (
                        (
                            LaneKind::Stream,
                            u64::from(on.device) << 48 ^ u64::from(on.context) << 32 ^ u64::from(on.stream),
                        ),
                        self.hue(activity),
                        Some(work.word()),
                        marks.has(span),
                    ),
                    None => continue,
                },
                (work, false) => match work.on_device() {
                    Some(on) if gpus.contains(&on.device) => (
                        (
                            LaneKind::Others,
                            activity.owner.tenant.map_or(u64::from(u16::MAX), u64::from),
                        ),
                        Hue::Others,
                        Some(match work {
                            Work::Copy { direction, .. } => copy_word(direction),
                            work => work.word(),
                        }),
                        false,
                    ),
                    _ => continue,
                },
            };
            let mut text = self
                .traced
                .text(activity.name)
                .or(name)
                .unwrap_or("(no name)")
                .to_owned();
            if let Some(layer) = self
                .traced
                .text(activity.owner.layer)
                .filter(|_| lane.0 == LaneKind::Stream)
            {
                text = format!("{layer}: {text}");
            }
            lanes
                .entry(lane)
                .or_default()
                .extend(time.bar(span, hue, text, on_path));
        }
    }

    fn hue(&self, activity: &Activity) -> Hue {
        match activity.owner.layer {
            None => Hue::NoLayer,
            Some(layer) => self
                .layers
                .iter()
                .position(|known| *known == layer)
                .map_or(Hue::OtherLayer, Hue::Layer),
        }
    }

    /// Lanes with their names, the longest of a kind first, each with few bars.
    fn named(&self, lanes: Lanes) -> Vec<Lane> {
        let mut by_kind: BTreeMap<LaneKind, Vec<(u64, Vec<Bar>)>> = BTreeMap::new();
        for ((kind, which), bars) in lanes {
            if !bars.is_empty() {
                by_kind.entry(kind).or_default().push((which, bars));
            }
        }
        let mut named = Vec::new();
        for (kind, mut all) in by_kind {
            let length = |bars: &[Bar]| bars.iter().map(|bar| bar.to - bar.from).sum::<i64>();
            all.sort_by_key(|(which, bars)| (std::cmp::Reverse(length(bars)), *which));
            let (several, count) = (all.len() > 1, all.len());
            for (nth, (which, bars)) in all.into_iter().enumerate() {
                let name = match kind {
                    LaneKind::Stages => "stages".to_owned(),
                    LaneKind::Calls if several => format!("calls, thread {which}"),
                    LaneKind::Calls => "calls".to_owned(),
                    LaneKind::Waits => "host waits".to_owned(),
                    LaneKind::Stream => format!("stream {}", which & 0xffff_ffff),
                    LaneKind::Copies => "copies".to_owned(),
                    LaneKind::Others => self
                        .members
                        .get(usize::try_from(which).unwrap_or(usize::MAX))
                        .map_or("of no tenant".to_owned(), |member| format!("of {}", member.name)),
                    LaneKind::Path => "critical path".to_owned(),
                };
                if nth < LANES {
                    named.push(Lane { kind, name, bars });
                } else if let Some(last) = named.last_mut() {
                    last.name = format!("{} others", count - LANES + 1);
                    last.bars.extend(bars);
                }
            }
        }
        for lane in &mut named {
            lane.bars.sort_by_key(|bar| (bar.from, bar.to));
            lane.bars = merged(&lane.bars, SLOTS);
        }
        named
    }
}

fn hue_on_path(kind: &str) -> Hue {
    match kind {
        "kernel" | "fill" | "graph" | "device" => Hue::Device,
        "copy" => Hue::Copy,
        "busy" => Hue::Others,
        _ => Hue::Host,
    }
}

/// The frame's time.
#[derive(Clone, Copy)]
struct Time {
    from: i64,
    to: i64,
}

impl Time {
    /// The part of a stretch that is in it; none where nothing is.
    fn bar(self, (from, to): (i64, i64), hue: Hue, text: String, on_path: bool) -> Option<Bar> {
        let (from, to) = (from.max(self.from), to.min(self.to));
        (from < to).then(|| Bar {
            from: from.saturating_sub(self.from),
            to: to.saturating_sub(self.from),
            hue,
            on_path,
            text,
            count: 1,
        })
    }
}

/// What of a frame is on its critical path.
struct Marks {
    /// Work on a GPU: its begin and end.
    works: HashSet<(i64, i64)>,
    calls: Vec<(i64, i64)>,
    stages: Vec<(i64, i64)>,
}

impl Marks {
    fn of(graph: &Graph, way: &[Segment]) -> Marks {
        let spans = |is: fn(&Account) -> bool| {
            let of = way.iter().filter(|segment| is(&segment.account));
            of.map(|segment| (segment.from, segment.to)).collect()
        };
        Marks {
            works: way
                .iter()
                .filter_map(|segment| graph.nodes.get(segment.node as usize))
                .filter(|node| What::is_device(node.what))
                .map(|node| (node.from, node.to))
                .collect(),
            calls: spans(|account| matches!(account, Account::Call(_))),
            stages: spans(|account| {
                matches!(account, Account::Stage(_) | Account::Queueing | Account::Lateness)
            }),
        }
    }

    fn has(&self, span: (i64, i64)) -> bool {
        self.works.contains(&span)
    }

    fn in_call(&self, from: i64, to: i64) -> bool {
        self.calls.iter().any(|span| span.0 < to && span.1 > from)
    }

    fn in_stage(&self, from: i64, to: i64) -> bool {
        self.stages.iter().any(|span| span.0 < to && span.1 > from)
    }
}
