//! Parts of a report that are asked for alone, in more detail: the layers, the work on a GPU, critical paths, predictions.

pub mod counters;
pub mod kernels;
pub mod layers;
pub mod recording;
pub mod traced;

use jetlag_figure::Style;
use jetlag_figure::section::{markdown, terminal};

use crate::sections::Section;

/// How they are shown.
#[derive(Clone, Copy, Debug)]
pub enum Form<'s> {
    /// On a terminal.
    Terminal(&'s Style),
    /// In GitHub's Markdown.
    Markdown,
}

impl Form<'_> {
    fn show(self, section: &Section) -> String {
        match self {
            Form::Terminal(style) => terminal::section(section, |_| String::new(), style),
            Form::Markdown => markdown::section(section),
        }
    }

    /// One below the other, without those of which nothing is shown.
    fn all(self, sections: &[Section]) -> String {
        let texts = sections.iter().map(|section| self.show(section));
        let shown: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
        shown.join("\n")
    }
}
