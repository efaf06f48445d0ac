//! What is said of planes that are not as long as they should be.

use std::io::Write;

use super::*;
use crate::nut::write;
use crate::planar::{Matrix, Range};

/// Reads a stream of planes of 320 × 240 pixels, whose frame says that it has so many bytes and has so many.
fn error_of(said: u64, there: usize) -> String {
    let size = Size::new(320, 240).unwrap();
    let mut stream = Vec::new();
    write::begin(size, &mut stream);
    let kind = stream.windows(4).position(|four| four == b"RGB\x18").unwrap();
    stream[kind..kind + 4].copy_from_slice(b"I420");
    write::frame(0, said, &mut stream);
    stream.resize(stream.len() + there, 0);
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&stream).unwrap();
    let launch = Launch::of("cat").with([file.path()]);
    let colours = Colours {
        range: Range::Limited,
        matrix: Matrix::Bt601,
    };
    let mut frames = Frames::start(&launch, None, Layout::NutOf(colours), &Reading::default()).unwrap();
    frames.next(&mut Vec::new()).unwrap_err().to_string()
}

#[test]
fn planes_of_another_size_are_told_with_the_bytes_of_planes() {
    let error = error_of(28_800, 28_800);
    let wanted = "frame 0 has 28800 bytes, and an image of 320x240 has 115200: the images change their size";
    assert!(error.contains(wanted), "{error}");
}

#[test]
fn planes_that_are_cut_off_are_told_with_the_bytes_of_planes() {
    let error = error_of(115_200, 1000);
    let wanted = "1000 bytes of the 115200 that an image of 320x240 has; is the size right?";
    assert!(error.contains(wanted), "{error}");
}
