//! Brings the results of a sweep from the board: its journal, its table and page, and its run files. What is here already is not
//! sent again, and a file that broke off goes on where it ended.
//!
//! A file is taken for equal by its length and time of change, which it keeps here. The journal only grows: where what lies here is
//! not the beginning of the board's, it is another sweep's, and nothing is touched. The board may be anybody's: only the files of a
//! sweep are taken, under the names that they have, and no more of them than was agreed on.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::DeployError;
use super::copy::{Facts, entry};
use super::receive::receive;
use super::ssh::Host;
use super::unpack::UnpackError;
use crate::units::Bytes;
use crate::whole;

const JOURNAL: &str = "journal.jsonl";
/// What lies beside the run files; the lock stays where it is.
const BESIDE: [&str; 4] = [JOURNAL, "table.csv", "table.parquet", "index.html"];
/// Files of one call, so that its words fit into a command line.
const AT_ONCE: usize = 200;
/// The longest line before a file.
const LINE: u64 = 128;
const PART: &str = ".part";

/// What a fetch has brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// Files that were sent, or the rest of them.
    pub files: usize,
    /// What was sent of them.
    pub bytes: Bytes,
    /// Files that were here already.
    pub kept: usize,
}

/// The line of the journal of a sweep that says what it is; none where it has not begun.
///
/// # Errors
/// A connection that was lost.
pub fn begun(host: &Host, folder: &str, sweep: &str) -> Result<Option<Vec<u8>>, DeployError> {
    let line = host.ask("asking what the sweep is", &["begun", folder, sweep])?;
    let line = line.trim_ascii_end();
    Ok((!line.is_empty()).then(|| line.to_vec()))
}

/// Brings the results of a sweep into the folder `out`, which has a folder `runs`; none where it left none. Hold the lock of `out`.
///
/// # Errors
/// A connection that was lost, a disk here that is full, more than `at_most`, or a folder with another sweep in it.
pub fn fetch(
    host: &Host,
    folder: &str,
    sweep: &str,
    out: &Path,
    at_most: Bytes,
) -> Result<Option<Fetched>, DeployError> {
    let listing = host.ask("listing the results", &["results", folder, sweep])?;
    let there: BTreeMap<String, Facts> = String::from_utf8_lossy(&listing)
        .split('\0')
        .filter_map(entry)
        .filter(|(name, facts)| is_result(name) && facts.changed_s >= 0)
        .collect();
    if !there.contains_key(JOURNAL) {
        return Ok(None);
    }
    let mut jobs: Vec<Job> = there
        .iter()
        .filter(|(name, facts)| !is_here(&out.join(name), facts))
        .map(|(name, facts)| Job::new(out, name, *facts))
        .collect();
    remove_left(out, &jobs);
    let kept = there.len() - jobs.len();
    // The board states the sizes: a sum that does not fit is too much as well.
    let Some(bytes) = together(&jobs).filter(|bytes| *bytes <= at_most.0) else {
        return Err(DeployError::Refused {
            host: host.name().to_owned(),
            why: UnpackError::TooMuch(at_most).to_string(),
        });
    };
    let fetched = Fetched {
        files: jobs.len(),
        bytes: Bytes(bytes),
        kept,
    };
    let mut left = at_most;
    // The journal first, and alone: it tells whose results lie here.
    if let Some(place) = jobs.iter().position(|job| job.name == JOURNAL) {
        let journal = jobs.remove(place);
        send(host, folder, sweep, std::slice::from_ref(&journal), &mut left)?;
        if !goes_on(&journal.to, &journal.part).map_err(|error| not_read(&journal.to, &error))? {
            let _ = fs::remove_file(&journal.part);
            return Err(DeployError::File {
                path: out.display().to_string(),
                problem: "holds another sweep than the board's, and nothing of it was touched; name another folder with --out"
                    .to_owned(),
            });
        }
        fs::rename(&journal.part, &journal.to).map_err(|error| not_read(&journal.to, &error))?;
    }
    for some in jobs.chunks(AT_ONCE) {
        send(host, folder, sweep, some, &mut left)?;
    }
    Ok(Some(fetched))
}

/// A file that is to be brought.
#[derive(Clone, Debug)]
struct Job {
    name: String,
    facts: Facts,
    /// Where it goes.
    to: PathBuf,
    /// Where it is gathered; its name tells of which state of the file.
    part: PathBuf,
    /// What of it is here.
    offset: u64,
}

