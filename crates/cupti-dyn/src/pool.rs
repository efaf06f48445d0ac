//! The buffers that CUPTI fills: handed out when it asks, taken back when it is done, never more than was agreed.
//!
//! CUPTI's two callbacks have no place for a caller's pointer, so there is one pool in a process, and it is never freed: a
//! buffer may come back after the trace has ended, and CUPTI may ask for one then. In the callbacks no call is made into CUDA
//! or CUPTI, nothing waits but for a short lock, and no panic leaves them.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::VecDeque;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// CUPTI writes records at multiples of eight bytes.
const ALIGNMENT: usize = 8;

/// What became of the buffers of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCounts {
    /// Handed out.
    pub handed_out: u64,
    /// Come back.
    pub came_back: u64,
    /// Asked for when there was none left: CUPTI drops records then.
    pub none_left: u64,
    /// Come back after their trace had ended; what was in them is lost.
    pub late: u64,
    /// Asked for when no trace was open.
    pub after_the_end: u64,
    /// Come back and never handed out.
    pub not_ours: u64,
}

/// Where a buffer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Free,
    /// With CUPTI.
    Out,
    /// Come back and not read yet, or being read.
    Back,
}

#[derive(Debug)]
struct Buffer {
    start: NonNull<u8>,
    bytes: usize,
    /// The trace that it was handed out in.
    trace: u64,
    place: Place,
}

// SAFETY: a buffer is plain memory of this process, and the pool's lock says who may touch it.
unsafe impl Send for Buffer {}

impl Buffer {
    fn new(bytes: usize, trace: u64) -> Option<Self> {
        let layout = Layout::from_size_align(bytes, ALIGNMENT)
            .ok()
            .filter(|layout| layout.size() > 0)?;
        // SAFETY: the size is not 0.
        let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Self {
            start,
            bytes,
            trace,
            place: Place::Free,
        })
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let layout =
            Layout::from_size_align(self.bytes, ALIGNMENT).expect("it was allocated with this layout");
        // SAFETY: allocated with this layout, and nobody has it: the pool lets go only of what is free or came back.
        unsafe { dealloc(self.start.as_ptr(), layout) };
    }
}

#[derive(Debug)]
struct State {
    buffers: Vec<Buffer>,
    /// Addresses of those that came back, in order, with how much of each is valid.
    back: VecDeque<(usize, usize)>,
    /// The size of a buffer.
    bytes: usize,
    /// The most that there may be.
    most: usize,
    is_open: bool,
    trace: u64,
    counts: PoolCounts,
}

/// The process's pool.
#[derive(Debug)]
pub(crate) struct Pool {
    state: Mutex<State>,
    came_back: Condvar,
}

/// A buffer that came back, until it is dropped: then it can be handed out again.
#[derive(Debug)]
pub(crate) struct Filled<'a> {
    pool: &'a Pool,
    start: NonNull<u8>,
    bytes: usize,
    valid: usize,
}

impl Drop for Filled<'_> {
    fn drop(&mut self) {
        // Zeroed as CUPTI was promised, and without the lock.
        // SAFETY: all of the buffer is allocated, and nobody else has it.
        unsafe { self.start.write_bytes(0, self.bytes) };
        self.pool.lock().put_away(self.start.addr().get());
    }
}

impl Filled<'_> {
    /// What CUPTI wrote.
    pub(crate) fn valid(&self) -> &[u8] {
        // SAFETY: `valid` is at most the buffer's size; it is not free and not with CUPTI, so nobody writes to it.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.valid) }
    }
}

pub(crate) static POOL: Pool = Pool {
    state: Mutex::new(State {
        buffers: Vec::new(),
        back: VecDeque::new(),
        bytes: 0,
        most: 0,
        is_open: false,
        trace: 0,
        counts: PoolCounts {
            handed_out: 0,
            came_back: 0,
            none_left: 0,
            late: 0,
            after_the_end: 0,
            not_ours: 0,
        },
    }),
    came_back: Condvar::new(),
};

impl Pool {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic cannot leave it half-changed: nothing between two changes that belong together panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a trace with at most `most` buffers of `bytes`, of which none is made yet. False if one is open.
    pub(crate) fn open(&self, bytes: usize, most: usize) -> bool {
        let mut state = self.lock();
        if state.is_open {
            return false;
        }
        let state = &mut *state;
        state.trace += 1;
        state.is_open = true;
        (state.bytes, state.most) = (bytes.next_multiple_of(ALIGNMENT), most);
        // No allocation in a callback but the buffers themselves.
        state.back.reserve(most);
        state.buffers.reserve(most + state.buffers.len());
        state.counts = PoolCounts::default();
        state.free_all();
        true
    }

