//! The clock of a run: CLOCK_MONOTONIC, or virtual time that moves only when it is told to.
//!
//! Everything that stamps or waits takes a `&dyn Clock`, so that the same tenant runs against the wall
//! or against a simulation. Stands beside `units` rather than in `tenant`, because backends stamp too.

use std::sync::atomic::{AtomicI64, Ordering};

use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::units::{Nanos, Stamp};

/// Reads the time and waits for a later one.
pub trait Clock: Send + Sync {
    /// The moment that it is now.
    fn now(&self) -> Stamp;
    /// Returns at `deadline` or as soon after it as the system manages; at once if it has passed.
    fn sleep_until(&self, deadline: Stamp);
    /// The same, burning the last `spin` of the wait on the processor for a punctual return.
    fn spin_until(&self, deadline: Stamp, spin: Nanos) {
        self.sleep_until(deadline - spin);
        while self.now() < deadline {
            std::hint::spin_loop();
        }
    }
}

/// CLOCK_MONOTONIC, waiting by absolute `clock_nanosleep`.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealClock;

impl Clock for RealClock {
    fn now(&self) -> Stamp {
        let t = clock_gettime(ClockId::Monotonic);
        Stamp(t.tv_sec * 1_000_000_000 + t.tv_nsec)
    }
    fn sleep_until(&self, deadline: Stamp) {
        let request = Timespec {
            tv_sec: deadline.0.div_euclid(1_000_000_000),
            tv_nsec: deadline.0.rem_euclid(1_000_000_000),
        };
        // An absolute sleep that a signal interrupts is simply taken up again.
        while self.now() < deadline
            && rustix::thread::clock_nanosleep_absolute(rustix::thread::ClockId::Monotonic, &request).is_err()
        {
        }
    }
}

/// Time that stands still until it is moved; starts at zero.
#[derive(Debug, Default)]
pub struct VirtualClock(AtomicI64);

impl VirtualClock {
    /// Moves to `to`; time never goes back.
    pub fn advance_to(&self, to: Stamp) {
        self.0.fetch_max(to.0, Ordering::Relaxed);
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Stamp {
        Stamp(self.0.load(Ordering::Relaxed))
    }
    fn sleep_until(&self, deadline: Stamp) {
        self.advance_to(deadline);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_real_clock_never_returns_before_the_deadline() {
        let clock = RealClock;
        for wait in [0, 10_000, 300_000] {
            let deadline = clock.now() + Nanos(wait);
            clock.sleep_until(deadline);
            assert!(clock.now() >= deadline);
            let deadline = clock.now() + Nanos(wait);
            clock.spin_until(deadline, Nanos::from_micros(100));
            assert!(clock.now() >= deadline);
        }
    }

    #[test]
    fn virtual_time_moves_only_forward_and_only_when_told() {
        let clock = VirtualClock::default();
        assert_eq!(clock.now(), Stamp(0));
        clock.sleep_until(Stamp(50));
        clock.advance_to(Stamp(20));
        assert_eq!(clock.now(), Stamp(50));
    }
}
