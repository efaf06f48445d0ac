//! Rules over what was read, each told at the field that breaks it.

use std::fmt::Display;

use super::problems::{Problem, ProblemKind, Problems};
use super::tree::Node;

/// Collects what breaks a rule. A field is named by its path, such as `head.levels[0].stride`, and its place is looked up in what
/// was written.
pub(crate) struct Rules<'n> {
    root: &'n Node,
    problems: Vec<Problem>,
}

impl<'n> Rules<'n> {
    /// Over the values below `root`.
    pub(crate) fn new(root: &'n Node) -> Self {
        Rules {
            root,
            problems: Vec::new(),
        }
    }

    /// The value at `path` must be as `wanted` says.
    pub(crate) fn require(&mut self, ok: bool, path: &str, found: impl Display, wanted: impl Into<String>) {
        if !ok {
            let kind = ProblemKind::OutOfRange {
                what: format!("`{path}`"),
                found: found.to_string(),
                wanted: wanted.into(),
            };
            self.report(path, kind);
        }
    }

    /// What is written at `path` does not go with the rest.
    pub(crate) fn contradiction(&mut self, path: &str, why: impl Into<String>, advice: &str) {
        let kind = ProblemKind::Contradiction {
            what: format!("`{path}`"),
            why: why.into(),
            advice: advice.to_owned(),
        };
        self.report(path, kind);
    }

    /// What is written at `path` is written at `first` already.
    pub(crate) fn twice(&mut self, path: &str, first: &str, what: String) {
        let first = self.root.place_of(first).clone();
        self.report(path, ProblemKind::Twice { what, first });
    }

    /// Adds a problem at `path`.
    pub(crate) fn report(&mut self, path: &str, kind: ProblemKind) {
        let place = self.root.place_of(path).clone();
        self.problems.push(Problem { place, kind });
    }

    /// What was found, if anything; `file` is what messages call the file.
    pub(crate) fn finish(self, file: &str) -> Result<(), Problems> {
        match self.problems.is_empty() {
            true => Ok(()),
            false => Err(Problems::new(file, self.problems)),
        }
    }
}
