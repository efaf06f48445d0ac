//! Ranges of the program's threads: what is open, and what has ended, on its way to the thread that writes.
//!
//! A range that has ended is one plain value in the thread's own bounded queue. Names are numbers; a new one takes a lock that is held
//! for a moment. A full queue loses the range and counts it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::Ordering;

use cupti_dyn::{monotonic_ns, thread_number};
use jetlag_activity::spool::{ITEMS, text};
use rtrb::{Producer, RingBuffer};

use crate::range::{Ended, Started};
use crate::shared::{self, Shared};

/// Ranges of a thread that fit between two visits of the thread that writes, which is woken when half of them are there.
const CAPACITY: usize = 1 << 13;
/// Ranges that may be open in a thread, and started ones in the process.
const DEEPEST: usize = 4096;
const MOST_STARTED: usize = 1 << 16;
/// Names that a thread knows the numbers of.
const MOST_KNOWN: usize = 4096;
/// `NVTX_NO_PUSH_POP_TRACKING`: the answer where the depth is not known.
const NOT_KNOWN: i32 = -2;

/// What an event is called.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Name<'a> {
    /// By a text, in bytes.
    Text(&'a [u8]),
    /// By a text that was registered before.
    Registered(u32),
    /// Not at all.
    None,
}

struct Thread {
    number: u32,
    open: Vec<Started>,
    /// Pushes beyond [`DEEPEST`].
    beyond: usize,
    queue: Producer<Ended>,
    known: HashMap<Box<[u8]>, Option<u32>>,
}

impl Drop for Thread {
    fn drop(&mut self) {
        // What is still open has no end, and is not recorded.
        if let Some(shared) = shared::get().filter(|shared| shared.is_on()) {
            let open = (self.open.len() + self.beyond) as u64;
            shared.unbalanced.fetch_add(open, Ordering::Relaxed);
        }
    }
}

thread_local! {
    static THREAD: RefCell<Option<Thread>> = const { RefCell::new(None) };
}

/// Does something with this thread's ranges. `None` after the end, in a child of a fork, where the thread is ending, and where a
/// handler of a signal came in between.
fn here<T>(body: impl FnOnce(&Shared, &mut Thread) -> T) -> Option<T> {
    let shared = shared::get()?;
    if !shared.is_on() {
        return None;
    }
    let found = THREAD.try_with(|thread| {
        let mut thread = thread.try_borrow_mut().ok()?;
        let thread = thread.get_or_insert_with(|| Thread::new(shared));
        Some(body(shared, thread))
    });
    let found = found.ok().flatten();
    if found.is_none() {
        shared.lost.fetch_add(1, Ordering::Relaxed);
    }
    found
}

impl Thread {
    fn new(shared: &Shared) -> Self {
        let (queue, feed) = RingBuffer::new(CAPACITY);
        shared.feeds().push(feed);
        Thread {
            number: thread_number(),
            open: Vec::with_capacity(64),
            beyond: 0,
            queue,
            known: HashMap::new(),
        }
    }

    fn name(&mut self, shared: &Shared, name: Name<'_>) -> Option<u32> {
        let bytes = match name {
            Name::None => return None,
            Name::Registered(number) => return Some(number),
            Name::Text(bytes) => bytes,
        };
        if let Some(known) = self.known.get(bytes) {
            return *known;
        }
        let number = number(shared, bytes);
        if self.known.len() >= MOST_KNOWN {
            // Names with a number of each frame's in them.
            self.known.clear();
        }
        self.known.insert(bytes.into(), number);
        number
    }

    fn tell(&mut self, shared: &Shared, ended: Ended) {
        if self.queue.push(ended).is_err() {
            shared.lost.fetch_add(1, Ordering::Relaxed);
        } else if self.queue.slots() == CAPACITY / 2 {
            shared.wake();
        }
    }
}

/// The number of a text, for all threads.
fn number(shared: &Shared, bytes: &[u8]) -> Option<u32> {
    shared.names().number(&text(bytes), None)
}

/// The number of a text, of a domain or to be used again.
pub(crate) fn register(bytes: &[u8]) -> Option<u32> {
    let shared = shared::get()?;
    shared.is_on().then(|| number(shared, bytes)).flatten()
}

