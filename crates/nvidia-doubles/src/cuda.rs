//! The doubles of the CUDA driver, of NVRTC and of cuBLAS.
//!
//! The driver's double is read when a process loads it, so a test runs in a process of its own: [`Control::apply`] makes a
//! command find the double and tells it what to pretend; [`beside`] runs the body of a test so. What each variable means
//! stands in `cuda/control.h`.

use std::collections::hash_map::DefaultHasher;
use std::ffi::OsString;
use std::hash::Hasher;
use std::io::{Read, Seek};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::compile::{self, hash_folder};
use crate::machine;

/// The files of the driver's double, in the order in which they are compiled.
const FILES: [&str; 9] = [
    "control", "device", "kernels", "stream", "graph", "memory", "driver", "green", "observe",
];

/// Set in a process that [`beside`] started.
const INSIDE: &str = "JETLAG_CUDA_DOUBLE_TEST";

/// Longer than any test takes on a busy machine: what is not done by then hangs.
const LIMIT: Duration = Duration::from_secs(600);

/// What the driver's double pretends. One device of 16 multiprocessors and 8 GiB under CUDA 12.8, if nothing else is said.
#[derive(Clone, Debug)]
pub struct Control {
    driver: i32,
    variables: Vec<(String, OsString)>,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            driver: 12080,
            variables: Vec::new(),
        }
    }
}

impl Control {
    fn set(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables
            .push((format!("JETLAG_CUDA_DOUBLE_{name}"), value.into()));
        self
    }

    /// Any other variable of the process.
    pub fn variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.push((name.to_owned(), value.into()));
        self
    }

    /// The driver's version, as 12040: below 12.4 it has no green contexts, below 12.5 no streams for them.
    pub fn driver(mut self, version: i32) -> Self {
        self.driver = version;
        self.set("DRIVER", version.to_string())
    }

    /// How many devices there are; with none, `cuInit` says so.
    pub fn devices(self, count: u32) -> Self {
        self.set("DEVICES", count.to_string())
    }

    /// A device of each name and compute capability.
    pub fn mixed(self, devices: &[(&str, u16)]) -> Self {
        let names: Vec<&str> = devices.iter().map(|(name, _)| *name).collect();
        let capabilities: Vec<String> = devices
            .iter()
            .map(|(_, capability)| capability.to_string())
            .collect();
        self.devices(u32::try_from(devices.len()).expect("few devices"))
            .set("NAME", names.join(","))
            .set("CAPABILITY", capabilities.join(","))
    }

    /// The product name of each device.
    pub fn name(self, name: &str) -> Self {
        self.set("NAME", name)
    }

    /// As 87 for 8.7.
    pub fn capability(self, capability: u16) -> Self {
        self.set("CAPABILITY", capability.to_string())
    }

    /// A device that shares its memory with the processor.
    pub fn integrated(self) -> Self {
        self.set("INTEGRATED", "1")
    }

    /// The number of multiprocessors, at most 1024.
    pub fn multiprocessors(self, count: u32) -> Self {
        self.set("SMS", count.to_string())
    }

    /// Device memory; what goes beyond is refused as out of memory.
    pub fn memory_bytes(self, bytes: u64) -> Self {
        self.set("MEMORY", bytes.to_string())
    }

    /// How fast the two copy engines are.
    pub fn copies(self, h2d_bytes_per_s: u64, d2h_bytes_per_s: u64) -> Self {
        self.set("H2D_BYTES_S", h2d_bytes_per_s.to_string())
            .set("D2H_BYTES_S", d2h_bytes_per_s.to_string())
    }

    /// Kernels do not slow each other down.
    pub fn without_interference(self) -> Self {
        self.set("SHARING", "off")
    }

    /// Kernels of the highest stream priority have the multiprocessors to themselves.
    pub fn with_priorities(self) -> Self {
        self.set("SHARING", "priority")
    }

    /// The nth operation (the first is 1) never completes.
    pub fn hang(self, nth: u64) -> Self {
        self.set("HANG", nth.to_string())
    }

    /// The nth operation fails with this `CUresult`, and every call after it.
    pub fn fault(self, nth: u64, code: u32) -> Self {
        self.set("FAULT", format!("{nth}:{code}"))
    }

    /// The host learns of these recordings of events, of which the first is 1, so much later than the device has passed them.
    pub fn late(self, recordings: RangeInclusive<u64>, by: Duration) -> Self {
        let (from, to) = recordings.into_inner();
        self.set("LATE", format!("{from}-{to}:{}", by.as_micros()))
    }

    /// Orders as `cuMemAlloc_v2:3:2`: the third call answers `CUDA_ERROR_OUT_OF_MEMORY`; `3+` for all from there on.
    pub fn fail(self, orders: &[&str]) -> Self {
        self.set("FAIL", orders.join(","))
    }

    /// Where an MPS daemon would listen.
    pub fn mps(mut self, folder: &Path) -> Self {
        self.variables
            .push(("CUDA_MPS_PIPE_DIRECTORY".to_owned(), folder.into()));
        self
    }

    /// Where the log goes; see [`read_log`].
    pub fn log(self, file: &Path) -> Self {
        self.set("LOG", file)
    }

    /// Lets a command's process find the double and pretend this. `None`, with a line that says why, where there is no
    /// C++ compiler.
    pub fn apply(&self, command: &mut Command) -> Option<()> {
        let folder = driver(self)?;
        let before = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let paths = std::iter::once(folder).chain(std::env::split_paths(&before));
        let paths = std::env::join_paths(paths).expect("target folders have no colon");
        command.env("LD_LIBRARY_PATH", paths);
        command.envs(self.variables.iter().cloned());
        Some(())
    }
}

