//! What a run file is a recording of, which decides what advice fits: a scenario has fields to set, somebody's program has not.

use crate::record::{APPLICATION_BACKEND, Manifest, TRACED_FACT};

/// What a run file is a recording of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// A scenario, by `jetlag run`.
    Scenario,
    /// Somebody's program: by `jetlag trace`, or by itself with `jetlag::range`.
    Program,
    /// The sensors of a machine, by `jetlag monitor`.
    Machine,
}

impl Recorded {
    /// By the manifest. Files up to version 1.7 of the format have a scenario for every recording.
    pub fn of(manifest: &Manifest) -> Self {
        let tenants = &manifest.tenants;
        let is_marked =
            !tenants.is_empty() && tenants.iter().all(|tenant| tenant.backend == APPLICATION_BACKEND);
        let planned = manifest.scenario().map(|scenario| scenario.tenants.len());
        match planned {
            _ if is_marked || manifest.machine.contains_key(TRACED_FACT) => Recorded::Program,
            Some(0) | None => Recorded::Machine,
            Some(_) => Recorded::Scenario,
        }
    }

    /// What to say where no work on a GPU was traced: `the run was not traced`, as the beginning of a sentence …
    pub fn untraced(self) -> &'static str {
        match self {
            Recorded::Scenario => "no phase was traced",
            Recorded::Program => "no work on a GPU was traced",
            Recorded::Machine => "this is a recording of sensors",
        }
    }

    /// … and how to have it traced, as a sentence.
    pub fn to_trace(self) -> &'static str {
        match self {
            Recorded::Scenario => "`jetlag run SCENARIO --trace` traces one.",
            Recorded::Program => {
                "`jetlag trace` traces it where the program uses CUDA, `--no-gpu` is left out, and `jetlag doctor` says that \
                 tracing is allowed."
            }
            Recorded::Machine => {
                "`jetlag run SCENARIO --trace` and `jetlag trace -- COMMAND` trace programs."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::topics::traces::kernels::tests::made::Made;
    use crate::record::Subject;

    #[test]
    fn a_recording_is_of_a_scenario_a_program_or_a_machine() {
        let of = |change: &dyn Fn(&mut Manifest)| {
            let mut manifest = Made::new(&["camera"], 1_000).manifest;
            change(&mut manifest);
            Recorded::of(&manifest)
        };
        let named = |manifest: &mut Manifest| manifest.subject = Subject::Name("app".to_owned());
        assert_eq!(of(&|_| {}), Recorded::Scenario);
        assert_eq!(
            of(&|m| m.tenants[0].backend = APPLICATION_BACKEND.to_owned()),
            Recorded::Program,
            "an old file of an application"
        );
        assert_eq!(
            of(&|m| {
                named(m);
                m.tenants[0].backend = APPLICATION_BACKEND.to_owned();
            }),
            Recorded::Program
        );
        assert_eq!(
            of(&|m| {
                named(m);
                m.tenants.clear();
            }),
            Recorded::Machine
        );
        assert_eq!(
            of(&|m| {
                named(m);
                m.tenants.clear();
                m.machine.insert(TRACED_FACT.to_owned(), "nothing".to_owned());
            }),
            Recorded::Program
        );
    }
}
