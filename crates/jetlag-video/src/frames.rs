//! The frames that a program writes, one after another.

use std::io::{BufReader, ErrorKind, Read};
use std::time::Duration;

use crate::child::{Running, start};
use crate::error::Nut as Problem;
use crate::error::VideoError;
use crate::nut::{Failure, Head, Nut};
use crate::pipe::{Pipe, Stop};
use crate::planar::{self, Colours};
use crate::program::{Guard, Launch};
use crate::size::Size;

/// What is read at once of headers; pixels go past it.
const BUFFER: usize = 16 << 10;

/// How frames lie in what a program writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// NUT with one stream of packed RGB: size and times are in it.
    Nut,
    /// NUT with one stream of packed RGB or of `yuv420p`, whose numbers mean these colours and are made into RGB here.
    NutOf(Colours),
    /// Packed RGB of this size, one image after another.
    Rgb(Size),
}

/// How a program's frames are read.
#[derive(Clone, Debug)]
pub struct Reading {
    /// How long a frame is waited for.
    pub patience: Duration,
    /// The most pixels of an image; memory is taken for no larger one.
    pub most_pixels: u64,
    /// Ends the waiting from another thread.
    pub stop: Stop,
}

impl Default for Reading {
    /// Ten seconds, and 64 megapixels.
    fn default() -> Reading {
        Reading {
            patience: Duration::from_secs(10),
            most_pixels: 64_000_000,
            stop: Stop::default(),
        }
    }
}

/// A program that runs, and its frames. The program ends when this is dropped.
#[derive(Debug)]
pub struct Frames {
    // Before the program's end, so that it sees a closed pipe first.
    pipe: BufReader<Pipe>,
    running: Running,
    name: String,
    patience: Duration,
    most_pixels: u64,
    how: How,
    /// What planes mean, where they may come.
    colours: Option<Colours>,
    /// Of the last frame.
    planes: Vec<u8>,
    given: u64,
}

#[derive(Debug)]
enum How {
    /// Its headers are still to come.
    Begins,
    Nut(Nut),
    Rgb(Size),
}

/// A frame that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The size of its image.
    pub size: Size,
    /// When it is to be shown, in nanoseconds, where the program says so.
    pub at_ns: Option<i64>,
}

impl Frames {
    /// Starts a program. With a `guard` it ends when this thread does, even if this process is killed.
    ///
    /// # Errors
    /// [`VideoError::Absent`], [`VideoError::NotStarted`]; [`VideoError::TooLarge`] where the size is known before.
    pub fn start(
        launch: &Launch,
        guard: Option<&Guard>,
        layout: Layout,
        reading: &Reading,
    ) -> Result<Frames, VideoError> {
        let (how, colours) = match layout {
            Layout::Nut => (How::Begins, None),
            Layout::NutOf(colours) => (How::Begins, Some(colours)),
            Layout::Rgb(size) => (How::Rgb(fitting(size, reading.most_pixels)?), None),
        };
        let (running, pipe) = start(launch, guard, reading.patience, reading.stop.clone())?;
        Ok(Frames {
            pipe: BufReader::with_capacity(BUFFER, pipe),
            running,
            name: launch.name(),
            patience: reading.patience,
            most_pixels: reading.most_pixels,
            how,
            colours,
            planes: Vec::new(),
            given: 0,
        })
    }

    /// How many frames were read.
    pub fn given(&self) -> u64 {
        self.given
    }

    /// The program's number in the system.
    pub fn process(&self) -> u32 {
        self.running.id()
    }

