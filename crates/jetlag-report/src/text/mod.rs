//! The text report: the verdict first, then what each tenant did, where its time went, its expectations, and the cost
//! of measuring.
//!
//! Each section is a function from the summary to text, and is left out where it has nothing to say.

pub(crate) mod answer;
pub(crate) mod cameras;
pub mod counters;
pub mod critical;
mod duty;
pub(crate) mod input_effect;
pub(crate) mod interference;
pub mod kernels;
pub mod layers;
pub(crate) mod machine;
pub(crate) mod memory;
pub(crate) mod nodes;
mod outputs;
mod phases;
mod plots;
pub(crate) mod power;
mod predictability;
pub mod roofline;
mod scaled;
pub mod start_up;
pub(crate) mod waterfall;
pub mod what_if;

use std::io::{self, Write};
use std::path::Path;

use super::Style;
use crate::analysis::summary::{ExpectationResult, Lack, Sampling, Stats, TenantSummary, Verdict};
use crate::analysis::{HOST_BUSY, Recorded, Summary};
use crate::digits::range;
use crate::number::{
    TimeUnit, UNKNOWN, or_unknown, percent, share_range, short, short_beside, tells_of_others,
};
use crate::record::Finding;
use crate::shell;
use crate::table::{Align, Grid, Ink, Text};
use crate::units::Bytes;

/// Writes the whole report.
pub fn write(summary: &Summary, out: &mut dyn Write, style: &Style) -> io::Result<()> {
    let sections = [
        verdict(summary, style),
        responses(summary, style),
        first_findings(summary, style),
        plots::over_time(summary, style),
        plots::spread(summary, style),
        frames(summary, style),
        waterfall::section(summary, style),
        cameras::section(summary, style),
        input_effect::section(summary, style),
        nodes::section(summary, style),
        slowdown(summary, style),
        interference::matrix(summary, style),
        interference::sensitivity(summary, style),
        interference::crossed(summary, style),
        interference::overlap(summary, style),
        duty::section(summary, style),
        phases::section(summary, style),
        predictability::section(summary, style),
        power::section(summary, style),
        machine::section(summary, style),
        memory::section(summary, style),
        power::budget(summary, style),
        plots::slowest(summary, style),
        outputs::section(summary, style),
        expectations(summary, style),
        all_findings(summary, style),
        footer(summary, style),
    ];
    let shown: Vec<String> = sections
        .into_iter()
        .filter(|section| !section.is_empty())
        .collect();
    out.write_all(shown.join("\n").as_bytes())
}

fn plain(text: impl Into<String>) -> Text {
    (text.into(), Ink::Plain)
}

fn dim(text: impl Into<String>) -> Text {
    (text.into(), Ink::Dim)
}

fn heading(title: &str, note: &str, style: &Style) -> String {
    format!(
        "{}  {}\n",
        Ink::Bold.paint(title, style),
        Ink::Dim.paint(note, style)
    )
}

/// A tenant's name, shortened if it would push figures off the screen.
fn name_of(tenant: &TenantSummary, style: &Style) -> String {
    cut(&tenant.name, style)
}

