//! Checks of what executes networks: each backend that is here, in each way that it can be used.

use std::time::Duration;

use serde_json::Value;

use super::boxes::{HALF_PRECISION, OTHER_LIBRARY, SAME_PLAN};
use super::networks::{Base, NoBase, On, Reference, Run, Way};
use super::plans::{build, load};
use super::scenes::truth;
use super::session::{Session, Tools};
use super::ways::ways_on_gpu;
use crate::board::modules;
use crate::cli::SelftestGroup as Group;
use crate::scenario;
use crate::show::selftest::{Outcome, Verdict};
use crate::whole;

/// A run, with the start of the libraries and the loading of plans.
const RUN: Duration = Duration::from_secs(60);
/// A build; the demo's networks are small, and an old board's builder is slow.
const BUILD: Duration = Duration::from_secs(240);
const CPU: &str = "on the cpu backend";
const PLAINEST: &str = "at depth 1, copied, without a graph";

/// Runs that others are compared with, and why there are none.
pub(super) struct Known {
    pub(super) base: Result<Base, NoBase>,
    /// The run on the embedded cpu backend; none before it was tried.
    cpu: Option<Result<Run, Verdict>>,
    /// Whether TensorRT runs the tenants here; none where it was not tried.
    pub(super) plans: Option<bool>,
}

impl Known {
    pub(super) fn new(base: Result<Base, NoBase>) -> Known {
        Known {
            base,
            cpu: None,
            plans: None,
        }
    }

    /// What the cpu backend found, which is asked once.
    fn cpu(&mut self, tools: &Tools<'_>, limit: Duration) -> Result<(), Verdict> {
        let base = self
            .base
            .as_ref()
            .map_err(|why| Verdict::not_applicable(why.to_string()))?;
        let run = self
            .cpu
            .get_or_insert_with(|| base.run(tools, &Way::new("boxes", On::Cpu), limit));
        run.as_ref().map(|_| ()).map_err(Clone::clone)
    }

    fn cpu_reference(&self, closeness: super::boxes::Closeness) -> Option<Reference<'_>> {
        let run = self.cpu.as_ref()?.as_ref().ok()?;
        Some(Reference {
            name: CPU,
            run,
            closeness,
        })
    }
}

/// The virtual clock's device: one way of sharing after another, whose answers are known.
pub(super) fn sim(session: &mut Session<'_>) -> anyhow::Result<()> {
    let text = "Scenario(name: \"sim\", duration: \"10s\", clock: Virtual, tenants: [\n\
                Tenant(name: \"a\", backend: Sim(Fixed(\"5ms\")), arrival: Periodic(hz: 50)),\n\
                Tenant(name: \"b\", backend: Sim(Fixed(\"5ms\")), arrival: Periodic(hz: 50, phase: \"10ms\")),\n])\n";
    for way in scenario::sharings() {
        let name = format!("sharing={way}");
        session.check(Group::Sim, &name, RUN, |tools, limit| {
            let path = tools.path("sim.ron");
            if let Err(error) = whole::write(&path, text, true) {
                return Verdict::fail(format!("its scenario cannot be written: {error}"));
            }
            let (file, set) = (tools.path("sim.mcap"), format!("sharing={way}"));
            let (path, file) = (path.display().to_string(), file.display().to_string());
            let arguments = [
                "run", &path, "--quiet", "--format", "json", "--out", &file, "--force", "--set", &set,
            ];
            let ended = match tools.jetlag(&arguments, limit) {
                Ok(ended) => ended,
                Err(verdict) => return verdict,
            };
            let summary: Option<Value> = serde_json::from_str(&ended.out).ok();
            let Some(summary) = summary.filter(|_| ended.code() == Some(0)) else {
                let said = ended.said();
                let cannot = said.contains("cannot be simulated under the Virtual clock");
                return match ended.code() == Some(2) && cannot {
                    true => Verdict::not_applicable(said),
                    false => Verdict::fail(ended.words()),
                };
            };
            let medians = summary["tenants"].as_array().into_iter().flatten();
            let medians: Vec<f64> = medians
                .filter_map(|tenant| tenant["response_ms"]["p50"].as_f64())
                .collect();
            // They never meet, so each takes as long as alone.
            let seen = format!("5 ms of work each, never at once: response p50 {medians:?} ms");
            match medians.len() == 2 && medians.iter().all(|ms| (ms - 5.0).abs() < 1e-6) {
                true => Verdict::pass(seen),
                false => Verdict::fail(seen),
            }
        })?;
    }
    Ok(())
}

