//! NVIDIA's headers of NVTX 3, which the doubles of TensorRT (it gives ranges) and of CUPTI (it takes them) are compiled with, and
//! a module that NVTX is compiled into.
//!
//! A process's modules look for the tool at their first call, in the file that `NVTX_INJECTION64_PATH` names: set it before.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libloading::os::unix::Library;

use crate::compile::{self, find, library_with};
use crate::machine;

/// Names the tool's library, the double of CUPTI for one.
pub const TOOL: &str = "NVTX_INJECTION64_PATH";

/// The folder that holds `nvtx3/nvToolsExt.h`: of the wheel that `scripts/setup.sh --test` installs, else of the package
/// `nvtx-sys`, jetlag's own, where cargo has fetched it. `None`, with a line that says why: the doubles are then without ranges.
pub fn headers() -> Option<PathBuf> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = FOUND.get_or_init(|| in_wheel().or_else(in_package)).clone();
    if found.is_none() {
        machine::missing(
            &["JETLAG_REQUIRE_CUPTI"],
            "the doubles give and take no NVTX ranges: the headers are neither in .venvs/nvtx (scripts/setup.sh --test makes \
             it) nor among cargo's sources (nvtx-sys)",
        );
    }
    found
}

fn in_wheel() -> Option<PathBuf> {
    folder_of(&find(&machine::environments().join("nvtx"), &is_header)?)
}

fn in_package() -> Option<PathBuf> {
    let home = machine::variable("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(machine::variable("HOME")?).join(".cargo")))?;
    let children = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
    };
    let packages = children(&home.join("registry/src"));
    let mut packages: Vec<PathBuf> = packages.iter().flat_map(|source| children(source)).collect();
    packages.retain(|package| {
        let name = package
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        name.starts_with("nvtx-sys-")
    });
    packages.sort();
    folder_of(&find(packages.last()?, &is_header)?)
}

fn is_header(name: &str) -> bool {
    name == "nvToolsExt.h"
}

fn folder_of(header: &Path) -> Option<PathBuf> {
    Some(header.parent()?.parent()?.to_owned())
}

/// A module of the process that NVTX is compiled into.
#[derive(Debug)]
pub struct Module {
    library: Library,
    /// A copy of the file, so that each is a module of its own.
    _file: tempfile::TempDir,
}

/// What a module calls a domain; the default one is null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Domain(*mut c_void);

// SAFETY: the tool takes its handles from any thread.
unsafe impl Send for Domain {}
// SAFETY: as above.
unsafe impl Sync for Domain {}

impl Domain {
    /// Whether no tool listens.
    pub fn is_none(self) -> bool {
        self.0.is_null()
    }
}

impl Module {
    /// One that has not looked for a tool yet. `None`, with a line that says why, where it cannot be compiled.
    pub fn load() -> Option<Self> {
        let (name, headers) = ("libmodule.so", headers()?);
        let folder = library_with(name, &compile::sources("nvtx"), &["module"], &[], &[headers])?;
        let own = tempfile::tempdir().expect("a folder");
        let file = own.path().join(name);
        std::fs::copy(folder.join(name), &file).expect("copied");
        // SAFETY: the module's initialisers do nothing.
        let library = unsafe { Library::new(&file) };
        Some(Self {
            library: library.unwrap_or_else(|error| panic!("{}: {error}", file.display())),
            _file: own,
        })
    }

    fn function<T: Copy>(&self, name: &str) -> T {
        // SAFETY: module.cpp exports its functions with the types that the callers below name.
        let found = unsafe { self.library.get::<T>(name.as_bytes()) };
        *found.unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// `nvtxDomainCreateA`.
    pub fn domain(&self, name: &str) -> Domain {
        let name = CString::new(name).expect("no NUL");
        let create: unsafe extern "C" fn(*const c_char) -> *mut c_void = self.function("module_domain");
        // SAFETY: the text lives through the call.
        Domain(unsafe { create(name.as_ptr()) })
    }

    /// `nvtxDomainRangePushEx`: the depth, or less than 0.
    pub fn push(&self, domain: Domain, name: &CStr) -> i32 {
        self.push_by("module_push", domain, name)
    }

    /// The same by a text that is registered first.
    pub fn push_registered(&self, domain: Domain, name: &CStr) -> i32 {
        self.push_by("module_push_registered", domain, name)
    }

    fn push_by(&self, function: &str, domain: Domain, name: &CStr) -> i32 {
        let push: unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int = self.function(function);
        // SAFETY: the domain is the tool's, and the text lives through the call.
        unsafe { push(domain.0, name.as_ptr()) }
    }

    /// The same with payload, category and colour.
    pub fn push_full(&self, domain: Domain, name: &CStr, payload: u64, category: u32, colour: u32) -> i32 {
        type Push = unsafe extern "C" fn(*mut c_void, *const c_char, u64, u32, u32) -> c_int;
        let push: Push = self.function("module_push_full");
        // SAFETY: the domain is the tool's, and the text lives through the call.
        unsafe { push(domain.0, name.as_ptr(), payload, category, colour) }
    }

    /// `nvtxDomainRangePop`: the depth of what ends, or less than 0.
    pub fn pop(&self, domain: Domain) -> i32 {
        let pop: unsafe extern "C" fn(*mut c_void) -> c_int = self.function("module_pop");
        // SAFETY: the domain is the tool's.
        unsafe { pop(domain.0) }
    }

    /// `nvtxDomainRangeStartEx`.
    pub fn start(&self, domain: Domain, name: &CStr) -> u64 {
        let start: unsafe extern "C" fn(*mut c_void, *const c_char) -> u64 = self.function("module_start");
        // SAFETY: the domain is the tool's, and the text lives through the call.
        unsafe { start(domain.0, name.as_ptr()) }
    }

    /// `nvtxDomainRangeEnd`.
    pub fn end(&self, domain: Domain, range: u64) {
        let end: unsafe extern "C" fn(*mut c_void, u64) = self.function("module_end");
        // SAFETY: the domain is the tool's.
        unsafe { end(domain.0, range) };
    }

    /// `nvtxRangePushA`, in the default domain.
    pub fn push_plain(&self, name: &CStr) -> i32 {
        let push: unsafe extern "C" fn(*const c_char) -> c_int = self.function("module_push_plain");
        // SAFETY: the text lives through the call.
        unsafe { push(name.as_ptr()) }
    }

    /// `nvtxRangePushW`.
    pub fn push_wide(&self, name: &str) -> i32 {
        // wchar_t is as wide as a char of Rust's on Linux.
        let wide: Vec<u32> = name.chars().map(u32::from).chain([0]).collect();
        let push: unsafe extern "C" fn(*const u32) -> c_int = self.function("module_push_wide");
        // SAFETY: the text ends with a 0 and lives through the call.
        unsafe { push(wide.as_ptr()) }
    }

    /// `nvtxRangePop`.
    pub fn pop_plain(&self) -> i32 {
        let pop: unsafe extern "C" fn() -> c_int = self.function("module_pop_plain");
        // SAFETY: it takes nothing.
        unsafe { pop() }
    }

    /// `nvtxMarkA`.
    pub fn mark(&self, name: &CStr) {
        let mark: unsafe extern "C" fn(*const c_char) = self.function("module_mark");
        // SAFETY: the text lives through the call.
        unsafe { mark(name.as_ptr()) };
    }
}
