//! Causes that are named where there is none, and found where there is one: many seeded runs of each kind, among them
//! runs in which a third thing slows two tenants, or in which what is blamed is what a slow frame itself brings about.

use std::sync::atomic::AtomicBool;

use jetlag::analysis::Summary;
use jetlag::record::{Device, Event, FrameRecord, Measurand, Phase, SampleRecord, SignalRecord, Stage};
use jetlag::scenario::{Arrival, LatencyModel, Overload, Sharing, Tenant};
use jetlag::tenant::PhasePlan;
use jetlag::tenant::simulate::{self, SimTenant};
use jetlag::units::{Nanos, Stamp};
use rand_distr::{Distribution, Exp, LogNormal, Normal};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

use crate::summary::made_up::{self, START, ms};

const COMPUTE: usize = Stage::Compute as usize;
/// What a circumstance is called as a cause; `backlog`, `waited` and `late-release` are parts of the response itself.
const CIRCUMSTANCES: [&str; 4] = ["throttled", "low-clock", "larger-input", "co-runner"];

/// One run in the making.
struct World {
    random: Pcg64,
    seconds: f64,
    tenants: Vec<Tenant>,
    events: Vec<Event>,
}

/// Stretches of time, in seconds.
type Spells = Vec<(f64, f64)>;

fn within(spells: &Spells, at: f64) -> bool {
    spells.iter().any(|&(from, to)| (from..to).contains(&at))
}

fn exponential(mean: f64) -> Exp<f64> {
    Exp::new(1.0 / mean).expect("a mean above zero")
}

impl World {
    fn new(seed: u64, seconds: f64) -> Self {
        World {
            random: Pcg64::seed_from_u64(seed),
            seconds,
            tenants: Vec::new(),
            events: Vec::new(),
        }
    }

