//! What is drawn with characters: histories as lines, latencies as columns with their deadline, bars.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::widgets::Widget;

use super::row::DIM;
use crate::analysis::live::Column;
use crate::units::Nanos;

pub(super) const DRAWN: Style = Style::new().fg(Color::Cyan);
pub(super) const GOOD: Style = Style::new().fg(Color::Green);
pub(super) const WARM: Style = Style::new().fg(Color::Yellow);
pub(super) const HOT: Style = Style::new().fg(Color::Red);
const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A history as a thin line from zero to `most`, the latest reading at the right; a reading without value is a dot at
/// the bottom. Two readings share a character.
pub(super) struct Trace<'v> {
    pub(super) readings: &'v [Option<f64>],
    pub(super) most: f64,
    pub(super) style: Style,
}

/// The dots of a braille character, from the bottom up: those of its left half, and those of its right one.
const DOTS: [[u32; 4]; 2] = [[0x40, 0x04, 0x02, 0x01], [0x80, 0x20, 0x10, 0x08]];

impl Widget for Trace<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        let rows = usize::from(area.height);
        if rows == 0 || self.most <= 0.0 {
            return;
        }
        let top = rows * 4 - 1;
        let level = |value: f64| ((value.max(0.0) / self.most * top as f64).round() as usize).min(top);
        // From the right: a line goes from each reading's level to that of the one before it.
        let latest_first: Vec<Option<usize>> = self.readings.iter().rev().map(|r| r.map(level)).collect();
        for column in 0..usize::from(area.width) {
            let x = area.right() - 1 - column as u16;
            let mut cells = vec![0_u32; rows];
            let mut absent = false;
            for (half, dots) in DOTS.iter().enumerate() {
                let number = column * 2 + (1 - half);
                let Some(reading) = latest_first.get(number) else {
                    continue;
                };
                let Some(here) = *reading else {
                    absent = true;
                    continue;
                };
                let before = latest_first.get(number + 1).copied().flatten().unwrap_or(here);
                // The step is drawn at its later reading, without the earlier one's own dot.
                let (low, high) = match here.cmp(&before) {
                    std::cmp::Ordering::Less => (here, before - 1),
                    std::cmp::Ordering::Greater => (before + 1, here),
                    std::cmp::Ordering::Equal => (here, here),
                };
                for dot in low..=high {
                    cells[dot / 4] |= dots[dot % 4];
                }
            }
            for (row, dots) in cells.iter().enumerate() {
                let y = area.bottom() - 1 - row as u16;
                let (symbol, style) = match (dots, char::from_u32(0x2800 + dots)) {
                    (0, _) if absent && row == 0 => ('·', DIM),
                    (0, _) | (_, None) => continue,
                    (_, Some(symbol)) => (symbol, self.style),
                };
                buffer[(x, y)].set_char(symbol).set_style(style);
            }
        }
    }
}

/// The worst latency of each half second as columns, the latest at the right, red where a frame was bad, below a line
/// at the deadline.
pub(super) struct Latency<'v> {
    pub(super) history: &'v [Option<Column>],
    pub(super) deadline: Option<Nanos>,
}

/// How far above its deadline a history reaches, so that the line of the deadline has room above it.
const ABOVE: f64 = 1.25;

impl Latency<'_> {
    /// The highest latency that has room: of the deadline, if it has one, else of what is shown.
    fn most(&self, rows: usize) -> f64 {
        let worst = self.history.iter().flatten().filter_map(|column| column.worst);
        match (self.deadline.filter(|deadline| deadline.0 > 0), rows) {
            // One row has no room for a line: its top is the deadline.
            (Some(deadline), 1) => deadline.0 as f64,
            (Some(deadline), _) => deadline.0 as f64 * ABOVE,
            (None, _) => worst.max().map_or(1.0, |worst| worst.0.max(1) as f64),
        }
    }
}

