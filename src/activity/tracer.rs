//! A trace of this process through one phase: opened before it, read by a thread of its own, attributed after it.
//!
//! What comes is kept in memory until the phase is over: writing it meanwhile would take the tenants' time. Asking whether it may
//! trace already costs the process, until it ends: so this is for a process that measures nothing else.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use cupti_dyn::{Ended, Error, Kind, Library, Session, Settings, thread_number};
use jetlag_activity::{FRAMES, Found, Gathered, Names, Refused, find, leave_out, number};

use super::traced::Traced;
use crate::backend::NodeSpan;
use crate::clock::{Clock, RealClock};
use crate::record::{Event, Phase};
use crate::scenario::{Graphs, Trace};
use crate::tenant::marks::Marks;
use crate::units::Stamp;

/// Where libraries look for who takes their ranges.
const NVTX: &str = "NVTX_INJECTION64_PATH";
/// How often what is complete is asked for.
const FLUSH_EVERY: Duration = Duration::from_millis(100);
/// Memory for records: 32 buffers of 4 MiB.
const MOST_BUFFERS: usize = 32;

/// Why nothing is traced.
#[derive(Debug, thiserror::Error)]
pub enum NotTraced {
    /// No library that can be used.
    #[error(transparent)]
    Library(#[from] Refused),
    /// It refuses.
    #[error(transparent)]
    Cupti(#[from] Error),
    /// The system gives no thread.
    #[error("cannot start the tracer's thread: {0}")]
    Thread(std::io::Error),
}

/// A library that was found and may trace, while nothing is traced.
#[derive(Debug)]
pub struct Tracer {
    library: Library,
    plan: Trace,
    /// What its activities refer to by number, over all phases.
    names: Names,
}

impl Tracer {
    /// Finds the library, and tells libraries of this process where their ranges go; before CUDA and TensorRT are loaded.
    /// `place` is this process's among those of the run.
    ///
    /// # Errors
    /// There is none, or it may not trace here.
    pub fn prepare(plan: Trace, place: u16) -> Result<Self, NotTraced> {
        let found: Found = find()?;
        found.may_trace()?;
        let library = found.library();
        take_ranges(library);
        Ok(Tracer {
            library,
            plan,
            names: Names::of_process(place),
        })
    }

    /// Begins to trace. `work` makes one kernel or fill on a device and waits for it: its record has to come.
    ///
    /// # Errors
    /// Another tool holds the library, it refuses, or it records nothing.
    pub fn begin(&mut self, phase: Phase, work: impl FnOnce()) -> Result<Tracing, NotTraced> {
        let settings = Settings {
            name: "jetlag".to_owned(),
            most_buffers: MOST_BUFFERS,
            graph_nodes: self.plan.graphs == Graphs::Nodes,
            ..Settings::default()
        };
        let mut session = Session::open(self.library, &settings)?;
        session.enable(&kinds(self.plan))?;
        let calls_left_out = leave_out(&mut session);
        session.self_test(Kind::MEMSET, work)?;
        // They are told when they are switched on, and the test passes over what comes meanwhile.
        session.enable(&[Kind::DEVICE, Kind::CONTEXT])?;
        let stop = Arc::new(AtomicBool::new(false));
        let from = RealClock.now();
        let thread = std::thread::Builder::new()
            .name("jetlag-tracer".to_owned())
            .spawn({
                let (stop, names) = (Arc::clone(&stop), std::mem::take(&mut self.names));
                move || read(session, names, &stop)
            })
            .map_err(NotTraced::Thread)?;
        Ok(Tracing {
            phase,
            from,
            calls_left_out,
            stop,
            thread,
            marks: Arc::new(FrameMarks {
                library: self.library,
                told: Mutex::default(),
            }),
        })
    }

    /// Everything of a traced phase that is to be recorded; nothing may be traced meanwhile. `nodes` is when the host launched nodes of
    /// networks, where a backend tells it.
    pub fn events(&mut self, traced: Traced, nodes: &[NodeSpan]) -> Vec<Event> {
        traced.events(&mut self.names, nodes)
    }
}

/// What is recorded, by what was asked for.
fn kinds(plan: Trace) -> Vec<Kind> {
    let mut kinds = vec![
        Kind::CONCURRENT_KERNEL,
        Kind::MEMCPY,
        Kind::MEMCPY2,
        Kind::MEMSET,
        // Without calls nobody knows whose frame launched what.
        Kind::RUNTIME,
        Kind::DRIVER,
        Kind::EXTERNAL_CORRELATION,
        Kind::MARKER,
        Kind::MARKER_DATA,
        Kind::OVERHEAD,
    ];
    if plan.graphs == Graphs::Whole {
        kinds.push(Kind::GRAPH_TRACE);
    }
    if plan.calls {
        kinds.extend([Kind::SYNCHRONIZATION, Kind::CUDA_EVENT]);
    }
    kinds
}

/// Ranges of NVTX come as records, unless somebody takes them already.
fn take_ranges(library: Library) {
    if std::env::var_os(NVTX).is_some_and(|value| !value.is_empty()) {
        log::debug!("{NVTX} is set already, and left as it is");
        return;
    }
    match library.nvtx_injection() {
        // SAFETY: called before any other thread of this process is started that reads or sets the environment.
        Ok(path) => unsafe { std::env::set_var(NVTX, path) },
        Err(error) => log::warn!("layers have no names in the trace: {error}"),
    }
}

/// A phase under way.
#[derive(Debug)]
pub struct Tracing {
    phase: Phase,
    from: Stamp,
    calls_left_out: u32,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<(Gathered, Ended)>,
    marks: Arc<FrameMarks>,
}

impl Tracing {
    /// Who is told which frame a thread works for.
    pub fn marks(&self) -> Arc<dyn Marks> {
        Arc::clone(&self.marks) as Arc<dyn Marks>
    }

    /// The phase of this tracer is over and the devices are done. `None` where the tracer's thread panicked; it must not trace again then,
    /// since what it gave numbers to is lost.
    pub fn end(self, tracer: &mut Tracer) -> Option<Traced> {
        self.stop.store(true, Ordering::Release);
        let (mut gathered, ended) = self.thread.join().ok()?;
        tracer.names = std::mem::take(&mut gathered.names);
        let to = RealClock.now();
        let mut traced = Traced::new(
            self.phase,
            (self.from, to),
            tracer.plan,
            tracer.library,
            gathered,
            &ended,
        );
        traced.calls_left_out(self.calls_left_out);
        Some(traced)
    }
}

/// Reads what comes until it is told to stop, then the rest.
fn read(mut session: Session, names: Names, stop: &AtomicBool) -> (Gathered, Ended) {
    let library = session.library();
    let mut gathered = Gathered::after(names);
    while !stop.load(Ordering::Acquire) {
        session.wait(FLUSH_EVERY);
        session.read(|record| gathered.take(library, record));
        gathered.nodes.extend(session.graph_nodes());
        if let Err(error) = session.flush(false) {
            log::debug!("{error}");
        }
    }
    gathered.nodes.extend(session.graph_nodes());
    let ended = session.finish(|record| gathered.take(library, record));
    (gathered, ended)
}

/// Pushes a frame's number around its calls.
#[derive(Debug)]
struct FrameMarks {
    library: Library,
    /// Threads whose number could not be pushed, told once each.
    told: Mutex<Vec<u32>>,
}

impl Marks for FrameMarks {
    fn begin(&self, tenant: u16, frame: u64) {
        if let Err(error) = self.library.push_tag(FRAMES, number(tenant, frame)) {
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            let thread = thread_number();
            if !told.contains(&thread) {
                told.push(thread);
                log::warn!("frames of thread {thread} cannot be told apart in the trace: {error}");
            }
        }
    }

    fn end(&self) {
        if let Err(error) = self.library.pop_tag(FRAMES) {
            log::debug!("{error}");
        }
    }
}
