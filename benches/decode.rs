//! Decoding one 1080p JPEG, as a folder of images has them, on one core. The peers, OpenCV and Pillow, are in
//! scripts/bench_peer_decode.py.
//!
//! `JETLAG_JPEG=photo.jpg` decodes that file instead of the made-up picture, which holds more detail than most.

// The macros make functions that nobody documents.
#![allow(missing_docs)]

use divan::{Bencher, black_box};
use jetlag::source::Image;
use jetlag::source::images::decode_image;
use libjpeg_turbo_rs::{PixelFormat, Subsampling, compress};

const WIDTH: usize = 1920;
const HEIGHT: usize = 1080;

fn main() {
    divan::main();
}

/// A gradient with texture, at quality 90 with colour at half resolution, as cameras store it.
fn made_up() -> Vec<u8> {
    let rgb: Vec<u8> = (0..HEIGHT * WIDTH * 3)
        .map(|i| {
            let (y, x, c) = (i / (WIDTH * 3), i / 3 % WIDTH, i % 3);
            (x / 9 + y / 5 + c * 31 + (x * y) / 97 % 40) as u8
        })
        .collect();
    compress(&rgb, WIDTH, HEIGHT, PixelFormat::Rgb, 90, Subsampling::S420).expect("the size is sound")
}

#[divan::bench(sample_count = 100)]
fn jpeg(bencher: Bencher) {
    let bytes = match std::env::var_os("JETLAG_JPEG") {
        Some(path) => std::fs::read(path).expect("JETLAG_JPEG names a file"),
        None => made_up(),
    };
    let mut image = Image::default();
    bencher.bench_local(|| decode_image(black_box(&bytes), black_box(&mut image)).expect("it is a JPEG"));
}
