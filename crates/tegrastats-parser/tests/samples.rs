//! Real lines with their expected values, where the checkout has them (`../shared`, or `JETLAG_SHARED`).

use std::path::{Path, PathBuf};

#[path = "../examples/to_json/json.rs"]
mod json;

#[allow(clippy::print_stderr, reason = "a skipped test says so")]
fn samples() -> Option<PathBuf> {
    let shared = std::env::var_os("JETLAG_SHARED").map_or_else(
        || Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")).to_path_buf(),
        PathBuf::from,
    );
    let folder = shared.join("tegrastats/samples");
    folder.is_dir().then_some(folder).or_else(|| {
        eprintln!("skipped: {}/tegrastats/samples not found", shared.display());
        None
    })
}

#[test]
fn real_lines_of_every_board_give_exactly_their_expected_values() {
    let Some(folder) = samples() else { return };
    let mut rows = 0;
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.extension() != Some("txt".as_ref()) {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let expected = std::fs::read(path.with_extension("json")).unwrap();
        let expected: Vec<serde_json::Value> = serde_json::from_slice(&expected).unwrap();
        assert_eq!(text.lines().count(), expected.len(), "{}", path.display());
        for (index, (line, expected)) in text.lines().zip(&expected).enumerate() {
            let found =
                tegrastats_parser::parse_line(line).map_or_else(|_| "null".into(), |s| json::object(&s));
            let found: serde_json::Value = serde_json::from_str(&found).unwrap();
            assert_eq!(&found, expected, "{}:{}", path.display(), index + 1);
            rows += 1;
        }
    }
    assert!(rows > 0, "{} holds no lines", folder.display());
}
