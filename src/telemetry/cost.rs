//! What sampling costs, measured beside the sampling: the proof that measuring did not change the result.
//!
//! All samplers share a thread, which has a clock of its own (CLOCK_THREAD_CPUTIME_ID: time on a processor, in the kernel
//! included, waiting excluded). What each sampler takes of it to read, and what the thread takes in all (handing readings
//! over and waking included), becomes readings of the source [`SOURCE`] in percent of one core. Recording, JSON and
//! the dashboard are other threads, and in `host/own_cpu_load`; programs that a sampler starts are not of this process.

use rustix::time::{ClockId, clock_gettime};

use crate::record::{Averaging, Event, Measurand, Part, Quantity, SampleRecord, SignalRecord};
use crate::units::{Nanos, Stamp};

/// The word for this source in the run file.
pub(super) const SOURCE: &str = "samplers";
/// The signal of the whole thread.
pub(super) const ALL: &str = "all_cost";
/// Time between two readings of the cost.
pub(super) const EVERY: Nanos = Nanos::from_secs(1);

/// Processor time that the calling thread has taken so far.
pub(super) fn thread_time() -> Nanos {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    Nanos(t.tv_sec * 1_000_000_000 + t.tv_nsec)
}

/// Sums up what the samplers of the calling thread take.
pub(super) struct Costs {
    /// Signal of each sampler, and what it took since `since`.
    parts: Vec<(String, Nanos)>,
    since: Stamp,
    thread_then: Nanos,
    described: bool,
}

impl Costs {
    /// From now on, of samplers of these names.
    pub(super) fn new<'n>(names: impl Iterator<Item = &'n str>, now: Stamp) -> Costs {
        Costs {
            parts: names
                .map(|name| (format!("{}_cost", name.replace(' ', "_")), Nanos::ZERO))
                .collect(),
            since: now,
            thread_then: thread_time(),
            described: false,
        }
    }

    /// Takes in what one reading of the sampler at `position` took.
    pub(super) fn add(&mut self, position: usize, took: Nanos) {
        self.parts[position].1 += took;
    }

    /// States what was taken, if it is time to, or `at_once`; and begins anew.
    pub(super) fn state(&mut self, now: Stamp, at_once: bool, emit: &mut dyn FnMut(Event)) {
        let over = now - self.since;
        if over <= Nanos::ZERO || (over < EVERY && !at_once) {
            return;
        }
        if !std::mem::replace(&mut self.described, true) {
            for (signal, _) in &self.parts {
                emit(Event::Signal(described(signal, "while it reads")));
            }
            emit(Event::Signal(described(ALL, "all in all")));
        }
        let mut reading = |signal: &str, took: Nanos| {
            emit(Event::Sample(SampleRecord {
                at: now,
                source: SOURCE.to_owned(),
                signal: signal.to_owned(),
                value: Some(100.0 * took.as_secs_f64() / over.as_secs_f64()),
                unit: "percent".to_owned(),
            }));
        };
        for (signal, took) in &mut self.parts {
            reading(signal, std::mem::replace(took, Nanos::ZERO));
        }
        let thread = thread_time();
        reading(ALL, thread - self.thread_then);
        (self.since, self.thread_then) = (now, thread);
    }
}

fn described(signal: &str, what: &str) -> SignalRecord {
    SignalRecord {
        source: SOURCE.to_owned(),
        signal: signal.to_owned(),
        unit: "percent".to_owned(),
        measurand: Measurand::new(Quantity::Load, Part::Sampler),
        origin: format!("CLOCK_THREAD_CPUTIME_ID, {what}; of one core"),
        period: Some(EVERY),
        averaging: Averaging::Mean,
        window: Some(EVERY),
        ..SignalRecord::default()
    }
}
