//! A video as a source: decoded by a program of its own, ahead of the tenant, on the time line that ffprobe tells before.
//!
//! Frames are found by their times and not by counting, so that one which cannot be decoded fails by itself and those after it stay
//! in step. A program that writes no times is counted.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use jetlag_video::{
    Ffmpeg, Frames, Guard, Launch, Layout, Reading, Size, Stop, VideoError, VideoFacts, probe,
};

use super::recording;
use crate::record::Selection;
use crate::scenario::{ImageSize, VideoDecoder, VideoSpec};
use crate::source::context::Contexts;
use crate::source::stored::{About, Store, Stored, Unpack};
use crate::source::timeline::Timeline;
use crate::source::{Content, ContentKind, Image, SourceError, selection};
use crate::units::Nanos;

/// Times of the pipe are in microseconds, rounded.
const ROUNDED_NS: i64 = 2_000;
/// So many frames before the end the next round is begun, so that its first frame is there in time.
const EARLY: usize = 16;

/// Why a video gives no frame.
#[derive(Debug, thiserror::Error)]
enum NoFrame {
    #[error("{path}: {error}")]
    Video { path: PathBuf, error: VideoError },
    #[error("{path}: frame {frame}, at {at} from the begin, could not be decoded")]
    Undecoded { path: PathBuf, frame: usize, at: Nanos },
    #[error("{path}: it ended after {frames} frames, and has {of}")]
    EndedEarly { path: PathBuf, frames: usize, of: usize },
}

/// A video's frames, from the program that `spec` says.
pub(super) fn source(spec: &VideoSpec, guard: Option<&Guard>) -> Result<Stored, SourceError> {
    let reading = Reading {
        most_pixels: u64::from(spec.max_megapixels) * 1_000_000,
        stop: Stop::default(),
        ..Reading::default()
    };
    let failed = |error| no_video(&spec.path, error);
    let facts = probe(Path::new("ffprobe"), &spec.path, guard, &reading).map_err(failed)?;
    let (launch, layout) = decoder(spec, &facts, guard, &reading).map_err(failed)?;
    // Once before the run: a decoder that does not work is told then, and how large its images are.
    let size = {
        let mut trial = Frames::start(&launch, guard, layout, &reading).map_err(failed)?;
        let first = trial.next(&mut Vec::new()).map_err(failed)?;
        first
            .ok_or_else(|| ended_early(&spec.path, 0, facts.frames()))?
            .size
    };
    let times: Vec<i64> = facts.times_ns().collect();
    let by = match &spec.decoder {
        VideoDecoder::Ffmpeg(None) => "ffmpeg".to_owned(),
        VideoDecoder::Ffmpeg(Some(decoder)) => format!("ffmpeg's {decoder}"),
        VideoDecoder::Command { .. } => format!("{}, frames counted", launch.name()),
    };
    let about = About {
        kind: ContentKind::Image,
        description: format!(
            "{} frames of {} ({}, {size}, decoded by {by}, times by ffprobe)",
            times.len(),
            spec.path.display(),
            facts.codec()
        ),
        timeline: Some(Timeline::of_captures(times.iter().copied().map(Nanos))),
        contexts: Contexts::Unknown,
        selection: Some(of_video(&spec.path, &times)),
    };
    let video = Video {
        path: spec.path.clone(),
        tolerance: facts.tick_ns() / 2 + ROUNDED_NS,
        times: times.into(),
        launch,
        layout,
        guard: guard.cloned(),
        reading,
        repeat: spec.repeat,
        round: None,
        next_round: None,
    };
    let unpack = Pixels {
        size: Arc::new(OnceLock::from(size)),
    };
    Stored::open(
        Box::new(video),
        Box::new(unpack),
        about,
        spec.repeat,
        spec.reading,
    )
}

/// Its frames by their times, and the file's length.
fn of_video(path: &Path, times: &[i64]) -> Selection {
    let mut frames = selection::Frames::default();
    let length = std::fs::metadata(path).map_or(u64::MAX, |about| about.len());
    frames.frame("", &[length]);
    times.iter().for_each(|time| frames.time(Nanos(*time)));
    Selection {
        frames: times.len() as u64,
        ..frames.selection()
    }
}

