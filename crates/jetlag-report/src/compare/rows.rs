//! The text of a comparison row by row: for each tenant what differs, what does not, and what could not be matched.

use super::{amount, heading, interval_of};
use crate::Style;
use crate::analysis::compare::{By, CandidateRows, RowComparison, Rows, TenantRows, Verdict};
use crate::table::{Align, Grid, Ink};
use crate::text::kernels::names::shortened;
use crate::text::number::{or_unknown, percent};

/// Rows and unmatched ones shown of a tenant; JSON has all. Rows that differ are always shown.
const SHOWN: usize = 20;
const UNMATCHED: usize = 5;

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
    let differs = |row: &RowComparison| matches!(row.verdict, Verdict::Higher | Verdict::Lower);
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
        if nth >= SHOWN && !differs(row) {
            left += 1;
            continue;
        }
        let (mark, ink) = match row.verdict {
            Verdict::Higher => ("▲", Ink::Bad),
            Verdict::Lower => ("▼", Ink::Good),
            Verdict::Same => ("=", Ink::Plain),
            Verdict::Unknown => ("?", Ink::Warn),
        };
        let room = if layered && named { room / 2 } else { room };
        let mut cells = vec![(mark.to_owned(), ink)];
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
        let sign = |change: f64| if change < 0.0 { "−" } else { "+" };
        cells.extend([
            ms(row.baseline),
            ms(row.candidate),
            (
                or_unknown(row.change, |change| {
                    format!("{}{}", sign(change), amount(change.abs(), false))
                }),
                if differs(row) { ink } else { Ink::Plain },
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
    for reason in reasons(tenant) {
        text += &format!("  {}\n", Ink::Dim.paint(&reason, style));
    }
    text + &unmatched(tenant, style)
}

/// Why rows are unknown, each reason once.
fn reasons(tenant: &TenantRows) -> Vec<String> {
    let mut seen: Vec<(&str, usize)> = Vec::new();
    for reason in tenant.rows.iter().filter_map(|row| row.reason.as_deref()) {
        match seen.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, count)) => *count += 1,
            None => seen.push((reason, 1)),
        }
    }
    seen.iter()
        .take(UNMATCHED)
        .map(|(reason, count)| {
            let rows = if *count == 1 { "row" } else { "rows" };
            format!("? of {count} {rows}: {reason}")
        })
        .collect()
}

fn unmatched(tenant: &TenantRows, style: &Style) -> String {
    let mut text = String::new();
    for alone in tenant.unmatched.iter().take(UNMATCHED) {
        let layer = alone.layer.as_deref().map(|layer| shortened(layer, 40));
        let name = alone.name.as_deref().map(|name| shortened(name, 50));
        let both: Vec<String> = layer.into_iter().chain(name).collect();
        let called = if both.is_empty() {
            "work of no known layer".to_owned()
        } else {
            both.join(": ")
        };
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
