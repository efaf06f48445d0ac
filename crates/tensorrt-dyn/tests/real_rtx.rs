//! NVIDIA's own TensorRT-RTX 1.7 (era E) and 1.4 (era D, laid out like TensorRT 10.16): parse, build and read plans
//! without a GPU. The libraries come from Python wheels that `scripts/setup.sh --test` puts into `.venvs`.

mod common;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use common::{lean, network, rtx};
use tensorrt_dyn::{
    Builder, BuilderFlag, DataType, Era, Error, Library, MemoryPool, NetworkOptions, OnnxParser,
    ProfileSelector, ProfilingVerbosity, ProgressMonitor,
};

/// A builder, and a parser of a network that is still empty.
fn parser(library: Library) -> (Builder, OnnxParser) {
    let builder = library.builder().expect("a builder");
    let network = builder.network(NetworkOptions::default());
    let parser = network.and_then(|network| network.parser());
    (builder, parser.expect("a parser"))
}

/// Builds one of the project's networks for a target.
fn build(library: Library, name: &str, capability: u16) -> tensorrt_dyn::Result<tensorrt_dyn::Plan> {
    let builder = library.builder()?;
    let mut parser = builder.network(NetworkOptions::default())?.parser()?;
    parser.parse_file(&network(name))?;
    let config = builder.config()?;
    config.set_compute_capabilities(&[capability])?;
    let profile = builder.optimization_profile()?;
    for input in parser.inputs()? {
        let shape = input.dimensions()?;
        for (selector, extent) in [
            (ProfileSelector::Min, 1),
            (ProfileSelector::Opt, 500),
            (ProfileSelector::Max, 2000),
        ] {
            let fixed: Vec<i64> = shape
                .iter()
                .map(|given| if *given < 0 { extent } else { *given })
                .collect();
            profile.set_dimensions(&input.name()?, selector, &fixed)?;
            assert_eq!(profile.dimensions(&input.name()?, selector)?, Some(fixed));
        }
    }
    assert!(profile.is_valid()?);
    assert_eq!(config.add_optimization_profile(&profile)?, 0);
    builder.build(&parser, &config)
}

#[test]
fn the_version_is_read_and_the_logger_is_ours() {
    for (library, era, version) in rtx() {
        assert_eq!(library.version().era(), era);
        assert!(
            library.version().to_string().starts_with(version),
            "{}",
            library.version()
        );
        assert!(library.has_builder());
        let builder = library.builder().expect("a builder");
        assert!(builder.uses_our_logger());
        assert!(library.parser_path().expect("a parser").exists());
    }
}

#[test]
fn the_demo_networks_are_built_for_every_target_without_a_gpu() {
    for (library, era, _) in rtx() {
        let mut targets = vec![75, 80, 86, 89, 120];
        targets.extend((era == Era::E).then_some(121));
        for target in targets {
            for name in ["camera.onnx", "lidar_encoder.onnx", "lidar_backbone.onnx"] {
                let plan = match build(library, name, target) {
                    Ok(plan) => plan,
                    // A limit of TensorRT-RTX itself: no FP32 matrix products on Turing.
                    Err(error) if target == 75 && error.to_string().contains("for Turing (SM75)") => continue,
                    Err(error) => panic!("{name} for {target}: {error}"),
                };
                assert!(plan.bytes().starts_with(b"vtrt"), "{:?}", &plan.bytes()[..8]);
                assert!(plan.bytes().len() > 10_000, "{} bytes", plan.bytes().len());
            }
        }
    }
}

#[test]
fn what_a_network_says_of_itself_is_what_the_file_holds() {
    for (library, era, _) in rtx() {
        let mut parser = parser(library).1;
        parser.parse_file(&network("camera.onnx")).expect("parsed");
        assert!(parser.layer_count().expect("counted") > 10);
        let inputs = parser.inputs().expect("inputs");
        assert_eq!(inputs.len(), 1);
        assert_eq!(inputs[0].data_type().expect("a type"), Some(DataType::Float));
        assert_eq!(inputs[0].dimensions().expect("a shape").len(), 4);
        assert!(!inputs[0].is_shape_tensor().expect("told"));
        let layers = parser.layers().expect("layers");
        assert!(
            layers
                .iter()
                .any(|layer| layer.kind().expect("a kind") == Some(tensorrt_dyn::LayerType::Convolution))
        );
        assert!(
            layers
                .iter()
                .all(|layer| !layer.name().expect("a name").is_empty())
        );
        assert_eq!(parser.is_strongly_typed(), Some(era.is_always_strongly_typed()));
        assert!(parser.supports_operator("Conv").expect("asked"));
        assert!(!parser.supports_operator("Frobnicate").expect("asked"));
    }
}

