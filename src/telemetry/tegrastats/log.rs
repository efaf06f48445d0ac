//! A log of tegrastats as readings: when each of its rows came, and what of it cannot be read.
//!
//! Since R34 a row begins with local time, to the second. The rows of one second are spread over it, an interval apart
//! where that fits. Rows without a stamp are placed by their number: one that cannot be read took its time all the
//! same. So they are where the stamps say that the clock was set. Blank lines and other programs' words are no rows, and
//! what stands before the first row is a header.

use std::io::{BufRead, BufReader};
use std::path::Path;

use tegrastats_parser::Timestamp;

use super::{LONGEST_LINE, Readings, SOURCE};
use crate::files;
use crate::record::{Event, LogRecord, SampleRecord};
use crate::telemetry::Trouble;
use crate::units::{Nanos, Stamp};

/// Rows of one stamp that are kept until the next comes: more than tegrastats can write in a second.
const MOST: usize = 1000;
/// A stamp that is further ahead of the one before, or behind it, tells of a clock that was set and not of time that
/// went by: boards without a battery begin years ago, and summer time moves by an hour.
const FARTHEST: i64 = 3600;
const SECOND: Nanos = Nanos::from_secs(1);

/// What one row of a log says.
#[derive(Default)]
struct Row {
    asides: Vec<Event>,
    samples: Vec<SampleRecord>,
}

/// Rows that have one stamp, or one row that has none.
struct Group {
    /// When its first row came; for the log's first row, zero.
    begins: Stamp,
    /// The second of its stamp, and where that second begins.
    second: Option<(i64, Stamp)>,
    /// Its rows, each by its place among the lines.
    rows: Vec<(i64, Row)>,
    /// Its lines up to the next group's first row, with those that cannot be read.
    lines: i64,
}

/// Gives each row its time, in order.
struct Log<E> {
    interval: Nanos,
    group: Option<Group>,
    /// The last stamp that was seen, and where its second begins.
    second: Option<(i64, Stamp)>,
    /// Lines since the first row that cannot be read.
    passed: u64,
    each: E,
}

/// A log of tegrastats as readings, in order of time; zero is the first.
pub fn read_log(
    path: &Path,
    interval: Nanos,
    each: impl FnMut(Stamp, Vec<Event>, Vec<SampleRecord>),
) -> std::io::Result<Readings> {
    let mut reader = BufReader::new(files::open_given(path)?);
    let mut readings = Readings::default();
    let mut log = Log {
        interval,
        group: None,
        second: None,
        passed: 0,
        each,
    };
    let mut begins = true;
    loop {
        let line = match next_line_of_log(&mut reader) {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(error) => {
                readings.cut_by = Some(error.to_string());
                break;
            }
        };
        // What is too long for a line comes in pieces, and is one line.
        let begun = std::mem::replace(&mut begins, line.ends_with('\n'));
        let mut row = Row::default();
        let taken = readings.row(
            &line,
            Stamp(0),
            Some(interval),
            None,
            &mut row.samples,
            &mut row.asides,
        );
        match taken {
            Ok(stamp) => log.row(row, stamp.map(seconds)),
            Err(_) if begun && was_a_row(&line) => log.pass(),
            Err(_) => {}
        }
    }
    log.end(&readings);
    Ok(readings)
}

/// Whether a line that cannot be read has something of tegrastats in it, and so was one of its rows.
fn was_a_row(line: &str) -> bool {
    ["RAM ", "SWAP ", "CPU [", "%@", "GR3D", "mW"]
        .iter()
        .any(|part| line.contains(part))
}

impl<E: FnMut(Stamp, Vec<Event>, Vec<SampleRecord>)> Log<E> {
    /// A line that cannot be read.
    fn pass(&mut self) {
        if let Some(group) = &mut self.group {
            group.lines += 1;
            self.passed += 1;
        }
    }

