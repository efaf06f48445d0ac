//! A field that somebody writes, declared once: its type, default, range and meaning. How it is read, written, named in
//! messages and told in the documentation follows from that.
//!
//! [`fields!`](crate::fields) declares the fields of a struct, or the alternatives of a choice. No parser is known here: whoever has one hands values out as
//! [`Entry`]s and the fields of a struct as [`Entries`].

mod choice;
mod declaration;
mod docs;
mod value;
mod words;

use std::ops::RangeInclusive;

use crate::units::Nanos;

pub use choice::{Choice, Choices, choice, plain};
pub use docs::{DocChoice, DocRow};
pub use value::Value;
pub use words::{word, words};

/// What somebody wrote for one value. Where a method gives nothing, it has reported why.
pub trait Entry {
    /// `true` or `false`.
    fn flag(&mut self) -> Option<bool>;
    /// Text in quotes.
    fn text(&mut self) -> Option<String>;
    /// A time with its unit, such as `"33ms"`.
    fn duration(&mut self) -> Option<Nanos>;
    /// Hertz: `30` or `"30Hz"`.
    fn rate(&mut self) -> Option<f64>;
    /// Any number.
    fn number(&mut self) -> Option<f64>;
    /// Any number, rounded once to this precision.
    fn single(&mut self) -> Option<f32>;
    /// Each of so many numbers, in parentheses or brackets.
    fn numbers(&mut self, count: usize, each: &mut dyn FnMut(&mut dyn Entry)) -> Option<()>;
    /// A whole number that the field's type can hold.
    fn whole(&mut self, held: RangeInclusive<i128>) -> Option<i128>;
    /// Whether it is a number, for fields that take text as well.
    fn is_number(&self) -> bool;
    /// One of several words; `what` is the field in words.
    fn word(&mut self, what: &'static str, words: &'static [&'static str]) -> Option<&'static str>;
    /// Each element of a list; `expected` says what a list looks like.
    fn list(&mut self, expected: &'static str, each: &mut dyn FnMut(&mut dyn Entry)) -> Option<()>;
    /// The fields of a struct, in parentheses.
    fn record(&mut self, shape: &Shape, read: &mut dyn FnMut(&mut dyn Entries)) -> Option<()>;
    /// One of several alternatives, and its fields.
    fn choice(
        &mut self,
        choices: &Choices<'_>,
        read: &mut dyn FnMut(&'static str, &mut dyn Entries),
    ) -> Option<()>;
    /// Reports that the value is out of its range.
    fn out_of_range(&mut self, found: String, wanted: &str);
}

/// The fields of one struct or alternative, as far as somebody wrote them.
pub trait Entries {
    /// Reads the field of this name, if it is there.
    fn field(&mut self, name: &'static str, read: &mut dyn FnMut(&mut dyn Entry));
    /// As [`field`](Self::field); where it is not there, reports so.
    fn required(&mut self, name: &'static str, example: &'static str, read: &mut dyn FnMut(&mut dyn Entry));
}

/// A struct that stands as a value.
pub struct Shape {
    /// The name that may stand before its parentheses.
    pub name: &'static str,
    /// What it looks like, for messages.
    pub expected: &'static str,
    /// Names of its fields.
    pub fields: &'static [&'static str],
    /// What one is called that stands in a list: "a level".
    pub noun: Option<&'static str>,
}

/// The range of a field.
pub struct Range<T> {
    /// Whether a value lies in it.
    pub holds: fn(&T) -> bool,
    /// The range in words.
    pub wanted: &'static str,
}

/// A field that may be left out; nothing where it is, or is wrong.
pub fn optional<T: Value>(
    entries: &mut dyn Entries,
    name: &'static str,
    read: fn(&mut dyn Entry) -> Option<T>,
    range: Option<Range<T>>,
) -> Option<T> {
    let mut given = None;
    entries.field(name, &mut |entry| given = in_range(entry, read, range.as_ref()));
    given
}

/// A field that must be there; where it is not, that is reported.
pub fn required<T: Value>(
    entries: &mut dyn Entries,
    name: &'static str,
    example: &'static str,
    read: fn(&mut dyn Entry) -> Option<T>,
    range: Option<Range<T>>,
) -> Option<T> {
    let mut given = None;
    entries.required(name, example, &mut |entry| {
        given = in_range(entry, read, range.as_ref())
    });
    given
}

/// A value that is out of its range is reported and handed on: what other rules say of it may be of use, too.
fn in_range<T: Value>(
    entry: &mut dyn Entry,
    read: fn(&mut dyn Entry) -> Option<T>,
    range: Option<&Range<T>>,
) -> Option<T> {
    let value = read(entry)?;
    if let Some(range) = range.filter(|range| !(range.holds)(&value)) {
        entry.out_of_range(value.shown(), range.wanted);
    }
    Some(value)
}

/// Times above zero, each with its own place in messages.
pub fn times(entry: &mut dyn Entry) -> Option<Vec<Nanos>> {
    const RANGE: Range<Nanos> = Range {
        holds: |time| time.0 > 0,
        wanted: "above zero; the Null backend takes no time",
    };
    let mut times = Some(Vec::new());
    entry.list(
        Nanos::LIST,
        &mut |entry| match (in_range(entry, Nanos::read, Some(&RANGE)), &mut times) {
            (Some(time), Some(times)) => times.push(time),
            _ => times = None,
        },
    )?;
    times
}

/// A rate in hertz, which may have its unit.
pub fn rate(entry: &mut dyn Entry) -> Option<f64> {
    entry.rate()
}

/// A choice or a struct as it is written: `Periodic(hz: 30.0, phase: "0s")`; `Closed` where there are no fields.
pub fn call(name: &str, fields: &[(&'static str, String)]) -> String {
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    match (fields.is_empty(), name.is_empty()) {
        (true, false) => name.to_owned(),
        _ => format!("{name}({})", fields.join(", ")),
    }
}
