//! Every kind, offset, enum value, status and function of the crate against the recorded layouts of 32 releases
//! (`../shared/cupti-abi/layouts.json`), made from the releases' headers and read back from their libraries.

#![allow(clippy::print_stderr, reason = "tests say how much they compared")]

use std::fs;

use cupti_dyn::sys::{FieldRow, functions, kinds, statuses, value_rows};
use cupti_dyn::{Kind, record};
use nvidia_doubles::machine;
use serde_json::{Map, Value};

/// The recorded layouts, where they are.
fn layouts() -> Option<Value> {
    let path = machine::shared("cupti-abi/layouts.json")?;
    Some(serde_json::from_slice(&fs::read(path).expect("read")).expect("JSON"))
}

/// The releases, oldest first.
fn releases(layouts: &Value) -> Vec<&str> {
    let labels = layouts["labels"].as_array().expect("labels");
    assert!(labels.len() >= 32, "only {} releases", labels.len());
    labels
        .iter()
        .map(|label| label.as_str().expect("a label"))
        .collect()
}

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().expect("an object")
}

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().expect("a number")).expect("it fits")
}

/// The kinds whose records have the struct that a row is of.
fn kinds_of(row: &FieldRow) -> impl Iterator<Item = Kind> {
    let structure = row.kind.row().expect("a known kind").structure;
    kinds()
        .filter(move |kind| kind.structure == structure)
        .map(|kind| kind.kind)
}

/// The record of a kind in a release: its layout and its length; none where the release has no such kind.
fn recorded<'a>(layouts: &'a Value, release: &str, kind: Kind) -> Option<(&'a Value, usize)> {
    let entry = &layouts["versions"][release]["kinds"][kind.to_string()];
    let layout = &layouts["layouts"][entry["layout"].as_str()?];
    Some((layout, number(&entry["size"])))
}

fn field<'a>(layout: &'a Value, name: &str) -> Option<&'a Value> {
    layout["fields"]
        .as_array()
        .expect("fields")
        .iter()
        .find(|field| field["name"] == name)
}

#[test]
fn every_offset_is_what_the_releases_headers_say_and_is_read_exactly_where_the_field_is() {
    let Some(layouts) = layouts() else { return };
    let mut compared = 0;
    for release in releases(&layouts) {
        for row in record::fields() {
            for kind in kinds_of(&row) {
                let Some((layout, size)) = recorded(&layouts, release, kind) else {
                    continue;
                };
                let what = format!("{kind}.{} in {release}", row.name);
                match field(layout, row.name) {
                    Some(field) => {
                        assert_eq!(number(&field["offset"]), row.offset, "{what}");
                        assert_eq!(number(&field["size"]), row.width, "{what}");
                        assert!(size >= row.from, "{what} is there and would not be read");
                    }
                    None => assert!(size < row.from, "{what} is not there and would be read"),
                }
                compared += 1;
            }
        }
    }
    eprintln!("{compared} fields compared");
    assert!(compared > 8_000);
}

#[test]
fn the_oldest_and_the_newest_length_of_each_kind_are_the_recorded_ones() {
    let Some(layouts) = layouts() else { return };
    for row in kinds().filter(|row| row.oldest > 0) {
        let releases = releases(&layouts);
        let sizes: Vec<usize> = releases
            .iter()
            .filter_map(|release| recorded(&layouts, release, row.kind).map(|(_, size)| size))
            .collect();
        assert_eq!(sizes.first(), Some(&row.oldest), "{}", row.kind);
        assert_eq!(sizes.last(), Some(&row.newest), "{}", row.kind);
        assert!(sizes.is_sorted(), "{} shrank once", row.kind);
        let name = |release| {
            let key = layouts["versions"][release]["kinds"][row.name]["layout"].as_str()?;
            let name = key.split('#').next().expect("a name");
            Some(name.trim_end_matches(|digit: char| digit.is_ascii_digit()))
        };
        for release in releases {
            assert!(
                name(release).is_none_or(|name| name == row.structure),
                "{} in {release}",
                row.kind
            );
        }
    }
}

/// The constants of an enum that the releases have, each with its number.
fn constants(layouts: &Value, class: &str) -> Vec<(String, u32)> {
    let values = object(&layouts["enums"][class]);
    let entries = values.iter().map(|(name, entry)| {
        let value = u32::try_from(number(&entry["value"])).expect("it fits");
        (name.clone(), value)
    });
    entries.collect()
}

#[test]
fn every_kind_is_known_by_its_number() {
    let Some(layouts) = layouts() else { return };
    for (name, value) in constants(&layouts, "CUpti_ActivityKind") {
        let name = name.trim_start_matches("CUPTI_ACTIVITY_KIND_");
        if value != 0 {
            assert_eq!(Kind(value).to_string(), name);
        }
    }
}

#[test]
fn every_enum_value_is_what_the_releases_headers_say() {
    let Some(layouts) = layouts() else { return };
    let mut classes = Vec::new();
    for row in value_rows() {
        let known = constants(&layouts, row.class);
        let found = known.iter().find(|(name, _)| *name == row.name);
        assert_eq!(found.map(|(_, value)| *value), Some(row.value), "{}", row.name);
        classes.push(row.class);
    }
    classes.dedup();
    eprintln!(
        "{} values compared, {} enums",
        value_rows().count(),
        classes.len()
    );
    // Those that a record holds are known whole.
    let settings = [
        "CUpti_ActivityAttribute",
        "CUpti_CallbackIdResource",
        "CUpti_ActivityFlag",
    ];
    for class in classes.into_iter().filter(|class| !settings.contains(class)) {
        for (name, value) in constants(&layouts, class) {
            assert!(
                value_rows().any(|row| row.name == name && row.value == value),
                "{name} has no row"
            );
        }
    }
}

#[test]
fn every_status_is_known_by_its_number() {
    let Some(layouts) = layouts() else { return };
    let mut compared = 0;
    for (name, value) in constants(&layouts, "CUptiResult") {
        let name = name.trim_start_matches("CUPTI_").trim_start_matches("ERROR_");
        assert!(statuses().any(|row| row == (name, value)), "{name} {value}");
        compared += 1;
    }
    assert_eq!(compared, statuses().count());
}

#[test]
fn every_function_is_there_from_the_release_on_that_the_table_says() {
    let Some(layouts) = layouts() else { return };
    for row in functions() {
        let since = row.since.unwrap_or("11.4");
        let mut is_there = false;
        for release in releases(&layouts) {
            let functions = layouts["versions"][release]["functions"]
                .as_array()
                .expect("functions");
            is_there |= release.starts_with(since);
            assert_eq!(
                functions.iter().any(|name| name == row.name),
                is_there,
                "{} in {release}",
                row.name
            );
        }
    }
}
