//! Runs of every kind, drawn from a seed: tenants and ways of sharing, phases, incidents, telemetry and power. They are no
//! scenario of anybody's; what matters is that together they reach every figure and every sentence.

use std::sync::atomic::AtomicBool;

use jetlag::record::{
    Averaging, Covariance, Device, Event, FrameRecord, IDLE_WINDOW, Manifest, Measurand, NodeRecord,
    OVERHEAD_TENANT, Outcome, Phase, PhaseSpec, RailRole, SampleRecord, SignalRecord, Stage, Submission,
    SweptRate, WindowRecord,
};
use jetlag::scenario::{Arrival, ClockKind, DutyCycle, LatencyModel, Matrix, Overload, Sharing, Tenant};
use jetlag::tenant::PhasePlan;
use jetlag::tenant::simulate::{self, SimTenant};
use jetlag::units::{Nanos, Stamp};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

use crate::common::planned::Planned as _;
use crate::summary::made_up::{self, ms};

struct Draw(Pcg64);

impl Draw {
    fn new(seed: u64) -> Draw {
        Draw(Pcg64::seed_from_u64(seed))
    }

    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[(self.unit() * choices.len() as f64) as usize]
    }

    /// Stretches of time in seconds, some tenths to some seconds long.
    fn spells(&mut self, seconds: f64) -> Vec<(f64, f64)> {
        let (mut at, mut spells) = (0.0, Vec::new());
        loop {
            at += self.between(1.0, 12.0);
            let long = self.between(0.1, 4.0);
            if at >= seconds {
                return spells;
            }
            spells.push((at, at + long));
            at += long;
        }
    }
}

fn within(spells: &[(f64, f64)], at: f64) -> bool {
    spells.iter().any(|&(from, to)| (from..to).contains(&at))
}

/// A run of this kind. Another `number` is another run of the same, as by another seed, and `slower` multiplies its latencies.
pub(crate) fn run(kind: u64, number: u64, slower: f64) -> (Manifest, Vec<Event>) {
    let mut draw = Draw::new(kind);
    let world = World::draw(&mut draw, slower);
    let manifest = world.manifest(&mut draw);
    let mut events = Vec::new();
    let plans = world.phases(&mut draw);
    let together = plans[plans.len() - 1].from;
    for (place, phase) in plans.iter().enumerate() {
        world.measure(phase, number * 1000 + place as u64, &mut events);
    }
    // Of what happened, another run has other moments.
    let mut draw = Draw::new(kind << 20 | number);
    let spells = draw.spells(world.seconds as f64);
    world.incidents(&mut draw, together, &spells, &mut events);
    world.telemetry(&mut draw, together, &spells, &mut events);
    (manifest, events)
}

struct World {
    seconds: i64,
    sharing: Sharing,
    contention: f64,
    alone: bool,
    tenants: Vec<(Tenant, LatencyModel)>,
    matrix: bool,
    sweep: bool,
}

/// A phase, and when its measured time begins.
struct Planned {
    spec: PhaseSpec,
    sharing: Sharing,
    from: Stamp,
}

const SHARINGS: [Sharing; 4] = [
    Sharing::Streams,
    Sharing::Exclusive,
    Sharing::RoundRobin,
    Sharing::Edf,
];
const WARMUP: Nanos = Nanos::from_secs(1);
const NAMES: [&str; 3] = ["camera", "lidar", "radar"];

impl World {
    fn draw(draw: &mut Draw, slower: f64) -> World {
        let count = draw.of(&[1usize, 1, 2, 2, 3]);
        let tenants = (0..count)
            .map(|place| member(draw, place, count, slower))
            .collect();
        World {
            seconds: draw.of(&[12, 25, 60]),
            sharing: draw.of(&SHARINGS),
            contention: draw.of(&[0.0, 0.3, 1.0]),
            alone: draw.chance(0.5),
            tenants,
            matrix: count > 1 && draw.chance(0.3),
            sweep: draw.chance(0.2),
        }
    }

