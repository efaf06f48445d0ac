//! What a plan holds, asked of the library that can load it.

use std::path::{Path, PathBuf};

use tensorrt_dyn::{
    Engine, Error, LayerInformationFormat, Library, ProfileSelector, TensorIoMode, TensorLocation,
};

use super::build::type_name;
use crate::engine::manifest::PlanManifest;
use crate::engine::options::ShapeRange;
use crate::engine::plan::{PlanFacts, PlanPort};
use crate::files;

/// What a plan needs besides itself.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// Paths of the plugin libraries.
    pub plugins: Vec<PathBuf>,
    /// The deep-learning accelerator that it was built for.
    pub dla_core: Option<i32>,
    /// Whether host code that the plan carries may run: version-compatible plans hold a runtime.
    pub host_code: bool,
}

impl Needs {
    /// What a plan's manifest says.
    pub fn of(manifest: &PlanManifest) -> Self {
        let carries_plugins = manifest.options.version_compatible;
        Needs {
            // A version-compatible plan brings them along, and a plugin cannot be registered twice.
            plugins: match carries_plugins {
                true => Vec::new(),
                false => manifest.options.plugins.clone(),
            },
            dla_core: manifest.options.dla_core,
            // Such a plan was built here or named by the user, who thereby trusts it.
            host_code: manifest.options.version_compatible,
        }
    }
}

/// A library of plugins where it is here: a plan that was built elsewhere names the place that it had there, and NVIDIA's own
/// lies beside TensorRT wherever that is.
pub(super) fn plugins_here(library: Library, file: &Path) -> PathBuf {
    let beside = || Some(library.path().parent()?.join(file.file_name()?));
    match file.exists() {
        true => file.to_owned(),
        false => beside()
            .filter(|beside| beside.exists())
            .unwrap_or_else(|| file.to_owned()),
    }
}

/// The same of a file without a manifest, by the library that is here.
///
/// # Errors
/// No library, no such file, or one that the library cannot load here: a sentence.
pub fn of_file(plan: &Path) -> Result<PlanFacts, String> {
    let library = super::find(None).map_err(|error| error.to_string())?;
    let bytes = files::read(plan, files::NETWORK).map_err(|error| format!("it cannot be read: {error}"))?;
    inspect(library, &bytes, &Needs::default()).map_err(|error| match crate::gpu::first() {
        Ok(_) => error.to_string(),
        Err(missing) => format!("{missing}; {error}"),
    })
}

/// Loads a plan and asks it everything.
///
/// # Errors
/// The library cannot load it here; in its own words.
pub fn inspect(library: Library, plan: &[u8], needs: &Needs) -> Result<PlanFacts, Error> {
    for plugins in &needs.plugins {
        library.load_plugins(&plugins_here(library, plugins))?;
    }
    let runtime = library.runtime()?;
    if let Some(core) = needs.dla_core {
        runtime.set_dla_core(core)?;
    }
    if needs.host_code {
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
