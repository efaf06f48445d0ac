//! A loaded TensorRT library: found, opened, its version read, its entry points resolved.
//!
//! A library stays loaded until the process ends: it keeps threads and static state, and the one logger that it
//! took must never go away. Opening the same file twice gives the same [`Library`].

use std::ffi::{CString, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use libloading::os::unix::{Library as Handle, RTLD_LOCAL, RTLD_NOW};

use crate::builder::Builder;
use crate::callback::Callback;
use crate::callback::logger::{Logger, logger};
use crate::callback::recorder::{Recorder, recorder};
use crate::error::{Error, Result};
use crate::find::{Search, parser_names};
use crate::object::{Object, Owned, non_null};
use crate::runtime::Runtime;
use crate::sys::method::This;
use crate::sys::slots_builder::builder as builder_slots;
use crate::sys::slots_runtime::{plugin_registry, runtime as runtime_slots};
use crate::version::{Flavour, Version};

type Create = unsafe extern "C" fn(*mut c_void, i32) -> *mut c_void;
type CreateParser = unsafe extern "C" fn(*mut c_void, *mut c_void, i32) -> *mut c_void;
type Number = unsafe extern "C" fn() -> i32;

/// A loaded library; a cheap handle.
#[derive(Clone, Copy, Debug)]
pub struct Library(&'static Inner);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    handle: Handle,
    version: Version,
    logger: &'static Logger,
    recorder: Callback<Recorder>,
    parser: OnceLock<std::result::Result<ParserLibrary, ParserMissing>>,
    /// Held by a build.
    building: Mutex<()>,
    /// Libraries of plugins that are loaded.
    plugins: Mutex<Vec<PathBuf>>,
}

/// The ONNX parser's library that belongs to it.
#[derive(Debug)]
pub(crate) struct ParserLibrary {
    path: PathBuf,
    version: i32,
    create: CreateParser,
}

/// Where the parser was looked for.
#[derive(Clone, Debug)]
struct ParserMissing {
    tried: Vec<(PathBuf, String)>,
}

/// How the loader says that it knows no file of a name.
const UNKNOWN_NAME: &str = "cannot open shared object file";
/// And for an empty file, as a container's image has them where its runtime is to mount the host's libraries.
const EMPTY_FILE: &str = "file too short";

/// Every library opened so far.
static OPENED: Mutex<Vec<Library>> = Mutex::new(Vec::new());

impl Library {
    /// Opens the best library that a search comes to.
    ///
    /// # Errors
    /// [`Error::NotFound`] with every place looked at, and with what was there and could not be used; or the one
    /// failure of an explicitly named library.
    pub fn find(search: &Search) -> Result<Self> {
        let candidates = search.candidates();
        let mut refused = Vec::new();
        for candidate in &candidates.found {
            match Self::open(&candidate.file) {
                Ok(library) => return Ok(library),
                // A name that the loader does not know is no finding; one that lacks what it needs is.
                Err(Error::Open { reason, .. })
                    if search.explicit.is_none()
                        && (reason.starts_with(UNKNOWN_NAME) || reason.ends_with(EMPTY_FILE)) => {}
                Err(error) => refused.push(error),
            }
        }
        match (search.explicit.is_some(), refused.len()) {
            (true, 1) => Err(refused.remove(0)),
            _ => Err(candidates.none_usable(refused).into()),
        }
    }

    /// Opens a library by path, or by bare name through the dynamic loader.
    ///
    /// # Errors
    /// The file cannot be loaded, is something else, or is of a version whose layout is not known.
    pub fn open(file: &Path) -> Result<Self> {
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = open(file)?;
        // SAFETY: TensorRT's entry points have these types in every release (C functions without arguments).
        let number = unsafe { symbol::<Number>(&handle, "getInferLibVersion") };
        let wrong = |symbol| Error::WrongLibrary {
            path: file.to_owned(),
            wanted: "TensorRT library",
            symbol,
        };
        let number = number.ok_or_else(|| wrong("getInferLibVersion"))?;
        let path = loaded_from(number as *const c_void).unwrap_or_else(|| file.to_owned());
        if let Some(known) = opened.iter().find(|library| library.0.path == path) {
            return Ok(*known);
        }
        // SAFETY: as above. Nothing else is called before the version is known.
        let number = unsafe { number() };
        let mut version = Version::from_number(number).map_err(|why| Error::UnsupportedVersion {
            path: path.clone(),
            number,
            why,
        })?;
        // SAFETY: as above.
        let build = unsafe { symbol::<Number>(&handle, "getInferLibBuildVersion").map(|build| build()) };
        version.build = build.and_then(|build| u32::try_from(build).ok());
        if version.is_newer_than_tables() {
            let (major, minor) = version.era().newest_known();
            log::warn!(
                "{version} is newer than this build's tables (up to {major}.{minor}); only what {major}.{minor} has is used"
            );
        }
        let logger: &'static Logger = Box::leak(Box::new(logger(version.era())));
        let inner = Inner {
            path,
            handle,
            version,
            logger,
            recorder: recorder(version, logger),
            parser: OnceLock::new(),
            building: Mutex::new(()),
            plugins: Mutex::default(),
        };
        let library = Self(Box::leak(Box::new(inner)));
        library.tell_its_folder();
        opened.push(library);
        Ok(library)
    }

    /// The version that the library states, TensorRT's or TensorRT-RTX's.
    #[must_use]
    pub fn version(self) -> Version {
        self.0.version
    }

    /// The file that it was loaded from.
    #[must_use]
    pub fn path(self) -> &'static Path {
        &self.0.path
    }

    /// Whether it can build plans (lean and dispatch runtimes cannot).
    #[must_use]
    pub fn has_builder(self) -> bool {
        // SAFETY: looked up, not called.
        unsafe { symbol::<Create>(&self.0.handle, "createInferBuilder_INTERNAL") }.is_some()
    }

    /// The ONNX parser's file, if there is one; opens it the first time.
    ///
    /// # Errors
    /// The parser's library is not where it should be; every place is named.
    pub fn parser_path(self) -> Result<&'static Path> {
        self.parser_library().map(|parser| &*parser.path)
    }

    /// A builder of plans.
    ///
    /// # Errors
    /// The library has no builder, or refuses to make one (TensorRT needs a GPU for it; TensorRT-RTX does not).
    pub fn builder(self) -> Result<Builder> {
        let object = self.create(
            "createInferBuilder_INTERNAL",
            "builder",
            "it is a runtime without a builder; install the full TensorRT (libnvinfer)",
        )?;
        crate::object::call!(
            object,
            builder_slots::SET_ERROR_RECORDER,
            self.0.recorder.as_ptr()
        )?;
        Ok(Builder::new(object))
    }

    /// A runtime that loads plans.
    ///
    /// # Errors
    /// The library refuses to make one, most often because there is no GPU or driver.
    pub fn runtime(self) -> Result<Runtime> {
        let object = self.create(
            "createInferRuntime_INTERNAL",
            "runtime",
            "it is not a complete TensorRT library",
        )?;
        crate::object::call!(
            object,
            runtime_slots::SET_ERROR_RECORDER,
            self.0.recorder.as_ptr()
        )?;
        Ok(Runtime::new(object))
    }

    /// Loads a library of plugins and registers its layers, once: a second time is no error, and does nothing.
    ///
    /// NVIDIA's own library (`libnvinfer_plugin`) registers its layers when it is asked to, those made for `loadLibrary` tell
    /// what they have, and all others register themselves when they are opened.
    ///
    /// # Errors
    /// The file cannot be loaded, or the library refuses what it registers.
    #[doc(alias = "loadLibrary")]
    #[doc(alias = "initLibNvInferPlugins")]
    pub fn load_plugins(self, file: &Path) -> Result<()> {
        // The registry refuses a plugin that it has, and so the library that it is in.
        let mut loaded = self.0.plugins.lock().unwrap_or_else(PoisonError::into_inner);
        let path = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        if loaded.contains(&path) {
            return Ok(());
        }
        self.register_plugins(file)?;
        loaded.push(path);
        Ok(())
    }

    fn register_plugins(self, file: &Path) -> Result<()> {
        type Initialise = unsafe extern "C" fn(*mut c_void, *const c_char) -> bool;
        let mark = self.mark();
        let handle = open(file)?;
        // SAFETY: `initLibNvInferPlugins` has this type in every release.
        let initialise = unsafe { symbol::<Initialise>(&handle, "initLibNvInferPlugins") };
        // SAFETY: looked up, not called.
        let tells = ["getCreators", "getPluginCreators"]
            .iter()
            .any(|name| unsafe { symbol::<*const c_void>(&handle, name) }.is_some());
        // Its layers are used until the process ends.
        std::mem::forget(handle);
        if let Some(initialise) = initialise {
            // SAFETY: the logger is never freed; the namespace is a literal.
            return match unsafe { initialise(self.logger(), c"".as_ptr()) } {
                true => Ok(()),
                false => Err(self.failure(format!("initLibNvInferPlugins of {}", file.display()), mark)),
            };
        }
        match tells
            && plugin_registry::LOAD_LIBRARY
                .row()
                .index(self.version())
                .is_some()
        {
            true => self.load_into_registry(file, mark),
            false => {
                log::debug!("{} registers its plugins by itself", file.display());
                Ok(())
            }
        }
    }

    fn load_into_registry(self, file: &Path, mark: u64) -> Result<()> {
        let version = self.version();
        // SAFETY: a C function without arguments in every release.
        let registry =
            unsafe { symbol::<unsafe extern "C" fn() -> This>(&self.0.handle, "getPluginRegistry") };
        // SAFETY: as above.
        let registry = registry.map_or(std::ptr::null_mut(), |registry| unsafe { registry() });
        if non_null(registry).is_none() {
            return Err(self.failure("getPluginRegistry".into(), mark));
        }
        let name = c_path(file)?;
        // SAFETY: the registry is a live IPluginRegistry of this library, whose methods are its own.
        let load = unsafe { plugin_registry::LOAD_LIBRARY.resolve(registry, version) };
        let load = load.ok_or_else(|| Error::missing(plugin_registry::LOAD_LIBRARY.row(), version))?;
        // SAFETY: as above; the name lives through the call.
        match unsafe { load(registry, name.as_ptr()) }.is_null() {
            true => Err(self.failure(format!("IPluginRegistry::loadLibrary({})", file.display()), mark)),
            false => Ok(()),
        }
    }

    pub(crate) fn is(self, other: Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }

    pub(crate) fn mark(self) -> u64 {
        self.0.logger.body().mark()
    }

    /// Whether this thread's calls were answered by an error in the log since `mark`.
    pub(crate) fn has_errors_since(self, mark: u64) -> bool {
        self.0.logger.body().has_own_errors(mark)
    }

    /// The error of a call that began at `mark`, with what was said since.
    pub(crate) fn failure(self, call: String, mark: u64) -> Error {
        let (version, messages) = (self.version(), self.0.logger.body().since(mark));
        match messages.tell_of_full_memory() {
            true => Error::OutOfMemory {
                call,
                version,
                messages,
            },
            false => Error::Call {
                call,
                version,
                messages,
            },
        }
    }

    /// Waits until no other build runs in this library.
    ///
    /// Builders in several threads are allowed by the documentation, but TensorRT-RTX 1.7 mixed up the targets of two
    /// builds at once ("Target SM 80 is not found" in a build for SM 8.9); and kernels that are timed while another
    /// build times its own are timed wrongly.
    pub(crate) fn build_alone(self) -> MutexGuard<'static, ()> {
        self.0.building.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn logger(self) -> *mut c_void {
        self.0.logger.as_ptr()
    }

    fn create(self, symbol_name: &'static str, what: &'static str, hint: &'static str) -> Result<Owned> {
        // SAFETY: both entry points have this type in every release.
        let create = unsafe { symbol::<Create>(&self.0.handle, symbol_name) }.ok_or(Error::MissingHalf {
            path: self.0.path.clone(),
            missing: what,
            hint,
        })?;
        let mark = self.mark();
        // SAFETY: the logger is never freed and laid out for this era; the number is the library's own.
        let pointer = unsafe { create(self.logger(), self.version().number()) };
        let wrapper = non_null(pointer).ok_or_else(|| self.failure(symbol_name.into(), mark))?;
        // SAFETY: the library made the object for us just now.
        Ok(unsafe { Owned::new(Object::new(self, wrapper)) })
    }

    /// Opens the ONNX parser beside the library, once.
    pub(crate) fn parser_library(self) -> Result<&'static ParserLibrary> {
        let parser = self
            .0
            .parser
            .get_or_init(|| open_parser(&self.0.path, self.version()));
        parser.as_ref().map_err(|missing| Error::ParserLibrary {
            library: self.0.path.clone(),
            tried: missing
                .tried
                .iter()
                .map(|(path, why)| format!("{}: {why}", path.display()))
                .collect(),
        })
    }

    /// From 10.16 and RTX 1.4 on a library can be told where its companions (builder resources) lie. It helps
    /// when it was loaded from a folder that the loader does not know, as Python wheels are.
    fn tell_its_folder(self) {
        // SAFETY: a C function of a C string in every release that has it.
        let tell = unsafe {
            symbol::<unsafe extern "C" fn(*const c_char) -> bool>(&self.0.handle, "setInternalLibraryPath")
        };
        let folder = self
            .0
            .path
            .parent()
            .filter(|folder| folder.is_absolute())
            .and_then(|folder| c_path(folder).ok());
        if let (Some(tell), Some(folder)) = (tell, folder) {
            // SAFETY: the string lives through the call.
            let taken = unsafe { tell(folder.as_ptr()) };
            log::debug!(target: "tensorrt", "setInternalLibraryPath({folder:?}): {taken}");
        }
    }
}

