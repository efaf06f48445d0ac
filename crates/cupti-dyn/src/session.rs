//! A trace of this process: opened before CUDA is initialised, kinds switched on, buffers read, ended in order.
//!
//! What CUPTI costs once it was switched on stays until the process ends, so a trace comes last, or in a process of its own.

mod kinds;
mod place;
mod set_up;
mod settings;

use std::time::Duration;

use crate::clock::{Bracket, Brackets, Clock, monotonic_ns};
use crate::error::{Error, Result};
use crate::graph::{self, NodeEvent};
use crate::library::Library;
use crate::loss::{Loss, Refusal};
use crate::pool::POOL;
use crate::record::{Counts, Record, read_buffer};
use crate::rights::Platform;
use crate::sys::{Kind, Status, Subscriber};
use crate::text::{Names, ProcessTexts};
use place::subscribe;
pub use settings::Settings;

/// An open trace. Dropping it ends it, and what was not read is lost: [`Session::finish`] reads all.
#[derive(Debug)]
pub struct Session {
    library: Library,
    subscriber: Subscriber,
    clock: Clock,
    brackets: Brackets,
    enabled: Vec<Kind>,
    /// Single calls that are switched on, by the function that does it.
    calls: Vec<(EnableCall, u32)>,
    refused: Vec<Refusal>,
    names: Names,
    counts: Counts,
    dropped: u64,
    lost_nodes: u64,
}

// SAFETY: the subscriber is a handle that CUPTI takes from any thread; everything else is plain data.
unsafe impl Send for Session {}

/// `cuptiActivityEnableRuntimeApi` and its like for the driver.
type EnableCall = unsafe extern "C" fn(u32, u8) -> u32;

/// How often CUPTI's own clock is read beside ours where its stamps have to be converted.
const BRACKET_EVERY_NS: u64 = 100_000_000;

impl Session {
    /// Opens a trace: looks whether it is allowed, takes CUPTI's only place, and sets what has to be set before CUDA is
    /// initialised and before a kind is switched on. What this release refuses of the settings is in [`Session::refused`].
    ///
    /// # Errors
    /// It is not allowed, somebody else holds CUPTI, or a call fails that nothing goes without.
    pub fn open(library: Library, settings: &Settings) -> Result<Self> {
        Self::open_on(library, settings, &Platform::of_this_process())
    }

    /// As [`Session::open`], on a platform that was looked at already.
    ///
    /// # Errors
    /// As [`Session::open`].
    pub fn open_on(library: Library, settings: &Settings, platform: &Platform) -> Result<Self> {
        if let Some(why) = platform.refusal(library.version().major) {
            return Err(Error::NoRights(why));
        }
        if !POOL.open(
            settings.buffer_bytes.max(LEAST_BUFFER),
            settings.most_buffers.max(1),
        ) {
            return Err(Error::AlreadyOpen);
        }
        let subscriber = match subscribe(library, &settings.name) {
            Ok(subscriber) => subscriber,
            Err(error) => {
                POOL.close();
                return Err(error);
            }
        };
        // From here on dropping it puts everything back.
        let mut session = Self {
            library,
            subscriber,
            clock: Clock::Cupti,
            brackets: Brackets::default(),
            enabled: Vec::new(),
            calls: Vec::new(),
            refused: Vec::new(),
            names: Names::default(),
            counts: Counts::default(),
            dropped: 0,
            lost_nodes: 0,
        };
        session.set_up(settings)?;
        Ok(session)
    }

    /// The library that traces.
    #[must_use]
    pub fn library(&self) -> Library {
        self.library
    }

    /// How stamps are made.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// CUPTI's clock beside ours, for [`Clock::Cupti`]; empty for [`Clock::Monotonic`].
    #[must_use]
    pub fn brackets(&self) -> &Brackets {
        &self.brackets
    }

    /// Kinds that are switched on.
    #[must_use]
    pub fn enabled(&self) -> &[Kind] {
        &self.enabled
    }

    /// Kinds and settings that this release refused.
    #[must_use]
    pub fn refused(&self) -> &[Refusal] {
        &self.refused
    }

    /// Asks CUPTI for what it has: buffers whose records are complete, or with `unfinished` all of them. From time to time from
    /// a thread that does not launch work; it waits for no device.
    ///
    /// # Errors
    /// CUPTI refuses.
    pub fn flush(&self, unfinished: bool) -> Result<()> {
        // SAFETY: it takes a number; the buffers that it hands back meanwhile are the pool's.
        let status = unsafe { (self.library.functions().flush_all)(unfinished.into()) };
        self.library.check("cuptiActivityFlushAll", status)
    }

    /// Waits until there is something to read or the time is over; whether there is.
    pub fn wait(&self, most: Duration) -> bool {
        POOL.wait(most)
    }

    /// Reads the buffers that have come back, and gives how many there were.
    pub fn read(&mut self, mut sink: impl FnMut(Record)) -> usize {
        let mut buffers = 0;
        while let Some(filled) = POOL.take() {
            buffers += 1;
            // SAFETY: CUPTI has just handed the buffer back: the texts in it are this process's and alive.
            let mut texts = unsafe { ProcessTexts::new(&mut self.names) };
            read_buffer(
                filled.valid(),
                self.library,
                &mut texts,
                &mut self.counts,
                &mut sink,
            );
        }
        self.count_dropped();
        self.bracket();
        buffers
    }

    /// Nodes of graphs that were made since this was asked last.
    pub fn graph_nodes(&mut self) -> Vec<NodeEvent> {
        let (events, lost) = graph::take();
        self.lost_nodes += lost;
        events
    }

