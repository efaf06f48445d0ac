//! A source whose frames lie in storage, each reachable by its number: a folder, a dataset, a bag.
//!
//! Reading is parted from unpacking. What is read ([`Store`]) may be read ahead by a thread of its own or before the clock
//! starts, so that storage is not taken for the tenant's latency. What is unpacked ([`Unpack`]) is work that a robot has as well:
//! it stays in the stage *decode*.

mod ahead;

use std::sync::Arc;
use std::time::Duration;

use super::context::Contexts;
use super::timeline::Timeline;
use super::wants::{Lack, Wants};
use super::{Content, ContentKind, Frame, Recorded, Source, SourceError, SourceInfo, Waits, position_after};
use crate::free_memory;
use crate::record::Selection;
use crate::scenario::Reading;
use ahead::Ahead;

/// Frames as they lie in storage.
pub trait Store: Send {
    /// How many there are.
    fn length(&self) -> usize;

    /// Reads frame `index` into `raw`, which is empty and whose memory is used again.
    ///
    /// # Errors
    /// The frame cannot be read; others may be.
    fn fetch(&mut self, index: usize, raw: &mut Vec<u8>) -> Result<(), SourceError>;

    /// The same, in place of what an earlier frame has left in `raw`: for frames of one length, which need not be cleared.
    ///
    /// # Errors
    /// As those of [`fetch`](Self::fetch).
    fn fetch_over(&mut self, index: usize, raw: &mut Vec<u8>) -> Result<(), SourceError> {
        raw.clear();
        self.fetch(index, raw)
    }

    /// How another thread ends a fetch that waits for something, and all after it; `None` where none waits for long.
    fn stop(&self) -> Option<Box<dyn FnOnce() + Send>> {
        None
    }
}

/// What makes images or sweeps of what was read.
pub trait Unpack: Send {
    /// Makes `content` of frame `index`, whose bytes are `raw`.
    ///
    /// # Errors
    /// They are no such content.
    fn unpack(&mut self, index: usize, raw: &[u8], content: &mut Content) -> Result<(), SourceError>;

    /// As [`Source::want`].
    fn want(&mut self, _wants: Wants) -> Option<Lack> {
        None
    }

    /// The same, of bytes that may be taken: what is the content already need not be copied.
    ///
    /// # Errors
    /// As those of [`unpack`](Self::unpack).
    fn unpack_own(
        &mut self,
        index: usize,
        raw: &mut Vec<u8>,
        content: &mut Content,
    ) -> Result<(), SourceError> {
        self.unpack(index, raw, content)
    }
}

/// What a thread may take to wake up, about.
const WAKE_UP: Duration = Duration::from_micros(100);

/// What a stored source says of itself.
#[derive(Clone, Debug)]
pub struct About {
    /// Whether it yields images or sweeps.
    pub kind: ContentKind,
    /// In words, without how it is read: `12 images in scenes/image_2`.
    pub description: String,
    /// When its frames were captured and came, where that is known.
    pub timeline: Option<Timeline>,
    /// Which sensor its frames are of, and what is known of it.
    pub contexts: Contexts,
    /// Which frames it has; `None` where they are made up.
    pub selection: Option<Selection>,
}

/// A [`Source`] over a [`Store`].
pub struct Stored {
    about: About,
    read: Read,
    unpack: Box<dyn Unpack>,
    length: usize,
    /// The frame that comes next.
    next: usize,
    repeat: bool,
    reading: Reading,
}

/// What was read of each frame, or why it could not be.
type Preloaded = Vec<Result<Vec<u8>, Arc<str>>>;

/// How frames come from the store.
enum Read {
    /// When they are asked for.
    AtOnce(Box<dyn Store>),
    /// Before they are asked for.
    Ahead(Ahead),
    /// All were read when the source was opened.
    Before(Preloaded),
}

impl Stored {
    /// A source over `store`, which begins again at its end if it is to `repeat`. All of it is read here with
    /// [`Reading::Preload`].
    ///
    /// # Errors
    /// A thread that cannot be started; with [`Reading::Preload`], more than the memory that is free.
    pub fn open(
        mut store: Box<dyn Store>,
        unpack: Box<dyn Unpack>,
        about: About,
        repeat: bool,
        reading: Reading,
    ) -> Result<Stored, SourceError> {
        let length = store.length();
        let read = match reading {
            Reading::Ahead { frames: 0 } => Read::AtOnce(store),
            Reading::Ahead { frames } => Read::Ahead(Ahead::start(store, frames, repeat)?),
            Reading::Preload => Read::Before(preload(store.as_mut(), free_memory::available())?),
        };
        Ok(Stored {
            about,
            read,
            unpack,
            length,
            next: 0,
            repeat,
            reading,
        })
    }
}

