//! Plans of TensorRT are built before the runs that need them, each once for all points that share it: a build takes minutes, and is
//! neither a run's time nor bound by its limit. Each tenant's are built in a process of its own, as runs are made.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use jetlag_sweep::Setting;

use super::checked::{self, Base};
use super::machine;
use crate::commands::failures::Refusal;
use crate::commands::output::say;
use crate::commands::runs::{self, Ended, Job};
use crate::commands::{here, tenants};
use crate::record::{Failure, FailureKind, FailureStage};
use crate::scenario::ResolveEnv;

/// Fields of a tenant, and of a scenario, that reach no plan.
const BESIDE_PLANS: [&[&str]; 2] = [
    &[
        "arrival",
        "cpus",
        "deadline",
        "frames",
        "missing",
        "overload",
        "priority",
        "record_detections",
    ],
    &["duration", "expect", "seed", "telemetry", "warmup", "watchdog"],
];

/// The plans that are known by now.
pub(super) struct Plans {
    env: ResolveEnv,
    /// Whether any tenant may be on TensorRT without a setting that says so.
    is_in_base: bool,
    known: HashMap<blake3::Hash, Known>,
    /// By the settings that reach plans: what they are.
    wanted: HashMap<String, Wanted>,
}

/// What is known of a tenant's plans.
enum Known {
    There,
    /// They cannot be built: nor can a run that needs them.
    Unbuildable(Failure),
    /// Something else is in the way, which the run itself will tell.
    Unbuilt(String),
}

/// Whether the plans of a point are there.
pub(super) enum Built {
    Yes,
    /// They cannot be built.
    No(Failure),
    Interrupted,
}

/// Plans of one point: the tenant of each, and what it is built of.
type Wanted = Vec<(String, blake3::Hash)>;

impl Plans {
    pub(super) fn new(base: &Base) -> Plans {
        Plans::within(here::env(), base)
    }

    fn within(env: ResolveEnv, base: &Base) -> Plans {
        // Where a GPU and TensorRT are found, a tenant is on it that names no backend.
        let is_auto = env.gpu.is_some() && env.tensorrt.is_some();
        let says = |text: &String| names_it(text);
        Plans {
            is_in_base: is_auto || names_it(&base.text) || base.sets.iter().any(says),
            env,
            known: HashMap::new(),
            wanted: HashMap::new(),
        }
    }

    /// Of these points those at which plans are met for the first time; none where it was interrupted.
    pub(super) fn first<'p>(
        &mut self,
        scenario: &Path,
        base: &Base,
        points: impl Iterator<Item = &'p [Setting]>,
        stop: &AtomicBool,
    ) -> Option<Vec<&'p [Setting]>> {
        let mut met = HashSet::new();
        let mut first = Vec::new();
        for settings in points {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            let wanted = self.wanted(scenario, base, settings);
            let mut new = false;
            for (_, plan) in wanted {
                new |= !self.known.contains_key(&plan) && met.insert(plan);
            }
            if new {
                first.push(settings);
            }
        }
        Some(first)
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
        for (tenant, plan) in &wanted {
            if self.known.contains_key(plan) {
                continue;
            }
            let began = Instant::now();
            let job = Job {
                scenario,
                sets: &checked::overrides(base, settings),
                seed: None,
                file: &folder.join("runs/plans"),
                limit: None,
                tied: true,
                build_only: Some(tenant),
                allow_commands: false,
            };
            let ended = runs::run(&job, stop)?;
            if matches!(ended, Ended::Interrupted) {
                return Ok(Built::Interrupted);
            }
            if let Some(said) = no_room(&ended) {
                return Err(machine::stops(said, folder));
            }
            let known = known(ended);
            if says {
                say(&match &known {
                    Known::There => {
                        let took = began.elapsed().as_secs_f64();
                        format!("plans of {tenant}: there after {took:.1} s")
                    }
                    Known::Unbuildable(failure) => {
                        format!("plans of {tenant}: cannot be built: {}", failure.message)
                    }
                    Known::Unbuilt(why) => format!("plans of {tenant}: not built: {why}"),
                });
            }
            self.known.insert(*plan, known);
        }
        let failed = wanted
            .into_iter()
            .find_map(|(tenant, plan)| match self.known.get(&plan)? {
                Known::Unbuildable(failure) => Some(Failure {
                    tenant: Some(tenant),
                    ..failure.clone()
                }),
                Known::There | Known::Unbuilt(_) => None,
            });
        Ok(failed.map_or(Built::Yes, Built::No))
    }

    /// Resolves a point's scenario where none was that has the same plans: of a large sweep, most points have.
    fn wanted(&mut self, scenario: &Path, base: &Base, settings: &[Setting]) -> Wanted {
        if !self.is_in_base && !settings.iter().any(|setting| names_it(&setting.value)) {
            return Wanted::new();
        }
        let key = reaching(settings);
        if let Some(wanted) = self.wanted.get(&key) {
            return wanted.clone();
        }
        // What makes no scenario is the run's to tell.
        let Some(resolved) = base.with(scenario, settings, &self.env) else {
            return Wanted::new();
        };
        let plan = |tenant| tenants::plans_of(&resolved, tenant).map(|plan| blake3::hash(plan.as_bytes()));
        let tenants = resolved.tenants.iter();
        let wanted: Wanted = tenants
            .filter_map(|tenant| Some((tenant.name.clone(), plan(tenant)?)))
            .collect();
        self.wanted.insert(key, wanted.clone());
        wanted
    }
}