    /// What was lost so far.
    #[must_use]
    pub fn loss(&self) -> Loss {
        Loss {
            counts: self.counts.clone(),
            pool: POOL.counts(),
            out: POOL.out(),
            dropped: self.dropped,
            lost_nodes: self.lost_nodes,
            cut_names: self.names.cut,
            names_not_utf8: self.names.not_utf8,
        }
    }

    /// Whether this release traces at all, with this driver: `work` does something that gives at least one record of a kind
    /// that is switched on, waits until the device is done, and the record has to come. None of the records that come
    /// meanwhile is part of the trace.
    ///
    /// # Errors
    /// [`Error::TracesNothing`], or CUPTI refuses.
    pub fn self_test(&mut self, kind: Kind, work: impl FnOnce()) -> Result<()> {
        self.flush(true)?;
        self.read(drop);
        let (counts, dropped) = (std::mem::take(&mut self.counts), self.dropped);
        work();
        let (mut wanted, mut seen) = (0u64, 0u64);
        // Records of one piece of work may come in several turns.
        for _ in 0..SELF_TEST_TURNS {
            self.flush(true)?;
            self.read(|record| match is_of(&record, kind) {
                true => wanted += 1,
                false => seen += 1,
            });
            if wanted > 0 {
                break;
            }
            self.wait(SELF_TEST_WAIT);
        }
        self.counts = counts;
        match wanted {
            0 => Err(Error::TracesNothing {
                version: self.library.version(),
                kind,
                seen,
                dropped: self.dropped - dropped,
            }),
            _ => Ok(()),
        }
    }

    /// Ends the trace: flushes, switches the kinds off, reads what is left and gives up CUPTI's place. The devices should be
    /// done with their work.
    pub fn finish(mut self, mut sink: impl FnMut(Record)) -> Ended {
        let mut failed = Vec::new();
        // What fails here is told, and the rest is done all the same.
        failed.extend(self.flush(true).err());
        self.read(&mut sink);
        self.disable_calls();
        for kind in std::mem::take(&mut self.enabled) {
            failed.extend(self.disable(kind).err());
        }
        failed.extend(self.flush(true).err());
        self.read(&mut sink);
        self.bracket_now();
        Ended {
            loss: self.loss(),
            clock: self.clock,
            brackets: std::mem::take(&mut self.brackets),
            refused: std::mem::take(&mut self.refused),
            failed,
        }
        // Dropping it unsubscribes and closes the pool.
    }

    fn refuse(&mut self, refusal: Refusal) {
        log::debug!("{}: {refusal}", self.library.version());
        self.refused.push(refusal);
    }

    fn count_dropped(&mut self) {
        let mut dropped = 0;
        // SAFETY: no context and stream 0 stand for the process's own queue; the number lives through the call.
        let status = unsafe { (self.library.functions().dropped)(std::ptr::null_mut(), 0, &mut dropped) };
        if Status(status).is_success() {
            // It counts from zero again each time that it is asked.
            self.dropped += dropped as u64;
        }
    }

    /// Reads CUPTI's clock beside ours if its stamps need it and the last reading is old.
    fn bracket(&mut self) {
        let last = self.brackets.last().map_or(0, |bracket| bracket.after_ns);
        if monotonic_ns().saturating_sub(last) >= BRACKET_EVERY_NS {
            self.bracket_now();
        }
    }

    fn bracket_now(&mut self) {
        if self.clock == Clock::Monotonic {
            return;
        }
        let mut cupti_ns = 0;
        let before_ns = monotonic_ns();
        // SAFETY: the number lives through the call.
        let status = Status(unsafe { (self.library.functions().get_timestamp)(&mut cupti_ns) });
        let after_ns = monotonic_ns();
        if status.is_success() {
            self.brackets.push(Bracket {
                before_ns,
                cupti_ns,
                after_ns,
            });
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.disable_calls();
        let functions = self.library.functions();
        for kind in std::mem::take(&mut self.enabled) {
            // SAFETY: it takes a number; what it answers changes nothing any more.
            let _ = unsafe { (functions.disable)(kind.0) };
        }
        // SAFETY: the subscriber is ours, and is not used after this.
        let status = unsafe { (functions.unsubscribe)(self.subscriber) };
        if let Err(error) = self.library.check("cuptiUnsubscribe", status) {
            log::debug!("{error}");
        }
        POOL.close();
    }
}

/// A trace that has ended.
#[derive(Debug)]
pub struct Ended {
    /// What was lost.
    pub loss: Loss,
    /// How stamps were made.
    pub clock: Clock,
    /// CUPTI's clock beside ours, where stamps have to be converted.
    pub brackets: Brackets,
    /// Kinds and settings that this release refused.
    pub refused: Vec<Refusal>,
    /// Calls that failed while it ended.
    pub failed: Vec<Error>,
}

/// Less would hold hardly a record.
const LEAST_BUFFER: usize = 1 << 10;
/// How often the self-test looks for its record, and how long it waits in between.
const SELF_TEST_TURNS: usize = 20;
const SELF_TEST_WAIT: Duration = Duration::from_millis(50);

/// Whether a record is of a kind, with both kinds of kernels alike.
fn is_of(record: &Record, kind: Kind) -> bool {
    let kernels = [Kind::KERNEL, Kind::CONCURRENT_KERNEL];
    record.kind() == kind || (kernels.contains(&record.kind()) && kernels.contains(&kind))
}
