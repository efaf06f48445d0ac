//! Names of scenarios, files and tenants made of a file's name, whatever that holds.

use crate::scenario::is_name;

/// A name that does as a scenario's and as a part of a file's.
pub(in crate::commands) fn plain(stem: &str) -> String {
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name: String = stem
        .chars()
        .take(48)
        .map(|c| if legal(c) { c } else { '-' })
        .collect();
    let name = name.trim_start_matches(['.', '-']);
    match is_name(name) {
        true => name.to_owned(),
        false => "network".to_owned(),
    }
}

/// The same as a tenant's name.
pub(in crate::commands) fn tenant_name(stem: &str) -> String {
    let legal = |c: char| {
        if c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_') {
            c
        } else {
            '-'
        }
    };
    let name: String = plain(stem).to_ascii_lowercase().chars().map(legal).collect();
    let name = name.trim_start_matches(['-', '_']);
    // Names of channels that are not tenants'.
    match name {
        "" | "overhead" | "telemetry" | "finding" | "log" | "gpu" | "phases" => format!("net-{name}"),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_file_s_name_becomes_one_of_a_scenario_and_of_a_tenant() {
        for (stem, name, tenant) in [
            ("YOLOv8n", "YOLOv8n", "yolov8n"),
            ("my net (1)", "my-net--1-", "my-net--1-"),
            ("..", "network", "network"),
            ("größe", "gr--e", "gr--e"),
            ("gpu", "gpu", "net-gpu"),
            ("_x", "_x", "x"),
        ] {
            assert_eq!(
                (plain(stem).as_str(), tenant_name(stem).as_str()),
                (name, tenant),
                "{stem}"
            );
        }
    }
}
