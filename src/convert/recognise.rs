//! What lies under a name: told by what a folder holds, not by what it is called.

use std::path::Path;

use jetlag_bags::{Bag, BagError, Foreign, Limits};
use jetlag_datasets::nuscenes::NuScenes;

use super::tape::Tape;
use super::video::Video;
use super::{ConvertError, Options, entries, folder, kitti, nuscenes};
use crate::units::Bytes;

pub(super) enum Found {
    Bag(Bag),
    Tape(Tape),
    Video(Video),
}

/// Opens the recording of a name.
///
/// # Errors
/// There is none, or it cannot be read.
pub(super) fn recognise(path: &Path, options: &Options) -> Result<Found, ConvertError> {
    let names = match path.is_dir() {
        true => entries(path)?,
        false => Vec::new(),
    };
    let has = |test: &dyn Fn(&str) -> bool| names.iter().any(|name| test(name));
    let refuse = |found: &'static str, takes: &[&str]| -> Result<(), ConvertError> {
        let given = [
            ("--scene", "nuScenes", !options.scenes.is_empty()),
            (
                "--sequence",
                "KITTI's raw drives and odometry",
                options.sequence.is_some(),
            ),
            ("--hz", "files without times", options.hz.is_some()),
        ];
        let refused = given
            .into_iter()
            .find(|(option, _, is_given)| *is_given && !takes.contains(option));
        refused.map_or(Ok(()), |(option, of, _)| {
            Err(ConvertError::Option {
                option,
                of,
                path: path.to_owned(),
                found,
            })
        })
    };
    let is_bag = |name: &str| {
        name == "metadata.yaml"
            || [".mcap", ".db3", ".mcap.zstd", ".db3.zstd"]
                .iter()
                .any(|end| name.ends_with(end))
    };
    if !path.is_dir() || has(&is_bag) {
        refuse(
            if path.is_dir() {
                "a bag"
            } else {
                "a bag or a video"
            },
            &[],
        )?;
        // All of it is read anyway.
        let limits = Limits {
            checked_bytes: Bytes(u64::MAX),
            ..Limits::default()
        };
        let bag = match Bag::open(path, &limits) {
            Err(BagError::NotABag {
                found: Foreign::Other,
                ..
            }) => return video(path, options),
            bag => bag?,
        };
        return Ok(Found::Bag(bag));
    }
    let has_tables = |name: &str| {
        ["scene.json", "sample_data.json"]
            .iter()
            .any(|table| path.join(name).join(table).is_file())
    };
    if has(&has_tables) {
        refuse("nuScenes", &["--scene"])?;
        return Ok(Found::Tape(nuscenes::tape(
            &NuScenes::open(path, None)?,
            options,
        )?));
    }
    if has(&|name| name == "sequences") {
        refuse("KITTI's odometry", &["--sequence"])?;
        return Ok(Found::Tape(kitti::odometry(path, options)?));
    }
    if has(&|name| kitti::is_day(path, name)) {
        refuse("KITTI's raw layout", &["--sequence"])?;
        return Ok(Found::Tape(kitti::raw(path, options)?));
    }
    if has(&|name| name == "training" || name == "testing") {
        refuse("KITTI's object layout", &["--hz"])?;
        return Ok(Found::Tape(kitti::object(path, options)?));
    }
    refuse("a folder of files", &["--hz"])?;
    let tape = folder::tape(path, options)?;
    match tape.is_empty() {
        false => Ok(Found::Tape(tape)),
        true => Err(ConvertError::Unknown(path.to_owned())),
    }
}

/// A file that is no bag.
fn video(path: &Path, options: &Options) -> Result<Found, ConvertError> {
    match Video::open(path, options.guard.as_ref()) {
        Ok(video) => Ok(Found::Video(video)),
        Err(video) => Err(ConvertError::Neither {
            path: path.to_owned(),
            video,
        }),
    }
}
