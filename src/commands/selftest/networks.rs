//! The tenants that are tried, the ways in which they are, and what makes one of these ways right.
//!
//! Each way is a run of its own, `jetlag demo` or `jetlag run SCENARIO` with fields overridden: the same frames every time,
//! so that what was found in them can be held against the embedded cpu backend's boxes and against the plainest way's.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::boxes::{self, Closeness, Frames};
use super::child::{Patience, Why};
use super::recorded::Recorded;
use super::session::Tools;
use crate::commands::outcome::WrongUse;
use crate::scenario::{BackendChoice, Scenario, Sensor, SourceSpec};
use crate::show::selftest::Verdict;

/// Scenes of the demo's sources: few enough that each comes again while several frames are in flight.
const SCENES: u64 = 8;
/// Frames of a tenant: each scene three times.
pub(super) const FRAMES: u64 = 3 * SCENES;
/// Plans are for as many frames in flight as any check has.
pub(super) const CONTEXTS: &str = "--contexts 4";
/// A run that was not done by then is cut by itself and says so.
const LONGEST_RUN: Duration = Duration::from_secs(40);
/// A frame that takes longer hangs.
const WATCHDOG: Duration = Duration::from_secs(20);
/// A scenario is resolved within this.
const RESOLVED: Duration = Duration::from_secs(30);

/// What executes the tenants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum On {
    Cpu,
    OnnxRuntimeCpu,
    OnnxRuntimeCuda,
    /// With these options of `jetlag build`.
    TensorRt(String),
}

/// A way of running all tenants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// What the report calls it.
    pub(super) name: String,
    pub(super) on: On,
    /// Overridden fields of the scenario.
    pub(super) scenario: Vec<String>,
    /// Overridden fields of each tenant.
    pub(super) tenants: Vec<String>,
    /// Frames of each tenant; none for as long as the scenario's `duration` says.
    pub(super) frames: Option<u64>,
}

impl Way {
    pub(super) fn new(name: impl Into<String>, on: On) -> Way {
        Way {
            name: name.into(),
            on,
            scenario: Vec::new(),
            tenants: Vec::new(),
            frames: Some(FRAMES),
        }
    }

    /// With a field of the scenario.
    pub(super) fn with(mut self, set: impl Into<String>) -> Way {
        self.scenario.push(set.into());
        self
    }

    /// With a field of each tenant.
    pub(super) fn each(mut self, set: impl Into<String>) -> Way {
        self.tenants.push(set.into());
        self
    }
}

/// A tenant that executes a detector.
struct Tenant {
    name: String,
    /// The scenario gives plans, which are executed as they are.
    has_plans: bool,
    /// The sensor of a demo tenant; none for a scenario of the user's.
    sensor: Option<Sensor>,
}

/// The scenario that the checks run, and its tenants.
pub(super) struct Base {
    /// None for the demo.
    scenario: Option<PathBuf>,
    tenants: Vec<Tenant>,
    /// Seed of the demo's scenes.
    pub(super) seed: u64,
}

/// A run that came to its end.
pub(super) struct Run {
    pub(super) summary: Value,
    pub(super) recorded: Recorded,
}

/// With what a run's boxes are compared.
pub(super) struct Reference<'a> {
    /// What it is called: `the cpu backend's`.
    pub(super) name: &'a str,
    pub(super) run: &'a Run,
    pub(super) closeness: Closeness,
}

/// Why there is nothing to run.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum NoBase {
    /// The demo did not answer what it is; what was seen instead.
    #[error("{0}")]
    Untold(String),
    /// This jetlag has none, in its own words.
    #[error("there is no demo: {0}")]
    NoDemo(String),
}

