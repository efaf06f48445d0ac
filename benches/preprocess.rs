//! Camera preprocessing of one 1080p image, on one core: the budget is to be faster than OpenCV doing the same
//! on the same core (scripts/bench_peer_camera.py).
//!
//! `resizer_crate` is the way not taken: fast_image_resize into an 8-bit image, then normalise and lay out.

// The macros make functions that nobody documents.
#![allow(missing_docs)]

use divan::{Bencher, black_box};
use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8x3;
use fast_image_resize::{FilterType, ResizeAlg, ResizeOptions, Resizer};
use jetlag::detector::camera::fit::FitSpec;
use jetlag::detector::camera::preprocess::{CameraPreprocess, Colour, Element, InputFormat, Layout};
use jetlag::source::Image;

const WIDTH: usize = 1920;
const HEIGHT: usize = 1080;

fn main() {
    divan::main();
}

/// A gradient with texture, so that no pixel is flat: the peer's image.
fn scene() -> Image {
    let rgb = (0..HEIGHT * WIDTH * 3)
        .map(|i| {
            let (y, x, c) = (i / (WIDTH * 3), i / 3 % WIDTH, i % 3);
            ((x * 7 + y * 3 + c * 31 + (x * y) / 97) & 0xFF) as u8
        })
        .collect();
    Image {
        width: WIDTH,
        height: HEIGHT,
        rgb,
    }
}

fn format(size: [usize; 2], layout: Layout, fit: FitSpec) -> InputFormat {
    InputFormat {
        element: Element::F32,
        tensor: "images".to_owned(),
        size,
        layout,
        colour: Colour::Rgb,
        fit,
        scale: 1.0 / 255.0,
        mean: [0.0; 3],
        std: [1.0; 3],
    }
}

fn fill(bencher: Bencher, format: InputFormat) {
    let image = scene();
    let mut out = vec![0.0; format.shape().len()];
    let mut preprocess = CameraPreprocess::new(format);
    bencher.bench_local(|| {
        preprocess
            .fill(black_box(&image), black_box(&mut out))
            .expect("the image is sound")
    });
}

/// The case that the budget is for.
#[divan::bench(sample_count = 300)]
fn letterbox_640_planes(bencher: Bencher) {
    fill(bencher, format([640, 640], Layout::Nchw, FitSpec::default()));
}

#[divan::bench(sample_count = 300)]
fn letterbox_640_interleaved(bencher: Bencher) {
    fill(bencher, format([640, 640], Layout::Nhwc, FitSpec::default()));
}

/// A ratio that is not a whole number, so that every tap has a weight.
#[divan::bench(sample_count = 300)]
fn letterbox_416_planes(bencher: Bencher) {
    fill(bencher, format([416, 416], Layout::Nchw, FitSpec::default()));
}

#[divan::bench(sample_count = 300)]
fn stretch_512_planes(bencher: Bencher) {
    fill(bencher, format([512, 512], Layout::Nchw, FitSpec::Stretch));
}

#[divan::bench(sample_count = 300)]
fn resizer_crate(bencher: Bencher) {
    let image = scene();
    let (inner, top, side) = (360, 140, 640);
    let mut small = vec![0u8; side * inner * 3];
    let mut out = vec![0f32; 3 * side * side];
    let table: [f32; 256] = std::array::from_fn(|level| level as f32 / 255.0);
    let mut resizer = Resizer::new();
    let options = ResizeOptions::new().resize_alg(ResizeAlg::Interpolation(FilterType::Bilinear));
    bencher.bench_local(|| {
        let from = TypedImageRef::<U8x3>::from_buffer(WIDTH as u32, HEIGHT as u32, black_box(&image.rgb))
            .expect("the buffer is of its size");
        let mut to = TypedImage::<U8x3>::from_buffer(side as u32, inner as u32, &mut small)
            .expect("the buffer is of its size");
        resizer
            .resize_typed(&from, &mut to, &options)
            .expect("sizes are not zero");
        for (channel, plane) in out.chunks_exact_mut(side * side).enumerate() {
            let (above, rest) = plane.split_at_mut(top * side);
            let (within, below) = rest.split_at_mut(inner * side);
            above.fill(table[114]);
            below.fill(table[114]);
            for (value, pixel) in within.iter_mut().zip(small.as_chunks::<3>().0) {
                *value = table[usize::from(pixel[channel])];
            }
        }
        black_box(&mut out);
    });
}
