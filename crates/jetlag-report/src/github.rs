//! Annotations for GitHub Actions, as workflow commands: `::error title=…::…` for what fails the run, `::warning` for each
//! finding, `::notice` with a line for each tenant.
//!
//! The grammar is GitHub's: a percent sign and the ends of lines are escaped in messages, and a colon and a comma in
//! properties as well, so that no text of a run can end its annotation or begin another. GitHub shows the first ten of each
//! kind, so what fails comes first.

use std::io::{self, Write};

use crate::analysis::Summary;
use crate::analysis::compare::{Comparison, LimitResult};
use crate::analysis::figures::key::Shown;
use crate::analysis::summary::{EnergySummary, ExpectationResult, Finding, PowerBudget, TenantSummary};
use crate::compare::sentence;
use crate::number::{measured, or_unknown, percent, short};
use crate::sections::{columns, value_of};

/// How GitHub shows an annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Error,
    Warning,
    Notice,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Error => "error",
            Kind::Warning => "warning",
            Kind::Notice => "notice",
        }
    }
}

/// Writes the annotations of a run.
pub fn write(summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
    let run = &summary.run.name;
    let mut annotate = |kind, title: &str, message: &str| annotation(kind, title, message, out);
    for finding in summary.failures() {
        let title = format!("{run}: {}", finding.code);
        annotate(Kind::Error, &title, &said(&finding.message, &finding.advice))?;
    }
    for result in summary.expectations.iter().filter(|result| !result.holds) {
        let title = format!("{run}: expectation not met");
        let why = undecided(result, &summary.run.findings);
        let message = why.map_or_else(
            || broken(result),
            |finding| said(&finding.message, &finding.advice),
        );
        annotate(Kind::Error, &title, &message)?;
    }
    let mut told: Vec<&Finding> = summary.failures().collect();
    let results = summary.expectations.iter();
    told.extend(results.filter_map(|result| undecided(result, &summary.run.findings)));
    for finding in &summary.run.findings {
        if told.contains(&finding) {
            continue;
        }
        // Records that are missing end the run with an exit code of their own.
        let kind = match Summary::is_gap(finding) {
            true => Kind::Error,
            false => Kind::Warning,
        };
        let title = format!("{run}: {}", finding.code);
        annotate(kind, &title, &said(&finding.message, &finding.advice))?;
    }
    for tenant in &summary.tenants {
        annotate(
            Kind::Notice,
            &format!("{run}: {}", tenant.name),
            &in_a_line(tenant),
        )?;
    }
    if let Some(budget) = &summary.budget {
        let (kind, message) = against(budget);
        let title = format!("{run}: budget {} W", short(budget.limit_mw / 1e3));
        annotate(kind, &title, &message)?;
    }
    if let Some(energy) = &summary.energy {
        annotate(Kind::Notice, &format!("{run}: power"), &power(energy))?;
    }
    Ok(())
}

/// A power budget: a warning where it was exceeded or nothing is known. It does not fail a run; `expect` does that.
fn against(budget: &PowerBudget) -> (Kind, String) {
    let (Some(share), Some(above), Some(covered)) = (budget.share_above, budget.above_s, budget.covered)
    else {
        let why = budget.withheld.as_deref().unwrap_or("there is no total");
        return (Kind::Warning, format!("cannot be judged: {why}"));
    };
    let of = budget.of.unwrap_or("total");
    let seen = match covered < 0.99 {
        true => format!(", as far as it was measured ({} of the run)", percent(covered)),
        false => String::new(),
    };
    let Some(longest) = budget.moments.first() else {
        return (Kind::Notice, format!("{of} was never above it{seen}"));
    };
    let message = format!(
        "{of} was above it for {} of the time ({} s){seen}; the longest moment began at {} s and lasted {} s, with a peak of {} W",
        percent(share),
        short(above),
        short(longest.at_s),
        short(longest.length_s),
        short(longest.peak_mw / 1e3)
    );
    (Kind::Warning, message)
}

/// Writes the annotations of a comparison: an error for each limit that is passed, a notice for each figure.
pub fn write_comparison(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    for limit in comparison
        .limits
        .iter()
        .filter(|limit| limit.passed != Some(false))
    {
        annotation(Kind::Error, "comparison: limit passed", &passed(limit), out)?;
    }
    for candidate in &comparison.candidates {
        let label = &candidate.side.label;
        for tenant in &candidate.tenants {
            let title = format!("{label} beside A: {}", tenant.name);
            if let Some(reason) = &tenant.not_compared {
                annotation(Kind::Warning, &title, &format!("not compared: {reason}"), out)?;
            }
            for figure in &tenant.figures {
                annotation(Kind::Notice, &title, &sentence(figure, label), out)?;
            }
        }
    }
    Ok(())
}

