//! `jetlag tenant-process PARENT TENANT`: one tenant of a scenario, for a run that shares the device among processes.
//!
//! It reads which tenant to run and then phase after phase from its standard input, a socket to the run, makes the tenant
//! ready as a run does, leads it through the phases with the same `Runner`, and sends all that it records back over the
//! socket. It is no verb for people, and not in the help; `commands::processes` is the other end.
//!
//! As in a run, the tenant's threads put records into bounded queues and wait for nobody; a thread of its own empties them
//! into the socket. Should the run be too slow to take them, that thread waits, and what finds the queues full is counted.

use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use anyhow::{Context, bail};

use super::outcome::Outcome;
use super::processes::words::{Answer, Order, Setup};
use super::signals::stop_on_signals;
use super::threads::named;
use super::tracing::{PhaseTrace, PhaseTracer};
use super::{tenants, with_parent};
use crate::cli::TenantProcessArgs;
use crate::clock::{Clock, RealClock};
use crate::record::wire::Outbox;
use crate::record::{DetectionsRecord, EndReason, Event, FrameRecord, PhaseRecord};
use crate::scenario::Arrival;
use crate::telemetry::Resident;
use crate::tenant::failures::note;
use crate::tenant::recording::{self, FeedSink, RecordFeed, RecordSink};
use crate::tenant::{PhasePlan, pipeline::Runner};

/// Time between visits to the queues.
const VISIT: Duration = Duration::from_millis(10);

/// Makes the tenant ready and does what it is told, until nothing more is.
pub fn run(args: &TenantProcessArgs) -> anyhow::Result<Outcome> {
    if !with_parent::tie(args.parent)? {
        return Ok(Outcome::Done);
    }
    let stop = stop_on_signals()?;
    let socket = std::io::stdin().as_fd().try_clone_to_owned();
    let mut socket = UnixStream::from(socket.context("tenant-process has no standard input")?);
    let mut orders = BufReader::new(socket.try_clone().context("cannot listen to the run")?);
    let mut line = String::new();
    orders.read_line(&mut line).context("cannot listen to the run")?;
    let setup: Setup =
        serde_json::from_str(&line).context("tenant-process is started by `jetlag run`, not by hand")?;
    let mut outbox = Outbox::default();
    let tracer = PhaseTracer::of_process(&setup.scenario, setup.tenant);
    let ready = match tenants::alone(&setup.scenario, setup.tenant) {
        Ok(ready) => ready,
        Err(obstacles) => {
            let problems = obstacles.iter().map(ToString::to_string).collect();
            answer(&mut outbox, &Answer::Refused { problems })?;
            outbox.send(&mut socket)?;
            return Ok(Outcome::Done);
        }
    };
    // The device stays open for as long as its tenant runs.
    let tenants::All { tenants, gpus } = ready;
    let Some(tenant) = tenants.into_iter().next() else {
        bail!("tenant {} was not prepared", args.tenant);
    };
    let ready = Answer::Ready {
        manifest: Box::new(tenant.manifest),
        failed: tenant.runner.failed.clone(),
    };
    answer(&mut outbox, &ready)?;
    outbox.send(&mut socket)?;
    let detections = setup.scenario.tenants[setup.tenant].record_detections;
    let (front, front_feed) = recording::channel(tenant.runner.tenant, false);
    let (back, back_feed) = recording::channel(tenant.runner.tenant, detections);
    let (notes, events) = channel();
    let courier = Courier {
        outbox,
        socket,
        feeds: [front_feed, back_feed],
        events,
    };
    let (phases, told) = channel();
    let listening = Arc::clone(&stop);
    named("orders")
        .spawn(move || listen(orders, &phases, &listening))
        .context("cannot start the thread that listens to the run")?;
    let mut obedient = Obedient {
        runner: tenant.runner,
        front,
        back,
        notes,
        tracer,
    };
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let courier = named("courier")
            .spawn_scoped(scope, || courier.run(&done, &stop))
            .context("cannot start the thread that sends records")?;
        for (plan, arrival) in told {
            obedient.phase(plan, arrival, &gpus, &stop);
            for mut residual in gpus.clock_residuals() {
                // Each process places its device's moments by itself.
                residual.signal = format!("{}_{}", residual.signal, obedient.runner.name);
                let _ = obedient.notes.send(Event::Sample(residual));
            }
            // Soon, so that the run need not wait for the next visit.
            courier.thread().unpark();
        }
        obedient.close();
        done.store(true, Ordering::Release);
        courier.thread().unpark();
        match courier.join() {
            Ok(sent) => sent.context("the run accepts no more records"),
            Err(_) => bail!("the thread that sends records panicked"),
        }
    })?;
    Ok(Outcome::Done)
}

