//! A slot of the ring, as it goes round between a tenant's threads.

use crate::backend::Slot;
use crate::detector::Carry;

/// A backend's slot with everything that stays with it.
pub(super) struct FrameSlot {
    pub(super) slot: Box<dyn Slot>,
    pub(super) carry: Carry,
}
