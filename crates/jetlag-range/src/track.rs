//! The hot side: one thread's open ranges, and the queue to the thread that writes.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rtrb::Producer;
use rustix::time::{ClockId, clock_gettime};

use crate::trace;
use jetlag_record::units::Stamp;

/// Ranges deep that need no memory of their own.
const DEPTH: usize = 64;

/// The moment now, on the clock of the run: for [`Track::batch_due`].
pub fn now() -> Stamp {
    let t = clock_gettime(ClockId::Monotonic);
    Stamp(t.tv_sec * 1_000_000_000 + t.tv_nsec)
}

/// What goes through the queue.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    /// A path that later items name by its number.
    Path {
        id: u32,
        /// The path above; [`NO_PATH`] for none.
        above: u32,
        name: &'static str,
    },
    /// A range that ended.
    Range {
        path: u32,
        from: Stamp,
        to: Stamp,
        /// The batch that it lies in, and how far below it.
        within: Option<(u64, u32)>,
    },
    /// A batch that ended.
    Batch {
        path: u32,
        index: u64,
        items: u64,
        due: Stamp,
        from: Stamp,
        to: Stamp,
        failed: bool,
    },
}

/// What lies above an outermost range.
pub(super) const NO_PATH: u32 = u32::MAX;

/// Counts that both sides see; touched only when something goes wrong.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    /// Items that found the queue full.
    pub(super) lost: AtomicU64,
    /// Pops without a push, and pushes without a pop.
    pub(super) unbalanced: AtomicU64,
}

/// One thread's ranges. Made by [`Recording::track`](super::Recording::track); move it to its thread.
pub struct Track {
    queue: Producer<Item>,
    troubles: Arc<Troubles>,
    /// The tenant's next batch; its threads share it.
    next_batch: Arc<AtomicU64>,
    paths: Vec<Path>,
    /// Paths of outermost ranges.
    outermost: Vec<u32>,
    open: Vec<Open>,
    /// Place in `open` of the batch that is open, and its index.
    batch: Option<(usize, u64)>,
}

struct Path {
    name: &'static str,
    above: u32,
    below: Vec<u32>,
    /// Whether the other side knows it.
    told: bool,
}

struct Open {
    path: u32,
    from: Stamp,
    due: Stamp,
    items: u64,
    failed: bool,
}

impl Track {
    pub(super) fn new(queue: Producer<Item>, troubles: Arc<Troubles>, next_batch: Arc<AtomicU64>) -> Self {
        Track {
            queue,
            troubles,
            next_batch,
            paths: Vec::new(),
            outermost: Vec::new(),
            open: Vec::with_capacity(DEPTH),
            batch: None,
        }
    }

    /// Begins a range; [`pop`](Track::pop) ends it. Guards are safer: [`range`](Track::range).
    #[inline]
    pub fn push(&mut self, name: &'static str) {
        self.open_at(name, now());
    }

    /// Ends the range that began last. Without one it does nothing, and the run has a finding.
    #[inline]
    pub fn pop(&mut self) {
        self.close(now());
    }

    /// Begins a batch: a piece of work that becomes a frame, released now. Its index counts the tenant's batches. Within
    /// a batch it is a range like any other.
    #[inline]
    pub fn push_batch(&mut self, name: &'static str) {
        self.push_batch_due(name, None);
    }

    /// Ends the innermost range, as [`pop`](Track::pop), and says how many items the batch had, where it is one.
    #[inline]
    pub fn pop_items(&mut self, items: u64) {
        if let Some(open) = self.open.last_mut() {
            open.items = items;
        }
        self.pop();
    }

