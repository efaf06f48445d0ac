//! A loaded libcupti: found, opened, its functions resolved, its version and the lengths of its records asked.
//!
//! A library stays loaded until the process ends: it keeps hooks in the driver and threads of its own.

use std::ffi::{CStr, c_void};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use libloading::os::unix::{Library as Handle, RTLD_LOCAL, RTLD_NOW};

use crate::driver::Driver;
use crate::error::{Error, Result};
use crate::find::{STEM, Search};
use crate::loading;
use crate::sys::{Domain, Functions, Kind, Status};
use crate::version::Version;
use crate::walk::Lengths;

/// A loaded library; a cheap handle.
#[derive(Clone, Copy, Debug)]
pub struct Library(&'static Inner);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    handle: Handle,
    functions: Functions,
    version: Version,
    /// By kind: how long its records are, or one of the words below.
    lengths: [AtomicU32; KINDS],
}

/// Kinds whose lengths are kept; the newest release has 60 of them.
const KINDS: usize = 256;
/// The library was not asked yet.
const NOT_ASKED: u32 = 0;
/// The library knows no such kind.
const NONE: u32 = u32::MAX;

/// Numbers of functions that are asked for their names; the newest release has some 800 of the driver.
const MOST_CALLS: u32 = 8192;
/// So many unknown numbers in a row are the end.
const LONGEST_HOLE: u32 = 256;

/// How the loader says that it knows no file of a name.
const UNKNOWN_NAME: &str = "cannot open shared object file";
/// And for an empty file, as a container's image has them where its runtime is to mount the host's libraries.
const EMPTY_FILE: &str = "file too short";

/// Every library opened so far.
static OPENED: Mutex<Vec<Library>> = Mutex::new(Vec::new());

