//! The folder of a sweep: its lock, its journal, its runs and its table.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use jetlag_sweep::difference::Difference;
use jetlag_sweep::journal::{Entry, Header, Journal, JournalError, JournalFile};
use jetlag_sweep::table::{Table, write_csv};
use jetlag_sweep::{Point, write_page};
use rustix::fs::{FlockOperation, flock};

use crate::commands::outcome::WrongUse;
use crate::commands::output::say;
use crate::files;
use crate::units::Bytes;
use crate::whole::{self, Unfinished};

/// The journal's name in the folder.
pub(in crate::commands) const JOURNAL: &str = "journal.jsonl";
const LOCK: &str = "lock";
/// The table's name in the folder.
pub(super) const TABLE: &str = "table.csv";

/// A folder that is held: nobody else runs in it.
pub(super) struct Folder {
    path: PathBuf,
    pub(super) journal: JournalFile,
    /// What was there when it was opened.
    pub(super) begun: Journal,
    /// Held for as long as this is; the kernel lets go of it however this process ends.
    _lock: File,
}

impl Folder {
    /// Makes the folder, or opens one in which the same sweep was begun.
    pub(super) fn open(
        path: &Path,
        header: &Header,
        points: &[Point],
        extend: bool,
    ) -> anyhow::Result<Folder> {
        let lock = hold(path)?;
        let (mut journal, begun) = JournalFile::open(&path.join(JOURNAL))?;
        if let Some(damaged) = damaged(path, &begun) {
            say(&format!("{damaged}; their runs are made again"));
        }
        match &begun.header {
            // Whose runs those are is not known.
            None if !begun.runs.is_empty() => return Err(headless(path).into()),
            None => journal.append(&Entry::Sweep(header.clone()))?,
            Some(before) => {
                let place = path.display().to_string();
                if let Some(difference) = go_on(&place, before, (header, points), extend)? {
                    say(&format!("going on with a changed sweep: {difference}"));
                    journal.append(&Entry::Sweep(header.clone()))?;
                }
            }
        }
        Ok(Folder {
            path: path.to_owned(),
            journal,
            begun,
            _lock: lock,
        })
    }

