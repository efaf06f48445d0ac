//! Execution contexts: shapes, addresses, frames, memory, threads.

use std::ffi::c_void;

use nvidia_doubles::tensorrt::Double;
use tensorrt_dyn::{ContextMemory, Error, ExecutionContext, ProfilingVerbosity, Stream};

use crate::scene::{LATE, NETWORK, STATIC, Scene};

/// The default stream: the double then computes before it returns.
const NO_STREAM: Stream = std::ptr::null_mut();

/// Sets all addresses of [`NETWORK`], for a batch.
fn bind(
    context: &mut ExecutionContext,
    batch: i64,
    images: &[f32],
    mask: &[i8],
    boxes: &mut [f32],
    scores: &mut [f32],
) {
    context.set_input_shape(c"images", &[batch, 2, 2]).unwrap();
    // SAFETY: the slices outlive the frames of the tests below, which check their sizes.
    unsafe {
        context
            .set_input_address(c"images", images.as_ptr().cast())
            .unwrap();
        context.set_input_address(c"mask", mask.as_ptr().cast()).unwrap();
        context
            .set_output_address(c"boxes", boxes.as_mut_ptr().cast())
            .unwrap();
        context
            .set_output_address(c"scores", scores.as_mut_ptr().cast())
            .unwrap();
    }
}

/// What the double computes: see `compute.h`.
fn expected(start: u32, count: usize) -> Vec<f32> {
    (0..count).map(|i| ((start as usize + i) % 127) as f32).collect()
}

fn byte_sum(bytes: impl IntoIterator<Item = u8>) -> u32 {
    bytes.into_iter().map(u32::from).sum()
}

pub fn a_frame_is_computed_from_its_inputs(double: &'static Double) {
    let scene = Scene::new(double);
    let mut context = scene.context(NETWORK);
    let images: Vec<f32> = (0..8).map(|i| i as f32).collect();
    let mask = [1_i8, -2, 3];
    let (mut boxes, mut scores) = (vec![-1.0_f32; 6], vec![-1.0_f32; 2]);
    bind(&mut context, 2, &images, &mask, &mut boxes, &mut scores);
    assert!(context.infer_shapes().unwrap().is_empty());
    assert_eq!(context.tensor_shape(c"boxes").unwrap(), [2, 3]);
    assert_eq!(context.tensor_strides(c"images").unwrap(), [4, 2, 1]);
    // SAFETY: every address is of memory of the tensor's size.
    unsafe { context.enqueue(NO_STREAM) }.unwrap();
    let sum = byte_sum(images.iter().flat_map(|v| v.to_ne_bytes())) + 2 * byte_sum(mask.map(|v| v as u8));
    assert_eq!(boxes, expected(sum % 127, 6));
    assert_eq!(scores, expected(sum % 127 + 1, 2));
    assert_eq!(scene.control.enqueued(), 1);
    scene.expect(&[
        "IExecutionContext::setInputShape(\"images\", [2,2,2]) -> true",
        "IExecutionContext::getTensorShape(\"boxes\") -> [2,3]",
        "IExecutionContext::getTensorStrides(\"images\") -> [4,2,1]",
        "IExecutionContext::enqueueV3(null) -> true",
    ]);
}

