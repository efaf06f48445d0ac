//! One device as all tenants of a run see it: the streams that each way of sharing lends, and the clock's calibration.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::gpu::{Calibration, Calibrator, ClockMap, Gpu, GpuError, Partition, Stream};
use crate::scenario::Sharing;

/// A device and what its tenants share of it.
#[derive(Debug)]
pub struct SharedGpu {
    gpu: Arc<Gpu>,
    /// The ways of sharing that the run goes through.
    ways: Vec<Sharing>,
    /// The one stream of `SingleStream`, while a tenant has it.
    single: Mutex<Weak<Stream>>,
    /// One for each of the device's tenants, if `Partition` is one of them.
    partitions: Vec<Arc<Partition>>,
    /// Distinct priorities of the device's tenants, the least urgent first.
    priorities: Vec<i32>,
    calibrator: Calibrator,
}

/// What a tenant of the device brings to its sharing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Claim {
    /// Its place among the device's tenants.
    pub place: usize,
    /// Larger is more urgent.
    pub priority: i32,
    /// Of the multiprocessors, where it is said.
    pub share: Option<f64>,
}

impl SharedGpu {
    /// Opens a device for these tenants (in the order of their places) and all ways in which a run lets them share it.
    ///
    /// # Errors
    /// There is no such device, or it cannot be shared in one of these ways.
    pub fn open(ordinal: u16, ways: &[Sharing], claims: &[Claim]) -> Result<Self, GpuError> {
        let gpu = Gpu::open(ordinal)?;
        let partitions = match ways.contains(&Sharing::Partition) {
            true => Partition::divide(&gpu, &shares(claims))?,
            false => Vec::new(),
        };
        let mut priorities: Vec<i32> = claims.iter().map(|claim| claim.priority).collect();
        priorities.sort_unstable();
        priorities.dedup();
        Ok(SharedGpu {
            calibrator: Calibrator::start(&gpu)?,
            gpu,
            ways: ways.to_vec(),
            single: Mutex::default(),
            partitions,
            priorities,
        })
    }

    /// The GPU that the tenants share.
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// The ways of sharing that the run goes through, the first phase's first.
    pub fn ways(&self) -> &[Sharing] {
        &self.ways
    }

    /// A stream of its own for a tenant, of the priority and in the part of the device that a way of sharing gives it.
    pub(super) fn stream(&self, way: Sharing, claim: Claim) -> Result<Stream, GpuError> {
        let priority = match way {
            Sharing::Priority => self.stream_priority(claim)?,
            _ => 0,
        };
        let partition = self.partitions.get(claim.place);
        match partition.filter(|_| way == Sharing::Partition) {
            Some(partition) => Stream::within(partition, priority),
            None => Stream::new(&self.gpu, priority),
        }
    }

    /// The stream that all tenants have under `SingleStream`.
    pub(super) fn single(&self) -> Result<Arc<Stream>, GpuError> {
        let mut known = self.single.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(single) = known.upgrade() {
            return Ok(single);
        }
        let single = Arc::new(Stream::new(&self.gpu, 0)?);
        *known = Arc::downgrade(&single);
        Ok(single)
    }

    fn stream_priority(&self, claim: Claim) -> Result<i32, GpuError> {
        let (least, greatest) = self.gpu.stream_priorities()?;
        Ok(stream_priority(claim.priority, &self.priorities, least, greatest))
    }

    /// A tenant's way from device moments to host stamps.
    pub fn clock_map(&self) -> ClockMap {
        self.calibrator.map()
    }

    /// What the clock's calibrations found since the last call.
    pub fn take_calibrations(&self) -> Vec<Calibration> {
        self.calibrator.take_calibrations()
    }

    /// What a tenant gets of the device under the ways of sharing, in words; nothing where there is nothing to say.
    pub fn describe(&self, claim: Claim) -> Option<String> {
        let describe = |way: &Sharing| match way {
            Sharing::Partition => {
                let own = self.partitions.get(claim.place)?.multiprocessors();
                Some(format!(
                    "{own} of {} multiprocessors",
                    self.gpu.multiprocessors().ok()?
                ))
            }
            Sharing::Priority => {
                let (least, greatest) = self.gpu.stream_priorities().ok()?;
                let own = self.stream_priority(claim).ok()?;
                Some(format!(
                    "stream priority {own} ({greatest} is the most urgent, {least} the least)"
                ))
            }
            _ => None,
        };
        let said: Vec<String> = self.ways.iter().filter_map(describe).collect();
        (!said.is_empty()).then(|| said.join("; "))
    }
}

/// What is left by those who say their share is divided evenly among those who do not.
fn shares(claims: &[Claim]) -> Vec<f64> {
    let said: f64 = claims.iter().filter_map(|claim| claim.share).sum();
    let silent = claims.iter().filter(|claim| claim.share.is_none()).count();
    let each = (1.0 - said).max(0.0) / silent.max(1) as f64;
    claims.iter().map(|claim| claim.share.unwrap_or(each)).collect()
}

/// A tenant's priority among those that there are, on the device's scale: the least urgent tenant gets the least, each
/// distinct priority above it the next, and all beyond the scale the greatest. The device counts downwards.
fn stream_priority(own: i32, all: &[i32], least: i32, greatest: i32) -> i32 {
    let rank = all.iter().position(|priority| *priority == own).unwrap_or(0);
    let rank = i32::try_from(rank).unwrap_or(i32::MAX);
    least.saturating_sub(rank).max(greatest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_without_a_share_divide_what_is_left() {
        let claim = |share| Claim {
            share,
            ..Claim::default()
        };
        assert_eq!(shares(&[claim(None), claim(None)]), [0.5, 0.5]);
        assert_eq!(
            shares(&[claim(Some(0.5)), claim(None), claim(None)]),
            [0.5, 0.25, 0.25]
        );
    }

    #[test]
    fn larger_priorities_are_smaller_numbers_of_the_device() {
        let all = [-3, 0, 7];
        assert_eq!(stream_priority(-3, &all, 0, -5), 0);
        assert_eq!(stream_priority(0, &all, 0, -5), -1);
        assert_eq!(stream_priority(7, &all, 0, -5), -2);
        assert_eq!(stream_priority(7, &all, 0, -1), -1, "a device with two levels");
        assert_eq!(stream_priority(7, &all, 0, 0), 0, "a device without priorities");
    }
}
