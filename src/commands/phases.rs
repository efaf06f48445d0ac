//! The phases of a run, in order: rounds of turns (each tenant alone, pairs, and all together), steps of a duty cycle, and all
//! together in one piece, which is the measurement. Slowdowns come from the turns, everything else from the measurement. Traced
//! phases come last: what a tracer costs stays until the process ends.
//!
//! What a phase prescribes is told once, in its record; frames refer to it. The way of sharing reaches the tenants
//! through [`PhasePlan::sharing`], and nowhere else.

mod turns;

use crate::record::{Phase, PhaseSpec, SweptRate};
use crate::scenario::{Arrival, Scenario, Sharing, Trace, TracedPhases};
use crate::tenant::PhasePlan;
use crate::units::{Nanos, Stamp};
use turns::{GAP, Rounds};

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
    warmup: Nanos,
    /// Measured time.
    duration: Nanos,
    /// The round that it is a turn of.
    pub(super) round: Option<u16>,
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
            round: self.round,
        }
    }

    /// What it prescribes to its tenants, from a common start.
    pub(super) fn plan(&self, epoch: Stamp) -> PhasePlan {
        let measured_from = epoch + self.warmup;
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

    /// Whether the two have the same tenants, sharing and rates.
    fn is_cell_of(&self, other: &RunPhase) -> bool {
        self.sharing == other.sharing && self.members == other.members && self.rate == other.rate
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
    let everyone = scenario.tenants.len();
    match &scenario.matrix {
        Some(matrix) => {
            let pairs = matrix
                .pairs(&scenario.tenants)
                .into_iter()
                .map(Vec::from)
                .collect::<Vec<_>>();
            planned.turns(&matrix.sharing, &pairs);
        }
        // Of a single tenant, together is alone.
        None if scenario.baseline.alone && everyone > 1 => planned.turns(&[own], &[]),
        None => {}
    }
    planned.duty_cycle();
    if !planned.phases.iter().any(|phase| phase.phase == Phase::Together) {
        let members: Vec<usize> = (0..everyone).collect();
        let label = planned.names(&members);
        planned.add(Phase::Together, own, members, label, None);
    }
    if let Some(trace) = &scenario.trace {
        planned.traced(trace);
    }
    planned.phases
}

/// How long all of them last: warm-ups, and what is between turns.
pub(super) fn length(phases: &[RunPhase]) -> Nanos {
    phases.iter().fold(Nanos::ZERO, |total, phase| {
        let gap = phase.round.map_or(Nanos::ZERO, |_| GAP);
        total + phase.warmup + phase.duration + gap
    })
}

/// How many rounds of turns there are; none where nobody takes turns.
pub(super) fn rounds(phases: &[RunPhase]) -> Option<u16> {
    let last = phases.iter().filter_map(|phase| phase.round).max()?;
    Some(last + 1)
}

/// `8 rounds of 7 turns of 0.6 s, and 1 phase of 6 s: 42 s`; nothing of a run that only measures, or has its baseline besides.
pub(super) fn announcement(scenario: &Scenario, phases: &[RunPhase]) -> Option<String> {
    if scenario.matrix.is_none() && scenario.duty_cycle.is_none() {
        return None;
    }
    let seconds = |time: Nanos| format!("{} s", (time.as_secs_f64() * 10.0).round() / 10.0);
    let of = |traced: bool| {
        let found: Vec<&RunPhase> = phases
            .iter()
            .filter(|phase| phase.round.is_none() && phase.traced == traced)
            .collect();
        let first = found.first()?;
        let each = seconds(first.warmup + first.duration);
        let (count, plural) = (found.len(), if found.len() == 1 { "" } else { "s" });
        Some(match traced {
            true => format!("{count} traced of {each}"),
            false => format!("{count} phase{plural} of {each}"),
        })
    };
    let turns = rounds(phases).and_then(|rounds| {
        let of_first = || phases.iter().filter(|phase| phase.round == Some(0));
        let turn = seconds(of_first().next()?.duration);
        Some(format!(
            "{rounds} rounds of {} turns of {turn}",
            of_first().count()
        ))
    });
    let parts: Vec<String> = [turns, of(false), of(true)].into_iter().flatten().collect();
    let longest = match scenario.clock {
        crate::scenario::ClockKind::Real => "",
        crate::scenario::ClockKind::Virtual => " of simulated time",
    };
    Some(format!(
        "{}: {}{longest}",
        parts.join(" and "),
        seconds(length(phases))
    ))
}

struct Planner<'a> {
    scenario: &'a Scenario,
    /// Number of the next phase that has one.
    next: u16,
    phases: Vec<RunPhase>,
}

