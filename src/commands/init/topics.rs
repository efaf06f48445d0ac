//! Which topic of a bag a network is tried on, where none is named: the only one that it takes.

use std::path::Path;

use super::super::outcome::WrongUse;
use crate::source::ContentKind;
use crate::source::recordings::{FrameTopic, frame_topics};

/// The topic of frames of the wanted kind.
///
/// # Errors
/// [`WrongUse`] where the bag cannot be read, or has none or several such topics.
pub(super) fn of_kind(bag: &Path, wanted: Option<ContentKind>) -> Result<String, WrongUse> {
    let all = frame_topics(bag).map_err(WrongUse::because)?;
    let (topics, others): (Vec<FrameTopic>, Vec<FrameTopic>) = all
        .into_iter()
        .partition(|topic| matches!(topic.serialization.as_str(), "" | "cdr"));
    if let (true, Some(other)) = (topics.is_empty(), others.first()) {
        let advice = match other.serialization.as_str() {
            "ros1" | "ros1msg" => "they are of ROS 1: convert the bag to ROS 2, as `rosbags-convert` does",
            _ => "frames are made of those of ROS 2 (`cdr`): record or convert it so",
        };
        return Err(WrongUse(format!(
            "{}: the messages of `{}` are serialised as `{}`; {advice}",
            bag.display(),
            other.name,
            other.serialization
        )));
    }
    chosen(&topics, wanted).map_err(|why| WrongUse(format!("{}: {why}", bag.display())))
}

/// Of these topics the one to take, or why none is.
fn chosen(topics: &[FrameTopic], wanted: Option<ContentKind>) -> Result<String, String> {
    let kind = wanted.filter(|kind| *kind != ContentKind::Empty);
    let fitting: Vec<&FrameTopic> = topics
        .iter()
        .filter(|topic| topic.messages > 0 && kind.is_none_or(|kind| kind == topic.content))
        .collect();
    let words = match kind {
        Some(ContentKind::Image) => "images",
        Some(ContentKind::Points) => "sweeps",
        _ => "images or sweeps",
    };
    match fitting.as_slice() {
        [only] => Ok(only.name.clone()),
        [] if topics.is_empty() => Err("no topic of it has images or sweeps".to_owned()),
        [] => Err(format!(
            "no topic of it has {words}; of frames it has {}",
            names(topics.iter())
        )),
        several => Err(format!(
            "several topics of it have {words}: name one with --topic: {}",
            names(several.iter().copied())
        )),
    }
}

fn names<'a>(topics: impl Iterator<Item = &'a FrameTopic>) -> String {
    let names: Vec<String> = topics.map(|topic| format!("`{}`", topic.name)).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(name: &str, content: ContentKind, messages: usize) -> FrameTopic {
        FrameTopic {
            name: name.to_owned(),
            content,
            serialization: "cdr".to_owned(),
            messages,
        }
    }

    #[test]
    fn the_only_topic_that_fits_is_taken_and_several_are_named() {
        use ContentKind::{Image, Points};
        let all = [
            topic("/left", Image, 3),
            topic("/right", Image, 3),
            topic("/old", Points, 0),
            topic("/lidar", Points, 2),
        ];
        assert_eq!(chosen(&all, Some(Points)).unwrap(), "/lidar");
        let several = chosen(&all, Some(Image)).unwrap_err();
        assert!(several.ends_with("--topic: `/left`, `/right`"), "{several}");
        assert!(chosen(&all, None).unwrap_err().contains("images or sweeps"));
        assert!(
            chosen(&all[..2], Some(Points))
                .unwrap_err()
                .contains("no topic of it has sweeps")
        );
        assert!(chosen(&[], None).unwrap_err().contains("no topic"));
    }
}
