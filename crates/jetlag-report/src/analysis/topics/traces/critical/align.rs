//! The device's stamps beside the host's.
//!
//! CUPTI takes stamps of kernels and copies on the device and converts them to the host's clock. Between two comparisons of the
//! clocks they were seen to drift apart by 10 to 15 µs a second, up to 40 µs. No work begins before the call that asked for it, and no
//! wait ends before the work that it waited for. Where stamps say so, the device's are moved by the least that puts this right, all
//! of the same moment by the same amount, so that durations and gaps stay.

use std::collections::HashMap;

use super::gather::{CallClass, Process};
use super::node::NONE;

/// Stamps of so much time are moved together: in it, clocks were seen to drift apart by 0.2 µs.
const TOGETHER: i64 = 10_000_000;
/// Stamps that are off by more are no drift; they are not moved together.
const MOST: i64 = 200_000;

/// A device's stamps of one moment.
type Moment = (u16, i64);

fn moment(device: u16, at: i64) -> Moment {
    (device, at.div_euclid(TOGETHER))
}

/// Moves work that began before the call that asked for it, and answers the largest move of a moment. Work stays in the order in
/// which it began.
pub(super) fn behind_calls(process: &mut Process) -> i64 {
    let mut early: HashMap<Moment, i64> = HashMap::new();
    for work in &process.works {
        if let Some(call) = process.calls.get(work.call as usize) {
            let by = call.from.saturating_add(1).saturating_sub(work.from);
            let known = early.entry(moment(work.on.device, work.from)).or_default();
            *known = (*known).max(by).clamp(0, MOST);
        }
    }
    for work in &mut process.works {
        let by = early
            .get(&moment(work.on.device, work.from))
            .copied()
            .unwrap_or(0);
        let asked = process.calls.get(work.call as usize).map(|call| call.from);
        let alone = asked.map_or(0, |asked| asked.saturating_add(1).saturating_sub(work.from));
        let by = by.max(alone);
        work.from = work.from.saturating_add(by);
        work.to = work.to.saturating_add(by);
    }
    process.works.sort_by_key(|work| (work.from, work.to));
    early.into_values().max().unwrap_or(0)
}

/// Moves work that ended after the call that waited for it, as far as it does not begin before its own call then. Answers the
/// largest move. What calls waited for is known.
pub(super) fn before_returns(process: &mut Process) -> i64 {
    let mut late: HashMap<Moment, i64> = HashMap::new();
    for call in &process.calls {
        let is_certain = call.wait != NONE || call.class == CallClass::BlockingCopy;
        let awaited = call.awaited.and_then(|at| process.works.get(at as usize));
        if let (true, Some(work)) = (is_certain, awaited) {
            let by = work.to.saturating_sub(call.to);
            let known = late.entry(moment(work.on.device, work.from)).or_default();
            *known = (*known).max(by).clamp(0, MOST);
        }
    }
    late.retain(|_, by| *by > 0);
    if late.is_empty() {
        return 0;
    }
    // How far work of the moment may move.
    let mut room: HashMap<Moment, i64> = HashMap::new();
    for work in &process.works {
        if let Some(call) = process.calls.get(work.call as usize) {
            let by = work.from.saturating_sub(call.from.saturating_add(1)).max(0);
            let known = room.entry(moment(work.on.device, work.from)).or_insert(by);
            *known = (*known).min(by);
        }
    }
    let mut most = 0;
    for work in &mut process.works {
        let of = moment(work.on.device, work.from);
        let by = late
            .get(&of)
            .copied()
            .unwrap_or(0)
            .min(room.get(&of).copied().unwrap_or(0));
        work.from = work.from.saturating_sub(by);
        work.to = work.to.saturating_sub(by);
        most = most.max(by);
    }
    most
}
