//! What `jetlag inspect PLAN` says of a plan that can be loaded, in every era of TensorRT's binary interface: through the
//! double of libnvinfer, whose vtables a C++ compiler made.

use jetlag::backend::tensorrt::inspect::{Needs, inspect};
use jetlag::engine::options::ShapeRange;
use jetlag::show::plan::{PlanView, plan, plan_json};
use nvidia_doubles::tensorrt;
use tensorrt_dyn::{Library, ProfileSelector, ProfilingVerbosity};

use crate::common::plans;

/// A network as the double's parser reads it.
const NETWORK: &[u8] = b"double-network\ninput images f32 -1x3x8x8\noutput boxes f32 -1x10 conv\nlayer conv Conv\nlayer act Relu\ndevice_memory 4096\n";

fn built(library: Library) -> Vec<u8> {
    let (builder, parser) = plans::read(library, NETWORK);
    let config = builder.config().unwrap();
    config
        .set_profiling_verbosity(ProfilingVerbosity::Detailed)
        .unwrap();
    for (min, opt, max) in [(1, 2, 4), (4, 6, 8)] {
        let profile = builder.optimization_profile().unwrap();
        for (selector, batch) in [
            (ProfileSelector::Min, min),
            (ProfileSelector::Opt, opt),
            (ProfileSelector::Max, max),
        ] {
            profile
                .set_dimensions("images", selector, &[batch, 3, 8, 8])
                .unwrap();
        }
        config.add_optimization_profile(&profile).unwrap();
    }
    builder.build(&parser, &config).unwrap().bytes().to_vec()
}

#[test]
fn tensors_profiles_memory_and_layers_are_told_in_every_era() {
    for double in tensorrt::eras() {
        let library = Library::open(&double.infer).unwrap();
        let bytes = built(library);
        let facts = inspect(library, &bytes, &Needs::default()).unwrap();
        let of = &double.version;
        assert_eq!(facts.layers, 2, "{of}");
        assert_eq!(facts.device_memory_bytes, 4096, "{of}");
        let names: Vec<(&str, &str)> = facts
            .tensors
            .iter()
            .map(|tensor| (tensor.name.as_str(), tensor.mode))
            .collect();
        assert_eq!(names, [("images", "input"), ("boxes", "output")], "{of}");
        assert_eq!(facts.tensors[0].shape, [-1, 3, 8, 8], "{of}");
        assert_eq!(facts.tensors[0].data_type, "float", "{of}");
        let second = ShapeRange {
            min: vec![4, 3, 8, 8],
            opt: vec![6, 3, 8, 8],
            max: vec![8, 3, 8, 8],
        };
        assert_eq!(facts.tensors[0].profiles[1], second, "{of}");
        assert!(facts.tensors[1].profiles.is_empty(), "{of}");
        let view = PlanView {
            name: "a.plan",
            bytes: bytes.len() as u64,
            manifest: Err("the plan has no manifest"),
            loaded: Ok(&facts),
        };
        let text = plan(&view);
        for phrase in [
            "4.0 KiB of activations",
            "float [?, 3, 8, 8] on the device",
            "4x3x8x8 … 6x3x8x8 … 8x3x8x8",
            "2 layers",
            "conv",
        ] {
            assert!(text.contains(phrase), "{of}: {phrase} in {text}");
        }
        assert_eq!(plan_json(&view)["engine"]["layers"], 2, "{of}");
    }
}

#[test]
fn a_plan_that_the_library_refuses_is_told_in_its_words() {
    for double in tensorrt::eras() {
        let library = Library::open(&double.infer).unwrap();
        let error = inspect(library, b"no plan", &Needs::default())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("deserializeCudaEngine failed"),
            "{}: {error}",
            double.version
        );
    }
}
