//! Knees of known truth: a formula with noise, and a queue whose 99th percentile is known exactly.

use jetlag_stats::random::SplitMix64;
use jetlag_sweep::Estimate;
use jetlag_sweep::knee::{Knee, Promise, Search, Step, Told, Verdict, answer, broken_by_less, verdict};

/// Seeds mean the same everywhere.
struct Random(SplitMix64);

impl Random {
    fn new(seed: u64) -> Self {
        Random(SplitMix64::new(seed))
    }

    fn unit(&mut self) -> f64 {
        self.0.unit()
    }

    fn exponential(&mut self, rate: f64) -> f64 {
        -(1.0 - self.unit()).ln() / rate
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.unit()).ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }
}

fn search(values: &[f64], limit: f64, repeats: u32, most: u32, mut run: impl FnMut(f64) -> Told) -> Knee {
    let promise = move |value: f64| value < limit;
    let promises: Vec<Promise<'_>> = vec![&promise];
    let mut search = Search::new(values, promises, repeats, most);
    loop {
        match search.step() {
            Step::Done(knee) => return knee,
            Step::Run(probe) => search.tell(probe, run(values[probe.place])),
        }
    }
}

fn covers(knee: &Knee, truth: f64) -> bool {
    knee.holds_at.is_none_or(|holds| holds <= truth) && knee.breaks_at.is_none_or(|breaks| breaks >= truth)
}

fn hz() -> Vec<f64> {
    (5..=200).map(f64::from).collect()
}

/// Latency that grows with the rate, noise within a run that its interval knows of, and noise from run to run that it does not.
#[test]
fn a_knee_with_noise_from_run_to_run_is_in_its_interval_in_95_of_100_seeds() {
    let (mut found, mut runs, mut width) = (0, 0, 0.0);
    for seed in 0..100 {
        let mut random = Random::new(seed);
        let offset = random.unit() * 20.0;
        // 10 ms at rest, 33 ms at the knee.
        let truth = 100.0 + offset;
        let knee = search(&hz(), 33.0, 5, 98, |hz| {
            let mean = 10.0 + 23.0 * (hz / truth).powi(4);
            let (within, between) = (0.02 * mean, 0.01 * mean);
            let value = mean + within * random.normal() + between * random.normal();
            Told {
                figures: vec![Estimate::with(
                    value,
                    value - 1.96 * within,
                    value + 1.96 * within,
                )],
                failed: false,
            }
        });
        found += u32::from(covers(&knee, truth));
        runs += knee.runs;
        width += knee.breaks_at.unwrap() - knee.holds_at.unwrap();
        assert!(knee.runs <= 98, "{knee:?}");
    }
    println!(
        "noise: {found} of 100 cover; {:.1} runs on average of 196 values; {:.1} wide",
        runs as f64 / 100.0,
        width / 100.0
    );
    assert!(found >= 95, "{found}");
    assert!(runs / 100 < 98 / 2, "{runs}");
}

/// One server, exponential times, first come first served: the response time is exponential with the rate μ − λ, so its 99th
/// percentile is ln(100) ÷ (μ − λ).
#[test]
fn the_knee_of_a_queue_is_in_its_interval_in_95_of_100_seeds() {
    let (service, limit) = (250.0, 0.033);
    let truth = service - 100_f64.ln() / limit;
    let (mut found, mut runs) = (0, 0);
    for seed in 0..100 {
        let mut random = Random::new(1000 + seed);
        let knee = search(&hz(), limit, 5, 98, |hz| Told {
            figures: vec![queue(&mut random, hz, service)],
            failed: false,
        });
        found += u32::from(covers(&knee, truth));
        runs += knee.runs;
    }
    println!(
        "queue: truth {truth:.1}; {found} of 100 cover; {:.1} runs on average",
        runs as f64 / 100.0
    );
    assert!(found >= 95, "{found}");
    assert!(runs / 100 < 98, "{runs}");
}

