//! Looking for the files of a selection before anything runs, and telling of all that are missing at once.

use std::path::Path;

use crate::error::{Missing, NAMED};

/// Counts files that are there and that are not.
#[derive(Default)]
pub(crate) struct Search {
    of: usize,
    missing: usize,
    first: Vec<String>,
}

impl Search {
    /// Looks for a file, and says whether it is there; `name` is what to call it.
    pub(crate) fn look(&mut self, file: &Path, name: &str) -> bool {
        self.of += 1;
        let is_there = file.is_file();
        if !is_there {
            self.missing += 1;
            if self.first.len() < NAMED {
                self.first.push(name.to_owned());
            }
        }
        is_there
    }

    pub(crate) fn missing(&self) -> usize {
        self.missing
    }

    /// An error where any is missing. `whole` are the parts of the selection that lack nothing.
    pub(crate) fn end(
        self,
        what: &str,
        root: &Path,
        named_by: &Path,
        whole: &[String],
    ) -> Result<(), Box<Missing>> {
        if self.missing == 0 {
            return Ok(());
        }
        Err(Box::new(Missing {
            missing: self.missing,
            of: self.of,
            what: what.to_owned(),
            root: root.to_owned(),
            first: self.first,
            named_by: named_by.to_owned(),
            advice: match whole {
                [] => String::new(),
                [one] => format!(": {one} is whole"),
                many => format!(": {} are whole", crate::error::listed(many)),
            },
        }))
    }
}
