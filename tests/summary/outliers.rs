//! The slowest frames and their causes, on runs in which the cause was injected, and on runs that have none.

use jetlag::analysis::Summary;
use jetlag::analysis::summary::SlowFrame;
use jetlag::record::{
    Device, Event, FrameRecord, Measurand, Outcome, Phase, SampleRecord, SignalRecord, Stage,
};
use jetlag::units::Nanos;
use rand_distr::{Distribution, LogNormal, Uniform};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;

use crate::summary::made_up::{self, START, ms, tenant};

const SECONDS: i64 = 60;
const COMPUTE: usize = Stage::Compute as usize;

/// A camera at 30 Hz and a LiDAR at 10 Hz whose service scatters by itself, each frame changed by `change` before it
/// takes its place in time; frames of a tenant are served one after another.
struct Run {
    seed: u64,
    sigma: f64,
    device: Device,
    events: Vec<Event>,
}

impl Run {
    fn new(seed: u64, sigma: f64) -> Self {
        Run {
            seed,
            sigma,
            device: Device::Gpu(0),
            events: Vec::new(),
        }
    }

    /// Adds the two tenants; `slower` tells by how much a frame's compute is multiplied.
    fn frames(&mut self, slower: impl Fn(&FrameRecord) -> f64) -> &mut Self {
        let mut random = Pcg64::seed_from_u64(self.seed);
        let inputs = Uniform::new(90_000u32, 110_000).expect("a range");
        for (number, hz, median) in [(0u16, 30, 9.0f64), (1, 10, 6.0)] {
            let services = LogNormal::new(median.ln(), self.sigma).expect("a sigma");
            let mut free = START;
            for i in 0..(SECONDS * hz) as u64 {
                let at = Nanos(i as i64 * 1_000_000_000 / hz);
                let mut frame = made_up::frame(i, at, Nanos::ZERO, Nanos::ZERO);
                frame.tenant = number;
                frame.input_size = inputs.sample(&mut random);
                if i % 211 == 100 {
                    frame.input_size *= 2;
                }
                frame.started = frame.released.max(free);
                let compute = ms(services.sample(&mut random) * slower(&frame));
                frame.stages[COMPUTE] = Some(compute);
                frame.finished = frame.started + compute + Nanos::from_micros(20);
                free = frame.finished;
                self.events.push(Event::Frame(frame));
            }
            self.events
                .push(Event::Phase(made_up::end(number, Phase::Together, SECONDS)));
        }
        // As a recorder finds them.
        self.events.sort_by_key(|event| match event {
            Event::Frame(frame) => (0, frame.finished),
            _ => (1, START),
        });
        self
    }

    /// Adds readings of a signal at 10 Hz.
    fn signal(&mut self, source: &str, signal: &str, unit: &str, value: impl Fn(f64) -> f64) -> &mut Self {
        self.events.push(Event::Signal(SignalRecord {
            source: source.to_owned(),
            signal: signal.to_owned(),
            unit: unit.to_owned(),
            measurand: Measurand::of_names(source, signal, unit),
            ..SignalRecord::default()
        }));
        for i in 0..SECONDS * 10 {
            self.events.push(Event::Sample(SampleRecord {
                at: START + Nanos::from_millis(100 * i),
                source: source.to_owned(),
                signal: signal.to_owned(),
                value: Some(value(i as f64 / 10.0)),
                unit: unit.to_owned(),
            }));
        }
        self
    }

    fn summary(&self) -> Summary {
        let tenants = vec![tenant("camera", 30.0, 33.0), tenant("lidar", 10.0, 100.0)];
        let mut manifest = made_up::manifest(SECONDS, tenants);
        for tenant in &mut manifest.tenants {
            tenant.device = Some(self.device);
        }
        made_up::summarize(&manifest, &self.events)
    }

    /// What is told of the camera.
    fn camera(&self) -> Vec<SlowFrame> {
        self.summary().tenants.remove(0).slowest
    }
}

fn seconds(frame: &FrameRecord) -> f64 {
    (frame.started - START).as_secs_f64()
}

