//! Simulated runs in memory: the virtual clock's tenants, straight into the summary.

use std::sync::atomic::AtomicBool;

use jetlag::analysis::compare::{RunSample, RunSampler};
use jetlag::analysis::{Summarizer, Summary};
use jetlag::record::{Event, FrameRecord, Manifest, Outcome, Phase, PhaseSpec, Subject, TenantManifest};
use jetlag::scenario::{
    Arrival, BackendChoice, Baseline, Batch, ClockKind, LatencyModel, Overload, Scenario, Sharing, Telemetry,
    Tenant,
};
use jetlag::tenant::PhasePlan;
use jetlag::tenant::simulate::{self, SimTenant};
use jetlag::units::{Nanos, Stamp};
use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// How long inferences of a tenant take alone.
#[derive(Clone, Debug)]
pub(crate) enum Service {
    /// Each drawn by itself.
    Drawn(LatencyModel),
    /// Lognormal around a median in milliseconds, its logarithm autoregressive: sigma, phi.
    Repeating { median_ms: f64, sigma: f64, phi: f64 },
    /// One after another along a course.
    Along(Course),
}

/// How service times go on.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Course {
    /// Lognormal: half of the variance of the logarithm belongs to a machine that keeps so much of its speed from frame to frame, the
    /// other half to each frame.
    Wander { median_ms: f64, sigma: f64, keep: f64 },
    /// Each by itself, by a power law: beyond x times the shortest with probability x^−α.
    Pareto { mean_ms: f64, alpha: f64 },
    /// Two states with lognormal times each: slow for this share of frames, so many in a row on average.
    States {
        fast_ms: f64,
        slow_ms: f64,
        sigma: f64,
        share: f64,
        frames: f64,
    },
    /// Normal times, all of them slower by `slower` in a state that every tenant of the run shares: what a clock, a temperature or a
    /// third program does. Frames are taken to come at this rate.
    Shared {
        mean_ms: f64,
        sd_ms: f64,
        hz: f64,
        slower: f64,
        state: State,
    },
}

/// What all tenants of a run share, from 0 to 1 over its time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum State {
    /// On for the first half of each so many seconds.
    Square(f64),
    /// A sine of this period in seconds.
    Wave(f64),
    /// Rises over this many seconds and falls back, as temperatures that are regulated do.
    Sawtooth(f64),
    /// Rises over the run of this many seconds.
    Ramp(f64),
    /// On and off at random, so many seconds each on average: the same in every run.
    Random(f64),
}

impl State {
    fn at(self, seconds: f64) -> f64 {
        match self {
            State::Square(period) => f64::from(u8::from(seconds.rem_euclid(period) < period / 2.0)),
            State::Wave(period) => 0.5 + 0.5 * (std::f64::consts::TAU * seconds / period).sin(),
            State::Sawtooth(period) => (seconds / period).fract(),
            State::Ramp(run) => (seconds / run).min(1.0),
            State::Random(lasts) => {
                let mut random = Pcg64::seed_from_u64(1);
                let mut uniform = || ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
                let (mut until, mut on) = (0.0, false);
                while until <= seconds {
                    until -= lasts * uniform().ln();
                    on = !on;
                }
                f64::from(u8::from(on))
            }
        }
    }
}