    fn manifest(&self, draw: &mut Draw) -> Manifest {
        let tenants = self.tenants.iter().map(|(tenant, _)| tenant.clone()).collect();
        let mut manifest = made_up::manifest(self.seconds, tenants);
        let scenario = manifest.plan();
        scenario.clock = draw.of(&[ClockKind::Real, ClockKind::Virtual]);
        scenario.warmup = WARMUP;
        scenario.sharing = self.sharing;
        scenario.sim_contention = self.contention;
        scenario.baseline.alone = self.alone;
        scenario.baseline.idle = Some(Nanos::from_secs(4));
        scenario.matrix = self.matrix.then(|| Matrix::of(vec![self.sharing]));
        scenario.duty_cycle = self.sweep.then(|| DutyCycle {
            tenant: "camera".to_owned(),
            hz: vec![10.0, 20.0, 40.0],
            closed: false,
        });
        scenario.expect = [
            "camera.response.p99 < 40ms",
            "camera.miss_rate < 2%",
            "camera.response.p50 < 9ms",
        ]
        .map(str::to_owned)
        .to_vec();
        let device = draw.of(&[Some(Device::Gpu(0)), Some(Device::Host), None]);
        for tenant in &mut manifest.tenants {
            tenant.device = device;
            tenant.submission_may_wait = draw.of(&[None, Some(false), Some(true)]);
        }
        manifest
    }

    /// Everything that is measured, one after another; all together comes last.
    fn phases(&self, draw: &mut Draw) -> Vec<Planned> {
        let all: Vec<u16> = (0..self.tenants.len() as u16).collect();
        let mut phases = Vec::new();
        let mut plan = |phase, sharing: Sharing, members: &[u16], rate| {
            let from = made_up::START + (Nanos::from_secs(self.seconds) + WARMUP * 2) * phases.len() as i64;
            phases.push(Planned {
                spec: PhaseSpec {
                    at: from - WARMUP,
                    phase,
                    label: members
                        .iter()
                        .map(|&m| NAMES[usize::from(m)])
                        .collect::<Vec<_>>()
                        .join(" + "),
                    sharing: format!("{sharing:?}"),
                    members: members.to_vec(),
                    rate,
                    ..PhaseSpec::default()
                },
                sharing,
                from,
            });
        };
        for member in all.iter().filter(|_| self.alone) {
            plan(Phase::Alone, self.sharing, &[*member], None);
        }
        let mut number = 0;
        let mut next = || {
            number += 1;
            Phase::Other(number - 1)
        };
        if self.matrix {
            let other = draw.of(&SHARINGS);
            for sharing in [self.sharing, other] {
                for member in &all {
                    plan(next(), sharing, &[*member], None);
                }
                plan(next(), sharing, &all[..2], None);
            }
        }
        for hz in [10.0, 20.0, 40.0].into_iter().filter(|_| self.sweep) {
            let rate = SweptRate {
                tenant: 0,
                hz: Some(hz),
            };
            plan(next(), self.sharing, &all, Some(rate));
        }
        plan(Phase::Together, self.sharing, &all, None);
        phases
    }

    fn measure(&self, phase: &Planned, seed: u64, events: &mut Vec<Event>) {
        events.push(Event::PhaseSpec(phase.spec.clone()));
        let simulated = phase.spec.members.iter().map(|&place| {
            let (tenant, model) = &self.tenants[usize::from(place)];
            let swept = phase.spec.rate.filter(|rate| rate.tenant == place);
            SimTenant {
                tenant: place,
                model: model.clone(),
                arrival: match swept.and_then(|rate| rate.hz) {
                    Some(hz) => Arrival::Periodic {
                        hz,
                        phase: Nanos::ZERO,
                        jitter: Nanos::ZERO,
                    },
                    None => tenant.arrival,
                },
                overload: tenant.overload,
                deadline: tenant.deadline,
                depth: tenant.depth,
                batch: Default::default(),
                frames: None,
                seed: seed * 8 + u64::from(place),
                timeline: None,
                length: None,
            }
        });
        let plan = PhasePlan {
            phase: phase.spec.phase,
            drawn_as: phase.spec.phase,
            traced: false,
            sharing: phase.sharing,
            epoch: phase.from - WARMUP,
            measured_from: phase.from,
            end: phase.from + Nanos::from_secs(self.seconds),
        };
        let tenants: Vec<SimTenant> = simulated.collect();
        let ends = simulate::run(
            &tenants,
            self.contention,
            plan,
            &AtomicBool::new(false),
            |frame| {
                events.push(Event::Frame(*frame));
            },
        );
        events.extend(ends.into_iter().map(Event::Phase));
    }

