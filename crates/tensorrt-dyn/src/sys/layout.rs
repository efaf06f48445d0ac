//! Plain structs that cross the boundary, laid out as the library's C++ compiler lays them out.

use std::ffi::{c_char, c_void};

/// The most dimensions that a tensor can have (`nvinfer1::Dims::MAX_DIMS`).
pub const MAX_DIMS: usize = 8;

/// `nvinfer1::Dims32`, the `Dims` of TensorRT 8 and 9.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Dims32 {
    /// Number of dimensions; -1 for "invalid".
    pub count: i32,
    /// The extents; the first `count` count.
    pub extents: [i32; MAX_DIMS],
}

/// `nvinfer1::Dims64`, the `Dims` of TensorRT 10 and later.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Dims64 {
    /// Number of dimensions; -1 for "invalid".
    pub count: i32,
    /// The extents; the first `count` count.
    pub extents: [i64; MAX_DIMS],
}

/// `nvinfer1::InterfaceInfo`, which versioned callbacks return in two registers.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct InterfaceInfo {
    /// A static NUL-terminated name.
    pub kind: *const c_char,
    /// Major version of the interface.
    pub major: i32,
    /// Minor version of the interface.
    pub minor: i32,
}

/// The part of every public wrapper object (`IRuntime`, `IBuilder`, `ITensor`, …) that callers need: its own
/// vtable (whose slot 1 is the deleting destructor) and the object that its inline methods forward to.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Wrapper {
    /// The wrapper's own vtable.
    pub vtable: *const *const c_void,
    /// `mImpl` (`mLayer` in `ILayer`): an `apiv::V*` object.
    pub implementation: *mut c_void,
}

/// Slot of the deleting destructor in a wrapper's own vtable, in every release.
pub const DELETING_DESTRUCTOR: usize = 1;

const _: () = {
    assert!(size_of::<Dims32>() == 36);
    assert!(size_of::<Dims64>() == 72);
    assert!(std::mem::offset_of!(Dims64, extents) == 8);
    assert!(size_of::<InterfaceInfo>() == 16);
    assert!(size_of::<Wrapper>() == 16);
};
