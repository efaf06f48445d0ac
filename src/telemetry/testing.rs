//! What the samplers' tests have in common: made-up trees, and one reading of a sampler.

use std::collections::BTreeMap;
use std::fs;

use super::Sampler;
use crate::units::Stamp;

/// A tree of files in a folder of its own.
pub(super) fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

/// The values of one reading, by signal.
pub(super) fn readings(sampler: &mut dyn Sampler) -> BTreeMap<String, Option<f64>> {
    readings_at(sampler, 0)
}

/// The same, at a stamp.
pub(super) fn readings_at(sampler: &mut dyn Sampler, at: i64) -> BTreeMap<String, Option<f64>> {
    let mut out = Vec::new();
    sampler.sample(Stamp(at), &mut out).unwrap();
    out.into_iter().map(|s| (s.signal, s.value)).collect()
}
