//! Does "beside each other" tell what a co-runner costs, and nothing where it costs nothing?
//!
//! On the simulated device a frame beside one other runs 1 + contention times slower than alone: that is the true slowdown
//! of each tenant beside each other.

use jetlag::scenario::{Arrival, Sharing};

use crate::Cell;
use crate::table::{Promise, Row};
use crate::world::{Course, Member, Service, State, World, bimodal, lognormal, normal, pattern, periodic};

const PART: &str = "beside";

pub(crate) fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    let ordinary = [0.0, 0.3, 1.0].map(|contention| (contention, kinds()));
    let confounded = [0.0, 0.3].map(|contention| (contention, patterns().chain(states()).collect()));
    for (contention, kinds) in ordinary.into_iter().chain(confounded) {
        for (name, members) in kinds {
            let world = World {
                members,
                contention,
                sharing: Sharing::Streams,
                seconds: 60,
                alone: false,
            };
            let name = format!("{name}, contention {contention}");
            cells.push(Cell {
                part: PART,
                rows: Box::new(move |seeds| rows(&name, &world, seeds)),
            });
        }
    }
    cells
}

fn kinds() -> Vec<(&'static str, Vec<Member>)> {
    let poisson = |hz| Arrival::Poisson { hz };
    let camera = || Member::new(periodic(30.0, 0.0, 8.0), normal(9.0, 1.0));
    let lidar = || Member::new(periodic(10.0, 0.0, 20.0), normal(20.0, 3.0));
    let repeating = Service::Repeating {
        median_ms: 9.0,
        sigma: 0.2,
        phi: 0.8,
    };
    vec![
        ("jittered camera and lidar", vec![camera(), lidar()]),
        (
            "locked, as in the demo",
            vec![
                Member::new(periodic(30.0, 0.0, 0.0), normal(13.0, 2.0)),
                Member::new(periodic(10.0, 0.0, 0.0), normal(16.0, 3.0)),
            ],
        ),
        (
            "locked, 20 ms apart",
            vec![
                Member::new(periodic(30.0, 0.0, 0.0), normal(13.0, 2.0)),
                Member::new(periodic(10.0, 20.0, 0.0), normal(16.0, 3.0)),
            ],
        ),
        (
            "two Poisson arrivals",
            vec![
                Member::new(poisson(20.0), normal(9.0, 1.5)),
                Member::new(poisson(12.0), lognormal(14.0, 0.3)),
            ],
        ),
        (
            "short and frequent beside long",
            vec![
                Member::new(poisson(60.0), normal(3.0, 0.3)),
                Member::new(periodic(10.0, 0.0, 15.0), normal(30.0, 3.0)),
            ],
        ),
        (
            "batches of four beside a camera",
            vec![
                camera(),
                Member::new(poisson(30.0), normal(40.0, 4.0)).in_batches_of(4),
            ],
        ),
        (
            "long and rare",
            vec![camera(), Member::new(poisson(2.0), lognormal(90.0, 0.3))],
        ),
        (
            "two services each",
            vec![
                Member::new(periodic(20.0, 0.0, 10.0), bimodal(9.0, 18.0, 0.2)),
                Member::new(poisson(10.0), bimodal(10.0, 40.0, 0.1)),
            ],
        ),
        (
            "heavy tails",
            vec![
                Member::new(poisson(15.0), lognormal(8.0, 0.5)),
                Member::new(poisson(15.0), lognormal(8.0, 0.5)),
            ],
        ),
        (
            "closed loop beside a paced one",
            vec![Member::new(Arrival::Closed, lognormal(10.0, 0.2)), lidar()],
        ),
        (
            "two closed loops",
            vec![
                Member::new(Arrival::Closed, normal(9.0, 1.0)),
                Member::new(Arrival::Closed, lognormal(14.0, 0.3)),
            ],
        ),
        (
            "autocorrelated frames",
            vec![Member::new(periodic(30.0, 0.0, 8.0), repeating), lidar()],
        ),
        (
            "a queue at load 0.8",
            vec![
                Member::new(poisson(40.0), normal(14.0, 2.0)),
                Member::new(periodic(10.0, 0.0, 20.0), normal(15.0, 3.0)),
            ],
        ),
        (
            "three tenants",
            vec![camera(), lidar(), Member::new(poisson(8.0), lognormal(12.0, 0.3))],
        ),
        (
            "three, one of them hardly there",
            vec![camera(), lidar(), Member::new(poisson(0.2), normal(10.0, 1.0))],
        ),
    ]
}

