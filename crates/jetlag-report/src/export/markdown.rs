//! A short summary in GitHub's Markdown, for a pull request: verdict, a table of tenants, expectations, findings.

use std::io::{self, Write};

use crate::analysis::Summary;
use crate::analysis::summary::{Stats, TenantSummary, Verdict};
use crate::digits::range;
use crate::number::{
    UNKNOWN, measured, or_unknown, percent, share_range, short, short_beside, tells_of_others,
};
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
                |rate| match tenant.miss_rate_ci95.filter(tells_of_others) {
                    Some(range) => format!("{} ({})", percent(rate), share_range(range)),
                    None => percent(rate),
                }
            ),
            or_unknown(tenant.throughput_fps, short),
            frames.dropped
        )?;
        if energy {
            let per_frame = tenant.energy_mj_per_frame.as_ref();
            write!(
                out,
                " {} |",
                or_unknown(per_frame, |of| measured(of.total, of.ci95))
            )?;
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

/// The quantile with its interval, or of which frames it is.
fn p99(of: &Stats) -> String {
    match (of.p99, of.ci95.p99, of.count) {
        (None, _, 1..) => format!("{UNKNOWN} (too few frames)"),
        (Some(p99), None, _) => format!("{} (this run)", short(p99)),
        (p99, interval, _) => with_interval(p99, interval),
    }
}

fn with_interval(ms: Option<f64>, interval: Option<[f64; 2]>) -> String {
    match (ms, interval) {
        (Some(ms), Some(bounds)) => format!("{} ({})", short_beside(ms, interval), range(bounds)),
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

/// Text for a line or a cell of a table, in which it reads as it is. Only what Markdown would take for its own is escaped:
/// code, cells, links, HTML and mentions everywhere; underlines and asterisks where they could begin or end emphasis.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let chars: Vec<char> = text.chars().collect();
    for (at, &c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| chars.get(before)).copied();
        let after = chars.get(at + 1).copied();
        let must = match c {
            '\n' | '\r' => {
                safe.push(' ');
                continue;
            }
            '|' | '`' | '[' | ']' => true,
            // HTML, also one that names no tag yet.
            '<' => after.is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?')),
            // An entity would be read as its character.
            '&' => after.is_some_and(|c| c == '#' || c.is_ascii_alphanumeric()),
            // Within a word an underline is one; with space on both sides an asterisk is one.
            '_' => !(is_word(before) && is_word(after)),
            '*' => !(is_space(before) && is_space(after)),
            // Two of them strike through what is between.
            '~' => text.matches('~').count() > 1,
            // It escapes only punctuation.
            '\\' => after.is_none_or(|c| c.is_ascii_punctuation()),
            '@' => after.is_some_and(char::is_alphanumeric),
            // A number after it links to an issue.
            '#' => after.is_some_and(|c| c.is_ascii_digit()),
            _ => false,
        };
        if must {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}

fn is_word(c: Option<char>) -> bool {
    c.is_some_and(char::is_alphanumeric)
}

fn is_space(c: Option<char>) -> bool {
    c.is_none_or(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_markdown_would_take_for_its_own_is_escaped_and_nothing_else() {
        for plain in [
            "front_left",
            "x < y > z",
            "2 * 3",
            r"C:\new",
            "a & b",
            "~5 s",
            "run #a",
            "(see: sudo nvpmodel -q)",
        ] {
            assert_eq!(escaped(plain), plain);
        }
        for (text, safe) in [
            ("a|b", r"a\|b"),
            ("_a_", r"\_a\_"),
            ("*a*", r"\*a\*"),
            ("`a`", r"\`a\`"),
            ("[a](b)", r"\[a\](b)"),
            ("<b>", r"\<b>"),
            ("&amp;", r"\&amp;"),
            (r"\*", r"\\\*"),
            ("~~a~~", r"\~\~a\~\~"),
            ("#1 @me", r"\#1 \@me"),
            ("two\nlines", "two lines"),
        ] {
            assert_eq!(escaped(text), safe);
        }
    }
}
