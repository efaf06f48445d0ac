//! Drives and bags that are written: options turned into what they mean, the place made ready, progress, the last line.

mod place;

use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use jetlag_bags::write::{BagWriter, ChunkCompression, Format};
use jetlag_world::files::{DRIVE, bag, kitti_raw, nuscenes};
use jetlag_world::{Drive, MAX_SECONDS};

use crate::cli::{BagCompression, ConvertArgs, Storage, SynthArgs, SynthFormat};
use crate::commands::outcome::{Outcome, WrongUse};
use crate::commands::output::print;
use crate::convert::{Options, Recording};
use crate::shell;
use crate::source::recordings::guard;

/// Writes a drive.
///
/// # Errors
/// Seconds out of range, a place that is taken: [`WrongUse`]. Otherwise what cannot be written.
pub(super) fn drive(args: &SynthArgs, seconds: u32) -> anyhow::Result<Outcome> {
    if !(1..=MAX_SECONDS).contains(&seconds) {
        return Err(WrongUse(format!("--seconds {seconds}: must be from 1 to {MAX_SECONDS}")).into());
    }
    let drive = Drive::new(args.seed, seconds);
    let out = args.out.as_path();
    let bar = bar();
    let mut progress = |done, of| {
        bar.set_length(of);
        bar.set_position(done);
    };
    let (written, next) = match args.format {
        SynthFormat::Nuscenes => {
            place::make_ready(out, args.force, place::is_nuscenes)?;
            let next = format!(
                "jetlag run configs/nuscenes.ron --set tenants.camera.source.path={0} --set tenants.lidar.source.path={0}",
                shell::path(out)
            );
            (nuscenes(&drive, out, &mut progress)?, next)
        }
        SynthFormat::Kitti => {
            place::make_ready(out, args.force, place::is_raw_kitti)?;
            let next = format!(
                "jetlag data convert {} --sequence {DRIVE} -o drive.mcap",
                shell::path(out)
            );
            (kitti_raw(&drive, out, &mut progress)?, next)
        }
        SynthFormat::Mcap | SynthFormat::Db3 => {
            let storage = match args.format {
                SynthFormat::Db3 => Storage::Db3,
                _ => Storage::Mcap,
            };
            let format = format(out, Some(storage), args.compression)?;
            let writer = writer(out, format, args.force)?;
            let next = format!("jetlag inspect {}", shell::path(out));
            (bag(&drive, writer, &mut progress)?, next)
        }
    };
    bar.finish_and_clear();
    print(&format!(
        "{seconds} s with {} images and {} sweeps written to {}; next: {next}\n",
        written.images,
        written.sweeps,
        out.display()
    ))?;
    Ok(Outcome::Done)
}

/// Makes a bag of a recording.
///
/// # Errors
/// No recording, or options that are not of it; a place that is taken: [`WrongUse`]. Otherwise what cannot be read or written.
pub(super) fn convert(args: &ConvertArgs) -> anyhow::Result<Outcome> {
    let out = args.out.as_path();
    let format = format(out, args.storage, args.compression)?;
    let options = Options {
        topics: args.topics.clone(),
        scenes: args.scenes.clone(),
        sequence: args.sequence.clone(),
        hz: args.hz,
        guard: std::env::current_exe().ok().map(guard),
    };
    let recording = Recording::open(&args.input, &options).map_err(WrongUse::because)?;
    place::apart(&args.input, out)?;
    let writer = writer(out, format, args.force)?;
    let bar = bar();
    let mut progress = |done, of| {
        bar.set_length(of);
        bar.set_position(done);
    };
    let done = recording
        .write(writer, &mut progress)
        .inspect_err(|_| remove_stump(out))?;
    bar.finish_and_clear();
    let topics = if done.topics == 1 { "topic" } else { "topics" };
    print(&format!(
        "{} messages of {} {topics} written to {}; next: jetlag inspect {}\n",
        done.messages,
        done.topics,
        out.display(),
        shell::path(out)
    ))?;
    let mut missing = done.missing.clone();
    missing.extend((done.lost > 0).then(|| format!("{} could not be read and are left out", done.lost)));
    if !missing.is_empty() {
        print(&format!("missing: {}\n", missing.join("; ")))?;
    }
    Ok(if missing.is_empty() {
        Outcome::Done
    } else {
        Outcome::Gaps
    })
}

fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos} of {len} captures, {eta} left");
    let bar = ProgressBar::new(0);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// The storage that a name's ending tells.
fn told_by(out: &Path) -> Option<Storage> {
    match out.extension()?.to_str()? {
        "mcap" => Some(Storage::Mcap),
        "db3" => Some(Storage::Db3),
        _ => None,
    }
}

/// How a bag is written under this name.
fn format(out: &Path, wanted: Option<Storage>, compression: BagCompression) -> Result<Format, WrongUse> {
    let told = told_by(out);
    let storage = match (told, wanted) {
        (Some(told), Some(wanted)) if told != wanted => {
            return Err(WrongUse(format!(
                "{} is the name of another storage than the one that was asked for; name a folder, or a file that ends in .{}",
                out.display(),
                if wanted == Storage::Mcap { "mcap" } else { "db3" }
            )));
        }
        (told, wanted) => told.or(wanted).unwrap_or(Storage::Mcap),
    };
    match (storage, compression) {
        (Storage::Mcap, BagCompression::None) => Ok(Format::Mcap(ChunkCompression::None)),
        (Storage::Mcap, BagCompression::Lz4) => Ok(Format::Mcap(ChunkCompression::Lz4)),
        (Storage::Mcap, BagCompression::Zstd) => Ok(Format::Mcap(ChunkCompression::Zstd)),
        (Storage::Db3, BagCompression::None) => Ok(Format::Sqlite3),
        (Storage::Db3, BagCompression::Lz4) => Err(WrongUse(
            "--compression lz4 is of MCAP; SQLite's messages can be compressed by zstd".to_owned(),
        )),
        (Storage::Db3, BagCompression::Zstd) if told.is_some() => Err(WrongUse(format!(
            "{} alone would not say that its messages are compressed, as a bag in a folder does: name a folder",
            out.display()
        ))),
        (Storage::Db3, BagCompression::Zstd) => Ok(Format::Sqlite3Zstd),
    }
}

/// Removes a file into which no message was written.
fn remove_stump(out: &Path) {
    /// A header, and what stands before the first message.
    const STUMP: u64 = 512;
    if std::fs::metadata(out).is_ok_and(|facts| facts.is_file() && facts.len() < STUMP) {
        // What cannot be removed was told of by the error that stopped the writing.
        let _ = std::fs::remove_file(out);
    }
}

/// Begins the bag: a file where the name ends so, else a folder.
fn writer(out: &Path, format: Format, force: bool) -> anyhow::Result<BagWriter> {
    place::make_ready(out, force, place::is_bag)?;
    Ok(match told_by(out) {
        Some(_) => BagWriter::create_file(out, format)?,
        None => BagWriter::create(out, format)?,
    })
}