impl ParserLibrary {
    /// A parser that writes into `network`, an `INetworkDefinition`.
    ///
    /// # Safety
    /// `network` is alive and outlives the parser.
    pub(crate) unsafe fn create(&self, library: Library, network: *mut c_void) -> Result<This> {
        let mark = library.mark();
        // SAFETY: the caller vouches for the network; the logger is never freed.
        let parser = unsafe { (self.create)(network, library.logger(), self.version) };
        match non_null(parser) {
            Some(_) => Ok(parser),
            None => Err(library.failure("createNvOnnxParser_INTERNAL".into(), mark)),
        }
    }
}

fn open(file: &Path) -> Result<Handle> {
    // SAFETY: opening runs the library's initialisers; that is what loading TensorRT means. Local visibility keeps
    // two releases in one process apart.
    unsafe { Handle::open(Some(file), RTLD_NOW | RTLD_LOCAL) }.map_err(|error| Error::Open {
        path: file.to_owned(),
        reason: loader_words(file, &error),
    })
}

/// The loader's own words, without the path that the error names anyway.
fn loader_words(file: &Path, error: &libloading::Error) -> String {
    let words = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
    let prefix = format!("{}: ", file.display());
    words
        .strip_prefix(&prefix)
        .map_or_else(|| words.clone(), str::to_owned)
}

