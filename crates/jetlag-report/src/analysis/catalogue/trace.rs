//! Findings about traced phases: what tracing changed, and what the trace lacks.

use serde::Serialize;

use crate::analysis::code::Code;
use crate::digits::{Digits, percent_range};

/// Something that limits what the figures of a traced phase mean.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(in super::super) enum TraceLimit {
    /// A tenant's frames took a different time than untraced.
    Perturbed {
        #[serde(skip)]
        tenant: String,
        /// The traced phase, in words.
        phase: String,
        /// Of the median response time: relative.
        change: f64,
        ci95: [f64; 2],
        /// Untraced and traced.
        medians_ms: [f64; 2],
    },
    /// The trace of a phase lacks something.
    Incomplete {
        phase: String,
        /// Nothing was recorded of how it was traced.
        untold: bool,
        activities: u64,
        dropped: u64,
        lost_stamps: u64,
        not_kept: u64,
        /// Not analysed for want of memory.
        left_out: u64,
        /// Frame records that the recorder lost.
        lost_frames: u64,
        notes: Vec<String>,
    },
}

impl TraceLimit {
    /// Whether anything is missing at all.
    pub(in super::super) fn limits_anything(&self) -> bool {
        match self {
            TraceLimit::Perturbed { .. } => true,
            TraceLimit::Incomplete { untold, notes, .. } => {
                *untold || !notes.is_empty() || !self.missing().is_empty()
            }
        }
    }

    /// What is missing, in words.
    fn missing(&self) -> Vec<String> {
        let TraceLimit::Incomplete {
            dropped,
            lost_stamps,
            not_kept,
            left_out,
            lost_frames,
            ..
        } = self
        else {
            return Vec::new();
        };
        let all = [
            (dropped, "dropped by the tracer"),
            (lost_stamps, "without time stamps"),
            (not_kept, "not kept for want of memory"),
            (left_out, "in the file but more than are analysed"),
            (lost_frames, "frame records lost"),
        ];
        let missing = all.iter().filter(|(count, _)| **count > 0);
        missing.map(|(count, what)| format!("{count} {what}")).collect()
    }

    pub(super) fn code(&self) -> Code {
        match self {
            TraceLimit::Perturbed { .. } => Code::Perturbed,
            TraceLimit::Incomplete { .. } => Code::TraceIncomplete,
        }
    }

    pub(super) fn tenant(&self) -> Option<&str> {
        match self {
            TraceLimit::Perturbed { tenant, .. } => Some(tenant),
            TraceLimit::Incomplete { .. } => None,
        }
    }

    pub(super) fn message(&self) -> String {
        match self {
            TraceLimit::Perturbed {
                tenant,
                phase,
                change,
                ci95: [low, high],
                medians_ms: [untraced, traced],
            } => {
                let digits = Digits::of_interval([low * 100.0, high * 100.0], Digits::of_percent);
                format!(
                    "In the traced phase {phase}, {tenant}'s median response time is {traced:.3} ms instead of {untraced:.3} \
                     ms: {} % ({} %). The gaps between kernels, waits and turnarounds there include what tracing cost.",
                    digits.signed(change * 100.0),
                    percent_range([*low, *high])
                )
            }
            TraceLimit::Incomplete {
                phase,
                untold,
                activities,
                notes,
                ..
            } => {
                let mut said = Vec::new();
                let missing = self.missing();
                if *untold {
                    said.push(format!(
                        "Nothing is recorded of how the traced phase {phase} was traced."
                    ));
                }
                if !missing.is_empty() {
                    said.push(format!(
                        "The trace of {phase} is incomplete: beside {activities} activities {}.",
                        missing.join(", ")
                    ));
                }
                if !notes.is_empty() {
                    said.push(format!("The trace of {phase} is limited: {}", notes.join(" ")));
                }
                said.join(" ")
            }
        }
    }

    pub(super) fn advice(&self) -> &'static str {
        match self {
            TraceLimit::Perturbed { .. } => {
                "Take response times from the untraced phases; compare traced phases only with each other."
            }
            TraceLimit::Incomplete { .. } => {
                "Trace for a shorter time, or fewer tenants; sums and calls per frame may be too low."
            }
        }
    }
}
