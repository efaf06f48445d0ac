//! What was taken of a device's memory between two moments, by how much the driver's free memory sank; and what contexts take.
//!
//! The driver counts for the whole device, so a process beside us that takes or gives memory back meanwhile is counted too;
//! docs/measurement.md says so.

use std::sync::Arc;

use super::{Layout, Network, Work};
use crate::gpu::Gpu;
use crate::record::Amount;

/// A device's free memory at a moment.
#[derive(Clone, Debug)]
pub struct FreeMemory {
    gpu: Arc<Gpu>,
    bytes: Result<u64, String>,
}

impl FreeMemory {
    /// Asks the driver now.
    pub fn of(gpu: &Arc<Gpu>) -> Self {
        let told = gpu.memory().map(|(free, _)| free);
        FreeMemory {
            gpu: Arc::clone(gpu),
            bytes: told
                .map_err(|error| format!("the driver does not tell the device's free memory: {error}")),
        }
    }

    /// By how much it has sunk until now.
    pub fn taken_since(&self) -> Amount {
        let now = FreeMemory::of(&self.gpu);
        taken(&self.bytes, &now.bytes, self.gpu.device().is_integrated)
    }
}

/// What the contexts of so many slots take together; `None` where no network has any.
pub(super) fn contexts(layout: &Layout, networks: &[Box<dyn Network>], slots: usize) -> Option<Amount> {
    let segments = layout.work.iter().filter_map(|work| match work {
        Work::Segment(segment) => Some(segment),
        Work::Host(_) => None,
    });
    let engines = segments.flat_map(|segment| &segment.engines);
    let of_engines = engines.filter_map(|engine| networks.get(engine.engine)?.context_memory());
    let all: Vec<Amount> = of_engines.collect();
    if all.is_empty() {
        return None;
    }
    let each = all.into_iter().try_fold(0_u64, |sum, amount| match amount {
        Amount::Bytes(bytes) => Ok(sum.saturating_add(bytes)),
        unknown @ Amount::Unknown(_) => Err(unknown),
    });
    Some(each.map_or_else(
        |unknown| unknown,
        |each| Amount::Bytes(each.saturating_mul(slots as u64)),
    ))
}

/// What was taken between two readings of a device's free memory.
fn taken(before: &Result<u64, String>, after: &Result<u64, String>, is_integrated: bool) -> Amount {
    if is_integrated {
        return Amount::Unknown(
            "the GPU shares the machine's memory, whose free part also sinks by files that the kernel caches; the memory of the \
             process and of the machine tell more"
                .to_owned(),
        );
    }
    match (before, after) {
        (Ok(before), Ok(after)) => before.checked_sub(*after).map_or_else(
            || {
                Amount::Unknown(
                    "the device's free memory rose meanwhile: another process gave some back".to_owned(),
                )
            },
            Amount::Bytes,
        ),
        (Err(why), _) | (_, Err(why)) => Amount::Unknown(why.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_free_memory_cannot_tell_is_not_told_as_a_number() {
        assert_eq!(taken(&Ok(100), &Ok(60), false), Amount::Bytes(40));
        assert_eq!(taken(&Ok(100), &Ok(100), false), Amount::Bytes(0));
        let why = |before, after, integrated| {
            let amount = taken(&before, &after, integrated);
            amount.unknown().expect("no number").to_owned()
        };
        assert!(why(Ok(60), Ok(100), false).contains("another process"));
        assert!(why(Ok(100), Ok(60), true).contains("shares the machine's memory"));
        assert!(why(Ok(100), Err("no driver".to_owned()), false).contains("no driver"));
    }
}
