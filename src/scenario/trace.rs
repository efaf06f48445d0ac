//! The traced phases of a run, as typed and as meant. What they are made of is `commands/phases.rs`'s affair.

use super::rules::require;
use super::{ClockKind, Graphs, Trace, TracedPhases};
use crate::units::Nanos;
use crate::written::{Node, ProblemKind, Read, Reader, Spot, one_of};

const KNOWN: &[&str] = &["duration", "graphs", "calls", "phases"];
/// What is traced is kept in memory until the phase ends.
const LONGEST: Nanos = Nanos::from_secs(600);

/// `trace: (duration: "2s", graphs: Nodes, calls: true, phases: Together)`.
#[derive(Debug, Clone, Default)]
pub(super) struct TraceFile {
    duration: Read<Nanos>,
    graphs: Read<Graphs>,
    calls: Read<bool>,
    phases: Read<TracedPhases>,
}

pub(super) fn read(r: &mut Reader, node: &Node, field: &str) -> Option<TraceFile> {
    let example = "fields in parentheses, such as (duration: \"2s\", graphs: Whole), or ()";
    let fields = r.record(node, field, "Trace", example, KNOWN)?;
    Some(TraceFile {
        duration: r.optional(&fields, "duration", Reader::duration),
        graphs: r.optional(&fields, "graphs", one_of("way to trace graphs")),
        calls: r.optional(&fields, "calls", Reader::flag),
        phases: r.optional(&fields, "phases", one_of("choice of phases")),
    })
}

/// The traced phases as meant.
pub(super) fn resolve(typed: &Read<TraceFile>, clock: ClockKind, r: &mut Reader) -> Option<Trace> {
    let Spot { value: typed, place } = typed.given()?;
    if clock == ClockKind::Virtual {
        let kind = ProblemKind::Contradiction {
            what: "`trace`".into(),
            why: "under the virtual clock no GPU runs".into(),
            advice: "leave it out, or use `clock: Real`".into(),
        };
        r.report(place, kind);
    }
    if let Some(spot) = typed.duration.given() {
        let ok = spot.value > Nanos::ZERO && spot.value <= LONGEST;
        let wanted =
            "more than 0 and at most 600s, such as \"2s\": a trace is kept in memory until its phase ends";
        require(r, spot, ok, "`duration` of `trace`", wanted);
    }
    let usual = Trace::default();
    Some(Trace {
        duration: typed.duration.or(usual.duration),
        graphs: typed.graphs.or(usual.graphs),
        calls: typed.calls.or(usual.calls),
        phases: typed.phases.or(usual.phases),
    })
}