impl Base {
    /// The demo, or the scenario that the user names.
    ///
    /// # Errors
    /// A scenario that cannot be taken is wrong use; a demo that is not there is a reason.
    pub(super) fn resolve(
        tools: &Tools<'_>,
        scenario: Option<&PathBuf>,
    ) -> anyhow::Result<Result<Base, NoBase>> {
        let path = scenario.map(|path| path.canonicalize().unwrap_or_else(|_| path.clone()));
        let mut arguments = match &path {
            Some(path) => vec!["run".to_owned(), path.display().to_string()],
            None => vec!["demo".to_owned()],
        };
        arguments.push("--resolve-only".to_owned());
        let ended = match tools.jetlag(&arguments, tools.patience.allow(RESOLVED)) {
            Ok(ended) => ended,
            Err(verdict) => return Ok(Err(NoBase::Untold(verdict.seen))),
        };
        let resolved: Option<Scenario> = match ended.code() {
            Some(0) => serde_json::from_str(&ended.out).ok(),
            _ => None,
        };
        let Some(resolved) = resolved else {
            return match path {
                Some(_) => Err(WrongUse(ended.said()).into()),
                None => Ok(Err(NoBase::NoDemo(ended.words()))),
            };
        };
        let is_demo = path.is_none();
        let tenants = resolved.tenants.iter().filter(|tenant| tenant.backend.executes());
        let tenants: Vec<Tenant> = tenants
            .map(|tenant| Tenant {
                name: tenant.name.clone(),
                has_plans: matches!(&tenant.backend, BackendChoice::TensorRt { plans, .. } if !plans.is_empty()),
                sensor: match tenant.source {
                    SourceSpec::Synthetic { sensor, .. } if is_demo => Some(sensor),
                    _ => None,
                },
            })
            .collect();
        if let Some(path) = &path
            && (tenants.is_empty() || resolved.matrix.is_some() || resolved.duty_cycle.is_some())
        {
            let problem = match tenants.is_empty() {
                true => "no tenant of it executes a detector",
                false => "it has a `matrix` or a `duty_cycle`; leave these out",
            };
            return Err(WrongUse(format!("{} cannot be self-tested: {problem}", path.display())).into());
        }
        Ok(Ok(Base {
            scenario: path,
            tenants,
            seed: resolved.seed,
        }))
    }

    pub(super) fn is_demo(&self) -> bool {
        self.scenario.is_none()
    }

    /// The demo's tenants that one sensor feeds, by their place.
    pub(super) fn sensors(&self) -> impl Iterator<Item = (usize, &str, Sensor)> {
        let all = self.tenants.iter().enumerate();
        all.filter_map(|(at, tenant)| Some((at, tenant.name.as_str(), tenant.sensor?)))
    }

    /// Whether all tenants bring their plans, so that none is built.
    pub(super) fn has_plans(&self) -> bool {
        self.tenants.iter().all(|tenant| tenant.has_plans)
    }

    /// The command line of a way, without the run file's name.
    fn arguments(&self, way: &Way, patience: Patience) -> Vec<String> {
        let mut arguments = match &self.scenario {
            Some(path) => vec!["run".to_owned(), path.display().to_string()],
            None => vec!["demo".to_owned()],
        };
        arguments.extend(["--quiet", "--format", "json"].map(str::to_owned));
        let mut set = |field: String| arguments.extend(["--set".to_owned(), field]);
        for field in [
            &format!("duration={}s", patience.allow(LONGEST_RUN).as_secs())[..],
            &format!("watchdog={}s", patience.allow(WATCHDOG).as_secs()),
            "warmup=0s",
            "baseline=(alone: false)",
            "expect=[]",
            "clocks=AsIs",
            // Nothing is sampled that could be in the way.
            "telemetry=(interval: \"1s\", sources: [Host])",
        ] {
            set(field.to_owned());
        }
        way.scenario.iter().cloned().for_each(&mut set);
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
        for tenant in &self.tenants {
            let of = |field: &str| format!("tenants.{}.{field}", tenant.name);
            if let Some(sensor) = tenant.sensor {
                set(of(&format!(
                    "source=Synthetic(sensor: {sensor:?}, scenes: {SCENES})"
                )));
            }
            match &way.on {
                On::Cpu => set(of(&format!("backend=Cpu(threads: {threads})"))),
                On::OnnxRuntimeCpu => {
                    set(of(&format!(
                        "backend=OnnxRuntime(provider: Cpu, threads: {threads})"
                    )));
                }
                On::OnnxRuntimeCuda => set(of("backend=OnnxRuntime(provider: Cuda)")),
                On::TensorRt(build) if !tenant.has_plans => {
                    // Built once for every depth, where TensorRT wants a profile for each frame in flight.
                    let build = format!("{build} {CONTEXTS}");
                    set(of(&format!("backend=TensorRt(build: {:?})", build.trim_start())));
                }
                On::TensorRt(_) => {}
            }
            set(of("arrival=Closed"));
            set(of("record_detections=true"));
            if let Some(frames) = way.frames {
                set(of(&format!("frames={frames}")));
            }
            way.tenants.iter().for_each(|field| set(of(field)));
        }
        arguments
    }

