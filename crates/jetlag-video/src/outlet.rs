//! The writing end of a program's input, written without ever waiting forever.

use std::io::{ErrorKind, Write};
use std::process::{ChildStderr, ChildStdin};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::pipe::{LOOK, Stop, listen};
use crate::said::Said;

/// Bytes that wait in the pipe, where the system grants so many: a frame takes a hundred turns of the usual 64 KiB.
const ROOM: usize = 1 << 20;

/// A program's stdin, with its stderr beside it. A write that finds no room for too long fails with [`ErrorKind::TimedOut`], one
/// that is stopped with [`ErrorKind::ConnectionAborted`], and one to a program that reads no more with [`ErrorKind::BrokenPipe`].
#[derive(Debug)]
pub(crate) struct Outlet {
    to: ChildStdin,
    err: Option<ChildStderr>,
    pub(crate) said: Said,
    patience: Duration,
    stop: Stop,
}

impl Outlet {
    pub(crate) fn new(
        to: ChildStdin,
        err: Option<ChildStderr>,
        patience: Duration,
        stop: Stop,
    ) -> std::io::Result<Outlet> {
        rustix::io::ioctl_fionbio(&to, true)?;
        if let Some(err) = &err {
            rustix::io::ioctl_fionbio(err, true)?;
        }
        // Only faster.
        let _ = rustix::pipe::fcntl_setpipe_size(&to, ROOM);
        Ok(Outlet {
            to,
            err,
            said: Said::default(),
            patience,
            stop,
        })
    }

    /// Closes it: the program sees that nothing more comes. Answers what listens to its last words.
    pub(crate) fn close(self) -> Words {
        Words {
            err: self.err,
            said: self.said,
        }
    }

    pub(crate) fn words(&mut self) -> String {
        listen(&mut self.err, &mut self.said);
        self.said.words()
    }

    /// Waits for a moment, until there is room or something is said.
    fn wait(&mut self, longest: Duration) -> std::io::Result<()> {
        let timeout = Timespec {
            tv_sec: 0,
            tv_nsec: longest.min(LOOK).subsec_nanos().into(),
        };
        let mut both = [
            PollFd::new(&self.to, PollFlags::OUT),
            match &self.err {
                Some(err) => PollFd::new(err, PollFlags::IN),
                None => PollFd::new(&self.to, PollFlags::empty()),
            },
        ];
        match poll(&mut both, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        listen(&mut self.err, &mut self.said);
        Ok(())
    }
}

impl Write for Outlet {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut waiting: Option<Instant> = None;
        loop {
            if self.stop.is_asked() {
                return Err(ErrorKind::ConnectionAborted.into());
            }
            match self.to.write(bytes) {
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

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What is left of a closed one: what its program says at last.
#[derive(Debug)]
pub(crate) struct Words {
    err: Option<ChildStderr>,
    said: Said,
}

impl Words {
    pub(crate) fn listen(&mut self) {
        listen(&mut self.err, &mut self.said);
    }

    pub(crate) fn words(&self) -> String {
        self.said.words()
    }
}
