//! TensorRT's double on the driver's: a frame runs on the stream that it is given.

use std::ffi::{CString, c_void};
use std::ptr::null_mut;

use cudarc::driver::sys;
use nvidia_doubles::cuda::{Control, beside, read_log};
use nvidia_doubles::tensorrt;
use tensorrt_dyn::{ContextMemory, Library};

use crate::common::plans;
use crate::cuda_double_itself::support::*;

const NETWORK: &[u8] =
    b"double-network\ninput a u8 1000\noutput b i32 10 only\nlayer only Relu\ncompute_us 30000\n";

/// The network with an input and an output in i8, which eras without u8 read, too.
fn network() -> Vec<u8> {
    String::from_utf8_lossy(NETWORK).replace("u8", "i8").into_bytes()
}

#[test]
fn a_frame_waits_for_its_stream_takes_its_time_and_can_be_captured() {
    tensorrt::eras(); // compiled here, where no limit of time holds
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log");
    beside(
        "cuda_double_itself::frames::a_frame_waits_for_its_stream_takes_its_time_and_can_be_captured",
        &Control::default().log(&file),
        || {
            for double in tensorrt::eras() {
                frame(&Library::open(&double.infer).unwrap(), &double.version);
            }
        },
    );
    if file.exists() {
        let live = &read_log(&file)[0]["live"];
        for what in ["allocations", "streams", "graphs", "executable_graphs"] {
            assert_eq!(live[what], 0, "{what} of {live}");
        }
    }
}

fn frame(library: &Library, version: &str) {
    let gpu = Gpu::open();
    let (builder, parser) = plans::read(*library, &network());
    let plan = builder.build(&parser, &builder.config().unwrap()).unwrap();
    let engine = library.runtime().unwrap().engine(plan.bytes()).unwrap();
    let mut context = engine.context(ContextMemory::Own).unwrap();
    let (input, output) = (allocate(1000), allocate(40));
    for (name, address) in [("a", input), ("b", output)] {
        let name = CString::new(name).unwrap();
        // SAFETY: device memory of the tensor's size that lives to the end.
        unsafe { context.set_tensor_address(&name, address as *mut c_void) }.unwrap();
    }
    let on = stream(NON_BLOCKING);
    // The first frame loads the kernels.
    // SAFETY: the tensors lie in device memory, and the stream lives.
    unsafe { context.enqueue(on.cast()) }.unwrap();
    wait(on);

    gpu.busy(on, GATE_MS);
    // After the kernel: a frame that does not wait for its stream sees zeros.
    ok(unsafe { sys::cuMemsetD8Async(input, 1, 1000, on) });
    let begin = stamp(on);
    // SAFETY: as above.
    unsafe { context.enqueue(on.cast()) }.unwrap();
    let end = stamp(on);
    assert_eq!(unsafe { sys::cuStreamQuery(on) }, Code::CUDA_ERROR_NOT_READY);
    wait(on);
    let took = between(begin, end);
    // Beside its stated time: the processor time of adding up 1000 bytes, whatever a busy machine makes of it, and nothing of
    // what it waited for.
    assert!((30.0..1_000.0).contains(&took), "{version}: {took} ms");
    let expected = |sum: u32| (sum + 3) % 127;
    assert_eq!(read(output + 12), expected(1000), "{version}");

    let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    let (mut graph, mut executable) = (null_mut(), null_mut());
    ok(unsafe { sys::cuStreamBeginCapture_v2(on, mode) });
    // SAFETY: as above.
    unsafe { context.enqueue(on.cast()) }.unwrap();
    unsafe {
        ok(sys::cuStreamEndCapture(on, &raw mut graph));
        ok(sys::cuGraphInstantiateWithFlags(&raw mut executable, graph, 0));
        ok(sys::cuMemsetD8Async(input, 2, 1000, on));
        ok(sys::cuGraphLaunch(executable, on));
    }
    wait(on);
    assert_eq!(read(output + 12), expected(2000), "{version}");

    unsafe {
        ok(sys::cuGraphExecDestroy(executable));
        ok(sys::cuGraphDestroy(graph));
        ok(sys::cuStreamDestroy_v2(on));
        drop(context);
        ok(sys::cuMemFree_v2(input));
        ok(sys::cuMemFree_v2(output));
    }
}
