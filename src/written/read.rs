//! From nodes to values: numbers, durations, structs and choices, each mistake noted and reading going on.

use std::str::FromStr;

use serde::de::DeserializeOwned;

use super::problems::{Place, Problem, ProblemKind, Spot, shown};
use super::tree::{Call, Kind, Node, same_line};
use super::words::{word, words};
use crate::nearest::nearest;
use crate::units::{Nanos, QuantityError, parse_duration};

/// A field as read. `Wrong` is told apart from `Absent` so that a mistake is not reported a second time as
/// something missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Read<T> {
    /// Not written, or `None`.
    #[default]
    Absent,
    /// Written, wrong, and reported.
    Wrong,
    /// Written, with its place.
    Given(Spot<T>),
}

impl<T> Read<T> {
    pub(crate) fn given(&self) -> Option<&Spot<T>> {
        match self {
            Read::Given(spot) => Some(spot),
            _ => None,
        }
    }
    /// The value, or what it is without being written.
    pub(crate) fn or(&self, default: T) -> T
    where
        T: Clone,
    {
        self.given().map_or(default, |spot| spot.value.clone())
    }
    /// The value, or its type's default.
    pub(crate) fn or_default(&self) -> T
    where
        T: Clone + Default,
    {
        self.or(T::default())
    }
}

/// One alternative of a choice.
pub(crate) struct Choice {
    pub(crate) name: &'static str,
    /// Names of the fields that it has.
    pub(crate) fields: &'static [&'static str],
    /// How many of them, from the first, may be written without their name.
    pub(crate) bare: usize,
    /// The alternative in full, for messages.
    pub(crate) example: &'static str,
}

/// A choice that is one word.
pub(crate) const fn plain(name: &'static str) -> Choice {
    choice(name, &[], 0, name)
}

/// A choice with fields, of which the first `bare` may be written without their name.
pub(crate) const fn choice(
    name: &'static str,
    fields: &'static [&'static str],
    bare: usize,
    example: &'static str,
) -> Choice {
    Choice {
        name,
        fields,
        bare,
        example,
    }
}

/// A field with alternatives.
pub(crate) struct Choices<'c> {
    /// The field in words, such as "arrival".
    pub(crate) what: &'static str,
    /// What it is where it is not written; an override of one of its fields then means this.
    pub(crate) default: &'static str,
    pub(crate) all: &'c [Choice],
}

/// The fields of one struct or alternative, known names only.
pub(crate) struct Fields<'n> {
    /// In words: "a tenant", "`Periodic`".
    pub(crate) owner: String,
    pub(crate) place: Place,
    found: Vec<(&'static str, &'n Node)>,
}

