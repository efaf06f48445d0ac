//! What a program that a test ran has said.

use std::path::Path;
use std::process::{Command, Output};

/// jetlag in a folder, without colours and without a log that the caller's environment asks for.
pub fn jetlag(args: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jetlag"));
    command
        .args(args)
        .current_dir(folder)
        .env_remove("RUST_LOG")
        .env_remove("COLUMNS")
        .env("NO_COLOR", "1");
    command
}

/// jetlag in a folder, to its end.
pub fn run(args: &[&str], folder: &Path) -> Output {
    jetlag(args, folder).output().expect("jetlag starts")
}

/// Text in one line: where lines break and how wide columns are is for goldens alone.
pub fn flowing(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text on stdout.
pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8 on stdout")
}

/// The text on stderr.
pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8 on stderr")
}

/// It ended with this exit code and these phrases on stderr, and no panic.
#[track_caller]
pub fn assert_refused(output: &Output, code: i32, phrases: &[&str]) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for phrase in phrases {
        assert!(said.contains(phrase), "`{phrase}` is not in: {said}");
    }
    assert!(!said.contains("panicked"), "{said}");
}