impl Library {
    /// Opens the best library that a search comes to; the one that the process has loaded already, if it has.
    ///
    /// # Errors
    /// [`Error::NotFound`] with every place looked at, and with what was there and could not be used; or the one failure of
    /// an explicitly named library.
    pub fn find(search: &Search, driver: Driver) -> Result<Self> {
        let (wanted, why) = match search.major {
            Some(major) => (major, "program"),
            None => (driver.major(), "driver"),
        };
        let loaded = loading::mapped(STEM);
        if let [file] = loaded.as_slice()
            && search.explicit.is_none()
        {
            // The program's own choice, whatever its major: a second one beside it would be worse.
            return Self::open(file, driver);
        }
        let candidates = search.candidates(wanted);
        let mut refused = Vec::new();
        for file in &candidates.found {
            let opened = match search.explicit {
                Some(_) => Self::open(file, driver),
                None => Self::open_if(file, driver, &|found| (found != wanted).then_some((wanted, why))),
            };
            match opened {
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
            _ => Err(candidates
                .none_usable(refused.iter().map(ToString::to_string).collect())
                .into()),
        }
    }

    /// Opens a library by path, or by bare name through the dynamic loader. The driver stands for CUPTI's being safe to
    /// enter: without one some releases crash at their first call.
    ///
    /// # Errors
    /// The file cannot be loaded, is something else, is a second one beside another, or is newer than the driver.
    pub fn open(file: &Path, driver: Driver) -> Result<Self> {
        // A driver runs programs of older CUDA, and not of newer.
        Self::open_if(file, driver, &|found| {
            (found > driver.major()).then_some((driver.major(), "driver"))
        })
    }

    /// Opens a library unless `other` says, of its CUDA major, which one is wanted instead and why; then it is closed again.
    fn open_if(
        file: &Path,
        driver: Driver,
        other: &dyn Fn(u32) -> Option<(u32, &'static str)>,
    ) -> Result<Self> {
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        let before = loading::mapped(STEM);
        if let Some(other) = before.iter().find(|other| is_another(other, file)) {
            return Err(Error::TwoLibraries {
                loaded: other.clone(),
                other: file.to_owned(),
            });
        }
        // SAFETY: opening runs the library's initialisers; that is what loading CUPTI means.
        let handle = unsafe { Handle::open(Some(file), RTLD_NOW | RTLD_LOCAL) };
        let handle = handle.map_err(|error| Error::Open {
            path: file.to_owned(),
            reason: loading::words(file, &error),
        })?;
        // SAFETY: a library of CUPTI's name; if it lacks one of its functions, none is called.
        let functions = unsafe { Functions::resolve(&handle) };
        let functions = functions.map_err(|symbol| Error::WrongLibrary {
            path: file.to_owned(),
            symbol,
        })?;
        let path =
            loading::file_of(functions.get_version as *const c_void).unwrap_or_else(|| file.to_owned());
        if let Some(known) = opened.iter().find(|library| library.0.path == path) {
            return match other(known.version().major) {
                None => Ok(*known),
                Some((wanted, why)) => Err(Error::OtherMajor {
                    path,
                    found: known.version().major,
                    wanted,
                    why,
                }),
            };
        }
        if let Some(other) = before.iter().find(|other| **other != path) {
            // A bare name led to another file than the one that is loaded; nothing of it was called.
            return Err(Error::TwoLibraries {
                loaded: other.clone(),
                other: path,
            });
        }
        let version = version(&functions, &path, driver)?;
        if let Some((wanted, why)) = other(version.major) {
            return Err(Error::OtherMajor {
                path,
                found: version.major,
                wanted,
                why,
            });
        }
        let library = Self(Box::leak(Box::new(Inner {
            path,
            handle,
            functions,
            version,
            lengths: [const { AtomicU32::new(NOT_ASKED) }; KINDS],
        })));
        log::debug!("{version} at {}", library.path().display());
        opened.push(library);
        Ok(library)
    }

    /// The release that it is of.
    #[must_use]
    pub fn version(self) -> Version {
        self.0.version
    }

    /// The file that it was loaded from.
    #[must_use]
    pub fn path(self) -> &'static Path {
        &self.0.path
    }

    /// How long this library's records of a kind are; none for kinds that it does not have.
    #[must_use]
    pub fn record_length(self, kind: Kind) -> Option<usize> {
        let Some(kept) = usize::try_from(kind.0).ok().and_then(|at| self.0.lengths.get(at)) else {
            return ask_length(&self.0.functions, kind);
        };
        match kept.load(Ordering::Relaxed) {
            NOT_ASKED => {
                let length = ask_length(&self.0.functions, kind);
                let word = length
                    .and_then(|length| u32::try_from(length).ok())
                    .unwrap_or(NONE);
                kept.store(word, Ordering::Relaxed);
                length
            }
            NONE => None,
            length => usize::try_from(length).ok(),
        }
    }

    /// The name of the function that a call's record has the number of.
    #[doc(alias = "cuptiGetCallbackName")]
    #[must_use]
    pub fn call_name(self, domain: Domain, function: u32) -> Option<String> {
        let mut name = std::ptr::null();
        // SAFETY: the pointer lives through the call; the library answers any numbers.
        let status = unsafe { (self.0.functions.callback_name)(domain.0, function, &mut name) };
        if !Status(status).is_success() || name.is_null() {
            return None;
        }
        // SAFETY: the library gives a C string of its own, which it never frees.
        let name = unsafe { CStr::from_ptr(name) };
        Some(name.to_string_lossy().into_owned())
    }

    /// All functions of a domain whose calls can be recorded, with their numbers.
    pub fn calls(self, domain: Domain) -> impl Iterator<Item = (u32, String)> {
        // Numbers begin at 1 and have few holes; how many there are differs from release to release.
        let mut unknown = 0;
        (1..MOST_CALLS)
            .map(move |function| (function, self.call_name(domain, function)))
            .take_while(move |(_, name)| {
                unknown = if name.is_some() { 0 } else { unknown + 1 };
                unknown < LONGEST_HOLE
            })
            .filter_map(|(function, name)| Some((function, name?)))
    }

    /// The number that records have for a stream of the driver's or the runtime's; null is the context's null stream.
    ///
    /// # Errors
    /// The library knows no such stream.
    ///
    /// # Safety
    /// `context` is null or a live context, and `stream` null or a live stream of it.
    #[doc(alias = "cuptiGetStreamIdEx")]
    pub unsafe fn stream_id(self, context: *mut c_void, stream: *mut c_void) -> Result<u32> {
        let mut id = 0;
        // SAFETY: the caller vouches for the handles; the number lives through the call.
        let status = unsafe { (self.0.functions.stream_id)(context, stream, 0, &mut id) };
        self.check("cuptiGetStreamIdEx", status).map(|()| id)
    }

    /// The number that records have for a context.
    ///
    /// # Errors
    /// The library knows no such context.
    ///
    /// # Safety
    /// `context` is a live context.
    #[doc(alias = "cuptiGetContextId")]
    pub unsafe fn context_id(self, context: *mut c_void) -> Result<u32> {
        let mut id = 0;
        // SAFETY: the caller vouches for the handle; the number lives through the call.
        let status = unsafe { (self.0.functions.context_id)(context, &mut id) };
        self.check("cuptiGetContextId", status).map(|()| id)
    }

    /// The file to name in `NVTX_INJECTION64_PATH`, before the process's first NVTX call, so that its ranges come as
    /// records. It is this library's own: another copy would be a second CUPTI.
    ///
    /// # Errors
    /// This release crashes with it, or takes no ranges in.
    pub fn nvtx_injection(self) -> Result<&'static Path> {
        if self.version().crashes_with_nvtx() {
            return Err(Error::CrashesWithNvtx {
                version: self.version(),
            });
        }
        // SAFETY: looked up, not called.
        let entry = unsafe { self.0.handle.get::<*const c_void>(b"InitializeInjectionNvtx2") };
        entry.map(|_| self.path()).map_err(|_| Error::WrongLibrary {
            path: self.0.path.clone(),
            symbol: "InitializeInjectionNvtx2",
        })
    }

