//! The declaration of fields.

/// Declares the fields of a struct, or the alternatives of a choice.
///
/// A field has its meaning as a comment, its type, its default, and its range if it has one: whether a value lies in it, and the range in words.
/// What follows a `:` or `;` in those words is the reason, which the documentation leaves out. `usually` is the default in words, where it follows
/// from other fields. `as rate` reads the field with [`field::rate`](crate::field::rate) in place of the type's own reader. `others` are fields of the
/// struct that nobody writes, or that are read elsewhere.
///
/// There are four forms:
///
/// ```ignore
/// // Every field has a default, so the struct has one. It is a value by itself: `trace: (duration: "2s")`, also with the name
/// // before the parentheses. Without the two texts it is none: its fields stand beside those of the struct that it is part of.
/// fields! {
///     /// The traced phases.
///     pub struct Trace: "Trace", "fields in parentheses, such as (duration: \"2s\")" {
///         /// Measured time of each.
///         pub duration: Nanos = Nanos::from_secs(2), if |time| *time > Nanos::ZERO => "above zero";
///     }
/// }
///
/// // Some fields are required, so there is no default. Lists of such values have two more texts: what one of them is called in
/// // messages, and what a list looks like.
/// fields! {
///     /// One scale of the network.
///     pub struct Level: no default, "Level", "(stride: 8)", list "a level", "a list of levels, such as [(stride: 8)]" {
///         /// Pixels of the input a cell.
///         pub stride: u32, required "stride: 8";
///     }
/// }
///
/// // A choice. `else` is the alternative that is meant where an override (`--set arrival.hz=30`) names a field and no
/// // alternative is written. `1` is how many fields, from the first, may be written without their name: `Poisson(30)`.
/// fields! {
///     /// When frames are due.
///     pub enum Arrival: "arrival", else "Closed" {
///         /// One after another.
///         Closed,
///         /// At a rate.
///         Poisson(1, "Poisson(hz: 30)") {
///             /// Releases a second.
///             hz: f64 as rate, required "hz: 30";
///         },
///     }
/// }
///
/// // An alternative whose fields are those of a struct, which it holds.
/// fields! {
///     /// How outputs are read.
///     pub enum Head: "head", else "Grid" {
///         /// By cells.
///         Grid[Grid, 0, "Grid(levels: [(stride: 8)])"],
///     }
/// }
/// ```
#[macro_export]
macro_rules! fields {
    (
        $(#[$($about:tt)*])*
        pub struct $name:ident $(: $called:literal, $expected:literal)? {
            $(others: {
                $($(#[$($other_about:tt)*])* pub $other:ident: $other_type:ty = $other_default:expr;)*
            })?
            $(
                $(#[$($field_about:tt)*])*
                pub $field:ident: $type:ty $(as $reader:ident)? = $default:expr
                    $(, usually $usually:literal)? $(, if $holds:expr => $wanted:literal)?;
            )*
        }
    ) => {
        $(#[$($about)*])*
        pub struct $name {
            $($($(#[$($other_about)*])* pub $other: $other_type,)*)?
            $($(#[$($field_about)*])* pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                $name {
                    $($($other: $other_default,)*)?
                    $($field: $default,)*
                }
            }
        }

        impl $name {
            /// Names of the fields that are declared here.
            pub const FIELDS: &'static [&'static str] = &[$(stringify!($field)),*];

            /// What is written, every default filled in.
            pub fn read_fields(entries: &mut dyn $crate::field::Entries) -> Option<Self> {
                let mut value = Self::default();
                value.fill(entries);
                Some(value)
            }

            /// Takes what is written; other fields stay as they are.
            pub fn fill(&mut self, entries: &mut dyn $crate::field::Entries) {
                $(
                    let read = $crate::fields!(@reader $type $(, $reader)?);
                    let range = $crate::fields!(@range $type $(, $holds, $wanted)?);
                    if let Some(value) = $crate::field::optional(entries, stringify!($field), read, range) {
                        self.$field = value;
                    }
                )*
            }

            /// Every field that is declared here, as it is written.
            pub fn texts(&self) -> Vec<(&'static str, String)> {
                vec![$((stringify!($field), $crate::field::Value::text(&self.$field))),*]
            }

            /// Every field that is declared here, for the documentation.
            pub fn doc_rows() -> Vec<$crate::field::DocRow> {
                let usual = Self::default();
                vec![$($crate::field::DocRow {
                    name: stringify!($field),
                    kind: <$type as $crate::field::Value>::kind(),
                    default: $crate::fields!(@usually $crate::field::Value::text(&usual.$field) $(, $usually)?),
                    range: $crate::fields!(@wanted $($wanted)?),
                    meaning: $crate::fields!(@meaning {} $([$($field_about)*])*),
                }),*]
            }
        }

        $(
            impl $crate::field::Value for $name {
                fn kind() -> String {
                    let fields = Self::doc_rows();
                    let fields: Vec<String> = fields.iter().map(|field| field.within_a_record()).collect();
                    format!("`({})`", fields.join(", "))
                }
                fn read(entry: &mut dyn $crate::field::Entry) -> Option<Self> {
                    let shape = $crate::field::Shape { name: $called, expected: $expected, fields: Self::FIELDS, noun: None };
                    let mut value = None;
                    entry.record(&shape, &mut |entries| value = Self::read_fields(entries))?;
                    value
                }
                fn text(&self) -> String {
                    $crate::field::call("", &self.texts())
                }
            }
        )?
    };

    (
        $(#[$($about:tt)*])*
        pub struct $name:ident: no default, $called:literal, $expected:literal $(, list $noun:literal, $list:literal)? {
            $(others: {
                $($(#[$($other_about:tt)*])* $other:ident: $other_type:ty = $other_default:expr;)*
            })?
            $(
                $(#[$($field_about:tt)*])*
                pub $field:ident: $type:ty $(as $reader:ident)? $(= $default:expr)? $(, required $required:literal)?
                    $(, if $holds:expr => $wanted:literal)?;
            )*
        }
    ) => {
        $(#[$($about)*])*
        pub struct $name {
            $($($(#[$($other_about)*])* $other: $other_type,)*)?
            $($(#[$($field_about)*])* pub $field: $type,)*
        }

        impl $name {
            /// Names of the fields.
            pub const FIELDS: &'static [&'static str] = &[$(stringify!($field)),*];

            /// Takes what is written; nothing where a field is wrong, or is required and not there.
            pub fn read_fields(entries: &mut dyn $crate::field::Entries) -> Option<Self> {
                // Every field is read before it is asked whether all are right: two mistakes are two problems.
                $(
                    let read = $crate::fields!(@reader $type $(, $reader)?);
                    let range = $crate::fields!(@range $type $(, $holds, $wanted)?);
                    let $field = $crate::fields!(@take entries, $field, read, range $(, default $default)? $(, required $required)?);
                )*
                Some($name {
                    $($($other: $other_default,)*)?
                    $($field: $field?),*
                })
            }

            /// Every field, as it is written.
            pub fn texts(&self) -> Vec<(&'static str, String)> {
                vec![$((stringify!($field), $crate::field::Value::text(&self.$field))),*]
            }
        }

        impl $crate::field::Value for $name {
            $(const LIST: &'static str = $list;)?

            fn kind() -> String {
                "fields".to_owned()
            }
            fn read(entry: &mut dyn $crate::field::Entry) -> Option<Self> {
                let shape = $crate::field::Shape { name: $called, expected: $expected, fields: Self::FIELDS, noun: $crate::fields!(@noun $($noun)?) };
                let mut value = None;
                entry.record(&shape, &mut |entries| value = Self::read_fields(entries))?;
                value
            }
            fn text(&self) -> String {
                $crate::field::call("", &self.texts())
            }
        }
    };

    (
        $(#[$($about:tt)*])*
        pub enum $name:ident: $what:literal, else $usual:literal {
            $(
                $(#[$($variant_about:tt)*])*
                $variant:ident $([$record:ty, $record_bare:literal, $record_example:literal])? $(($bare:literal, $example:literal) {
                    $(
                        $(#[$($field_about:tt)*])*
                        $field:ident: $type:ty $(as $reader:ident)? $(= $default:expr)? $(, required $required:literal)?
                            $(, if $holds:expr => $wanted:literal)?;
                    )*
                })?,
            )*
        }
    ) => {
        $(#[$($about)*])*
        pub enum $name {
            $(
                $(#[$($variant_about)*])*
                $variant $(($record))? $({ $($(#[$($field_about)*])* $field: $type,)* })?,
            )*
        }

        impl $name {
            /// What may be written.
            pub const CHOICES: $crate::field::Choices<'static> = $crate::field::Choices {
                what: $what,
                default: $usual,
                all: &[$($crate::fields!(@choice $variant $(, record $record, $record_bare, $record_example)? $(, $bare, $example, [$($field),*])?)),*],
            };

            /// Every alternative, for the documentation.
            pub fn doc_rows() -> Vec<$crate::field::DocChoice> {
                let choices = Self::CHOICES.all.iter();
                let meanings = [$($crate::fields!(@meaning {} $([$($variant_about)*])*)),*];
                let fields = [$(vec![$($($crate::field::DocRow {
                    name: stringify!($field),
                    kind: <$type as $crate::field::Value>::kind(),
                    default: $crate::fields!(@default $type $(, $default)?),
                    range: $crate::fields!(@wanted $($wanted)?),
                    meaning: $crate::fields!(@meaning {} $([$($field_about)*])*),
                }),*)?]),*];
                let all = choices.zip(meanings).zip(fields);
                all.map(|((choice, meaning), fields)| $crate::field::DocChoice { choice, fields, meaning }).collect()
            }
        }

        impl $crate::field::Value for $name {
            fn kind() -> String {
                "choice".to_owned()
            }
            fn read(entry: &mut dyn $crate::field::Entry) -> Option<Self> {
                let mut found = None;
                // Every field is read before it is asked whether all are right: two mistakes are two problems.
                entry.choice(&Self::CHOICES, &mut |name, entries| {
                    // Alternatives without fields do not look at it.
                    let _ = &entries;
                    $(
                        if name == stringify!($variant) {
                            $($(
                                let read = $crate::fields!(@reader $type $(, $reader)?);
                                let range = $crate::fields!(@range $type $(, $holds, $wanted)?);
                                let $field = $crate::fields!(@take entries, $field, read, range $(, default $default)? $(, required $required)?);
                            )*)?
                            $($(let Some($field) = $field else { return };)*)?
                            $(let Some(record) = <$record>::read_fields(entries) else { return };)?
                            found = Some($crate::fields!(@build $variant $(, record $record, record)? $(, { $($field),* })?));
                        }
                    )*
                })?;
                found
            }
            fn text(&self) -> String {
                match self {
                    $(
                        $crate::fields!(@build $variant $(, record $record, record)? $(, { $($field),* })?) => $crate::field::call(
                            stringify!($variant),
                            &$crate::fields!(@fields $(record $record, record)? $($($field),*)?),
                        ),
                    )*
                }
            }
        }
    };

    (@reader $type:ty) => { <$type as $crate::field::Value>::read };
    (@reader $type:ty, $reader:ident) => { $crate::field::$reader };

    (@range $type:ty) => { None };
    (@range $type:ty, $holds:expr, $wanted:literal) => {
        Some($crate::field::Range::<$type> { holds: $holds, wanted: $wanted })
    };

    (@take $written:ident, $field:ident, $read:ident, $range:ident, default $default:expr) => {
        Some($crate::field::optional($written, stringify!($field), $read, $range).unwrap_or($default))
    };
    (@take $written:ident, $field:ident, $read:ident, $range:ident, required $example:literal) => {
        $crate::field::required($written, stringify!($field), $example, $read, $range)
    };

    (@build $variant:ident) => { Self::$variant };
    (@build $variant:ident, record $type:ty, $record:ident) => { Self::$variant($record) };
    (@build $variant:ident, { $($field:ident),* }) => { Self::$variant { $($field),* } };

    (@fields record $type:ty, $record:ident) => { $record.texts() };
    (@fields $($field:ident),*) => {
        [$((stringify!($field), $crate::field::Value::text($field))),*] as [(&'static str, String); _]
    };

    (@choice $variant:ident) => { $crate::field::plain(stringify!($variant)) };
    (@choice $variant:ident, record $record:ty, $bare:literal, $example:literal) => {
        $crate::field::choice(stringify!($variant), <$record>::FIELDS, $bare, $example)
    };
    (@choice $variant:ident, $bare:literal, $example:literal, [$($field:ident),*]) => {
        $crate::field::choice(stringify!($variant), &[$(stringify!($field)),*], $bare, $example)
    };

    (@usually $default:expr) => { Some(format!("`{}`", $default)) };
    (@usually $default:expr, $usually:literal) => { Some($usually.to_owned()) };

    (@noun) => { None };
    (@noun $noun:literal) => { Some($noun) };

    (@wanted) => { None };
    (@wanted $wanted:literal) => { Some($wanted) };

    (@default $type:ty) => { None };
    (@default $type:ty, $default:expr) => {
        Some(format!("`{}`", <$type as $crate::field::Value>::text(&$default)))
    };

    // The lines of a comment, without other attributes.
    (@meaning {$($line:literal)*}) => { concat!($($line),*) };
    (@meaning {$($line:literal)*} [doc = $next:literal] $($rest:tt)*) => {
        $crate::fields!(@meaning {$($line)* $next} $($rest)*)
    };
    (@meaning {$($line:literal)*} [$($other:tt)*] $($rest:tt)*) => {
        $crate::fields!(@meaning {$($line)*} $($rest)*)
    };
}