impl Planner<'_> {
    /// Rounds in which every tenant runs alone, every pair, and all, in each way of sharing.
    fn turns(&mut self, ways: &[Sharing], pairs: &[Vec<usize>]) {
        let everyone: Vec<usize> = (0..self.scenario.tenants.len()).collect();
        let alone = everyone.iter().map(|&tenant| vec![tenant]);
        // Of two tenants, the pair is all.
        let pairs = pairs.iter().filter(|pair| pair.len() < everyone.len());
        let others: Vec<Vec<usize>> = alone.chain(pairs.cloned()).collect();
        let cells = ways.len() * (others.len() + 1);
        // In the time that all cells would take one after another, but the measurement, which has its own.
        let rounds = Rounds::of(self.scenario, cells, cells.saturating_sub(1));
        for round in 0..rounds.count {
            let mut order: Vec<(Sharing, Vec<usize>)> = Vec::with_capacity(cells);
            for way in turns::turned(ways, round) {
                let cells = turns::order(&others, everyone.clone(), round);
                order.extend(cells.into_iter().map(|members| (way, members)));
            }
            for (way, members) in order {
                let label = match members.as_slice() {
                    [tenant] => format!("{} alone", self.scenario.tenants[*tenant].name),
                    _ => self.names(&members),
                };
                let number = self.number();
                self.add(number, way, members, label, None);
                if let Some(turn) = self.phases.last_mut() {
                    turn.warmup = Rounds::warmup(self.scenario, round);
                    turn.duration = rounds.turn;
                    turn.round = Some(round);
                }
            }
        }
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

    /// A traced phase for the measurement, or for each: the same tenants, sharing and rates. Turns of one cell have one, and those of
    /// the measurement's cell have its own.
    fn traced(&mut self, trace: &Trace) {
        let mut copied: Vec<RunPhase> = Vec::new();
        let untraced = std::mem::take(&mut self.phases);
        let measured = untraced.iter().find(|phase| phase.phase == Phase::Together);
        for phase in &untraced {
            let is_measured = phase.phase == Phase::Together;
            let all = trace.phases == TracedPhases::All;
            let is_turn = phase.round.is_some();
            let known = || {
                copied
                    .iter()
                    .chain(measured)
                    .any(|known| is_turn && known.is_cell_of(phase))
            };
            if is_measured || all && !known() {
                copied.push(phase.clone());
            }
        }
        self.phases = untraced;
        for mut copy in copied {
            copy.phase = self.number();
            copy.label = format!("{}, traced", copy.label);
            copy.warmup = self.scenario.warmup;
            copy.duration = trace.duration;
            copy.round = None;
            copy.traced = true;
            self.phases.push(copy);
        }
    }

    fn number(&mut self) -> Phase {
        // The scenario of a run file may be anybody's.
        self.next = self.next.saturating_add(1);
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
            warmup: self.scenario.warmup,
            duration: self.scenario.duration,
            round: None,
            traced: false,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::scenario::{Matrix, ResolveEnv, from_str};

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

    /// The labels of a round's turns.
    fn round(scenario: &Scenario, round: u16) -> Vec<String> {
        let of_it = phases(scenario)
            .into_iter()
            .filter(|phase| phase.round == Some(round));
        of_it.map(|phase| phase.label).collect()
    }

    #[test]
    fn a_plain_run_is_the_measurement_and_with_a_baseline_come_rounds_of_turns_before_it() {
        let plain = scenario(&["a", "b"], "");
        assert_eq!(shown(&plain), [(Phase::Together, "a + b".to_owned())]);
        assert_eq!(announcement(&plain, &phases(&plain)), None);
        let baseline = scenario(&["a", "b"], "baseline: (alone: true),");
        assert_eq!(round(&baseline, 0), ["a alone", "a + b", "b alone"]);
        assert_eq!(round(&baseline, 1), ["b alone", "a + b", "a alone"]);
        assert_eq!(round(&baseline, 2), ["b alone", "a + b", "a alone"]);
        let planned = phases(&baseline);
        assert_eq!((rounds(&planned), planned.len()), (Some(4), 13));
        let [first, .., last] = &planned[..] else {
            panic!("phases")
        };
        assert_eq!(
            (first.phase, first.warmup, first.duration),
            (Phase::Other(1), Nanos::from_secs(1), Nanos::from_millis(500))
        );
        assert_eq!(
            (planned[3].phase, planned[3].warmup),
            (Phase::Other(4), Nanos::from_millis(250))
        );
        assert_eq!(
            (last.phase, last.round, last.duration),
            (Phase::Together, None, Nanos::from_secs(5))
        );
        // Three phases of 6 s took no less.
        assert!(length(&planned) <= Nanos::from_secs(18));
        assert_eq!(labels(&scenario(&["a"], "baseline: (alone: true),")), ["a"]);
    }

    #[test]
    fn a_matrix_is_each_alone_every_pair_and_all_in_turns_and_of_two_tenants_the_pair_is_all() {
        let three = scenario(&["a", "b", "c"], "matrix: (),");
        assert_eq!(
            round(&three, 0),
            [
                "a alone",
                "b alone",
                "c alone",
                "a + b + c",
                "a + b",
                "a + c",
                "b + c"
            ]
        );
        assert_eq!(phases(&three).last().unwrap().phase, Phase::Together);
        assert_eq!(
            announcement(&three, &phases(&three)).unwrap(),
            "4 rounds of 7 turns of 0.5 s and 1 phase of 6 s: 33.7 s of simulated time"
        );
        assert_eq!(
            round(&scenario(&["a", "b"], "matrix: (),"), 0),
            ["a alone", "a + b", "b alone"]
        );
        assert_eq!(
            rounds(&phases(&scenario(&["a", "b"], "matrix: (), turn: \"200ms\","))),
            Some(6)
        );
    }

    #[test]
    fn another_way_of_sharing_has_its_own_turns_and_the_measurement_stays_one() {
        let mut both = scenario(&["a", "b"], "matrix: (),");
        both.matrix = Some(Matrix::of(vec![Sharing::Streams, Sharing::Exclusive]));
        let all = phases(&both);
        let ways = |round| {
            let of_it = all.iter().filter(move |phase| phase.round == Some(round));
            of_it
                .map(|phase| (phase.sharing, phase.members.len()))
                .collect::<Vec<_>>()
        };
        let of = |sharing| [(sharing, 1), (sharing, 2), (sharing, 1)];
        assert_eq!(ways(0), [of(Sharing::Streams), of(Sharing::Exclusive)].concat());
        assert_eq!(ways(1), [of(Sharing::Exclusive), of(Sharing::Streams)].concat());
        let plan = all[5].plan(Stamp(0));
        assert_eq!((plan.sharing, plan.phase), (Sharing::Exclusive, Phase::Other(6)));
        let measured = all.iter().filter(|phase| phase.phase == Phase::Together);
        assert_eq!(
            measured.map(|phase| phase.sharing).collect::<Vec<_>>(),
            [Sharing::Streams]
        );
    }

    #[test]
    fn traced_phases_come_last_and_are_those_before_them_again() {
        let mut traced = scenario(&["a", "b"], "baseline: (alone: true),");
        traced.trace = Some(Trace::default());
        let last = phases(&traced).pop().unwrap();
        assert_eq!(
            (last.label.as_str(), last.traced, last.round),
            ("a + b, traced", true, None)
        );
        assert_eq!(last.phase, Phase::Other(13));
        assert!(last.spec(Stamp(0)).traced);
        let plan = last.plan(Stamp(0));
        assert_eq!(plan.end - plan.measured_from, Nanos::from_secs(2));
        traced.trace = Some(Trace {
            phases: TracedPhases::All,
            ..Trace::default()
        });
        let of_all: Vec<String> = labels(&traced).split_off(13);
        assert_eq!(of_all, ["a alone, traced", "b alone, traced", "a + b, traced"]);
    }

    #[test]
    fn inputs_of_one_detector_make_no_pairs_among_themselves() {
        let fields = "matrix: (inputs: [[\"a1\", \"a2\"], [\"b1\", \"b2\"]]),";
        let crossed = scenario(&["a1", "a2", "b1", "b2"], fields);
        let pairs: Vec<String> = round(&crossed, 0)
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
