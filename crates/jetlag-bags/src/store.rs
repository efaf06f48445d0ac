//! The opened files of a bag, shared by its readers.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::completeness::{Completeness, Loss};
use crate::compression::Compression;
use crate::contents::{Contents, TopicContents};
use crate::db3::{self, Database};
use crate::mcap_file::{self, McapFile};
use crate::unpack::{self, Storage};
use crate::{BagError, Limits};

/// A file of a bag, by how it stores messages.
#[derive(Debug)]
pub(crate) enum Stored {
    Mcap(McapFile),
    Database(Database),
}

/// A file of a bag.
#[derive(Debug)]
pub(crate) struct StoredFile {
    pub(crate) path: PathBuf,
    pub(crate) stored: Stored,
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    /// How many bytes it has in the temporary file that it was unpacked to.
    pub(crate) unpacked_bytes: Option<u64>,
    /// Removed when the last reader is gone.
    _unpacked: Option<NamedTempFile>,
}

impl StoredFile {
    pub(crate) fn storage(&self) -> Storage {
        match self.stored {
            Stored::Mcap(_) => Storage::Mcap,
            Stored::Database(_) => Storage::Sqlite3,
        }
    }
}

/// The files of a bag.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) files: Vec<StoredFile>,
    pub(crate) limits: Limits,
}

impl Store {
    pub(crate) fn is_database(&self, file: u32) -> bool {
        let file = self.files.get(file as usize);
        file.is_some_and(|file| matches!(file.stored, Stored::Database(_)))
    }
}

/// Opens the files and finds their messages. Files that cannot be read are left out, unless that is all of them.
///
/// # Errors
/// No file can be read, or there is more than may be read.
pub(crate) fn open(
    paths: &[PathBuf],
    limits: &Limits,
    completeness: &mut Completeness,
) -> Result<(Store, Vec<TopicContents>), BagError> {
    let mut files: Vec<StoredFile> = Vec::new();
    let mut topics = Topics::default();
    let mut first_error = None;
    let (mut messages, mut unpacked) = (0, 0);
    for path in paths {
        let number = files.len() as u32; // The number of files is limited.
        match open_one(path, number, limits, messages, unpacked) {
            Ok((file, contents)) => {
                messages += contents.messages;
                completeness.unchecked += contents.unchecked;
                unpacked += file.unpacked_bytes.unwrap_or_default();
                contents
                    .losses
                    .into_iter()
                    .for_each(|loss| completeness.add(loss));
                topics.merge(contents.topics.into_values());
                files.push(file);
            }
            Err(error @ (BagError::TooManyMessages { .. } | BagError::TooLong { .. })) => return Err(error),
            Err(error) if paths.len() == 1 => return Err(error),
            Err(error) => {
                // One is told as the error if nothing else is there.
                let error = Box::new(error);
                match &first_error {
                    None => first_error = Some((path.clone(), error)),
                    Some(_) => completeness.add(left_out(path, error)),
                }
            }
        }
    }
    if let Some((path, error)) = first_error {
        if files.is_empty() {
            return Err(*error);
        }
        completeness.add(left_out(&path, error));
    }
    let store = Store {
        files,
        limits: *limits,
    };
    Ok((store, topics.found))
}

fn left_out(path: &Path, error: Box<BagError>) -> Loss {
    Loss::LeftOut {
        path: path.to_owned(),
        error,
    }
}

fn open_one(
    path: &Path,
    number: u32,
    limits: &Limits,
    messages: u64,
    unpacked: u64,
) -> Result<(StoredFile, Contents), BagError> {
    let opened = unpack::open(path, limits, unpacked)?;
    let bytes = path.metadata().map_or(0, |facts| facts.len());
    let (stored, mut contents) = match opened.storage {
        Storage::Mcap => {
            let (file, contents) = mcap_file::open(path, opened.file, number, limits, messages)?;
            (Stored::Mcap(file), contents)
        }
        Storage::Sqlite3 => {
            let place = opened.unpacked.as_ref().map_or(path, |copy| copy.path());
            let (database, contents) = db3::open(path, place, number, limits, messages)?;
            (Stored::Database(database), contents)
        }
    };
    if let Some(loss) = opened.loss {
        contents.losses.insert(0, loss);
    }
    if opened.unpacked.is_some() {
        contents
            .topics
            .values_mut()
            .for_each(|topic| topic.note(Compression::FileZstd));
    }
    let file = StoredFile {
        path: path.to_owned(),
        stored,
        messages: contents.messages,
        bytes,
        unpacked_bytes: opened.unpacked.is_some().then_some(opened.unpacked_bytes),
        _unpacked: opened.unpacked,
    };
    Ok((file, contents))
}

/// Topics of all files: the same name with the same type is one topic.
#[derive(Default)]
struct Topics {
    found: Vec<TopicContents>,
    by_name: HashMap<(String, String), usize>,
}

impl Topics {
    fn merge(&mut self, topics: impl Iterator<Item = TopicContents>) {
        for mut topic in topics {
            let key = (topic.name.clone(), topic.kind.clone());
            match self.by_name.get(&key) {
                Some(known) => {
                    let known = &mut self.found[*known];
                    known.entries.append(&mut topic.entries);
                    known.definition = known.definition.take().or(topic.definition.take());
                    topic
                        .compression
                        .into_iter()
                        .for_each(|compression| known.note(compression));
                }
                None => {
                    self.by_name.insert(key, self.found.len());
                    self.found.push(topic);
                }
            }
        }
    }
}
