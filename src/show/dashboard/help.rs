//! The keys and the colours, over whatever is shown.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph};

use super::graph::{HOT, WARM};
use super::row::{BOLD, DIM, Row};

const KEYS: [(&str, &str); 7] = [
    ("1 2 3", "pages: tenants, power, programs; also Tab, ← →"),
    ("s S", "the next order of the rows, the one before"),
    ("↑ ↓", "scroll; also j k, PgUp PgDn, Home End"),
    ("p", "hold the picture, and go on"),
    ("r", "forget the peaks"),
    ("?", "this help"),
    ("q", "quit; a run ends with its results"),
];

/// Draws the help in the middle.
pub(super) fn draw(frame: &mut Frame<'_>, area: Rect) {
    let mut lines: Vec<Line<'_>> = KEYS
        .iter()
        .map(|(keys, meaning)| {
            let row = Row::default().text(keys, 7, BOLD);
            row.text(meaning, 50, Style::new()).line()
        })
        .collect();
    lines.push(Line::styled("red: a frame missed, above the budget, 95 °C", HOT));
    lines.push(Line::styled(
        "yellow: near the deadline or the budget, 80 °C",
        WARM,
    ));
    lines.push(Line::styled(
        "╌╌ deadline   × nothing completed   – not measured",
        DIM,
    ));
    let size = (58, lines.len() as u16 + 2);
    let box_area = Rect {
        x: area.x + area.width.saturating_sub(size.0) / 2,
        y: area.y + area.height.saturating_sub(size.1) / 2,
        width: size.0,
        height: size.1,
    };
    let box_area = box_area.intersection(area);
    frame.render_widget(Clear, box_area);
    frame.render_widget(
        Paragraph::new(lines).block(Block::bordered().title(" keys ")),
        box_area,
    );
}
