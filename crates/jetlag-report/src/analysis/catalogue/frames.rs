//! Findings about which frames a tenant's figures cover: too few, lost, failed, or none at all.

use std::borrow::Cow;

use serde::Serialize;

use super::fields::{self, Length};
use super::words::{frames, name_of, percent, quoted};
use crate::analysis::code::Code;
use crate::analysis::figures::QuantileSupport;
use crate::analysis::gathering::lack::Lack;
use crate::analysis::gathering::stamps::Impossible;
use crate::analysis::summary::FrameCounts;

/// Something that limits which frames a tenant's figures are of.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(in super::super) enum FramesLimit {
    /// The record does not say when the measurement ended.
    EndUnknown,
    /// It could not go on.
    GaveUp {
        #[serde(flatten)]
        length: Length,
        cause: Option<String>,
    },
    /// Its source had no more frames.
    SourceEnded(Length),
    /// It was measured for a shorter time than planned.
    CutShort(Length),
    /// No frame was completed.
    None {
        #[serde(rename = "frames")]
        counts: FrameCounts,
        /// Whether any failed, or it could not go on.
        failed: bool,
        cause: Option<String>,
        /// Whether the run was cut short or its frames were not recorded: then nothing says that it would not have
        /// completed any.
        excused: bool,
    },
    /// An application marked no batch.
    NoBatches,
    /// An application marked so many batches, and all are of its warm-up.
    AllWarmup { batches: u64 },
    /// The recorder fell behind.
    Lost {
        lost: u64,
        /// Those that were recorded and those that were not.
        all: u64,
        /// Whether detections are recorded as well.
        detections: bool,
    },
    /// Frames have stamps that cannot be true.
    Impossible(Impossible),
    /// Frames ended with an error.
    Failed {
        failed: u64,
        offered: u64,
        in_warmup: u64,
        cause: Option<String>,
    },
    /// The frames are not enough for the interval of a quantile.
    TooFew {
        #[serde(flatten, serialize_with = "fields::sample")]
        sample: QuantileSupport,
        more: More,
        /// Whether slow frames follow slow ones; else they depend on each other in another way, as those of a batch.
        alike: bool,
    },
    /// It completed nothing alone.
    NoBaseline,
}

/// What makes the frames enough.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(in super::super) enum More {
    /// A larger limit on their number, and this time in seconds where it is longer than planned.
    Frames {
        offered: f64,
        #[serde(rename = "duration_s")]
        seconds: Option<f64>,
    },
    /// More time; how much cannot be said.
    Time,
    /// The planned time, which was not reached: so many seconds are enough.
    Patience {
        #[serde(rename = "duration_s")]
        seconds: f64,
    },
    /// So many seconds.
    Seconds {
        #[serde(rename = "duration_s")]
        seconds: f64,
    },
    /// A longer recording of somebody's program, of so many seconds where that can be said.
    Recording {
        #[serde(rename = "duration_s")]
        seconds: Option<f64>,
    },
    /// No time that a person would wait for: what changes too slowly is the machine.
    Steadier,
    /// The same of a queue that fills and empties too slowly.
    ShorterQueue,
    /// None: it is overloaded, and a longer run does not change that.
    LessLoad,
}

impl FramesLimit {
    pub(super) fn code(&self) -> Code {
        match self {
            FramesLimit::EndUnknown | FramesLimit::SourceEnded(_) | FramesLimit::CutShort(_) => {
                Code::ShortRun
            }
            FramesLimit::GaveUp { .. } => Code::TenantFailed,
            FramesLimit::None { excused: false, .. } => Code::NoFrames,
            FramesLimit::None { excused: true, .. }
            | FramesLimit::NoBatches
            | FramesLimit::AllWarmup { .. }
            | FramesLimit::TooFew { .. } => Code::TooFewSamples,
            FramesLimit::Lost { .. } => Code::LostRecords,
            FramesLimit::Impossible(_) => Code::ImpossibleStamps,
            FramesLimit::Failed { .. } => Code::FailedFrames,
            FramesLimit::NoBaseline => Code::NoBaseline,
        }
    }

