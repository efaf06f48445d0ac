//! A short summary in GitHub's Markdown, for a pull request: verdict, a table of tenants, expectations, findings.

use std::io::{self, Write};

use crate::analysis::Summary;
use crate::analysis::summary::{Stats, TenantSummary, Verdict};
use crate::text::number::{UNKNOWN, or_unknown, percent, short};
use crate::text::value_of;

/// Writes the summary as Markdown tables.
pub fn write(summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
    let run = &summary.run;
    let verdict = match (run.verdict, run.findings.len()) {
        (Verdict::Valid, _) => "valid: no finding limits these numbers".to_owned(),
        (Verdict::Limited, 1) => "**limited** by a finding".to_owned(),
        (Verdict::Limited, n) => format!("**limited** by {n} findings"),
    };
    writeln!(out, "### {}: {verdict}\n", escaped(&run.name))?;
    writeln!(
        out,
        "{} s measured. Response time in ms, {}, with 95 % intervals.\n",
        short(run.duration_s),
        run.latency
    )?;
    tenants(summary, out)?;
    power(summary, out)?;
    expectations(summary, out)?;
    if !run.findings.is_empty() {
        writeln!(out, "\n**Findings**\n")?;
    }
    for finding in &run.findings {
        let of = finding
            .tenant
            .as_deref()
            .map_or_else(String::new, |tenant| format!(" ({})", escaped(tenant)));
        writeln!(
            out,
            "- `{}`{of}: {} *{}*",
            finding.code,
            escaped(&finding.message),
            escaped(&finding.advice)
        )?;
    }
    Ok(())
}

fn tenants(summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
    let energy = summary
        .tenants
        .iter()
        .any(|tenant| tenant.energy_mj_per_frame.is_some());
    let columns = "| tenant | backend | p50 | p99 | max | deadline | missed | frames/s | dropped |";
    let rule = "|---|---|---:|---:|---:|---:|---:|---:|---:|";
    let (more, more_rule) = if energy {
        (" mJ/frame |", "---:|")
    } else {
        ("", "")
    };
    writeln!(out, "{columns}{more}\n{rule}{more_rule}")?;
    for tenant in &summary.tenants {
        let TenantSummary {
            response_ms: of,
            frames,
            ..
        } = tenant;
        write!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            escaped(&tenant.name),
            escaped(&tenant.backend),
            with_interval(of.p50, of.ci95.p50),
            p99(of),
            or_unknown(of.max, short),
            or_unknown(tenant.deadline_ms, short),
            // Without a promise there is none to break; a drop is a miss all the same.
            or_unknown(
                tenant
                    .miss_rate
                    .filter(|_| tenant.deadline_ms.is_some() || frames.missed > 0),
                percent
            ),
            or_unknown(tenant.throughput_fps, short),
            frames.dropped
        )?;
        if energy {
            let per_frame = tenant.energy_mj_per_frame.as_ref();
            write!(out, " {} |", or_unknown(per_frame.map(|of| of.total), short))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// The total power, where it is known.
fn power(summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
    let Some(energy) = &summary.energy else {
        return Ok(());
    };
    let watts = |mw: Option<f64>| or_unknown(mw, |mw| format!("{} W", short(mw / 1e3)));
    writeln!(
        out,
        "\n**Power** ({}): mean {}, median {}, p95 {}, peak {}; {} J",
        energy.of,
        watts(Some(energy.mean_mw)),
        watts(energy.median_mw),
        watts(energy.p95_mw),
        watts(energy.peak_mw),
        short(energy.total_mj / 1e3)
    )
}

/// The quantile, or the number of frames that it needs.
fn p99(of: &Stats) -> String {
    match (of.p99, of.count) {
        (None, 1..) => format!("{UNKNOWN} (too few frames)"),
        (p99, _) => with_interval(p99, of.ci95.p99),
    }
}

fn with_interval(ms: Option<f64>, interval: Option<[f64; 2]>) -> String {
    match (ms, interval) {
        (Some(ms), Some([low, high])) => format!("{} ({}–{})", short(ms), short(low), short(high)),
        (ms, _) => or_unknown(ms, short),
    }
}

fn expectations(summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
    if summary.expectations.is_empty() {
        return Ok(());
    }
    let hold = summary.expectations.iter().filter(|one| one.holds).count();
    writeln!(
        out,
        "\n**Expectations**: {hold} of {} hold\n",
        summary.expectations.len()
    )?;
    for one in &summary.expectations {
        let mark = if one.holds { "✓" } else { "✗" };
        let found = match one.value {
            None => "cannot be decided".to_owned(),
            _ => value_of(one),
        };
        writeln!(out, "- {mark} `{}`: {found}", one.text.replace('`', "'"))?;
    }
    Ok(())
}

/// Escapes text for use in a Markdown table.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' => safe.push(' '),
            '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '\\' | '#' | '@' => {
                safe.push('\\');
                safe.push(c);
            }
            _ => safe.push(c),
        }
    }
    safe
}
