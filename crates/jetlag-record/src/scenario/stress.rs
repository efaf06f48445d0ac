//! A stressor: a tenant without a detector that loads one resource at a chosen level.

use serde::{Deserialize, Serialize};

use super::{Arrival, BackendChoice, Tenant};
use crate::units::Nanos;
use crate::{fields, words};

fields! {
    /// A load of one resource. Each frame is a burst of work that takes `burst` while nobody else uses the resource; a level
    /// below 1 spaces the bursts out, so that over a few milliseconds the load is steady.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Stress: no default, "Stress", "fields of a stressor" {
        /// The resource that it loads.
        pub resource: Resource, required "resource: Dram";
        /// Share of what the resource does alone, above 0 and at most 1.
        pub level: f64, required "level: 0.5", if |level| (0.001..=1.0).contains(level) => "from 0.001 to 1: a share of the resource's full load";
        /// How long one burst takes alone.
        pub burst: Nanos = Nanos::from_millis(1),
            if |burst| (Nanos::from_micros(100)..=Nanos::from_millis(100)).contains(burst)
                => "from 100us to 100ms: shorter bursts cannot start in time, longer ones are not a steady load";
    }
}

words! {
    Resource: "resource";
}

/// The resources that a stressor can load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Resource {
    /// The GPU's multiprocessors, with arithmetic.
    Compute,
    /// The GPU's memory, with copies beyond its caches.
    Dram,
    /// The GPU's second-level cache, with reads that stay within it.
    L2,
    /// The way from host memory to the GPU, with pinned copies.
    HostToDevice,
    /// One processor, with arithmetic.
    HostCpu,
    /// The host's memory, with copies by one processor.
    HostMemory,
}

impl Resource {
    /// Whether it is a resource of the GPU.
    pub fn is_on_gpu(self) -> bool {
        !matches!(self, Resource::HostCpu | Resource::HostMemory)
    }
}

impl Stress {
    /// When its bursts are due: one after another at level 1, else as often as makes the level, each moved at random
    /// within the gaps, so that no detector meets them always at the same place of its own period.
    pub fn arrival(&self) -> Arrival {
        if self.level >= 1.0 {
            return Arrival::Closed;
        }
        let hz = self.level / self.burst.as_secs_f64();
        let gap = (Nanos::period_of_hz(hz) - self.burst).max(Nanos::ZERO);
        Arrival::Periodic {
            hz,
            phase: Nanos::ZERO,
            // By half of the gap at most: then two bursts never overlap.
            jitter: Nanos(gap.0 / 2),
        }
    }

    /// Bursts in flight where it is not said: without a second one the GPU would idle from one burst to the next.
    pub fn depth(&self) -> usize {
        match self.level >= 1.0 && self.resource.is_on_gpu() {
            true => 2,
            false => 1,
        }
    }
}

impl Tenant {
    /// Its load, if it is a stressor.
    pub fn stress(&self) -> Option<&Stress> {
        match &self.backend {
            BackendChoice::Stress(stress) => Some(stress),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_come_as_often_as_makes_the_level() {
        let stress = |level| Stress {
            resource: Resource::Dram,
            level,
            burst: Nanos::from_millis(2),
        };
        assert_eq!(stress(1.0).arrival(), Arrival::Closed);
        let Arrival::Periodic { hz, jitter, .. } = stress(0.25).arrival() else {
            panic!("a level below 1 leaves gaps");
        };
        assert!((hz - 125.0).abs() < 1e-9, "2 ms of every 8: {hz}");
        assert_eq!(jitter, Nanos::from_millis(3), "half of the 6 ms between");
    }
}