    pub(super) fn message(&self, name: &str) -> String {
        match self {
            FramesLimit::EndUnknown => {
                format!("{name}: the record does not say when its measurement ended; rates are estimates.")
            }
            FramesLimit::GaveUp {
                length: Length { measured, planned },
                cause,
            } => format!(
                "{name} failed and ended after {measured} of {planned}{}.",
                quoted(": ", cause.as_deref())
            ),
            FramesLimit::SourceEnded(Length { measured, planned }) => {
                format!("{name}'s source ended after {measured} of {planned}.")
            }
            FramesLimit::CutShort(Length { measured, planned }) => {
                format!("{name} was measured for {measured} instead of the planned {planned}.")
            }
            FramesLimit::None {
                counts,
                failed,
                cause,
                ..
            } => format!(
                "{name} completed no frame: {}{}.",
                what_became(counts, *failed),
                quoted("; first error: ", cause.as_deref())
            ),
            FramesLimit::NoBatches => {
                format!("{name} marked no batches, so it has no response times.")
            }
            FramesLimit::AllWarmup { batches: 1 } => {
                format!("{name} marked one batch, which was warm-up, so it has no response times.")
            }
            FramesLimit::AllWarmup { batches } => {
                format!("All {batches} batches of {name} were warm-up, so it has no response times.")
            }
            FramesLimit::Lost { lost, all, .. } => format!(
                "{name}: {} ({}) ran but were not recorded, because the recorder fell behind; no figure includes \
                 them.",
                frames(*lost),
                percent(*lost as f64 / *all as f64)
            ),
            FramesLimit::Impossible(impossible) => format!(
                "{name}: {} of {} ({}) have stamps that cannot be true ({}); no figure includes them.",
                frames(impossible.count()),
                impossible.all,
                percent(impossible.count() as f64 / impossible.all as f64),
                contradictions(impossible),
            ),
            FramesLimit::Failed {
                failed,
                offered,
                in_warmup,
                cause,
            } => {
                let how_many = match (*failed, *in_warmup) {
                    (0, before) => {
                        format!(
                            "{} failed in the warm-up, and none in the measured time",
                            frames(before)
                        )
                    }
                    (failed, before) => format!(
                        "{} of {offered} ({}) failed and have no response time{}",
                        frames(failed),
                        percent(failed as f64 / *offered as f64),
                        match before {
                            0 => String::new(),
                            _ => format!(", and {before} more in the warm-up"),
                        }
                    ),
                };
                format!(
                    "{name}: {how_many}{}.",
                    quoted("; first error: ", cause.as_deref())
                )
            }
            FramesLimit::TooFew { sample, alike, .. } => {
                let (quantile, has) = (name_of(sample.quantile), frames(sample.count));
                match sample.depends() {
                    _ if let Some(Lack::Spells(seen)) = sample.lacks => format!(
                        "{name}: it is slow or fast for many frames at a time, and its rarer state came {}: the run is too short for \
                         its states, and {quantile} of another may differ.",
                        if seen == 1 {
                            "once".to_owned()
                        } else {
                            format!("{seen} times")
                        }
                    ),
                    true if !alike => format!(
                        "{name}: its frames depend on each other for so long that {has} tell {quantile} of this run, and too \
                         little of another."
                    ),
                    true => format!(
                        "{name}: slow frames follow slow frames for so long that {has} tell {quantile} of this run, and too \
                         little of another."
                    ),
                    false => format!(
                        "{name}: {quantile} needs {} frames and has {}.",
                        sample.quantile.needs(),
                        sample.count
                    ),
                }
            }
            FramesLimit::NoBaseline => {
                format!("{name} completed no frame alone, so its slowdown is unknown.")
            }
        }
    }

