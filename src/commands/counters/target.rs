//! The scenario that runs under the profiler: one tenant, few frames one after another, and nothing beside it.

use std::path::Path;

use crate::cli::CountersArgs;
use crate::commands::opening;
use crate::commands::outcome::WrongUse;
use crate::commands::runs;
use crate::commands::tenants::networks;
use crate::scenario::{Arrival, BackendChoice, Baseline, Provider, Scenario, Shapes, Tenant};
use crate::units::Nanos;

/// Longer than any profiler takes for some frames: they end the run.
const LONGEST: Nanos = Nanos::from_secs(24 * 3600);

/// What is profiled.
pub(super) struct Target {
    /// The tenant's name.
    pub(super) tenant: String,
    /// What was left out of the scenario that was named, a sentence each.
    pub(super) notes: Vec<String>,
    /// BLAKE3 of its networks' files.
    pub(super) networks: Vec<String>,
}

/// The tenant of a scenario that is counted.
///
/// # Errors
/// The scenario cannot be read; [`WrongUse`]: no tenant of that name, none on a GPU, several.
pub(super) fn of(path: &Path, shapes: Option<&Shapes>, args: &CountersArgs) -> anyhow::Result<Target> {
    let scenario = runs::resolved_with(path, shapes, &args.sets)?;
    let tenant = choose(&scenario, args.tenant.as_deref())?;
    let mut notes = Vec::new();
    if scenario.trace.is_some() {
        notes.push(
            "The scenario's trace was left out: one tool at a time can use the GPU's counters.".to_owned(),
        );
    }
    if scenario.tenants.len() > 1 {
        notes.push(format!(
            "Only {} was counted: counters are of a tenant by itself.",
            tenant.name
        ));
    }
    Ok(Target {
        tenant: tenant.name.clone(),
        notes,
        networks: networks_of(tenant),
    })
}

/// As the manifest of a run has them; what cannot be read is told by that run.
fn networks_of(tenant: &Tenant) -> Vec<String> {
    let detector = tenant.detector.as_ref();
    let detector = detector.and_then(|detector| opening::fed(detector, tenant.made.as_ref()).ok());
    let networks = detector.and_then(|detector| networks::hashed(&detector.program).ok());
    networks
        .unwrap_or_default()
        .into_iter()
        .map(|network| network.blake3)
        .collect()
}

/// What `jetlag run --counted TENANT=FRAMES` runs: that tenant alone, its frames one after another, and nothing beside it.
///
/// # Errors
/// [`WrongUse`]: the words are of another form, or there is no such tenant.
pub(in crate::commands) fn reduced(scenario: &Scenario, counted: &str) -> Result<Scenario, WrongUse> {
    let wrong = || {
        WrongUse(format!(
            "--counted {counted}: wanted is TENANT=FRAMES, of a tenant of the scenario"
        ))
    };
    let (name, frames) = counted.rsplit_once('=').ok_or_else(wrong)?;
    let frames: u64 = frames.parse().map_err(|_| wrong())?;
    let tenant = scenario
        .tenants
        .iter()
        .find(|tenant| tenant.name == name)
        .ok_or_else(wrong)?;
    let mut own = Scenario::empty(&format!("counters-{}", scenario.name));
    own.duration = LONGEST;
    own.seed = scenario.seed;
    own.watchdog = LONGEST;
    own.baseline = Baseline {
        idle: None,
        alone: false,
    };
    own.tenants = vec![Tenant {
        arrival: Arrival::Closed,
        depth: 1,
        deadline: None,
        shared: None,
        record_detections: false,
        frames: Some(frames),
        ..tenant.clone()
    }];
    Ok(own)
}

fn is_on_gpu(tenant: &Tenant) -> bool {
    matches!(
        tenant.backend,
        BackendChoice::TensorRt { .. }
            | BackendChoice::OnnxRuntime {
                provider: Provider::Cuda,
                ..
            }
    )
}

fn choose<'a>(scenario: &'a Scenario, wanted: Option<&str>) -> Result<&'a Tenant, WrongUse> {
    let all = || {
        let names: Vec<&str> = scenario
            .tenants
            .iter()
            .map(|tenant| tenant.name.as_str())
            .collect();
        names.join(", ")
    };
    let on_gpu: Vec<&Tenant> = scenario
        .tenants
        .iter()
        .filter(|tenant| is_on_gpu(tenant))
        .collect();
    match (wanted, &on_gpu[..]) {
        (Some(name), _) => {
            let found = scenario.tenants.iter().find(|tenant| tenant.name == name);
            let found =
                found.ok_or_else(|| WrongUse(format!("--tenant {name}: the scenario has {}", all())))?;
            is_on_gpu(found)
                .then_some(found)
                .ok_or_else(|| on_processor(name, found))
        }
        (None, [one]) => Ok(one),
        (None, []) => Err(match &scenario.tenants[..] {
            [one] => on_processor(&one.name, one),
            _ => WrongUse(format!(
                "no tenant of the scenario runs networks on a GPU ({})",
                all()
            )),
        }),
        (None, several) => {
            let names: Vec<&str> = several.iter().map(|tenant| tenant.name.as_str()).collect();
            Err(WrongUse(format!(
                "{} tenants run on a GPU; name one of them with --tenant: {}",
                several.len(),
                names.join(", ")
            )))
        }
    }
}

fn on_processor(name: &str, tenant: &Tenant) -> WrongUse {
    WrongUse(format!(
        "{name} runs on the backend {}, and counters are of kernels on a GPU: choose TensorRt or OnnxRuntime(provider: Cuda)",
        tenant.backend.name()
    ))
}
