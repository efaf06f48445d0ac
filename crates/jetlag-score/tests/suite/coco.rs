//! COCO's figures against pycocotools, and known answers.

use jetlag_score::coco::{Coco, Found, Image, Truth};
use jetlag_score::{Benchmark, Counts, ScoreError, files};
use proptest::prelude::*;
use serde_json::Value;

use crate::made::coco::{made, problem};
use crate::made::{ask, number};

fn names(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("class{n}")).collect()
}

fn assert_same(ours: Option<f64>, theirs: &Value, what: &str) -> f64 {
    let theirs = Some(number(theirs)).filter(|value| *value != -1.0);
    match (ours, theirs) {
        (Some(a), Some(b)) => {
            assert!((a - b).abs() < 1e-9, "{what}: {a}, and pycocotools has {b}");
            (a - b).abs()
        }
        (None, None) => 0.0,
        (ours, theirs) => panic!("{what}: {ours:?}, and pycocotools has {theirs:?}"),
    }
}

fn assert_answer(images: &[Image], classes: usize, answer: &Value, what: &str) -> f64 {
    let scores = Coco::new(&names(classes), images).unwrap().scores(Counts::ONCE);
    let mut most = 0.0f64;
    for ((name, ours), theirs) in scores.named().iter().zip(answer["stats"].as_array().unwrap()) {
        most = most.max(assert_same(*ours, theirs, &format!("{what} {name}")));
    }
    for (class, theirs) in scores.classes.iter().zip(answer["classes"].as_array().unwrap()) {
        for (k, ours) in [class.ap, class.ap50, class.ap75, class.ar100]
            .into_iter()
            .enumerate()
        {
            most = most.max(assert_same(
                ours,
                &theirs[k],
                &format!("{what} class {theirs} {k}"),
            ));
        }
    }
    most
}

#[test]
fn figures_are_those_of_pycocotools() {
    let mut problems: Vec<(Vec<Image>, usize)> = (0..40)
        .map(|seed| {
            let classes = 1 + seed as usize % 5;
            (made(seed, 3 + seed as usize, classes, 14), classes)
        })
        .collect();
    // More than 100 detections of a class in an image.
    problems.push((made(99, 3, 1, 120), 1));
    // Nothing found, and nothing there.
    let mut nothing_found = made(7, 5, 2, 8);
    nothing_found.iter_mut().for_each(|image| image.found.clear());
    problems.push((nothing_found, 2));
    let mut nothing_there = made(7, 5, 2, 8);
    nothing_there.iter_mut().for_each(|image| image.truths.clear());
    problems.push((nothing_there, 2));
    let lines: Vec<Value> = problems
        .iter()
        .map(|(images, classes)| problem(images, *classes))
        .collect();
    let Some(answers) = ask("coco.py", "pycocotools, numpy", &[], &lines) else {
        return;
    };
    assert_eq!(answers.len(), problems.len());
    let mut most = 0.0f64;
    for (number, ((images, classes), answer)) in problems.iter().zip(&answers).enumerate() {
        most = most.max(assert_answer(
            images,
            *classes,
            answer,
            &format!("problem {number}"),
        ));
    }
    println!("the largest difference to pycocotools is {most:e}");
}

#[test]
fn the_result_file_gives_pycocotools_the_same_figures() {
    let classes = 3;
    let images = made(5, 20, classes, 10);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.json");
    let mut file = std::fs::File::create(&path).unwrap();
    let rows = images
        .iter()
        .zip(1..)
        .map(|(image, id)| (id, image.found.as_slice()));
    files::coco(&mut file, &[1, 2, 3], rows).unwrap();
    let Some(answers) = ask(
        "coco.py",
        "pycocotools, numpy",
        &["file", path.to_str().unwrap()],
        &[problem(&images, classes)],
    ) else {
        return;
    };
    assert_answer(&images, classes, &answers[0], "from the file");
}