pub fn shapes_and_addresses_are_set_and_read_back(double: &'static Double) {
    let scene = Scene::new(double);
    let mut context = scene.context(NETWORK);
    assert!(!context.has_all_input_shapes().unwrap());
    assert_eq!(context.infer_shapes().unwrap(), ["images"]);
    let error = context
        .set_input_shape(c"images", &[9, 2, 2])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("does not satisfy any optimization profiles"),
        "{error}"
    );
    assert!(matches!(
        context.set_input_shape(c"images", &[1; 9]),
        Err(Error::Shape { .. })
    ));
    context.set_input_shape(c"images", &[4, 2, 2]).unwrap();
    assert!(context.has_all_input_shapes().unwrap());
    assert_eq!(context.max_output_size(c"boxes").unwrap(), 4 * 3 * 4);
    assert!(matches!(
        context.tensor_shape(c"absent"),
        Err(Error::Absent { .. })
    ));
    assert!(matches!(
        context.tensor_strides(c"absent"),
        Err(Error::Absent { .. })
    ));

    let mut memory = [0_u8; 64];
    let address: *mut c_void = memory.as_mut_ptr().cast();
    assert!(context.tensor_address(c"images").unwrap().is_null());
    // SAFETY: no frame runs.
    unsafe {
        context.set_tensor_address(c"images", address).unwrap();
        context.set_output_address(c"boxes", address).unwrap();
        context.set_input_address(c"mask", address).unwrap();
        assert!(context.set_tensor_address(c"absent", address).is_err());
        assert!(context.set_input_address(c"boxes", address).is_err());
    }
    for name in [c"images", c"boxes", c"mask"] {
        assert_eq!(
            context.tensor_address(name).unwrap(),
            address.cast_const(),
            "{name:?}"
        );
    }
    scene.expect(&[
        "IExecutionContext::allInputDimensionsSpecified() -> false",
        "IExecutionContext::setInputShape(\"images\", [4,2,2]) -> true",
        "IExecutionContext::getMaxOutputSize(\"boxes\") -> 48",
        &format!("IExecutionContext::setTensorAddress(\"images\", {address:p}) -> true"),
        &format!("IExecutionContext::setInputTensorAddress(\"mask\", {address:p}) -> true"),
        &format!("IExecutionContext::getTensorAddress(\"boxes\") -> {address:p}"),
    ]);
    // SAFETY: the default stream.
    unsafe {
        context.set_optimization_profile(0, NO_STREAM).unwrap();
        assert!(context.set_optimization_profile(3, NO_STREAM).is_err());
    }
    assert_eq!(context.optimization_profile().unwrap(), 0);
    assert!(
        !context.has_all_input_shapes().unwrap(),
        "a new profile forgets shapes"
    );
    scene.expect(&["IExecutionContext::setOptimizationProfileAsync(0, null) -> true"]);
}

pub fn a_context_takes_every_option(double: &'static Double) {
    let scene = Scene::new(double);
    let plan = scene.plan_with(STATIC, |config| {
        config
            .set_profiling_verbosity(ProfilingVerbosity::Detailed)
            .unwrap();
    });
    let engine = scene.library.runtime().unwrap().engine(plan.bytes()).unwrap();
    let mut context = engine.context(ContextMemory::Own).unwrap();
    context.set_name("left camera").unwrap();
    assert_eq!(context.name().unwrap(), "left camera");
    assert!(context.set_name("a\0b").is_err());
    context.set_debug_sync(true).unwrap();
    context.set_persistent_cache_limit(1 << 20).unwrap();
    context.set_nvtx_verbosity(ProfilingVerbosity::None).unwrap();
    context.set_enqueue_emits_profile(false).unwrap();
    assert!(!context.enqueue_emits_profile().unwrap());
    let event = 0x2_0000_usize as tensorrt_dyn::Event;
    let mut streams = [0x1_0000_usize as Stream, 0x1_0008_usize as Stream];
    // SAFETY: the double keeps the numbers.
    unsafe {
        context.set_input_consumed_event(event).unwrap();
        let aux = context.set_aux_streams(&mut streams);
        if scene
            .where_it_exists("IExecutionContext::setAuxStreams", aux)
            .is_some()
        {
            assert!(
                scene
                    .control
                    .calls()
                    .iter()
                    .any(|line| { line.ends_with(&format!("setAuxStreams({:p}, 2)", streams.as_ptr())) })
            );
        }
        let capturable = context.is_stream_capturable(NO_STREAM);
        scene.where_it_exists("IExecutionContext::isStreamCapturable", capturable);
    }
    scene.expect(&[
        "IExecutionContext::setName(\"left camera\")",
        "IExecutionContext::getName() -> \"left camera\"",
        "IExecutionContext::setDebugSync(true)",
        "IExecutionContext::setPersistentCacheLimit(1048576)",
        "IExecutionContext::setEnqueueEmitsProfile(false)",
        "IExecutionContext::getEnqueueEmitsProfile() -> false",
        "IExecutionContext::setInputConsumedEvent(0x20000) -> true",
    ]);
}

