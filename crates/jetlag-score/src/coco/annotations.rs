//! COCO's annotations (`instances_….json`): what is labelled in which image.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use serde::Deserialize;

use super::Truth;

/// A file of annotations, by the dataset's own numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Annotations {
    /// The number of each class's category, and its name.
    pub categories: Vec<(u64, String)>,
    /// By an image's file name, its number.
    pub images: BTreeMap<String, u64>,
    /// By an image's number, what is labelled in it.
    pub truths: BTreeMap<u64, Vec<Truth>>,
}

/// Why bytes are no annotations.
#[derive(Debug, thiserror::Error)]
pub enum NotAnnotations {
    /// No JSON, or without what annotations have.
    #[error("no COCO annotations with images and categories: {0}")]
    Json(#[from] serde_json::Error),
    /// A label of a class that is not in the file.
    #[error("an annotation of image {image} has category {category}, which `categories` does not list")]
    Category {
        /// The number of its image.
        image: u64,
        /// The number that it has.
        category: u64,
    },
}

#[derive(Deserialize)]
struct File {
    images: Vec<ImageRow>,
    #[serde(default)]
    annotations: Vec<AnnotationRow>,
    categories: Vec<CategoryRow>,
}

#[derive(Deserialize)]
struct ImageRow {
    id: Id,
    file_name: String,
}

#[derive(Deserialize)]
struct AnnotationRow {
    image_id: Id,
    category_id: Id,
    bbox: [f64; 4],
    area: Option<f64>,
    #[serde(default)]
    iscrowd: Flag,
}

#[derive(Deserialize)]
struct CategoryRow {
    id: Id,
    name: String,
}

/// A number, or a text, which some exporters write.
#[derive(Deserialize)]
#[serde(untagged)]
enum Id {
    Number(u64),
    Text(String),
}

/// 0 or 1, or as JSON has flags.
#[derive(Deserialize)]
#[serde(untagged)]
enum Flag {
    Is(bool),
    Number(f64),
}

impl Default for Flag {
    fn default() -> Flag {
        Flag::Is(false)
    }
}

/// Numbers for texts: their own where they are numbers, else from the end of all numbers down, in the order in which they come.
#[derive(Default)]
struct Numbers(HashMap<String, u64>);

impl Numbers {
    fn of(&mut self, id: Id) -> u64 {
        let text = match id {
            Id::Number(number) => return number,
            Id::Text(text) => text,
        };
        text.parse().unwrap_or_else(|_| {
            let next = u64::MAX - self.0.len() as u64;
            *self.0.entry(text).or_insert(next)
        })
    }
}

/// Before a text in UTF-8, as some programs of Windows write it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Annotations {
    /// Reads a file's bytes. Of categories with one number the first counts, and of images with one name the last.
    ///
    /// # Errors
    /// [`NotAnnotations`].
    pub fn read(bytes: &[u8]) -> Result<Annotations, NotAnnotations> {
        let File {
            images,
            annotations,
            categories,
        } = serde_json::from_slice(bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes))?;
        let (mut of_images, mut of_categories) = (Numbers::default(), Numbers::default());
        let images: BTreeMap<String, u64> = images
            .into_iter()
            .map(|row| (row.file_name, of_images.of(row.id)))
            .collect();
        let categories: Vec<(u64, String)> = categories
            .into_iter()
            .map(|row| (of_categories.of(row.id), row.name))
            .collect();
        let mut class_of: HashMap<u64, usize> = HashMap::new();
        for (class, (id, _)) in categories.iter().enumerate() {
            class_of.entry(*id).or_insert(class);
        }
        let mut truths: BTreeMap<u64, Vec<Truth>> = BTreeMap::new();
        for row in annotations {
            let (image, category) = (of_images.of(row.image_id), of_categories.of(row.category_id));
            let Some(class) = class_of.get(&category).copied() else {
                return Err(NotAnnotations::Category { image, category });
            };
            let [_, _, width, height] = row.bbox;
            truths.entry(image).or_default().push(Truth {
                class,
                bbox: row.bbox,
                area: row.area.unwrap_or(width * height),
                crowd: match row.iscrowd {
                    Flag::Is(is) => is,
                    Flag::Number(number) => number != 0.0,
                },
            });
        }
        Ok(Annotations {
            categories,
            images,
            truths,
        })
    }

    /// The numbers of the images of these files, by their names alone or with the last of their folders: names in annotations may
    /// have folders before them. None where no image is called so, or several are.
    pub fn numbers(&self, files: &[PathBuf]) -> Vec<Option<u64>> {
        let mut by_name: HashMap<&str, Vec<(&str, u64)>> = HashMap::new();
        for (listed, number) in &self.images {
            let name = listed.rsplit(['/', '\\']).next().unwrap_or(listed);
            by_name.entry(name).or_default().push((listed, *number));
        }
        let number = |file: &PathBuf| {
            let name = file.file_name()?.to_str()?;
            if let Some(number) = self.images.get(name) {
                return Some(*number);
            }
            let same = by_name.get(name)?;
            if let [(_, only)] = same.as_slice() {
                return Some(*only);
            }
            // `train/1.jpg` and `val/1.jpg`.
            let full = file.to_string_lossy().replace('\\', "/");
            let mut fitting = same
                .iter()
                .filter(|(listed, _)| full.ends_with(listed.replace('\\', "/").as_str()));
            match (fitting.next(), fitting.next()) {
                (Some((_, only)), None) => Some(*only),
                _ => None,
            }
        };
        files.iter().map(number).collect()
    }

    /// The names of the classes, in the order of the categories.
    pub fn names(&self) -> Vec<String> {
        self.categories.iter().map(|(_, name)| name.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_by_image_and_class_and_an_area_that_is_left_out_is_the_box_s() {
        let text = r#"{"images": [{"id": 7, "file_name": "a.png"}], "categories": [{"id": 3, "name": "car"}],
            "annotations": [{"image_id": 7, "category_id": 3, "bbox": [1, 2, 3, 4]},
                {"image_id": 7, "category_id": 3, "bbox": [1, 2, 3, 4], "area": 5.5, "iscrowd": 1}]}"#;
        let read = Annotations::read(text.as_bytes()).unwrap();
        assert_eq!(read.images["a.png"], 7);
        assert_eq!(read.names(), ["car"]);
        let told: Vec<(usize, f64, bool)> = read.truths[&7]
            .iter()
            .map(|truth| (truth.class, truth.area, truth.crowd))
            .collect();
        assert_eq!(told, [(0, 12.0, false), (0, 5.5, true)]);
    }

    #[test]
    fn what_exporters_write_otherwise_is_taken() {
        let text = "\u{feff}{\"images\": [{\"id\": \"a\", \"file_name\": \"train/1.png\"}, {\"id\": \"7\", \"file_name\": \"val/1.png\"}],
            \"categories\": [{\"id\": \"c\", \"name\": \"car\"}],
            \"annotations\": [{\"image_id\": \"a\", \"category_id\": \"c\", \"bbox\": [1, 2, 3, 4], \"iscrowd\": true},
                {\"image_id\": 7, \"category_id\": \"c\", \"bbox\": [1, 2, 3, 4], \"iscrowd\": false}]}";
        let read = Annotations::read(text.as_bytes()).unwrap();
        let crowds = |file: &str| {
            let number = read.numbers(&[PathBuf::from(file)])[0]?;
            Some(
                read.truths[&number]
                    .iter()
                    .map(|truth| truth.crowd)
                    .collect::<Vec<bool>>(),
            )
        };
        assert_eq!(crowds("/data/train/1.png"), Some(vec![true]));
        assert_eq!(crowds("/data/val/1.png"), Some(vec![false]));
        assert_eq!(crowds("/data/1.png"), None, "either");
        assert_eq!(crowds("2.png"), None);
    }

    #[test]
    fn what_is_missing_or_not_listed_is_told() {
        let told = |text: &str| Annotations::read(text.as_bytes()).unwrap_err().to_string();
        assert!(told("[]").starts_with("no COCO annotations with images and categories"));
        let of_none = r#"{"images": [], "categories": [], "annotations": [{"image_id": 1, "category_id": 9, "bbox": [0, 0, 1, 1]}]}"#;
        assert_eq!(
            told(of_none),
            "an annotation of image 1 has category 9, which `categories` does not list"
        );
    }
}
