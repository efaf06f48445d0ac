//! Intervals: that they hold what they promise, are paired, and say when there are none.

use jetlag_figure::section::markdown;
use jetlag_score::bootstrap::{NoInterval, Settings, Units, differences, intervals};
use jetlag_score::report::{Comparison, Mode, Scores};
use jetlag_score::{Benchmark, Counts, Figure};

use crate::made::Dice;

/// The mean of a number a frame; and a figure that is known only where a rare frame counts.
struct Mean {
    values: Vec<f64>,
    rare: u32,
}

impl Benchmark for Mean {
    fn name(&self) -> &'static str {
        "mean"
    }

    fn frames(&self) -> usize {
        self.values.len()
    }

    fn figures(&self, counts: Counts<'_>) -> Vec<Figure> {
        let (mut sum, mut count) = (0.0, 0u32);
        for (value, frame) in self.values.iter().zip(0u32..) {
            sum += value * f64::from(counts.of(frame));
            count += counts.of(frame);
        }
        let figure = |name: &str, value: Option<f64>| Figure {
            name: name.to_owned(),
            value,
            why: value.is_none().then_some("there is no frame"),
        };
        vec![
            figure("ap", (count > 0).then(|| sum / f64::from(count))),
            figure("rare", (count > 0 && counts.of(self.rare) > 0).then_some(1.0)),
        ]
    }

    fn notes(&self) -> Vec<String> {
        vec!["a mean of made numbers".to_owned()]
    }
}

/// Scenes of ten frames; what makes a scene hard is the same for all of its frames.
fn scenes(seed: u64, count: usize, shift: f64) -> Mean {
    let dice = &mut Dice::new(seed);
    let mut values = Vec::new();
    for _ in 0..count {
        let scene = 0.5 + 0.1 * dice.normal();
        values.extend((0..10).map(|_| scene + 0.02 * dice.normal() + shift));
    }
    Mean { values, rare: 0 }
}

fn numbers(scenes: u32) -> Vec<u32> {
    (0..scenes * 10).map(|frame| frame / 10).collect()
}

fn settings(seed: u64) -> Settings {
    Settings {
        resamples: 400,
        seed,
        ..Settings::default()
    }
}

#[test]
fn an_interval_of_95_percent_holds_the_truth_about_so_often() {
    let units = Units::scenes(&numbers(40));
    let holds = |seed: &u64| {
        let all = intervals(&scenes(*seed, 40, 0.0), &units, &settings(*seed)).unwrap();
        let interval = all[0].unwrap();
        interval.low <= 0.5 && 0.5 <= interval.high
    };
    let held = (0..400u64).filter(holds).count();
    assert!((360..=394).contains(&held), "{held} of 400");
    // Frames that are drawn one by one promise too much.
    let single = Units::blocks(&numbers(40), 1);
    let wide = intervals(&scenes(1, 40, 0.0), &units, &settings(1)).unwrap()[0].unwrap();
    let narrow = intervals(&scenes(1, 40, 0.0), &single, &settings(1)).unwrap()[0].unwrap();
    assert!(narrow.high - narrow.low < (wide.high - wide.low) / 2.0);
}

#[test]
fn a_difference_is_known_better_than_either_run() {
    let units = Units::scenes(&numbers(30));
    let (first, second) = (scenes(5, 30, 0.0), scenes(5, 30, 0.03));
    let all = differences(&first, &second, &units, &settings(2)).unwrap();
    let difference = &all[0];
    let interval = difference.interval.unwrap();
    assert!((difference.difference.unwrap() - 0.03).abs() < 1e-9);
    assert!(
        (interval.low - 0.03).abs() < 1e-9 && (interval.high - 0.03).abs() < 1e-9,
        "{interval:?}"
    );
    let same = differences(&first, &first, &units, &settings(2)).unwrap();
    assert_eq!(
        (same[0].difference, same[0].interval.unwrap().low),
        (Some(0.0), 0.0)
    );
    let fewer = scenes(5, 29, 0.0);
    let refused = differences(&first, &fewer, &units, &settings(2)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the second run has 290 frames, but 300 were handed over to be drawn: score both over the same frames"
    );
}

