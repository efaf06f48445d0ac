//! `jetlag export RUN --format coco|kitti|nuscenes`: what was found, as each benchmark's own tools read it.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use jetlag_score::files;

use super::answers::{self, Answer, Answers};
use super::{Dataset, coco, dataset};
use crate::cli::{ExportArgs, ExportFormat};
use crate::commands::outcome::{Outcome, WrongUse};
use crate::commands::output::print;
use crate::detector::{Detection, Place};
use crate::scenario::SourceSpec;
use crate::whole;

/// Writes the results of one tenant.
///
/// # Errors
/// [`WrongUse`] for a run without detections, several tenants with them and none named, a dataset of another kind; results
/// that cannot be written.
pub(in crate::commands) fn export(
    run: &Path,
    args: &ExportArgs,
    format: ExportFormat,
) -> anyhow::Result<Outcome> {
    let out = args.output.as_deref().ok_or_else(|| {
        let what = if format == ExportFormat::KittiResults {
            "a folder"
        } else {
            "a file"
        };
        WrongUse(format!("name {what} with -o"))
    })?;
    let all = answers::read(run, args.tenant.as_deref())?;
    let [answers] = &all[..] else {
        let names: Vec<&str> = all.iter().map(|answers| answers.tenant.as_str()).collect();
        return Err(WrongUse(format!(
            "{} has detections of {}: name one with --tenant",
            run.display(),
            names.join(", ")
        ))
        .into());
    };
    match format {
        ExportFormat::KittiResults => kitti(answers, args, out)?,
        ExportFormat::NuscenesResults => nuscenes(answers, args, out)?,
        _ => coco(answers, args, out)?,
    }
    print(&format!("wrote {}\n", out.display()))?;
    Ok(Outcome::Done)
}

fn create(out: &Path, force: bool) -> anyhow::Result<BufWriter<fs::File>> {
    let file = whole::create(out, force).map_err(|error| {
        WrongUse(match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                format!("{} exists; choose another name, or --force", out.display())
            }
            _ => format!("{}: {error}", out.display()),
        })
    })?;
    Ok(BufWriter::new(file))
}

/// One file a frame, under the frame's own name.
fn kitti(answers: &Answers, args: &ExportArgs, out: &Path) -> anyhow::Result<()> {
    let Dataset::Kitti(folder) = dataset(answers, args.data.as_deref())? else {
        return Err(WrongUse("--format kitti is for runs on KITTI's object layout".to_owned()).into());
    };
    fs::create_dir_all(out).map_err(|error| WrongUse(format!("{}: {error}", out.display())))?;
    let mut done = std::collections::BTreeSet::new();
    for answer in &answers.frames {
        // A looped source has each frame several times: its first answer counts.
        let Some(content) = answer.content.filter(|_| answer.finished.is_some()) else {
            continue;
        };
        if !done.insert(content) {
            continue;
        }
        let (name, found) = folder.results(answers, answer)?;
        let path = out.join(name).with_extension("txt");
        let mut file = create(&path, args.force)?;
        files::kitti(&mut file, &found)?;
        file.flush().with_context(|| path.display().to_string())?;
    }
    let silent = folder.frames().saturating_sub(done.len());
    if silent > 0 {
        log::warn!("{silent} frames of the folder have no answer in the run, and no file");
    }
    Ok(())
}

#[cfg(feature = "recordings")]
fn nuscenes(answers: &Answers, args: &ExportArgs, out: &Path) -> anyhow::Result<()> {
    let Dataset::NuScenes(annotations) = dataset(answers, args.data.as_deref())? else {
        return Err(WrongUse("--format nuscenes is for runs on nuScenes".to_owned()).into());
    };
    let lidar = match &answers.source {
        SourceSpec::NuScenes(spec) => !crate::source::recordings::is_camera(&spec.sensor),
        _ => true,
    };
    let meta = files::Meta {
        camera: answers.uses_camera,
        lidar,
        ..files::Meta::default()
    };
    let samples = annotations.results(answers)?;
    let mut file = create(out, args.force)?;
    let samples = samples
        .iter()
        .map(|(token, found)| (token.as_str(), found.as_slice()));
    files::nuscenes(&mut file, meta, samples)?;
    file.flush().with_context(|| out.display().to_string())
}

