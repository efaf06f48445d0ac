//! `jetlag doctor`: what was found on this machine, what that means, and how to mend what is missing.
//!
//! Looks at files, and loads TensorRT, ONNX Runtime and CUPTI (where jetlag was built with them) and NVIDIA's management
//! library to ask them what they are and answer; starts nothing, changes nothing, and needs no rights. The exit code is 1 where
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
    #[cfg(feature = "trace")]
    if roots.is_this_machine() {
        checks.push(cupti_check());
        checks.push(injection_check());
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

/// The library that `jetlag trace` has loaded into other people's programs: where it is, or where it was looked for.
#[cfg(feature = "trace")]
fn injection_check() -> Check {
    use super::trace::{Absent, INSTALL, find_library, listed};

    let check = |status, found, from, meaning, fix| Check {
        subject: "jetlag trace",
        status,
        found,
        from,
        meaning,
        fix,
    };
    match find_library() {
        Ok(path) => {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let path = path.display().to_string();
            let meaning = format!("{path}, which is loaded into the programs that are traced");
            check(Status::Good, Some(name), path, meaning, None)
        }
        // Only `jetlag trace` needs it.
        Err(Absent::Nowhere(places)) => {
            let meaning = "the library for programs that are traced was not found".to_owned();
            check(Status::Note, None, listed(&places), meaning, Some(INSTALL))
        }
        Err(absent @ Absent::Named(_)) => check(
            Status::Gap,
            None,
            "the environment".to_owned(),
            absent.to_string(),
            Some(INSTALL),
        ),
    }
}

/// CUPTI as it answers itself: release and path, and whether it may trace here.
#[cfg(feature = "trace")]
fn cupti_check() -> Check {
    use crate::activity::{Refused, find};

    let check = |status, found, from: &str, meaning: String, fix| Check {
        subject: "CUPTI",
        status,
        found,
        from: from.to_owned(),
        meaning,
        fix,
    };
    let install = "Install the CUPTI of the driver's CUDA (cuda-cupti, or nvidia-cuda-cupti with pip), or set JETLAG_CUPTI to a file or folder.";
    let library = match find() {
        Ok(library) => library,
        // Only runs that are traced need it.
        Err(Refused::NoDriver(why)) => return check(Status::Note, None, "the loader", why.to_string(), None),
        Err(Refused::NotFound(_)) => {
            let places = "the loader, toolkits in /usr/local, Python environments";
            return check(Status::Note, None, places, "not found".to_owned(), Some(install));
        }
        Err(Refused::Unusable(why)) => {
            return check(Status::Gap, None, "the loader", why, Some(install));
        }
    };
    let path = library.path().display().to_string();
    let found = Some(library.version());
    if let Err(why) = library.may_trace() {
        let meaning = format!("{path}, driver of CUDA {}: {why}", library.driver());
        // The sentence ends in what to do.
        return check(Status::Note, found, &path, meaning, None);
    }
    let nvtx = library
        .nvtx_refusal()
        .map_or_else(String::new, |why| format!("; {why}"));
    let meaning = format!("{path}, driver of CUDA {}: may trace{nvtx}", library.driver());
    check(Status::Good, found, &path, meaning, None)
}
