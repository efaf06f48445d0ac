//! Slots of the ONNX parser, whose classes carry their virtual methods themselves.
//!
//! Generated once from the releases' headers, then kept by hand; `tests/tables.rs` holds every row against
//! the recorded tables of 35 releases. A constant that ends in `_8` has the argument types of TensorRT 8 and 9.

use std::ffi::{c_char, c_void};

use super::method::{Method, Row, Slot, This, methods};
use crate::version::Era;

methods! {
    /// `nvonnxparser::IParser`: reads an ONNX file into a network.
    parser "IParser" {
        PARSE: fn(*const c_void, u64, *const c_char) -> bool = "parse" [A 0, B 0, C 0, D 0, E 0];
        PARSE_FROM_FILE: fn(*const c_char, i32) -> bool = "parseFromFile" [A 1, B 1, C 1, D 1, E 1];
        SUPPORTS_OPERATOR: fn(*const c_char) -> bool = "supportsOperator" [A 4, B 4, C 2, D 4, E 2];
        GET_NB_ERRORS: fn() -> i32 = "getNbErrors" [A 6, B 5, C 3, D 5, E 3];
        GET_ERROR: fn(i32) -> *const c_void = "getError" [A 7, B 6, C 4, D 6, E 4];
        CLEAR_ERRORS: fn() = "clearErrors" [A 8, B 7, C 5, D 7, E 5];
        DELETING_DESTRUCTOR: fn() = "~deleting(D0)" [A 10, B 9, C 7, D 9, E 7];
        SET_FLAGS: fn(u32) = "setFlags" [A 12 from 8 6 1, B 11, C 9, D 11, E 9];
        GET_FLAGS: fn() -> u32 = "getFlags" [A 13 from 8 6 1, B 12, C 10, D 12, E 10];
        SET_FLAG: fn(i32) = "setFlag" [A 15 from 8 6 1, B 14, C 12, D 14, E 12];
        SUPPORTS_MODEL_V2: fn(*const c_void, u64, *const c_char) -> bool = "supportsModelV2" [B 17 from 10 1 0, C 15, D 17, E 15];
        SET_BUILDER_CONFIG: fn(*const c_void) -> bool = "setBuilderConfig" [B 24 from 10 15 1, C 22, D 24, E 22];
    }

    /// `nvonnxparser::IParserError`: one complaint of the parser.
    parser_error "IParserError" {
        CODE: fn() -> i32 = "code" [A 0, B 0, C 0, D 0, E 0];
        DESC: fn() -> *const c_char = "desc" [A 1, B 1, C 1, D 1, E 1];
        FILE: fn() -> *const c_char = "file" [A 2, B 2, C 2, D 2, E 2];
        LINE: fn() -> i32 = "line" [A 3, B 3, C 3, D 3, E 3];
        FUNC: fn() -> *const c_char = "func" [A 4, B 4, C 4, D 4, E 4];
        NODE: fn() -> i32 = "node" [A 5, B 5, C 5, D 5, E 5];
        NODE_NAME: fn() -> *const c_char = "nodeName" [A 6 from 9 1 0, B 6, C 6, D 6, E 6];
        NODE_OPERATOR: fn() -> *const c_char = "nodeOperator" [A 7 from 9 1 0, B 7, C 7, D 7, E 7];
    }
}
