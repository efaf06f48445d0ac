//! What runs on the board: its facts, a run that outlives the connection, and bringing its files back.

mod board;
mod brought;

use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::part::Part;
use super::receive::receive;
use super::screen::Screen;
use super::ssh::{Call, Host};
use super::unpack::{self, Unpacked};
use super::{DeployError, RunThere};
use crate::scenario;
use crate::shell;
use crate::units::Bytes;
pub use board::{Board, State, probe};
use board::{not_understood, state_of};
pub use brought::{Brought, Manifests};
use brought::{not_written, settle};

/// Between two looks whether the run has ended.
const LOOK: Duration = Duration::from_millis(50);
/// How long a run may take to end that was told to.
const STALLED: Duration = Duration::from_secs(60);
/// Between two requests to end, of a run that does not listen yet.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// What the board answers where a run that is to end had not begun, and now never will.
const NEVER: &str = "never";
/// How long the last that a run showed may take to arrive once it has ended.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// What a run is started with.
#[derive(Clone, Debug, Default)]
pub struct Order {
    /// The run's name.
    pub name: String,
    /// The command; empty for the one that the sweep was started with before.
    pub words: Vec<String>,
    /// Rows and columns of a terminal of its own; none for none.
    pub terminal: Option<(u16, u16)>,
    /// The folder of its results, where it is a sweep.
    pub sweep: Option<String>,
}

/// A run on the board.
pub struct RemoteRun<'a> {
    host: &'a Host,
    folder: &'a str,
    name: String,
}

