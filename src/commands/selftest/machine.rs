//! What the machine is: the facts at the head of the report, its libraries, its memory.

use std::time::Duration;

use serde_json::Value;

use super::session::{Session, Tools};
use crate::built;
use crate::cli::SelftestGroup as Group;
use crate::record::Utc;
use crate::show::selftest::{Fact, Verdict};

/// An examination, with libraries that are slow to load.
const EXAMINED_WITHIN: Duration = Duration::from_secs(60);
const PROBED_WITHIN: Duration = Duration::from_secs(40);

/// What `jetlag doctor` says, and what came of asking it.
pub(super) struct Examined {
    checks: Vec<Value>,
    verdict: Verdict,
}

/// Asks `jetlag doctor` in a process of its own: a library may crash when it is loaded.
pub(super) fn examine(tools: &Tools<'_>) -> Examined {
    let failed = |verdict| Examined {
        checks: Vec::new(),
        verdict,
    };
    let ended = match tools.jetlag(
        &["doctor", "--format", "json"],
        tools.patience.allow(EXAMINED_WITHIN),
    ) {
        Ok(ended) => ended,
        Err(verdict) => return failed(verdict),
    };
    let document: Option<Value> = serde_json::from_str(&ended.out).ok();
    let checks = document.and_then(|document| document["checks"].as_array().cloned());
    let Some(checks) = checks.filter(|_| matches!(ended.code(), Some(0 | 1))) else {
        return failed(Verdict::fail(ended.words()));
    };
    let gaps: Vec<&str> = checks
        .iter()
        .filter(|check| check["status"] == "gap")
        .filter_map(|check| check["subject"].as_str())
        .collect();
    // A gap is of the machine, and no failure of what reads it.
    let seen = match gaps.is_empty() {
        true => format!("{} subjects, no gap", checks.len()),
        false => format!("{} subjects, gaps: {}", checks.len(), gaps.join(", ")),
    };
    Examined {
        verdict: Verdict::pass(seen),
        checks,
    }
}

/// The head of the report.
pub(super) fn facts(examined: &Examined, unix_seconds: u64) -> Vec<Fact> {
    let fact = |name: &str, value: String| Fact {
        name: name.to_owned(),
        value,
    };
    let stamp = Utc::of(unix_seconds).compact();
    let mut facts = vec![
        fact("jetlag", built::version().to_owned()),
        fact("architecture", std::env::consts::ARCH.to_owned()),
        fact("date", format!("{stamp} UTC")),
    ];
    for check in &examined.checks {
        let Some(subject) = check["subject"].as_str().filter(|subject| *subject != "jetlag") else {
            continue;
        };
        let text = |key: &str| check[key].as_str().map(str::to_owned);
        let meaning = text("meaning").unwrap_or_default();
        let told = match text("found") {
            Some(found) => format!("{found}: {meaning}"),
            None => meaning,
        };
        let mark = match check["status"].as_str() {
            Some("gap") => "(gap) ",
            _ => "",
        };
        facts.push(fact(subject, format!("{mark}{told}")));
    }
    facts
}

/// The examination itself, and the host's memory.
pub(super) fn machine(session: &mut Session<'_>, examined: Examined) -> anyhow::Result<()> {
    session.check(Group::Machine, "doctor", EXAMINED_WITHIN, |_, _| examined.verdict)?;
    session.check(Group::Machine, "memory", PROBED_WITHIN, |tools, _| {
        let info = tools.roots.text("/proc/meminfo").unwrap_or_default();
        let lines = info.lines().filter_map(|line| line.split_once(':'));
        let told = |wanted: &str| {
            let found = lines.clone().find(|(name, _)| *name == wanted);
            found.map(|(name, value)| format!("{name} {}", value.trim()))
        };
        match (told("MemTotal"), told("MemAvailable")) {
            (Some(total), Some(available)) => Verdict::pass(format!("{total}, {available}")),
            _ => Verdict::not_applicable("not in /proc/meminfo"),
        }
    })?;
    Ok(())
}

/// Each library, loaded and asked in a process of its own.
pub(super) fn libraries(session: &mut Session<'_>) -> anyhow::Result<()> {
    for library in [
        "cuda",
        "tensorrt",
        "tensorrt-builder",
        "tensorrt-plugins",
        "onnxruntime",
        "onnxruntime-cuda",
        "nvrtc",
        "nvml",
        "cupti",
    ] {
        session.check(Group::Libraries, library, PROBED_WITHIN, |tools, _| {
            tools.probe(library)
        })?;
    }
    Ok(())
}
