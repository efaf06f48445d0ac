//! Decides whether two runs can be compared, and lists what differs between them besides the measured figures.

use super::{RunSample, Side};
use crate::analysis::gathering::recorded::Recorded;
use crate::analysis::topics::latency::tenant::arrival_in_words;
use crate::record::Manifest;
use crate::scenario::{Arrival, ClockKind, Scenario, Tenant};

/// The label of the side that all others are compared with.
const BASELINE: &str = "A";

/// Why runs cannot be compared at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Incomparable {
    /// One run in simulated time, the other in real time.
    #[error(
        "{virtual_run} ran under the virtual clock and {real_run} under the real one: simulated latencies say \
         nothing about a machine; compare runs under the same clock"
    )]
    Clocks {
        /// Which one was simulated.
        virtual_run: String,
        /// Which one was not.
        real_run: String,
    },
    /// The runs have no tenant name in common.
    #[error(
        "{a} and {b} have no tenant in common ({a_tenants}; {b_tenants}): tenants are compared by name; give them the same names"
    )]
    NoTenant {
        /// Name of the first run.
        a: String,
        /// Name of the second run.
        b: String,
        /// Names of the first run's tenants, separated by commas.
        a_tenants: String,
        /// Names of the second run's tenants, separated by commas.
        b_tenants: String,
    },
    /// The runs have tenants in common, but none does the same in both.
    #[error("nothing in {a} can be compared with {b}: {reasons}")]
    Nothing {
        /// Name of the first run.
        a: String,
        /// Name of the second run.
        b: String,
        /// One for each tenant.
        reasons: String,
    },
}

/// Checks what applies to the runs as a whole.
pub(super) fn clocks_and_tenants(
    (a_name, a): (&str, &RunSample),
    (b_name, b): (&str, &RunSample),
) -> Result<(), Incomparable> {
    if a.plan.clock != b.plan.clock {
        let (virtual_run, real_run) = match a.plan.clock {
            ClockKind::Virtual => (a_name, b_name),
            ClockKind::Real => (b_name, a_name),
        };
        return Err(Incomparable::Clocks {
            virtual_run: virtual_run.to_owned(),
            real_run: real_run.to_owned(),
        });
    }
    if a.plan
        .tenants
        .iter()
        .any(|known| tenant(&b.plan, &known.name).is_some())
    {
        return Ok(());
    }
    Err(Incomparable::NoTenant {
        a: a_name.to_owned(),
        b: b_name.to_owned(),
        a_tenants: listed(a),
        b_tenants: listed(b),
    })
}

fn listed(run: &RunSample) -> String {
    let names: Vec<&str> = run
        .plan
        .tenants
        .iter()
        .map(|tenant| tenant.name.as_str())
        .collect();
    match (&names[..], Recorded::of(&run.manifest)) {
        ([], Recorded::Program) => "none, since `jetlag trace` saw no process that it could trace".to_owned(),
        ([], _) => "none in what `jetlag monitor` recorded".to_owned(),
        (names, _) => names.join(", "),
    }
}

/// Why a tenant of this name is not the same in both runs; `None` if it is.
pub(super) fn difference_of_kind(
    name: &str,
    a: &RunSample,
    (label, b): (&str, &RunSample),
) -> Option<String> {
    let (Some(in_a), Some(in_b)) = (tenant(&a.plan, name), tenant(&b.plan, name)) else {
        let (has, lacks) = if tenant(&a.plan, name).is_some() {
            (BASELINE, label)
        } else {
            (label, BASELINE)
        };
        return Some(format!("it is in {has} but not in {lacks}"));
    };
    let detector = |manifest: &Manifest| {
        let tenants = manifest.tenants.iter();
        tenants
            .filter(|tenant| tenant.name == name)
            .find_map(|tenant| tenant.detector.clone())
    };
    let (of_a, of_b) = (detector(&a.manifest), detector(&b.manifest));
    if of_a != of_b {
        let shown =
            |detector: Option<String>| detector.map_or("no detector".to_owned(), |name| format!("`{name}`"));
        return Some(format!(
            "different detectors: {} in {BASELINE}, {} in {label}",
            shown(of_a),
            shown(of_b)
        ));
    }
    let closed = |tenant: &Tenant| matches!(tenant.arrival, Arrival::Closed);
    if closed(in_a) != closed(in_b) {
        let (which, other) = if closed(in_a) {
            (BASELINE, label)
        } else {
            (label, BASELINE)
        };
        return Some(format!(
            "closed loop in {which}, which cannot show queueing, and paced in {other}"
        ));
    }
    None
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

fn tenant<'a>(plan: &'a Scenario, name: &str) -> Option<&'a Tenant> {
    plan.tenants.iter().find(|tenant| tenant.name == name)
}