    fn row(&mut self, row: Row, stamp: Option<i64>) {
        if let Some(group) = &mut self.group
            && let (Some((second, _)), Some(stamp)) = (group.second, stamp)
            && second == stamp
            && group.rows.len() < MOST
        {
            group.rows.push((group.lines, row));
            group.lines += 1;
            return;
        }
        let mut row = row;
        let by_number = self.hand_over(None);
        let by_stamp = stamp.zip(self.second).and_then(|(stamp, (before, began))| {
            let ahead = stamp.checked_sub(before)?;
            let at = began + SECOND * ahead;
            (1..=FARTHEST).contains(&ahead).then_some(at)
        });
        let begins = match (by_number, by_stamp) {
            (None, _) => Stamp(0),
            // A row without a stamp may have been placed behind the second that this one tells.
            (Some((last, _)), Some(at)) if at > last => at,
            (Some((_, next)), _) => {
                if stamp.is_some() && self.second.is_some() {
                    row.asides.push(Event::Log(LogRecord {
                        at: next,
                        level: "warn".to_owned(),
                        message: format!(
                            "{SOURCE}: the log's time stamps go back, repeat or jump; lines are used as the clock instead"
                        ),
                    }));
                }
                next
            }
        };
        let second = stamp.map(|stamp| (stamp, begins));
        self.second = second.or(self.second);
        self.group = Some(Group {
            begins,
            second,
            rows: vec![(0, row)],
            lines: 1,
        });
    }

    /// Hands over the rows that were kept, `last` with the last of them. When that row came, and when the next did by
    /// its number.
    fn hand_over(&mut self, mut last: Option<Event>) -> Option<(Stamp, Stamp)> {
        let group = self.group.take()?;
        let step = match group.second {
            Some(_) => self.interval.min(Nanos(SECOND.0 / group.lines.max(1))),
            None => self.interval,
        };
        // The first rows of a log begin somewhere in their second, and fill the rest of it. One row does not tell where.
        if let Some((second, began)) = group.second
            && began == Stamp(0)
            && group.rows.len() > 1
        {
            self.second = Some((second, Stamp((step * group.lines - SECOND).0.min(0))));
        }
        let count = group.rows.len();
        let mut at = group.begins;
        let mut place = 0;
        for (n, (line, mut row)) in group.rows.into_iter().enumerate() {
            (at, place) = (group.begins + step * line, line);
            for sample in &mut row.samples {
                sample.at = at;
            }
            if n + 1 == count {
                row.asides.extend(last.take());
            }
            (self.each)(at, row.asides, row.samples);
        }
        Some((at, at + self.interval * (group.lines - place)))
    }

    fn end(mut self, readings: &Readings) {
        let finding = (self.passed > 0).then(|| {
            let skipped = Trouble::LinesSkipped {
                skipped: self.passed,
                read: readings.taken,
                first_problem: readings.first_problem.clone(),
            };
            Event::Finding(skipped.into())
        });
        self.hand_over(finding);
    }
}

/// Seconds of a stamp since a day long ago. Zone and summer time are not known; only differences are used.
fn seconds(stamp: Timestamp) -> i64 {
    // Years that begin in March have their leap day at the end.
    let (year, month) = match (i64::from(stamp.year), i64::from(stamp.month)) {
        (year, month) if month > 2 => (year, month - 3),
        (year, month) => (year - 1, month + 9),
    };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + i64::from(stamp.day);
    let hours = days * 24 + i64::from(stamp.hour);
    (hours * 60 + i64::from(stamp.minute)) * 60 + i64::from(stamp.second)
}

