//! nuScenes's figures against nuscenes-devkit: on made boxes of all classes, and through files on a made drive.

use std::collections::BTreeMap;
use std::path::Path;

use jetlag_score::nuscenes::{
    ATTRIBUTES, CLASSES, Config, Found, NuScenes, Sample, Scores, Truth, class_of_category, keep_best, yaw_of,
};
use jetlag_score::{Benchmark, Counts, ScoreError, files};
use jetlag_world::Drive;
use jetlag_world::files::{VERSION, nuscenes as write_drive};
use proptest::prelude::*;
use serde_json::Value;

use crate::made::nuscenes::{made, problem};
use crate::made::{Dice, ask, number};

const MODULES: &str = "pyquaternion, PIL, scipy";
/// The devkit's names of our errors.
const ERRORS: [&str; 5] = ["trans_err", "scale_err", "orient_err", "vel_err", "attr_err"];

fn close(ours: f64, theirs: &Value, what: &str) -> f64 {
    let apart = (ours - number(theirs)).abs();
    assert!(apart < 1e-6, "{what}: {ours}, and the devkit has {theirs}");
    apart
}

fn assert_answer(scores: &Scores, answer: &Value, what: &str) -> f64 {
    let mut most = 0.0f64;
    for (name, class) in CLASSES.iter().zip(&scores.classes) {
        for (k, ap) in class.ap.iter().enumerate() {
            let what = format!("{what}: {name} ap {k}");
            most = most.max(close(ap.unwrap_or(0.0), &answer["aps"][name][k], &what));
        }
        for (error, ours) in ERRORS.iter().zip(class.errors) {
            let theirs = &answer["errors"][name][error];
            match ours {
                Some(ours) => most = most.max(close(ours, theirs, &format!("{what}: {name} {error}"))),
                None => assert!(
                    class.truths == 0 || theirs.is_null(),
                    "{what}: {name} {error} {theirs}"
                ),
            }
        }
    }
    let devkit = &scores.devkit;
    most = most.max(close(
        devkit.ap.unwrap(),
        &answer["mean_ap"],
        &format!("{what}: mean ap"),
    ));
    for (error, ours) in ERRORS.iter().zip(devkit.errors) {
        let what = format!("{what}: mean {error}");
        most = most.max(close(ours.unwrap(), &answer["tp_errors"][error], &what));
    }
    most.max(close(
        devkit.nds.unwrap(),
        &answer["nds"],
        &format!("{what}: nds"),
    ))
}

#[test]
fn figures_are_those_of_the_devkit() {
    let problems: Vec<Vec<Sample>> = (0..12)
        .map(|seed| made(seed, 4 + seed as usize * 3, if seed % 5 == 0 { 5 } else { 60 }))
        .collect();
    let lines: Vec<Value> = problems.iter().map(|samples| problem(samples)).collect();
    let Some(answers) = ask("nuscenes_eval.py", MODULES, &["boxes"], &lines) else {
        return;
    };
    assert_eq!(answers.len(), problems.len());
    let mut most = 0.0f64;
    for (n, (samples, answer)) in problems.iter().zip(&answers).enumerate() {
        let scores = NuScenes::new(Config::default(), samples)
            .unwrap()
            .scores(Counts::ONCE);
        most = most.max(assert_answer(&scores, answer, &format!("problem {n}")));
    }
    println!("the largest difference to nuscenes-devkit is {most:e}");
}

