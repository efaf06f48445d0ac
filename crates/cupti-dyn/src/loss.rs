//! What a trace lost and what it was refused, with a sentence for each.

use std::fmt;

use crate::pool::PoolCounts;
use crate::record::Counts;
use crate::sys::Status;

/// Why something cannot be had here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Why {
    /// This release has no such kind.
    NoSuchKind,
    /// The crate does not read records of this kind.
    NotRead,
    /// The library's records of this kind are shorter than those of the oldest release that is known.
    TooShort {
        /// In bytes.
        found: usize,
        /// In bytes.
        oldest: usize,
    },
    /// CUPTI's answer.
    Status(Status),
}

/// Something that was asked for and cannot be had here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// A kind, or a setting in words.
    pub what: String,
    /// Why.
    pub why: Why,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = &self.what;
        match self.why {
            Why::NoSuchKind => write!(f, "{what}: this release has no such kind"),
            Why::NotRead => write!(f, "{what}: this build does not read records of this kind"),
            Why::TooShort { found, oldest } => {
                write!(
                    f,
                    "{what}: records of {found} bytes, and the oldest that are known have {oldest}"
                )
            }
            Why::Status(status) => write!(f, "{what}: CUPTI answers {status}"),
        }
    }
}

/// What a trace lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loss {
    /// What was read, and passed over.
    pub counts: Counts,
    /// What became of the buffers.
    pub pool: PoolCounts,
    /// Buffers that are with CUPTI still.
    pub out: usize,
    /// Records that CUPTI says it dropped.
    pub dropped: u64,
    /// Nodes of graphs that were not noted.
    pub lost_nodes: u64,
    /// Names that were cut.
    pub cut_names: u64,
    /// Names that were not UTF-8.
    pub names_not_utf8: u64,
}

impl Loss {
    /// Whether every record came, was read, and has its place in time.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.dropped == 0 && self.pool.none_left == 0 && self.counts.is_whole()
    }

    /// What limits the trace, a sentence each.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let mut said = Vec::new();
        let counts = &self.counts;
        if self.dropped > 0 {
            said.push(format!(
                "CUPTI dropped {} records for want of buffers; give it more or larger ones",
                self.dropped
            ));
        }
        if self.pool.none_left > 0 {
            said.push(format!(
                "CUPTI asked {} times for a buffer when all were in use; read them more often, or allow more",
                self.pool.none_left
            ));
        }
        if counts.lost_stamps > 0 {
            said.push(format!(
                "{} kernels, copies or fills have no stamps, since the device's own buffers were full; they have no place in time",
                counts.lost_stamps
            ));
        }
        for (kind, number) in &counts.short {
            said.push(format!(
                "{number} records of {kind} were shorter than any release has them, and were not read"
            ));
        }
        for (kind, number) in &counts.unknown_kinds {
            said.push(format!(
                "{number} records of {kind} were passed over: this build does not read them"
            ));
        }
        if let Some(stop) = counts.last_stop {
            said.push(format!(
                "{} buffers were not read to their end: {stop}",
                counts.stopped
            ));
        }
        if self.out > 0 && self.pool.came_back == 0 {
            said.push(format!(
                "CUPTI has {} buffers and gave none back: it delivers nothing",
                self.out
            ));
        } else if self.out > 0 {
            said.push(format!(
                "CUPTI kept {} of its buffers to the end; what is in them is not part of the trace",
                self.out
            ));
        }
        if self.pool.late > 0 {
            said.push(format!(
                "{} buffers came back after the trace had ended",
                self.pool.late
            ));
        }
        if self.cut_names > 0 {
            said.push(format!(
                "{} names were longer than {} bytes and were cut",
                self.cut_names,
                crate::text::MOST_BYTES
            ));
        }
        if self.names_not_utf8 > 0 {
            said.push(format!(
                "{} names were no UTF-8; other bytes were replaced",
                self.names_not_utf8
            ));
        }
        if self.lost_nodes > 0 {
            said.push(format!("{} nodes of graphs were not noted", self.lost_nodes));
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::Kind;

    #[test]
    fn nothing_lost_is_nothing_said() {
        assert!(Loss::default().is_none());
        assert!(Loss::default().sentences().is_empty());
    }

    #[test]
    fn each_loss_has_its_sentence() {
        let mut loss = Loss {
            dropped: 3,
            out: 2,
            ..Loss::default()
        };
        loss.counts.lost_stamps = 4;
        loss.counts.unknown_kinds.insert(Kind(99), 5);
        let said = loss.sentences().join("\n");
        for part in [
            "dropped 3 records",
            "4 kernels",
            "5 records of kind 99",
            "gave none back",
        ] {
            assert!(said.contains(part), "{part} in {said}");
        }
        assert!(!loss.is_none());
    }

    #[test]
    fn a_refusal_says_what_and_why() {
        let refusal = |why| {
            Refusal {
                what: "GRAPH_TRACE".into(),
                why,
            }
            .to_string()
        };
        assert_eq!(
            refusal(Why::NoSuchKind),
            "GRAPH_TRACE: this release has no such kind"
        );
        assert_eq!(
            refusal(Why::Status(Status::INSUFFICIENT_PRIVILEGES)),
            "GRAPH_TRACE: CUPTI answers 35 (INSUFFICIENT_PRIVILEGES)"
        );
    }
}
