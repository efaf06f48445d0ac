//! Builder, configuration, network, profiles, timing cache.

use std::path::Path;

use nvidia_doubles::tensorrt::Double;
use tensorrt_dyn::{
    BuilderFlag, DataType, DeviceType, Era, Error, HardwareCompatibility, LayerType, MemoryPool,
    NetworkOptions, PreviewFeature, ProfileSelector, ProfilingVerbosity, TacticSource,
};

use crate::scene::{NETWORK, STATIC, Scene};

pub fn a_builder_answers(double: &'static Double) {
    let scene = Scene::new(double);
    scene.control.set_dla_cores(2);
    let builder = scene.library.builder().unwrap();
    assert_eq!(builder.version(), scene.version());
    assert!(builder.uses_our_logger());
    for (method, answer) in [
        ("IBuilder::platformHasFastFp16", builder.has_fast_fp16()),
        ("IBuilder::platformHasFastInt8", builder.has_fast_int8()),
        ("IBuilder::platformHasTf32", builder.has_tf32()),
    ] {
        assert_eq!(answer, scene.has(method).then_some(true), "{method}");
    }
    assert_eq!(builder.dla_cores().unwrap(), 2);
    assert_eq!(builder.max_dla_batch_size().unwrap(), 4096);
    builder.set_max_threads(3).unwrap();
    assert_eq!(builder.max_threads().unwrap(), 3);
    scene.expect(&[
        "IBuilder::getNbDLACores() -> 2",
        "IBuilder::getMaxDLABatchSize() -> 4096",
        "IBuilder::setMaxThreads(3) -> true",
        "IBuilder::getMaxThreads() -> 3",
    ]);
    assert!(builder.set_max_threads(0).is_err());

    let network = builder.network(NetworkOptions::default()).unwrap();
    let config = builder.config().unwrap();
    assert!(!builder.supports(&network, &config).unwrap());
    scene.expect(&["IBuilder::isNetworkSupported(INetworkDefinition, IBuilderConfig) -> false"]);

    // Strongly typed networks came with 9.1; from C and E on there are no others.
    let strong = NetworkOptions { strongly_typed: true };
    match builder.network(strong) {
        Ok(network) => assert_ne!(network.is_strongly_typed(), Some(false)),
        Err(Error::MissingValue { value, .. }) => {
            assert_eq!(value, "kSTRONGLY_TYPED");
            assert_eq!(scene.version().era(), Era::A);
        }
        Err(error) => panic!("{error}"),
    }
}

