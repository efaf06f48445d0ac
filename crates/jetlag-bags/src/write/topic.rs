//! What is said of a topic when it begins.

use super::schema;
use crate::definition::Definition;

/// A topic whose messages are written as they are: see [`BagWriter::describe`](super::BagWriter::describe).
#[derive(Clone, Copy, Debug)]
pub struct RawTopic<'a> {
    /// Its name.
    pub name: &'a str,
    /// The type of its messages.
    pub kind: &'a str,
    /// How they are serialised: `cdr`.
    pub serialization: &'a str,
    /// What they are; without it, what is known of the type here.
    pub definition: Option<&'a Definition>,
    /// `offered_qos_profiles`, as YAML; may be empty.
    pub qos: &'a str,
}

/// As it is stored.
pub(super) struct Described<'a> {
    pub(super) name: &'a str,
    pub(super) kind: &'a str,
    pub(super) serialization: &'a str,
    /// The language, and the text.
    pub(super) definition: (&'a str, &'a [u8]),
    pub(super) qos: &'a str,
}

impl RawTopic<'_> {
    /// Calls with what is stored; a type that is not known anywhere has an empty definition.
    pub(super) fn described<T>(&self, then: impl FnOnce(&Described<'_>) -> T) -> T {
        let known;
        let definition = match self.definition {
            Some(definition) => (definition.encoding.as_str(), definition.text.as_slice()),
            None => {
                known = schema::text(self.kind);
                ("ros2msg", known.as_bytes())
            }
        };
        then(&Described {
            name: self.name,
            kind: self.kind,
            serialization: self.serialization,
            definition,
            qos: self.qos,
        })
    }
}
