//! Comparisons of simulated runs, of which it is known whether they differ.

use std::sync::atomic::AtomicBool;

use jetlag::analysis::Summarizer;
use jetlag::analysis::compare::{
    Candidate, Comparison, Incomparable, Note, RunSample, RunSampler, Side, Unlike, Verdict, common_tenants,
    compare, parse_limit,
};
use jetlag::record::{Event, Manifest, Phase};
use jetlag::report::{self, Style};
use jetlag::scenario::{Arrival, ClockKind, LatencyModel, Sharing};
use jetlag::tenant::PhasePlan;
use jetlag::tenant::simulate::{self, SimTenant};
use jetlag::units::{Nanos, Stamp};

use crate::common::planned::Planned as _;
use crate::summary::made_up;

/// The default of `--rounds`, and a scenario's default duration.
const ROUNDS: u64 = 5;
const SECONDS: i64 = 10;

fn manifest() -> Manifest {
    let mut manifest = made_up::manifest(SECONDS, vec![made_up::tenant("camera", 30.0, 11.0)]);
    manifest.plan().clock = ClockKind::Virtual;
    manifest.plan().warmup = Nanos::ZERO;
    manifest
}

/// How far the latencies of a simulated camera scatter around their median.
const SIGMA: f64 = 0.1;

/// One run of a camera at 30 Hz under the virtual clock, in `sim`.
fn simulated(manifest: &Manifest, median: Nanos, sigma: f64, seed: u64) -> RunSample {
    let (mut summarizer, mut sampler) = (Summarizer::new(manifest), RunSampler::new(manifest));
    let mut take = |event: Event| {
        summarizer.push(&event);
        sampler.push(&event);
    };
    let tenant = &manifest.scenario().unwrap().tenants[0];
    let spec = SimTenant {
        tenant: 0,
        model: LatencyModel::LogNormal { median, sigma },
        arrival: tenant.arrival,
        overload: tenant.overload,
        deadline: tenant.deadline,
        depth: 1,
        batch: Default::default(),
        frames: None,
        seed,
        timeline: None,
        length: None,
    };
    let plan = PhasePlan {
        phase: Phase::Together,
        drawn_as: Phase::Together,
        traced: false,
        sharing: Sharing::Streams,
        epoch: Stamp(0),
        measured_from: Stamp(0),
        end: Stamp(0) + manifest.scenario().unwrap().duration,
    };
    let ends = simulate::run(&[spec], 0.0, plan, &AtomicBool::new(false), |frame| {
        take(Event::Frame(*frame))
    });
    ends.into_iter().for_each(|end| take(Event::Phase(end)));
    sampler.finish(summarizer.finish(None))
}

/// A side of several rounds, each with a seed of its own.
fn side(name: &str, median_us: i64, seeds: std::ops::Range<u64>) -> Side {
    scattered(name, median_us, SIGMA, seeds)
}

fn scattered(name: &str, median_us: i64, sigma: f64, seeds: std::ops::Range<u64>) -> Side {
    Side {
        in_turns: false,
        repeated: Vec::new(),
        name: name.to_owned(),
        files: Vec::new(),
        runs: seeds
            .map(|seed| simulated(&manifest(), Nanos::from_micros(median_us), sigma, seed))
            .collect(),
    }
}

/// A comparison of five rounds each; no two runs share a seed.
fn pair(number: u64, median_us: i64, sigma: f64) -> Comparison {
    let first = number * 2 * ROUNDS;
    let a = scattered("a", 9_000, sigma, first..first + ROUNDS);
    let b = scattered("b", median_us, sigma, first + ROUNDS..first + 2 * ROUNDS);
    compare(&[a, b], &[]).expect("comparable")
}

#[test]
fn of_two_hundred_pairs_of_equals_at_most_one_in_twenty_is_called_different() {
    const PAIRS: u64 = 200;
    let different = (0..PAIRS)
        .filter(|&number| pair(number, 9_000, SIGMA).candidates[0].differs())
        .count();
    println!("{different} of {PAIRS} pairs of equals are called different");
    assert!(different <= 10, "{different} of {PAIRS}");
}

