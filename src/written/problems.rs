//! What is wrong with a file that a user wrote, and where: the vocabulary of its error messages.
//!
//! Reading one does not stop at the first mistake. Every stage adds a [`Problem`] to a list, and the
//! list is shown as [`Problems`], a line each, in the order of the file. Finding mistakes is the affair of
//! others; wording them is the affair of this module.

use std::fmt;
use std::sync::Arc;

use super::format::Format;
use crate::units::QuantityError;

/// Where a value was written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In the file as a whole.
    File,
    /// In the file, both counted from 1; columns count characters.
    At {
        /// Line of the value, from 1.
        line: usize,
        /// Column of the value in characters, from 1.
        column: usize,
    },
    /// On the command line; holds `path=value` as it was typed.
    Set(Arc<str>),
}

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Spot<T> {
    pub(crate) value: T,
    pub(crate) place: Place,
}

/// One mistake in a file, with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Where in the file it is.
    pub place: Place,
    /// What is wrong, and what would be right.
    pub kind: ProblemKind,
}

/// What can be wrong. Each message says what was found, what was expected and, where that can be known,
/// what to write instead.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProblemKind {
    /// The file cannot be read at all.
    #[error("cannot read the {what}: {problem}")]
    Unreadable {
        /// What it was taken for: "scenario".
        what: &'static str,
        /// What the system said, or what is wrong with the bytes.
        problem: String,
    },
    /// The text is not valid RON.
    #[error("{problem}")]
    Syntax {
        /// What the parser stumbled over and what it expected.
        problem: String,
    },
    /// A `--set` that is not `path=value`, or whose path leads nowhere.
    #[error("{problem}")]
    Override {
        /// What is wrong with it and what to write.
        problem: String,
    },
    /// A field that does not exist.
    #[error("unknown field `{field}` in {owner}{} {}", did_you_mean(.nearest), fields_here(.known))]
    UnknownField {
        /// The field's name, as written.
        field: String,
        /// The thing that has no such field.
        owner: String,
        /// The known field that looks most like it.
        nearest: Option<&'static str>,
        /// All fields there are.
        known: Vec<&'static str>,
    },
    /// A field that has another name by now.
    #[error("`{was}` of {owner} is now called `{now}`: write `{now}`")]
    Renamed {
        /// The thing that has the field.
        owner: String,
        /// The name as written.
        was: &'static str,
        /// The name that is understood.
        now: &'static str,
    },
    /// A field of another choice.
    #[error(
        "{owner} has no field `{field}`; {}. {} it, so set {what} as a whole if that is meant, such as {example}",
        fields_here(.own),
        have(.others)
    )]
    FieldOfAnother {
        /// The field whose choice it is.
        what: &'static str,
        /// The field's name, as written.
        field: String,
        /// The choice that was made.
        owner: String,
        /// The fields of the choice that was made.
        own: &'static [&'static str],
        /// The choices that have the field.
        others: Vec<&'static str>,
        /// A choice with that field, in full.
        example: String,
    },
    /// A choice that does not exist.
    #[error("unknown {what} `{found}`{} choices: {}", did_you_mean(.nearest), listed(.known))]
    UnknownChoice {
        /// The kind of choice, such as `backend`.
        what: &'static str,
        /// The word, as written.
        found: String,
        /// The choice that looks most like it.
        nearest: Option<&'static str>,
        /// All choices there are.
        known: Vec<&'static str>,
    },
    /// A value of another kind than the field takes.
    #[error("`{field}` takes {expected}, found {found}")]
    WrongType {
        /// Name of the field.
        field: String,
        /// What it takes, with an example.
        expected: &'static str,
        /// The kind of value that was written.
        found: String,
    },
    /// A duration that cannot be read.
    #[error("`{field}`: {source}")]
    Quantity {
        /// Name of the field.
        field: String,
        /// What is wrong with it.
        source: QuantityError,
    },
    /// A field that must be given and is not.
    #[error("{owner} has no `{field}`: add {example}")]
    Missing {
        /// Name of the missing field.
        field: &'static str,
        /// The thing that lacks it, such as a tenant.
        owner: String,
        /// How it could look.
        example: String,
    },
    /// The same field or tenant name twice.
    #[error("{what} is given twice; the first is at {first}")]
    Twice {
        /// The field or the tenant's name, in words.
        what: String,
        /// Where it stands already.
        first: Place,
    },
    /// A value that makes no sense.
    #[error("{what} is {found}, and must be {wanted}")]
    OutOfRange {
        /// The value's place in words: "`deadline` of tenant `camera`".
        what: String,
        /// The value, as written.
        found: String,
        /// What it may be.
        wanted: String,
    },
    /// A file or folder that is not there.
    #[error("{what}: {wanted} not found; looked for {}", listed(.tried))]
    NotFound {
        /// Which field of which tenant.
        what: String,
        /// "detector spec", "folder of images".
        wanted: &'static str,
        /// Every path that was tried.
        tried: Vec<String>,
    },
    /// Two values that exclude each other.
    #[error("{what}: {why}; {advice}")]
    Contradiction {
        /// Which values of which tenant.
        what: String,
        /// Why they do not go together.
        why: String,
        /// What to change so that they do.
        advice: String,
    },
    /// An expectation that cannot be read.
    #[error("expectation `{text}`: {problem}")]
    Expectation {
        /// The expectation, as written.
        text: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// Everything that is wrong with one file. Never empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Problems {
    file: String,
    list: Vec<Problem>,
}

