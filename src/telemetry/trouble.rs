//! What went wrong with sampling, as facts, and the finding that each becomes: its code, message and advice are made here.

use std::path::PathBuf;

use crate::record::Finding;
use crate::scenario::TelemetrySource;

/// Something that keeps readings from a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// A source that the scenario names is not there.
    SourceMissing { source: TelemetrySource, why: String },
    /// A sampler cannot go on.
    Ended { sampler: String, error: String },
    /// A card that the driver counts gave no answer from the start.
    CardUnanswered { problem: String },
    /// A card among several gives no answer any more.
    CardSilent { gpu: u32, error: String },
    /// tegrastats runs and gives no reading; what is wrong with its first line, if it prints any.
    TegrastatsUnread {
        program: PathBuf,
        first_problem: Option<String>,
    },
    /// Lines of a tegrastats log cannot be read; what is wrong with the first.
    LinesSkipped {
        skipped: u64,
        read: u64,
        first_problem: Option<String>,
    },
    /// A reading did not come back; of the search for sensors where no sampler is named.
    Hangs { sampler: Option<String> },
}

impl Trouble {
    fn code(&self) -> &'static str {
        match self {
            Trouble::SourceMissing { .. }
            | Trouble::TegrastatsUnread {
                first_problem: None, ..
            } => "source-missing",
            Trouble::Ended { .. } | Trouble::CardUnanswered { .. } | Trouble::CardSilent { .. } => {
                "sampler-ended"
            }
            Trouble::LinesSkipped { .. }
            | Trouble::TegrastatsUnread {
                first_problem: Some(_),
                ..
            } => "lines-skipped",
            Trouble::Hangs { .. } => "sampler-hangs",
        }
    }

    fn message(&self) -> String {
        match self {
            Trouble::SourceMissing { source, why } => {
                format!("The scenario asks for the source {source:?}, which is not available: {why}.")
            }
            Trouble::Ended { sampler, error } => format!("the {sampler} sampler ended early: {error}"),
            Trouble::CardUnanswered { problem } => {
                format!("the nvml sampler gets no answer from a card that the driver lists: {problem}")
            }
            Trouble::CardSilent { gpu, error } => {
                format!("the nvml sampler no longer gets an answer from GPU {gpu}: {error}")
            }
            Trouble::TegrastatsUnread {
                program,
                first_problem,
            } => match first_problem {
                Some(problem) => format!(
                    "None of the lines that {} prints can be parsed. The first: {problem}.",
                    program.display()
                ),
                None => format!("{} runs but prints nothing.", program.display()),
            },
            Trouble::LinesSkipped {
                skipped,
                read,
                first_problem,
            } => format!(
                "{skipped} of {} lines of the tegrastats log cannot be parsed ({}); their timestamps are kept, \
                 their readings are missing.",
                skipped + read,
                first_problem.as_deref().unwrap_or("other text")
            ),
            Trouble::Hangs { sampler } => {
                let who = sampler.as_ref().map_or("looking for sensors".to_owned(), |name| {
                    format!("a reading of the {name} sampler")
                });
                format!(
                    "{who} had not returned when the run ended, and blocked the readings of all other sensors."
                )
            }
        }
    }

    fn advice(&self) -> &'static str {
        match self {
            Trouble::SourceMissing { .. } => {
                "Remove it from `telemetry: (sources: …)`; `jetlag doctor` lists what can be read on this machine."
            }
            Trouble::Ended { .. } => {
                "The run's times are not affected; its readings stop here. `jetlag doctor` shows what can be read."
            }
            Trouble::CardUnanswered { .. } => {
                "Power and energy cover only the other cards. See the kernel's log (dmesg) and nvidia-smi."
            }
            Trouble::CardSilent { .. } => {
                "The other GPUs are still sampled. See the kernel's log (dmesg) and nvidia-smi for the cause."
            }
            Trouble::TegrastatsUnread { .. } => {
                "Run it by hand and look at its output. Where /sys is available, the board's sensors are read \
                 without tegrastats."
            }
            Trouble::LinesSkipped { .. } => {
                "Power is interpolated between the rows around them. A damaged log was often written to a full \
                 disk, or by two programs at once."
            }
            Trouble::Hangs { .. } => {
                "The run's times are not affected; readings stop where it began. Remove that source (`telemetry: \
                 (sources: …)`), and check the kernel's log for a bus or driver that does not answer."
            }
        }
    }
}

impl From<Trouble> for Finding {
    fn from(trouble: Trouble) -> Finding {
        Finding {
            code: trouble.code().to_owned(),
            tenant: None,
            message: trouble.message(),
            advice: trouble.advice().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sampler_that_hangs_is_named() {
        let of = |sampler: Option<&str>| {
            Finding::from(Trouble::Hangs {
                sampler: sampler.map(str::to_owned),
            })
        };
        assert!(
            of(Some("ina3221"))
                .message
                .starts_with("a reading of the ina3221 sampler")
        );
        assert!(of(None).message.starts_with("looking for sensors"));
    }
}
