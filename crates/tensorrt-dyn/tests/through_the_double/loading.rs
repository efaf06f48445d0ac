//! Runtime, engine, inspector, runtime configuration, plugins.

use std::path::Path;

use nvidia_doubles::tensorrt::Double;
use tensorrt_dyn::{
    AllocationStrategy, BuilderFlag, ContextMemory, CudaGraphStrategy, DataType, EngineValidity, Error,
    HardwareCompatibility, KernelSpecialization, LayerInformationFormat, ProfileSelector, ProfilingVerbosity,
    TensorIoMode, TensorLocation,
};

use crate::scene::{LATE, NETWORK, STATIC, Scene};

pub fn a_runtime_answers(double: &'static Double) {
    let scene = Scene::new(double);
    scene.control.set_dla_cores(2);
    let runtime = scene.library.runtime().unwrap();
    assert_eq!(runtime.version(), scene.version());
    assert!(runtime.uses_our_logger());
    assert_eq!(runtime.dla_cores().unwrap(), 2);
    runtime.set_dla_core(1).unwrap();
    assert_eq!(runtime.dla_core().unwrap(), 1);
    runtime.set_max_threads(4).unwrap();
    assert_eq!(runtime.max_threads().unwrap(), 4);
    scene.expect(&[
        "IRuntime::getNbDLACores() -> 2",
        "IRuntime::setDLACore(1)",
        "IRuntime::getDLACore() -> 1",
        "IRuntime::setMaxThreads(4) -> true",
        "IRuntime::getMaxThreads() -> 4",
    ]);
    let allowed = runtime.allow_engine_host_code(true);
    if scene
        .where_it_exists("IRuntime::setEngineHostCodeAllowed", allowed)
        .is_some()
    {
        assert!(runtime.allows_engine_host_code().unwrap());
        runtime.allow_engine_host_code(false).unwrap();
        assert!(!runtime.allows_engine_host_code().unwrap());
    }
    scene.where_it_exists("IRuntime::getEngineHeaderSize", runtime.plan_header_size());
    let plan = scene.plan(STATIC);
    let good = runtime.plan_validity(plan.bytes());
    if let Some(good) = scene.where_it_exists("IRuntime::getEngineValidity", good) {
        assert_eq!(good.validity, Some(EngineValidity::Valid));
        assert!(good.reasons().is_empty());
        let bad = runtime.plan_validity(b"rubbish").unwrap();
        assert_eq!(bad.validity, Some(EngineValidity::Invalid));
        assert_eq!(bad.diagnostics, 2);
    }
}

