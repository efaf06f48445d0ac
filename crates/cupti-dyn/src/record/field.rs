//! How a field is taken out of a record's bytes, and the macro that makes a type of a list of fields.

use std::sync::Arc;

use crate::text::Texts;

/// The bytes of a record, and what is noted while they are read.
pub(super) struct Reader<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) texts: &'a mut dyn Texts,
    /// Enum values that have no name here.
    pub(super) unknown_values: u64,
}

/// A text of a record; none where the record has none.
pub(super) type Text = Option<Arc<str>>;
/// A device's number for life.
pub(super) type Uuid = [u8; 16];

/// What a field may be.
pub(super) trait Field: Sized {
    /// Its length in a record.
    const WIDTH: usize;

    /// Takes it from exactly so many bytes.
    fn from_bytes(bytes: &[u8], texts: &mut dyn Texts) -> Option<Self>;
}

macro_rules! plain {
    ($($type:ty)*) => {$(
        impl Field for $type {
            const WIDTH: usize = size_of::<Self>();

            fn from_bytes(bytes: &[u8], _: &mut dyn Texts) -> Option<Self> {
                bytes.first_chunk().map(|bytes| Self::from_ne_bytes(*bytes))
            }
        }
    )*};
}

plain!(u8 u16 u32 u64 i32 i64);

impl Field for Uuid {
    const WIDTH: usize = 16;

    fn from_bytes(bytes: &[u8], _: &mut dyn Texts) -> Option<Self> {
        bytes.first_chunk().copied()
    }
}

impl Field for Text {
    const WIDTH: usize = size_of::<u64>();

    fn from_bytes(bytes: &[u8], texts: &mut dyn Texts) -> Option<Self> {
        u64::from_bytes(bytes, texts).map(|address| texts.text(address))
    }
}

impl Reader<'_> {
    /// The field at this offset; none where the record ends before it does.
    pub(super) fn take<T: Field>(&mut self, offset: usize) -> Option<T> {
        let bytes = self.bytes.get(offset..)?.get(..T::WIDTH)?;
        T::from_bytes(bytes, self.texts)
    }
}

/// A type's field: an `Option` where a record has it only from a length on.
macro_rules! field_type {
    ($type:ident) => { $type };
    ($type:ident from $from:literal) => { Option<$type> };
}

/// The width of a field.
macro_rules! field_width {
    ($type:ident) => {
        <$type as $crate::record::field::Field>::WIDTH
    };
    ($type:ident $raw:ident) => {
        <$raw as $crate::record::field::Field>::WIDTH
    };
}

/// Takes a plain value, or an enum value that is stored as another type.
macro_rules! field_value {
    ($reader:ident, $offset:literal, $type:ident) => {
        $reader.take::<$type>($offset)
    };
    ($reader:ident, $offset:literal, $type:ident $raw:ident) => {
        $reader.take::<$raw>($offset).map(|raw| {
            let value = $type(raw.into());
            $reader.unknown_values += u64::from(value.words().is_none());
            value
        })
    };
}

/// Unwraps a field that every release has; leaves one that came later as it is.
macro_rules! field_if {
    ($reader:ident, $value:expr) => {
        $value?
    };
    ($reader:ident, $value:expr, $from:literal) => {
        if $reader.bytes.len() >= $from {
            $value
        } else {
            None
        }
    };
}

/// The shortest record that has a field.
macro_rules! field_from {
    ($end:expr) => {
        $end
    };
    ($end:expr, $from:literal) => {
        $from
    };
}

/// Types with their fields, each `name: type = "the header's name" @ offset`, and `from` the length of the shortest record
/// that has it where that is not every one. `Type(raw)` is an enum value that is stored as `raw`.
macro_rules! records {
    ($($(#[$doc:meta])* $record:ident of $kind:ident {
        $($(#[$field_doc:meta])* $field:ident: $type:ident $(($raw:ident))? = $name:literal @ $offset:literal
            $(from $from:literal)?;)*
    })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug, Default, PartialEq)]
            pub struct $record {
                $($(#[$field_doc])* pub $field: field_type!($type $(from $from)?),)*
            }

            impl $record {
                const FIELDS: &'static [$crate::sys::FieldRow] = &[$($crate::sys::FieldRow {
                    kind: $crate::sys::Kind::$kind,
                    name: $name,
                    offset: $offset,
                    width: field_width!($type $($raw)?),
                    from: field_from!($offset + field_width!($type $($raw)?) $(, $from)?),
                },)*];

                /// Reads a record; none where it is shorter than every release has it.
                pub(super) fn read(reader: &mut $crate::record::field::Reader<'_>) -> Option<Self> {
                    Some(Self {
                        $($field: field_if!(reader, field_value!(reader, $offset, $type $($raw)?) $(, $from)?),)*
                    })
                }
            }
        )*

        pub(super) static FIELDS: &[&[$crate::sys::FieldRow]] = &[$($record::FIELDS,)*];
    };
}

pub(super) use {field_from, field_if, field_type, field_value, field_width, records};
