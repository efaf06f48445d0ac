//! Answers on images with COCO's annotations (`instances_….json`), scored by its rules.

use std::path::{Path, PathBuf};

use jetlag_record::classes::ClassMap;
use jetlag_score::coco::{self, Coco, Found, Image};

use super::answers::{Answer, Answers};
use crate::commands::outcome::WrongUse;
use crate::detector::{Box2d, Place};
use crate::record::Selection;
use crate::scenario::SourceSpec;
use crate::source::selection;

/// The largest file of annotations that is read: COCO's own has 450 MB.
const LARGEST: u64 = 2 << 30;

/// Annotations, and the images that a source has.
pub(super) struct Annotations {
    file: PathBuf,
    read: coco::Annotations,
    /// Of each frame.
    files: Vec<PathBuf>,
    /// Of each frame, its image's number.
    numbers: Vec<Option<u64>>,
    selection: Selection,
}

/// Reads COCO's annotations of what a source of images has.
///
/// # Errors
/// Not a folder of images, or not such a file.
pub(super) fn read(source: &SourceSpec, file: &Path) -> anyhow::Result<Annotations> {
    let SourceSpec::Images { path, .. } = source else {
        return Err(WrongUse(format!(
            "{}: COCO's annotations are of a folder of images (`source: Images(path: …)`), and this tenant's source is another",
            file.display()
        ))
        .into());
    };
    let refused = |problem: String| WrongUse(format!("{}: {problem}", file.display()));
    let size = std::fs::metadata(file)
        .map_err(|error| refused(error.to_string()))?
        .len();
    if size > LARGEST {
        return Err(refused(format!(
            "is {size} bytes long; annotations of at most {LARGEST} are read"
        ))
        .into());
    }
    let bytes = std::fs::read(file).map_err(|error| refused(error.to_string()))?;
    let read = coco::Annotations::read(&bytes).map_err(|error| refused(error.to_string()))?;
    let folder = crate::source::images::open(path, false, crate::scenario::MAX_MEGAPIXELS)
        .map_err(WrongUse::because)?;
    Ok(Annotations {
        file: file.to_owned(),
        numbers: read.numbers(folder.files()),
        read,
        files: folder.files().to_vec(),
        selection: selection::of_files(folder.files().iter().map(PathBuf::as_path)),
    })
}

impl Annotations {
    /// Which images the source's folder has.
    pub(super) fn selection(&self) -> Selection {
        self.selection.clone()
    }

    /// A detector's classes among the categories.
    pub(super) fn class_map(&self, classes: &[String]) -> ClassMap {
        ClassMap::by_name(classes, &self.read.names())
    }

    /// The answers of these frames, matched by COCO's rules.
    pub(super) fn score(&self, answers: &Answers, taken: &[&Answer]) -> anyhow::Result<Coco> {
        let map = self.class_map(&answers.classes);
        let mut images = Vec::with_capacity(taken.len());
        for answer in taken {
            let number = self.number(answer)?;
            images.push(Image {
                truths: self.read.truths.get(&number).cloned().unwrap_or_default(),
                found: found(answer, &map)?,
            });
        }
        Ok(Coco::new(&self.read.names(), &images)?)
    }

    /// The dataset's number of a frame's image.
    pub(super) fn number(&self, answer: &Answer) -> anyhow::Result<u64> {
        let content = answer.content.and_then(|content| usize::try_from(content).ok());
        let image = content
            .and_then(|content| self.files.get(content))
            .ok_or_else(|| {
                WrongUse(format!(
                    "the run has frame {}, and the folder has {} images: has it changed since?",
                    answer
                        .content
                        .map_or("none".to_owned(), |content| content.to_string()),
                    self.files.len()
                ))
            })?;
        let number = content.and_then(|content| self.numbers.get(content).copied().flatten());
        Ok(number.ok_or_else(|| {
            WrongUse(format!(
                "{}: no image is called {}, or several are; are these the annotations of this folder?",
                self.file.display(),
                image.file_name().unwrap_or_default().to_string_lossy()
            ))
        })?)
    }

    /// What is labelled in an image, with the names of its classes.
    pub(super) fn truths_of(&self, number: u64) -> impl Iterator<Item = (&str, Box2d)> {
        let truths = self.read.truths.get(&number).into_iter().flatten();
        truths.filter_map(|truth| {
            let [x, y, width, height] = truth.bbox;
            let (_, name) = self.read.categories.get(truth.class)?;
            let [x1, y1, x2, y2] = [x, y, x + width, y + height].map(|side| side as f32);
            Some((name.as_str(), Box2d { x1, y1, x2, y2 }))
        })
    }

    /// The categories' numbers, by class.
    pub(super) fn category_numbers(&self) -> Vec<u64> {
        self.read.categories.iter().map(|(id, _)| *id).collect()
    }
}

/// What was found in a frame, of classes that the dataset has.
pub(super) fn found(answer: &Answer, map: &ClassMap) -> anyhow::Result<Vec<Found>> {
    let mut all = Vec::with_capacity(answer.found.len());
    for detection in &answer.found {
        if let (Some(class), Place::Image(place)) = (map.class(detection.class)?, &detection.place) {
            all.push(Found::in_image(class, detection.score, place));
        }
    }
    Ok(all)
}