fn open_parser(library: &Path, version: Version) -> std::result::Result<ParserLibrary, ParserMissing> {
    let mut tried = Vec::new();
    for file in parser_names(library, version.major, version.flavour == Flavour::Rtx) {
        let handle = match open(&file) {
            Ok(handle) => handle,
            Err(Error::Open { reason, .. }) => {
                tried.push((file, reason));
                continue;
            }
            Err(_) => continue,
        };
        // SAFETY: the parser's entry points have these types in every release.
        let found = unsafe {
            symbol::<CreateParser>(&handle, "createNvOnnxParser_INTERNAL")
                .zip(symbol::<Number>(&handle, "getNvOnnxParserVersion"))
        };
        let Some((create, number)) = found else {
            tried.push((
                file,
                "it is not an ONNX parser: no createNvOnnxParser_INTERNAL".into(),
            ));
            continue;
        };
        let path = loaded_from(number as *const c_void).unwrap_or(file);
        // The library stays loaded, as TensorRT's own does.
        std::mem::forget(handle);
        // SAFETY: a C function without arguments.
        let version = unsafe { number() };
        return Ok(ParserLibrary {
            path,
            version,
            create,
        });
    }
    Err(ParserMissing { tried })
}

/// # Safety
/// `T` is a function pointer with the type of the symbol.
unsafe fn symbol<T: Copy>(handle: &Handle, name: &str) -> Option<T> {
    // SAFETY: the caller vouches for the type; the handle is never closed once a symbol is used.
    unsafe { handle.get::<T>(name.as_bytes()) }
        .ok()
        .map(|symbol| *symbol)
}

