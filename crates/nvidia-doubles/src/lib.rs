//! Doubles of NVIDIA's libraries, for tests where there is no GPU, no driver and no TensorRT.
//!
//! A double is a shared library with the real library's name and functions, compiled from the C++ (NVML's: C) of this crate when
//! a test first asks for it, and kept in the target folder. The code under test loads it as it loads the real one.
//!
//! - [`cuda`]: libcuda.so.1 and libnvrtc.so.12. A test runs in a process of its own beside it, tells it what to pretend and reads
//!   its log of calls.
//! - [`tensorrt`]: libnvinfer and the ONNX parser, in every version whose headers are at hand.
//! - [`cupti`]: libcupti, in the releases whose headers are at hand.
//! - [`nvtx`]: the headers of NVTX, with which the doubles of TensorRT and CUPTI give and take ranges, and a module with NVTX.
//! - [`nvml`]: libnvidia-ml.so.1, which answers what stands in a file.
//! - [`script`]: a program of a few lines of shell, such as a made-up tegrastats.
//! - [`machine`]: what a test needs of its machine, and how it is skipped where that is missing.
//!
//! A failure of the set-up (a double that does not compile, a broken file) panics, as a failing test does.

mod compile;
pub mod cuda;
pub mod cupti;
pub mod machine;
pub mod nvml;
pub mod nvtx;
mod script;
pub mod tensorrt;

pub use compile::{c_library, c_library_of, library, program};
pub use script::script;
