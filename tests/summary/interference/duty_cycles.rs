//! Sweeps of a rate: idle gaps, clocks, and the step that is the scenario's own.

use jetlag::record::{Event, Phase, SampleRecord, SweptRate};
use jetlag::scenario::{Arrival, DutyCycle, LatencyModel};
use jetlag::units::Nanos;

use super::{Run, manifest, sim, streams};
use crate::common::planned::Planned as _;
use crate::summary::made_up;

#[test]
fn a_sweep_shows_idle_gaps_and_the_clocks_of_each_step() {
    let mut manifest = manifest(&["camera"], None);
    manifest.plan().duty_cycle = Some(DutyCycle {
        tenant: "camera".into(),
        hz: vec![10.0, 50.0],
        closed: true,
    });
    let mut run = Run::of(&manifest, 6);
    let fixed = LatencyModel::Fixed {
        latency: Nanos::from_millis(10),
    };
    let steps = [
        (Phase::Other(1), Some(10.0), made_up::periodic(10.0), 600.0),
        (Phase::Together, Some(50.0), made_up::periodic(50.0), 900.0),
        (Phase::Other(2), None, Arrival::Closed, 1300.0),
    ];
    for (phase, hz, arrival, mhz) in steps {
        for tenth in 0..100 {
            // The closed loop's GPU clock was never read.
            if hz.is_some() {
                run.summarizer.push(&Event::Sample(SampleRecord {
                    at: run.epoch + Nanos::from_millis(100) * tenth,
                    source: "gpu".into(),
                    signal: "gpu_frequency".into(),
                    value: Some(if tenth == 7 { mhz - 100.0 } else { mhz }),
                    unit: "mhz".into(),
                }));
            }
        }
        let rate = Some(SweptRate { tenant: 0, hz });
        run.phase(
            phase,
            "Streams",
            rate,
            0.0,
            10,
            &[sim(0, fixed.clone(), arrival, 0)],
        );
    }
    let summary = run.finish();
    let duty = summary.duty_cycle.as_ref().expect("a sweep");
    let shown: Vec<(Option<f64>, Option<f64>, Option<f64>)> = duty
        .steps
        .iter()
        .map(|step| (step.hz, step.idle_share, step.response_ms.p50.value))
        .collect();
    assert_eq!(
        shown,
        [
            (Some(10.0), Some(0.9), Some(10.0)),
            (Some(50.0), Some(0.5), Some(10.0)),
            (None, Some(0.0), Some(10.0)),
        ]
    );
    let clock = duty.steps[0].gpu_clock.unwrap();
    assert_eq!((clock.mean_mhz, clock.min_mhz), (599.0, 500.0));
    assert!(duty.steps[2].gpu_clock.is_none() && duty.steps[0].cpu_clock.is_none());
}

#[test]
fn of_a_sweep_the_step_at_the_scenarios_own_rate_alone_is_a_cell() {
    let mut manifest = manifest(&["camera", "lidar"], streams());
    manifest.plan().duty_cycle = Some(DutyCycle {
        tenant: "camera".into(),
        hz: vec![10.0, 50.0],
        closed: false,
    });
    let mut run = Run::of(&manifest, 6);
    let fixed = LatencyModel::Fixed {
        latency: Nanos::from_millis(5),
    };
    for (phase, hz) in [(Phase::Other(1), 10.0), (Phase::Together, 50.0)] {
        let rate = Some(SweptRate {
            tenant: 0,
            hz: Some(hz),
        });
        let tenants = [
            sim(0, fixed.clone(), made_up::periodic(hz), 0),
            sim(1, fixed.clone(), made_up::periodic(20.0), 0),
        ];
        run.phase(phase, "Streams", rate, 0.0, 10, &tenants);
    }
    let summary = run.finish();
    let cells: Vec<(&str, u64)> = summary
        .interference
        .matrix
        .iter()
        .flat_map(|way| &way.cells)
        .map(|cell| (cell.tenant.as_str(), cell.count))
        .collect();
    assert_eq!(cells.len(), 2, "{cells:?}");
    assert!(
        cells[0].0 == "camera" && cells[0].1.abs_diff(500) <= 1,
        "{cells:?}"
    );
    assert!(
        cells[1].0 == "lidar" && cells[1].1.abs_diff(200) <= 1,
        "{cells:?}"
    );
}

#[test]
fn a_step_that_was_not_measured_has_no_idle_share() {
    let mut manifest = manifest(&["camera"], None);
    manifest.plan().duty_cycle = Some(DutyCycle {
        tenant: "camera".into(),
        hz: vec![50.0],
        closed: true,
    });
    let mut run = Run::of(&manifest, 6);
    let fixed = LatencyModel::Fixed {
        latency: Nanos::from_millis(5),
    };
    for (phase, hz, seconds) in [(Phase::Together, Some(50.0), 10), (Phase::Other(1), None, 0)] {
        let arrival = hz.map_or(Arrival::Closed, made_up::periodic);
        let rate = Some(SweptRate { tenant: 0, hz });
        let tenants = [sim(0, fixed.clone(), arrival, 0)];
        run.phase(phase, "Streams", rate, 0.0, seconds, &tenants);
    }
    let summary = run.finish();
    let steps = summary.duty_cycle.expect("a sweep").steps;
    let idle: Vec<Option<f64>> = steps.iter().map(|step| step.idle_share).collect();
    assert_eq!(idle, [Some(0.75), None]);
}
