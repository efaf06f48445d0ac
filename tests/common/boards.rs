//! Made-up boards: the trees of tests/boards, and files of debugfs as a kernel has them.

use std::path::{Path, PathBuf};

use nvidia_doubles::c_library;

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
    c_library(&library, Path::new(source), &[])?;
    Some(library)
}