/// What an expectation that does not hold comes to.
pub(crate) fn broken(result: &ExpectationResult) -> String {
    match result.value {
        None => format!(
            "{} cannot be decided, so it does not hold; the findings say why",
            result.text
        ),
        Some(_) => format!("{} does not hold: {}", result.text, value_of(result)),
    }
}

/// The finding that says why an expectation cannot be decided, where one is about it alone.
pub(crate) fn undecided<'f>(result: &ExpectationResult, findings: &'f [Finding]) -> Option<&'f Finding> {
    let is_about = |finding: &&Finding| finding.facts["line"] == result.text;
    findings.iter().find(is_about).filter(|_| result.value.is_none())
}

/// A tenant in one line.
pub(crate) fn in_a_line(tenant: &TenantSummary) -> String {
    let ms = |value: Option<f64>| or_unknown(value, |ms| format!("{} ms", short(ms)));
    let mut parts = vec![
        format!("p50 {}", ms(tenant.response_ms.p50.value)),
        format!("p99 {}", ms(tenant.response_ms.p99.value)),
        format!("max {}", ms(tenant.response_ms.max)),
    ];
    if let (Some(rate), Some(deadline)) = (tenant.miss_rate, tenant.deadline_ms) {
        parts.push(format!("{} missed {} ms", percent(rate), short(deadline)));
    }
    parts.push(format!(
        "{} of {} frames completed",
        tenant.frames.completed, tenant.frames.offered
    ));
    parts.extend(columns::named(Shown::Frames, tenant));
    if let Some(energy) = &tenant.energy_mj_per_frame {
        parts.push(format!("{} mJ/frame", measured(energy.total, energy.ci95)));
    }
    parts.join(", ")
}

fn power(energy: &EnergySummary) -> String {
    let watts = |mw: Option<f64>| or_unknown(mw, |mw| format!("{} W", short(mw / 1e3)));
    format!(
        "{}: mean {}, p95 {}, peak {}, {} J",
        energy.of,
        watts(Some(energy.mean_mw)),
        watts(energy.p95_mw),
        watts(energy.peak_mw),
        short(energy.total_mj / 1e3)
    )
}

fn passed(limit: &LimitResult) -> String {
    let LimitResult { text, side, .. } = limit;
    match (limit.passed, limit.value.zip(limit.unit)) {
        (None, _) => {
            let why = limit.reason.as_deref().unwrap_or("no interval");
            format!("{text} in {side}: unknown, so it fails ({why})")
        }
        (_, Some((value, unit))) => format!("{text} in {side}: it is {}", unit.show(value)),
        (_, None) => format!("{text} in {side}: the whole interval is beyond the limit"),
    }
}

fn said(message: &str, advice: &str) -> String {
    format!("{message} {advice}")
}

fn annotation(kind: Kind, title: &str, message: &str, out: &mut dyn Write) -> io::Result<()> {
    let title = property(&format!("jetlag: {title}"));
    writeln!(out, "::{} title={title}::{}", kind.word(), data(message))
}

/// A message, escaped.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property's value, escaped.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn annotated(title: &str, message: &str) -> String {
        let mut out = Vec::new();
        annotation(Kind::Error, title, message, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// As GitHub's runner reads a line: its command, the title and the message.
    fn read(line: &str) -> Option<(String, String, String)> {
        let unescaped = |text: &str| {
            let text = text.replace("%0D", "\r").replace("%0A", "\n");
            text.replace("%3A", ":").replace("%2C", ",").replace("%25", "%")
        };
        let rest = line.trim_start().strip_prefix("::")?;
        let (head, message) = rest.split_once("::")?;
        let (command, properties) = head.split_once(' ')?;
        let title = properties
            .split(',')
            .find_map(|property| property.strip_prefix("title="))?;
        Some((command.to_owned(), unescaped(title), unescaped(message)))
    }

    #[test]
    fn what_would_end_an_annotation_or_begin_another_is_escaped() {
        assert_eq!(
            annotated("a: b, c", "99 %\r\n::error::x"),
            "::error title=jetlag%3A a%3A b%2C c::99 %25%0D%0A::error::x\n"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_one_line_that_the_runner_reads_back(
            title in "(?s).{0,20}", message in "(?s)(.|%|:|,|\n|\r|%0A|%25){0,20}",
        ) {
            let line = annotated(&title, &message);
            prop_assert_eq!(line.matches('\n').count(), 1);
            let read = read(line.trim_end_matches('\n')).unwrap();
            prop_assert_eq!(read, ("error".to_owned(), format!("jetlag: {title}"), message));
        }
    }
}