impl<'a> RemoteRun<'a> {
    /// One that was started before.
    pub fn named(host: &'a Host, folder: &'a str, name: &str) -> RemoteRun<'a> {
        RemoteRun {
            host,
            folder,
            name: name.to_owned(),
        }
    }

    /// Starts jetlag as ordered, detached from the connection. `there` is kept up to date: a start that is interrupted is called
    /// off, however far it came.
    ///
    /// # Errors
    /// A run that is under way there, a full disk, or a connection that was lost.
    pub fn start(
        host: &'a Host,
        folder: &'a str,
        order: &Order,
        there: &mut RunThere,
    ) -> Result<RemoteRun<'a>, DeployError> {
        let run = RemoteRun::named(host, folder, &order.name);
        let command: Vec<String> = order.words.iter().map(|word| shell::quoted(word)).collect();
        let (rows, columns) = order.terminal.unwrap_or((0, 0));
        *there = RunThere::Beginning;
        let answer = host.ask(
            "starting the run",
            &[
                "start",
                folder,
                &order.name,
                &rows.to_string(),
                &columns.to_string(),
                &command.join(" "),
                order.sweep.as_deref().unwrap_or_default(),
            ],
        );
        if let Err(DeployError::Interrupted { .. }) = &answer
            && let Some(found) = run.call_off()
        {
            *there = found;
        }
        let answer = answer?;
        let answer = String::from_utf8_lossy(&answer);
        if let Some(other) = answer.trim_end().strip_prefix("busy ") {
            if !scenario::is_name(other) {
                return Err(not_understood(host, "the name of its run", other));
            }
            return Err(DeployError::Busy {
                host: host.name().to_owned(),
                name: other.to_owned(),
            });
        }
        *there = RunThere::UnderWay;
        Ok(run)
    }

    /// Keeps a run from beginning, or asks it to end where it has begun; none where the board did not hear it in time, or this
    /// program is to end at once.
    fn call_off(&self) -> Option<RunThere> {
        let since = Instant::now();
        while !self.host.stop().at_once.load(Ordering::Relaxed) && since.elapsed() < STALLED {
            match self.ask_to_end() {
                Ok(answer) if answer.trim_ascii() == NEVER.as_bytes() => return Some(RunThere::NotBegun),
                Ok(_) => return Some(RunThere::Ending),
                Err(_) => std::thread::sleep(LOOK * 4),
            }
        }
        None
    }

    fn ask_to_end(&self) -> Result<Vec<u8>, DeployError> {
        self.host
            .ask("ending the run", &["stop", self.folder, &self.name])
    }

    /// Shows what the run says on `screen`, until it has ended. When this program is to end, the run is asked to end, and is
    /// still waited for.
    ///
    /// # Errors
    /// A connection that was lost: the run goes on.
    pub fn follow(&self, screen: Option<&Screen>) -> Result<State, DeployError> {
        let stop = self.host.stop();
        let out = match screen {
            Some(_) => Stdio::piped(),
            None => Stdio::null(),
        };
        let mut call = self.host.script(&["follow", self.folder, &self.name], out)?;
        let drawing = screen.and_then(|screen| draw(&mut call, screen));
        let mut ending = None;
        let status = loop {
            if let Some(status) = call.poll()? {
                break status;
            }
            self.end_where_asked(&mut ending)?;
            std::thread::sleep(LOOK);
        };
        // ssh may hand its pipe on, so that it ends a little later than ssh does.
        let since = Instant::now();
        while drawing.as_ref().is_some_and(|drawing| !drawing.is_finished()) && since.elapsed() < LAST_WORDS {
            self.end_where_asked(&mut ending)?;
            std::thread::sleep(LOOK / 5);
        }
        // Ctrl-C on this terminal reaches the ssh that shows the run too; what became of the run is then asked anew.
        if !stop.asked.load(Ordering::Relaxed) {
            call.judge("following the run", status)?;
        }
        loop {
            let state = self.state()?;
            if state != State::Running {
                return Ok(state);
            }
            self.end_where_asked(&mut ending)?;
            std::thread::sleep(LOOK * 4);
        }
    }

    /// Asks the run to end where this program is to end, until the board has heard it.
    ///
    /// # Errors
    /// It has not ended for a long time since, or this program is to end at once.
    fn end_where_asked(&self, ending: &mut Option<Ending>) -> Result<(), DeployError> {
        let stop = self.host.stop();
        let unfinished = || DeployError::Interrupted {
            what: "waiting for the run to end",
        };
        if stop.at_once.load(Ordering::Relaxed) {
            return Err(unfinished());
        }
        if !stop.asked.load(Ordering::Relaxed) {
            return Ok(());
        }
        let now = Instant::now();
        let ending = ending.get_or_insert(Ending {
            since: now,
            ask: Some(now),
        });
        if ending.since.elapsed() > STALLED {
            return Err(unfinished());
        }
        if ending.ask.is_some_and(|at| at <= now) {
            ending.ask = match self.ask_to_end() {
                Ok(_) => None,
                Err(_) => Some(Instant::now() + ASK_AGAIN),
            };
        }
        Ok(())
    }

    fn state(&self) -> Result<State, DeployError> {
        let answer = self
            .host
            .ask("asking for the run's state", &["state", self.folder, &self.name])?;
        let text = String::from_utf8_lossy(&answer);
        state_of(&text).ok_or_else(|| not_understood(self.host, "the run's state", &text))
    }

    /// Brings the run file, the log and the plans' manifests into the folder `out`, `at_most` so much together.
    ///
    /// # Errors
    /// A connection that was lost, a disk here that is full, or what no run of ours sends.
    pub fn bring(&self, out: &Path, at_most: Bytes) -> Result<Brought, DeployError> {
        let cannot = |path: &'_ Path| {
            let path = path.to_owned();
            move |error: io::Error| not_written(&path, &error)
        };
        fs::create_dir_all(out).map_err(cannot(out))?;
        let work = Part::create(out, &self.name).map_err(cannot(out))?;
        let moved = self
            .unpack(work.path(), at_most)
            .and_then(|found| settle(&self.name, &found, out));
        if moved.as_ref().is_ok_and(|brought| brought.run.is_some()) {
            self.mark_fetched();
        }
        moved
    }

    /// Tells the board that it may forget the run, which is here. Where that cannot be said, it only keeps it longer.
    pub fn mark_fetched(&self) {
        let _ = self.host.ask(
            "marking the run as fetched",
            &["fetched", self.folder, &self.name],
        );
    }

    fn unpack(&self, work: &Path, at_most: Bytes) -> Result<Unpacked, DeployError> {
        let call = self
            .host
            .script(&["bring", self.folder, &self.name], Stdio::piped())?;
        let (name, work) = (self.name.clone(), work.to_owned());
        receive(call, "packing the run's files", at_most, move |sent| {
            unpack::unpack(sent, &name, &work, at_most)
        })
    }
}

/// Draws what a call says, in a thread that ends with it; none where its stdout is no pipe.
fn draw(call: &mut Call<'_>, screen: &Screen) -> Option<std::thread::JoinHandle<()>> {
    let mut said = call.child.stdout.take()?;
    let pen = screen.pen();
    Some(std::thread::spawn(move || {
        let mut piece = [0; 4096];
        while let Ok(got @ 1..) = said.read(&mut piece) {
            if !pen.draw(&piece[..got]) {
                return;
            }
        }
    }))
}

/// A run that is to end.
struct Ending {
    since: Instant,
    /// When to ask for it; none once the board has heard it.
    ask: Option<Instant>,
}

#[cfg(test)]
mod tests;