    pub(super) fn advice(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            FramesLimit::EndUnknown => "Let the run end by itself, or stop it with Ctrl-C once.",
            FramesLimit::GaveUp { .. } => {
                "`jetlag inspect` shows the whole log. The other tenants ran on, with less contention."
            }
            FramesLimit::SourceEnded(_) => {
                "Set `repeat: true` on the source, give it more frames, or set a shorter `duration`."
            }
            FramesLimit::CutShort(_) => {
                "Run again; if it happens again, the machine is too busy to keep the schedule."
            }
            FramesLimit::None { failed: true, .. } => {
                "`jetlag inspect` shows the whole log; fix what fails, or remove the tenant."
            }
            FramesLimit::None { counts, .. } if counts.dropped > 0 || waiting(counts) > 0 => {
                "Lower the rate, run a faster detector, or run for longer than one of its frames takes."
            }
            FramesLimit::None { .. } => "Run for longer than the interval between two of its frames.",
            FramesLimit::NoBatches => {
                "Mark each piece of work with a range of one name; `jetlag trace --batch NAME` says which NVTX ranges these are."
            }
            FramesLimit::AllWarmup { .. } => {
                "Leave fewer batches out (`-w N` of `jetlag trace`), or record for longer."
            }
            FramesLimit::Lost { detections: true, .. } => {
                "Write the run file to a faster disk, or set `record_detections: false`."
            }
            FramesLimit::Lost {
                detections: false, ..
            } => "Write the run file to a faster disk.",
            FramesLimit::Impossible(_) => {
                "Record again, and look for what moved the clock or wrote the file: a frame starts and ends no earlier than it is due, \
                 and CLOCK_MONOTONIC does not jump."
            }
            FramesLimit::Failed { .. } => {
                "`jetlag inspect` shows the whole log; remove the frames that fail, or repair their files."
            }
            FramesLimit::TooFew { more, .. } => return more.advice(),
            FramesLimit::NoBaseline => {
                "Let the baseline run to its end, and make it longer than one frame takes."
            }
        })
    }
}

impl More {
    fn advice(self) -> Cow<'static, str> {
        match self {
            More::Frames { offered, seconds } => {
                let and_longer = seconds.map_or(String::new(), |seconds| {
                    format!(", and run for {seconds} s or longer (`--set duration={seconds}s`)")
                });
                format!("Set `frames: {offered}` or more, or remove the limit{and_longer}.").into()
            }
            More::Time => "Run for longer.".into(),
            More::Steadier => "Hold the clocks (`clocks: Max`) and keep other programs away, or compare within a run: \
                               `baseline: (alone: true)` takes turns, which a machine that wanders does not disturb."
                .into(),
            More::ShorterQueue => "Lower the rate, run a faster detector, or let frames be dropped \
                                   (`overload: DropOldest(queue: 1)`): a queue this long takes hours to show its quantiles."
                .into(),
            More::LessLoad => "Follow the advice on `overload` first: while frames come faster than they are served, a longer run tells \
                               no more."
                .into(),
            More::Patience { seconds } => {
                format!("Let the run reach its planned duration; {seconds} s at this rate are enough.").into()
            }
            More::Recording { seconds: None } => "Record for longer.".into(),
            More::Recording {
                seconds: Some(seconds),
            } => format!("Record for {seconds} s or longer at this rate.").into(),
            More::Seconds { seconds } => {
                format!("Run for {seconds} s or longer at this rate (`--set duration={seconds}s`).").into()
            }
        }
    }
}

/// `3 start or end before their release, 12 are released before an earlier frame`.
fn contradictions(impossible: &Impossible) -> String {
    let kinds: Vec<String> = [
        (impossible.reversed, "starting or ending before their release"),
        (impossible.set_back, "released before an earlier frame"),
        (impossible.ahead, "later than the run lasted"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .collect();
    kinds.join(", ")
}

fn waiting(counts: &FrameCounts) -> u64 {
    counts.overdue + counts.unfinished
}

/// What became of the frames of a tenant that completed none.
fn what_became(counts: &FrameCounts, failed: bool) -> String {
    let became: Vec<String> = [
        (counts.failed, "failed"),
        (counts.failed_in_warmup, "failed in the warm-up"),
        (counts.dropped, "dropped"),
        (waiting(counts), "still waiting at the end"),
        (counts.lost_records, "not recorded"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{count} {what}"))
    .collect();
    match became.is_empty() {
        true if failed => "it failed".to_owned(),
        true => "none was due in the measured time".to_owned(),
        false => became.join(", "),
    }
}
