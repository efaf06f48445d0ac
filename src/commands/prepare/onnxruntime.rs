//! Tenants on ONNX Runtime: the library first, then what its provider needs.

use super::gpu::Devices;
use crate::backend::Backend;
use crate::scenario::{Provider, Scenario};

/// A tenant's backend, or what is in its way.
#[cfg(feature = "onnxruntime")]
pub(super) fn backend(
    scenario: &Scenario,
    number: usize,
    devices: &Devices,
    provider: Provider,
    threads: usize,
) -> Result<Box<dyn Backend>, String> {
    use super::gpu::on_device;
    use crate::backend::gpu::OnDevice;
    use crate::backend::onnxruntime::{CpuProvider, CudaProvider, find};

    let library = find(None).map_err(|error| error.to_string())?;
    match provider {
        Provider::Cpu => Ok(Box::new(CpuProvider { library, threads })),
        Provider::Cuda => {
            if !library.has_cuda() {
                return Err(format!(
                    "ONNX Runtime {} ({}) was built without the CUDA provider; install onnxruntime-gpu and set JETLAG_ONNXRUNTIME to it, or set backend: OnnxRuntime(provider: Cpu)",
                    library.version(),
                    library.path().display()
                ));
            }
            let OnDevice {
                shared,
                claim,
                options,
            } = on_device(scenario, number, devices, "onnxruntime-cuda")?;
            Ok(Box::new(CudaProvider {
                library,
                shared,
                claim,
                options,
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
) -> Result<Box<dyn Backend>, String> {
    Err(crate::built::left_out("ONNX Runtime", "onnxruntime"))
}
