//! Receives what a board sends, until it has sent all, sends nothing for a while, or this program is to end. A board may send without
//! end, or not at all: who reads is a thread that nobody waits for.

use std::io::{self, Read};
use std::process::ChildStdout;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::DeployError;
use super::ssh::Call;
use super::unpack::UnpackError;
use crate::units::Bytes;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(10);
/// What may come beside the content of the files: headers, and files that are passed over.
const BESIDE: u64 = 64 << 20;
/// How long ssh may take to end once its pipe has.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// For how long a board may send nothing.
const STALLED: Duration = Duration::from_secs(60);

/// Hands what a call sends to `read`, `at_most` so much, and waits for both.
///
/// # Errors
/// A connection that was lost, a board that falls silent, an interruption, or what `read` found wrong.
pub(super) fn receive<T: Send + 'static>(
    mut call: Call<'_>,
    what: &'static str,
    at_most: Bytes,
    read: impl FnOnce(&mut Sent) -> Result<T, UnpackError> + Send + 'static,
) -> Result<T, DeployError> {
    let count = Arc::new(AtomicU64::new(0));
    let mut sent = Sent {
        from: call.child.stdout.take(),
        read: Arc::clone(&count),
        at_most: at_most.0.saturating_add(BESIDE),
    };
    // A run that was told to end is fetched all the same; a second signal ends this program at once.
    let ending = call.stopped();
    let reading = std::thread::spawn(move || {
        let found = read(&mut sent)?;
        // To the end, so that a board that does not end is noticed as one that is silent is.
        let _ = io::copy(&mut sent, &mut io::sink());
        Ok(found)
    });
    let (mut seen, mut since) = (0, Instant::now());
    while !reading.is_finished() {
        std::thread::sleep(LOOK);
        // What ssh says is bounded there.
        call.poll()?;
        let now = count.load(Ordering::Relaxed);
        if now != seen {
            (seen, since) = (now, Instant::now());
        }
        let interrupted = call.at_once() || call.stopped() && !ending;
        if interrupted || since.elapsed() > STALLED {
            call.kill();
            return Err(match interrupted {
                true => DeployError::Interrupted { what },
                false => DeployError::Silent {
                    host: call.host().to_owned(),
                    what,
                    waited: STALLED.as_secs(),
                },
            });
        }
    }
    // Ctrl-C on this terminal reaches ssh too, and breaks what it sends off.
    if call.stopped() && !ending {
        call.kill();
        return Err(DeployError::Interrupted { what });
    }
    match reading.join() {
        Ok(Ok(found)) => {
            call.finish(what)?;
            Ok(found)
        }
        Ok(Err(UnpackError::Cut)) => {
            // What cut it off is the better reason, and ssh's end comes a little later than that of its pipe.
            let since = Instant::now();
            while call.poll()?.is_none() && since.elapsed() < LAST_WORDS {
                std::thread::sleep(LOOK);
            }
            if let Some(status) = call.poll()? {
                call.judge(what, status)?;
            }
            Err(DeployError::Board {
                what,
                host: call.host().to_owned(),
                said: UnpackError::Cut.to_string(),
            })
        }
        Ok(Err(UnpackError::NoArchive(error))) => {
            // What broke it off is the better reason; a board that goes on sending is not listened to.
            match call.poll()? {
                Some(status) => call.judge(what, status)?,
                None => call.kill(),
            }
            Err(refused(&call, &UnpackError::NoArchive(error)))
        }
        Ok(Err(UnpackError::Here { path, error })) => {
            call.kill();
            Err(DeployError::File {
                path: path.display().to_string(),
                problem: format!("cannot be written: {error}; name another folder with --out"),
            })
        }
        Ok(Err(UnpackError::Changed { name })) => {
            call.kill();
            Err(DeployError::File {
                path: name,
                problem: format!(
                    "changed on {} while it was fetched; see who writes there, and fetch again",
                    call.host()
                ),
            })
        }
        Ok(Err(why)) => {
            call.kill();
            Err(refused(&call, &why))
        }
        Err(_) => Err(refused(&call, &"reading it panicked; please report it")),
    }
}

fn refused(call: &Call<'_>, why: &dyn std::fmt::Display) -> DeployError {
    DeployError::Refused {
        host: call.host().to_owned(),
        why: why.to_string(),
    }
}

/// What a board sends, counted for who watches over it.
pub(super) struct Sent {
    from: Option<ChildStdout>,
    read: Arc<AtomicU64>,
    at_most: u64,
}

impl Read for Sent {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = match &mut self.from {
            Some(from) => from.read(buffer)?,
            None => 0,
        };
        let before = self.read.fetch_add(got as u64, Ordering::Relaxed);
        if before.saturating_add(got as u64) > self.at_most {
            return Err(io::Error::other(format!("more than {}", Bytes(self.at_most))));
        }
        Ok(got)
    }
}
