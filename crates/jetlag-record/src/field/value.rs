//! The kinds of values that a field may have.

use super::Entry;
use crate::units::Nanos;

/// A value that a field may have.
pub trait Value: Sized {
    /// What a list of such values looks like, for messages.
    const LIST: &'static str = "a list";

    /// What may be written, in words.
    fn kind() -> String;
    /// Reads it; nothing where it is wrong, which has been reported then.
    fn read(entry: &mut dyn Entry) -> Option<Self>;
    /// As it is written in a scenario.
    fn text(&self) -> String;
    /// As messages show it.
    fn shown(&self) -> String {
        self.text()
    }
}

impl Value for bool {
    fn kind() -> String {
        "flag".to_owned()
    }
    fn read(entry: &mut dyn Entry) -> Option<Self> {
        entry.flag()
    }
    fn text(&self) -> String {
        self.to_string()
    }
}

impl Value for String {
    const LIST: &'static str = "a list of texts, such as [\"one\", \"two\"]";

    fn kind() -> String {
        "text".to_owned()
    }
    fn read(entry: &mut dyn Entry) -> Option<Self> {
        entry.text()
    }
    /// RON's strings are written as Rust's are.
    fn text(&self) -> String {
        format!("{self:?}")
    }
}

impl Value for Nanos {
    const LIST: &'static str = "a list of durations, such as [\"5ms\", \"6ms\"]";

    fn kind() -> String {
        "duration".to_owned()
    }
    fn read(entry: &mut dyn Entry) -> Option<Self> {
        entry.duration()
    }
    /// In the largest unit that has no fraction.
    fn text(&self) -> String {
        const UNITS: [(i64, &str); 3] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
        match UNITS.iter().find(|(size, _)| self.0 % size == 0) {
            Some((size, unit)) => format!("\"{}{unit}\"", self.0 / size),
            None => format!("\"{}ns\"", self.0),
        }
    }
    fn shown(&self) -> String {
        self.to_string()
    }
}

impl Value for f64 {
    const LIST: &'static str = "a list of numbers, such as [0.0, 1.5]";

    fn kind() -> String {
        "number".to_owned()
    }
    fn read(entry: &mut dyn Entry) -> Option<Self> {
        entry.number()
    }
    /// With a point, so that it is read as the number that it is.
    fn text(&self) -> String {
        format!("{self:?}")
    }
    fn shown(&self) -> String {
        self.to_string()
    }
}

impl Value for f32 {
    fn kind() -> String {
        f64::kind()
    }
    fn read(entry: &mut dyn Entry) -> Option<Self> {
        entry.single()
    }
    fn text(&self) -> String {
        format!("{self:?}")
    }
    fn shown(&self) -> String {
        self.to_string()
    }
}

/// So many numbers, in parentheses or brackets.
impl<T: Value, const N: usize> Value for [T; N] {
    const LIST: &'static str = "a list of numbers in brackets, such as [[10, 13], [16, 30]]";

    fn kind() -> String {
        format!("{N} numbers")
    }
    fn read(entry: &mut dyn Entry) -> Option<Self> {
        let mut values = Vec::new();
        entry.numbers(N, &mut |entry| values.extend(T::read(entry)))?;
        values.try_into().ok()
    }
    fn text(&self) -> String {
        let values: Vec<String> = self.iter().map(T::text).collect();
        format!("({})", values.join(", "))
    }
}

macro_rules! tuples {
    ($($of:ty: $type:ty;)*) => { $(impl Value for $type {
        fn kind() -> String {
            <$of>::kind()
        }
        fn read(entry: &mut dyn Entry) -> Option<Self> {
            <$of>::read(entry).map(Into::into)
        }
        fn text(&self) -> String {
            <$of>::from(*self).text()
        }
    })* };
}
tuples! {
    [f64; 2]: (f64, f64);
    [f64; 3]: (f64, f64, f64);
}

macro_rules! whole_numbers {
    ($($type:ty),*) => { $(impl Value for $type {
        const LIST: &'static str = "a list of whole numbers, such as [0, 1]";

        fn kind() -> String {
            match i128::from(<$type>::MIN) < 0 {
                true => "whole number, may be negative".to_owned(),
                false => "whole number".to_owned(),
            }
        }
        fn read(entry: &mut dyn Entry) -> Option<Self> {
            let held = i128::from(<$type>::MIN)..=i128::from(<$type>::MAX);
            entry.whole(held).and_then(|value| value.try_into().ok())
        }
        fn text(&self) -> String {
            self.to_string()
        }
    })* };
}
whole_numbers!(i32, u8, u16, u32, u64);

impl Value for usize {
    const LIST: &'static str = u64::LIST;

    fn kind() -> String {
        u64::kind()
    }
    fn read(entry: &mut dyn Entry) -> Option<Self> {
        u64::read(entry).and_then(|value| value.try_into().ok())
    }
    fn text(&self) -> String {
        self.to_string()
    }
}

/// `None` is written as such, and read as if nothing were written.
impl<T: Value> Value for Option<T> {
    fn kind() -> String {
        T::kind()
    }
    fn read(entry: &mut dyn Entry) -> Option<Self> {
        T::read(entry).map(Some)
    }
    fn text(&self) -> String {
        self.as_ref().map_or_else(|| "None".to_owned(), T::text)
    }
    fn shown(&self) -> String {
        self.as_ref().map_or_else(|| "None".to_owned(), T::shown)
    }
}

impl<T: Value> Value for Vec<T> {
    fn kind() -> String {
        match T::kind() {
            kind if kind.contains('`') => "[choice, …]".to_owned(),
            kind => format!("[{kind}, …]"),
        }
    }
    fn read(entry: &mut dyn Entry) -> Option<Self> {
        let mut values = Some(Vec::new());
        entry.list(T::LIST, &mut |entry| match (T::read(entry), &mut values) {
            (Some(value), Some(values)) => values.push(value),
            // The list as a whole is wrong then, and the rest is still read for its own mistakes.
            _ => values = None,
        })?;
        values
    }
    fn text(&self) -> String {
        let values: Vec<String> = self.iter().map(T::text).collect();
        format!("[{}]", values.join(", "))
    }
    fn shown(&self) -> String {
        match self.is_empty() {
            true => "an empty list".to_owned(),
            false => self.text(),
        }
    }
}

/// Enums of plain words, each with its field in words and, if there are lists of them, what one looks like.
#[macro_export]
macro_rules! words {
    ($($type:ty: $what:literal $(, $list:literal)?;)*) => { $(
        impl $crate::field::Value for $type {
            $(const LIST: &'static str = $list;)?

            fn kind() -> String {
                let words = $crate::field::words::<$type>();
                match words.len() {
                    ..=4 => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
                    _ => "choice".to_owned(),
                }
            }
            fn read(entry: &mut dyn $crate::field::Entry) -> Option<Self> {
                let found = entry.word($what, $crate::field::words::<$type>())?;
                $crate::field::word(found)
            }
            fn text(&self) -> String {
                format!("{self:?}")
            }
        }
    )* };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_exact_in_the_largest_unit() {
        for (time, written) in [
            (0, "\"0s\""),
            (90_000_000_000, "\"90s\""),
            (1_500_000_000, "\"1500ms\""),
            (1_001, "\"1001ns\""),
            (25_000, "\"25us\""),
        ] {
            assert_eq!(Nanos(time).text(), written);
        }
    }
}
