//! Which frames wait: those in the line under overload, and those of one inference for each other.

use super::One;
use crate::scenario::file::OverloadFile;
use crate::scenario::rules::require;
use crate::scenario::{Arrival, BackendChoice, Batch, Overload, SourceSpec};
use crate::written::{Read, Reader};

/// All frames of a batch lie in memory at once.
const LARGEST_BATCH: usize = 64;
/// Waiting frames are stamps only, yet their ring is made beforehand.
const LONGEST_QUEUE: usize = 65_536;

impl One<'_> {
    /// What waits. The images of several cameras have one inference only if they all can wait together.
    pub(super) fn overload(&self, source: &SourceSpec, r: &mut Reader) -> Overload {
        let together = match source {
            SourceSpec::Cameras(cameras) if self.typed.batch.or(1) > 1 => cameras.len(),
            _ => 1,
        };
        let mut length = |read: &Read<usize>, field: &str, default: usize| {
            if let Some(spot) = read.given() {
                let ok = (1..=LONGEST_QUEUE).contains(&spot.value);
                require(r, spot, ok, self.of(field), "from 1 to 65536 frames");
                if ok && spot.value < together {
                    let why = format!(
                        "the images of {together} cameras do not fit into a line of {}",
                        spot.value
                    );
                    let advice = format!("give it {together} or more, or leave `overload` out");
                    self.contradiction(r, &spot.place, field, &why, &advice);
                }
            }
            read.or(default)
        };
        match self.typed.overload.given().map(|spot| &spot.value) {
            None => Overload::DropOldest { queue: together },
            Some(OverloadFile::Queue { capacity }) => Overload::Queue {
                capacity: length(capacity, "capacity", 1024),
            },
            Some(OverloadFile::DropOldest { queue }) => Overload::DropOldest {
                queue: length(queue, "queue", together),
            },
            Some(OverloadFile::DropNewest { queue }) => Overload::DropNewest {
                queue: length(queue, "queue", together),
            },
        }
    }

    /// Frames of one inference.
    pub(super) fn batch(&self, backend: &BackendChoice, arrival: &Arrival, r: &mut Reader) -> Batch {
        let typed = self.typed;
        if let Some(spot) = typed.batch.given() {
            let ok = (1..=LARGEST_BATCH).contains(&spot.value);
            require(
                r,
                spot,
                ok,
                self.of("batch"),
                "from 1 (an inference a frame) to 64",
            );
            if matches!(backend, BackendChoice::Stress(_)) {
                let advice = "leave `batch` out";
                self.contradiction(r, &spot.place, "batch", "a stressor has no frames", advice);
            }
            if spot.value > 1 && matches!(arrival, Arrival::Live) {
                let why =
                    "frames of a live source keep no content but the newest while others are waited for";
                self.contradiction(
                    r,
                    &spot.place,
                    "batch",
                    why,
                    "leave `batch` out, or record the camera and replay it",
                );
            }
        }
        let size = typed.batch.or(1).clamp(1, LARGEST_BATCH);
        if let Some(spot) = typed.batch_wait.given()
            && size == 1
        {
            let why = "without `batch` no frame waits for another";
            self.contradiction(
                r,
                &spot.place,
                "batch_wait",
                why,
                "add batch: 4, say, or leave `batch_wait` out",
            );
        }
        Batch {
            size,
            wait: typed.batch_wait.given().map(|spot| spot.value),
        }
    }
}
