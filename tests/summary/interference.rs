//! How tenants slow each other down, on simulated runs whose answers are known.

mod duty_cycles;
mod overlap;

use std::sync::atomic::AtomicBool;

use jetlag::analysis::{Summarizer, Summary};
use jetlag::record::{Event, Manifest, Phase, PhaseSpec, SweptRate};
use jetlag::report::{Style, text};
use jetlag::scenario::{Arrival, ClockKind, LatencyModel, Matrix, Overload, Sharing};
use jetlag::tenant::PhasePlan;
use jetlag::tenant::simulate::{self, SimTenant};
use jetlag::units::{Nanos, Stamp};

use crate::common::planned::Planned as _;
use crate::summary::facts;
use crate::summary::made_up;

pub(crate) fn manifest(names: &[&str], matrix: Option<Matrix>) -> Manifest {
    let tenants = names
        .iter()
        .map(|name| made_up::tenant(name, 30.0, 1e3))
        .collect();
    let mut manifest = made_up::manifest(10, tenants);
    manifest.plan().clock = ClockKind::Virtual;
    manifest.plan().warmup = Nanos::ZERO;
    manifest.plan().matrix = matrix;
    manifest
}

pub(crate) fn sim(tenant: u16, model: LatencyModel, arrival: Arrival, seed: u64) -> SimTenant {
    SimTenant {
        tenant,
        model,
        arrival,
        overload: Overload::Queue { capacity: 1000 },
        deadline: None,
        depth: 1,
        batch: Default::default(),
        frames: None,
        seed,
        timeline: None,
        length: None,
    }
}

/// A run in the making: phases one after another.
pub(crate) struct Run {
    pub(crate) summarizer: Summarizer,
    pub(crate) epoch: Stamp,
    names: Vec<String>,
    /// The run's; what a phase draws differs by the phase.
    seed: u64,
}

impl Run {
    pub(crate) fn of(manifest: &Manifest, seed: u64) -> Self {
        Run {
            summarizer: Summarizer::new(manifest),
            epoch: Stamp(0),
            names: manifest
                .tenants
                .iter()
                .map(|tenant| tenant.name.clone())
                .collect(),
            seed: seed * 1_000,
        }
    }

    pub(crate) fn phase(
        &mut self,
        phase: Phase,
        sharing: &str,
        rate: Option<SweptRate>,
        contention: f64,
        seconds: i64,
        tenants: &[SimTenant],
    ) {
        let length = Nanos::from_secs(seconds);
        self.measured((phase, None), sharing, rate, contention, length, tenants);
    }

    /// Rounds of turns of two seconds: one of each cell, forwards and backwards. Numbers go on from `first`.
    pub(crate) fn rounds(
        &mut self,
        (first, rounds): (u16, std::ops::Range<u16>),
        sharing: &str,
        contention: f64,
        cells: &[Vec<SimTenant>],
    ) {
        let mut number = first;
        for round in rounds {
            let mut order: Vec<&Vec<SimTenant>> = cells.iter().collect();
            if round % 2 == 1 {
                order.reverse();
            }
            for members in order {
                let phase = (Phase::Other(number), Some(round));
                self.measured(phase, sharing, None, contention, Nanos::from_secs(2), members);
                number += 1;
            }
        }
    }

    fn measured(
        &mut self,
        (phase, round): (Phase, Option<u16>),
        sharing: &str,
        rate: Option<SweptRate>,
        contention: f64,
        length: Nanos,
        tenants: &[SimTenant],
    ) {
        // As a later turn has.
        let warmup = round.map_or(Nanos::ZERO, |_| Nanos::from_millis(250));
        let measured_from = self.epoch + warmup;
        let plan = PhasePlan {
            phase,
            drawn_as: phase,
            traced: false,
            sharing: Sharing::Streams,
            epoch: self.epoch,
            measured_from,
            end: measured_from + length,
        };
        self.summarizer.push(&Event::PhaseSpec(PhaseSpec {
            at: self.epoch,
            phase,
            label: self.label(rate, tenants),
            sharing: sharing.to_owned(),
            members: tenants.iter().map(|tenant| tenant.tenant).collect(),
            rate,
            traced: false,
            round,
        }));
        let mut tenants = tenants.to_vec();
        for tenant in &mut tenants {
            tenant.seed = self.seed + u64::from(tenant.tenant);
        }
        let ends = simulate::run(&tenants, contention, plan, &AtomicBool::new(false), |frame| {
            self.summarizer.push(&Event::Frame(*frame))
        });
        for end in ends {
            self.summarizer.push(&Event::Phase(end));
        }
        self.epoch = plan.end + Nanos::from_secs(1);
    }

    /// As `commands::phases` names them.
    fn label(&self, rate: Option<SweptRate>, tenants: &[SimTenant]) -> String {
        let name = |tenant: u16| self.names[usize::from(tenant)].as_str();
        let names: Vec<&str> = tenants.iter().map(|tenant| name(tenant.tenant)).collect();
        match rate {
            Some(SweptRate { tenant, hz: Some(hz) }) => format!("{} at {hz} Hz", name(tenant)),
            Some(SweptRate { tenant, .. }) => format!("{} in a closed loop", name(tenant)),
            _ if tenants.len() == 1 => format!("{} alone", names.join(" + ")),
            _ => names.join(" + "),
        }
    }

