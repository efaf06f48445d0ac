//! Frames given to a program that makes a video of them.

use std::io::{ErrorKind, Write};
use std::time::{Duration, Instant};

use crate::child::{Running, start_writing};
use crate::error::VideoError;
use crate::nut::write;
use crate::outlet::Outlet;
use crate::pipe::{LOOK, Stop};
use crate::program::{Guard, Launch};
use crate::size::Size;

/// How frames are given to a program.
#[derive(Clone, Debug)]
pub struct Writing {
    /// How long it is waited for until it takes more, or ends.
    pub patience: Duration,
    /// Ends the waiting from another thread. What is written then is not whole.
    pub stop: Stop,
}

impl Default for Writing {
    /// A minute: a slow encoder may take seconds for a frame, and holds many back.
    fn default() -> Writing {
        Writing {
            patience: Duration::from_secs(60),
            stop: Stop::default(),
        }
    }
}

/// A program that encodes. It is killed when this is dropped before [`Encoder::finish`].
#[derive(Debug)]
pub struct Encoder {
    // Before the program's end, so that it sees a closed pipe first.
    outlet: Outlet,
    running: Running,
    name: String,
    patience: Duration,
    stop: Stop,
    size: Size,
    given: u64,
    /// What stands in front of the next frame's pixels.
    head: Vec<u8>,
}

impl Encoder {
    /// Starts a program that reads NUT from its input, such as [`Ffmpeg::encode`](crate::Ffmpeg::encode) says.
    ///
    /// # Errors
    /// It is not there, or the system does not start it.
    pub fn start(
        launch: &Launch,
        guard: Option<&Guard>,
        size: Size,
        writing: &Writing,
    ) -> Result<Encoder, VideoError> {
        let (running, outlet) = start_writing(launch, guard, writing.patience, writing.stop.clone())?;
        let mut head = Vec::with_capacity(256);
        write::begin(size, &mut head);
        Ok(Encoder {
            outlet,
            running,
            name: launch.name(),
            patience: writing.patience,
            stop: writing.stop.clone(),
            size,
            given: 0,
            head,
        })
    }

    /// Its number in the system.
    pub fn id(&self) -> u32 {
        self.running.id()
    }

    /// Gives it a frame: packed RGB, 8 bits each, to be shown at a time in nanoseconds from the first one. Waits until it is taken.
    /// Times are kept in microseconds; what lies before 0 is 0.
    ///
    /// # Errors
    /// The image is of another size; the program has ended, or takes nothing for too long; [`Stop::now`].
    pub fn frame(&mut self, rgb: &[u8], at_ns: i64) -> Result<(), VideoError> {
        if rgb.len() != self.size.bytes() {
            return Err(VideoError::OtherSize {
                frame: self.given,
                size: self.size,
                wanted: self.size.bytes() as u64,
                found: rgb.len() as u64,
            });
        }
        let ticks = u64::try_from(at_ns.saturating_add(500) / 1000).unwrap_or(0);
        write::frame(ticks, rgb.len() as u64, &mut self.head);
        let written = self
            .outlet
            .write_all(&self.head)
            .and_then(|()| self.outlet.write_all(rgb));
        self.head.clear();
        written.map_err(|error| self.failed(error))?;
        self.given += 1;
        Ok(())
    }

    /// Nothing more comes: waits until the video is whole, and answers how many frames it was given.
    ///
    /// # Errors
    /// It did not end well, or not in time.
    pub fn finish(self) -> Result<u64, VideoError> {
        let Encoder {
            outlet,
            mut running,
            name,
            patience,
            stop,
            given,
            ..
        } = self;
        let mut words = outlet.close();
        let begin = Instant::now();
        loop {
            let ended = running.ended_within(LOOK);
            words.listen();
            match ended {
                Some(None) => return Ok(given),
                Some(Some(how)) => {
                    return Err(VideoError::TakesNoMore {
                        program: name,
                        how,
                        frames: given,
                        said: words.words(),
                    });
                }
                None if stop.is_asked() => return Err(VideoError::Stopped),
                None if begin.elapsed() > patience => {
                    return Err(VideoError::TakesNothing {
                        program: name,
                        patience,
                        frames: given,
                        said: words.words(),
                    });
                }
                None => {}
            }
        }
    }

    fn failed(&mut self, error: std::io::Error) -> VideoError {
        match error.kind() {
            ErrorKind::ConnectionAborted => VideoError::Stopped,
            ErrorKind::TimedOut => VideoError::TakesNothing {
                program: self.name.clone(),
                patience: self.patience,
                frames: self.given,
                said: self.outlet.words(),
            },
            _ => {
                let how = self.running.ended();
                VideoError::TakesNoMore {
                    program: self.name.clone(),
                    how: how.unwrap_or_else(|| "it closed its input".to_owned()),
                    frames: self.given,
                    said: self.outlet.words(),
                }
            }
        }
    }
}
