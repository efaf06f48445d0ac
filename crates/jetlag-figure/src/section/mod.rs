//! A report in parts: made once from figures, shown by each format in its own way.
//!
//! Whoever makes a section says what there is: tables of cells, sentences, and drawings by what they draw. Widths, colours and what
//! is left out where there is no room belong to the format.

pub mod markdown;
mod table;
pub mod terminal;

use std::borrow::Cow;

pub use table::{Bar, Cell, Column, Room, Row, Table, Tone};

/// A part of a report under a heading. `D` names what may be drawn in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Section<D> {
    /// By which links and findings know it.
    pub id: &'static str,
    /// The heading: `Where the time goes`.
    pub title: Cow<'static, str>,
    /// What the figures are and in which unit, beside the heading; a phrase, and no sentence.
    pub note: String,
    /// How the figures are to be read, in sentences, for formats that are read at leisure.
    pub explanation: &'static str,
    /// In order.
    pub blocks: Vec<Block<D>>,
}

/// What a section is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum Block<D> {
    /// A table.
    Table(Table),
    /// Sentences.
    Text(String),
    /// What reasons and remarks say, less loud than the figures.
    Remark(String),
    /// A drawing, where a format has one.
    Drawing(D),
}

impl<D> Section<D> {
    /// A section without blocks.
    pub fn new(id: &'static str, title: impl Into<Cow<'static, str>>, note: impl Into<String>) -> Self {
        Section {
            id,
            title: title.into(),
            note: note.into(),
            explanation: "",
            blocks: Vec::new(),
        }
    }

    /// With sentences on how its figures are read.
    #[must_use]
    pub fn explained(mut self, explanation: &'static str) -> Self {
        self.explanation = explanation;
        self
    }

    /// With one more table; one without rows is none.
    #[must_use]
    pub fn table(mut self, table: Table) -> Self {
        if !table.rows.is_empty() {
            self.blocks.push(Block::Table(table));
        }
        self
    }

    /// With more sentences.
    #[must_use]
    pub fn texts(mut self, texts: impl IntoIterator<Item = String>) -> Self {
        self.blocks.extend(texts.into_iter().map(Block::Text));
        self
    }

    /// With more remarks.
    #[must_use]
    pub fn remarks(mut self, remarks: impl IntoIterator<Item = String>) -> Self {
        self.blocks.extend(remarks.into_iter().map(Block::Remark));
        self
    }

    /// With a drawing.
    #[must_use]
    pub fn drawing(mut self, drawing: D) -> Self {
        self.blocks.push(Block::Drawing(drawing));
        self
    }

    /// The section, if there is anything in it: one that can say nothing is absent.
    #[must_use]
    pub fn unless_empty(self) -> Option<Self> {
        (!self.blocks.is_empty()).then_some(self)
    }
}