impl Problems {
    /// A file that cannot be read at all.
    pub(crate) fn unreadable(file: &str, format: &Format, problem: String) -> Self {
        let what = format.what;
        let kind = ProblemKind::Unreadable { what, problem };
        let place = Place::File;
        Problems::new(file, vec![Problem { place, kind }])
    }

    /// Orders the list by place: the file from top to bottom, then the command line.
    pub(crate) fn new(file: &str, mut list: Vec<Problem>) -> Self {
        list.sort_by(|a, b| a.place.cmp(&b.place));
        Problems {
            file: file.to_owned(),
            list,
        }
    }

    /// The problems, in the order in which they are shown.
    pub fn list(&self) -> &[Problem] {
        &self.list
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.list.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            match &problem.place {
                Place::Set(_) => write!(f, "{}: {}", problem.place, problem.kind)?,
                Place::File => write!(f, "{}: {}", self.file, problem.kind)?,
                Place::At { line, column } => write!(f, "{}:{line}:{column}: {}", self.file, problem.kind)?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File => write!(f, "the file"),
            Place::At { line, column } => write!(f, "{line}:{column}"),
            Place::Set(text) => write!(f, "--set {text}"),
        }
    }
}

/// A text of the user's as it may stand in a one-line message: control characters escaped, cut when long.
pub(crate) fn shown(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut short: String = text
        .chars()
        .take(LONGEST)
        .flat_map(|c| {
            if c.is_control() {
                c.escape_default().collect::<Vec<_>>()
            } else {
                vec![c]
            }
        })
        .collect();
    if text.chars().nth(LONGEST).is_some() {
        short.push('…');
    }
    short
}

/// What stands between the complaint and the list of known names.
fn did_you_mean(nearest: &Option<&'static str>) -> String {
    match nearest {
        Some(name) => format!("; did you mean `{name}`?"),
        None => ";".into(),
    }
}

fn have(names: &[&str]) -> String {
    let verb = if names.len() == 1 { "has" } else { "have" };
    format!("{} {verb}", listed(names))
}

fn fields_here(known: &[&str]) -> String {
    match known.is_empty() {
        true => "it takes no fields".to_owned(),
        false => format!("fields here: {}", listed(known)),
    }
}

fn listed<T: AsRef<str>>(names: &[T]) -> String {
    names.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_are_shown_in_the_order_of_the_file_with_the_command_line_last() {
        let at = |line| Place::At { line, column: 2 };
        let syntax = |problem: &str| ProblemKind::Syntax {
            problem: problem.into(),
        };
        let list = [
            (Place::Set("a=1".into()), "third"),
            (at(10), "second"),
            (at(9), "first"),
        ]
        .map(|(place, text)| Problem {
            place,
            kind: syntax(text),
        });
        assert_eq!(
            Problems::new("x.ron", list.into()).to_string(),
            "x.ron:9:2: first\nx.ron:10:2: second\n--set a=1: third"
        );
    }

    #[test]
    fn text_that_is_shown_fits_on_one_line() {
        assert_eq!(shown("a\nb"), "a\\nb");
        assert_eq!(shown(&"x".repeat(1000)).chars().count(), 61);
    }
}
