//! `nvinfer1::ILogger`: into [`log`] under the target `tensorrt`, and into the library's history.

use std::ffi::c_char;

use super::{Callback, Function, Table, api_language, destructor, function, guarded, interface_info, text};
use crate::messages::{History, Message, Severity};
use crate::sys::method::This;
use crate::version::Era;

interface_info!(interface_info, c"ILogger");

static SHORT: Table<3> = Table::new([function!(log), function!(destructor), function!(destructor)]);
static WITH_HEAD: Table<5> = Table::new([
    function!(api_language),
    function!(interface_info),
    function!(destructor),
    function!(destructor),
    function!(log),
]);

/// A logger; a library keeps the first one that it is given, so there is one a library and it is never freed.
pub(crate) type Logger = Callback<History>;

pub(crate) fn logger(era: Era) -> Logger {
    let vtable: *const Function = if era.logger_has_interface_head() {
        WITH_HEAD.address_point()
    } else {
        SHORT.address_point()
    };
    Callback::new(vtable, History::default())
}

/// Called from any thread of the library.
extern "C" fn log(this: This, severity: i32, line: *const c_char) {
    guarded("the logger", (), || {
        let severity = Severity::from_number(severity);
        let kept = severity <= Severity::Warning;
        if !kept && !log::log_enabled!(target: "tensorrt", severity.level()) {
            return;
        }
        // SAFETY: the library passes the logger that it was given, which is never freed, and a C string that is
        // valid during the call.
        let (logger, line) = unsafe { (Logger::from_this(this), text(line)) };
        log::log!(target: "tensorrt", severity.level(), "{line}");
        if kept {
            logger.body().push(Message {
                severity,
                code: None,
                text: line.into_owned(),
            });
        }
    });
}