#[test]
fn equal_seeds_give_equal_intervals() {
    let units = Units::choose(&numbers(12));
    let of = |seed| intervals(&scenes(5, 12, 0.0), &units, &settings(seed)).unwrap();
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn too_few_scenes_or_rare_figures_have_no_interval() {
    let units = Units::scenes(&numbers(9));
    let all = intervals(&scenes(1, 9, 0.0), &units, &settings(1)).unwrap();
    assert_eq!(
        all[0].unwrap_err().to_string(),
        "9 scenes are too few for an interval, which takes 10"
    );
    let units = Units::scenes(&numbers(20));
    let all = intervals(&scenes(1, 20, 0.0), &units, &settings(1)).unwrap();
    assert!(
        matches!(all[1], Err(NoInterval::RarelyKnown { of: 400, .. })),
        "{:?}",
        all[1]
    );
    let none = Mean {
        values: vec![],
        rare: 0,
    };
    let all = intervals(&none, &Units::scenes(&[]), &settings(1)).unwrap();
    assert!(all.iter().all(|interval| *interval == Err(NoInterval::NoFigure)));
}

#[test]
fn blocks_keep_to_their_scene() {
    let of_frame = [0, 0, 0, 0, 0, 7, 7, 7, 3];
    assert_eq!(Units::blocks(&of_frame, 2).count(), 3 + 2 + 1);
    assert_eq!(Units::blocks(&of_frame, 0).count(), 9);
    assert_eq!(Units::scenes(&of_frame).count(), 3);
    // Few scenes: the cube root of 1000.
    let units = Units::choose(&vec![0; 1000]);
    assert_eq!((units.count(), units.what()), (100, "blocks of frames"));
    assert_eq!(Units::choose(&numbers(20)).what(), "scenes");
}

#[test]
fn tables_show_as_many_digits_as_are_known_and_say_why_not() {
    let units = Units::scenes(&numbers(40));
    let scores = Scores::with_intervals(&scenes(3, 40, 0.0), Mode::Stream, &units, &settings(3)).unwrap();
    let text = markdown::section(&scores.section("camera"));
    let wanted = "\
#### Scores of camera

mean, stream: truth at the moment when the answer was ready; 400 frames

| figure | value | 95 % |
|---|---:|---:|
| ap | 0.493 | 0.461 to 0.524 |
| rare | 1.0000 | – |

rare: no interval: the figure is known in 240 of 400 draws only: what it is about is in too few scenes

intervals of 95 % from 400 draws of 40 scenes, seed 3

a mean of made numbers
";
    assert_eq!(text, wanted);
    let json = scores.to_json();
    assert_eq!(json["mode"], "stream");
    assert_eq!(json["figures"]["rare"]["interval"], serde_json::Value::Null);
    assert!(json["figures"]["ap"]["interval"][0].as_f64().unwrap() < 0.5);
    assert_eq!(json["bootstrap"]["units"], 40);
    assert_eq!(scores.figure("ap").unwrap().name, "ap");
    assert_eq!(scores.figure("nds"), None);
}

#[test]
fn two_runs_stand_side_by_side() {
    let units = Units::scenes(&numbers(40));
    let (first, second) = (scenes(3, 40, 0.0), scenes(4, 40, 0.0));
    let names = ["a.mcap".to_owned(), "b.mcap".to_owned()];
    let compared = Comparison::of(names, [&first, &second], Mode::Still, &units, &settings(3)).unwrap();
    let json = compared.to_json();
    assert_eq!(json["runs"], serde_json::json!(["a.mcap", "b.mcap"]));
    assert!(json["figures"]["ap"]["difference"].is_number());
}
