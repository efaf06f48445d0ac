//! Reads the profile that ONNX Runtime writes of a session, and finds in it what each execution of the session was.
//!
//! The profile is a JSON array of trace events. Those of a node have the category `Node`, a name that ends in
//! `_kernel_time`, begin and duration in whole microseconds (`ts`, `dur`, both rounded down) since the profile began, and the
//! operator in `args`:
//!
//! ```text
//! {"cat" : "Node","pid" :9,"tid" :12,"dur" :54,"ts" :34760,"ph" : "X","name" :"Add_7_kernel_time","args" : {"op_name" : "Add", …}}
//! ```
//!
//! `tid` is the number that the kernel gives the thread (on Linux `gettid`), as in traces of CUPTI. On a device a node's
//! time is what the host took to launch it. Events come in the order of their ends, so a node that executes others
//! (a `Loop`) comes after them.
//!
//! Pure: the profile's text and the stamps of executions come in. Who makes the file, and when, is in `recording`.

use std::collections::HashMap;
use std::fmt;
use std::io::{BufReader, Read};

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};

use crate::backend::{LateTimes, NodeSpan, NodeTime};
use crate::units::{Nanos, Stamp};

/// Events after which ONNX Runtime keeps no more.
pub const MOST_EVENTS: usize = 1_000_000;
/// What ends the name of a node's event.
const SUFFIX: &str = "_kernel_time";
/// Operators that execute the nodes of a graph within, whose events lie in theirs.
const HOLD_OTHERS: [&str; 7] = [
    "BeamSearch",
    "GreedySearch",
    "If",
    "Loop",
    "Sampling",
    "Scan",
    "WhisperBeamSearch",
];
/// A profile's microsecond.
const US: i64 = 1_000;

/// Why a profile says nothing; each is the end of a sentence.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// It is cut off, or not written as profiles are.
    #[error("it cannot be parsed: {0}")]
    NotParsed(#[from] serde_json::Error),
    /// More events than ONNX Runtime keeps.
    #[error("it has more than {MOST_EVENTS} events")]
    TooMany,
    /// It does not hold what a profile holds.
    #[error("the time of its node `{name}` is not one: begin {begin}, duration {took}")]
    NoTime {
        /// The node.
        name: String,
        /// Its begin.
        begin: i64,
        /// Its duration.
        took: i64,
    },
    /// Stamps of its clock go back.
    #[error("the clock that it uses was set during the run")]
    ClockWasSet,
}

/// One execution of the session, as its caller saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The frame that it was for, where that is to be told.
    pub frame: Option<u64>,
    /// Its begin and end.
    pub ours: [Stamp; 2],
    /// The same on the profile's clock, in nanoseconds.
    pub theirs: [i64; 2],
}

/// A node of the graph that ONNX Runtime executes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Node {
    name: String,
    operator: String,
}

/// One node of one execution; times in microseconds since the profile began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Event {
    node: u32,
    thread: u32,
    begin: i64,
    took: i64,
}

/// The nodes of a profile.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Profile {
    nodes: Vec<Node>,
    /// In the order of their ends.
    events: Vec<Event>,
    /// As many as ONNX Runtime keeps, of whatever kind: it stopped here.
    pub is_full: bool,
}

/// Nodes of executions: which execution, which event.
type Placed = Vec<(usize, Event)>;

/// A profile beside the executions that it is of.
#[derive(Debug)]
pub struct Told {
    profile: Profile,
    /// When the profile began, on its clock.
    start_ns: i64,
    executions: Vec<Execution>,
    placed: Placed,
}

impl Profile {
    /// Reads a profile's text.
    ///
    /// # Errors
    /// It is no whole profile.
    pub fn read(text: impl Read) -> Result<Profile, Fault> {
        let mut collected = Collected::default();
        let mut json = serde_json::Deserializer::from_reader(BufReader::with_capacity(1 << 16, text));
        let seen = Seed(&mut collected).deserialize(&mut json);
        if let Some(fault) = collected.fault {
            return Err(fault);
        }
        seen?;
        json.end()?;
        Ok(Profile {
            nodes: collected.nodes,
            events: collected.events,
            is_full: collected.seen >= MOST_EVENTS,
        })
    }
}

