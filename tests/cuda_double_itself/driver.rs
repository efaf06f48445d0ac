//! What the double pretends to be, errors on order, and green contexts.

use std::ffi::{CString, c_int, c_uint, c_void};
use std::ptr::null_mut;

use cudarc::driver::{result, sys};
use nvidia_doubles::cuda::{Control, beside};

use crate::cuda_double_itself::support::*;

#[test]
fn jetlag_sees_the_device_that_is_pretended() {
    let control = Control::default()
        .driver(11040)
        .devices(2)
        .name("Orin (double)")
        .capability(87)
        .integrated();
    beside(
        "cuda_double_itself::driver::jetlag_sees_the_device_that_is_pretended",
        &control,
        || {
            let devices = jetlag::gpu::devices().unwrap();
            assert_eq!(devices.len(), 2);
            assert_eq!(devices[1].ordinal, 1);
            assert_eq!(devices[0].name, "Orin (double)");
            assert_eq!(devices[0].compute_capability, 87);
            assert_eq!(devices[0].driver_cuda, 11040);
            assert!(devices[0].is_integrated);
            let mut uploads = jetlag::gpu::Uploads::open(1).unwrap();
            let address = uploads.upload("block", b"some bytes").unwrap();
            let mut back = [0_u8; 10];
            ok(unsafe { sys::cuMemcpyDtoH_v2(back.as_mut_ptr().cast(), address, 10) });
            assert_eq!(&back, b"some bytes");
        },
    );
}

#[test]
fn a_driver_without_a_device_says_so() {
    beside(
        "cuda_double_itself::driver::a_driver_without_a_device_says_so",
        &Control::default().devices(0),
        || {
            let error = jetlag::gpu::first().unwrap_err().to_string();
            assert!(error.contains("CUDA_ERROR_NO_DEVICE"), "{error}");
        },
    );
}

#[test]
fn calls_in_the_wrong_state_are_refused_as_the_driver_does() {
    beside(
        "cuda_double_itself::driver::calls_in_the_wrong_state_are_refused_as_the_driver_does",
        &Control::default(),
        || {
            let mut count = 0;
            assert_eq!(
                unsafe { sys::cuDeviceGetCount(&raw mut count) },
                Code::CUDA_ERROR_NOT_INITIALIZED
            );
            result::init().unwrap();
            let mut memory = 0;
            assert_eq!(
                unsafe { sys::cuMemAlloc_v2(&raw mut memory, 4) },
                Code::CUDA_ERROR_INVALID_CONTEXT
            );
            let gpu = Gpu::open();
            let unknown = CString::new("unknown_to_the_double").unwrap();
            let mut function = null_mut();
            assert_eq!(
                unsafe { sys::cuModuleGetFunction(&raw mut function, gpu.module, unknown.as_ptr()) },
                Code::CUDA_ERROR_NOT_FOUND
            );
            let nothing = 0x1234_usize as sys::CUstream;
            assert_eq!(
                unsafe { sys::cuStreamSynchronize(nothing) },
                Code::CUDA_ERROR_INVALID_HANDLE
            );
            let (used, gone) = (gpu.context, stream(0));
            gpu.close();
            assert_eq!(
                unsafe { sys::cuStreamSynchronize(gone) },
                Code::CUDA_ERROR_CONTEXT_IS_DESTROYED
            );
            ok(unsafe { sys::cuCtxSetCurrent(used) });
            assert_eq!(
                unsafe { sys::cuMemAlloc_v2(&raw mut memory, 4) },
                Code::CUDA_ERROR_CONTEXT_IS_DESTROYED
            );
        },
    );
}

#[test]
fn calls_fail_on_order() {
    beside(
        "cuda_double_itself::driver::calls_fail_on_order",
        &Control::default().fail(&["cuMemAlloc_v2:2:2", "cuEventCreate:1+:999"]),
        || {
            let _gpu = Gpu::open();
            let mut memory = 0;
            let codes = [(); 3].map(|()| unsafe { sys::cuMemAlloc_v2(&raw mut memory, 4) });
            let (good, full) = (Code::CUDA_SUCCESS, Code::CUDA_ERROR_OUT_OF_MEMORY);
            assert_eq!(codes, [good, full, good]);
            let mut event = null_mut();
            for _ in 0..2 {
                let code = unsafe { sys::cuEventCreate(&raw mut event, 0) };
                assert_eq!(code, Code::CUDA_ERROR_UNKNOWN);
            }
        },
    );
}