/// Whether a text may put a tenant on TensorRT.
fn names_it(text: &str) -> bool {
    text.contains("TensorRt")
}

/// The settings that may reach plans.
fn reaching(settings: &[Setting]) -> String {
    let mut key = String::new();
    for setting in settings {
        let path: Vec<&str> = setting.path.split('.').map(str::trim).collect();
        let [of_tenants, of_scenarios] = BESIDE_PLANS;
        let is_beside = match path.as_slice() {
            ["tenants", _, field, ..] => of_tenants.contains(field),
            [field, ..] => of_scenarios.contains(field),
            [] => false,
        };
        if is_beside {
            continue;
        }
        // Of another backend it matters only which one it is.
        let other = ["Sim", "Null", "Stress"]
            .into_iter()
            .find(|name| setting.value.trim_start().starts_with(name));
        let value = match (path.as_slice(), other) {
            (["tenants", _, "backend"], Some(name)) => name,
            _ => setting.value.as_str(),
        };
        key.push_str(&setting.path);
        key.push('=');
        key.push_str(value);
        key.push('\0');
    }
    key
}

/// What a building said that found no room for its plans; none of any other.
fn no_room(ended: &Ended) -> Option<&str> {
    let Ended::Failed {
        said,
        failures,
        refused,
        ..
    } = ended
    else {
        return None;
    };
    let full = failures
        .iter()
        .find(|failure| failure.kind == FailureKind::DiskFull);
    let said = full.map_or(runs::error_of(said), |failure| failure.message.as_str());
    (full.is_some() || *refused == Some(Refusal::Disk)).then_some(said)
}

/// What came of a building.
fn known(ended: Ended) -> Known {
    let Ended::Failed {
        status,
        said,
        failures,
        ..
    } = ended
    else {
        return Known::There;
    };
    match failures.into_iter().next() {
        Some(failure) if failure.kind == FailureKind::Build => Known::Unbuildable(failure),
        Some(failure) => Known::Unbuilt(failure.message),
        // TensorRT may end the process in which it builds.
        None if status.code().is_none() => Known::Unbuildable(Failure {
            stage: FailureStage::Start,
            kind: FailureKind::Build,
            tenant: None,
            message: format!("building its plans ended the process ({status}): {said}"),
        }),
        None => Known::Unbuilt(said),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(text: &str) -> Base {
        Base {
            text: text.to_owned(),
            hash: String::new(),
            sets: Vec::new(),
        }
    }

    const SIMULATED: &str = "Scenario(duration: \"1s\", warmup: \"0s\", tenants: [Tenant(name: \"camera\", backend: \
                             Sim(Fixed(\"1ms\")), arrival: Periodic(hz: 30))])";

    fn points() -> Vec<Vec<Setting>> {
        let point = |hz: u32| {
            vec![
                Setting::new("tenants.camera.arrival.hz", hz.to_string()),
                Setting::new("tenants.camera.backend", format!("Sim(Fixed(\"{hz}us\"))")),
                Setting::new("duration", format!("{hz}s")),
            ]
        };
        (1..=100).map(point).collect()
    }

    #[test]
    fn points_without_tensorrt_are_not_resolved_and_those_with_the_same_plans_once() {
        let points = points();
        let stop = AtomicBool::new(false);
        // A tenant may be on TensorRT where the base so much as names it.
        for (text, resolved) in [
            (SIMULATED.to_owned(), 0),
            (format!("{SIMULATED} // or TensorRt"), 1),
        ] {
            let base = base(&text);
            let mut plans = Plans::within(ResolveEnv::default(), &base);
            let settings = points.iter().map(Vec::as_slice);
            let first = plans.first(Path::new("base.ron"), &base, settings, &stop);
            assert!(first.unwrap().is_empty());
            assert_eq!(plans.wanted.len(), resolved, "{text}");
        }
    }

    #[test]
    fn a_signal_ends_the_search_for_plans() {
        let (points, base) = (points(), base(SIMULATED));
        let mut plans = Plans::within(ResolveEnv::default(), &base);
        let settings = points.iter().map(Vec::as_slice);
        let stop = AtomicBool::new(true);
        assert!(
            plans
                .first(Path::new("base.ron"), &base, settings, &stop)
                .is_none()
        );
    }

    #[test]
    fn what_may_reach_a_plan_tells_points_apart() {
        let of = |path: &str, value: &str| reaching(&[Setting::new(path, value)]);
        for path in [
            "power_mode",
            "tenants.a.depth",
            "tenants.a.detector",
            "tenants.0.gpu.gpu",
        ] {
            assert_ne!(of(path, "1"), of(path, "2"), "{path}");
        }
        let backend = |value: &str| of("tenants.a.backend", value);
        assert_ne!(
            backend("TensorRt()"),
            backend("TensorRt(build: \"--precision fp16\")")
        );
        assert_ne!(backend("TensorRt()"), backend("Null"));
        assert_eq!(backend("Sim(Fixed(\"1ms\"))"), backend("Sim(Fixed(\"2ms\"))"));
        assert_eq!(of("tenants.a.arrival.hz", "1"), of("tenants.a.arrival.hz", "2"));
        assert_eq!(of("seed", "1"), of("seed", "2"));
    }
}
