//! In the place of what needs a GPU, in a jetlag that was built without it: each part says so where it is asked for.

use crate::built::left_out;

/// What is missing, as everything here says it.
fn missing() -> String {
    left_out("GPU support (CUDA and TensorRT)", "gpu")
}

/// In the place of `commands/build.rs`.
pub(super) mod build {
    use crate::cli::BuildArgs;
    use crate::commands::outcome::{Outcome, WrongUse};

    /// Builds nothing.
    ///
    /// # Errors
    /// Always.
    pub(crate) fn run(_args: &BuildArgs) -> anyhow::Result<Outcome> {
        Err(WrongUse(super::missing()).into())
    }
}

/// In the place of `commands/tensorrt.rs`.
pub(super) mod tensorrt {
    use std::path::Path;

    use crate::board::Check;
    use crate::cli::InspectArgs;
    use crate::engine::manifest::PlanManifest;
    use crate::engine::plan::PlanFacts;

    /// What was seen of its files has to do.
    pub(in crate::commands) fn check(_given: Option<&Path>) -> Option<Check> {
        None
    }

    /// Refuses: loading a plan needs GPU support.
    pub(in crate::commands) fn load(
        _args: &InspectArgs,
        _bytes: &[u8],
        _manifest: Option<&PlanManifest>,
    ) -> anyhow::Result<PlanFacts> {
        anyhow::bail!(super::missing())
    }
}

/// In the place of `commands/prepare/gpu.rs`.
pub(super) mod prepare {
    use std::path::PathBuf;

    use crate::backend::stress::OnDevice;
    use crate::backend::{Backend, Program};
    use crate::record::SampleRecord;
    use crate::scenario::{Scenario, Tenant};

    /// Stands in for the GPUs of a run; holds none.
    #[derive(Default)]
    pub(in crate::commands) struct Devices;

    impl Devices {
        /// Opens no GPU.
        pub(in crate::commands) fn open(_scenario: &Scenario, _tenants: &[Tenant]) -> Self {
            Devices
        }

        /// There are no clocks.
        pub(in crate::commands) fn clock_residuals(&self) -> Vec<SampleRecord> {
            Vec::new()
        }
    }

    /// No tenant is on a device.
    pub(in crate::commands) fn on_device(
        _scenario: &Scenario,
        _number: usize,
        _devices: &Devices,
        _backend: &'static str,
    ) -> Result<OnDevice, String> {
        Err(super::missing())
    }

    /// No tenant is on TensorRT.
    pub(in crate::commands) fn tensorrt(
        _scenario: &Scenario,
        _number: usize,
        _devices: &Devices,
        _program: &Program,
        _words: &[String],
        _plans: &[PathBuf],
        _profile: bool,
    ) -> Result<(Box<dyn Backend>, Program), String> {
        Err(super::missing())
    }
}
