//! Manifests of newer versions of jetlag, whose scenarios may have words that this version does not know.
//!
//! Such words are kept as text, and something that promises nothing stands in for them: what was measured does not depend on it.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::manifest::{Manifest, UnknownWord};
use crate::scenario::{
    Arrival, BackendChoice, Baseline, ClockKind, Clocks, DetectorRef, DutyCycle, GpuUse, MadeInputs, Matrix,
    Mps, Overload, Release, Sharing, SourceSpec, Telemetry, Trace,
};

/// The most of an unknown part that is kept, in bytes.
const MOST_TEXT: usize = 1000;

/// Reads a manifest of a newer version.
///
/// # Errors
/// It is no manifest, also where unknown words are passed over.
pub(super) fn manifest(json: &str) -> Result<Manifest, serde_json::Error> {
    let mut whole: Value = serde_json::from_str(json)?;
    let mut unknown = Vec::new();
    if let Some(scenario) = whole.get_mut("scenario") {
        let mut known = Known {
            unknown: &mut unknown,
            within: String::new(),
        };
        known.or::<ClockKind>(scenario, "clock", || json!("Real"));
        known.or::<Sharing>(scenario, "sharing", || json!("Streams"));
        known.or::<Mps>(scenario, "mps", || json!("Auto"));
        known.or::<Release>(scenario, "release", || json!("Sleep"));
        known.or::<Baseline>(scenario, "baseline", || json!({"idle": null, "alone": false}));
        known.or::<Option<Matrix>>(scenario, "matrix", || Value::Null);
        known.or::<Option<DutyCycle>>(scenario, "duty_cycle", || Value::Null);
        known.or::<Option<Trace>>(scenario, "trace", || Value::Null);
        known.or::<Telemetry>(
            scenario,
            "telemetry",
            || json!({"interval": 100_000_000, "sources": null}),
        );
        known.or::<Clocks>(scenario, "clocks", || json!("AsIs"));
        let tenants = scenario.get_mut("tenants").and_then(Value::as_array_mut);
        for (place, tenant) in tenants.into_iter().flatten().enumerate() {
            let name = tenant.get("name").and_then(Value::as_str);
            known.within = format!(
                "tenants.{}.",
                name.map_or_else(|| place.to_string(), str::to_owned)
            );
            known.or::<Option<DetectorRef>>(tenant, "detector", || Value::Null);
            known.or::<Option<MadeInputs>>(tenant, "made", || Value::Null);
            // One that executes networks, as whatever is new will.
            known.or::<BackendChoice>(
                tenant,
                "backend",
                || json!({"Cpu": {"threads": 1, "profile": false}}),
            );
            known.or::<SourceSpec>(tenant, "source", || json!("Empty"));
            // Releases that come as they come.
            known.or::<Arrival>(tenant, "arrival", || json!({"Replay": {"speed": 1.0}}));
            known.or::<Overload>(tenant, "overload", || json!({"Queue": {"capacity": 1}}));
            known.or::<GpuUse>(tenant, "gpu", || json!({}));
        }
    }
    let mut manifest: Manifest = serde_json::from_value(whole)?;
    manifest.unknown = unknown;
    Ok(manifest)
}

struct Known<'a> {
    unknown: &'a mut Vec<UnknownWord>,
    within: String,
}

impl Known<'_> {
    /// Lets `instead` stand for a field that is there and is no `T`.
    fn or<T: DeserializeOwned>(&mut self, object: &mut Value, field: &str, instead: impl FnOnce() -> Value) {
        let Some(value) = object.get_mut(field) else {
            return;
        };
        if T::deserialize(&*value).is_ok() {
            return;
        }
        let text = std::mem::replace(value, instead()).to_string();
        let end = text.floor_char_boundary(MOST_TEXT);
        self.unknown.push(UnknownWord {
            field: format!("{}{field}", self.within),
            text: match text.len() > end {
                true => format!("{}…", &text[..end]),
                false => text,
            },
        });
    }
}