    pub(crate) fn finish(self) -> Summary {
        let summary = self.summarizer.finish(None);
        facts::are_documented(&summary);
        summary
    }
}

/// A tenant that always has a frame in service, so that its slowdown is the device's own.
pub(crate) fn busy(tenant: u16, ms: i64) -> SimTenant {
    let model = LatencyModel::LogNormal {
        median: Nanos::from_millis(ms),
        sigma: 0.1,
    };
    sim(tenant, model, Arrival::Closed, 0)
}

pub(crate) fn streams() -> Option<Matrix> {
    Some(Matrix::of(vec![Sharing::Streams]))
}

#[test]
fn a_known_slowdown_of_a_pair_is_recovered_at_least_as_often_as_its_interval_says() {
    const SEEDS: u64 = 300;
    let manifest = manifest(&["a", "b", "c"], streams());
    let (mut held, mut shown, mut widths) = ([0u64; 3], [0u64; 3], Vec::new());
    let cells = [
        vec![busy(0, 10)],
        vec![busy(0, 10), busy(1, 20)],
        vec![busy(1, 20)],
    ];
    for seed in 0..SEEDS {
        let mut run = Run::of(&manifest, seed);
        run.rounds((1, 0..12), "Streams", 0.6, &cells);
        let summary = run.finish();
        let cell = &summary.interference.matrix[0].cells[0];
        assert_eq!(
            (cell.tenant.as_str(), cell.with.as_slice()),
            ("a", &["b".to_owned()][..])
        );
        let slowdown = cell.slowdown.as_ref().unwrap();
        assert_eq!((slowdown.rounds, slowdown.by_round.len()), (12, 12));
        let all = [slowdown.p50, slowdown.p90, slowdown.p99];
        for (place, interval) in all.map(|ratio| ratio.ci95).into_iter().enumerate() {
            // Frames beyond p99 may come in few of the rounds.
            let Some([low, high]) = interval else { continue };
            shown[place] += 1;
            held[place] += u64::from(low <= 1.6 && 1.6 <= high);
            widths.push(high - low);
        }
    }
    widths.sort_unstable_by(f64::total_cmp);
    println!(
        "{held:?} of {shown:?} hold it; the middle width is {:.3}",
        widths[widths.len() / 2]
    );
    for (held, shown) in held.into_iter().zip(shown) {
        assert!(held * 100 >= shown * 93, "{held} of {shown}");
        assert!(shown * 10 >= SEEDS * 8, "{shown} of {SEEDS} are shown");
    }
    assert!(widths[widths.len() / 2] < 0.2, "intervals say something");
}

/// p50 and p99 of a tenant's response times over a time so long that chance is small beside any interval below.
fn long_run(phase: Phase, contention: f64, tenants: &[SimTenant]) -> [f64; 2] {
    let plan = PhasePlan {
        phase,
        drawn_as: phase,
        traced: false,
        sharing: Sharing::Streams,
        epoch: Stamp(0),
        measured_from: Stamp(0),
        end: Stamp(0) + Nanos::from_secs(4_000),
    };
    let mut responses = Vec::new();
    simulate::run(tenants, contention, plan, &AtomicBool::new(false), |frame| {
        if frame.tenant == 0 {
            responses.push(frame.response().0);
        }
    });
    responses.sort_unstable();
    [0.5, 0.99].map(|share| responses[(responses.len() as f64 * share) as usize] as f64)
}

#[test]
fn the_slowdown_of_a_tenant_whose_frames_wait_for_each_other_is_recovered_as_often() {
    const SEEDS: u64 = 300;
    let manifest = manifest(&["a", "b", "c"], streams());
    for hz in [30.0, 50.0] {
        let model = LatencyModel::LogNormal {
            median: Nanos::from_millis(10),
            sigma: 0.3,
        };
        let a = sim(0, model, Arrival::Poisson { hz }, 77);
        let pair = [a.clone(), busy(1, 20)];
        let alone = long_run(Phase::Alone, 0.6, &pair[..1]);
        let beside = long_run(Phase::Other(1), 0.6, &pair);
        let truth = [beside[0] / alone[0], beside[1] / alone[1]];
        let (mut held, mut shown) = ([0u64; 2], [0u64; 2]);
        for seed in 0..SEEDS {
            let mut run = Run::of(&manifest, seed);
            run.rounds((1, 0..16), "Streams", 0.6, &[pair[..1].to_vec(), pair.to_vec()]);
            let summary = run.finish();
            let slowdown = summary.interference.matrix[0].cells[0].slowdown.as_ref().unwrap();
            for (place, interval) in [slowdown.p50.ci95, slowdown.p99.ci95].into_iter().enumerate() {
                let Some([low, high]) = interval else { continue };
                shown[place] += 1;
                held[place] += u64::from((low..=high).contains(&truth[place]));
            }
        }
        println!("{hz} Hz: {truth:.3?}; {held:?} of {shown:?} hold it");
        assert_eq!(shown[0], SEEDS);
        // A turn begins with an empty line, and the truth is of a line that has long been there.
        assert!(held[0] * 100 >= shown[0] * 85, "{hz} Hz: {held:?} of {shown:?}");
    }
}

