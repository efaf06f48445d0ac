//! Frames as pictures within the page. The pixels come from whoever can read the run's source; here they are only shown.

use askama::Template;

use super::view::{Block, Section, words};

/// Frames of a run as pictures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pictures {
    /// How they were chosen, and what the lines mean.
    pub note: String,
    /// What is shown, in this order.
    pub all: Vec<Picture>,
    /// Why there are none, or fewer; a sentence each.
    pub absent: Vec<String>,
}

/// A frame as a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Which frame it is, and why it is shown.
    pub title: String,
    /// What was found, and how late.
    pub caption: String,
    /// The content of a JPEG or PNG file.
    pub bytes: Vec<u8>,
    /// Its kind: `image/jpeg`.
    pub media: &'static str,
    /// Width and height in pixels.
    pub size: [usize; 2],
}

#[derive(Template)]
#[template(path = "pictures.html")]
struct Shown<'a> {
    pictures: Vec<(&'a Picture, String)>,
}

pub(super) fn section(pictures: &Pictures, prefix: &str) -> Option<Section> {
    let mut blocks: Vec<Block> = pictures
        .absent
        .iter()
        .map(|why| Block::Text(words(why)))
        .collect();
    if !pictures.all.is_empty() {
        let shown = Shown {
            pictures: pictures
                .all
                .iter()
                .map(|picture| (picture, base64(&picture.bytes)))
                .collect(),
        };
        match shown.render() {
            Ok(markup) => blocks.push(Block::Markup(markup)),
            Err(error) => blocks.push(Block::Text(words(&format!("No pictures: {error}")))),
        }
    }
    (!blocks.is_empty()).then(|| Section {
        id: format!("{prefix}-pictures"),
        title: "Frames as pictures".into(),
        note: pictures.note.clone(),
        blocks,
    })
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |n: usize| u32::from(three.get(n).copied().unwrap_or(0));
        let all = (byte(0) << 16) | (byte(1) << 8) | byte(2);
        for n in 0..4 {
            let six = (all >> (18 - 6 * n)) & 63;
            text.push(match n <= three.len() {
                true => char::from(LETTERS[six as usize]),
                false => '=',
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_the_letters_of_the_standard() {
        let vectors = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (bytes, text) in vectors {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xff, 0xef, 0xbe]), "/+++");
    }

    #[test]
    fn a_section_shows_what_there_is_and_says_what_there_is_not() {
        assert!(section(&Pictures::default(), "run1").is_none());
        let pictures = Pictures {
            note: "the slowest".to_owned(),
            all: vec![Picture {
                title: "camera, frame 3 <slow>".to_owned(),
                caption: "2 found".to_owned(),
                bytes: vec![1, 2, 3],
                media: "image/jpeg",
                size: [4, 5],
            }],
            absent: vec!["lidar: its dataset has moved".to_owned()],
        };
        let section = section(&pictures, "run1").unwrap();
        assert_eq!(section.blocks.len(), 2);
        let Block::Markup(markup) = &section.blocks[1] else {
            panic!("no markup");
        };
        assert!(markup.contains("src=\"data:image/jpeg;base64,AQID\""), "{markup}");
        assert!(markup.contains("width=\"4\" height=\"5\""), "{markup}");
        assert!(!markup.contains("<slow>"), "{markup}");
    }
}
