//! Answers on images with COCO's annotations (`instances_….json`), scored by its rules.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jetlag_score::classes::ClassMap;
use jetlag_score::coco::{Coco, Found, Image, Truth};
use serde::Deserialize;

use super::answers::{Answer, Answers};
use crate::commands::outcome::WrongUse;
use crate::detector::{Box2d, Place};
use crate::scenario::SourceSpec;

/// The largest file of annotations that is read: COCO's own has 450 MB.
const LARGEST: u64 = 2 << 30;

#[derive(Deserialize)]
struct File {
    images: Vec<ImageRow>,
    #[serde(default)]
    annotations: Vec<AnnotationRow>,
    categories: Vec<CategoryRow>,
}

#[derive(Deserialize)]
struct ImageRow {
    id: u64,
    file_name: String,
}

#[derive(Deserialize)]
struct AnnotationRow {
    image_id: u64,
    category_id: u64,
    bbox: [f64; 4],
    area: Option<f64>,
    #[serde(default)]
    iscrowd: u8,
}

#[derive(Deserialize)]
struct CategoryRow {
    id: u64,
    name: String,
}

/// Annotations, and the images that a source has.
pub(super) struct Annotations {
    file: PathBuf,
    /// The category's number of each class, and its name.
    categories: Vec<(u64, String)>,
    /// By the image's file name, its number.
    images: BTreeMap<String, u64>,
    truths: BTreeMap<u64, Vec<Truth>>,
    /// Of each frame, its file's name.
    files: Vec<String>,
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
    let rows: File = serde_json::from_slice(&bytes)
        .map_err(|error| refused(format!("no COCO annotations with images and categories: {error}")))?;
    let categories: Vec<(u64, String)> = rows
        .categories
        .into_iter()
        .map(|row| (row.id, row.name))
        .collect();
    let mut truths: BTreeMap<u64, Vec<Truth>> = BTreeMap::new();
    for row in rows.annotations {
        let Some(class) = categories.iter().position(|(id, _)| *id == row.category_id) else {
            return Err(refused(format!(
                "an annotation of image {} has category {}, which `categories` does not list",
                row.image_id, row.category_id
            ))
            .into());
        };
        let [_, _, width, height] = row.bbox;
        truths.entry(row.image_id).or_default().push(Truth {
            class,
            bbox: row.bbox,
            area: row.area.unwrap_or(width * height),
            crowd: row.iscrowd != 0,
        });
    }
    let folder = crate::source::images::open(path, false, crate::scenario::MAX_MEGAPIXELS)
        .map_err(WrongUse::because)?;
    let name = |file: &PathBuf| {
        file.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    Ok(Annotations {
        file: file.to_owned(),
        categories,
        images: rows
            .images
            .into_iter()
            .map(|row| (row.file_name, row.id))
            .collect(),
        truths,
        files: folder.files().iter().map(name).collect(),
    })
}

impl Annotations {
    /// A detector's classes among the categories.
    pub(super) fn class_map(&self, classes: &[String]) -> ClassMap {
        let names: Vec<String> = self.categories.iter().map(|(_, name)| name.clone()).collect();
        ClassMap::by_name(classes, &names)
    }

    /// The answers of these frames, matched by COCO's rules.
    pub(super) fn score(&self, answers: &Answers, taken: &[&Answer]) -> anyhow::Result<Coco> {
        let map = self.class_map(&answers.classes);
        let names: Vec<String> = self.categories.iter().map(|(_, name)| name.clone()).collect();
        let mut images = Vec::with_capacity(taken.len());
        for answer in taken {
            let number = self.number(answer)?;
            images.push(Image {
                truths: self.truths.get(&number).cloned().unwrap_or_default(),
                found: found(answer, &map)?,
            });
        }
        Ok(Coco::new(&names, &images)?)
    }

    /// The dataset's number of a frame's image.
    pub(super) fn number(&self, answer: &Answer) -> anyhow::Result<u64> {
        let content = answer.content.and_then(|content| usize::try_from(content).ok());
        let name = content
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
        let number = self.images.get(name).copied();
        Ok(number.ok_or_else(|| {
            WrongUse(format!(
                "{}: no image is called {name}; are these the annotations of this folder?",
                self.file.display()
            ))
        })?)
    }

    /// What is labelled in an image, with the names of its classes.
    pub(super) fn truths_of(&self, number: u64) -> impl Iterator<Item = (&str, Box2d)> {
        let truths = self.truths.get(&number).into_iter().flatten();
        truths.filter_map(|truth| {
            let [x, y, width, height] = truth.bbox;
            let (_, name) = self.categories.get(truth.class)?;
            let [x1, y1, x2, y2] = [x, y, x + width, y + height].map(|side| side as f32);
            Some((name.as_str(), Box2d { x1, y1, x2, y2 }))
        })
    }

    /// The categories' numbers, by class.
    pub(super) fn category_numbers(&self) -> Vec<u64> {
        self.categories.iter().map(|(id, _)| *id).collect()
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
