//! From nodes to values: numbers, durations, structs and choices, each mistake noted and reading going on.

mod entries;
mod state;
mod values;

use serde::de::DeserializeOwned;

use super::problems::{Place, Problem, ProblemKind, Spot, shown};
use super::tree::{Call, Kind, Node, same_line};
use crate::nearest::nearest;
pub(crate) use crate::record::field::{Choice, Choices, choice, plain};
use crate::record::field::{word, words};
pub(crate) use state::Read;

/// The fields of one struct or alternative, known names only.
pub(crate) struct Fields<'n> {
    /// In words: "a tenant", "`Periodic`".
    pub(crate) owner: String,
    pub(crate) place: Place,
    found: Vec<(&'static str, &'n Node)>,
}

impl<'n> Fields<'n> {
    /// The field as written, if it is there.
    pub(crate) fn get(&self, name: &str) -> Option<&'n Node> {
        let node = self.found.iter().find(|(known, _)| *known == name)?.1;
        (!matches!(node.kind, Kind::Nothing)).then_some(node)
    }
}

/// Collects problems while it reads.
#[derive(Default)]
pub(crate) struct Reader {
    pub(crate) problems: Vec<Problem>,
}

impl Reader {
    pub(crate) fn report(&mut self, place: &Place, kind: ProblemKind) {
        self.problems.push(Problem {
            place: place.clone(),
            kind,
        });
    }

    /// Forgets what may be wrong only because part of the file could not be read: what is missing, and what stands on a line with
    /// one of these problems.
    pub(crate) fn forget_doubtful(&mut self, unreadable: &[Problem]) {
        self.problems.retain(|problem| {
            let missing = matches!(problem.kind, ProblemKind::Missing { .. });
            !missing
                && !unreadable
                    .iter()
                    .any(|earlier| same_line(&earlier.place, &problem.place))
        });
    }

    /// Notes that `node` is not what `field` takes; silent where that was reported already.
    pub(crate) fn wrong_type<T>(&mut self, node: &Node, field: &str, expected: &'static str) -> Option<T> {
        if node.kind != Kind::Broken {
            let kind = ProblemKind::WrongType {
                field: field.to_owned(),
                expected,
                found: node.described(),
            };
            self.report(&node.place, kind);
        }
        None
    }

