//! The phases of a run, in order: each tenant alone, pairs, steps of a duty cycle, and all together, which is the
//! measurement and comes once. Traced phases come last: what a tracer costs stays until the process ends.
//!
//! What a phase prescribes is told once, in its record; frames refer to it. The way of sharing reaches the tenants
//! through [`PhasePlan::sharing`], and nowhere else.

use crate::record::{Phase, PhaseSpec, SweptRate};
use crate::scenario::{Arrival, Matrix, Scenario, Sharing, Trace, TracedPhases};
use crate::tenant::PhasePlan;
use crate::units::{Nanos, Stamp};

/// One phase: who runs, and how.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RunPhase {
    pub(super) phase: Phase,
    /// The phase whose random numbers it draws.
    drawn_as: Phase,
    label: String,
    sharing: Sharing,
    /// Positions of its tenants, ascending.
    pub(super) members: Vec<usize>,
    /// A tenant whose arrivals are not its own, and what they are.
    rate: Option<(usize, Arrival)>,
    /// Measured time.
    duration: Nanos,
    /// Whether the GPU is traced meanwhile.
    pub(super) traced: bool,
}

impl RunPhase {
    /// What the run file says of the phase, which begins at `at`.
    pub(super) fn spec(&self, at: Stamp) -> PhaseSpec {
        PhaseSpec {
            at,
            phase: self.phase,
            label: self.label.clone(),
            sharing: format!("{:?}", self.sharing),
            members: self.members.iter().map(|&member| member as u16).collect(),
            rate: self.rate.map(|(tenant, arrival)| SweptRate {
                tenant: tenant as u16,
                hz: match arrival {
                    Arrival::Periodic { hz, .. } | Arrival::Poisson { hz } | Arrival::Sampled { hz, .. } => {
                        Some(hz)
                    }
                    Arrival::Closed | Arrival::Replay { .. } | Arrival::Live => None,
                },
            }),
            traced: self.traced,
        }
    }

    /// What it prescribes to its tenants, from a common start.
    pub(super) fn plan(&self, scenario: &Scenario, epoch: Stamp) -> PhasePlan {
        let measured_from = epoch + scenario.warmup;
        PhasePlan {
            phase: self.phase,
            drawn_as: self.drawn_as,
            traced: self.traced,
            sharing: self.sharing,
            epoch,
            measured_from,
            end: measured_from + self.duration,
        }
    }

    /// The arrivals of a tenant in it.
    pub(super) fn arrival(&self, scenario: &Scenario, tenant: usize) -> Arrival {
        match self.rate {
            Some((swept, arrival)) if swept == tenant => arrival,
            _ => scenario.tenants[tenant].arrival,
        }
    }
}

/// All phases of a run.
pub(super) fn phases(scenario: &Scenario) -> Vec<RunPhase> {
    let own = scenario.sharing;
    let mut planned = Planner {
        scenario,
        next: 0,
        phases: Vec::new(),
    };
    match &scenario.matrix {
        Some(matrix) => planned.matrix(matrix),
        None if scenario.baseline.alone => planned.alone(own),
        None => {}
    }
    planned.duty_cycle();
    if !planned.phases.iter().any(|phase| phase.phase == Phase::Together) {
        planned.all(own);
    }
    if let Some(trace) = &scenario.trace {
        planned.traced(trace);
    }
    planned.phases
}

/// How long all of them last, warm-ups and all.
pub(super) fn length(scenario: &Scenario, phases: &[RunPhase]) -> Nanos {
    phases.iter().fold(Nanos::ZERO, |total, phase| {
        total + scenario.warmup + phase.duration
    })
}

/// `12 phases of 6 s: 72 s`; nothing of a run that only measures, or has its baseline besides.
pub(super) fn announcement(scenario: &Scenario, phases: &[RunPhase]) -> Option<String> {
    if scenario.matrix.is_none() && scenario.duty_cycle.is_none() {
        return None;
    }
    let (traced, plain): (Vec<&RunPhase>, Vec<&RunPhase>) = phases.iter().partition(|phase| phase.traced);
    let each = scenario.warmup + scenario.duration;
    let total = length(scenario, phases);
    let seconds = |time: Nanos| format!("{} s", (time.as_secs_f64() * 10.0).round() / 10.0);
    let longest = match scenario.clock {
        crate::scenario::ClockKind::Real => "",
        crate::scenario::ClockKind::Virtual => " of simulated time",
    };
    let and_traced = match traced.first() {
        Some(first) => format!(
            " and {} traced of {}",
            traced.len(),
            seconds(scenario.warmup + first.duration)
        ),
        None => String::new(),
    };
    Some(format!(
        "{} phases of {}{and_traced}: {}{longest}",
        plain.len(),
        seconds(each),
        seconds(total)
    ))
}

struct Planner<'a> {
    scenario: &'a Scenario,
    /// Number of the next phase that has one.
    next: u16,
    phases: Vec<RunPhase>,
}

