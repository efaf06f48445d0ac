//! The library that `jetlag trace` has loaded into other people's programs.
//!
//! The CUDA driver calls [`InitializeInjection`] in `cuInit`, and each module with NVTX calls [`InitializeInjectionNvtx2`] at its first
//! NVTX call; either may come first. `process` is the begin and the end, `shared` what all threads have in common, `nvtx` takes calls in,
//! `ranges` makes ranges of them, `gpu` holds the trace of CUPTI, and `writing` is the thread that writes the spool
//! (`jetlag_activity::spool`), which `jetlag trace` reads.
//!
//! # What holds at all times
//! * No panic crosses into C, and nothing is printed: what goes wrong is a note in the spool.
//! * A call of the program waits for no disk and no device. Memory is bounded, and what is beyond is counted.
//! * A child of a fork that did not exec writes nothing: the file is its parent's, which tells how many ranges its children had.
//! * Without the variable that names the folder, nothing is done.
#![allow(
    unsafe_code,
    reason = "C calls it with C's texts; each block states the fact that it relies on"
)]

mod gpu;
mod nvtx;
mod process;
mod range;
mod ranges;
mod shared;
mod writing;

use std::ffi::{c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs this for C: `otherwise` where it panics, which would be a mistake of ours.
fn for_c<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(otherwise)
}

/// The CUDA driver calls it in `cuInit`, where `CUDA_INJECTION64_PATH` names this library. Answers 1 if it is content.
#[allow(non_snake_case, reason = "the driver's name for it")]
#[unsafe(no_mangle)]
pub extern "C" fn InitializeInjection() -> c_int {
    for_c(0, || {
        if let Some(process) = process::begin() {
            process.trace_gpu();
        }
        1
    })
}

/// Each module with NVTX calls it at its first NVTX call, where `NVTX_INJECTION64_PATH` names this library. Answers 1 if ranges are
/// taken in.
///
/// # Safety
/// `table_of` is what NVTX's headers say: it gives tables of functions by number.
#[allow(non_snake_case, reason = "NVTX's name for it")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn InitializeInjectionNvtx2(table_of: Option<nvtx::TableOf>) -> c_int {
    for_c(0, || {
        let (Some(table_of), Some(_)) = (table_of, process::begin()) else {
            return 0;
        };
        // SAFETY: the caller vouches for it.
        c_int::from(unsafe { nvtx::attach(table_of) })
    })
}

/// For programs without NVTX, such as a script (`examples/jetlag_ranges.py`): a range begins in this thread.
///
/// # Safety
/// `name` is null, or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn jetlag_range_push(name: *const c_char) {
    for_c((), || {
        if process::begin().is_some() {
            // SAFETY: the caller vouches for it.
            let name = unsafe { nvtx::bytes(name) };
            ranges::push(None, nvtx::named(name), None);
        }
    });
}

/// The range that began last in this thread ends; `items` says how many a batch had, and less than 0 nothing.
#[unsafe(no_mangle)]
pub extern "C" fn jetlag_range_pop(items: i64) {
    for_c((), || {
        if process::begin().is_some() {
            if items >= 0 {
                ranges::items(items);
            }
            ranges::pop(None);
        } else {
            ranges::passed_over();
        }
    });
}
