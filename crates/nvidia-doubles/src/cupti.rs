//! The double of libcupti, and the real libraries whose headers it is compiled with.
//!
//! [`releases`] finds the wheels that `scripts/setup.sh --test` installs; [`Release::double`] compiles the double with a
//! release's headers. It takes the driver's double beside it ([`crate::cuda::beside`]), as CUPTI takes a driver. What it can be
//! told is in `cupti/control.h`.

use std::collections::hash_map::DefaultHasher;
use std::ffi::{CStr, CString, c_char};
use std::hash::Hasher;
use std::path::PathBuf;

use libloading::os::unix::Library;

use crate::compile::{self, find, hash_folder, library_with};
use crate::{machine, nvtx};

/// Releases that are installed for tests, oldest first, by the names of their environments.
pub const RELEASES: [&str; 6] = ["11.7", "11.8", "12.4", "12.8", "13.0", "13.5"];

/// A real CUPTI with its headers.
#[derive(Clone, Debug)]
pub struct Release {
    /// As `12.4`.
    pub name: &'static str,
    /// The library.
    pub library: PathBuf,
    /// The folder with its headers.
    pub headers: PathBuf,
}

/// One of [`RELEASES`], if it is installed; the test is skipped where it is not, or fails where `JETLAG_REQUIRE_CUPTI` asks.
pub fn release(name: &'static str) -> Option<Release> {
    let folder = machine::environment(&format!("cupti-{name}"), "JETLAG_REQUIRE_CUPTI")?;
    let found = (
        find(&folder, &|file| file.starts_with("libcupti.so.")),
        find(&folder, &|file| file == "cupti_activity.h"),
    );
    let (Some(library), Some(header)) = found else {
        panic!("{} holds no CUPTI", folder.display());
    };
    Some(Release {
        name,
        library,
        headers: header.parent().expect("a folder").to_owned(),
    })
}

/// All of [`RELEASES`] that are installed.
pub fn releases() -> Vec<Release> {
    RELEASES.into_iter().filter_map(release).collect()
}

/// The folder with the headers that CUPTI's own include and that lie in other packages: only what they take of them.
pub fn stub_headers() -> PathBuf {
    compile::sources("cupti/stub")
}

impl Release {
    /// The double of this release. `None`, with a line that says why, where there is no C++ compiler.
    pub fn double(&self) -> Option<Double> {
        let major = self.name.split('.').next().expect("a major");
        let soname = match major {
            "11" => format!("libcupti.so.{}", self.name),
            _ => format!("libcupti.so.{major}"),
        };
        self.compile(&soname, &[])
    }

    /// A double of 11.4, which has no timestamp callback, from the headers of 11.7.
    pub fn double_as_11_4(&self) -> Option<Double> {
        assert_eq!(self.name, "11.7", "its headers are the nearest");
        self.compile("libcupti.so.11.4", &["DOUBLE_AS_114".to_owned()])
    }

    fn compile(&self, soname: &str, defines: &[String]) -> Option<Double> {
        let mut headers = vec![stub_headers(), self.headers.clone()];
        let mut defines = defines.to_vec();
        if let Some(folder) = nvtx::headers() {
            headers.push(folder);
            defines.push("DOUBLE_NVTX".to_owned());
        }
        // What it includes from other folders.
        let mut hash = DefaultHasher::new();
        for folder in [stub_headers(), compile::sources("cuda")] {
            hash_folder(&folder, &["h"], &mut hash).unwrap_or_else(|why| panic!("{why}"));
        }
        defines.push(format!("DOUBLE_INCLUDED={}", hash.finish()));
        let folder = library_with(
            soname,
            &compile::sources("cupti"),
            &["cupti", "clock", "driver", "nvtx"],
            &defines,
            &headers,
        )?;
        Some(Double {
            library: folder.join(soname),
            folder,
        })
    }
}

/// A compiled double.
#[derive(Clone, Debug)]
pub struct Double {
    /// The folder that holds it alone.
    pub folder: PathBuf,
    /// The library.
    pub library: PathBuf,
}