#[test]
fn a_stall_is_one_incident_with_all_that_waited_and_nobody_is_blamed() {
    let slowest = Run::new(1, 0.05)
        .frames(|frame| {
            if frame.tenant == 0 && frame.sequence == 900 {
                56.0
            } else {
                1.0
            }
        })
        .camera();
    let stall = &slowest[0];
    assert_eq!(
        (stall.sequence, stall.cause, stall.beyond_spread),
        (900, None, true)
    );
    // 500 ms at 30 Hz: the frame itself, and those that waited until the backlog had worn off.
    assert!((15..=30).contains(&stall.frames), "{}", stall.frames);
    assert_eq!(stall.grew.name, "compute");
    assert!((480.0..540.0).contains(&stall.grew.ms) && (8.0..10.0).contains(&stall.grew.usual_ms));
    assert!(
        slowest[1..]
            .iter()
            .all(|slow| !slow.beyond_spread && slow.cause.is_none()),
        "{slowest:?}"
    );
}

#[test]
fn a_throttle_in_the_telemetry_is_named() {
    let hot = |t: f64| (20.0..20.5).contains(&t) || (40.0..40.4).contains(&t);
    let slowest = Run::new(2, 0.05)
        .frames(|frame| if hot(seconds(frame)) { 2.5 } else { 1.0 })
        .signal("nvml", "gpu0_throttle_reasons", "bits", |t| {
            if hot(t) { 64.0 } else { 0.0 }
        })
        .signal(
            "nvml",
            "gpu0_temperature",
            "c",
            |t| if hot(t) { 91.0 } else { 70.0 },
        )
        .camera();
    let far: Vec<&SlowFrame> = slowest.iter().filter(|slow| slow.beyond_spread).collect();
    assert!(far.len() >= 3, "{slowest:?}");
    // A reading every 100 ms does not tell on which side of the edge a frame at it was.
    let named = far.iter().filter(|slow| slow.cause == Some("throttled"));
    assert!(named.count() + 1 >= far.len(), "{far:?}");
    assert_eq!((far[0].throttled, far[0].temperature_c), (Some(true), Some(91.0)));
}

#[test]
fn a_clock_that_fell_is_named_where_no_throttling_was_told() {
    let low = |t: f64| (30.0..31.0).contains(&t);
    let slowest = Run::new(3, 0.05)
        .frames(|frame| if low(seconds(frame)) { 2.0 } else { 1.0 })
        .signal(
            "gpu",
            "gpu_frequency",
            "mhz",
            |t| if low(t) { 612.0 } else { 1300.0 },
        )
        .camera();
    assert_eq!(slowest[0].cause, Some("low-clock"), "{slowest:?}");
    assert_eq!(
        (slowest[0].clock_mhz, slowest[0].usual_clock_mhz),
        (Some(612.0), Some(1300.0))
    );
    assert_eq!(slowest[0].throttled, None);
}

#[test]
fn a_gpus_clock_is_no_cause_for_a_tenant_that_does_not_execute_on_it() {
    let low = |t: f64| (30.0..31.0).contains(&t);
    for device in [Device::Host, Device::None, Device::Gpu(1)] {
        let mut run = Run::new(3, 0.05);
        run.device = device;
        let slowest = run
            .frames(|frame| if low(seconds(frame)) { 2.0 } else { 1.0 })
            .signal("nvml", "gpu0_sm_frequency", "mhz", |t| {
                if low(t) { 612.0 } else { 1300.0 }
            })
            .signal("nvml", "gpu0_throttle_reasons", "bits", |t| {
                if low(t) { 64.0 } else { 0.0 }
            })
            .camera();
        assert_eq!(
            (slowest[0].beyond_spread, slowest[0].cause),
            (true, None),
            "{slowest:?}"
        );
        assert_eq!((slowest[0].clock_mhz, slowest[0].throttled), (None, None));
    }
}

#[test]
fn a_co_runners_burst_is_named() {
    // Every six seconds the LiDAR is busy for 100 ms, and the camera slow meanwhile.
    let slowest = Run::new(4, 0.05)
        .frames(|frame| {
            let in_burst = (0.0..0.1).contains(&(seconds(frame) % 6.0));
            match (frame.tenant, in_burst) {
                (0, true) => 2.6,
                (1, true) => 15.0,
                _ => 1.0,
            }
        })
        .camera();
    let far: Vec<&SlowFrame> = slowest.iter().filter(|slow| slow.beyond_spread).collect();
    assert!(far.len() >= 5, "{slowest:?}");
    let named: Vec<&&SlowFrame> = far
        .iter()
        .filter(|slow| slow.cause == Some("co-runner"))
        .collect();
    assert!(named.len() * 10 >= far.len() * 8, "{far:?}");
    assert_eq!(named[0].co_runners[0].tenant, "lidar");
    assert!(named[0].co_runners[0].active > 0.9 && named[0].co_runners[0].usually < 0.4);
}

