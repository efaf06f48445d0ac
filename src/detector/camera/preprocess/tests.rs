use proptest::prelude::*;

use super::*;
use crate::detector::camera::fit::{Align, Letterbox, Rounding};
use crate::source::images::checksum::{checksum, mixed};

fn format(size: [usize; 2], fit: FitSpec) -> InputFormat {
    InputFormat {
        tensor: "in".to_owned(),
        size,
        layout: Layout::Nhwc,
        colour: Colour::Rgb,
        fit,
        scale: 1.0,
        mean: [0.0; 3],
        std: [1.0; 3],
    }
}

fn noise(width: usize, height: usize) -> Image {
    let rgb = (0..width * height * 3).map(|i| ((i * i * 31 + i * 7) >> 3) as u8);
    Image {
        width,
        height,
        rgb: rgb.collect(),
    }
}

fn filled(format: InputFormat, image: &Image) -> Vec<f32> {
    let mut out = vec![f32::NAN; format.shape().len()];
    CameraPreprocess::new(format).fill(image, &mut out).unwrap();
    out
}

/// Bilinear by its definition, in f64 and unrounded.
fn by_definition(image: &Image, to: [usize; 2], x: usize, y: usize, channel: usize) -> f64 {
    let axis = |i: usize, to: usize, from: usize| {
        let centre = ((i as f64 + 0.5) * from as f64 / to as f64 - 0.5).clamp(0.0, (from - 1) as f64);
        let first = centre.floor() as usize;
        (first, (first + 1).min(from - 1), centre - centre.floor())
    };
    let (x0, x1, wx) = axis(x, to[0], image.width);
    let (y0, y1, wy) = axis(y, to[1], image.height);
    let at = |x: usize, y: usize| f64::from(image.rgb[(y * image.width + x) * 3 + channel]);
    let above = at(x0, y0) * (1.0 - wx) + at(x1, y0) * wx;
    let below = at(x0, y1) * (1.0 - wx) + at(x1, y1) * wx;
    above * (1.0 - wy) + below * wy
}

proptest! {
    #[test]
    fn any_resize_is_within_one_level_of_bilinear_interpolation(
        from in [1usize..40, 1usize..40],
        to in [1usize..40, 1usize..40],
    ) {
        let image = noise(from[0], from[1]);
        let levels = filled(format(to, FitSpec::Stretch), &image);
        for (i, level) in levels.iter().enumerate() {
            let exact = by_definition(&image, to, i / 3 % to[0], i / 3 / to[0], i % 3);
            prop_assert!((f64::from(*level) - exact).abs() <= 1.0, "value {i}: {level}, exactly {exact}");
        }
    }

    #[test]
    fn layouts_and_colour_orders_hold_the_same_values(
        from in [1usize..30, 1usize..30],
        to in [1usize..30, 1usize..30],
        centre in any::<bool>(),
    ) {
        let image = noise(from[0], from[1]);
        let align = if centre { Align::Centre } else { Align::TopLeft };
        let fit = FitSpec::Letterbox(Letterbox { align, pad: 99, rounding: Rounding::Nearest });
        let base = InputFormat { mean: [1.0, 2.0, 3.0], std: [2.0, 4.0, 8.0], scale: 0.5, ..format(to, fit) };
        let mirrored = InputFormat { mean: [3.0, 2.0, 1.0], std: [8.0, 4.0, 2.0], colour: Colour::Bgr, ..base.clone() };
        let interleaved = filled(base.clone(), &image);
        let planes = filled(InputFormat { layout: Layout::Nchw, ..base }, &image);
        let swapped = filled(InputFormat { layout: Layout::Nchw, ..mirrored }, &image);
        let area = to[0] * to[1];
        for pixel in 0..area {
            for channel in 0..3 {
                let value = interleaved[pixel * 3 + channel];
                prop_assert_eq!(value, planes[channel * area + pixel]);
                prop_assert_eq!(value, swapped[(2 - channel) * area + pixel]);
            }
        }
    }
}

