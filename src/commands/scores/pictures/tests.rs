use super::*;
use crate::scenario::SourceSpec;
use crate::units::Stamp;

fn place(x: f32) -> Place {
    Place::Image(Box2d {
        x1: x,
        y1: 0.0,
        x2: x + 10.0,
        y2: 10.0,
    })
}

fn found(class: u16, score: f32, x: f32) -> Detection {
    Detection::still(class, score, place(x))
}

fn known(class: &str, x: f32) -> Known {
    Known {
        class: class.to_owned(),
        place: place(x),
    }
}

fn classes() -> Vec<String> {
    ["car", "person"].map(str::to_owned).to_vec()
}

#[test]
fn the_share_of_right_boxes_counts_both_ways() {
    let right = |found: &[Detection], there: &[Known]| right(found, there, &classes());
    assert_eq!(right(&[], &[]), None);
    assert_eq!(right(&[found(0, 0.9, 0.0)], &[known("Car", 1.0)]), Some(1.0));
    assert_eq!(
        right(&[found(1, 0.9, 0.0)], &[known("car", 0.0)]),
        Some(0.0),
        "another class"
    );
    assert_eq!(
        right(&[found(0, 0.9, 0.0)], &[known("car", 6.0)]),
        Some(0.0),
        "too far"
    );
    assert_eq!(right(&[], &[known("car", 0.0)]), Some(0.0));
    // Two on one object: one is right.
    let twice = [found(0, 0.9, 0.0), found(0, 0.8, 0.0)];
    assert_eq!(right(&twice, &[known("car", 0.0)]), Some(2.0 / 3.0));
    assert_eq!(
        right(&[], &[known("tree", 0.0)]),
        None,
        "the detector does not know trees"
    );
}

fn answers(responses: &[i64], scores: &[f32]) -> Answers {
    let frames = responses.iter().zip(scores).zip(0..);
    Answers {
        tenant: "camera".to_owned(),
        classes: classes(),
        source: SourceSpec::Empty,
        selection: None,
        uses_camera: false,
        deadline: None,
        frames: frames
            .map(|((response, score), sequence)| Answer {
                sequence,
                content: Some(sequence),
                released: Stamp(100),
                finished: Some(Stamp(100 + response)),
                captured: None,
                found: vec![found(0, *score, 0.0)],
            })
            .collect(),
        lost: 0,
    }
}

#[test]
fn half_are_the_slowest_and_half_the_worst_and_none_is_shown_twice() {
    let all = [answers(&[5, 9, 7, 1, 8], &[0.5, 0.1, 0.9, 0.2, 0.8])];
    let chosen = |count| {
        let chosen = choose(&all, &[None], count);
        chosen
            .iter()
            .map(|one| (one.frame, one.why == Why::Slow))
            .collect::<Vec<_>>()
    };
    assert_eq!(chosen(4), [(1, true), (4, true), (3, false), (0, false)]);
    assert_eq!(chosen(1), [(1, true)]);
    assert_eq!(chosen(24).len(), 5);
    let truth: Vec<Vec<Known>> = (0..5)
        .map(|n| vec![known("car", if n == 2 { 50.0 } else { 0.0 })])
        .collect();
    let worst = choose(&all, &[Some(truth)], 2);
    assert_eq!((worst[1].frame, worst[1].why), (2, Why::Wrong(0.0)));
}

#[test]
fn a_scaled_image_has_the_means_of_what_it_covers() {
    let rgb: Vec<u8> = [10u8, 20, 30, 40].iter().flat_map(|level| [*level; 3]).collect();
    let small = scaled(&rgb, [4, 1], 2);
    assert_eq!(small.size, [2, 1]);
    assert_eq!(small.rgb, [15, 15, 15, 35, 35, 35]);
    assert_eq!(scaled(&rgb, [4, 1], 9).rgb, rgb);
    assert_eq!(scaled(&[], [0, 0], 3).size, [0, 0]);
}