#[test]
fn a_larger_input_is_named() {
    let slowest = Run::new(5, 0.05)
        .frames(|frame| f64::from(frame.input_size) / 100_000.0)
        .camera();
    for slow in &slowest {
        assert_eq!(slow.cause, Some("larger-input"), "{slow:?}");
        assert!(slow.input_size.unwrap() > 180_000 && slow.usual_input_size.unwrap() < 110_000);
    }
}

#[test]
fn a_late_release_and_a_backlog_are_told_apart_from_slow_work() {
    let mut run = Run::new(6, 0.05);
    run.frames(|_| 1.0);
    for event in &mut run.events {
        let Event::Frame(frame) = event else { continue };
        if frame.tenant == 0 && frame.sequence == 333 {
            frame.lateness = ms(80.0);
            frame.started = frame.started + frame.lateness;
            frame.finished = frame.finished + frame.lateness;
        }
    }
    let slowest = run.camera();
    assert_eq!(
        (slowest[0].sequence, slowest[0].cause),
        (333, Some("late-release"))
    );
    // Ten frames at once, none of them slow.
    let mut run = Run::new(7, 0.05);
    run.frames(|_| 1.0);
    let mut free = None;
    for event in &mut run.events {
        let Event::Frame(frame) = event else { continue };
        if frame.tenant == 0 && (600..610).contains(&frame.sequence) {
            let released = START + Nanos::from_secs(20);
            let (started, service) = (free.unwrap_or(released), frame.service());
            (frame.released, frame.started, frame.finished) = (released, started, started + service);
            free = Some(frame.finished);
        }
    }
    let slowest = run.camera();
    assert_eq!(slowest[0].cause, Some("backlog"), "{:?}", slowest[0]);
    assert_eq!(slowest[0].grew.name, "wait");
}

#[test]
fn frames_that_waited_are_told_with_the_frame_that_held_them_up() {
    // The stalled frame is not among those completed in time to be the slowest: the one behind it started late.
    let mut run = Run::new(8, 0.05);
    run.frames(|frame| {
        if frame.tenant == 0 && frame.sequence == 900 {
            30.0
        } else {
            1.0
        }
    });
    for event in &mut run.events {
        let Event::Frame(frame) = event else { continue };
        if frame.tenant == 0 && frame.sequence == 901 {
            // It was due before the one that it waited for, as after a reordering source.
            frame.released = frame.released - ms(60.0);
        }
    }
    let slowest = run.camera();
    assert_eq!((slowest[0].sequence, slowest[0].behind), (901, Some(900)));
    assert_eq!(slowest[0].cause, Some("waited"), "{:?}", slowest[0]);
}

#[test]
fn of_runs_without_a_cause_few_name_one() {
    const RUNS: u64 = 200;
    let mut named = 0;
    for seed in 0..RUNS {
        // A long tail by itself; inputs that vary, a co-runner, and a throttle now and then that slows nothing down.
        let slowest = Run::new(1_000 + seed, 0.8)
            .frames(|_| 1.0)
            .signal("nvml", "gpu0_throttle_reasons", "bits", |t| {
                if (t * 10.0).round() as u64 % 97 == seed % 97 {
                    4.0
                } else {
                    0.0
                }
            })
            .signal("nvml", "gpu0_sm_frequency", "mhz", |t| {
                1200.0 + 40.0 * ((t * 3.0).sin() + (seed as f64)).sin()
            })
            .camera();
        assert!(!slowest.is_empty());
        let blamed = ["throttled", "low-clock", "larger-input", "co-runner"];
        named += u64::from(
            slowest
                .iter()
                .any(|slow| slow.cause.is_some_and(|cause| blamed.contains(&cause))),
        );
    }
    println!("{named} of {RUNS} runs name a cause where there is none");
    assert!(named * 20 <= RUNS, "{named} of {RUNS}");
}

#[test]
fn few_frames_are_shown_and_not_judged_and_drops_are_not_among_them() {
    let responses: Vec<Nanos> = (0..20).map(|i| ms(if i == 7 { 90.0 } else { 9.0 })).collect();
    let slowest = made_up::with_responses(&responses).tenants.remove(0).slowest;
    assert_eq!(slowest[0].sequence, 7);
    assert!(!slowest[0].beyond_spread);
    let mut run = Run::new(9, 0.05);
    run.frames(|_| 1.0);
    for event in &mut run.events {
        if let Event::Frame(frame) = event {
            frame.outcome = Outcome::Dropped;
        }
    }
    assert!(run.camera().is_empty());
}
