//! What a backend opened: slots, and the memory that they and their networks took.

use super::Slot;
use crate::record::{Amount, EngineLayers, TenantMemory};

/// Slots of one tenant, ready for frames.
pub struct Opened {
    /// As many as were asked for.
    pub slots: Vec<Box<dyn Slot>>,
    /// What was taken for all of them together, as far as the backend knows.
    pub memory: TenantMemory,
    /// What the engines' inspector told of their layers, one for each network in order; empty of backends without an inspector, and
    /// where nobody asked for time per layer.
    pub layers: Vec<EngineLayers>,
}

impl Opened {
    /// Slots whose tensors lie in ordinary host memory, over networks of which the runtime does not tell what they take; `networks`
    /// says so, and is `None` where there are none.
    pub(super) fn on_host(slots: Vec<Box<dyn Slot>>, networks: Option<&str>) -> Self {
        let tensors = slots.iter().flat_map(|slot| slot.tensors().as_slice());
        let bytes = tensors.map(|tensor| tensor.capacity() as u64).sum();
        Opened {
            memory: TenantMemory {
                networks: networks.map(|why| Amount::Unknown(why.to_owned())),
                host_tensors: Some(Amount::Bytes(bytes)),
                ..TenantMemory::default()
            },
            slots,
            layers: Vec::new(),
        }
    }
}
