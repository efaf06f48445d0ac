//! docs/security.md names a test for each guarantee; those tests exist.

use std::fs;
use std::path::Path;

#[test]
fn each_promise_has_its_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/security.md")).unwrap();
    let promises = page.split("## Guarantees").nth(1).unwrap();
    let promises = promises.split("\n## ").next().unwrap();
    let mut tests = 0;
    for row in promises.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let named = row.rsplit(" | ").next().unwrap();
        // A file, then the tests in it; the next file after a semicolon.
        for part in named.trim_end_matches(" |").split("; ") {
            let mut names = part.split('`').skip(1).step_by(2);
            let file = names.next().unwrap_or_else(|| panic!("no test: {row}"));
            let text = fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
            for name in names {
                assert!(
                    text.contains(&format!("fn {name}()")),
                    "{file} has no test {name}"
                );
                tests += 1;
            }
        }
    }
    assert!(tests > 15, "{tests}");
}
