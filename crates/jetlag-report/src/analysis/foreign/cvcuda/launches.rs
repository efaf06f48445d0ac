//! What a traced application launched, by when and where it was asked for: how long its ranges were on the GPU, as CV-CUDA defines it.

use std::collections::HashMap;

use crate::record::activity::Work;
use crate::record::{Activity, RangeRecord};
use crate::units::Stamp;

/// Work on the device, with the call that asked for it.
#[derive(Clone, Copy, Debug)]
struct Launch {
    asked: Stamp,
    thread: u32,
    batch: Option<u64>,
    from: Stamp,
    to: Stamp,
}

/// Launches of one process.
#[derive(Debug, Default)]
pub(super) struct Launches {
    /// By correlation: when a call began, and its thread.
    calls: HashMap<u32, (Stamp, u32)>,
    /// Work by the correlation of its call.
    work: Vec<(u32, Option<u64>, Stamp, Stamp)>,
    /// In the order in which they were asked for.
    launches: Vec<Launch>,
    /// The thread of each track, as far as its batches tell.
    threads: HashMap<u16, u32>,
}

impl Launches {
    /// Takes in an activity; all of them come before the first range.
    pub(super) fn push(&mut self, activity: &Activity) {
        match activity.work {
            Work::Call {
                thread, correlation, ..
            } => {
                let call = self.calls.entry(correlation).or_insert((activity.from, thread));
                // A call of the runtime makes one of the driver.
                call.0 = call.0.min(activity.from);
            }
            work => {
                if let (Some(_), Some(correlation)) = (work.on_device(), work.correlation()) {
                    let owner = activity.owner.frame;
                    self.work.push((correlation, owner, activity.from, activity.to));
                }
            }
        }
    }

    /// From the begin of the first to the end of the last work that was launched in a range, by its thread; none where nothing was.
    pub(super) fn span(&mut self, range: &RangeRecord) -> Option<(Stamp, Stamp)> {
        self.settle();
        let begin = self.launches.partition_point(|launch| launch.asked < range.from);
        let end = self.launches.partition_point(|launch| launch.asked <= range.to);
        let within = self.launches.get(begin..end)?;
        // A batch's work was launched by its thread; other ranges are of the thread of the batches on their track.
        let thread = self
            .threads
            .get(&range.track)
            .copied()
            .or_else(|| self.only_thread());
        let is_own = |launch: &&Launch| match range.batch {
            Some(batch) => launch.batch == Some(batch),
            None => Some(launch.thread) == thread,
        };
        let mut own = within.iter().filter(is_own);
        let first = own.next()?;
        if range.items.is_some() {
            self.threads.insert(range.track, first.thread);
        }
        let span = (first.from, first.to);
        Some(own.fold(span, |(from, to), launch| {
            (from.min(launch.from), to.max(launch.to))
        }))
    }

    /// Joins work with its calls, once everything is there.
    fn settle(&mut self) {
        if self.work.is_empty() {
            return;
        }
        let calls = &self.calls;
        let joined = self.work.drain(..).filter_map(|(correlation, batch, from, to)| {
            let &(asked, thread) = calls.get(&correlation)?;
            Some(Launch {
                asked,
                thread,
                batch,
                from,
                to,
            })
        });
        self.launches.extend(joined);
        self.launches.sort_by_key(|launch| launch.asked);
    }

    /// The thread, where all launches are of one.
    fn only_thread(&self) -> Option<u32> {
        let first = self.launches.first()?.thread;
        self.launches
            .iter()
            .all(|launch| launch.thread == first)
            .then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::activity::{Interface, OnStream, Owner};

    fn launched(launches: &mut Launches, correlation: u32, thread: u32, at: i64, batch: Option<u64>) {
        let activity = |from, to, work| Activity {
            from: Stamp(from),
            to: Stamp(to),
            name: None,
            owner: Owner {
                tenant: Some(0),
                frame: batch,
                layer: None,
            },
            work,
        };
        let kernel = Work::Kernel {
            on: OnStream::default(),
            correlation,
            graph: 0,
        };
        // A kernel may be told of before its call.
        launches.push(&activity(1000 + at, 1005 + at, kernel));
        let call = Work::Call {
            thread,
            correlation,
            interface: Interface::Runtime,
        };
        launches.push(&activity(at, at + 2, call));
    }

    fn range(track: u16, from: i64, to: i64, batch: Option<u64>, items: Option<u64>) -> RangeRecord {
        RangeRecord {
            tenant: 0,
            track,
            from: Stamp(from),
            to: Stamp(to),
            path: "a".to_owned(),
            batch,
            items,
        }
    }

    #[test]
    fn a_ranges_time_on_the_gpu_spans_what_its_thread_launched_in_it() {
        let mut launches = Launches::default();
        launched(&mut launches, 1, 7, 10, Some(0));
        launched(&mut launches, 2, 7, 30, Some(0));
        launched(&mut launches, 3, 8, 20, Some(1));
        launched(&mut launches, 4, 7, 50, None);
        let mut span = |range| launches.span(&range).map(|(from, to)| (from.0, to.0));
        // Several threads launch, and nothing says whose a track is.
        assert_eq!(span(range(0, 0, 100, None, None)), None);
        assert_eq!(span(range(0, 5, 15, Some(0), None)), Some((1010, 1015)));
        assert_eq!(span(range(0, 5, 40, Some(0), Some(4))), Some((1010, 1035)));
        assert_eq!(span(range(1, 5, 40, Some(1), Some(4))), Some((1020, 1025)));
        assert_eq!(span(range(0, 0, 100, None, None)), Some((1010, 1055)));
        assert_eq!(span(range(0, 60, 100, None, None)), None);
    }
}