/// The embedded backend: its boxes against the scenes' own truth, and the ways of sharing that need no GPU.
pub(super) fn cpu(session: &mut Session<'_>, known: &mut Known) -> anyhow::Result<()> {
    session.check(Group::Cpu, "boxes", RUN, |tools, limit| {
        if let Err(verdict) = known.cpu(tools, limit) {
            return not_of_this_scenario(verdict, known);
        }
        match (&known.base, &known.cpu) {
            (Ok(base), Some(Ok(run))) => truth(base, run),
            _ => Verdict::not_applicable("there was no run"),
        }
    })?;
    let ways: Vec<Way> = scenario::sharings()
        .map(|sharing| Way::new(format!("sharing={sharing}"), On::Cpu).with(format!("sharing={sharing}")))
        .collect();
    on_host(session, known, Group::Cpu, &ways)
}

/// ONNX Runtime on the processor.
pub(super) fn onnxruntime_cpu(session: &mut Session<'_>, known: &mut Known) -> anyhow::Result<()> {
    let ways = [Way::new("boxes", On::OnnxRuntimeCpu)];
    let library = session.tools.probe("onnxruntime");
    if library.outcome != Outcome::Pass {
        return skip(session, Group::OnnxruntimeCpu, &ways, &library.seen);
    }
    on_host(session, known, Group::OnnxruntimeCpu, &ways)
}

/// Ways that need no GPU, each against the cpu backend's boxes.
fn on_host(session: &mut Session<'_>, known: &mut Known, group: Group, ways: &[Way]) -> anyhow::Result<()> {
    for way in ways {
        session.check(group, &way.name, RUN, |tools, limit| {
            if let Err(verdict) = known.cpu(tools, limit) {
                return not_of_this_scenario(verdict, known);
            }
            let references: Vec<Reference<'_>> = known.cpu_reference(OTHER_LIBRARY).into_iter().collect();
            match &known.base {
                Ok(base) => base.judged(tools, way, &references, limit).0,
                Err(why) => Verdict::not_applicable(why.to_string()),
            }
        })?;
    }
    Ok(())
}

/// A scenario of the user's may have networks, or plans, that the processor cannot execute; the demo has none.
fn not_of_this_scenario(verdict: Verdict, known: &Known) -> Verdict {
    match &known.base {
        Ok(base) if !base.is_demo() => Verdict::not_applicable(format!(
            "the cpu backend cannot run this scenario: {}",
            verdict.seen
        )),
        _ => verdict,
    }
}

/// Runs ways of one GPU backend, the first of which is the plainest.
fn on_gpu(
    session: &mut Session<'_>,
    known: &mut Known,
    group: Group,
    ways: &[Way],
    plainest: &mut Option<Run>,
) -> anyhow::Result<()> {
    for way in ways {
        session.check(group, &way.name, RUN, |tools, limit| {
            // Where the processor cannot execute them, ways are compared with each other alone.
            let cpu = known.cpu(tools, limit).err();
            let base = match &known.base {
                Ok(base) => base,
                Err(why) => return Verdict::not_applicable(why.to_string()),
            };
            let mut references: Vec<Reference<'_>> = known.cpu_reference(OTHER_LIBRARY).into_iter().collect();
            references.extend(plainest.as_ref().map(|run| Reference {
                name: PLAINEST,
                run,
                closeness: match group {
                    // It chooses its kernels anew in every process.
                    Group::OnnxruntimeCuda => OTHER_LIBRARY,
                    _ => SAME_PLAN,
                },
            }));
            let (mut verdict, run) = base.judged(tools, way, &references, limit);
            drop(references);
            if let Some(cpu) = cpu {
                verdict.seen += &format!("; not compared with the cpu backend: {}", cpu.seen);
            }
            if plainest.is_none() && verdict.outcome == Outcome::Pass {
                *plainest = run;
            }
            verdict
        })?;
    }
    Ok(())
}

