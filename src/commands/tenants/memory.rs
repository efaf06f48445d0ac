//! What is recorded of the memory that a tenant took: what its backend told, less what it could not know.

use crate::record::{Amount, TenantMemory};
use crate::scenario::{ClockKind, Scenario, Sharing};

/// Of a tenant of the scenario; nothing in simulated time, where nothing is executed.
///
/// A device's free memory tells what was taken by whomever. Tenants of one process are made ready one after another, but processes of
/// a run side by side.
pub(super) fn recorded(mut told: TenantMemory, scenario: &Scenario, number: usize) -> Option<TenantMemory> {
    if scenario.clock == ClockKind::Virtual {
        return None;
    }
    let device = scenario.tenants.get(number)?.device();
    let on_device = scenario.tenants.iter().filter(|tenant| tenant.device() == device);
    if device.is_gpu() && scenario.sharing == Sharing::Processes && on_device.count() > 1 {
        for amount in [&mut told.networks, &mut told.device].into_iter().flatten() {
            *amount = Amount::Unknown(
                "processes of a run are made ready side by side, and the GPU's free memory sinks by what all of them take; run the \
                 tenant alone, or share in another way"
                    .to_owned(),
            );
        }
    }
    Some(told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{BackendChoice, Provider, Tenant};

    fn of(tenants: &[&str], sharing: Sharing, clock: ClockKind) -> Option<TenantMemory> {
        let tenant = |name: &&str| {
            let backend = BackendChoice::OnnxRuntime {
                provider: Provider::Cuda,
                threads: 1,
                profile: false,
            };
            Tenant::of_backend(name, backend)
        };
        let scenario = Scenario {
            sharing,
            clock,
            tenants: tenants.iter().map(tenant).collect(),
            ..Scenario::empty("made")
        };
        let told = TenantMemory {
            networks: Some(Amount::Bytes(1)),
            pinned: Some(Amount::Bytes(2)),
            device: Some(Amount::Bytes(3)),
            ..TenantMemory::default()
        };
        recorded(told, &scenario, 0)
    }

    #[test]
    fn what_processes_take_side_by_side_is_no_tenant_s() {
        let real = ClockKind::Real;
        let alone = of(&["a"], Sharing::Processes, real).unwrap();
        assert_eq!(alone.device, Some(Amount::Bytes(3)));
        let streams = of(&["a", "b"], Sharing::Streams, real).unwrap();
        assert_eq!(streams.networks, Some(Amount::Bytes(1)));
        let beside = of(&["a", "b"], Sharing::Processes, real).unwrap();
        for amount in [&beside.networks, &beside.device] {
            let why = amount.as_ref().unwrap().unknown().unwrap();
            assert!(why.contains("side by side"), "{why}");
        }
        assert_eq!((beside.pinned, beside.contexts), (Some(Amount::Bytes(2)), None));
        assert_eq!(of(&["a"], Sharing::Streams, ClockKind::Virtual), None);
    }
}