    /// Runs the tenants in this way.
    ///
    /// # Errors
    /// The verdict where the run did not come to its end: a failure, or something that this machine cannot do.
    pub(super) fn run(&self, tools: &Tools<'_>, way: &Way, limit: Duration) -> Result<Run, Verdict> {
        let file = tools.path("run.mcap");
        let mut arguments = self.arguments(way, tools.patience);
        arguments.extend([
            "--out".to_owned(),
            file.display().to_string(),
            "--force".to_owned(),
        ]);
        let ended = tools.jetlag(&arguments, limit)?;
        if ended.why != Why::Itself || !matches!(ended.code(), Some(0 | 1 | 3 | 4)) {
            return Err(
                match is_beyond_this_machine(&ended.said()) && ended.code() == Some(2) {
                    true => Verdict::not_applicable(ended.said()),
                    false => Verdict::fail(ended.words()),
                },
            );
        }
        let summary: Value = serde_json::from_str(&ended.out).map_err(|_| Verdict::fail(ended.words()))?;
        let recorded =
            Recorded::read(&file).map_err(|problem| Verdict::fail(format!("its run file: {problem}")))?;
        // The next one is about to be written, and a disk may be small.
        let _ = std::fs::remove_file(&file);
        Ok(Run { summary, recorded })
    }

