//! Threads with names.

/// A thread that debuggers and `top` show by this name (the kernel keeps 15 characters).
pub(super) fn named(name: &str) -> std::thread::Builder {
    std::thread::Builder::new().name(name.chars().take(15).collect())
}