fn skip(session: &mut Session<'_>, group: Group, ways: &[Way], why: &str) -> anyhow::Result<()> {
    ways.iter()
        .try_for_each(|way| session.skip(group, &way.name, why))
}

/// Why nothing runs on TensorRT here.
fn no_tensorrt(tools: &Tools<'_>, base: &Result<Base, NoBase>) -> Option<String> {
    match base {
        Err(why) => Some(why.to_string()),
        Ok(base) if base.has_plans() => lacks(tools, &["cuda", "tensorrt"]),
        Ok(_) => lacks(tools, &["cuda", "tensorrt", "tensorrt-builder"]),
    }
}

/// Why nothing runs on ONNX Runtime's CUDA provider here.
fn no_onnxruntime_cuda(tools: &Tools<'_>) -> Option<String> {
    lacks(tools, &["cuda", "onnxruntime", "onnxruntime-cuda"])
}

/// What the first of these says that is not there, or does not answer.
fn lacks(tools: &Tools<'_>, libraries: &[&str]) -> Option<String> {
    let answers = libraries.iter().map(|library| tools.probe(library));
    let mut missing = answers.filter(|verdict| verdict.outcome != Outcome::Pass);
    missing.next().map(|verdict| verdict.seen)
}

/// On what a load is made: the best backend that runs the tenants here.
pub(super) fn best(tools: &Tools<'_>, known: &Known) -> On {
    if known.plans == Some(true) {
        On::TensorRt(String::new())
    } else if no_onnxruntime_cuda(tools).is_none() {
        On::OnnxRuntimeCuda
    } else {
        On::Cpu
    }
}

/// What of a GPU backend is left for when all else was tried.
pub(super) struct Later {
    group: Group,
    ways: Vec<Way>,
    why_not: Option<String>,
    plainest: Option<Run>,
}

impl Later {
    pub(super) fn run(mut self, session: &mut Session<'_>, known: &mut Known) -> anyhow::Result<()> {
        match &self.why_not {
            Some(why) => skip(session, self.group, &self.ways, why),
            None => on_gpu(session, known, self.group, &self.ways, &mut self.plainest),
        }
    }
}

/// TensorRT: plans built, found again, loaded, and run in every way.
pub(super) fn tensorrt(session: &mut Session<'_>, known: &mut Known) -> anyhow::Result<Later> {
    let group = Group::Tensorrt;
    let (single, ways) = ways_on_gpu(&On::TensorRt(String::new()));
    let mut why_not = match session.wants(group) {
        true => no_tensorrt(&session.tools, &known.base),
        false => None,
    };
    let (detectors, given): (&[&str], bool) = match &known.base {
        Ok(base) if base.is_demo() => (&["camera", "lidar"], false),
        Ok(base) => (&[], base.has_plans()),
        Err(_) => (&[], false),
    };
    let mut built = true;
    for detector in detectors {
        for (name, options) in [("build", ""), ("build fp16", "--precision fp16")] {
            let name = format!("{name} {detector}");
            if let Some(why) = &why_not {
                session.skip(group, &name, why)?;
                continue;
            }
            let outcome = session.check(group, &name, BUILD, |tools, limit| {
                build(tools, detector, options, limit)
            })?;
            built &= outcome == Outcome::Pass || !options.is_empty();
        }
        let name = format!("load {detector}");
        match &why_not {
            Some(why) => session.skip(group, &name, why)?,
            None => {
                session.check(group, &name, RUN, |tools, limit| load(tools, detector, limit))?;
            }
        }
    }
    if given {
        session.skip(group, "build", "the scenario names its plans")?;
    }
    known.plans = Some(built && why_not.is_none());
    if why_not.is_none() && !built {
        why_not = Some("not every plan was built, see above".to_owned());
    }
    let mut plainest = None;
    match &why_not {
        Some(why) => skip(session, group, &single, why)?,
        None => on_gpu(session, known, group, &single, &mut plainest)?,
    }
    half_precision(session, known, why_not.as_deref())?;
    Ok(Later {
        group,
        ways,
        why_not,
        plainest,
    })
}