impl Told {
    /// Finds the execution of each event. `start_ns` is when the profile began, on its clock.
    ///
    /// # Errors
    /// That clock did not go on steadily.
    pub fn new(profile: Profile, start_ns: i64, executions: Vec<Execution>) -> Result<Told, Fault> {
        let is_steady = |pair: &[Execution]| pair[0].theirs[1] <= pair[1].theirs[0];
        let ends_after = |one: &Execution| one.theirs[0] <= one.theirs[1];
        if !executions.windows(2).all(is_steady) || !executions.iter().all(ends_after) {
            return Err(Fault::ClockWasSet);
        }
        let mut placed: Placed = Vec::new();
        for event in &profile.events {
            let began = start_ns.saturating_add(event.begin.saturating_mul(US));
            // Begins are rounded down, so one may lie before that of its execution.
            let next = executions.partition_point(|one| one.theirs[0] < began.saturating_add(US));
            let at = next
                .checked_sub(1)
                .filter(|at| began <= executions[*at].theirs[1]);
            placed.extend(at.map(|at| (at, *event)));
        }
        if profile.is_full {
            // Where ONNX Runtime stopped is in the middle of an execution.
            let last = placed.last().map(|(at, _)| *at);
            placed.retain(|(at, _)| Some(*at) != last);
        }
        Ok(Told {
            profile,
            start_ns,
            executions,
            placed,
        })
    }

    /// Executions whose nodes are known, and all of those that belong to a frame.
    pub fn coverage(&self) -> (usize, usize) {
        let of_frame = |at: usize| self.executions[at].frame.is_some();
        let known = self
            .placed
            .chunk_by(|a, b| a.0 == b.0)
            .filter(|of| of_frame(of[0].0));
        let all = (0..self.executions.len()).filter(|at| of_frame(*at));
        (known.count(), all.count())
    }

    /// Whether ONNX Runtime stopped before the end.
    pub fn is_full(&self) -> bool {
        self.profile.is_full
    }

    /// The nodes that executed between two moments, whether or not for a frame that counts, in the order of their ends. They
    /// nest: a node that executes others comes after them.
    pub fn spans(&self, from: Stamp, to: Stamp) -> Vec<NodeSpan> {
        let span = |(at, event): &(usize, Event)| {
            let execution = &self.executions[*at];
            let began = self.start_ns.saturating_add(event.begin.saturating_mul(US));
            let begin = execution.ours[0] + Nanos(began.saturating_sub(execution.theirs[0]));
            NodeSpan {
                thread: event.thread,
                from: begin,
                to: begin + Nanos(event.took.saturating_mul(US)),
                name: self.profile.nodes[event.node as usize].name.clone(),
            }
        };
        let spans = self.placed.iter().map(span);
        spans.filter(|span| span.from <= to && from <= span.to).collect()
    }

    /// Adds each frame's time per node, in the order of execution, after that of the networks before this one.
    pub fn add_to(&self, frames: &mut LateTimes) {
        for (frame, events) in self.frames() {
            let times = events.into_iter().map(|event| {
                let node = &self.profile.nodes[event.node as usize];
                NodeTime {
                    name: node.name.clone(),
                    operator: node.operator.clone(),
                    took: Nanos(event.took.saturating_mul(US)),
                }
            });
            frames.entry(frame).or_default().extend(times);
        }
    }

    /// The events of each frame, without those of nodes within others.
    fn frames(&self) -> impl Iterator<Item = (u64, Vec<Event>)> {
        let executions = self.placed.chunk_by(|a, b| a.0 == b.0);
        executions.filter_map(|of| {
            let frame = self.executions[of[0].0].frame?;
            let mut outer: Vec<Event> = Vec::with_capacity(of.len());
            for (_, event) in of {
                let operator = self.profile.nodes[event.node as usize].operator.as_str();
                if HOLD_OTHERS.contains(&operator) {
                    let within = |inner: &Event| inner.thread == event.thread && inner.begin >= event.begin;
                    while outer.last().is_some_and(within) {
                        outer.pop();
                    }
                }
                outer.push(*event);
            }
            Some((frame, outer))
        })
    }
}

