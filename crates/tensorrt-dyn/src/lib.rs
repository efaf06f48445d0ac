//! TensorRT 8.5 to 11 and TensorRT-RTX from 1.3 on, found and loaded at run time.
//!
//! Nothing of NVIDIA's is linked or needed to build. TensorRT's API is C++ without a C interface; this crate calls
//! its objects through their vtables, with tables of slots per [`Era`] in place of headers.
//!
//! # Layers
//! * [`sys`] *declares*: layouts, slots with their C++ types, enum values, per era. No calls.
//! * calls are *checked*: a method that a release does not have, `false`, a null pointer (or a pointer into the first
//!   pages) become an [`Error`] that quotes what the library logged since the call began ([`Messages`]).
//! * values *own*: [`Library`] → [`Builder`] → [`Network`] / [`OnnxParser`] / [`BuilderConfig`] → [`Plan`], and
//!   [`Library`] → [`Runtime`] → [`Engine`] → [`ExecutionContext`] / [`Inspector`].
//!
//! # Who keeps whom alive
//! A library stays loaded until the process ends, with one logger and one error recorder that are never freed, since
//! TensorRT keeps the first logger it is given. Children hold their parents: a context its engine, an engine its
//! runtime, a parser its network (TensorRT's network points into weights that the parser owns), a configuration its
//! timing cache, progress monitor and calibrator. So values may be dropped in any order.
//!
//! # Threads
//! Every type may move between threads. [`Library`] and [`Engine`] may be shared; the others may not, as TensorRT's
//! objects may not. Contexts of one engine may run at the same time.

mod builder;
mod callback;
mod config;
mod context;
mod engine;
mod error;
mod find;
mod inspector;
mod library;
mod memory;
mod messages;
mod network;
mod object;
mod parser;
mod profile;
mod runtime;
mod runtime_cache;
mod shape;
pub mod sys;
mod timing_cache;
mod version;

pub use builder::Builder;
pub use callback::allocator::OutputAllocator;
pub use callback::calibrator::Calibrator;
pub use callback::profiler::Profiler;
pub use callback::progress::ProgressMonitor;
pub use config::BuilderConfig;
pub use context::ExecutionContext;
pub use engine::{ContextMemory, Engine, TensorInfo};
pub use error::{Error, Result};
pub use find::{NotFound, Search};
pub use inspector::Inspector;
pub use library::Library;
pub use memory::{HostMemory, Plan};
pub use messages::{Message, Messages, Severity};
pub use network::{Layer, Network, NetworkOptions, Tensor};
pub use parser::{OnnxParser, ParserError};
pub use profile::OptimizationProfile;
pub use runtime::{PlanValidity, Runtime};
pub use runtime_cache::{RuntimeCache, RuntimeConfig};
pub use shape::Dims;
pub use sys::method::{Event, Stream};
pub use sys::values::{
    AllocationStrategy, BuilderFlag, CudaGraphStrategy, DataType, DeviceType, EngineValidity, ErrorCode,
    HardwareCompatibility, KernelSpecialization, LayerInformationFormat, LayerType, MemoryPool,
    ParserErrorCode, ParserFlag, PreviewFeature, ProfileSelector, ProfilingVerbosity, TacticSource,
    TensorIoMode, TensorLocation,
};
pub use timing_cache::TimingCache;
pub use version::{Era, Flavour, UnsupportedVersion, Version};

/// Marks a type as usable from one thread at a time.
type NotSync = std::marker::PhantomData<std::cell::Cell<()>>;

#[cfg(test)]
mod tests {
    use super::*;

    const fn moves<T: Send>() {}
    const fn is_shared<T: Send + Sync>() {}

    const _: () = {
        is_shared::<Library>();
        is_shared::<Engine>();
        is_shared::<Error>();
        moves::<Builder>();
        moves::<OnnxParser>();
        moves::<BuilderConfig>();
        moves::<Runtime>();
        moves::<ExecutionContext>();
    };
}
