//! What `doctor` and `inspect` ask TensorRT itself.

use std::path::Path;

use crate::backend::tensorrt::inspect::{Needs, inspect};
use crate::backend::tensorrt::{find, mismatch, rebuild_command};
use crate::board::{Check, Status};
use crate::cli::InspectArgs;
use crate::engine::manifest::PlanManifest;
use crate::engine::plan::PlanFacts;
use crate::gpu;

/// TensorRT as it answers itself: flavour, version, path, and which halves it has; `None` if none is installed.
pub(super) fn check(given: Option<&Path>) -> Option<Check> {
    let check = |status, found, from: String, meaning: String, fix| Check {
        subject: "TensorRT",
        status,
        found,
        from,
        meaning,
        fix,
    };
    let library = match find(given) {
        Ok(library) => library,
        Err(error) => {
            let problem = error.refusal()?;
            let fix = "Install TensorRT 8.5 or later, or name another with --tensorrt.";
            return Some(check(
                Status::Gap,
                None,
                "the loader".to_owned(),
                problem,
                Some(fix),
            ));
        }
    };
    let found = Some(library.version().to_string());
    let from = library.path().display().to_string();
    let newer = if library.version().is_newer_than_tables() {
        "; it is newer than this jetlag, which uses only the interface of earlier releases"
    } else {
        ""
    };
    let (status, meaning, fix) = match (library.has_builder(), library.parser_path()) {
        (false, _) => {
            let fix = "Install the full TensorRT to build plans here.";
            (
                Status::Note,
                "loads plans, but cannot build any".to_owned(),
                Some(fix),
            )
        }
        (true, Err(error)) => {
            let fix = "Install the ONNX parser (Debian: libnvonnxparsers).";
            (Status::Note, format!("cannot read ONNX: {error}"), Some(fix))
        }
        (true, Ok(parser)) => {
            let parser = parser.file_name().unwrap_or_default().to_string_lossy();
            match gpu::first() {
                Ok(_) => (
                    Status::Good,
                    format!("builds and loads plans, with {parser}"),
                    None,
                ),
                Err(missing) => {
                    let fix = "Plans for other GPUs can be built with TensorRT-RTX (--compute-capability); running them needs a GPU.";
                    (Status::Note, format!("with {parser}, but {missing}"), Some(fix))
                }
            }
        }
    };
    let meaning = format!("{from}: {meaning}{newer}");
    Some(check(status, found, from, meaning, fix))
}

/// Loads a plan, after asking its manifest whether that can go well.
pub(super) fn load(
    args: &InspectArgs,
    bytes: &[u8],
    manifest: Option<&PlanManifest>,
) -> anyhow::Result<PlanFacts> {
    let library = find(args.tensorrt.as_deref())?;
    if let Some(manifest) = manifest {
        let device = gpu::first().ok();
        let problem = mismatch(manifest, library.version(), device.as_ref());
        anyhow::ensure!(problem.is_none(), "{}", problem.unwrap_or_default());
        let hash = blake3::hash(bytes).to_hex();
        anyhow::ensure!(
            hash.as_str() == manifest.plan_blake3,
            "the plan does not match its manifest, so it is damaged; {}",
            rebuild_command(manifest)
        );
    }
    let options = manifest.map(|manifest| &manifest.options);
    let is_compatible = options.is_some_and(|options| options.version_compatible);
    anyhow::ensure!(
        !is_compatible || args.allow_host_code,
        "a version-compatible plan contains a runtime, which is executed when it is loaded: allow it with --allow-host-code"
    );
    let mut needs = manifest.map(Needs::of).unwrap_or_default();
    needs.plugins.extend(args.plugins.iter().cloned());
    needs.host_code = args.allow_host_code;
    inspect(library, bytes, &needs).map_err(|error| match gpu::first() {
        Ok(_) => error.into(),
        Err(missing) => anyhow::anyhow!("{missing}; {error}"),
    })
}
