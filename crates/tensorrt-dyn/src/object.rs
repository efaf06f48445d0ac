//! Pointers to the library's C++ objects: calling their methods, and deleting those that are ours.
//!
//! Ownership in one place: an [`Owned`] object is deleted through the deleting destructor of its own vtable when
//! it is dropped; everything got from a getter is an [`Object`] that its parent keeps alive. Parents are held in
//! `Arc`s by their children, so deletion happens in the order that TensorRT asks for, whatever order the values
//! are dropped in.

use std::ops::Deref;
use std::ptr::NonNull;

use crate::error::{Error, Result, call_name};
use crate::library::Library;
use crate::sys::layout::{DELETING_DESTRUCTOR, Wrapper};
use crate::sys::method::{Method, Row, This};

/// Failure is not always null: some libraries return a null pointer that was moved by a base-class offset
/// (0x228 has been seen). No object lives in the first 64 KiB.
const FIRST_OBJECT: usize = 65_536;

/// A pointer that can be an object.
pub(crate) fn non_null(pointer: This) -> Option<NonNull<Wrapper>> {
    NonNull::new(pointer.cast::<Wrapper>()).filter(|pointer| pointer.as_ptr().addr() >= FIRST_OBJECT)
}

/// A public object (`IBuilder`, `ITensor`, …), alive as long as whoever holds this sees to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object {
    wrapper: NonNull<Wrapper>,
    library: Library,
}

// SAFETY: a pointer may move between threads; which calls may run at once is decided by the public types, which
// are not Sync where TensorRT's objects are not.
unsafe impl Send for Object {}
// SAFETY: as above.
unsafe impl Sync for Object {}

impl Object {
    /// # Safety
    /// `pointer` is what a call of `library` returned for a public object with an implementation behind it
    /// (null and near-null are answered with an error).
    pub(crate) unsafe fn from_call(library: Library, pointer: This, row: &Row, mark: u64) -> Result<Self> {
        match non_null(pointer) {
            Some(wrapper) => Ok(Self { wrapper, library }),
            None => Err(library.failure(call_name(row), mark)),
        }
    }

    /// # Safety
    /// `wrapper` is a live public object of `library`.
    pub(crate) unsafe fn new(library: Library, wrapper: NonNull<Wrapper>) -> Self {
        Self { wrapper, library }
    }

    pub(crate) fn library(&self) -> Library {
        self.library
    }

    /// The pointer that other calls take as an argument.
    pub(crate) fn as_ptr(&self) -> This {
        self.wrapper.as_ptr().cast()
    }

    /// Another object as an argument of this one's calls.
    ///
    /// # Errors
    /// Another library made it: its classes may be laid out in another way.
    pub(crate) fn taking(&self, what: &'static str, other: &Self) -> Result<This> {
        match self.library.is(other.library) {
            true => Ok(other.as_ptr()),
            false => Err(Error::OtherLibrary {
                what,
                theirs: other.library.path().to_owned(),
                ours: self.library.path().to_owned(),
            }),
        }
    }

    /// A method and the `this` to call it with; an error where the release does not have it.
    pub(crate) fn method<F: Copy>(&self, method: &Method<F>) -> Result<(F, This)> {
        // SAFETY: the object is alive, and every wrapper carries its implementation in its second word.
        let this = unsafe { self.wrapper.as_ref() }.implementation;
        // SAFETY: the implementation is a live object of the row's class, made by this library.
        let function = unsafe { method.resolve(this, self.library.version()) };
        function
            .map(|function| (function, this))
            .ok_or_else(|| Error::missing(method.row(), self.library.version()))
    }

    /// Whether this release has a method.
    pub(crate) fn has<F: Copy>(&self, method: &Method<F>) -> bool {
        method.row().index(self.library.version()).is_some()
    }

    /// The error of a call that began at `mark`.
    pub(crate) fn failure(&self, row: &Row, mark: u64) -> Error {
        self.library.failure(call_name(row), mark)
    }
}

/// Calls a method: `call!(object, slots::METHOD, arguments…)`, a `Result` of what it returns.
macro_rules! call {
    ($object:expr, $method:expr $(, $argument:expr)* $(,)?) => {
        match $object.method(&$method) {
            // SAFETY: the function was resolved for this object and release, so the arguments have the types that
            // it takes; pointers among them come from values that live in the calling scope.
            Ok((function, this)) => Ok(unsafe { function(this $(, $argument)*) }),
            Err(error) => Err(error),
        }
    };
}
pub(crate) use call;

/// Calls a method that answers success by `bool`.
macro_rules! check {
    ($object:expr, $method:expr $(, $argument:expr)* $(,)?) => {{
        let mark = $object.library().mark();
        match $crate::object::call!($object, $method $(, $argument)*) {
            Ok(true) => Ok(()),
            Ok(false) => Err($object.failure($method.row(), mark)),
            Err(error) => Err(error),
        }
    }};
}
pub(crate) use check;

/// Calls a method that returns a public object or null.
macro_rules! object {
    ($object:expr, $method:expr $(, $argument:expr)* $(,)?) => {{
        let mark = $object.library().mark();
        match $crate::object::call!($object, $method $(, $argument)*) {
            // SAFETY: what the library returned just now.
            Ok(pointer) => unsafe {
                $crate::object::Object::from_call($object.library(), pointer, $method.row(), mark)
            },
            Err(error) => Err(error),
        }
    }};
}
pub(crate) use object;

/// An object that is ours to delete.
#[derive(Debug)]
pub(crate) struct Owned(Object);

impl Owned {
    /// # Safety
    /// The object was made for the caller (`create…`, `build…`, `serialize…`), who owns it alone.
    pub(crate) unsafe fn new(object: Object) -> Self {
        Self(object)
    }
}

impl Deref for Owned {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.0
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        let this = self.0.as_ptr();
        // SAFETY: the object is alive and ours; slot 1 of a wrapper's own vtable is its deleting destructor in
        // every release, and children that need it are gone, since they hold it through an Arc.
        unsafe {
            let vtable = self.0.wrapper.as_ref().vtable;
            let destructor: unsafe extern "C" fn(This) =
                std::mem::transmute(*vtable.add(DELETING_DESTRUCTOR));
            destructor(this);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_null_pointer_moved_by_an_offset_is_a_failure() {
        assert!(non_null(std::ptr::null_mut()).is_none());
        assert!(non_null(0x228 as This).is_none());
        assert!(non_null(0x10000 as This).is_some());
    }
}
