//! A stressor: a tenant without a detector that loads one resource at a chosen level. What may be written of it, what it
//! means, and its rules.

use serde::{Deserialize, Serialize};

use super::choices::plain;
use super::problems::{ProblemKind, Spot};
use super::read::{Choices, Fields, Read, Reader};
use super::resolve::require;
use super::{Arrival, Tenant};
use crate::units::Nanos;

/// A load of one resource. Each frame is a burst of work that takes `burst` while nobody else uses the resource; a level
/// below 1 spaces the bursts out, so that over a few milliseconds the load is steady.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stress {
    /// What is loaded.
    pub resource: Resource,
    /// Part of what the resource does alone, above 0 and at most 1.
    pub level: f64,
    /// How long one burst takes alone.
    pub burst: Nanos,
}

/// What a stressor loads.
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
    /// Whether it is the GPU's.
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
    pub(super) fn depth(&self) -> usize {
        match self.level >= 1.0 && self.resource.is_on_gpu() {
            true => 2,
            false => 1,
        }
    }
}

/// As typed.
#[derive(Debug)]
pub(super) struct StressFile {
    resource: Spot<Resource>,
    level: Spot<f64>,
    burst: Read<Nanos>,
}

static RESOURCES: Choices = Choices {
    what: "resource",
    default: "Compute",
    all: &[
        plain("Compute"),
        plain("Dram"),
        plain("L2"),
        plain("HostToDevice"),
        plain("HostCpu"),
        plain("HostMemory"),
    ],
};

pub(super) fn read(r: &mut Reader, fields: &Fields<'_>) -> Option<StressFile> {
    let resource = r.required(fields, "resource", "resource: Dram", |r, node, _| {
        Some(match r.choice(node, &RESOURCES)?.0 {
            "Dram" => Resource::Dram,
            "L2" => Resource::L2,
            "HostToDevice" => Resource::HostToDevice,
            "HostCpu" => Resource::HostCpu,
            "HostMemory" => Resource::HostMemory,
            _ => Resource::Compute,
        })
    });
    let level = r.required(fields, "level", "level: 0.5", Reader::number);
    let burst = r.optional(fields, "burst", Reader::duration);
    Some(StressFile {
        resource: resource?,
        level: level?,
        burst,
    })
}

/// `label` is "tenant `dram`".
pub(super) fn resolve(typed: &StressFile, label: &str, r: &mut Reader) -> Stress {
    let of = |field: &str| format!("`{field}` of {label}");
    let level = typed.level.value;
    let is_level = (0.001..=1.0).contains(&level);
    let wanted = "from 0.001 to 1: a part of what the resource does alone";
    require(r, &typed.level, is_level, of("level"), wanted);
    if let Some(spot) = typed.burst.given() {
        let ok = (Nanos::from_micros(100)..=Nanos::from_millis(100)).contains(&spot.value);
        let wanted =
            "from 100us to 100ms: shorter ones cannot be started in time, longer ones are no steady load";
        require(r, spot, ok, of("burst"), wanted);
    }
    Stress {
        resource: typed.resource.value,
        level: if is_level { level } else { 1.0 },
        burst: typed.burst.or(Nanos::from_millis(1)),
    }
}

/// Fields of a tenant that a stressor has no use for, or whose value follows from its level.
pub(super) fn contradictions<'a>(
    given: impl Iterator<Item = (&'static str, &'a super::problems::Place)>,
    label: &str,
    r: &mut Reader,
) {
    for (field, place) in given {
        let (why, advice) = match field {
            "arrival" => (
                "a stressor's `level` and `burst` say when its bursts are due",
                "leave `arrival` out, or change `level` or `burst`",
            ),
            _ => (
                "a stressor makes its own load and takes no frames",
                "leave it out, or choose a backend that runs detectors",
            ),
        };
        let kind = ProblemKind::Contradiction {
            what: format!("`{field}` of {label}"),
            why: why.to_owned(),
            advice: advice.to_owned(),
        };
        r.report(place, kind);
    }
}

impl Tenant {
    /// Its load, if it is a stressor.
    pub fn stress(&self) -> Option<&Stress> {
        match &self.backend {
            super::BackendChoice::Stress(stress) => Some(stress),
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