/// Something that happens, as CUPTI would see it; `cupti/control.h` says which kind uses what.
#[derive(Clone, Debug)]
#[repr(C)]
#[allow(missing_docs, reason = "cupti/control.h has the words")]
pub struct Activity {
    pub kind: u32,
    pub correlation: u32,
    pub device: u32,
    pub context: u32,
    pub stream: u32,
    pub function: u32,
    pub what: u32,
    pub source: u32,
    pub destination: u32,
    pub graph: u32,
    pub source_graph: u32,
    pub flags: u32,
    pub answer: u32,
    pub priority: i32,
    pub colour: u32,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub start: u64,
    pub end: u64,
    pub bytes: u64,
    pub graph_node: u64,
    pub source_node: u64,
    name: *const c_char,
    domain: *const c_char,
}

impl Activity {
    /// Of a kind (`CUpti_ActivityKind`), in context 1 and stream 7 of device 0, from `start` to `end`.
    pub fn new(kind: u32, start: u64, end: u64) -> Self {
        Self {
            kind,
            correlation: 0,
            device: 0,
            context: 1,
            stream: 7,
            function: 0,
            what: 0,
            source: 0,
            destination: 0,
            graph: 0,
            source_graph: 0,
            flags: 0,
            answer: 0,
            priority: 0,
            colour: 0,
            grid: [1; 3],
            block: [1; 3],
            start,
            end,
            bytes: 0,
            graph_node: 0,
            source_node: 0,
            name: std::ptr::null(),
            domain: std::ptr::null(),
        }
    }
}

/// Control of a loaded double.
#[derive(Debug)]
pub struct Control {
    library: Library,
}

impl Control {
    /// Of the double that the code under test has opened, or opens, by this path.
    pub fn open(double: &Double) -> Self {
        // SAFETY: the double's initialisers do nothing but make static objects.
        let library = unsafe { Library::new(&double.library) };
        let library = library.unwrap_or_else(|error| panic!("{}: {error}", double.library.display()));
        Self { library }
    }

    fn function<T: Copy>(&self, name: &str) -> T {
        // SAFETY: the double exports its functions with the types that its header says, which are the callers'.
        let found = unsafe { self.library.get::<T>(name.as_bytes()) };
        *found.unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Records an activity, if its kind is switched on.
    pub fn emit(&self, activity: &Activity, name: &[u8], domain: Option<&str>) {
        let emit: unsafe extern "C" fn(*const Activity) = self.function("cupti_double_emit");
        let name = CString::new(name).expect("no NUL");
        let domain = domain.map(|domain| CString::new(domain).expect("no NUL"));
        let mut activity = activity.clone();
        if !name.is_empty() {
            activity.name = name.as_ptr();
        }
        activity.domain = domain.as_ref().map_or(std::ptr::null(), |domain| domain.as_ptr());
        // SAFETY: the struct is the header's, and its texts live through the call.
        unsafe { emit(&activity) };
    }

    /// A node of a graph is made, or cloned of another.
    pub fn graph_node(&self, node: u64, original: Option<u64>) {
        let tell: unsafe extern "C" fn(u64, u64) = self.function("cupti_double_graph_node");
        // SAFETY: it takes two numbers.
        unsafe { tell(node, original.unwrap_or(0)) };
    }

    /// An order of `cupti/control.h`.
    pub fn tell(&self, order: &str, number: u64) {
        let tell: unsafe extern "C" fn(*const c_char, u64) = self.function("cupti_double_tell");
        let order = CString::new(order).expect("no NUL");
        // SAFETY: the text lives through the call.
        unsafe { tell(order.as_ptr(), number) };
    }

    /// An order that is about a kind.
    pub fn tell_of(&self, order: &str, kind: u32, number: u32) {
        self.tell(order, u64::from(kind) << 32 | u64::from(number));
    }

    /// Flushes, as nobody does who has ended its trace: what CUPTI has still comes back.
    pub fn flush(&self) {
        let flush: unsafe extern "C" fn(u32) -> u32 = self.function("cuptiActivityFlushAll");
        // SAFETY: it takes a number.
        unsafe { flush(1) };
    }

    /// What the double knows.
    pub fn ask(&self, what: &str) -> u64 {
        let ask: unsafe extern "C" fn(*const c_char) -> u64 = self.function("cupti_double_ask");
        let what = CString::new(what).expect("no NUL");
        // SAFETY: the text lives through the call.
        unsafe { ask(what.as_ptr()) }
    }

    /// Mistakes of who used it; empty if there were none.
    pub fn faults(&self) -> String {
        let faults: unsafe extern "C" fn() -> *const c_char = self.function("cupti_double_faults");
        // SAFETY: it gives a C string that lives until it is asked again.
        let text = unsafe { CStr::from_ptr(faults()) };
        text.to_string_lossy().into_owned()
    }
}
