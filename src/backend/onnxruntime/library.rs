//! Which libonnxruntime is used: what the user names, else what the loader, the system or a Python environment has.
//!
//! The crate `ort` panics where the library is absent or too old, so presence and version are asked here first, of the
//! library itself. It is loaded once a process and stays.

use std::ffi::{CStr, OsStr, c_char};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ort::environment::Environment;
use ort::ep::{CUDA, ExecutionProvider};
use ort::logging::LogLevel;

/// Names a file, a folder or a Python environment.
const VARIABLE: &str = "JETLAG_ONNXRUNTIME";
/// Names a file, for every program that uses the crate `ort`.
const COMMON_VARIABLE: &str = "ORT_DYLIB_PATH";
/// Names that the loader is asked for.
const LOADER_NAMES: [&str; 2] = ["libonnxruntime.so.1", "libonnxruntime.so"];
/// ONNX Runtime 1.N for API level N.
const OLDEST: u32 = ort::MINOR_VERSION;

/// The loaded library with its environment.
#[derive(Debug)]
pub struct Library {
    path: PathBuf,
    version: String,
    environment: Environment,
}

impl Library {
    /// The library file that was loaded.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// As it answers itself: `1.31.1`.
    pub fn version(&self) -> &str {
        &self.version
    }
    /// Whether it was built with the CUDA provider (whose own libraries may still be missing).
    pub fn has_cuda(&self) -> bool {
        CUDA::is_available().unwrap_or(false)
    }
    pub(super) fn environment(&self) -> &Environment {
        &self.environment
    }
}

/// No usable library: every place, and what was found there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotFound {
    places: Vec<(String, String)>,
    /// Libraries that were there and could not be used.
    refused: Vec<String>,
    is_explicit: bool,
}

impl std::error::Error for NotFound {}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no usable ONNX Runtime 1.{OLDEST} or later was found")?;
        for problem in &self.refused {
            write!(f, "\n  unusable: {problem}")?;
        }
        f.write_str("\n  looked for libonnxruntime.so in")?;
        for (place, outcome) in &self.places {
            write!(f, "\n    {place}: {outcome}")?;
        }
        write!(
            f,
            "\n  install it with pip install onnxruntime (processor) or onnxruntime-gpu (CUDA), or download a release from \
             github.com/microsoft/onnxruntime\
             \n  installed elsewhere? Set {VARIABLE} to the file, folder or Python environment"
        )
    }
}

impl NotFound {
    /// Why what is there, or was named, is not used; none if there is nothing.
    pub fn refusal(&self) -> Option<String> {
        let named = || {
            let (place, outcome) = self.places.first()?;
            self.is_explicit.then(|| format!("{place}: {outcome}"))
        };
        self.refused.first().cloned().or_else(named)
    }
}

static OPENED: Mutex<Option<&'static Library>> = Mutex::new(None);

/// Opens the library: `given` (a file, a folder or a Python environment), else what the variables name, else what is
/// installed. Every later call answers the same.
///
/// # Errors
/// None can be used.
pub fn find(given: Option<&Path>) -> Result<&'static Library, NotFound> {
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(library) = *opened {
        return Ok(library);
    }
    let mut search = Search::default();
    search.look(given);
    let mut not_found = NotFound {
        places: search.places,
        refused: Vec::new(),
        is_explicit: search.is_explicit,
    };
    for file in search.found {
        match open(&file) {
            Ok(library) => return Ok(opened.insert(Box::leak(Box::new(library)))),
            Err(Unusable::Absent) => {}
            Err(Unusable::Refused(problem)) => not_found.refused.push(problem),
        }
    }
    Err(not_found)
}

enum Unusable {
    /// The loader knows no such name.
    Absent,
    Refused(String),
}