/// As [`super::next_line`]; the last line of a log counts also without its newline, unless it ends in a digit: a
/// number that is cut reads as a smaller one.
fn next_line_of_log(reader: &mut impl BufRead) -> std::io::Result<Option<String>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    let read = reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes)?;
    // A piece of a line that is too long goes on.
    let ends = (read as u64) < LONGEST_LINE;
    let cut = ends && bytes.last().is_some_and(u8::is_ascii_digit);
    Ok((read > 0 && !cut).then(|| String::from_utf8_lossy(&bytes).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "RAM 6185/7620MB (lfb 8x2MB) CPU [15%@729,off] GR3D_FREQ 63% VDD_IN 10000mW/10000mW";

    /// Stamps of a log's readings in ms, its readings, and its asides that are no signals.
    fn read(text: &str, interval: i64) -> (Vec<i64>, Readings, Vec<Event>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, text).unwrap();
        let (mut stamps, mut events) = (Vec::new(), Vec::new());
        let readings = read_log(&path, Nanos::from_millis(interval), |at, asides, samples| {
            assert!(samples.iter().all(|sample| sample.at == at) && !samples.is_empty());
            stamps.push(at.0 / 1_000_000);
            events.extend(
                asides
                    .into_iter()
                    .filter(|aside| !matches!(aside, Event::Signal(_))),
            );
        });
        (stamps, readings.unwrap(), events)
    }

    fn stamped(at: &[&str]) -> String {
        at.iter().map(|at| format!("11-15-2024 {at} {LINE}\n")).collect()
    }

    #[test]
    fn rows_that_cannot_be_read_take_their_time_and_are_a_finding() {
        let cut = &LINE[..50];
        let (stamps, readings, events) = read(
            &format!("# header\n{LINE}\n{cut}\n\n{cut}\n{LINE}\n{LINE}\n"),
            500,
        );
        assert_eq!(stamps, [0, 1500, 2000], "a blank line is no row");
        assert_eq!((readings.taken, readings.skipped), (3, 4));
        let [Event::Finding(finding)] = events.as_slice() else {
            panic!("{events:?}");
        };
        assert_eq!(finding.code, "lines-skipped");
        assert!(finding.message.starts_with("2 of 5 lines"), "{}", finding.message);
        let other = "[  12.3] usb 1-2: new device";
        let (stamps, _, events) = read(&format!("# header\n\n{LINE}\n\n{other}\n{LINE}\n"), 500);
        assert_eq!(stamps, [0, 500], "nor are other programs' words");
        assert!(events.is_empty(), "nothing was lost: {events:?}");
    }

    #[test]
    fn stamps_tell_the_time_whatever_was_cut_and_whatever_the_interval_is_said_to_be() {
        let mut text = String::new();
        for second in 0..61 {
            let row = stamped(&[&format!("08:{:02}:{:02}", 59 + second / 60, second % 60)]);
            text += match second % 2 {
                0 => &row,
                _ => "11-15-2\n",
            };
        }
        for interval in [100, 1000, 5000] {
            let (stamps, ..) = read(&text.replace("08:60", "09:00"), interval);
            let wanted: Vec<i64> = (0..=30).map(|n| n * 2000).collect();
            assert_eq!(stamps, wanted, "{interval}");
        }
        // A row came twice in one second and never in the next, as with an interval that is a little off.
        let (stamps, ..) = read(&stamped(&["08:00:00", "08:00:01", "08:00:01", "08:00:03"]), 1000);
        assert_eq!(stamps, [0, 1000, 1500, 3000]);
        // Over the end of a year.
        let text = format!("12-31-2023 23:59:59 {LINE}\n01-01-2024 00:00:04 {LINE}\n");
        assert_eq!(read(&text, 1000).0, [0, 5000]);
    }

    #[test]
    fn rows_of_one_second_are_spread_over_it() {
        let rows = |counts: [usize; 3]| -> String {
            let seconds = ["08:00:00", "08:00:01", "08:00:02"];
            let rows = seconds.iter().zip(counts);
            rows.map(|(second, count)| stamped(&[*second]).repeat(count))
                .collect()
        };
        let even: Vec<i64> = (0..16).map(|n| n * 100).collect();
        assert_eq!(read(&rows([4, 10, 2]), 100).0, even);
        // Where the interval is said to be longer than it was, a second still is one.
        let (stamps, ..) = read(&rows([4, 10, 2]), 1000);
        assert_eq!(stamps[..5], [0, 250, 500, 750, 1000]);
        assert_eq!(stamps[14..], [2000, 2500]);
    }

    #[test]
    fn a_clock_that_was_set_and_rows_without_a_stamp_go_by_their_number() {
        let text = format!(
            "01-01-1970 00:00:07 {LINE}\n01-01-1970 00:00:08 {LINE}\n{}{LINE}\n{}",
            stamped(&["08:00:00", "08:00:01"]),
            stamped(&["08:00:03", "07:00:04", "07:00:05"])
        );
        let (stamps, _, events) = read(&text, 1000);
        assert_eq!(stamps, [0, 1000, 2000, 3000, 4000, 5000, 6000, 7000]);
        assert_eq!(events.len(), 2, "forward and back: {events:?}");
        // One stamp for ever.
        let (stamps, ..) = read(&stamped(&["08:00:00"]).repeat(2500), 1000);
        assert_eq!(stamps.len(), 2500);
        assert!(stamps.is_sorted());
    }
}
