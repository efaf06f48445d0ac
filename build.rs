//! Compresses the demo networks, so that the binary can carry them, where it is to.

use std::path::Path;
use std::{env, fs};

use miniz_oxide::deflate::compress_to_vec;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_CPU").is_none() {
        return;
    }
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    for name in ["camera.onnx", "lidar_encoder.onnx", "lidar_backbone.onnx"] {
        let path = Path::new("engines").join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        let network = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let packed = compress_to_vec(&network, 9);
        fs::write(Path::new(&out).join(format!("{name}.deflate")), packed).expect("OUT_DIR can be written");
    }
}
