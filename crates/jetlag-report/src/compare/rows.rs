//! A comparison row by row: for each tenant what differs, what does not, and what could not be matched.

use jetlag_figure::section::{Cell, Table, Tone};

use super::{Section, interval_of, mark, signed};
use crate::analysis::compare::{By, CandidateRows, OfNoLayer, RowComparison, Rows, TenantRows};
use crate::number::percent;
use crate::sections::traced::names::shortened;

/// Rows and unmatched ones shown of a tenant; JSON has all. Rows that differ are always shown.
const SHOWN: usize = 20;
const UNMATCHED: usize = 5;
/// Rows that are named beside the reason why they are unknown.
const NAMED: usize = 3;
/// Characters of a kernel's name; a narrow terminal shows fewer.
const LONGEST: usize = 80;

/// All candidates' rows.
pub(super) fn sections(rows: &Rows) -> Vec<Section> {
    let mut sections = Vec::new();
    for candidate in &rows.candidates {
        sections.push(head(rows, candidate));
        let tenants = candidate.tenants.iter();
        sections.extend(tenants.map(|tenant| of_tenant(rows.by, tenant, &candidate.side)));
    }
    sections
}

fn head(rows: &Rows, candidate: &CandidateRows) -> Section {
    let what = what(rows.by).to_lowercase();
    let label = &candidate.side;
    let title = match (candidate.differs(), candidate.is_judged()) {
        (true, _) => format!("{what} of {label} differ from A"),
        (false, true) => format!("No difference found between {what} of A and {label}"),
        (false, false) => format!("No comparison possible between {what} of A and {label}"),
    };
    let judged = match rows.judged {
        0 => "no row could be judged".to_owned(),
        1 => "95 % confidence".to_owned(),
        judged => format!("joint 95 % confidence over {judged} rows"),
    };
    let needs = candidate.needs.as_ref().map(ToString::to_string);
    Section::new("comparison", title, "").texts(std::iter::once(judged).chain(needs))
}

fn what(by: By) -> &'static str {
    match by {
        By::Stages => "Stages",
        By::Layers => "Layers",
        By::Kernels => "Kernels",
    }
}

fn of_tenant(by: By, tenant: &TenantRows, label: &str) -> Section {
    let source = match by {
        By::Stages => "measured",
        _ => "traced",
    };
    let note = format!(
        "{}; median ms a frame of {} and {} {source} frames; rows cover {} of A's time and {} of {label}'s",
        tenant.tenant,
        tenant.frames[0],
        tenant.frames[1],
        percent(tenant.covered[0]),
        percent(tenant.covered[1])
    );
    let mut table = Table::new("")
        .words("")
        .words("layer")
        .words(if by == By::Stages { "stage" } else { "kernel" })
        .numbers(["A", "other", "change", "share"]);
    let shown = |(nth, row): &(usize, &RowComparison)| *nth < SHOWN || row.verdict.is_difference();
    for (_, row) in tenant.rows.iter().enumerate().filter(shown) {
        table.row(cells(row));
    }
    let left = tenant.rows.len() - table.rows.len();
    let rest = tenant.unmatched.len().saturating_sub(UNMATCHED);
    let besides = tenant.no_layer.iter().map(|work| of_no_layer(work, label));
    let alone = tenant.unmatched.iter().take(UNMATCHED).map(|alone| {
        let called = called(alone.layer.as_deref(), alone.name.as_deref());
        format!(
            "only {} has {called}, {:.4} ms a frame, {}",
            alone.side,
            alone.ms,
            percent(alone.share)
        )
    });
    Section::new("comparison", what(by), note)
        .table(table.without_empty_columns())
        .remarks((left > 0).then(|| format!("{left} more rows without a difference; JSON has all")))
        .texts(reasons(tenant).into_iter().chain(besides).chain(alone))
        .remarks((rest > 0).then(|| format!("{rest} more that only one has; JSON has all")))
}

fn cells(row: &RowComparison) -> [Cell; 7] {
    let mark = mark(row.verdict);
    let name = |name: Option<&str>| {
        name.map_or_else(Cell::default, |name| Cell::new(shortened(name, LONGEST)).code())
    };
    let ms = |ms: Option<f64>| Cell::of(ms, |ms| format!("{ms:.4}"));
    let tone = match row.verdict.is_difference() {
        true => mark.tone,
        false => Tone::Plain,
    };
    let interval = row.interval.map(|interval| interval_of(interval, false));
    [
        mark,
        name(row.layer.as_deref()),
        name(row.name.as_deref()),
        ms(row.baseline),
        ms(row.candidate),
        Cell::of(row.change, |change| signed(change, row.interval, false))
            .note(interval.unwrap_or_default())
            .tone(tone),
        Cell::new(percent(row.shares[0])).tone(Tone::Dim),
    ]
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

#[cfg(test)]
mod tests {
    use jetlag_figure::section::terminal;

    use super::*;
    use crate::Style;
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
        let style = Style::default();
        let text = terminal::section(
            &of_tenant(By::Layers, &tenant, "C"),
            |nothing| match *nothing {},
            &style,
        );
        let flowing = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            flowing.contains(
                "Work of no known layer, 0.2500 ms a frame (10 %) of A and nothing of C, is in no row"
            ),
            "{text}"
        );
        assert!(!flowing.contains("only A"), "{text}");
        let width = usize::from(style.width);
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
    }
}
