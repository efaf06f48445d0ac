//! Every way in which a call can be answered with failure: the error names the call and quotes the library.

use std::ffi::c_void;

use nvidia_doubles::tensorrt::{Control, Double};
use tensorrt_dyn::{
    ContextMemory, CudaGraphStrategy, Dims, Error, NetworkOptions, OutputAllocator, ProfileSelector,
    Profiler, ProfilingVerbosity, Result, Stream,
};

use crate::scene::{NETWORK, STATIC, Scene};

const WORDS: &str = "the double was told to fail here";

/// Orders the failure of a method, calls it and looks at the error.
#[track_caller]
fn fails<T>(scene: &Scene, control: &Control, method: &str, answer: i64, call: impl FnOnce() -> Result<T>) {
    control.fail_with(method, 1, answer);
    match call().map(|_| ()).unwrap_err() {
        Error::Call {
            call,
            version,
            messages,
        } => {
            assert_eq!(call, method);
            assert_eq!(version, scene.version());
            assert!(messages.to_string().contains(WORDS), "{method}: {messages}");
        }
        error => panic!("{}: {method}: {error:?}", scene.version()),
    }
}

struct Nothing;
impl OutputAllocator for Nothing {
    fn reallocate(&mut self, _: &str, _: *mut c_void, _: u64, _: u64, _: Stream) -> *mut c_void {
        std::ptr::null_mut()
    }
    fn shape(&mut self, _: &str, _: &Dims) {}
}
impl Profiler for Nothing {
    fn layer_time(&mut self, _: &str, _: f32) {}
}

