//! How a tenant's threads are set up: their processors, and their timers.

use std::num::NonZeroU64;

/// Runs on the processors of `cpus`, and with the finest timers that the system gives.
///
/// Failing to do either is reported and does not stop the run.
pub fn set_up_thread(cpus: &[usize]) -> Result<(), String> {
    // The default timer slack of 50 µs would be half the budget for lateness.
    let slack = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    if !cpus.is_empty() {
        let mut set = rustix::thread::CpuSet::new();
        cpus.iter().for_each(|&cpu| set.set(cpu));
        rustix::thread::sched_setaffinity(None, &set)
            .map_err(|e| format!("cannot run on cpus {cpus:?}: {e}"))?;
    }
    slack.map_err(|e| format!("cannot ask for precise timers: {e}"))
}
