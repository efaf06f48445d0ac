//! `cargo +nightly fuzz run mcap`, from the crate's folder; begin with small bags as its corpus.
//!
//! A file of any content, behind the magic bytes.
#![no_main]

#[path = "../bag.rs"]
mod bag;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|content: &[u8]| bag::read(b"\x89MCAP0\r\n", content));
