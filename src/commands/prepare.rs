//! From a resolved scenario to tenants that can start: specs read, sources opened, engines loaded.
//!
//! Everything is tried for every tenant before anything is given up, so that all problems are told at once.

#[cfg(feature = "gpu")]
mod gpu;
mod onnxruntime;
mod stress;
mod ways;

use std::sync::Arc;

use crate::backend::cpu::CpuBackend;
use crate::backend::null::NullBackend;
use crate::backend::sim::{SharedDevice, SimBackend};
use crate::backend::{Backend, BackendError, NetworkSource, Program, Slot};
use crate::files;
use crate::record::{NetworkManifest, TenantManifest};
use crate::scenario::{Arrival, BackendChoice, Scenario, Tenant};
use crate::source::ContentKind;
use crate::tenant::pipeline::{Runner, set_up_thread};
use gpu::Devices;

use super::opening;

#[cfg(not(feature = "gpu"))]
use super::without_gpu::prepare as gpu;

/// A tenant ready to run, and what the manifest says of it.
pub struct Prepared {
    /// What runs the tenant in each phase.
    pub runner: Runner,
    /// What the run file says of the tenant.
    pub manifest: TenantManifest,
}

/// All tenants, and the devices that they share.
#[derive(Default)]
pub struct All {
    /// In the order of the scenario.
    pub tenants: Vec<Prepared>,
    /// The GPUs in use.
    pub(super) gpus: Devices,
}

/// Prepares all tenants, or says everything that is in the way.
pub fn all(scenario: &Scenario) -> Result<All, Vec<String>> {
    let device = SharedDevice::new(scenario.sim_contention);
    let mut prepared = Vec::new();
    let mut problems: Vec<String> = ways::without_gpu(scenario);
    let devices = Devices::open(scenario, &scenario.tenants);
    for (number, tenant) in scenario.tenants.iter().enumerate() {
        match one(scenario, number, tenant, &device, &devices) {
            Ok(ready) => prepared.push(ready),
            Err(found) => problems.extend(found.into_iter().map(|p| format!("tenant {}: {p}", tenant.name))),
        }
    }
    if problems.is_empty() {
        Ok(All {
            tenants: prepared,
            gpus: devices,
        })
    } else {
        Err(problems)
    }
}

/// Prepares one tenant alone, for a process of its own.
pub fn alone(scenario: &Scenario, number: usize) -> Result<All, Vec<String>> {
    let Some(tenant) = scenario.tenants.get(number) else {
        return Err(vec![format!("there is no tenant {number} in {}", scenario.name)]);
    };
    let device = SharedDevice::new(scenario.sim_contention);
    let devices = Devices::open(scenario, std::slice::from_ref(tenant));
    let ready = one(scenario, number, tenant, &device, &devices)?;
    Ok(All {
        tenants: vec![ready],
        gpus: devices,
    })
}

