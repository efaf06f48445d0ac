//! The signals that end a run in good order.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};

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

/// Whether this process was started with the signal ignored.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