    /// Ends the trace: nothing is handed out any more, and what still comes back is dropped and counted.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_open = false;
        while let Some((address, _)) = state.back.pop_front() {
            state.put_away(address);
        }
        state.free_all();
    }

    /// The counts of the trace, also after its end, until the next one begins.
    pub(crate) fn counts(&self) -> PoolCounts {
        self.lock().counts
    }

    /// How many of this trace's buffers are with CUPTI.
    pub(crate) fn out(&self) -> usize {
        let state = self.lock();
        let is_out = |buffer: &&Buffer| buffer.place == Place::Out && buffer.trace == state.trace;
        state.buffers.iter().filter(is_out).count()
    }

    /// The next buffer that came back.
    pub(crate) fn take(&self) -> Option<Filled<'_>> {
        let mut state = self.lock();
        let (address, valid) = state.back.pop_front()?;
        let buffer = state
            .buffers
            .iter()
            .find(|buffer| buffer.start.addr().get() == address)?;
        Some(Filled {
            pool: self,
            start: buffer.start,
            bytes: buffer.bytes,
            valid,
        })
    }

    /// Waits until a buffer comes back or the time is over; whether one is there.
    pub(crate) fn wait(&self, most: Duration) -> bool {
        let state = self.lock();
        let (state, _) = self
            .came_back
            .wait_timeout_while(state, most, |state| state.back.is_empty() && state.is_open)
            .unwrap_or_else(PoisonError::into_inner);
        !state.back.is_empty()
    }

    /// A buffer for CUPTI; none where there may be no more.
    fn hand_out(&self) -> Option<(NonNull<u8>, usize)> {
        let mut state = self.lock();
        let state = &mut *state;
        if !state.is_open {
            state.counts.after_the_end += 1;
            return None;
        }
        let free = state
            .buffers
            .iter()
            .position(|buffer| buffer.place == Place::Free);
        let at = match free {
            Some(at) => Some(at),
            None if state.buffers.len() < state.most => {
                let made = Buffer::new(state.bytes, state.trace);
                made.map(|buffer| {
                    state.buffers.push(buffer);
                    state.buffers.len() - 1
                })
            }
            None => None,
        };
        let Some(at) = at else {
            state.counts.none_left += 1;
            return None;
        };
        let buffer = &mut state.buffers[at];
        (buffer.place, buffer.trace) = (Place::Out, state.trace);
        state.counts.handed_out += 1;
        Some((buffer.start, buffer.bytes))
    }

    fn come_back(&self, address: usize, valid: usize) {
        let mut state = self.lock();
        let state = &mut *state;
        let found = state
            .buffers
            .iter_mut()
            .find(|buffer| buffer.start.addr().get() == address);
        let Some(buffer) = found.filter(|buffer| buffer.place == Place::Out) else {
            state.counts.not_ours += 1;
            return;
        };
        let (trace, bytes, start) = (buffer.trace, buffer.bytes, buffer.start);
        if trace == state.trace && state.is_open {
            buffer.place = Place::Back;
            state.counts.came_back += 1;
            state.back.push_back((address, valid.min(bytes)));
            self.came_back.notify_all();
        } else {
            state.counts.late += 1;
            // SAFETY: all of it is allocated, and it has just come back.
            unsafe { start.write_bytes(0, bytes) };
            state.put_away(address);
        }
    }
}

impl State {
    /// Makes a buffer free, or frees it where nobody wants it any more.
    fn put_away(&mut self, address: usize) {
        let Some(at) = self
            .buffers
            .iter()
            .position(|buffer| buffer.start.addr().get() == address)
        else {
            return;
        };
        self.buffers[at].place = Place::Free;
        if !self.is_open || self.buffers[at].bytes != self.bytes {
            drop(self.buffers.swap_remove(at));
        }
    }

    /// Gives the memory of all that are not with CUPTI back.
    fn free_all(&mut self) {
        let mut at = 0;
        while at < self.buffers.len() {
            match self.buffers[at].place {
                Place::Free => drop(self.buffers.swap_remove(at)),
                Place::Out | Place::Back => at += 1,
            }
        }
    }
}

/// `CUpti_BuffersCallbackRequestFunc`.
///
/// # Safety
/// The three pointers may be written to, as CUPTI's are.
pub(crate) unsafe extern "C" fn buffer_requested(
    start: *mut *mut u8,
    bytes: *mut usize,
    most_records: *mut usize,
) {
    let given = catch_unwind(|| POOL.hand_out()).unwrap_or(None);
    let (address, size) = given.map_or((std::ptr::null_mut(), 0), |(start, bytes)| {
        (start.as_ptr(), bytes)
    });
    // SAFETY: the caller vouches for the pointers. No limit on the number of records.
    unsafe {
        start.write(address);
        bytes.write(size);
        most_records.write(0);
    }
}

