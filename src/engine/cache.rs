//! The plan cache: plans by what they were made from, so that an engine is built once.
//!
//! An entry is `<key>.plan` with its manifest `<key>.plan.json`. Both are written under another name and renamed, the
//! manifest last, so a reader sees a whole entry or none. A lock file a key lets one builder build while others
//! wait for its result. A plan whose content no longer matches its manifest is removed and built again.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::manifest::{self, BuilderIdentity, ManifestError, PlanManifest, Target};
use super::options::BuildOptions;
use crate::files;

/// A file that is written is renamed within moments; what is older was left by a builder that was cut off.
const UNFINISHED: std::time::Duration = std::time::Duration::from_secs(60);
/// Hexadecimal digits of a key.
const KEY_DIGITS: usize = 32;
/// Between two looks whether a lock is free.
const LOOK: std::time::Duration = std::time::Duration::from_millis(50);
/// Raised when what a key covers changes.
const KEY_VERSION: u32 = 2;

/// What decides a plan's content, hashed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PlanKey(String);

impl PlanKey {
    /// The key of a network (its content's hash, weights in other files included), built with `options` by `builder`
    /// for `target`. Contents of plugin libraries count, not their paths alone.
    pub fn new(
        network_blake3: &str,
        options: &BuildOptions,
        builder: &BuilderIdentity,
        target: &Target,
    ) -> Self {
        #[derive(Serialize)]
        struct Content<'a> {
            version: u32,
            network: &'a str,
            options: &'a BuildOptions,
            builder: &'a BuilderIdentity,
            target: &'a Target,
            plugins: Vec<Option<String>>,
        }
        let hash = |path: &PathBuf| {
            files::read(path, files::NETWORK)
                .ok()
                .map(|bytes| blake3::hash(&bytes).to_hex().to_string())
        };
        let content = Content {
            version: KEY_VERSION,
            network: network_blake3,
            options,
            builder,
            target,
            plugins: options.plugins.iter().map(hash).collect(),
        };
        let json = serde_json::to_vec(&content).expect("numbers, texts and maps of texts are JSON");
        Self(blake3::hash(&json).to_hex()[..KEY_DIGITS].to_owned())
    }

    /// The key as text: 32 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

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
            let file = File::options()
                .create(true)
                .truncate(false)
                .write(true)
                .open(&path)
                .map_err(self.failed("open", &path))?;
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

/// Writes a plan and its manifest beside it: both whole, or neither, and then what was there before stays.
///
/// # Errors
/// What the system says.
pub fn write_plan(path: &Path, plan: &[u8], manifest: &PlanManifest) -> io::Result<()> {
    let json = serde_json::to_vec_pretty(manifest).map_err(io::Error::other)?;
    let beside = manifest::path_of(path);
    let (plan, json) = (Unfinished::write(path, plan)?, Unfinished::write(&beside, &json)?);
    // An older manifest must not describe the new plan, not even for a moment.
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    plan.rename(path)?;
    json.rename(&beside).inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}

/// Writes a file under another name, forces it to the disk, and renames it.
///
/// # Errors
/// What the system says.
pub fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    Unfinished::write(path, content)?.rename(path)
}

/// A file that is whole on the disk and not yet under its name; removed if it never gets it.
struct Unfinished(PathBuf);

