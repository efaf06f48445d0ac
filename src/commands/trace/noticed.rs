//! What a trace of a command could not have, as facts, and the finding that each becomes.

use jetlag_activity::spool::Counts;

use crate::record::{Finding, NOT_TRACED};

/// Something that limits the figures of a traced command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Noticed {
    /// Nobody wrote a spool.
    Nothing,
    /// A process's GPU could not be traced.
    Untraced { why: String },
    /// Frames were measured while the GPU was traced.
    TracedFrames,
    /// It did not end in order.
    Cut { how: &'static str },
    /// `jetlag trace` itself was killed.
    Recovered,
    /// Its folder was full.
    Full,
    /// It had not ended when the command had.
    Outlived,
    /// Something went wrong with ranges.
    Ranges(Counts),
    /// Processes that could not write anything.
    Wordless { processes: usize },
    /// Processes that began, did not end in order, and left nothing to show beside others that did.
    Silent { processes: usize },
    /// Written by a library of another version.
    OtherVersion { version: String },
    /// More processes than are kept apart.
    TooMany { left_out: usize },
}

impl Noticed {
    /// The findings, of a tenant where it is one's; `process` is how it is called in text.
    pub(super) fn findings(&self, tenant: Option<&str>, process: &str) -> Vec<Finding> {
        let one = |code: &str, message: String, advice: &str| Finding {
            code: code.to_owned(),
            tenant: tenant.map(str::to_owned),
            message,
            advice: advice.to_owned(),
        };
        match self {
            Noticed::Nothing => vec![one(
                NOT_TRACED,
                format!(
                    "Nothing came from any process of {process}, so there are neither kernels nor ranges: none initialised CUDA or made \
                     a call of NVTX, or each ended before it wrote anything."
                ),
                "Only programs that use CUDA or NVTX 3 can be traced; one that is setuid or linked statically passes the tracer's \
                 library over. One that crashes, is killed or leaves by `_exit` loses its last tenth of a second.",
            )],
            Noticed::Untraced { why } => vec![one(
                NOT_TRACED,
                format!(
                    "The GPU was to be traced in {process}, but was not: {}.",
                    why.trim_end_matches('.')
                ),
                "`jetlag doctor` says which CUPTI there is and what it needs; JETLAG_CUPTI names another. Ranges are as they would be.",
            )],
            Noticed::TracedFrames => vec![one(
                "traced-frames",
                format!(
                    "{process}'s batches were timed while the GPU was traced, which costs time: about 1 µs for each kernel."
                ),
                "`jetlag trace --no-gpu` takes in ranges alone; `jetlag compare` shows what tracing changed.",
            )],
            Noticed::Cut { how } => vec![one(
                "trace-incomplete",
                format!("{process} {how}: what it did in its last tenth of a second may be missing."),
                "Let it exit in order; what is there is as it was.",
            )],
            Noticed::Recovered => vec![one(
                "trace-incomplete",
                format!(
                    "jetlag trace was killed while {process} ran, and this was made afterwards of what its processes had written until \
                     then."
                ),
                "What is there is as it was; trace it again for the rest.",
            )],
            Noticed::Full => vec![one(
                "trace-incomplete",
                format!(
                    "The folder for what is traced was full while {process} ran: it ran on, and what it did from then on is missing."
                ),
                "Name a folder on a larger disk in TMPDIR, or trace a shorter time.",
            )],
            Noticed::Outlived => vec![one(
                "trace-incomplete",
                format!(
                    "{process} outlived the command and still ran when this was written: what it did since a tenth of a second before is missing."
                ),
                "Let the command wait for it (`wait` in a shell), or end it; what is there is as it was.",
            )],
            Noticed::Ranges(counts) => {
                let mut all = Vec::new();
                if counts.unbalanced > 0 {
                    all.push(one(
                        "unbalanced-ranges",
                        format!(
                            "{} ranges of {process} were ended without a begin, or never ended; the times of those around them \
                             may be wrong.",
                            counts.unbalanced
                        ),
                        "End each range in the thread that began it, also where an error is thrown.",
                    ));
                }
                let missing = [
                    (counts.lost, "came faster than they were written"),
                    (counts.not_kept, "are beyond what is kept"),
                    (
                        counts.not_written,
                        "came when the folder for what is traced was full, and with them what the GPU did",
                    ),
                    (
                        counts.of_children,
                        "are of children of a fork that became no other program, which write nothing",
                    ),
                ];
                let reasons: Vec<String> = missing
                    .iter()
                    .filter(|(ranges, _)| *ranges > 0)
                    .map(|(ranges, why)| format!("{ranges} {why}"))
                    .collect();
                if !reasons.is_empty() {
                    let all_missing: u64 = missing
                        .iter()
                        .fold(0, |sum, (ranges, _)| sum.saturating_add(*ranges));
                    let advice = match (counts.not_written, counts.of_children) {
                        (1.., _) => "Name a folder on a larger disk in TMPDIR, or trace a shorter time.",
                        (0, 1..) => {
                            "Start such processes as programs of their own (of Python's multiprocessing: `spawn`)."
                        }
                        (0, 0) => "Mark larger pieces of work, or trace a shorter time.",
                    };
                    all.push(one(
                        "lost-ranges",
                        format!(
                            "{all_missing} ranges of {process} are missing: {}.",
                            reasons.join("; ")
                        ),
                        advice,
                    ));
                }
                all
            }
            Noticed::OtherVersion { version } => vec![one(
                NOT_TRACED,
                format!(
                    "{process} was traced by a library of jetlag {version}, and this is {}: its trace cannot be read.",
                    env!("CARGO_PKG_VERSION")
                ),
                "Install jetlag and its library (libjetlag_inject.so) of one version.",
            )],
            Noticed::Wordless { processes } => vec![one(
                "trace-incomplete",
                format!(
                    "{processes} of {process}'s processes could not write anything: the folder for what is traced was full, or they were \
                     killed at once."
                ),
                "Name a folder on a larger disk in TMPDIR.",
            )],
            Noticed::Silent { processes } => vec![one(
                "trace-incomplete",
                format!(
                    "{processes} of {process}'s processes ended before anything of them was written, and not in order: killed, crashed, left \
                     by `_exit`, or became another program. What they did in their last tenth of a second is missing."
                ),
                "Let them exit in order.",
            )],
            Noticed::TooMany { left_out } => vec![one(
                "trace-incomplete",
                format!(
                    "{process} started more processes than are told apart; {left_out} of them are left out."
                ),
                "Trace a part of it.",
            )],
        }
    }
}
