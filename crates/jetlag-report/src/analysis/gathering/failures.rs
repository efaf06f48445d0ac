//! Finds out why a tenant's frames failed: the line of the run's log with the timestamp of a failed frame.
//!
//! Log lines do not name frames, but a failed frame has the timestamp at which its failure was logged.

use std::collections::HashMap;

use crate::record::{EndReason, FrameRecord, LogRecord, Outcome, Phase, PhaseRecord};
use crate::units::{Nanos, Stamp};

/// Failed frames per tenant and phase that are looked up in the log; beyond this only their number is known.
const MOST_FAILED: usize = 8;
/// Lines of the log that are kept.
const MOST_LINES: usize = 4096;
/// Characters of a line that are quoted.
const MOST_CHARACTERS: usize = 240;
/// Time after the end of a phase in which its last log lines may still come.
const LAST_WORDS: Nanos = Nanos::from_secs(1);

/// Failed frames, and the log lines about tenants.
#[derive(Debug, Default)]
pub(in crate::analysis) struct Failures {
    failed: HashMap<(Phase, u16), Vec<Stamp>>,
    lines: Vec<(Stamp, String)>,
}

impl Failures {
    /// Adds a frame; remembers it if it failed.
    pub(in crate::analysis) fn frame(&mut self, frame: &FrameRecord) {
        if frame.outcome != Outcome::Failed {
            return;
        }
        let failed = self.failed.entry((frame.phase, frame.tenant)).or_default();
        if failed.len() < MOST_FAILED {
            failed.push(frame.finished);
        }
    }

    /// Adds a line of the log.
    pub(in crate::analysis) fn log(&mut self, line: &LogRecord) {
        if self.lines.len() < MOST_LINES && line.message.starts_with("tenant ") {
            self.lines.push((line.at, line.message.clone()));
        }
    }

    /// Why the first failed frame of a tenant in a phase failed; for a tenant that ended without a failed frame, the
    /// last line about it.
    pub(in crate::analysis) fn cause(
        &self,
        phase: Phase,
        tenant: u16,
        name: &str,
        end: Option<&PhaseRecord>,
    ) -> Option<String> {
        let of_it = || {
            self.lines.iter().filter_map(|(at, message)| {
                let said = message
                    .strip_prefix("tenant ")?
                    .strip_prefix(name)?
                    .strip_prefix(": ")?;
                Some((*at, said))
            })
        };
        let failed = self.failed.get(&(phase, tenant));
        let at_a_failure = of_it()
            .filter(|(at, _)| failed.is_some_and(|failed| failed.contains(at)))
            .min_by_key(|&(at, _)| at);
        let last_words = || {
            let end = end.filter(|end| end.reason == EndReason::Failed)?;
            of_it()
                .filter(|&(at, _)| at <= end.measured_to + LAST_WORDS)
                .max_by_key(|&(at, _)| at)
        };
        let (_, said) = at_a_failure.or_else(last_words)?;
        Some(shortened(said))
    }
}

/// The first line, cut to what fits into a sentence.
fn shortened(said: &str) -> String {
    let line = said.lines().next().unwrap_or_default().trim_end();
    if line.chars().count() <= MOST_CHARACTERS {
        return line.trim_end_matches('.').to_owned();
    }
    let mut short: String = line.chars().take(MOST_CHARACTERS - 1).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(at: i64, message: &str) -> LogRecord {
        LogRecord {
            at: Stamp(at),
            level: "warn".to_owned(),
            message: message.to_owned(),
        }
    }

    fn failed(tenant: u16, at: i64) -> FrameRecord {
        FrameRecord {
            tenant,
            warmup: true,
            outcome: Outcome::Failed,
            ..FrameRecord::completed(Stamp(0), Stamp(at))
        }
    }

    fn end(reason: EndReason) -> PhaseRecord {
        PhaseRecord {
            epoch: Stamp(0),
            measured_from: Stamp(100),
            measured_to: Stamp(100),
            reason,
            ..PhaseRecord::default()
        }
    }

    #[test]
    fn the_cause_is_what_was_said_when_the_tenants_first_frame_failed() {
        let mut failures = Failures::default();
        failures.log(&line(5, "tenant cam: cannot run on cpus [9]"));
        failures.log(&line(30, "tenant cam: out of memory."));
        failures.log(&line(20, "tenant cam: no such file\nin this folder"));
        failures.log(&line(20, "tenant cam.front: another's"));
        failures.log(&line(40, "tenant cam: failed too often in a row"));
        failures.frame(&failed(0, 30));
        failures.frame(&failed(0, 20));
        let cause =
            |phase, tenant, name: &str, reason| failures.cause(phase, tenant, name, Some(&end(reason)));
        let together = Phase::Together;
        assert_eq!(
            cause(together, 0, "cam", EndReason::Failed).unwrap(),
            "no such file"
        );
        // Without a failed frame: what was said last, where the tenant could not go on.
        assert_eq!(
            cause(Phase::Alone, 0, "cam", EndReason::Failed).unwrap(),
            "failed too often in a row"
        );
        assert_eq!(cause(Phase::Alone, 0, "cam", EndReason::Duration), None);
        assert_eq!(cause(together, 1, "lidar", EndReason::Failed), None);
    }

    #[test]
    fn a_long_line_is_cut() {
        let long = shortened(&"é".repeat(1000));
        assert_eq!(long.chars().count(), MOST_CHARACTERS);
        assert!(long.ends_with('…'));
        assert_eq!(shortened(""), "");
    }

    #[test]
    fn what_is_kept_of_failures_is_bounded() {
        let mut failures = Failures::default();
        (0..20).for_each(|at| failures.frame(&failed(0, at)));
        assert_eq!(failures.failed[&(Phase::Together, 0)].len(), MOST_FAILED);
        failures.log(&line(0, "the device is gone"));
        (0..5_000).for_each(|at| failures.log(&line(at, "tenant a: it failed")));
        assert_eq!(failures.lines.len(), MOST_LINES);
        assert!(failures.lines.iter().all(|(_, said)| said.starts_with("tenant ")));
    }
}