    /// Changes what became of frames: levels that shift, slow spells, single slow frames, failures; and fills in what the
    /// simulation does not tell.
    fn incidents(&self, draw: &mut Draw, together: Stamp, spells: &[(f64, f64)], events: &mut [Event]) {
        let shift_at = draw.between(0.2, 0.9) * self.seconds as f64;
        let shift = draw.of(&[0.0, 0.0, 0.15, -0.1, 0.5]);
        let drift = draw.of(&[0.0, 0.0, 0.3]);
        let in_spells = draw.of(&[0.0, 0.4, 1.5]);
        let (outliers, failures) = (draw.of(&[0.0, 0.004]), draw.of(&[0.0, 0.0, 0.003]));
        let (inputs, launching) = (draw.chance(0.4), draw.of(&[0.1, 0.99]));
        for event in events {
            let frame = match event {
                Event::Frame(frame) => frame,
                Event::Phase(end) => {
                    end.lost_records = draw.of(&[0, 0, 0, 0, 0, 0, 0, 2]);
                    continue;
                }
                _ => continue,
            };
            if frame.outcome != Outcome::Completed {
                continue;
            }
            let at = (frame.started - together).as_secs_f64();
            let mut factor = 1.0;
            if frame.phase == Phase::Together {
                factor += if at > shift_at { shift } else { 0.0 };
                factor += drift * at / self.seconds as f64;
                factor += if within(spells, at) { in_spells } else { 0.0 };
                factor += if draw.chance(outliers) { 4.0 } else { 0.0 };
            }
            frame.input_size = 1000 + (draw.unit() * 100.0) as u32;
            if inputs && draw.chance(0.05) {
                frame.input_size *= 3;
                factor += 0.8;
            }
            if draw.chance(failures) {
                frame.outcome = Outcome::Failed;
            }
            stretch(frame, factor, launching, draw);
        }
    }

