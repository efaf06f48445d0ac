//! `jetlag doctor`: what was found on this machine, what that means, and how to mend what is missing.
//!
//! Looks at files, and loads TensorRT, ONNX Runtime (where jetlag was built with it) and NVIDIA's management library to
//! ask them what they are and answer; starts nothing, changes nothing, and needs no rights. The exit code is 1 where
//! something is missing that limits what can be measured.

use std::path::Path;

use super::outcome::Outcome;
use super::output::print;
use super::tensorrt;
use crate::board::{self, Check, Roots, Status};
use crate::cli::Format;
use crate::{built, show, telemetry};

/// Examines this machine and prints the answer.
pub fn run(given: Option<&Path>, format: Format) -> anyhow::Result<Outcome> {
    let roots = Roots::system();
    let mut checks = vec![features_check()];
    checks.extend(board::examine(&roots, cfg!(feature = "gpu")));
    // Where nothing is installed, what was seen of files says it shorter; and what the loader finds is of this
    // machine, and of no other whose files are looked at.
    let asked = roots.is_this_machine() || given.is_some();
    if let Some(opened) = asked.then(|| tensorrt::check(given)).flatten() {
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
        Format::Text => show::doctor::text(&checks, &mut out)?,
        Format::Json => show::doctor::json(&checks, &mut out)?,
    }
    print(&String::from_utf8(out)?)?;
    let gap = checks.iter().any(|check| check.status == Status::Gap);
    Ok(if gap { Outcome::Failed } else { Outcome::Done })
}

/// What this jetlag can do at all.
fn features_check() -> Check {
    let lacks = built::list(false);
    Check {
        subject: "jetlag",
        status: Status::Good,
        found: Some(env!("CARGO_PKG_VERSION").to_owned()),
        from: "this program".to_owned(),
        meaning: format!("built with {}; left out: {lacks}", built::list(true)),
        fix: None,
    }
}

/// ONNX Runtime as it answers itself: version, path, and whether it with the CUDA provider.
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
    let install = "Install onnxruntime-gpu (CUDA) or onnxruntime (CPU) with pip, or set JETLAG_ONNXRUNTIME to a file or folder.";
    match find(None) {
        Ok(library) => {
            let from = library.path().display().to_string();
            let (meaning, fix) = match library.has_cuda() {
                true => ("with the CUDA provider", None),
                false => ("runs on the CPU; it has no CUDA provider", Some(install)),
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