fn open(file: &Path) -> Result<Library, Unusable> {
    // SAFETY: loading runs the library's constructors: it is ONNX Runtime by its name, which the user installed.
    let handle = unsafe { libloading::Library::new(file) }.map_err(|error| {
        let words = error_text(&error);
        match file.components().count() == 1 && words.contains("No such file") {
            true => Unusable::Absent,
            // The loader's words begin with the file.
            false => Unusable::Refused(words),
        }
    })?;
    let refused = |file: &Path, problem: String| Unusable::Refused(format!("{}: {problem}", file.display()));
    let (version, path) = ask(&handle).map_err(|problem| refused(file, problem))?;
    let path = path.unwrap_or_else(|| file.to_owned());
    let builder = ort::init_from(file).map_err(|error| refused(&path, error.to_string()))?;
    let environment = builder
        .with_name("jetlag")
        .with_telemetry(false)
        .with_logger(Arc::new(pass_on))
        .build()
        .map_err(|error| refused(&path, error.to_string()))?;
    environment.set_log_level(LogLevel::Warning);
    // Threads and memory of the library are not taken down in an order of ours, so it stays.
    std::mem::forget(handle);
    Ok(Library {
        path,
        version,
        environment,
    })
}

fn error_text(error: &libloading::Error) -> String {
    use std::error::Error as _;
    error.source().map_or(error.to_string(), ToString::to_string)
}

/// The library's version, if it is one that can be used, and the file that the loader took.
fn ask(handle: &libloading::Library) -> Result<(String, Option<PathBuf>), String> {
    type Base = unsafe extern "C" fn() -> *const ort::sys::OrtApiBase;
    // SAFETY: the C API has had this function with this signature since 1.0; it is called only if there is one.
    let base = unsafe { handle.get::<Base>(b"OrtGetApiBase\0") }
        .map_err(|_| "it is not ONNX Runtime: it has no OrtGetApiBase".to_owned())?;
    // SAFETY: as above.
    let answered = unsafe { base() };
    // SAFETY: a static of the library, or null, which is asked for.
    let base = unsafe { answered.as_ref() }.ok_or("OrtGetApiBase returned nothing")?;
    // SAFETY: the first two members of the base have been these since 1.0; the text is a static of the library.
    let version = unsafe { CStr::from_ptr((base.GetVersionString)().cast::<c_char>()) }
        .to_string_lossy()
        .into_owned();
    // SAFETY: as above; a level that it does not have is answered with null. Levels below its own it has all.
    if !is_new_enough(&version) || unsafe { (base.GetApi)(OLDEST) }.is_null() {
        return Err(format!(
            "it is ONNX Runtime {version}; jetlag needs 1.{OLDEST} or later"
        ));
    }
    Ok((version, loaded_from(answered.addr())))
}

/// Asked before the API is, since an older library writes to stderr of a level that it does not have.
fn is_new_enough(version: &str) -> bool {
    let mut numbers = version
        .split('.')
        .map(|number| number.parse::<u32>().unwrap_or(0));
    (numbers.next(), numbers.next()) >= (Some(1), Some(OLDEST))
}

/// The file whose mapping holds an address: a name given to the loader does not say.
fn loaded_from(address: usize) -> Option<PathBuf> {
    let maps = std::fs::read("/proc/self/maps").ok()?;
    maps.split(|byte| *byte == b'\n').find_map(|line| {
        let range = std::str::from_utf8(line.split(|byte| *byte == b' ').next()?).ok()?;
        let (start, end) = range.split_once('-')?;
        let bound = |text| usize::from_str_radix(text, 16).ok();
        let path = line.get(line.iter().position(|byte| *byte == b'/')?..)?;
        (bound(start)?..bound(end)?)
            .contains(&address)
            .then(|| PathBuf::from(OsStr::from_bytes(path)))
    })
}

/// The library's own messages: its errors come back as such too.
fn pass_on(level: LogLevel, _category: &str, _id: &str, place: &str, message: &str) {
    let level = match level {
        LogLevel::Error | LogLevel::Fatal => log::Level::Info,
        LogLevel::Warning | LogLevel::Info | LogLevel::Verbose => log::Level::Debug,
    };
    log::log!(level, "ONNX Runtime, {place}: {message}");
}

/// What was looked at, and what there is to try, in order.
#[derive(Default)]
struct Search {
    found: Vec<PathBuf>,
    places: Vec<(String, String)>,
    is_explicit: bool,
}

