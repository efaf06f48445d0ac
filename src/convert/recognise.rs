//! What lies under a name: told by what a folder holds, not by what it is called.

use std::path::Path;

use jetlag_bags::{Bag, Limits};
use jetlag_datasets::nuscenes::NuScenes;

use super::tape::Tape;
use super::{ConvertError, Options, entries, folder, kitti, nuscenes};

pub(super) enum Found {
    Bag(Bag),
    Tape(Tape),
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
    let refuse = |found: &'static str, scenes: bool, sequence: bool| -> Result<(), ConvertError> {
        let (option, of) = match (options.scenes.is_empty(), &options.sequence) {
            (false, _) if !scenes => ("--scene", "nuScenes"),
            (_, Some(_)) if !sequence => ("--sequence", "KITTI's raw drives and odometry"),
            _ => return Ok(()),
        };
        Err(ConvertError::Option {
            option,
            of,
            path: path.to_owned(),
            found,
        })
    };
    let is_bag = |name: &str| {
        name == "metadata.yaml"
            || [".mcap", ".db3", ".mcap.zstd", ".db3.zstd"]
                .iter()
                .any(|end| name.ends_with(end))
    };
    if !path.is_dir() || has(&is_bag) {
        refuse("a bag", false, false)?;
        let bag = Bag::open(path, &Limits::default())?;
        let lost = &bag.summary().losses;
        lost.iter()
            .for_each(|loss| log::warn!("{}: {loss}", path.display()));
        return Ok(Found::Bag(bag));
    }
    let has_tables = |name: &str| {
        ["scene.json", "sample_data.json"]
            .iter()
            .any(|table| path.join(name).join(table).is_file())
    };
    if has(&has_tables) {
        refuse("nuScenes", true, false)?;
        return Ok(Found::Tape(nuscenes::tape(
            &NuScenes::open(path, None)?,
            options,
        )?));
    }
    if has(&|name| name == "sequences") {
        refuse("KITTI's odometry", false, true)?;
        return Ok(Found::Tape(kitti::odometry(path, options)?));
    }
    if has(&|name| kitti::is_day(path, name)) {
        refuse("KITTI's raw layout", false, true)?;
        return Ok(Found::Tape(kitti::raw(path, options)?));
    }
    if has(&|name| name == "training" || name == "testing") {
        refuse("KITTI's object layout", false, false)?;
        return Ok(Found::Tape(kitti::object(path, options)?));
    }
    refuse("a folder of files", false, false)?;
    let tape = folder::tape(path, options)?;
    match tape.is_empty() {
        false => Ok(Found::Tape(tape)),
        true => Err(ConvertError::Unknown(path.to_owned())),
    }
}
