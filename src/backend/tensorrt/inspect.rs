//! What a plan holds, asked of the library that can load it.

use serde::Serialize;
use tensorrt_dyn::{
    Engine, Error, LayerInformationFormat, Library, ProfileSelector, TensorIoMode, TensorLocation,
};

use super::build::type_name;
use crate::engine::options::ShapeRange;

/// A loaded plan's facts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanFacts {
    /// The engine's name, often empty.
    pub name: String,
    /// Layers after fusion.
    pub layers: i32,
    /// Activation memory of a context, in bytes.
    pub device_memory_bytes: u64,
    /// Streams beside its own that a context uses; `null` where the release does not tell.
    pub aux_streams: Option<i32>,
    /// Whether weights can be replaced.
    pub is_refittable: bool,
    /// Inputs and outputs.
    pub tensors: Vec<PlanPort>,
    /// What the plan keeps of its layers, as the library's inspector gives it.
    pub layer_information: serde_json::Value,
}

/// An input or output of a loaded plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanPort {
    /// Name.
    pub name: String,
    /// `input` or `output`.
    pub mode: &'static str,
    /// `float`, `half`, `int8`, …
    pub data_type: String,
    /// -1 where it is dynamic.
    pub shape: Vec<i64>,
    /// `device` or `host`.
    pub location: &'static str,
    /// Memory layout, in the library's words.
    pub format: String,
    /// Accepted shapes, a profile each; inputs only.
    pub profiles: Vec<ShapeRange>,
}

/// Loads a plan and asks it everything.
///
/// # Errors
/// The library cannot load it here; in its own words.
pub fn inspect(library: Library, plan: &[u8], host_code: bool) -> Result<PlanFacts, Error> {
    let runtime = library.runtime()?;
    if host_code {
        runtime.allow_engine_host_code(true)?;
    }
    let engine = runtime.engine(plan)?;
    let mut tensors = Vec::new();
    for tensor in engine.tensors()? {
        let is_input = tensor.mode == Some(TensorIoMode::Input);
        tensors.push(PlanPort {
            name: tensor.name.to_string_lossy().into_owned(),
            mode: if is_input { "input" } else { "output" },
            data_type: type_name(tensor.data_type),
            location: if tensor.location == Some(TensorLocation::Host) {
                "host"
            } else {
                "device"
            },
            format: tensor.format_description.clone(),
            profiles: if is_input {
                profiles(&engine, &tensor.name)?
            } else {
                Vec::new()
            },
            shape: tensor.shape,
        });
    }
    let information = engine
        .inspector()?
        .engine_information(LayerInformationFormat::Json)?;
    Ok(PlanFacts {
        name: engine.name()?,
        layers: engine.layer_count()?,
        device_memory_bytes: engine.device_memory_size()?,
        aux_streams: engine.aux_streams().ok(),
        is_refittable: engine.is_refittable()?,
        tensors,
        // What is no JSON (older releases print nothing, or bare text) is kept as text.
        layer_information: serde_json::from_str(&information)
            .unwrap_or(serde_json::Value::String(information)),
    })
}

fn profiles(engine: &Engine, input: &std::ffi::CStr) -> Result<Vec<ShapeRange>, Error> {
    (0..engine.optimization_profiles()?)
        .map(|profile| {
            Ok(ShapeRange {
                min: engine.profile_shape(input, profile, ProfileSelector::Min)?,
                opt: engine.profile_shape(input, profile, ProfileSelector::Opt)?,
                max: engine.profile_shape(input, profile, ProfileSelector::Max)?,
            })
        })
        .collect()
}
