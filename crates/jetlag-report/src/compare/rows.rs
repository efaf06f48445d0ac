//! The text of a comparison row by row: for each tenant what differs, what does not, and what could not be matched.

use super::{heading, interval_of, mark, signed};
use crate::Style;
use crate::analysis::compare::{By, CandidateRows, OfNoLayer, Rows, TenantRows};
use crate::number::{or_unknown, percent};
use crate::table::{Align, Grid, Ink};
use crate::text::critical::lines;
use crate::text::kernels::names::shortened;

/// Rows and unmatched ones shown of a tenant; JSON has all. Rows that differ are always shown.
const SHOWN: usize = 20;
const UNMATCHED: usize = 5;
/// Rows that are named beside the reason why they are unknown.
const NAMED: usize = 3;

/// All candidates' rows.
pub(super) fn write(rows: &Rows, style: &Style) -> Vec<String> {
    let mut sections = Vec::new();
    for candidate in &rows.candidates {
        sections.push(head(rows, candidate, style));
        for tenant in &candidate.tenants {
            sections.push(of_tenant(rows.by, tenant, &candidate.side, style));
        }
    }
    sections
}

fn what(by: By) -> &'static str {
    match by {
        By::Stages => "STAGES",
        By::Layers => "LAYERS",
        By::Kernels => "KERNELS",
    }
}

fn head(rows: &Rows, candidate: &CandidateRows, style: &Style) -> String {
    let (what, label) = (what(rows.by), &candidate.side);
    let title = if candidate.differs() {
        format!("{what} OF {label} DIFFER FROM A")
    } else if candidate.is_judged() {
        format!("NO DIFFERENCE FOUND BETWEEN {what} OF A AND {label}")
    } else {
        format!("NO COMPARISON POSSIBLE BETWEEN {what} OF A AND {label}")
    };
    let note = match rows.judged {
        0 => String::new(),
        1 => "95 % confidence".to_owned(),
        judged => format!("joint 95 % confidence over {judged} rows"),
    };
    let mut text = heading(&title, &note, style);
    if let Some(needs) = &candidate.needs {
        text += &format!("  {needs}\n");
    }
    text
}

fn of_tenant(by: By, tenant: &TenantRows, label: &str, style: &Style) -> String {
    let source = match by {
        By::Stages => "measured",
        _ => "traced",
    };
    let note = format!(
        "median ms a frame of {} and {} {source} frames; rows cover {} of A's time and {} of {label}'s",
        tenant.frames[0],
        tenant.frames[1],
        percent(tenant.covered[0]),
        percent(tenant.covered[1])
    );
    let mut text = heading(&tenant.tenant, &note, style);
    let layered = tenant.rows.iter().any(|row| row.layer.is_some());
    let named = tenant.rows.iter().any(|row| row.name.is_some());
    let room = usize::from(style.width.clamp(80, 140)) - 60;
    let mut grid = Grid::headed().column("", Align::Left);
    if layered {
        grid = grid.column("layer", Align::Left);
    }
    if named {
        grid = grid.column(if by == By::Stages { "stage" } else { "kernel" }, Align::Left);
    }
    let mut grid = grid
        .column("A", Align::Right)
        .column("other", Align::Right)
        .column("change", Align::Right)
        .column("joint interval", Align::Left)
        .column("share", Align::Right);
    let mut left = 0;
    for (nth, row) in tenant.rows.iter().enumerate() {
        let differs = row.verdict.is_difference();
        if nth >= SHOWN && !differs {
            left += 1;
            continue;
        }
        let (mark, ink) = mark(row.verdict);
        let room = if layered && named { room / 2 } else { room };
        let mut cells = vec![(mark, ink)];
        let plain = |text: String| (text, Ink::Plain);
        if layered {
            cells.push(plain(
                row.layer
                    .as_deref()
                    .map_or("–".to_owned(), |layer| shortened(layer, room)),
            ));
        }
        if named {
            cells.push(plain(
                row.name
                    .as_deref()
                    .map_or(String::new(), |name| shortened(name, room)),
            ));
        }
        let ms = |ms: Option<f64>| (or_unknown(ms, |ms| format!("{ms:.4}")), Ink::Plain);
        cells.extend([
            ms(row.baseline),
            ms(row.candidate),
            (
                or_unknown(row.change, |change| signed(change, row.interval, false)),
                if differs { ink } else { Ink::Plain },
            ),
            (
                row.interval
                    .map_or(String::new(), |interval| interval_of(interval, false)),
                Ink::Dim,
            ),
            (percent(row.shares[0]), Ink::Dim),
        ]);
        grid.row(cells);
    }
    text += &grid.render(style);
    if left > 0 {
        text += &format!(
            "  {}\n",
            Ink::Dim.paint(
                &format!("{left} more rows without a difference; JSON has all"),
                style
            )
        );
    }
    let besides = tenant.no_layer.iter().map(|work| of_no_layer(work, label));
    for said in reasons(tenant).into_iter().chain(besides) {
        text += &lines(&said, style);
    }
    text + &unmatched(tenant, style)
}