    /// A struct that is no choice: `(…)` or `TypeName(…)`.
    pub(crate) fn record<'n>(
        &mut self,
        node: &'n Node,
        owner: &str,
        type_name: &str,
        expected: &'static str,
        known: &[&'static str],
    ) -> Option<Fields<'n>> {
        self.record_once_called(node, owner, type_name, expected, known, &[])
    }

    /// As [`record`](Self::record), of which some fields once had other names: an old name is refused with the new one, each as
    /// (old, new).
    pub(crate) fn record_once_called<'n>(
        &mut self,
        node: &'n Node,
        owner: &str,
        type_name: &str,
        expected: &'static str,
        known: &[&'static str],
        renamed: &[(&'static str, &'static str)],
    ) -> Option<Fields<'n>> {
        match &node.kind {
            Kind::Call(call)
                if call.items.is_empty() && call.name.as_deref().is_none_or(|name| name == type_name) =>
            {
                let place = &node.place;
                let fields = self.fields(call, owner.to_owned(), place, known, 0, |field, owner| {
                    let (was, now) = renamed.iter().find(|(was, _)| *was == field)?;
                    Some(ProblemKind::Renamed {
                        owner: owner.to_owned(),
                        was,
                        now,
                    })
                });
                Some(fields)
            }
            _ => self.wrong_type(node, owner.trim_start_matches("a "), expected),
        }
    }

    /// One of several alternatives: its name and its fields.
    pub(crate) fn choice<'n>(
        &mut self,
        node: &'n Node,
        choices: &Choices<'_>,
    ) -> Option<(&'static str, Fields<'n>)> {
        let (call, choice) = self.alternative(node, choices)?;
        let owner = format!("`{}`", choice.name);
        if call.items.len() > choice.bare {
            let kind = ProblemKind::Syntax {
                problem: format!(
                    "{owner} has {} value{} without a name, and takes {}; write it like {}",
                    call.items.len(),
                    if call.items.len() == 1 { "" } else { "s" },
                    if choice.bare == 0 { "none" } else { "one" },
                    choice.example
                ),
            };
            let place = &call.items[choice.bare].place;
            self.report(place, kind);
            return None;
        }
        let mut of_another = false;
        let fields = self.fields(
            call,
            owner,
            &node.place,
            choice.fields,
            choice.bare,
            |field, owner| {
                let has = |other: &&Choice| other.name != choice.name && other.fields.contains(&field);
                let others: Vec<&Choice> = choices.all.iter().filter(has).collect();
                let first = others.first()?;
                of_another = true;
                Some(ProblemKind::FieldOfAnother {
                    what: choices.what,
                    field: shown(field),
                    owner: owner.to_owned(),
                    own: choice.fields,
                    others: others.iter().map(|choice| choice.name).collect(),
                    example: first.example.to_owned(),
                })
            },
        );
        // Another alternative was meant, and what this one lacks is of no interest.
        (!of_another).then_some((choice.name, fields))
    }

    /// Which of several alternatives is written, and what it holds.
    pub(crate) fn alternative<'n, 'c>(
        &mut self,
        node: &'n Node,
        choices: &Choices<'c>,
    ) -> Option<(&'n Call, &'c Choice)> {
        let call = match &node.kind {
            Kind::Call(call) => call,
            // `arrival: "Closed"`: the name is right or nearly so, the quotes are not.
            Kind::Text(text) if node.typed.is_none() => {
                let known: Vec<&'static str> = choices.all.iter().map(|choice| choice.name).collect();
                let itself = known.iter().copied().find(|name| *name == text.as_str());
                let kind = match itself.or_else(|| nearest(text, known.iter().copied())) {
                    Some(name) => ProblemKind::Syntax {
                        problem: format!(
                            "{} is written without quotes: {name}, not \"{}\"",
                            choices.what,
                            shown(text)
                        ),
                    },
                    None => unknown_choice(choices, text),
                };
                self.report(&node.place, kind);
                return None;
            }
            Kind::Text(text) => {
                self.report(&node.place, unknown_choice(choices, text));
                return None;
            }
            Kind::Broken => return None,
            _ => {
                let kind = unknown_choice(choices, &node.described());
                self.report(&node.place, kind);
                return None;
            }
        };
        let name = match (&call.name, &node.place) {
            (Some(name), _) => name.as_str(),
            (None, Place::Set(_)) if call.items.is_empty() => choices.default,
            (None, _) => {
                self.report(&node.place, unknown_choice(choices, "(…)"));
                return None;
            }
        };
        let Some(choice) = choices.all.iter().find(|choice| choice.name == name) else {
            self.report(&node.place, unknown_choice(choices, name));
            return None;
        };
        Some((call, choice))
    }

    /// One of the plain words of an enum, as its declaration has them.
    pub(crate) fn word<T: DeserializeOwned>(&mut self, node: &Node, what: &'static str) -> Option<T> {
        word(self.one_word(node, what, words::<T>())?)
    }

    /// One of these words; `what` is the field in words.
    pub(super) fn one_word(
        &mut self,
        node: &Node,
        what: &'static str,
        words: &[&'static str],
    ) -> Option<&'static str> {
        let all: Vec<Choice> = words.iter().map(|word| plain(word)).collect();
        let default = words.first()?;
        let choices = Choices {
            what,
            default,
            all: &all,
        };
        self.choice(node, &choices).map(|(word, _)| word)
    }

    fn fields<'n>(
        &mut self,
        call: &'n Call,
        owner: String,
        place: &Place,
        known: &[&'static str],
        bare: usize,
        mut elsewhere: impl FnMut(&str, &str) -> Option<ProblemKind>,
    ) -> Fields<'n> {
        let mut found: Vec<(&'static str, &'n Node)> = Vec::new();
        let mut named: Vec<(&'static str, &Place)> = Vec::new();
        for field in &call.fields {
            let Some(&name) = known.iter().find(|name| **name == field.name) else {
                let kind = elsewhere(&field.name, &owner).unwrap_or_else(|| ProblemKind::UnknownField {
                    field: shown(&field.name),
                    owner: owner.clone(),
                    nearest: nearest(&field.name, known.iter().copied()),
                    known: known.to_vec(),
                });
                self.report(&field.place, kind);
                continue;
            };
            if let Some((_, first)) = named.iter().find(|(earlier, _)| *earlier == name) {
                let kind = ProblemKind::Twice {
                    what: format!("`{name}` of {owner}"),
                    first: (*first).clone(),
                };
                self.report(&field.place, kind);
                continue;
            }
            named.push((name, &field.place));
            found.push((name, &field.value));
        }
        // A named field can stand beside a bare one only through an override, which wins.
        for (name, item) in known.iter().take(bare).zip(&call.items) {
            if !found.iter().any(|(given, _)| given == name) {
                found.push((name, item));
            }
        }
        Fields {
            owner,
            place: place.clone(),
            found,
        }
    }

    /// A field that may be left out, read by `read`, which gets its name for messages.
    pub(crate) fn optional<'n, T>(
        &mut self,
        fields: &Fields<'n>,
        name: &'static str,
        read: impl FnOnce(&mut Self, &'n Node, &str) -> Option<T>,
    ) -> Read<T> {
        let Some(node) = fields.get(name) else {
            return Read::Absent;
        };
        match read(self, node, name) {
            Some(value) => Read::Given(Spot {
                value,
                place: node.place.clone(),
            }),
            None => Read::Wrong,
        }
    }

    /// A field that must be there.
    pub(crate) fn required<'n, T>(
        &mut self,
        fields: &Fields<'n>,
        name: &'static str,
        example: &str,
        read: impl FnOnce(&mut Self, &'n Node, &str) -> Option<T>,
    ) -> Option<Spot<T>> {
        match self.optional(fields, name, read) {
            Read::Given(spot) => Some(spot),
            Read::Wrong => None,
            Read::Absent => {
                let kind = ProblemKind::Missing {
                    field: name,
                    owner: fields.owner.clone(),
                    example: example.to_owned(),
                };
                self.report(&fields.place, kind);
                None
            }
        }
    }

    /// As [`required`](Self::required), where nobody asks for the place.
    pub(crate) fn needed<'n, T>(
        &mut self,
        fields: &Fields<'n>,
        name: &'static str,
        example: &str,
        read: impl FnOnce(&mut Self, &'n Node, &str) -> Option<T>,
    ) -> Option<T> {
        self.required(fields, name, example, read).map(|spot| spot.value)
    }
}

/// Reads one of the plain words of an enum; `what` is the field in words.
pub(crate) fn one_of<T: DeserializeOwned>(
    what: &'static str,
) -> impl Fn(&mut Reader, &Node, &str) -> Option<T> {
    move |r, node, _| r.word(node, what)
}

fn unknown_choice(choices: &Choices<'_>, found: &str) -> ProblemKind {
    let known: Vec<&'static str> = choices.all.iter().map(|choice| choice.name).collect();
    ProblemKind::UnknownChoice {
        what: choices.what,
        found: shown(found),
        nearest: nearest(found, known.iter().copied()).or_else(|| known_elsewhere(found, &known)),
        known,
    }
}

/// What other people's words for a choice are here: NVIDIA's Multi-Process Service shares a GPU among processes.
fn known_elsewhere(found: &str, known: &[&'static str]) -> Option<&'static str> {
    const WORDS: [(&str, &str); 2] = [("mps", "Processes"), ("multiprocess", "Processes")];
    let (_, ours) = WORDS.iter().find(|(word, _)| word.eq_ignore_ascii_case(found))?;
    known.iter().copied().find(|name| name == ours)
}
