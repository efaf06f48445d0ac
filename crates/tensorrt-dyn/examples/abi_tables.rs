//! Prints what the crate's tables say of releases, for `scripts/abi_check.py`, which holds it against NVIDIA's headers.
//!
//! ```text
//! $ cargo run --example abi_tables -- 100300
//! slot  VRuntime  deserializeCudaEngine  fn(*const c_void, u64) -> *mut c_void  3
//! value  BuilderFlag  kFP16  0
//! size  Dims  72
//! ```
//! Fields are separated by tabs. A row's last field is `-` where that release has no such method or value.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for a script")]

use std::process::ExitCode;

use tensorrt_dyn::Version;
use tensorrt_dyn::sys::layout::{DELETING_DESTRUCTOR, Dims32, Dims64, Wrapper};
use tensorrt_dyn::sys::{rows, value_rows};

fn main() -> ExitCode {
    let Some(text) = std::env::args().nth(1) else {
        eprintln!("usage: abi_tables NUMBER, as NV_TENSORRT_VERSION in a release's headers");
        return ExitCode::from(2);
    };
    let version = match text.parse().map(Version::from_number) {
        Ok(Ok(version)) => version,
        Ok(Err(why)) => {
            eprintln!("{text}: {why}");
            return ExitCode::from(3);
        }
        Err(why) => {
            eprintln!("{text}: {why}");
            return ExitCode::from(2);
        }
    };
    let or_none = |number: Option<i64>| number.map_or("-".to_owned(), |number| number.to_string());
    for row in rows() {
        let index = or_none(row.index(version).and_then(|index| i64::try_from(index).ok()));
        println!("slot\t{}\t{}\t{}\t{index}", row.class, row.name, row.signature);
    }
    for row in value_rows() {
        let value = or_none(row.value(version).map(i64::from));
        println!("value\t{}\t{}\t{value}", row.class, row.name);
    }
    let dims = match version.era().has_32_bit_dims() {
        true => size_of::<Dims32>(),
        false => size_of::<Dims64>(),
    };
    println!("size\tDims\t{dims}");
    println!(
        "wrapper\t{}\t{DELETING_DESTRUCTOR}",
        std::mem::offset_of!(Wrapper, implementation)
    );
    ExitCode::SUCCESS
}
