//! Compresses the demo networks, so that the binary can carry them.

use std::path::Path;
use std::{env, fs};

fn main() {
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    for name in ["camera.onnx", "lidar_encoder.onnx", "lidar_backbone.onnx"] {
        let path = Path::new("engines").join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        let network = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let packed = zstd::encode_all(network.as_slice(), 19).expect("memory can be written");
        fs::write(Path::new(&out).join(format!("{name}.zst")), packed).expect("OUT_DIR can be written");
    }
}