/// What a row is of, in words.
fn called(layer: Option<&str>, name: Option<&str>) -> String {
    let layer = layer.map(|layer| shortened(layer, 40));
    let name = name.map(|name| shortened(name, 50));
    let both: Vec<String> = layer.into_iter().chain(name).collect();
    match both.is_empty() {
        true => "work of no known layer".to_owned(),
        false => both.join(": "),
    }
}

/// Why rows are unknown, each reason once, with the rows.
fn reasons(tenant: &TenantRows) -> Vec<String> {
    let mut seen: Vec<(&str, Vec<String>)> = Vec::new();
    for row in &tenant.rows {
        let Some(reason) = row.reason.as_deref() else {
            continue;
        };
        let called = called(row.layer.as_deref(), row.name.as_deref());
        match seen.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, rows)) => rows.push(called),
            None => seen.push((reason, vec![called])),
        }
    }
    seen.iter()
        .take(UNMATCHED)
        .map(|(reason, rows)| {
            let named = rows[..rows.len().min(NAMED)].join("; ");
            match rows.len().saturating_sub(NAMED) {
                0 => format!("? of {named}: {reason}"),
                more => format!("? of {named} and {more} more: {reason}"),
            }
        })
        .collect()
}

/// What is in no row, since it may be other work in each run.
fn of_no_layer(work: &OfNoLayer, label: &str) -> String {
    let of = |side: usize| match work.ms[side] > 0.0 {
        true => format!("{:.4} ms a frame ({})", work.ms[side], percent(work.shares[side])),
        false => "nothing".to_owned(),
    };
    format!(
        "Work of no known layer, {} of A and {} of {label}, is in no row: it need not be the same work. `--kernels` compares it kernel \
         by kernel.",
        of(0),
        of(1)
    )
}

fn unmatched(tenant: &TenantRows, style: &Style) -> String {
    let mut text = String::new();
    for alone in tenant.unmatched.iter().take(UNMATCHED) {
        let called = called(alone.layer.as_deref(), alone.name.as_deref());
        text += &format!(
            "  only {} has {called}, {:.4} ms a frame, {}\n",
            alone.side,
            alone.ms,
            percent(alone.share)
        );
    }
    let rest = tenant.unmatched.len().saturating_sub(UNMATCHED);
    if rest > 0 {
        text += &format!(
            "  {}\n",
            Ink::Dim.paint(&format!("{rest} more that only one has; JSON has all"), style)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::compare::{RowComparison, Verdict};

    fn row(layer: &str, reason: Option<&str>) -> RowComparison {
        RowComparison {
            layer: Some(layer.to_owned()),
            name: None,
            layers_baseline: Vec::new(),
            layers_candidate: Vec::new(),
            baseline: None,
            candidate: None,
            shares: [0.2; 2],
            change: None,
            interval: None,
            verdict: Verdict::Unknown,
            within: None,
            reason: reason.map(str::to_owned),
        }
    }

    #[test]
    fn rows_that_are_unknown_are_named_and_work_of_no_layer_is_told_once() {
        let tenant = TenantRows {
            tenant: "camera".to_owned(),
            frames: [20, 18],
            covered: [0.9, 0.8],
            rows: vec![
                row("conv1", Some("it needs more")),
                row("conv2", None),
                row("a", Some("no ratio")),
                row("b", Some("no ratio")),
                row("c", Some("no ratio")),
                row("d", Some("no ratio")),
            ],
            unmatched: Vec::new(),
            no_layer: Some(OfNoLayer {
                ms: [0.25, 0.0],
                shares: [0.1, 0.0],
            }),
        };
        assert_eq!(
            reasons(&tenant),
            ["? of conv1: it needs more", "? of a; b; c and 1 more: no ratio"]
        );
        let text = of_tenant(By::Layers, &tenant, "C", &Style::default());
        let flowing = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            flowing.contains(
                "Work of no known layer, 0.2500 ms a frame (10 %) of A and nothing of C, is in no row"
            ),
            "{text}"
        );
        assert!(!flowing.contains("only A"), "{text}");
        let width = usize::from(Style::default().width);
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
    }
}
