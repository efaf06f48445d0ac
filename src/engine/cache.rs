//! The plan cache: plans by what they were made from, so that an engine is built once.
//!
//! An entry is `<key>.plan` with its manifest `<key>.plan.json`. Both are written under another name and renamed, the
//! manifest last, so a reader sees a whole entry or none. A lock file a key lets one builder build while others
//! wait for its result. A plan whose content no longer matches its manifest is removed and built again.

mod key;
mod whole;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::manifest::{self, ManifestError, PlanManifest};
use crate::files;
use key::KEY_DIGITS;
pub use key::PlanKey;
pub use whole::write_plan;

/// A file that is written is renamed within moments; what is older was left by a builder that was cut off.
const UNFINISHED: std::time::Duration = std::time::Duration::from_secs(60);
/// Between two looks whether a lock is free.
const LOOK: std::time::Duration = std::time::Duration::from_millis(50);

/// Whether an open file is the one that a path leads to.
fn is_file_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (open, there) = (file.metadata(), fs::metadata(path));
    matches!((open, there), (Ok(open), Ok(there)) if (open.dev(), open.ino()) == (there.dev(), there.ino()))
}

/// A folder of plans.
#[derive(Clone, Debug)]
pub struct PlanCache {
    folder: PathBuf,
}

/// Why the cache could not be used.
#[derive(Debug, thiserror::Error)]
#[error("the plan cache {folder}: cannot {action} {file}: {error}; name another folder with --cache")]
pub struct CacheError {
    folder: String,
    action: &'static str,
    file: String,
    error: io::Error,
}

impl CacheError {
    /// Whether waiting for another process was given up.
    pub fn is_interrupted(&self) -> bool {
        self.error.kind() == io::ErrorKind::Interrupted
    }
}

/// What the cache holds under a key.
#[derive(Debug)]
pub struct CachedPlan {
    /// The path of the plan.
    pub path: PathBuf,
    /// How it was made.
    pub manifest: PlanManifest,
}

/// One entry of a listing.
#[derive(Debug)]
pub struct Listed {
    /// The path of the plan.
    pub path: PathBuf,
    /// Its length on disk.
    pub bytes: u64,
    /// How it was made, or why that is not known.
    pub manifest: Result<PlanManifest, ManifestError>,
}

/// A lock on one key; others wait until it is dropped.
#[derive(Debug)]
pub struct BuildLock {
    _file: File,
}

/// Where plans are kept when no folder is given: `JETLAG_CACHE`, else the user's cache folder.
pub fn default_folder() -> PathBuf {
    let variable = |name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    variable("JETLAG_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|cache| cache.join("jetlag/plans")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache/jetlag/plans")))
        .unwrap_or_else(|| PathBuf::from("engines/cache"))
}