/// The seed of a tenant: its own for each. Each phase makes one of its own of it ([`Phase::seed`](crate::record::Phase::seed)).
pub fn seed(scenario: &Scenario, number: usize) -> u64 {
    // An odd multiplier keeps neighbouring seeds apart.
    scenario
        .seed
        .wrapping_add((number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

fn one(
    scenario: &Scenario,
    number: usize,
    tenant: &Tenant,
    device: &Arc<SharedDevice>,
    devices: &Devices,
) -> Result<Prepared, Vec<String>> {
    let mut problems = Vec::new();
    let detector = tenant
        .detector
        .as_ref()
        .and_then(|d| opening::detector(d).map_err(|p| problems.push(p)).ok());
    let source = opening::source(&tenant.source).map_err(|p| problems.push(p)).ok();
    let info = source.as_ref().map(|s| s.info());
    let executes = tenant.backend.executes();
    if let (Some(detector), Some(info)) = (&detector, &info)
        && detector.input != info.kind
        // A tenant that only simulates may have a detector for its name, and no frames.
        && (executes || info.kind != ContentKind::Empty)
    {
        problems.push(format!(
            "detector {} takes {:?} frames, but its source ({}) yields {:?}",
            detector.name, detector.input, info.description, info.kind
        ));
    }
    if matches!(tenant.arrival, Arrival::Replay { .. })
        && source.as_ref().is_some_and(|s| s.capture_times().is_empty())
    {
        problems.push(format!(
            "Replay needs capture times, but its source ({}) has none; use Periodic(hz: …)",
            info.as_ref().map_or("", |i| i.description.as_str())
        ));
    }
    let empty = Program::default();
    let program = detector.as_ref().map_or(&empty, |d| &d.program);
    let seed = seed(scenario, number);
    let networks = networks(program).map_err(|p| problems.push(p)).ok();
    let mut over_plans = None;
    let backend: Result<Box<dyn Backend>, String> = match &tenant.backend {
        BackendChoice::Cpu { threads, profile } => Ok(Box::new(CpuBackend::new(*threads, *profile))),
        BackendChoice::Sim(model) => Ok(Box::new(SimBackend::new(
            device.clone(),
            number,
            model.clone(),
            seed,
        ))),
        BackendChoice::Null => Ok(Box::new(NullBackend)),
        BackendChoice::TensorRt {
            build,
            plans,
            profile,
        } => gpu::tensorrt(scenario, number, devices, program, build, plans, *profile).map(
            |(backend, program)| {
                over_plans = Some(program);
                backend
            },
        ),
        BackendChoice::Stress(stress) => stress::backend(scenario, number, devices, *stress),
        BackendChoice::OnnxRuntime { provider, threads } => {
            onnxruntime::backend(scenario, number, devices, *provider, *threads)
        }
    };
    let backend = backend.map_err(|problem| problems.push(problem)).ok();
    let program = over_plans.as_ref().unwrap_or(program);
    let mut failed = None;
    let slots = backend
        .as_ref()
        .and_then(|backend| match open(backend.as_ref(), program, tenant) {
            Ok(slots) => Some(slots),
            // The device is full: the tenants that it holds go on.
            Err(error @ BackendError::OutOfMemory { .. }) => {
                failed = Some(error.to_string());
                Some(Vec::new())
            }
            Err(error) => {
                problems.push(error.to_string());
                None
            }
        });
    let (Some(backend), Some(slots), Some(source), Some(info), Some(networks), true) =
        (backend, slots, source, info, networks, problems.is_empty())
    else {
        return Err(problems);
    };
    let manifest = TenantManifest {
        name: tenant.name.clone(),
        backend: backend.name().to_owned(),
        device: Some(backend.device()),
        detector: detector.as_ref().map(|d| d.name.clone()),
        classes: detector.as_ref().map(|d| d.classes.clone()).unwrap_or_default(),
        networks,
        source: info.description,
        submission_may_wait: slots.first().and_then(|slot| slot.submission_may_wait()),
        application: None,
    };
    // Only a backend that executes has outputs to make detections of, and only content can be prepared.
    let (preprocess, postprocess) = match detector {
        Some(d) if executes => (Some(d.preprocess), Some(d.postprocess)),
        Some(d) if info.kind != ContentKind::Empty => (Some(d.preprocess), None),
        _ => (None, None),
    };
    let runner = Runner {
        tenant: number as u16,
        name: tenant.name.clone(),
        source,
        preprocess,
        postprocess,
        slots,
        failed,
        watched: Arc::default(),
        gate: None,
        arrival: tenant.arrival,
        overload: tenant.overload,
        deadline: tenant.deadline,
        frames: tenant.frames,
        cpus: tenant.cpus.clone(),
        waiting: scenario.release,
        seed,
    };
    Ok(Prepared { runner, manifest })
}

/// Opens the backend on the tenant's processors, because the threads that it makes inherit them.
fn open(
    backend: &dyn Backend,
    program: &Program,
    tenant: &Tenant,
) -> Result<Vec<Box<dyn Slot>>, BackendError> {
    let open = || backend.open(program, tenant.depth.max(1));
    if tenant.cpus.is_empty() {
        return open();
    }
    std::thread::scope(|scope| {
        let opened = scope.spawn(|| {
            // What the system refuses here it refuses the pipeline too, which reports it.
            let _ = set_up_thread(&tenant.cpus);
            open()
        });
        opened
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn networks(program: &Program) -> Result<Vec<NetworkManifest>, String> {
    program
        .engines
        .iter()
        .map(|network| {
            let (hash, bytes) = match network {
                NetworkSource::File(path) => {
                    let content = files::read(path, files::NETWORK)
                        .map_err(|e| format!("cannot read {}: {e}", path.display()))?;
                    (blake3::hash(&content), content.len())
                }
                NetworkSource::Embedded { bytes, .. } => (blake3::hash(bytes), bytes.len()),
            };
            Ok(NetworkManifest {
                name: network.to_string(),
                blake3: hash.to_hex().to_string(),
                bytes: bytes as u64,
            })
        })
        .collect()
}
