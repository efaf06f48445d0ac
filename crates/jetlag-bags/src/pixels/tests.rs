use proptest::prelude::*;

use super::*;
use crate::message::Header;
use crate::time::Time;

fn image<'a>(encoding: &'a str, width: u32, height: u32, step: u32, data: &'a [u8]) -> Image<'a> {
    Image {
        header: Header {
            stamp: Time(0),
            frame_id: "",
        },
        width,
        height,
        encoding: Encoding::of(encoding),
        is_big_endian: false,
        step,
        data,
    }
}

fn rgb(image: &Image<'_>) -> Vec<u8> {
    let mut out = vec![1; 5];
    to_rgb(image, &mut out).unwrap();
    out
}

#[test]
fn colours_of_four_and_three_bytes_are_put_in_order_and_padding_is_passed_over() {
    for (name, data) in [
        ("rgb8", &[1, 2, 3, 4, 5, 6, 99, 7, 8, 9, 10, 11, 12][..]),
        ("bgr8", &[3, 2, 1, 6, 5, 4, 99, 9, 8, 7, 12, 11, 10]),
    ] {
        assert_eq!(
            rgb(&image(name, 2, 2, 7, data)),
            (1..=12).collect::<Vec<u8>>(),
            "{name}"
        );
    }
    assert_eq!(
        rgb(&image("rgba8", 1, 2, 5, &[1, 2, 3, 0, 99, 4, 5, 6, 0])),
        [1, 2, 3, 4, 5, 6]
    );
    assert_eq!(
        rgb(&image("bgra8", 1, 2, 4, &[3, 2, 1, 0, 6, 5, 4, 0])),
        [1, 2, 3, 4, 5, 6]
    );
    assert_eq!(rgb(&image("mono8", 2, 1, 2, &[7, 9])), [7, 7, 7, 9, 9, 9]);
}

#[test]
fn of_sixteen_bits_the_high_byte_counts_in_either_byte_order() {
    let mut picture = image("mono16", 1, 2, 2, &[0x34, 0x12, 0x78, 0x56]);
    assert_eq!(rgb(&picture), [0x12, 0x12, 0x12, 0x56, 0x56, 0x56]);
    picture.is_big_endian = true;
    assert_eq!(rgb(&picture), [0x34, 0x34, 0x34, 0x78, 0x78, 0x78]);
}

#[test]
fn a_mosaic_of_one_colour_gives_that_colour_everywhere() {
    let (red, green, blue) = (200u8, 100u8, 50u8);
    for (name, square) in [
        ("bayer_rggb8", [[red, green], [green, blue]]),
        ("bayer_bggr8", [[blue, green], [green, red]]),
        ("bayer_gbrg8", [[green, blue], [red, green]]),
        ("bayer_grbg8", [[green, red], [blue, green]]),
    ] {
        for (width, height) in [(2, 2), (3, 2), (5, 4), (4, 7)] {
            let mut data = Vec::new();
            (0..height).for_each(|y| data.extend((0..width).map(|x| square[y % 2][x % 2])));
            let found = rgb(&image(name, width as u32, height as u32, width as u32, &data));
            let wanted: Vec<u8> = [red, green, blue].repeat(width * height);
            assert_eq!(found, wanted, "{name} {width}×{height}");
        }
    }
}

#[test]
fn missing_colours_are_means_of_their_neighbours() {
    let data = [
        10, 20, 30, 40, //
        50, 60, 70, 80, //
        90, 100, 110, 120, //
        130, 140, 150, 160,
    ];
    let found = rgb(&image("bayer_rggb8", 4, 4, 4, &data));
    let pixel = |x: usize, y: usize| [0, 1, 2].map(|c| found[(y * 4 + x) * 3 + c]);
    assert_eq!(
        pixel(2, 2),
        [110, 110, 110],
        "red: green beside, blue at the corners"
    );
    assert_eq!(pixel(1, 1), [60, 60, 60], "blue");
    assert_eq!(pixel(2, 1), [70, 70, 70], "green in a blue row");
    assert_eq!(pixel(0, 0), [10, (20 + 50) / 2, 60], "mirrored at the border");
}

#[test]
fn greys_black_white_and_colours_of_video_come_out_as_opencv_has_them() {
    // cv2.cvtColor of one pair each: COLOR_YUV2RGB_UYVY.
    for (y, u, v, wanted) in [
        (16, 128, 128, [0, 0, 0]),
        (235, 128, 128, [255, 255, 255]),
        (128, 128, 128, [130, 130, 130]),
        (81, 90, 240, [254, 0, 0]),
        (145, 54, 34, [0, 255, 1]),
        (41, 240, 110, [0, 0, 255]),
        (0, 0, 0, [0, 154, 0]),
        (255, 255, 255, [255, 125, 255]),
    ] {
        let found = rgb(&image("yuv422", 2, 1, 4, &[u, y, v, y]));
        let is_near = |(a, b): (&u8, &u8)| a.abs_diff(*b) <= 1;
        assert!(
            found.iter().zip([wanted, wanted].concat().iter()).all(is_near),
            "{y} {u} {v}: {found:?}"
        );
        assert_eq!(found, rgb(&image("yuv422_yuy2", 2, 1, 4, &[y, u, y, v])));
        assert_eq!(found, rgb(&image("uyvy", 2, 1, 4, &[u, y, v, y])));
    }
}

