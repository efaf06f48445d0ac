//! The files that `jetlag init` writes: a spec and a scenario, with paths from where they lie. Nothing is overwritten.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Component, Path, PathBuf};

use anyhow::Context;

use super::super::outcome::WrongUse;
use super::names::{plain, tenant_name};
use super::text_of;
use super::trial::Frames;
use crate::cli::InitArgs;
use crate::source::ContentKind;

/// The spec that the scenario names.
pub(super) enum Spec {
    /// To be written.
    New(String),
    /// There already.
    There(PathBuf),
}

/// What the scenario's tenant takes.
pub(super) struct Tenant<'a> {
    pub(super) kind: ContentKind,
    /// Images of an inference.
    pub(super) batch: usize,
    pub(super) frames: Option<&'a Frames>,
}

/// What was written.
pub(super) struct Written {
    pub(super) spec: Option<PathBuf>,
    pub(super) scenario: PathBuf,
}

/// Writes the scenario, and the spec if that is new.
///
/// # Errors
/// [`WrongUse`] where one of them exists; a folder or file that cannot be made.
pub(super) fn write(
    args: &InitArgs,
    stem: &str,
    spec: &Spec,
    tenant: &Tenant<'_>,
) -> anyhow::Result<Written> {
    let stem = plain(stem);
    let scenario = args.out.join(format!("{stem}-scenario.ron"));
    let (new, named) = match spec {
        Spec::New(text) => {
            let name = format!("{stem}.ron");
            (Some((args.out.join(&name), text)), name)
        }
        Spec::There(path) => (None, from_folder(&args.out, path)?),
    };
    let there: Vec<String> = new
        .iter()
        .map(|(path, _)| path)
        .chain([&scenario])
        .filter(|path| path.symlink_metadata().is_ok())
        .map(|path| path.display().to_string())
        .collect();
    if !there.is_empty() {
        let (verb, it) = if there.len() == 1 {
            ("exists", "it")
        } else {
            ("exist", "them")
        };
        let problem = format!(
            "{} {verb} and would be overwritten; name another folder with -o, or move {it}",
            there.join(" and ")
        );
        return Err(WrongUse(problem).into());
    }
    let source = match tenant.frames {
        Some(frames) => frames.source(&from_folder(&args.out, frames.path())?),
        None => String::new(),
    };
    let text = scenario_text(&stem, &named, tenant, &source);
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("cannot create the folder {}", args.out.display()))?;
    if let Some((path, text)) = &new {
        create(path, text)?;
    }
    if let Err(error) = create(&scenario, &text) {
        // Half of it would be in the way of the next try.
        if let Some((path, _)) = &new {
            let _ = std::fs::remove_file(path);
        }
        return Err(error);
    }
    Ok(Written {
        spec: new.map(|(path, _)| path),
        scenario,
    })
}

fn create(path: &Path, text: &str) -> anyhow::Result<()> {
    let mut file = match File::create_new(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return Err(WrongUse(format!(
                "{} exists and would be overwritten; name another folder with -o",
                path.display()
            ))
            .into());
        }
        Err(error) => return Err(error).with_context(|| format!("cannot create {}", path.display())),
    };
    file.write_all(text.as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))
}

fn scenario_text(name: &str, detector: &str, tenant: &Tenant<'_>, source: &str) -> String {
    let made = match tenant.kind {
        ContentKind::Image => {
            "            // Made scenes; images of your own: Images(\"folder\").\n            source: Synthetic(Camera),\n"
        }
        ContentKind::Points => {
            "            // Made scenes; sweeps of your own: Points(\"folder\").\n            source: Synthetic(Lidar),\n"
        }
        ContentKind::Empty | ContentKind::Set => "",
    };
    let source = match source {
        "" => made.to_owned(),
        given => format!("            source: {given},\n"),
    };
    let batch = match tenant.batch {
        1 => String::new(),
        batch => {
            format!("            // The network takes so many images at once.\n            batch: {batch},\n")
        }
    };
    let is_recording = tenant.frames.is_some_and(|frames| frames.topic().is_some());
    let (how, arrival) = match is_recording {
        true => ("As they came when the bag was recorded", "Replay"),
        false => ("As a sensor sends them", "Periodic(hz: 30)"),
    };
    format!(
        "// Written by `jetlag init`: one tenant in a closed loop, each frame as soon as the one before it is done.\n\
         // docs/scenarios.md has every field.\n\
         Scenario(\n    name: {name:?},\n    duration: \"10s\",\n    tenants: [\n        Tenant(\n            \
         name: {:?}, detector: {detector:?},\n{source}{batch}            \
         // {how}, with a limit on the response time:\n            \
         // arrival: {arrival}, deadline: \"33ms\",\n        ),\n    ],\n)\n",
        tenant_name(name)
    )
}

/// The path of a file as seen from a folder that need not exist yet.
///
/// # Errors
/// No current folder, or a name that is not UTF-8.
pub(super) fn from_folder(folder: &Path, file: &Path) -> anyhow::Result<String> {
    let context = |path: &Path| format!("cannot find {}", path.display());
    let folder = real(folder).with_context(|| context(folder))?;
    // A link keeps its own name: weights beside it are looked for where it lies.
    let file = match (file.parent(), file.file_name()) {
        (Some(parent), Some(name)) => real(parent).map(|parent| parent.join(name)),
        _ => real(file),
    }
    .with_context(|| context(file))?;
    text_of(&relative(&folder, &file))
}

/// A path without links, as far as it exists: `..` leads out of the folder that a link leads to.
fn real(path: &Path) -> std::io::Result<PathBuf> {
    // The folder of a bare name is the current one.
    let path = match path.as_os_str().is_empty() {
        true => std::env::current_dir()?,
        false => std::path::absolute(path)?,
    };
    for there in path.ancestors() {
        if let Ok(real) = there.canonicalize() {
            let rest = path.strip_prefix(there).unwrap_or(Path::new(""));
            return Ok(real.join(rest));
        }
    }
    Ok(path)
}

/// Pure: both paths are absolute.
fn relative(folder: &Path, file: &Path) -> PathBuf {
    let parts = |path: &Path| -> Vec<PathBuf> {
        let mut parts = Vec::new();
        for part in path.components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => drop(parts.pop()),
                part => parts.push(PathBuf::from(part.as_os_str())),
            }
        }
        parts
    };
    let (folder, file) = (parts(folder), parts(file));
    let shared = folder.iter().zip(&file).take_while(|(a, b)| a == b).count();
    let up = folder[shared..].iter().map(|_| PathBuf::from(".."));
    let path: PathBuf = up.chain(file[shared..].iter().cloned()).collect();
    match path.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_from_the_folder_to_the_file() {
        for (folder, file, path) in [
            ("/a/b", "/a/net.onnx", "../net.onnx"),
            ("/a", "/a/b/net.onnx", "b/net.onnx"),
            ("/a/b/../c", "/a/c/./net.onnx", "net.onnx"),
            ("/x", "/y/images", "../y/images"),
            ("/x", "/x", "."),
        ] {
            assert_eq!(
                relative(Path::new(folder), Path::new(file)),
                Path::new(path),
                "{folder} {file}"
            );
        }
    }
}
