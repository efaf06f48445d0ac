//! A source whose frames come when it has them: a camera, and whatever else is there and not stored.
//!
//! A thread of its own takes each frame as it comes ([`LiveInput`]), stamps it and lays it into the [`LiveFeed`]. From there the
//! tenant's pipeline is woken, lets it join its waiting line, and gives it up or takes it as with every other arrival. Reading is
//! parted from unpacking as in a stored source ([`Unpack`]).

mod feed;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::stored::Unpack;
use super::{ContentKind, Frame, Source, SourceError, SourceInfo};
use crate::units::Stamp;

pub use feed::{Ended, LiveFeed, Look};

/// A frame that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Came {
    /// When the source had it: its release.
    pub at: Stamp,
    /// When its sensor captured it, where the source knows that; else when it came.
    pub captured: Stamp,
}

/// What gives live frames. It is used by one thread.
pub trait LiveInput {
    /// Waits for the next frame and reads it into `raw`, in place of what an earlier one left there. `None` when no more come.
    ///
    /// # Errors
    /// No more come, and not because it is over.
    fn next(&mut self, raw: &mut Vec<u8>) -> Result<Option<Came>, SourceError>;
}

/// How a live source is begun, from its thread; again when it had ended and another phase begins.
pub trait LiveStart: Send + Sync {
    /// Begins.
    ///
    /// # Errors
    /// There is no such thing, or it does not begin.
    fn start(&self) -> Result<Box<dyn LiveInput>, SourceError>;
    /// From now on nothing is waited for: the source is being dropped.
    fn stop(&self);
}

/// Beyond what an input waits for its first frame by itself: one that gives none and no error either is given up.
const FIRST: Duration = Duration::from_secs(30);

/// A [`Source`] over a [`LiveInput`].
pub struct Live {
    feed: Arc<LiveFeed>,
    start: Arc<dyn LiveStart>,
    unpack: Box<dyn Unpack>,
    reader: Option<JoinHandle<()>>,
    kind: ContentKind,
    description: String,
    /// Number of the frame that is acquired next.
    next: u64,
}

impl Live {
    /// Begins, and waits until the first frame has come, so that what is wrong is told before a run.
    ///
    /// # Errors
    /// It does not begin, or gives no frame.
    pub fn open(
        start: Arc<dyn LiveStart>,
        unpack: Box<dyn Unpack>,
        kind: ContentKind,
    ) -> Result<Live, SourceError> {
        let mut live = Live {
            feed: Arc::new(LiveFeed::default()),
            start,
            unpack,
            reader: None,
            kind,
            description: "live frames".to_owned(),
            next: 0,
        };
        live.begin()?;
        live.feed.first(Instant::now() + FIRST)?;
        Ok(live)
    }

    /// With what it says of itself.
    #[must_use]
    pub fn described(mut self, description: String) -> Live {
        self.description = description;
        self
    }

    fn begin(&mut self) -> Result<(), SourceError> {
        let (feed, start) = (Arc::clone(&self.feed), Arc::clone(&self.start));
        let reader = std::thread::Builder::new()
            .name("jetlag-live".to_owned())
            .spawn(move || feed.fill(start.as_ref()))
            .map_err(SourceError::NoThread)?;
        self.reader = Some(reader);
        Ok(())
    }
}

impl Source for Live {
    fn info(&self) -> SourceInfo {
        SourceInfo {
            kind: self.kind,
            frames: None,
            description: self.description.clone(),
            selection: None,
        }
    }

    fn acquire(&mut self, frame: &mut Frame) -> Result<bool, SourceError> {
        frame.index = self.next;
        frame.captured = None;
        frame.context = None;
        self.next += 1;
        match self.feed.take(frame.index, &mut frame.raw) {
            true => Ok(true),
            // It was given up, and yet asked for.
            false => Err(SourceError::Unread(
                format!("frame {} of {} is gone", frame.index, self.description).into(),
            )),
        }
    }

    fn decode(&mut self, frame: &mut Frame) -> Result<(), SourceError> {
        let index = usize::try_from(frame.index).unwrap_or(usize::MAX);
        self.unpack.unpack_own(index, &mut frame.raw, &mut frame.content)
    }

    fn skip(&mut self, frames: u64) -> Result<(), SourceError> {
        self.next = self.next.saturating_add(frames);
        Ok(())
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        self.next = 0;
        if !self.feed.reopen() {
            return Ok(());
        }
        // It has said its last.
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        self.begin()
    }

