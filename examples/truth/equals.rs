//! Does `compare` leave equal runs equal, find what differs, and let `--fail-if` pass what is the same?

use jetlag::analysis::compare::{Comparison, Side, Verdict, compare, parse_limit};

use crate::Cell;
use crate::quantiles;
use crate::table::{Promise, Row};
use crate::world::{World, lognormal, periodic};

const PART: &str = "compare";

pub(crate) fn cells() -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    for (name, world) in quantiles::kinds() {
        // What is compared in practice; the long runs are the quantiles' part.
        if world.seconds > 120 {
            continue;
        }
        for rounds in [1, 5] {
            let (name, world) = (name.clone(), world.clone());
            cells.push(Cell {
                part: PART,
                rows: Box::new(move |seeds| equals(&name, &world, rounds, seeds)),
            });
        }
    }
    cells.push(Cell {
        part: PART,
        rows: Box::new(power),
    });
    cells.push(Cell {
        part: PART,
        rows: Box::new(rerun),
    });
    cells
}

fn side(world: &World, name: &str, first: u64, rounds: u64) -> Side {
    Side {
        name: name.to_owned(),
        files: Vec::new(),
        runs: (first..first + rounds).map(|seed| world.sample(seed)).collect(),
        in_turns: false,
        repeated: Vec::new(),
    }
}

/// A side of five runs of one seed, as a CI has them that reruns a scenario under the virtual clock.
fn reruns(world: &World, name: &str, seed: u64) -> Side {
    let run = |number: u64| (format!("{name}{number}"), world.sample(seed));
    Side::new(name.to_owned(), (0..5).map(run).collect(), false)
}

/// Each of two runs of equal truth five times over.
fn rerun(seeds: u64) -> Vec<Row> {
    let world = World::of_one(periodic(30.0, 0.0, 0.0), lognormal(9.0, 0.15), 10);
    let (mut different, mut judged) = (0, 0);
    for number in 0..seeds {
        let sides = [
            reruns(&world, "a", number * 2),
            reruns(&world, "b", number * 2 + 1),
        ];
        let comparison = compare(&sides, &[]).expect("both have the same tenant");
        judged += u64::from(comparison.candidates[0].is_judged());
        different += u64::from(comparison.candidates[0].differs());
    }
    vec![Row::new(
        PART,
        "independent, 30 Hz, 10 s, one seed run five times against another",
        "equal runs called different",
        (different, judged),
        Promise::AtMost(0.05),
    )]
}

fn compared(a: &World, b: &World, number: u64, rounds: u64) -> Comparison {
    let limits = ["camera.response.p50 +0%", "camera.response.p99 +0%"];
    let limits = limits.map(|text| parse_limit(text, &["camera"]).expect("it names a tenant and a figure"));
    let first = number * 2 * rounds;
    let sides = [side(a, "a", first, rounds), side(b, "b", first + rounds, rounds)];
    compare(&sides, &limits).expect("both have the same tenant")
}

/// Pairs of equals: five of a hundred may be called different, and a limit of +0 % passed in 2.5 of a hundred, since it asks for
/// one side only.
fn equals(name: &str, world: &World, rounds: u64, seeds: u64) -> Vec<Row> {
    let (mut different, mut judged) = (0, 0);
    let (mut passed, mut asked) = ([0; 2], [0; 2]);
    for number in 0..seeds {
        let comparison = compared(world, world, number, rounds);
        let candidate = &comparison.candidates[0];
        judged += u64::from(candidate.is_judged());
        different += u64::from(candidate.differs());
        for (which, limit) in comparison.limits.iter().enumerate() {
            asked[which] += u64::from(limit.passed.is_some());
            passed[which] += u64::from(limit.passed == Some(true));
        }
    }
    let cell = format!("{name}, {rounds} against {rounds}");
    let mut rows = vec![Row::new(
        PART,
        &cell,
        "equal runs called different",
        (different, judged),
        Promise::AtMost(0.05),
    )];
    for (which, figure) in ["p50", "p99"].into_iter().enumerate() {
        rows.push(Row::new(
            PART,
            &cell,
            format!("`--fail-if {figure} +0%` fails equals"),
            (passed[which], asked[which]),
            Promise::AtMost(0.05),
        ));
    }
    rows
}

fn power(seeds: u64) -> Vec<Row> {
    let world = |median| World::of_one(periodic(30.0, 0.0, 0.0), lognormal(median, 0.08), 10);
    let (a, b) = (world(9.0), world(9.18));
    let (mut found, mut wrong) = (0, 0);
    for number in 0..seeds {
        let comparison = compared(&a, &b, number, 5);
        let p50 = &comparison.candidates[0].tenants[0].figures[0];
        found += u64::from(p50.verdict == Verdict::Higher);
        wrong += u64::from(p50.verdict == Verdict::Lower);
    }
    let cell = "independent, 30 Hz, 10 s, 5 against 5, 2 % slower";
    vec![
        Row::new(
            PART,
            cell,
            "p50 called higher",
            (found, seeds),
            Promise::AtLeast(0.80),
        ),
        Row::new(
            PART,
            cell,
            "p50 called lower",
            (wrong, seeds),
            Promise::AtMost(0.01),
        ),
    ]
}
