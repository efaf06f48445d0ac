//! Why there are no frames, or no more. A sentence each.

use std::path::PathBuf;
use std::time::Duration;

use crate::size::Size;

/// Why a video or a camera gives no frame.
#[derive(Debug, thiserror::Error)]
pub enum VideoError {
    /// There is no such program.
    #[error(
        "cannot find the program `{}`: {}",
        program.display(),
        advice(program)
    )]
    Absent {
        /// What was looked for.
        program: PathBuf,
    },
    /// The system does not start it.
    #[error("cannot start {program}: {error}")]
    NotStarted {
        /// Its name.
        program: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// It has ended by itself, and not well.
    #[error("{program} ended ({how}) after {frames} frames{}", after_colon(said))]
    Ended {
        /// Its name.
        program: String,
        /// Its exit status or the signal that ended it.
        how: String,
        /// Frames that had come.
        frames: u64,
        /// Its last words.
        said: String,
    },
    /// It gives nothing.
    #[error("{program} gave no frame for {} s, after {frames} frames{}", patience.as_secs(), after_colon(said))]
    Stalled {
        /// Its name.
        program: String,
        /// How long it was waited for.
        patience: Duration,
        /// Frames that had come.
        frames: u64,
        /// Its last words.
        said: String,
    },
    /// Reading was ended by [`Stop::now`](crate::Stop::now).
    #[error("reading was stopped")]
    Stopped,
    /// The pipe cannot be read.
    #[error("cannot read what {program} writes: {error}")]
    Pipe {
        /// Its name.
        program: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// More than is taken.
    #[error(
        "its images are {size}, more than {most} pixels: if that is right, raise the source's `max_megapixels`"
    )]
    TooLarge {
        /// Of its images.
        size: Size,
        /// The most pixels that are taken.
        most: u64,
    },
    /// An image is of another size than those before.
    #[error(
        "frame {frame} has {found} bytes, and an image of {size} has {wanted}: the images change their size in the middle"
    )]
    OtherSize {
        /// Number of the frame, from 0.
        frame: u64,
        /// The size of those before.
        size: Size,
        /// Bytes of an image of that size, as the program gives it: in RGB, or in planes.
        wanted: u64,
        /// Its bytes.
        found: u64,
    },
    /// The last image is not whole.
    #[error(
        "{program} ended within a frame, after {frames} whole ones: {found} bytes of the {wanted} that an image of {size} has; is the size right?{}",
        after_space(said)
    )]
    Cut {
        /// Its name.
        program: String,
        /// Whole frames that had come.
        frames: u64,
        /// Bytes of the last one.
        found: usize,
        /// Bytes of a whole one, as the program gives it: in RGB, or in planes.
        wanted: usize,
        /// The size of an image.
        size: Size,
        /// Its last words.
        said: String,
    },
    /// What comes is not what was asked for.
    #[error("what {program} writes is no NUT with RGB frames: {problem}")]
    Nut {
        /// Its name.
        program: String,
        /// What is wrong.
        problem: Nut,
    },
    /// What takes frames has ended.
    #[error(
        "{program} ended ({how}) when it had been given {frames} frames{}",
        after_colon(said)
    )]
    TakesNoMore {
        /// Its name.
        program: String,
        /// Its exit status or the signal that ended it.
        how: String,
        /// Frames that it was given.
        frames: u64,
        /// Its last words.
        said: String,
    },
    /// What takes frames stands still.
    #[error("{program} took nothing for {} s, after {frames} frames{}", patience.as_secs(), after_colon(said))]
    TakesNothing {
        /// Its name.
        program: String,
        /// How long it was waited for.
        patience: Duration,
        /// Frames that it was given.
        frames: u64,
        /// Its last words.
        said: String,
    },
    /// ffmpeg was built without it.
    #[error(
        "this {program} has no encoder `{encoder}`; `ffmpeg -encoders` lists those that it has{}",
        such_as(has)
    )]
    NoEncoder {
        /// Its name.
        program: String,
        /// What was asked for.
        encoder: String,
        /// Some that it has.
        has: Vec<String>,
    },
    /// A file without video.
    #[error("{} has no video that ffprobe can read{}", path.display(), after_colon(said))]
    NoVideo {
        /// The file.
        path: PathBuf,
        /// What ffprobe said.
        said: String,
    },
    /// A video without times.
    #[error(
        "{} does not say when its frames are to be shown; put it into a container that does (ffmpeg -i {} -c copy out.mp4)",
        path.display(),
        path.display()
    )]
    NoTimes {
        /// The file.
        path: PathBuf,
    },
    /// More frames than are counted.
    #[error("{} has more than {most} frames; cut it into parts (ffmpeg -ss and -t)", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// The most.
        most: usize,
    },
}

/// What is wrong with a stream in NUT.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Nut {
    /// It begins with something else.
    #[error("it does not begin as one")]
    NoBegin,
    /// Another version of the format.
    #[error("it is of version {0}, and 2 to 4 are read")]
    Version(u64),
    /// Not one stream of video.
    #[error("it has {0} streams, and one is read")]
    Streams(u64),
    /// Not bare pixels in RGB.
    #[error("its frames are {0}, and packed RGB of 8 bits is read (-c:v rawvideo -pix_fmt rgb24)")]
    NotRgb(String),
    /// A number is not what it may be.
    #[error("its {0} is damaged")]
    Damaged(&'static str),
}

fn advice(program: &std::path::Path) -> &'static str {
    match program.to_str() {
        Some("ffmpeg" | "ffprobe") => "install ffmpeg (apt-get install ffmpeg), or add its folder to PATH",
        _ => "give its path, or add its folder to PATH",
    }
}

/// Words, if there are any, after a colon.
fn after_colon(said: &str) -> String {
    match said {
        "" => String::new(),
        said => format!(": {said}"),
    }
}

fn such_as(has: &[String]) -> String {
    match has {
        [] => String::new(),
        has => format!(", such as {}", has.join(", ")),
    }
}

fn after_space(said: &str) -> String {
    match said {
        "" => String::new(),
        said => format!(" It says: {said}"),
    }
}
