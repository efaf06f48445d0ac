//! Stressors: tenants without a detector, each frame of which is a burst of work on one resource.
//!
//! A burst is a fixed piece of work, found when the tenant is opened, before anybody else runs: as much as the resource does
//! alone in the stated time. So beside others it takes longer, and its record shows what was achieved. When bursts are due
//! is the arrival's affair (`scenario::Stress::arrival`). What loads what: `host` the processor and its memory, `device`
//! the GPU.

#[cfg_attr(not(feature = "gpu"), path = "without_gpu.rs")]
mod device;
mod host;

pub use device::OnDevice;

use super::{Backend, BackendError, Opened, Program};
use crate::record::{Amount, Device, TenantMemory};
use crate::scenario::{Resource, Stress};
use crate::units::Nanos;

/// The backend's word in results.
pub const NAME: &str = "stress";

/// A backend that runs no network and puts a load on one resource.
pub struct StressBackend {
    /// What, and how much.
    pub stress: Stress,
    /// The GPU, for resources of one.
    pub gpu: Option<OnDevice>,
}

impl Backend for StressBackend {
    fn name(&self) -> &'static str {
        NAME
    }

    fn device(&self) -> Device {
        self.gpu.as_ref().map_or(Device::Host, OnDevice::device)
    }

    fn open(&self, _: &Program, slots: usize) -> Result<Opened, BackendError> {
        let Stress { resource, burst, .. } = self.stress;
        if !resource.is_on_gpu() {
            let memory = TenantMemory {
                host_tensors: Some(Amount::Bytes(host::block_bytes(resource, slots))),
                ..TenantMemory::default()
            };
            let slots = host::open(resource, burst, slots);
            return Ok(Opened {
                slots,
                memory,
                layers: Vec::new(),
            });
        }
        match &self.gpu {
            Some(on) => device::open(on, resource, burst, slots),
            None => Err(failed(resource, "it needs a GPU, but has none".to_owned())),
        }
    }
}

fn failed(resource: Resource, problem: String) -> BackendError {
    BackendError::Load {
        network: format!("the load of {resource:?}"),
        backend: NAME,
        problem,
    }
}

/// How close to `wanted` a burst has to come, as a part of it.
const CLOSE: f64 = 0.03;
/// Trials are judged by so many together, or by fewer that take as long as this.
const WINDOW: (usize, Nanos) = (16, Nanos::from_millis(50));
/// For so long at least: clocks rise when work begins, and a governor takes some tenths of a second over it.
const SETTLING: Nanos = Nanos::from_millis(400);
/// Then it is taken as it is.
const LONGEST: Nanos = Nanos::from_secs(4);
/// A clock that stands still does not keep it for ever.
const MOST_WINDOWS: usize = 10_000;

/// Work that takes `wanted` when the clocks have settled, from trials (`run` answers how long a piece of work took). What a
/// resource does in a burst is taken as proportional to the work.
fn calibrate<E>(wanted: Nanos, mut run: impl FnMut(u64) -> Result<Nanos, E>) -> Result<u64, E> {
    let (mut work, mut spent, mut close) = (64_u64, Nanos::ZERO, 0);
    // A long burst fills a window by itself, and three of them have to be close.
    let longest = Nanos(LONGEST.0.max(wanted.0.saturating_mul(8)));
    for _ in 0..MOST_WINDOWS {
        if spent >= longest {
            break;
        }
        let (mut trials, mut took) = (0_usize, Nanos::ZERO);
        while trials < WINDOW.0 && took < WINDOW.1 {
            took += run(work)?.max(Nanos(1));
            trials += 1;
        }
        spent += took;
        let ratio = wanted.0 as f64 * trials as f64 / took.0 as f64;
        close = if (ratio - 1.0).abs() < CLOSE { close + 1 } else { 0 };
        if close >= 3 && spent >= SETTLING {
            return Ok(work);
        }
        if close == 0 {
            // Short trials are mostly overhead: no more than a leap at a time.
            work = ((work as f64 * ratio.clamp(0.1, 16.0)).round() as u64).max(1);
        }
    }
    log::warn!(
        "calibration did not reach a burst of {wanted} within {} %: the clocks do not settle, or something else runs. The last trial's setting is used",
        CLOSE * 100.0
    );
    Ok(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_found_that_takes_the_burst_beside_a_cost_of_its_own() {
        let mut trials = 0;
        let run = |work: u64| -> Result<Nanos, ()> {
            trials += 1;
            Ok(Nanos(5_000 + 7 * work as i64))
        };
        let wanted = Nanos::from_millis(1);
        let work = calibrate(wanted, run).expect("no error");
        let takes = 5_000.0 + 7.0 * work as f64;
        assert!((takes / 1e6 - 1.0).abs() < CLOSE, "{takes} ns");
        assert!((400..500).contains(&trials), "400 ms of trials: {trials}");
    }

    #[test]
    fn clocks_that_rise_while_it_is_measured_are_waited_for() {
        let mut spent = Nanos::ZERO;
        // Twice as fast after 300 ms of work, as a governor does it.
        let run = |work: u64| -> Result<Nanos, ()> {
            let unit = if spent < Nanos::from_millis(300) { 14 } else { 7 };
            let took = Nanos(unit * work as i64);
            spent += took;
            Ok(took)
        };
        let work = calibrate(Nanos::from_millis(1), run).expect("no error");
        assert!((7.0 * work as f64 / 1e6 - 1.0).abs() < CLOSE, "{work}");
    }

    #[test]
    fn trials_that_never_agree_come_to_an_end() {
        let mut number = 0_i64;
        let run = |work: u64| -> Result<Nanos, ()> {
            number += 1;
            Ok(Nanos((1 + number / 16 % 3) * work as i64))
        };
        assert!(calibrate(Nanos::from_millis(1), run).expect("no error") > 0);
    }

    #[test]
    fn a_load_of_the_gpu_without_one_is_an_error() {
        let backend = StressBackend {
            stress: Stress {
                resource: Resource::Dram,
                level: 0.5,
                burst: Nanos::from_millis(1),
            },
            gpu: None,
        };
        let error = backend.open(&Program::default(), 1).err().expect("an error");
        assert!(error.to_string().contains("the load of Dram"), "{error}");
    }
}
