//! CUPTI's activity records of CUDA 11.4 to 13.5, and of later releases by the same rule, found and loaded at run time.
//!
//! Nothing of NVIDIA's is linked or needed to build. A program that uses CUDA learns from CUPTI which kernels, copies, calls
//! and waits it is made of; this crate finds the installed library, asks it how its records are laid out, and gives them as
//! types.
//!
//! # Layers
//! * [`sys`] *declares*: kinds, enum values, functions. [`record`] has the fields of each record at their offsets.
//! * calls are *checked*: an answer that is no success is an [`Error`] with the status by its name and what to do next. What a
//!   release does not have, or refuses, is a [`Refusal`], and the rest goes on.
//! * values *own*: [`Driver`] → [`Library`] → [`Session`] → [`Ended`].
//!
//! # What holds at all times
//! * The driver comes first: without a libcuda that can be loaded, CUPTI is not entered, since some releases crash then.
//! * A record's length is asked of the library, not derived from its version. A field is read only if it lies within that
//!   length; kinds, enum values and bytes that came after this crate are passed over and counted.
//! * No panic crosses into C, and in CUPTI's callbacks no call is made into CUDA or CUPTI. Memory for buffers is bounded.
//! * Nothing is lost in silence: [`Loss`] counts what was dropped, late, cut, or has no stamps.
//!
//! # Who keeps whom alive
//! A library stays loaded until the process ends. There is one trace in a process at a time, as CUPTI has one set of buffers;
//! they are freed when it ends, and those that CUPTI has still when they come back.
//!
//! # Threads
//! [`Library`] may be shared, and a [`Session`] may move between threads. Numbers that are pushed ([`Tag`], [`CaptureTag`])
//! belong to the thread that pushed them.

mod clock;
mod driver;
mod error;
mod find;
mod graph;
mod library;
mod loading;
mod loss;
mod pool;
pub mod record;
mod rights;
mod session;
pub mod sys;
mod tag;
pub mod text;
mod version;
pub mod walk;

pub use clock::{Bracket, Brackets, Clock, Step, monotonic_ns, thread_number};
pub use driver::Driver;
pub use error::{Error, Result};
pub use find::{NotFound, Search};
pub use graph::{CaptureTag, NodeEvent, NodeTags};
pub use library::Library;
pub use loss::{Loss, Refusal, Why};
pub use pool::PoolCounts;
pub use record::{Counts, Record};
pub use rights::{NoRights, Platform};
pub use session::{Ended, Session, Settings};
pub use sys::{Kind, Status};
pub use tag::Tag;
pub use version::Version;

/// Runs the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use super::*;

    const fn moves<T: Send>() {}
    const fn is_shared<T: Send + Sync>() {}

    const _: () = {
        is_shared::<Library>();
        is_shared::<Error>();
        is_shared::<Driver>();
        moves::<Session>();
        moves::<Record>();
    };
}
