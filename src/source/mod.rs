//! Where frames come from: one file a kind of source, all yielding [`Frame`].
//!
//! A source fills a frame that the tenant owns and uses again, so that a steady run allocates nothing.
//! `acquire` and `decode` are separate because they are separate stages in the record. What is done
//! with the pixels or points is the detector's affair.

pub mod context;
pub mod empty;
pub mod folder;
pub mod images;
pub mod kitti;
pub mod live;
pub mod points;
#[cfg_attr(not(feature = "recordings"), path = "without_recordings.rs")]
pub mod recordings;
pub mod selection;
mod sensor;
pub mod several;
pub mod shared;
pub mod stored;
pub mod synchronised;
pub mod synthetic;
pub mod timeline;
pub mod wants;

use std::sync::Arc;
use std::time::Duration;

use crate::built::LeftOut;
use crate::record::Selection;
use crate::units::Nanos;
use context::{Contexts, FrameContext};
use live::LiveFeed;
use shared::SharedCost;
use synchronised::SensorSet;
use timeline::Timeline;
use wants::{Lack, Wants};

pub use jetlag_world::{Image, PointCloud, calibration};

/// What a frame holds once it is decoded.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Content {
    /// Nothing: for the `sim` and `null` backends.
    #[default]
    Empty,
    /// An image of a camera.
    Image(Image),
    /// A sweep of a LiDAR.
    Points(PointCloud),
    /// Frames of a camera and of a LiDAR that belong together.
    Set(Box<SensorSet>),
}

impl Content {
    /// What kind it is of.
    pub fn kind(&self) -> ContentKind {
        match self {
            Content::Empty => ContentKind::Empty,
            Content::Image(_) => ContentKind::Image,
            Content::Points(_) => ContentKind::Points,
            Content::Set(_) => ContentKind::Set,
        }
    }

    /// Its sweep, which it is made to hold if it does not.
    pub fn sweep_mut(&mut self) -> &mut PointCloud {
        if !matches!(self, Content::Points(_)) {
            *self = Content::Points(PointCloud::default());
        }
        match self {
            Content::Points(cloud) => cloud,
            Content::Empty | Content::Image(_) | Content::Set(_) => unreachable!("it was just made a sweep"),
        }
    }
}

/// The unit of work: one image or one sweep with its capture time. Buffers are kept between frames.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Position in the source, from 0; comes round again when a source repeats.
    pub index: u64,
    /// Capture time since the first frame of the source, where the source knows it.
    pub captured: Option<Nanos>,
    /// Which sensor took it, from where and with which calibration, where the source knows it.
    pub context: Option<Arc<FrameContext>>,
    /// Of which of the source's cameras it is, where it yields images of several; 0 otherwise.
    pub camera: u8,
    /// The undecoded bytes, where the source has such (a JPEG file, say).
    pub raw: Vec<u8>,
    /// The decoded image or sweep, where the frame is the tenant's own; [`Frame::content`] has it in any case.
    pub content: Content,
    /// What several tenants were handed, in place of `content`.
    pub shared: Option<Arc<Content>>,
}

impl Frame {
    /// The decoded image or sweep.
    pub fn content(&self) -> &Content {
        self.shared.as_deref().unwrap_or(&self.content)
    }
}

/// What a source is, for checks before the run and for the manifest.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct SourceInfo {
    /// Whether it yields images, sweeps or sets of both.
    pub kind: ContentKind,
    /// How many frames it holds, if it ends at all.
    pub frames: Option<u64>,
    /// In words: `64 synthetic sweeps, seed 7`.
    pub description: String,
    /// Which frames of a recording it has, of sets of sensors the LiDAR's; `None` for those that are made or live.
    pub selection: Option<Selection>,
}

/// The kinds of content, for matching a source to a detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[allow(missing_docs, reason = "see Content")]
pub enum ContentKind {
    Empty,
    Image,
    Points,
    Set,
}

/// A topic of a bag that frames are made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameTopic {
    /// Its name.
    pub name: String,
    /// Images or sweeps.
    pub content: ContentKind,
    /// How its messages are serialised: `cdr` in bags of ROS 2, and only those are read.
    pub serialization: String,
    /// How many.
    pub messages: usize,
}