/// An event as it is written; other fields are left out.
#[derive(Deserialize)]
struct Written {
    #[serde(default)]
    cat: String,
    #[serde(default)]
    name: String,
    tid: Option<i64>,
    ts: Option<i64>,
    dur: Option<i64>,
    args: Option<Arguments>,
}

#[derive(Deserialize)]
struct Arguments {
    #[serde(default)]
    op_name: String,
}

#[derive(Default)]
struct Collected {
    nodes: Vec<Node>,
    known: HashMap<Node, u32>,
    events: Vec<Event>,
    seen: usize,
    fault: Option<Fault>,
}

impl Collected {
    fn add(&mut self, written: Written) -> Result<(), Fault> {
        self.seen += 1;
        if self.seen > MOST_EVENTS {
            return Err(Fault::TooMany);
        }
        let Some(name) = written
            .name
            .strip_suffix(SUFFIX)
            .filter(|_| written.cat == "Node")
        else {
            return Ok(());
        };
        let (begin, took) = (written.ts.unwrap_or(-1), written.dur.unwrap_or(-1));
        if begin < 0 || took < 0 || begin.checked_add(took).is_none_or(|end| end > i64::MAX / US) {
            let name = name.to_owned();
            return Err(Fault::NoTime { name, begin, took });
        }
        let node = Node {
            name: name.to_owned(),
            operator: written.args.map_or_else(String::new, |args| args.op_name),
        };
        let number = match self.known.get(&node) {
            Some(number) => *number,
            None => {
                // At most as many as there are events.
                let number = self.nodes.len() as u32;
                self.nodes.push(node.clone());
                self.known.insert(node, number);
                number
            }
        };
        self.events.push(Event {
            node: number,
            thread: written.tid.and_then(|tid| u32::try_from(tid).ok()).unwrap_or(0),
            begin,
            took,
        });
        Ok(())
    }
}

