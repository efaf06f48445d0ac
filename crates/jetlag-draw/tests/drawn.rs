//! What stands in the pictures, pixel by pixel where it matters, and that nothing makes it fall over.

use jetlag_draw::{Kind, Mark, Picture, View, above, captioned, draw, write_png};
use jetlag_record::detection::{Box2d, Box3d, Place};
use proptest::prelude::*;

const GROUND: [u8; 3] = [0x12, 0x16, 0x1C];
const FIRST: [u8; 3] = [0xE6, 0x9F, 0x00];

fn image(kind: Kind, [x1, y1, x2, y2]: [f32; 4]) -> Mark<'static> {
    Mark {
        kind,
        class: 0,
        text: "".into(),
        place: Place::Image(Box2d { x1, y1, x2, y2 }),
    }
}

fn pixel(rgb: &[u8], width: usize, x: usize, y: usize) -> [u8; 3] {
    let at = (y * width + x) * 3;
    [rgb[at], rgb[at + 1], rgb[at + 2]]
}

#[test]
fn a_found_box_has_whole_edges_and_a_true_one_dashes() {
    let coloured = |kind| {
        let mut rgb = vec![0; 100 * 80 * 3];
        draw(&mut rgb, [100, 80], &[image(kind, [10.0, 20.0, 60.0, 50.0])]).unwrap();
        assert_eq!(pixel(&rgb, 100, 30, 35), [0; 3], "nothing within");
        assert_eq!(pixel(&rgb, 100, 5, 5), [0; 3], "nothing outside");
        (10..60).filter(|x| pixel(&rgb, 100, *x, 20) == FIRST).count()
    };
    assert_eq!(coloured(Kind::Found), 50);
    let dashed = coloured(Kind::Truth);
    assert!((20..35).contains(&dashed), "{dashed}");
}

#[test]
fn text_stands_beside_the_box() {
    let mut rgb = vec![0; 200 * 100 * 3];
    let mark = Mark {
        text: "car 0.91".into(),
        ..image(Kind::Found, [20.0, 40.0, 120.0, 80.0])
    };
    draw(&mut rgb, [200, 100], &[mark]).unwrap();
    // Ten pixels high above the box, six wide a letter: ground and ink.
    let above: Vec<[u8; 3]> = (30..40)
        .flat_map(|y| (20..68).map(move |x| (x, y)))
        .map(|(x, y)| pixel(&rgb, 200, x, y))
        .collect();
    assert!(above.contains(&FIRST) && above.contains(&[0, 0, 0]));
    assert!(
        above
            .iter()
            .all(|colour| *colour == FIRST || *colour == [0, 0, 0])
    );
}

#[test]
fn from_above_forward_is_up_and_left_is_left() {
    let view = View::of([-10.0, 10.0], [-10.0, 10.0], 200);
    let seen = above(&[[5.0, 5.0, 0.0, 0.0]], &[], view).unwrap();
    assert_eq!(seen.size, [200, 200]);
    assert_ne!(pixel(&seen.rgb, 200, 50, 50), GROUND);
    assert_eq!(pixel(&seen.rgb, 200, 150, 52), GROUND);
    let car = Mark {
        kind: Kind::Found,
        class: 0,
        text: "".into(),
        place: Place::Space(Box3d {
            x: 0.0,
            y: 0.0,
            z: 0.0,
            l: 4.0,
            w: 2.0,
            h: 1.5,
            yaw: 0.0,
        }),
    };
    let seen = above(&[], &[car], view).unwrap();
    // Two metres to the front is twenty pixels up; its line from the middle to the front.
    assert_eq!(pixel(&seen.rgb, 200, 100, 80), FIRST);
    assert_eq!(pixel(&seen.rgb, 200, 100, 90), FIRST);
    assert_ne!(pixel(&seen.rgb, 200, 100, 110), FIRST);
}

#[test]
fn a_caption_stands_below_and_the_png_is_one() {
    let picture = Picture {
        size: [120, 10],
        rgb: vec![255; 120 * 10 * 3],
    };
    let with = captioned(picture, &["frame 30", "solid: found, dashed: truth"]).unwrap();
    assert_eq!(with.size, [120, 66]);
    let mut bytes = Vec::new();
    write_png(&with, &mut bytes).unwrap();
    let mut reader = png::Decoder::new(std::io::Cursor::new(&bytes))
        .read_info()
        .unwrap();
    let mut decoded = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut decoded).unwrap();
    assert_eq!(decoded, with.rgb);
    let wrong = Picture {
        size: [3, 3],
        rgb: vec![0; 3],
    };
    assert!(
        write_png(&wrong, Vec::new())
            .unwrap_err()
            .to_string()
            .contains("this one has 3")
    );
}

fn any_number() -> impl Strategy<Value = f32> {
    prop_oneof![prop::num::f32::ANY, -200.0f32..200.0]
}

proptest! {
    #[test]
    fn no_box_and_no_point_makes_it_fall_over(
        sides in prop::array::uniform7(any_number()),
        class in any::<u16>(),
        text in ".{0,12}",
        truth in any::<bool>(),
        point in prop::array::uniform4(any_number()),
        region in prop::array::uniform4(any_number()),
    ) {
        let kind = if truth { Kind::Truth } else { Kind::Found };
        let [x, y, z, l, w, h, yaw] = sides;
        let marks = [
            Mark { kind, class, text: text.clone().into(), place: Place::Image(Box2d { x1: x, y1: y, x2: z, y2: l }) },
            Mark { kind, class, text: text.into(), place: Place::Space(Box3d { x, y, z, l, w, h, yaw }) },
        ];
        let mut rgb = vec![0; 64 * 48 * 3];
        draw(&mut rgb, [64, 48], &marks).unwrap();
        let [a, b, c, d] = region;
        above(&[point], &marks, View::of([a, b], [c, d], 64)).unwrap();
    }
}