fn no_video(path: &Path, error: VideoError) -> SourceError {
    // These name it themselves.
    let names_it = matches!(
        error,
        VideoError::NoVideo { .. } | VideoError::NoTimes { .. } | VideoError::TooLong { .. }
    );
    match names_it {
        true => recording(error),
        false => recording(NoFrame::Video {
            path: path.to_owned(),
            error,
        }),
    }
}

fn ended_early(path: &Path, frames: usize, of: usize) -> SourceError {
    recording(NoFrame::EndedEarly {
        path: path.to_owned(),
        frames,
        of,
    })
}

/// What is started, and what it writes.
fn decoder(
    spec: &VideoSpec,
    facts: &VideoFacts,
    guard: Option<&Guard>,
    reading: &Reading,
) -> Result<(Launch, Layout), VideoError> {
    match &spec.decoder {
        VideoDecoder::Ffmpeg(decoder) => {
            let ffmpeg = Ffmpeg::find(guard, reading)?;
            Ok(ffmpeg.file(&spec.path, facts, decoder.as_deref()))
        }
        VideoDecoder::Command { command, size } => {
            let path = spec.path.to_string_lossy();
            let written = size.and_then(image_size).unwrap_or(facts.size());
            let words = command.iter().map(|word| word.replace("{path}", &path));
            Ok((launch(words), Layout::Rgb(written)))
        }
    }
}

/// A command as it is written: a program and its arguments.
pub(super) fn launch(mut words: impl Iterator<Item = String>) -> Launch {
    Launch::of(words.next().unwrap_or_default()).with(words)
}

/// As the crate has it; `None` for one that no scenario has.
pub(super) fn image_size(size: ImageSize) -> Option<Size> {
    Size::new(size.width, size.height)
}

/// A program that decodes, from the first frame on.
struct Round {
    frames: Frames,
    /// Number of the next frame that has not been passed.
    next: usize,
    /// A frame that came when one before it was asked for.
    held: Option<(usize, Vec<u8>)>,
    /// Why nothing more comes.
    failed: Option<Arc<str>>,
}

/// The frames of a video, one round after another.
struct Video {
    path: PathBuf,
    times: Arc<[i64]>,
    tolerance: i64,
    launch: Launch,
    layout: Layout,
    guard: Option<Guard>,
    reading: Reading,
    repeat: bool,
    round: Option<Round>,
    /// Begun a little before the round's end.
    next_round: Option<Frames>,
}

impl Video {
    fn start(&self) -> Result<Frames, VideoError> {
        Frames::start(&self.launch, self.guard.as_ref(), self.layout, &self.reading)
    }

    /// The round in which frame `index` is still to come.
    fn round(&mut self, index: usize) -> Result<Round, SourceError> {
        let has_it = |round: &Round| {
            let holds = round.held.as_ref().is_some_and(|(held, _)| *held == index);
            // One that failed before its first frame is begun anew for it.
            let is_spent = round.failed.is_some() && index == 0;
            (round.next <= index || holds) && !is_spent
        };
        if let Some(round) = self.round.take_if(|round| has_it(round)) {
            return Ok(round);
        }
        // The old program ends before the new one is needed.
        self.round = None;
        let frames = match self.next_round.take() {
            Some(frames) => Ok(frames),
            None => self.start(),
        };
        Ok(Round {
            frames: frames.map_err(|error| no_video(&self.path, error))?,
            next: 0,
            held: None,
            failed: None,
        })
    }
}

impl Round {
    /// Reads on until frame `index`.
    fn reach(
        &mut self,
        index: usize,
        raw: &mut Vec<u8>,
        number: impl Fn(i64, usize) -> Option<usize>,
        path: &Path,
        times: &[i64],
    ) -> Result<(), SourceError> {
        if let Some(why) = &self.failed {
            return Err(SourceError::Unread(Arc::clone(why)));
        }
        let undecoded = || {
            recording(NoFrame::Undecoded {
                path: path.to_owned(),
                frame: index,
                at: Nanos(times[index]),
            })
        };
        if let Some((held, mut pixels)) = self.held.take() {
            if held > index {
                self.held = Some((held, pixels));
                return Err(undecoded());
            }
            if held == index {
                std::mem::swap(raw, &mut pixels);
                return Ok(());
            }
        }
        loop {
            let outcome = match self.frames.next(raw) {
                Ok(Some(shown)) => Ok(shown),
                Ok(None) => Err(ended_early(path, self.next, times.len())),
                Err(error) => Err(no_video(path, error)),
            };
            let shown = match outcome {
                Ok(shown) => shown,
                Err(error) => {
                    // So it is for every frame of this round.
                    self.failed = Some(error.to_string().into());
                    return Err(error);
                }
            };
            let came = match shown.at_ns {
                Some(at) => number(at, self.next),
                None => Some(self.next),
            };
            // One that ffprobe did not tell of is nobody's.
            let Some(came) = came else { continue };
            self.next = came + 1;
            if came == index {
                return Ok(());
            }
            if came > index {
                self.held = Some((came, std::mem::take(raw)));
                return Err(undecoded());
            }
        }
    }
}

