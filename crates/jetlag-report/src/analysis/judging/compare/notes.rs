//! What a comparison says besides its figures: what else differs between two sides, and what limits the conclusions.

use std::fmt;

use serde::{Serialize, Serializer};

use super::matching::{BASELINE, tenant};
use super::{RunSample, Side};
use crate::analysis::gathering::recorded::Recorded;
use crate::analysis::topics::latency::tenant::arrival_in_words;
use crate::record::Manifest;
use crate::scenario::{Arrival, ClockKind, Tenant};

/// A difference besides the figures, or a limit of a comparison. Sides are called by their letters; JSON has the sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// A fact of a run or of a tenant is another.
    Differs {
        /// Of what: `camera's deadline`.
        what: String,
        /// In the baseline and in the other side.
        values: [String; 2],
        /// The other side.
        label: String,
    },
    /// A tenant's networks are other files.
    Networks {
        /// The tenant.
        tenant: String,
        /// The other side.
        label: String,
    },
    /// A tenant's source is another.
    Sources {
        /// The tenant.
        tenant: String,
        /// The other side.
        label: String,
    },
    /// A run is so long that not all of its frames are compared.
    Thinned {
        /// Whose run.
        label: String,
        /// Of which tenant.
        tenant: String,
        /// How many are.
        frames: usize,
    },
    /// Findings limit a side's figures.
    Limited {
        /// The side.
        label: String,
        /// Their codes.
        codes: Vec<String>,
    },
    /// Runs of a side are copies, which count once.
    Repeated {
        /// The side.
        label: String,
        /// A copy, and what it is a copy of.
        files: [String; 2],
        /// Further copies.
        more: usize,
        /// Runs that are left.
        runs: usize,
        /// Whether they were simulated.
        is_simulated: bool,
    },
    /// Simulated runs of a side drew from the same seed and differ all the same, as scenarios that were changed.
    SharedSeeds {
        /// The side.
        label: String,
        /// How many simulated runs it has.
        runs: usize,
        /// How many seeds.
        seeds: usize,
    },
    /// Runs of the other side have the frames of a run of the baseline.
    SameFrames {
        /// The other side.
        label: String,
        /// How many of its runs.
        shared: usize,
        /// Of so many.
        runs: usize,
    },
    /// One simulated run a side, of one seed.
    SameSeed {
        /// The other side.
        label: String,
    },
    /// One real run a side: nothing tells how runs vary.
    OneRun {
        /// What recorded it.
        recorded: Recorded,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Differs {
                what,
                values: [a, b],
                label,
            } => write!(f, "{what}: {a} in {BASELINE}, {b} in {label}"),
            Note::Networks { tenant, label } => {
                write!(
                    f,
                    "{tenant}'s networks are different files in {BASELINE} and {label}"
                )
            }
            Note::Sources { tenant, label } => {
                write!(f, "{tenant}'s sources are different in {BASELINE} and {label}")
            }
            Note::Thinned {
                label,
                tenant,
                frames,
            } => write!(
                f,
                "{label} is a long run: the comparison of {tenant} uses {frames} of its frames, in contiguous stretches \
                 spread over the run"
            ),
            Note::Limited { label, codes } => {
                write!(f, "{label} is limited by findings: {}", codes.join(", "))
            }
            Note::Repeated {
                label,
                files: [file, earlier],
                more,
                runs,
                is_simulated,
            } => {
                write!(
                    f,
                    "{label}: {file} has the same frames as {earlier}, to the nanosecond"
                )?;
                if *more > 0 {
                    write!(f, ", and {more} more likewise")?;
                }
                write!(f, "; they count once, so {label} has {}", counted(*runs, "run"))?;
                match is_simulated {
                    true => {
                        f.write_str(" (simulated runs need seeds of their own: `--set seed=…`, or `--ab`)")
                    }
                    false => Ok(()),
                }
            }
            Note::SharedSeeds { label, runs, seeds } => write!(
                f,
                "{label}: {runs} simulated runs have {} between them: runs of one seed draw the same numbers, and vary less than \
                 runs do",
                counted(*seeds, "seed")
            ),
            Note::SameFrames { label, shared, runs } => {
                match shared == runs {
                    true => write!(f, "all runs of {label}")?,
                    false => write!(f, "{shared} of {runs} runs of {label}")?,
                }
                write!(
                    f,
                    " have the same frames as a run of {BASELINE}, to the nanosecond: they cannot differ from it"
                )
            }
            Note::SameSeed { label } => {
                write!(
                    f,
                    "simulated with the same seed: {BASELINE} and {label} drew the same latencies"
                )
            }
            Note::OneRun { recorded } => {
                let measured = match recorded {
                    Recorded::Program => "several runs of each, joined with commas, do",
                    Recorded::Scenario | Recorded::Machine => "`--ab` measures it",
                };
                write!(
                    f,
                    "one run per side: the intervals do not include the variation between runs; {measured}"
                )
            }
        }
    }
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        several => format!("{several} {what}s"),
    }
}