#[test]
fn what_cameras_of_jetsons_publish_comes_out_as_its_packed_kind() {
    // Two by two pixels of one colour each, rows padded to 6 bytes.
    let (y, u, v) = ([81, 145, 41, 235], [90, 240], [240, 110]);
    let rows = |[a, b]: [u8; 2]| {
        [
            [y[0], y[1], y[2], y[3], 7, 7],
            [y[3], y[2], y[1], y[0], 7, 7],
            [a, b, a, b, 7, 7],
        ]
        .concat()
    };
    let nv12 = rgb(&image("nv12", 4, 2, 6, &rows([u[0], v[0]])));
    assert_eq!(nv12, rgb(&image("nv21", 4, 2, 6, &rows([v[0], u[0]]))));
    let packed = [
        [u[0], y[0], v[0], y[1], u[0], y[2], v[0], y[3]],
        [u[0], y[3], v[0], y[2], u[0], y[1], v[0], y[0]],
    ];
    assert_eq!(nv12, rgb(&image("yuv422", 4, 2, 8, &packed.concat())));
    assert_eq!(rgb(&image("8UC3", 1, 1, 3, &[1, 2, 3])), [3, 2, 1]);
    assert_eq!(rgb(&image("8UC1", 1, 1, 1, &[9])), [9, 9, 9]);
    assert_eq!(
        rgb(&image("bgra16", 1, 1, 8, &[0, 1, 0, 2, 0, 3, 0, 4])),
        [3, 2, 1]
    );
}

#[test]
fn what_cannot_be_converted_is_a_sentence() {
    let refused = |image: Image<'_>| to_rgb(&image, &mut Vec::new()).unwrap_err().to_string();
    let text = refused(image("32FC1", 1, 1, 4, &[0; 4]));
    assert!(
        text.contains("`32FC1` are not supported; supported are rgb8, bgr8"),
        "{text}"
    );
    let text = refused(image("yuv422", 3, 1, 8, &[0; 8]));
    assert!(text.contains("3×1") && text.contains("pairs"), "{text}");
    let text = refused(image("bayer_rggb8", 1, 4, 1, &[0; 4]));
    assert!(text.contains("two by two"), "{text}");
    let text = refused(image("rgb8", 0, 4, 0, &[]));
    assert!(text.contains("0×4"), "{text}");
    let text = refused(image("rgb8", u32::MAX, u32::MAX, u32::MAX, &[0; 9]));
    assert!(text.contains("holds 9 bytes"), "{text}");
}

/// The mean of the nearest samples of one colour, found by looking at all nine.
fn mosaic_pixel(data: &[u8], width: i64, height: i64, x: i64, y: i64, colour: usize, red: (i64, i64)) -> u8 {
    let mirrored = |at: i64, end: i64| {
        if at < 0 {
            -at
        } else if at >= end {
            2 * end - 2 - at
        } else {
            at
        }
    };
    let colour_at = |x: i64, y: i64| match ((x - red.0).rem_euclid(2), (y - red.1).rem_euclid(2)) {
        (0, 0) => 0,
        (1, 1) => 2,
        _ => 1,
    };
    if colour_at(x, y) == colour {
        return data[(y * width + x) as usize];
    }
    let around = (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| (x + dx, y + dy)));
    let samples: Vec<u32> = around
        .filter(|(x, y)| colour_at(*x, *y) == colour)
        .map(|(x, y)| u32::from(data[(mirrored(y, height) * width + mirrored(x, width)) as usize]))
        .collect();
    ((samples.iter().sum::<u32>() + samples.len() as u32 / 2) / samples.len() as u32) as u8
}

proptest! {
    #[test]
    fn every_pixel_of_a_mosaic_is_the_mean_of_its_nearest_samples(
        (width, height) in (2i64..150, 2i64..6), seed: u32, order in 0usize..4,
    ) {
        let (name, red) = [
            ("bayer_rggb8", (0, 0)), ("bayer_grbg8", (1, 0)), ("bayer_gbrg8", (0, 1)), ("bayer_bggr8", (1, 1)),
        ][order];
        let mut random = seed;
        let data: Vec<u8> = (0..width * height)
            .map(|_| {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (random >> 24) as u8
            })
            .collect();
        let found = rgb(&image(name, width as u32, height as u32, width as u32, &data));
        for (n, value) in found.iter().enumerate() {
            let (pixel, colour) = (n as i64 / 3, n % 3);
            let (x, y) = (pixel % width, pixel / width);
            prop_assert_eq!(*value, mosaic_pixel(&data, width, height, x, y, colour, red), "{} {} {}", x, y, colour);
        }
    }

    #[test]
    fn any_view_gives_all_its_pixels_or_an_error(
        known in 0usize..12, (width, height) in (0u32..9, 0u32..9), step in 0u32..40, data: Vec<u8>, big: bool,
    ) {
        let (name, _) = Encoding::KNOWN[known];
        let mut picture = image(name, width, height, step, &data);
        picture.is_big_endian = big;
        let mut out = Vec::new();
        if to_rgb(&picture, &mut out).is_ok() {
            prop_assert_eq!(out.len() as u32, width * height * 3);
        }
    }
}
