//! One tenant's process as its parent sees it: started, given orders, listened to, and told apart in death.
//!
//! Orders and records travel over one socket, which is the process's standard input; what it prints, on either of the
//! other two, comes to our stderr with the tenant's name, and its last lines are kept for when it dies.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, PipeReader, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::mps::PIPE_DIRECTORY;
use super::words::{Answer, Order, Setup};
use crate::commands::output::say;
use crate::commands::threads::named;
use crate::record::wire::{Inbox, Message, WireError};
use crate::record::{Event, PhaseRecord};
use crate::scenario::{BackendChoice, Scenario, Tenant};
use crate::tenant::mishap::Mishap;
use crate::tenant::recording::{self, RecordFeed, RecordSink};

/// Lines of a process that are kept.
const LAST_LINES: usize = 6;
/// A process that closed its socket, or was told to end, does so within this.
const ENDS_WITHIN: Duration = Duration::from_secs(5);
/// One that has a profile to read before does so within this: of the largest, a file of 0.6 GB is written and read.
const READS_WITHIN: Duration = Duration::from_secs(120);
/// A process's last lines come within this after its end; somebody else may hold the pipe for longer.
const LINES_WITHIN: Duration = Duration::from_millis(300);

/// What a process's reader tells the run.
pub(super) enum News {
    /// The tenant's phase ended.
    Ended(PhaseRecord),
    /// The process's output has ended; nothing more comes.
    Gone {
        /// Records that are known to be lost.
        lost: u64,
        /// What was wrong with what came last.
        problem: Option<WireError>,
    },
}

/// Why a process gave no answer that is understood.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoAnswer {
    /// It said something else.
    #[error("its process answers `{text}`: {error}")]
    Unknown { text: String, error: serde_json::Error },
    /// It said nothing.
    #[error("its process ended before it was prepared: {last_words}")]
    Ended { last_words: String },
}

/// How a process ended that did not end as it should.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadEnd {
    /// With an exit code of its own, or by a signal.
    #[error("{last_words}")]
    Failed { last_words: String },
    /// The system does not tell.
    #[error(transparent)]
    Unknown(#[from] std::io::Error),
    /// Only when it was made to.
    #[error("it did not end within {} s and was killed", within.as_secs())]
    Killed { within: Duration },
}

/// How long a tenant's process may take to end after its last phase.
pub(super) fn ends_within(tenant: &Tenant) -> Duration {
    match tenant.backend {
        BackendChoice::OnnxRuntime { profile: true, .. } => READS_WITHIN,
        _ => ENDS_WITHIN,
    }
}

/// The process of one tenant, seen from the run.
pub(super) struct TenantProcess {
    /// Position of its tenant.
    pub(super) number: usize,
    pub(super) name: String,
    process: Child,
    orders: UnixStream,
    inbox: Option<Inbox<UnixStream>>,
    reader: Option<JoinHandle<()>>,
    lines: Arc<Mutex<VecDeque<String>>>,
    relay: JoinHandle<()>,
    /// Whether it has ended, and that was told.
    pub(super) gone: bool,
}

impl TenantProcess {
    /// Starts it and gives it the scenario. Must be called on a thread that lives as long as the run: the kernel kills
    /// the process with that thread.
    pub(super) fn start(
        program: &Path,
        scenario: &Scenario,
        number: usize,
        pipe_directory: Option<&Path>,
    ) -> anyhow::Result<TenantProcess> {
        let name = scenario.tenants[number].name.clone();
        let (ours, theirs) = UnixStream::pair()?;
        let (printed, out) = std::io::pipe()?;
        let mut command = Command::new(program);
        command
            .args(verbosity())
            .args(["tenant-process", &std::process::id().to_string(), &name])
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            // Libraries print where they like; nothing of it may look like our results.
            .stdout(out.try_clone()?)
            .stderr(out);
        if let Some(folder) = pipe_directory {
            command.env(PIPE_DIRECTORY, folder);
        }
        let process = command.spawn()?;
        // Its ends of socket and pipe close here with the command.
        drop(command);
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        let relay = named("relay").spawn({
            let (name, lines) = (name.clone(), Arc::clone(&lines));
            move || relay(&name, printed, &lines)
        })?;
        let mut child = TenantProcess {
            number,
            name,
            process,
            inbox: Some(Inbox::new(ours.try_clone()?)),
            orders: ours,
            reader: None,
            lines,
            relay,
            gone: false,
        };
        let setup = Setup {
            scenario: scenario.clone(),
            tenant: number,
        };
        // One that is dead already says so where its answer is awaited.
        let _ = child.say(&serde_json::to_string(&setup).context("cannot pass on the scenario")?);
        Ok(child)
    }

    fn say(&mut self, line: &str) -> std::io::Result<()> {
        self.orders.write_all(format!("{line}\n").as_bytes())
    }

    /// Waits until it is ready, or says why it is not.
    pub(super) fn answer(&mut self) -> Result<Answer, NoAnswer> {
        let came = match &mut self.inbox {
            Some(inbox) => inbox.receive(),
            None => Ok(None),
        };
        match came {
            Ok(Some(Message::Text(text))) => {
                serde_json::from_str(&text).map_err(|error| NoAnswer::Unknown { text, error })
            }
            _ => Err(NoAnswer::Ended {
                last_words: self.last_words(),
            }),
        }
    }

