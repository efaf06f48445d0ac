//! What the facts mean for jetlag, and what can be done about what is missing.

use serde::Serialize;

use super::identity::Flash;
use super::{Fact, Roots, modules, nvpmodel, read};

/// How well something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// As it should be.
    Good,
    /// Worth knowing; nothing is wrong.
    Note,
    /// Missing, and limits what can be measured.
    Gap,
}

/// One line of the examination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What was looked at: `TensorRT`.
    pub subject: &'static str,
    /// Whether it is in order.
    pub status: Status,
    /// What was found; none if nothing was.
    pub found: Option<String>,
    /// Where it was read, or looked for.
    pub from: String,
    /// What that means for jetlag.
    pub meaning: String,
    /// What to do, where something can be done.
    pub fix: Option<&'static str>,
}

/// Looks at everything that jetlag uses on a machine. `with_gpu`: whether this jetlag was built to execute on a GPU.
pub fn examine(roots: &Roots, with_gpu: bool) -> Vec<Check> {
    let facts = Facts(read(roots));
    let jetson = facts.has("l4t") || facts.value("board").is_some_and(|b| b.contains("Jetson"));
    let mut checks = vec![cpu(&facts), governor(&facts), memory(&facts)];
    if facts.has("container") {
        checks.push(facts.check("Container", "container", Status::Note, None, |_| {
            "the load of other containers on this machine cannot be seen from here".to_owned()
        }));
    }
    if jetson {
        checks.push(module(&facts, roots));
    }
    checks.push(gpu(&facts, jetson));
    checks.push(facts.check(
        "CUDA driver",
        "cuda",
        gap_if_gpu(&facts, jetson),
        Some("Install NVIDIA's driver (on Jetson: the nvidia-l4t-cuda package), if there is a GPU to use."),
        |_| "the driver's library is installed".to_owned(),
    ));
    let tensorrt = tensorrt(&facts, jetson, roots);
    let tensorrt_loads = tensorrt.found.is_some() && tensorrt.status == Status::Good;
    checks.push(tensorrt);
    if jetson {
        checks.push(facts.check(
            "tegrastats",
            "tegrastats",
            Status::Note,
            Some("Needed only if the rails cannot be read directly: it is in the package nvidia-l4t-tools."),
            |_| "NVIDIA's sampler, for boards whose rails cannot be read directly".to_owned(),
        ));
    }
    checks.push(backend(&facts, jetson, tensorrt_loads, with_gpu));
    checks
}

struct Facts(Vec<Fact>);

impl Facts {
    fn fact(&self, name: &str) -> &Fact {
        let known = self.0.iter().find(|fact| fact.name == name);
        known.expect("checks name facts that `read` always lists")
    }
    fn value(&self, name: &str) -> Option<&str> {
        self.fact(name).value.as_deref()
    }
    fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }
    /// A check of one fact: `meaning` where it was found, else as `missing`, with the fix.
    fn check(
        &self,
        subject: &'static str,
        name: &str,
        missing: Status,
        fix: Option<&'static str>,
        meaning: impl Fn(&str) -> String,
    ) -> Check {
        let fact = self.fact(name);
        let (status, meaning, fix) = match &fact.value {
            // A note says something of what is there; a gap and a note without finding, of what is not.
            Some(value) if missing == Status::Note && fix.is_none() => (Status::Note, meaning(value), None),
            Some(value) => (Status::Good, meaning(value), None),
            None => (missing, "not found".to_owned(), fix),
        };
        Check {
            subject,
            status,
            found: fact.value.clone(),
            from: fact.from.clone(),
            meaning,
            fix,
        }
    }
}

fn cpu(facts: &Facts) -> Check {
    let cores = facts.value("cores").and_then(|n| n.parse::<usize>().ok());
    let mut check = facts.check(
        "CPU",
        "cpu",
        Status::Note,
        Some("No action needed: only the name is unknown."),
        |_| match cores {
            Some(1) => "1 core: tenants, samplers and recorder share it".to_owned(),
            Some(n) => format!("{n} cores for tenants, samplers and recorder"),
            None => "the number of cores is unknown".to_owned(),
        },
    );
    if cores == Some(1) {
        check.status = Status::Gap;
        check.fix = Some(
            "Measure on a machine with at least two cores, or interpret latencies as those of one core.",
        );
    }
    check
}

fn governor(facts: &Facts) -> Check {
    let mut check = facts.check(
        "CPU governor",
        "governor",
        Status::Note,
        Some("In a virtual machine, make sure that the host's clocks are fixed."),
        |governor| match governor {
            "performance" => "clocks stay at their maximum".to_owned(),
            _ => "clocks follow the load: short runs and runs with idle gaps look slower".to_owned(),
        },
    );
    match facts.value("governor") {
        None => {
            check.meaning = "this kernel does not control the clock (usual in virtual machines)".to_owned()
        }
        Some("performance") => {}
        Some(_) => {
            check.status = Status::Note;
            check.fix = Some(
                "For comparable latencies: sudo cpupower frequency-set -g performance (on Jetson: sudo jetson_clocks).",
            );
        }
    }
    check
}

