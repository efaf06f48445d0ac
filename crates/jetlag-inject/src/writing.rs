//! The thread that writes the spool: it visits the queues of the program's threads, reads what CUPTI has, and adds both to the file.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::{Duration, Instant};

use jetlag_activity::Raw;
use jetlag_activity::spool::{self, Counts, Note, Writer};
use jetlag_record::Activity;
use jetlag_record::activity::{Owner, Work};
use jetlag_record::units::Stamp;

use crate::gpu::Gpu;
use crate::range::Ended;
use crate::shared::Shared;

/// Time between two visits of the queues.
const VISIT: Duration = Duration::from_millis(25);
/// How often CUPTI is asked for what is complete.
const GPU: Duration = Duration::from_millis(100);
/// How often somebody looks whether the file is still wanted.
const WANTED: Duration = Duration::from_secs(1);
/// Ranges that are kept of a process.
const MOST_RANGES: u64 = 3_000_000;

/// What the thread is told.
pub(crate) enum Order {
    /// The GPU is traced from now on.
    Gpu(Box<Gpu>),
    /// Something to say.
    Note(Note),
    /// The program ends: write what is left, and say when it is done.
    End(Sender<()>),
}

struct Writing<'a> {
    shared: &'a Shared,
    writer: Writer<File>,
    gpu: Option<Box<Gpu>>,
    kept: u64,
    counts: Counts,
    /// Ranges that are gathered and not in the file yet.
    gathered: u64,
    /// How many ranges the file says were lost.
    lost_in_file: u64,
    /// Ranges that found no room any more; none as long as there is some.
    not_written: Option<u64>,
}

/// Writes until the program ends, or nothing can be written any more.
pub(crate) fn run(shared: &Shared, writer: Writer<File>, orders: &Receiver<Order>) {
    let mut writing = Writing {
        shared,
        writer,
        gpu: None,
        kept: 0,
        counts: Counts::default(),
        gathered: 0,
        lost_in_file: 0,
        not_written: None,
    };
    let (mut gpu_at, mut wanted_at) = (Instant::now(), Instant::now());
    loop {
        match orders.try_recv() {
            Ok(Order::Gpu(gpu)) => writing.gpu = Some(gpu),
            Ok(Order::Note(note)) => writing.writer.note(&note),
            Ok(Order::End(done)) => {
                writing.end();
                let _ = done.send(());
                return;
            }
            // Who has something to do says so.
            Err(TryRecvError::Empty) => std::thread::park_timeout(VISIT),
            Err(TryRecvError::Disconnected) => return,
        }
        writing.ranges();
        if gpu_at.elapsed() >= GPU {
            gpu_at = Instant::now();
            if let Some(gpu) = writing.gpu.as_mut().filter(|_| writing.not_written.is_none()) {
                gpu.read(&mut writing.writer);
            }
        }
        let wanted = wanted_at.elapsed() < WANTED || {
            wanted_at = Instant::now();
            is_wanted(writing.writer.get_ref())
        };
        if !wanted {
            // Whoever asked for it is gone.
            shared.stop();
            return;
        }
        writing.flush();
    }
}

/// Whether the file still has a name: who reads it removes it.
fn is_wanted(file: &File) -> bool {
    rustix::fs::fstat(file).is_ok_and(|about| about.st_nlink > 0)
}

fn length(file: &File) -> Option<u64> {
    file.metadata().ok().map(|about| about.len())
}

impl Writing<'_> {
    /// Takes over the ranges that have ended.
    fn ranges(&mut self) {
        let (mut pushed, mut started) = (Vec::new(), Vec::new());
        self.shared.feeds().retain_mut(|feed| {
            // Asked before the last look, so that nothing comes in between.
            let is_left = feed.is_abandoned();
            while let Ok(ended) = feed.pop() {
                match ended.started {
                    true => started.push(raw(ended)),
                    false => pushed.push(raw(ended)),
                }
            }
            !is_left
        });
        if let Some(so_far) = self.not_written {
            let more = (pushed.len() + started.len()) as u64;
            // Those that found their queue full are told of by nobody else now.
            self.not_written = Some(so_far + more + self.newly_lost());
            return;
        }
        self.gathered += (pushed.len() + started.len()) as u64;
        self.writer.names(self.shared.names().news());
        for (all, are_started) in [(pushed, false), (started, true)] {
            for some in all.chunks(4096) {
                if self.kept >= MOST_RANGES {
                    self.counts.not_kept += some.len() as u64;
                    continue;
                }
                self.kept += some.len() as u64;
                if are_started {
                    self.writer.note(&Note::Started);
                }
                self.writer.activities(some);
            }
        }
        let counts = Counts {
            lost: self.shared.lost.load(Ordering::Relaxed),
            unbalanced: self.shared.unbalanced.load(Ordering::Relaxed),
            of_children: self.shared.of_children(),
            ..self.counts
        };
        if counts != self.counts {
            self.counts = counts;
            self.writer.note(&Note::Counts(counts));
        }
    }

    /// Ranges that were lost since that was last noted.
    fn newly_lost(&mut self) -> u64 {
        let lost = self.shared.lost.load(Ordering::Relaxed);
        lost - std::mem::replace(&mut self.counts.lost, lost)
    }

    fn end(&mut self) {
        self.ranges();
        if let Some(gpu) = self.gpu.take().filter(|_| self.not_written.is_none()) {
            gpu.finish(&mut self.writer);
        }
        self.writer.note(&Note::Ended);
        self.flush();
    }

    /// Writes what was gathered. Once that fails, the disk is full: what lies in the file in whole messages is good, nothing is added
    /// to it any more, and how much is missing takes the place of the number that stands there.
    fn flush(&mut self) {
        if self.not_written.is_none() {
            let before = length(self.writer.get_ref());
            if self.writer.flush().is_ok() {
                (self.gathered, self.lost_in_file) = (0, self.counts.lost);
                return;
            }
            let _ = before.map(|before| self.writer.get_ref().set_len(before));
            // What was to be noted is gone with what was gathered.
            self.not_written = Some(self.gathered + self.counts.lost - self.lost_in_file);
        }
        let (Some(ranges), Some(at)) = (self.not_written, self.writer.digits_at()) else {
            return;
        };
        let _ = self
            .writer
            .get_ref()
            .write_all_at(spool::not_written(ranges).as_bytes(), at);
    }
}

fn raw(ended: Ended) -> Raw {
    let stamp = |ns: u64| Stamp(i64::try_from(ns).unwrap_or(i64::MAX));
    Raw {
        activity: Activity {
            from: stamp(ended.from_ns),
            to: stamp(ended.to_ns),
            name: ended.name,
            owner: Owner::default(),
            work: Work::Range {
                thread: ended.thread,
                domain: ended.domain,
                payload: ended.payload,
            },
        },
        node: 0,
    }
}
