//! What the facts mean for jetlag, and what can be done about what is missing.

use serde::Serialize;

use super::{Fact, Roots, read};

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
    /// How it stands.
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

/// Looks at everything that jetlag uses on a machine.
pub fn examine(roots: &Roots) -> Vec<Check> {
    let facts = Facts(read(roots));
    let jetson = facts.has("l4t") || facts.value("board").is_some_and(|b| b.contains("Jetson"));
    let mut checks = vec![cpu(&facts), governor(&facts), memory(&facts)];
    if facts.has("container") {
        checks.push(facts.check("Container", "container", Status::Note, None, |_| {
            "the load of other containers on this machine cannot be seen from here".to_owned()
        }));
    }
    if jetson {
        checks.push(facts.check("Jetson", "board", Status::Good, None, |_| {
            let release = facts.value("l4t").unwrap_or("of unknown release");
            let module = facts.value("module").unwrap_or("unknown");
            format!("L4T {release}, module {module}")
        }));
    }
    checks.push(gpu(&facts, jetson));
    checks.push(facts.check(
        "CUDA driver",
        "cuda",
        gap_if_gpu(&facts, jetson),
        Some("Install NVIDIA's driver (on Jetson: the nvidia-l4t-cuda package), if there is a GPU to use."),
        |_| "the driver's library is there".to_owned(),
    ));
    checks.push(facts.check(
        "TensorRT",
        "tensorrt",
        gap_if_gpu(&facts, jetson),
        Some("Install TensorRT 8.5 or later (on Jetson: the nvidia-jetpack package), if there is a GPU to use."),
        |_| "TensorRT's library is there".to_owned(),
    ));
    if jetson {
        checks.push(facts.check(
            "tegrastats",
            "tegrastats",
            Status::Note,
            Some("Needed only where rails cannot be read otherwise: the nvidia-l4t-tools package has it."),
            |_| "NVIDIA's own sampler is there, for boards whose rails cannot be read otherwise".to_owned(),
        ));
    }
    checks.push(backend(&facts, jetson));
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
        Some("Nothing to do: only the name is unknown."),
        |_| match cores {
            Some(1) => "1 core: tenants, samplers and recorder take turns on it".to_owned(),
            Some(n) => format!("{n} cores for tenants, samplers and recorder"),
            None => "its cores could not be counted".to_owned(),
        },
    );
    if cores == Some(1) {
        check.status = Status::Gap;
        check.fix = Some("Measure on a machine with at least two cores, or read latencies as of one core.");
    }
    check
}

fn governor(facts: &Facts) -> Check {
    let mut check = facts.check(
        "CPU governor",
        "governor",
        Status::Note,
        Some("In a virtual machine, make sure on its host that clocks are fixed."),
        |governor| match governor {
            "performance" => "clocks stay up".to_owned(),
            _ => "clocks follow the load: short runs and idle gaps look slower than they are".to_owned(),
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
        Some("Nothing to do: only its size is unknown."),
        |_| "a run's own memory is bounded, whatever its length".to_owned(),
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
        (None, true) => "the chip's own GPU, with the driver of its L4T release".to_owned(),
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

fn backend(facts: &Facts, jetson: bool) -> Check {
    let ready = (jetson || facts.has("gpu")) && facts.has("cuda") && facts.has("tensorrt");
    let (found, meaning) = match (ready, cfg!(feature = "gpu")) {
        (true, true) => ("tensorrt", "with `backend: Auto`, TensorRT executes on the GPU"),
        (true, false) => (
            "cpu",
            "with `backend: Auto`, the cpu backend will be used: this jetlag was built without the feature gpu",
        ),
        (false, _) => (
            "cpu",
            "with `backend: Auto`, the cpu backend will be used: it takes a GPU, CUDA and TensorRT to execute on the GPU",
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