pub fn a_configuration_takes_every_option(double: &'static Double) {
    let scene = Scene::new(double);
    let builder = scene.library.builder().unwrap();
    let mut config = builder.config().unwrap();
    let version = scene.version();
    for flag in BuilderFlag::ALL {
        let Some(bit) = flag.value(version) else {
            let error = config.set_flag(*flag, true).unwrap_err();
            assert!(matches!(error, Error::MissingValue { .. }), "{error}");
            assert!(config.flag(*flag).is_err());
            continue;
        };
        config.set_flag(*flag, true).unwrap();
        assert!(config.flag(*flag).unwrap(), "{flag}");
        assert_eq!(config.flags().unwrap() >> bit & 1, 1, "{flag}");
        config.set_flag(*flag, false).unwrap();
        assert!(!config.flag(*flag).unwrap(), "{flag}");
        scene.expect(&[
            &format!("IBuilderConfig::setFlag({bit})"),
            &format!("IBuilderConfig::getFlag({bit}) -> true"),
            &format!("IBuilderConfig::clearFlag({bit})"),
            &format!("IBuilderConfig::getFlag({bit}) -> false"),
        ]);
    }
    for pool in MemoryPool::ALL {
        match pool.value(version) {
            Some(number) => {
                config.set_memory_pool_limit(*pool, 1 << 33).unwrap();
                assert_eq!(config.memory_pool_limit(*pool).unwrap(), 1 << 33);
                scene.expect(&[
                    &format!("IBuilderConfig::setMemoryPoolLimit({number}, 8589934592)"),
                    &format!("IBuilderConfig::getMemoryPoolLimit({number}) -> 8589934592"),
                ]);
            }
            None => assert!(config.set_memory_pool_limit(*pool, 1).is_err()),
        }
    }
    for verbosity in ProfilingVerbosity::ALL {
        config.set_profiling_verbosity(*verbosity).unwrap();
        assert_eq!(config.profiling_verbosity().unwrap(), Some(*verbosity));
    }
    for level in HardwareCompatibility::ALL {
        if level.value(version).is_some() {
            config.set_hardware_compatibility(*level).unwrap();
            assert_eq!(config.hardware_compatibility().unwrap(), Some(*level));
        } else {
            assert!(config.set_hardware_compatibility(*level).is_err());
        }
    }
    for feature in PreviewFeature::ALL {
        if feature.value(version).is_some() {
            config.set_preview_feature(*feature, true).unwrap();
            assert!(config.preview_feature(*feature).unwrap());
        } else {
            assert!(config.set_preview_feature(*feature, true).is_err());
        }
    }
    let sources: Vec<_> = TacticSource::ALL
        .iter()
        .copied()
        .filter(|source| source.value(version).is_some())
        .collect();
    config.set_tactic_sources(&sources).unwrap();
    assert_eq!(config.tactic_sources().unwrap(), sources);
    scene.heard();

    config.set_average_timing_iterations(7).unwrap();
    config.set_default_device(DeviceType::Dla).unwrap();
    assert_eq!(config.default_device().unwrap(), Some(DeviceType::Dla));
    config.set_dla_core(1).unwrap();
    assert_eq!(config.dla_core().unwrap(), 1);
    let stream = 0x1_0000_usize as tensorrt_dyn::Stream;
    // SAFETY: the double keeps the number.
    unsafe { config.set_profile_stream(stream) }.unwrap();
    scene.expect(&[
        "IBuilderConfig::setAvgTimingIterations(7)",
        "IBuilderConfig::setDefaultDeviceType(1)",
        "IBuilderConfig::getDefaultDeviceType() -> 1",
        "IBuilderConfig::setDLACore(1)",
        "IBuilderConfig::getDLACore() -> 1",
        "IBuilderConfig::setProfileStream(0x10000)",
    ]);
    // These came with 8.6.1.
    let level = config.set_optimization_level(5);
    let plugins = config.set_plugins_to_serialize(&[Path::new("/a/libone.so"), Path::new("/b/libtwo.so")]);
    scene.where_it_exists("IBuilderConfig::setPluginsToSerialize", plugins);
    if scene
        .where_it_exists("IBuilderConfig::setBuilderOptimizationLevel", level)
        .is_some()
    {
        assert_eq!(config.optimization_level().unwrap(), 5);
        config.set_max_aux_streams(2).unwrap();
        assert_eq!(config.max_aux_streams().unwrap(), 2);
        scene.expect(&[
            "IBuilderConfig::setBuilderOptimizationLevel(5)",
            "IBuilderConfig::getBuilderOptimizationLevel() -> 5",
            "IBuilderConfig::getMaxAuxStreams() -> 2",
        ]);
    } else {
        assert!(config.optimization_level().is_err());
        assert!(config.set_max_aux_streams(2).is_err());
    }

    scene.where_it_exists(
        "IBuilderConfig::setTilingOptimizationLevel",
        config.set_tiling_optimization_level(2),
    );
    let targets = config.set_compute_capabilities(&[75, 89]);
    if scene
        .where_it_exists("IBuilderConfig::setNbComputeCapabilities", targets)
        .is_some()
    {
        assert_eq!(config.compute_capabilities().unwrap(), [75, 89]);
        scene.expect(&[
            "IBuilderConfig::setNbComputeCapabilities(2) -> true",
            "IBuilderConfig::setComputeCapability(75, 0) -> true",
            "IBuilderConfig::setComputeCapability(89, 1) -> true",
            "IBuilderConfig::getComputeCapability(1) -> 89",
        ]);
    } else {
        assert!(config.compute_capabilities().is_err());
    }
    let profile = builder.optimization_profile().unwrap();
    scene.where_it_exists(
        "IBuilderConfig::setCalibrationProfile",
        config.set_calibration_profile(&profile),
    );
    assert!(!config.has_timing_cache().unwrap());
    let cache = config.create_timing_cache(&[]).unwrap();
    config.set_timing_cache(&cache, false).unwrap();
    assert!(config.has_timing_cache().unwrap());
}

