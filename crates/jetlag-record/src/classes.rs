//! Which class of a dataset each class of a detector is.

/// A detector's classes among a dataset's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassMap {
    detector: Vec<String>,
    dataset: Vec<String>,
    map: Vec<Option<usize>>,
}

/// A detection of a class that its detector does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "class {class} is beyond the detector's {classes} class names; correct `classes` in the detector's spec"
)]
pub struct NoSuchClass {
    /// The class that a detection names.
    pub class: u16,
    /// How many the detector has.
    pub classes: usize,
}

/// Words that mean the same to those who label.
const SAME: [[&str; 2]; 3] = [
    ["person", "pedestrian"],
    ["cyclist", "bicycle"],
    ["motorbike", "motorcycle"],
];

/// Without what names are written differently in: letter case, spaces, hyphens, underscores.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

impl ClassMap {
    /// By their names: letter case, spaces, hyphens and underscores do not matter; where the dataset has no such name,
    /// `person` is `pedestrian`, `cyclist` is `bicycle` and `motorbike` is `motorcycle`, both ways.
    pub fn by_name(detector: &[String], dataset: &[String]) -> ClassMap {
        let names: Vec<String> = dataset.iter().map(|name| plain(name)).collect();
        let place = |name: &str| names.iter().position(|known| known == name);
        let also = |name: &str| {
            SAME.iter().find_map(|[a, b]| match name {
                _ if name == *a => place(b),
                _ if name == *b => place(a),
                _ => None,
            })
        };
        let map = detector.iter().map(|name| plain(name));
        ClassMap {
            map: map.map(|name| place(&name).or_else(|| also(&name))).collect(),
            detector: detector.to_vec(),
            dataset: dataset.to_vec(),
        }
    }

    /// The dataset's class of a detection; `None` if the dataset has none such, and nothing can be said of it.
    ///
    /// # Errors
    /// The detector has no such class.
    pub fn class(&self, class: u16) -> Result<Option<usize>, NoSuchClass> {
        let found = self.map.get(usize::from(class)).copied();
        found.ok_or(NoSuchClass {
            class,
            classes: self.map.len(),
        })
    }

    /// Detector's and dataset's names that go together.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.detector.iter().zip(&self.map);
        pairs.filter_map(|(name, class)| Some((name.as_str(), self.dataset.get((*class)?)?.as_str())))
    }

    /// Classes of the detector that the dataset does not have: their detections are not scored.
    pub fn unknown(&self) -> impl Iterator<Item = &str> {
        let unknown = self
            .detector
            .iter()
            .zip(&self.map)
            .filter(|(_, class)| class.is_none());
        unknown.map(|(name, _)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::{ClassMap, NoSuchClass};

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn names_go_together_however_they_are_written() {
        let detector = names(&["Car", "Traffic Cone", "person", "Cyclist", "zebra"]);
        let dataset = names(&["pedestrian", "car", "traffic_cone", "bicycle"]);
        let map = ClassMap::by_name(&detector, &dataset);
        let classes: Vec<_> = (0..5).map(|class| map.class(class).unwrap()).collect();
        assert_eq!(classes, [Some(1), Some(2), Some(0), Some(3), None]);
        assert_eq!(map.unknown().collect::<Vec<_>>(), ["zebra"]);
        assert_eq!(map.pairs().next(), Some(("Car", "car")));
        assert_eq!(map.class(5), Err(NoSuchClass { class: 5, classes: 5 }));
    }

    #[test]
    fn a_name_of_its_own_goes_before_another_word_for_it() {
        let map = ClassMap::by_name(&names(&["cyclist"]), &names(&["bicycle", "cyclist"]));
        assert_eq!(map.class(0), Ok(Some(1)));
    }
}
