//! The backend of a tenant as meant: what `Auto` comes to, and the fields that only one backend has.

use super::super::BackendChoice;
use super::super::file::BackendFile;
use super::super::rules::require;
use super::One;
use crate::written::{Place, ProblemKind, Read, Reader, Spot};

impl One<'_> {
    pub(super) fn backend(&self, r: &mut Reader) -> (BackendChoice, Option<String>) {
        let Some(Spot { value, .. }) = self.typed.backend.given() else {
            return self.auto();
        };
        match value {
            BackendFile::Auto => self.auto(),
            BackendFile::Null => (BackendChoice::Null, None),
            BackendFile::Stress(load) => (BackendChoice::Stress(*load), None),
            BackendFile::Sim(model) => (BackendChoice::Sim(model.clone()), None),
            BackendFile::Cpu { threads, profile } => {
                self.threads(threads, r);
                let backend = BackendChoice::Cpu {
                    threads: threads.or(1),
                    profile: profile.or(false),
                };
                (backend, None)
            }
            BackendFile::TensorRt {
                build,
                plans,
                profile,
            } => (self.tensorrt(build, plans, profile.or(false), r), None),
            BackendFile::OnnxRuntime {
                provider,
                threads,
                profile,
            } => {
                self.threads(threads, r);
                let backend = BackendChoice::OnnxRuntime {
                    provider: provider.or_default(),
                    threads: threads.or(1),
                    profile: profile.or(false),
                };
                (backend, None)
            }
        }
    }

    /// What a stressor cannot have.
    pub(super) fn stressor(&self, r: &mut Reader) {
        let typed = self.typed;
        let given = [
            ("detector", typed.detector.given().map(|spot| &spot.place)),
            ("network", typed.network.given().map(|spot| &spot.place)),
            ("source", typed.source.given().map(|spot| &spot.place)),
            ("arrival", typed.arrival.given().map(|spot| &spot.place)),
        ];
        let given = given
            .into_iter()
            .filter_map(|(field, place)| Some((field, place?)));
        contradictions(given, self.label, r);
    }

    fn threads(&self, threads: &Read<usize>, r: &mut Reader) {
        if let Some(spot) = threads.given() {
            let cpus = self.context.env.cpus.len().max(1);
            let wanted = format!("from 1 to {cpus}, the processors that this process may use");
            let ok = (1..=cpus).contains(&spot.value);
            require(r, spot, ok, self.of("threads"), &wanted);
        }
    }

    fn tensorrt(
        &self,
        build: &Read<String>,
        plans: &Read<Vec<Spot<String>>>,
        profile: bool,
        r: &mut Reader,
    ) -> BackendChoice {
        if let (Some(network), Some(_)) = (self.typed.network.given(), plans.given()) {
            let why = "`plans` are loaded as they are, so no network would be read";
            let advice = "leave one of the two out: a network's plan is built by TensorRt(build: \"…\")";
            self.contradiction(r, &network.place, "network", why, advice);
        }
        if let (Some(build), Some(_)) = (build.given(), plans.given()) {
            let why = "`plans` are loaded as they are, but `build` is for building them";
            self.contradiction(r, &build.place, "backend", why, "set only one of them");
        }
        let list = plans.given().map_or(&[][..], |list| &list.value);
        let is_file = std::path::Path::is_file;
        let find =
            |plan: &Spot<String>| self.find(&plan.value, &plan.place, "plans", "plan file", is_file, r);
        BackendChoice::TensorRt {
            plans: list.iter().filter_map(find).collect(),
            build: build
                .given()
                .map(|spot| spot.value.split_whitespace().map(str::to_owned).collect())
                .unwrap_or_default(),
            profile,
        }
    }

    /// What `Auto` comes to here, and why.
    fn auto(&self) -> (BackendChoice, Option<String>) {
        let cpu = BackendChoice::Cpu {
            threads: 1,
            profile: false,
        };
        let env = self.context.env;
        let (backend, why) = match (&env.gpu, &env.tensorrt) {
            (None, _) => {
                let why = env.no_gpu.unwrap_or("no GPU was found");
                (cpu, format!("{why}, so the embedded cpu backend runs it"))
            }
            (Some(gpu), None) => (
                cpu,
                format!("{gpu} was found but not TensorRT, so the embedded cpu backend runs it"),
            ),
            (Some(gpu), Some(version)) => (
                BackendChoice::TensorRt {
                    build: Vec::new(),
                    plans: Vec::new(),
                    profile: false,
                },
                format!("{gpu} and TensorRT {version} were found"),
            ),
        };
        (backend, Some(why))
    }
}

/// Fields of a tenant that a stressor has no use for, or whose value follows from its level.
fn contradictions<'a>(given: impl Iterator<Item = (&'static str, &'a Place)>, label: &str, r: &mut Reader) {
    for (field, place) in given {
        let (why, advice) = match field {
            "arrival" => (
                "a stressor's `level` and `burst` define when its bursts are due",
                "leave `arrival` out, or change `level` or `burst`",
            ),
            _ => (
                "a stressor generates its own load and processes no frames",
                "leave it out, or choose a backend that runs detectors",
            ),
        };
        let kind = ProblemKind::Contradiction {
            what: format!("`{field}` of {label}"),
            why: why.to_owned(),
            advice: advice.to_owned(),
        };
        r.report(place, kind);
    }
}
