//! The double of TensorRT by itself: an ordinary C++ client drives it, per era, before any Rust relies on it.

use std::path::Path;
use std::process::Command;

use nvidia_doubles::tensorrt;

#[test]
fn a_cpp_client_builds_reads_and_runs_a_network_in_every_era() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/client.cpp");
    for double in tensorrt::eras() {
        let client = double.program(&source);
        let output = Command::new(&client).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success(),
            "{}: {said}{}",
            double.version,
            String::from_utf8_lossy(&output.stderr)
        );
        println!("era {} {}: {said}", double.era, double.version);
    }
}

#[test]
fn the_libraries_say_the_version_and_carry_the_names_of_their_headers() {
    for double in tensorrt::eras() {
        let flavour = double.control().flavour();
        assert!(
            double.version.starts_with(&flavour),
            "{flavour} of {}",
            double.version
        );
        let name = double.infer.file_name().unwrap().to_str().unwrap();
        assert_eq!(name.contains("rtx"), matches!(double.era, 'D' | 'E'), "{name}");
        assert_eq!(double.parser_control().flavour(), flavour);
    }
}

#[test]
fn every_method_that_jetlag_uses_is_more_than_a_stub() {
    // What the double leaves out on purpose: layers that its parser never adds, and things no tool of ours uses.
    let left_out = |method: &str| {
        [
            "INetworkDefinition::",
            "IPluginRegistry::",
            "IRefitter::",
            "IParserRefitter::",
            "IBuilder::buildEngineWithConfig",
            "IBuilder::buildSerializedNetworkWithKernelText",
        ]
        .iter()
        .any(|c| method.starts_with(c))
    };
    for double in tensorrt::eras() {
        let stubs: Vec<_> = double
            .control()
            .methods()
            .into_iter()
            .chain(double.parser_control().methods())
            .filter_map(|line| line.strip_prefix("0 ").map(str::to_owned))
            .filter(|method| !left_out(method))
            .collect();
        println!("{}: {stubs:?}", double.version);
        for class in [
            "IRuntime",
            "IBuilder",
            "IOptimizationProfile",
            "IHostMemory",
            "IParser",
            "IParserError",
        ] {
            let stub = stubs.iter().find(|m| m.starts_with(&format!("{class}::")));
            assert_eq!(stub, None, "{}", double.version);
        }
    }
}