impl Course {
    /// So many times.
    fn times(self, n: usize, seed: u64) -> Vec<Nanos> {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut normal = move || -> f64 { StandardNormal.sample(&mut random) };
        match self {
            Course::Wander {
                median_ms,
                sigma,
                keep,
            } => {
                let mut speed = normal();
                let next = |_| {
                    speed = keep * speed + (1.0 - keep * keep).sqrt() * normal();
                    ms(median_ms * (sigma * (speed + normal()) / std::f64::consts::SQRT_2).exp())
                };
                (0..n).map(next).collect()
            }
            Course::Pareto { mean_ms, alpha } => {
                let least_ms = mean_ms * (alpha - 1.0) / alpha;
                let mut chance = Pcg64::seed_from_u64(seed ^ 1);
                // Above 0, and at most 1.
                let mut uniform = move || ((chance.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
                (0..n)
                    .map(|_| ms(least_ms * uniform().powf(-1.0 / alpha)))
                    .collect()
            }
            Course::States {
                fast_ms,
                slow_ms,
                sigma,
                share,
                frames,
            } => {
                let mut chance = Pcg64::seed_from_u64(seed ^ 1);
                let mut uniform = move || (chance.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
                let (leaves, enters) = (1.0 / frames, share / (1.0 - share) / frames);
                let mut slow = uniform() < share;
                let next = |_| {
                    slow = uniform() < if slow { 1.0 - leaves } else { enters };
                    ms(if slow { slow_ms } else { fast_ms } * (sigma * normal()).exp())
                };
                (0..n).map(next).collect()
            }
            Course::Shared {
                mean_ms,
                sd_ms,
                hz,
                slower,
                state,
            } => {
                let next = |frame| {
                    let factor = 1.0 + slower * state.at(frame as f64 / hz);
                    ms((factor * (mean_ms + sd_ms * normal())).max(0.1))
                };
                (0..n).map(next).collect()
            }
        }
    }
}

/// One tenant of a kind of run.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) arrival: Arrival,
    pub(crate) service: Service,
    pub(crate) depth: usize,
    pub(crate) overload: Overload,
    /// Frames of an inference.
    pub(crate) batch: usize,
}

/// A kind of run.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) members: Vec<Member>,
    pub(crate) contention: f64,
    pub(crate) sharing: Sharing,
    pub(crate) seconds: i64,
    /// Measure each tenant alone as well.
    pub(crate) alone: bool,
}

pub(crate) fn ms(ms: f64) -> Nanos {
    Nanos((ms * 1e6).round() as i64)
}

pub(crate) fn periodic(hz: f64, phase_ms: f64, jitter_ms: f64) -> Arrival {
    Arrival::Periodic {
        hz,
        phase: ms(phase_ms),
        jitter: ms(jitter_ms),
    }
}

pub(crate) fn normal(mean_ms: f64, sd_ms: f64) -> Service {
    Service::Drawn(LatencyModel::Normal {
        mean: ms(mean_ms),
        sd: ms(sd_ms),
    })
}

pub(crate) fn lognormal(median_ms: f64, sigma: f64) -> Service {
    Service::Drawn(LatencyModel::LogNormal {
        median: ms(median_ms),
        sigma,
    })
}

pub(crate) fn bimodal(fast_ms: f64, slow_ms: f64, slow_share: f64) -> Service {
    Service::Drawn(LatencyModel::Bimodal {
        fast: ms(fast_ms),
        slow: ms(slow_ms),
        slow_share,
    })
}

/// Times that repeat after so many frames.
pub(crate) fn pattern(ms_each: &[f64]) -> Service {
    Service::Drawn(LatencyModel::Recorded {
        latencies: ms_each.iter().copied().map(ms).collect(),
    })
}

impl Member {
    pub(crate) fn new(arrival: Arrival, service: Service) -> Member {
        Member {
            arrival,
            service,
            depth: 1,
            overload: Overload::Queue { capacity: 100_000 },
            batch: 1,
        }
    }

    /// The same with so many frames an inference.
    pub(crate) fn in_batches_of(self, batch: usize) -> Member {
        Member { batch, ..self }
    }

