//! In the place of what needs a GPU, in a jetlag that was built without it: each part says so where it is asked for.

use crate::built::LeftOut;

/// What is missing, as everything here says it.
const MISSING: LeftOut = LeftOut::GPU;

/// In the place of `commands/build.rs`.
pub(super) mod build {
    use crate::cli::BuildArgs;
    use crate::commands::outcome::{Outcome, WrongUse};

    /// Builds nothing.
    ///
    /// # Errors
    /// Always.
    pub(crate) fn run(_args: &BuildArgs) -> anyhow::Result<Outcome> {
        Err(WrongUse::because(super::MISSING).into())
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
        anyhow::bail!(super::MISSING)
    }
}

/// In the place of `commands/tenants/gpu.rs`.
pub(super) mod tenants {
    use std::path::PathBuf;

    use crate::backend::stress::OnDevice;
    use crate::backend::{Backend, Program};
    use crate::record::SampleRecord;
    use crate::scenario::{Scenario, Tenant};

    pub(in crate::commands) use crate::built::LeftOut as NotUsable;

    /// Stands in for the GPUs of a run; holds none.
    #[derive(Default)]
    pub(in crate::commands) struct Devices;

    /// Nothing is known of GPUs.
    pub(in crate::commands) fn facts(
        _scenario: &Scenario,
        _in_processes: bool,
    ) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    impl Devices {
        /// Opens no GPU.
        pub(in crate::commands) fn open(_scenario: &Scenario, _tenants: &[Tenant]) -> Self {
            Devices
        }

        /// There is no work.
        pub(in crate::commands) fn wait(&self) {}

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
    ) -> Result<OnDevice, NotUsable> {
        Err(super::MISSING)
    }

    /// No tenant is on TensorRT.
    pub(in crate::commands) fn unbuilt(
        _tenant: &Tenant,
        _words: &[String],
    ) -> Result<Vec<String>, NotUsable> {
        Err(super::MISSING)
    }

    /// No tenant is on TensorRT.
    pub(in crate::commands) fn build(_tenant: &Tenant, _words: &[String]) -> Result<(), NotUsable> {
        Err(super::MISSING)
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
    ) -> Result<(Box<dyn Backend>, Program), NotUsable> {
        Err(super::MISSING)
    }
}
