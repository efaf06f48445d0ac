//! Bandwidth: blocks that are read, or copied, again and again by several threads.

use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::clock::{Clock, RealClock};
use crate::units::{Nanos, Stamp};

/// As few rounds as one counts of.
const LEAST: usize = 3;
/// Rounds over small blocks are repeated until they take this long, so that reading the clock costs nothing.
const ROUND_BYTES: usize = 16 << 20;

/// Bytes a second that `threads` read together from a block of `bytes`, in the best round: two equal halves are compared, which the
/// C library does as fast as it can be done, however this program was compiled.
pub(super) fn read(threads: usize, bytes: u64, within: Nanos) -> f64 {
    let half = part(threads, bytes) / 2;
    let again = (ROUND_BYTES / (half * 2)).max(1);
    let took = rounds(threads, within, || {
        let (one, other) = (vec![1_u8; half], vec![1_u8; half]);
        move || {
            for _ in 0..again {
                black_box(black_box(&one[..]) == black_box(&other[..]));
            }
        }
    });
    (threads * half * 2 * again) as f64 / took
}

/// Bytes a second that `threads` read and write together, copying one half of `bytes` to the other, in the best round.
pub(super) fn copy(threads: usize, bytes: u64, within: Nanos) -> f64 {
    let half = part(threads, bytes) / 2;
    let again = (ROUND_BYTES / (half * 2)).max(1);
    let took = rounds(threads, within, || {
        let (from, mut to) = (vec![1_u8; half], vec![0_u8; half]);
        move || {
            for _ in 0..again {
                to.copy_from_slice(black_box(&from));
                black_box(&mut to);
            }
        }
    });
    (threads * half * 2 * again) as f64 / took
}

/// Bytes of each thread.
fn part(threads: usize, bytes: u64) -> usize {
    (usize::try_from(bytes).unwrap_or(usize::MAX) / threads.max(1)).max(512) / 512 * 512
}

/// The seconds of the shortest round, in which every thread does its work once, all beginning together.
fn rounds<W: FnMut()>(threads: usize, within: Nanos, make: impl Fn() -> W + Sync) -> f64 {
    let (barrier, done) = (Barrier::new(threads), AtomicBool::new(false));
    let began = RealClock.now();
    let spans: Vec<Vec<(Stamp, Stamp)>> = std::thread::scope(|scope| {
        let work = || {
            let mut one = make();
            let mut spans = Vec::new();
            while !done.load(Ordering::Acquire) {
                barrier.wait();
                let from = RealClock.now();
                one();
                let to = RealClock.now();
                spans.push((from, to));
                // One decides for all, before any of them looks.
                if barrier.wait().is_leader() {
                    done.store(spans.len() >= LEAST && to - began > within, Ordering::Release);
                }
                barrier.wait();
            }
            spans
        };
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut all = vec![work()];
        all.extend(others.into_iter().filter_map(|other| other.join().ok()));
        all
    });
    let count = spans.iter().map(Vec::len).min().unwrap_or(0);
    let shortest = (0..count)
        .filter_map(|round| {
            let of_round = || spans.iter().filter_map(|own| own.get(round));
            let from = of_round().map(|(from, _)| *from).min()?;
            let to = of_round().map(|(_, to)| *to).max()?;
            Some((to - from).0)
        })
        .min();
    shortest.unwrap_or(1).max(1) as f64 / 1e9
}
