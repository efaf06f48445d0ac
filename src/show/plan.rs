//! Plans as text and JSON: what was built, what the cache holds, what a plan says of itself. Renders only.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::analysis::layers;
use crate::engine::cache::Listed;
use crate::engine::graph;
use crate::engine::manifest::PlanManifest;
use crate::engine::options::shape_text;
use crate::engine::plan::PlanFacts;
use crate::units::Bytes;

/// Layers shown of a plan.
const MOST_LAYERS: usize = 40;

/// A plan that is there now.
pub struct Finished {
    /// The path of the plan.
    pub path: PathBuf,
    /// Whether it was there before.
    pub was_cached: bool,
    /// How it was made.
    pub manifest: PlanManifest,
}

/// What `build` did, a line and some facts each.
pub fn finished(plans: &[Finished]) -> String {
    let mut out = String::new();
    for plan in plans {
        let manifest = &plan.manifest;
        let how = match plan.was_cached {
            true => "from the cache, built".to_owned(),
            false => format!("built in {:.1} s", manifest.build_seconds),
        };
        let _ = writeln!(
            out,
            "{}: {how} by {} for {}",
            plan.path.display(),
            manifest.builder,
            manifest.target
        );
        let _ = writeln!(
            out,
            "  {}, {} layers, {} → plan {}, {}",
            manifest.network.name,
            manifest.network_layers,
            Bytes(manifest.network.bytes),
            Bytes(manifest.plan_bytes),
            manifest.options.precision
        );
        tensors(&mut out, manifest);
    }
    out
}

fn tensors(out: &mut String, manifest: &PlanManifest) {
    let width = manifest
        .tensors
        .iter()
        .map(|tensor| tensor.name.chars().count())
        .max()
        .unwrap_or(0);
    for tensor in &manifest.tensors {
        let _ = write!(
            out,
            "  {:<6} {:width$}  {} {}",
            tensor.mode,
            tensor.name,
            tensor.data_type,
            dims(&tensor.shape)
        );
        for profile in manifest
            .options
            .profiles
            .iter()
            .filter_map(|profile| profile.get(&tensor.name))
        {
            let _ = write!(
                out,
                "  {} … {} … {}",
                shape_text(&profile.min),
                shape_text(&profile.opt),
                shape_text(&profile.max)
            );
        }
        out.push('\n');
    }
}

/// The first characters of a text.
fn shortened(text: &str, characters: usize) -> String {
    text.chars().take(characters).collect()
}

/// A shape as text, dynamic extents as `?`: `[1, ?, 9]`.
fn dims(shape: &[i64]) -> String {
    let extents: Vec<String> = shape
        .iter()
        .map(|extent| {
            if *extent < 0 {
                "?".to_owned()
            } else {
                extent.to_string()
            }
        })
        .collect();
    format!("[{}]", extents.join(", "))
}

/// What `build` did, for programs.
pub fn finished_json(plans: &[Finished]) -> Value {
    let plans: Vec<Value> = plans
        .iter()
        .map(|plan| json!({ "file": plan.path.display().to_string(), "was_cached": plan.was_cached, "manifest": plan.manifest }))
        .collect();
    json!({ "kind": "build", "plans": plans })
}

/// What the cache holds.
pub fn cache(folder: &Path, entries: &[Listed]) -> String {
    if entries.is_empty() {
        return format!(
            "the plan cache {} is empty; `jetlag build` fills it\n",
            folder.display()
        );
    }
    let mut out = String::new();
    let total: u64 = entries.iter().map(|entry| entry.bytes).sum();
    let _ = writeln!(
        out,
        "{}: {} plans, {}\n",
        folder.display(),
        entries.len(),
        Bytes(total)
    );
    for entry in entries {
        let name = entry
            .path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        match &entry.manifest {
            Ok(manifest) => {
                let _ = writeln!(
                    out,
                    "  {}  {:>10}  {:>12}  {}  {}, {}",
                    shortened(&name, 12),
                    Bytes(entry.bytes).to_string(),
                    age(manifest.built_unix_s),
                    manifest.network.name,
                    manifest.options.precision,
                    manifest.builder
                );
                let _ = writeln!(
                    out,
                    "  {:12}  {:>10}  {:>12}  for {}",
                    "", "", "", manifest.target
                );
            }
            Err(problem) => {
                let _ = writeln!(
                    out,
                    "  {}  {:>10}  unusable: {problem}",
                    shortened(&name, 12),
                    Bytes(entry.bytes).to_string()
                );
            }
        }
    }
    out
}

/// How long ago that was, in the largest fitting unit: `3 days ago`.
fn age(built_unix_s: u64) -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let seconds = now.saturating_sub(built_unix_s);
    let (number, unit) = match seconds {
        0..=89 => return "just now".to_owned(),
        90..=5_399 => (seconds.div_ceil(60), "min"),
        5_400..=172_799 => (seconds / 3_600, "h"),
        _ => (seconds / 86_400, "days"),
    };
    format!("{number} {unit} ago")
}

/// What the cache holds, for programs.
pub fn cache_json(folder: &Path, entries: &[Listed]) -> Value {
    let entries: Vec<Value> = entries
        .iter()
        .map(|entry| match &entry.manifest {
            Ok(manifest) => json!({ "file": entry.path.display().to_string(), "bytes": entry.bytes, "manifest": manifest }),
            Err(problem) => json!({ "file": entry.path.display().to_string(), "bytes": entry.bytes, "error": problem.to_string() }),
        })
        .collect();
    json!({ "kind": "cache", "folder": folder.display().to_string(), "plans": entries })
}

