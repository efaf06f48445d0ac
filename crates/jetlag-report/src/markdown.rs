//! The report in GitHub's Markdown, for a pull request or a wiki: verdict, an answer for each tenant, every section with its
//! tables, findings.

use std::io::{self, Write};

use jetlag_figure::section::markdown::{escaped, section};

use crate::analysis::Summary;
use crate::analysis::summary::Verdict;
use crate::number::short;
use crate::sections::{self, answer};

/// Writes the summary as Markdown.
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
        "{} s measured; latency is the {}.\n",
        short(run.duration_s),
        run.latency
    )?;
    for tenant in &summary.tenants {
        writeln!(out, "- {}", escaped(&answer::tenant(tenant)))?;
    }
    for finding in &run.findings {
        let of = finding.tenant.as_deref();
        let of = of.map_or_else(String::new, |tenant| format!(" ({})", escaped(tenant)));
        writeln!(
            out,
            "- `{}`{of}: {} *{}*",
            finding.code,
            escaped(&finding.message),
            escaped(&finding.advice)
        )?;
    }
    let sections = sections::all(summary);
    // What has drawings alone is not there.
    let shown = sections.iter().map(section).filter(|text| !text.is_empty());
    for text in shown {
        write!(out, "\n{text}")?;
    }
    Ok(())
}