#[test]
fn a_fault_of_the_device_ends_everything() {
    beside(
        "cuda_double_itself::driver::a_fault_of_the_device_ends_everything",
        &Control::default().fault(2, 719),
        || {
            let gpu = Gpu::open();
            let on = stream(NON_BLOCKING);
            gpu.busy(on, 1);
            gpu.busy(on, 1);
            let failed = Code::CUDA_ERROR_LAUNCH_FAILED;
            assert_eq!(unsafe { sys::cuStreamSynchronize(on) }, failed);
            let mut memory = 0;
            assert_eq!(unsafe { sys::cuMemAlloc_v2(&raw mut memory, 4) }, failed);
        },
    );
}

/// CUdevResource: its type, the driver's bytes, the number of multiprocessors at byte 96.
type Resource = [u32; 36];
const KIND_SM: c_uint = 1;
const COUNT_AT: usize = 24;

fn library() -> libloading::Library {
    // SAFETY: the double, which is loaded already.
    unsafe { libloading::Library::new("libcuda.so.1") }.unwrap()
}

#[test]
fn green_contexts_keep_their_multiprocessors_to_themselves() {
    beside(
        "cuda_double_itself::driver::green_contexts_keep_their_multiprocessors_to_themselves",
        &Control::default().multiprocessors(16),
        || {
            type Get = unsafe extern "C" fn(c_int, *mut Resource, c_uint) -> sys::CUresult;
            type Split = unsafe extern "C" fn(
                *mut Resource,
                *mut c_uint,
                *const Resource,
                *mut Resource,
                c_uint,
                c_uint,
            ) -> sys::CUresult;
            type Describe = unsafe extern "C" fn(*mut *mut c_void, *mut Resource, c_uint) -> sys::CUresult;
            type Create = unsafe extern "C" fn(*mut *mut c_void, *mut c_void, c_int, c_uint) -> sys::CUresult;
            type Stream =
                unsafe extern "C" fn(*mut sys::CUstream, *mut c_void, c_uint, c_int) -> sys::CUresult;
            let gpu = Gpu::open();
            let driver = library();
            let streams = unsafe {
                let get = driver.get::<Get>(b"cuDeviceGetDevResource").unwrap();
                let split = driver.get::<Split>(b"cuDevSmResourceSplitByCount").unwrap();
                let describe = driver.get::<Describe>(b"cuDevResourceGenerateDesc").unwrap();
                let create = driver.get::<Create>(b"cuGreenCtxCreate").unwrap();
                let stream = driver.get::<Stream>(b"cuGreenCtxStreamCreate").unwrap();
                let mut all = [0; 36];
                ok(get(0, &raw mut all, KIND_SM));
                assert_eq!(all[COUNT_AT], 16);
                let (mut parts, mut count) = ([[0; 36]; 2], 2);
                ok(split(
                    parts.as_mut_ptr(),
                    &raw mut count,
                    &raw const all,
                    null_mut(),
                    0,
                    8,
                ));
                assert_eq!((count, parts[0][COUNT_AT], parts[1][COUNT_AT]), (2, 8, 8));
                parts.map(|mut part| {
                    let (mut description, mut green, mut on) = (null_mut(), null_mut(), null_mut());
                    ok(describe(&raw mut description, &raw mut part, 1));
                    ok(create(&raw mut green, description, 0, 1));
                    ok(stream(&raw mut on, green, NON_BLOCKING, 0));
                    on
                })
            };
            let gate = stream(NON_BLOCKING);
            gpu.busy(gate, GATE_MS);
            let open = stamp(gate);
            for on in streams {
                wait_event(on, open);
                gpu.busy(on, 20);
            }
            gpu.busy(streams[1], 20);
            let ends = streams.map(stamp);
            for on in streams {
                wait(on);
            }
            // Half of the multiprocessors, so twice the time, whatever the other does.
            assert_exact(between(open, ends[0]), 40.0);
            assert_exact(between(open, ends[1]), 80.0);
        },
    );
}

#[test]
fn an_older_driver_has_no_green_contexts() {
    beside(
        "cuda_double_itself::driver::an_older_driver_has_no_green_contexts",
        &Control::default().driver(12020),
        || {
            type Find = unsafe extern "C" fn(
                *const std::ffi::c_char,
                *mut *mut c_void,
                c_int,
                u64,
                *mut c_int,
            ) -> sys::CUresult;
            let driver = library();
            unsafe {
                assert!(driver.get::<*mut c_void>(b"cuGreenCtxCreate").is_err());
                let find = driver.get::<Find>(b"cuGetProcAddress_v2").unwrap();
                let mut status = -1;
                let mut at = |name: &str| {
                    let (name, mut at) = (CString::new(name).unwrap(), null_mut());
                    (
                        find(name.as_ptr(), &raw mut at, 12080, 0, &raw mut status),
                        at.is_null(),
                    )
                };
                assert_eq!(at("cuMemAlloc"), (Code::CUDA_SUCCESS, false));
                assert_eq!(at("cuGreenCtxCreate"), (Code::CUDA_ERROR_NOT_FOUND, true));
            }
        },
    );
}