pub fn every_fallible_method_names_itself_and_quotes_the_library(double: &'static Double) {
    let scene = Scene::new(double);
    let control = &scene.control;
    let library = scene.library;
    // Before the first object there is no logger that could be told why it was not made.
    let _keep_loggers = (library.runtime().unwrap(), scene.parsed(STATIC));
    fails(&scene, control, "createInferBuilder_INTERNAL", 0, || {
        library.builder()
    });
    fails(&scene, control, "createInferRuntime_INTERNAL", 0, || {
        library.runtime()
    });
    fails(&scene, control, "createInferRuntime_INTERNAL", 0x228, || {
        library.runtime()
    });

    let builder = library.builder().unwrap();
    let network = || builder.network(NetworkOptions::default());
    fails(&scene, control, "IBuilder::createBuilderConfig", 0, || {
        builder.config()
    });
    fails(&scene, control, "IBuilder::createNetworkV2", 0, network);
    fails(&scene, control, "IBuilder::createOptimizationProfile", 0, || {
        builder.optimization_profile()
    });
    fails(&scene, control, "IBuilder::setMaxThreads", 0, || {
        builder.set_max_threads(2)
    });
    fails(&scene, &scene.parser, "createNvOnnxParser_INTERNAL", 0, || {
        network()?.parser()
    });
    let mut parser = network().unwrap().parser().unwrap();
    scene.parser.fail("IParser::parse", 1);
    assert!(matches!(
        parser.parse(STATIC.as_bytes(), "x"),
        Err(Error::Parse { .. })
    ));
    parser.parse(STATIC.as_bytes(), "x").unwrap();
    let mut config = builder.config().unwrap();
    if scene.has("IParser::setBuilderConfig") {
        fails(&scene, &scene.parser, "IParser::setBuilderConfig", 0, || {
            parser.set_builder_config(&config)
        });
    }
    fails(&scene, control, "IBuilder::buildSerializedNetwork", 0, || {
        builder.build(&parser, &config)
    });
    fails(&scene, control, "INetworkDefinition::getLayer", 0, || {
        parser.layers().map(|_| ())
    });
    fails(&scene, control, "INetworkDefinition::getInput", 0, || {
        parser.inputs().map(|_| ())
    });
    fails(&scene, control, "INetworkDefinition::getOutput", 0, || {
        parser.outputs().map(|_| ())
    });
    let layer = parser.layers().unwrap()[0];
    fails(&scene, control, "ILayer::getOutput", 0, || {
        layer.outputs().map(|_| ())
    });
    if scene.has("ITensor::setDynamicRange") {
        let input = parser.inputs().unwrap()[0];
        fails(&scene, control, "ITensor::setDynamicRange", 0, || {
            input.set_dynamic_range(0.0, 1.0)
        });
    }

    let profile = builder.optimization_profile().unwrap();
    fails(&scene, control, "IOptimizationProfile::setDimensions", 0, || {
        profile.set_dimensions("x", ProfileSelector::Min, &[4])
    });
    let setter = if scene.has("IOptimizationProfile::setShapeValuesV2") {
        "IOptimizationProfile::setShapeValuesV2"
    } else {
        "IOptimizationProfile::setShapeValues"
    };
    fails(&scene, control, setter, 0, || {
        profile.set_shape_values("x", ProfileSelector::Min, &[4])
    });
    fails(
        &scene,
        control,
        "IBuilderConfig::addOptimizationProfile",
        -1,
        || config.add_optimization_profile(&profile),
    );
    if scene.has("IBuilderConfig::setCalibrationProfile") {
        fails(
            &scene,
            control,
            "IBuilderConfig::setCalibrationProfile",
            0,
            || config.set_calibration_profile(&profile),
        );
    }
    fails(&scene, control, "IBuilderConfig::setTacticSources", 0, || {
        config.set_tactic_sources(&[])
    });
    fails(&scene, control, "IBuilderConfig::createTimingCache", 0, || {
        config.create_timing_cache(&[])
    });
    let cache = config.create_timing_cache(&[]).unwrap();
    fails(&scene, control, "IBuilderConfig::setTimingCache", 0, || {
        config.set_timing_cache(&cache, false)
    });
    fails(&scene, control, "ITimingCache::serialize", 0, || {
        cache.serialize()
    });
    fails(&scene, control, "ITimingCache::combine", 0, || {
        cache.combine(&cache, true)
    });
    fails(&scene, control, "ITimingCache::reset", 0, || cache.reset());
    if matches!(double.era, 'C' | 'E') {
        fails(&scene, control, "IBuilderConfig::setMaxAuxStreams", 0, || {
            config.set_max_aux_streams(1)
        });
    }
    if scene.has("IBuilderConfig::setTilingOptimizationLevel") {
        fails(
            &scene,
            control,
            "IBuilderConfig::setTilingOptimizationLevel",
            0,
            || config.set_tiling_optimization_level(1),
        );
    }
    for method in [
        "IBuilderConfig::setNbComputeCapabilities",
        "IBuilderConfig::setComputeCapability",
    ] {
        if scene.has(method) {
            fails(&scene, control, method, 0, || {
                config.set_compute_capabilities(&[89])
            });
        }
    }

    let plan = scene.plan(NETWORK);
    let runtime = library.runtime().unwrap();
    fails(&scene, control, "IRuntime::deserializeCudaEngine", 0, || {
        runtime.engine(plan.bytes())
    });
    fails(&scene, control, "IRuntime::setMaxThreads", 0, || {
        runtime.set_max_threads(2)
    });
    let engine = runtime.engine(plan.bytes()).unwrap();
    fails(&scene, control, "ICudaEngine::createExecutionContext", 0, || {
        engine.context(ContextMemory::Own)
    });
    fails(&scene, control, "ICudaEngine::createEngineInspector", 0, || {
        engine.inspector()
    });
    fails(&scene, control, "ICudaEngine::serialize", 0, || {
        engine.serialize()
    });
    fails(&scene, control, "ICudaEngine::getIOTensorName", 0, || {
        engine.tensors()
    });
    let mut context = engine.context(ContextMemory::Own).unwrap();
    let inspector = engine.inspector().unwrap();
    fails(
        &scene,
        control,
        "IEngineInspector::setExecutionContext",
        0,
        || inspector.with_context(&context),
    );

    let null = std::ptr::null_mut();
    fails(&scene, control, "IExecutionContext::setInputShape", 0, || {
        context.set_input_shape(c"images", &[1, 2, 2])
    });
    fails(&scene, control, "IExecutionContext::inferShapes", -1, || {
        context.infer_shapes()
    });
    // SAFETY: every call fails before it does anything.
    unsafe {
        fails(&scene, control, "IExecutionContext::enqueueV3", 0, || {
            context.enqueue(null)
        });
        fails(&scene, control, "IExecutionContext::setTensorAddress", 0, || {
            context.set_tensor_address(c"images", null)
        });
        fails(
            &scene,
            control,
            "IExecutionContext::setInputTensorAddress",
            0,
            || context.set_input_address(c"images", null),
        );
        let output = if double.era == 'A' {
            "IExecutionContext::setTensorAddress"
        } else {
            "IExecutionContext::setOutputTensorAddress"
        };
        fails(&scene, control, output, 0, || {
            context.set_output_address(c"boxes", null)
        });
        fails(
            &scene,
            control,
            "IExecutionContext::setOptimizationProfileAsync",
            0,
            || context.set_optimization_profile(0, null),
        );
        fails(
            &scene,
            control,
            "IExecutionContext::setInputConsumedEvent",
            0,
            || context.set_input_consumed_event(null),
        );
        fails(
            &scene,
            control,
            "IExecutionContext::setOutputAllocator",
            0,
            || context.set_output_allocator(c"boxes", Box::new(Nothing)),
        );
    }
    context.set_profiler(Some(Box::new(Nothing))).unwrap();
    fails(&scene, control, "IExecutionContext::reportToProfiler", 0, || {
        context.report_to_profiler()
    });
    fails(&scene, control, "IExecutionContext::setNvtxVerbosity", 0, || {
        context.set_nvtx_verbosity(ProfilingVerbosity::None)
    });

    if !scene.has("ICudaEngine::createRuntimeConfig") {
        return;
    }
    fails(&scene, control, "ICudaEngine::createRuntimeConfig", 0, || {
        engine.runtime_config()
    });
    let mut config = engine.runtime_config().unwrap();
    fails(
        &scene,
        control,
        "ICudaEngine::createExecutionContextWithRuntimeConfig",
        0,
        || engine.context_with(&config),
    );
    if !scene.has("IRuntimeConfig::createRuntimeCache") {
        return;
    }
    fails(&scene, control, "IRuntimeConfig::createRuntimeCache", 0, || {
        config.create_runtime_cache()
    });
    let cache = config.create_runtime_cache().unwrap();
    fails(&scene, control, "IRuntimeConfig::setRuntimeCache", 0, || {
        config.set_runtime_cache(&cache)
    });
    fails(&scene, control, "IRuntimeConfig::setCudaGraphStrategy", 0, || {
        config.set_cuda_graph_strategy(CudaGraphStrategy::ALL[0])
    });
    fails(&scene, control, "IRuntimeCache::serialize", 0, || {
        cache.serialize()
    });
    fails(&scene, control, "IRuntimeCache::deserialize", 0, || {
        cache.deserialize(b"x")
    });
    fails(&scene, control, "IRuntimeCache::reset", 0, || cache.reset());
}

pub fn the_same_failure_twice_is_told_twice(double: &'static Double) {
    let scene = Scene::new(double);
    let runtime = scene.library.runtime().unwrap();
    for _ in 0..3 {
        let error = runtime.engine(b"rubbish").unwrap_err().to_string();
        assert!(error.contains("Magic tag does not match"), "{error}");
    }
}

pub fn a_gpu_that_is_not_there_is_told(double: &'static Double) {
    let scene = Scene::new(double);
    let plan = scene.plan(STATIC);
    // As the lean libraries: a null pointer, moved by an offset.
    scene.control.set_gpu_absent(1);
    let error = scene.library.runtime().unwrap_err().to_string();
    assert!(
        error.contains("CUDA initialization failure with error: 35"),
        "{error}"
    );
    // As TensorRT-RTX: a runtime that reads no plan.
    scene.control.set_gpu_absent(2);
    let error = scene
        .library
        .runtime()
        .unwrap()
        .engine(plan.bytes())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("CUDA initialization failure with error: 35"),
        "{error}"
    );
}
