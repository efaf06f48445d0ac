//! Tenants on ONNX Runtime, on the processor or on a GPU through its CUDA provider: the framework that TensorRT is
//! compared with. docs/onnxruntime.md.
//!
//! The library is found and loaded at run time ([`find`]). A session is a loaded network with what it reads and writes; a
//! call is its inputs and outputs for one frame in flight, lying in the slot's memory, so that nothing is
//! copied. Where time per node is asked for, a session records ONNX Runtime's own profile ([`profile`]). [`CpuProvider`] has slots of its own; [`CudaProvider`] is a [`gpu::Network`](super::gpu::Network), so that
//! slots, streams and stamps are those of every GPU tenant. The only place that sees the crate `ort`.
//!
//! # Who keeps whom alive
//! The library and its environment stay until the process ends. A session holds the stream that it enqueues on. A call
//! holds addresses only: on a GPU the execution that it belongs to holds the memory too; on the processor it is told before each
//! run where everything lies, and the run is over before anybody else has the tensors.

#![allow(
    unsafe_code,
    reason = "memory and streams that ONNX Runtime is lent; each block states the fact that it relies on"
)]

mod call;
mod cpu;
mod cuda;
mod library;
pub mod profile;
mod recording;
mod session;

pub use cpu::CpuProvider;
pub use cuda::CudaProvider;
pub use library::{Library, NotFound, find};

use super::BackendError;

/// ONNX Runtime's failure as a backend's; full memory is told apart, since other tenants may go on.
fn refused(backend: &'static str, network: &str, error: &ort::Error) -> BackendError {
    match is_out_of_memory(error.message()) {
        true => out_of_memory(backend, network, error.message().trim()),
        false => BackendError::Load {
            network: network.to_owned(),
            backend,
            problem: error.message().trim().to_owned(),
        },
    }
}

/// The same while a frame is executed.
fn failed(backend: &'static str, network: &str, error: &ort::Error) -> BackendError {
    match is_out_of_memory(error.message()) {
        true => out_of_memory(backend, network, error.message().trim()),
        false => BackendError::Execute {
            network: network.to_owned(),
            backend,
            problem: error.message().trim().to_owned(),
        },
    }
}

fn out_of_memory(backend: &'static str, network: &str, problem: &str) -> BackendError {
    BackendError::OutOfMemory {
        backend,
        problem: format!(
            "not enough memory for {network}: {problem}; use fewer tenants or a smaller `depth`"
        ),
    }
}

/// The library has no code for it: its arena, the driver and cuBLAS say it in words of their own.
fn is_out_of_memory(problem: &str) -> bool {
    let problem = problem.to_lowercase();
    [
        "out of memory",
        "failed to allocate memory",
        "is smaller than requested bytes",
        "cublas_status_alloc_failed",
        "cudnn_status_alloc_failed",
    ]
    .iter()
    .any(|words| problem.contains(words))
}

#[cfg(test)]
mod tests {
    use super::is_out_of_memory;

    #[test]
    fn full_memory_is_told_from_other_failures() {
        for words in [
            "CUDA failure 2: out of memory ; GPU=0",
            "bfc_arena.cc:376 Failed to allocate memory for requested buffer of size 33554432",
            "Available memory of 1024 is smaller than requested bytes of 2048",
        ] {
            assert!(is_out_of_memory(words), "{words}");
        }
        assert!(!is_out_of_memory(
            "Non-zero status code returned while running Reshape node"
        ));
    }
}
