//! Runs whose frames have sizes: one tenant that serves the sweeps of a drive, one after another.
//!
//! What a frame costs is known here, which the simulated device does not know of sizes: a part for each thousand points, and
//! beside it noise, content, a changing clock, a co-runner and the wait for earlier frames.

use std::collections::VecDeque;

use jetlag::record::{Event, FrameRecord, Outcome, PhaseRecord, Stage};
use jetlag::units::{Nanos, Stamp};
use rand_distr::{Distribution, Exp1, StandardNormal};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

use crate::world::ms;

/// Points of a usual sweep, and how much sweeps differ (standard deviation).
const POINTS: f64 = 30_000.0;
const DIFFER: f64 = 2_000.0;

/// How something changes along the drive, in units of its usual spread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Course {
    /// Not at all.
    Level,
    /// By so much from the beginning to the end.
    Ramp(f64),
    /// By so much at once, when half of the drive is over.
    Step(f64),
    /// By so much, there and back, so many times.
    Waves(f64, f64),
}

impl Course {
    fn at(self, share: f64) -> f64 {
        match self {
            Course::Level => 0.0,
            Course::Ramp(by) => by * share,
            Course::Step(by) => by * f64::from(u8::from(share >= 0.5)),
            Course::Waves(by, times) => by * (std::f64::consts::TAU * times * share).sin(),
        }
    }

    fn mean(self) -> f64 {
        match self {
            Course::Level | Course::Waves(..) => 0.0,
            Course::Ramp(by) | Course::Step(by) => by / 2.0,
        }
    }
}

/// What the service has beside its median.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Noise {
    /// Its logarithm is normal with this standard deviation, and resembles that of the frame before by this much.
    LogNormal(f64, f64),
    /// One frame in a hundred takes longer by a multiple of the median with a Pareto tail of this exponent.
    Pareto(f64),
}

/// A kind of drive.
#[derive(Clone, Debug)]
pub(crate) struct Drive {
    pub(crate) hz: f64,
    pub(crate) seconds: i64,
    /// Whether sweeps come at random moments.
    pub(crate) poisson: bool,
    /// How much the size of a sweep resembles that of the one before.
    pub(crate) resemble: f64,
    /// Whether the logarithm of sizes is normal, and not sizes themselves.
    pub(crate) skewed: bool,
    pub(crate) sizes: Course,
    /// After so many sweeps the drive begins again.
    pub(crate) lap: Option<usize>,
    /// What contents cost beside their size, ms (standard deviation), and how much they resemble the one before.
    pub(crate) content: (f64, f64),
    /// Median service, ms.
    pub(crate) service: f64,
    pub(crate) noise: Noise,
    /// What a thousand points cost, ms.
    pub(crate) per_1000: f64,
    /// The share by which everything becomes slower along the drive.
    pub(crate) slower: Course,
    /// A co-runner slows frames down by this share while it is busy: its share of the time goes with `sizes`.
    pub(crate) beside: f64,
    /// Frames that may wait; the oldest is dropped. All of them, where there is no limit.
    pub(crate) queue: Option<usize>,
}

impl Drive {
    /// Ten sweeps a second for a minute, nothing special about them.
    pub(crate) const PLAIN: Drive = Drive {
        hz: 10.0,
        seconds: 60,
        poisson: false,
        resemble: 0.0,
        skewed: false,
        sizes: Course::Level,
        lap: None,
        content: (0.0, 0.0),
        service: 20.0,
        noise: Noise::LogNormal(0.1, 0.0),
        per_1000: 0.0,
        slower: Course::Level,
        beside: 0.0,
        queue: None,
    };

    /// By which factor frames are slower on average than at the beginning.
    pub(crate) fn mean_slower(&self) -> f64 {
        let beside = self.beside * (BUSY + BUSIER * self.sizes.mean());
        (1.0 + self.slower.mean()) * (1.0 + beside)
    }

    /// Whether frames wait for those before them.
    pub(crate) fn waits(&self) -> bool {
        self.service * self.hz > 500.0
    }

    /// The frames of a drive, in the order in which they end, and the end.
    pub(crate) fn events(&self, seed: u64) -> Vec<Event> {
        let mut random = Pcg64::seed_from_u64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let n = (self.hz * self.seconds as f64) as usize;
        let sweeps = self.sweeps(self.lap.unwrap_or(n), &mut random);
        let releases = self.releases(n, &mut random);
        let costs = self.costs(&sweeps, n, &mut random);
        let end = Stamp(0) + Nanos::from_secs(self.seconds);
        let mut events = served(&releases, self.queue, end, |n, mut frame| {
            let sweep = &sweeps[n % sweeps.len()];
            let [preprocess, compute, postprocess] = costs[n].map(ms);
            frame.source_index = (n % sweeps.len()) as u64;
            frame.input_size = sweep.points as u32;
            frame.stages[Stage::Preprocess as usize] = Some(preprocess);
            frame.stages[Stage::Compute as usize] = Some(compute);
            frame.stages[Stage::Postprocess as usize] = Some(postprocess);
            frame.finished = frame.started + preprocess + compute + postprocess;
            frame
        });
        events.push(Event::Phase(PhaseRecord {
            epoch: Stamp(0),
            measured_from: Stamp(0),
            measured_to: end,
            ..PhaseRecord::default()
        }));
        events
    }

