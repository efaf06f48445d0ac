//! Numbers as ncu writes them, which depends on the machine's language: `1,234.5`, `1.234,5`, `1 234,5`.

/// What separates digits in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `1,234.5`, also where nothing in the file tells.
    Point,
    /// `1.234,5`.
    Comma,
}

/// Gathers from all cells of a file which style it has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Evidence {
    point: usize,
    comma: usize,
}

impl Evidence {
    /// Looks at a cell: one that can be read in one way only counts.
    pub(super) fn see(&mut self, cell: &str) {
        let cell = cell.trim();
        if !cell
            .chars()
            .all(|c| c.is_ascii_digit() || "-., '\u{a0}\u{202f}’eE+".contains(c))
        {
            return;
        }
        let (points, commas) = (cell.matches('.').count(), cell.matches(',').count());
        let last = |mark: char| cell.rfind(mark);
        let decimals = |mark: char| last(mark).map(|at| cell.get(at + 1..).map_or(0, str::len));
        match (points, commas) {
            (0, 0) => {}
            (1.., 1..) if last('.') > last(',') => self.point += 1,
            (1.., 1..) => self.comma += 1,
            (0, 2..) => self.point += 1,
            (2.., 0) => self.comma += 1,
            (1, 0) if decimals('.') != Some(3) => self.point += 1,
            (0, 1) if decimals(',') != Some(3) => self.comma += 1,
            _ => {}
        }
    }

    /// The style that most cells have.
    pub(super) fn style(self) -> Style {
        if self.comma > self.point {
            Style::Comma
        } else {
            Style::Point
        }
    }

    /// Whether cells speak for both.
    pub(super) fn is_mixed(self) -> bool {
        self.comma > 0 && self.point > 0
    }
}

/// A cell's number; none where it holds none (`n/a`, empty, `nan`) or several.
pub(super) fn number(cell: &str, style: Style) -> Option<f64> {
    let (thousands, decimal) = match style {
        Style::Point => (',', '.'),
        Style::Comma => ('.', ','),
    };
    let plain: String = cell
        .trim()
        .chars()
        .filter(|c| *c != thousands && !matches!(c, ' ' | '\'' | '’' | '\u{a0}' | '\u{202f}'))
        .map(|c| if c == decimal { '.' } else { c })
        .collect();
    // `inf` and `nan` are numbers to Rust, and none here.
    if !plain.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.') {
        return None;
    }
    plain.parse().ok().filter(|number: &f64| number.is_finite())
}
