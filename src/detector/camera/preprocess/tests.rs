use proptest::prelude::*;

use super::*;
use crate::detector::camera::fit::{Align, Letterbox, Rounding};
use crate::source::PointCloud;
use crate::source::images::checksum::{checksum, mixed};
use crate::tensor::{ElementType, HostTensor};

fn format(size: [usize; 2], fit: FitSpec) -> InputFormat {
    InputFormat {
        element: Element::F32,
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
    let problem = preprocess.fill(&empty, &mut out).unwrap_err().to_string();
    assert!(
        problem.contains("0 × 0: it must have at least one pixel"),
        "{problem}"
    );
    let short = Image {
        width: 4,
        height: 4,
        rgb: vec![0; 47],
    };
    let problem = preprocess.fill(&short, &mut out).unwrap_err().to_string();
    assert!(problem.contains("4 × 4 and holds 47 bytes"), "{problem}");
    let problem = preprocess
        .fill(&noise(4, 4), &mut out[..47])
        .unwrap_err()
        .to_string();
    assert!(problem.contains("holds 47 values, expected 48"), "{problem}");
}

#[test]
fn a_frame_fills_the_input_and_says_where_the_image_lies_and_how_large_it_was() {
    let format = format([8, 8], FitSpec::default());
    let image = noise(20, 10);
    let mut inputs = TensorSet::new(vec![HostTensor::zeroed("in", ElementType::F32, format.shape())]);
    let mut carry = Carry::default();
    let frame = Frame {
        content: Content::Image(image.clone()),
        ..Frame::default()
    };
    let mut preprocess = CameraPreprocess::new(format.clone());
    let pixels = preprocess.run(&frame, &mut inputs, &mut carry).unwrap();
    assert_eq!(pixels, 200);
    assert_eq!(
        inputs.get("in").unwrap().f32().unwrap(),
        filled(format.clone(), &image)
    );
    assert_eq!(carry.fit, format.fit.place([20, 10], [8, 8]).fit([20, 10]));
}

#[test]
fn a_frame_without_an_image_is_refused_with_what_it_was() {
    let format = format([8, 8], FitSpec::default());
    let mut inputs = TensorSet::new(vec![HostTensor::zeroed("in", ElementType::F32, format.shape())]);
    let mut preprocess = CameraPreprocess::new(format);
    for (content, word) in [
        (Content::Empty, "Empty"),
        (Content::Points(PointCloud::default()), "Points"),
    ] {
        let frame = Frame {
            content,
            ..Frame::default()
        };
        let error = preprocess
            .run(&frame, &mut inputs, &mut Carry::default())
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("the detector takes Image frames, but got {word}")
        );
    }
    for (width, height) in [(0, 5), (5, 0)] {
        let frame = Frame {
            content: Content::Image(Image {
                width,
                height,
                rgb: Vec::new(),
            }),
            ..Frame::default()
        };
        let error = preprocess
            .run(&frame, &mut inputs, &mut Carry::default())
            .unwrap_err();
        assert!(error.to_string().contains("at least one pixel"), "{error}");
    }
}

/// The input that a device makes of a block: gpu/kernels/fit.cu in words of the host.
fn from_block(block: &[u8], format: &InputFormat) -> Vec<f32> {
    let word = |at: usize| u32::from_ne_bytes(block[at * 4..][..4].try_into().unwrap());
    let place = |at: usize| word(at) as usize;
    let [width, height] = format.size;
    let area = width * height;
    let begin = (16 + 2 * width + 3 * height).div_ceil(4) * 16;
    if word(0) == 1 {
        let values = block[begin..].as_chunks::<4>().0.iter();
        return values.map(|bytes| f32::from_ne_bytes(*bytes)).collect();
    }
    let mut out = vec![f32::NAN; 3 * area];
    for i in 0..area {
        let x = (i % width).wrapping_sub(place(2));
        let y = (i / width).wrapping_sub(place(3));
        for channel in 0..3 {
            let mut level = word(12);
            if x < place(4) && y < place(5) {
                let (column, row) = (16 + 2 * x, 16 + 2 * width + 3 * y);
                let [first, second] = [word(column + 1) & 0xffff, word(column + 1) >> 16];
                let line = |row: usize| {
                    let at = begin + row * place(1) + place(column) + channel;
                    let next = if second == 0 { at } else { at + 3 };
                    (u32::from(block[at]) * first + u32::from(block[next]) * second) >> 4
                };
                let above = (line(place(row)) * (word(row + 2) & 0xffff)) >> 16;
                let below = (line(place(row + 1)) * (word(row + 2) >> 16)) >> 16;
                level = (above + below + 2) >> 2;
            }
            let value = level as f32 * f32::from_bits(word(6 + channel)) + f32::from_bits(word(9 + channel));
            let slot = if word(13) == 1 { 2 - channel } else { channel };
            out[match format.layout {
                Layout::Nhwc => 3 * i + slot,
                Layout::Nchw => slot * area + i,
            }] = value;
        }
    }
    out
}