pub fn an_engine_tells_of_itself_and_its_tensors(double: &'static Double) {
    let scene = Scene::new(double);
    let version = scene.version();
    let since_8_6 = scene.has("ICudaEngine::getNbAuxStreams");
    let plan = scene.plan_with(NETWORK, |config| {
        config
            .set_profiling_verbosity(ProfilingVerbosity::Detailed)
            .unwrap();
        if since_8_6 {
            config
                .set_hardware_compatibility(HardwareCompatibility::AmperePlus)
                .unwrap();
            config.set_max_aux_streams(3).unwrap();
        }
        config.set_flag(BuilderFlag::Refit, true).unwrap();
    });
    let runtime = scene.library.runtime().unwrap();
    let engine = runtime.engine(plan.bytes()).unwrap();
    assert_eq!(engine.version(), version);
    assert_eq!(engine.name().unwrap(), "Unnamed Network 0");
    assert_eq!(engine.layer_count().unwrap(), 3);
    assert_eq!(engine.optimization_profiles().unwrap(), 1);
    assert_eq!(engine.device_memory_size().unwrap(), 4096);
    let for_profile = engine.device_memory_size_for_profile(0);
    let asked = if scene.has("ICudaEngine::getDeviceMemorySizeForProfileV2") {
        "ICudaEngine::getDeviceMemorySizeForProfileV2"
    } else {
        "ICudaEngine::getDeviceMemorySizeForProfile"
    };
    assert!(matches!(
        scene.where_it_exists(asked, for_profile),
        None | Some(4096)
    ));
    assert!(engine.is_refittable().unwrap());
    assert_eq!(engine.capability().unwrap(), 0);
    assert_eq!(engine.tactic_sources().unwrap(), 24);
    assert_eq!(
        engine.profiling_verbosity().unwrap(),
        Some(ProfilingVerbosity::Detailed)
    );
    if since_8_6 {
        assert_eq!(
            engine.hardware_compatibility().unwrap(),
            Some(HardwareCompatibility::AmperePlus)
        );
        assert_eq!(engine.aux_streams().unwrap(), 3);
    } else {
        assert!(engine.hardware_compatibility().is_err() && engine.aux_streams().is_err());
    }

    let tensors = engine.tensors().unwrap();
    let names: Vec<_> = tensors
        .iter()
        .map(|tensor| tensor.name.to_str().unwrap())
        .collect();
    assert_eq!(names, ["images", "mask", "boxes", "scores"]);
    let images = &tensors[0];
    assert_eq!(images.mode, Some(TensorIoMode::Input));
    assert_eq!(tensors[2].mode, Some(TensorIoMode::Output));
    assert_eq!(images.data_type, Some(DataType::Float));
    assert_eq!(tensors[1].data_type, Some(DataType::Int8));
    assert_eq!(images.shape, [-1, 2, 2]);
    assert_eq!(images.location, Some(TensorLocation::Device));
    assert!(!images.is_shape);
    assert_eq!(
        (
            images.bytes_per_component,
            images.components_per_element,
            images.vectorized_dimension
        ),
        (-1, -1, -1)
    );
    assert_eq!(images.format, 0);
    assert!(images.format_description.contains("kLINEAR"));
    for (selector, batch) in ProfileSelector::ALL.iter().zip([1, 2, 4]) {
        assert_eq!(
            engine.profile_shape(c"images", 0, *selector).unwrap(),
            [batch, 2, 2]
        );
    }
    assert!(matches!(
        engine.tensor_shape(c"absent"),
        Err(Error::Absent { .. })
    ));
    assert!(engine.profile_shape(c"images", 7, ProfileSelector::Min).is_err());

    let engine = scene.engine(LATE);
    let size = engine
        .tensors()
        .unwrap()
        .into_iter()
        .find(|tensor| tensor.is_shape)
        .unwrap();
    assert_eq!(size.location, Some(TensorLocation::Host));
    let values = engine.profile_shape_values(c"size", 0, ProfileSelector::Max);
    let asked = if scene.has("ICudaEngine::getProfileTensorValuesV2") {
        "ICudaEngine::getProfileTensorValuesV2"
    } else {
        "ICudaEngine::getProfileTensorValues"
    };
    if let Some(values) = scene.where_it_exists(asked, values) {
        assert_eq!(values, Some(vec![4]));
        assert_eq!(
            engine
                .profile_shape_values(c"x", 0, ProfileSelector::Max)
                .unwrap(),
            None
        );
    }
}

pub fn plans_survive_a_second_serialisation(double: &'static Double) {
    let scene = Scene::new(double);
    let plan = scene.plan(NETWORK);
    let engine = scene.library.runtime().unwrap().engine(plan.bytes()).unwrap();
    assert_eq!(engine.serialize().unwrap().bytes(), plan.bytes());
    assert!(format!("{plan:?}").contains(&plan.bytes().len().to_string()));
    scene.expect(&[
        "ICudaEngine::serialize() -> IHostMemory",
        &format!("IHostMemory::size() -> {}", plan.bytes().len()),
    ]);
}