fn answer(outbox: &mut Outbox, answer: &Answer) -> anyhow::Result<()> {
    outbox.text(&serde_json::to_string(answer).context("the answer cannot be written")?);
    Ok(())
}

/// Takes orders until there are no more.
fn listen(orders: BufReader<UnixStream>, phases: &Sender<(PhasePlan, Arrival)>, stop: &AtomicBool) {
    for line in orders.lines() {
        let Ok(line) = line else { break };
        match serde_json::from_str(&line) {
            Ok(Order::Stop) => stop.store(true, Ordering::Relaxed),
            Ok(Order::Phase { plan, arrival }) => {
                if phases.send((plan, arrival)).is_err() {
                    break;
                }
            }
            Err(error) => log::error!("a command cannot be parsed: {error}"),
        }
    }
    // The run is over, or gone.
    stop.store(true, Ordering::Relaxed);
}

/// The tenant, which does what it is told.
struct Obedient {
    runner: Runner,
    front: RecordSink,
    back: RecordSink,
    notes: Sender<Event>,
    tracer: PhaseTracer,
}

impl Obedient {
    /// Runs a phase; whatever becomes of it, a phase record comes of it.
    fn phase(&mut self, plan: PhasePlan, arrival: Arrival, gpus: &tenants::Devices, stop: &AtomicBool) {
        self.runner.arrival = arrival;
        let trace = match plan.traced {
            true => self.tracer.begin(plan.phase, gpus, &self.notes),
            false => None,
        };
        self.runner.marks = trace.as_ref().map(PhaseTrace::marks);
        let failed = PhaseRecord {
            tenant: self.runner.tenant,
            phase: plan.phase,
            epoch: plan.epoch,
            measured_from: plan.measured_from,
            measured_to: plan.measured_from,
            reason: EndReason::Failed,
            lost_records: 0,
            sampled: None,
            process_peak: None,
        };
        let resident = Resident::begin();
        let run = AssertUnwindSafe(|| {
            self.runner.run(
                plan,
                &RealClock,
                stop,
                &mut self.front,
                &mut self.back,
                &self.notes,
            )
        });
        let mut end = catch_unwind(run).unwrap_or_else(|_| {
            let problem = "panicked; please report it with the scenario";
            note(&self.notes, RealClock.now(), &self.runner.name, problem);
            failed
        });
        end.process_peak = resident.peak();
        // The run waits for the end of the phase, and so for all of the trace.
        if let Some(trace) = trace {
            // A device that hangs would be waited for in vain.
            if end.reason != EndReason::Failed {
                gpus.wait();
            }
            trace.end(&mut self.tracer, &self.notes);
        }
        // The courier is there until after this.
        let _ = self.notes.send(Event::Phase(end));
    }
}

impl Obedient {
    /// After the last phase.
    fn close(&mut self) {
        self.runner.close(&self.notes);
        let runner = &mut self.runner;
        self.tracer
            .finish(|from, to| runner.node_spans(from, to), &self.notes);
    }
}

/// Empties the queues into the socket.
struct Courier {
    outbox: Outbox,
    socket: UnixStream,
    feeds: [RecordFeed; 2],
    events: Receiver<Event>,
}

impl Courier {
    /// Sends until `done` is set and everything has gone out. Where the run is gone it goes on emptying the queues.
    fn run(mut self, done: &AtomicBool, stop: &AtomicBool) -> std::io::Result<()> {
        let mut failure = None;
        loop {
            // Read before the last visit, so that what came before `done` is taken along.
            let last = done.load(Ordering::Acquire);
            // Events first: frames of a phase are in the queues before its end is told, and so go out before it.
            let events: Vec<Event> = self.events.try_iter().collect();
            for feed in &mut self.feeds {
                feed.drain(&mut Outgoing(&mut self.outbox));
            }
            events.iter().for_each(|event| self.outbox.event(event));
            if let Err(error) = self.outbox.send(&mut self.socket) {
                stop.store(true, Ordering::Relaxed);
                failure.get_or_insert(error);
            }
            if last {
                return failure.map_or(Ok(()), Err);
            }
            std::thread::park_timeout(VISIT);
        }
    }
}

struct Outgoing<'a>(&'a mut Outbox);

impl FeedSink for Outgoing<'_> {
    fn frame(&mut self, record: &FrameRecord) {
        self.0.frame(record);
    }
    fn detections(&mut self, found: &DetectionsRecord) {
        self.0.detections(found);
    }
}