impl<'n> Fields<'n> {
    fn get(&self, name: &str) -> Option<&'n Node> {
        let node = self.found.iter().find(|(known, _)| *known == name)?.1;
        (!matches!(node.kind, Kind::Nothing)).then_some(node)
    }

    /// Whether the field is written as `None`, which is a word where a field has one of that name.
    pub(crate) fn says_none(&self, name: &str) -> bool {
        let mut found = self.found.iter().filter(|(known, _)| *known == name);
        found.any(|(_, node)| matches!(node.kind, Kind::Nothing))
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
        known: &'static [&'static str],
    ) -> Option<Fields<'n>> {
        match &node.kind {
            Kind::Call(call)
                if call.items.is_empty() && call.name.as_deref().is_none_or(|name| name == type_name) =>
            {
                Some(self.fields(call, owner.to_owned(), &node.place, known, 0, |_, _| None))
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
        let words = words::<T>();
        let all: Vec<Choice> = words.iter().map(|word| plain(word)).collect();
        let default = words.first()?;
        let (name, _) = self.choice(
            node,
            &Choices {
                what,
                default,
                all: &all,
            },
        )?;
        word(name)
    }

    fn fields<'n>(
        &mut self,
        call: &'n Call,
        owner: String,
        place: &Place,
        known: &'static [&'static str],
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
    pub(crate) fn optional<T>(
        &mut self,
        fields: &Fields<'_>,
        name: &'static str,
        read: impl FnOnce(&mut Self, &Node, &str) -> Option<T>,
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
    pub(crate) fn required<T>(
        &mut self,
        fields: &Fields<'_>,
        name: &'static str,
        example: &str,
        read: impl FnOnce(&mut Self, &Node, &str) -> Option<T>,
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
    pub(crate) fn needed<T>(
        &mut self,
        fields: &Fields<'_>,
        name: &'static str,
        example: &str,
        read: impl FnOnce(&mut Self, &Node, &str) -> Option<T>,
    ) -> Option<T> {
        self.required(fields, name, example, read).map(|spot| spot.value)
    }

    /// As [`list`](Self::list), where nobody asks for the places.
    pub(crate) fn values<T>(
        &mut self,
        node: &Node,
        field: &str,
        expected: &'static str,
        read: impl FnMut(&mut Self, &Node, &str) -> Option<T>,
    ) -> Option<Vec<T>> {
        let list = self.list(node, field, expected, read)?;
        Some(list.into_iter().map(|spot| spot.value).collect())
    }

    /// So many numbers, in parentheses or in brackets.
    pub(crate) fn numbers<T: FromStr, const N: usize>(&mut self, node: &Node, field: &str) -> Option<[T; N]> {
        let items = match &node.kind {
            Kind::List(items) => Some(items),
            Kind::Call(Call {
                name: None,
                items,
                fields,
            }) if fields.is_empty() => Some(items),
            _ => None,
        };
        let Some(items) = items else {
            return self.wrong_type(node, field, "numbers in parentheses or brackets");
        };
        let values: Vec<Option<T>> = items.iter().map(|item| self.number(item, field)).collect();
        let values = values.into_iter().collect::<Option<Vec<T>>>()?;
        let found = values.len();
        match values.try_into() {
            Ok(values) => Some(values),
            Err(_) => {
                let kind = ProblemKind::OutOfRange {
                    what: format!("`{field}`"),
                    found: format!("a list of {found}"),
                    wanted: format!("{N} numbers"),
                };
                self.report(&node.place, kind);
                None
            }
        }
    }

    /// Every element of a list; `None` if any of them is wrong.
    pub(crate) fn list<T>(
        &mut self,
        node: &Node,
        field: &str,
        expected: &'static str,
        mut read: impl FnMut(&mut Self, &Node, &str) -> Option<T>,
    ) -> Option<Vec<Spot<T>>> {
        let Kind::List(items) = &node.kind else {
            return self.wrong_type(node, field, expected);
        };
        let values: Vec<Option<Spot<T>>> = items
            .iter()
            .map(|item| {
                let place = item.place.clone();
                read(self, item, field).map(|value| Spot { value, place })
            })
            .collect();
        values.into_iter().collect()
    }

    pub(crate) fn text(&mut self, node: &Node, field: &str) -> Option<String> {
        match (&node.kind, &node.typed) {
            (Kind::Text(text), _) => Some(text.clone()),
            // `--set name=demo` needs no quotes.
            (Kind::Call(_) | Kind::Number(_) | Kind::Bool(_), Some(typed)) => Some(typed.clone()),
            _ => self.wrong_type(node, field, "text in quotes"),
        }
    }

    pub(crate) fn flag(&mut self, node: &Node, field: &str) -> Option<bool> {
        match node.kind {
            Kind::Bool(value) => Some(value),
            _ => self.wrong_type(node, field, "true or false"),
        }
    }

    pub(crate) fn duration(&mut self, node: &Node, field: &str) -> Option<Nanos> {
        let read = match &node.kind {
            Kind::Text(text) => parse_duration(text),
            Kind::Number(raw) => Err(QuantityError::MissingUnit { text: shown(raw) }),
            _ => return self.wrong_type(node, field, "a duration in quotes, such as \"10s\" or \"33ms\""),
        };
        match read {
            Ok(duration) => Some(duration),
            Err(source) => {
                let kind = ProblemKind::Quantity {
                    field: field.to_owned(),
                    source,
                };
                self.report(&node.place, kind);
                None
            }
        }
    }

    /// Hertz: `30` or `"30Hz"`.
    pub(crate) fn rate(&mut self, node: &Node, field: &str) -> Option<f64> {
        let value = match &node.kind {
            Kind::Number(raw) => float(raw),
            Kind::Text(text) => hertz(text),
            _ => None,
        };
        value.or_else(|| self.wrong_type(node, field, "a rate in hertz, such as 30 or \"30Hz\""))
    }

    /// A number of the field's own precision.
    pub(crate) fn number<T: FromStr>(&mut self, node: &Node, field: &str) -> Option<T> {
        let value = match &node.kind {
            Kind::Number(raw) => float(raw),
            _ => None,
        };
        value.or_else(|| self.wrong_type(node, field, "a number"))
    }

    /// A whole number that fits the type of the field.
    pub(crate) fn whole<T: TryFrom<i128>>(&mut self, node: &Node, field: &str) -> Option<T> {
        let value = match &node.kind {
            Kind::Number(raw) => integer(raw),
            _ => None,
        };
        let expected = match value {
            Some(value) if value < 0 && T::try_from(-1).is_err() => "a whole number that is not negative",
            Some(value) if value < 0 => "a whole number closer to zero",
            Some(_) => "a smaller whole number",
            None => "a whole number",
        };
        value
            .and_then(|value| T::try_from(value).ok())
            .or_else(|| self.wrong_type(node, field, expected))
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
        nearest: nearest(found, known.iter().copied()),
        known,
    }
}

/// Parsed as what it becomes, so that it is rounded once.
fn float<T: FromStr>(raw: &str) -> Option<T> {
    match integer(raw) {
        Some(value) => value.to_string().parse().ok(),
        None => raw.replace('_', "").parse().ok(),
    }
}

fn integer(raw: &str) -> Option<i128> {
    let clean = raw.replace('_', "");
    let (sign, digits) = match clean.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, clean.strip_prefix('+').unwrap_or(&clean)),
    };
    let lower = digits.to_ascii_lowercase();
    let radix = |prefix: &str, radix| {
        let digits = lower.strip_prefix(prefix)?;
        i128::from_str_radix(digits, radix).ok()
    };
    let value = radix("0x", 16)
        .or_else(|| radix("0b", 2))
        .or_else(|| radix("0o", 8))
        .or_else(|| lower.parse().ok())?;
    Some(sign * value)
}