/// A block for this format, as a slot of a device has it.
fn new_block(format: &InputFormat) -> HostTensor {
    let step = block::on_device(format);
    assert_eq!(step.shape.interleaved, format.layout == Layout::Nhwc);
    HostTensor::zeroed(block::BLOCK, ElementType::U8, step.block.max_shape)
}

#[test]
fn a_block_holds_all_that_makes_the_input_of_images_of_changing_size() {
    let letterbox = |align| {
        FitSpec::Letterbox(Letterbox {
            align,
            pad: 99,
            rounding: Rounding::Nearest,
        })
    };
    for (fit, layout, colour) in [
        (letterbox(Align::Centre), Layout::Nchw, Colour::Rgb),
        (letterbox(Align::TopLeft), Layout::Nhwc, Colour::Bgr),
        (FitSpec::Stretch, Layout::Nhwc, Colour::Rgb),
        (FitSpec::Stretch, Layout::Nchw, Colour::Bgr),
    ] {
        let format = InputFormat {
            layout,
            colour,
            scale: 0.5,
            mean: [1.0, 2.0, 3.0],
            std: [2.0, 4.0, 8.0],
            ..format([31, 22], fit)
        };
        let mut tensor = new_block(&format);
        let mut preprocess = CameraPreprocess::new(format.clone());
        for [width, height] in [
            [62, 44],
            [31, 22],
            [31, 22],
            [93, 66],
            [40, 70],
            [20, 9],
            [1, 1],
            [2, 90],
            [90, 1],
        ] {
            let image = noise(width, height);
            let placed = preprocess.fill_block(&image, &mut tensor).unwrap();
            assert_eq!(placed, format.fit.place([width, height], format.size));
            let found = from_block(tensor.bytes(), &format);
            assert!(
                found == filled(format.clone(), &image),
                "{width} × {height}, {format:?}"
            );
        }
    }
}

#[test]
fn the_widest_image_goes_to_the_device_as_it_is_and_a_wider_one_as_the_input() {
    let format = format([8, 6], FitSpec::Stretch);
    let mut tensor = new_block(&format);
    let mut preprocess = CameraPreprocess::new(format.clone());
    // Each row of the input is made of two rows of the image, which it shares with no other: no image takes more.
    for (width, is_whole) in [
        (block::WIDEST, true),
        (block::WIDEST + 1, false),
        (3 * block::WIDEST, false),
    ] {
        let image = noise(width, 15);
        preprocess.fill_block(&image, &mut tensor).unwrap();
        assert_eq!(tensor.bytes()[0], u8::from(!is_whole), "{width}");
        assert_eq!(tensor.bytes().len() == tensor.capacity(), is_whole, "{width}");
        assert_eq!(
            from_block(tensor.bytes(), &format),
            filled(format.clone(), &image),
            "{width}"
        );
    }
    // Three times as high: every third row counts, and no other is handed over.
    let image = noise(24, 18);
    preprocess.fill_block(&image, &mut tensor).unwrap();
    let head = block::on_device(&format).shape.head_bytes();
    assert_eq!(tensor.bytes().len(), head + 6 * 24 * 3);
}