/// The file whose mapping holds an address, from /proc/self/maps; a bare name given to the loader does not say.
fn loaded_from(address: *const c_void) -> Option<PathBuf> {
    let maps = std::fs::read("/proc/self/maps").ok()?;
    maps.split(|byte| *byte == b'\n')
        .find_map(|line| mapped_file(line, address.addr()))
}

/// The file of one line of `maps`, if the line's range holds the address.
fn mapped_file(line: &[u8], address: usize) -> Option<PathBuf> {
    // start-end perms offset dev inode          path (which may hold blanks)
    let text = String::from_utf8_lossy(line.get(..line.iter().position(|byte| *byte == b' ')?)?).into_owned();
    let (start, end) = text.split_once('-')?;
    let (start, end) = (
        usize::from_str_radix(start, 16).ok()?,
        usize::from_str_radix(end, 16).ok()?,
    );
    let path = line.get(line.iter().position(|byte| *byte == b'/')?..)?;
    (start..end)
        .contains(&address)
        .then(|| PathBuf::from(OsStr::from_bytes(path)))
}

/// A path as a C string.
pub(crate) fn c_path(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|error| Error::nul("a path", &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_maps_gives_the_file_that_holds_an_address() {
        let line = b"7f00-7fff r-xp 00000000 08:01 42        /opt/a folder/libnvinfer.so.10";
        assert_eq!(
            mapped_file(line, 0x7f80),
            Some(PathBuf::from("/opt/a folder/libnvinfer.so.10"))
        );
        assert_eq!(mapped_file(line, 0x7fff), None);
        assert_eq!(mapped_file(b"7f00-7fff rw-p 00000000 00:00 0 ", 0x7f80), None);
        assert_eq!(mapped_file(b"", 0), None);
    }

    #[test]
    fn another_library_under_the_name_is_told_apart() {
        let error = Library::open(Path::new("libc.so.6")).expect_err("not TensorRT");
        assert!(
            error.to_string().contains("libc.so.6 is not a TensorRT library"),
            "{error}"
        );
    }

    #[test]
    fn a_file_that_is_no_library_gives_the_loaders_words() {
        let error = Library::open(Path::new("/etc/hostname-that-is-not-there")).expect_err("absent");
        assert!(
            error.to_string().contains("cannot open shared object file"),
            "{error}"
        );
    }
}