impl Job {
    fn new(out: &Path, name: &str, facts: Facts) -> Job {
        let flat = name.rsplit('/').next().unwrap_or(name);
        let Facts {
            bytes,
            changed_s,
            nanos,
        } = facts;
        let part = out.join(format!("runs/.{flat}.{bytes}-{changed_s}-{nanos}{PART}"));
        let here = fs::symlink_metadata(&part).ok().filter(fs::Metadata::is_file);
        Job {
            name: name.to_owned(),
            facts,
            to: out.join(name),
            offset: here.map_or(0, |here| here.len()).min(bytes),
            part,
        }
    }
}

/// What is still to be sent of some files; none where it is more than can be counted.
fn together(jobs: &[Job]) -> Option<u64> {
    jobs.iter()
        .map(|job| job.facts.bytes - job.offset)
        .try_fold(0, u64::checked_add)
}

/// Brings some files, and takes what they are from `left`: what was agreed on is for all calls together.
fn send(host: &Host, folder: &str, sweep: &str, jobs: &[Job], left: &mut Bytes) -> Result<(), DeployError> {
    let at_most = *left;
    left.0 = left.0.saturating_sub(together(jobs).unwrap_or(u64::MAX));
    let offsets: Vec<String> = jobs.iter().map(|job| job.offset.to_string()).collect();
    let mut words = vec!["send", folder, sweep];
    words.extend(
        jobs.iter()
            .zip(&offsets)
            .flat_map(|(job, offset)| [offset, job.name.as_str()]),
    );
    let call = host.script(&words, Stdio::piped())?;
    let jobs = jobs.to_vec();
    receive(call, "sending the results", at_most, move |sent| {
        let mut sent = BufReader::new(sent);
        jobs.iter().try_for_each(|job| {
            take(&mut sent, job)?;
            // The journal is looked at first.
            match job.name == JOURNAL {
                true => Ok(()),
                false => fs::rename(&job.part, &job.to).map_err(|error| UnpackError::Here {
                    path: job.to.clone(),
                    error,
                }),
            }
        })
    })
}

/// Takes a file, or the rest of it.
fn take(sent: &mut impl BufRead, job: &Job) -> Result<(), UnpackError> {
    let mut line = Vec::new();
    sent.take(LINE)
        .read_until(b'\n', &mut line)
        .map_err(UnpackError::NoArchive)?;
    if line.is_empty() {
        return Err(UnpackError::Cut);
    }
    let line = String::from_utf8_lossy(&line);
    let facts = entry(&format!("{} -", line.trim_end())).map(|(_, facts)| facts);
    if facts != Some(job.facts) {
        return Err(UnpackError::Changed {
            name: job.name.clone(),
        });
    }
    let here = |error| UnpackError::Here {
        path: job.part.clone(),
        error,
    };
    let mut file = whole::shared(&job.part).map_err(here)?;
    file.set_len(job.offset).map_err(here)?;
    file.seek(SeekFrom::End(0)).map_err(here)?;
    let mut left = job.facts.bytes - job.offset;
    let mut buffer = vec![0; 1 << 16];
    while left > 0 {
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let got = sent.read(&mut buffer[..most]).map_err(UnpackError::NoArchive)?;
        if got == 0 {
            return Err(UnpackError::Cut);
        }
        file.write_all(&buffer[..got]).map_err(here)?;
        left -= got as u64;
    }
    file.set_modified(changed(&job.facts)).map_err(here)
}

fn changed(facts: &Facts) -> SystemTime {
    let seconds = Duration::from_secs(u64::try_from(facts.changed_s).unwrap_or(0));
    UNIX_EPOCH + seconds + Duration::from_nanos(facts.nanos.into())
}

/// Whether a file has arrived as it is there.
fn is_here(path: &Path, facts: &Facts) -> bool {
    fs::symlink_metadata(path).is_ok_and(|here| {
        here.is_file()
            && here.len() == facts.bytes
            && here.modified().is_ok_and(|modified| modified == changed(facts))
    })
}

/// Whether a name is of a file that a sweep leaves.
fn is_result(name: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    BESIDE.contains(&name)
        || name
            .strip_prefix("runs/")
            .and_then(|name| name.strip_suffix(".mcap"))
            .is_some_and(|stem| {
                !stem.is_empty() && stem.len() < 200 && !stem.starts_with('.') && stem.chars().all(legal)
            })
}

