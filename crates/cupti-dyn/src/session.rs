//! A trace of this process: opened before CUDA is initialised, kinds switched on, buffers read, ended in order.
//!
//! What CUPTI costs once it was switched on stays until the process ends, so a trace comes last, or in a process of its own.

use std::ffi::{CString, c_void};
use std::time::Duration;

use crate::clock::{Bracket, Brackets, Clock, monotonic_ns, stamp};
use crate::error::{Error, Result};
use crate::graph::{self, NodeEvent};
use crate::library::Library;
use crate::loss::{Loss, Refusal, Why};
use crate::pool::{POOL, buffer_completed, buffer_requested};
use crate::record::{Counts, Record, read_buffer};
use crate::rights::Platform;
use crate::sys::{
    Attribute, Domain, Kind, ResourceCallback, Status, Subscriber, SubscriberParams, ThreadIdType,
};
use crate::text::{Names, ProcessTexts};

/// How a trace is set up. What says so has to be known before CUDA is initialised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What another tool is told that holds CUPTI's place, from 13.0 on.
    pub name: String,
    /// The size of a buffer.
    pub buffer_bytes: usize,
    /// The most buffers that there may be; when CUPTI needs more, it drops records and says how many.
    pub most_buffers: usize,
    /// Whether each thread that calls CUDA has a buffer of its own, from 12.3 on: they wait less for each other, and there have to
    /// be as many buffers. CUPTI 13.5 does so if it is not told.
    pub per_thread: bool,
    /// Whether kernels say when they were queued and submitted. Before CUDA is initialised.
    pub latency: bool,
    /// The size of the buffers on the device, 3.2 MB if nothing is said. Before CUDA is initialised.
    pub device_buffer_bytes: Option<usize>,
    /// The most buffers on the device of a context, 250 if nothing is said. Before CUDA is initialised.
    pub most_device_buffers: Option<usize>,
    /// Whether tags of graphs' nodes are noted ([`Session::graph_nodes`]).
    pub graph_nodes: bool,
    /// Whether waits that only asked and did not wait are recorded, too; all are before 12.8.
    pub unfinished_queries: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: "cupti-dyn".into(),
            buffer_bytes: 4 << 20,
            most_buffers: 16,
            per_thread: false,
            latency: false,
            device_buffer_bytes: None,
            most_device_buffers: None,
            graph_nodes: false,
            unfinished_queries: false,
        }
    }
}

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

    fn set_up(&mut self, settings: &Settings) -> Result<()> {
        let functions = self.library.functions();
        // SAFETY: it takes a number.
        let status = unsafe { (functions.set_thread_id_type)(ThreadIdType::SYSTEM.0) };
        self.note("thread numbers as Linux has them", status);
        self.set_attribute(Attribute::ZEROED_OUT_ACTIVITY_BUFFER, 1u8);
        // Before 12.3 there was one buffer for all, and no such setting.
        if settings.per_thread || self.library.version().number >= FIRST_PER_THREAD {
            self.set_attribute(
                Attribute::PER_THREAD_ACTIVITY_BUFFER,
                u8::from(settings.per_thread),
            );
        }
        if let Some(bytes) = settings.device_buffer_bytes {
            self.set_attribute(Attribute::DEVICE_BUFFER_SIZE, bytes);
        }
        if let Some(most) = settings.most_device_buffers {
            self.set_attribute(Attribute::DEVICE_BUFFER_POOL_LIMIT, most);
        }
        if settings.latency {
            // SAFETY: it takes a number.
            let status = unsafe { (functions.latency_timestamps)(1) };
            self.note("when kernels were queued and submitted", status);
        }
        if let Some(all_sync_records) = functions.all_sync_records {
            // SAFETY: it takes a number.
            let status = unsafe { all_sync_records(settings.unfinished_queries.into()) };
            self.note("leaving out waits that only asked", status);
        }
        if let Some(register) = functions.timestamp_callback {
            // SAFETY: the function lives as long as the program and may be called from any thread.
            let status = unsafe { register(stamp) };
            self.note("stamps on CLOCK_MONOTONIC", status);
            if Status(status).is_success() {
                self.clock = Clock::Monotonic;
            }
        }
        if settings.graph_nodes {
            graph::take();
            for callback in [
                ResourceCallback::GRAPHNODE_CREATED,
                ResourceCallback::GRAPHNODE_CLONED,
            ] {
                // SAFETY: the subscriber is ours and open.
                let status = unsafe {
                    (functions.enable_callback)(1, self.subscriber, Domain::RESOURCE.0, callback.0)
                };
                self.note("tags of graphs' nodes", status);
            }
        }
        // SAFETY: both functions live as long as the program, and do what CUPTI asks of them.
        let status = unsafe { (functions.register_callbacks)(buffer_requested, buffer_completed) };
        self.library.check("cuptiActivityRegisterCallbacks", status)?;
        self.bracket();
        Ok(())
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

    /// Switches kinds on; those that cannot be had here are noted in [`Session::refused`] and left out. Devices, contexts and
    /// streams that are there already are told as well, from 11.7 on.
    ///
    /// # Errors
    /// CUPTI fails for another reason than the kind.
    pub fn enable(&mut self, kinds: &[Kind]) -> Result<()> {
        for &kind in kinds {
            if self.enabled.contains(&kind) {
                continue;
            }
            if let Some(why) = self.unreadable(kind) {
                self.refuse(Refusal {
                    what: kind.to_string(),
                    why,
                });
                continue;
            }
            let functions = self.library.functions();
            let tells_what_is_there = matches!(kind, Kind::DEVICE | Kind::CONTEXT | Kind::STREAM);
            let (call, enable) = match functions.enable_and_dump.filter(|_| tells_what_is_there) {
                Some(enable_and_dump) => ("cuptiActivityEnableAndDump", enable_and_dump),
                None => ("cuptiActivityEnable", functions.enable),
            };
            // SAFETY: it takes a number.
            let status = unsafe { enable(kind.0) };
            match Status(status) {
                Status::SUCCESS => self.enabled.push(kind),
                status if status.refuses_a_kind() => {
                    self.refuse(Refusal {
                        what: kind.to_string(),
                        why: Why::Status(status),
                    });
                }
                status => self.library.check(call, status.0)?,
            }
        }
        Ok(())
    }

    /// Switches single calls on where the release can (12.5 on), in place of every call of the domain.
    ///
    /// # Errors
    /// It cannot, or the domain has no calls, or CUPTI refuses one.
    pub fn enable_calls(&mut self, domain: Domain, functions: &[u32]) -> Result<()> {
        let (call, enable) = self.one_call(domain)?;
        for function in functions {
            // SAFETY: it takes two numbers.
            let status = unsafe { enable(*function, 1) };
            self.library.check(call, status)?;
            self.calls.push((enable, *function));
        }
        Ok(())
    }

    /// Leaves single calls of a domain whose kind is switched on out of the trace, where the release can (12.5 on): they cost
    /// nothing then. Switching the kind on anew brings them back.
    ///
    /// # Errors
    /// It cannot, or CUPTI refuses one.
    pub fn leave_out_calls(&mut self, domain: Domain, functions: &[u32]) -> Result<()> {
        let (call, enable) = self.one_call(domain)?;
        for function in functions {
            // SAFETY: it takes two numbers.
            let status = unsafe { enable(*function, 0) };
            self.library.check(call, status)?;
        }
        Ok(())
    }

    /// Switches single calls of a domain on or off.
    fn one_call(&self, domain: Domain) -> Result<(&'static str, EnableCall)> {
        let known = self.library.functions();
        let (call, enable) = match domain {
            Domain::DRIVER_API => ("cuptiActivityEnableDriverApi", known.enable_driver_call),
            _ => ("cuptiActivityEnableRuntimeApi", known.enable_runtime_call),
        };
        let enable = enable.ok_or(Error::Missing {
            function: call,
            since: "12.5",
            version: self.library.version(),
        })?;
        Ok((call, enable))
    }

    /// Switches a kind off.
    ///
    /// # Errors
    /// CUPTI refuses.
    pub fn disable(&mut self, kind: Kind) -> Result<()> {
        self.enabled.retain(|enabled| *enabled != kind);
        // SAFETY: it takes a number.
        let status = unsafe { (self.library.functions().disable)(kind.0) };
        self.library.check("cuptiActivityDisable", status)
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

    /// Why records of a kind could not be read, where the library says how long they are.
    fn unreadable(&self, kind: Kind) -> Option<Why> {
        let Some(oldest) = kind.oldest() else {
            return Some(Why::NotRead);
        };
        match self.library.record_length(kind) {
            None => Some(Why::NoSuchKind),
            Some(found) if found < oldest => Some(Why::TooShort { found, oldest }),
            Some(_) => None,
        }
    }

    fn disable_calls(&mut self) {
        for (enable, function) in std::mem::take(&mut self.calls) {
            // SAFETY: it takes two numbers; what it answers changes nothing any more.
            let _ = unsafe { enable(function, 0) };
        }
    }

    fn refuse(&mut self, refusal: Refusal) {
        log::debug!("{}: {refusal}", self.library.version());
        self.refused.push(refusal);
    }

    fn note(&mut self, what: &str, status: u32) {
        if !Status(status).is_success() {
            self.refuse(Refusal {
                what: what.to_owned(),
                why: Why::Status(Status(status)),
            });
        }
    }

    fn set_attribute<T: Copy>(&mut self, attribute: Attribute, mut value: T) {
        let mut bytes = size_of::<T>();
        let value: *mut T = &mut value;
        // SAFETY: size and value live through the call, and the size is the value's.
        let status = unsafe {
            (self.library.functions().set_attribute)(attribute.0, &mut bytes, value.cast::<c_void>())
        };
        self.note(&attribute.to_string(), status);
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

/// CUPTI's number in CUDA 12.3.
const FIRST_PER_THREAD: u32 = 21;
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

/// Takes CUPTI's only place; who holds it is asked of the newer function, which says so and then fails the same way.
fn subscribe(library: Library, name: &str) -> Result<Subscriber> {
    let functions = library.functions();
    let mut subscriber = std::ptr::null_mut();
    // SAFETY: callback and library are never freed; the subscriber lives through the call.
    let status = unsafe { (functions.subscribe)(&mut subscriber, graph::callback, library.as_pointer()) };
    match Status(status) {
        Status::MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED => Err(Error::Held {
            name: holder(library, name),
        }),
        _ => library.check("cuptiSubscribe", status).map(|()| subscriber),
    }
}

/// What CUPTI calls the tool that holds it, from 13.0 on.
fn holder(library: Library, name: &str) -> Option<String> {
    let subscribe = library.functions().subscribe_v2?;
    let name = CString::new(name).ok()?;
    let mut old = [0u8; 128];
    // 13.2 has a field more, and tells by the size whether it may read it.
    let with_more = library.functions().struct_size.is_some();
    let mut parameters = SubscriberParams {
        size: if with_more {
            size_of::<SubscriberParams>()
        } else {
            32
        },
        name: name.as_ptr(),
        old_name: old.as_mut_ptr().cast(),
        old_size: old.len() - 1,
        allow_multiple: 0,
        padding: [0; 7],
    };
    let mut subscriber = std::ptr::null_mut();
    // SAFETY: everything that the parameters point to lives through the call, and is as long as they say.
    let status = unsafe {
        subscribe(
            &mut subscriber,
            graph::callback,
            std::ptr::null_mut(),
            &mut parameters,
        )
    };
    if Status(status).is_success() {
        // Whoever held it has just gone. Tracing with this form and the older calls is not allowed.
        // SAFETY: given a moment ago.
        let _ = unsafe { (library.functions().unsubscribe)(subscriber) };
        return None;
    }
    let length = old.iter().position(|byte| *byte == 0)?;
    (length > 0).then(|| String::from_utf8_lossy(&old[..length]).into_owned())
}