    /// Reads the next frame's image into `rgb`, in place of what is there; its memory is used again. `None` where the program has
    /// written its last and has ended well.
    ///
    /// # Errors
    /// The program has ended otherwise, or gives nothing; a frame is cut off or of another size. Nothing more comes then.
    pub fn next(&mut self, rgb: &mut Vec<u8>) -> Result<Option<Shown>, VideoError> {
        let (head, size) = match self.head() {
            Ok(Some(found)) => found,
            Ok(None) => return self.end(),
            Err(failure) => return self.fail(failure),
        };
        let size = fitting(size, self.most_pixels)?;
        let is_planar = matches!(&self.how, How::Nut(nut) if nut.is_planar);
        let length = match is_planar {
            true => planar::bytes(size),
            false => size.bytes(),
        };
        let known: &[u8] = head.as_ref().map_or(&[][..], |head| head.known.as_slice());
        if let Some(head) = &head {
            let found = head.follow.saturating_add(known.len() as u64);
            if found != length as u64 {
                return Err(VideoError::OtherSize {
                    frame: self.given,
                    size,
                    wanted: length as u64,
                    found,
                });
            }
        }
        exactly(rgb, size.bytes());
        let into = match is_planar {
            true => {
                exactly(&mut self.planes, length);
                &mut self.planes
            }
            false => &mut *rgb,
        };
        into[..known.len()].copy_from_slice(known);
        let mut filled = known.len();
        while filled < length {
            match self.pipe.read(&mut into[filled..]) {
                Ok(0) if filled == 0 => return self.end(),
                Ok(0) => return self.cut(filled, length, size),
                Ok(read) => filled += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return self.fail(error.into()),
            }
        }
        if let Some(colours) = self.colours.filter(|_| is_planar) {
            planar::to_rgb(&self.planes, size, colours, rgb);
        }
        self.given += 1;
        Ok(Some(Shown {
            size,
            at_ns: head.map(|head| head.shown_ns),
        }))
    }

    /// What stands in front of the next frame, and the size of its image; `None` at the end.
    fn head(&mut self) -> Result<Option<(Option<Head>, Size)>, Failure> {
        if matches!(self.how, How::Begins) {
            let nut = Nut::open(&mut self.pipe)?;
            if nut.is_planar && self.colours.is_none() {
                return Err(Problem::NotRgb("I420".to_owned()).into());
            }
            self.how = How::Nut(nut);
        }
        match &mut self.how {
            How::Begins => Ok(None),
            How::Rgb(size) => Ok(Some((None, *size))),
            How::Nut(nut) => {
                let size = nut.size;
                Ok(nut.next(&mut self.pipe)?.map(|head| (Some(head), size)))
            }
        }
    }

    fn words(&mut self) -> String {
        self.pipe.get_mut().listen();
        self.pipe.get_ref().said.words()
    }

    fn end(&mut self) -> Result<Option<Shown>, VideoError> {
        match self.running.ended() {
            None => Ok(None),
            Some(how) => Err(self.ended(how)),
        }
    }

    fn ended(&mut self, how: String) -> VideoError {
        VideoError::Ended {
            program: self.name.clone(),
            how,
            frames: self.given,
            said: self.words(),
        }
    }

    /// It has ended within a frame: badly, or with bytes that are no whole frame.
    fn cut(&mut self, found: usize, wanted: usize, size: Size) -> Result<Option<Shown>, VideoError> {
        Err(match self.running.ended() {
            Some(how) => self.ended(how),
            None => VideoError::Cut {
                program: self.name.clone(),
                frames: self.given,
                found,
                wanted,
                size,
                said: self.words(),
            },
        })
    }

    fn fail(&mut self, failure: Failure) -> Result<Option<Shown>, VideoError> {
        let error = match failure {
            Failure::Nut(problem) => {
                return Err(VideoError::Nut {
                    program: self.name.clone(),
                    problem,
                });
            }
            Failure::Io(error) => error,
        };
        Err(match error.kind() {
            ErrorKind::ConnectionAborted => VideoError::Stopped,
            ErrorKind::TimedOut => VideoError::Stalled {
                program: self.name.clone(),
                patience: self.patience,
                frames: self.given,
                said: self.words(),
            },
            ErrorKind::UnexpectedEof => {
                let how = self.running.ended();
                self.ended(how.unwrap_or_else(|| "its output is cut off".to_owned()))
            }
            _ => VideoError::Pipe {
                program: self.name.clone(),
                error,
            },
        })
    }
}

/// Makes it this long; what is in it is written over.
fn exactly(buffer: &mut Vec<u8>, length: usize) {
    if buffer.len() != length {
        buffer.clear();
        buffer.resize(length, 0);
    }
}

/// A size that is not too large.
fn fitting(size: Size, most: u64) -> Result<Size, VideoError> {
    match size.pixels() <= most {
        true => Ok(size),
        false => Err(VideoError::TooLarge { size, most }),
    }
}

#[cfg(test)]
mod tests;
