//! What sources have in common whose frames lie in storage: a folder, and how it is read.

use crate::written::{Fields, ProblemKind, Read, Reader, Spot};

/// How a stored source is to be read.
#[derive(Debug)]
pub(super) struct ReadingFile {
    pub(super) ahead: Read<u32>,
    pub(super) preload: Read<bool>,
}

pub(super) fn reading(r: &mut Reader, fields: &Fields<'_>) -> ReadingFile {
    ReadingFile {
        ahead: r.optional(fields, "ahead", Reader::whole),
        preload: r.optional(fields, "preload", Reader::flag),
    }
}

pub(super) fn folder(r: &mut Reader, fields: &Fields<'_>, example: &str) -> Option<Spot<String>> {
    let path = r.required(fields, "path", example, Reader::text)?;
    if path.value.is_empty() {
        let kind = ProblemKind::OutOfRange {
            what: format!("`path` of {}", fields.owner),
            found: "empty".into(),
            wanted: "a folder".into(),
        };
        r.report(&path.place, kind);
        return None;
    }
    Some(path)
}