#[test]
fn options_are_kept_and_what_a_release_lacks_is_named() {
    for (library, era, _) in rtx() {
        let builder = library.builder().expect("a builder");
        let config = builder.config().expect("a configuration");
        config
            .set_memory_pool_limit(MemoryPool::Workspace, 1 << 28)
            .expect("set");
        assert_eq!(
            config.memory_pool_limit(MemoryPool::Workspace).expect("read"),
            1 << 28
        );
        config
            .set_profiling_verbosity(ProfilingVerbosity::Detailed)
            .expect("set");
        assert_eq!(
            config.profiling_verbosity().expect("read"),
            Some(ProfilingVerbosity::Detailed)
        );
        config.set_flag(BuilderFlag::Refit, true).expect("set");
        assert!(config.flag(BuilderFlag::Refit).expect("read"));
        config.set_flag(BuilderFlag::Refit, false).expect("cleared");
        assert!(!config.flag(BuilderFlag::Refit).expect("read"));
        config.set_compute_capabilities(&[89, 120]).expect("set");
        assert_eq!(config.compute_capabilities().expect("read"), [89, 120]);
        let fp16 = config.set_flag(BuilderFlag::Fp16, true);
        match era {
            Era::E => assert!(
                fp16.expect_err("absent")
                    .to_string()
                    .contains("kFP16 does not exist in TensorRT-RTX 1.7")
            ),
            _ => fp16.expect("set"),
        }
        let error = builder.has_fast_fp16();
        assert_eq!(error.is_none(), era == Era::E);
    }
}

#[test]
fn bad_networks_give_the_parsers_own_words() {
    for (library, ..) in rtx() {
        let good = std::fs::read(network("camera.onnx")).expect("read");
        let parse = |bytes: &[u8]| {
            let mut parser = parser(library).1;
            parser.parse(bytes, "bad.onnx").expect_err("refused")
        };
        let truncated = parse(&good[..good.len() / 2]);
        assert!(
            matches!(&truncated, Error::Parse { errors, .. } if !errors.is_empty()),
            "{truncated}"
        );
        assert!(
            truncated.to_string().contains("bad.onnx was not accepted"),
            "{truncated}"
        );

        let empty = parse(&[]);
        assert!(
            empty.to_string().contains("bad.onnx holds no network: 0 layers"),
            "{empty}"
        );

        // The operator's name is stored as text: another of the same length is one that nobody knows.
        let unknown = parse(&replace(&good, b"Conv", b"Frob"));
        let Error::Parse { errors, .. } = &unknown else {
            panic!("{unknown}")
        };
        assert!(
            errors
                .iter()
                .any(|error| error.node_operator.as_deref() == Some("Frob")),
            "{errors:?}"
        );
        assert!(unknown.to_string().contains("(Frob)"), "{unknown}");
    }
}

fn replace(bytes: &[u8], from: &[u8; 4], to: &[u8; 4]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let places: Vec<usize> = (0..bytes.len() - 4)
        .filter(|at| &bytes[*at..at + 4] == from)
        .collect();
    for at in places {
        bytes[at..at + 4].copy_from_slice(to);
    }
    bytes
}

#[test]
fn a_file_that_is_not_there_is_named() {
    for (library, ..) in rtx() {
        let mut parser = parser(library).1;
        let error = parser.parse_file("/nowhere/a.onnx".as_ref()).expect_err("absent");
        assert!(error.to_string().contains("/nowhere/a.onnx"), "{error}");
    }
}

/// Counts steps and stops after some.
struct Stop {
    after: u32,
    steps: AtomicU32,
    phases: Arc<Mutex<Vec<String>>>,
}