/// What the tables of a version say, by the devkit's rules.
fn labels(tables: &Path) -> Vec<(String, Sample)> {
    let read = |name: &str| -> Vec<Value> {
        serde_json::from_slice(&std::fs::read(tables.join(format!("{name}.json"))).unwrap()).unwrap()
    };
    let by_token = |name: &str| -> BTreeMap<String, Value> {
        let rows = read(name).into_iter();
        rows.map(|row| (row["token"].as_str().unwrap().to_owned(), row))
            .collect()
    };
    let [categories, instances, attributes, annotations, samples, poses] = [
        "category",
        "instance",
        "attribute",
        "sample_annotation",
        "sample",
        "ego_pose",
    ]
    .map(by_token);
    let numbers = |value: &Value| -> Vec<f64> { value.as_array().unwrap().iter().map(number).collect() };
    let array = |value: &Value| -> [f64; 3] { numbers(value).try_into().unwrap() };
    let time = |annotation: &Value| {
        number(&samples[annotation["sample_token"].as_str().unwrap()]["timestamp"]) / 1e6
    };
    let mut found: Vec<(String, Sample)> = Vec::new();
    for sample in read("sample") {
        let token = sample["token"].as_str().unwrap();
        let sweep = read("sample_data").into_iter().find(|data| {
            data["sample_token"] == token && data["is_key_frame"] == true && data["fileformat"] == "pcd"
        });
        let pose = &poses[sweep.unwrap()["ego_pose_token"].as_str().unwrap()];
        let [x, y, _] = array(&pose["translation"]);
        let mut truths = Vec::new();
        for row in read("sample_annotation")
            .iter()
            .filter(|row| row["sample_token"] == token)
        {
            let instance = &instances[row["instance_token"].as_str().unwrap()];
            let category = &categories[instance["category_token"].as_str().unwrap()];
            let Some(class) = class_of_category(category["name"].as_str().unwrap()) else {
                continue;
            };
            let beside = |link: &str| annotations.get(row[link].as_str().unwrap()).unwrap_or(row);
            let (first, last) = (beside("prev"), beside("next"));
            let took = time(last) - time(first);
            let way: Vec<f64> = array(&last["translation"])
                .iter()
                .zip(array(&first["translation"]))
                .map(|(to, from)| (to - from) / took)
                .collect();
            let name = row["attribute_tokens"][0]
                .as_str()
                .map(|token| attributes[token]["name"].clone());
            truths.push(Truth {
                class,
                centre: array(&row["translation"]),
                size: array(&row["size"]),
                yaw: yaw_of(numbers(&row["rotation"]).try_into().unwrap()),
                velocity: (took > 0.0).then(|| [way[0], way[1]]),
                points: Some(number(&row["num_lidar_pts"]) as u32),
                attribute: name.map(|name| ATTRIBUTES.iter().position(|known| *known == name).unwrap()),
            });
        }
        let sample = Sample {
            ego: [x, y],
            truths,
            ..Sample::default()
        };
        found.push((token.to_owned(), sample));
    }
    found
}

#[test]
fn the_result_file_of_a_drive_gives_the_devkit_the_same_figures() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("drive");
    write_drive(&Drive::new(8, 3), &root, &mut |_, _| ()).unwrap();
    let mut samples = labels(&root.join(VERSION));
    assert!(samples.len() >= 6);
    let dice = &mut Dice::new(1);
    for (_, sample) in &mut samples {
        for truth in &sample.truths {
            if dice.chance(0.85) {
                sample.found.push(Found {
                    class: truth.class,
                    centre: truth.centre.map(|v| v + dice.normal() * 0.4),
                    size: truth.size.map(|v| v * dice.between(0.9, 1.1)),
                    yaw: truth.yaw + dice.normal() * 0.1,
                    velocity: truth.velocity,
                    attribute: truth.attribute.filter(|_| dice.chance(0.9)),
                    score: dice.share(),
                });
            }
        }
    }
    let path = folder.path().join("results.json");
    let mut file = std::fs::File::create(&path).unwrap();
    let meta = files::Meta {
        lidar: true,
        ..files::Meta::default()
    };
    let rows = samples
        .iter()
        .map(|(token, sample)| (token.as_str(), sample.found.as_slice()));
    files::nuscenes(&mut file, meta, rows).unwrap();
    let arguments = ["drive", root.to_str().unwrap(), path.to_str().unwrap()];
    let Some(answers) = ask("nuscenes_eval.py", MODULES, &arguments, &[]) else {
        return;
    };
    let samples: Vec<Sample> = samples.into_iter().map(|(_, sample)| sample).collect();
    let scores = NuScenes::new(Config::default(), &samples)
        .unwrap()
        .scores(Counts::ONCE);
    assert!(scores.labelled.ap.unwrap() > 0.2, "{scores:?}");
    let most = assert_answer(&scores, &answers[0], "drive");
    println!("the largest difference to DetectionEval on a drive is {most:e}");
}

fn car(x: f64) -> Truth {
    Truth {
        class: 0,
        centre: [x, 0.0, 1.0],
        size: [2.0, 4.0, 1.5],
        yaw: 0.0,
        velocity: Some([0.0, 0.0]),
        points: Some(5),
        attribute: Some(6),
    }
}

fn found(truth: &Truth, score: f64) -> Found {
    Found {
        class: truth.class,
        centre: truth.centre,
        size: truth.size,
        yaw: truth.yaw,
        velocity: truth.velocity,
        attribute: truth.attribute,
        score,
    }
}

