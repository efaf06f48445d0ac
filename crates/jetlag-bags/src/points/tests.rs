use proptest::prelude::*;

use super::*;
use crate::message::{Field, Number};
use crate::time::Time;
use crate::write::{CloudMessage, Message, encode};

/// A field, its value as it is stored.
type Column<'a> = (&'a str, Number, f64);

fn put(out: &mut [u8], number: Number, value: f64, big: bool) {
    macro_rules! put {
        ($kind:ty) => {{
            let value = value as $kind;
            let bytes = if big {
                value.to_be_bytes()
            } else {
                value.to_le_bytes()
            };
            out[..bytes.len()].copy_from_slice(&bytes);
        }};
    }
    match number {
        Number::Int8 => put!(i8),
        Number::Uint8 => put!(u8),
        Number::Int16 => put!(i16),
        Number::Uint16 => put!(u16),
        Number::Int32 => put!(i32),
        Number::Uint32 => put!(u32),
        Number::Float32 => put!(f32),
        Number::Float64 => put!(f64),
        Number::Unknown(_) => {}
    }
}

/// A cloud of `height` rows with these points, with `gap` bytes before each field and `padding` behind each row.
fn cloud(points: &[Vec<Column<'_>>], height: u32, gap: u32, padding: u32, big: bool) -> Vec<u8> {
    let mut fields = Vec::new();
    let mut step = 0;
    for (name, number, _) in &points[0] {
        step += gap;
        fields.push(Field {
            name,
            offset: step,
            number: *number,
            count: 1,
        });
        step += number.bytes().unwrap();
    }
    let width = points.len() as u32 / height;
    let row_step = width * step + padding;
    let mut data = vec![0xff; (row_step * height) as usize];
    for (n, point) in points.iter().enumerate() {
        let (row, column) = (n as u32 / width, n as u32 % width);
        for ((_, number, value), field) in point.iter().zip(&fields) {
            let at = row * row_step + column * step + field.offset;
            put(&mut data[at as usize..], *number, *value, big);
        }
    }
    let mut out = Vec::new();
    let message = CloudMessage {
        stamp: Time(5_000_000_000),
        frame_id: "lidar",
        height,
        width,
        fields: &fields,
        is_big_endian: big,
        point_step: step,
        row_step,
        data: &data,
        is_dense: false,
    };
    encode(&Message::PointCloud(message), &mut out);
    out
}

fn read(message: &[u8]) -> Points {
    let mut points = Points::default();
    points
        .decode(
            message,
            Want {
                ring: true,
                time: true,
            },
        )
        .unwrap();
    points
}

const F: Number = Number::Float32;

fn xyz(x: f64, y: f64, z: f64) -> Vec<Column<'static>> {
    vec![("x", F, x), ("y", F, y), ("z", F, z)]
}

#[test]
fn points_with_a_coordinate_that_is_not_finite_are_left_out_and_counted() {
    let bad = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let mut all = vec![xyz(1.0, 2.0, 3.0)];
    for value in bad {
        all.extend([xyz(value, 0.0, 0.0), xyz(0.0, value, 0.0), xyz(0.0, 0.0, value)]);
    }
    all.push(xyz(-4.0, -0.0, f64::from(f32::MAX)));
    for gap in [0, 3] {
        let points = read(&cloud(&all, 1, gap, 0, false));
        assert_eq!(points.xyzi, [[1.0, 2.0, 3.0, 0.0], [-4.0, -0.0, f32::MAX, 0.0]]);
        assert_eq!(points.dropped, 9);
        assert!(points.ring.is_empty() && points.time.is_empty());
    }
}

