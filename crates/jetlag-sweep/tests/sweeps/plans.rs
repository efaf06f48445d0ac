//! Points and their order.

use std::collections::HashSet;

use jetlag_sweep::{Axis, Choice, Eta, Order, Plan, PlanError, Rest, Seen, Setting, cut, schedule};
use proptest::prelude::*;

fn grid(axes: Vec<Axis>) -> Plan {
    Plan {
        axes,
        ..Plan::default()
    }
}

#[test]
fn the_last_axis_grows_first_and_exclusions_are_left_out() {
    let plan = Plan {
        without: vec![vec![Setting::new("a", "2"), Setting::new("b", "y")]],
        ..grid(vec![Axis::of("a", ["1", "2"]), Axis::of("b", ["x", "y"])])
    };
    let shown: Vec<String> = plan.points().unwrap().iter().map(|point| point.shown()).collect();
    assert_eq!(shown, ["a=1 b=x", "a=1 b=y", "a=2 b=x"]);
}

#[test]
fn a_grid_of_a_thousand_million_points_is_only_counted() {
    let values: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
    let axis = |set: &str| Axis {
        set: set.to_owned(),
        values: values.clone(),
        till_first_fail: false,
    };
    let mut plan = grid(vec![axis("a"), axis("b"), axis("c")]);
    assert_eq!(plan.size(), 1_000_000_000);
    let error = plan.points().unwrap_err();
    assert!(
        matches!(
            error,
            PlanError::TooManyPoints {
                points: 1_000_000_000,
                ..
            }
        ),
        "{error}"
    );
    plan.choice = Choice::Sample { count: 50, seed: 7 };
    let points = plan.points().unwrap();
    assert_eq!(
        points
            .iter()
            .map(|point| point.id())
            .collect::<HashSet<_>>()
            .len(),
        50
    );
    assert_eq!(points, plan.points().unwrap());
    // A grid beyond what a number holds is counted too.
    let many: Vec<Axis> = (0..60).map(|n| axis(&n.to_string())).collect();
    assert!(matches!(
        grid(many).points(),
        Err(PlanError::TooManyPoints { .. })
    ));
}

#[test]
fn repeats_are_interleaved_and_each_round_has_an_order_of_its_own() {
    let plan = Plan {
        repeats: 3,
        order: Order::Random { seed: 7 },
        ..grid(vec![Axis::of("a", ["1", "2", "3", "4", "5", "6", "7", "8"])])
    };
    let points = plan.points().unwrap();
    let runs = schedule(&plan, &points);
    let rounds: Vec<Vec<usize>> = runs
        .chunks(8)
        .map(|round| round.iter().map(|run| run.point).collect())
        .collect();
    for (repeat, (round, runs)) in rounds.iter().zip(runs.chunks(8)).enumerate() {
        assert!(runs.iter().all(|run| run.repeat as usize == repeat));
        let mut sorted = round.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..8).collect::<Vec<_>>());
    }
    assert!(rounds[0] != rounds[1] && rounds[1] != rounds[2]);
    assert_eq!(runs, schedule(&plan, &points));
}

#[test]
fn an_axis_stops_growing_at_its_first_failure_and_only_where_the_others_are_equal() {
    let mut plan = grid(vec![
        Axis::of("batch", ["1", "2", "4", "8"]),
        Axis::of("net", ["a", "b"]),
    ]);
    plan.axes[0].till_first_fail = true;
    let points = plan.points().unwrap();
    let number = |shown: &str| points.iter().position(|point| point.shown() == shown).unwrap();
    let cut = cut(&plan, &points, &[number("batch=2 net=a")].into());
    let mut names: Vec<String> = cut.keys().map(|&point| points[point].shown()).collect();
    names.sort();
    assert_eq!(names, ["batch=4 net=a", "batch=8 net=a"]);
    assert!(cut.values().all(|&after| after == number("batch=2 net=a")));
}

proptest! {
    /// However points are shuffled, an axis that stops at its first failure is run in the order in which it grows.
    #[test]
    fn a_shuffled_order_lets_such_an_axis_grow(seed: u64, others in 1_usize..5, length in 1_usize..7) {
        let values = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
        let axis = |set: &str, count, till_first_fail| Axis { set: set.to_owned(), values: values(count), till_first_fail };
        let plan = Plan {
            order: Order::Random { seed },
            ..grid(vec![axis("batch", length, true), axis("net", others, false)])
        };
        let points = plan.points().unwrap();
        let runs = schedule(&plan, &points);
        prop_assert_eq!(runs.len(), points.len());
        for net in 0..others {
            let of_net: Vec<usize> = runs.iter().map(|run| &points[run.point].places).filter(|places| places[1] == net).map(|places| places[0]).collect();
            prop_assert_eq!(of_net, (0..length).collect::<Vec<_>>());
        }
    }

    /// Ids are of settings alone.
    #[test]
    fn equal_settings_have_equal_ids(a in "[a-z]{1,4}", b in "[a-z]{1,4}") {
        let of = |path: &str, value: &str| jetlag_sweep::Plan { choice: Choice::Points(vec![vec![Setting::new(path, value)]]), ..Plan::default() }.points().unwrap()[0].id();
        prop_assert_eq!(of(&a, &b), of(&a, &b));
        let twice = format!("{}{}", a, b);
        prop_assert_ne!(of(&a, &b), of(&twice, ""));
    }
}

#[test]
fn the_time_that_is_left_is_of_the_runs_that_are_left() {
    let mut rest = Rest::default();
    for stated in [10.0, 10.0, 600.0] {
        rest.add(stated);
    }
    assert_eq!(
        Eta::of(rest, &[]).shown(),
        "at least 11 min, which is what the scenario measures"
    );
    // Short ones are made; each took 2 s beyond what it states.
    let seen = Seen {
        took_s: 12.0,
        stated_s: 10.0,
    };
    for stated in [10.0, 10.0] {
        rest.take(stated);
    }
    assert_eq!(Eta::of(rest, &[seen, seen]).seconds, Some(602.0));
    // Simulated time states nothing.
    let mut rest = Rest::default();
    rest.add(0.0);
    assert_eq!(Eta::of(rest, &[]).seconds, None);
    let seen = Seen {
        took_s: 0.5,
        stated_s: 0.0,
    };
    assert_eq!(Eta::of(rest, &[seen]).seconds, Some(0.5));
}

#[test]
fn a_point_that_sets_a_path_twice_and_a_sample_that_is_too_large_are_refused() {
    let of = |settings: &[(&str, &str)]| {
        let settings = settings.iter().map(|(path, value)| Setting::new(*path, *value));
        Plan {
            choice: Choice::Points(vec![settings.collect()]),
            ..Plan::default()
        }
    };
    let twice = of(&[("a", "1"), ("b", "1"), ("a", "2")]).points().unwrap_err();
    assert!(
        matches!(&twice, PlanError::SamePath { path, .. } if path == "a"),
        "{twice}"
    );
    assert_eq!(of(&[("a", "1"), ("b", "1")]).points().unwrap().len(), 1);
    let large = Plan {
        choice: Choice::Sample {
            count: u32::MAX.into(),
            seed: 0,
        },
        ..grid(vec![Axis::of("a", ["1", "2"])])
    };
    assert!(matches!(large.points(), Err(PlanError::LargeSample { .. })));
}
