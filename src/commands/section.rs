//! Prints sections of results: on a terminal, or as Markdown.

use std::convert::Infallible;

use jetlag_figure::section::{Section, markdown, terminal};

use crate::cli::TableFormat;

use super::output::{print, print_styled, style};

/// How people read a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Medium {
    Terminal,
    Markdown,
}

impl Medium {
    /// That of a format which people read.
    pub(super) fn of(format: TableFormat) -> Option<Medium> {
        match format {
            TableFormat::Text => Some(Medium::Terminal),
            TableFormat::Markdown => Some(Medium::Markdown),
            TableFormat::Json => None,
        }
    }
}

/// Prints sections, with an empty line between two.
pub(super) fn print_sections(sections: &[Section<Infallible>], medium: Medium) -> anyhow::Result<()> {
    let style = style();
    let shown = sections.iter().map(|section| match medium {
        Medium::Terminal => terminal::section(section, |none| match *none {}, &style),
        Medium::Markdown => markdown::section(section),
    });
    let text = shown.collect::<Vec<_>>().join("\n");
    match medium {
        Medium::Terminal => print_styled(&text, style.colour),
        Medium::Markdown => print(&text),
    }
}