impl Widget for Latency<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        let rows = usize::from(area.height);
        if rows == 0 {
            return;
        }
        let most = self.most(rows);
        let eighths = |latency: Nanos| {
            ((latency.0 as f64 / most * rows as f64 * 8.0).round() as usize).clamp(1, rows * 8)
        };
        let deadline = self.deadline.filter(|deadline| deadline.0 > 0 && rows > 1);
        let deadline_row = deadline.map(|deadline| (eighths(deadline) - 1) / 8);
        if let Some(row) = deadline_row {
            let y = area.bottom() - 1 - row as u16;
            for x in area.left()..area.right() {
                buffer[(x, y)].set_char('╌').set_style(DIM);
            }
        }
        let latest_first = self.history.iter().rev().take(usize::from(area.width));
        for (back, column) in latest_first.enumerate() {
            let Some(column) = column else { continue };
            let x = area.right() - 1 - back as u16;
            let style = if column.bad { HOT } else { DRAWN };
            let Some(worst) = column.worst else {
                // Nothing was completed.
                buffer[(x, area.bottom() - 1)].set_char('×').set_style(style);
                continue;
            };
            // In one row only what missed is as high as the deadline.
            let highest = if rows == 1 && self.deadline.is_some() && !column.bad {
                7
            } else {
                rows * 8
            };
            let height = eighths(worst).min(highest);
            for row in 0..rows {
                let part = height.saturating_sub(row * 8).min(8);
                // Part of a character below the deadline's line would wipe it out.
                if part == 0 || (part < 8 && deadline_row == Some(row) && !column.bad) {
                    break;
                }
                let y = area.bottom() - 1 - row as u16;
                buffer[(x, y)].set_char(EIGHTHS[part - 1]).set_style(style);
            }
        }
    }
}

/// A bar of eighths of a character.
pub(super) fn bar(share: f64, width: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), PARTS[eighths % 8])
}

/// One character for a share in percent.
pub(super) fn level(percent: f64) -> char {
    EIGHTHS[((percent / 100.0 * 7.0).round() as usize).min(7)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(widget: impl Widget, width: u16, height: u16) -> Vec<String> {
        let area = Rect::new(0, 0, width, height);
        let mut buffer = Buffer::empty(area);
        widget.render(area, &mut buffer);
        let row = |y| (0..width).map(|x| buffer[(x, y)].symbol().to_owned()).collect();
        (0..height).map(row).collect()
    }

    fn trace(readings: &[Option<f64>], most: f64, width: u16, height: u16) -> Vec<String> {
        let style = DRAWN;
        rows(
            Trace {
                readings,
                most,
                style,
            },
            width,
            height,
        )
    }

    #[test]
    fn a_constant_reading_is_a_thin_line_and_the_latest_is_at_the_right() {
        let full = trace(&[Some(8.0); 6], 8.0, 4, 2);
        assert_eq!(full, [" ⠉⠉⠉", "    "]);
        assert_eq!(trace(&[Some(0.0); 4], 8.0, 2, 1), ["⣀⣀"]);
        // A step, and a reading without value.
        assert_eq!(trace(&[Some(0.0), Some(8.0)], 8.0, 1, 1), ["⡸"]);
        assert_eq!(trace(&[None, None, Some(8.0), Some(8.0)], 8.0, 2, 1), ["·⠉"]);
        assert_eq!(trace(&[], 8.0, 2, 1), ["  "]);
        assert_eq!(trace(&[Some(1.0)], 0.0, 1, 1), [" "]);
    }

    fn latency(worst_ms: &[i64], deadline_ms: Option<i64>, height: u16) -> Vec<String> {
        let column = |ms: &i64| {
            (*ms >= 0).then(|| Column {
                worst: (*ms > 0).then(|| Nanos::from_millis(*ms)),
                bad: *ms == 0 || deadline_ms.is_some_and(|deadline| *ms > deadline),
            })
        };
        let history: Vec<_> = worst_ms.iter().map(column).collect();
        let deadline = deadline_ms.map(Nanos::from_millis);
        let history = &history[..];
        rows(Latency { history, deadline }, worst_ms.len() as u16, height)
    }

    #[test]
    fn only_a_missed_deadline_fills_the_row_and_a_drop_is_a_cross() {
        assert_eq!(latency(&[-1, 10, 20, 21, 0], Some(20), 1), [" ▄▇█×"]);
        assert_eq!(latency(&[10, 20], None, 1), ["▄█"]);
    }

    #[test]
    fn a_deadline_is_a_line_where_there_are_rows_for_it() {
        let drawn = latency(&[-1, 5, 20, 25, 90], Some(20), 5);
        // 5 ms of 25 ms are one row of five.
        assert_eq!(drawn, ["   ██", "╌╌███", "  ███", "  ███", " ████"]);
    }

    #[test]
    fn bars_and_levels_stay_within_their_room() {
        assert_eq!(
            (bar(0.5, 4), bar(7.0, 2), bar(f64::NAN, 2)),
            ("██".into(), "██".into(), String::new())
        );
        assert_eq!((level(0.0), level(100.0), level(900.0)), ('▁', '█', '█'));
    }
}
