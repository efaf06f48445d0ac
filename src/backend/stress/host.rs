//! Loads of the host: one processor, or the memory as one processor can use it.
//!
//! A burst on the processor lasts until the thread has used the stated processor time, so its length shows what others took
//! from it. A burst on the memory copies a stated number of bytes.

use std::hint::black_box;

use rustix::time::{ClockId, clock_gettime};

use super::calibrate;
use crate::backend::host_slot::{HostSlot, HostWork};
use crate::backend::{BackendError, Slot};
use crate::scenario::Resource;
use crate::tensor::TensorSet;
use crate::units::Nanos;

/// Each of two blocks: larger than last-level caches are, so that copies between them go to memory.
const BLOCK_BYTES: usize = 128 << 20;
/// Bytes copied as one.
const PIECE_BYTES: usize = 64 << 10;
/// Between two looks at the clock: some microseconds, beside which the look does not count.
const ROUNDS: u64 = 4_000;

pub(super) fn open(resource: Resource, burst: Nanos, slots: usize) -> Vec<Box<dyn Slot>> {
    let pieces = match resource {
        Resource::HostMemory => {
            let mut copies = Copies::new();
            let trial = |pieces| -> Result<Nanos, std::convert::Infallible> {
                let began = processor_time();
                copies.run(pieces);
                Ok(processor_time() - began)
            };
            let pieces = calibrate(burst, trial).unwrap_or_else(|never| match never {});
            log::info!(
                "a burst copies {} MB of host memory",
                (pieces as usize * PIECE_BYTES) / 1_000_000
            );
            Some(pieces)
        }
        _ => None,
    };
    let slot = |_| {
        let burst = match pieces {
            Some(pieces) => Burst::Copies {
                copies: Copies::new(),
                pieces,
            },
            None => Burst::Arithmetic(burst),
        };
        HostSlot::boxed(burst, TensorSet::default())
    };
    (0..slots).map(slot).collect()
}

/// Bytes of the blocks that so many slots copy.
pub(super) fn block_bytes(resource: Resource, slots: usize) -> u64 {
    match resource {
        Resource::HostMemory => 2 * BLOCK_BYTES as u64 * slots as u64,
        _ => 0,
    }
}

/// Time that this thread has spent on a processor.
fn processor_time() -> Nanos {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Nanos(time.tv_sec * 1_000_000_000 + time.tv_nsec)
}

/// Two blocks, copied from one to the other round and round.
struct Copies {
    from: Vec<u8>,
    to: Vec<u8>,
    at: usize,
}

impl Copies {
    fn new() -> Self {
        // Written, so that every page is there.
        Copies {
            from: vec![1; BLOCK_BYTES],
            to: vec![2; BLOCK_BYTES],
            at: 0,
        }
    }

    fn run(&mut self, pieces: u64) {
        for _ in 0..pieces {
            let piece = self.at..self.at + PIECE_BYTES;
            self.to[piece.clone()].copy_from_slice(&self.from[piece]);
            self.at = (self.at + PIECE_BYTES) % BLOCK_BYTES;
        }
        black_box(&mut self.to);
    }
}

enum Burst {
    /// Processor time of a burst.
    Arithmetic(Nanos),
    Copies {
        copies: Copies,
        pieces: u64,
    },
}

fn compute(burst: Nanos) {
    let began = processor_time();
    let mut value = began.0 as u64 | 1;
    while processor_time() - began < burst {
        for round in 0..ROUNDS {
            value = black_box(value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(round));
        }
    }
}

impl HostWork for Burst {
    fn run(&mut self, _: &mut TensorSet) -> Result<(), BackendError> {
        match self {
            Burst::Arithmetic(burst) => compute(*burst),
            Burst::Copies { copies, pieces } => copies.run(*pieces),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_uses_its_processor_time_and_its_record_says_how_long_that_took() {
        let burst = Nanos::from_millis(4);
        let mut slots = open(Resource::HostCpu, burst, 1);
        let slot = &mut slots[0];
        let mut all = Vec::new();
        for _ in 0..10 {
            slot.submit().expect("submitted");
            let began = processor_time();
            let times = slot.wait().expect("done");
            all.push(processor_time() - began);
            assert!(times.compute.is_some_and(|took| took >= burst), "{times:?}");
        }
        // A busy machine charges some of them with more, since a step between two looks at the clock takes longer there.
        let least = all.iter().min().expect("ten");
        assert!(*least >= burst && *least < burst * 2, "{all:?}");
    }

    #[test]
    fn copies_go_round_their_blocks() {
        let mut copies = Copies {
            from: vec![1; BLOCK_BYTES],
            to: vec![2; BLOCK_BYTES],
            at: BLOCK_BYTES - PIECE_BYTES,
        };
        copies.run(2);
        assert_eq!(copies.at, PIECE_BYTES);
        assert_eq!(
            (copies.to[0], copies.to[PIECE_BYTES], copies.to[BLOCK_BYTES - 1]),
            (1, 2, 1)
        );
    }
}