impl Serialize for Note {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What is to be said of the baseline and the side with this label.
pub(super) fn notes(side_a: &Side, side_b: &Side, label: &str) -> Vec<Note> {
    let (a, b) = (&side_a.runs[..], &side_b.runs[..]);
    let (Some(first_a), Some(first_b)) = (a.first(), b.first()) else {
        return Vec::new();
    };
    let mut notes = facts(first_a, first_b, label);
    for (label, side) in [(BASELINE, a), (label, b)] {
        notes.extend(
            side.iter()
                .flat_map(RunSample::thinned)
                .map(|(tenant, frames)| Note::Thinned {
                    label: label.to_owned(),
                    tenant: tenant.to_owned(),
                    frames,
                }),
        );
        let findings = side.iter().flat_map(|run| &run.summary.run.findings);
        let mut codes: Vec<String> = findings.map(|finding| finding.code.clone()).collect();
        codes.sort();
        codes.dedup();
        if !codes.is_empty() {
            notes.push(Note::Limited {
                label: label.to_owned(),
                codes,
            });
        }
    }
    for (label, side) in [(BASELINE, side_a), (label, side_b)] {
        notes.extend(repeated(side, label));
        notes.extend(shared_seeds(side, label));
    }
    let shared = b
        .iter()
        .filter(|run| a.iter().any(|known| known.has_frames_of(run)));
    let (shared, label) = (shared.count(), label.to_owned());
    if shared > 0 {
        notes.push(Note::SameFrames {
            label: label.clone(),
            shared,
            runs: b.len(),
        });
    }
    let is_simulated = first_a.plan.clock == ClockKind::Virtual;
    let has_one_seed = first_a.plan.seed == first_b.plan.seed;
    match (a.len(), b.len()) {
        (1, 1) if is_simulated && has_one_seed => notes.push(Note::SameSeed { label }),
        (1, 1) if !is_simulated => notes.push(Note::OneRun {
            recorded: Recorded::of(&first_b.manifest),
        }),
        _ => {}
    }
    notes
}

/// What differs between two runs in what was run, and where.
fn facts(a: &RunSample, b: &RunSample, label: &str) -> Vec<Note> {
    let label = || label.to_owned();
    let differs = |what: &str, values: [String; 2]| {
        (values[0] != values[1]).then(|| Note::Differs {
            what: what.to_owned(),
            values,
            label: label(),
        })
    };
    let (manifests, plans) = ([&a.manifest, &b.manifest], [&a.plan, &b.plan]);
    let mut notes = Vec::new();
    notes.extend(differs(
        "jetlag",
        manifests.map(|manifest| manifest.jetlag_version.clone()),
    ));
    for (fact, value) in &a.manifest.machine {
        let other = b.manifest.machine.get(fact).map_or("unknown", String::as_str);
        notes.extend(differs(fact, [value.clone(), other.to_owned()]));
    }
    notes.extend(differs(
        "sharing",
        plans.map(|plan| format!("{:?}", plan.sharing)),
    ));
    notes.extend(differs(
        "release",
        plans.map(|plan| format!("{:?}", plan.release)),
    ));
    notes.extend(differs(
        "tenants",
        plans.map(|plan| plan.tenants.len().to_string()),
    ));
    for in_a in &a.plan.tenants {
        let name = &in_a.name;
        let Some(in_b) = tenant(&b.plan, name) else {
            continue;
        };
        let [one, other] = manifests.map(|manifest| networks(manifest, name));
        let deadline = |tenant: &Tenant| {
            tenant
                .deadline
                .map_or("none".to_owned(), |deadline| deadline.to_string())
        };
        let own = [
            ("backend", manifests.map(|manifest| backend(manifest, name))),
            ("arrival", [in_a, in_b].map(arrival)),
            ("deadline", [in_a, in_b].map(deadline)),
        ];
        notes.extend(
            own.into_iter()
                .filter_map(|(what, values)| differs(&format!("{name}'s {what}"), values)),
        );
        if one != other {
            notes.push(Note::Networks {
                tenant: name.clone(),
                label: label(),
            });
        }
        if in_a.source != in_b.source {
            notes.push(Note::Sources {
                tenant: name.clone(),
                label: label(),
            });
        }
    }
    notes
}

/// Runs that count once.
fn repeated(side: &Side, label: &str) -> Option<Note> {
    let (file, earlier) = side.repeated.first()?;
    let first = side.runs.first();
    Some(Note::Repeated {
        label: label.to_owned(),
        files: [file.clone(), earlier.clone()],
        more: side.repeated.len() - 1,
        runs: side.runs.len(),
        is_simulated: first.is_some_and(|run| run.plan.clock == ClockKind::Virtual),
    })
}

fn shared_seeds(side: &Side, label: &str) -> Option<Note> {
    let simulated = side
        .runs
        .iter()
        .filter(|run| run.plan.clock == ClockKind::Virtual);
    let mut seeds: Vec<u64> = simulated.map(|run| run.plan.seed).collect();
    let runs = seeds.len();
    seeds.sort_unstable();
    seeds.dedup();
    (seeds.len() < runs).then(|| Note::SharedSeeds {
        label: label.to_owned(),
        runs,
        seeds: seeds.len(),
    })
}

/// The arrivals of a tenant's frames, with all that may differ.
fn arrival(tenant: &Tenant) -> String {
    let words = arrival_in_words(&tenant.arrival);
    match tenant.arrival {
        Arrival::Periodic { phase, jitter, .. } => format!("{words}, phase {phase}, jitter {jitter}"),
        Arrival::Sampled { phase, .. } => format!("{words}, phase {phase}"),
        _ => words,
    }
}

fn backend(manifest: &Manifest, name: &str) -> String {
    let mut tenants = manifest.tenants.iter();
    let found = tenants.find(|tenant| tenant.name == name);
    found.map_or_else(String::new, |tenant| tenant.backend.clone())
}

fn networks<'a>(manifest: &'a Manifest, name: &str) -> Vec<&'a str> {
    let tenants = manifest.tenants.iter().filter(|tenant| tenant.name == name);
    let networks = tenants.flat_map(|tenant| &tenant.networks);
    networks.map(|network| network.blake3.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::BackendChoice;
    use crate::units::Nanos;

    #[test]
    fn arrivals_are_told_with_all_that_may_differ() {
        let said = |arrival_of: Arrival| {
            arrival(&Tenant {
                arrival: arrival_of,
                ..Tenant::of_backend("a", BackendChoice::Null)
            })
        };
        assert_eq!(said(Arrival::Closed), "closed loop");
        assert_eq!(said(Arrival::Poisson { hz: 20.0 }), "poisson 20 Hz");
        let periodic = Arrival::Periodic {
            hz: 30.0,
            phase: Nanos::from_millis(5),
            jitter: Nanos::from_millis(2),
        };
        assert_eq!(said(periodic), "periodic 30 Hz, phase 5.00 ms, jitter 2.00 ms");
    }
}
