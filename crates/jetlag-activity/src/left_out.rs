//! Calls of CUDA that are not traced: those that only ask, or set what a thread's later calls refer to. They start nothing, move
//! nothing and wait for nothing, and programs make many of them: PyTorch nine for each kernel. Each record costs its call half a
//! microsecond.

use cupti_dyn::Session;
use cupti_dyn::sys::Domain;

/// Of the driver. What may load code or initialise a device is none of them.
const DRIVER: [&str; 22] = [
    "cuCtxGetCurrent",
    "cuCtxGetDevice",
    "cuCtxGetFlags",
    "cuCtxGetLimit",
    "cuCtxPopCurrent",
    "cuCtxPushCurrent",
    "cuCtxSetCurrent",
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDeviceGetCount",
    "cuDevicePrimaryCtxGetState",
    "cuDriverGetVersion",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuGetProcAddress",
    "cuKernelGetName",
    "cuPointerGetAttribute",
    "cuPointerGetAttributes",
    "cuStreamGetCaptureInfo",
    "cuStreamGetCtx",
    "cuStreamIsCapturing",
    "cuThreadExchangeStreamCaptureMode",
];

/// Of the runtime.
const RUNTIME: [&str; 18] = [
    "cudaDeviceGetAttribute",
    "cudaDriverGetVersion",
    "cudaGetDevice",
    "cudaGetDeviceCount",
    "cudaGetDriverEntryPoint",
    "cudaGetDriverEntryPointByVersion",
    "cudaGetErrorName",
    "cudaGetErrorString",
    "cudaGetLastError",
    "cudaPeekAtLastError",
    "cudaPointerGetAttributes",
    "cudaRuntimeGetVersion",
    "cudaStreamGetCaptureInfo",
    "cudaStreamGetPriority",
    "cudaStreamIsCapturing",
    "cudaThreadExchangeStreamCaptureMode",
    "__cudaPopCallConfiguration",
    "__cudaPushCallConfiguration",
];

/// Leaves them out of a trace whose calls are switched on, and tells how many functions that were: 0 before CUDA 12.5, where single
/// functions cannot be switched.
pub fn leave_out(session: &mut Session) -> u32 {
    let mut left_out = 0;
    for (domain, names) in [
        (Domain::DRIVER_API, &DRIVER[..]),
        (Domain::RUNTIME_API, &RUNTIME[..]),
    ] {
        let functions: Vec<u32> = session
            .library()
            .calls(domain)
            .filter(|(_, name)| names.contains(&base(name)))
            .map(|(function, _)| function)
            .collect();
        match session.leave_out_calls(domain, &functions) {
            Ok(()) => left_out += u32::try_from(functions.len()).unwrap_or(u32::MAX),
            Err(error) => log::debug!("every call is traced: {error}"),
        }
    }
    left_out
}

/// A function's name without its version and without the mark of the form for a stream per thread: `cudaGetDevice_v3020` is
/// `cudaGetDevice`.
fn base(name: &str) -> &str {
    let shorter = match name.rsplit_once("_v") {
        Some((start, version)) if is_number(version) => start,
        _ => name.strip_suffix("_ptsz").unwrap_or(name),
    };
    if shorter.len() == name.len() {
        return name;
    }
    base(shorter)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_known_in_each_of_its_versions() {
        for (name, wanted) in [
            ("cudaGetDevice_v3020", "cudaGetDevice"),
            (
                "cudaStreamGetCaptureInfo_v2_ptsz_v11030",
                "cudaStreamGetCaptureInfo",
            ),
            ("cuCtxPopCurrent_v2", "cuCtxPopCurrent"),
            ("cuLaunchKernel", "cuLaunchKernel"),
            ("cuda_v", "cuda_v"),
            ("_v1", ""),
        ] {
            assert_eq!(base(name), wanted);
        }
    }

    #[test]
    fn nothing_that_starts_moves_or_waits_is_left_out() {
        for name in DRIVER.iter().chain(&RUNTIME) {
            for word in [
                "Launch",
                "Memcpy",
                "Memset",
                "Alloc",
                "Free",
                "Synchronize",
                "Query",
                "Record",
                "Wait",
                "Load",
                "Init",
                "Create",
                "Destroy",
                "Instantiate",
            ] {
                assert!(!name.contains(word), "{name}");
            }
        }
    }
}
