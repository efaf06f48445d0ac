//! Finds the header folders.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::compile;
use crate::machine::{self, is_asked, variable};

/// A folder with NvInfer.h, NvInferVersion.h and NvOnnxParser.h.
pub(super) struct Headers {
    pub(super) path: PathBuf,
    /// Made by `headers_from_tables.py`, not NVIDIA's.
    pub(super) from_tables: bool,
}

/// Folders of the package `trtx-sys` that are used: eras C, D and E.
const SHIPPED: [&str; 3] = ["TRT-Enterprise-11.4", "TRT-RTX-1.4", "TRT-RTX-1.7"];
/// Tables of which headers are made: eras A and B in the versions of JetPack.
const TABLES: [&str; 3] = ["trt-8.6.1", "trt-8.5.3", "trt-10.3.0"];
/// Tables that are used beside these where `JETLAG_DOUBLE_ALL_TABLES=1` asks: first and last of eras A and B.
const MORE_TABLES: [&str; 2] = ["trt-10.0.1", "trt-10.16"];

/// The header folders of this machine, and what it lacks.
pub(super) struct Found {
    pub(super) folders: Vec<Headers>,
    /// What was looked for besides and is not there, with the reason.
    pub(super) lacking: Vec<String>,
}

/// All header folders; an error where the package cannot be had.
///
/// # Panics
/// A folder in `JETLAG_TENSORRT_HEADERS` is not what the variable says.
pub(super) fn all() -> Result<Found, String> {
    let package = package()?;
    let own = |path| Headers {
        path,
        from_tables: false,
    };
    let mut folders: Vec<Headers> = SHIPPED
        .iter()
        .map(|name| own(package.join("TensorRT-Headers").join(name)))
        .collect();
    if let Some(list) = variable("JETLAG_TENSORRT_HEADERS") {
        for path in std::env::split_paths(&list).filter(|path| !path.as_os_str().is_empty()) {
            for name in ["NvInfer.h", "NvInferVersion.h", "NvOnnxParser.h"] {
                let is_there = path.join(name).is_file();
                assert!(
                    is_there,
                    "JETLAG_TENSORRT_HEADERS names {}, which has no {name}",
                    path.display()
                );
            }
            folders.push(own(path));
        }
    }
    let mut found = Found {
        folders,
        lacking: Vec::new(),
    };
    from_tables(&mut found);
    Ok(found)
}

/// The source folder of `trtx-sys`, fetched if it is not there.
fn package() -> Result<PathBuf, String> {
    let manifest = compile::sources("headers").join("Cargo.toml");
    let mut why = String::new();
    for offline in [true, false] {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo
            .args(["metadata", "--format-version", "1", "--locked", "--manifest-path"])
            .arg(&manifest);
        if offline {
            cargo.arg("--offline");
        }
        let output = cargo
            .output()
            .map_err(|e| format!("cargo metadata cannot be run: {e}"))?;
        if output.status.success() {
            let json: serde_json::Value =
                serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())?;
            let packages = json["packages"].as_array().cloned().unwrap_or_default();
            return packages
                .iter()
                .find(|p| p["name"] == "trtx-sys")
                .and_then(|p| p["manifest_path"].as_str())
                .and_then(|p| Path::new(p).parent())
                .map(Path::to_path_buf)
                .ok_or_else(|| "cargo metadata does not name trtx-sys".to_owned());
        }
        why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    }
    Err(format!("cargo metadata of {} failed: {why}", manifest.display()))
}

/// Header folders made from the tables of the shared data; none where these or python3 are missing.
fn from_tables(found: &mut Found) {
    let shared =
        variable("JETLAG_SHARED").map_or_else(|| machine::repository().join("../shared"), PathBuf::from);
    let tables = shared.join("tensorrt-abi/versions");
    let more = match is_asked("JETLAG_DOUBLE_ALL_TABLES") {
        true => &MORE_TABLES[..],
        false => &[],
    };
    for name in TABLES.iter().chain(more).copied() {
        let table = tables.join(format!("{name}.json"));
        if !table.is_file() {
            let why = format!("the double of {name}: {} not found", table.display());
            found.lacking.push(why);
            continue;
        }
        match super::build::headers_of(&table, name) {
            Ok(path) => found.folders.push(Headers {
                path,
                from_tables: true,
            }),
            Err(why) => found.lacking.push(format!("the double of {name}: {why}")),
        }
    }
}
