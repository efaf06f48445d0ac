//! Rows of runs whose truth is known.

use rand_distr::{Distribution, StandardNormal};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;

use super::*;

/// So many layers of some µs each, in frames that depend on each other: what slows one frame down slows the next and all layers
/// (`phi`, half of the variance in common). Stamps come in steps of 32 ns. `slower` is the factor of the first layer.
fn run(layers: usize, frames: usize, phi: f64, slower: f64, seed: u64) -> OfTenant {
    let mut random = Pcg64::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
    let mut state: Vec<f64> = (0..=layers).map(|_| normal()).collect();
    let mut of = OfTenant {
        frames,
        ..OfTenant::default()
    };
    for frame in 0..frames {
        for known in &mut state {
            *known = phi * *known + (1.0 - phi * phi).sqrt() * normal();
        }
        for layer in 0..layers {
            let noise = 0.05 * (state[layers] + state[layer]) / 2f64.sqrt();
            let factor = if layer == 0 { slower } else { 1.0 };
            let ns = (3_000.0 + 700.0 * layer as f64) * factor * noise.exp();
            let key = Key {
                layer: Some(format!("/n{layer}/Conv + /n{layer}/Relu")),
                name: String::new(),
            };
            let took = (ns / 32.0).round() as i64 * 32;
            of.times.entry(key).or_default().push((frame as u32, took));
        }
    }
    of
}

fn matched(a: Vec<OfTenant>, b: Vec<OfTenant>) -> CandidateMatch {
    let (pairs, no_layer) = pairs(By::Layers, &keys(&a), &keys(&b));
    CandidateMatch {
        side: "B".to_owned(),
        needs: None,
        tenants: vec![TenantMatch {
            step: step(a.iter().chain(&b)),
            tenant: "camera".to_owned(),
            label: "B".to_owned(),
            a,
            b,
            pairs,
            no_layer,
        }],
    }
}

/// As [`compare`] judges one candidate.
fn judged_alone(candidate: CandidateMatch) -> CandidateRows {
    judged(&[candidate]).remove(0)
}

/// How many of so many pairs are said to differ in any row, and in how many the first layer is called slower.
fn trials(seeds: u64, frames: usize, phi: f64, runs: u64, slower: f64) -> (usize, usize, usize) {
    let (mut asked, mut differ, mut first) = (0, 0, 0);
    for seed in 0..seeds {
        let side = |which: u64, slower: f64| -> Vec<OfTenant> {
            (0..runs)
                .map(|nth| run(20, frames, phi, slower, (seed * 2 + which) * runs + nth))
                .collect()
        };
        let found = judged_alone(matched(side(0, 1.0), side(1, slower)));
        asked += usize::from(found.is_judged());
        differ += usize::from(found.differs());
        let rows = &found.tenants[0].rows;
        let of_first = rows
            .iter()
            .find(|row| row.layer.as_deref() == Some("/n0/Conv + /n0/Relu"));
        first += usize::from(of_first.is_some_and(|row| row.verdict == Verdict::Higher));
    }
    (asked, differ, first)
}

/// Equal runs of 20 layers: at most five of a hundred statements over all rows may be wrong, however frames depend on each other.
#[test]
fn of_equal_runs_few_have_any_row_that_differs() {
    for (frames, phi, runs) in [
        (60, 0.0, 1),
        (300, 0.0, 1),
        (60, 0.4, 1),
        (60, 0.7, 1),
        (150, 0.7, 1),
        (1_500, 0.7, 1),
        (600, 0.9, 1),
        (150, 0.5, 3),
    ] {
        let (asked, differ, _) = trials(300, frames, phi, runs, 1.0);
        println!("{frames} frames, φ = {phi}, {runs} runs: {differ} of {asked} judged");
        assert!(
            differ as f64 <= 0.05 * asked as f64,
            "{frames} {phi}: {differ} of {asked}"
        );
        assert!(phi > 0.0 || asked == 300);
    }
}