    fn batch(&self) -> Batch {
        Batch {
            size: self.batch,
            ..Batch::default()
        }
    }
}

/// Measured time of a turn, in seconds.
const TURN_S: i64 = 2;

/// Where a tenant's response times are from.
#[derive(Clone, Copy)]
pub(crate) enum Side {
    /// The measurement.
    Measured,
    /// Its turns alone.
    Alone,
}

/// A seed for each use of a run's seed: no two draws share one.
fn mixed(seed: u64, tenant: u64, phase: u64) -> u64 {
    // SplitMix64's finaliser: close seeds become far ones.
    let mut z = seed
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(tenant << 32 | phase);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl World {
    /// A world in which one tenant runs alone.
    pub(crate) fn of_one(arrival: Arrival, service: Service, seconds: i64) -> World {
        World {
            members: vec![Member::new(arrival, service)],
            contention: 0.0,
            sharing: Sharing::Streams,
            seconds,
            alone: false,
        }
    }

    pub(crate) fn manifest(&self) -> Manifest {
        let names = ["camera", "lidar", "radar", "map"];
        let tenants: Vec<Tenant> = self
            .members
            .iter()
            .zip(names)
            .map(|(member, name)| Tenant {
                name: name.to_owned(),
                backend: BackendChoice::Sim(match &member.service {
                    Service::Drawn(model) => model.clone(),
                    Service::Repeating { median_ms, .. } => LatencyModel::Fixed {
                        latency: ms(*median_ms),
                    },
                    Service::Along(_) => LatencyModel::Fixed { latency: ms(1.0) },
                }),
                arrival: member.arrival,
                overload: member.overload,
                depth: member.depth,
                batch: member.batch(),
                record_detections: false,
                gpu: Default::default(),
                missing: Default::default(),
                ..Tenant::default()
            })
            .collect();
        Manifest {
            schema_major: 1,
            schema_minor: 0,
            jetlag_version: "0.0.0".to_owned(),
            tenants: tenants
                .iter()
                .map(|tenant| TenantManifest {
                    name: tenant.name.clone(),
                    backend: "sim".to_owned(),
                    ..TenantManifest::default()
                })
                .collect(),
            anchor: Stamp(0),
            subject: Subject::from(Scenario {
                name: "truth".to_owned(),
                duration: Nanos::from_secs(self.seconds),
                warmup: Nanos::from_secs(5),
                seed: 1,
                clock: ClockKind::Virtual,
                sharing: self.sharing,
                baseline: Baseline {
                    alone: self.alone,
                    ..Baseline::default()
                },
                telemetry: Telemetry {
                    interval: Nanos::from_millis(100),
                    sources: None,
                },
                mps: Default::default(),
                sim_contention: self.contention,
                tenants,
                ..Scenario::default()
            }),
            ..Manifest::default()
        }
    }

    /// All events of a run, phase by phase: the measurement, after as long a time of turns where the tenants run alone, too.
    pub(crate) fn events(&self, seed: u64) -> Vec<Event> {
        let mut events = Vec::new();
        let mut epoch = Stamp(0);
        let everyone: Vec<usize> = (0..self.members.len()).collect();
        let rounds = if self.alone { self.seconds / TURN_S / 2 } else { 0 };
        let cells = everyone
            .iter()
            .map(|&tenant| vec![tenant])
            .chain([everyone.clone()]);
        let cells: Vec<Vec<usize>> = cells.collect();
        let turns = (0..rounds as u16).flat_map(|round| {
            let mut order = cells.clone();
            if round % 2 == 1 {
                order.reverse();
            }
            order.into_iter().map(move |members| (Some(round), members))
        });
        for ((round, members), number) in turns.chain([(None, everyone.clone())]).zip(1..) {
            let (phase, seconds) = match round {
                Some(_) => (Phase::Other(number), TURN_S),
                None => (Phase::Together, self.seconds),
            };
            let measured_from = epoch
                + if round.is_some() {
                    Nanos::from_secs(1)
                } else {
                    Nanos::from_secs(5)
                };
            let plan = PhasePlan {
                phase,
                drawn_as: phase,
                traced: false,
                sharing: self.sharing,
                epoch,
                measured_from,
                end: measured_from + Nanos::from_secs(seconds),
            };
            events.push(Event::PhaseSpec(PhaseSpec {
                at: epoch,
                phase,
                sharing: format!("{:?}", self.sharing),
                members: members.iter().map(|&member| member as u16).collect(),
                round,
                ..PhaseSpec::default()
            }));
            let number = u64::from(number);
            let tenants: Vec<SimTenant> = members
                .iter()
                .map(|&tenant| self.simulated(tenant, mixed(seed, tenant as u64, number)))
                .collect();
            let ends = simulate::run(
                &tenants,
                self.contention,
                plan,
                &AtomicBool::new(false),
                |frame| events.push(Event::Frame(*frame)),
            );
            events.extend(ends.into_iter().map(Event::Phase));
            epoch = plan.end + Nanos::from_secs(1);
        }
        events
    }

    fn simulated(&self, tenant: usize, seed: u64) -> SimTenant {
        let member = &self.members[tenant];
        SimTenant {
            tenant: tenant as u16,
            model: match &member.service {
                Service::Drawn(model) => model.clone(),
                Service::Repeating {
                    median_ms,
                    sigma,
                    phi,
                } => LatencyModel::Recorded {
                    latencies: repeating(*median_ms, *sigma, *phi, self.most_frames(), seed),
                },
                Service::Along(course) => LatencyModel::Recorded {
                    latencies: course.times(self.most_frames(), seed),
                },
            },
            arrival: member.arrival,
            overload: member.overload,
            deadline: None,
            depth: member.depth,
            batch: member.batch(),
            frames: None,
            seed,
            timeline: None,
            length: None,
        }
    }

    /// More frames than a phase of a kind that takes its times one after another has.
    fn most_frames(&self) -> usize {
        const HZ: i64 = 200;
        ((self.seconds + 10) * HZ) as usize
    }

    /// The summary of the run of this seed.
    pub(crate) fn summary(&self, seed: u64) -> Summary {
        summarized(&self.manifest(), &self.events(seed))
    }

    /// What a comparison takes of the run of this seed.
    pub(crate) fn sample(&self, seed: u64) -> RunSample {
        let manifest = self.manifest();
        let (mut summarizer, mut sampler) = (Summarizer::new(&manifest), RunSampler::new(&manifest));
        for event in self.events(seed) {
            summarizer.push(&event);
            sampler.push(&event);
        }
        sampler.finish(summarizer.finish(None))
    }

    /// Response times of a tenant's measured frames in other runs of the same kind, sorted: what the truth is.
    pub(crate) fn responses(&self, tenant: u16, side: Side, seeds: u64) -> Vec<i64> {
        let mut all = Vec::new();
        for seed in 0..seeds {
            let mut is_of_it = false;
            for event in self.events(1_000_000 + seed) {
                match event {
                    Event::PhaseSpec(spec) => {
                        is_of_it = match side {
                            Side::Measured => spec.phase == Phase::Together,
                            Side::Alone => spec.members == [tenant],
                        };
                    }
                    Event::Frame(frame) if is_of_it && is_measured(&frame) && frame.tenant == tenant => {
                        all.push(frame.response().0);
                    }
                    _ => {}
                }
            }
        }
        all.sort_unstable();
        all
    }
}

fn is_measured(frame: &FrameRecord) -> bool {
    !frame.warmup && frame.outcome == Outcome::Completed
}

/// The summary of these events.
pub(crate) fn summarized(manifest: &Manifest, events: &[Event]) -> Summary {
    let mut summarizer = Summarizer::new(manifest);
    events.iter().for_each(|event| summarizer.push(event));
    summarizer.finish(None)
}

/// The value that a share `p` of these sorted values does not exceed, in milliseconds.
pub(crate) fn quantile_ms(sorted: &[i64], p: f64) -> f64 {
    let rank = ((sorted.len() as f64 * p).ceil() as usize).clamp(1, sorted.len());
    sorted[rank - 1] as f64 / 1e6
}

/// Lognormal times whose logarithm is autoregressive of the first order.
fn repeating(median_ms: f64, sigma: f64, phi: f64, n: usize, seed: u64) -> Vec<Nanos> {
    let mut random = Pcg64::seed_from_u64(seed);
    let mut x: f64 = StandardNormal.sample(&mut random);
    (0..n)
        .map(|_| {
            let noise: f64 = StandardNormal.sample(&mut random);
            x = phi * x + (1.0 - phi * phi).sqrt() * noise;
            ms(median_ms * (sigma * x).exp())
        })
        .collect()
}
