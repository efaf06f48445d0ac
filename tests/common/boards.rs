//! Made-up boards: the trees of tests/boards, and a stand-in for NVIDIA's management library.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::machine;

/// Writes the files of tests/boards/NAME.tree below a folder of its own; see the README there.
#[allow(unreachable_pub, reason = "shared by test binaries")]
pub fn board(name: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/boards")
        .join(format!("{name}.tree"));
    for line in std::fs::read_to_string(path).unwrap().lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (path, content) = line
            .split_once(" = ")
            .unwrap_or((line.trim_end_matches(" ="), ""));
        let content = content
            .replace("\\n", "\n")
            .replace("\\t", "\t")
            .replace("\\0", "\0");
        let file = root.path().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, content).unwrap();
    }
    root
}

/// Builds the library of tests/debugfs/unseekable.c into a folder. A program that it is preloaded into (`LD_PRELOAD`) finds
/// the files below a made-up board's /sys/kernel/debug as the kernel has them there: they do not seek. `None`, with a line
/// that says so, where there is no C compiler.
#[allow(dead_code, unreachable_pub, reason = "shared by test binaries")]
pub fn unseekable_debugfs(folder: &Path) -> Option<PathBuf> {
    let library = folder.join("libunseekable.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/debugfs/unseekable.c");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
        .arg(&library)
        .args([source, "-ldl"])
        .output();
    match built {
        Ok(output) if output.status.success() => Some(library),
        Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
        Err(_) => {
            machine::skip("no C compiler (cc) to build tests/debugfs/unseekable.c");
            None
        }
    }
}

/// Builds the stand-in of tests/nvml/nvml.c into a folder; what it answers is read from the file `state` there.
/// `None`, with a line that says so, where there is no C compiler.
#[allow(dead_code, unreachable_pub, reason = "shared by test binaries")]
pub fn fake_nvml(folder: &Path, state: &str) -> Option<PathBuf> {
    std::fs::create_dir_all(folder).unwrap();
    let library = folder.join("libnvidia-ml.so.1");
    let state_file = folder.join("state");
    std::fs::write(&state_file, state).unwrap();
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
        .arg(&library)
        .arg(format!("-DSTATE=\"{}\"", state_file.display()))
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/nvml/nvml.c"))
        .output();
    match built {
        Ok(output) if output.status.success() => Some(library),
        Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
        Err(_) => {
            machine::skip("no C compiler (cc) to build tests/nvml/nvml.c");
            None
        }
    }
}