#[test]
fn the_common_layouts_give_what_the_general_way_gives() {
    // x, y, z, a gap of 0 or 4 bytes, intensity, and what fills the point to 16 or 32 bytes.
    for (offset, step) in [(12, 16), (16, 32), (12, 32), (20, 24), (16, 20)] {
        let fields = [("x", 0), ("y", 4), ("z", 8), ("intensity", offset)].map(|(name, offset)| Field {
            name,
            offset,
            number: F,
            count: 1,
        });
        let (width, height) = (50, 3);
        let mut data = vec![7; (step * width * height) as usize];
        let value = |n: u32, k: u32| {
            if n % 11 == 5 && k == 1 {
                f32::NAN
            } else {
                (n * 4 + k) as f32
            }
        };
        for n in 0..width * height {
            for (k, field) in fields.iter().enumerate() {
                let at = (n * step + field.offset) as usize;
                data[at..at + 4].copy_from_slice(&value(n, k as u32).to_le_bytes());
            }
        }
        let message = CloudMessage {
            stamp: Time(0),
            frame_id: "",
            height,
            width,
            fields: &fields,
            is_big_endian: false,
            point_step: step,
            row_step: step * width,
            data: &data,
            is_dense: true,
        };
        let mut out = Vec::new();
        encode(&Message::PointCloud(message), &mut out);
        let points = read(&out);
        let wanted: Vec<[f32; 4]> = (0..150)
            .filter(|n| n % 11 != 5)
            .map(|n| [0, 1, 2, 3].map(|k| value(n, k)))
            .collect();
        assert_eq!(points.xyzi, wanted, "intensity at {offset} of {step}");
        assert_eq!(points.dropped, 14);
    }
}

#[test]
fn names_of_intensity_and_time_are_those_of_the_usual_makers() {
    let with = |extra: &[Column<'static>]| {
        let point = [xyz(1.0, 2.0, 3.0), extra.to_vec()].concat();
        read(&cloud(&[point], 1, 1, 0, false))
    };
    for (name, number, value) in [
        ("intensity", F, 0.5),
        ("i", Number::Uint8, 200.0),
        ("reflectivity", Number::Uint16, 9.0),
    ] {
        assert_eq!(with(&[(name, number, value)]).xyzi[0][3], value as f32, "{name}");
    }
    let both = with(&[("reflectivity", Number::Uint16, 9.0), ("intensity", F, 3.0)]);
    assert_eq!(both.xyzi[0][3], 3.0);
    // The stamp is 5 s.
    for (name, number, value, seconds) in [
        ("t", Number::Uint32, 50_000_000.0, 0.05f32),
        ("offset_time", Number::Uint32, 1_000.0, 1e-6),
        ("time", F, -0.25, -0.25),
        ("time_stamp", Number::Uint32, 1e8, 0.1),
        ("timestamp", Number::Float64, 0.125, 0.125),
    ] {
        let points = with(&[("ring", Number::Uint16, 31.0), (name, number, value)]);
        assert_eq!(points.time, [seconds], "{name}");
        assert_eq!(points.ring, [31]);
    }
}

#[test]
fn times_of_the_clock_become_times_after_the_stamp() {
    let stamp = Time(1_700_000_000_100_000_000);
    for value in [1_700_000_000.15, 1_700_000_000_150_000_000.0] {
        let point = [xyz(0.0, 0.0, 0.0), vec![("timestamp", Number::Float64, value)]].concat();
        let message = cloud(&[point], 1, 0, 0, false);
        let mut view = PointCloud::decode(&message).unwrap();
        view.header.stamp = stamp;
        let layout = PointLayout::of(&view).unwrap();
        let mut points = Points::default();
        points.read(
            &view,
            &layout,
            Want {
                ring: false,
                time: true,
            },
        );
        assert!(
            (points.time[0] - 0.05).abs() < 1e-6,
            "{} from {value}",
            points.time[0]
        );
    }
}

#[test]
fn fields_that_make_no_points_are_sentences() {
    let refused = |columns: &[Column<'_>]| {
        let message = cloud(&[columns.to_vec()], 1, 0, 0, false);
        Points::default()
            .decode(&message, Want::default())
            .unwrap_err()
            .to_string()
    };
    let text = refused(&[("x", F, 0.0), ("y", F, 0.0), ("rgb", F, 0.0)]);
    assert!(text.contains("no field `z`: its fields are x, y, rgb"), "{text}");
    let text = refused(&[("x", F, 0.0), ("y", F, 0.0), ("z", F, 0.0), ("x", F, 0.0)]);
    assert!(text.contains("two fields `x`"), "{text}");
    let message = cloud(&[xyz(0.0, 0.0, 0.0)], 1, 0, 0, false);
    let mut view = PointCloud::decode(&message).unwrap();
    view.point_step = 11;
    let text = PointLayout::of(&view).unwrap_err().to_string();
    assert!(
        text.contains("`z` of the point cloud takes 4 bytes at 8, but a point has 11"),
        "{text}"
    );
    view.point_step = 0;
    assert!(PointLayout::of(&view).is_err());
}

