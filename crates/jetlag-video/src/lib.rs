//! Frames of videos and cameras, from a program that decodes them and writes pixels to a pipe: ffmpeg, or any other.
//!
//! - [`probe`]: what a video is, and when each of its frames is to be shown, asked of ffprobe before anything is decoded.
//! - [`Ffmpeg`]: the argument lists with which ffmpeg decodes a file or takes the frames of a device. There is no shell anywhere.
//! - [`Frames`]: starts such a program and reads its frames, one after another, into the caller's buffer.
//! - [`Encoder`]: the other way round: starts ffmpeg and gives it frames with their times, of which it makes a file.
//!
//! # Where the times come from
//! A pipe of bare pixels has no times. So ffmpeg is made to write NUT, its own container, whose frames carry their time and their
//! length in a few bytes in front of the pixels: one pipe, no second output that could fall out of step with the first, and every
//! ffmpeg since 2008 writes it. By default ffmpeg gives a container that has times the frames as they come, with their times (other
//! outputs would repeat and drop frames until the rate is constant); no option says so, since its name has changed (`-vsync`,
//! `-fps_mode`). The encoder counts in microseconds (`-enc_time_base`, since ffmpeg 4.0), because by default it rounds to the nominal
//! rate, which a video of variable rate does not have. The length shows where images change their size in the middle, which a
//! pipe of bare pixels hides.
//!
//! # Colours
//! Most videos are decoded to planes of brightness and colour ([`Layout::NutOf`]): half the bytes of RGB. They are taken as they are and
//! made into RGB here, rounded exactly, which costs less than ffmpeg's conversion and the longer pipe. Anything else ffmpeg converts.
//!
//! # Other programs
//! Other programs write packed RGB of a size that the caller knows ([`Layout::Rgb`]); such frames have the time at which they came.
//!
//! # The program
//! It has a process group of its own, and is killed and waited for when [`Frames`] is dropped. That it also ends when this process
//! is killed takes a [`Guard`]. It is waited for no longer than [`Reading::patience`] for a frame, and not at all after
//! [`Stop::now`]. The last lines that it writes to stderr are kept for the error that tells its end.

mod child;
mod encode;
mod error;
mod ffmpeg;
mod frames;
mod input;
mod nut;
mod outlet;
mod pipe;
mod planar;
mod probe;
mod program;
mod said;
mod size;

pub use encode::{Encoder, Writing};
pub use error::{Nut, VideoError};
pub use ffmpeg::{Device, Ffmpeg};
pub use frames::{Frames, Layout, Reading, Shown};
pub use pipe::Stop;
pub use planar::{Colours, Matrix, Range};
pub use probe::{MOST_FRAMES, VideoFacts, probe};
pub use program::{Guard, Launch};
pub use size::{NoSize, Size};