#[test]
fn pairs_and_all_have_their_own_cells_under_each_way_of_sharing_over_the_same_ways_baseline() {
    let matrix = Matrix::of(vec![Sharing::Streams, Sharing::Exclusive]);
    let manifest = manifest(&["a", "b", "c"], Some(matrix));
    let mut run = Run::of(&manifest, 1);
    let all = [busy(0, 5), busy(1, 7), busy(2, 9)];
    let alone = |tenants: &[SimTenant]| {
        tenants
            .iter()
            .map(|tenant| vec![tenant.clone()])
            .collect::<Vec<_>>()
    };
    let mut cells = alone(&all);
    cells.insert(1, all.to_vec());
    cells.push(vec![all[0].clone(), all[2].clone()]);
    run.rounds((1, 0..6), "Streams", 0.5, &cells);
    // Another way of sharing, under which alone is half as fast already.
    let slow = [busy(0, 10), busy(1, 14), busy(2, 18)];
    let mut cells = alone(&slow);
    cells.insert(1, slow.to_vec());
    run.rounds((100, 0..6), "Exclusive", 1.0, &cells);
    run.phase(Phase::Together, "Streams", None, 0.5, 60, &all);
    let summary = run.finish();
    let ways = &summary.interference.matrix;
    let shown: Vec<(&str, &str, Vec<&str>, f64)> = ways
        .iter()
        .flat_map(|way| way.cells.iter().map(move |cell| (way, cell)))
        .map(|(way, cell)| {
            let with = cell.with.iter().map(String::as_str).collect();
            let p50 = cell.slowdown.as_ref().unwrap().p50.value.unwrap();
            (
                way.sharing.as_str(),
                cell.tenant.as_str(),
                with,
                (p50 * 10.0).round() / 10.0,
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("Streams", "a", vec!["c"], 1.5),
            ("Streams", "a", vec!["b", "c"], 2.0),
            ("Streams", "b", vec!["a", "c"], 2.0),
            ("Streams", "c", vec!["a"], 1.5),
            ("Streams", "c", vec!["a", "b"], 2.0),
            ("Exclusive", "a", vec!["b", "c"], 3.0),
            ("Exclusive", "b", vec!["a", "c"], 3.0),
            ("Exclusive", "c", vec!["a", "b"], 3.0),
        ]
    );
    // The measurement is what the scenario says, whatever else was run.
    let together = summary.tenants[0].response_ms.p50.value.unwrap();
    assert!((together / 10.0 - 1.0).abs() < 0.05, "{together}");
}

pub(crate) fn rendered(summary: &Summary, width: u16) -> String {
    let mut out = Vec::new();
    let style = Style { colour: false, width };
    text::write(summary, &mut out, &style).expect("writing to memory");
    let text = String::from_utf8(out).expect("text");
    for line in text.lines() {
        assert!(line.chars().count() <= usize::from(width), "{width}: {line}");
    }
    text
}

#[test]
fn the_effects_of_inputs_are_told_for_both_detectors() {
    let names = ["a-day", "a-rain", "b-day", "b-rain"];
    let matrix = Matrix {
        inputs: vec![
            vec!["a-day".into(), "a-rain".into()],
            vec!["b-day".into(), "b-rain".into()],
        ],
        ..Matrix::of(vec![Sharing::Streams])
    };
    let manifest = manifest(&names, Some(matrix));
    let mut run = Run::of(&manifest, 5);
    // Both always busy: a frame takes twice its own time, whatever the other's is.
    let (a, b) = ([busy(0, 10), busy(1, 14)], [busy(2, 20), busy(3, 20)]);
    let pairs = a
        .iter()
        .flat_map(|a| b.iter().map(|b| vec![a.clone(), b.clone()]));
    run.rounds((1, 0..8), "Streams", 1.0, &pairs.collect::<Vec<_>>());
    let summary = run.finish();
    let p50: Vec<_> = summary
        .interference
        .crossed
        .iter()
        .filter(|contrast| contrast.measure == "p50_ms")
        .collect();
    let near = |value: f64, wanted: f64| (value - wanted).abs() < 1.0;
    let holds = |[low, high]: [f64; 2], wanted: f64| low <= wanted && wanted <= high;
    assert_eq!(p50[0].tenant, ["a-day", "a-rain"]);
    assert_eq!(p50[0].with, ["b-day", "b-rain"]);
    assert!(
        near(p50[0].base, 20.0) && near(p50[0].own.value, 8.0),
        "{:?}",
        p50[0]
    );
    assert!(
        holds(p50[0].own.ci95, 8.0) && holds(p50[0].co_runner.ci95, 0.0),
        "{:?}",
        p50[0]
    );
    assert_eq!(p50[1].tenant, ["b-day", "b-rain"]);
    assert!(near(p50[1].own.value, 0.0), "{:?}", p50[1]);
    assert!(rendered(&summary, 100).contains("INPUTS"));
}