    fn telemetry(&self, draw: &mut Draw, together: Stamp, spells: &[(f64, f64)], events: &mut Vec<Event>) {
        let mut at = Telemetry {
            from: together,
            seconds: self.seconds,
            events,
        };
        let gap = draw
            .chance(0.3)
            .then(|| draw.between(1.0, self.seconds as f64 - 6.0));
        let clock_falls = draw.chance(0.5);
        let others = draw.spells(self.seconds as f64);
        let low = if draw.chance(0.7) { spells } else { &others[..] };
        let plain = SignalRecord::default();
        at.signal("gpu", "gpu_frequency", "mhz", plain.clone(), |t| {
            Some(if clock_falls && within(low, t) {
                612.0
            } else {
                1300.0
            })
        });
        at.signal("gpu", "gpu0_throttle_reasons", "bits", plain.clone(), |t| {
            Some(if clock_falls && within(low, t) { 64.0 } else { 0.0 })
        });
        let heat = draw.between(0.0, 0.4);
        at.signal("gpu", "gpu", "c", plain.clone(), |t| {
            Some(45.0 + heat * t.max(0.0))
        });
        let busy = draw.between(5.0, 98.0);
        let mut noise = Draw::new(draw.0.next_u64());
        at.signal("host", "cpu_load", "percent", plain.clone(), |_| {
            Some(busy + noise.between(-4.0, 4.0))
        });
        at.signal("host", "own_cpu_load", "percent", plain.clone(), |_| {
            Some(busy / 2.0)
        });
        at.signal("host", "memory_used", "bytes", plain, |t| {
            Some(1.4e9 + 1e6 * t.max(0.0))
        });
        let roles: &[RailRole] = match draw.of(&[0, 1, 2, 3]) {
            0 => &[RailRole::Total, RailRole::Part, RailRole::Part],
            1 => &[RailRole::Summand, RailRole::Summand, RailRole::Within],
            2 => &[RailRole::Input, RailRole::Total, RailRole::Unknown],
            _ => &[RailRole::Unknown],
        };
        for (role, name) in roles.iter().zip(["VDD_IN", "VDD_CPU_GPU_CV", "VDD_SOC"]) {
            let (idle, work) = (draw.between(900.0, 3000.0), draw.between(3000.0, 12_000.0));
            let meaning = SignalRecord {
                refresh: draw.of(&[None, Some(Nanos::from_millis(100)), Some(Nanos::from_millis(250))]),
                averaging: draw.of(&[Averaging::Unknown, Averaging::Instant, Averaging::Mean]),
                window: draw.of(&[None, Some(Nanos::from_millis(100)), Some(Nanos::from_millis(430))]),
                step: draw.of(&[None, Some(40.0)]),
                role: *role,
                within: (*role == RailRole::Within).then(|| "VDD_CPU_GPU_CV".to_owned()),
                ..SignalRecord::default()
            };
            let mut noise = Draw::new(draw.0.next_u64());
            at.signal("ina3221", name, "mw", meaning, |t| {
                let lost = gap.is_some_and(|from| (from..from + 5.0).contains(&t));
                let level = if t < -0.9 {
                    idle
                } else {
                    work + 800.0 * (t * 0.7).sin()
                };
                (!lost).then(|| level + noise.between(-150.0, 150.0))
            });
        }
        if draw.chance(0.5) {
            let meaning = SignalRecord {
                averaging: Averaging::Counter,
                role: RailRole::Total,
                step: draw.of(&[None, Some(1.0)]),
                ..SignalRecord::default()
            };
            at.signal("nvml", "gpu0_energy", "mj", meaning, |t| {
                Some(9e6 + 31_000.0 * (t + 5.0))
            });
        }
        events.push(Event::Window(WindowRecord {
            name: IDLE_WINDOW.to_owned(),
            from: together - Nanos::from_secs(5),
            to: together - Nanos::from_secs(1),
        }));
        for layer in 0..draw.of(&[0u64, 12]) {
            events.push(Event::Node(node(layer, draw)));
        }
        for i in 0..draw.of(&[0u64, 500]) {
            let took = Nanos((2_900.0 + draw.between(0.0, 1500.0)) as i64);
            let mut own = made_up::frame(i, Nanos::from_micros(100 * i as i64), Nanos::ZERO, took);
            (own.tenant, own.phase) = (OVERHEAD_TENANT, Phase::Overhead);
            events.push(Event::Frame(own));
        }
    }
}

