//! Fields as they are declared ([`fields!`](crate::record::fields)), read from values at their places.

use std::ops::RangeInclusive;

use super::super::problems::ProblemKind;
use super::super::tree::{Kind, Node};
use super::{Choices, Fields, Reader};
use crate::record::field::{Entries, Entry, Shape, Value};
use crate::units::Nanos;

impl Reader {
    /// A value of a declared type; `owner` as in "tenant `camera`", for messages.
    pub(crate) fn value<T: Value>(&mut self, node: &Node, field: &str, owner: &str) -> Option<T> {
        T::read(&mut At {
            reader: self,
            node,
            field,
            owner,
        })
    }

    /// The fields of a struct as its declaration takes them; `owner` as in "tenant `camera`", or empty.
    pub(crate) fn entries<'a, 'n>(
        &'a mut self,
        fields: &'a Fields<'n>,
        owner: &'a str,
    ) -> FieldEntries<'a, 'n> {
        FieldEntries {
            reader: self,
            fields,
            owner,
        }
    }
}

/// The fields of a struct at their places.
pub(crate) struct FieldEntries<'a, 'n> {
    reader: &'a mut Reader,
    fields: &'a Fields<'n>,
    owner: &'a str,
}

impl Entries for FieldEntries<'_, '_> {
    fn field(&mut self, name: &'static str, read: &mut dyn FnMut(&mut dyn Entry)) {
        if let Some(node) = self.fields.get(name) {
            read(&mut At {
                reader: self.reader,
                node,
                field: name,
                owner: self.owner,
            });
        }
    }

    fn required(&mut self, name: &'static str, example: &'static str, read: &mut dyn FnMut(&mut dyn Entry)) {
        if self.fields.get(name).is_some() {
            return self.field(name, read);
        }
        let kind = ProblemKind::Missing {
            field: name,
            owner: self.fields.owner.clone(),
            example: example.to_owned(),
        };
        self.reader.report(&self.fields.place, kind);
    }
}

/// One value at its place.
struct At<'a> {
    reader: &'a mut Reader,
    node: &'a Node,
    field: &'a str,
    /// Whose field it is, for messages; empty for the scenario itself.
    owner: &'a str,
}

impl At<'_> {
    /// Whose the fields of this value are: its own owner's, or this field's.
    fn owner_within(&self) -> String {
        match self.owner.is_empty() {
            true => format!("`{}`", self.field),
            false => self.owner.to_owned(),
        }
    }
}

impl Entry for At<'_> {
    fn flag(&mut self) -> Option<bool> {
        self.reader.flag(self.node, self.field)
    }

    fn text(&mut self) -> Option<String> {
        self.reader.text(self.node, self.field)
    }

    fn duration(&mut self) -> Option<Nanos> {
        self.reader.duration(self.node, self.field)
    }

    fn rate(&mut self) -> Option<f64> {
        self.reader.rate(self.node, self.field)
    }

    fn number(&mut self) -> Option<f64> {
        self.reader.number(self.node, self.field)
    }

    fn single(&mut self) -> Option<f32> {
        self.reader.number(self.node, self.field)
    }

    fn numbers(&mut self, count: usize, each: &mut dyn FnMut(&mut dyn Entry)) -> Option<()> {
        let (field, owner) = (self.field, self.owner);
        let items = self.reader.so_many(self.node, field, count)?;
        for node in items {
            each(&mut At {
                reader: self.reader,
                node,
                field,
                owner,
            });
        }
        Some(())
    }

    fn whole(&mut self, held: RangeInclusive<i128>) -> Option<i128> {
        let takes_negative = *held.start() < 0;
        let fit = |value| held.contains(&value).then_some(value);
        self.reader.whole_as(self.node, self.field, takes_negative, fit)
    }

    fn is_number(&self) -> bool {
        matches!(self.node.kind, Kind::Number(_))
    }

    fn word(&mut self, what: &'static str, words: &'static [&'static str]) -> Option<&'static str> {
        self.reader.one_word(self.node, what, words)
    }

    fn list(&mut self, expected: &'static str, each: &mut dyn FnMut(&mut dyn Entry)) -> Option<()> {
        let owner = self.owner;
        self.reader
            .list(self.node, self.field, expected, |reader, node, field| {
                each(&mut At {
                    reader,
                    node,
                    field,
                    owner,
                });
                Some(())
            })?;
        Some(())
    }

    fn record(&mut self, shape: &Shape, read: &mut dyn FnMut(&mut dyn Entries)) -> Option<()> {
        let itself = shape.noun.unwrap_or(self.field);
        let fields = self
            .reader
            .record(self.node, itself, shape.name, shape.expected, shape.fields)?;
        let owner = self.owner_within();
        read(&mut self.reader.entries(&fields, &owner));
        Some(())
    }

    fn choice(
        &mut self,
        choices: &Choices<'_>,
        read: &mut dyn FnMut(&'static str, &mut dyn Entries),
    ) -> Option<()> {
        let (name, fields) = self.reader.choice(self.node, choices)?;
        let owner = self.owner_within();
        read(name, &mut self.reader.entries(&fields, &owner));
        Some(())
    }

    fn out_of_range(&mut self, found: String, wanted: &str) {
        let kind = ProblemKind::OutOfRange {
            what: match self.owner.is_empty() {
                true => format!("`{}`", self.field),
                false => format!("`{}` of {}", self.field, self.owner),
            },
            found,
            wanted: wanted.to_owned(),
        };
        self.reader.report(&self.node.place, kind);
    }
}
