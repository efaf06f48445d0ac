//! Whether a plan fits the library and GPU at hand, told from its manifest before the library is asked.

use tensorrt_dyn::Version;

use super::library::describe;
use crate::engine::manifest::{PlanManifest, Target};
use crate::engine::options::{ComputeCapability, HardwareCompatibility};
use crate::gpu::Device;
use crate::shell;

/// Why a plan cannot be loaded by `version` on `device`, naming both sides and the command that builds it anew;
/// `None` if nothing speaks against it.
pub fn mismatch(manifest: &PlanManifest, version: Version, device: Option<&Device>) -> Option<String> {
    let here = describe(version);
    let rebuild = rebuild_command(manifest);
    if !version_fits(manifest, version) {
        return Some(format!(
            "the plan was built by {}, but this machine has {here}; {rebuild}",
            manifest.builder
        ));
    }
    let device = device?;
    let fits = match &manifest.target {
        Target::Gpu {
            compute_capability,
            name,
            multiprocessors,
            ..
        } => match manifest.options.hardware_compatibility {
            Some(HardwareCompatibility::AmperePlus) => device.compute_capability >= 80,
            Some(HardwareCompatibility::SameComputeCapability) => {
                device.compute_capability == *compute_capability
            }
            // Another product of the same compute capability loads with a warning that it may be slow.
            None if device.compute_capability == *compute_capability => {
                if device.name != *name {
                    log::warn!(
                        "the plan was tuned on {name}, and this GPU is {}: a plan built here may be faster",
                        device.name
                    );
                }
                if let Some(then) = multiprocessors.filter(|then| *then != device.multiprocessors) {
                    log::warn!(
                        "the plan was tuned with {then} multiprocessors, and this power mode has {}: a plan built here may be faster",
                        device.multiprocessors
                    );
                }
                true
            }
            None => false,
        },
        Target::ComputeCapabilities(all) => all.contains(&device.compute_capability),
    };
    (!fits).then(|| {
        format!(
            "the plan was built for {}, but this machine has {} (compute capability {}); {rebuild}",
            manifest.target,
            device.name,
            ComputeCapability(device.compute_capability)
        )
    })
}

/// The library's own rule: exactly its release, or, for version-compatible plans, a later one of the same major.
fn version_fits(manifest: &PlanManifest, version: Version) -> bool {
    let here = describe(version);
    if manifest.builder == here {
        return true;
    }
    let parts = |text: &str| -> Vec<u32> { text.split('.').filter_map(|part| part.parse().ok()).collect() };
    let (built, loaded) = (parts(&manifest.builder.version), parts(&here.version));
    manifest.options.version_compatible
        && manifest.builder.flavour == here.flavour
        && built.first() == loaded.first()
        && built <= loaded
}

/// The command that builds a plan like this one here, in words: the one that built it, without the places of its machine.
pub fn rebuild_command(manifest: &PlanManifest) -> String {
    let mut words = Vec::new();
    let mut arguments = manifest.arguments.iter();
    while let Some(argument) = arguments.next() {
        let name = argument.split('=').next().unwrap_or_default();
        if ["--tensorrt", "--cache"].contains(&name) {
            if !argument.contains('=') {
                arguments.next();
            }
            continue;
        }
        words.push(shell::word(argument));
    }
    format!("build it here: jetlag {}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::manifest::{BuilderIdentity, NetworkIdentity, SCHEMA};
    use crate::engine::options::{BuildOptions, Precision};

    fn manifest(flavour: &str, version: &str, target: Target, options: BuildOptions) -> PlanManifest {
        PlanManifest {
            schema: SCHEMA,
            jetlag: "0.1.0".into(),
            network: NetworkIdentity {
                name: "engines/camera.onnx".into(),
                blake3: String::new(),
                bytes: 0,
            },
            options,
            arguments: [
                "build",
                "my net.onnx",
                "--cache",
                "/there",
                "--tensorrt=/there",
                "--precision",
                "fp16",
            ]
            .map(str::to_owned)
            .into(),
            builder: BuilderIdentity {
                flavour: flavour.into(),
                version: version.into(),
            },
            target,
            built_unix_s: 0,
            build_seconds: 0.0,
            plan_blake3: String::new(),
            plan_bytes: 0,
            network_layers: 0,
            tensors: Vec::new(),
        }
    }

    fn version(number: i32) -> Version {
        Version::from_number(number).expect("known")
    }

    fn orin() -> Device {
        Device {
            ordinal: 0,
            name: "Orin".into(),
            compute_capability: 87,
            is_integrated: true,
            driver_cuda: 12_060,
            multiprocessors: 16,
        }
    }

    fn for_orin() -> Target {
        Target::Gpu {
            name: "Orin".into(),
            compute_capability: 87,
            multiprocessors: None,
            off: None,
        }
    }

    #[test]
    fn a_plan_of_another_release_is_refused_with_both_named_and_the_command() {
        let options = BuildOptions {
            precision: Precision::Fp16,
            ..BuildOptions::default()
        };
        let plan = manifest("TensorRT", "10.3.0", for_orin(), options);
        assert_eq!(mismatch(&plan, version(100_300), Some(&orin())), None);
        let text = mismatch(&plan, version(8_602), Some(&orin())).expect("refused");
        assert_eq!(
            text,
            "the plan was built by TensorRT 10.3.0, but this machine has TensorRT 8.6.2; build it here: jetlag build \
             'my net.onnx' --precision fp16"
        );
        assert!(
            mismatch(&plan, version(10_701), None)
                .expect("refused")
                .contains("TensorRT-RTX 1.7.1")
        );
    }

    #[test]
    fn a_version_compatible_plan_loads_in_later_releases_of_its_major_alone() {
        let options = BuildOptions {
            version_compatible: true,
            ..BuildOptions::default()
        };
        let plan = manifest("TensorRT", "10.3.0", for_orin(), options);
        assert_eq!(mismatch(&plan, version(101_300), Some(&orin())), None);
        assert!(mismatch(&plan, version(100_100), Some(&orin())).is_some());
        assert!(mismatch(&plan, version(110_400), Some(&orin())).is_some());
    }

    #[test]
    fn a_plan_for_another_gpu_is_refused_with_both_named() {
        let plan = manifest(
            "TensorRT-RTX",
            "1.7.1",
            Target::ComputeCapabilities(vec![89]),
            BuildOptions::default(),
        );
        let text = mismatch(&plan, version(10_701), Some(&orin())).expect("refused");
        assert!(
            text.contains(
                "built for compute capability 8.9, but this machine has Orin (compute capability 8.7)"
            ),
            "{text}"
        );
        let ampere = BuildOptions {
            hardware_compatibility: Some(HardwareCompatibility::AmperePlus),
            ..BuildOptions::default()
        };
        let plan = manifest(
            "TensorRT",
            "10.3.0",
            Target::Gpu {
                name: "A100".into(),
                compute_capability: 80,
                multiprocessors: None,
                off: None,
            },
            ampere,
        );
        assert_eq!(mismatch(&plan, version(100_300), Some(&orin())), None);
        assert_eq!(
            mismatch(&plan, version(100_300), None),
            None,
            "without a GPU the library decides"
        );
    }
}
