//! Pareto fronts of known truth.

use jetlag_figure::Unit;
use jetlag_sweep::journal::{Entry, Journal, encode};
use jetlag_sweep::pareto::{Standing, metrics, standings};
use jetlag_sweep::{Choice, Column, Estimate, MetricError, Plan, Setting, Table};

use super::journals::{header, run};

/// A table of points with two figures each: their true values, read `repeats` times with noise of this half-width.
fn table(points: &[(f64, f64)], half: f64, repeats: u32, noise: impl FnMut() -> f64) -> Table {
    let columns = [
        Column::new("camera.response.p99", Unit::Ms),
        Column::new("camera.throughput", Unit::Fps),
    ];
    table_of(columns, points, |_| half, repeats, noise)
}

fn table_of(
    columns: [Column; 2],
    points: &[(f64, f64)],
    half: impl Fn(usize) -> f64,
    repeats: u32,
    mut noise: impl FnMut() -> f64,
) -> Table {
    let plan = Plan {
        repeats,
        choice: Choice::Points(
            (0..points.len())
                .map(|place| vec![Setting::new("a", place.to_string())])
                .collect(),
        ),
        ..Plan::default()
    };
    let mut text = encode(&Entry::Columns {
        id: 0,
        columns: columns.into(),
    })
    .unwrap();
    for (place, (first, second)) in points.iter().enumerate() {
        for repeat in 0..repeats {
            let mut run = run(&[("a", &place.to_string())], repeat);
            run.columns = Some(0);
            let half = half(place);
            let figure = |value: f64| match half > 0.0 {
                true => Estimate::with(value, value - half, value + half),
                false => Estimate::plain(value),
            };
            run.figures = vec![
                figure(first + noise() * half / 2.0),
                figure(second + noise() * half / 2.0),
            ];
            text += &encode(&Entry::Run(run)).unwrap();
        }
    }
    let journal = Journal::read(text.as_bytes()).unwrap();
    Table::of(&header(plan.clone()), &plan.points().unwrap(), &journal)
}

#[test]
fn a_known_front_is_recovered() {
    // Higher rates cost latency: a front of ten, each with a point that is worse in both by more than the noise.
    let front: Vec<(f64, f64)> = (0..10)
        .map(|n| (10.0 + 5.0 * f64::from(n), 20.0 + 8.0 * f64::from(n)))
        .collect();
    let worse = front.iter().map(|(p99, fps)| (p99 + 8.0, fps - 8.0));
    let points: Vec<(f64, f64)> = front.iter().copied().chain(worse).collect();
    let mut exact = 0;
    for seed in 0..100_u64 {
        let mut state = seed;
        let noise = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            // Uniform within ± √3 has the deviation 1.
            ((state >> 33) as f64 / (1_u64 << 31) as f64 - 0.5) * 12_f64.sqrt()
        };
        let table = table(&points, 1.0, 3, noise);
        let metrics = metrics("response.p99,throughput", &table).unwrap();
        let standings = standings(&table.points(), &metrics);
        let is_out: Vec<bool> = standings
            .iter()
            .map(|one| matches!(one, Standing::Out { .. }))
            .collect();
        // A true member of the front is never taken for beaten.
        assert!(is_out[..10].iter().all(|out| !out), "seed {seed}: {standings:?}");
        exact += u32::from(is_out[10..].iter().all(|out| *out));
    }
    println!("front recovered exactly in {exact} of 100");
    assert!(exact >= 95, "{exact}");
}

#[test]
fn what_the_intervals_do_not_decide_stays_and_is_named_so() {
    let table = table(
        &[(10.0, 30.0), (10.5, 29.8), (20.0, 30.0), (20.0, 10.0)],
        1.0,
        1,
        || 0.0,
    );
    let metrics = metrics("camera.response.p99,max:throughput", &table).unwrap();
    let found = standings(&table.points(), &metrics);
    assert_eq!(found[0], Standing::Front);
    assert_eq!(found[1], Standing::Undecided { beside: 0 });
    assert_eq!(found[2], Standing::Out { by: 0 });
    assert_eq!(found[3], Standing::Out { by: 0 });
}

#[test]
fn an_estimate_without_an_interval_beats_nobody_and_a_count_does() {
    let of = |names: [&str; 2], half: fn(usize) -> f64| {
        let columns = names.map(|name| Column::new(format!("camera.{name}"), Unit::Factor));
        let table = table_of(columns, &[(10.0, 2.0), (20.0, 4.0), (30.0, 6.0)], half, 1, || 0.0);
        let metrics = metrics(&names.join(","), &table).unwrap();
        standings(&table.points(), &metrics)
    };
    let undecided = Standing::Undecided { beside: 0 };
    // A quantile is an estimate, whether or not another point has its interval.
    assert_eq!(of(["response.p50", "response.p99"], |_| 0.0)[1], undecided);
    // What has an interval in any point is one, too.
    assert_eq!(
        of(["miss_rate", "response.mean"], |place| place as f64)[1],
        undecided
    );
    assert_eq!(of(["dropped", "missed"], |_| 0.0)[1], Standing::Out { by: 0 });
}

#[test]
fn a_figure_without_a_tenant_is_that_of_each() {
    let columns = ["camera", "lidar"].map(|tenant| Column::new(format!("{tenant}.response.p99"), Unit::Ms));
    let table = table_of(
        columns,
        &[(10.0, 30.0), (30.0, 10.0), (15.0, 35.0)],
        |_| 1.0,
        1,
        || 0.0,
    );
    let metrics = metrics("response.p99", &table).unwrap();
    assert_eq!(metrics.len(), 2);
    let found = standings(&table.points(), &metrics);
    assert_eq!(found, [Standing::Front, Standing::Front, Standing::Out { by: 0 }]);
    let known = ["camera", "lidar"].map(|tenant| format!("{tenant}.response.p99"));
    match table.column("response.p99").unwrap_err() {
        MetricError::OfSeveral { known: found, .. } => assert_eq!(found, known),
        other => panic!("{other}"),
    }
}

#[test]
fn metrics_that_are_not_there_are_told_with_the_nearest() {
    let table = table(&[(10.0, 30.0)], 1.0, 1, || 0.0);
    match metrics("respnse.p99", &table).unwrap_err() {
        MetricError::Unknown { nearest, .. } => assert_eq!(nearest.as_deref(), Some("response.p99")),
        other => panic!("{other}"),
    }
}
