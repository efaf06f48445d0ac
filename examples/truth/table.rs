//! The table of promises: what was counted, what was promised, and whether chance explains the difference.

use std::io::{self, Write};

/// What a count is held against, as a share from 0 to 1.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Promise {
    /// Of so many at least this share.
    AtLeast(f64),
    /// Of so many at most this share.
    AtMost(f64),
    /// It is told, and nothing is promised of it.
    Nothing,
}

/// One promise in one kind of run.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    part: &'static str,
    cell: String,
    figure: String,
    hits: u64,
    of: u64,
    promise: Promise,
    /// Median half width of the intervals, over the true value.
    width: Option<f64>,
}

impl Row {
    /// `hits` of `of` for which the figure is true.
    pub(crate) fn new(
        part: &'static str,
        cell: impl Into<String>,
        figure: impl Into<String>,
        (hits, of): (u64, u64),
        promise: Promise,
    ) -> Row {
        Row {
            part,
            cell: cell.into(),
            figure: figure.into(),
            hits,
            of,
            promise,
            width: None,
        }
    }

    /// With how wide the intervals are.
    pub(crate) fn width(self, width: Option<f64>) -> Row {
        Row { width, ..self }
    }

    /// The probability of what was seen, or worse, where the promise is just kept.
    fn luck(&self) -> f64 {
        match self.promise {
            Promise::AtLeast(share) => at_most(self.hits, self.of, share),
            // At least so many of them is at most the others of the others.
            Promise::AtMost(share) => at_most(self.of - self.hits, self.of, 1.0 - share),
            Promise::Nothing => 1.0,
        }
    }

    /// Whether chance alone would break one of `rows` such promises in less than one table of a hundred.
    pub(crate) fn is_broken(&self, rows: usize) -> bool {
        self.luck() < 0.01 / rows.max(1) as f64
    }
}

/// The probability of at most `hits` successes in `n` trials of probability `p`.
fn at_most(hits: u64, n: u64, p: f64) -> f64 {
    let (mut sum, mut log_choose) = (0.0, 0.0);
    for k in 0..=hits.min(n) {
        if k > 0 {
            log_choose += ((n - k + 1) as f64 / k as f64).ln();
        }
        let failures = (n - k) as f64 * (1.0 - p).ln();
        sum += (log_choose + k as f64 * p.ln() + failures).exp();
    }
    f64::min(sum, 1.0)
}

/// Writes a Markdown table: each promise at the kind of run that keeps it worst, or with `all` at every kind.
pub(crate) fn write(rows: &[Row], seeds: u64, all: bool, out: &mut dyn Write) -> io::Result<()> {
    let promised = rows.iter().filter(|row| !matches!(row.promise, Promise::Nothing));
    let rows: &[Row] = &promised.cloned().collect::<Vec<Row>>();
    let broken = rows.iter().filter(|row| row.is_broken(rows.len())).count();
    let shown: Vec<(&Row, usize)> = match all {
        true => rows.iter().map(|row| (row, 1)).collect(),
        false => worst_of_each(rows),
    };
    writeln!(
        out,
        "{seeds} seeds of each kind of run; {} promises, {broken} broken\n",
        rows.len()
    )?;
    writeln!(
        out,
        "| part | figure | promised | kinds of run | seen in the worst | of | which is | |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|---|")?;
    for (row, kinds) in shown {
        let seen = match row.of {
            0 => "–".to_owned(),
            of => format!("{:.1} %", row.hits as f64 / of as f64 * 100.0),
        };
        let promised = match row.promise {
            Promise::AtLeast(share) => format!("≥ {} %", share * 100.0),
            Promise::AtMost(share) => format!("≤ {} %", share * 100.0),
            Promise::Nothing => continue,
        };
        let broken = if row.is_broken(rows.len()) { "BROKEN" } else { "" };
        let (part, cell, figure, of) = (row.part, &row.cell, &row.figure, row.of);
        writeln!(
            out,
            "| {part} | {figure} | {promised} | {kinds} | {seen} | {of} | {cell} | {broken} |"
        )?;
    }
    Ok(())
}

/// Writes a Markdown table of what each kind of run gives: for each quantile how many runs in a hundred have an interval, how many
/// intervals in a hundred hold the true value, and how wide they are.
pub(crate) fn write_precision(rows: &[Row], part: &str, out: &mut dyn Write) -> io::Result<()> {
    let rows: Vec<&Row> = rows.iter().filter(|row| row.part == part).collect();
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\n| runs | figures: given in % of runs, hold the true value in %, half width |"
    )?;
    writeln!(out, "|---|---|")?;
    for of_cell in rows.chunk_by(|a, b| a.cell == b.cell) {
        let figures = of_cell.chunks(2).map(|pair| {
            let [held, given] = pair else { return String::new() };
            let name = given.figure.trim_end_matches(" is given");
            let percent = |hits: u64, of: u64| match of {
                0 => "–".to_owned(),
                of => format!("{:.0}", hits as f64 / of as f64 * 100.0),
            };
            let width = held
                .width
                .map_or_else(|| "–".to_owned(), |width| format!("± {:.1} %", width * 100.0));
            format!(
                "{name} {}: {}, {width}",
                percent(given.hits, given.of),
                percent(held.hits, held.of)
            )
        });
        let figures: Vec<String> = figures.collect();
        writeln!(out, "| {} | {} |", of_cell[0].cell, figures.join("; "))?;
    }
    Ok(())
}

/// Of the rows of one figure the one that is nearest to breaking its promise, and how many there are.
fn worst_of_each(rows: &[Row]) -> Vec<(&Row, usize)> {
    let mut found: Vec<(&Row, usize)> = Vec::new();
    for row in rows {
        let same = found
            .iter_mut()
            .find(|(other, _)| other.part == row.part && other.figure == row.figure);
        match same {
            Some((worst, kinds)) => {
                *kinds += 1;
                if row.luck() < worst.luck() {
                    *worst = row;
                }
            }
            None => found.push((row, 1)),
        }
    }
    found
}
