//! The fields of a row as they were found. A field of the wrong kind is no error of JSON: who needs it says so, with its name.

use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

use super::token::{Token, shortened};
use crate::table_error::{FieldProblem, TableError};

/// A field of a row.
#[derive(Debug, Default)]
pub(super) enum Field<T> {
    /// Not there, or `null`.
    #[default]
    Absent,
    /// As it must be.
    Here(T),
    /// Something else, in words.
    Other(String),
}

/// A field that is not as it must be; the reader of the table adds table and row.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) field: &'static str,
    pub(super) problem: FieldProblem,
}

impl Wrong {
    /// With table and row, the row's number from 0.
    pub(super) fn in_row(self, path: &Path, row: usize) -> TableError {
        TableError::Field {
            path: path.to_owned(),
            row: row + 1,
            field: self.field,
            problem: self.problem,
        }
    }
}

impl<T: Meaning> Field<T> {
    /// The value, which a row must have.
    pub(super) fn needed(self, field: &'static str) -> Result<T, Wrong> {
        self.optional(field)?.ok_or(Wrong {
            field,
            problem: FieldProblem::Absent { wanted: T::WANTED },
        })
    }

    /// The value, which a row may lack.
    pub(super) fn optional(self, field: &'static str) -> Result<Option<T>, Wrong> {
        match self {
            Field::Here(value) => Ok(Some(value)),
            Field::Absent => Ok(None),
            Field::Other(found) => Err(Wrong {
                field,
                problem: FieldProblem::Wanted {
                    wanted: T::WANTED,
                    found,
                },
            }),
        }
    }
}

/// What a value of JSON may be taken for.
pub(super) trait Meaning: Sized {
    /// In words, for errors.
    const WANTED: &'static str;
    fn of_text(_: &str) -> Option<Self> {
        None
    }
    fn of_whole(whole: i64) -> Option<Self> {
        Self::of_real(whole as f64)
    }
    fn of_real(_: f64) -> Option<Self> {
        None
    }
    fn of_flag(_: bool) -> Option<Self> {
        None
    }
    fn of_list(_: &List) -> Option<Self> {
        None
    }
}

/// Numbers in a list, or in a list of lists, as far as they count for anything: 16 are a 4×4 matrix.
#[derive(Default)]
pub(super) struct List {
    values: [f64; 16],
    /// Numbers that were there.
    count: usize,
    /// Lists within the list.
    rows: usize,
    /// Something else than numbers, or both kinds mixed.
    other: bool,
}

impl List {
    /// So many numbers in a row.
    pub(super) fn row<const N: usize>(&self) -> Option<[f64; N]> {
        (self.rows == 0).then(|| self.exactly()).flatten()
    }

    /// Three rows of three.
    pub(super) fn square(&self) -> Option<[[f64; 3]; 3]> {
        let v: [f64; 9] = (self.rows == 3).then(|| self.exactly()).flatten()?;
        Some([[v[0], v[1], v[2]], [v[3], v[4], v[5]], [v[6], v[7], v[8]]])
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0 && self.rows == 0 && !self.other
    }

    fn exactly<const N: usize>(&self) -> Option<[f64; N]> {
        (self.count == N && !self.other).then(|| std::array::from_fn(|i| self.values[i]))
    }

    fn push(&mut self, value: f64) {
        if let Some(place) = self.values.get_mut(self.count) {
            *place = value;
        }
        self.count += 1;
    }

    fn described(&self) -> String {
        match (self.other, self.rows) {
            (true, _) => "a list of other things than numbers".to_owned(),
            (false, 0) => format!("a list of {} numbers", self.count),
            (false, rows) => format!("{rows} lists of {} numbers in all", self.count),
        }
    }
}

impl<'de, T: Meaning> Deserialize<'de> for Field<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any::<T>(PhantomData))
    }
}

struct Any<T>(PhantomData<T>);

