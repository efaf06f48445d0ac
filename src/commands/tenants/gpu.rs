//! Tenants on GPUs: devices opened once for all of their tenants, and plans built or found.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;

use crate::backend::gpu::{Claim, OnDevice, Options, SharedGpu};
use crate::backend::tensorrt::{self, TensorRtBackend, WrongPlans, over_plans};
use crate::backend::{Backend, Program};
use crate::cli::PlanArgs;
use crate::commands::build::{self, Input};
use crate::commands::failures::Refusal;
use crate::commands::tenants::networks::are_plans;
use crate::gpu::{self, Calibration, Gpu, GpuError};
#[cfg(feature = "trace")]
use crate::gpu::{DeviceMemory, Stream};
use crate::record::{Device, FailureKind, GPU_MEMORY_FACT, QUEUES_FACT, SampleRecord};
use crate::scenario::{Scenario, Tenant};
use crate::units::Bytes;

#[cfg(feature = "trace")]
const TOUCHED_BYTES: usize = 4096;
/// How much longer than the watchdog a waiting thread asks.
const BEYOND_WATCHDOG: Duration = Duration::from_secs(5);

/// Why a tenant cannot use its device, or TensorRT on it.
#[derive(Debug, thiserror::Error)]
pub enum NotUsable {
    /// The device, or the way of sharing it.
    #[error(transparent)]
    Device(#[from] GpuError),
    /// A tenant that was not counted when devices were opened.
    #[error("no tenant opened GPU {0}")]
    NotOpened(u16),
    /// Nothing to build or load.
    #[error("a tenant on TensorRT needs a detector")]
    NoDetector,
    /// Plans are given, and the networks are plans.
    #[error("the tenant's network is a plan by itself; leave `plans` out")]
    PlansOfPlans,
    /// What the scenario says after `build:`.
    #[error("`build: \"{words}\"`: {problem} (options of `jetlag build`, see `jetlag build --help`)")]
    Words {
        /// As the scenario has it.
        words: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The plan would be for another GPU.
    #[error(
        "`build` has `--gpu {given}`, but the tenant runs on GPU {own}; leave `--gpu` out, the plan is built for the tenant's GPU"
    )]
    OtherGpu {
        /// The one after `--gpu`.
        given: u16,
        /// The tenant's.
        own: u16,
    },
    /// There is no library, or none that can be used.
    #[error(transparent)]
    Library(#[from] tensorrt::Error),
    /// Its plans could not be built.
    #[error("{0:#}")]
    Build(anyhow::Error),
    /// The scenario's plans are not one for each network.
    #[error(transparent)]
    Plans(#[from] WrongPlans),
}

impl NotUsable {
    /// For programs.
    pub(super) fn kind(&self) -> FailureKind {
        match self {
            NotUsable::Device(
                GpuError::OutOfMemory { .. } | GpuError::NoRoomForContext | GpuError::PinnedFull { .. },
            ) => FailureKind::OutOfMemory,
            NotUsable::Device(_) | NotUsable::NotOpened(_) | NotUsable::Library(_) => FailureKind::Device,
            NotUsable::NoDetector
            | NotUsable::PlansOfPlans
            | NotUsable::Words { .. }
            | NotUsable::OtherGpu { .. } => FailureKind::Scenario,
            // A plan that finds no room is not one that cannot be built.
            NotUsable::Build(error) if Refusal::of(error).is_some() => FailureKind::DiskFull,
            NotUsable::Build(_) => FailureKind::Build,
            NotUsable::Plans(_) => FailureKind::Load,
        }
    }
}

/// What a run file says of the GPUs beside the machine's own facts. Where tenants are in processes of their own this one asks the
/// driver nothing, since that would make a context here too.
pub(in crate::commands) fn facts(scenario: &Scenario, in_processes: bool) -> Vec<(&'static str, String)> {
    let of = |tenant: &Tenant| match tenant.device() {
        Device::Gpu(ordinal) => Some(ordinal),
        Device::Host | Device::None => None,
    };
    let ordinals: BTreeSet<u16> = scenario.tenants.iter().filter_map(of).collect();
    let Some(first) = ordinals.first() else {
        return Vec::new();
    };
    let queues = gpu::asked_queues().map(|queues| (QUEUES_FACT, queues));
    let memory = match ordinals.len() {
        1 if !in_processes => own_memory(*first).map(|memory| (GPU_MEMORY_FACT, memory.to_string())),
        _ => None,
    };
    queues.into_iter().chain(memory).collect()
}

/// All the memory of a GPU that has its own.
fn own_memory(ordinal: u16) -> Option<Bytes> {
    let gpu = Gpu::open(ordinal).ok()?;
    let (_, total) = gpu.memory().ok().filter(|_| !gpu.device().is_integrated)?;
    Some(Bytes(total))
}

/// The devices that a scenario's tenants run on, by number.
#[derive(Default)]
pub(in crate::commands) struct Devices {
    opened: BTreeMap<u16, Result<Arc<SharedGpu>, GpuError>>,
}

impl Devices {
    /// Opens every device that one of these tenants names; what is in the way is told when a tenant asks for its device.
    pub(super) fn open(scenario: &Scenario, tenants: &[Tenant]) -> Self {
        let mut claims: BTreeMap<u16, Vec<Claim>> = BTreeMap::new();
        for tenant in tenants.iter().filter(|tenant| tenant.device().is_gpu()) {
            let claims = claims.entry(tenant.gpu.gpu).or_default();
            claims.push(claim(tenant, claims.len()));
        }
        let open = |(ordinal, claims): (u16, Vec<Claim>)| {
            let opened = SharedGpu::open(ordinal, &scenario.ways_of_sharing(), &claims);
            (ordinal, opened.map(Arc::new))
        };
        Devices {
            opened: claims.into_iter().map(open).collect(),
        }
    }

    /// Fills a little memory on the first device and waits for it: something for a tracer to record.
    #[cfg(feature = "trace")]
    pub(in crate::commands) fn touch_first(&self) {
        let Some(Ok(shared)) = self.opened.values().find(|opened| opened.is_ok()) else {
            return;
        };
        let touch = || {
            let memory = DeviceMemory::new(shared.gpu(), TOUCHED_BYTES)?;
            let stream = Stream::new(shared.gpu(), 0)?;
            stream.clear(&memory.span(), TOUCHED_BYTES)?;
            stream.synchronize()
        };
        if let Err(error) = touch() {
            log::debug!("nothing was filled for the tracer to see: {error}");
        }
    }

    /// Waits for all work. The last stamp of a graph comes before the graph's own end, of which a tracer is told only then.
    pub(in crate::commands) fn wait(&self) {
        for shared in self.opened.values().flatten() {
            // What failed was told by the frame that it concerns.
            let _ = shared.gpu().synchronize();
        }
    }

    /// The GPU that a tenant runs on, or why it could not be opened.
    fn of(&self, tenant: &Tenant) -> Result<Arc<SharedGpu>, NotUsable> {
        match self.opened.get(&tenant.gpu.gpu) {
            Some(Ok(shared)) => Ok(Arc::clone(shared)),
            Some(Err(error)) => Err(error.clone().into()),
            None => Err(NotUsable::NotOpened(tenant.gpu.gpu)),
        }
    }

    /// How far the devices' moments would have been off on the host's line before each renewal of an anchor, since the last
    /// call.
    pub(in crate::commands) fn clock_residuals(&self) -> Vec<SampleRecord> {
        let opened = self.opened.iter();
        let opened = opened.filter_map(|(ordinal, opened)| Some((ordinal, opened.as_ref().ok()?)));
        let residual = |ordinal: u16, calibration: Calibration| SampleRecord {
            at: calibration.at,
            source: "gpu".to_owned(),
            signal: format!("gpu{ordinal}_clock_residual"),
            value: Some(calibration.residual.0 as f64 / 1e3),
            unit: "us".to_owned(),
        };
        opened
            .flat_map(|(&ordinal, gpu)| {
                gpu.take_calibrations()
                    .into_iter()
                    .map(move |found| residual(ordinal, found))
            })
            .collect()
    }
}

fn claim(tenant: &Tenant, place: usize) -> Claim {
    Claim {
        place,
        priority: tenant.priority,
        share: tenant.gpu.share,
    }
}

/// A tenant's place among those of its device.
fn place(scenario: &Scenario, number: usize) -> usize {
    let gpu = scenario.tenants[number].gpu.gpu;
    scenario.tenants[..number]
        .iter()
        .filter(|tenant| tenant.device() == Device::Gpu(gpu))
        .count()
}

/// Finds a tenant's device and how it uses it.
pub(super) fn on_device(
    scenario: &Scenario,
    number: usize,
    devices: &Devices,
    backend: &'static str,
) -> Result<OnDevice, NotUsable> {
    let tenant = &scenario.tenants[number];
    let shared = devices.of(tenant)?;
    let claim = claim(tenant, place(scenario, number));
    if let Some(description) = shared.describe(claim) {
        log::info!("tenant {}: {description}", tenant.name);
    }
    Ok(OnDevice {
        shared,
        claim,
        options: Options {
            backend,
            gpu: tenant.gpu.clone(),
            // The run's watchdog comes first: it saves what was recorded, where a thread that gives up only fails its frame.
            watchdog: Duration::from_nanos(u64::try_from(scenario.watchdog.0).unwrap_or(0)) + BEYOND_WATCHDOG,
            findings: Vec::new(),
        },
    })
}

/// A TensorRT tenant: its backend, and its program over plans.
pub(super) fn tensorrt(
    scenario: &Scenario,
    number: usize,
    devices: &Devices,
    program: &Program,
    words: &[String],
    plans: &[PathBuf],
    profile: bool,
) -> Result<(Box<dyn Backend>, Program), NotUsable> {
    let tenant = &scenario.tenants[number];
    let OnDevice {
        shared,
        claim,
        options,
    } = on_device(scenario, number, devices, "tensorrt")?;
    let (input, args) = to_build(tenant, words)?;
    let library = tensorrt::find(args.tensorrt.as_deref())?;
    let networks = program.engines.clone();
    let program = if are_plans(program) {
        if !plans.is_empty() {
            return Err(NotUsable::PlansOfPlans);
        }
        program.clone()
    } else if plans.is_empty() {
        let built = build::plans(&input, &args).map_err(NotUsable::Build)?;
        let built: Vec<_> = built.into_iter().map(|plan| plan.path).collect();
        over_plans(program, &built)?
    } else {
        over_plans(program, plans)?
    };
    let backend = TensorRtBackend {
        library,
        shared,
        claim,
        options,
        profile,
        networks,
    };
    Ok((Box::new(backend), program))
}

/// What is built for a tenant, and how.
fn to_build(tenant: &Tenant, words: &[String]) -> Result<(Input, PlanArgs), NotUsable> {
    let Some(detector) = tenant.detector.clone() else {
        return Err(NotUsable::NoDetector);
    };
    let mut args = plan_args(words)?;
    // The device and the slots that the plan is for are the tenant's.
    let own = tenant.gpu.gpu;
    if let Some(given) = args.gpu.filter(|given| *given != own) {
        return Err(NotUsable::OtherGpu { given, own });
    }
    args.gpu = Some(own);
    args.contexts = args.contexts.or(u32::try_from(tenant.depth).ok());
    Ok((Input::Detector(detector, tenant.made.clone()), args))
}

/// The networks of a tenant on TensorRT whose plans are still to be built.
pub(super) fn unbuilt(tenant: &Tenant, words: &[String]) -> Result<Vec<String>, NotUsable> {
    let (input, args) = to_build(tenant, words)?;
    build::unbuilt(&input, &args).map_err(NotUsable::Build)
}

/// Builds the plans of a tenant on TensorRT that the cache lacks.
pub(super) fn build(tenant: &Tenant, words: &[String]) -> Result<(), NotUsable> {
    let (input, args) = to_build(tenant, words)?;
    build::plans(&input, &args).map(drop).map_err(NotUsable::Build)
}

/// A scenario's `build: "…"`: the options of `jetlag build` without its input, which is the tenant's detector.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Build {
    #[command(flatten)]
    plan: PlanArgs,
}

/// The options that these words are; the scenario keeps them as they were written.
fn plan_args(words: &[String]) -> Result<PlanArgs, NotUsable> {
    let parsed = Build::try_parse_from(words);
    parsed.map(|build| build.plan).map_err(|error| {
        // The first line says what is wrong; the rest is about a command line that nobody typed.
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        NotUsable::Words {
            words: words.join(" "),
            problem: first.trim_start_matches("error: ").to_owned(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_scenario_s_words_are_read_as_the_command_line_reads_them() {
        let text = "--precision fp16 --use-dla-core 1 --allow-gpu-fallback --mem-pool-size workspace:1GiB -q";
        let plan = plan_args(&words(text)).unwrap();
        let line = words(&format!("jetlag build x.ron {text}"));
        let Command::Build(args) = Cli::try_parse_from(line).unwrap().command else {
            panic!("not `build`");
        };
        assert_eq!(format!("{plan:?}"), format!("{:?}", args.plan));
    }

    #[test]
    fn what_is_wrong_is_said_as_the_command_line_says_it() {
        for text in [
            "--precison fp16",
            "--precision fp17",
            "--min-shapes images",
            "--contexts 0",
            "x.ron",
            "--calibration-frames 8",
            "-o",
        ] {
            let said = plan_args(&words(text)).unwrap_err().to_string();
            let line = words(&format!("jetlag build x.ron {text}"));
            let told = Cli::try_parse_from(line).unwrap_err().to_string();
            let first = told.lines().next().unwrap().trim_start_matches("error: ");
            let wanted = format!(
                "`build: \"{text}\"`: {first} (options of `jetlag build`, see `jetlag build --help`)"
            );
            assert_eq!(said, wanted);
        }
    }
}
