//! `cargo +nightly fuzz run cdr`, from the crate's folder.
//!
//! Every message, whatever the bytes; an image that is decoded has all its pixels.
#![no_main]

use jetlag_bags::message::{CameraInfo, CompressedImage, Image, TransformStamped, transforms};
use jetlag_bags::pixels::to_rgb;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|message: &[u8]| {
    if let Ok(image) = Image::decode(message) {
        let mut rgb = Vec::new();
        if to_rgb(&image, &mut rgb).is_ok() {
            assert_eq!(
                rgb.len() as u64,
                3 * u64::from(image.width) * u64::from(image.height)
            );
            assert!(rgb.len() <= 3 * message.len());
        }
    }
    let _ = CompressedImage::decode(message);
    let _ = CameraInfo::decode(message).map(|info| info.d.sum::<f64>());
    let _ = TransformStamped::decode(message);
    let _ = transforms(message);
});
