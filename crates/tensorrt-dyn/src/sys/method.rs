//! One virtual method: its name, its C++ type as a Rust function pointer, and its slot in each era.

use std::ffi::c_void;
use std::marker::PhantomData;

use crate::version::{Era, Version};

/// The hidden first argument of every method.
pub type This = *mut c_void;
/// A `cudaStream_t` (the driver's `CUstream`).
pub type Stream = *mut c_void;
/// A `cudaEvent_t` (the driver's `CUevent`).
pub type Event = *mut c_void;

/// A method's slot in one era's vtable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The era whose column this is.
    pub era: Era,
    /// Index from the vtable's address point.
    pub index: usize,
    /// The first release of the era that has it; (0, 0, 0) if all have.
    pub since: (u16, u16, u16),
}

/// What is known of a method apart from its type; the rows that tests hold against recorded tables.
#[derive(Debug)]
pub struct Row {
    /// The class that declares it, in C++ (`VRuntime` for what `IRuntime` forwards to).
    pub class: &'static str,
    /// Its name in C++.
    pub name: &'static str,
    /// Its type, as written in the table.
    pub signature: &'static str,
    /// Where it is; an era that is absent does not have it (with this signature).
    pub slots: &'static [Slot],
}

impl Row {
    /// The slot in `version`'s vtable, or `None` where that release has no such method.
    #[must_use]
    pub fn index(&self, version: Version) -> Option<usize> {
        let slot = self.slots.iter().find(|slot| slot.era == version.era())?;
        let (major, minor, patch) = slot.since;
        version
            .at_least(major, minor, patch)
            .then(|| slot.index + shift_of_10_8(self.class, slot.index, version))
    }

    /// In words, which releases have it.
    #[must_use]
    pub fn availability(&self) -> String {
        let mut eras = Vec::new();
        for slot in self.slots {
            let (major, minor, patch) = slot.since;
            let since = |all: &str, series: &str| match slot.since {
                (0, 0, 0) => all.to_owned(),
                _ => format!("{series} from {major}.{minor}.{patch} on"),
            };
            eras.push(match slot.era {
                Era::A => since("TensorRT 8.5 to 9", "TensorRT 8 and 9"),
                Era::B => since("TensorRT 10", "TensorRT 10"),
                Era::C => since("TensorRT 11", "TensorRT 11"),
                Era::D => since("TensorRT-RTX 1.3 and 1.4", "TensorRT-RTX"),
                Era::E => since("TensorRT-RTX 1.5 and later", "TensorRT-RTX"),
            });
        }
        eras.join(", ")
    }
}

/// 10.8.0 alone has `addCumulative` in the middle of `VNetworkDefinition` (slot 63): what follows sits one
/// slot later there; 10.9 moved it to the end.
fn shift_of_10_8(class: &str, index: usize, version: Version) -> usize {
    let is_10_8 = version.era() == Era::B && version.minor == 8;
    usize::from(class == "VNetworkDefinition" && is_10_8 && index >= 63)
}

/// A method with its type `F`, an `unsafe extern "C" fn(This, …)`.
#[derive(Debug)]
pub struct Method<F> {
    row: Row,
    function: PhantomData<F>,
}

impl<F: Copy> Method<F> {
    pub(super) const fn new(row: Row) -> Self {
        assert!(
            size_of::<F>() == size_of::<*const c_void>(),
            "a method's type is a function pointer"
        );
        Self {
            row,
            function: PhantomData,
        }
    }

    /// The row of the table.
    #[must_use]
    pub const fn row(&self) -> &Row {
        &self.row
    }

    /// Reads the function from the vtable of `this`; `None` where `version` has no such method.
    ///
    /// # Safety
    /// `this` points to a live object of the row's class (its first word is the vtable pointer), made by a
    /// library of exactly `version`.
    #[must_use]
    pub unsafe fn resolve(&self, this: This, version: Version) -> Option<F> {
        let index = self.row.index(version)?;
        // SAFETY: the caller vouches for object and version; the row's index then lies inside the vtable
        // and names a function of type F (held against the recorded tables by tests/tables.rs).
        unsafe {
            let vtable = *this.cast::<*const *const c_void>();
            let function = *vtable.add(index);
            Some(std::mem::transmute_copy::<*const c_void, F>(&function))
        }
    }
}

/// Declares modules of [`Method`] constants and one list of all their rows.
macro_rules! methods {
    ($(
        $(#[$doc:meta])*
        $module:ident $class:literal {
            $( $constant:ident : fn($($arg:ty),*) $(-> $ret:ty)? = $name:literal
               [ $( $era:ident $index:literal $(from $major:literal $minor:literal $patch:literal)? ),* ] ; )*
        }
    )*) => {
        $(
            $(#[$doc])*
            pub mod $module {
                #[allow(unused_imports, reason = "each class uses some of them")]
                use super::*;
                $(
                    #[doc = concat!("`", $class, "::", $name, "`.")]
                    pub const $constant: Method<unsafe extern "C" fn(This $(, $arg)*) $(-> $ret)?> =
                        Method::new(Row {
                            class: $class,
                            name: $name,
                            signature: stringify!(fn($($arg),*) $(-> $ret)?),
                            slots: &[ $( $crate::sys::method::methods!(@slot $era $index $($major $minor $patch)?) ),* ],
                        });
                )*
                pub(super) const ROWS: &[&Row] = &[ $( $constant.row() ),* ];
            }
        )*
        /// The rows of every class above.
        pub const ROWS: &[&[&Row]] = &[ $( $module::ROWS ),* ];
    };
    (@slot $era:ident $index:literal) => {
        Slot { era: Era::$era, index: $index, since: (0, 0, 0) }
    };
    (@slot $era:ident $index:literal $major:literal $minor:literal $patch:literal) => {
        Slot { era: Era::$era, index: $index, since: ($major, $minor, $patch) }
    };
}
pub(super) use methods;