impl std::fmt::Debug for Stored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stored")
            .field("about", &self.about)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

/// Reads everything, as far as half of the `free` bytes go: the run itself needs memory too.
fn preload(store: &mut dyn Store, free: Option<u64>) -> Result<Preloaded, SourceError> {
    let most = free.map_or(u64::MAX, |free| free / 2);
    let mut total = 0;
    let mut all = Vec::new();
    for index in 0..store.length() {
        let mut raw = Vec::new();
        let outcome = store.fetch(index, &mut raw);
        raw.shrink_to_fit();
        total += raw.len() as u64;
        if total > most {
            return Err(SourceError::TooMuch {
                read: index + 1,
                of: store.length(),
                megabytes: total / 1_000_000,
            });
        }
        // A frame that cannot be read fails when it is its turn, as without preloading.
        all.push(match outcome {
            Ok(()) => Ok(raw),
            Err(error) => Err(error.to_string().into()),
        });
    }
    Ok(all)
}

impl Source for Stored {
    fn info(&self) -> SourceInfo {
        let repeated = if self.repeat { ", repeated" } else { "" };
        let read = match self.reading {
            Reading::Ahead { frames: 0 } => String::new(),
            Reading::Ahead { frames } => format!(", read {frames} ahead"),
            Reading::Preload => ", read before the run".to_owned(),
        };
        SourceInfo {
            kind: self.about.kind,
            frames: (!self.repeat).then_some(self.length as u64),
            description: format!("{}{repeated}{read}", self.about.description),
            selection: self.about.selection.clone(),
        }
    }

    fn acquire(&mut self, frame: &mut Frame) -> Result<bool, SourceError> {
        if self.next >= self.length {
            if !self.repeat || self.length == 0 {
                return Ok(false);
            }
            self.next = 0;
        }
        let index = self.next;
        frame.index = index as u64;
        frame.captured = self
            .about
            .timeline
            .as_ref()
            .and_then(|timeline| timeline.at(frame.index))
            .map(|time| time.captured);
        frame.context = self.about.contexts.of(index);
        // Counted before reading: the next call goes on with the next frame, whatever comes of this one.
        self.next += 1;
        match &mut self.read {
            Read::AtOnce(store) => store.fetch_over(index, &mut frame.raw)?,
            Read::Ahead(ahead) => ahead.take(&mut frame.raw)?,
            Read::Before(all) => match &all[index] {
                Ok(raw) => {
                    frame.raw.clear();
                    frame.raw.extend_from_slice(raw);
                }
                Err(why) => return Err(SourceError::Unread(Arc::clone(why))),
            },
        }
        Ok(true)
    }

    fn decode(&mut self, frame: &mut Frame) -> Result<(), SourceError> {
        let index = frame.index as usize; // It was made of one.
        self.unpack.unpack_own(index, &mut frame.raw, &mut frame.content)
    }

    fn skip(&mut self, frames: u64) -> Result<(), SourceError> {
        self.next = position_after(self.next, frames, self.length, self.repeat);
        if let Read::Ahead(ahead) = &mut self.read {
            ahead.skip(frames);
        }
        Ok(())
    }

    fn rewind(&mut self) -> Result<(), SourceError> {
        self.next = 0;
        if let Read::Ahead(ahead) = &mut self.read {
            ahead.rewind();
        }
        Ok(())
    }

    fn want(&mut self, wants: Wants) -> Option<Lack> {
        self.unpack.want(wants)
    }

    fn timeline(&self) -> Option<&Timeline> {
        self.about.timeline.as_ref()
    }

    fn recorded(&self) -> Option<Recorded<'_>> {
        Some(Recorded {
            frames: self.length,
            repeats: self.repeat,
            contexts: &self.about.contexts,
        })
    }

    fn take_waits(&mut self) -> Waits {
        match &mut self.read {
            Read::Ahead(ahead) => ahead.take_waits(),
            Read::AtOnce(_) | Read::Before(_) => Waits::default(),
        }
    }
}