impl<'de, T: Meaning> Visitor<'de> for Any<T> {
    type Value = Field<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::WANTED)
    }
    fn visit_unit<E: de::Error>(self) -> Result<Field<T>, E> {
        Ok(Field::Absent)
    }
    fn visit_bool<E: de::Error>(self, flag: bool) -> Result<Field<T>, E> {
        Ok(T::of_flag(flag).map_or_else(|| Field::Other(flag.to_string()), Field::Here))
    }
    fn visit_i64<E: de::Error>(self, whole: i64) -> Result<Field<T>, E> {
        Ok(T::of_whole(whole).map_or_else(|| Field::Other(whole.to_string()), Field::Here))
    }
    fn visit_u64<E: de::Error>(self, whole: u64) -> Result<Field<T>, E> {
        match i64::try_from(whole) {
            Ok(whole) => self.visit_i64(whole),
            Err(_) => Ok(Field::Other(whole.to_string())),
        }
    }
    fn visit_f64<E: de::Error>(self, real: f64) -> Result<Field<T>, E> {
        Ok(T::of_real(real).map_or_else(|| Field::Other(real.to_string()), Field::Here))
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Field<T>, E> {
        Ok(T::of_text(text).map_or_else(|| Field::Other(quoted(text)), Field::Here))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Field<T>, A::Error> {
        let mut list = List::default();
        while items
            .next_element_seed(Item {
                list: &mut list,
                within: false,
            })?
            .is_some()
        {}
        Ok(T::of_list(&list).map_or_else(|| Field::Other(list.described()), Field::Here))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Field<T>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Field::Other("an object".to_owned()))
    }
}

fn quoted(text: &str) -> String {
    match text {
        "" => "an empty text".to_owned(),
        text => format!("the text `{}`", shortened(text)),
    }
}

/// An element of a list of numbers, or of one of its rows.
struct Item<'a> {
    list: &'a mut List,
    within: bool,
}

impl<'de> DeserializeSeed<'de> for Item<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Item<'_> {
    fn number<E>(self, value: f64) -> Result<(), E> {
        self.list.other |= !self.within && self.list.rows > 0;
        self.list.push(value);
        Ok(())
    }
    fn other<E>(self) -> Result<(), E> {
        self.list.other = true;
        Ok(())
    }
}

impl<'de> Visitor<'de> for Item<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }
    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        self.other()
    }
    fn visit_bool<E: de::Error>(self, _: bool) -> Result<(), E> {
        self.other()
    }
    fn visit_i64<E: de::Error>(self, whole: i64) -> Result<(), E> {
        self.number(whole as f64)
    }
    fn visit_u64<E: de::Error>(self, whole: u64) -> Result<(), E> {
        self.number(whole as f64)
    }
    fn visit_f64<E: de::Error>(self, real: f64) -> Result<(), E> {
        self.number(real)
    }
    fn visit_str<E: de::Error>(self, _: &str) -> Result<(), E> {
        self.other()
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        if self.within {
            while items.next_element::<IgnoredAny>()?.is_some() {}
            return self.other();
        }
        let list = self.list;
        list.other |= list.rows == 0 && list.count > 0;
        list.rows += 1;
        let before = list.count;
        while items
            .next_element_seed(Item {
                list: &mut *list,
                within: true,
            })?
            .is_some()
        {}
        // Rows of different lengths are no matrix.
        list.other |= (list.count - before).saturating_mul(list.rows) != list.count;
        Ok(())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        self.other()
    }
}

impl Meaning for Token {
    const WANTED: &'static str = "a token";
    fn of_text(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Token::new(text))
    }
    fn of_whole(whole: i64) -> Option<Self> {
        Some(Token::new(&whole.to_string()))
    }
}

impl Meaning for String {
    const WANTED: &'static str = "a text";
    fn of_text(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| text.to_owned())
    }
}

impl Meaning for bool {
    const WANTED: &'static str = "true or false";
    fn of_flag(flag: bool) -> Option<Self> {
        Some(flag)
    }
    fn of_whole(whole: i64) -> Option<Self> {
        matches!(whole, 0 | 1).then_some(whole == 1)
    }
}
