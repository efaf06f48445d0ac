//! Places moments of the device on the host's line of time.
//!
//! The driver tells only how far apart two events are, in a `f32` of milliseconds: after a few seconds that is coarser
//! than a microsecond, and the two clocks drift. So a new anchor is set twice a second by a thread of its own: an event
//! on an idle stream, bracketed by two looks at the host's clock. Half of the bracket is the anchor's uncertainty; how
//! far the anchor before would have been off at this one is the residual, which contains the drift.
//!
//! An event that had to wait on the device has a wide bracket. So the newest anchor is not always the best: the one before stays
//! while its own bracket and what the clocks may have drifted since are less. A frame takes the best anchor along when it is
//! submitted and is placed by it later.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::event::{Event, Sync};
use super::stream::Stream;
use super::{Gpu, GpuError};
use crate::clock::{Clock, RealClock};
use crate::units::{Nanos, Stamp};

/// Time between two anchors.
const RENEWED: Duration = Duration::from_millis(500);
/// Looks for one anchor; the closest bracket counts.
const LOOKS: usize = 5;
/// The most that the two clocks are taken to drift apart, per second: two crystals of 100 ppm.
const DRIFT_PPM: i64 = 200;
/// How long a renewal waits: a device that does not answer for so long is the watchdog's affair.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long the first anchor waits: without it no tenant can start, and a busy host alone may need longer than a renewal waits.
const FIRST_PATIENCE: Duration = Duration::from_secs(10);

/// A moment known on both lines.
#[derive(Debug)]
pub struct Anchor {
    event: Event,
    host: Stamp,
    uncertainty: Nanos,
}

impl Anchor {
    /// Where `event`, which is done, lies on the host's line.
    ///
    /// # Errors
    /// The event is not done.
    pub fn place(&self, event: &Event) -> Result<Stamp, GpuError> {
        Ok(self.host + event.since(&self.event)?)
    }
}

/// One tenant's view of the best anchor: a lock that only the tenant and, twice a second, the calibration take.
#[derive(Clone, Debug)]
pub struct ClockMap(Arc<Mutex<Arc<Anchor>>>);

impl ClockMap {
    /// The best anchor at present; it is renewed twice a second.
    pub fn anchor(&self) -> Arc<Anchor> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn renew(&self, anchor: &Arc<Anchor>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(anchor);
    }
}

/// What a renewal found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calibration {
    /// When it was renewed.
    pub at: Stamp,
    /// How far the anchor before would have been off.
    pub residual: Nanos,
    /// Half of the new anchor's bracket.
    pub uncertainty: Nanos,
}

/// Sets anchors until it is dropped.
#[derive(Debug)]
pub struct Calibrator {
    newest: Arc<Anchor>,
    shared: Arc<Shared>,
    thread: Option<std::thread::JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    maps: Mutex<Vec<ClockMap>>,
    found: Mutex<Vec<Calibration>>,
    stop: AtomicBool,
}

impl Calibrator {
    /// Sets the first anchor and starts the thread that renews it.
    ///
    /// # Errors
    /// The device does not answer, or there is no thread to be had.
    pub fn start(gpu: &Arc<Gpu>) -> Result<Self, GpuError> {
        let (_, greatest) = gpu.stream_priorities()?;
        let stream = Stream::new(gpu, greatest)?;
        let first = Arc::new(anchor(&stream, FIRST_PATIENCE)?);
        let shared = Arc::new(Shared {
            maps: Mutex::new(Vec::new()),
            found: Mutex::new(Vec::new()),
            stop: AtomicBool::new(false),
        });
        let (mut newest, of_thread) = (Arc::clone(&first), Arc::clone(&shared));
        let renewing = move || {
            while !of_thread.stop.load(Ordering::Relaxed) {
                std::thread::park_timeout(RENEWED);
                // A device that fails here fails the frames too, and they report it.
                let Ok(next) = anchor(&stream, PATIENCE) else {
                    continue;
                };
                let predicted = newest.place(&next.event).unwrap_or(next.host);
                let found = Calibration {
                    at: next.host,
                    residual: predicted - next.host,
                    uncertainty: next.uncertainty,
                };
                if is_better((next.host, next.uncertainty), (newest.host, newest.uncertainty)) {
                    newest = Arc::new(next);
                }
                let locked = |maps: &Mutex<Vec<ClockMap>>| {
                    let maps = maps.lock().unwrap_or_else(PoisonError::into_inner);
                    maps.iter().for_each(|map| map.renew(&newest));
                };
                locked(&of_thread.maps);
                let mut list = of_thread.found.lock().unwrap_or_else(PoisonError::into_inner);
                list.push(found);
            }
        };
        let thread = std::thread::Builder::new()
            .name("gpu-clock".to_owned())
            .spawn(renewing)
            .map_err(|error| GpuError::NoThread {
                problem: error.to_string(),
            })?;
        Ok(Self {
            newest: first,
            shared,
            thread: Some(thread),
        })
    }

    /// A map for one tenant.
    pub fn map(&self) -> ClockMap {
        let map = ClockMap(Arc::new(Mutex::new(Arc::clone(&self.newest))));
        let mut maps = self.shared.maps.lock().unwrap_or_else(PoisonError::into_inner);
        maps.push(map.clone());
        map
    }

    /// What the renewals since the last call found.
    pub fn take_calibrations(&self) -> Vec<Calibration> {
        std::mem::take(&mut *self.shared.found.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Calibrator {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// Whether a new anchor places moments better than one of before, both with their brackets' halves.
fn is_better((at, own): (Stamp, Nanos), (before, its): (Stamp, Nanos)) -> bool {
    let drifted = Nanos((at - before).0.max(0) / 1_000_000 * DRIFT_PPM);
    own <= its + drifted
}

/// The closest of several looks, of which each waits for `patience` at most.
fn anchor(stream: &Stream, patience: Duration) -> Result<Anchor, GpuError> {
    stream.gpu().bind()?;
    let mut best: Option<Anchor> = None;
    for _ in 0..LOOKS {
        let event = Event::new(stream.gpu())?;
        let before = RealClock.now();
        stream.record(&event)?;
        event.wait(Sync::Spin, patience)?;
        let after = RealClock.now();
        let uncertainty = Nanos((after - before).0 / 2);
        if best.as_ref().is_none_or(|best| uncertainty < best.uncertainty) {
            best = Some(Anchor {
                event,
                host: before + uncertainty,
                uncertainty,
            });
        }
    }
    best.ok_or(GpuError::NoDevice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_anchor_of_a_busy_device_does_not_replace_a_close_one_until_that_may_have_drifted_as_far() {
        let at = |ms: i64| Stamp(ms * 1_000_000);
        let close = (at(0), Nanos(3_000));
        let wide = Nanos(400_000);
        assert!(!is_better((at(500), wide), close), "100 us of drift at most");
        assert!(is_better((at(500), Nanos(50_000)), close));
        assert!(is_better((at(2_500), wide), close), "503 us");
        assert!(is_better((at(500), Nanos(3_000)), close), "as close and newer");
    }
}
