//! The GPU half of preparing tenants: devices opened once for all of their tenants, and plans built or found.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;

use crate::backend::gpu::{Claim, OnDevice, Options, SharedGpu};
use crate::backend::tensorrt::{self, TensorRtBackend, over_plans};
use crate::backend::{Backend, Program};
use crate::cli::{BuildArgs, Cli, Command};
use crate::commands::build;
use crate::gpu::Calibration;
use crate::record::{Device, SampleRecord};
use crate::scenario::{DetectorRef, Scenario, Tenant};

/// How much longer than the watchdog a waiting thread asks.
const BEYOND_WATCHDOG: Duration = Duration::from_secs(5);

/// The devices that a scenario's tenants run on, by number.
#[derive(Default)]
pub(in crate::commands) struct Devices {
    opened: BTreeMap<u16, Result<Arc<SharedGpu>, String>>,
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
            (ordinal, opened.map(Arc::new).map_err(|error| error.to_string()))
        };
        Devices {
            opened: claims.into_iter().map(open).collect(),
        }
    }

    /// The GPU that a tenant runs on, or why it could not be opened.
    fn of(&self, tenant: &Tenant) -> Result<Arc<SharedGpu>, String> {
        match self.opened.get(&tenant.gpu.gpu) {
            Some(Ok(shared)) => Ok(Arc::clone(shared)),
            Some(Err(problem)) => Err(problem.clone()),
            None => Err(format!("no tenant opened GPU {}", tenant.gpu.gpu)),
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
) -> Result<OnDevice, String> {
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
) -> Result<(Box<dyn Backend>, Program), String> {
    let tenant = &scenario.tenants[number];
    let OnDevice {
        shared,
        claim,
        options,
    } = on_device(scenario, number, devices, "tensorrt")?;
    let mut args = build_args(tenant, words)?;
    // The device and the slots that the plan is for are the tenant's.
    let own = tenant.gpu.gpu;
    if let Some(given) = args.gpu.filter(|given| *given != own) {
        return Err(format!(
            "`build` has `--gpu {given}`, but the tenant runs on GPU {own}; leave `--gpu` out, the plan is built for the tenant's GPU"
        ));
    }
    args.gpu = Some(own);
    args.contexts = args.contexts.or(u32::try_from(tenant.depth).ok());
    let library = tensorrt::find(args.tensorrt.as_deref()).map_err(|error| error.to_string())?;
    let program = if plans.is_empty() {
        let built = build::plans(&args).map_err(|error| format!("{error:#}"))?;
        let built: Vec<_> = built.into_iter().map(|plan| plan.path).collect();
        over_plans(program, &built)
    } else {
        over_plans(program, plans)
    };
    let program = program.map_err(|error| error.to_string())?;
    let backend = TensorRtBackend {
        library,
        shared,
        claim,
        options,
        profile,
    };
    Ok((Box::new(backend), program))
}

/// The words after `jetlag build DETECTOR`, read as the command line reads them.
fn build_args(tenant: &Tenant, words: &[String]) -> Result<BuildArgs, String> {
    let input = match &tenant.detector {
        Some(DetectorRef::File(path)) => path.display().to_string(),
        Some(DetectorRef::Builtin(name)) => format!("builtin:{name}"),
        None => return Err("a tenant on TensorRT needs a detector".to_owned()),
    };
    let line = ["jetlag", "build", &input].into_iter().map(str::to_owned);
    let parsed = Cli::try_parse_from(line.chain(words.iter().cloned()));
    match parsed.map(|cli| cli.command) {
        Ok(Command::Build(args)) => Ok(*args),
        Ok(_) => Err("`build` takes options of `jetlag build`".to_owned()),
        Err(error) => {
            // The first line says what is wrong; the rest is about a command line that nobody typed.
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            Err(format!(
                "`build: \"{}\"`: {} (options of `jetlag build`, see `jetlag build --help`)",
                words.join(" "),
                first.trim_start_matches("error: ")
            ))
        }
    }
}
