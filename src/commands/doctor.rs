//! `jetlag doctor`: what was found on this machine, what that means, and how to mend what is missing.
//!
//! Looks at files, and loads TensorRT, ONNX Runtime (where jetlag was built with it) and NVIDIA's management library to
//! ask them what they are and answer; starts nothing, changes nothing, and needs no rights. The exit code is 1 where
//! something is missing that limits what can be measured.

use std::path::Path;

use super::{Outcome, print};
use crate::backend::tensorrt;
use crate::board::{self, Check, Roots, Status};
use crate::cli::Format;
use crate::gpu;
use crate::{report, telemetry};

/// Examines this machine and prints the answer.
pub fn run(tensorrt: Option<&Path>, format: Format) -> anyhow::Result<Outcome> {
    let roots = Roots::system();
    let mut checks = board::examine(&roots);
    // Where nothing is installed, what was seen of files says it shorter; and what the loader finds is of this
    // machine, and of no other whose files are looked at.
    let asked = roots.is_this_machine() || tensorrt.is_some();
    if let Some(opened) = asked.then(|| tensorrt_check(tensorrt)).flatten() {
        checks.retain(|check| check.subject != opened.subject);
        checks.push(opened);
    }
    #[cfg(feature = "onnxruntime")]
    if roots.is_this_machine() {
        checks.push(onnxruntime_check());
    }
    checks.extend(telemetry::examine(&roots));
    let mut out = Vec::new();
    match format {
        Format::Text => report::doctor::text(&checks, &mut out)?,
        Format::Json => report::doctor::json(&checks, &mut out)?,
    }
    print(&String::from_utf8(out)?);
    let gap = checks.iter().any(|check| check.status == Status::Gap);
    Ok(if gap { Outcome::Failed } else { Outcome::Done })
}

/// TensorRT as it answers itself: flavour, version, path, and which halves it has; `None` if none is installed.
fn tensorrt_check(given: Option<&Path>) -> Option<Check> {
    let check = |status, found, from: String, meaning: String, fix| Check {
        subject: "TensorRT",
        status,
        found,
        from,
        meaning,
        fix,
    };
    let library = match tensorrt::find(given) {
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
        "; it is newer than this jetlag, which uses what earlier releases have"
    } else {
        ""
    };
    let (status, meaning, fix) = match (library.has_builder(), library.parser_path()) {
        (false, _) => {
            let fix = "Install the full TensorRT to build plans here.";
            (Status::Note, "loads plans and builds none".to_owned(), Some(fix))
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

/// ONNX Runtime as it answers itself: version, path, and whether it has the CUDA provider.
#[cfg(feature = "onnxruntime")]
fn onnxruntime_check() -> Check {
    use crate::backend::onnxruntime::find;

    let check = |status, found, from: String, meaning: String, fix| Check {
        subject: "ONNX Runtime",
        status,
        found,
        from,
        meaning,
        fix,
    };
    let install = "Install onnxruntime-gpu (CUDA) or onnxruntime (processor) with pip, or name a file or folder with \
                   JETLAG_ONNXRUNTIME.";
    match find(None) {
        Ok(library) => {
            let from = library.path().display().to_string();
            let (meaning, fix) = match library.has_cuda() {
                true => ("has the CUDA provider", None),
                false => ("runs on the processor; it has no CUDA provider", Some(install)),
            };
            let status = match fix {
                None => Status::Good,
                Some(_) => Status::Note,
            };
            let meaning = format!("{from}: {meaning}");
            check(status, Some(library.version().to_owned()), from, meaning, fix)
        }
        Err(missing) => match missing.refusal() {
            Some(problem) => check(Status::Gap, None, "the loader".to_owned(), problem, Some(install)),
            // Only tenants that ask for it need it.
            None => check(
                Status::Note,
                None,
                "the loader, the system's folders, Python environments".to_owned(),
                "not found".to_owned(),
                Some(install),
            ),
        },
    }
}
