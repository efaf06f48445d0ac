//! Real lines with their expected values, where the checkout has them (`../shared`, or `JETLAG_SHARED`).

#[path = "../examples/to_json/json.rs"]
mod json;

use nvidia_doubles::machine;

#[test]
fn real_lines_of_every_board_give_exactly_their_expected_values() {
    let Some(folder) = machine::shared("tegrastats/samples") else {
        return;
    };
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
