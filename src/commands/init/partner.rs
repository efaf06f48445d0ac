//! The other half of a network that is one of two: looked for beside it.

use std::path::{Path, PathBuf};

use super::folder_of;
use crate::detector::propose::{Draft, LidarDraft, Part, pair, propose};
use crate::engine::network;

/// Files that are looked at in a folder; a folder of more is no place of a detector.
const MOST_FILES: usize = 64;

/// The other half.
pub(super) struct Found {
    pub(super) path: PathBuf,
    /// Whether it is the encoder.
    pub(super) is_encoder: bool,
    /// Both as one detector.
    pub(super) draft: LidarDraft,
    /// Halves that fit as well.
    pub(super) others: Vec<PathBuf>,
}

/// Looks for the other half of a network.
///
/// # Errors
/// There is none, or none that goes with it; a sentence without its end.
pub(super) fn find(path: &Path, part: &Part) -> Result<Found, String> {
    let is_encoder = matches!(part, Part::Backbone { .. });
    let wanted = if is_encoder { "its encoder" } else { "its backbone" };
    let mut halves = halves(path, is_encoder);
    // A quantised file runs on fewer backends, so the other one comes first.
    halves.sort_by_key(|(path, _)| (is_quantised(path), path.clone()));
    let mut reasons = Vec::new();
    let mut found: Option<Found> = None;
    for (other, half) in halves {
        let made = match is_encoder {
            true => pair(&half, part),
            false => pair(part, &half),
        };
        match (made, &mut found) {
            (Ok(_), Some(found)) => found.others.push(other),
            (Ok(draft), None) => {
                found = Some(Found {
                    path: other,
                    is_encoder,
                    draft,
                    others: Vec::new(),
                });
            }
            (Err(why), _) => reasons.push(why),
        }
    }
    found.ok_or_else(|| match reasons.first() {
        Some(why) => format!("no spec can be written: {why}"),
        None => format!("{wanted} was looked for beside it and is not there"),
    })
}

fn halves(path: &Path, is_encoder: bool) -> Vec<(PathBuf, Part)> {
    let Ok(entries) = std::fs::read_dir(folder_of(path)) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|other| {
            super::opening::is_network(other) && other.is_file() && other.file_name() != path.file_name()
        })
        .collect();
    files.sort();
    files
        .into_iter()
        .take(MOST_FILES)
        .filter_map(|other| {
            let facts = network::read(&other).ok()?;
            let half = propose(&facts)
                .into_iter()
                .find_map(|proposal| match proposal.draft {
                    Draft::Part(half) if matches!(half, Part::Encoder { .. }) == is_encoder => Some(half),
                    _ => None,
                })?;
            // The path as it would be typed.
            let typed = path.with_file_name(other.file_name()?);
            Some((typed, half))
        })
        .collect()
}

fn is_quantised(path: &Path) -> bool {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .to_ascii_lowercase();
    ["int8", "qdq", "quant"].iter().any(|word| name.contains(word))
}