/// Takes the array's events one by one, so that no more than one is held as it is written.
struct Seed<'a>(&'a mut Collected);

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of trace events")
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut events: A) -> Result<(), A::Error> {
        while let Some(written) = events.next_element()? {
            if let Err(fault) = self.0.add(written) {
                self.0.fault = Some(fault);
                return Err(serde::de::Error::custom("no profile"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As ONNX Runtime 1.31 writes it; a text in place of the names and operators.
    fn event(name: &str, operator: &str, ts: i64, dur: i64) -> String {
        format!(
            r#"{{"cat" : "Node","pid" :9,"tid" :12,"dur" :{dur},"ts" :{ts},"ph" : "X","name" :"{name}_kernel_time","args" : {{"node_index" : "63","mem_in_use_delta" : "0","input_type_shape" : [{{"float":[1,3,384,640]}},{{"float":[32]}}],"op_name" : "{operator}","provider" : "CPUExecutionProvider","thread_scheduling_stats" : ""}}}}"#
        )
    }

    const RUN: &str = r#"{"cat" : "Session","pid" :9,"tid" :12,"dur" :90,"ts" :100,"ph" : "X","name" :"model_run","args" : {}}"#;

    fn profile(events: &[String]) -> Profile {
        let text = format!("[\n{},\n{RUN}\n]\n", events.join(",\n"));
        Profile::read(text.as_bytes()).expect("a profile")
    }

    /// The profile begins at 1 ms of its clock, which is 5 s ahead of ours.
    const START: i64 = 1_000_000;
    const AHEAD: i64 = 5_000_000_000;

    /// From and to in microseconds of the profile.
    fn execution(frame: Option<u64>, from: i64, to: i64) -> Execution {
        let theirs = [from, to].map(|us| START + us * US);
        Execution {
            frame,
            theirs,
            ours: theirs.map(|ns| Stamp(ns - AHEAD)),
        }
    }

    fn told(events: &[String], executions: &[Execution]) -> Told {
        Told::new(profile(events), START, executions.to_vec()).expect("steady")
    }

    /// A node's name, its operator and its time in microseconds.
    type Timed = (String, String, i64);

    /// What frames took, node by node.
    fn times(networks: &[&Told]) -> Vec<(u64, Vec<Timed>)> {
        let mut all = LateTimes::new();
        networks.iter().for_each(|told| told.add_to(&mut all));
        let node = |time: NodeTime| (time.name, time.operator, time.took.0 / US);
        all.into_iter()
            .map(|(frame, times)| (frame, times.into_iter().map(node).collect()))
            .collect()
    }

    fn named(name: &str, operator: &str, us: i64) -> Timed {
        (name.to_owned(), operator.to_owned(), us)
    }

    #[test]
    fn nodes_are_told_by_frame_in_the_order_of_their_execution() {
        let events = [
            event("warm", "Conv", 10, 5),
            event("a", "Conv", 100, 40),
            event("b", "Relu", 141, 0),
            event("a", "Conv", 200, 42),
            event("b", "Relu", 243, 1),
        ];
        let executions = [
            execution(None, 5, 50),
            execution(Some(0), 100, 190),
            execution(Some(1), 200, 290),
        ];
        let told = told(&events, &executions);
        let frame = |a, b| vec![named("a", "Conv", a), named("b", "Relu", b)];
        assert_eq!(times(&[&told]), [(0, frame(40, 0)), (1, frame(42, 1))]);
        assert_eq!((told.coverage(), told.is_full()), ((2, 2), false));
    }

    /// What ONNX Runtime did between two executions of ours (its own first one, say) is nobody's.
    #[test]
    fn events_outside_of_every_execution_belong_to_none() {
        let events = [event("a", "Conv", 3, 1), event("a", "Conv", 95, 2)];
        let executions = [execution(Some(0), 10, 90), execution(Some(1), 100, 190)];
        let told = told(&events, &executions);
        assert_eq!(times(&[&told]), []);
        assert_eq!(told.coverage(), (0, 2));
    }

    /// A begin is rounded down to a microsecond, so it may lie before that of its execution.
    #[test]
    fn an_event_that_begins_with_its_execution_belongs_to_it() {
        let mut one = execution(Some(7), 100, 190);
        one.theirs[0] += 999;
        let told = told(&[event("a", "Conv", 100, 40)], &[one]);
        assert_eq!(times(&[&told]), [(7, vec![named("a", "Conv", 40)])]);
    }

    #[test]
    fn the_networks_of_a_frame_come_one_after_the_other() {
        let encoder = told(&[event("e", "MatMul", 10, 4)], &[execution(Some(3), 10, 20)]);
        let head = told(&[event("h", "Conv", 30, 6)], &[execution(Some(3), 30, 40)]);
        let both = vec![named("e", "MatMul", 4), named("h", "Conv", 6)];
        assert_eq!(times(&[&encoder, &head]), [(3, both)]);
    }

    /// Their time is in that of the node which executes them, and would count twice.
    #[test]
    fn nodes_within_a_loop_are_in_its_time_and_not_told_beside_it() {
        let events = [
            event("before", "Conv", 100, 3),
            event("inner", "Add", 105, 2),
            event("inner", "Add", 108, 2),
            event("loop", "Loop", 104, 8),
            event("after", "Conv", 113, 1),
        ];
        let told = told(&events, &[execution(Some(0), 100, 190)]);
        let expected = vec![
            named("before", "Conv", 3),
            named("loop", "Loop", 8),
            named("after", "Conv", 1),
        ];
        assert_eq!(times(&[&told]), [(0, expected)]);
        let spans = told.spans(Stamp(i64::MIN), Stamp(i64::MAX));
        assert_eq!(spans.len(), 5, "a launch is the innermost node's");
    }

    #[test]
    fn spans_are_on_our_line_and_within_the_window() {
        let events = [
            event("a", "Conv", 100, 40),
            event("b", "Relu", 150, 10),
            event("c", "Relu", 170, 10),
        ];
        let told = told(&events, &[execution(None, 90, 190)]);
        let at = |us: i64| Stamp(START + us * US - AHEAD);
        let span = |name: &str, from, to| NodeSpan {
            thread: 12,
            from: at(from),
            to: at(to),
            name: name.to_owned(),
        };
        assert_eq!(told.spans(at(141), at(165)), [span("b", 150, 160)]);
        assert_eq!(
            told.spans(at(140), at(150)),
            [span("a", 100, 140), span("b", 150, 160)]
        );
    }

    #[test]
    fn fields_and_events_that_nobody_knows_are_left_out() {
        let kernel = r#"{"cat" : "Kernel","name" :"sgemm_kernel_time","ts" :100,"dur" :4,"args" : {"stream" : 7},"new" : [[{}]]}"#;
        let fence =
            r#"{"cat" : "Node","name" :"a_fence_before","ts" :100,"dur" :1,"args" : {"op_name" : "Conv"}}"#;
        let bare = r#"{"cat" : "Node","name" :"x_kernel_time","ts" :100,"dur" :4}"#;
        let found = profile(&[
            kernel.to_owned(),
            fence.to_owned(),
            "{}".to_owned(),
            bare.to_owned(),
        ]);
        let told = Told::new(found, START, vec![execution(Some(0), 100, 190)]).expect("steady");
        assert_eq!(times(&[&told]), [(0, vec![named("x", "", 4)])]);
        assert_eq!(Profile::read("[]".as_bytes()).expect("empty"), Profile::default());
    }

    #[test]
    fn what_is_no_whole_profile_is_refused_in_a_sentence() {
        let whole = format!("[\n{},\n{RUN}\n]\n", event("a", "Conv", 1, 2));
        for length in 0..whole.trim_end().len() {
            let cut = Profile::read(&whole.as_bytes()[..length]);
            assert!(matches!(cut, Err(Fault::NotParsed(_))), "{length}");
        }
        let deep = "[".repeat(100_000);
        let cases = [
            ("", "EOF"),
            ("{}", "expected an array of trace events"),
            ("[1]", "invalid type"),
            ("[] []", "trailing characters"),
            ("\u{1}\u{0}", "expected value"),
            (
                r#"[{"cat" : "Node","name" :"a_kernel_time","ts" :"1"}]"#,
                "invalid type",
            ),
            (
                r#"[{"cat" : "Node","name" :"a_kernel_time","ts" :1}]"#,
                "duration -1",
            ),
            (
                r#"[{"cat" : "Node","name" :"a_kernel_time","ts" :1,"dur" :-4}]"#,
                "node `a` is not one: begin 1, duration -4",
            ),
            (
                r#"[{"cat" : "Node","name" :"a_kernel_time","ts" :1,"dur" :9223372036854775807}]"#,
                "is not one",
            ),
            // Names are written as they are, so a quotation mark in one ends it.
            (r#"[{"cat" : "Node","name" :"a"b_kernel_time"}]"#, "expected"),
            (deep.as_str(), "invalid type"),
        ];
        for (text, said) in cases {
            let found = Profile::read(text.as_bytes()).expect_err(said).to_string();
            assert!(found.contains(said), "{found}");
        }
    }

    #[test]
    fn a_clock_that_was_set_back_places_nothing() {
        let executions = [execution(Some(0), 100, 190), execution(Some(1), 50, 90)];
        let refused = Told::new(Profile::default(), START, executions.to_vec());
        assert!(matches!(refused, Err(Fault::ClockWasSet)));
        let refused = Told::new(Profile::default(), START, vec![execution(None, 9, 3)]);
        assert!(matches!(refused, Err(Fault::ClockWasSet)));
    }

    /// A million events, of which the last execution is cut off; one more is not ONNX Runtime's.
    #[test]
    fn a_profile_that_reached_its_limit_covers_whole_executions() {
        let one = |name: &str, ts: i64| {
            format!(r#"{{"cat":"Node","name":"{name}_kernel_time","tid":1,"ts":{ts},"dur":1}}"#)
        };
        let frames = MOST_EVENTS as i64 / 3;
        let mut text = String::from("[");
        for frame in 0..frames {
            for (place, name) in ["a", "b", "c"].into_iter().enumerate() {
                text += &one(name, frame * 10 + place as i64);
                text.push(',');
            }
        }
        text += &one("a", frames * 10);
        let full = Profile::read(format!("{text}]").as_bytes()).expect("full");
        assert!(full.is_full);
        let executions = (0..=frames)
            .map(|frame| execution(Some(frame as u64), frame * 10, frame * 10 + 9))
            .collect();
        let told = Told::new(full, START, executions).expect("steady");
        let frames = usize::try_from(frames).expect("positive");
        assert_eq!(told.coverage(), (frames, frames + 1));
        let more = format!("{text},{}]", one("b", 9));
        assert!(matches!(Profile::read(more.as_bytes()), Err(Fault::TooMany)));
    }
}
