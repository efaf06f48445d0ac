//! What findings are made of stands in docs/json.md, each in the line of its code: checked of every run that a test makes up.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jetlag::analysis::Summary;
use serde_json::Value;

/// The lines of the page's table, by code.
static LINES: LazyLock<BTreeMap<&str, &str>> = LazyLock::new(|| {
    let page = include_str!("../../docs/json.md");
    let (_, table) = page.split_once("### Facts of findings").expect("the section");
    let (table, _) = table.split_once("\n## ").expect("a section after it");
    let lines = table.lines().filter_map(|line| line.strip_prefix("| `"));
    lines.filter_map(|line| line.split_once("` | ")).collect()
});

pub(crate) fn are_documented(summary: &Summary) {
    let explained = summary.run.explained.iter().map(|of| &of.finding);
    for finding in summary.run.findings.iter().chain(explained) {
        if finding.facts.is_empty() {
            continue;
        }
        let line = LINES.get(finding.code.as_str());
        let line = line.unwrap_or_else(|| panic!("no line for {}", finding.code));
        let names = |name: &str| assert!(line.contains(&format!("`{name}`")), "{name} of {finding:?}");
        names(finding.facts["kind"].as_str().expect("a word"));
        in_all(&serde_json::to_value(&finding.facts).expect("JSON"), &names);
    }
}

/// Every name of an object and of what is in it, but for the one that all have.
fn in_all(value: &Value, names: &impl Fn(&str)) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            if name != "kind" {
                names(name);
            }
            in_all(value, names);
        }),
        Value::Array(values) => values.iter().for_each(|value| in_all(value, names)),
        _ => {}
    }
}