fn cut(name: &str, style: &Style) -> String {
    let room = if style.width < 100 { 12 } else { 20 };
    if name.chars().count() <= room {
        return name.to_owned();
    }
    let mut name: String = name.chars().take(room - 1).collect();
    name.push('…');
    name
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
            "{} follow from that and are not told: {}",
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

fn responses(summary: &Summary, style: &Style) -> String {
    // A recording of `jetlag monitor` has none.
    if summary.tenants.is_empty() {
        return String::new();
    }
    let unit = unit_of(summary.tenants.iter().map(|tenant| &tenant.response_ms));
    let note = format!(
        "{}, from release to result; 95 % interval below each quantile",
        unit.name()
    );
    let mut grid = Grid::headed()
        .column("tenant", Align::Left)
        .column("p50", Align::Right)
        .column("p90", Align::Right)
        .column("p99", Align::Right)
        .column("max", Align::Right)
        .optional("deadline", Align::Right)
        .column("missed", Align::Right);
    for tenant in &summary.tenants {
        let stats = &tenant.response_ms;
        let shown = [
            (stats.lacks.p50, stats.p50, stats.ci95.p50),
            (stats.lacks.p90, stats.p90, stats.ci95.p90),
            (stats.lacks.p99, stats.p99, stats.ci95.p99),
        ];
        let within = match tenant.miss_rate_ci95.filter(|_| tenant.deadline_ms.is_some()) {
            Some(range) if tells_of_others(&range) => share_range(range),
            Some(_) => "this run".to_owned(),
            None => String::new(),
        };
        let missed = match tenant.miss_rate {
            Some(rate) if rate > 0.0 => (percent(rate), Ink::Bad),
            Some(rate) if tenant.deadline_ms.is_some() => plain(percent(rate)),
            _ => dim(UNKNOWN),
        };
        let mut figures = vec![(name_of(tenant, style), Ink::Bold)];
        let mut intervals = vec![plain("")];
        for (lack, value, interval) in shown {
            figures.push(match value {
                Some(ms) => plain(unit.show_beside(ms, interval)),
                None => dim(UNKNOWN),
            });
            intervals.push(dim(match interval {
                Some(interval) => unit.show_interval(interval),
                None => in_place_of_interval(lack, value, stats.count, summary.run.duration_s),
            }));
        }
        figures.push(plain(or_unknown(stats.max, |ms| unit.show(ms))));
        figures.push(plain(or_unknown(tenant.deadline_ms, |ms| unit.show(ms))));
        figures.push(missed);
        intervals.push(dim(if tenant.closed_loop { "closed loop" } else { "" }));
        intervals.push(plain(""));
        intervals.push(dim(within));
        grid.row(figures);
        grid.row(intervals);
    }
    let mut text = heading("RESPONSE TIME", &note, style) + &grid.render(style);
    let of_the_run = |tenant: &TenantSummary| {
        let (stats, lacks) = (&tenant.response_ms, &tenant.response_ms.lacks);
        let shown = [
            (stats.p50, lacks.p50),
            (stats.p90, lacks.p90),
            (stats.p99, lacks.p99),
        ];
        shown
            .iter()
            .any(|(value, lack)| value.is_some() && lack.is_some())
            || tenant
                .miss_rate_ci95
                .is_some_and(|range| tenant.deadline_ms.is_some() && !tells_of_others(&range))
    };
    if summary.tenants.iter().any(of_the_run) {
        let note = "this run: of these frames; for another run it takes longer, or a steadier machine";
        text.push_str(&format!("  {}\n", Ink::Dim.paint(note, style)));
    }
    if summary.tenants.iter().any(|tenant| tenant.closed_loop) {
        let note = "closed loop: released when the tenant is ready, so no queueing is measured";
        text.push_str(&format!("  {}\n", Ink::Dim.paint(note, style)));
    }
    text
}

fn frames(summary: &Summary, style: &Style) -> String {
    if summary.tenants.is_empty() {
        return String::new();
    }
    // Seldom there, and then it must be: without it the columns would not add up.
    let overdue = summary.tenants.iter().any(|tenant| tenant.frames.overdue > 0);
    let mut grid = Grid::headed()
        .column("tenant", Align::Left)
        .column("arrival", Align::Left)
        .column("offered", Align::Right)
        .column("completed", Align::Right)
        .column("dropped", Align::Right)
        .column("failed", Align::Right);
    if overdue {
        grid = grid.column("overdue", Align::Right);
    }
    let before = summary
        .tenants
        .iter()
        .any(|tenant| tenant.frames.failed_in_warmup > 0);
    if before {
        grid = grid.column("failed in warm-up", Align::Right);
    }
    let batches = summary.tenants.iter().any(|tenant| tenant.batch > Some(1));
    let mut grid = grid.column("frames/s", Align::Right);
    if batches {
        grid = grid.column("items/s", Align::Right);
    }
    let mut grid = grid
        .optional("backend", Align::Left)
        .optional("detections", Align::Right);
    let alarming = |count: u64| {
        if count > 0 {
            (count.to_string(), Ink::Bad)
        } else {
            plain("0")
        }
    };
    for tenant in &summary.tenants {
        let counts = &tenant.frames;
        let mut row = vec![
            (name_of(tenant, style), Ink::Bold),
            plain(&tenant.arrival),
            plain(counts.offered.to_string()),
            plain(counts.completed.to_string()),
            alarming(counts.dropped),
            alarming(counts.failed),
        ];
        row.extend(overdue.then(|| alarming(counts.overdue)));
        row.extend(before.then(|| alarming(counts.failed_in_warmup)));
        row.extend([plain(or_unknown(tenant.throughput_fps, short))]);
        row.extend(batches.then(|| plain(or_unknown(tenant.throughput_items, short))));
        row.extend([
            plain(&tenant.backend),
            plain(or_unknown(tenant.detections, |count| count.to_string())),
        ]);
        grid.row(row);
    }
    heading("FRAMES", "released in the measured time", style) + &grid.render(style)
}

/// A bar in eighths of a character; a value above zero shows at least a thin line.
fn bar(share: f64, full: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * full as f64 * 8.0).round() as usize;
    let eighths = if share > 0.0 { eighths.max(1) } else { 0 };
    format!("{}{}", "█".repeat(eighths / 8), PARTS[eighths % 8])
}

/// What stands in place of the interval of a quantile; empty if nothing is known of it.
fn in_place_of_interval(lack: Option<Lack>, value: Option<f64>, count: u64, seconds: f64) -> String {
    lack.map_or_else(String::new, |lack| lack.in_words(value.is_some(), count, seconds))
}