/// The 99th percentile of 10 000 responses, and its interval from the scatter of twenty stretches, which knows that neighbours wait for
/// one another.
fn queue(random: &mut Random, arrivals: f64, service: f64) -> Estimate {
    const STRETCHES: usize = 20;
    const EACH: usize = 500;
    let (mut arrived, mut free) = (0.0_f64, 0.0_f64);
    let mut responses = Vec::with_capacity(STRETCHES * EACH);
    // It begins empty, which is not its usual state.
    for frame in 0..STRETCHES * EACH + EACH {
        arrived += random.exponential(arrivals);
        free = free.max(arrived) + random.exponential(service);
        if frame >= EACH {
            responses.push(free - arrived);
        }
    }
    let p99 = |responses: &[f64]| {
        let mut sorted = responses.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() * 99 / 100]
    };
    let value = p99(&responses);
    let of_stretches: Vec<f64> = responses.chunks(EACH).map(p99).collect();
    let mean = of_stretches.iter().sum::<f64>() / STRETCHES as f64;
    let variance = of_stretches.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (STRETCHES - 1) as f64;
    let half = 2.09 * (variance / STRETCHES as f64).sqrt();
    Estimate::with(value, value - half, value + half)
}

#[test]
fn without_noise_the_knee_is_between_neighbours_and_takes_few_runs() {
    let knee = search(&hz(), 33.0, 5, 98, |hz| Told {
        figures: vec![Estimate::with(hz / 3.0, hz / 3.0, hz / 3.0)],
        failed: false,
    });
    assert_eq!((knee.holds_at, knee.breaks_at), (Some(98.0), Some(99.0)));
    assert!(knee.runs <= 10, "{knee:?}");
}

#[test]
fn promises_that_always_or_never_hold_are_answered_by_the_ends() {
    let at = |value: f64| {
        search(&hz(), 33.0, 5, 98, |_| Told {
            figures: vec![Estimate::with(value, value, value)],
            failed: false,
        })
    };
    let found = |knee: &Knee| (knee.holds_at, knee.breaks_at);
    assert_eq!(found(&at(1.0)), (Some(200.0), None));
    assert_eq!(found(&at(99.0)), (None, Some(5.0)));
    // A metric that nothing supports.
    let knee = search(&hz(), 33.0, 5, 98, |_| Told {
        figures: vec![Estimate::default()],
        failed: false,
    });
    assert_eq!(
        (found(&knee), &knee.unknown[..]),
        ((None, None), &[5.0, 200.0][..])
    );
    // A figure that is known only below: the search goes on between what is known and what is not.
    let knee = search(&hz(), 33.0, 5, 98, |hz| Told {
        figures: vec![if hz > 120.0 {
            Estimate::default()
        } else {
            Estimate::with(9.0, 9.0, 9.0)
        }],
        failed: false,
    });
    assert_eq!(
        (knee.holds_at, knee.breaks_at, knee.unknown.first()),
        (Some(120.0), None, Some(&121.0))
    );
    // A promise that holds only above a value.
    let knee = search(&hz(), 33.0, 5, 98, |hz| Told {
        figures: vec![Estimate::with(200.0 - hz, 200.0 - hz, 200.0 - hz)],
        failed: false,
    });
    assert_eq!(knee.again, [200.0]);
}

#[test]
fn runs_that_fail_break_the_promise_and_figures_without_an_interval_are_run_three_times() {
    let knee = search(&hz(), 33.0, 5, 98, |hz| Told {
        figures: vec![Estimate::plain(hz / 10.0)],
        failed: hz > 120.0,
    });
    assert_eq!((knee.holds_at, knee.breaks_at), (Some(120.0), Some(121.0)));
    let promise = |value: f64| value < 33.0;
    let told = |value: f64| Told {
        figures: vec![Estimate::plain(value)],
        failed: false,
    };
    let judge = |runs: &[f64]| {
        verdict(
            &runs.iter().map(|value| told(*value)).collect::<Vec<_>>(),
            &[&promise],
        )
    };
    assert_eq!(judge(&[10.0]), Verdict::Unclear);
    assert_eq!(judge(&[10.0, 10.1, 10.2]), Verdict::Holds);
    assert_eq!(judge(&[32.0, 34.0, 31.0]), Verdict::Unclear);
    assert_eq!(judge(&[42.0, 42.1, 42.3]), Verdict::Breaks);
}