impl Waits {
    /// One more frame was waited for. A wait of a thread's wake-up is none: a loop that takes frames as fast as they are read has
    /// many of these.
    fn note(&mut self, waited: Duration) {
        if waited < WAKE_UP {
            return;
        }
        self.frames += 1;
        self.total += waited;
        self.longest = self.longest.max(waited);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Frames of as many bytes as their number says; every seventh cannot be read.
    struct Numbers(usize);

    impl Store for Numbers {
        fn length(&self) -> usize {
            self.0
        }
        fn fetch(&mut self, index: usize, raw: &mut Vec<u8>) -> Result<(), SourceError> {
            assert!(raw.is_empty());
            if index % 7 == 6 {
                return Err(SourceError::Unread(format!("{index} is bad").into()));
            }
            raw.resize(index, index as u8);
            Ok(())
        }
    }

    impl Unpack for Numbers {
        fn unpack(&mut self, index: usize, raw: &[u8], content: &mut Content) -> Result<(), SourceError> {
            assert!(raw.len() == index && raw.iter().all(|byte| *byte == index as u8));
            *content = Content::Empty;
            Ok(())
        }
    }

    fn stored(length: usize, repeat: bool, reading: Reading) -> Stored {
        let about = About {
            kind: ContentKind::Points,
            description: format!("{length} numbers"),
            timeline: None,
            contexts: Contexts::Unknown,
            selection: None,
        };
        Stored::open(
            Box::new(Numbers(length)),
            Box::new(Numbers(length)),
            about,
            repeat,
            reading,
        )
        .unwrap()
    }

    /// Its one frame is how the thread that reads it is scheduled, as the kernel numbers it.
    struct Scheduled;

    impl Store for Scheduled {
        fn length(&self) -> usize {
            1
        }
        fn fetch(&mut self, _: usize, raw: &mut Vec<u8>) -> Result<(), SourceError> {
            let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
            // The 41st field; the second is a name in brackets, which may have blanks.
            let (_, fields) = stat.rsplit_once(')').unwrap();
            raw.push(fields.split_whitespace().nth(38).unwrap().parse().unwrap());
            Ok(())
        }
    }

    #[test]
    fn the_thread_that_reads_ahead_takes_no_processor_from_a_frame() {
        let mut ahead = ahead::Ahead::start(Box::new(Scheduled), 1, true).unwrap();
        let mut raw = Vec::new();
        ahead.take(&mut raw).unwrap();
        assert_eq!(raw, [3], "SCHED_BATCH");
    }

    #[derive(Clone, Copy, Debug)]
    enum Do {
        Acquire,
        Skip(u64),
        Rewind,
    }

    /// What comes of it: the frames, the words of those that failed, the ends.
    fn done(source: &mut Stored, script: &[Do]) -> Vec<Result<Option<u64>, String>> {
        let mut frame = Frame::default();
        let mut came = Vec::new();
        for step in script {
            match step {
                Do::Skip(frames) => source.skip(*frames).unwrap(),
                Do::Rewind => source.rewind().unwrap(),
                Do::Acquire => came.push(match source.acquire(&mut frame) {
                    Ok(true) => {
                        source.decode(&mut frame).unwrap();
                        Ok(Some(frame.index))
                    }
                    Ok(false) => Ok(None),
                    Err(error) => Err(error.to_string()),
                }),
            }
        }
        came
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn however_it_is_read_the_same_frames_come(
            length in 1usize..20,
            repeat in any::<bool>(),
            ahead in 1u32..6,
            script in prop::collection::vec(prop_oneof![
                6 => Just(Do::Acquire), 2 => (1u64..30).prop_map(Do::Skip), 1 => Just(Do::Rewind)
            ], 0..60),
        ) {
            let mut plain = stored(length, repeat, Reading::Ahead { frames: 0 });
            let wanted = done(&mut plain, &script);
            for reading in [Reading::Ahead { frames: ahead }, Reading::Preload] {
                let mut other = stored(length, repeat, reading);
                prop_assert_eq!(&done(&mut other, &script), &wanted, "{:?}", reading);
            }
        }
    }

    #[test]
    fn what_does_not_fit_into_half_of_the_free_memory_is_not_preloaded() {
        let error = preload(&mut Numbers(6), Some(19)).unwrap_err().to_string();
        assert!(error.contains("`ahead`") && error.contains("6"), "{error}");
        assert_eq!(preload(&mut Numbers(6), Some(30)).unwrap().len(), 6);
    }

    #[test]
    fn how_it_is_read_is_told() {
        let told = |reading| stored(3, true, reading).info().description;
        assert_eq!(told(Reading::Ahead { frames: 0 }), "3 numbers, repeated");
        assert_eq!(
            told(Reading::Ahead { frames: 2 }),
            "3 numbers, repeated, read 2 ahead"
        );
        assert_eq!(told(Reading::Preload), "3 numbers, repeated, read before the run");
    }

    #[test]
    fn a_source_without_frames_is_at_its_end() {
        for reading in [
            Reading::Ahead { frames: 0 },
            Reading::Ahead { frames: 2 },
            Reading::Preload,
        ] {
            assert_eq!(done(&mut stored(0, true, reading), &[Do::Acquire]), [Ok(None)]);
        }
    }
}
