//! The text report: the verdict first, then what each tenant did, where its time went, its expectations, and the cost
//! of measuring.
//!
//! Each section is a function from the summary to text, and is left out where it has nothing to say.

mod plots;
pub mod roofline;

use std::io::{self, Write};
use std::path::Path;

use jetlag_figure::section::terminal::{self, heading, paragraph, wrapped};

use super::Style;
use crate::analysis::summary::{Finding, TenantSummary, Verdict};
use crate::analysis::{HOST_BUSY, Recorded, Summary};
use crate::sections::{self, Drawing, answer, explained, setup};
use crate::shell;
use crate::table::{Align, Grid, Ink, Text};

/// Writes the whole report.
pub fn write(summary: &Summary, out: &mut dyn Write, style: &Style) -> io::Result<()> {
    let mut shown = vec![
        verdict(summary, style),
        answers(summary, style),
        first_findings(summary, style),
    ];
    let draw = |drawing: &Drawing| plots::drawn(*drawing, summary, style);
    let sections = sections::all(summary);
    shown.extend(
        sections
            .iter()
            // Their codes stand with the finding that explains them: one thing to do, and not six.
            .filter(|section| section.id != explained::ID)
            .map(|section| terminal::section(section, draw, style)),
    );
    shown.extend([all_findings(summary, style), footer(summary, style)]);
    shown.retain(|section| !section.is_empty());
    out.write_all(shown.join("\n").as_bytes())
}

/// A sentence for each tenant: whether it was late, how often, by how much and why.
fn answers(summary: &Summary, style: &Style) -> String {
    let said = summary.tenants.iter().map(answer::tenant);
    let lines = said.map(|said| paragraph(&said, Ink::Plain, style));
    lines.collect()
}

fn plain(text: impl Into<String>) -> Text {
    (text.into(), Ink::Plain)
}

fn dim(text: impl Into<String>) -> Text {
    (text.into(), Ink::Dim)
}

/// A tenant's name, shortened if it would push figures off the screen.
fn name_of(tenant: &TenantSummary, style: &Style) -> String {
    terminal::name(&tenant.name, style)
}

fn verdict(summary: &Summary, style: &Style) -> String {
    let run = &summary.run;
    let simulated = if run.clock == "virtual" {
        " of simulated time"
    } else {
        ""
    };
    let (verdict, note) = match (run.verdict, run.findings.len()) {
        (Verdict::Valid, _) => (
            Ink::Good.paint("VALID", style),
            "no finding limits these numbers".to_owned(),
        ),
        (Verdict::Limited, 1) => (Ink::Warn.paint("LIMITED", style), "by 1 finding".to_owned()),
        (Verdict::Limited, n) => (Ink::Warn.paint("LIMITED", style), format!("by {n} findings")),
    };
    let mut text = format!("{}  {verdict}  {note}\n", Ink::Bold.paint(&run.name, style));
    let mut about = match run.recorded {
        Recorded::Machine => format!("{:.1} s of this machine recorded", run.duration_s),
        _ => format!(
            "{:.1} s measured{simulated}; response time counts from release",
            run.duration_s
        ),
    };
    if let Some(how) = &run.processes {
        about += &format!("\neach tenant ran in its own process; GPU sharing: {how}");
    }
    text.push_str(&Ink::Dim.paint(&about, style));
    text.push('\n');
    text.push_str(&before_all(summary, style));
    text
}

/// The finding that explains others, before any figure: what it is, and the one thing to do.
fn before_all(summary: &Summary, style: &Style) -> String {
    let Some(cause) = cause(summary) else {
        return String::new();
    };
    let mut text = String::new();
    for line in wrapped(
        &format!("{} {}", cause.message, cause.advice),
        usize::from(style.width),
    ) {
        text.push_str(&format!("{}\n", Ink::Warn.paint(&line, style)));
    }
    let explained = &summary.run.explained;
    if !explained.is_empty() {
        let mut codes: Vec<&str> = explained.iter().map(|of| of.finding.code.as_str()).collect();
        codes.sort_unstable();
        codes.dedup();
        let line = format!(
            "what follows from that ({}): {}",
            explained.len(),
            codes.join(", ")
        );
        text.push_str(&format!("{}\n", Ink::Dim.paint(&line, style)));
    }
    text
}

