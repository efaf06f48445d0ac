//! Moves what was brought of a run to its places, where nothing that lies there is replaced.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::super::DeployError;
use super::super::unpack::Unpacked;

/// Moves what was brought to its places: `NAME.mcap`, `NAME.log`, and `NAME.plans/` with the manifests. Nothing that lies there
/// is replaced: the name is the board's word, and somebody else may fetch the same run meanwhile.
pub(super) fn settle(name: &str, found: &Unpacked, out: &Path) -> Result<Brought, DeployError> {
    let put = |from: &Option<PathBuf>, suffix: &str| -> Result<Option<PathBuf>, DeployError> {
        let Some(from) = from else { return Ok(None) };
        let to = out.join(format!("{name}.{suffix}"));
        match place(from, &to)? {
            Placed::New | Placed::Same => Ok(Some(to)),
            Placed::Another => Err(DeployError::File {
                path: to.display().to_string(),
                problem: "already exists and differs from what the board sent; move it away, or name another folder with --out"
                    .to_owned(),
            }),
        }
    };
    Ok(Brought {
        run: put(&found.run, "mcap")?,
        log: put(&found.log, "log")?,
        manifests: match &found.manifests {
            Some(from) => Some(add_manifests(from, out.join(format!("{name}.plans")))?),
            None => None,
        },
    })
}

/// Adds the manifests to those that an earlier fetch has brought: the board's cache may have grown since. Each stays as it was.
fn add_manifests(from: &Path, folder: PathBuf) -> Result<Manifests, DeployError> {
    match fs::create_dir(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(not_written(&folder, &error));
        }
        // Neither through a link, nor over a file.
        Err(_) if !fs::symlink_metadata(&folder).is_ok_and(|there| there.is_dir()) => {
            return Err(DeployError::File {
                path: folder.display().to_string(),
                problem: "already exists and is not a folder; move it away, or name another with --out"
                    .to_owned(),
            });
        }
        _ => {}
    }
    let entries = fs::read_dir(from).map_err(|error| not_written(from, &error))?;
    let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names.sort();
    let mut manifests = Manifests {
        folder,
        new: 0,
        same: 0,
        others: Vec::new(),
    };
    for name in names {
        match place(&from.join(&name), &manifests.folder.join(&name))? {
            Placed::New => manifests.new += 1,
            Placed::Same => manifests.same += 1,
            Placed::Another => manifests.others.push(name.to_string_lossy().into_owned()),
        }
    }
    Ok(manifests)
}

pub(super) enum Placed {
    New,
    /// A file of the same content lies there.
    Same,
    /// Something else lies there, and stays.
    Another,
}

/// Moves a file to a place that is free.
pub(super) fn place(from: &Path, to: &Path) -> Result<Placed, DeployError> {
    match rename_new(from, to) {
        Ok(()) => Ok(Placed::New),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(match same(from, to) {
            true => Placed::Same,
            false => Placed::Another,
        }),
        Err(error) => Err(not_written(to, &error)),
    }
}

fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // A disk that does not know how: the place is taken by a new file, and then filled.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::OPNOTSUPP) => {
            let mut file = File::create_new(to)?;
            io::copy(&mut File::open(from)?, &mut file)
                .map(drop)
                .inspect_err(|_| drop(fs::remove_file(to)))
        }
        renamed => renamed.map_err(io::Error::from),
    }
}

pub(super) fn not_written(path: &Path, error: &io::Error) -> DeployError {
    DeployError::File {
        path: path.display().to_string(),
        problem: format!("cannot be written: {error}; name another folder with --out"),
    }
}

/// Whether two files are of the same content; no link is followed.
fn same(a: &Path, b: &Path) -> bool {
    let (Ok(of_a), Ok(of_b)) = (fs::symlink_metadata(a), fs::symlink_metadata(b)) else {
        return false;
    };
    of_a.is_file() && of_b.is_file() && of_a.len() == of_b.len() && same_bytes(a, b).unwrap_or(false)
}

fn same_bytes(a: &Path, b: &Path) -> io::Result<bool> {
    let (mut a, mut b) = (BufReader::new(File::open(a)?), BufReader::new(File::open(b)?));
    loop {
        let (of_a, of_b) = (a.fill_buf()?, b.fill_buf()?);
        let n = of_a.len().min(of_b.len());
        if n == 0 {
            return Ok(of_a.len() == of_b.len());
        }
        if of_a[..n] != of_b[..n] {
            return Ok(false);
        }
        a.consume(n);
        b.consume(n);
    }
}

/// What was brought back, and where it lies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Brought {
    /// The run file; none where the run failed before it had one.
    pub run: Option<PathBuf>,
    /// What the run said.
    pub log: Option<PathBuf>,
    /// The manifests of the plans that the board's cache holds; none where it holds none.
    pub manifests: Option<Manifests>,
}

/// Manifests of plans, and what a fetch did with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifests {
    /// The folder here that the fetched files lie in.
    pub folder: PathBuf,
    /// How many this fetch brought.
    pub new: usize,
    /// How many lay there already.
    pub same: usize,
    /// Those of the board that are not what lies there; what lies there stays.
    pub others: Vec<String>,
}
