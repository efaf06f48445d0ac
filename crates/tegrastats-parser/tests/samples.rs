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

#[test]
fn a_line_in_quotes_is_the_line() {
    let line = "RAM 2130/7774MB (lfb 1004x4MB) CPU [11%@1190,off] GR3D_FREQ 7% CPU@33C VDD_IN 3528/3569";
    let plain = format!("{:?}", tegrastats_parser::parse_line(line).unwrap());
    for quoted in [
        format!("\"{line}\""),
        format!("'{line}'"),
        format!("  \"{line}\","),
    ] {
        assert_eq!(
            format!("{:?}", tegrastats_parser::parse_line(&quoted).unwrap()),
            plain
        );
    }
}