fn member(draw: &mut Draw, place: usize, count: usize, slower: f64) -> (Tenant, LatencyModel) {
    let hz = draw.between(8.0, 60.0);
    let load = draw.between(0.15, 1.05) / (count as f64).sqrt();
    let median_ms = slower * load * 1e3 / hz;
    let median = ms(median_ms);
    let model = match draw.of(&[0, 1, 2, 3]) {
        0 => LatencyModel::Fixed { latency: median },
        1 => LatencyModel::Normal {
            mean: median,
            sd: ms(median_ms / 10.0),
        },
        2 => LatencyModel::LogNormal {
            median,
            sigma: draw.between(0.05, 0.5),
        },
        _ => LatencyModel::Bimodal {
            fast: ms(median_ms * 0.9),
            slow: median * 2,
            slow_share: draw.between(0.005, 0.1),
        },
    };
    let mut tenant = made_up::tenant(NAMES[place], hz, draw.between(0.8, 2.5) * 1e3 / hz);
    tenant.arrival = match draw.of(&[0, 0, 1, 2]) {
        0 => Arrival::Periodic {
            hz,
            phase: ms(draw.between(0.0, 5.0)),
            jitter: ms(draw.of(&[0.0, 3.0])),
        },
        1 => Arrival::Poisson { hz },
        _ => Arrival::Closed,
    };
    tenant.overload = match draw.of(&[0, 1, 2]) {
        0 => Overload::Queue { capacity: 1000 },
        1 => Overload::DropOldest { queue: 2 },
        _ => Overload::DropNewest { queue: 1 },
    };
    tenant.depth = draw.of(&[1, 1, 2]);
    if draw.chance(0.3) {
        tenant.deadline = None;
    }
    (tenant, model)
}

/// Gives a frame `factor` of its time, its stages, and what submission took of it.
fn stretch(frame: &mut FrameRecord, factor: f64, launching: f64, draw: &mut Draw) {
    let service = Nanos((frame.service().0 as f64 * factor) as i64);
    frame.finished = frame.started + service;
    frame.lateness = Nanos((draw.unit() * 80_000.0) as i64).min(frame.queueing());
    // What the simulated device's line took is a part of it already.
    let queue = frame.stages[Stage::Queue as usize].unwrap_or(Nanos::ZERO);
    let own = (service - queue).max(Nanos::ZERO);
    let share = |part: f64| Some(Nanos((own.0 as f64 * part) as i64));
    let other = draw.between(0.02, 0.1);
    frame.stages[Stage::Acquire as usize] = share(0.01);
    frame.stages[Stage::Preprocess as usize] = share(other);
    frame.stages[Stage::Compute as usize] = share(0.97 - other);
    frame.stages[Stage::Postprocess as usize] = share(0.02);
    frame.detections = (draw.unit() * 6.0) as u32;
    frame.submission = share(launching).map(|took| Submission {
        took,
        in_compute: share(0.9 * launching * (0.97 - other)),
    });
}

fn node(layer: u64, draw: &mut Draw) -> NodeRecord {
    let own = draw.between(0.0, 6e12);
    NodeRecord {
        tenant: 0,
        phase: Phase::Together,
        name: format!("/backbone/stage.{layer}/conv/Conv"),
        operator: draw.of(&["Conv", "Conv+Relu", "Resize"]).to_owned(),
        count: 700,
        mean: Nanos::from_micros(900 - 40 * layer as i64),
        max: Nanos::from_micros(2_000),
        with_response: Some(Covariance {
            variance: own,
            response_variance: 9e12,
            covariance: draw.between(-0.2, 1.0) * own,
        }),
    }
}

struct Telemetry<'a> {
    from: Stamp,
    seconds: i64,
    events: &'a mut Vec<Event>,
}

impl Telemetry<'_> {
    /// Readings at 10 Hz from 5 s before the measured time to half a second after it.
    fn signal(
        &mut self,
        source: &str,
        signal: &str,
        unit: &str,
        meaning: SignalRecord,
        mut value: impl FnMut(f64) -> Option<f64>,
    ) {
        self.events.push(Event::Signal(SignalRecord {
            source: source.to_owned(),
            signal: signal.to_owned(),
            unit: unit.to_owned(),
            measurand: Measurand::of_names(source, signal, unit),
            origin: "made up".to_owned(),
            period: Some(Nanos::from_millis(100)),
            ..meaning
        }));
        for i in -50..=self.seconds * 10 + 5 {
            self.events.push(Event::Sample(SampleRecord {
                at: self.from + Nanos::from_millis(100) * i,
                source: source.to_owned(),
                signal: signal.to_owned(),
                value: value(i as f64 / 10.0),
                unit: unit.to_owned(),
            }));
        }
    }
}