pub fn memory_comes_from_outside_in_the_size_that_is_needed(double: &'static Double) {
    let scene = Scene::new(double);
    let engine = scene.engine(NETWORK);
    let mut context = engine.context(ContextMemory::FromOutside).unwrap();
    let (images, mask) = ([0.0_f32; 4], [0_i8; 3]);
    let (mut boxes, mut scores) = ([0.0_f32; 3], [0.0_f32; 1]);
    bind(&mut context, 1, &images, &mask, &mut boxes, &mut scores);
    // SAFETY: every address is of memory of the tensor's size.
    let error = unsafe { context.enqueue(NO_STREAM) }.unwrap_err().to_string();
    assert!(error.contains("device memory of 4096 bytes is wanted"), "{error}");
    let mut memory = vec![0_u8; 4096];
    let address: *mut c_void = memory.as_mut_ptr().cast();
    let takes_size = scene.has("IExecutionContext::setDeviceMemoryV2");
    // SAFETY: the memory outlives the frame.
    unsafe {
        match context.set_device_memory(address, 100) {
            Ok(()) => assert!(takes_size),
            Err(Error::TooSmall {
                needed: 4096,
                given: 100,
                ..
            }) => assert!(!takes_size),
            Err(error) => panic!("{error}"),
        }
        context.set_device_memory(address, 4096).unwrap();
        context.enqueue(NO_STREAM).unwrap();
    }
    let setter = match takes_size {
        true => format!("IExecutionContext::setDeviceMemoryV2({address:p}, 4096)"),
        false => format!("IExecutionContext::setDeviceMemory({address:p})"),
    };
    scene.expect(&[&setter, "IExecutionContext::enqueueV3(null) -> true"]);
    let needed = context.device_memory_size_for_shapes();
    scene.where_it_exists("IExecutionContext::updateDeviceMemorySizeForShapes", needed);

    match engine.context(ContextMemory::OnProfileChange) {
        Ok(_) => assert_ne!(scene.version().era(), tensorrt_dyn::Era::A),
        Err(Error::MissingValue { .. }) => assert_eq!(scene.version().era(), tensorrt_dyn::Era::A),
        Err(error) => panic!("{error}"),
    }
}

pub fn a_frame_that_is_not_ready_is_refused(double: &'static Double) {
    let scene = Scene::new(double);
    let mut context = scene.context(NETWORK);
    // SAFETY: nothing is set, so nothing is touched.
    let error = unsafe { context.enqueue(NO_STREAM) }.unwrap_err().to_string();
    assert!(error.contains("IExecutionContext::enqueueV3 failed"), "{error}");
    assert!(error.contains("Not all shapes are specified"), "{error}");
    context.set_input_shape(c"images", &[1, 2, 2]).unwrap();
    // SAFETY: as above.
    let error = unsafe { context.enqueue(NO_STREAM) }.unwrap_err().to_string();
    assert!(
        error.contains("Neither address or allocator is set for input tensor images"),
        "{error}"
    );
    // A shape input's value is read on the host.
    let mut context = scene.context(LATE);
    assert_eq!(context.infer_shapes().unwrap(), ["size"]);
}

pub fn contexts_of_one_engine_run_in_several_threads(double: &'static Double) {
    let scene = Scene::new(double);
    let engine = scene.engine(STATIC);
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            let engine = engine.clone();
            scope.spawn(move || {
                let mut context = engine.context(ContextMemory::Own).unwrap();
                let x = [f32::from(thread); 4];
                let mut y = [0.0_f32; 4];
                let start = byte_sum(x.iter().flat_map(|v| v.to_ne_bytes())) % 127;
                // SAFETY: both live through the frames.
                unsafe {
                    context.set_input_address(c"x", x.as_ptr().cast()).unwrap();
                    context.set_output_address(c"y", y.as_mut_ptr().cast()).unwrap();
                    for _ in 0..50 {
                        context.enqueue(NO_STREAM).unwrap();
                    }
                }
                assert_eq!(y.to_vec(), expected(start, 4));
            });
        }
    });
    assert_eq!(scene.control.enqueued(), 200);
}
