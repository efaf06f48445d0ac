//! The run's log with each distinct line once. Findings refer to it where they say that the log shows the reason.
//!
//! The same line may come with every frame, so lines are counted as they are read and shown in the order in which
//! they first came.

use std::collections::HashMap;

use jetlag_figure::section::{Cell, Section, Table, Tone};
use serde::Serialize;

use crate::record::LogRecord;
use crate::sections::Drawing;

/// Distinct lines kept: a log with a different frame number in every line must not fill the memory.
const MOST_KEPT: usize = 10_000;
/// Distinct lines shown as text; JSON has all that were kept.
const MOST_SHOWN: usize = 40;

/// A line of the log, and how often it came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogLine {
    /// `error`, `warn` or `info`, in lower case.
    pub level: String,
    /// The text of the line.
    pub message: String,
    /// How often it was logged.
    pub count: u64,
}

/// Counts the lines of a log.
#[derive(Debug, Default)]
pub struct LogTally {
    lines: Vec<LogLine>,
    /// Position in `lines` by level and text.
    known: HashMap<(String, String), usize>,
    /// Number of new lines that came when no more were kept.
    beyond: u64,
}

impl LogTally {
    /// Counts a line of the log.
    pub fn push(&mut self, record: &LogRecord) {
        let key = (record.level.clone(), record.message.clone());
        if let Some(line) = self.known.get(&key).and_then(|&at| self.lines.get_mut(at)) {
            line.count += 1;
        } else if self.lines.len() < MOST_KEPT {
            self.known.insert(key, self.lines.len());
            self.lines.push(LogLine {
                level: record.level.clone(),
                message: record.message.clone(),
                count: 1,
            });
        } else {
            self.beyond += 1;
        }
    }

    /// The distinct lines, in the order in which each first came.
    pub fn lines(&self) -> &[LogLine] {
        &self.lines
    }

    /// The section for people; none where nothing was logged.
    pub(crate) fn section(&self) -> Option<Section<Drawing>> {
        let mut table = Table::new("").words("").number("").words("");
        for line in self.lines.iter().take(MOST_SHOWN) {
            let tone = match line.level.as_str() {
                "error" => Tone::Bad,
                "warn" => Tone::Warn,
                _ => Tone::Dim,
            };
            table.row([
                Cell::new(&line.level).tone(tone),
                Cell::new(format!("{}×", line.count)),
                Cell::new(&line.message),
            ]);
        }
        let hidden = self.lines.len().saturating_sub(MOST_SHOWN);
        let hidden = (hidden > 0).then(|| format!("{hidden} more lines; --format json has them"));
        let beyond = (self.beyond > 0).then(|| {
            format!(
                "{} later lines are not listed: more than {MOST_KEPT} differ",
                self.beyond
            )
        });
        Section::new("log", "Log", "")
            .table(table)
            .remarks(hidden.into_iter().chain(beyond))
            .unless_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Stamp;

    fn tally(lines: impl IntoIterator<Item = (&'static str, String)>) -> LogTally {
        let mut tally = LogTally::default();
        for (at, (level, message)) in lines.into_iter().enumerate() {
            tally.push(&LogRecord {
                at: Stamp(at as i64),
                level: level.to_owned(),
                message,
            });
        }
        tally
    }

    #[test]
    fn a_line_that_comes_again_is_counted_and_not_repeated() {
        let tally = tally([
            ("warn", "slow".to_owned()),
            ("error", "a.png is cut off".to_owned()),
            ("warn", "slow".to_owned()),
            ("error", "slow".to_owned()),
        ]);
        let counts: Vec<_> = tally
            .lines()
            .iter()
            .map(|l| (l.level.as_str(), l.count))
            .collect();
        assert_eq!(counts, [("warn", 2), ("error", 1), ("error", 1)]);
    }

    #[test]
    fn of_a_log_of_many_lines_so_many_are_kept() {
        let tally = tally((0..MOST_KEPT + 3).map(|n| ("info", format!("frame {n}"))));
        assert_eq!((tally.lines().len(), tally.beyond), (MOST_KEPT, 3));
    }

    #[test]
    fn an_empty_log_takes_no_room() {
        assert_eq!(LogTally::default().section(), None);
    }
}