    /// Runs the tenants in this way and judges what came of it.
    pub(super) fn judged(
        &self,
        tools: &Tools<'_>,
        way: &Way,
        references: &[Reference<'_>],
        limit: Duration,
    ) -> (Verdict, Option<Run>) {
        match self.run(tools, way, limit) {
            Ok(run) => (self.judge(way, &run, references), Some(run)),
            Err(verdict) => (verdict, None),
        }
    }

    fn judge(&self, way: &Way, run: &Run, references: &[Reference<'_>]) -> Verdict {
        let mut wrong = Vec::new();
        let mut seen = Vec::new();
        for tenant in &self.tenants {
            let told = run.tenant(&tenant.name);
            let Some((at, told)) = told else {
                wrong.push(format!("{} is not in the result", tenant.name));
                continue;
            };
            let frames = |kind: &str| told["frames"][kind].as_u64().unwrap_or(0);
            let completed = frames("completed");
            if way.frames.is_some_and(|asked| completed < asked) || completed == 0 || frames("failed") > 0 {
                wrong.push(format!(
                    "{}: {completed} of {} frames completed, {} failed",
                    tenant.name,
                    way.frames.map_or("all".to_owned(), |asked| asked.to_string()),
                    frames("failed")
                ));
            }
            let none = Frames::new();
            let found = run.recorded.found.get(at).unwrap_or(&none);
            let boxes: usize = found.iter().map(|(_, boxes)| boxes.len()).sum();
            let mut words = format!("{}: {completed} frames, {boxes} boxes", tenant.name);
            for reference in references {
                let Some((at, _)) = reference.run.tenant(&tenant.name) else {
                    continue;
                };
                let Some(other) = reference.run.recorded.found.get(at) else {
                    continue;
                };
                let compared = boxes::compare(other, found, reference.closeness);
                let compared_words = compared.words(reference.name);
                match compared.holds() {
                    true => words += &format!(", {compared_words}"),
                    false => wrong.push(format!("{}: wrong boxes: {compared_words}", tenant.name)),
                }
            }
            for (key, what) in [
                ("/stages_ms/compute/mean", "compute"),
                ("/submission_ms/mean", "submission"),
            ] {
                if let Some(ms) = told.pointer(key).and_then(Value::as_f64) {
                    words += &format!(", {what} {ms:.3} ms");
                }
            }
            seen.push(words);
        }
        let notes = run.notes();
        if !wrong.is_empty() {
            let all: Vec<String> = wrong.into_iter().chain(notes).chain(seen).collect();
            return Verdict::fail(all.join("; "));
        }
        let asked_for = |code: &str| run.finding(code);
        // A way that was asked for and not taken was not tried.
        if let Some(why) = asked_for("no-graph").or_else(|| asked_for("step-on-host")) {
            return Verdict::not_applicable(format!("{why} ({})", seen.join("; ")));
        }
        Verdict::pass(seen.into_iter().chain(notes).collect::<Vec<_>>().join("; "))
    }
}

impl Run {
    /// A tenant's place and what is told of it.
    fn tenant(&self, name: &str) -> Option<(usize, &Value)> {
        let tenants = self.summary["tenants"].as_array()?;
        tenants
            .iter()
            .enumerate()
            .find(|(_, tenant)| tenant["name"] == name)
    }

    fn findings(&self) -> impl Iterator<Item = &Value> {
        self.summary["run"]["findings"].as_array().into_iter().flatten()
    }

    /// The message of a finding.
    fn finding(&self, code: &str) -> Option<String> {
        let finding = self.findings().find(|finding| finding["code"] == code)?;
        Some(finding["message"].as_str()?.to_owned())
    }

    /// The other findings' codes; a run this short has some that say only that it is.
    fn notes(&self) -> Option<String> {
        let mut codes: Vec<&str> = self
            .findings()
            .filter_map(|finding| finding["code"].as_str())
            .filter(|code| {
                !matches!(
                    *code,
                    "too-few-samples" | "phase-ended-early" | "steady-state-unknown"
                )
            })
            .collect();
        codes.dedup();
        (!codes.is_empty()).then(|| format!("findings: {}", codes.join(", ")))
    }
}

/// Whether a refusal is about what this machine lacks and not about what is wrong.
fn is_beyond_this_machine(said: &str) -> bool {
    [
        "none of these tenants runs on a GPU",
        "needs a driver for CUDA",
        "groups of multiprocessors",
        "this jetlag was built without",
        "needs NVRTC",
        "need NVRTC",
    ]
    .iter()
    .any(|words| said.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_machine_lacks_is_told_from_what_fails() {
        assert!(is_beyond_this_machine(
            "tenant camera: partitions needs a driver for CUDA 12.5, but this one supports 12.2"
        ));
        assert!(!is_beyond_this_machine(
            "tenant camera: the CUDA driver failed at cuInit"
        ));
    }

    #[test]
    fn each_tenant_gets_each_field() {
        let base = Base {
            scenario: None,
            tenants: vec![
                Tenant {
                    name: "camera".to_owned(),
                    has_plans: false,
                    sensor: Some(Sensor::Camera),
                },
                Tenant {
                    name: "lidar".to_owned(),
                    has_plans: true,
                    sensor: None,
                },
            ],
            seed: 0,
        };
        let way = Way::new("x", On::TensorRt("--precision fp16".to_owned()))
            .with("sharing=Edf")
            .each("depth=3");
        let arguments = base.arguments(&way, Patience(3));
        for set in [
            "duration=120s",
            "watchdog=60s",
            "sharing=Edf",
            "tenants.camera.depth=3",
            "tenants.lidar.depth=3",
            "tenants.camera.backend=TensorRt(build: \"--precision fp16 --contexts 4\")",
            "tenants.camera.source=Synthetic(sensor: Camera, scenes: 8)",
            "tenants.lidar.frames=24",
        ] {
            assert!(
                arguments.iter().any(|argument| argument == set),
                "{set}: {arguments:?}"
            );
        }
        let lidar = |argument: &&String| argument.starts_with("tenants.lidar.backend");
        assert_eq!(arguments.iter().filter(lidar).count(), 0, "it has its plans");
    }
}
