//! Streams, events, the shared device, copies, captures.

use std::ffi::c_void;
use std::ptr::null_mut;

use cudarc::driver::sys;
use nvidia_doubles::cuda::{Control, beside};

use crate::cuda_double_itself::support::*;

#[test]
fn streams_keep_their_order_and_events_order_streams() {
    beside(
        "cuda_double_itself::streams::streams_keep_their_order_and_events_order_streams",
        &Control::default(),
        || {
            let gpu = Gpu::open();
            let (first, second) = (stream(NON_BLOCKING), stream(NON_BLOCKING));
            let at = word();
            gpu.busy(first, GATE_MS);
            ok(unsafe { sys::cuMemsetD8Async(at, 5, 1, first) });
            let set = stamp(first);
            wait_event(second, set);
            gpu.add(second, at, 1);
            let added = stamp(second);
            for event in [set, added] {
                assert_eq!(unsafe { sys::cuEventQuery(event) }, Code::CUDA_ERROR_NOT_READY);
            }
            assert_eq!(unsafe { sys::cuStreamQuery(second) }, Code::CUDA_ERROR_NOT_READY);
            let mut early = 0.0;
            assert_eq!(
                unsafe { sys::cuEventElapsedTime(&raw mut early, set, added) },
                Code::CUDA_ERROR_NOT_READY
            );
            ok(unsafe { sys::cuEventSynchronize(added) });
            assert_eq!(unsafe { sys::cuStreamQuery(first) }, Code::CUDA_SUCCESS);
            assert!(between(set, added) >= 0.0);
            assert_eq!(read(at), 6);
        },
    );
}

/// A kernel behind another stream's second kernel: how long after the gate it begins, of queues that are so many.
fn behind_another_stream(queues: &str) -> Control {
    Control::default()
        .without_interference()
        .variable("CUDA_DEVICE_MAX_CONNECTIONS", queues)
}

#[test]
fn streams_of_one_hardware_queue_wait_for_each_other() {
    let name = "cuda_double_itself::streams::streams_of_one_hardware_queue_wait_for_each_other";
    beside(name, &behind_another_stream("1"), || {
        assert!(
            begun_beside() >= 99.0,
            "behind a kernel that waits for its stream's first"
        );
    });
}

#[test]
fn streams_of_different_hardware_queues_do_not() {
    let name = "cuda_double_itself::streams::streams_of_different_hardware_queues_do_not";
    beside(name, &behind_another_stream("32"), || {
        assert!(begun_beside() < 99.0);
    });
}

/// Milliseconds from the gate to the begin of a second stream's kernel, which is enqueued behind two of the first stream, of
/// 100 ms each.
fn begun_beside() -> f32 {
    let gpu = Gpu::open();
    let (gate, one, two) = (stream(NON_BLOCKING), stream(NON_BLOCKING), stream(NON_BLOCKING));
    gpu.busy(gate, GATE_MS);
    let open = stamp(gate);
    wait_event(one, open);
    gpu.busy(one, 100);
    gpu.busy(one, 100);
    wait_event(two, open);
    let begun = stamp(two);
    for stream in [one, two] {
        wait(stream);
    }
    between(open, begun)
}

/// Two kernels of so many milliseconds on two streams, begun at one moment: how long each takes.
fn two_at_once(each: u64) -> [f32; 2] {
    let gpu = Gpu::open();
    let (gate, one, two) = (stream(NON_BLOCKING), stream(NON_BLOCKING), stream(NON_BLOCKING));
    gpu.busy(gate, GATE_MS);
    let open = stamp(gate);
    let took = [one, two].map(|stream| {
        wait_event(stream, open);
        gpu.busy(stream, each);
        stamp(stream)
    });
    for stream in [one, two] {
        wait(stream);
    }
    took.map(|end| between(open, end))
}

#[test]
fn kernels_at_once_share_the_device() {
    beside(
        "cuda_double_itself::streams::kernels_at_once_share_the_device",
        &Control::default(),
        || {
            // A thread that wakes up late begins late, so that the other has the device alone for so long: they are so long that
            // they meet all the same.
            for took in two_at_once(2_000) {
                assert!((2_200.0..=4_000.1).contains(&took), "{took} ms");
            }
        },
    );
}