    /// What [`Library::from_pointer`] makes a library of again, for C to carry.
    pub(crate) fn as_pointer(self) -> *mut c_void {
        std::ptr::from_ref(self.0).cast_mut().cast()
    }

    /// # Safety
    /// The pointer is of [`Library::as_pointer`].
    pub(crate) unsafe fn from_pointer(pointer: *mut c_void) -> Self {
        // SAFETY: the caller vouches for it; what it points to is never freed and never changed but by atomics.
        Self(unsafe { &*pointer.cast::<Inner>() })
    }

    pub(crate) fn functions(self) -> &'static Functions {
        &self.0.functions
    }

    /// The error of a call that did not answer success.
    pub(crate) fn check(self, call: &'static str, status: u32) -> Result<()> {
        match Status(status) {
            Status::SUCCESS => Ok(()),
            status => Err(Error::Call {
                call,
                version: self.version(),
                status,
            }),
        }
    }
}

impl Lengths for Library {
    fn length(&self, kind: Kind) -> Option<usize> {
        self.record_length(kind)
    }
}

/// Whether a path names another file than the one that is loaded; a bare name may be the same.
fn is_another(loaded: &Path, file: &Path) -> bool {
    let is_path = file.components().count() > 1;
    is_path && file.canonicalize().is_ok_and(|file| file != *loaded)
}

fn version(functions: &Functions, path: &Path, _: Driver) -> Result<Version> {
    let mut number = 0;
    // SAFETY: it takes a number to write to, in every release; the driver is loaded, without which 13.2's crashes.
    let status = Status(unsafe { (functions.get_version)(&mut number) });
    if !status.is_success() {
        return Err(Error::Unusable {
            path: path.to_owned(),
            status,
        });
    }
    Ok(Version::new(
        number,
        ask_length(functions, Kind::CONCURRENT_KERNEL),
    ))
}

/// Asks a library how long its records of a kind are: directly from 13.2 on, else by letting it walk over two made-up ones.
fn ask_length(functions: &Functions, kind: Kind) -> Option<usize> {
    if let Some(struct_size) = functions.struct_size {
        let mut size = 0;
        // SAFETY: the number lives through the call; 0 stands for this library's own version.
        let status = Status(unsafe { struct_size(kind.0, 0, &mut size) });
        return (status.is_success() && size > 0).then_some(size);
    }
    // Every word is the kind, so that wherever the second record begins it is of that kind too. Longer than two of any.
    let mut buffer = [(u64::from(kind.0) << 32) | u64::from(kind.0); 512];
    let bytes = size_of_val(&buffer);
    let start = buffer.as_mut_ptr().cast::<u8>();
    let mut record = std::ptr::null_mut();
    let mut places = [0usize; 2];
    for place in &mut places {
        // SAFETY: the buffer is aligned as records are, and so long; the library only computes where the next one lies.
        let status = Status(unsafe { (functions.next_record)(start, bytes, &mut record) });
        if !status.is_success() {
            return None;
        }
        *place = record.addr();
    }
    places[1].checked_sub(places[0]).filter(|length| *length > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_name_may_be_what_is_loaded_and_a_path_is_looked_at() {
        let loaded = std::env::current_exe()
            .expect("a path")
            .canonicalize()
            .expect("a path");
        assert!(!is_another(&loaded, Path::new("libcupti.so.13")));
        assert!(!is_another(&loaded, &loaded));
        assert!(is_another(&loaded, Path::new("/proc/self/maps")));
    }
}