/// The number of the frame at this time, from `next` on.
fn number(times: &[i64], tolerance: i64, at: i64, next: usize) -> Option<usize> {
    let after = next
        + times
            .get(next..)?
            .partition_point(|time| *time < at.saturating_sub(tolerance));
    let found = *times.get(after)?;
    (found.saturating_sub(at).saturating_abs() <= tolerance).then_some(after)
}

impl Store for Video {
    fn length(&self) -> usize {
        self.times.len()
    }

    fn fetch(&mut self, index: usize, raw: &mut Vec<u8>) -> Result<(), SourceError> {
        let mut round = self.round(index)?;
        let (times, tolerance) = (Arc::clone(&self.times), self.tolerance);
        let numbered = |at, next| number(&times, tolerance, at, next);
        let outcome = round.reach(index, raw, numbered, &self.path, &times);
        if outcome.is_err() {
            raw.clear();
        }
        let is_near_its_end = index + EARLY.min(times.len() / 2) >= times.len();
        if self.repeat && is_near_its_end && self.next_round.is_none() && times.len() > 1 {
            // If it does not start, it is told when it is its turn.
            self.next_round = self.start().ok();
        }
        self.round = Some(round);
        outcome
    }

    fn fetch_over(&mut self, index: usize, raw: &mut Vec<u8>) -> Result<(), SourceError> {
        // All frames have one length, and are read over one another.
        self.fetch(index, raw)
    }

    fn stop(&self) -> Option<Box<dyn FnOnce() + Send>> {
        let stop = self.reading.stop.clone();
        Some(Box::new(move || stop.now()))
    }
}

/// Pixels that are an image already.
pub(super) struct Pixels {
    pub(super) size: Arc<OnceLock<Size>>,
}

impl Pixels {
    fn image<'a>(&self, found: usize, content: &'a mut Content) -> Result<&'a mut Image, SourceError> {
        // It is known with the first frame that was read.
        let Some(size) = self.size.get().filter(|size| size.bytes() == found) else {
            let why = format!("an image has {found} bytes, and others have another size");
            return Err(SourceError::Unread(why.into()));
        };
        if !matches!(content, Content::Image(_)) {
            *content = Content::Image(Image::default());
        }
        let Content::Image(image) = content else {
            return Err(SourceError::Unread("it is no image".into()));
        };
        (image.width, image.height) = (size.width() as usize, size.height() as usize);
        Ok(image)
    }
}

impl Unpack for Pixels {
    fn unpack(&mut self, _: usize, raw: &[u8], content: &mut Content) -> Result<(), SourceError> {
        let image = self.image(raw.len(), content)?;
        image.rgb.clear();
        image.rgb.extend_from_slice(raw);
        Ok(())
    }

    fn unpack_own(&mut self, _: usize, raw: &mut Vec<u8>, content: &mut Content) -> Result<(), SourceError> {
        let image = self.image(raw.len(), content)?;
        std::mem::swap(&mut image.rgb, raw);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn a_frame_is_found_by_its_time() {
        let times = [0, 1_000, 5_000, 5_500];
        let found = |at, next| number(&times, 100, at, next);
        assert_eq!(
            [found(0, 0), found(1_090, 0), found(4_900, 1)],
            [Some(0), Some(1), Some(2)]
        );
        assert_eq!(found(5_500, 1), Some(3), "one was left out");
        assert_eq!(
            [found(2_000, 1), found(9_000, 0), found(0, 1), found(0, 4)],
            [None; 4]
        );
        assert_eq!([found(i64::MIN, 0), found(i64::MAX, 0)], [None; 2]);
    }
}