pub fn what_is_no_plan_is_refused_in_the_librarys_words(double: &'static Double) {
    let scene = Scene::new(double);
    let runtime = scene.library.runtime().unwrap();
    let whole = scene.plan(STATIC);
    let mut damaged = whole.bytes().to_vec();
    *damaged.last_mut().unwrap() ^= 1;
    for (plan, words) in [
        (
            &b"rubbish that is long enough to be looked at"[..],
            "Magic tag does not match",
        ),
        (&[], "Magic tag does not match"),
        (&whole.bytes()[..60], "cut short"),
        (&damaged, "Checksum does not match"),
    ] {
        let error = runtime.engine(plan).unwrap_err();
        assert!(matches!(error, Error::Call { .. }), "{error}");
        let error = error.to_string();
        assert!(
            error.contains("IRuntime::deserializeCudaEngine failed in TensorRT"),
            "{error}"
        );
        assert!(error.contains(words), "{error}");
    }
    // A plan of another version: both are named.
    scene.control.set_version(scene.double.number + 1);
    let other = scene.plan(STATIC);
    scene.control.set_version(0);
    let error = runtime.engine(other.bytes()).unwrap_err().to_string();
    for number in [scene.double.number, scene.double.number + 1] {
        assert!(error.contains(&number.to_string()), "{error}");
    }
    if !scene.has("IRuntime::setEngineHostCodeAllowed") {
        return;
    }
    // Host code has to be allowed first.
    let plan = scene.plan_with(STATIC, |config| {
        config.set_flag(BuilderFlag::VersionCompatible, true).unwrap();
    });
    let error = runtime.engine(plan.bytes()).unwrap_err().to_string();
    assert!(error.contains("setEngineHostCodeAllowed"), "{error}");
    runtime.allow_engine_host_code(true).unwrap();
    runtime.engine(plan.bytes()).unwrap();
}

pub fn an_inspector_tells_of_layers(double: &'static Double) {
    let scene = Scene::new(double);
    let engine = scene.engine(NETWORK);
    let inspector = engine.inspector().unwrap();
    let json = inspector
        .engine_information(LayerInformationFormat::Json)
        .unwrap();
    let parsed: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(parsed["Layers"].as_array().unwrap().len(), 3);
    let line = inspector
        .layer_information(1, LayerInformationFormat::Oneline)
        .unwrap();
    assert!(line.contains("head"), "{line}");
    let context = engine.context(ContextMemory::Own).unwrap();
    let inspector = inspector.with_context(&context).unwrap();
    assert!(
        !inspector
            .engine_information(LayerInformationFormat::Oneline)
            .unwrap()
            .is_empty()
    );
    scene.expect(&["IEngineInspector::setExecutionContext(IExecutionContext) -> true"]);
}

pub fn runtime_configurations_and_caches_work_where_they_exist(double: &'static Double) {
    let scene = Scene::new(double);
    let engine = scene.engine(STATIC);
    let config = engine.runtime_config();
    let Some(mut config) = scene.where_it_exists("ICudaEngine::createRuntimeConfig", config) else {
        return;
    };
    config
        .set_allocation_strategy(AllocationStrategy::OnProfileChange)
        .unwrap();
    assert_eq!(
        config.allocation_strategy().unwrap(),
        Some(AllocationStrategy::OnProfileChange)
    );
    let specialised = config.set_kernel_specialization(KernelSpecialization::ALL[0]);
    let strategy = "IRuntimeConfig::setDynamicShapesKernelSpecializationStrategy";
    let is_rtx = scene.has(strategy);
    assert_eq!(specialised.is_ok(), is_rtx);
    assert_eq!(
        config.set_cuda_graph_strategy(CudaGraphStrategy::ALL[0]).is_ok(),
        is_rtx
    );
    let cache = config.create_runtime_cache();
    if let Some(cache) = scene.where_it_exists("IRuntimeConfig::createRuntimeCache", cache) {
        config.set_runtime_cache(&cache).unwrap();
        drop(engine.context_with(&config).unwrap());
        let bytes = cache.serialize().unwrap();
        cache.deserialize(bytes.bytes()).unwrap();
        cache.reset().unwrap();
        let error = cache.deserialize(b"rubbish").unwrap_err().to_string();
        assert!(error.contains("no runtime cache"), "{error}");
        scene.expect(&[
            "IRuntimeConfig::setRuntimeCache(IRuntimeCache) -> true",
            "ICudaEngine::createExecutionContextWithRuntimeConfig(IRuntimeConfig) -> IExecutionContext",
            "IRuntimeCache::serialize() -> IHostMemory",
            "IRuntimeCache::reset() -> true",
        ]);
    } else {
        engine.context_with(&config).unwrap();
    }
}

pub fn plugins_are_refused_in_the_loaders_words(double: &'static Double) {
    let scene = Scene::new(double);
    let error = scene
        .library
        .load_plugins(Path::new("/no/such/plugin.so"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("/no/such/plugin.so"), "{error}");
    assert!(error.contains("cannot open shared object file"), "{error}");
}
