//! Objects that TensorRT calls: loggers, error recorders, progress monitors, profilers, calibrators, output
//! allocators.
//!
//! Each is a C++ object made by hand: its first word points to a vtable of `extern "C"` functions, laid out as
//! the era wants it (with or without the four-slot interface head). The functions turn pointers into Rust values
//! and call a trait object behind the first word. They are `noexcept` in C++: a panic is caught, logged, and
//! turned into the answer that ends the operation.

pub(crate) mod allocator;
pub(crate) mod calibrator;
pub(crate) mod logger;
pub(crate) mod profiler;
pub(crate) mod progress;
pub(crate) mod recorder;

use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_void};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

use crate::sys::layout::InterfaceInfo;
use crate::sys::method::This;

/// One entry of a vtable.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Function(pub(crate) *const c_void);

// SAFETY: an address of code, valid in every thread.
unsafe impl Sync for Function {}
// SAFETY: as above.
unsafe impl Send for Function {}

/// A vtable as the Itanium C++ ABI lays it out: offset-to-top and type information (none) stand before the
/// address point.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Table<const N: usize> {
    offset_to_top: isize,
    type_information: usize,
    slots: [Function; N],
}

impl<const N: usize> Table<N> {
    pub(crate) const fn new(slots: [Function; N]) -> Self {
        Self {
            offset_to_top: 0,
            type_information: 0,
            slots,
        }
    }

    /// The address point, which objects carry as their first word.
    pub(crate) const fn address_point(&'static self) -> *const Function {
        self.slots.as_ptr()
    }
}

/// An object for C++: a vtable pointer, and the Rust value that its functions work on.
#[repr(C)]
pub(crate) struct Callback<T> {
    vtable: *const Function,
    body: T,
}

// SAFETY: the vtable is a static; the body decides.
unsafe impl<T: Send> Send for Callback<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Callback<T> {}

impl<T> fmt::Debug for Callback<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Callback")
    }
}

impl<T> Callback<T> {
    pub(crate) const fn new(vtable: *const Function, body: T) -> Self {
        Self { vtable, body }
    }

    /// The pointer for C++. It stays valid while the (boxed or static) object does.
    pub(crate) const fn as_ptr(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    pub(crate) const fn body(&self) -> &T {
        &self.body
    }

    /// # Safety
    /// `this` was given out by [`Self::as_ptr`] of an object that is alive for `'a`.
    unsafe fn from_this<'a>(this: This) -> &'a Self {
        // SAFETY: the caller vouches for it.
        unsafe { &*this.cast::<Self>() }
    }
}

/// A callback on the heap that C++ holds the address of. Not a `Box`, whose address is its owner's alone while it moves.
pub(crate) struct Given<T>(NonNull<Callback<T>>);

// SAFETY: it owns the callback as a box does.
unsafe impl<T: Send> Send for Given<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Given<T> {}

impl<T> Given<T> {
    fn new(callback: Callback<T>) -> Self {
        Self(NonNull::from(Box::leak(Box::new(callback))))
    }

    /// The pointer for C++, valid until this is dropped.
    pub(crate) const fn as_ptr(&self) -> *mut c_void {
        self.0.as_ptr().cast()
    }
}

impl<T> Drop for Given<T> {
    fn drop(&mut self) {
        // SAFETY: made of a box, and nobody calls it any more: who holds this has told C++ or deleted the caller.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl<T> fmt::Debug for Given<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Given")
    }
}

/// Runs a callback's body; a panic becomes `otherwise`.
fn guarded<R>(what: &'static str, otherwise: R, body: impl FnOnce() -> R) -> R {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        // The log sink is foreign code as well.
        let _ = catch_unwind(|| log::error!("a panic in {what} was caught; it cannot cross into C++"));
        otherwise
    })
}

/// A C string from the library; null is empty, what is not UTF-8 is replaced.
///
/// # Safety
/// `text` is null or points to a NUL-terminated string that stays unchanged for `'a`.
pub(crate) unsafe fn text<'a>(text: *const c_char) -> Cow<'a, str> {
    if text.is_null() {
        return Cow::Borrowed("");
    }
    // SAFETY: not null; the caller vouches for the rest.
    unsafe { CStr::from_ptr(text) }.to_string_lossy()
}

/// `IVersionedInterface::getAPILanguage`: 0, which is C++.
pub(crate) extern "C" fn api_language(_this: This) -> i32 {
    0
}

/// Both destructors: these objects belong to Rust, and no release calls them.
pub(crate) extern "C" fn destructor(_this: This) {}

/// Makes a `getInterfaceInfo` for an interface's name and version 1.0, which every release here expects.
macro_rules! interface_info {
    ($name:ident, $kind:literal) => {
        extern "C" fn $name(_this: $crate::sys::method::This) -> $crate::sys::layout::InterfaceInfo {
            $crate::callback::interface($kind)
        }
    };
}
pub(crate) use interface_info;

pub(crate) const fn interface(kind: &'static CStr) -> InterfaceInfo {
    InterfaceInfo {
        kind: kind.as_ptr(),
        major: 1,
        minor: 0,
    }
}

/// `function!(f)`: the address of an `extern "C"` function as a vtable entry.
macro_rules! function {
    ($function:expr) => {
        $crate::callback::Function($function as *const std::ffi::c_void)
    };
}
pub(crate) use function;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_the_answer_that_ends_the_operation() {
        assert!(!guarded("a test", false, || panic!("caught")));
        assert!(guarded("a test", false, || true));
    }

    #[test]
    fn null_and_broken_strings_are_read() {
        // SAFETY: null, and a literal.
        unsafe {
            assert_eq!(text(std::ptr::null()), "");
            assert_eq!(text(c"caf\xE9".as_ptr()), "caf\u{FFFD}");
        }
    }
}
