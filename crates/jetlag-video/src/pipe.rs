//! The reading end of a program's output, read without ever waiting forever.

use std::io::{ErrorKind, Read};
use std::process::{ChildStderr, ChildStdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::said::Said;

/// Longest wait without a look at the stop flag.
pub(crate) const LOOK: Duration = Duration::from_millis(50);

/// Ends the reading of frames from another thread, at the latest after 50 ms.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// From now on nothing more is waited for.
    pub fn now(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether [`Stop::now`] was called.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// A program's stdout, with its stderr beside it. A read that finds nothing for too long fails with
/// [`ErrorKind::TimedOut`], one that is stopped with [`ErrorKind::ConnectionAborted`].
#[derive(Debug)]
pub(crate) struct Pipe {
    out: ChildStdout,
    err: Option<ChildStderr>,
    pub(crate) said: Said,
    patience: Duration,
    stop: Stop,
}

impl Pipe {
    pub(crate) fn new(
        out: ChildStdout,
        err: Option<ChildStderr>,
        patience: Duration,
        stop: Stop,
    ) -> std::io::Result<Pipe> {
        rustix::io::ioctl_fionbio(&out, true)?;
        if let Some(err) = &err {
            rustix::io::ioctl_fionbio(err, true)?;
        }
        Ok(Pipe {
            out,
            err,
            said: Said::default(),
            patience,
            stop,
        })
    }

    /// Takes in what was written to stderr.
    pub(crate) fn listen(&mut self) {
        listen(&mut self.err, &mut self.said);
    }

    /// Waits for a moment, until either has something.
    fn wait(&mut self, longest: Duration) -> std::io::Result<()> {
        let longest = longest.min(LOOK);
        let timeout = Timespec {
            tv_sec: 0,
            tv_nsec: longest.subsec_nanos().into(),
        };
        let heard = {
            let mut both = [
                PollFd::new(&self.out, PollFlags::IN),
                match &self.err {
                    Some(err) => PollFd::new(err, PollFlags::IN),
                    None => PollFd::new(&self.out, PollFlags::empty()),
                },
            ];
            match poll(&mut both, Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            self.err.is_some() && !both[1].revents().is_empty()
        };
        if heard {
            self.listen();
        }
        Ok(())
    }
}

/// Takes in what a program has written to stderr; `None` from its end on.
pub(crate) fn listen(from: &mut Option<ChildStderr>, said: &mut Said) {
    let mut bytes = [0; 1024];
    while let Some(err) = from {
        match err.read(&mut bytes) {
            Ok(0) => *from = None,
            Ok(read) => said.add(&bytes[..read]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Err(_) => *from = None,
        }
    }
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let mut waiting: Option<Instant> = None;
        loop {
            if self.stop.is_asked() {
                return Err(ErrorKind::ConnectionAborted.into());
            }
            match self.out.read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                done => return done,
            }
            let since = waiting.get_or_insert_with(Instant::now).elapsed();
            let Some(left) = self.patience.checked_sub(since).filter(|left| !left.is_zero()) else {
                return Err(ErrorKind::TimedOut.into());
            };
            self.wait(left)?;
        }
    }
}