/// Tenants whose content repeats, at rates that repeat, too: the co-runner is due with the heavy frames.
fn patterns() -> impl Iterator<Item = (&'static str, Vec<Member>)> {
    let key_frames = || {
        let mut of_video = [11.0; 15];
        of_video[0] = 18.0;
        pattern(&of_video)
    };
    let three = || pattern(&[19.0, 11.0, 11.0]);
    let with = |own: Member, hz: f64, jitter_ms: f64| {
        vec![own, Member::new(periodic(hz, 0.0, jitter_ms), normal(16.0, 3.0))]
    };
    let at = |hz: f64, jitter_ms: f64, of: Service| Member::new(periodic(hz, 0.0, jitter_ms), of);
    [
        ("three images in turn", with(at(30.0, 0.0, three()), 10.0, 10.0)),
        (
            "three images in turn, little jitter",
            with(at(30.0, 0.0, three()), 10.0, 3.0),
        ),
        (
            "three images in turn, both shaken",
            with(at(30.0, 5.0, three()), 10.0, 10.0),
        ),
        ("key frames", with(at(30.0, 0.0, key_frames()), 10.0, 5.0)),
        (
            "key frames beside 15 Hz",
            with(at(30.0, 0.0, key_frames()), 15.0, 5.0),
        ),
        (
            "key frames beside 20 Hz",
            with(at(30.0, 0.0, key_frames()), 20.0, 8.0),
        ),
        (
            "key frames, rates nearly in step",
            with(at(30.0, 0.0, key_frames()), 10.01, 5.0),
        ),
        (
            "three images, rates nearly in step",
            with(at(30.0, 0.0, three()), 10.02, 0.0),
        ),
        (
            "two images in turn",
            with(at(20.0, 4.0, pattern(&[16.0, 9.0])), 10.0, 8.0),
        ),
        (
            "six images in turn",
            with(
                at(30.0, 4.0, pattern(&[18.0, 11.0, 11.0, 11.0, 11.0, 11.0])),
                5.0,
                10.0,
            ),
        ),
        (
            "a pattern in a closed loop",
            with(Member::new(Arrival::Closed, three()), 10.0, 10.0),
        ),
        (
            "a pattern beside random releases",
            vec![
                at(30.0, 0.0, three()),
                Member::new(Arrival::Poisson { hz: 10.0 }, normal(16.0, 3.0)),
            ],
        ),
        (
            "patterns of both",
            vec![at(30.0, 0.0, three()), at(10.0, 8.0, pattern(&[22.0, 14.0]))],
        ),
        (
            "locked, 11 ms apart",
            vec![
                Member::new(periodic(20.0, 0.0, 0.0), normal(13.0, 2.0)),
                Member::new(periodic(10.0, 11.0, 0.0), normal(16.0, 3.0)),
            ],
        ),
    ]
    .into_iter()
}

/// Tenants that are slow together, though neither costs the other anything at contention 0.
fn states() -> impl Iterator<Item = (&'static str, Vec<Member>)> {
    let slow = |(hz, jitter_ms): (f64, f64), mean_ms: f64, slower: f64, state: State| {
        let course = Course::Shared {
            mean_ms,
            sd_ms: 0.1 * mean_ms,
            hz,
            slower,
            state,
        };
        Member::new(periodic(hz, 0.0, jitter_ms), Service::Along(course))
    };
    let both = move |state: State, jitter_ms: f64, hz: f64| {
        vec![
            slow((30.0, 0.0), 12.0, 0.35, state),
            slow((hz, jitter_ms), 20.0, 0.6, state),
        ]
    };
    [
        ("slow every other second", both(State::Square(2.0), 10.0, 10.0)),
        ("slow for half of 0.2 s", both(State::Square(0.2), 10.0, 10.0)),
        ("slow for half of 0.7 s", both(State::Square(0.7), 10.0, 10.0)),
        ("slow for half of 10 s", both(State::Square(10.0), 10.0, 10.0)),
        (
            "slow for half of 20 s, other rates",
            both(State::Square(20.0), 0.0, 13.7),
        ),
        (
            "slow every other second, other rates",
            both(State::Square(2.0), 0.0, 13.7),
        ),
        ("slow at random for 0.3 s", both(State::Random(0.3), 10.0, 10.0)),
        ("slow at random for 3 s", both(State::Random(3.0), 10.0, 10.0)),
        (
            "slow at random for 1 s, other rates",
            both(State::Random(1.0), 4.0, 13.7),
        ),
        ("a wave of 5 s", both(State::Wave(5.0), 10.0, 10.0)),
        ("a wave of 0.5 s", both(State::Wave(0.5), 10.0, 7.3)),
        ("a regulated temperature", both(State::Sawtooth(7.0), 10.0, 10.0)),
        (
            "a machine that becomes slower",
            both(State::Ramp(65.0), 10.0, 10.0),
        ),
    ]
    .into_iter()
}

fn rows(name: &str, world: &World, seeds: u64) -> Vec<Row> {
    let truth = 1.0 + world.contention;
    let (mut printed, mut held, mut called, mut wrong, mut blamed) = (0, 0, 0, 0, 0);
    for seed in 0..seeds {
        let summary = world.summary(seed);
        let mut slow = summary.tenants.iter().flat_map(|tenant| &tenant.slowest);
        blamed += u64::from(slow.any(|frame| frame.cause == Some("co-runner")));
        for overlap in summary.interference.overlap {
            let Some((low, high)) = overlap.slowdown_ci95 else {
                continue;
            };
            let high = high.unwrap_or(f64::INFINITY);
            printed += 1;
            held += u64::from(low <= truth && truth <= high);
            called += u64::from(low > 1.0);
            wrong += u64::from(high < 1.0);
        }
    }
    let row = |figure: &str, hits: u64, promise| Row::new(PART, name, figure, (hits, printed), promise);
    let mut rows = vec![row(
        "95 % interval of the slowdown holds it",
        held,
        Promise::AtLeast(0.93),
    )];
    if world.contention == 0.0 {
        rows.push(row("a cost where there is none", called, Promise::AtMost(0.05)));
        rows.push(row("a gain where there is none", wrong, Promise::AtMost(0.05)));
        let figure = "a co-runner is named for a slow frame";
        rows.push(Row::new(
            PART,
            name,
            figure,
            (blamed, seeds),
            Promise::AtMost(0.05),
        ));
    } else {
        rows.push(row("a gain where there is a cost", wrong, Promise::AtMost(0.025)));
    }
    if world.contention == 1.0 {
        rows.push(row(
            "a cost of 100 % is found, where judged",
            called,
            Promise::AtLeast(0.80),
        ));
    }
    rows
}
