//! `cargo +nightly fuzz run db3`, from the crate's folder; begin with small bags as its corpus.
//!
//! A file of any content, behind the magic bytes.
#![no_main]

#[path = "../bag.rs"]
mod bag;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|content: &[u8]| bag::read(b"SQLite format 3\0", content));
