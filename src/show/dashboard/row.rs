//! Lines made of cells. A cell keeps to its width and ends with a space, so that no two figures run into each other,
//! whatever they are and however wide their letters.

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::shown::shown;

/// What stands for a figure that is not known.
pub(super) const UNKNOWN: &str = "–";
pub(super) const DIM: Style = Style::new().add_modifier(Modifier::DIM);
pub(super) const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);

/// A line of cells.
#[derive(Default)]
pub(super) struct Row {
    spans: Vec<Span<'static>>,
    width: usize,
}

impl Row {
    /// A cell of text, from its left end.
    pub(super) fn text(mut self, text: &str, width: usize, style: impl Into<Style>) -> Row {
        if width > 0 {
            let text = fit(text, width - 1);
            let blank = width - self::width(&text);
            self.spans.push(Span::styled(text, style));
            self.blank(blank);
            self.width += width;
        }
        self
    }

    /// A cell of a figure, at its right end.
    pub(super) fn figure(mut self, text: &str, width: usize, style: impl Into<Style>) -> Row {
        if width > 0 {
            let text = fit(text, width - 1);
            let blank = width - 1 - self::width(&text);
            self.blank(blank);
            self.spans.push(Span::styled(text, style));
            self.blank(1);
            self.width += width;
        }
        self
    }

    /// Words with two spaces behind them, or nothing where less room than that is left.
    pub(super) fn words(self, text: &str, room: usize, style: impl Into<Style>) -> Row {
        let width = self::width(&shown(text)) + 2;
        match self.width + width <= room + 2 {
            true => self.text(text, width, style),
            false => self,
        }
    }

    /// What is drawn in characters of width one, such as a bar.
    pub(super) fn drawn(mut self, text: String, style: impl Into<Style>) -> Row {
        self.width += width(&text);
        self.spans.push(Span::styled(text, style));
        self
    }

    /// The columns that it takes so far.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn line(self) -> Line<'static> {
        Line::from(self.spans)
    }

    fn blank(&mut self, count: usize) {
        if count > 0 {
            self.spans.push(Span::raw(" ".repeat(count)));
        }
    }
}

/// The columns that a text takes on a terminal: those of its graphemes, as they are drawn one by one.
pub(super) fn width(text: &str) -> usize {
    let text = Span::raw(text);
    text.styled_graphemes(Style::new())
        .map(|grapheme| Span::raw(grapheme.symbol).width())
        .sum()
}

/// As much of a text as the room holds, with `…` where something is left out. What a terminal would obey is escaped.
pub(super) fn fit(text: &str, room: usize) -> String {
    let text = shown(text).replace(['\n', '\t'], " ");
    if width(&text) <= room {
        return text;
    }
    let mut kept = String::new();
    let mut left = room.saturating_sub(1);
    for grapheme in Span::raw(&*text).styled_graphemes(Style::new()) {
        let wide = width(grapheme.symbol);
        if wide > left {
            break;
        }
        left -= wide;
        kept.push_str(grapheme.symbol);
    }
    if room > 0 {
        kept.push('…');
    }
    kept
}

/// A number with as many digits after the point as the room has, two at most. No digit before it is ever cut off.
pub(super) fn number(value: f64, room: usize) -> String {
    let plain = (0..=2).rev().map(|digits| format!("{value:.digits$}"));
    let short = plain.into_iter().find(|text| text.len() <= room);
    short
        .or_else(|| Some(format!("{value:.0e}")).filter(|text| text.len() <= room))
        .unwrap_or_else(|| "…".to_owned())
}

/// A number that may be unknown.
pub(super) fn figure(value: Option<f64>, room: usize) -> String {
    value.map_or(UNKNOWN.to_owned(), |value| number(value, room))
}

#[cfg(test)]
mod tests {
    use ratatui::buffer::Buffer;
    use ratatui::layout::Rect;

    use super::*;

    #[test]
    fn text_keeps_to_its_room_also_with_wide_letters() {
        assert_eq!(fit("camera", 6), "camera");
        assert_eq!(fit("camera", 5), "came…");
        // Two columns a letter.
        assert_eq!(fit("前方カメラ", 10), "前方カメラ");
        assert_eq!(fit("前方カメラ", 6), "前方…");
        assert_eq!(fit("é\u{301}e\u{301}e\u{301}", 2), "é\u{301}…");
        assert_eq!((fit("camera", 1), fit("camera", 0)), ("…".into(), String::new()));
        assert_eq!(fit("a\u{1b}[2Jb", 20), "a\\u001b[2Jb");
    }

    #[test]
    fn a_number_loses_digits_behind_the_point_and_no_other() {
        let all = [7, 5, 4, 3, 2].map(|room| number(1234.567, room));
        assert_eq!(all, ["1234.57", "1235", "1235", "1e3", "…"]);
        assert_eq!(number(0.0, 6), "0.00");
        assert_eq!(figure(None, 6), UNKNOWN);
    }

    proptest::proptest! {
        #[test]
        fn cells_are_as_wide_as_they_are_told_and_end_with_a_space(
            texts in proptest::collection::vec((".{0,12}", 0..16_usize, proptest::bool::ANY), 0..8)
        ) {
            let mut row = Row::default();
            let mut ends = Vec::new();
            for (text, width, right) in &texts {
                row = match right {
                    true => row.figure(text, *width, DIM),
                    false => row.text(text, *width, DIM),
                };
                ends.push((row.width(), *width));
            }
            let total: usize = texts.iter().map(|(_, width, _)| width).sum();
            proptest::prop_assert_eq!(row.width(), total);
            // As it is drawn: a mark that joins a letter before it does not join what is in another cell.
            let mut drawn = Buffer::empty(Rect::new(0, 0, total as u16, 1));
            drawn.set_line(0, 0, &row.line(), total as u16);
            for (end, wide) in ends {
                proptest::prop_assert!(wide == 0 || drawn[(end as u16 - 1, 0)].symbol() == " ", "{:?} {}", drawn, end);
            }
        }
    }
}