pub fn networks_tensors_and_layers_are_read_and_changed(double: &'static Double) {
    let scene = Scene::new(double);
    let parser = scene.parsed(NETWORK);
    assert_eq!(parser.layer_count().unwrap(), 3);
    let layers = parser.layers().unwrap();
    let names: Vec<_> = layers.iter().map(|layer| layer.name().unwrap()).collect();
    assert_eq!(names, ["stem", "head", "tail"]);
    let kinds: Vec<_> = layers
        .iter()
        .map(|layer| layer.kind().unwrap().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [LayerType::Convolution, LayerType::Activation, LayerType::Softmax]
    );
    assert_eq!(layers[0].inputs().unwrap()[0].name().unwrap(), "images");
    assert_eq!(layers[2].outputs().unwrap()[0].name().unwrap(), "scores");
    scene.expect(&[
        "ILayer::getInput(0) -> ITensor",
        "ILayer::getOutput(0) -> ITensor",
    ]);

    let inputs = parser.inputs().unwrap();
    let outputs = parser.outputs().unwrap();
    assert_eq!((inputs.len(), outputs.len()), (2, 2));
    let images = &inputs[0];
    assert_eq!(images.dimensions().unwrap(), [-1, 2, 2]);
    assert_eq!(images.data_type().unwrap(), Some(DataType::Float));
    assert_eq!(inputs[1].data_type().unwrap(), Some(DataType::Int8));
    images.set_dimensions(&[5, 2, 2]).unwrap();
    assert_eq!(images.dimensions().unwrap(), [5, 2, 2]);
    images.set_name("pictures").unwrap();
    assert_eq!(images.name().unwrap(), "pictures");
    images.set_allowed_formats(5).unwrap();
    assert_eq!(images.allowed_formats().unwrap(), 5);
    assert!(!images.is_shape_tensor().unwrap());
    assert!(images.is_execution_tensor().unwrap());
    scene.expect(&[
        "ITensor::setDimensions([5,2,2])",
        "ITensor::getDimensions() -> [5,2,2]",
        "ITensor::setName(\"pictures\")",
        "ITensor::setAllowedFormats(5)",
        "ITensor::getAllowedFormats() -> 5",
    ]);
    if scene
        .where_it_exists("ITensor::setType", images.set_data_type(DataType::Half))
        .is_some()
    {
        assert_eq!(images.data_type().unwrap(), Some(DataType::Half));
    }
    if scene
        .where_it_exists("ITensor::setDynamicRange", images.set_dynamic_range(-1.5, 2.0))
        .is_some()
    {
        assert!(images.has_dynamic_range().unwrap());
        scene.expect(&["ITensor::setDynamicRange(-1.500000, 2.000000) -> true"]);
    } else {
        assert!(images.has_dynamic_range().is_err());
    }
    scene.where_it_exists("ILayer::setPrecision", layers[0].set_precision(DataType::Half));
    scene.where_it_exists(
        "ILayer::setOutputType",
        layers[0].set_output_type(0, DataType::Half),
    );
    scene.heard();
    parser.unmark_output(&outputs[1]).unwrap();
    assert_eq!(parser.outputs().unwrap().len(), 1);
    parser.mark_output(&outputs[1]).unwrap();
    assert_eq!(parser.outputs().unwrap().len(), 2);
    parser.set_name("a net").unwrap();
    assert_eq!(parser.name().unwrap(), "a net");
    assert!(matches!(
        parser.set_name("a\0b"),
        Err(Error::Nul { position: 1, .. })
    ));
    let flags = parser.is_strongly_typed();
    assert_eq!(
        flags.is_some(),
        scene.has("INetworkDefinition::getFlags"),
        "{flags:?}"
    );
    scene.expect(&[
        "INetworkDefinition::unmarkOutput(ITensor)",
        "INetworkDefinition::markOutput(ITensor)",
        "INetworkDefinition::setName(\"a net\")",
        "INetworkDefinition::getName() -> \"a net\"",
    ]);

    let builder = scene.library.builder().unwrap();
    let config = builder.config().unwrap();
    scene.control.set_dla_cores(1);
    assert!(config.can_run_on_dla(&layers[0]).unwrap());
    scene.expect(&["IBuilderConfig::canRunOnDLA(ILayer) -> true"]);
}

