//! How a table of figures is written: each line has a figure's name, its unit, which way it is better, what it is, and where the summary has it.

use jetlag_figure::Unit;

/// Which way a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Times, energies, misses.
    Less,
    /// Rates, frames a joule.
    More,
    /// A fact that is neither good nor bad.
    Neither,
}

/// What a table says of one of its figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its part of the key's name.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Which way it is better.
    pub better: Better,
    /// What it is, in a line.
    pub doc: &'static str,
    /// The table of a report that shows it of each tenant, and the head of its column.
    pub shown: Option<(Shown, &'static str)>,
}

/// A table of a report whose columns are figures of tenants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// What became of the frames.
    Frames,
    /// What memory they took.
    Memory,
}

/// Words of a key with their meanings.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($variant:ident $word:literal $doc:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $(#[doc = $doc] $variant,)* }

        impl $name {
            /// All of them, in the order of tables.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// Its part of a key's name.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }

            /// What it is.
            pub const fn doc(self) -> &'static str {
                match self { $($name::$variant => $doc,)* }
            }

            /// The one of this name.
            pub fn named(name: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|known| known.name() == name)
            }
        }
    };
}

/// Words that are figures: with a unit, and a way to be better; those `of` a part of the summary with where it has them.
macro_rules! figures {
    ($(#[$about:meta])* $name:ident of $part:ty {
        $($variant:ident $word:literal $unit:ident $better:ident $doc:literal $(in $shown:ident $head:literal)?
            |$of:ident| $read:expr,)*
    }) => {
        figures! { $(#[$about])* $name { $($variant $word $unit $better $doc $(in $shown $head)?,)* } }

        impl $name {
            /// What a part of a summary has of it.
            pub(crate) fn read(self, of: &$part) -> Reading {
                match self {
                    $($name::$variant => {
                        let $of = of;
                        $read
                    })*
                }
            }
        }
    };
    ($(#[$about:meta])* $name:ident {
        $($variant:ident $word:literal $unit:ident $better:ident $doc:literal $(in $shown:ident $head:literal)?,)*
    }) => {
        words! { $(#[$about])* $name { $($variant $word $doc,)* } }

        impl $name {
            /// Its line of the table.
            pub const fn entry(self) -> Entry {
                match self {
                    $($name::$variant => Entry {
                        name: $word,
                        unit: Unit::$unit,
                        better: Better::$better,
                        doc: $doc,
                        shown: shown!($($shown $head)?),
                    },)*
                }
            }
        }
    };
}

macro_rules! shown {
    () => {
        None
    };
    ($shown:ident $head:literal) => {
        Some((Shown::$shown, $head))
    };
}

pub(super) use {figures, shown, words};