#[test]
fn without_interference_kernels_take_what_they_take_alone() {
    beside(
        "cuda_double_itself::streams::without_interference_kernels_take_what_they_take_alone",
        &Control::default().without_interference(),
        || {
            for took in two_at_once(300) {
                assert_exact(took, 300.0);
            }
        },
    );
}

#[test]
fn a_copy_takes_its_time_on_an_engine_of_its_own() {
    beside(
        "cuda_double_itself::streams::a_copy_takes_its_time_on_an_engine_of_its_own",
        &Control::default().copies(1_000_000_000, 500_000_000),
        || {
            const BYTES: usize = 10_000_000;
            let gpu = Gpu::open();
            let (device, host) = (allocate(BYTES), pinned(BYTES));
            let (gate, up, more, down) = (
                stream(NON_BLOCKING),
                stream(NON_BLOCKING),
                stream(NON_BLOCKING),
                stream(NON_BLOCKING),
            );
            gpu.busy(gate, GATE_MS);
            let open = stamp(gate);
            for stream in [up, more, down] {
                wait_event(stream, open);
            }
            let ends = unsafe {
                ok(sys::cuMemcpyHtoDAsync_v2(device, host, BYTES, up));
                ok(sys::cuMemcpyHtoDAsync_v2(device, host, BYTES, more));
                ok(sys::cuMemcpyDtoHAsync_v2(host, device, BYTES, down));
                [up, more, down].map(stamp)
            };
            for stream in [up, more, down] {
                wait(stream);
            }
            let mut times = ends.map(|end| between(open, end));
            times[..2].sort_by(f32::total_cmp);
            assert_exact(times[0], 10.0); // whichever came first
            assert_exact(times[1], 20.0); // waits for the engine
            assert_exact(times[2], 20.0); // the other engine, half as fast
        },
    );
}

#[test]
fn the_default_stream_waits_for_blocking_streams_and_they_for_it() {
    beside(
        "cuda_double_itself::streams::the_default_stream_waits_for_blocking_streams_and_they_for_it",
        &Control::default(),
        || {
            let gpu = Gpu::open();
            let (blocking, free) = (stream(0), stream(NON_BLOCKING));
            let at = word();
            gpu.busy(blocking, 30);
            gpu.add(blocking, at, 1);
            // On the default stream, and so behind the other's kernel.
            assert_eq!(read(at), 1);
            gpu.busy(null_mut(), GATE_MS);
            gpu.add(blocking, at, 1);
            gpu.add(free, at, 1);
            wait(free);
            assert_eq!(
                unsafe { sys::cuStreamQuery(blocking) },
                Code::CUDA_ERROR_NOT_READY
            );
            wait(blocking);
            assert_eq!(read(at), 3);
        },
    );
}

/// Keeps what it is called with.
unsafe extern "C" fn note(into: *mut c_void) {
    // SAFETY: the test hands over a living vector and waits before it looks.
    unsafe { (*into.cast::<Vec<u8>>()).push(1) };
}

#[test]
fn a_host_function_comes_in_its_turn() {
    beside(
        "cuda_double_itself::streams::a_host_function_comes_in_its_turn",
        &Control::default(),
        || {
            let gpu = Gpu::open();
            let on = stream(NON_BLOCKING);
            let mut calls: Vec<u8> = Vec::new();
            gpu.busy(on, 20);
            let before = stamp(on);
            ok(unsafe { sys::cuLaunchHostFunc(on, Some(note), (&raw mut calls).cast()) });
            let after = stamp(on);
            wait(on);
            assert_eq!(calls.len(), 1);
            assert!(between(before, after) >= 0.0);
        },
    );
}

fn begin(on: sys::CUstream) {
    let relaxed = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    ok(unsafe { sys::cuStreamBeginCapture_v2(on, relaxed) });
}

fn end(on: sys::CUstream) -> Result<sys::CUgraph, sys::CUresult> {
    let mut graph = null_mut();
    match unsafe { sys::cuStreamEndCapture(on, &raw mut graph) } {
        Code::CUDA_SUCCESS => Ok(graph),
        code => Err(code),
    }
}

