//! What the program's threads and the one that writes have in common: names, queues, counts, and whether ranges are still taken in.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;

use jetlag_activity::Names;

use crate::range::{Feed, Started};

/// What the program's threads and the one that writes have in common.
pub(crate) struct Shared {
    /// Names of ranges and domains, numbered behind those of the GPU's work.
    names: Mutex<Names>,
    /// The other ends of threads' queues.
    feeds: Mutex<Vec<Feed>>,
    /// Ranges that were started and have not ended, by number.
    started: Mutex<HashMap<u64, Started>>,
    pub(crate) next_started: AtomicU64,
    pub(crate) lost: AtomicU64,
    pub(crate) unbalanced: AtomicU64,
    mark: Mark,
    /// Ranges of children of a fork, which all of them count in one place; none where the system gives none.
    of_children: Option<&'static AtomicU64>,
    stopped: AtomicBool,
    writer: OnceLock<Thread>,
}

impl Shared {
    pub(crate) fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn feeds(&self) -> MutexGuard<'_, Vec<Feed>> {
        self.feeds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn started(&self) -> MutexGuard<'_, HashMap<u64, Started>> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether ranges are still taken in: not after the end, and not in a child of a fork.
    pub(crate) fn is_on(&self) -> bool {
        !self.stopped.load(Ordering::Relaxed) && self.mark.is_here()
    }

    /// A range has ended that is not taken in: counted, where this is a child of a fork.
    pub(crate) fn passed_over(&self) {
        if let Some(count) = self.of_children.filter(|_| !self.mark.is_here()) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Ranges of children of a fork so far.
    pub(crate) fn of_children(&self) -> u64 {
        self.of_children.map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// The thread that is woken, once it has been started.
    pub(crate) fn set_writer(&self, thread: Thread) {
        let _ = self.writer.set(thread);
    }

    /// There is something to write before the next visit.
    pub(crate) fn wake(&self) {
        if let Some(writer) = self.writer.get() {
            writer.unpark();
        }
    }

    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

static SHARED: OnceLock<Shared> = OnceLock::new();

/// It, once the process has begun.
pub(crate) fn get() -> Option<&'static Shared> {
    SHARED.get()
}

/// Makes it; `None` where it was made before.
pub(crate) fn begin() -> Option<&'static Shared> {
    let shared = Shared {
        names: Mutex::new(Names::of_process(1)),
        feeds: Mutex::default(),
        started: Mutex::default(),
        next_started: AtomicU64::new(1),
        lost: AtomicU64::new(0),
        unbalanced: AtomicU64::new(0),
        mark: Mark::here(),
        of_children: in_common(),
        stopped: AtomicBool::new(false),
        writer: OnceLock::new(),
    };
    SHARED.set(shared).ok()?;
    SHARED.get()
}

/// A number that this process and the children of its forks have in common.
fn in_common() -> Option<&'static AtomicU64> {
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
    // SAFETY: a new mapping of no file, wherever the system likes.
    let page = unsafe {
        mmap_anonymous(
            std::ptr::null_mut(),
            size_of::<AtomicU64>(),
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::SHARED,
        )
    };
    // SAFETY: the page is readable, writable, aligned, never unmapped, and zeros are a value.
    page.ok().map(|page| unsafe { &*page.cast::<AtomicU64>() })
}

/// Tells this process from the child of a fork, without a system call: the child's page is empty.
struct Mark {
    page: Option<&'static AtomicU8>,
    process: u32,
}

impl Mark {
    fn here() -> Self {
        use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};
        const BYTES: usize = 4096;
        // SAFETY: a new mapping of no file, wherever the system likes.
        let made = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                BYTES,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        };
        let page = made.ok().and_then(|page| {
            // SAFETY: the mapping that was made a moment ago; it holds nothing.
            unsafe { madvise(page, BYTES, Advice::LinuxWipeOnFork) }.ok()?;
            // SAFETY: the page is readable, writable, never unmapped, and zeros are a value.
            Some(unsafe { &*page.cast::<AtomicU8>() })
        });
        if let Some(page) = page {
            page.store(1, Ordering::Relaxed);
        }
        Mark {
            page,
            process: std::process::id(),
        }
    }

    fn is_here(&self) -> bool {
        match self.page {
            Some(page) => page.load(Ordering::Relaxed) == 1,
            None => std::process::id() == self.process,
        }
    }
}
