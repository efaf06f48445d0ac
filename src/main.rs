//! The `jetlag` program: parse, call the command, turn its outcome into an exit code; nothing else.

fn main() {}
