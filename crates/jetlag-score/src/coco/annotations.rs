//! COCO's annotations (`instances_….json`): what is labelled in which image.

use std::collections::{BTreeMap, HashMap};

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
        } = serde_json::from_slice(bytes)?;
        let mut class_of: HashMap<u64, usize> = HashMap::new();
        for (class, row) in categories.iter().enumerate() {
            class_of.entry(row.id).or_insert(class);
        }
        let mut truths: BTreeMap<u64, Vec<Truth>> = BTreeMap::new();
        for row in annotations {
            let Some(class) = class_of.get(&row.category_id).copied() else {
                return Err(NotAnnotations::Category {
                    image: row.image_id,
                    category: row.category_id,
                });
            };
            let [_, _, width, height] = row.bbox;
            truths.entry(row.image_id).or_default().push(Truth {
                class,
                bbox: row.bbox,
                area: row.area.unwrap_or(width * height),
                crowd: row.iscrowd != 0,
            });
        }
        Ok(Annotations {
            categories: categories.into_iter().map(|row| (row.id, row.name)).collect(),
            images: images.into_iter().map(|row| (row.file_name, row.id)).collect(),
            truths,
        })
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
