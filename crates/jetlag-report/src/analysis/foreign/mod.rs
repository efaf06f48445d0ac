//! Other programs' results: read, and written.

pub mod cvcuda;
pub mod trtexec;