impl Search {
    fn look(&mut self, given: Option<&Path>) {
        if let Some(path) = given {
            return self.explicit("the caller", path);
        }
        let variable = |name| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        for name in [VARIABLE, COMMON_VARIABLE] {
            if let Some(path) = variable(name) {
                return self.explicit(name, &path);
            }
        }
        self.found.extend(LOADER_NAMES.map(PathBuf::from));
        self.places
            .push(("the loader's path".to_owned(), LOADER_NAMES.join(", ")));
        for folder in [
            format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH),
            "/usr/local/lib".to_owned(),
            "/opt/onnxruntime/lib".to_owned(),
        ] {
            self.folder(Path::new(&folder));
        }
        let environments = ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(variable);
        let home = variable("HOME").map(|home| home.join(".local"));
        let system = ["/usr/local", "/usr"].map(PathBuf::from);
        for environment in environments.chain(home).chain(system) {
            self.environment(&environment);
        }
    }

    /// What the user names is the only place.
    fn explicit(&mut self, who: &str, path: &Path) {
        self.is_explicit = true;
        if path.is_file() {
            // The loader takes a name without a slash for one of its own.
            self.found
                .push(std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()));
            self.places
                .push((format!("{} (from {who})", path.display()), "a file".to_owned()));
            return;
        }
        for folder in [path.to_owned(), path.join("lib"), path.join("capi")] {
            self.folder(&folder);
        }
        self.environment(path);
        for (place, _) in &mut self.places {
            place.push_str(&format!(" (from {who})"));
        }
    }

    /// The wheel within a Python environment, of its newest Python first.
    fn environment(&mut self, prefix: &Path) {
        let mut pythons: Vec<PathBuf> = std::fs::read_dir(prefix.join("lib"))
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_name().to_string_lossy().starts_with("python3"))
            .map(|entry| entry.path())
            .collect();
        pythons.sort();
        let wheels: Vec<PathBuf> = pythons
            .iter()
            .rev()
            .flat_map(|python| ["site-packages", "dist-packages"].map(|name| python.join(name)))
            .map(|packages| packages.join("onnxruntime/capi"))
            .filter(|folder| folder.is_dir())
            .collect();
        if wheels.is_empty() {
            let place = format!("{}/lib/python3*/site-packages", prefix.display());
            self.places.push((place, "no onnxruntime".to_owned()));
        }
        for wheel in wheels {
            self.folder(&wheel);
        }
    }

    fn folder(&mut self, folder: &Path) {
        let outcome = match std::fs::read_dir(folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => "no such folder".to_owned(),
            Err(error) => error.to_string(),
            Ok(entries) => {
                let mut names: Vec<String> = entries
                    .flatten()
                    .filter_map(|entry| entry.file_name().into_string().ok())
                    .filter(|name| name == "libonnxruntime.so" || name.starts_with("libonnxruntime.so."))
                    .collect();
                names.sort();
                self.found.extend(names.iter().map(|name| folder.join(name)));
                match names.is_empty() {
                    true => "none".to_owned(),
                    false => names.join(", "),
                }
            }
        };
        self.places.push((folder.display().to_string(), outcome));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(is_new_enough("1.17.0") && is_new_enough("1.31.1") && is_new_enough("2.0.0"));
        assert!(!is_new_enough("1.9.0") && !is_new_enough("1.16.3") && !is_new_enough("nonsense"));
    }

    #[test]
    fn a_named_environment_is_looked_into_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let wheel = root.path().join("lib/python3.12/site-packages/onnxruntime/capi");
        std::fs::create_dir_all(&wheel).unwrap();
        for name in [
            "libonnxruntime.so.1.31.1",
            "libonnxruntime_providers_shared.so",
            "libonnxruntime.so.1",
        ] {
            std::fs::write(wheel.join(name), b"").unwrap();
        }
        let mut search = Search::default();
        search.explicit(VARIABLE, root.path());
        let names = ["libonnxruntime.so.1", "libonnxruntime.so.1.31.1"].map(|name| wheel.join(name));
        assert_eq!(search.found, names);
        assert!(
            search
                .places
                .iter()
                .all(|(place, _)| place.ends_with("(from JETLAG_ONNXRUNTIME)"))
        );
    }
}