    /// A range that ends with the guard. Ranges within are opened on the guard.
    #[inline]
    pub fn range(&mut self, name: &'static str) -> Range<'_> {
        self.push(name);
        Range { track: self }
    }

    /// A batch that ends with the guard; of one item unless it is told another number.
    #[inline]
    pub fn batch(&mut self, name: &'static str) -> Batch<'_> {
        self.push_batch(name);
        Batch { track: self }
    }

    /// A batch that was due at `due` (see [`now`]): its response time counts from then.
    #[inline]
    pub fn batch_due(&mut self, name: &'static str, due: Stamp) -> Batch<'_> {
        self.push_batch_due(name, Some(due));
        Batch { track: self }
    }

    fn push_batch_due(&mut self, name: &'static str, due: Option<Stamp>) {
        let from = now();
        let place = self.open.len();
        self.open_at(name, from);
        if let (Some(open), Some(due)) = (self.open.last_mut(), due) {
            open.due = due.min(from);
        }
        if self.batch.is_none() {
            self.batch = Some((place, self.next_batch.fetch_add(1, Ordering::Relaxed)));
        }
    }

    fn open_at(&mut self, name: &'static str, from: Stamp) {
        trace::push(name);
        let path = self.path(name);
        self.open.push(Open {
            path,
            from,
            due: from,
            items: 1,
            failed: false,
        });
    }

    fn close(&mut self, to: Stamp) {
        let Some(open) = self.open.pop() else {
            self.troubles.unbalanced.fetch_add(1, Ordering::Relaxed);
            return;
        };
        trace::pop();
        let place = self.open.len();
        let item = match self.batch {
            Some((batch, index)) if batch == place => {
                self.batch = None;
                Item::Batch {
                    path: open.path,
                    index,
                    items: open.items,
                    due: open.due,
                    from: open.from,
                    to,
                    failed: open.failed,
                }
            }
            batch => Item::Range {
                path: open.path,
                from: open.from,
                to,
                within: batch.map(|(batch, index)| (index, (place - batch) as u32)),
            },
        };
        if !self.tell(open.path) || self.queue.push(item).is_err() {
            self.troubles.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The number of the path that ends in `name` below the open range; a new one is the only allocation there is.
    fn path(&mut self, name: &'static str) -> u32 {
        let above = self.open.last().map_or(NO_PATH, |open| open.path);
        let known = match self.paths.get(above as usize) {
            Some(path) => &path.below,
            None => &self.outermost,
        };
        let same = |&&id: &&u32| {
            let other = self.paths[id as usize].name;
            // The same words in the program are at the same place in memory, as a rule.
            std::ptr::eq(other, name) || other == name
        };
        if let Some(&id) = known.iter().find(same) {
            return id;
        }
        let id = self.paths.len() as u32;
        self.paths.push(Path {
            name,
            above,
            below: Vec::new(),
            told: false,
        });
        match self.paths.get_mut(above as usize) {
            Some(path) => path.below.push(id),
            None => self.outermost.push(id),
        }
        id
    }

    /// Makes sure that the other side knows a path and those above; false where the queue had no room.
    #[inline]
    fn tell(&mut self, id: u32) -> bool {
        let Some(path) = self.paths.get(id as usize) else {
            return true;
        };
        if path.told {
            return true;
        }
        let (name, above) = (path.name, path.above);
        let told = self.tell(above) && self.queue.push(Item::Path { id, above, name }).is_ok();
        self.paths[id as usize].told = told;
        told
    }
}

impl Drop for Track {
    fn drop(&mut self) {
        // What is still open has no end, and is not recorded.
        let open = self.open.len() as u64;
        self.troubles.unbalanced.fetch_add(open, Ordering::Relaxed);
        (0..open).for_each(|_| trace::pop());
    }
}

/// An open range; ends when dropped.
pub struct Range<'a> {
    track: &'a mut Track,
}

impl Drop for Range<'_> {
    #[inline]
    fn drop(&mut self) {
        self.track.pop();
    }
}

impl Deref for Range<'_> {
    type Target = Track;
    fn deref(&self) -> &Track {
        self.track
    }
}

impl DerefMut for Range<'_> {
    fn deref_mut(&mut self) -> &mut Track {
        self.track
    }
}

/// An open batch; ends when dropped.
pub struct Batch<'a> {
    track: &'a mut Track,
}

impl Batch<'_> {
    /// How many items it has; 0 marks the end of a stream, and such a batch is no frame.
    pub fn set_items(&mut self, items: u64) {
        if let Some(open) = self.track.open.last_mut() {
            open.items = items;
        }
    }

    /// It came to nothing: its frame has failed.
    pub fn fail(&mut self) {
        if let Some(open) = self.track.open.last_mut() {
            open.failed = true;
        }
    }
}

impl Drop for Batch<'_> {
    #[inline]
    fn drop(&mut self) {
        self.track.pop();
    }
}

impl Deref for Batch<'_> {
    type Target = Track;
    fn deref(&self) -> &Track {
        self.track
    }
}

impl DerefMut for Batch<'_> {
    fn deref_mut(&mut self) -> &mut Track {
        self.track
    }
}