/// Something that yields frames, one after the other.
pub trait Source: Send {
    /// What this source is.
    fn info(&self) -> SourceInfo;
    /// Fetches the next frame (stage *acquire*); `false` at the end of the source. A frame that cannot be fetched is
    /// an error, and the next call goes on after it.
    fn acquire(&mut self, frame: &mut Frame) -> Result<bool, SourceError>;
    /// Makes `content` of what was acquired (stage *decode*); nothing to do where it came decoded.
    fn decode(&mut self, _frame: &mut Frame) -> Result<(), SourceError> {
        Ok(())
    }
    /// Passes over the next `frames` frames without fetching them: those of releases that were given up, so that
    /// content keeps step with time. Passing over the end of a source leaves it at its end.
    fn skip(&mut self, frames: u64) -> Result<(), SourceError>;
    /// Goes back to the first frame, so that every phase of a run sees the same ones.
    fn rewind(&mut self) -> Result<(), SourceError>;
    /// How often and how long it was waited for since this was last asked, though frames are read ahead.
    fn take_waits(&mut self) -> Waits {
        Waits::default()
    }
    /// Says what the detector takes of points beside where they are. Returns what the first frame lacks of it.
    fn want(&mut self, _wants: Wants) -> Option<Lack> {
        None
    }
    /// What reading for several tenants took, told to one of them and once.
    fn take_shared_cost(&mut self) -> Option<SharedCost> {
        None
    }
    /// When its frames were captured and came, for `Replay`; `None` where that is not known.
    fn timeline(&self) -> Option<&Timeline> {
        None
    }
    /// Its frames by their numbers; `None` where they have none that is known beforehand.
    fn recorded(&self) -> Option<Recorded<'_>> {
        None
    }
    /// Where its frames come to when it has them, for `Live`; `None` for a source whose frames can be asked for.
    fn live(&self) -> Option<Arc<LiveFeed>> {
        None
    }
}

/// A source whose frames are all known before the first one is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'s> {
    /// How many there are in a lap.
    pub frames: usize,
    /// Whether it begins again at its end.
    pub repeats: bool,
    /// What is known of each.
    pub contexts: &'s Contexts,
}

/// Frames that were not there when they were asked for, though they are read ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// How many.
    pub frames: u64,
    /// What all of them were waited for.
    pub total: Duration,
    /// What one of them was waited for at most.
    pub longest: Duration,
}

impl Waits {
    /// Those of several sources, as of one.
    fn of_all(all: impl Iterator<Item = Waits>) -> Waits {
        all.fold(Waits::default(), |sum, own| Waits {
            frames: sum.frames + own.frames,
            total: sum.total + own.total,
            longest: sum.longest.max(own.longest),
        })
    }
}

/// The position `frames` after `next` in a source of `length` frames that repeats or ends.
fn position_after(next: usize, frames: u64, length: usize, repeats: bool) -> usize {
    let to = (next as u64).saturating_add(frames);
    let to = if repeats {
        to % length as u64
    } else {
        to.min(length as u64)
    };
    to as usize // Below or at the length.
}

/// Why a source could not be opened or read. Each says which file and what to do.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A file or folder that cannot be read.
    #[error("cannot read {path}: {error}")]
    Io {
        /// The file or folder.
        path: std::path::PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// A file or folder that cannot be written.
    #[error("cannot write {path}: {error}")]
    Write {
        /// The file or folder.
        path: std::path::PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// A folder with no file of the wanted kind.
    #[error("{path} contains no {wanted}")]
    EmptyFolder {
        /// The folder that was looked into.
        path: std::path::PathBuf,
        /// The kinds of file that were looked for.
        wanted: &'static str,
    },
    /// A recording of which a selection cannot be had: which, and why.
    #[error(transparent)]
    Recording(Box<dyn std::error::Error + Send + Sync>),
    /// This jetlag was built without them.
    #[error(transparent)]
    LeftOut(#[from] LeftOut),
    /// More than is read before a run.
    #[error(
        "{read} of {of} frames have {megabytes} MB, more than half of the memory that is free: use `ahead` instead of `preload`, or fewer frames"
    )]
    TooMuch {
        /// Frames that were read.
        read: usize,
        /// Frames that there are.
        of: usize,
        /// What they have, in megabytes.
        megabytes: u64,
    },
    /// A frame that could not be read before the run, in words.
    #[error("{0}")]
    Unread(Arc<str>),
    /// There is no thread to read with.
    #[error("cannot start the thread that reads ahead: {0}")]
    NoThread(std::io::Error),
    /// The thread that reads has panicked.
    #[error("the thread that reads ahead has died; the log says where")]
    ReaderDied,
    /// A file that is not what its name says.
    #[error("{path}: {problem}")]
    BadFile {
        /// The path that was to be read.
        path: std::path::PathBuf,
        /// What is wrong with it, found against expected.
        problem: String,
    },
}
