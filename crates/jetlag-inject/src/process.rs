//! The begin and the end of a traced process: its spool, the thread that writes it, the trace of its GPU.

use jetlag_record::whole;
use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use cupti_dyn::monotonic_ns;
use jetlag_activity::spool::{self, Began, Note, Writer};

use crate::gpu::Gpu;
use crate::ranges;
use crate::shared::{self, Shared};
use crate::writing::{self, Order};

/// How long the end of the program waits for the last of the spool.
const LAST: Duration = Duration::from_secs(10);
/// Names that are tried for a spool: a process that execs has one for each program.
const TRIES: u32 = 1000;
/// An argument list is kept up to so many bytes.
const MOST_ARGUMENTS: usize = 16 << 10;

/// What there is once.
pub(crate) struct Process {
    shared: &'static Shared,
    orders: Sender<Order>,
}

static PROCESS: OnceLock<Option<Process>> = OnceLock::new();

/// Begins once; `None` where nobody asked for it or there is nowhere to write to.
pub(crate) fn begin() -> Option<&'static Process> {
    let process = PROCESS.get_or_init(start).as_ref()?;
    process.shared.is_on().then_some(process)
}

fn start() -> Option<Process> {
    let folder = std::env::var_os(spool::FOLDER).filter(|folder| !folder.is_empty())?;
    // Whatever goes wrong here is nothing to print.
    std::panic::set_hook(Box::new(|_| {}));
    let began = Began {
        version: spool::VERSION.to_owned(),
        process: std::process::id(),
        parent: std::os::unix::process::parent_id(),
        arguments: arguments(),
        at_ns: i64::try_from(monotonic_ns()).unwrap_or(i64::MAX),
        not_written: spool::not_written(0),
    };
    let file = create(Path::new(&folder), began.process)?;
    let shared = shared::begin()?;
    let (orders, to_do) = channel();
    let mut writer = Writer::new(file, &began);
    // At once: an empty file is then that of a process that could not write a word.
    if writer.flush().is_err() {
        let _ = writer.get_ref().set_len(0);
        return None;
    }
    let started = without_signals(|| {
        let thread = std::thread::Builder::new().name("jetlag-spool".to_owned());
        thread.spawn(move || writing::run(shared, writer, &to_do))
    });
    shared.set_writer(started.ok()?.thread().clone());
    at_exit();
    Some(Process { shared, orders })
}

impl Process {
    /// CUDA is being initialised: begins to trace it, or says why not.
    pub(crate) fn trace_gpu(&self) {
        static ONCE: AtomicBool = AtomicBool::new(false);
        if ONCE.swap(true, Ordering::Relaxed) {
            return;
        }
        let order = match Gpu::begin() {
            Ok(gpu) => Order::Gpu(Box::new(gpu)),
            Err(why) => Order::Note(Note::Untraced(why)),
        };
        // Without the thread nothing is written any more.
        let _ = self.orders.send(order);
        self.shared.wake();
        // Later than the library's own, so that ours is called before it.
        at_exit();
    }

    /// Everything is written; no range is taken in after this.
    fn end(&self) {
        if !self.shared.is_on() {
            return;
        }
        ranges::leave(self.shared);
        self.shared.stop();
        let (done, wait) = channel();
        if self.orders.send(Order::End(done)).is_ok() {
            self.shared.wake();
            let _ = wait.recv_timeout(LAST);
        }
    }
}

/// A new file in the folder, whose name no other program of this process has.
fn create(folder: &Path, process: u32) -> Option<File> {
    for n in 0..TRIES {
        let path = folder.join(format!("{process}-{n}.{}", spool::EXTENSION));
        match whole::private(&path) {
            Ok(file) => return Some(file),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(_) => return None,
        }
    }
    None
}

/// The program's arguments; what is not UTF-8 is replaced.
fn arguments() -> Vec<String> {
    let mut line = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    line.truncate(MOST_ARGUMENTS);
    let line = line.strip_suffix(b"\0").unwrap_or(&line);
    line.split(|byte| *byte == 0)
        .map(|argument| String::from_utf8_lossy(argument).into_owned())
        .collect()
}

// libc's, which Rust's library is linked to.
unsafe extern "C" {
    fn __cxa_atexit(
        function: unsafe extern "C" fn(*mut c_void),
        argument: *mut c_void,
        library: *mut c_void,
    ) -> c_int;
    fn pthread_sigmask(how: c_int, set: *const Signals, old: *mut Signals) -> c_int;
}

/// `sigset_t` of glibc and musl.
#[repr(C)]
struct Signals([u64; 16]);

/// Starts a thread that takes none of the program's signals.
fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    const SET: c_int = 2; // SIG_SETMASK
    let (all, mut before) = (Signals([u64::MAX; 16]), Signals([0; 16]));
    // SAFETY: both sets live through the call and are as long as C's.
    let changed = unsafe { pthread_sigmask(SET, &all, &mut before) } == 0;
    let started = start();
    if changed {
        // SAFETY: as above.
        unsafe { pthread_sigmask(SET, &before, std::ptr::null_mut()) };
    }
    started
}

/// Has the end called when the program exits.
fn at_exit() {
    unsafe extern "C" fn end(_: *mut c_void) {
        crate::for_c((), || {
            if let Some(Some(process)) = PROCESS.get() {
                process.end();
            }
        });
    }
    // SAFETY: the function lives as long as the process: this library is never unloaded (build.rs).
    unsafe { __cxa_atexit(end, std::ptr::null_mut(), std::ptr::null_mut()) };
}
