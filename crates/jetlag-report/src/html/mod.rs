//! Runs as one HTML page that opens from disk: no network, no other files, and readable without script.
//!
//! The markup is in `templates/`, which askama checks when jetlag is built; `charts` draws the charts. Figures and
//! texts are the summary's, rounded as on the terminal.

mod charts;
mod comparison;
mod interference;
mod machine;
mod overlay;
mod tenants;
mod timeline;
mod traced;
mod view;

use std::io::{self, Write};

use askama::Template;

use crate::analysis::Summary;
use crate::analysis::compare::{Comparison, Incomparable};
use crate::analysis::summary::{Finding, Verdict};
use crate::record::Manifest;
use view::{Block, Section, Words, words};

/// A run to be reported.
pub struct Reported {
    /// The manifest of the run file.
    pub manifest: Manifest,
    /// The figures of the run.
    pub summary: Summary,
}

#[derive(Template)]
#[template(path = "report.html")]
struct Page {
    version: &'static str,
    title: String,
    /// Whether any run has a trace: only then does the page have styles for it.
    traced: bool,
    /// Whether any run has a timeline: likewise.
    timeline: bool,
    before: Vec<Section>,
    runs: Vec<RunView>,
}

struct RunView {
    id: String,
    label: String,
    name: String,
    file: String,
    verdict: &'static str,
    verdict_class: &'static str,
    about: String,
    findings: Vec<FindingView>,
    sections: Vec<Section>,
}

struct FindingView {
    code: String,
    tenant: String,
    message: Words,
    advice: Words,
}

/// The comparison of several runs with the first, or why there is none.
pub type Compared = Result<Comparison, Incomparable>;

/// Writes the page of one run, or of several with their comparison first.
pub fn write(runs: &[Reported], compared: Option<&Compared>, out: &mut dyn Write) -> io::Result<()> {
    let title = match runs {
        [one] => one.summary.run.name.clone(),
        several => format!("{} runs", several.len()),
    };
    let page = Page {
        version: env!("CARGO_PKG_VERSION"),
        title,
        traced: runs.iter().any(|run| run.summary.kernels.is_some()),
        timeline: runs.iter().any(|run| run.summary.plots.course.is_some()),
        before: compared
            .map(|compared| comparison::section(compared, runs))
            .into_iter()
            .collect(),
        runs: runs
            .iter()
            .enumerate()
            .map(|(number, run)| view_of(number, run, runs.len()))
            .collect(),
    };
    let mut out = out;
    page.write_into(&mut out)
}

fn view_of(number: usize, run: &Reported, of: usize) -> RunView {
    let Reported { manifest, summary } = run;
    let label = u8::try_from(number)
        .ok()
        .filter(|number| *number < 26)
        .map_or(format!("#{}", number + 1), |number| {
            char::from(b'A' + number).to_string()
        });
    let id = format!("run{}", number + 1);
    let (verdict, verdict_class) = match summary.run.verdict {
        Verdict::Valid => ("VALID", "valid"),
        Verdict::Limited => ("LIMITED", "limited"),
    };
    let findings = match summary.run.findings.len() {
        0 => "no finding limits these numbers".to_owned(),
        1 => "limited by 1 finding".to_owned(),
        n => format!("limited by {n} findings"),
    };
    let simulated = if summary.run.clock == "virtual" {
        " of simulated time"
    } else {
        ""
    };
    let sections = [
        machine::expectations(summary, &id),
        tenants::cards(summary, &id),
        Some(machine::facts(manifest, summary, &id)),
        tenants::over_time(summary, &id),
        timeline::section(summary, &id, of),
        tenants::spread(summary, &id),
        tenants::stages(summary, &id),
        interference::section(summary, &id),
        interference::sensitivity(summary, &id),
        interference::inputs(summary, &id),
        interference::duty(summary, &id),
        interference::phases(summary, &id),
        machine::power(summary, &id).or_else(|| Some(not_measured("Power and clocks", &id, NO_POWER))),
        machine::energy(summary, &id),
        tenants::slowest(summary, &id),
        tenants::layers(summary, &id),
        traced::kernels(summary, &id),
        traced::contention(summary, &id),
        traced::frames(summary, &id),
    ];
    RunView {
        id,
        label,
        name: summary.run.name.clone(),
        file: summary.run.file.clone().unwrap_or_default(),
        verdict,
        verdict_class,
        about: format!("{:.1} s measured{simulated}; {findings}", summary.run.duration_s),
        findings: summary.run.findings.iter().map(finding).collect(),
        sections: sections.into_iter().flatten().collect(),
    }
}

const NO_POWER: &str =
    "No power, clock or temperature was sampled in this run. `jetlag doctor` lists this machine's sensors.";

fn not_measured(title: &'static str, prefix: &str, why: &str) -> Section {
    Section {
        id: format!("{prefix}-power"),
        title,
        note: String::new(),
        blocks: vec![Block::Text(words(why))],
    }
}

fn finding(finding: &Finding) -> FindingView {
    FindingView {
        code: finding.code.clone(),
        tenant: finding.tenant.clone().unwrap_or_default(),
        message: words(&finding.message),
        advice: words(&finding.advice),
    }
}