#[test]
fn sizes_beyond_the_message_are_refused_before_anything_is_made_room_for() {
    let fields = [Field {
        name: "x",
        offset: 0,
        number: F,
        count: 1,
    }];
    for (width, height, step, row_step) in [
        (u32::MAX, u32::MAX, u32::MAX, u32::MAX),
        (u32::MAX, 1, 16, 0),
        (3, 2, 16, 48),
        (6, 1, 16, 96),
    ] {
        let message = CloudMessage {
            stamp: Time(0),
            frame_id: "",
            height,
            width,
            fields: &fields,
            is_big_endian: false,
            point_step: step,
            row_step,
            data: &[0; 80],
            is_dense: true,
        };
        let mut out = Vec::new();
        encode(&Message::PointCloud(message), &mut out);
        let refused = PointCloud::decode(&out).unwrap_err().to_string();
        assert!(
            refused.contains("but it holds 80") || refused.contains("bytes takes"),
            "{refused}"
        );
    }
}

#[test]
fn an_empty_cloud_has_no_points() {
    let message = cloud(&[xyz(0.0, 0.0, 0.0)], 1, 0, 0, false);
    let mut view = PointCloud::decode(&message).unwrap();
    let layout = PointLayout::of(&view).unwrap();
    let mut points = read(&message);
    for (width, height) in [(0, 1), (1, 0), (0, 0)] {
        (view.width, view.height) = (width, height);
        points.read(&view, &layout, Want::default());
        assert_eq!(points, Points::default());
    }
}

fn number() -> impl Strategy<Value = Number> {
    (1u8..=8).prop_map(Number::of)
}

proptest! {
    #[test]
    fn every_order_type_padding_and_byte_order_gives_the_same_points(
        values in proptest::collection::vec([0u8..100, 0u8..100, 0u8..100, 0u8..100, 0u8..100, 0u8..100], 1..20),
        numbers in [number(), number(), number(), number(), number()],
        order in Just([0usize, 1, 2, 3, 4, 5]).prop_shuffle(),
        (gap, padding, height, big) in (0u32..4, 0u32..9, 1u32..4, any::<bool>()),
    ) {
        let names = ["x", "y", "z", "intensity", "ring", "time"];
        let rows: Vec<_> = (0..height).flat_map(|_| values.clone()).collect();
        let points: Vec<Vec<Column<'_>>> = rows
            .iter()
            .map(|value| {
                let column = |k: &usize| {
                    let number = if *k == 5 { Number::Float32 } else { numbers[*k] };
                    (names[*k], number, f64::from(value[*k]))
                };
                order.iter().map(column).collect()
            })
            .collect();
        let found = read(&cloud(&points, height, gap, padding, big));
        let wanted: Vec<[f32; 4]> = rows.iter().map(|v| [0, 1, 2, 3].map(|k| f32::from(v[k]))).collect();
        prop_assert_eq!(found.xyzi, wanted);
        prop_assert_eq!(found.ring, rows.iter().map(|v| u16::from(v[4])).collect::<Vec<_>>());
        prop_assert_eq!(found.time, rows.iter().map(|v| f32::from(v[5])).collect::<Vec<_>>());
        prop_assert_eq!(found.dropped, 0);
    }

    #[test]
    fn a_damaged_message_gives_points_or_an_error(
        at in 0usize..400, value: u8, cut in 0usize..400, gap in 0u32..3,
    ) {
        let mut message = cloud(&vec![xyz(1.0, 2.0, 3.0); 6], 2, gap, 4, false);
        let length = message.len();
        message[at % length] = value;
        message.truncate(length - cut % 50);
        let _ = Points::default().decode(&message, Want { ring: true, time: true });
    }
}
