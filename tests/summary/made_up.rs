//! Runs that never happened: a manifest and events with known answers.

use crate::common::planned::Planned as _;
use jetlag::analysis::compare::{RunSample, RunSampler};
use jetlag::analysis::{Summarizer, Summary};
use jetlag::record::{
    Event, FrameRecord, Manifest, OVERHEAD_TENANT, Phase, PhaseRecord, SampleRecord, Stage, Subject,
    TenantManifest,
};
use jetlag::scenario::{Arrival, Overload, Scenario, Telemetry, Tenant};
use jetlag::units::{Nanos, Stamp};

use crate::summary::facts;

/// Where the measured time starts; not zero, so that stamps and durations cannot be mixed up unseen.
pub(crate) const START: Stamp = Stamp(5_000_000_000);

pub(crate) fn ms(ms: f64) -> Nanos {
    Nanos((ms * 1e6).round() as i64)
}

/// Releases at this rate, from the start and without jitter.
pub(crate) const fn periodic(hz: f64) -> Arrival {
    Arrival::Periodic {
        hz,
        phase: Nanos::ZERO,
        jitter: Nanos::ZERO,
    }
}

/// A periodic tenant with a deadline.
pub(crate) fn tenant(name: &str, hz: f64, deadline_ms: f64) -> Tenant {
    Tenant {
        name: name.to_owned(),
        arrival: periodic(hz),
        deadline: Some(ms(deadline_ms)),
        overload: Overload::DropOldest { queue: 2 },
        batch: Default::default(),
        missing: Default::default(),
        gpu: Default::default(),
        ..Tenant::default()
    }
}

/// A run of these tenants, planned for `seconds`.
pub(crate) fn manifest(seconds: i64, tenants: Vec<Tenant>) -> Manifest {
    Manifest {
        schema_major: 1,
        schema_minor: 0,
        jetlag_version: "0.0.0".to_owned(),
        tenants: tenants
            .iter()
            .map(|tenant| TenantManifest {
                name: tenant.name.clone(),
                backend: "cpu".to_owned(),
                detector: Some(format!("demo-{}", tenant.name)),
                ..TenantManifest::default()
            })
            .collect(),
        anchor: Stamp(0),
        subject: Subject::from(Scenario {
            name: "two-detectors".to_owned(),
            duration: Nanos::from_secs(seconds),
            seed: 7,
            telemetry: Telemetry {
                interval: Nanos::from_millis(100),
                sources: None,
            },
            mps: Default::default(),
            tenants,
            ..Scenario::default()
        }),
        ..Manifest::default()
    }
}

/// A completed frame of tenant 0, released `at` after the start, that waited and then was served.
pub(crate) fn frame(sequence: u64, at: Nanos, waited: Nanos, service: Nanos) -> FrameRecord {
    let released = START + at;
    FrameRecord {
        sequence,
        source_index: sequence,
        started: released + waited,
        ..FrameRecord::completed(released, released + waited + service)
    }
}

/// The end of a tenant's measurement after `seconds`.
pub(crate) fn end(tenant: u16, phase: Phase, seconds: i64) -> PhaseRecord {
    PhaseRecord {
        tenant,
        phase,
        epoch: START - Nanos::from_secs(1),
        measured_from: START,
        measured_to: START + Nanos::from_secs(seconds),
        ..PhaseRecord::default()
    }
}

/// The summary of events under a manifest.
pub(crate) fn summarize(manifest: &Manifest, events: &[Event]) -> Summary {
    let mut summarizer = Summarizer::new(manifest);
    events.iter().for_each(|event| summarizer.push(event));
    let summary = summarizer.finish(None);
    facts::are_documented(&summary);
    summary
}

/// One tenant whose frames, a second apart so that none waits, had these response times.
pub(crate) fn with_responses(responses: &[Nanos]) -> Summary {
    let mut events: Vec<Event> = responses
        .iter()
        .zip(0..)
        .map(|(&response, i)| Event::Frame(frame(i, Nanos::from_secs(i as i64), Nanos::ZERO, response)))
        .collect();
    let seconds = responses.len() as i64;
    events.push(Event::Phase(end(0, Phase::Together, seconds)));
    summarize(&manifest(seconds, vec![tenant("camera", 1.0, 33.0)]), &events)
}