    /// Passes its records on from now. What it says otherwise goes to `news`, with its number.
    pub(super) fn listen(
        &mut self,
        detections: bool,
        feeds: &mut Vec<RecordFeed>,
        notes: Sender<Event>,
        news: Sender<(usize, News)>,
    ) -> std::io::Result<()> {
        let Some(inbox) = self.inbox.take() else {
            return Ok(());
        };
        let (sink, feed) = recording::channel(self.number as u16, detections);
        feeds.push(feed);
        let listener = Listener {
            number: self.number,
            name: self.name.clone(),
            inbox,
            sink,
            notes,
            news,
        };
        self.reader = Some(named(&self.name).spawn(move || listener.run())?);
        Ok(())
    }

    /// Gives it an order; one that is dead says so to its listener.
    pub(super) fn order(&mut self, order: &Order) {
        match serde_json::to_string(order) {
            Ok(line) => {
                if let Err(error) = self.say(&line) {
                    log::debug!("tenant {}: its process accepts no commands: {error}", self.name);
                }
            }
            Err(error) => log::error!("tenant {}: a command cannot be sent to it: {error}", self.name),
        }
    }

    /// Ends it at once.
    pub(super) fn kill(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
    }

    /// How it ended, for one whose socket has closed: its status and its last lines.
    pub(super) fn last_words(&mut self) -> String {
        let ended = match self.wait(ENDS_WITHIN) {
            Some(Ok(status)) => status.to_string(),
            Some(Err(error)) => format!("its exit status is unknown: {error}"),
            None => {
                self.kill();
                let _ = self.process.wait();
                "it closed its socket but did not end, and was killed".to_owned()
            }
        };
        let begin = Instant::now();
        while !self.relay.is_finished() && begin.elapsed() < LINES_WITHIN {
            std::thread::sleep(Duration::from_millis(5));
        }
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        match lines.is_empty() {
            true => format!("{ended}, without output"),
            false => format!("{ended}; its last output: {}", lines.join(" / ")),
        }
    }

    fn wait(&mut self, within: Duration) -> Option<std::io::Result<std::process::ExitStatus>> {
        let begin = Instant::now();
        loop {
            match self.process.try_wait() {
                Ok(Some(status)) => return Some(Ok(status)),
                Ok(None) if begin.elapsed() < within => std::thread::sleep(Duration::from_millis(5)),
                Ok(None) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Lets it end after its last phase; whether it did so by itself and as it should.
    pub(super) fn finish(&mut self, within: Duration) -> Result<(), BadEnd> {
        // The end of its orders; it is an error only where it is gone.
        let _ = self.orders.shutdown(Shutdown::Write);
        let ended = match self.wait(within) {
            Some(Ok(status)) if status.success() => Ok(()),
            Some(Ok(_)) => Err(BadEnd::Failed {
                last_words: self.last_words(),
            }),
            Some(Err(error)) => Err(error.into()),
            None => {
                self.kill();
                let _ = self.process.wait();
                Err(BadEnd::Killed { within })
            }
        };
        if let Some(reader) = self.reader.take() {
            // Its socket is closed, so the reader has come to the end.
            let _ = reader.join();
        }
        ended
    }
}

impl Drop for TenantProcess {
    fn drop(&mut self) {
        // Nothing to do for one that ended; a run that fails half-way leaves no process behind.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What `-v` asked for, for a process of ours.
fn verbosity() -> Option<&'static str> {
    match log::max_level() {
        level if level >= log::LevelFilter::Debug => Some("-vv"),
        log::LevelFilter::Info => Some("-v"),
        _ => None,
    }
}

/// Says a process's lines with its tenant's name, and keeps the last.
fn relay(name: &str, printed: PipeReader, kept: &Mutex<VecDeque<String>>) {
    let own = format!("tenant {name}: ");
    let mut reader = BufReader::new(printed);
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes).is_ok_and(|read| read > 0) {
        let line = String::from_utf8_lossy(&bytes).trim_end().to_owned();
        bytes.clear();
        if line.is_empty() {
            continue;
        }
        // Lines of the log name the tenant already.
        match line.contains(&own) {
            true => say(&line),
            false => say(&format!("{own}{line}")),
        }
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == LAST_LINES {
            kept.pop_front();
        }
        kept.push_back(line);
    }
}

/// Passes on what one process says, on a thread of its own.
struct Listener {
    number: usize,
    name: String,
    inbox: Inbox<UnixStream>,
    sink: RecordSink,
    notes: Sender<Event>,
    news: Sender<(usize, News)>,
}

impl Listener {
    fn run(mut self) {
        let end = loop {
            match self.inbox.receive() {
                Ok(Some(message)) => self.take(message),
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        // What was cut off may have been a record of its last moment.
        let lost = self.sink.take_lost() + u64::from(matches!(end, Some(WireError::Cut)));
        let problem = end.filter(|end| !matches!(end, WireError::Cut));
        self.tell(News::Gone { lost, problem });
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Event(Event::Frame(record)) => self.sink.frame(record),
            Message::Event(Event::Detections(found)) => self.sink.pass_on(&found),
            Message::Event(Event::Phase(mut record)) => {
                record.lost_records += self.sink.take_lost();
                let lists = self.sink.take_lost_detections();
                if lists > 0 {
                    let _ = self
                        .notes
                        .send(Event::Finding(Mishap::LostDetections { lists }.of(&self.name)));
                }
                self.tell(News::Ended(record));
            }
            // The recorder may have stopped already, after an error that the run tells.
            Message::Event(event) => drop(self.notes.send(event)),
            Message::Text(text) => log::warn!("tenant {}: {text}", self.name),
        }
    }

    fn tell(&self, news: News) {
        // The run may be over.
        let _ = self.news.send((self.number, news));
    }
}
