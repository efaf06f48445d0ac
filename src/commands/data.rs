//! `jetlag data`: makes data sets. `synth` writes a synthetic world: stills in KITTI's object layout, and drives as nuScenes,
//! KITTI's raw layout or a bag. `convert` makes a bag of any recording. `variants` makes copies of a network with fewer channels.

#[cfg_attr(not(feature = "recordings"), path = "data/without_recordings.rs")]
mod recordings;
pub mod stills;
#[cfg_attr(not(feature = "models"), path = "data/without_models.rs")]
pub(super) mod variants;

use super::outcome::{Outcome, WrongUse};
use crate::cli::{BagCompression, ConvertArgs, SynthArgs, SynthFormat};

/// Scenes that are written if nobody says how many.
const STILLS: u64 = 100;
/// Seconds of a drive if nobody says how many: a scene of nuScenes.
const SECONDS: u32 = 20;

/// Writes a synthetic world, and says so.
///
/// # Errors
/// Options that do not go together, or numbers out of range: [`WrongUse`]. Otherwise the first file that cannot be written.
pub(super) fn synth(args: &SynthArgs) -> anyhow::Result<Outcome> {
    let is_bag = matches!(args.format, SynthFormat::Mcap | SynthFormat::Db3);
    if args.compression != BagCompression::None && !is_bag {
        let problem = "--compression is of bags (--format mcap or db3): images of the other formats are compressed as they are";
        return Err(WrongUse(problem.to_owned()).into());
    }
    if args.format == SynthFormat::Kitti && args.seconds.is_none() {
        return stills::synth(
            &args.out,
            args.count.unwrap_or(STILLS),
            args.seed,
            args.start.unwrap_or_default(),
        )
        .map(|()| Outcome::Done);
    }
    if args.count.is_some() || args.start.is_some() {
        let problem = "--count and --start are of stills (--format kitti); a drive has --seconds";
        return Err(WrongUse(problem.to_owned()).into());
    }
    recordings::drive(args, args.seconds.unwrap_or(SECONDS))
}

/// Makes a bag of a recording, and says so.
///
/// # Errors
/// A recording that is none or cannot be read, options that do not go together: [`WrongUse`]. Otherwise what cannot be written.
pub(super) fn convert(args: &ConvertArgs) -> anyhow::Result<Outcome> {
    recordings::convert(args)
}