/// Like the demo: a camera at 30 Hz and a LiDAR at 10 Hz for `seconds`, with stages, a baseline, jetlag's
/// own cost and host samples. The wobble is arithmetic, not random, so that golden files never change.
pub(crate) fn demo(seconds: i64) -> (Manifest, Vec<Event>) {
    let mut manifest = manifest(
        seconds,
        vec![tenant("camera", 30.0, 33.0), tenant("lidar", 10.0, 100.0)],
    );
    manifest.plan().baseline.alone = true;
    manifest.plan().expect = [
        "camera.response.p99 < 33ms",
        "lidar.miss_rate < 1%",
        "camera.throughput >= 29.5",
    ]
    .map(str::to_owned)
    .to_vec();
    let mut events = Vec::new();
    for i in 0..1000 {
        let mut own = frame(
            i,
            Nanos(i as i64 * 100_000),
            Nanos::ZERO,
            Nanos(2_900 + wobble(i, 1500)),
        );
        (own.tenant, own.phase) = (OVERHEAD_TENANT, Phase::Overhead);
        events.push(Event::Frame(own));
    }
    for (tenant, hz, base) in [(0u16, 30, 9.0), (1, 10, 27.0)] {
        for phase in [Phase::Alone, Phase::Together] {
            for i in 0..(seconds * hz) as u64 {
                events.push(Event::Frame(demo_frame(tenant, phase, i, hz, base)));
            }
            events.push(Event::Phase(end(tenant, phase, seconds)));
        }
    }
    for i in 0..seconds * 10 {
        for (signal, value, unit) in [
            ("cpu_load", 61.0 + (i % 7) as f64, "percent"),
            ("own_cpu_load", 57.0 + (i % 5) as f64, "percent"),
            ("memory_used", 1.4e9, "bytes"),
        ] {
            events.push(Event::Sample(SampleRecord {
                at: START + Nanos::from_millis(100 * i),
                source: "host".to_owned(),
                signal: signal.to_owned(),
                value: Some(value),
                unit: unit.to_owned(),
            }));
        }
    }
    (manifest, events)
}

fn demo_frame(tenant: u16, phase: Phase, i: u64, hz: i64, base_ms: f64) -> FrameRecord {
    let slower = if phase == Phase::Together { 1.32 } else { 1.0 };
    let compute = ms(base_ms * slower) + Nanos(wobble(i, 2_500_000));
    // Now and then the other one is in the way.
    let compute = if phase == Phase::Together && i % 53 == 7 {
        compute * 3
    } else {
        compute
    };
    let stages = [
        (Stage::Acquire, Nanos(1_000 + wobble(i, 900))),
        (Stage::Preprocess, ms(1.1) + Nanos(wobble(i + 3, 200_000))),
        (Stage::Compute, compute),
        (Stage::Postprocess, ms(0.31) + Nanos(wobble(i + 9, 90_000))),
    ];
    let service = stages.iter().fold(Nanos(4_000), |sum, &(_, took)| sum + took);
    let lateness = Nanos(60_000 + wobble(i, 50_000));
    let mut frame = frame(i, Nanos(i as i64 * (1_000_000_000 / hz)), lateness, service);
    for (stage, took) in stages {
        let place = Stage::ALL
            .iter()
            .position(|&s| s == stage)
            .expect("a stage is one of all");
        frame.stages[place] = Some(took);
    }
    frame.tenant = tenant;
    frame.phase = phase;
    frame.lateness = lateness;
    frame.deadline = Some(if tenant == 0 { ms(33.0) } else { ms(100.0) });
    frame.detections = (i % 4) as u32;
    frame
}

/// A fixed scatter of 0 up to `range`.
fn wobble(i: u64, range: i64) -> i64 {
    (i.wrapping_mul(2_654_435_761) >> 7) as i64 % range
}

/// A sample of what is compared of a run.
pub(crate) fn sample(manifest: &Manifest, events: &[Event]) -> RunSample {
    let (mut summarizer, mut sampler) = (Summarizer::new(manifest), RunSampler::new(manifest));
    for event in events {
        summarizer.push(event);
        sampler.push(event);
    }
    sampler.finish(summarizer.finish(None))
}
