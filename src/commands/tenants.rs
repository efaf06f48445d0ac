//! From a resolved scenario to tenants that can start: specs read, sources opened, engines loaded.
//!
//! Everything is tried for every tenant before anything is given up, so that all problems are told at once.

#[cfg(feature = "gpu")]
mod gpu;
mod memory;
pub(super) mod networks;
mod onnxruntime;
mod plans;
mod stand_in;
mod stress;
mod ways;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::backend::cpu::CpuBackend;
use crate::backend::null::NullBackend;
use crate::backend::sim::{SharedDevice, SimBackend};
use crate::backend::{Backend, BackendError, NotBatched, Opened, Program};
use crate::clock::{Clock, RealClock};
use crate::detector::Detector;
use crate::record::{Failure, FailureKind, FailureStage, StartUp, TenantManifest};
use crate::scenario::{Arrival, BackendChoice, ClockKind, Missing, Scenario, Sharing, SourceSpec, Tenant};
use crate::source::wants::{Lack, Wants};
use crate::source::{ContentKind, SourceError};
use crate::tenant::pipeline::{Batching, Runner, set_up_thread};
use crate::units::{Nanos, Stamp};
pub(super) use gpu::{Devices, facts as gpu_facts};
pub(super) use plans::{build, plans_of, unbuilt};

use super::opening::{self, Common, NoDetector};

#[cfg(not(feature = "gpu"))]
use super::without_gpu::tenants as gpu;

/// What keeps a tenant, or the scenario, from starting.
#[derive(Debug, thiserror::Error)]
pub enum Obstacle {
    /// No tenant runs on what this way of sharing shares.
    #[error(
        "sharing {way:?} {does}, but none of these tenants runs on a GPU; use Streams, RoundRobin, Exclusive or Edf, or set a tenant's backend to TensorRt or OnnxRuntime"
    )]
    SharingWithoutGpu {
        /// The way of sharing.
        way: Sharing,
        /// What it does with a GPU.
        does: &'static str,
    },
    /// A process was told of a tenant that the scenario does not have.
    #[error("there is no tenant {number} in {scenario}")]
    NoSuchTenant {
        /// Its position.
        number: usize,
        /// The scenario's name.
        scenario: String,
    },
    /// Its detector cannot be had.
    #[error(transparent)]
    Detector(#[from] NoDetector),
    /// Its frames cannot be had.
    #[error(transparent)]
    Frames(#[from] SourceError),
    /// Its detector takes other frames.
    #[error("detector {detector} takes {takes:?} frames, but its source ({from}) yields {yields:?}")]
    WrongFrames {
        /// The detector's name.
        detector: String,
        /// What it takes.
        takes: ContentKind,
        /// The source in words.
        from: String,
        /// What that has.
        yields: ContentKind,
    },
    /// A recording's clock was not set when it began, or no simulation told it the time.
    #[error(
        "{before} frames of its source ({from}) come {gap} before the next one, longer than the run lasts: before a simulation's \
         /clock came, or before a clock was set. Begin behind that with the source's `from: \"{behind}s\"`, or take another `arrival`"
    )]
    UnsetClock {
        /// The source in words.
        from: String,
        /// How many frames come before the gap.
        before: usize,
        /// How long it is.
        gap: Nanos,
        /// When the next frame comes, in whole seconds.
        behind: i64,
    },
    /// Its frames lack what its detector takes.
    #[error(
        "detector {detector} takes {lack} ({from}). Use a source that has it, or give the tenant `missing: Zero`, which answers with zeros in its place"
    )]
    Lacks {
        /// The detector's name.
        detector: String,
        /// The source in words.
        from: String,
        /// What is missing, and what is there.
        lack: Lack,
    },
    /// Its network is a plan, and its backend does not execute plans.
    #[error(
        "{plan} is a plan, which TensorRT alone executes, not {backend}; write `backend: TensorRt()`, or name its ONNX file"
    )]
    PlanElsewhere {
        /// The plan.
        plan: String,
        /// What is to execute it.
        backend: &'static str,
    },
    /// The network that stands in for its spec's own has other inputs or outputs.
    #[error(
        "{network} does not fit the detector's spec: {problem}; choose another `network`, or a spec for this one"
    )]
    OtherNetwork {
        /// The network.
        network: String,
        /// What does not fit.
        problem: String,
    },
    /// Its detector takes sets, and is named by itself.
    #[error(transparent)]
    OnlyInFusion(opening::OnlyInFusion),
    /// Its detector takes images of another number of cameras.
    #[error(
        "detector {detector} takes the images of {takes} cameras, and its source has {yields}; name as many in the source's sensors, in the order in which the network takes them"
    )]
    OtherCameras {
        /// The detector's name.
        detector: String,
        /// How many it takes.
        takes: usize,
        /// How many the source has.
        yields: usize,
    },
    /// Its source was not recorded at any time.
    #[error("Replay and Sampled need capture times, but its source ({from}) has none; use Periodic(hz: …)")]
    NoCaptureTimes {
        /// The source in words.
        from: String,
    },
    /// Its frames do not come as its arrival says.
    #[error("Live is the arrival of cameras, and theirs alone, which its source ({from}) does not keep to")]
    NotLive {
        /// The source in words.
        from: String,
    },
    /// A network's file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Network {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Its device or TensorRT cannot be used.
    #[error(transparent)]
    Gpu(gpu::NotUsable),
    /// ONNX Runtime cannot be used.
    #[error(transparent)]
    OnnxRuntime(onnxruntime::NotUsable),
    /// Its frames cannot have an inference together.
    #[error(transparent)]
    NotBatched(#[from] NotBatched),
    /// Its network contradicts itself, or what it is fed: the network, and a sentence.
    #[error("{0}: {1}")]
    Contradiction(String, String),
    /// What is to be done with its outputs cannot be.
    #[error("{}", .0.join("; "))]
    Outputs(Vec<String>),
    /// It computes none.
    #[error(
        "`record_outputs` needs a backend that executes the network, and {backend} does not; use Cpu, OnnxRuntime or TensorRt, or leave it out"
    )]
    NoOutputs {
        /// Name of the backend.
        backend: &'static str,
    },
    /// Its backend does not open.
    #[error(transparent)]
    Backend(#[from] BackendError),
}