impl PlanCache {
    /// A cache in a folder, which is made when something is stored.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The folder that the plans lie in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn failed(&self, action: &'static str, file: &Path) -> impl FnOnce(io::Error) -> CacheError {
        let (folder, file) = (self.folder.display().to_string(), file.display().to_string());
        move |error| CacheError {
            folder,
            action,
            file,
            error,
        }
    }

    fn plan(&self, key: &PlanKey) -> PathBuf {
        self.folder.join(format!("{}.plan", key.as_str()))
    }

    /// Waits until no other process builds for this key, as long as `goes_on` says so. Hold it around [`Self::find`]
    /// and [`Self::store`].
    ///
    /// # Errors
    /// The folder or the lock file cannot be made, or waiting was given up.
    pub fn lock(&self, key: &PlanKey, goes_on: impl Fn() -> bool) -> Result<BuildLock, CacheError> {
        fs::create_dir_all(&self.folder).map_err(self.failed("make", &self.folder))?;
        let path = self.folder.join(format!("{}.lock", key.as_str()));
        let mut told = false;
        loop {
            let file = crate::whole::shared(&path).map_err(self.failed("open", &path))?;
            // Someone who cleans up may have removed the file between opening and locking it.
            if file.try_lock().is_ok() {
                if is_file_at(&file, &path) {
                    return Ok(BuildLock { _file: file });
                }
                continue;
            }
            if !told {
                log::warn!("another process is building the same plan; waiting for it");
                told = true;
            }
            if !goes_on() {
                return Err(self.failed("wait for", &path)(io::ErrorKind::Interrupted.into()));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// The plan under a key, if there is a whole one. A damaged entry is removed, and said.
    pub fn find(&self, key: &PlanKey) -> Option<CachedPlan> {
        let path = self.plan(key);
        let manifest = match manifest::read(&path) {
            Ok(manifest) => manifest,
            Err(ManifestError::Absent { .. }) if !path.exists() => return None,
            Err(ManifestError::Absent { .. } | ManifestError::Damaged { .. }) => {
                self.remove_damaged(&path, "its manifest is missing or damaged");
                return None;
            }
            // Not ours to remove: another jetlag's, or one that just now cannot be read.
            Err(error) => {
                log::warn!("{error}");
                return None;
            }
        };
        let bytes = match files::read(&path, files::NETWORK) {
            Ok(bytes) => bytes,
            Err(error) => {
                log::warn!("the cached plan {} cannot be read: {error}", path.display());
                return None;
            }
        };
        if blake3::hash(&bytes).to_hex().as_str() == manifest.plan_blake3 {
            return Some(CachedPlan { path, manifest });
        }
        self.remove_damaged(&path, "it does not match its manifest");
        None
    }

    fn remove_damaged(&self, path: &Path, problem: &str) {
        log::warn!(
            "the cached plan {} is damaged ({problem}) and is built again",
            path.display()
        );
        let _ = fs::remove_file(manifest::path_of(path));
        let _ = fs::remove_file(path);
    }

    /// Stores a plan.
    ///
    /// # Errors
    /// The disk is full or not writable; nothing half-written stays.
    pub fn store(
        &self,
        key: &PlanKey,
        plan: &[u8],
        manifest: &PlanManifest,
    ) -> Result<CachedPlan, CacheError> {
        fs::create_dir_all(&self.folder).map_err(self.failed("make", &self.folder))?;
        let path = self.plan(key);
        write_plan(&path, plan, manifest).map_err(self.failed("write", &path))?;
        Ok(CachedPlan {
            path,
            manifest: manifest.clone(),
        })
    }

    /// All entries, newest first.
    ///
    /// # Errors
    /// The folder is there and cannot be read.
    pub fn list(&self) -> Result<Vec<Listed>, CacheError> {
        let mut listed: Vec<(Option<std::time::SystemTime>, Listed)> = self
            .files()?
            .into_iter()
            .filter(|path| path.extension().is_some_and(|extension| extension == "plan"))
            .map(|path| {
                let metadata = fs::metadata(&path).ok();
                let manifest = manifest::read(&path);
                let bytes = metadata.as_ref().map_or(0, fs::Metadata::len);
                (
                    metadata.and_then(|metadata| metadata.modified().ok()),
                    Listed {
                        path,
                        bytes,
                        manifest,
                    },
                )
            })
            .collect();
        listed.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.path.cmp(&b.1.path)));
        Ok(listed.into_iter().map(|(_, entry)| entry).collect())
    }

    /// How long the newest plan of a network took to build here, with whatever options; none if there is none.
    pub fn last_build_seconds(&self, network_blake3: &str) -> Option<f64> {
        let listed = self.list().ok()?;
        let of_network = |entry: Listed| {
            let manifest = entry.manifest.ok()?;
            (manifest.network.blake3 == network_blake3).then_some(manifest.build_seconds)
        };
        listed.into_iter().find_map(of_network)
    }

    /// Removes all entries that `unwanted` picks, and what builds that were cut off left behind; answers how many
    /// entries and bytes went. Files that are not the cache's stay.
    ///
    /// # Errors
    /// An entry cannot be removed.
    pub fn clean(&self, unwanted: impl Fn(&Listed) -> bool) -> Result<(usize, u64), CacheError> {
        let (mut count, mut bytes) = (0, 0);
        for entry in self.list()?.into_iter().filter(unwanted) {
            // Under its lock, so that no builder finds half of it.
            let key = entry
                .path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let _lock = self.lock(&PlanKey(key), || true)?;
            let _ = fs::remove_file(manifest::path_of(&entry.path));
            fs::remove_file(&entry.path).map_err(self.failed("remove", &entry.path))?;
            count += 1;
            bytes += entry.bytes;
        }
        for path in self.files()? {
            let is_old = || {
                let modified = fs::metadata(&path).and_then(|metadata| metadata.modified());
                modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > UNFINISHED))
            };
            let is_free = || File::open(&path).is_ok_and(|file| file.try_lock().is_ok());
            let left_behind = match path.extension().and_then(|extension| extension.to_str()) {
                Some("unfinished") => is_old(),
                Some("lock") => is_free(),
                _ => false,
            };
            if left_behind {
                let _ = fs::remove_file(path);
            }
        }
        Ok((count, bytes))
    }

    /// Removes kernel timings and INT8 calibrations; answers how many bytes went.
    ///
    /// # Errors
    /// The folder is there and cannot be read.
    pub fn forget_measurements(&self) -> Result<u64, CacheError> {
        let entries = fs::read_dir(&self.folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path());
        let kept = entries.filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "timing" || extension == "calibration")
        });
        let mut bytes = 0;
        for path in kept {
            let length = fs::metadata(&path).map_or(0, |metadata| metadata.len());
            if fs::remove_file(path).is_ok() {
                bytes += length;
            }
        }
        Ok(bytes)
    }

    /// The cache's own files: their names begin with a key.
    fn files(&self) -> Result<Vec<PathBuf>, CacheError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.failed("read", &self.folder)(error)),
        };
        let is_ours = |path: &PathBuf| {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            name.split_once('.')
                .is_some_and(|(key, _)| key.len() == KEY_DIGITS && key.bytes().all(|b| b.is_ascii_hexdigit()))
        };
        Ok(entries
            .flatten()
            .map(|entry| entry.path())
            .filter(is_ours)
            .collect())
    }
}

#[cfg(test)]
mod tests;