impl Unfinished {
    fn write(path: &Path, content: &[u8]) -> io::Result<Self> {
        // Process numbers alone repeat where containers share a folder.
        let random: u64 =
            std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), std::process::id());
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{random:016x}.unfinished"));
        let unfinished = Self(PathBuf::from(name));
        let mut file = File::create_new(&unfinished.0)?;
        file.write_all(content)?;
        file.sync_all()?;
        Ok(unfinished)
    }

    fn rename(self, path: &Path) -> io::Result<()> {
        fs::rename(&self.0, path)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // After renaming there is nothing under this name any more.
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::manifest::tests::manifest;
    use super::super::options::Precision;
    use super::*;

    fn key_of(network: &str, options: &BuildOptions) -> PlanKey {
        let made = manifest(b"");
        PlanKey::new(network, options, &made.builder, &made.target)
    }

    #[test]
    fn everything_that_decides_a_plan_is_in_its_key() {
        let base = BuildOptions::default();
        let key = key_of("n", &base);
        assert_eq!(key, key_of("n", &base));
        assert_ne!(key, key_of("m", &base));
        let others = [
            BuildOptions {
                precision: Precision::Fp16,
                ..base.clone()
            },
            BuildOptions {
                dla_core: Some(0),
                ..base.clone()
            },
            BuildOptions {
                compute_capabilities: vec![89],
                ..base.clone()
            },
            BuildOptions {
                sparsity: true,
                ..base.clone()
            },
            BuildOptions {
                plugins: vec!["a.so".into()],
                ..base.clone()
            },
        ];
        for other in &others {
            assert_ne!(key, key_of("n", other), "{other:?}");
        }
        let made = manifest(b"");
        let builder = BuilderIdentity {
            version: "1.7.2.1".into(),
            ..made.builder.clone()
        };
        assert_ne!(key, PlanKey::new("n", &base, &builder, &made.target));
        let target = Target::Gpu {
            name: "Orin".into(),
            compute_capability: 87,
            multiprocessors: None,
            off: None,
        };
        let in_another_mode = Target::Gpu {
            name: "Orin".into(),
            compute_capability: 87,
            multiprocessors: Some(8),
            off: Some("f0".into()),
        };
        assert_ne!(
            PlanKey::new("n", &base, &made.builder, &target),
            PlanKey::new("n", &base, &made.builder, &in_another_mode)
        );
        assert_ne!(key, PlanKey::new("n", &base, &made.builder, &target));
    }

    #[test]
    fn a_stored_plan_is_found_whole_and_a_damaged_one_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = PlanCache::new(folder.path().join("plans"));
        let key = key_of("n", &BuildOptions::default());
        assert!(cache.find(&key).is_none());
        let stored = cache
            .store(&key, b"the plan", &manifest(b"the plan"))
            .expect("stored");
        assert_eq!(cache.find(&key).expect("found").path, stored.path);
        let made = manifest(b"the plan");
        let took = cache.last_build_seconds(&made.network.blake3);
        assert_eq!(
            took,
            Some(made.build_seconds),
            "what a build without progress is shown with"
        );
        assert_eq!(cache.last_build_seconds("another network"), None);
        fs::write(&stored.path, b"the plqn").expect("damaged");
        assert!(cache.find(&key).is_none());
        assert!(!stored.path.exists(), "a damaged entry is removed");
        // Cut off between plan and manifest: not an entry.
        fs::write(&stored.path, b"the plan").expect("written");
        assert!(cache.find(&key).is_none());
    }

    #[test]
    fn of_two_builders_one_builds_and_the_other_finds_its_plan() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = PlanCache::new(folder.path().to_owned());
        let key = key_of("n", &BuildOptions::default());
        let built = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let _lock = cache.lock(&key, || true).expect("locked");
                    if cache.find(&key).is_none() {
                        built.fetch_add(1, Ordering::Relaxed);
                        cache.store(&key, b"plan", &manifest(b"plan")).expect("stored");
                    }
                });
            }
        });
        assert_eq!(built.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_disk_that_takes_nothing_leaves_nothing_behind() {
        let folder = tempfile::tempdir().expect("a folder");
        // A folder in the way of the plan stands for every failure of the final rename.
        let plan = folder.path().join("a.plan");
        fs::create_dir(&plan).expect("made");
        assert!(write_plan(&plan, b"plan", &manifest(b"plan")).is_err());
        let left: Vec<_> = fs::read_dir(folder.path())
            .expect("read")
            .filter_map(Result::ok)
            .map(|entry| entry.file_name())
            .collect();
        assert_eq!(left, ["a.plan"]);
    }

    #[test]
    fn a_manifest_that_cannot_be_written_leaves_the_old_plan_as_it_was() {
        let folder = tempfile::tempdir().expect("a folder");
        let plan = folder.path().join("a.plan");
        write_plan(&plan, b"old", &manifest(b"old")).expect("written");
        // A folder in the manifest's way fails its turn.
        let beside = manifest::path_of(&plan);
        fs::remove_file(&beside).expect("removed");
        fs::create_dir(&beside).expect("made");
        assert!(write_plan(&plan, b"new", &manifest(b"new")).is_err());
        assert_eq!(fs::read(&plan).expect("read"), b"old");
    }

    #[test]
    fn a_newer_jetlags_entry_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = PlanCache::new(folder.path().to_owned());
        let key = key_of("n", &BuildOptions::default());
        let newer = PlanManifest {
            schema: manifest::SCHEMA + 1,
            ..manifest(b"plan")
        };
        let stored = cache.store(&key, b"plan", &newer).expect("stored");
        assert!(cache.find(&key).is_none());
        assert!(stored.path.exists());
    }

    #[test]
    fn entries_are_listed_and_cleaned_with_what_was_cut_off() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = PlanCache::new(folder.path().to_owned());
        let key = key_of("n", &BuildOptions::default());
        cache.store(&key, b"plan", &manifest(b"plan")).expect("stored");
        let key_like = "0".repeat(KEY_DIGITS);
        let unfinished = folder.path().join(format!("{key_like}.plan.1.unfinished"));
        let strangers = ["Cargo.lock", "mine.plan", "other.unfinished"];
        for stranger in strangers {
            fs::write(folder.path().join(stranger), b"not the cache's").expect("written");
        }
        let long_ago = std::time::SystemTime::now() - 2 * UNFINISHED;
        File::create(&unfinished)
            .and_then(|file| file.set_modified(long_ago))
            .expect("written");
        assert_eq!(cache.list().expect("listed").len(), 1);
        assert_eq!(cache.clean(|_| false).expect("cleaned"), (0, 0));
        assert!(!unfinished.exists());
        assert_eq!(cache.clean(|_| true).expect("cleaned"), (1, 4));
        assert!(cache.list().expect("listed").is_empty());
        for stranger in strangers {
            assert!(
                folder.path().join(stranger).exists(),
                "{stranger} is not the cache's"
            );
        }
    }
}