#[cfg(not(feature = "recordings"))]
fn nuscenes(answers: &Answers, args: &ExportArgs, _: &Path) -> anyhow::Result<()> {
    dataset(answers, args.data.as_deref()).map(drop)
}

/// A list of detections; images and classes have the dataset's numbers where `--data` names its annotations. Of sources that are no
/// folder of images, a frame's number is its image's, which is said.
fn coco(answers: &Answers, args: &ExportArgs, out: &Path) -> anyhow::Result<()> {
    let in_image = |found: &&Detection| matches!(found.place, Place::Image(_));
    let of_several = |answer: &Answer| {
        let mut cameras = answer.found.iter().filter(in_image).map(|found| found.camera);
        let first = cameras.next();
        cameras.any(|camera| Some(camera) != first)
    };
    if answers.frames.iter().any(of_several) {
        return Err(WrongUse(format!(
            "tenant {}: its frames have boxes in the images of several cameras, and COCO's results are of single images",
            answers.tenant
        ))
        .into());
    }
    let mut all = answers.frames.iter().flat_map(|answer| &answer.found).peekable();
    if all.peek().is_some() && !all.any(|found| in_image(&found)) {
        return Err(WrongUse(format!(
            "tenant {}: what it found is in space, and COCO's results are of boxes in images",
            answers.tenant
        ))
        .into());
    }
    let annotated = match &args.data {
        Some(file) if file.extension().is_some_and(|ending| ending == "json") => {
            Some(super::coco::read(&answers.source, file)?)
        }
        _ => None,
    };
    let mut done = std::collections::BTreeSet::new();
    let mut images = Vec::new();
    let (categories, map) = match &annotated {
        Some(annotations) => (
            annotations.category_numbers(),
            annotations.class_map(&answers.classes),
        ),
        None => (
            numbers(&answers.classes),
            jetlag_record::classes::ClassMap::by_name(&answers.classes, &answers.classes),
        ),
    };
    let names = match (&annotated, &answers.source) {
        (None, SourceSpec::Images { path, .. }) => names(path)?,
        _ => Vec::new(),
    };
    for answer in &answers.frames {
        let Some(content) = answer.content.filter(|_| answer.finished.is_some()) else {
            continue;
        };
        if !done.insert(content) {
            continue;
        }
        let number = match &annotated {
            Some(annotations) => annotations.number(answer)?,
            // COCO's files are named by the image's number.
            None => names
                .get(usize::try_from(content).unwrap_or(usize::MAX))
                .and_then(|name| name.parse().ok())
                .unwrap_or(content),
        };
        images.push((number, coco::found(answer, &map)?));
    }
    if !matches!(answers.source, SourceSpec::Images { .. }) {
        log::warn!(
            "the source of {} has no numbers of images: image_id is the number of the frame in it, from 0",
            answers.tenant
        );
    }
    let mut file = create(out, args.force)?;
    let images = images.iter().map(|(number, found)| (*number, found.as_slice()));
    files::coco(&mut file, &categories, images)?;
    file.flush().with_context(|| out.display().to_string())
}

/// COCO's numbers of its 80 classes, else from 1 on.
fn numbers(classes: &[String]) -> Vec<u64> {
    match classes.len() {
        80 => files::coco_categories(),
        count => (1..=count as u64).collect(),
    }
}

fn names(folder: &Path) -> anyhow::Result<Vec<String>> {
    let folder = crate::source::images::open(folder, false, crate::scenario::MAX_MEGAPIXELS)
        .map_err(WrongUse::because)?;
    let stem = |file: &std::path::PathBuf| {
        file.file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    Ok(folder.files().iter().map(stem).collect())
}