/// How many plans were removed from the cache, and how much room that made.
pub fn cleaned(folder: &Path, count: usize, bytes: u64) -> String {
    let plans = if count == 1 { "plan" } else { "plans" };
    format!(
        "{}: {count} {plans} removed, {}\n",
        folder.display(),
        Bytes(bytes)
    )
}

/// What is known of a plan.
pub struct PlanView<'a> {
    /// The plan's file name.
    pub name: &'a str,
    /// The length of the plan.
    pub bytes: u64,
    /// What stands beside it, or why nothing does.
    pub manifest: Result<&'a PlanManifest, &'a str>,
    /// What the library says of it, or why it says nothing.
    pub loaded: Result<&'a PlanFacts, &'a str>,
}

/// A plan, as text.
pub fn plan(view: &PlanView<'_>) -> String {
    let mut out = format!("{}: TensorRT plan, {}\n\n", view.name, Bytes(view.bytes));
    match view.manifest {
        Ok(manifest) => {
            let _ = writeln!(
                out,
                "  built by   {} with jetlag {}, {}",
                manifest.builder,
                manifest.jetlag,
                age(manifest.built_unix_s)
            );
            let _ = writeln!(out, "  for        {}", manifest.target);
            let _ = writeln!(
                out,
                "  from       {} (blake3 {}), {} layers",
                manifest.network.name,
                shortened(&manifest.network.blake3, 16),
                manifest.network_layers
            );
            let _ = writeln!(out, "  precision  {}", manifest.options.precision);
            if view.loaded.is_err() {
                out.push('\n');
                tensors(&mut out, manifest);
            }
        }
        Err(problem) => {
            let _ = writeln!(out, "  {problem}");
        }
    }
    match view.loaded {
        Ok(facts) => loaded(&mut out, facts),
        Err(problem) => {
            let _ = writeln!(
                out,
                "\n  not loaded, so layers and memory are not known: {problem}"
            );
        }
    }
    out
}

fn loaded(out: &mut String, facts: &PlanFacts) {
    let _ = writeln!(
        out,
        "  memory     {} of activations per context",
        Bytes(facts.device_memory_bytes)
    );
    if let Some(streams) = facts.aux_streams.filter(|streams| *streams > 0) {
        let _ = writeln!(out, "  streams    {streams} auxiliary");
    }
    out.push('\n');
    let width = facts
        .tensors
        .iter()
        .map(|tensor| tensor.name.chars().count())
        .max()
        .unwrap_or(0);
    for tensor in &facts.tensors {
        let _ = write!(
            out,
            "  {:<6} {:width$}  {} {} on the {}",
            tensor.mode,
            tensor.name,
            tensor.data_type,
            dims(&tensor.shape),
            tensor.location
        );
        for profile in &tensor.profiles {
            if profile.min != profile.max {
                let _ = write!(
                    out,
                    "  {} … {} … {}",
                    shape_text(&profile.min),
                    shape_text(&profile.opt),
                    shape_text(&profile.max)
                );
            }
        }
        out.push('\n');
    }
    let _ = writeln!(out, "\n  {} layers", facts.layers);
    let names = layer_names(&facts.layer_information);
    for name in names.iter().take(MOST_LAYERS) {
        let _ = writeln!(out, "    {name}");
    }
    if names.len() > MOST_LAYERS {
        let _ = writeln!(
            out,
            "    … and {} more; --format json lists all",
            names.len() - MOST_LAYERS
        );
    }
    for finding in layers::findings(&graph::facts(&facts.layer_information)) {
        let _ = writeln!(
            out,
            "\n  {}: {}\n    → {}",
            finding.code, finding.message, finding.advice
        );
    }
}

/// Each layer on a line: its type and name where the plan is detailed, its name else.
fn layer_names(information: &Value) -> Vec<String> {
    let layers = information["Layers"].as_array().cloned().unwrap_or_default();
    layers
        .iter()
        .map(
            |layer| match (layer["LayerType"].as_str(), layer["Name"].as_str()) {
                (Some(kind), Some(name)) => format!("{kind:<20} {name}"),
                (None, Some(name)) => name.to_owned(),
                _ => layer.as_str().map_or_else(|| layer.to_string(), str::to_owned),
            },
        )
        .collect()
}

/// A plan, for programs.
pub fn plan_json(view: &PlanView<'_>) -> Value {
    json!({
        "kind": "plan",
        "file": view.name,
        "bytes": view.bytes,
        "manifest": view.manifest.ok(),
        "manifest_error": view.manifest.err(),
        "engine": view.loaded.ok(),
        "engine_error": view.loaded.err(),
        "findings": view.loaded.map_or_else(|_| Vec::new(), |facts| layers::findings(&graph::facts(&facts.layer_information))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_listed_by_type_and_name_where_the_plan_is_detailed() {
        let detailed = json!({ "Layers": [{ "Name": "conv1 + relu", "LayerType": "CaskConvolution" }] });
        assert_eq!(layer_names(&detailed), ["CaskConvolution      conv1 + relu"]);
        assert_eq!(layer_names(&json!({ "Layers": ["conv1"] })), ["conv1"]);
        assert!(layer_names(&Value::String("text".into())).is_empty());
    }

    #[test]
    fn a_plan_that_could_not_be_loaded_says_why() {
        let view = PlanView {
            name: "a.plan",
            bytes: 5,
            manifest: Err("the plan has no manifest"),
            loaded: Err("there is no GPU"),
        };
        let text = plan(&view);
        assert!(
            text.contains("the plan has no manifest") && text.contains("not known: there is no GPU"),
            "{text}"
        );
        assert_eq!(plan_json(&view)["engine"], Value::Null);
    }
}