#[test]
fn labels_as_detections_score_one_among_the_labelled_classes() {
    let truths: Vec<Truth> = (0..5).map(|n| car(f64::from(n) * 9.0)).collect();
    let sample = Sample {
        found: truths.iter().map(|truth| found(truth, 0.5)).collect(),
        truths,
        ..Sample::default()
    };
    let scores = NuScenes::new(Config::default(), &vec![sample; 3])
        .unwrap()
        .scores(Counts::ONCE);
    assert!((scores.labelled.ap.unwrap() - 1.0).abs() < 1e-12);
    assert!((scores.labelled.nds.unwrap() - 1.0).abs() < 1e-12);
    assert!(
        (scores.devkit.ap.unwrap() - 0.1).abs() < 1e-12,
        "nine classes count as 0"
    );
    assert_eq!(scores.classes[1].ap, [None; 4]);
}

#[test]
fn what_the_detector_does_not_tell_is_withheld() {
    let truth = car(3.0);
    let found = Found {
        velocity: None,
        attribute: None,
        ..found(&truth, 0.5)
    };
    let sample = Sample {
        truths: vec![truth],
        found: vec![found],
        ..Sample::default()
    };
    let scored = NuScenes::new(Config::default(), &[sample]).unwrap();
    let figures = scored.figures(Counts::ONCE);
    let figure = |name: &str| figures.iter().find(|figure| figure.name == name).unwrap();
    assert_eq!(figure("ave").value, None);
    assert_eq!(figure("ave").why, Some("the detector tells no velocity"));
    assert_eq!(figure("aae").why, Some("the detector tells no attribute"));
    assert!(figure("devkit.aae").value.is_some());
    assert_eq!(scored.notes().len(), 3);
    let empty = NuScenes::new(Config::default(), &[]).unwrap();
    assert!(
        empty
            .figures(Counts::ONCE)
            .iter()
            .all(|figure| figure.value.is_none() && figure.why.is_some())
    );
}

#[test]
fn too_many_detections_are_refused_until_the_best_are_kept() {
    let truth = car(3.0);
    let mut sample = Sample {
        found: (0..501).map(|n| found(&truth, f64::from(n % 100))).collect(),
        truths: vec![truth],
        ..Sample::default()
    };
    let config = Config::default;
    let refused = NuScenes::new(config(), std::slice::from_ref(&sample)).unwrap_err();
    assert!(matches!(
        refused,
        ScoreError::TooManyBoxes {
            found: 501,
            most: 500,
            ..
        }
    ));
    assert_eq!(keep_best(&mut sample.found, 500), 1);
    assert_eq!(sample.found.len(), 500);
    assert_eq!(sample.found.iter().filter(|found| found.score == 0.0).count(), 5);
    NuScenes::new(config(), &[sample]).unwrap();
}

#[test]
fn counting_a_sample_twice_is_handing_it_over_twice() {
    let samples = made(3, 12, 40);
    let counts: Vec<u32> = (0..12).map(|n| [0, 1, 2, 3][n % 4]).collect();
    let mut repeated = Vec::new();
    for (sample, times) in samples.iter().zip(&counts) {
        repeated.extend(std::iter::repeat_n(sample.clone(), *times as usize));
    }
    let score =
        |samples: &[Sample], counts| NuScenes::new(Config::default(), samples).unwrap().scores(counts);
    let counted = score(&samples, Counts::new(&counts));
    let wanted = score(&repeated, Counts::ONCE);
    let (a, b) = (counted.labelled, wanted.labelled);
    assert!((a.ap.unwrap() - b.ap.unwrap()).abs() < 0.02, "{a:?} {b:?}");
}

fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => -50.0f64..50.0,
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, 1e300, f64::MIN_POSITIVE]),
    ]
}

proptest! {
    #[test]
    fn no_input_makes_it_panic(
        boxes in prop::collection::vec(
            (0usize..11, prop::array::uniform3(any_number()), prop::array::uniform3(any_number()), any_number(),
             prop::option::of(prop::array::uniform2(any_number())), prop::option::of(0usize..9), any_number()), 0..6),
        ego in prop::array::uniform2(any_number()),
    ) {
        let mut sample = Sample { ego, ..Sample::default() };
        for (class, centre, size, yaw, velocity, attribute, score) in boxes {
            sample.truths.push(Truth { class, centre, size, yaw, velocity, points: None, attribute });
            sample.found.push(Found { class, centre, size, yaw, velocity, attribute, score });
        }
        if let Ok(scored) = NuScenes::new(Config::default(), &[sample]) {
            for figure in scored.figures(Counts::ONCE) {
                prop_assert!(figure.value.is_none_or(f64::is_finite), "{figure:?}");
            }
        }
    }
}