    fn sweeps(&self, count: usize, random: &mut Pcg64) -> Vec<Sweep> {
        let (of_size, of_content) = (
            resembling(count, self.resemble, random),
            resembling(count, self.content.1, random),
        );
        let sweep = |(n, (size, content)): (usize, (f64, f64))| {
            let along = self.sizes.at(n as f64 / count as f64);
            let differs = match self.skewed {
                true => (0.8 * size).exp() - 0.38f64.exp(),
                false => size,
            };
            Sweep {
                points: (POINTS + DIFFER * (differs + along))
                    .clamp(1_000.0, 200_000.0)
                    .round(),
                content: self.content.0 * content,
            }
        };
        of_size
            .into_iter()
            .zip(of_content)
            .enumerate()
            .map(sweep)
            .collect()
    }

    fn releases(&self, n: usize, random: &mut Pcg64) -> Vec<Stamp> {
        let mut at = 0.0;
        let releases = (0..n).map(|n| {
            if !self.poisson {
                return Stamp(0) + ms(n as f64 * 1e3 / self.hz);
            }
            let gap: f64 = Exp1.sample(random);
            at += gap * 1e3 / self.hz;
            Stamp(0) + ms(at)
        });
        releases.collect()
    }

    /// The stages of each frame in milliseconds. Preprocessing has a third of what points cost, postprocessing the rest.
    fn costs(&self, sweeps: &[Sweep], n: usize, random: &mut Pcg64) -> Vec<[f64; 3]> {
        let resemble = match self.noise {
            Noise::LogNormal(_, resemble) => resemble,
            Noise::Pareto(_) => 0.0,
        };
        let noise = resembling(n, resemble, random);
        let mut uniform = || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let mut busy = false;
        let mut cost = |(number, noise): (usize, f64)| {
            let share = number as f64 / n as f64;
            let sweep = &sweeps[number % sweeps.len()];
            let points = (sweep.points - POINTS) / 1e3 * self.per_1000;
            let own = match self.noise {
                Noise::LogNormal(sigma, _) => (sigma * noise).exp(),
                Noise::Pareto(_) if uniform() < 0.99 => (0.1 * noise).exp(),
                Noise::Pareto(exponent) => 1.0 + uniform().max(1e-6).powf(-1.0 / exponent),
            };
            // Stretches of ten frames on average.
            if uniform() < 0.1 {
                busy = uniform() < BUSY + BUSIER * self.sizes.at(share);
            }
            let beside = 1.0 + self.beside * f64::from(u8::from(busy));
            let slower = (1.0 + self.slower.at(share)) * beside;
            [
                0.1 * self.service + points / 3.0,
                0.7 * self.service * own + sweep.content,
                0.2 * self.service + points * 2.0 / 3.0,
            ]
            .map(|stage| (stage * slower * (0.99 + 0.02 * uniform())).max(0.001))
        };
        noise.into_iter().enumerate().map(&mut cost).collect()
    }
}

/// The share of the time in which a co-runner is busy, and what is added to it where sizes have grown by their usual spread.
const BUSY: f64 = 0.2;
const BUSIER: f64 = 0.1;

/// One sweep: its points, and what its content costs beside them, ms.
struct Sweep {
    points: f64,
    content: f64,
}

/// Normal numbers that resemble the one before by so much.
fn resembling(count: usize, resemble: f64, random: &mut Pcg64) -> Vec<f64> {
    let mut value: f64 = StandardNormal.sample(random);
    let mut next = |_| {
        let new: f64 = StandardNormal.sample(random);
        value = resemble * value + (1.0 - resemble * resemble).sqrt() * new;
        value
    };
    (0..count).map(&mut next).collect()
}

/// Frames that are served one after another, and those that are dropped; `served` fills in a frame that was started.
fn served(
    releases: &[Stamp],
    queue: Option<usize>,
    end: Stamp,
    serve: impl Fn(usize, FrameRecord) -> FrameRecord,
) -> Vec<Event> {
    let mut events = Vec::with_capacity(releases.len() + 1);
    let mut waiting: VecDeque<usize> = VecDeque::new();
    let mut free = Stamp(0);
    let far = Stamp(i64::MAX);
    let arrivals = releases.iter().copied().enumerate().map(|(n, at)| (Some(n), at));
    for (arrived, at) in arrivals.chain([(None, far)]) {
        while let Some(&n) = waiting.front() {
            let started = releases[n].max(free);
            if started > at.min(end) {
                break;
            }
            waiting.pop_front();
            let frame = serve(
                n,
                FrameRecord {
                    started,
                    ..released(n, releases[n])
                },
            );
            free = frame.finished;
            events.push(Event::Frame(frame));
        }
        waiting.extend(arrived);
        while queue.is_some_and(|queue| waiting.len() > queue.max(1)) {
            let Some(n) = waiting.pop_front() else { break };
            events.push(Event::Frame(FrameRecord {
                outcome: Outcome::Dropped,
                started: at,
                finished: at,
                ..released(n, releases[n])
            }));
        }
    }
    events
}

fn released(number: usize, at: Stamp) -> FrameRecord {
    FrameRecord {
        sequence: number as u64,
        ..FrameRecord::completed(at, at)
    }
}
