//! Memory: its limits, whose it is, and what is left at the end.

use std::ffi::c_void;
use std::ptr::null_mut;

use cudarc::driver::{result, sys};
use nvidia_doubles::cuda::{Control, beside, read_log};

use crate::cuda_double_itself::support::*;

const MIB: usize = 1 << 20;

#[test]
fn memory_ends_where_it_was_said_to() {
    beside(
        "cuda_double_itself::memory::memory_ends_where_it_was_said_to",
        &Control::default().memory_bytes(8 << 20),
        || {
            let _gpu = Gpu::open();
            let first = allocate(6 * MIB);
            let mut more = 0;
            assert_eq!(
                unsafe { sys::cuMemAlloc_v2(&raw mut more, 3 * MIB) },
                Code::CUDA_ERROR_OUT_OF_MEMORY
            );
            assert_eq!(result::mem_get_info().unwrap(), (2 * MIB, 8 * MIB));
            pinned(4 * MIB); // the host's own
            assert_eq!(result::mem_get_info().unwrap(), (2 * MIB, 8 * MIB));
            ok(unsafe { sys::cuMemFree_v2(first) });
            assert_eq!(
                unsafe { sys::cuMemFree_v2(first) },
                Code::CUDA_ERROR_INVALID_VALUE
            );
            allocate(3 * MIB);
        },
    );
}

#[test]
fn an_integrated_device_shares_its_memory_with_page_locked_hosts() {
    beside(
        "cuda_double_itself::memory::an_integrated_device_shares_its_memory_with_page_locked_hosts",
        &Control::default().memory_bytes(8 << 20).integrated(),
        || {
            let gpu = Gpu::open();
            let host = pinned(4 * MIB).cast::<u32>();
            assert_eq!(result::mem_get_info().unwrap(), (4 * MIB, 8 * MIB));
            let mut device = 0;
            ok(unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut device, host.cast(), 0) });
            let on = stream(NON_BLOCKING);
            unsafe { host.write(40) };
            gpu.add(on, device, 2);
            wait(on);
            assert_eq!(unsafe { host.read() }, 42);
        },
    );
}

#[test]
fn pageable_memory_is_taken_before_the_call_returns_and_filled_when_it_returns() {
    beside(
        "cuda_double_itself::memory::pageable_memory_is_taken_before_the_call_returns_and_filled_when_it_returns",
        &Control::default(),
        || {
            let gpu = Gpu::open();
            let on = stream(NON_BLOCKING);
            let device = word();
            let (mut source, mut target) = (7_u32, 0_u32);
            gpu.busy(on, GATE_MS);
            ok(unsafe { sys::cuMemcpyHtoDAsync_v2(device, (&raw mut source).cast(), 4, on) });
            source = 8;
            ok(unsafe { sys::cuMemcpyDtoHAsync_v2((&raw mut target).cast(), device, 4, on) });
            assert_eq!((source, target), (8, 7));
        },
    );
}

#[test]
fn an_address_that_is_not_the_devices_is_refused_and_a_kernel_on_it_ends_the_device() {
    beside(
        "cuda_double_itself::memory::an_address_that_is_not_the_devices_is_refused_and_a_kernel_on_it_ends_the_device",
        &Control::default(),
        || {
            let gpu = Gpu::open();
            let device = allocate(4);
            let mut host = [0_u32; 4];
            let at: *mut c_void = host.as_mut_ptr().cast();
            assert_eq!(
                unsafe { sys::cuMemcpyDtoH_v2(at, device, 16) }, // four bytes are there
                Code::CUDA_ERROR_INVALID_VALUE
            );
            assert_eq!(
                unsafe { sys::cuMemcpyHtoD_v2(at as u64, at, 4) },
                Code::CUDA_ERROR_INVALID_VALUE
            );
            let on = stream(NON_BLOCKING);
            gpu.add(on, at as u64, 1);
            let illegal = Code::CUDA_ERROR_ILLEGAL_ADDRESS;
            assert_eq!(unsafe { sys::cuStreamSynchronize(on) }, illegal);
            assert_eq!(unsafe { sys::cuCtxSynchronize() }, illegal);
            assert_eq!(host[0], 0);
        },
    );
}

#[test]
fn what_is_never_given_back_stands_in_the_log() {
    let file = std::env::temp_dir().join(format!("cuda-double-{}.log", std::process::id()));
    for leaks in [false, true] {
        let _ = std::fs::remove_file(&file);
        let name = "cuda_double_itself::memory::what_is_never_given_back_stands_in_the_log";
        let control = Control::default().log(&file).devices(if leaks { 2 } else { 1 });
        beside(name, &control, || {
            let gpu = Gpu::open();
            let leaks = result::device::get_count().unwrap() == 2;
            let (memory, host, on) = (allocate(100), pinned(10), stream(0));
            gpu.busy(on, 1);
            let event = stamp(on);
            wait(on);
            if !leaks {
                unsafe {
                    ok(sys::cuMemFree_v2(memory));
                    ok(sys::cuMemFreeHost(host));
                    ok(sys::cuEventDestroy_v2(event));
                    ok(sys::cuStreamDestroy_v2(on));
                }
            }
            gpu.close();
        });
        if std::env::var_os("JETLAG_CUDA_DOUBLE_LOG").is_some() || !file.exists() {
            return; // inside, or no double here
        }
        let log = read_log(&file);
        assert_eq!(log.len(), 1);
        let live = |what: &str| log[0]["live"][what].as_u64().unwrap();
        let wanted = u64::from(leaks);
        for what in ["allocations", "host_allocations", "streams", "events"] {
            assert_eq!(live(what), wanted, "{what}");
        }
        assert_eq!((live("bytes"), live("host_bytes")), (100 * wanted, 10 * wanted));
        assert_eq!((live("modules"), live("contexts")), (0, 0));
        assert_eq!(log[0]["calls"]["cuMemAlloc_v2"], 1);
        assert_eq!(log[0]["calls"]["cuInit"], 1);
    }
    let _ = std::fs::remove_file(&file);
}

#[test]
fn memory_of_a_stream_is_given_back_in_its_turn() {
    beside(
        "cuda_double_itself::memory::memory_of_a_stream_is_given_back_in_its_turn",
        &Control::default(),
        || {
            let gpu = Gpu::open();
            let on = stream(NON_BLOCKING);
            let mut memory = 0;
            ok(unsafe { sys::cuMemAllocAsync(&raw mut memory, 4 * MIB, on) });
            let (free, total) = result::mem_get_info().unwrap();
            assert_eq!(free, total - 4 * MIB);
            gpu.busy(on, GATE_MS);
            ok(unsafe { sys::cuMemFreeAsync(memory, on) });
            assert_eq!(result::mem_get_info().unwrap(), (free, total));
            wait(on);
            assert_eq!(result::mem_get_info().unwrap(), (total, total));
            assert_eq!(
                unsafe { sys::cuMemFreeAsync(memory, null_mut()) },
                Code::CUDA_ERROR_INVALID_VALUE
            );
        },
    );
}
