//! What `jetlag annotate` takes.

use std::path::PathBuf;

use clap::Args;

use super::Format;

/// Arguments of `jetlag annotate`.
#[derive(Debug, Args)]
pub struct AnnotateArgs {
    /// The video; ffmpeg reads it.
    #[arg(value_name = "VIDEO")]
    pub input: PathBuf,
    /// The video with boxes (.mp4, .mkv or .mov). It has the frames and times of the first, and no sound.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// The detector spec (RON), or builtin:camera.
    #[arg(long, value_name = "DETECTOR")]
    pub detector: String,
    /// Where the detector runs, as a scenario writes it: 'TensorRt(build: "--precision fp16")' [default: as in a scenario].
    #[arg(long, value_name = "BACKEND")]
    pub backend: Option<String>,
    /// Another backend, on which everything is done again: prints how many times faster the first is.
    #[arg(long, value_name = "BACKEND")]
    pub baseline: Option<String>,
    /// ffmpeg's encoder [default: libx264, or mpeg4 where ffmpeg has no libx264].
    #[arg(long, value_name = "NAME")]
    pub encoder: Option<String>,
    /// Frames on the backend at once.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=16))]
    pub depth: u8,
    /// Path of the run file [default: runs/VIDEO-annotated-TIME.mcap]; that of the baseline has -baseline in its name.
    #[arg(long, value_name = "FILE")]
    pub run: Option<PathBuf>,
    /// Overwrite the files that --output and --run name.
    #[arg(long)]
    pub force: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// No progress bar on stderr.
    #[arg(short, long)]
    pub quiet: bool,
}
