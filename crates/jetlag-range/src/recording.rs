//! A recording as the application sees it: its tenants, its tracks, its end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use rtrb::RingBuffer;

use super::tenant::Tenant;
use super::track::{Track, Troubles, now};
use super::writing::{Feed, Writing};
use jetlag_board::Roots;
use jetlag_record::writer::{RecordError, RunWriter};
use jetlag_record::{
    APPLICATION_BACKEND, ApplicationTenant, Device, Manifest, SCHEMA_MAJOR, SCHEMA_MINOR, Subject,
    TenantManifest,
};

/// Items that fit between two visits: six million a second.
const CAPACITY: usize = 1 << 16;

/// Why an application's ranges could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RangeError {
    /// The run file cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A recording without tenants.
    #[error("a recording needs at least one tenant, such as Tenant::new(\"camera\")")]
    NoTenants,
    /// Two tenants of one name, or more than the file can tell apart.
    #[error("the tenant `{name}` exists twice: give each its own name")]
    TwiceTheSame {
        /// The name that is taken.
        name: String,
    },
    /// A track of a tenant that the recording does not have.
    #[error("unknown tenant `{name}`; the recording has {known}")]
    UnknownTenant {
        /// What was asked for.
        name: String,
        /// The names that there are.
        known: String,
    },
    /// The thread that writes has ended.
    #[error("the thread that writes {} could not be started or has ended: {why}", path.display())]
    Thread {
        /// The path of the run file.
        path: PathBuf,
        /// What is known of it.
        why: String,
    },
}

/// A run file in the making. [`finish`](Recording::finish) it after the tracks are dropped; a recording that is only dropped
/// closes its file as well, and keeps to itself what went wrong.
pub struct Recording {
    path: PathBuf,
    tenants: Vec<(Tenant, Arc<AtomicU64>)>,
    feeds: Sender<Feed>,
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), RecordError>>>,
}

impl Recording {
    /// Creates the run file, or empties the one that is there, and starts the thread that writes it.
    pub fn create(path: &Path, name: &str, tenants: &[Tenant]) -> Result<Recording, RangeError> {
        if tenants.is_empty() {
            return Err(RangeError::NoTenants);
        }
        for (i, tenant) in tenants.iter().enumerate() {
            if tenants[..i].iter().any(|other| other.name == tenant.name) {
                let name = tenant.name.clone();
                return Err(RangeError::TwiceTheSame { name });
            }
        }
        let writer = RunWriter::create(path, &manifest(name, tenants))?;
        let (feeds, more) = channel();
        let done = Arc::new(AtomicBool::new(false));
        let writing = Writing::new(writer, more, tenants);
        let stop = done.clone();
        let thread = std::thread::Builder::new()
            .name("jetlag-ranges".to_owned())
            .spawn(move || writing.run(&stop))
            .map_err(|error| RangeError::Thread {
                path: path.to_owned(),
                why: error.to_string(),
            })?;
        let tenants = tenants.iter().cloned();
        Ok(Recording {
            path: path.to_owned(),
            tenants: tenants
                .map(|tenant| (tenant, Arc::new(AtomicU64::new(0))))
                .collect(),
            feeds,
            done,
            thread: Some(thread),
        })
    }

    /// A track for one thread that works for this tenant; each thread needs its own.
    pub fn track(&self, tenant: &str) -> Result<Track, RangeError> {
        let found = self.tenants.iter().position(|(known, _)| known.name == tenant);
        let Some(place) = found else {
            let names: Vec<&str> = self
                .tenants
                .iter()
                .map(|(known, _)| known.name.as_str())
                .collect();
            return Err(RangeError::UnknownTenant {
                name: tenant.to_owned(),
                known: names.join(", "),
            });
        };
        let (queue, feed) = RingBuffer::new(CAPACITY);
        let troubles = Arc::new(Troubles::default());
        let feed = Feed {
            tenant: place as u16,
            queue: feed,
            troubles: troubles.clone(),
        };
        self.feeds.send(feed).map_err(|_| RangeError::Thread {
            path: self.path.clone(),
            why: "an earlier write failed".to_owned(),
        })?;
        Ok(Track::new(queue, troubles, self.tenants[place].1.clone()))
    }

    /// Writes what is left and closes the file. What tracks that still live record from now on is not in it.
    pub fn finish(mut self) -> Result<PathBuf, RangeError> {
        let path = std::mem::take(&mut self.path);
        let Some(thread) = self.stop() else {
            return Ok(path);
        };
        match thread.join() {
            Ok(written) => Ok(written.map(|()| path)?),
            Err(_) => Err(RangeError::Thread {
                path,
                why: "it panicked; please report it".to_owned(),
            }),
        }
    }

    fn stop(&mut self) -> Option<JoinHandle<Result<(), RecordError>>> {
        let thread = self.thread.take()?;
        self.done.store(true, Ordering::Release);
        thread.thread().unpark();
        Some(thread)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if let Some(thread) = self.stop() {
            let _ = thread.join();
        }
    }
}

/// What is known of an application: its name, its tenants, and the machine's own words.
fn manifest(name: &str, tenants: &[Tenant]) -> Manifest {
    let unix = SystemTime::now().duration_since(UNIX_EPOCH);
    let subject = Subject::Name(name.to_owned());
    Manifest {
        schema_major: SCHEMA_MAJOR,
        schema_minor: SCHEMA_MINOR,
        jetlag_version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: jetlag_board::command_line(),
        subject,
        tenants: tenants
            .iter()
            .map(|tenant| TenantManifest {
                name: tenant.name.clone(),
                backend: APPLICATION_BACKEND.to_owned(),
                device: Some(Device::Host),
                detector: None,
                classes: Vec::new(),
                networks: Vec::new(),
                source: "ranges of an application".to_owned(),
                submission_may_wait: None,
                application: Some(ApplicationTenant {
                    hz: tenant.hz,
                    deadline: tenant.deadline,
                }),
                start_up: None,
                batch: None,
                memory: None,
                selection: None,
                record_outputs: None,
            })
            .collect(),
        machine: jetlag_board::facts(&Roots::system()),
        anchor: now(),
        anchor_unix_ns: unix.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)),
        unknown: Vec::new(),
    }
}
