//! Plans of TensorRT are built before the runs that need them, each once for all points that share it: a build takes minutes, and is
//! neither a run's time nor bound by its limit. Each is built in a process of its own, as runs are made.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use jetlag_sweep::Setting;

use super::checked::{self, Base};
use crate::commands::output::say;
use crate::commands::runs::{self, Ended, Job};
use crate::commands::{here, tenants};
use crate::record::{Failure, FailureKind, FailureStage};
use crate::scenario::ResolveEnv;

/// The plans that are known by now.
pub(super) struct Plans {
    env: ResolveEnv,
    /// By what they are built of: why they cannot be, or none where they are there, or where the run itself will tell.
    known: HashMap<String, Option<Failure>>,
}

/// Whether the plans of a point are there.
pub(super) enum Built {
    Yes,
    /// They cannot be built.
    No(Failure),
    Interrupted,
}

/// Plans of one point: the tenant of each, and what it is built of.
type Wanted = Vec<(String, String)>;

impl Plans {
    pub(super) fn new() -> Plans {
        Plans {
            env: here::env(),
            known: HashMap::new(),
        }
    }

    /// Of these points those at which plans are met for the first time.
    pub(super) fn first<'p>(
        &self,
        scenario: &Path,
        base: &Base,
        points: impl Iterator<Item = &'p [Setting]>,
    ) -> Vec<&'p [Setting]> {
        let mut met: HashMap<String, ()> = HashMap::new();
        let is_first = |settings: &&[Setting]| {
            let wanted = self.wanted(scenario, base, settings);
            wanted.into_iter().fold(false, |first, (_, plan)| {
                let is_new = !self.known.contains_key(&plan) && met.insert(plan, ()).is_none();
                first || is_new
            })
        };
        points.filter(is_first).collect()
    }

    /// Builds what a point lacks, in the folder of the sweep; says what, if so asked.
    pub(super) fn build(
        &mut self,
        (scenario, base): (&Path, &Base),
        settings: &[Setting],
        folder: &Path,
        stop: &AtomicBool,
        says: bool,
    ) -> anyhow::Result<Built> {
        let wanted = self.wanted(scenario, base, settings);
        if wanted.iter().any(|(_, plan)| !self.known.contains_key(plan)) {
            let sets = checked::overrides(base, settings);
            let began = Instant::now();
            let job = Job {
                scenario,
                sets: &sets,
                seed: None,
                file: &folder.join("runs/plans"),
                limit: None,
                tied: true,
                build_only: true,
            };
            let ended = runs::run(&job, stop)?;
            if matches!(ended, Ended::Interrupted) {
                return Ok(Built::Interrupted);
            }
            for (tenant, plan) in &wanted {
                let failure = failure(&ended, tenant);
                if says {
                    let took = began.elapsed().as_secs_f64();
                    say(&match &failure {
                        None => format!("plans of {tenant}: there after {took:.1} s"),
                        Some(failure) => format!("plans of {tenant}: cannot be built: {}", failure.message),
                    });
                }
                self.known.entry(plan.clone()).or_insert(failure);
            }
        }
        let failed = wanted.into_iter().find_map(|(tenant, plan)| {
            let failure = self.known.get(&plan)?.clone()?;
            Some(Failure {
                tenant: Some(tenant),
                ..failure
            })
        });
        Ok(failed.map_or(Built::Yes, Built::No))
    }

    fn wanted(&self, scenario: &Path, base: &Base, settings: &[Setting]) -> Wanted {
        // What makes no scenario is the run's to tell.
        let resolved = base.with(scenario, settings, &self.env);
        let tenants = resolved.map(|scenario| scenario.tenants).unwrap_or_default();
        let plan = |tenant| tenants::plans_of(tenant);
        tenants
            .iter()
            .filter_map(|tenant| Some((tenant.name.clone(), plan(tenant)?)))
            .collect()
    }
}

/// Why a tenant's plans are not there; none where they are, or where something else is in the way, which its run tells.
fn failure(ended: &Ended, tenant: &str) -> Option<Failure> {
    let Ended::Failed {
        status,
        said,
        failures,
    } = ended
    else {
        return None;
    };
    let own =
        |failure: &&Failure| failure.kind == FailureKind::Build && failure.tenant.as_deref() == Some(tenant);
    match failures.iter().find(own) {
        Some(failure) => Some(failure.clone()),
        // TensorRT may end the process in which it builds.
        None if status.code().is_none() => Some(Failure {
            stage: FailureStage::Start,
            kind: FailureKind::Build,
            tenant: None,
            message: format!("building its plans ended the process ({status}): {said}"),
        }),
        None => None,
    }
}