#[test]
fn a_captured_graph_does_nothing_until_it_is_launched_and_the_same_each_time() {
    beside(
        "cuda_double_itself::streams::a_captured_graph_does_nothing_until_it_is_launched_and_the_same_each_time",
        &Control::default().copies(1_000_000_000, 0),
        || {
            const BYTES: usize = 5_000_000;
            let gpu = Gpu::open();
            let (on, beside) = (stream(NON_BLOCKING), stream(NON_BLOCKING));
            let at = word();
            let (device, host) = (allocate(BYTES), pinned(BYTES));
            begin(on);
            let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
            ok(unsafe { sys::cuStreamIsCapturing(on, &raw mut status) });
            assert_eq!(
                status,
                sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE
            );
            ok(unsafe { sys::cuMemcpyHtoDAsync_v2(device, host, BYTES, on) });
            let fork = stamp(on);
            wait_event(beside, fork);
            gpu.add(beside, at, 1);
            wait_event(on, stamp(beside));
            gpu.busy(on, 200);
            gpu.add(on, at, 10);
            let graph = end(on).unwrap();
            a_while();
            assert_eq!(read(at), 0);
            let mut executable = null_mut();
            ok(unsafe { sys::cuGraphInstantiateWithFlags(&raw mut executable, graph, 0) });
            gpu.busy(on, GATE_MS);
            let from = stamp(on);
            for _ in 0..3 {
                ok(unsafe { sys::cuGraphLaunch(executable, on) });
            }
            let to = stamp(on);
            wait(on);
            assert_eq!(read(at), 33);
            let took = between(from, to);
            // Three times 5 ms of copying and 200 ms of kernel, and the processor time of two additions; no fourth time.
            assert!((615.0..815.0).contains(&took), "{took} ms");
            ok(unsafe { sys::cuGraphExecDestroy(executable) });
            ok(unsafe { sys::cuGraphDestroy(graph) });
        },
    );
}

#[test]
fn what_spoils_a_capture_is_refused() {
    beside(
        "cuda_double_itself::streams::what_spoils_a_capture_is_refused",
        &Control::default(),
        || {
            let gpu = Gpu::open();
            let (on, beside, blocking) = (stream(NON_BLOCKING), stream(NON_BLOCKING), stream(0));
            let at = word();
            begin(on);
            assert_eq!(
                unsafe { sys::cuStreamSynchronize(on) },
                Code::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
            );
            assert_eq!(end(on), Err(Code::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED));

            begin(on);
            let mut address = 0;
            assert_eq!(
                unsafe { sys::cuMemAlloc_v2(&raw mut address, 4) },
                Code::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
            );
            assert_eq!(end(on), Err(Code::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED));

            begin(on);
            wait_event(beside, stamp(on));
            gpu.add(beside, at, 1);
            assert_eq!(end(on), Err(Code::CUDA_ERROR_STREAM_CAPTURE_UNJOINED));

            begin(blocking);
            let mut value = 0_u32;
            assert_eq!(
                unsafe { sys::cuMemcpyDtoH_v2((&raw mut value).cast(), at, 4) },
                Code::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
            );
            assert_eq!(end(blocking), Err(Code::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED));
            assert_eq!(end(on), Err(Code::CUDA_ERROR_ILLEGAL_STATE));
            assert_eq!(read(at), 0);
        },
    );
}

#[test]
fn an_operation_that_hangs_never_completes_and_others_do() {
    beside(
        "cuda_double_itself::streams::an_operation_that_hangs_never_completes_and_others_do",
        &Control::default().hang(2),
        || {
            let gpu = Gpu::open();
            let (hung, other) = (stream(NON_BLOCKING), stream(NON_BLOCKING));
            gpu.busy(hung, 1);
            gpu.busy(hung, 1);
            gpu.busy(other, 1);
            wait(other);
            a_while();
            assert_eq!(unsafe { sys::cuStreamQuery(hung) }, Code::CUDA_ERROR_NOT_READY);
        },
    );
}
