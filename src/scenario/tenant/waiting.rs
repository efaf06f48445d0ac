//! Which frames wait: those in the line under overload, and those of one inference for each other.

use super::One;
use crate::scenario::rules::require;
use crate::scenario::{Arrival, BackendChoice, Batch, Overload, SourceSpec};
use crate::written::{Field, Kind, Reader};

/// All frames of a batch lie in memory at once.
const LARGEST_BATCH: usize = 64;

impl One<'_> {
    /// What waits. The images of several cameras have one inference only if they all can wait together.
    pub(super) fn overload(&self, source: &SourceSpec, r: &mut Reader) -> Overload {
        let together = match source {
            SourceSpec::Cameras(cameras) if self.typed.batch.or(1) > 1 => cameras.len(),
            _ => 1,
        };
        let usual = Overload::DropOldest { queue: together };
        let (Some(spot), Some(node)) = (self.typed.overload.given(), self.typed.node("overload")) else {
            return usual;
        };
        let is_length = |field: &Field| field.value.kind != Kind::Nothing;
        let says_length = matches!(&node.kind, Kind::Call(call) if !call.items.is_empty() || call.fields.iter().any(is_length));
        let (field, length) = match spot.value {
            Overload::DropOldest { .. } if !says_length => return usual,
            Overload::DropNewest { .. } if !says_length => return Overload::DropNewest { queue: together },
            Overload::Queue { capacity } => ("capacity", capacity),
            Overload::DropOldest { queue } | Overload::DropNewest { queue } => ("queue", queue),
        };
        if (1..together).contains(&length) {
            let why = format!("the images of {together} cameras do not fit into a line of {length}");
            let advice = format!("give it {together} or more, or leave `overload` out");
            self.contradiction(r, node.place_of(field), field, &why, &advice);
        }
        spot.value
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
