//! Memory as work on the device is given it: where it lies, how large it is, and the block itself, which it keeps alive.

use std::sync::Arc;

use super::memory::{DeviceBlock, PinnedBlock};

/// A block of memory that kernels read and write. The block is freed when the last of its spans is gone and the device is done.
#[derive(Clone, Debug)]
pub struct Span {
    address: u64,
    bytes: usize,
    _block: Block,
}

/// Who owns the memory.
#[derive(Clone, Debug)]
enum Block {
    Device { _block: Arc<DeviceBlock> },
    Pinned { _block: Arc<PinnedBlock> },
}

impl Span {
    pub(super) fn of_device(block: &Arc<DeviceBlock>) -> Self {
        Span {
            address: block.address(),
            bytes: block.bytes(),
            _block: Block::Device {
                _block: Arc::clone(block),
            },
        }
    }

    /// Of host memory that the device sees; none where it does not.
    pub(super) fn of_pinned(block: &Arc<PinnedBlock>) -> Option<Self> {
        Some(Span {
            address: block.mapped()?,
            bytes: block.bytes(),
            _block: Block::Pinned {
                _block: Arc::clone(block),
            },
        })
    }

    /// Where the device sees it.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}