/// The folder with libcuda.so.1's double for the process's `LD_LIBRARY_PATH`, with the functions that the driver of this
/// version has. `None`, with a line that says why, where there is no C++ compiler.
pub fn driver(control: &Control) -> Option<PathBuf> {
    let functions = match control.driver {
        ..12040 => 11040,
        12040..12050 => 12040,
        _ => 12050,
    };
    compile::library(
        "libcuda.so.1",
        &compile::sources("cuda"),
        &FILES,
        &[format!("DOUBLE_DRIVER={functions}"), included()],
    )
}

/// Names the state of what the double includes from other folders, jetlag's kernels among it: others make another double.
fn included() -> String {
    let mut hash = DefaultHasher::new();
    for (folder, extension) in [
        (machine::repository().join("src/gpu/kernels"), "cu"),
        (compile::sources("tensorrt"), "h"),
    ] {
        hash_folder(&folder, &[extension], &mut hash).unwrap_or_else(|why| panic!("{why}"));
    }
    format!("DOUBLE_INCLUDED={}", hash.finish())
}

/// The folder for `JETLAG_NVRTC` with NVRTC's double, if it can be made here.
pub fn nvrtc() -> Option<PathBuf> {
    compile::library("libnvrtc.so.12", &compile::sources("cuda"), &["nvrtc"], &[])
}

/// The folder for `JETLAG_CUBLAS` with cuBLAS's double, if it can be made here.
pub fn cublas() -> Option<PathBuf> {
    compile::library("libcublas.so.12", &compile::sources("cuda"), &["cublas"], &[])
}

/// What the processes that wrote to this log called, and what they did not give back: one object each.
pub fn read_log(file: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}")))
        .collect()
}

/// Runs a test's body in a process that finds the double: this test program again, with this test alone. `test` is the
/// test's full name, as `cargo test` prints it. What `control` makes impossible here is skipped.
pub fn beside(test: &str, control: &Control, body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    let mut command = Command::new(std::env::current_exe().expect("a test program has a path"));
    command.args([test, "--exact", "--nocapture"]).env(INSIDE, "1");
    if control.apply(&mut command).is_none() {
        return;
    }
    let mut said = tempfile::tempfile().expect("a temporary file");
    let copy = || Stdio::from(said.try_clone().expect("a file can be duplicated"));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(copy())
        .stderr(copy())
        .spawn()
        .expect("the test program starts again");
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            break Some(status);
        }
        if begin.elapsed() > LIMIT {
            let _ = child.kill();
            let _ = child.wait();
            break None;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let mut text = String::new();
    let _ = said.rewind().and_then(|()| said.read_to_string(&mut text));
    let Some(status) = status else {
        panic!("not done after {LIMIT:?}:\n{text}");
    };
    assert!(status.success(), "{status}:\n{text}");
    assert!(
        text.contains("1 passed"),
        "{test} names no test of this program:\n{text}"
    );
}
