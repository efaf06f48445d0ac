//! Checks of a detector's plans: built, found again, loaded.

use std::time::Duration;

use serde_json::Value;

use super::networks::CONTEXTS;
use super::session::Tools;
use crate::show::selftest::Verdict;
use crate::units::Bytes;

/// Builds a detector's plans, which the cache cannot have; a second call has to find them there.
pub(super) fn build(tools: &Tools<'_>, detector: &str, options: &str, limit: Duration) -> Verdict {
    let input = format!("builtin:{detector}");
    let mut arguments = vec!["build", &input, "--quiet", "--format", "json"];
    arguments.extend(options.split_whitespace());
    arguments.extend(CONTEXTS.split_whitespace());
    let mut seen = Vec::new();
    for again in [false, true] {
        let ended = match tools.jetlag(&arguments, limit) {
            Ok(ended) => ended,
            Err(verdict) => return verdict,
        };
        let answer: Option<Value> = serde_json::from_str(&ended.out).ok();
        let Some(answer) = answer.filter(|_| ended.code() == Some(0)) else {
            return Verdict::fail(ended.words());
        };
        for plan in answer["plans"].as_array().into_iter().flatten() {
            let was_cached = plan["was_cached"] == true;
            if again && !was_cached {
                return Verdict::fail(format!("built again instead of found in the cache: {plan}"));
            }
            if !again {
                let manifest = &plan["manifest"];
                let name = manifest["network"]["name"].as_str().unwrap_or("a plan");
                let bytes = manifest["plan_bytes"].as_u64().unwrap_or(0);
                seen.push(match manifest["build_seconds"].as_f64() {
                    Some(seconds) => format!("{name}: {} in {seconds:.1} s", Bytes(bytes)),
                    None => format!("{name}: {}", Bytes(bytes)),
                });
            }
        }
    }
    Verdict::pass(format!("{}; found in the cache the second time", seen.join(", ")))
}

/// Loads a detector's plans from the cache, as `jetlag inspect` does.
pub(super) fn load(tools: &Tools<'_>, detector: &str, limit: Duration) -> Verdict {
    let input = format!("builtin:{detector}");
    let mut arguments = vec!["build", &input, "--quiet", "--format", "json"];
    arguments.extend(CONTEXTS.split_whitespace());
    let found = match tools.jetlag(&arguments, limit) {
        Ok(ended) => ended,
        Err(verdict) => return verdict,
    };
    let answer: Option<Value> = serde_json::from_str(&found.out).ok();
    let Some(answer) = answer.filter(|_| found.code() == Some(0)) else {
        return Verdict::fail(found.words());
    };
    let mut seen = Vec::new();
    for plan in answer["plans"].as_array().into_iter().flatten() {
        let Some(file) = plan["file"].as_str() else {
            continue;
        };
        let loaded = match tools.jetlag(&["inspect", file, "--format", "json"], limit) {
            Ok(ended) => ended,
            Err(verdict) => return verdict,
        };
        let facts: Option<Value> = serde_json::from_str(&loaded.out).ok();
        let Some(facts) = facts.filter(|_| loaded.code() == Some(0)) else {
            return Verdict::fail(loaded.words());
        };
        let engine = &facts["engine"];
        if engine.is_null() {
            return Verdict::fail(
                facts["engine_error"]
                    .as_str()
                    .unwrap_or("it was not loaded")
                    .to_owned(),
            );
        }
        seen.push(format!(
            "{} layers, {} of device memory",
            engine["layers"],
            Bytes(engine["device_memory_bytes"].as_u64().unwrap_or(0))
        ));
    }
    match seen.is_empty() {
        true => Verdict::fail("no plan was named"),
        false => Verdict::pass(format!("loaded: {}", seen.join(", "))),
    }
}
