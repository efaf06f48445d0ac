//! `nvinfer1::IErrorRecorder`: errors with their codes, into the library's history.
//!
//! Where a recorder is set, some releases send errors to it and not to the logger, so it is needed to hear all.

use std::collections::VecDeque;
use std::ffi::{CString, c_char};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::logger::Logger;
use super::{Callback, Function, Table, api_language, destructor, function, guarded, interface_info, text};
use crate::messages::{Message, Severity};
use crate::sys::method::This;
use crate::sys::values::ErrorCode;
use crate::version::{Era, Version};

/// Errors that the library can read back; the longest description that it must be able to hold is 127 bytes.
const KEPT: usize = 16;

/// What the recorder holds.
#[derive(Debug)]
pub(crate) struct Recorder {
    version: Version,
    logger: &'static Logger,
    errors: Mutex<Recorded>,
    references: AtomicI32,
}

#[derive(Debug, Default)]
struct Recorded {
    errors: VecDeque<(i32, CString)>,
    overflowed: bool,
}

impl Recorder {
    fn lock(&self) -> MutexGuard<'_, Recorded> {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

interface_info!(interface_info, c"IErrorRecorder");

static SHORT: Table<10> = Table::new([
    function!(destructor),
    function!(destructor),
    function!(error_count),
    function!(error_code),
    function!(error_text),
    function!(has_overflowed),
    function!(clear),
    function!(report_error),
    function!(acquire),
    function!(release),
]);
static WITH_HEAD: Table<12> = Table::new([
    function!(api_language),
    function!(interface_info),
    function!(destructor),
    function!(destructor),
    function!(error_count),
    function!(error_code),
    function!(error_text),
    function!(has_overflowed),
    function!(clear),
    function!(report_error),
    function!(acquire),
    function!(release),
]);

/// A recorder that feeds `logger`'s history; one a library, never freed.
pub(crate) fn recorder(version: Version, logger: &'static Logger) -> Callback<Recorder> {
    let era: Era = version.era();
    let vtable: *const Function = if era.callbacks_have_interface_head() {
        WITH_HEAD.address_point()
    } else {
        SHORT.address_point()
    };
    Callback::new(
        vtable,
        Recorder {
            version,
            logger,
            errors: Mutex::default(),
            references: AtomicI32::new(0),
        },
    )
}

/// The recorder behind `this`.
///
/// # Safety
/// As [`Callback::from_this`]; recorders are never freed.
unsafe fn body(this: This) -> &'static Recorder {
    // SAFETY: the library passes the recorder that it was given, which is never freed.
    unsafe { Callback::<Recorder>::from_this(this) }.body()
}

extern "C" fn error_count(this: This) -> i32 {
    guarded("the error recorder", 0, || {
        // SAFETY: see `body`.
        i32::try_from(unsafe { body(this) }.lock().errors.len()).unwrap_or(i32::MAX)
    })
}

extern "C" fn error_code(this: This, index: i32) -> i32 {
    guarded("the error recorder", 0, || {
        // SAFETY: see `body`.
        let recorded = unsafe { body(this) }.lock();
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        recorded.errors.get(index).map_or(0, |(code, _)| *code)
    })
}

extern "C" fn error_text(this: This, index: i32) -> *const c_char {
    guarded("the error recorder", c"".as_ptr(), || {
        // SAFETY: see `body`. The text lives until `clear` or until newer errors push it out, as documented for
        // this interface.
        let recorded = unsafe { body(this) }.lock();
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        recorded
            .errors
            .get(index)
            .map_or(c"".as_ptr(), |(_, text)| text.as_ptr())
    })
}

extern "C" fn has_overflowed(this: This) -> bool {
    guarded("the error recorder", false, || {
        // SAFETY: see `body`.
        unsafe { body(this) }.lock().overflowed
    })
}

extern "C" fn clear(this: This) {
    guarded("the error recorder", (), || {
        // SAFETY: see `body`.
        let mut recorded = unsafe { body(this) }.lock();
        *recorded = Recorded::default();
    });
}

/// Answers whether the error is fatal: never, since every failing call is looked at where it is made.
extern "C" fn report_error(this: This, code: i32, description: *const c_char) -> bool {
    guarded("the error recorder", false, || {
        // SAFETY: see `body`; the description is a C string that is valid during the call.
        let (recorder, description) = unsafe { (body(this), text(description)) };
        log::error!(target: "tensorrt", "{description}");
        recorder.logger.body().push(Message {
            severity: Severity::Error,
            code: ErrorCode::from_value(code, recorder.version),
            text: description.to_string(),
        });
        let mut recorded = recorder.lock();
        if recorded.errors.len() == KEPT {
            recorded.errors.pop_front();
            recorded.overflowed = true;
        }
        let description = CString::new(description.replace('\0', " ")).unwrap_or_default();
        recorded.errors.push_back((code, description));
        false
    })
}

extern "C" fn acquire(this: This) -> i32 {
    guarded("the error recorder", 1, || {
        // SAFETY: see `body`.
        unsafe { body(this) }.references.fetch_add(1, Ordering::Relaxed) + 1
    })
}

extern "C" fn release(this: This) -> i32 {
    guarded("the error recorder", 0, || {
        // SAFETY: see `body`.
        unsafe { body(this) }.references.fetch_sub(1, Ordering::Relaxed) - 1
    })
}