#[test]
fn an_answer_in_any_order_is_the_same() {
    let judged = [
        (30.0, Verdict::Breaks),
        (10.0, Verdict::Holds),
        (25.0, Verdict::Unclear),
        (20.0, Verdict::Holds),
        (40.0, Verdict::Holds),
    ];
    let knee = answer(&judged, 9);
    assert_eq!((knee.holds_at, knee.breaks_at), (Some(20.0), Some(30.0)));
    assert_eq!((knee.unclear, knee.again), (vec![25.0], vec![40.0]));
}

/// Of a run whose queue never empties: no quantile has an interval, and the highest are withheld.
#[test]
fn a_full_queue_breaks_a_promise_whose_figure_is_withheld() {
    let run = |least: f64, median: Option<Estimate>| {
        move |name: &str| match name {
            "camera.response.min" => Estimate::plain(least),
            "camera.response.p50" => median.unwrap_or_default(),
            _ => Estimate::default(),
        }
    };
    let below = |value: f64| value < 33.0;
    let judged = |name: &str, least: f64, median| broken_by_less(name, &below, run(least, median));
    // Not one frame of thousands was quick enough.
    let full = judged("camera.response.p99", 9_900.0, None);
    assert_eq!(full, Some(Estimate::with(9_900.0, 9_900.0, 9_900.0)));
    // The queue filled while it was measured: that has to come three times.
    let filling = judged("camera.response.p99", 12.0, Some(Estimate::plain(5_000.0)));
    assert_eq!(filling, Some(Estimate::plain(5_000.0)));
    // One late frame says nothing of a median.
    let median = judged("camera.response.p50", 40.0, None);
    assert_eq!(median, Some(Estimate::plain(40.0)));
    let known = Estimate::with(50.0, 45.0, 60.0);
    assert_eq!(judged("camera.response.p99", 12.0, Some(known)), Some(known));
    // Nothing is kept by less, and a promise of more is not broken so.
    assert_eq!(
        judged("camera.response.p99", 5.0, Some(Estimate::plain(9.0))),
        None
    );
    let above = |value: f64| value > 33.0;
    assert_eq!(
        broken_by_less("camera.response.p99", &above, run(5.0, None)),
        None
    );
    assert_eq!(judged("camera.miss_rate", 40.0, None), None);

    let told = |figure: Option<Estimate>| Told {
        figures: vec![figure.unwrap_or_default()],
        failed: false,
    };
    let promises: [Promise<'_>; 1] = [&below];
    let of = |runs: &[Told]| verdict(runs, &promises);
    assert_eq!(of(&[told(full)]), Verdict::Breaks);
    assert_eq!(of(&[told(filling)]), Verdict::Unclear);
    assert_eq!(of(&vec![told(filling); 3]), Verdict::Breaks);
    // A run without a figure may be one of those that were quick.
    let mixed = [told(filling), told(filling), told(filling), told(None)];
    assert_eq!(of(&mixed), Verdict::Unclear);
}

#[test]
fn an_end_that_is_not_known_is_not_said_to_be_beyond_the_range() {
    let judged = [(5.0, Verdict::Holds), (400.0, Verdict::Unknown)];
    let said = answer(&judged, 2).sentence("hz", 5.0, 400.0);
    assert_eq!(
        said,
        "hz at least 5 (holds); where it breaks is not known up to 400; at 400 too few frames support the figure: raise duration"
    );
}