impl Planner<'_> {
    fn matrix(&mut self, matrix: &Matrix) {
        // The measurement comes last of the scenario's own way of sharing, beside what it is compared with.
        for &sharing in &matrix.sharing {
            self.alone(sharing);
            for pair in self.pairs(matrix) {
                if pair.len() < self.scenario.tenants.len() {
                    let phase = self.number();
                    self.add(phase, sharing, pair.clone(), self.names(&pair), None);
                }
            }
            self.all(sharing);
        }
    }

    fn alone(&mut self, sharing: Sharing) {
        for tenant in 0..self.scenario.tenants.len() {
            let phase = self.named(Phase::Alone, sharing);
            let label = format!("{} alone", self.scenario.tenants[tenant].name);
            self.add(phase, sharing, vec![tenant], label, None);
        }
    }

    fn all(&mut self, sharing: Sharing) {
        let phase = self.named(Phase::Together, sharing);
        let everyone: Vec<usize> = (0..self.scenario.tenants.len()).collect();
        let label = self.names(&everyone);
        self.add(phase, sharing, everyone, label, None);
    }

    /// A step whose arrivals are the tenant's own is the measurement.
    fn duty_cycle(&mut self) {
        let Some(rates) = &self.scenario.duty_cycle else {
            return;
        };
        let tenants = &self.scenario.tenants;
        let Some(swept) = tenants.iter().position(|tenant| tenant.name == rates.tenant) else {
            return;
        };
        let everyone: Vec<usize> = (0..tenants.len()).collect();
        for arrival in rates.arrivals() {
            let measured = self.phases.iter().any(|phase| phase.phase == Phase::Together);
            let phase = if arrival == tenants[swept].arrival && !measured {
                Phase::Together
            } else {
                self.number()
            };
            let label = match arrival {
                Arrival::Periodic { hz, .. } => format!("{} at {hz} Hz", rates.tenant),
                _ => format!("{} in a closed loop", rates.tenant),
            };
            let sharing = self.scenario.sharing;
            self.add(phase, sharing, everyone.clone(), label, Some((swept, arrival)));
        }
    }

    /// A traced phase for the measurement, or for each: the same tenants, sharing and rates.
    fn traced(&mut self, trace: &Trace) {
        let all = trace.phases == TracedPhases::All;
        let copied = self
            .phases
            .iter()
            .filter(|phase| all || phase.phase == Phase::Together);
        for mut copy in copied.cloned().collect::<Vec<_>>() {
            copy.phase = self.number();
            copy.label = format!("{}, traced", copy.label);
            copy.duration = trace.duration;
            copy.traced = true;
            self.phases.push(copy);
        }
    }

    /// Every two tenants, except two inputs of one detector, and two stressors: what they do to each other is no detector's affair.
    fn pairs(&self, matrix: &Matrix) -> Vec<Vec<usize>> {
        let tenants = &self.scenario.tenants;
        let group = |tenant: usize| {
            let name = &tenants[tenant].name;
            matrix.inputs.iter().position(|group| group.contains(name))
        };
        let count = tenants.len();
        let every = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
        every
            .filter(|&(a, b)| group(a).is_none() || group(a) != group(b))
            .filter(|&(a, b)| tenants[a].stress().is_none() || tenants[b].stress().is_none())
            .map(|(a, b)| vec![a, b])
            .collect()
    }

    /// The phase's own name where the sharing is the scenario's, else the next number.
    fn named(&mut self, phase: Phase, sharing: Sharing) -> Phase {
        if sharing == self.scenario.sharing {
            phase
        } else {
            self.number()
        }
    }

    fn number(&mut self) -> Phase {
        self.next += 1;
        Phase::Other(self.next)
    }

    fn names(&self, members: &[usize]) -> String {
        let names: Vec<&str> = members
            .iter()
            .map(|&member| self.scenario.tenants[member].name.as_str())
            .collect();
        names.join(" + ")
    }

    fn add(
        &mut self,
        phase: Phase,
        sharing: Sharing,
        members: Vec<usize>,
        label: String,
        rate: Option<(usize, Arrival)>,
    ) {
        self.phases.push(RunPhase {
            phase,
            drawn_as: phase,
            label,
            sharing,
            members,
            rate,
            duration: self.scenario.duration,
            traced: false,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::scenario::{ResolveEnv, from_str};

    fn scenario(tenants: &[&str], fields: &str) -> Scenario {
        let tenants: Vec<String> = tenants
            .iter()
            .map(|name| {
                format!("Tenant(name: \"{name}\", backend: Sim(Fixed(\"5ms\")), arrival: Periodic(hz: 30))")
            })
            .collect();
        let text = format!(
            "Scenario(clock: Virtual, duration: \"5s\", warmup: \"1s\", {fields} tenants: [{}])",
            tenants.join(", ")
        );
        from_str(&text, "made", Path::new("."), &[], &ResolveEnv::default()).unwrap()
    }

    fn shown(scenario: &Scenario) -> Vec<(Phase, String)> {
        phases(scenario)
            .into_iter()
            .map(|phase| (phase.phase, phase.label))
            .collect()
    }

    fn labels(scenario: &Scenario) -> Vec<String> {
        shown(scenario).into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn a_plain_run_is_the_measurement_alone_and_with_a_baseline_each_tenant_before_it() {
        let plain = scenario(&["a", "b"], "");
        assert_eq!(shown(&plain), [(Phase::Together, "a + b".to_owned())]);
        assert_eq!(announcement(&plain, &phases(&plain)), None);
        let baseline = scenario(&["a", "b"], "baseline: (alone: true),");
        assert_eq!(labels(&baseline), ["a alone", "b alone", "a + b"]);
    }

    #[test]
    fn a_matrix_is_each_alone_every_pair_and_all_and_of_two_tenants_the_pair_is_all() {
        let three = scenario(&["a", "b", "c"], "matrix: (),");
        assert_eq!(
            labels(&three),
            [
                "a alone",
                "b alone",
                "c alone",
                "a + b",
                "a + c",
                "b + c",
                "a + b + c"
            ]
        );
        assert_eq!(phases(&three).last().unwrap().phase, Phase::Together);
        assert_eq!(
            announcement(&three, &phases(&three)).unwrap(),
            "7 phases of 6 s: 42 s of simulated time"
        );
        assert_eq!(
            labels(&scenario(&["a", "b"], "matrix: (),")),
            ["a alone", "b alone", "a + b"]
        );
    }

    #[test]
    fn another_way_of_sharing_has_its_own_baseline_and_the_measurement_stays_one() {
        let mut both = scenario(&["a", "b"], "matrix: (),");
        both.matrix = Some(Matrix::of(vec![Sharing::Streams, Sharing::Exclusive]));
        let found: Vec<(Phase, Sharing)> = phases(&both).iter().map(|p| (p.phase, p.sharing)).collect();
        let exclusive = |number| (Phase::Other(number), Sharing::Exclusive);
        assert_eq!(
            found,
            [
                (Phase::Alone, Sharing::Streams),
                (Phase::Alone, Sharing::Streams),
                (Phase::Together, Sharing::Streams),
                exclusive(1),
                exclusive(2),
                exclusive(3),
            ]
        );
        let plan = phases(&both)[5].plan(&both, Stamp(0));
        assert_eq!((plan.sharing, plan.phase), (Sharing::Exclusive, Phase::Other(3)));
    }

    #[test]
    fn traced_phases_come_last_and_are_those_before_them_again() {
        let mut traced = scenario(&["a", "b"], "baseline: (alone: true),");
        traced.trace = Some(Trace::default());
        assert_eq!(labels(&traced), ["a alone", "b alone", "a + b", "a + b, traced"]);
        let last = phases(&traced).pop().unwrap();
        assert_eq!((last.phase, last.traced), (Phase::Other(1), true));
        assert!(last.spec(Stamp(0)).traced);
        let plan = last.plan(&traced, Stamp(0));
        assert_eq!(plan.end - plan.measured_from, Nanos::from_secs(2));
        traced.trace = Some(Trace {
            phases: TracedPhases::All,
            ..Trace::default()
        });
        let of_all: Vec<String> = labels(&traced).split_off(3);
        assert_eq!(of_all, ["a alone, traced", "b alone, traced", "a + b, traced"]);
    }

    #[test]
    fn inputs_of_one_detector_make_no_pairs_among_themselves() {
        let fields = "matrix: (inputs: [[\"a1\", \"a2\"], [\"b1\", \"b2\"]]),";
        let crossed = scenario(&["a1", "a2", "b1", "b2"], fields);
        let pairs: Vec<String> = labels(&crossed)
            .into_iter()
            .filter(|l| l.matches('+').count() == 1)
            .collect();
        assert_eq!(pairs, ["a1 + b1", "a1 + b2", "a2 + b1", "a2 + b2"]);
    }

    #[test]
    fn a_step_at_the_tenants_own_rate_is_the_measurement() {
        let swept = scenario(
            &["a", "b"],
            "duty_cycle: (tenant: \"a\", hz: [1, 30], closed: true),",
        );
        assert_eq!(
            shown(&swept),
            [
                (Phase::Other(1), "a at 1 Hz".to_owned()),
                (Phase::Together, "a at 30 Hz".to_owned()),
                (Phase::Other(2), "a in a closed loop".to_owned()),
            ]
        );
        let steps = phases(&swept);
        assert_eq!(steps[2].arrival(&swept, 0), Arrival::Closed);
        assert_eq!(steps[2].arrival(&swept, 1), swept.tenants[1].arrival);
        let other = scenario(&["a"], "duty_cycle: (tenant: \"a\", hz: [7]),");
        assert_eq!(labels(&other), ["a at 7 Hz", "a"]);
    }
}