/// The finding that is told before all figures: that of a busy host.
fn cause(summary: &Summary) -> Option<&Finding> {
    let mut findings = summary.run.findings.iter();
    findings.find(|finding| finding.code == HOST_BUSY)
}

/// The findings that are told in their own place.
fn others(summary: &Summary) -> Vec<&Finding> {
    let findings = summary.run.findings.iter();
    findings.filter(|finding| finding.code != HOST_BUSY).collect()
}

/// Findings that are told beside the first numbers; where there are more, all of them are told at the end.
const FIRST: usize = 2;

/// What limits the numbers most, and what to do about it; empty where nothing does.
fn first_findings(summary: &Summary, style: &Style) -> String {
    let findings = others(summary);
    if findings.is_empty() {
        return String::new();
    }
    let first = &findings[..findings.len().min(FIRST)];
    let note = match findings.len() - first.len() {
        0 => "what limits these numbers".to_owned(),
        1 => "what limits these numbers most; one more at the end".to_owned(),
        more => format!("what limits these numbers most; {more} more at the end"),
    };
    heading("FINDINGS", &note, style) + &of_findings(first, style)
}

/// All findings, where there are more than were told before.
fn all_findings(summary: &Summary, style: &Style) -> String {
    let findings = others(summary);
    match findings.len() > FIRST {
        true => heading("ALL FINDINGS", "each with what to do", style) + &of_findings(&findings, style),
        false => String::new(),
    }
}

fn of_findings(findings: &[&Finding], style: &Style) -> String {
    let mut grid = Grid::headless().column("", Align::Left).column("", Align::Left);
    for finding in findings {
        grid.row(vec![(finding.code.clone(), Ink::Warn), plain(&finding.message)]);
        grid.row(vec![plain(""), (format!("→ {}", finding.advice), Ink::Accent)]);
    }
    grid.render(style)
}

fn footer(summary: &Summary, style: &Style) -> String {
    let mut grid = Grid::headless().column("", Align::Left).column("", Align::Left);
    // As wide as those of the lines below, which are no table.
    let label = |label: &str| dim(format!("{label:<8}"));
    // Said again where the eye is when a long report has scrolled by.
    if !summary.run.findings.is_empty() {
        grid.row(vec![
            label("verdict"),
            ("limited, see the findings".to_owned(), Ink::Warn),
        ]);
    }
    if let Some(held) = answer::expectations(&summary.expectations) {
        // Why `run` and `report` do not end with 0, where nothing worse happened.
        let (code, ink) = match (summary.expectations_hold(), summary.failures().next()) {
            (true, _) => ("", Ink::Good),
            (false, Some(_)) => ("", Ink::Warn),
            (false, None) => (", so the exit code is 3", Ink::Warn),
        };
        grid.row(vec![label("expect"), (format!("{held}{code}"), ink)]);
    }
    for (name, cost) in setup::costs(summary) {
        grid.row(vec![label(name), plain(cost)]);
    }
    let mut text = grid.render(style);
    // Never wrapped, so that it can be copied whole.
    if let Some(file) = &summary.run.file {
        let label = |label: &str| Ink::Dim.paint(&format!("  {label:<8}  "), style);
        text.push_str(&format!("{}{file}\n", label("record")));
        let path = Path::new(file);
        let file = shell::path(path);
        if summary.kernels.is_some() {
            text.push_str(&format!("{}jetlag report --kernels {file}\n", label("kernels")));
        }
        let page = path.with_extension("html");
        let page = shell::path(Path::new(page.file_name().unwrap_or_default()));
        text.push_str(&format!("{}jetlag report --html {page} {file}\n", label("next")));
    }
    text
}