fn ended(open: Started, to_ns: u64, started: bool) -> Ended {
    Ended {
        thread: open.thread,
        from_ns: open.from_ns,
        to_ns,
        name: open.name,
        domain: open.domain,
        payload: open.payload,
        started,
    }
}

/// A range begins in this thread; answers how many of the domain are around it.
pub(crate) fn push(domain: Option<u32>, name: Name<'_>, payload: Option<i64>) -> i32 {
    let depth = here(|shared, thread| {
        if thread.open.len() >= DEEPEST {
            thread.beyond += 1;
            return NOT_KNOWN;
        }
        let name = thread.name(shared, name);
        let depth = thread.open.iter().filter(|open| open.domain == domain).count();
        thread.open.push(Started {
            thread: thread.number,
            // Last, so that what we do is not in it.
            from_ns: monotonic_ns(),
            name,
            domain,
            payload,
        });
        depth as i32
    });
    depth.unwrap_or(NOT_KNOWN)
}

/// A range ends in a process that takes none in.
pub(crate) fn passed_over() {
    if let Some(shared) = shared::get() {
        shared.passed_over();
    }
}

/// The range of the domain that began last in this thread ends.
pub(crate) fn pop(domain: Option<u32>) -> i32 {
    let to_ns = monotonic_ns();
    passed_over();
    let depth = here(|shared, thread| {
        if thread.beyond > 0 {
            thread.beyond -= 1;
            shared.lost.fetch_add(1, Ordering::Relaxed);
            return NOT_KNOWN;
        }
        let Some(place) = thread.open.iter().rposition(|open| open.domain == domain) else {
            shared.unbalanced.fetch_add(1, Ordering::Relaxed);
            return NOT_KNOWN;
        };
        let open = thread.open.remove(place);
        thread.tell(shared, ended(open, to_ns, false));
        let around = thread.open[..place].iter().filter(|open| open.domain == domain);
        around.count() as i32
    });
    depth.unwrap_or(NOT_KNOWN)
}

/// A range begins that any thread may end, by the number that this answers.
pub(crate) fn start(domain: Option<u32>, name: Name<'_>, payload: Option<i64>) -> u64 {
    let number = here(|shared, thread| {
        let name = thread.name(shared, name);
        let number = shared.next_started.fetch_add(1, Ordering::Relaxed);
        let mut started = shared.started();
        if started.len() >= MOST_STARTED {
            shared.lost.fetch_add(1, Ordering::Relaxed);
            return number;
        }
        let open = Started {
            thread: thread.number,
            from_ns: monotonic_ns(),
            name,
            domain,
            payload,
        };
        started.insert(number, open);
        number
    });
    number.unwrap_or(0)
}

/// The range with this number ends.
pub(crate) fn end(number: u64) {
    let to_ns = monotonic_ns();
    passed_over();
    here(|shared, thread| {
        let open = shared.started().remove(&number);
        match open {
            Some(open) => thread.tell(shared, ended(open, to_ns, true)),
            None => drop(shared.unbalanced.fetch_add(1, Ordering::Relaxed)),
        }
    });
}

/// A moment with a name: nothing but the items of the range around it.
pub(crate) fn mark(name: Name<'_>, payload: Option<i64>) {
    if let (Name::Text(bytes), Some(payload)) = (name, payload)
        && bytes == ITEMS.as_bytes()
    {
        items(payload);
    }
}

/// The range that began last in this thread has so many items.
pub(crate) fn items(count: i64) {
    here(|_, thread| {
        if let Some(open) = thread.open.last_mut() {
            open.payload = Some(count);
        }
    });
}

/// The program ends: what this thread has open has no end, nor have ranges that were started.
pub(crate) fn leave(shared: &Shared) {
    let open = THREAD.try_with(|thread| {
        let thread = thread.try_borrow().ok()?;
        Some(thread.as_ref()?.open.len() as u64)
    });
    let open = open.ok().flatten().unwrap_or(0) + shared.started().len() as u64;
    shared.unbalanced.fetch_add(open, Ordering::Relaxed);
}