fn memory(facts: &Facts) -> Check {
    facts.check(
        "Memory",
        "memory",
        Status::Note,
        Some("No action needed: only its size is unknown."),
        |_| "jetlag's own memory is bounded for any run length".to_owned(),
    )
}

fn gpu(facts: &Facts, jetson: bool) -> Check {
    let name = if facts.has("gpu") || !jetson {
        "gpu"
    } else {
        "board"
    };
    let driver = facts.value("nvidia_driver");
    let fix = "If there is an NVIDIA GPU, install its driver; inside a container, start it with the GPU (--gpus all).";
    facts.check("GPU", name, Status::Note, Some(fix), |_| match (driver, jetson) {
        (Some(version), _) => format!("driver {version}"),
        (None, true) => "integrated GPU, with the driver of its L4T release".to_owned(),
        (None, false) => "its driver's version is unknown".to_owned(),
    })
}

/// A library for GPUs is missed where there is a GPU.
fn gap_if_gpu(facts: &Facts, jetson: bool) -> Status {
    if jetson || facts.has("gpu") {
        Status::Gap
    } else {
        Status::Note
    }
}

/// A Jetson's module and how it was flashed; one that the table does not have is said to be unknown.
fn module(facts: &Facts, roots: &Roots) -> Check {
    let mut check = facts.check("Jetson", "board", Status::Note, Some(""), |_| String::new());
    let release = facts.value("l4t").unwrap_or("of unknown release");
    let part = facts.value("module");
    check.fix = None;
    check.meaning = match (modules::of_machine(roots), part) {
        (Some(module), Some(part)) => {
            // Only where there are two ways is one worth a word.
            let ways = module.configurations.len();
            let flash = match nvpmodel::flash(roots) {
                Some(flash) if ways > 1 || flash == Flash::Super => format!(", {}", flash.words()),
                Some(_) => String::new(),
                None => ", with an unknown flash".to_owned(),
            };
            check.status = Status::Good;
            format!("L4T {release}, {} ({part}){flash}", module.name)
        }
        (None, part) => {
            check.status = Status::Note;
            check.fix = Some(
                "Sensors and runs use the board's own files. Please report it: tr '\\0' ' ' < /proc/device-tree/compatible.",
            );
            let part = part.unwrap_or("not named in its device tree");
            format!("L4T {release}, module {part}, unknown to this version: its peaks and modes are unknown")
        }
        (Some(module), None) => format!("L4T {release}, {}", module.name),
    };
    check
}

/// The first release that jetlag can load.
const OLDEST_TENSORRT: (u32, u32) = (8, 5);

/// TensorRT's library, by its name alone: JetPack 4 and 5.0 have releases that are too old.
fn tensorrt(facts: &Facts, jetson: bool, roots: &Roots) -> Check {
    let mut check = facts.check(
        "TensorRT",
        "tensorrt",
        gap_if_gpu(facts, jetson),
        Some("Install TensorRT 8.5 or later (on Jetson: the nvidia-jetpack package), if there is a GPU to use."),
        |_| "TensorRT's library is installed".to_owned(),
    );
    let version = check.found.as_deref().and_then(|path| release(roots, path));
    if let Some((version, numbers)) = version
        && numbers < OLDEST_TENSORRT
    {
        check.status = Status::Gap;
        check.meaning = format!("TensorRT {version} is too old; jetlag needs 8.5");
        check.fix = Some(
            "JetPack 5.1 or later has 8.5 (Xavier, Orin). On boards without it (Nano, TX1, TX2), the cpu backend, the sensors and all reports work.",
        );
    }
    check
}

/// `8.2.1` of `/usr/lib/…/libnvinfer.so.8.2.1`, also where the name found is a link to it; none where the name has only
/// the first number.
fn release(roots: &Roots, path: &str) -> Option<(String, (u32, u32))> {
    let real = roots.file(path).canonicalize().ok()?;
    let version = real.file_name()?.to_str()?.split(".so.").nth(1)?.to_owned();
    let mut numbers = version.split('.').map_while(|number| number.parse().ok());
    let first_two = (numbers.next()?, numbers.next()?);
    Some((version, first_two))
}

fn backend(facts: &Facts, jetson: bool, tensorrt: bool, with_gpu: bool) -> Check {
    let ready = (jetson || facts.has("gpu")) && facts.has("cuda") && tensorrt;
    let (found, meaning) = match (ready, with_gpu) {
        (true, true) => ("tensorrt", "with `backend: Auto`, TensorRT executes on the GPU"),
        (true, false) => (
            "cpu",
            "with `backend: Auto`, the cpu backend will be used: this jetlag was built without the feature gpu",
        ),
        (false, _) => (
            "cpu",
            "with `backend: Auto`, the cpu backend will be used: running on the GPU needs a GPU, CUDA and TensorRT",
        ),
    };
    Check {
        subject: "Backend",
        status: Status::Good,
        found: Some(found.to_owned()),
        from: "all of the above".to_owned(),
        meaning: meaning.to_owned(),
        fix: None,
    }
}
