//! A table of nuScenes: a list of rows, written one by one.

use jetlag_record::whole;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::FilesError;

pub(super) struct Table {
    file: BufWriter<File>,
    path: PathBuf,
    rows: u64,
}

impl Table {
    pub(super) fn new(folder: &Path, name: &str) -> Result<Self, FilesError> {
        let path = folder.join(format!("{name}.json"));
        match whole::create(&path, false) {
            Ok(file) => Ok(Table {
                file: BufWriter::new(file),
                path,
                rows: 0,
            }),
            Err(error) => Err(FilesError::Io { path, error }),
        }
    }

    pub(super) fn row(&mut self, row: &Value) -> Result<(), FilesError> {
        let before: &[u8] = if self.rows == 0 { b"[\n" } else { b",\n" };
        self.rows += 1;
        let written = self
            .file
            .write_all(before)
            .and_then(|()| serde_json::to_writer(&mut self.file, row).map_err(std::io::Error::from));
        written.map_err(|error| self.failed(error))
    }

    pub(super) fn end(mut self) -> Result<(), FilesError> {
        let end: &[u8] = if self.rows == 0 { b"[]\n" } else { b"\n]\n" };
        let written = self.file.write_all(end).and_then(|()| self.file.flush());
        written.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: std::io::Error) -> FilesError {
        FilesError::Io {
            path: self.path.clone(),
            error,
        }
    }
}

/// A table with these rows.
pub(super) fn table(folder: &Path, name: &str, rows: &[Value]) -> Result<(), FilesError> {
    let mut table = Table::new(folder, name)?;
    rows.iter().try_for_each(|row| table.row(row))?;
    table.end()
}