    fn live(&self) -> Option<Arc<LiveFeed>> {
        Some(Arc::clone(&self.feed))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.start.stop();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};

    use super::*;
    use crate::clock::{Clock, RealClock};
    use crate::scenario::Overload;
    use crate::source::Content;
    use crate::units::Nanos;

    /// What an input is told to do.
    enum Order {
        Frame(u8),
        End,
        Fail,
    }

    /// An input that does as it is told.
    struct Told {
        orders: Arc<Mutex<Receiver<Order>>>,
        stopped: Arc<AtomicBool>,
    }

    impl LiveStart for Told {
        fn start(&self) -> Result<Box<dyn LiveInput>, SourceError> {
            Ok(Box::new(Told {
                orders: Arc::clone(&self.orders),
                stopped: Arc::clone(&self.stopped),
            }))
        }
        fn stop(&self) {
            self.stopped.store(true, Ordering::Relaxed);
        }
    }

    impl LiveInput for Told {
        fn next(&mut self, raw: &mut Vec<u8>) -> Result<Option<Came>, SourceError> {
            while !self.stopped.load(Ordering::Relaxed) {
                let order = self.orders.lock().unwrap().recv_timeout(Duration::from_millis(5));
                match order {
                    Ok(Order::Frame(byte)) => {
                        *raw = vec![byte];
                        let at = RealClock.now();
                        return Ok(Some(Came { at, captured: at }));
                    }
                    Ok(Order::End) => return Ok(None),
                    Ok(Order::Fail) => return Err(SourceError::Unread("the plug was pulled".into())),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
            Ok(None)
        }
    }

    struct Nothing;

    impl Unpack for Nothing {
        fn unpack(&mut self, _: usize, _: &[u8], _: &mut Content) -> Result<(), SourceError> {
            Ok(())
        }
    }

    fn told() -> (Arc<Told>, Sender<Order>) {
        let (orders, receiver) = channel();
        let told = Told {
            orders: Arc::new(Mutex::new(receiver)),
            stopped: Arc::default(),
        };
        (Arc::new(told), orders)
    }

    fn open(told: Arc<Told>) -> Result<Live, SourceError> {
        Live::open(told, Box::new(Nothing), ContentKind::Image)
    }

    const LONG: Nanos = Nanos::from_secs(300);

    #[test]
    fn frames_of_a_phase_are_acquired_in_order_and_a_source_that_ended_begins_again() {
        let (told, orders) = told();
        orders.send(Order::Frame(1)).unwrap();
        let mut live = open(told).unwrap();
        let feed = live.live().unwrap();
        let always = (Stamp(0), Stamp(i64::MAX));
        let mut frame = Frame::default();
        for round in 0..2 {
            live.rewind().unwrap();
            feed.begin(always.0, always.1, Overload::DropNewest { queue: 2 });
            for byte in [7, 8, 9] {
                orders.send(Order::Frame(byte + round)).unwrap();
            }
            orders.send(Order::End).unwrap();
            let mut seen = 0;
            while feed.ended() != Some(Ended::Over) {
                feed.wait(LONG);
                let mut look = feed.look();
                while look.unseen().is_some() {
                    seen += 1;
                }
                // All wait, as far as there is room.
                look.settle(Some(0), seen.min(2));
            }
            assert_eq!(seen, 3);
            assert!(live.acquire(&mut frame).unwrap());
            assert_eq!((frame.index, frame.raw.as_slice()), (0, &[7 + round][..]));
            live.skip(5).unwrap();
            assert!(live.acquire(&mut frame).is_err(), "there is no such frame");
        }
    }

    #[test]
    fn a_source_that_fails_says_why_before_a_run_and_in_it() {
        let (told_at_once, orders) = told();
        orders.send(Order::Fail).unwrap();
        let error = open(told_at_once).err().unwrap().to_string();
        assert_eq!(error, "the plug was pulled");
        let (told, orders) = told();
        orders.send(Order::Frame(1)).unwrap();
        let live = open(told).unwrap();
        let feed = live.live().unwrap();
        orders.send(Order::Fail).unwrap();
        assert_eq!(feed.wait(LONG), None);
        assert_eq!(feed.ended(), Some(Ended::Failed("the plug was pulled".into())));
    }

    #[test]
    fn a_source_that_is_waited_for_is_dropped_at_once() {
        let (told, orders) = told();
        orders.send(Order::Frame(1)).unwrap();
        drop(open(told).unwrap());
        assert!(orders.send(Order::End).is_err(), "its thread is gone");
    }
}
