//! How a tenant's threads are set up: their processors, and their timers.

use std::num::NonZeroU64;

/// What a thread was not given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ThreadError {
    /// The processors asked for.
    #[error("cannot run on cpus {cpus:?}: {error}")]
    Cpus {
        /// Numbers of the processors.
        cpus: Vec<usize>,
        /// What the system said.
        error: rustix::io::Errno,
    },
    /// Timers that ring when they are due.
    #[error("cannot ask for precise timers: {0}")]
    Timers(rustix::io::Errno),
}

/// Runs on the processors of `cpus`, and with the finest timers that the system gives.
///
/// Failing to do either is reported and does not stop the run.
///
/// # Errors
/// The system refuses one of them; the other is done if it can be.
pub fn set_up_thread(cpus: &[usize]) -> Result<(), ThreadError> {
    // The default timer slack of 50 µs would be half the budget for lateness.
    let slack = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    if !cpus.is_empty() {
        let mut set = rustix::thread::CpuSet::new();
        cpus.iter().for_each(|&cpu| set.set(cpu));
        rustix::thread::sched_setaffinity(None, &set).map_err(|error| ThreadError::Cpus {
            cpus: cpus.to_vec(),
            error,
        })?;
    }
    slack.map_err(ThreadError::Timers)
}

#[cfg(test)]
mod tests {
    use rustix::thread::{CpuSet, sched_getaffinity};

    use super::*;

    /// On a thread of its own, since a test's thread is used again.
    fn on_a_thread(work: impl FnOnce() + Send + 'static) {
        std::thread::spawn(work).join().unwrap();
    }

    #[test]
    fn a_thread_runs_on_the_processors_that_it_is_given_and_has_precise_timers() {
        on_a_thread(|| {
            let before = sched_getaffinity(None).unwrap();
            assert_eq!(set_up_thread(&[]), Ok(()));
            assert_eq!(sched_getaffinity(None).unwrap(), before, "any");
            assert_eq!(rustix::thread::current_timer_slack().unwrap(), 1);
            let one = (0..CpuSet::MAX_CPU).find(|&cpu| before.is_set(cpu)).unwrap();
            assert_eq!(set_up_thread(&[one]), Ok(()));
            let after = sched_getaffinity(None).unwrap();
            assert!(after.is_set(one) && after.count() == 1);
        });
    }

    #[test]
    fn processors_that_are_not_there_are_named() {
        on_a_thread(|| {
            let refused = set_up_thread(&[CpuSet::MAX_CPU - 1]).unwrap_err();
            assert!(
                refused.to_string().contains("cannot run on cpus [1023]"),
                "{refused}"
            );
            assert_eq!(rustix::thread::current_timer_slack().unwrap(), 1, "all the same");
        });
    }
}
