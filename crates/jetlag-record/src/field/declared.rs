//! The declaration of fields.

/// Declares the fields of a struct, or the alternatives of a choice.
///
/// Each field has its meaning as a comment, its type, its default (`usually` in words where it follows from others), and its range, if it has one: whether a
/// value lies in it, and the range in words.
/// `others` are fields of the struct that are not written as such.
///
/// A struct with a name and an example is a value itself; one without is part of another, whose fields stand beside its own.
///
/// ```ignore
/// declared! {
///     /// The traced phases.
///     #[derive(Clone, Debug)]
///     pub struct Trace: "Trace", "fields in parentheses, such as (duration: \"2s\")" {
///         /// Measured time of each.
///         pub duration: Nanos = Nanos::from_secs(2), if |time| *time > Nanos::ZERO => "above zero";
///     }
/// }
/// declared! {
///     /// When frames are due.
///     #[derive(Clone, Debug)]
///     pub enum Arrival: "arrival", else "Closed" {
///         /// One after another.
///         Closed,
///         /// At a rate; the first field may be written without its name.
///         Poisson(1, "Poisson(hz: 30)") {
///             /// Releases a second.
///             hz: f64 as rate, needed "hz: 30";
///         },
///     }
/// }
/// ```
#[macro_export]
macro_rules! declared {
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
            pub fn read_fields(written: &mut dyn $crate::field::Written) -> Option<Self> {
                let mut value = Self::default();
                value.fill(written);
                Some(value)
            }

            /// Takes what is written; other fields stay as they are.
            pub fn fill(&mut self, written: &mut dyn $crate::field::Written) {
                $(
                    let read = $crate::declared!(@reader $type $(, $reader)?);
                    let range = $crate::declared!(@range $type $(, $holds, $wanted)?);
                    if let Some(value) = $crate::field::given(written, stringify!($field), read, range) {
                        self.$field = value;
                    }
                )*
            }

            /// Every field that is declared here, as it is written.
            pub fn written_fields(&self) -> Vec<(&'static str, String)> {
                vec![$((stringify!($field), $crate::field::Value::written(&self.$field))),*]
            }

            /// Every field that is declared here, for the documentation.
            pub fn documented() -> Vec<$crate::field::Documented> {
                let usual = Self::default();
                vec![$($crate::field::Documented {
                    name: stringify!($field),
                    kind: <$type as $crate::field::Value>::kind(),
                    default: $crate::declared!(@usually $crate::field::Value::written(&usual.$field) $(, $usually)?),
                    range: $crate::declared!(@wanted $($wanted)?),
                    meaning: $crate::declared!(@meaning {} $([$($field_about)*])*),
                }),*]
            }
        }

        $(
            impl $crate::field::Value for $name {
                fn kind() -> String {
                    let fields = Self::documented();
                    let fields: Vec<String> = fields.iter().map(|field| field.within_a_record()).collect();
                    format!("`({})`", fields.join(", "))
                }
                fn read(source: &mut dyn $crate::field::Source) -> Option<Self> {
                    let about = $crate::field::Record { name: $called, expected: $expected, fields: Self::FIELDS };
                    let mut value = None;
                    source.record(&about, &mut |written| value = Self::read_fields(written))?;
                    value
                }
                fn written(&self) -> String {
                    $crate::field::call("", &self.written_fields())
                }
            }
        )?
    };

    (
        $(#[$($about:tt)*])*
        pub struct $name:ident: needed in $called:literal, $expected:literal $(, list $list:literal)? {
            $(kept: {
                $($(#[$($kept_about:tt)*])* $kept:ident: $kept_type:ty = $kept_default:expr;)*
            })?
            $(
                $(#[$($field_about:tt)*])*
                pub $field:ident: $type:ty $(as $reader:ident)? $(= $default:expr)? $(, needed $needed:literal)?
                    $(, if $holds:expr => $wanted:literal)?;
            )*
        }
    ) => {
        $(#[$($about)*])*
        pub struct $name {
            $($($(#[$($kept_about)*])* $kept: $kept_type,)*)?
            $($(#[$($field_about)*])* pub $field: $type,)*
        }

        impl $name {
            /// Names of the fields.
            pub const FIELDS: &'static [&'static str] = &[$(stringify!($field)),*];

            /// Takes what is written; nothing where a field is wrong, or is needed and not there.
            pub fn read_fields(written: &mut dyn $crate::field::Written) -> Option<Self> {
                // Every field is read before it is asked whether all are right: two mistakes are two problems.
                $(
                    let read = $crate::declared!(@reader $type $(, $reader)?);
                    let range = $crate::declared!(@range $type $(, $holds, $wanted)?);
                    let $field = $crate::declared!(@take written, $field, read, range $(, default $default)? $(, needed $needed)?);
                )*
                Some($name {
                    $($($kept: $kept_default,)*)?
                    $($field: $field?),*
                })
            }

            /// Every field, as it is written.
            pub fn written_fields(&self) -> Vec<(&'static str, String)> {
                vec![$((stringify!($field), $crate::field::Value::written(&self.$field))),*]
            }
        }

        impl $crate::field::Value for $name {
            $(const LIST: &'static str = $list;)?

            fn kind() -> String {
                "fields".to_owned()
            }
            fn read(source: &mut dyn $crate::field::Source) -> Option<Self> {
                let about = $crate::field::Record { name: $called, expected: $expected, fields: Self::FIELDS };
                let mut value = None;
                source.record(&about, &mut |written| value = Self::read_fields(written))?;
                value
            }
            fn written(&self) -> String {
                $crate::field::call("", &self.written_fields())
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
                        $field:ident: $type:ty $(as $reader:ident)? $(= $default:expr)? $(, needed $needed:literal)?
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
                all: &[$($crate::declared!(@choice $variant $(, record $record, $record_bare, $record_example)? $(, $bare, $example, [$($field),*])?)),*],
            };

            /// Every alternative, for the documentation.
            pub fn documented() -> Vec<$crate::field::DocumentedChoice> {
                let choices = Self::CHOICES.all.iter();
                let meanings = [$($crate::declared!(@meaning {} $([$($variant_about)*])*)),*];
                let fields = [$(vec![$($($crate::field::Documented {
                    name: stringify!($field),
                    kind: <$type as $crate::field::Value>::kind(),
                    default: $crate::declared!(@default $type $(, $default)?),
                    range: $crate::declared!(@wanted $($wanted)?),
                    meaning: $crate::declared!(@meaning {} $([$($field_about)*])*),
                }),*)?]),*];
                let all = choices.zip(meanings).zip(fields);
                all.map(|((choice, meaning), fields)| $crate::field::DocumentedChoice { choice, fields, meaning }).collect()
            }
        }

        impl $crate::field::Value for $name {
            fn kind() -> String {
                "choice".to_owned()
            }
            fn read(source: &mut dyn $crate::field::Source) -> Option<Self> {
                let mut found = None;
                // Every field is read before it is asked whether all are right: two mistakes are two problems.
                source.choice(&Self::CHOICES, &mut |name, _written| {
                    $(
                        if name == stringify!($variant) {
                            $($(
                                let read = $crate::declared!(@reader $type $(, $reader)?);
                                let range = $crate::declared!(@range $type $(, $holds, $wanted)?);
                                let $field = $crate::declared!(@take _written, $field, read, range $(, default $default)? $(, needed $needed)?);
                            )*)?
                            $($(let Some($field) = $field else { return };)*)?
                            $(let Some(record) = <$record>::read_fields(_written) else { return };)?
                            found = Some($crate::declared!(@build $variant $(, record $record, record)? $(, { $($field),* })?));
                        }
                    )*
                })?;
                found
            }
            fn written(&self) -> String {
                match self {
                    $(
                        $crate::declared!(@build $variant $(, record $record, record)? $(, { $($field),* })?) => $crate::field::call(
                            stringify!($variant),
                            &$crate::declared!(@fields $(record $record, record)? $($($field),*)?),
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
        Some($crate::field::given($written, stringify!($field), $read, $range).unwrap_or($default))
    };
    (@take $written:ident, $field:ident, $read:ident, $range:ident, needed $example:literal) => {
        $crate::field::needed($written, stringify!($field), $example, $read, $range)
    };

    (@build $variant:ident) => { Self::$variant };
    (@build $variant:ident, record $type:ty, $record:ident) => { Self::$variant($record) };
    (@build $variant:ident, { $($field:ident),* }) => { Self::$variant { $($field),* } };

    (@fields record $type:ty, $record:ident) => { $record.written_fields() };
    (@fields $($field:ident),*) => {
        [$((stringify!($field), $crate::field::Value::written($field))),*] as [(&'static str, String); _]
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

    (@wanted) => { None };
    (@wanted $wanted:literal) => { Some($wanted) };

    (@default $type:ty) => { None };
    (@default $type:ty, $default:expr) => {
        Some(format!("`{}`", <$type as $crate::field::Value>::written(&$default)))
    };

    // The lines of a comment, without other attributes.
    (@meaning {$($line:literal)*}) => { concat!($($line),*) };
    (@meaning {$($line:literal)*} [doc = $next:literal] $($rest:tt)*) => {
        $crate::declared!(@meaning {$($line)* $next} $($rest)*)
    };
    (@meaning {$($line:literal)*} [$($other:tt)*] $($rest:tt)*) => {
        $crate::declared!(@meaning {$($line)*} $($rest)*)
    };
}
