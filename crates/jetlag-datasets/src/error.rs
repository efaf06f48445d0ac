//! Why a dataset cannot be read: what was wanted, what was found, where, and what to do next.

use std::fmt;
use std::path::PathBuf;

use crate::table_error::TableError;

/// Why a dataset, a selection of it or its ground truth cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// A file or folder that cannot be read.
    #[error("cannot read {}: {error}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// A folder that is no nuScenes dataset.
    #[error("{} has no folder with the tables of nuScenes (scene.json, sample_data.json and others){hint}", .root.display())]
    NoVersion {
        /// The folder that was to be the dataset's root.
        root: PathBuf,
        /// What it seems to be instead, and what to do.
        hint: &'static str,
    },
    /// Several versions, and none chosen.
    #[error("{} holds several versions, {}: name the one to use", .root.display(), listed(.there))]
    SeveralVersions {
        /// The dataset's root.
        root: PathBuf,
        /// The folders with tables.
        there: Vec<String>,
    },
    /// A name that the dataset does not have.
    #[error("{} has no {what} `{wanted}`{}; there are {}", .root.display(), meant(.nearest), listed(.there))]
    Unknown {
        /// The folder of the dataset or of its tables.
        root: PathBuf,
        /// What was named.
        what: Named,
        /// The name.
        wanted: String,
        /// The name that was probably meant.
        nearest: Option<String>,
        /// What is there.
        there: Vec<String>,
    },
    /// A table that cannot do without is absent.
    #[error("{} lacks {}: is the archive of the tables unpacked there whole?", .folder.display(), listed(.tables))]
    NoTables {
        /// The folder of the version.
        folder: PathBuf,
        /// The files that are absent.
        tables: Vec<String>,
    },
    /// What is wrong with a table of nuScenes.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A scene whose number is beyond the last.
    #[error("{} has {scenes} scenes, from 0; there is no number {wanted}", .folder.display())]
    NoScene {
        /// The folder of the version.
        folder: PathBuf,
        /// The number that was asked for.
        wanted: usize,
        /// How many there are.
        scenes: usize,
    },
    /// Nothing is selected.
    #[error("nothing is selected: {why}")]
    Nothing {
        /// Why, and what to do.
        why: String,
    },
    /// Files that the dataset names are not there.
    #[error(transparent)]
    Missing(#[from] Box<Missing>),
    /// Sweeps that cannot be put together.
    #[error(
        "{sweeps} sweeps of {channel} cannot be put together, since {} does not say where the car was: ask for 1 sweep, or add \
         ego_pose.json and the field `ego_pose_token`",
        .folder.display()
    )]
    NoPose {
        /// The folder of the version.
        folder: PathBuf,
        /// The channel selected.
        channel: String,
        /// How many sweeps were asked for.
        sweeps: usize,
    },
    /// Boxes in another frame of reference than the global one, of a frame without pose.
    #[error("{} has no ego pose, so boxes are known in the global frame alone", .file.display())]
    NoPlace {
        /// The frame's file.
        file: PathBuf,
    },
    /// A text file (KITTI) that is not as it should be.
    #[error("{}, line {line}: {problem}", .path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What was wanted and what was found.
        problem: String,
    },
    /// A text file (KITTI) without something that it must have.
    #[error("{} has no {wanted}: is it {kind} of KITTI?", .path.display())]
    Lacks {
        /// The file.
        path: PathBuf,
        /// What it must have.
        wanted: String,
        /// What kind of file it should be.
        kind: &'static str,
    },
}

/// What a name in an error is the name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is its own name")]
pub enum Named {
    Version,
    Scene,
    Channel,
    Drive,
    Sequence,
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Named::Version => "version",
            Named::Scene => "scene",
            Named::Channel => "channel",
            Named::Drive => "drive",
            Named::Sequence => "sequence",
        })
    }
}

/// Files that a dataset names and that are not on the disk: all of a selection at once.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{missing} of {of} files of {what} are missing under {}: {}{}; {} names them. Copy them there, or select what is there{}",
    .root.display(),
    listed(.first),
    others(.first, .missing),
    .named_by.display(),
    .advice
)]
pub struct Missing {
    /// How many are missing.
    pub missing: usize,
    /// Of how many that are needed.
    pub of: usize,
    /// What was selected, in words.
    pub what: String,
    /// The folder that their names count from.
    pub root: PathBuf,
    /// The first of them, as they are named.
    pub first: Vec<String>,
    /// The table or list that names them.
    pub named_by: PathBuf,
    /// Empty, or what of the selection is whole: `: scene-0061 is whole`.
    pub advice: String,
}

/// How many missing files are named; more would hide the sentence.
pub(crate) const NAMED: usize = 3;

fn others(first: &[String], missing: &usize) -> &'static str {
    if first.len() < *missing { ", …" } else { "" }
}

fn meant(nearest: &Option<String>) -> String {
    nearest
        .as_ref()
        .map_or_else(String::new, |name| format!(" (is `{name}` meant?)"))
}

/// Names in a row, of which the first dozen are written out.
pub(crate) fn listed(names: &[String]) -> String {
    const MOST: usize = 12;
    match names {
        [] => "none".to_owned(),
        few if few.len() <= MOST => few.join(", "),
        many => format!("{}, … ({} in all)", many[..MOST].join(", "), many.len()),
    }
}