#[test]
fn single_runs_of_equals_are_not_called_different_more_often_either() {
    let different = (0..200)
        .filter(|&number| {
            let a = side("a", 9_000, 2 * number..2 * number + 1);
            let b = side("b", 9_000, 2 * number + 1..2 * number + 2);
            compare(&[a, b], &[]).expect("comparable").candidates[0].differs()
        })
        .count();
    println!("{different} of 200 pairs of single runs are called different");
    assert!(different <= 10, "{different}");
}

#[test]
fn a_shift_of_two_percent_is_found_in_four_of_five_comparisons_and_its_direction_is_right() {
    const PAIRS: u64 = 100;
    // What inference on a quiet machine scatters by, or less; and what is at the limit of five rounds.
    for (sigma, enough) in [(0.08, 80), (0.1, 70)] {
        let (mut found, mut held) = (0, 0);
        for number in 0..PAIRS {
            let comparison = pair(1000 + number, 9_180, sigma);
            let p50 = &comparison.candidates[0].tenants[0].figures[0];
            assert_ne!(p50.verdict, Verdict::Lower);
            found += u64::from(p50.verdict == Verdict::Higher);
            let [low, high] = p50.interval.expect("enough frames");
            held += u64::from(low <= 0.02 && 0.02 <= high);
        }
        println!("scatter {sigma}: {found} of {PAIRS} shifts of 2 % are found; {held} intervals hold it");
        assert!(found >= enough, "scatter {sigma}: {found} of {PAIRS}");
        assert!(held >= 95, "scatter {sigma}: {held} of {PAIRS}");
    }
}

fn first(comparison: &Comparison) -> &Candidate {
    &comparison.candidates[0]
}

fn shown(comparison: &Comparison, width: u16) -> String {
    let mut out = Vec::new();
    let style = Style { colour: false, width };
    report::compare::write(comparison, &mut out, &style).expect("writing to memory");
    String::from_utf8(out).expect("text")
}