/// The demo's plans in 16 bits, as far as these were built.
fn half_precision(session: &mut Session<'_>, known: &mut Known, why_not: Option<&str>) -> anyhow::Result<()> {
    if !known.base.as_ref().is_ok_and(Base::is_demo) {
        return Ok(());
    }
    let way = Way::new("precision=fp16", On::TensorRt("--precision fp16".to_owned())).each("depth=2");
    loosely(session, known, Group::Tensorrt, &way, RUN, why_not)
}

/// One way, held against the cpu backend's boxes as closely as 16 bits allow.
fn loosely(
    session: &mut Session<'_>,
    known: &mut Known,
    group: Group,
    way: &Way,
    limit: Duration,
    why_not: Option<&str>,
) -> anyhow::Result<()> {
    if let Some(why) = why_not {
        return session.skip(group, &way.name, why);
    }
    session.check(group, &way.name, limit, |tools, limit| {
        if let Err(verdict) = known.cpu(tools, limit) {
            return not_of_this_scenario(verdict, known);
        }
        let references: Vec<Reference<'_>> = known.cpu_reference(HALF_PRECISION).into_iter().collect();
        match &known.base {
            Ok(base) => base.judged(tools, way, &references, limit).0,
            Err(why) => Verdict::not_applicable(why.to_string()),
        }
    })?;
    Ok(())
}

/// A board's deep-learning accelerators.
pub(super) fn dla(session: &mut Session<'_>, known: &mut Known) -> anyhow::Result<()> {
    let group = Group::Dla;
    if !session.wants(group) {
        return Ok(());
    }
    let module = modules::of_machine(&session.tools.roots);
    let cores = |module: &modules::Module| module.dlas.map(|(cores, _)| cores);
    let why_not = match (module, &known.base) {
        (None, _) => Some("not a known Jetson module, so no DLA".to_owned()),
        (Some(module), _) if cores(module) == Some(0) => Some(format!("{} has none", module.name)),
        (Some(module), _) if cores(module).is_none() => {
            Some(format!("the number of DLAs of {} is not known", module.name))
        }
        (Some(_), Ok(base)) if !base.is_demo() => Some("only for the demo".to_owned()),
        (Some(_), Err(why)) => Some(why.to_string()),
        (Some(_), Ok(_)) => no_tensorrt(&session.tools, &known.base),
    };
    for core in 0..module.and_then(cores).unwrap_or(1).max(1) {
        let build = format!("--precision fp16 --dla-core {core} --gpu-fallback");
        let way = Way::new(format!("core={core}"), On::TensorRt(build));
        loosely(session, known, group, &way, BUILD, why_not.as_deref())?;
    }
    Ok(())
}

/// ONNX Runtime's CUDA provider, in every way.
pub(super) fn onnxruntime_cuda(session: &mut Session<'_>, known: &mut Known) -> anyhow::Result<Later> {
    let group = Group::OnnxruntimeCuda;
    let (single, ways) = ways_on_gpu(&On::OnnxRuntimeCuda);
    let why_not = match session.wants(group) {
        true => no_onnxruntime_cuda(&session.tools),
        false => None,
    };
    let mut plainest = None;
    match &why_not {
        Some(why) => skip(session, group, &single, why)?,
        None => on_gpu(session, known, group, &single, &mut plainest)?,
    }
    Ok(Later {
        group,
        ways,
        why_not,
        plainest,
    })
}