fn hertz(text: &str) -> Option<f64> {
    let trimmed = text.trim();
    let unit = trimmed.find(char::is_alphabetic)?;
    let (number, unit) = trimmed.split_at(unit);
    let scale = match unit {
        "Hz" | "hz" | "HZ" => 1.0,
        "kHz" | "khz" | "KHz" => 1e3,
        _ => return None,
    };
    number.trim().parse::<f64>().ok().map(|value| value * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_with_their_unit() {
        assert_eq!(hertz("30Hz"), Some(30.0));
        assert_eq!(hertz(" 1.5 kHz"), Some(1500.0));
        for wrong in ["30", "30fps", "Hz", "", "thirty Hz"] {
            assert_eq!(hertz(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn whole_numbers_are_read_in_every_way_that_ron_writes_them() {
        for (raw, value) in [
            ("42", Some(42)),
            ("-1_000", Some(-1000)),
            ("0xFF", Some(255)),
            ("0b101", Some(5)),
            ("1.0", None),
            ("inf", None),
        ] {
            assert_eq!(integer(raw), value, "{raw}");
        }
        assert_eq!(float("1e3"), Some(1000.0));
        assert_eq!(float("0x10"), Some(16.0_f32));
        assert!(float("NaN").is_some_and(f64::is_nan));
    }
}