#[test]
fn the_words_say_which_is_slower_and_what_can_be_ruled_out() {
    let different = shown(&pair(3000, 9_900, SIGMA), 80);
    assert!(
        different.contains("B DIFFERS FROM A") && different.contains("p50: B is 1"),
        "{different}"
    );
    assert!(different.contains("slower (+"), "{different}");
    let same = shown(&pair(3001, 9_000, SIGMA), 80);
    assert!(same.contains("NO DIFFERENCE FOUND BETWEEN A AND B"), "{same}");
    assert!(same.contains("no difference larger than"), "{same}");
    for text in [&different, &same] {
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}

#[test]
fn a_limit_fails_only_when_the_change_is_certain() {
    let sides = || [side("a", 9_000, 0..5), side("b", 9_450, 5..10)];
    let tenants = common_tenants(&sides());
    let names: Vec<&str> = tenants.iter().map(String::as_str).collect();
    for (line, fails) in [
        ("camera.response.p50 +3%", true),
        ("camera.response.p50 +5%", false),
        ("camera.response.p50 +9%", false),
        ("camera.response.p50 -1%", false),
        ("camera.response.p99 +0%", true),
        // Not measured: what was asked for and is unknown does not pass.
        ("camera.energy +5%", true),
    ] {
        let limit = parse_limit(line, &names).expect("a limit");
        let comparison = compare(&sides(), &[limit]).expect("comparable");
        assert_eq!(comparison.fails(), fails, "{line}: {:?}", comparison.limits);
    }
}

#[test]
fn too_few_frames_for_p99_are_said_and_p50_is_compared_all_the_same() {
    let comparison = compare(&[side("a", 9_000, 0..1), side("b", 9_900, 1..2)], &[]).expect("comparable");
    let [p50, p99, misses] = &first(&comparison).tenants[0].figures[..] else {
        panic!("{comparison:?}")
    };
    assert_eq!((p50.verdict, p99.verdict), (Verdict::Higher, Verdict::Unknown));
    assert_eq!(
        p99.reason.as_deref(),
        Some("it needs 662 frames per side; there are 300 and 300")
    );
    assert_eq!(misses.figure, "miss_rate");
    assert!(shown(&comparison, 80).contains("p99: unknown; it needs 662 frames per side"));
}

fn changed(change: &dyn Fn(&mut Manifest)) -> Side {
    let mut manifest = manifest();
    change(&mut manifest);
    Side {
        in_turns: false,
        repeated: Vec::new(),
        name: "other".to_owned(),
        files: Vec::new(),
        runs: vec![simulated(&manifest, Nanos::from_millis(9), SIGMA, 77)],
    }
}

#[test]
fn runs_that_cannot_be_compared_are_refused_with_the_reason() {
    let refused = |change: &dyn Fn(&mut Manifest)| -> Incomparable {
        compare(&[side("a", 9_000, 0..1), changed(change)], &[]).expect_err("not comparable")
    };
    let clocks = refused(&|m| m.plan().clock = ClockKind::Real);
    assert!(
        matches!(&clocks, Incomparable::Clocks { virtual_run, real_run } if virtual_run == "a" && real_run == "other"),
        "{clocks:?}"
    );
    let in_common = |of: &Incomparable| match of {
        Incomparable::NoTenant {
            a_tenants, b_tenants, ..
        } => [a_tenants.clone(), b_tenants.clone()],
        other => panic!("{other:?}"),
    };
    let names = in_common(&refused(&|m| {
        m.plan().tenants[0].name = "lidar".to_owned();
        m.tenants[0].name = "lidar".to_owned();
    }));
    assert_eq!(names, ["camera", "lidar"]);
    let mut recorded = manifest();
    recorded.plan().tenants.clear();
    let recorded = Side {
        in_turns: false,
        repeated: Vec::new(),
        name: "recorded".to_owned(),
        files: Vec::new(),
        runs: vec![RunSampler::new(&recorded).finish(Summarizer::new(&recorded).finish(None))],
    };
    let [camera, _] =
        in_common(&compare(&[side("a", 9_000, 0..1), recorded], &[]).expect_err("not comparable"));
    assert_eq!(camera, "camera");
    let unlike = |change: &dyn Fn(&mut Manifest)| match refused(change) {
        Incomparable::Nothing { tenants, .. } => tenants,
        other => panic!("{other:?}"),
    };
    let detectors = Unlike::Detectors {
        detectors: ["demo-camera", "yolox"].map(|name| Some(name.to_owned())),
        label: "B".to_owned(),
    };
    let found = unlike(&|m| m.tenants[0].detector = Some("yolox".to_owned()));
    assert_eq!(found, [("camera".to_owned(), detectors)]);
    let loops = Unlike::Loops {
        closed: "B".to_owned(),
        paced: "A".to_owned(),
    };
    let found = unlike(&|m| m.plan().tenants[0].arrival = Arrival::Closed);
    assert_eq!(found, [("camera".to_owned(), loops)]);
}

fn differs(what: &str, values: [&str; 2], label: &str) -> Note {
    Note::Differs {
        what: what.to_owned(),
        values: values.map(str::to_owned),
        label: label.to_owned(),
    }
}

fn only_in(label: &str) -> Unlike {
    Unlike::Absent {
        has: label.to_owned(),
        lacks: "A".to_owned(),
    }
}

#[test]
fn what_can_be_compared_is_and_what_else_differs_is_noted() {
    let other = changed(&|m: &mut Manifest| {
        m.plan().tenants.push(made_up::tenant("lidar", 10.0, 100.0));
        m.tenants.push(m.tenants[0].clone());
        m.tenants[1].name = "lidar".to_owned();
        m.plan().tenants[0].deadline = Some(Nanos::from_millis(50));
        m.jetlag_version = "9.9.9".to_owned();
    });
    let comparison = compare(&[side("a", 9_000, 0..1), other], &[]).expect("comparable");
    let candidate = first(&comparison);
    assert_eq!(candidate.tenants[0].figures[0].verdict, Verdict::Same);
    let misses = &candidate.tenants[0].figures[2];
    assert_eq!(misses.reason.as_deref(), Some("the deadlines are different"));
    assert_eq!(candidate.tenants[1].not_compared, Some(only_in("B")));
    for note in [
        differs("jetlag", ["0.0.0", "9.9.9"], "B"),
        differs("camera's deadline", ["11.00 ms", "50.00 ms"], "B"),
    ] {
        assert!(candidate.notes.contains(&note), "{:?}", candidate.notes);
    }
}

#[test]
fn each_side_is_called_by_its_own_letter() {
    let other = |m: &mut Manifest| {
        m.plan().tenants.push(made_up::tenant("lidar", 10.0, 100.0));
        m.tenants.push(m.tenants[0].clone());
        m.tenants[1].name = "lidar".to_owned();
        m.jetlag_version = "9.9.9".to_owned();
        m.tenants[0].networks.clear();
        m.machine.insert("cpu".to_owned(), "another".to_owned());
    };
    let sides = [side("a", 9_000, 0..1), side("b", 9_000, 5..6), changed(&other)];
    let comparison = compare(&sides, &[]).expect("comparable");
    let [b, c] = &comparison.candidates[..] else {
        panic!("{:?}", comparison.candidates);
    };
    assert!(
        c.notes.contains(&differs("jetlag", ["0.0.0", "9.9.9"], "C")),
        "{:?}",
        c.notes
    );
    assert_eq!(c.tenants[1].not_compared, Some(only_in("C")));
    let of_versions = |note: &Note| matches!(note, Note::Differs { .. });
    assert!(!b.notes.iter().any(of_versions), "{:?}", b.notes);
}

#[test]
fn of_a_long_run_it_is_said_how_many_frames_are_compared() {
    let of = |seconds: i64, seed: u64| {
        let mut manifest = manifest();
        manifest.plan().duration = Nanos::from_secs(seconds);
        Side {
            in_turns: false,
            repeated: Vec::new(),
            name: "long".to_owned(),
            files: Vec::new(),
            runs: vec![simulated(&manifest, Nanos::from_micros(9_000), SIGMA, seed)],
        }
    };
    let comparison = compare(&[of(2_100, 1), of(2_400, 2)], &[]).expect("comparable");
    let notes = first(&comparison).notes.iter();
    let long: Vec<&Note> = notes
        .filter(|note| matches!(note, Note::Thinned { .. }))
        .collect();
    // 63 000 frames are kept all; of 72 000 every second stretch of 4 096: nine of eighteen.
    let of_b = Note::Thinned {
        label: "B".to_owned(),
        tenant: "camera".to_owned(),
        frames: 36_864,
    };
    assert_eq!(long, [&of_b]);
}

#[test]
fn a_run_without_frames_is_compared_as_far_as_it_goes() {
    let manifest = manifest();
    let empty = Side {
        in_turns: false,
        repeated: Vec::new(),
        name: "empty".to_owned(),
        files: Vec::new(),
        runs: vec![RunSampler::new(&manifest).finish(Summarizer::new(&manifest).finish(None))],
    };
    let comparison = compare(&[side("a", 9_000, 0..1), empty], &[]).expect("comparable");
    let figures = &first(&comparison).tenants[0].figures;
    assert!(
        figures.iter().all(|figure| figure.verdict == Verdict::Unknown),
        "{figures:?}"
    );
    assert!(!first(&comparison).differs());
    let limit = parse_limit("camera.response.p50 +3%", &["camera"]).expect("a limit");
    let empty = Side {
        in_turns: false,
        repeated: Vec::new(),
        name: "empty".to_owned(),
        files: Vec::new(),
        runs: vec![RunSampler::new(&manifest).finish(Summarizer::new(&manifest).finish(None))],
    };
    let comparison = compare(&[side("a", 9_000, 0..1), empty], &[limit]).expect("comparable");
    assert!(!first(&comparison).is_judged());
    assert!(comparison.limits[0].passed.is_none() && comparison.limits[0].reason.is_some());
}

#[test]
fn every_field_of_a_comparison_is_documented() {
    let documentation = include_str!("../../docs/json.md");
    let sides = [side("a", 9_000, 0..5), side("b", 9_000, 5..10)];
    let limit = parse_limit("camera.response.p50 +3%", &["camera"]).expect("a limit");
    let json = serde_json::to_value(compare(&sides, &[limit]).expect("comparable")).expect("JSON");
    let mut waiting = vec![&json];
    let mut seen = 0;
    while let Some(value) = waiting.pop() {
        if let Some(object) = value.as_object() {
            for (name, value) in object {
                assert!(
                    documentation.contains(&format!("`{name}`")),
                    "{name} is not documented"
                );
                seen += 1;
                waiting.push(value);
            }
        }
        waiting.extend(value.as_array().into_iter().flatten());
    }
    assert!(seen > 20);
}

#[test]
fn a_limit_is_held_against_each_other_side_by_its_name() {
    let sides = [
        side("a", 9_000, 0..5),
        side("b", 9_000, 5..10),
        side("c", 10_000, 10..15),
    ];
    let limit = parse_limit("camera.response.p50 +3%", &["camera"]).expect("a limit");
    let comparison = compare(&sides, &[limit]).expect("comparable");
    let said: Vec<(&str, Option<bool>)> = comparison
        .limits
        .iter()
        .map(|limit| (limit.side.as_str(), limit.passed))
        .collect();
    assert_eq!(said, [("B", Some(false)), ("C", Some(true))]);
    let labels: Vec<&str> = comparison
        .candidates
        .iter()
        .map(|candidate| candidate.side.label.as_str())
        .collect();
    assert_eq!(labels, ["B", "C"]);
}

#[test]
fn misses_are_compared_without_a_deadline_only_where_frames_were_dropped() {
    let figures = |a_us: i64, b_us: i64| {
        let mut manifest = manifest();
        manifest.plan().tenants[0].deadline = None;
        let side = |median_us: i64, seed: u64| Side {
            in_turns: false,
            repeated: Vec::new(),
            name: "x".to_owned(),
            files: Vec::new(),
            runs: vec![simulated(&manifest, Nanos::from_micros(median_us), SIGMA, seed)],
        };
        let comparison = compare(&[side(a_us, 1), side(b_us, 2)], &[]).expect("comparable");
        let figures = &first(&comparison).tenants[0].figures;
        figures.iter().map(|figure| figure.figure).collect::<Vec<&str>>()
    };
    let times = ["response.p50", "response.p99"];
    let all = ["response.p50", "response.p99", "miss_rate"];
    assert_eq!(figures(9_000, 9_000), times);
    // At 30 Hz one frame in six cannot be served.
    assert_eq!(figures(9_000, 40_000), all);
    assert_eq!(figures(40_000, 9_000), all);
}

#[test]
fn misses_of_different_deadlines_are_not_compared() {
    let reason = |a_ms: i64, b_ms: i64| {
        let side = |ms: i64, seed: u64| {
            let mut manifest = manifest();
            manifest.plan().tenants[0].deadline = Some(Nanos::from_millis(ms));
            Side {
                in_turns: false,
                repeated: Vec::new(),
                name: "x".to_owned(),
                files: Vec::new(),
                runs: vec![simulated(&manifest, Nanos::from_millis(9), SIGMA, seed)],
            }
        };
        let comparison = compare(&[side(a_ms, 1), side(b_ms, 2)], &[]).expect("comparable");
        let figures = &first(&comparison).tenants[0].figures;
        let misses = figures.iter().find(|figure| figure.figure == "miss_rate");
        misses.unwrap().reason.clone()
    };
    assert_eq!(reason(9, 10).as_deref(), Some("the deadlines are different"));
    assert_eq!(reason(9, 9), None);
}

#[test]
fn of_one_simulated_run_a_side_with_the_same_seed_it_is_said_that_latencies_are_the_same() {
    let side = |clock: ClockKind, seed: u64, count: u64| {
        let mut manifest = manifest();
        manifest.plan().clock = clock;
        manifest.plan().seed = seed;
        Side {
            in_turns: false,
            repeated: Vec::new(),
            name: "x".to_owned(),
            files: Vec::new(),
            runs: (0..count)
                .map(|round| simulated(&manifest, Nanos::from_millis(9), SIGMA, seed + round))
                .collect(),
        }
    };
    use ClockKind::{Real, Virtual};
    for (clock, seeds, counts, said) in [
        (Virtual, (1, 1), (1, 1), true),
        (Virtual, (1, 2), (1, 1), false),
        (Virtual, (1, 1), (2, 1), false),
        (Virtual, (1, 1), (1, 2), false),
        (Virtual, (1, 1), (2, 2), false),
        (Real, (1, 1), (1, 1), false),
    ] {
        let sides = [side(clock, seeds.0, counts.0), side(clock, seeds.1, counts.1)];
        let comparison = compare(&sides, &[]).expect("comparable");
        let notes = &first(&comparison).notes;
        let found = notes.iter().any(|note| matches!(note, Note::SameSeed { .. }));
        assert_eq!(found, said, "{clock:?}, {seeds:?}, {counts:?}: {notes:?}");
    }
}

#[test]
fn of_one_real_run_a_side_it_is_said_that_runs_may_differ_and_of_more_it_is_not() {
    let side = |count: u64| {
        let mut manifest = manifest();
        manifest.plan().clock = ClockKind::Real;
        Side {
            in_turns: false,
            repeated: Vec::new(),
            name: "x".to_owned(),
            files: Vec::new(),
            runs: (0..count)
                .map(|seed| simulated(&manifest, Nanos::from_millis(9), SIGMA, seed))
                .collect(),
        }
    };
    for (a, b, said) in [(1, 1, true), (1, 2, false), (2, 1, false), (2, 2, false)] {
        let comparison = compare(&[side(a), side(b)], &[]).expect("comparable");
        let notes = &first(&comparison).notes;
        let found = notes.iter().any(|note| matches!(note, Note::OneRun { .. }));
        assert_eq!(found, said, "{a} and {b}: {notes:?}");
    }
}

#[test]
fn other_networks_and_backends_are_noted_and_the_same_ones_are_not() {
    let notes = |network: &str, backend: &str| {
        let with = |network: &str, backend: &str| {
            changed(&|manifest: &mut Manifest| {
                manifest.tenants[0].backend = backend.to_owned();
                manifest.tenants[0].networks = vec![jetlag::record::NetworkManifest {
                    name: "detector.onnx".to_owned(),
                    blake3: network.to_owned(),
                    bytes: 1,
                    ..Default::default()
                }];
            })
        };
        let comparison = compare(&[with("aa", "cpu"), with(network, backend)], &[]).expect("comparable");
        let notes = &first(&comparison).notes;
        let of_facts = |note: &&Note| matches!(note, Note::Differs { .. } | Note::Networks { .. });
        notes.iter().filter(of_facts).cloned().collect::<Vec<Note>>()
    };
    assert_eq!(notes("aa", "cpu"), []);
    let networks = Note::Networks {
        tenant: "camera".to_owned(),
        label: "B".to_owned(),
    };
    assert_eq!(notes("bb", "cpu"), [networks]);
    assert_eq!(
        notes("aa", "onnxruntime-cpu"),
        [differs("camera's backend", ["cpu", "onnxruntime-cpu"], "B")]
    );
}