impl ProgressMonitor for Stop {
    fn phase_started(&self, phase: &str, _parent: Option<&str>, _steps: i32) {
        self.phases.lock().expect("unpoisoned").push(phase.to_owned());
    }

    fn step_completed(&self, _phase: &str, _step: i32) -> ControlFlow<()> {
        match self.steps.fetch_add(1, Ordering::Relaxed) + 1 >= self.after {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn phase_finished(&self, _phase: &str) {}
}

#[test]
fn a_progress_monitor_sees_the_phases_and_can_stop_the_build() {
    for (library, ..) in rtx() {
        for (after, finishes) in [(2, false), (u32::MAX, true)] {
            let (builder, mut parser) = parser(library);
            parser.parse_file(&network("camera.onnx")).expect("parsed");
            let mut config = builder.config().expect("a configuration");
            config.set_compute_capabilities(&[89]).expect("set");
            let phases = Arc::new(Mutex::new(Vec::new()));
            let monitor = Stop {
                after,
                steps: AtomicU32::new(0),
                phases: Arc::clone(&phases),
            };
            config.set_progress_monitor(Box::new(monitor)).expect("set");
            match builder.build(&parser, &config) {
                Ok(plan) => assert!(finishes && plan.bytes().len() > 10_000),
                Err(error) => assert!(!finishes && error.to_string().contains("ancel"), "{error}"),
            }
            assert!(phases.lock().expect("unpoisoned").len() > 1);
        }
    }
}

#[test]
fn a_monitor_that_panics_stops_the_build_and_nothing_else() {
    struct Panics;
    impl ProgressMonitor for Panics {
        fn phase_started(&self, _: &str, _: Option<&str>, _: i32) {}
        fn step_completed(&self, _: &str, _: i32) -> ControlFlow<()> {
            panic!("in a callback")
        }
        fn phase_finished(&self, _: &str) {}
    }
    for (library, ..) in rtx() {
        let (builder, mut parser) = parser(library);
        parser.parse_file(&network("camera.onnx")).expect("parsed");
        let mut config = builder.config().expect("a configuration");
        config.set_compute_capabilities(&[89]).expect("set");
        config.set_progress_monitor(Box::new(Panics)).expect("set");
        let error = builder.build(&parser, &config).expect_err("stopped");
        assert!(error.to_string().contains("ancel"), "{error}");
    }
}

#[test]
fn without_a_gpu_a_plan_is_not_loaded_and_the_library_says_why() {
    if std::path::Path::new("/dev/nvidia0").exists() {
        nvidia_doubles::machine::skip("there is a GPU");
        return;
    }
    for (library, ..) in rtx() {
        let plan = build(library, "camera.onnx", 89).expect("a plan");
        let runtime = library.runtime().expect("RTX makes a runtime without a GPU");
        let error = runtime.engine(plan.bytes()).expect_err("no GPU");
        assert!(
            error
                .to_string()
                .contains("deserializeCudaEngine failed in TensorRT-RTX"),
            "{error}"
        );
        assert!(error.to_string().to_lowercase().contains("cuda"), "{error}");
        let validity = runtime.plan_validity(plan.bytes()).expect("asked");
        assert!(
            validity.reasons().iter().any(|reason| reason.contains("driver")),
            "{validity:?}"
        );
        let header = runtime.plan_header_size().expect("asked");
        assert!(header > 0 && header < plan.bytes().len() as i64);
    }
}

#[test]
fn a_lean_runtime_says_that_it_has_no_builder_and_why_it_does_not_start() {
    for (library, era) in lean() {
        assert_eq!(library.version().era(), era);
        assert!(!library.has_builder());
        let error = library.builder().expect_err("no builder");
        assert!(
            error
                .to_string()
                .contains("has no builder: it is a runtime without a builder"),
            "{error}"
        );
        if std::path::Path::new("/dev/nvidia0").exists() {
            continue;
        }
        let error = library.runtime().expect_err("no GPU");
        assert!(
            error
                .to_string()
                .contains("createInferRuntime_INTERNAL failed in TensorRT 1"),
            "{error}"
        );
        assert!(error.to_string().contains("CUDA"), "{error}");
    }
}