    /// Where the run of a point goes, relative to the folder.
    pub(super) fn file_of(point: &str, repeat: u32) -> String {
        format!("runs/{point}-{}.mcap", repeat + 1)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What is on disk by now.
    pub(super) fn read(path: &Path) -> anyhow::Result<(Header, Journal)> {
        let file = path.join(JOURNAL);
        if !file.exists() {
            let said = format!(
                "{} holds no sweep: there is no {JOURNAL} in it; a sweep's folder is what its -o named",
                path.display()
            );
            return Err(WrongUse(said).into());
        }
        let journal = JournalFile::read(&file).map_err(|error| match error {
            JournalError::Foreign { .. } => anyhow::Error::from(WrongUse::because(error)),
            _ => error.into(),
        })?;
        match journal.header.clone() {
            Some(header) => Ok((header, journal)),
            None if !journal.runs.is_empty() => Err(headless(path).into()),
            None => Err(WrongUse(format!(
                "{} has no whole line; the sweep had not begun",
                file.display()
            ))
            .into()),
        }
    }
}

/// Which lines of a journal are damaged; none where all are whole.
pub(super) fn damaged(folder: &Path, journal: &Journal) -> Option<String> {
    const TOLD: usize = 20;
    let lines: Vec<String> = journal.damaged.iter().take(TOLD).map(u64::to_string).collect();
    let more = match journal.damaged.len().saturating_sub(TOLD) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let said = || {
        format!(
            "{} has damaged lines ({}{more})",
            folder.join(JOURNAL).display(),
            lines.join(", ")
        )
    };
    (!lines.is_empty()).then(said)
}

fn headless(folder: &Path) -> WrongUse {
    WrongUse(format!(
        "{} has finished runs, but the line that says of which sweep is damaged: bring it back from a copy, or name another folder with -o",
        folder.join(JOURNAL).display()
    ))
}

/// What the sweep of a folder was begun with; none where there is none.
pub(in crate::commands) fn begun(path: &Path) -> Option<Header> {
    Folder::read(path).ok().map(|(header, _)| header)
}

/// Whether a sweep goes on at the place where `begun` was, and with what difference; none where nothing differs.
///
/// # Errors
/// Its runs are not of this sweep, or it was not asked to extend what is there.
pub(in crate::commands) fn go_on(
    place: &str,
    begun: &Header,
    (asked, points): (&Header, &[Point]),
    extend: bool,
) -> Result<Option<Difference>, WrongUse> {
    // A search has no points but those that it tries.
    let earlier = match begun.knee {
        Some(_) => Vec::new(),
        None => begun.plan.points().unwrap_or_default(),
    };
    let difference = Difference::between(begun, &earlier, asked, points);
    if difference.is_none() {
        return Ok(None);
    }
    if extend && difference.keeps_runs() {
        return Ok(Some(difference));
    }
    let advice = match difference.keeps_runs() {
        true => "--extend goes on, and points of both keep their runs; or name another folder with -o",
        false => {
            "what was run there cannot be used again: name another folder with -o, or restore what has changed"
        }
    };
    Err(WrongUse(format!(
        "{place} was begun with another sweep:\n       {difference}\n       {advice}"
    )))
}

/// Makes the folder of a sweep, and holds it for as long as the file is open; one with anything but a sweep in it is refused.
pub(in crate::commands) fn hold(path: &Path) -> anyhow::Result<File> {
    let make = |folder: &Path| {
        std::fs::create_dir_all(folder).map_err(|error| {
            WrongUse(format!(
                "cannot make the folder {}: {error}; name a writable one with -o",
                path.display()
            ))
        })
    };
    make(path)?;
    refuse_others(path)?;
    let runs = path.join("runs");
    if runs.is_symlink() {
        return Err(WrongUse(format!(
            "{} is a link, and nothing is written through links; name another folder with -o",
            runs.display()
        ))
        .into());
    }
    make(&runs)?;
    lock(path)
}

fn lock(path: &Path) -> anyhow::Result<File> {
    let name = path.join(LOCK);
    let mut file = whole::shared(&name).with_context(|| format!("cannot write {}", name.display()))?;
    if let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
        if error != rustix::io::Errno::WOULDBLOCK {
            return Err(error).with_context(|| format!("cannot lock {}", name.display()));
        }
        let mut pid = String::new();
        let _ = (&mut file).take(32).read_to_string(&mut pid);
        let who = match pid.trim().parse::<u32>() {
            Ok(pid) => format!(" (process {pid})"),
            Err(_) => String::new(),
        };
        return Err(WrongUse(format!(
            "another sweep{who} runs in {}; wait for its end, or name another folder with -o",
            path.display()
        ))
        .into());
    }
    file.set_len(0)
        .and_then(|()| writeln!(file, "{}", std::process::id()))
        .with_context(|| format!("cannot write {}", name.display()))?;
    Ok(file)
}

/// Whether this is a lock that a sweep made, or nothing: it holds the number of a process.
fn is_lock(path: &Path) -> bool {
    if path.symlink_metadata().is_err() {
        return true;
    }
    let is_number = |text: String| text.trim_end().bytes().all(|byte| byte.is_ascii_digit());
    !path.is_symlink() && files::read_text(path, Bytes(32)).is_ok_and(is_number)
}

/// A folder with anything but a sweep in it is somebody's, and nothing in it is changed.
fn refuse_others(path: &Path) -> anyhow::Result<()> {
    let lock = path.join(LOCK);
    if !is_lock(&lock) {
        return Err(WrongUse(format!(
            "{} is no sweep's lock; name another folder with -o",
            lock.display()
        ))
        .into());
    }
    let journal = path.join(JOURNAL);
    if journal.symlink_metadata().is_ok() {
        JournalFile::read(&journal).map_err(WrongUse::because)?;
        return Ok(());
    }
    for entry in std::fs::read_dir(path)? {
        let name = entry?.file_name();
        if name != LOCK && name != "runs" {
            return Err(WrongUse(format!(
                "the folder {} holds {}, and no sweep; name an empty one with -o",
                path.display(),
                name.to_string_lossy()
            ))
            .into());
        }
    }
    Ok(())
}

/// Writes the table and its page into its folder, each whole or not at all.
pub(super) fn write_table(folder: &Path, table: &Table) -> anyhow::Result<PathBuf> {
    let path = folder.join(TABLE);
    replace(&path, |out| write_csv(table, out))?;
    replace(&folder.join("index.html"), |out| write_page(table, out))?;
    #[cfg(feature = "parquet")]
    replace(&folder.join("table.parquet"), |out| {
        jetlag_sweep::table::write_parquet(table, out)
    })?;
    Ok(path)
}

fn replace(
    path: &Path,
    write: impl FnOnce(&mut std::io::BufWriter<File>) -> std::io::Result<()>,
) -> anyhow::Result<()> {
    Unfinished::with(path, write)
        .and_then(|written| written.rename(path))
        .with_context(|| format!("cannot write {}", path.display()))
}