#[test]
fn counting_a_frame_twice_is_handing_it_over_twice() {
    let images = made(3, 12, 3, 9);
    let counts: Vec<u32> = (0..12).map(|n| [0, 1, 2, 3][n % 4]).collect();
    let mut repeated = Vec::new();
    for (image, times) in images.iter().zip(&counts) {
        repeated.extend(std::iter::repeat_n(image.clone(), *times as usize));
    }
    let names = names(3);
    let counted = Coco::new(&names, &images).unwrap().scores(Counts::new(&counts));
    let wanted = Coco::new(&names, &repeated).unwrap().scores(Counts::ONCE);
    for ((name, a), (_, b)) in counted.named().iter().zip(wanted.named()) {
        assert!((a.unwrap() - b.unwrap()).abs() < 0.02, "{name}: {a:?}, {b:?}");
    }
    assert_eq!(counted.ar, wanted.ar);
}

#[test]
fn labels_as_detections_score_one_and_nothing_labelled_scores_nothing() {
    let mut images = made(4, 10, 2, 8);
    for image in &mut images {
        image.truths.retain(|truth| !truth.crowd && truth.class == 0);
        image.found = image
            .truths
            .iter()
            .map(|truth| Found {
                class: truth.class,
                bbox: truth.bbox,
                score: 0.5,
            })
            .collect();
    }
    let coco = Coco::new(&names(2), &images).unwrap();
    let scores = coco.scores(Counts::ONCE);
    assert!((scores.ap.unwrap() - 1.0).abs() < 1e-9);
    assert_eq!(scores.classes[1].ap, None);
    let figures = coco.figures(Counts::ONCE);
    let figure = figures.iter().find(|figure| figure.name == "class1.ap").unwrap();
    assert!(figure.value.is_none() && figure.why.is_some());
    let empty = Coco::new(&names(2), &[]).unwrap().scores(Counts::ONCE);
    assert!(empty.named().iter().all(|(_, value)| value.is_none()));
}

#[test]
fn bad_numbers_and_classes_are_named() {
    let good = Found {
        class: 0,
        bbox: [1.0, 1.0, 5.0, 5.0],
        score: 0.5,
    };
    let with = |found: Found| {
        let images = [
            Image::default(),
            Image {
                truths: vec![],
                found: vec![good, found],
            },
        ];
        Coco::new(&names(1), &images).unwrap_err()
    };
    let bad = with(Found {
        score: f64::NAN,
        ..good
    });
    assert_eq!(
        bad.to_string(),
        "frame 1, detection 1: its score is NaN, but must be finite; leave this detection out, or correct it"
    );
    with(Found {
        bbox: [0.0, 0.0, f64::INFINITY, 1.0],
        ..good
    });
    with(Found {
        bbox: [0.0, 0.0, -1.0, 1.0],
        ..good
    });
    assert!(matches!(
        with(Found { class: 1, ..good }),
        ScoreError::Beyond {
            number: 1,
            count: 1,
            ..
        }
    ));
}

fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -10.0f64..500.0,
        1 => prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1e300, f64::MIN_POSITIVE]),
    ]
}

proptest! {
    #[test]
    fn no_input_makes_it_panic(
        truths in prop::collection::vec((0usize..3, prop::array::uniform4(any_number()), any_number(), any::<bool>()), 0..6),
        found in prop::collection::vec((0usize..3, prop::array::uniform4(any_number()), any_number()), 0..6),
    ) {
        let image = Image {
            truths: truths.into_iter().map(|(class, bbox, area, crowd)| Truth { class, bbox, area, crowd }).collect(),
            found: found.into_iter().map(|(class, bbox, score)| Found { class, bbox, score }).collect(),
        };
        if let Ok(coco) = Coco::new(&names(2), &[image]) {
            for figure in coco.figures(Counts::ONCE) {
                prop_assert!(figure.value.is_none_or(|value| (0.0..=1.0).contains(&value)), "{figure:?}");
            }
        }
    }
}
