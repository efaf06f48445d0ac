//! The signals that end a run in good order.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Context;
use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};
use signal_hook::low_level::{pipe, unregister};

use super::run_path::Reserved;
use super::watchdog::give_clocks_back;
use crate::deploy::Stop;

/// How long a program that was told to end at once may take to leave things in order.
const ORDER: Duration = Duration::from_secs(2);

/// A flag that Ctrl-C, SIGTERM or SIGHUP sets; a second Ctrl-C or SIGTERM ends the program at once. Others may set the flag
/// too, which does not count as the first signal.
///
/// A terminal that goes away (a dropped ssh session) sends SIGHUP, often twice: from the kernel and from the shell. A program
/// that was told to outlive it (`nohup`) does.
pub(super) fn stop_on_signals() -> anyhow::Result<Arc<AtomicBool>> {
    let (stop, signalled) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    for signal in [SIGINT, SIGTERM] {
        // Order matters: the second signal finds the flag that the first one set.
        register_conditional_shutdown(signal, 130, signalled.clone())
            .and_then(|_| register(signal, signalled.clone()))
            .and_then(|_| register(signal, stop.clone()))
            .context("cannot listen for Ctrl-C")?;
    }
    if !is_ignored(SIGHUP) {
        register(SIGHUP, stop.clone()).context("cannot listen for a terminal that goes away")?;
    }
    Ok(stop)
}

/// As [`stop_on_signals`], for a command that has to leave something in order also where it is to end at once, such as a
/// terminal that others draw on: the second signal is told too, and what has not ended 2 s later is ended.
pub(super) fn stop_in_order_on_signals() -> anyhow::Result<Stop> {
    let stop = Stop::default();
    let (mut told, tell) = UnixStream::pair().context("cannot listen for Ctrl-C")?;
    for signal in [SIGINT, SIGTERM] {
        // At once: a Ctrl-C ends a child of this program too, and what becomes of that may be seen before the thread below runs.
        register(signal, stop.asked.clone()).context("cannot listen for Ctrl-C")?;
        tell.try_clone()
            .and_then(|tell| pipe::register(signal, tell))
            .context("cannot listen for Ctrl-C")?;
    }
    if !is_ignored(SIGHUP) {
        register(SIGHUP, stop.asked.clone()).context("cannot listen for a terminal that goes away")?;
    }
    let to_stop = stop.clone();
    let listening = std::thread::Builder::new().name("signals".to_owned());
    listening
        .spawn(move || {
            let mut signal = [0];
            if told.read_exact(&mut signal).is_err() {
                return;
            }
            if told.read_exact(&mut signal).is_err() {
                return;
            }
            to_stop.at_once.store(true, Ordering::Relaxed);
            // A third one is not waited for longer.
            let _ = told.set_read_timeout(Some(ORDER));
            let _ = told.read_exact(&mut signal);
            std::process::exit(130);
        })
        .context("cannot listen for Ctrl-C")?;
    Ok(stop)
}

/// While a run starts, which may take minutes in a library, Ctrl-C, SIGTERM and SIGHUP end the program at once, and the file
/// that was made for the run goes with it. Until the run begins, or this is dropped.
pub(super) struct Starting {
    state: Arc<Mutex<State>>,
    listeners: Vec<SigId>,
}

/// What a signal does.
enum State {
    /// Ends the program, without the file.
    Starts(Option<PathBuf>),
    /// Ends the run in good order. A signal may come before and be seen only now.
    Runs(Arc<AtomicBool>),
}

impl Starting {
    /// Listens from now on.
    pub(super) fn begin() -> anyhow::Result<Starting> {
        let state = Arc::new(Mutex::new(State::Starts(None)));
        let (mut told, tell) = UnixStream::pair().context("cannot listen for Ctrl-C")?;
        let mut listeners = Vec::new();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if signal == SIGHUP && is_ignored(signal) {
                continue;
            }
            let listener = tell.try_clone().and_then(|tell| pipe::register(signal, tell));
            listeners.push(listener.context("cannot listen for Ctrl-C")?);
        }
        let known = state.clone();
        let listening = std::thread::Builder::new().name("signals".to_owned());
        listening
            .spawn(move || {
                // Nothing comes where nobody listens any more.
                while told.read_exact(&mut [0]).is_ok() {
                    match &*locked(&known) {
                        State::Starts(made) => {
                            if let Some(path) = made {
                                let _ = std::fs::remove_file(path);
                            }
                            // Giving back may take seconds. Whoever asks again wants the end now: what is left is in
                            // the clocks' state file.
                            for signal in [SIGINT, SIGTERM] {
                                let _ = register_conditional_shutdown(
                                    signal,
                                    130,
                                    Arc::new(AtomicBool::new(true)),
                                );
                            }
                            // The power mode is set before the run begins.
                            give_clocks_back();
                            // Without the exit handlers of libraries that are in the middle of something.
                            signal_hook::low_level::exit(130)
                        }
                        State::Runs(stop) => stop.store(true, Ordering::SeqCst),
                    }
                }
            })
            .context("cannot listen for Ctrl-C")?;
        Ok(Starting { state, listeners })
    }

    /// Makes the run's file. A signal that comes meanwhile is seen after it, so that the file goes with the program.
    pub(super) fn make(&self, make: impl FnOnce() -> anyhow::Result<Reserved>) -> anyhow::Result<Reserved> {
        let mut state = locked(&self.state);
        let reserved = make()?;
        *state = State::Starts(reserved.made().map(Path::to_owned));
        Ok(reserved)
    }

    /// The run begins: from now on signals set `stop`.
    pub(super) fn runs(self, stop: &Arc<AtomicBool>) {
        *locked(&self.state) = State::Runs(stop.clone());
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        for listener in self.listeners.drain(..) {
            unregister(listener);
        }
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether this process was started with the signal ignored.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