fn slowdown(summary: &Summary, style: &Style) -> String {
    let mut grid = Grid::headed()
        .column("tenant", Align::Left)
        .column("p50", Align::Right)
        .column("", Align::Left)
        .column("p90", Align::Right)
        .column("", Align::Left)
        .column("p99", Align::Right)
        .column("", Align::Left)
        .column("rounds", Align::Right);
    let found = || {
        let tenants = summary.tenants.iter();
        tenants.filter_map(|tenant| Some((tenant, tenant.slowdown.as_ref()?)))
    };
    for (tenant, slowdown) in found() {
        let mut row = vec![(name_of(tenant, style), Ink::Bold)];
        for (value, ci95) in [
            (slowdown.p50, slowdown.ci95.p50),
            (slowdown.p90, slowdown.ci95.p90),
            (slowdown.p99, slowdown.ci95.p99),
        ] {
            row.push(plain(or_unknown(value, |x| {
                format!("×{}", short_beside(x, ci95))
            })));
            row.push(dim(ci95.map_or(String::new(), range)));
        }
        row.push(plain(slowdown.rounds.to_string()));
        grid.row(row);
    }
    // A matrix has these figures too.
    if found().next().is_none() || !summary.interference.matrix.is_empty() {
        return String::new();
    }
    let remarks = interference::remarks(found().map(|(tenant, slowdown)| (tenant.name.clone(), slowdown)));
    heading(
        "SLOWDOWN",
        "response time together ÷ alone, in turns, with 95 % interval",
        style,
    ) + &grid.render(style)
        + &interference::sentences(&remarks, style)
}

fn expectations(summary: &Summary, style: &Style) -> String {
    if summary.expectations.is_empty() {
        return String::new();
    }
    let mut grid = Grid::headless()
        .column("", Align::Left)
        .column("", Align::Left)
        .column("", Align::Right)
        .column("", Align::Left);
    for result in &summary.expectations {
        let mark = match (result.value, result.holds) {
            (None, _) => ("?".to_owned(), Ink::Warn),
            (_, true) => ("✓".to_owned(), Ink::Good),
            (_, false) => ("✗".to_owned(), Ink::Bad),
        };
        let remark = match (result.value, result.certain) {
            (None, _) => "undecided: see the findings",
            (_, Some(false)) => "close: the interval contains the limit",
            _ => "",
        };
        grid.row(vec![
            mark,
            plain(&result.text),
            plain(value_of(result)),
            dim(remark),
        ]);
    }
    let held = summary.expectations.iter().filter(|result| result.holds).count();
    // Why `run` and `report` do not end with 0, where nothing worse happened.
    let code = match summary.expectations_hold() || summary.failures().next().is_some() {
        true => "",
        false => ", so the exit code is 3",
    };
    let note = format!("{held} of {} hold{code}", summary.expectations.len());
    heading("EXPECTATIONS", &note, style) + &grid.render(style)
}

/// The measured value with its unit.
pub(super) fn value_of(result: &ExpectationResult) -> String {
    or_unknown(result.value.zip(result.unit), |(value, unit)| unit.show(value))
}

/// CPU time of sampling relative to one core, and the costliest sampler.
pub(super) fn sampling_cost(sampling: &Sampling) -> String {
    let most = sampling.samplers.first().map_or(String::new(), |sampler| {
        format!(", {} {:.2} %", sampler.name, sampler.percent_of_core)
    });
    format!("{:.2} % of one core{most}", sampling.percent_of_core)
}

fn footer(summary: &Summary, style: &Style) -> String {
    let mut grid = Grid::headless().column("", Align::Left).column("", Align::Left);
    // Said again where the eye is when a long report has scrolled by.
    if !summary.run.findings.is_empty() {
        grid.row(vec![
            dim("verdict"),
            ("limited, see the findings".to_owned(), Ink::Warn),
        ]);
    }
    if let Some(own) = summary.run.overhead_us {
        let micros = |value: Option<f64>| or_unknown(value, |us| format!("{} µs", short(us)));
        let text = format!(
            "p50 {}, p99 {} per frame, measured with the null backend",
            micros(own.p50),
            micros(own.p99)
        );
        grid.row(vec![dim("own cost"), plain(text)]);
    }
    if let Some(sampling) = &summary.run.sampling {
        grid.row(vec![dim("sampling"), plain(sampling_cost(sampling))]);
    }
    if let Some(host) = summary.host {
        let mut parts = Vec::new();
        if let Some(load) = host.cpu_load_percent {
            parts.push(match host.others_percent {
                Some(others) => format!("CPU {load:.0} % busy, {others:.0} % by other programs"),
                None => format!("CPU {load:.0} % busy"),
            });
        }
        if let Some(bytes) = host.memory_peak_bytes {
            parts.push(format!("peak memory use {}", Bytes(bytes)));
        }
        grid.row(vec![dim("host"), plain(parts.join("; "))]);
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

/// Wraps a text into lines of at most `room` characters.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= room {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// One unit for a table, from the usual durations in it; a single long one does not decide.
fn unit_of<'a>(series: impl Iterator<Item = &'a Stats>) -> TimeUnit {
    TimeUnit::for_millis(series.filter_map(|stats| stats.p50.or(stats.max)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        assert_eq!(bar(0.0, 8), "");
        assert_eq!(bar(0.000_1, 8), "▏");
        assert_eq!(bar(0.5, 8), "████");
        assert_eq!(bar(1.0, 2), "██");
        assert_eq!(bar(f64::NAN, 2), "");
    }
}
