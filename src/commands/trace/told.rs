//! What came of a trace, and how it is told.

use std::path::Path;

use crate::commands::output::say;
use crate::shell;

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) processes: usize,
    pub(super) batches: u64,
    /// Of these, the ones that are warm-up.
    pub(super) warmup: u64,
    pub(super) ranges: u64,
    pub(super) kernels: u64,
    /// Whether any process's GPU was traced.
    pub(super) is_traced: bool,
    /// What limits it, in sentences.
    pub(super) problems: Vec<String>,
}

/// Says it on stderr: stdout is the command's. `gpu`: whether the GPU was to be traced.
pub(super) fn tell(told: &Told, path: &Path, gpu: bool) {
    for problem in &told.problems {
        say(&format!("warning: {problem}"));
    }
    let count = |count: u64, one: &str, many: &str| match count {
        1 => format!("1 {one}"),
        n => format!("{n} {many}"),
    };
    let warmup = match (told.batches, told.warmup) {
        (batches, warmup) if batches > 0 && batches == warmup => " (all warm-up)",
        _ => "",
    };
    let kernels = match (told.is_traced, gpu) {
        (true, _) => format!(", {}", count(told.kernels, "kernel", "kernels")),
        (false, true) => ", no kernels (no GPU was traced)".to_owned(),
        (false, false) => String::new(),
    };
    say(&format!(
        "wrote {}: {}, {}{warmup}, {}{kernels}; see jetlag report {}{}",
        path.display(),
        count(told.processes as u64, "process", "processes"),
        count(told.batches, "batch", "batches"),
        count(told.ranges, "range", "ranges"),
        shell::path(path),
        if told.is_traced { " --kernels" } else { "" },
    ));
}