/// Everything that keeps a scenario from starting, each with the tenant that it is about.
#[derive(Debug)]
pub struct Obstacles(Vec<(Option<String>, Obstacle)>);

impl fmt::Display for Obstacles {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (tenant, obstacle)) in self.0.iter().enumerate() {
            if n > 0 {
                out.write_str("\n       ")?;
            }
            if let Some(tenant) = tenant {
                write!(out, "tenant {tenant}: ")?;
            }
            write!(out, "{obstacle}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Obstacles {}

impl Obstacles {
    /// For programs.
    pub(super) fn failures(&self) -> Vec<Failure> {
        let failure = |(tenant, obstacle): &(Option<String>, Obstacle)| Failure {
            stage: FailureStage::Start,
            kind: obstacle.kind(),
            tenant: tenant.clone(),
            message: obstacle.to_string(),
        };
        self.0.iter().map(failure).collect()
    }
}

impl Obstacle {
    fn kind(&self) -> FailureKind {
        match self {
            Obstacle::SharingWithoutGpu { .. }
            | Obstacle::NoSuchTenant { .. }
            | Obstacle::WrongFrames { .. }
            | Obstacle::Lacks { .. }
            | Obstacle::UnsetClock { .. }
            | Obstacle::OnlyInFusion(_)
            | Obstacle::OtherCameras { .. }
            | Obstacle::NoCaptureTimes { .. }
            | Obstacle::NotBatched(_)
            | Obstacle::NoOutputs { .. }
            | Obstacle::PlanElsewhere { .. }
            | Obstacle::NotLive { .. } => FailureKind::Scenario,
            Obstacle::Detector(_)
            | Obstacle::Frames(_)
            | Obstacle::Network { .. }
            | Obstacle::OtherNetwork { .. }
            | Obstacle::Outputs(_)
            | Obstacle::Contradiction(..)
            | Obstacle::Backend(BackendError::Load { .. } | BackendError::Tensor(_)) => FailureKind::Load,
            Obstacle::Backend(BackendError::OutOfMemory { .. }) => FailureKind::OutOfMemory,
            Obstacle::Backend(BackendError::Hangs { .. }) => FailureKind::Hang,
            Obstacle::Backend(BackendError::Execute { .. }) => FailureKind::Frames,
            #[cfg(feature = "gpu")]
            Obstacle::Gpu(problem) => problem.kind(),
            #[cfg(not(feature = "gpu"))]
            Obstacle::Gpu(_) => FailureKind::Device,
            Obstacle::OnnxRuntime(_) => FailureKind::Device,
        }
    }
}

/// A tenant ready to run, and what the manifest says of it.
pub struct Ready {
    /// What runs the tenant in each phase.
    pub runner: Runner,
    /// What the run file says of the tenant.
    pub manifest: TenantManifest,
}

/// All tenants, and the devices that they share.
#[derive(Default)]
pub struct All {
    /// In the order of the scenario.
    pub tenants: Vec<Ready>,
    /// The GPUs in use.
    pub(super) gpus: Devices,
}

/// Makes all tenants ready, or says everything that is in the way.
pub fn all(scenario: &Scenario) -> Result<All, Obstacles> {
    let device = SharedDevice::new(scenario.sim_contention);
    let mut tenants = Vec::new();
    let without_gpu = ways::without_gpu(scenario).into_iter();
    let mut obstacles: Vec<(Option<String>, Obstacle)> =
        without_gpu.map(|obstacle| (None, obstacle)).collect();
    let mut watch = Watch::start();
    let devices = Devices::open(scenario, &scenario.tenants);
    let opened_in = watch.lap();
    let mut common = Common::of(scenario);
    for (number, tenant) in scenario.tenants.iter().enumerate() {
        match one(
            scenario,
            number,
            tenant,
            &device,
            (&devices, opened_in),
            &mut common,
        ) {
            Ok(ready) => tenants.push(ready),
            Err(found) => {
                let name = || Some(tenant.name.clone());
                obstacles.extend(found.into_iter().map(|obstacle| (name(), obstacle)));
            }
        }
    }
    if obstacles.is_empty() {
        Ok(All {
            tenants,
            gpus: devices,
        })
    } else {
        Err(Obstacles(obstacles))
    }
}

/// Makes one tenant ready alone, for a process of its own.
pub fn alone(scenario: &Scenario, number: usize) -> Result<All, Vec<Obstacle>> {
    let Some(tenant) = scenario.tenants.get(number) else {
        return Err(vec![Obstacle::NoSuchTenant {
            number,
            scenario: scenario.name.clone(),
        }]);
    };
    let device = SharedDevice::new(scenario.sim_contention);
    let mut watch = Watch::start();
    let devices = Devices::open(scenario, std::slice::from_ref(tenant));
    let ready = one(
        scenario,
        number,
        tenant,
        &device,
        (&devices, watch.lap()),
        &mut Common::of(scenario),
    )?;
    Ok(All {
        tenants: vec![ready],
        gpus: devices,
    })
}

/// Ways of sharing that no tenant of the scenario can be shared by, in sentences.
pub(super) fn without_gpu(scenario: &Scenario) -> Vec<String> {
    ways::without_gpu(scenario)
        .iter()
        .map(ToString::to_string)
        .collect()
}

/// The seed of a tenant: its own for each. Each phase makes one of its own of it ([`Phase::seed`](crate::record::Phase::seed)).
pub fn seed(scenario: &Scenario, number: usize) -> u64 {
    // An odd multiplier keeps neighbouring seeds apart.
    scenario
        .seed
        .wrapping_add((number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Times the parts of a start, one after another.
struct Watch(Stamp);

impl Watch {
    fn start() -> Watch {
        Watch(RealClock.now())
    }

    /// What passed since the start, or since the last lap.
    fn lap(&mut self) -> Nanos {
        let now = RealClock.now();
        now - std::mem::replace(&mut self.0, now)
    }
}

fn one(
    scenario: &Scenario,
    number: usize,
    tenant: &Tenant,
    device: &Arc<SharedDevice>,
    (devices, opened_in): (&Devices, Nanos),
    common: &mut Common,
) -> Result<Ready, Vec<Obstacle>> {
    let mut obstacles: Vec<Obstacle> = Vec::new();
    let mut watch = Watch::start();
    let mut times = StartUp {
        devices: opened_in,
        ..StartUp::default()
    };
    let mut detector = tenant.detector.as_ref().and_then(|d| {
        opening::fed(d, tenant.made.as_ref())
            .map_err(|e| obstacles.push(e.into()))
            .ok()
    });
    let mut source = opening::source_of(tenant, common)
        .map_err(|e| obstacles.push(e.into()))
        .ok();
    let executes = tenant.backend.executes();
    let mut lacks = None;
    // Where nothing executes, nothing is made of what a frame holds.
    if let (Some(detector), Some(source), true) = (&detector, &mut source, executes) {
        let zeros = tenant.missing == Missing::Zero;
        let wants = Wants {
            zeros,
            ..detector.preprocess.wants()
        };
        lacks = source.want(wants);
        if let Some(lack) = lacks.as_ref().filter(|_| !zeros) {
            obstacles.push(Obstacle::Lacks {
                detector: detector.name.clone(),
                from: source.info().description,
                lack: lack.clone(),
            });
        }
    }
    let info = source.as_ref().map(|s| s.info());
    let by_itself = tenant.detector.as_ref().zip(detector.as_ref());
    let by_itself = by_itself.and_then(|(reference, detector)| opening::only_in_fusion(reference, detector));
    if let Some(only) = by_itself {
        obstacles.push(Obstacle::OnlyInFusion(only));
    } else if let (Some(detector), Some(info)) = (&detector, &info)
        && detector.input != info.kind
        // A tenant that only simulates may have a detector for its name, and no frames.
        && (executes || info.kind != ContentKind::Empty)
    {
        obstacles.push(Obstacle::WrongFrames {
            detector: detector.name.clone(),
            takes: detector.input,
            from: info.description.clone(),
            yields: info.kind,
        });
    }
    if executes && detector.is_some() {
        obstacles.extend(stand_in::obstacles(tenant));
    }
    if let (Some(detector), SourceSpec::Synchronised(set)) = (&detector, &tenant.source) {
        let yields = set.cameras().count();
        if detector.input == ContentKind::Set && detector.cameras != yields {
            obstacles.push(Obstacle::OtherCameras {
                detector: detector.name.clone(),
                takes: detector.cameras,
                yields,
            });
        }
    }
    if matches!(tenant.arrival, Arrival::Replay { .. } | Arrival::Sampled { .. })
        && source.as_ref().is_some_and(|s| s.timeline().is_none())
    {
        obstacles.push(Obstacle::NoCaptureTimes {
            from: info.as_ref().map_or_else(String::new, |i| i.description.clone()),
        });
    }
    if let (Arrival::Replay { .. }, Some(info)) = (&tenant.arrival, &info)
        && let Some((before, gap, behind)) = source.as_ref().and_then(|s| s.timeline()?.longest_gap())
        && gap > scenario.duration.max(Nanos::from_secs(3600))
    {
        obstacles.push(Obstacle::UnsetClock {
            from: info.description.clone(),
            before,
            gap,
            behind: behind.0.div_euclid(1_000_000_000),
        });
    }
    if source.as_ref().is_some_and(|s| s.live().is_some()) != matches!(tenant.arrival, Arrival::Live)
        && let Some(info) = &info
    {
        obstacles.push(Obstacle::NotLive {
            from: info.description.clone(),
        });
    }
    let outputs = detector.as_mut().and_then(|detector| detector.outputs.take());
    let empty = Program::default();
    let of_one = detector.as_ref().map_or(&empty, |d| &d.program);
    // Where nothing executes, a batch is a matter of times alone.
    let batched = match tenant.batch.is_single() || of_one.engines.is_empty() {
        true => None,
        false => of_one
            .batched(tenant.batch.size)
            .map_err(|e| obstacles.push(e.into()))
            .ok(),
    };
    let program = batched.as_ref().unwrap_or(of_one);
    let seed = seed(scenario, number);
    times.detector = watch.lap();
    let networks = networks::hashed(program).map_err(|e| obstacles.push(e)).ok();
    if let Some(detector) = detector.as_ref().filter(|_| executes && obstacles.is_empty()) {
        networks::checked(detector, &tenant.backend).map_err(|obstacle| vec![obstacle])?;
    }
    times.networks = watch.lap();
    let mut over_plans = None;
    let backend: Result<Box<dyn Backend>, Obstacle> = match &tenant.backend {
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
        } => gpu::tensorrt(scenario, number, devices, program, build, plans, *profile)
            .map(|(backend, program)| {
                over_plans = Some(program);
                backend
            })
            .map_err(Obstacle::Gpu),
        BackendChoice::Stress(stress) => {
            stress::backend(scenario, number, devices, *stress).map_err(Obstacle::Gpu)
        }
        BackendChoice::OnnxRuntime {
            provider,
            threads,
            profile,
        } => onnxruntime::backend(scenario, number, devices, *provider, *threads, *profile)
            .map_err(Obstacle::OnnxRuntime),
    };
    let backend = backend.map_err(|obstacle| obstacles.push(obstacle)).ok();
    times.load = watch.lap();
    let program = over_plans.as_ref().unwrap_or(program);
    let mut failed = None;
    let opened = backend
        .as_ref()
        .and_then(|backend| match open(backend.as_ref(), program, tenant) {
            Ok(Opened {
                slots,
                memory,
                layers,
            }) => Some((slots, Some(memory), layers)),
            // The device is full: the tenants that it holds go on.
            Err(error @ BackendError::OutOfMemory { .. }) => {
                failed = Some(error.to_string());
                Some((Vec::new(), None, Vec::new()))
            }
            Err(error) => {
                obstacles.push(error.into());
                None
            }
        });
    times.allocate = watch.lap();
    let outputs = outputs.and_then(|mut outputs| {
        let slot = opened.as_ref().and_then(|(slots, ..)| slots.first());
        let prepared = match (executes, slot) {
            (true, Some(slot)) => outputs.prepare(slot.tensors()).map_err(Obstacle::Outputs),
            // It could not be opened, which is told.
            (true, None) => Ok(()),
            (false, _) => Err(Obstacle::NoOutputs {
                backend: tenant.backend.name(),
            }),
        };
        prepared.map_err(|obstacle| obstacles.push(obstacle)).ok()?;
        Some(outputs)
    });
    let (Some(backend), Some((slots, memory, layers)), Some(source), Some(info), Some(mut networks), true) =
        (backend, opened, source, info, networks, obstacles.is_empty())
    else {
        return Err(obstacles);
    };
    for (network, told) in networks.iter_mut().zip(layers) {
        network.layers = Some(told);
    }
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
        // Equal seeds give equal files in simulated time.
        start_up: (scenario.clock == ClockKind::Real).then_some(times),
        batch: detector.as_ref().and_then(Detector::batch),
        memory: memory.and_then(|told| memory::recorded(told, scenario, number)),
        selection: info.selection,
        record_outputs: outputs.as_ref().map(|outputs| outputs.rules().clone()),
    };
    let inputs_of_one = of_one.host_tensors.clone();
    // Only a backend that executes has outputs to make detections of, and only content can be prepared.
    let (preprocess, postprocess) = match detector {
        // A bare network has no outputs that anybody reads.
        Some(d) if executes => (
            Some(d.preprocess),
            (!d.classes.is_empty()).then_some(d.postprocess),
        ),
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
        marks: None,
        arrival: tenant.arrival,
        overload: tenant.overload,
        deadline: tenant.deadline,
        batching: (!tenant.batch.is_single()).then_some(Batching {
            batch: tenant.batch,
            inputs: inputs_of_one,
        }),
        frames: tenant.frames,
        cpus: tenant.cpus.clone(),
        waiting: scenario.release,
        seed,
        lacks,
        late: Default::default(),
        outputs,
        with_outputs: Vec::new(),
    };
    Ok(Ready { runner, manifest })
}

/// Opens the backend on the tenant's processors, because the threads that it makes inherit them.
fn open(backend: &dyn Backend, program: &Program, tenant: &Tenant) -> Result<Opened, BackendError> {
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