pub fn profiles_of_shapes_arrive_as_given(double: &'static Double) {
    let scene = Scene::new(double);
    let builder = scene.library.builder().unwrap();
    let profile = builder.optimization_profile().unwrap();
    assert_eq!(profile.dimensions("images", ProfileSelector::Min).unwrap(), None);
    for (number, selector) in ProfileSelector::ALL.iter().enumerate() {
        let shape = [i64::try_from(number).unwrap() + 1, 2, 2];
        profile.set_dimensions("images", *selector, &shape).unwrap();
        assert_eq!(profile.dimensions("images", *selector).unwrap().unwrap(), shape);
        scene.expect(&[
            &format!(
                "IOptimizationProfile::setDimensions(\"images\", {number}, [{},2,2]) -> true",
                number + 1
            ),
            &format!(
                "IOptimizationProfile::getDimensions(\"images\", {number}) -> [{},2,2]",
                number + 1
            ),
        ]);
        profile.set_shape_values("size", *selector, &[3]).unwrap();
    }
    assert!(profile.is_valid().unwrap());
    let wide = scene.has("IOptimizationProfile::setShapeValuesV2");
    let setter = if wide {
        "setShapeValuesV2"
    } else {
        "setShapeValues"
    };
    assert!(
        scene
            .heard()
            .iter()
            .any(|line| line.starts_with(&format!("IOptimizationProfile::{setter}(\"size\", 2, 0x")))
    );
    let config = builder.config().unwrap();
    assert_eq!(config.add_optimization_profile(&profile).unwrap(), 0);
    assert_eq!(config.optimization_profiles().unwrap(), 1);
    profile
        .set_dimensions("images", ProfileSelector::Min, &[9, 2, 2])
        .unwrap();
    assert!(!profile.is_valid().unwrap());
    let error = config.add_optimization_profile(&profile).unwrap_err().to_string();
    assert!(error.contains("the profile is not valid"), "{error}");
    assert!(
        profile
            .set_dimensions("images", ProfileSelector::Min, &[-1])
            .is_err()
    );
}

pub fn timing_caches_are_kept_between_builds(double: &'static Double) {
    let scene = Scene::new(double);
    let mut bytes = Vec::new();
    scene.plan_with(STATIC, |config| {
        let cache = config.create_timing_cache(&[]).unwrap();
        config.set_timing_cache(&cache, false).unwrap();
    });
    let builder = scene.library.builder().unwrap();
    let config = builder.config().unwrap();
    let first = config.create_timing_cache(&[]).unwrap();
    scene.plan_with(STATIC, |config| {
        config.set_timing_cache(&first, false).unwrap();
    });
    bytes.extend_from_slice(first.serialize().unwrap().bytes());
    assert!(String::from_utf8_lossy(&bytes).contains("only"), "{bytes:?}");
    let second = config.create_timing_cache(&bytes).unwrap();
    let third = config.create_timing_cache(&[]).unwrap();
    third.combine(&second, true).unwrap();
    assert_eq!(third.serialize().unwrap().bytes(), bytes);
    third.reset().unwrap();
    assert!(third.serialize().unwrap().bytes().len() < bytes.len());
    scene.expect(&[
        "ITimingCache::combine(ITimingCache, true) -> true",
        "ITimingCache::reset() -> true",
        "ITimingCache::serialize() -> IHostMemory",
    ]);
    let error = config.create_timing_cache(b"rubbish").unwrap_err().to_string();
    assert!(error.contains("the blob is no timing cache"), "{error}");
}

pub fn extents_beyond_32_bits_are_refused_where_they_do_not_fit(double: &'static Double) {
    let scene = Scene::new(double);
    let parser = scene.parsed(STATIC);
    let input = &parser.inputs().unwrap()[0];
    let wide = [1_i64 << 40];
    match input.set_dimensions(&wide) {
        Ok(()) => assert_eq!(input.dimensions().unwrap(), wide),
        Err(Error::Shape { bits: 32, .. }) => assert_eq!(scene.version().era(), Era::A),
        Err(error) => panic!("{error}"),
    }
    assert!(matches!(input.set_dimensions(&[1; 9]), Err(Error::Shape { .. })));
}
