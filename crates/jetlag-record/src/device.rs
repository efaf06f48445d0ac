//! What a tenant's networks were executed on: a GPU, the processors, or nothing at all.
//!
//! A backend says it of itself when it is chosen, and the manifest keeps it. Files from before that have only the
//! backend's name: what it meant then is known here and nowhere else.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::scenario::{BackendChoice, Provider, Tenant};
use crate::{APPLICATION_BACKEND, Manifest, TenantManifest};

/// The device that executes a tenant's networks, or takes a stressor's load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Device {
    /// The machine's CPU cores.
    Host,
    /// A GPU, by its number in the scenario.
    Gpu(u16),
    /// Nothing: the time is simulated, or there is no work.
    None,
}

impl Device {
    /// Whether it is a GPU.
    pub fn is_gpu(self) -> bool {
        matches!(self, Device::Gpu(_))
    }

    /// The device from its word in run files and JSON; none for a word of a later version.
    fn from_word(word: &str) -> Option<Device> {
        match word {
            "host" => Some(Device::Host),
            "none" => Some(Device::None),
            _ => word.strip_prefix("gpu")?.parse().ok().map(Device::Gpu),
        }
    }

    /// The device of a backend of this name, for files that do not state it.
    fn by_name(backend: &str, tenant: Option<&Tenant>) -> Device {
        match backend {
            "cpu" | "onnxruntime-cpu" | APPLICATION_BACKEND => Device::Host,
            "sim" | "null" => Device::None,
            "stress" => tenant.map_or(Device::Host, Tenant::device),
            _ => Device::Gpu(tenant.map_or(0, |tenant| tenant.gpu.gpu)),
        }
    }
}

impl Tenant {
    /// The device of a tenant's backend.
    pub fn device(&self) -> Device {
        let gpu = Device::Gpu(self.gpu.gpu);
        match &self.backend {
            BackendChoice::TensorRt { .. } => gpu,
            BackendChoice::OnnxRuntime { provider, .. } => match provider {
                Provider::Cuda => gpu,
                Provider::Cpu => Device::Host,
            },
            BackendChoice::Stress(stress) if stress.resource.is_on_gpu() => gpu,
            BackendChoice::Stress(_) | BackendChoice::Cpu { .. } => Device::Host,
            BackendChoice::Sim(_) | BackendChoice::Null => Device::None,
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Host => out.write_str("host"),
            Device::Gpu(number) => write!(out, "gpu{number}"),
            Device::None => out.write_str("none"),
        }
    }
}

impl Serialize for Device {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

/// For a manifest's field: an unknown word of a later version counts as none.
pub(super) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Device>, D::Error> {
    let word: Option<String> = Option::deserialize(from)?;
    Ok(word.as_deref().and_then(Device::from_word))
}

impl Manifest {
    /// The device of each tenant, in order.
    pub fn devices(&self) -> Vec<Device> {
        let device = |(number, tenant): (usize, &TenantManifest)| {
            let asked = self.scenario().and_then(|scenario| scenario.tenants.get(number));
            tenant
                .device
                .unwrap_or_else(|| Device::by_name(&tenant.backend, asked))
        };
        self.tenants.iter().enumerate().map(device).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Resource, Stress};
    use crate::units::Nanos;

    #[test]
    fn devices_are_words_in_the_file_and_a_later_versions_word_is_not_known() {
        for device in [Device::Host, Device::Gpu(0), Device::Gpu(11), Device::None] {
            assert_eq!(Device::from_word(&device.to_string()), Some(device));
        }
        for word in ["", "gpu", "gpu-1", "dla0"] {
            assert_eq!(Device::from_word(word), None, "{word:?}");
        }
    }

    #[test]
    fn files_that_do_not_say_it_are_understood_by_the_backends_name() {
        for (backend, device) in [
            ("cpu", Device::Host),
            ("onnxruntime-cpu", Device::Host),
            ("application", Device::Host),
            ("sim", Device::None),
            ("null", Device::None),
            ("tensorrt", Device::Gpu(0)),
            ("onnxruntime-cuda", Device::Gpu(0)),
        ] {
            assert_eq!(Device::by_name(backend, None), device, "{backend}");
        }
    }

    #[test]
    fn a_tenant_s_device_is_that_of_its_backend() {
        let on = |backend| {
            let mut tenant = Tenant::of_backend("a", backend);
            tenant.gpu.gpu = 2;
            tenant.device()
        };
        let onnxruntime = |provider| BackendChoice::OnnxRuntime {
            provider,
            threads: 1,
            profile: false,
        };
        assert_eq!(on(onnxruntime(Provider::Cuda)), Device::Gpu(2));
        assert_eq!(on(onnxruntime(Provider::Cpu)), Device::Host);
        assert_eq!(on(BackendChoice::Null), Device::None);
    }

    fn stressor(resource: Resource, gpu: u16) -> Tenant {
        let load = BackendChoice::Stress(Stress {
            resource,
            level: 0.5,
            burst: Nanos::from_millis(1),
        });
        let mut tenant = Tenant::of_backend("a", load);
        tenant.gpu.gpu = gpu;
        tenant
    }

    #[test]
    fn a_stressor_of_an_earlier_file_is_where_its_load_is() {
        for (resource, number, device) in [
            (Resource::HostCpu, 0, Device::Host),
            (Resource::HostMemory, 0, Device::Host),
            (Resource::Dram, 0, Device::Gpu(0)),
            (Resource::HostToDevice, 1, Device::Gpu(1)),
        ] {
            let tenant = stressor(resource, number);
            assert_eq!(Device::by_name("stress", Some(&tenant)), device, "{resource:?}");
        }
        assert_eq!(Device::by_name("stress", None), Device::Host);
    }
}