/// What OpenCV made of the same images: tests/images/resize.py.
#[test]
fn every_resize_is_opencvs_to_the_bit() {
    let stored = include_str!("../../../../tests/images/resize.txt");
    let mut different = Vec::new();
    for line in stored.lines() {
        let numbers: Vec<usize> = line.split(' ').map(|number| number.parse().unwrap()).collect();
        let [width, height, to_width, to_height, wanted] = numbers[..] else {
            panic!("{line}");
        };
        let rgb = (0..width * height * 3).map(|i| (mixed(i) >> 24) as u8).collect();
        let image = Image { width, height, rgb };
        let interleaved = format([to_width, to_height], FitSpec::Stretch);
        let planes = InputFormat {
            layout: Layout::Nchw,
            ..interleaved.clone()
        };
        let area = to_width * to_height;
        let pixels = filled(interleaved, &image).into_iter().enumerate();
        let planes = filled(planes, &image).into_iter().enumerate();
        let found = [
            checksum(pixels.map(|(i, level)| (i, level as u8))),
            checksum(planes.map(|(i, level)| (i % area * 3 + i / area, level as u8))),
        ];
        if found.map(|sum| sum as usize) != [wanted; 2] {
            different.push(line);
        }
    }
    assert!(different.is_empty(), "{} sizes: {different:#?}", different.len());
    assert!(stored.lines().count() > 300);
}

#[test]
fn an_image_of_the_input_s_size_enters_unchanged() {
    let image = noise(17, 9);
    let levels = filled(format([17, 9], FitSpec::default()), &image);
    let expected: Vec<f32> = image.rgb.iter().map(|level| f32::from(*level)).collect();
    assert_eq!(levels, expected);
}

#[test]
fn values_are_scaled_then_centred_then_divided_and_the_padding_too() {
    let image = Image {
        width: 2,
        height: 1,
        rgb: vec![10, 20, 30, 10, 20, 30],
    };
    let format = InputFormat {
        scale: 2.0,
        mean: [1.0, 2.0, 3.0],
        std: [2.0, 4.0, 8.0],
        colour: Colour::Bgr,
        ..format(
            [2, 2],
            FitSpec::Letterbox(Letterbox {
                align: Align::TopLeft,
                pad: 100,
                rounding: Rounding::Nearest,
            }),
        )
    };
    let out = filled(format, &image);
    let of = |pixel: [f32; 3]| {
        [
            (pixel[2] * 2.0 - 1.0) / 2.0,
            (pixel[1] * 2.0 - 2.0) / 4.0,
            (pixel[0] * 2.0 - 3.0) / 8.0,
        ]
    };
    let expected = [of([10.0, 20.0, 30.0]); 2]
        .into_iter()
        .chain([of([100.0; 3]); 2])
        .flatten();
    for (found, expected) in out.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-5, "{found} {expected}");
    }
}

#[test]
fn images_of_changing_size_and_content_are_each_fitted_anew() {
    let format = format([8, 8], FitSpec::default());
    let mut reused = CameraPreprocess::new(format.clone());
    let mut out = vec![0.0; format.shape().len()];
    let mut inverted = noise(20, 10);
    inverted.rgb.iter_mut().for_each(|level| *level = !*level);
    for image in [noise(20, 10), inverted, noise(3, 30), noise(1, 1), noise(20, 10)] {
        reused.fill(&image, &mut out).unwrap();
        assert_eq!(out, filled(format.clone(), &image));
    }
}

#[test]
fn an_image_without_pixels_or_with_too_few_bytes_is_refused() {
    let mut preprocess = CameraPreprocess::new(format([4, 4], FitSpec::default()));
    let mut out = [0.0; 48];
    let empty = Image::default();
    let problem = preprocess.fill(&empty, &mut out).unwrap_err();
    assert!(
        problem.contains("0 × 0: it must have at least one pixel"),
        "{problem}"
    );
    let short = Image {
        width: 4,
        height: 4,
        rgb: vec![0; 47],
    };
    let problem = preprocess.fill(&short, &mut out).unwrap_err();
    assert!(problem.contains("4 × 4 and holds 47 bytes"), "{problem}");
    let problem = preprocess.fill(&noise(4, 4), &mut out[..47]).unwrap_err();
    assert!(problem.contains("holds 47 values, expected 48"), "{problem}");
}
