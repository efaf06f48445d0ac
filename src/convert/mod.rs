//! Recordings made into bags of ROS 2 with standard messages: nuScenes, KITTI, folders of images and sweeps, videos; and bags into
//! bags of another storage or compression. Nothing of a recording is held but where its captures lie: they are read, written and
//! forgotten one by one.
//!
//! | file | what it holds |
//! |---|---|
//! | `recognise` | what lies under a name |
//! | `bag` | a bag, whose messages are copied as they are |
//! | `nuscenes`, `kitti`, `folder` | where a dataset's captures lie, and when and from where they were taken |
//! | `tape` | captures in the order of their times, written as messages |
//! | `video` | a video's frames, written as they are decoded |

mod bag;
mod folder;
mod kitti;
mod nuscenes;
mod recognise;
mod tape;
mod video;

use std::path::{Path, PathBuf};

use jetlag_bags::write::{BagWriter, WriteError};
use jetlag_bags::{Bag, BagError};
use jetlag_datasets::DatasetError;
use jetlag_video::{Guard, VideoError};

use crate::source::SourceError;
use tape::Tape;
use video::Video;

/// What of a recording is wanted.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Only these topics; all where none is named.
    pub topics: Vec<String>,
    /// Only these scenes of nuScenes; all where none is named.
    pub scenes: Vec<String>,
    /// Which drive or sequence of KITTI; the only one where none is named.
    pub sequence: Option<String>,
    /// Captures a second of files that have no times; 10 where nothing is said.
    pub hz: Option<u32>,
    /// Makes the program that decodes a video end with us.
    pub guard: Option<Guard>,
}

/// Why a recording cannot be made into a bag.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// A file or folder that cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// A folder in which nothing is known.
    #[error(
        "{} is no recording: it holds neither a bag (.mcap, .db3), nor nuScenes's tables (v1.0-…), nor KITTI's training, \
         sequences or days, nor images or sweeps (.jpg, .png, .bin, .pcd)",
        .0.display()
    )]
    Unknown(PathBuf),
    /// A dataset whose tables lead to no capture.
    #[error(
        "{} has no captures: its tables are there, and lead to none (in nuScenes a capture has a row in sample_data, and one in ego_pose); copy it again if you have the original",
        .0.display()
    )]
    Empty(PathBuf),
    /// A file that is neither a bag nor a video.
    #[error(
        "{} is no recording: it is neither a bag (MCAP, SQLite) nor a video, of which is said: {video}",
        path.display()
    )]
    Neither {
        /// The file.
        path: PathBuf,
        /// Why it is no video.
        video: VideoError,
    },
    /// An option that means nothing here.
    #[error("{option} is of {of}, and {} is {found}", path.display())]
    Option {
        /// The option.
        option: &'static str,
        /// What has such.
        of: &'static str,
        /// The recording.
        path: PathBuf,
        /// What it is.
        found: &'static str,
    },
    /// Several drives or sequences, and none chosen.
    #[error("{} has {}: name one with --sequence", path.display(), there.join(", "))]
    Several {
        /// The dataset.
        path: PathBuf,
        /// What is there.
        there: Vec<String>,
    },
    /// Topics that there are none of.
    #[error("{} gives no topic `{topic}`{}; it gives {}", path.display(), meant(.nearest), there.join(", "))]
    Topic {
        /// The recording.
        path: PathBuf,
        /// What was asked for.
        topic: String,
        /// What was probably meant.
        nearest: Option<String>,
        /// What is there.
        there: Vec<String>,
    },
    /// A bag that cannot be read.
    #[error(transparent)]
    Bag(#[from] BagError),
    /// A dataset that cannot be read.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// A video of which not one frame can be decoded.
    #[error(transparent)]
    Video(#[from] VideoError),
    /// Files that cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A bag that cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A sweep that is none.
    #[error("{}: {problem}", path.display())]
    Sweep {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

fn meant(nearest: &Option<String>) -> String {
    nearest
        .as_ref()
        .map_or_else(String::new, |name| format!(" (is `{name}` meant?)"))
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Converted {
    /// Messages.
    pub messages: u64,
    /// Topics.
    pub topics: u64,
    /// Messages of a damaged bag, or frames of a damaged video, that could not be read.
    pub lost: u64,
    /// What was missing in a bag when it was opened, a sentence each.
    pub missing: Vec<String>,
}

/// Is told how much was written, of how much.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);

/// A recording that can be made into a bag.
pub struct Recording(Kind);

enum Kind {
    Bag(Bag, Vec<String>),
    Tape(Tape),
    Video(Video),
}

impl Recording {
    /// Finds out what a recording is, and where all of its captures lie.
    ///
    /// # Errors
    /// There is none, it cannot be read, its files are missing, or it does not have what is wanted.
    pub fn open(path: &Path, options: &Options) -> Result<Recording, ConvertError> {
        let found = recognise::recognise(path, options)?;
        let kind = match found {
            recognise::Found::Bag(bag) => {
                let there: Vec<String> = bag.topics().iter().map(|topic| topic.name().to_owned()).collect();
                wanted_are_there(path, &options.topics, &there)?;
                Kind::Bag(bag, options.topics.clone())
            }
            recognise::Found::Tape(tape) if tape.is_empty() => {
                return Err(ConvertError::Empty(path.to_owned()));
            }
            recognise::Found::Tape(mut tape) => {
                wanted_are_there(path, &options.topics, &tape.topics())?;
                tape.keep(&options.topics);
                Kind::Tape(tape)
            }
            recognise::Found::Video(video) => {
                wanted_are_there(path, &options.topics, &Video::topics())?;
                Kind::Video(video)
            }
        };
        Ok(Recording(kind))
    }

    /// Writes it into a bag, which is finished.
    ///
    /// # Errors
    /// A capture that cannot be read, or the bag not be written.
    pub fn write(self, bag: BagWriter, progress: Progress<'_>) -> Result<Converted, ConvertError> {
        match self.0 {
            Kind::Bag(from, topics) => bag::copy(&from, &topics, bag, progress),
            Kind::Tape(tape) => tape.write(bag, progress),
            Kind::Video(video) => video.write(bag, progress),
        }
    }
}

fn wanted_are_there(path: &Path, wanted: &[String], there: &[String]) -> Result<(), ConvertError> {
    match wanted.iter().find(|topic| !there.contains(topic)) {
        None => Ok(()),
        Some(topic) => Err(ConvertError::Topic {
            path: path.to_owned(),
            topic: topic.clone(),
            nearest: crate::nearest::nearest(topic, there.iter().map(String::as_str)).map(str::to_owned),
            there: there.to_vec(),
        }),
    }
}

/// The names within a folder, sorted; those that are no text are passed over.
fn entries(folder: &Path) -> Result<Vec<String>, ConvertError> {
    let unreadable = |error| ConvertError::Io {
        path: folder.to_owned(),
        error,
    };
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        names.extend(entry.map_err(unreadable)?.file_name().into_string());
    }
    names.sort_unstable();
    Ok(names)
}