/// Differences between the baseline and the side with this label besides the figures, and limits of the comparison; a sentence each.
pub(super) fn notes(side_a: &Side, side_b: &Side, label: &str) -> Vec<String> {
    let mut notes = Vec::new();
    let (a, b) = (&side_a.runs[..], &side_b.runs[..]);
    let (Some(first_a), Some(first_b)) = (a.first(), b.first()) else {
        return notes;
    };
    let (in_a, in_b) = (&first_a.manifest, &first_b.manifest);
    let differing = |what: &str, of_a: String, of_b: String| {
        (of_a != of_b).then(|| format!("{what}: {of_a} in {BASELINE}, {of_b} in {label}"))
    };
    notes.extend(differing(
        "jetlag",
        in_a.jetlag_version.clone(),
        in_b.jetlag_version.clone(),
    ));
    for (fact, value) in &in_a.machine {
        let other = in_b
            .machine
            .get(fact)
            .cloned()
            .unwrap_or_else(|| "unknown".to_owned());
        notes.extend(differing(fact, value.clone(), other));
    }
    let (of_a, of_b) = (&first_a.plan, &first_b.plan);
    notes.extend(differing(
        "sharing",
        format!("{:?}", of_a.sharing),
        format!("{:?}", of_b.sharing),
    ));
    notes.extend(differing(
        "release",
        format!("{:?}", of_a.release),
        format!("{:?}", of_b.release),
    ));
    notes.extend(differing(
        "tenants",
        of_a.tenants.len().to_string(),
        of_b.tenants.len().to_string(),
    ));
    for tenant_a in &of_a.tenants {
        let Some(tenant_b) = tenant(of_b, &tenant_a.name) else {
            continue;
        };
        let name = &tenant_a.name;
        let deadline = |tenant: &Tenant| {
            tenant
                .deadline
                .map_or("none".to_owned(), |deadline| deadline.to_string())
        };
        notes.extend(differing(
            &format!("{name}'s backend"),
            backend(in_a, name),
            backend(in_b, name),
        ));
        notes.extend(differing(
            &format!("{name}'s arrival"),
            arrival(tenant_a),
            arrival(tenant_b),
        ));
        notes.extend(differing(
            &format!("{name}'s deadline"),
            deadline(tenant_a),
            deadline(tenant_b),
        ));
        if networks(in_a, name) != networks(in_b, name) {
            notes.push(format!(
                "{name}'s networks are different files in {BASELINE} and {label}"
            ));
        }
        if tenant_a.source != tenant_b.source {
            notes.push(format!(
                "{name}'s sources are different in {BASELINE} and {label}"
            ));
        }
    }
    for (label, side) in [(BASELINE, a), (label, b)] {
        for (tenant, kept) in side.iter().flat_map(RunSample::thinned) {
            notes.push(format!(
                "{label} is a long run: the comparison of {tenant} uses {kept} of its frames, in contiguous \
                 stretches spread over the run"
            ));
        }
        let mut codes: Vec<String> = side
            .iter()
            .flat_map(|run| &run.summary.run.findings)
            .map(|finding| finding.code.clone())
            .collect();
        codes.sort();
        codes.dedup();
        if !codes.is_empty() {
            notes.push(format!("{label} is limited by findings: {}", codes.join(", ")));
        }
    }
    for (label, side) in [(BASELINE, side_a), (label, side_b)] {
        notes.extend(repeated(side, label));
        notes.extend(seeds_drawn_twice(side, label));
    }
    let shared = b
        .iter()
        .filter(|run| a.iter().any(|known| known.has_frames_of(run)));
    let shared = shared.count();
    if shared > 0 {
        let which = match shared == b.len() {
            true => format!("all runs of {label}"),
            false => format!("{shared} of {} runs of {label}", b.len()),
        };
        notes.push(format!(
            "{which} have the same frames as a run of {BASELINE}, to the nanosecond: they cannot differ from it"
        ));
    }
    let simulated = of_a.clock == ClockKind::Virtual;
    if simulated && a.len() == 1 && b.len() == 1 && of_a.seed == of_b.seed {
        notes.push(format!(
            "simulated with the same seed: {BASELINE} and {label} drew the same latencies"
        ));
    }
    if !simulated && a.len() == 1 && b.len() == 1 {
        let measured = match Recorded::of(in_b) {
            Recorded::Program => "several runs of each, joined with commas, do",
            Recorded::Scenario | Recorded::Machine => "`--ab` measures it",
        };
        notes.push(format!(
            "one run per side: the intervals do not include the variation between runs; {measured}"
        ));
    }
    notes
}

/// Runs that count once.
fn repeated(side: &Side, label: &str) -> Option<String> {
    let (file, earlier) = side.repeated.first()?;
    let more = match side.repeated.len() {
        1 => String::new(),
        several => format!(", and {} more likewise", several - 1),
    };
    let seed = match side.runs.first().map(|run| run.plan.clock) {
        Some(ClockKind::Virtual) => " (simulated runs need seeds of their own: `--set seed=…`, or `--ab`)",
        _ => "",
    };
    Some(format!(
        "{label}: {file} has the same frames as {earlier}, to the nanosecond{more}; they count once, so {label} has {}{seed}",
        match side.runs.len() {
            1 => "1 run".to_owned(),
            runs => format!("{runs} runs"),
        }
    ))
}

/// Simulated runs that drew from the same seed and differ all the same, as scenarios that were changed.
fn seeds_drawn_twice(side: &Side, label: &str) -> Option<String> {
    let is_simulated = |run: &&RunSample| run.plan.clock == ClockKind::Virtual;
    let mut seeds: Vec<u64> = side
        .runs
        .iter()
        .filter(is_simulated)
        .map(|run| run.plan.seed)
        .collect();
    let runs = seeds.len();
    seeds.sort_unstable();
    seeds.dedup();
    (seeds.len() < runs).then(|| {
        format!(
            "{label}: {runs} simulated runs have {} between them: runs of one seed draw the same numbers, and vary less than runs do",
            match seeds.len() {
                1 => "1 seed".to_owned(),
                several => format!("{several} seeds"),
            }
        )
    })
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