/// Removes what earlier fetches left of files that are no more as they were then.
fn remove_left(out: &Path, jobs: &[Job]) {
    let wanted: BTreeSet<&Path> = jobs.iter().map(|job| job.part.as_path()).collect();
    let is_part = |name: &str| {
        let stamp = name
            .strip_prefix('.')
            .and_then(|name| name.strip_suffix(PART)?.rsplit_once('.'));
        stamp.is_some_and(|(_, stamp)| {
            stamp.split('-').count() == 3 && stamp.chars().all(|c| c.is_ascii_digit() || c == '-')
        })
    };
    for entry in fs::read_dir(out.join("runs")).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_name().to_str().is_some_and(is_part) && !wanted.contains(path.as_path()) {
            let _ = fs::remove_file(path);
        }
    }
}

/// Whether a journal is the beginning of a longer one, but for half a line at its end; one that is not there is.
fn goes_on(journal: &Path, longer: &Path) -> io::Result<bool> {
    let mut before = match File::open(journal) {
        Ok(file) => BufReader::new(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    };
    let mut now = BufReader::new(File::open(longer)?);
    loop {
        let (a, b) = (before.fill_buf()?, now.fill_buf()?);
        let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        let differs = same < a.len() && (same < b.len() || b.is_empty());
        if a.is_empty() {
            return Ok(true);
        }
        before.consume(same);
        now.consume(same);
        if differs {
            break;
        }
    }
    // What differs may be a line that a sudden end cut off.
    loop {
        let rest = before.fill_buf()?;
        if rest.is_empty() {
            return Ok(true);
        }
        if rest.contains(&b'\n') {
            return Ok(false);
        }
        let length = rest.len();
        before.consume(length);
    }
}

fn not_read(path: &Path, error: &io::Error) -> DeployError {
    DeployError::File {
        path: path.display().to_string(),
        problem: format!("cannot be read or replaced: {error}; name another folder with --out"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_sweep_s_own_files_are_taken() {
        for (name, wanted) in [
            ("journal.jsonl", true),
            ("runs/0a1b-1.mcap", true),
            ("lock", false),
            ("runs/../../x.mcap", false),
            ("runs/.x.mcap", false),
            ("../table.csv", false),
            ("runs/a/b.mcap", false),
            ("runs/a.failure", false),
        ] {
            assert_eq!(is_result(name), wanted, "{name}");
        }
    }

    #[test]
    fn a_journal_goes_on_from_its_whole_lines_alone() {
        let folder = tempfile::tempdir().unwrap();
        let [before, now] = ["a", "b"].map(|name| folder.path().join(name));
        let long = "x".repeat(20_000);
        let of = |text: &str| format!("{long}\n{text}");
        for (old, new, wanted) in [
            (of("one\n"), of("one\ntwo\n"), true),
            (of("one\ntw"), of("one\nthree\n"), true),
            (of("one\ntwo"), of("one\n"), true),
            (of("one\n"), of("one\n"), true),
            (of("one\ntwo\n"), of("one\n"), false),
            (of("one\n"), of("eins\ntwo\n"), false),
            (String::new(), of(""), true),
        ] {
            fs::write(&before, &old).unwrap();
            fs::write(&now, &new).unwrap();
            let (old, new) = (old.trim_start_matches('x'), new.trim_start_matches('x'));
            assert_eq!(goes_on(&before, &now).unwrap(), wanted, "{old:?} {new:?}");
        }
        assert!(goes_on(&folder.path().join("none"), &now).unwrap());
    }

    #[test]
    fn a_file_that_broke_off_goes_on_and_keeps_its_time() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("runs")).unwrap();
        let facts = Facts {
            bytes: 10,
            changed_s: 1_763_737_308,
            nanos: 5,
        };
        let head = "1763737308.0000000050 10\n";
        let job = |name: &str| Job::new(folder.path(), name, facts);
        let broken = take(&mut format!("{head}0123").as_bytes(), &job("runs/a.mcap"));
        assert!(matches!(broken, Err(UnpackError::Cut)), "{broken:?}");
        let rest = job("runs/a.mcap");
        assert_eq!(rest.offset, 4);
        let other = take(&mut "1763737309.0 10\n456789".as_bytes(), &rest);
        assert!(matches!(other, Err(UnpackError::Changed { .. })), "{other:?}");
        take(&mut format!("{head}456789more").as_bytes(), &rest).unwrap();
        assert_eq!(fs::read_to_string(&rest.part).unwrap(), "0123456789");
        fs::rename(&rest.part, &rest.to).unwrap();
        assert!(is_here(&rest.to, &facts));
        // Of another state of the file, nothing is gone on with.
        fs::write(job("runs/b.mcap").part, "01").unwrap();
        remove_left(folder.path(), &[]);
        assert_eq!(fs::read_dir(folder.path().join("runs")).unwrap().count(), 1);
    }
}