/// `CUpti_BuffersCallbackCompleteFunc`. Context and stream are always null and 0.
///
/// # Safety
/// None of its arguments is followed: the address is looked up among those that were handed out.
pub(crate) unsafe extern "C" fn buffer_completed(
    _: *mut c_void,
    _: u32,
    start: *mut u8,
    _: usize,
    valid: usize,
) {
    let _ = catch_unwind(AssertUnwindSafe(|| POOL.come_back(start.addr(), valid)));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool() -> Pool {
        Pool {
            state: Mutex::new(State {
                buffers: Vec::new(),
                back: VecDeque::new(),
                bytes: 0,
                most: 0,
                is_open: false,
                trace: 0,
                counts: PoolCounts::default(),
            }),
            came_back: Condvar::new(),
        }
    }

    fn address(handed: Option<(NonNull<u8>, usize)>) -> usize {
        handed.expect("a buffer").0.addr().get()
    }

    #[test]
    fn there_are_never_more_buffers_than_agreed_and_none_is_lost() {
        let pool = pool();
        assert!(pool.open(100, 2));
        assert!(!pool.open(100, 2), "one at a time");
        let (first, bytes) = pool.hand_out().expect("a buffer");
        assert_eq!(bytes, 104, "whole records");
        assert_eq!(first.addr().get() % ALIGNMENT, 0);
        let second = address(pool.hand_out());
        assert!(pool.hand_out().is_none());
        assert_eq!(pool.out(), 2);
        pool.come_back(first.addr().get(), 40);
        assert!(pool.hand_out().is_none(), "not read yet");
        let filled = pool.take().expect("one came back");
        assert_eq!(filled.valid(), [0; 40]);
        drop(filled);
        assert!(pool.hand_out().is_some());
        pool.come_back(second, 1 << 20);
        assert_eq!(
            pool.take().expect("it came back").valid().len(),
            104,
            "no more than it holds"
        );
        let counts = pool.counts();
        assert_eq!((counts.handed_out, counts.came_back, counts.none_left), (3, 2, 2));
    }

    #[test]
    fn a_buffer_that_comes_back_after_the_end_is_counted_and_its_memory_freed() {
        let pool = pool();
        pool.open(64, 4);
        let late = address(pool.hand_out());
        let other = address(pool.hand_out());
        pool.close();
        assert!(pool.hand_out().is_none());
        pool.come_back(late, 64);
        assert!(pool.take().is_none());
        assert_eq!((pool.counts().late, pool.counts().after_the_end), (1, 1));
        assert_eq!(pool.lock().buffers.len(), 1);
        // The next trace has other sizes, and does not read what is of the last.
        pool.open(128, 4);
        pool.come_back(other, 64);
        assert!(pool.take().is_none());
        assert_eq!(pool.counts().late, 1);
        assert!(pool.lock().buffers.is_empty());
    }

    #[test]
    fn an_address_that_was_never_handed_out_is_not_followed() {
        let pool = pool();
        pool.open(64, 1);
        pool.come_back(0x1234, 64);
        let ours = address(pool.hand_out());
        pool.come_back(ours, 8);
        pool.come_back(ours, 8);
        assert_eq!(pool.counts().not_ours, 2);
        assert_eq!(pool.take().expect("once").valid().len(), 8);
        assert!(pool.take().is_none());
    }

    #[test]
    fn what_was_read_is_zeroed_before_it_is_handed_out_again() {
        let pool = pool();
        pool.open(64, 1);
        let (start, bytes) = pool.hand_out().expect("a buffer");
        // SAFETY: handed out to this test, which stands for CUPTI.
        unsafe { start.write_bytes(7, bytes) };
        pool.come_back(start.addr().get(), bytes);
        let filled = pool.take().expect("it came back");
        assert_eq!(filled.valid(), [7; 64]);
        drop(filled);
        let again = pool.hand_out().expect("a buffer").0;
        pool.come_back(again.addr().get(), bytes);
        assert_eq!(pool.take().expect("it came back").valid(), [0; 64]);
    }

    #[test]
    fn who_waits_is_told() {
        let pool = pool();
        pool.open(64, 1);
        let ours = address(pool.hand_out());
        std::thread::scope(|scope| {
            scope.spawn(|| pool.come_back(ours, 8));
            assert!(pool.wait(Duration::from_secs(600)));
        });
        assert!(!pool.wait(Duration::ZERO) || pool.take().is_some());
    }
}
