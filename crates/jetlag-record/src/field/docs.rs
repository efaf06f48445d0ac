//! The lines of the documentation, as they follow from declarations.

use std::fmt;

use super::Choice;

/// What the documentation says of one field.
pub struct DocRow {
    /// Its name.
    pub name: &'static str,
    /// What may be written, in words.
    pub kind: String,
    /// Its range in words, if it has one.
    pub range: Option<&'static str>,
    /// What it is where it is not written; none where it must be.
    pub default: Option<String>,
    /// What it means.
    pub meaning: &'static str,
}

impl DocRow {
    /// Name and kind, where it is one of several fields of a value.
    pub fn within_a_record(&self) -> String {
        let kind = match self.kind.contains('`') {
            true => "choice",
            false => &self.kind,
        };
        format!("{}: {kind}", self.name)
    }

    /// `before` and the range, without the reason that follows it.
    fn and_range(&self, before: &str) -> String {
        let range = self.range.and_then(|range| range.split([':', ';']).next());
        range.map_or_else(String::new, |range| format!("{before}{range}"))
    }
}

/// A row of a table: field, type, default, meaning.
impl fmt::Display for DocRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = match self.default.as_deref() {
            None => "required",
            Some("`None`") => "none",
            Some(default) => default,
        };
        let (name, kind, meaning) = (self.name, &self.kind, self.meaning.trim());
        let range = self.and_range(", ");
        write!(f, "| `{name}` | {kind}{range} | {default} | {meaning} |")
    }
}

/// What the documentation says of one alternative of a choice.
pub struct DocChoice {
    /// Its name and what may be written without names.
    pub choice: &'static Choice,
    /// Its fields.
    pub fields: Vec<DocRow>,
    /// What it means.
    pub meaning: &'static str,
}

/// A row of a table: choice, fields with their defaults, meaning.
impl fmt::Display for DocChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self.fields.iter().enumerate().map(|(index, field)| {
            let default = field.default.as_deref().unwrap_or("required");
            let optional = match index < self.choice.bare {
                true => ", name optional",
                false => "",
            };
            format!("`{}` ({default}{optional}{})", field.name, field.and_range("; "))
        });
        let mut fields = fields.collect::<Vec<String>>().join(", ");
        if !fields.is_empty() {
            fields.push(' ');
        }
        let (example, meaning) = (self.choice.example, self.meaning.trim());
        write!(f, "| `{example}` | {fields}| {meaning} |")
    }
}