    fn uniform(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Spells of a mean length, separated by pauses of a mean length.
    fn spells(&mut self, pause: f64, length: f64) -> Spells {
        let (pause, length) = (exponential(pause), exponential(length));
        let (mut at, mut spells) = (0.0, Vec::new());
        while at < self.seconds {
            at += pause.sample(&mut self.random);
            let long = length.sample(&mut self.random);
            spells.push((at, at + long));
            at += long;
        }
        spells
    }

    fn periodic(&self, hz: f64, phase: f64) -> Vec<f64> {
        let count = ((self.seconds - phase) * hz).floor() as usize;
        (0..count).map(|n| phase + n as f64 / hz).collect()
    }

    fn poisson(&mut self, hz: f64) -> Vec<f64> {
        let gap = exponential(1.0 / hz);
        let (mut at, mut releases) = (0.0, Vec::new());
        loop {
            at += gap.sample(&mut self.random);
            if at >= self.seconds {
                return releases;
            }
            releases.push(at);
        }
    }

    /// A tenant whose frames are served one after another; `service` tells milliseconds and the input's size by number
    /// and start.
    fn tenant(
        &mut self,
        arrival: Arrival,
        releases: &[f64],
        mut service: impl FnMut(u64, f64, &mut Pcg64) -> (f64, u32),
    ) -> Vec<(f64, f64)> {
        let number = self.tenants.len() as u16;
        let mut tenant = made_up::tenant(
            ["camera", "lidar", "radar", "rear"][usize::from(number)],
            30.0,
            1e3,
        );
        tenant.arrival = arrival;
        self.tenants.push(tenant);
        let mut free = START;
        let mut served = Vec::new();
        for (i, &at) in (0..).zip(releases) {
            let mut frame = made_up::frame(i, ms(at * 1e3), Nanos::ZERO, Nanos::ZERO);
            frame.tenant = number;
            frame.started = frame.released.max(free);
            let start = (frame.started - START).as_secs_f64();
            let (took, input) = service(i, start, &mut self.random);
            frame.input_size = input;
            frame.stages[COMPUTE] = Some(ms(took));
            frame.finished = frame.started + ms(took) + Nanos::from_micros(20);
            free = frame.finished;
            served.push((start, start + took / 1e3));
            self.events.push(Event::Frame(frame));
        }
        served
    }

    /// Readings of a signal, ten a second.
    fn signal(&mut self, signal: &str, unit: &str, mut value: impl FnMut(f64, &mut Pcg64) -> f64) {
        self.events.push(Event::Signal(SignalRecord {
            source: "gpu".to_owned(),
            signal: signal.to_owned(),
            unit: unit.to_owned(),
            measurand: Measurand::of_names("gpu", signal, unit),
            ..SignalRecord::default()
        }));
        for i in 0..(self.seconds * 10.0) as i64 {
            let value = value(i as f64 / 10.0, &mut self.random);
            self.events.push(Event::Sample(SampleRecord {
                at: START + Nanos::from_millis(100 * i),
                source: "gpu".to_owned(),
                signal: signal.to_owned(),
                value: Some(value),
                unit: unit.to_owned(),
            }));
        }
    }

    fn clock(&mut self, value: impl FnMut(f64, &mut Pcg64) -> f64) {
        self.signal("gpu_frequency", "mhz", value);
    }

    fn throttle(&mut self, mut on: impl FnMut(f64, &mut Pcg64) -> bool) {
        self.signal("gpu0_throttle_reasons", "bits", |t, random| {
            if on(t, random) { 64.0 } else { 0.0 }
        });
    }

    /// Simulated tenants on one device.
    fn simulated(&mut self, sharing: Sharing, contention: f64, tenants: &[(LatencyModel, Arrival)]) {
        let sims: Vec<SimTenant> = tenants
            .iter()
            .zip(0u16..)
            .map(|((model, arrival), number)| SimTenant {
                tenant: number,
                model: model.clone(),
                arrival: *arrival,
                overload: Overload::Queue { capacity: 1000 },
                deadline: None,
                depth: 1,
                batch: Default::default(),
                frames: None,
                seed: self.random.next_u64(),
                timeline: None,
                length: None,
            })
            .collect();
        for ((_, arrival), name) in tenants.iter().zip(["camera", "lidar", "radar", "rear"]) {
            let mut tenant = made_up::tenant(name, 30.0, 1e3);
            tenant.arrival = *arrival;
            self.tenants.push(tenant);
        }
        let plan = PhasePlan {
            phase: Phase::Together,
            drawn_as: Phase::Together,
            traced: false,
            sharing,
            epoch: START,
            measured_from: START,
            end: START + Nanos((self.seconds * 1e9) as i64),
        };
        let events = &mut self.events;
        simulate::run(
            &sims,
            contention,
            plan,
            &AtomicBool::new(false),
            |frame: &FrameRecord| {
                events.push(Event::Frame(*frame));
            },
        );
    }

    fn summary(mut self) -> Summary {
        let seconds = self.seconds as i64;
        for number in 0..self.tenants.len() as u16 {
            self.events
                .push(Event::Phase(made_up::end(number, Phase::Together, seconds)));
        }
        self.events.sort_by_key(|event| match event {
            Event::Frame(frame) => (0, frame.finished),
            _ => (1, Stamp(0)),
        });
        let mut manifest = made_up::manifest(seconds, self.tenants);
        for tenant in &mut manifest.tenants {
            tenant.device = Some(Device::Gpu(0));
        }
        made_up::summarize(&manifest, &self.events)
    }
}

/// Of so many seeded runs, how many name any circumstance as the cause of any slow frame of any tenant.
fn naming(seeds: u64, made: impl Fn(&mut World)) -> (u64, Vec<(&'static str, u64)>) {
    let mut by_cause: Vec<(&str, u64)> = CIRCUMSTANCES.iter().map(|&cause| (cause, 0)).collect();
    let mut named = 0;
    for seed in 0..seeds {
        let mut world = World::new(seed, 60.0);
        made(&mut world);
        let summary = world.summary();
        let mut any = false;
        for (cause, count) in &mut by_cause {
            let slow = || summary.tenants.iter().flat_map(|tenant| &tenant.slowest);
            let here = slow().any(|slow| slow.cause == Some(cause));
            *count += u64::from(here);
            any |= here;
        }
        named += u64::from(any);
    }
    by_cause.retain(|(_, count)| *count > 0);
    (named, by_cause)
}

#[allow(clippy::print_stdout, reason = "the figure, with --nocapture")]
fn few(what: &str, seeds: u64, made: impl Fn(&mut World)) {
    let (named, by_cause) = naming(seeds, made);
    println!("no effect, {what}: {named} of {seeds} runs name a cause: {by_cause:?}");
    assert!(named * 20 <= seeds, "{what}: {named} of {seeds}, {by_cause:?}");
}

/// How many runs name this cause for at least one frame.
#[allow(clippy::print_stdout, reason = "the figure, with --nocapture")]
fn found(what: &str, cause: &str, seeds: u64, least: u64, made: impl Fn(&mut World)) {
    let (_, by_cause) = naming(seeds, made);
    let count = by_cause
        .iter()
        .find(|(name, _)| *name == cause)
        .map_or(0, |(_, count)| *count);
    println!("a true cause, {what}: {count} of {seeds} runs name it: {by_cause:?}");
    assert!(count >= least, "{what}: {count} of {seeds}");
}

const SEEDS: u64 = 100;
const PERIODIC_30: Arrival = made_up::periodic(30.0);

fn at_10(phase_ms: f64) -> Arrival {
    Arrival::Periodic {
        hz: 10.0,
        phase: ms(phase_ms),
        jitter: Nanos::ZERO,
    }
}

#[test]
fn short_frames_escape_a_co_runner_and_long_ones_are_not_laid_to_it() {
    few("heavy tails beside a busy co-runner", SEEDS, |world| {
        let releases = world.periodic(30.0, 0.0);
        world.tenant(PERIODIC_30, &releases, |_, _, random| {
            (LogNormal::new(9f64.ln(), 0.8).unwrap().sample(random), 0)
        });
        let releases = world.poisson(30.0);
        world.tenant(Arrival::Poisson { hz: 30.0 }, &releases, |_, _, random| {
            (LogNormal::new(9f64.ln(), 0.3).unwrap().sample(random), 0)
        });
    });
}

#[test]
fn slow_spells_beside_spells_of_clocks_inputs_and_co_runners_are_not_laid_to_them() {
    few("independent spells", SEEDS, |world| {
        let slow = world.spells(12.0, 1.5);
        let releases = world.periodic(30.0, 0.0);
        let large = world.spells(10.0, 1.0);
        world.tenant(PERIODIC_30, &releases, |_, at, random| {
            let times = if within(&slow, at) { 2.5 } else { 1.0 };
            let input = if within(&large, at) { 150_000 } else { 100_000 };
            (
                LogNormal::new(9f64.ln(), 0.1).unwrap().sample(random) * times,
                input,
            )
        });
        let busy = world.spells(10.0, 1.0);
        let releases = world.poisson(10.0);
        world.tenant(Arrival::Poisson { hz: 10.0 }, &releases, |_, at, random| {
            let times = if within(&busy, at) { 6.0 } else { 1.0 };
            (LogNormal::new(9f64.ln(), 0.2).unwrap().sample(random) * times, 0)
        });
        let low = world.spells(15.0, 1.5);
        world.clock(|at, _| if within(&low, at) { 900.0 } else { 1300.0 });
        let hot = world.spells(20.0, 1.0);
        world.throttle(|at, _| within(&hot, at));
    });
}

#[test]
fn what_only_goes_with_time_is_no_cause() {
    few(
        "slow frames and low clocks that both become more frequent",
        SEEDS,
        |world| {
            let releases = world.periodic(30.0, 0.0);
            world.tenant(PERIODIC_30, &releases, |_, at, random| {
                let slow = (random.next_u64() as f64 / u64::MAX as f64) < 0.08 * (at / 60.0).powi(3);
                let noise: f64 = Normal::new(9.0, 0.4).unwrap().sample(random);
                (if slow { 3.0 * noise } else { noise }, 0)
            });
            let mut state = 0.0;
            world.clock(|at, random| {
                let noise: f64 = Normal::new(0.0, 1.0).unwrap().sample(random);
                state = 0.8 * state + 0.6 * noise;
                1300.0 * (1.0 - 0.08 * (at / 60.0).powi(4)) + 12.0 * state
            });
            world.throttle(|at, random| {
                (random.next_u64() as f64 / u64::MAX as f64) < 0.15 * (at / 60.0).powi(3)
            });
        },
    );
}

#[test]
fn a_clock_that_falls_while_a_frame_is_held_up_did_not_hold_it_up() {
    few("stalls during which the clock idles", SEEDS, |world| {
        let releases = world.periodic(30.0, 0.0);
        let served = world.tenant(PERIODIC_30, &releases, |_, _, random| {
            let stalls = random.next_u64() % 150 == 0;
            let noise: f64 = Normal::new(9.0, 0.4).unwrap().sample(random);
            (if stalls { noise + 140.0 } else { noise }, 0)
        });
        let stalled: Spells = served.into_iter().filter(|(from, to)| to - from > 0.1).collect();
        world.clock(|at, _| if within(&stalled, at) { 600.0 } else { 1300.0 });
        world.throttle(|at, _| within(&stalled, at));
    });
}

#[test]
fn a_third_thing_that_slows_two_tenants_is_not_laid_to_either() {
    few("storms that slow both", SEEDS, |world| {
        let storms = world.spells(15.0, 0.8);
        let releases = world.periodic(30.0, 0.0);
        let inner = storms.clone();
        world.tenant(PERIODIC_30, &releases, move |_, at, random| {
            let times = if within(&inner, at) { 2.5 } else { 1.0 };
            (LogNormal::new(9f64.ln(), 0.1).unwrap().sample(random) * times, 0)
        });
        let releases = world.poisson(12.0);
        world.tenant(Arrival::Poisson { hz: 12.0 }, &releases, move |_, at, random| {
            let times = if within(&storms, at) { 4.0 } else { 1.0 };
            (LogNormal::new(8f64.ln(), 0.1).unwrap().sample(random) * times, 0)
        });
    });
}

#[test]
fn a_tenant_that_is_slowed_by_another_did_not_slow_it() {
    few("a co-runner that waits for the slow frames", SEEDS, |world| {
        let spells = world.spells(8.0, 1.0);
        let releases = world.poisson(30.0);
        let served = world.tenant(Arrival::Poisson { hz: 30.0 }, &releases, |_, at, random| {
            let times = if within(&spells, at) { 2.2 } else { 1.0 };
            (LogNormal::new(9f64.ln(), 0.15).unwrap().sample(random) * times, 0)
        });
        let releases = world.poisson(15.0);
        world.tenant(Arrival::Poisson { hz: 15.0 }, &releases, |_, at, random| {
            // It proceeds at a third of its speed while the first is in service.
            let mut left = LogNormal::new(6f64.ln(), 0.2).unwrap().sample(random) / 1e3;
            let mut now = at;
            while left > 0.0 {
                let other = served.iter().find(|(_, to)| *to > now);
                let (speed, until) = match other {
                    Some(&(from, to)) if from <= now => (1.0 / 3.0, to),
                    Some(&(from, _)) => (1.0, from),
                    None => (1.0, f64::INFINITY),
                };
                let step = (left / speed).min(until - now).max(1e-9);
                left -= step * speed;
                now += step;
            }
            ((now - at) * 1e3, 0)
        });
    });
}

#[test]
fn a_rhythm_of_its_own_content_is_not_laid_to_a_co_runner_that_is_released_in_step() {
    let in_step = |world: &mut World| {
        let releases = world.periodic(30.0, 0.0);
        world.tenant(PERIODIC_30, &releases, |number, _, random| {
            let slow = number % 3 == 0 && random.next_u64() % 20 == 0;
            let noise: f64 = Normal::new(9.0, 0.4).unwrap().sample(random);
            (if slow { 3.0 * noise } else { noise }, 0)
        });
        let releases = world.periodic(10.0, 0.0);
        world.tenant(at_10(0.0), &releases, |_, _, random| {
            (Normal::new(16.0, 2.0).unwrap().sample(random), 0)
        });
    };
    few("every third frame by itself, releases locked", SEEDS, in_step);
    let mut world = World::new(1, 60.0);
    in_step(&mut world);
    let slowest = world.summary().tenants.remove(0).slowest;
    assert!(
        slowest.iter().any(|slow| slow.cause == Some("locked")),
        "it is said that it cannot be told: {slowest:?}"
    );
}

#[test]
fn a_co_runner_at_half_the_rate_is_not_blamed_because_every_other_frame_was_looked_at() {
    few("half the rate, two minutes", 50, |world| {
        world.seconds = 120.0;
        let releases = world.periodic(30.0, 0.0);
        world.tenant(PERIODIC_30, &releases, |_, _, random| {
            (LogNormal::new(6f64.ln(), 0.5).unwrap().sample(random), 0)
        });
        let releases = world.periodic(15.0, 1.0 / 30.0);
        let half = Arrival::Periodic {
            hz: 15.0,
            phase: ms(1e3 / 30.0),
            jitter: Nanos::ZERO,
        };
        world.tenant(half, &releases, |_, _, random| {
            (Normal::new(12.0, 1.0).unwrap().sample(random), 0)
        });
    });
}

#[test]
fn waiting_in_line_is_laid_to_no_circumstance() {
    few("queues at nine tenths of what can be served", SEEDS, |world| {
        let long = LatencyModel::LogNormal {
            median: ms(25.0),
            sigma: 0.6,
        };
        let other = LatencyModel::LogNormal {
            median: ms(12.0),
            sigma: 0.4,
        };
        let arrivals = [Arrival::Poisson { hz: 30.0 }, Arrival::Poisson { hz: 25.0 }];
        world.simulated(
            Sharing::Streams,
            0.0,
            &[(long, arrivals[0]), (other, arrivals[1])],
        );
    });
}

#[test]
fn four_tenants_have_more_candidates_and_no_more_causes() {
    few("four tenants", SEEDS, |world| {
        for hz in [30.0, 24.0, 20.0, 17.0] {
            let releases = world.poisson(hz);
            world.tenant(Arrival::Poisson { hz }, &releases, |_, _, random| {
                let input = LogNormal::new(100_000f64.ln(), 0.25).unwrap().sample(random);
                (
                    LogNormal::new(8f64.ln(), 0.6).unwrap().sample(random),
                    input as u32,
                )
            });
        }
        let low = world.spells(6.0, 0.5);
        world.clock(|at, _| if within(&low, at) { 1100.0 } else { 1300.0 });
        let hot = world.spells(8.0, 0.4);
        world.throttle(|at, _| within(&hot, at));
    });
}

#[test]
fn a_co_runner_whose_long_frames_share_the_device_is_found() {
    found("long frames of a co-runner", "co-runner", 50, 45, |world| {
        let camera = LatencyModel::Normal {
            mean: ms(9.0),
            sd: ms(0.5),
        };
        let lidar = LatencyModel::Bimodal {
            fast: ms(4.0),
            slow: ms(80.0),
            slow_share: 0.15,
        };
        world.simulated(
            Sharing::Streams,
            2.0,
            &[(camera, PERIODIC_30), (lidar, Arrival::Poisson { hz: 1.5 })],
        );
    });
}

#[test]
fn a_co_runner_whose_turn_is_long_is_found() {
    found("long turns of a co-runner", "co-runner", 50, 45, |world| {
        let camera = LatencyModel::Normal {
            mean: ms(9.0),
            sd: ms(0.5),
        };
        let lidar = LatencyModel::Bimodal {
            fast: ms(4.0),
            slow: ms(60.0),
            slow_share: 0.03,
        };
        world.simulated(
            Sharing::Exclusive,
            0.0,
            &[(camera, PERIODIC_30), (lidar, Arrival::Poisson { hz: 10.0 })],
        );
    });
}

#[test]
fn a_clock_that_falls_for_a_moment_is_found() {
    for (spells, least) in [(1, 40), (4, 48)] {
        found(
            &format!("{spells} falls of the clock"),
            "low-clock",
            50,
            least,
            |world| {
                let low: Spells = (0..spells)
                    .map(|which| {
                        let at = (f64::from(which) + world.uniform()) * 50.0 / f64::from(spells) + 3.0;
                        (at, at + 0.8)
                    })
                    .collect();
                let releases = world.periodic(30.0, 0.0);
                let inner = low.clone();
                world.tenant(PERIODIC_30, &releases, move |_, at, random| {
                    let times = if within(&inner, at) { 1.8 } else { 1.0 };
                    (LogNormal::new(9f64.ln(), 0.08).unwrap().sample(random) * times, 0)
                });
                let releases = world.poisson(10.0);
                world.tenant(Arrival::Poisson { hz: 10.0 }, &releases, |_, _, random| {
                    (LogNormal::new(6f64.ln(), 0.1).unwrap().sample(random), 0)
                });
                world.clock(|at, _| if within(&low, at) { 700.0 } else { 1300.0 });
            },
        );
    }
}

#[test]
fn larger_inputs_that_take_longer_are_found() {
    found("larger inputs", "larger-input", 50, 48, |world| {
        let releases = world.periodic(30.0, 0.0);
        world.tenant(PERIODIC_30, &releases, |_, _, random| {
            let large = random.next_u64() % 200 == 0;
            let noise: f64 = Normal::new(9.0, 0.4).unwrap().sample(random);
            if large {
                (2.0 * noise, 200_000)
            } else {
                (noise, 100_000)
            }
        });
        let releases = world.poisson(10.0);
        world.tenant(Arrival::Poisson { hz: 10.0 }, &releases, |_, _, random| {
            (LogNormal::new(6f64.ln(), 0.1).unwrap().sample(random), 0)
        });
    });
}
