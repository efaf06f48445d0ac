//! Tenants on ONNX Runtime: the library first, then what its provider needs.

use super::gpu::Devices;
use crate::backend::Backend;
use crate::scenario::{Provider, Scenario};

/// Why a tenant cannot use ONNX Runtime.
#[cfg(feature = "onnxruntime")]
#[derive(Debug, thiserror::Error)]
pub enum NotUsable {
    /// There is no library.
    #[error(transparent)]
    Library(#[from] crate::backend::onnxruntime::NotFound),
    /// It executes on the processors alone.
    #[error(
        "ONNX Runtime {version} ({}) was built without the CUDA provider; install onnxruntime-gpu and set JETLAG_ONNXRUNTIME to it, or set backend: OnnxRuntime(provider: Cpu)",
        path.display()
    )]
    WithoutCuda {
        /// The library's version.
        version: String,
        /// Where it is.
        path: std::path::PathBuf,
    },
    /// The tenant's device cannot be used.
    #[error(transparent)]
    Gpu(super::gpu::NotUsable),
}

/// This program was built without it.
#[cfg(not(feature = "onnxruntime"))]
pub(super) use crate::built::LeftOut as NotUsable;

/// A tenant's backend, or what is in its way.
#[cfg(feature = "onnxruntime")]
pub(super) fn backend(
    scenario: &Scenario,
    number: usize,
    devices: &Devices,
    provider: Provider,
    threads: usize,
    profile: bool,
) -> Result<Box<dyn Backend>, NotUsable> {
    use super::gpu::on_device;
    use crate::backend::gpu::OnDevice;
    use crate::backend::onnxruntime::{CpuProvider, CudaProvider, find};

    let library = find(None)?;
    match provider {
        Provider::Cpu => Ok(Box::new(CpuProvider {
            library,
            threads,
            profile,
        })),
        Provider::Cuda => {
            if !library.has_cuda() {
                return Err(NotUsable::WithoutCuda {
                    version: library.version().to_string(),
                    path: library.path().to_owned(),
                });
            }
            let OnDevice {
                shared,
                claim,
                options,
            } = on_device(scenario, number, devices, "onnxruntime-cuda").map_err(NotUsable::Gpu)?;
            Ok(Box::new(CudaProvider {
                library,
                shared,
                claim,
                options,
                profile,
            }))
        }
    }
}

/// This program was built without it.
#[cfg(not(feature = "onnxruntime"))]
pub(super) fn backend(
    _scenario: &Scenario,
    _number: usize,
    _devices: &Devices,
    _provider: Provider,
    _threads: usize,
    _profile: bool,
) -> Result<Box<dyn Backend>, NotUsable> {
    Err(NotUsable::ONNXRUNTIME)
}
