//! `cargo +nightly fuzz run parse_line -- -dict=fuzz/tegrastats.dict`, from the crate's folder.
//!
//! Beyond "no panic": whatever is kept or quoted is a piece of the line at the column it claims.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &str| match tegrastats_parser::parse_line(line) {
    Ok(sample) => {
        for token in &sample.unknown {
            assert!(line[token.column - 1..].starts_with(token.text));
        }
        assert!(line.starts_with(sample.prefix.unwrap_or_default()));
    }
    Err(error) => assert!(line[error.column() - 1..].starts_with(error.token().trim_end_matches('…'))),
});
