//! Ends a run whose device hangs.
//!
//! A thread that waits asleep for such a device never comes back, nor does anything that would free its memory. So what was
//! recorded is brought to the file, the user is told, and the program ends from here: the one place beside `main` that
//! does so.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Thread;
use std::time::Duration;

use super::output::say;
use crate::board::Roots;
use crate::clock::{Clock, RealClock};
use crate::record::{EndReason, Event, FrameRecord, Outcome, PhaseRecord};
use crate::telemetry::clocks;
use crate::tenant::PhasePlan;
use crate::tenant::mishap::Mishap;
use crate::tenant::watched::Watched;
use crate::units::Nanos;

/// Time between two looks at what is waited for.
const LOOKS: Duration = Duration::from_millis(50);
/// Beyond the limit, so that a wait that asks and finds it over itself comes first.
const GRACE: Nanos = Nanos::from_millis(500);
/// For the tenants that still run to end their frames, and for the recorder to write the last chunk.
const CLOSING: Duration = Duration::from_millis(300);
const WRITING: Duration = Duration::from_secs(10);
/// For the clocks to be given back: NVIDIA's library may hang with the device. A power mode may have to be set twice.
const CLOCKS: Duration = Duration::from_secs(8);

/// A tenant on a device.
pub(super) struct Ward {
    pub(super) tenant: u16,
    pub(super) name: String,
    pub(super) watched: Arc<Watched>,
}

/// The phase at hand and its tenants.
pub(super) type Current = Mutex<Option<(PhasePlan, Vec<u16>)>>;

/// What ends a run.
pub(super) struct Run<'a> {
    pub(super) current: &'a Current,
    pub(super) notes: Sender<Event>,
    pub(super) stop: &'a AtomicBool,
    pub(super) done: &'a AtomicBool,
    pub(super) recorder: Thread,
    pub(super) recorded: &'a AtomicBool,
}

/// Looks until `ended`; does not come back from a device that hangs.
pub(super) fn watch(wards: &[Ward], limit: Nanos, run: &Run<'_>, ended: &AtomicBool) {
    while !ended.load(Ordering::Relaxed) {
        std::thread::park_timeout(LOOKS);
        let now = RealClock.now();
        let hung = wards
            .iter()
            .find_map(|ward| Some((ward, ward.watched.overdue(now, limit + GRACE)?)));
        if let Some((ward, frame)) = hung {
            give_up(ward, frame, limit, run);
        }
    }
}

fn give_up(ward: &Ward, frame: FrameRecord, limit: Nanos, run: &Run<'_>) -> ! {
    let now = RealClock.now();
    let hangs = Mishap::DeviceHangs {
        frame: frame.sequence,
        limit,
    };
    let finding = hangs.of(&ward.name);
    let message = finding.message.clone();
    run.stop.store(true, Ordering::Relaxed);
    let _ = run.notes.send(Event::Frame(FrameRecord {
        outcome: Outcome::Failed,
        finished: now,
        ..frame
    }));
    let _ = run.notes.send(Event::Finding(finding));
    std::thread::sleep(CLOSING);
    let current = run.current.lock().unwrap_or_else(PoisonError::into_inner).clone();
    for tenant in current.iter().flat_map(|(_, members)| members) {
        let Some((plan, _)) = &current else { break };
        let _ = run.notes.send(Event::Phase(PhaseRecord {
            tenant: *tenant,
            phase: plan.phase,
            epoch: plan.epoch,
            measured_from: plan.measured_from,
            measured_to: now.clamp(plan.measured_from, plan.end),
            reason: match *tenant == ward.tenant {
                true => EndReason::Failed,
                false => EndReason::Interrupted,
            },
            lost_records: 0,
            sampled: None,
            process_peak: None,
        }));
    }
    run.done.store(true, Ordering::Release);
    run.recorder.unpark();
    let began = std::time::Instant::now();
    while !run.recorded.load(Ordering::Acquire) && began.elapsed() < WRITING {
        std::thread::sleep(LOOKS);
    }
    say(&format!(
        "{message} What was recorded before is kept: jetlag report shows it"
    ));
    give_clocks_back();
    // Exit handlers of the driver would wait for the device.
    signal_hook::low_level::exit(1)
}

/// Ends the program where the devices are not given back within the limit, as where a device hangs in work that no frame waits
/// for. What comes back is to be dropped when they are.
pub(super) fn unless_freed(limit: Nanos) -> Sender<()> {
    let (freed, told) = channel();
    let patience = Duration::from_nanos(u64::try_from((limit + GRACE).0).unwrap_or(0));
    // Without a thread nobody looks.
    let _ = std::thread::Builder::new().name("watchdog".to_owned()).spawn(move || {
        if told.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
            say(&format!(
                "the device was not released within {limit} (`watchdog`) after the run's end. The recorded data is kept: jetlag report shows it"
            ));
            give_clocks_back();
            signal_hook::low_level::exit(1)
        }
    });
    freed
}

/// Clocks that this run holds are given back from here, since nothing is dropped any more.
pub(super) fn give_clocks_back() {
    let (sender, done) = channel();
    std::thread::spawn(move || sender.send(clocks::give_back_own(&Roots::system())));
    let problem = match done.recv_timeout(CLOCKS) {
        Ok(Ok(_)) => return,
        Ok(Err(error)) => error.to_string(),
        Err(_) => "restoring the clocks takes too long".to_owned(),
    };
    say(&format!("{problem}; try: sudo jetlag clocks restore"));
}