/// A layer that became slower by as much as its frames scatter is found among twenty.
#[test]
fn a_layer_that_became_slower_is_found() {
    let (_, differ, first) = trials(100, 300, 0.0, 1, 1.05);
    println!("{first} of 100 found, {differ} differ");
    assert!(first >= 80, "{first}");
}

#[test]
fn what_only_one_has_is_listed_and_shares_are_of_all_time() {
    let with = |layers: &[(&str, i64)]| {
        let mut of = OfTenant {
            frames: 20,
            ..OfTenant::default()
        };
        for (layer, took) in layers {
            let key = Key {
                layer: (!layer.is_empty()).then(|| (*layer).to_owned()),
                name: String::new(),
            };
            of.times
                .insert(key, (0..20).map(|frame| (frame, took * 1_000)).collect());
        }
        of
    };
    let a = with(&[("c1 + r1", 60), ("pool", 20), ("gone", 10), ("", 10)]);
    let b = with(&[("c1", 30), ("r1", 10), ("pool", 20), ("new", 40)]);
    let found = judged_alone(matched(vec![a.clone()], vec![b]));
    let tenant = &found.tenants[0];
    assert_eq!((tenant.frames, tenant.covered), ([20, 20], [0.8, 0.6]));
    let rows: Vec<_> = tenant
        .rows
        .iter()
        .map(|row| {
            (
                row.layer.as_deref().unwrap(),
                row.baseline,
                row.candidate,
                row.verdict,
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("c1 + r1", Some(0.06), Some(0.04), Verdict::Lower),
            ("pool", Some(0.02), Some(0.02), Verdict::Same)
        ]
    );
    assert_eq!(tenant.rows[0].layers_candidate, ["c1", "r1"]);
    let alone: Vec<_> = tenant
        .unmatched
        .iter()
        .map(|alone| (alone.side.as_str(), alone.layer.as_deref(), alone.ms, alone.share))
        .collect();
    assert_eq!(
        alone,
        [("B", Some("new"), 0.04, 0.4), ("A", Some("gone"), 0.01, 0.1)]
    );
    let no_layer = |ms, shares| Some(OfNoLayer { ms, shares });
    assert_eq!(tenant.no_layer, no_layer([0.01, 0.0], [0.1, 0.0]));
    // What both have of it is told once, as no row and as nothing that one has alone.
    let found = judged_alone(matched(vec![a.clone()], vec![a]));
    let tenant = &found.tenants[0];
    assert_eq!((tenant.rows.len(), tenant.unmatched.len()), (3, 0));
    assert_eq!(
        (tenant.covered, tenant.no_layer),
        ([0.9; 2], no_layer([0.01; 2], [0.1; 2]))
    );
}

#[test]
fn kernels_are_matched_by_name_within_layers_that_cover_the_same() {
    let key = |layer: &str, name: &str| Key {
        layer: (!layer.is_empty()).then(|| layer.to_owned()),
        name: name.to_owned(),
    };
    let a = [key("c1 + r1", "conv"), key("c2", "conv"), key("", "conv")];
    let b = [
        key("c1", "conv"),
        key("r1", "relu"),
        key("c2", "other"),
        key("", "conv"),
    ];
    let (found, no_layer) = pairs(By::Kernels, &a, &b);
    assert!(no_layer.is_none());
    let both = found
        .iter()
        .filter(|pair| !pair.a.is_empty() && !pair.b.is_empty());
    let rows: Vec<(&Key, &Key)> = both.map(|pair| (&pair.a[0], &pair.b[0])).collect();
    assert_eq!(rows, [(&a[2], &b[3]), (&a[0], &b[0])]);
    assert_eq!(found.len(), 5);
}

#[test]
fn a_step_of_the_clock_is_no_difference() {
    let effect = Effect {
        baseline: 2_016.0,
        candidate: 2_048.0,
        change: 32.0 / 2_016.0,
        interval: [32.0 / 2_016.0; 2],
    };
    let of = run(3, 50, 0.0, 1.0, 7);
    assert_eq!(step([&of].into_iter()), 32);
    let [low, high] = stepped(effect, 32).interval;
    assert!(low <= 0.0 && high > 0.03, "{low} {high}");
    assert_eq!(step([].into_iter()), 0);
}
