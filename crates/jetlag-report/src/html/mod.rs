//! Runs as one HTML page that opens from disk: no network, no other files, and readable without script.
//!
//! The markup is in `templates/`, which askama checks when jetlag is built; `charts` draws the charts. Figures and
//! texts are the summary's, rounded as on the terminal.

mod cards;
mod charts;
mod comparison;
mod drawings;
#[allow(unreachable_pub, reason = "the macro makes more of a filter, which is public")]
mod filters;
mod findings;
mod overlay;
mod pictures;
pub mod roofline;
mod sections;
mod timeline;
mod traced;
mod view;

use std::io::{self, Write};

use askama::Template;

use crate::analysis::compare::{Comparison, Incomparable};
use crate::analysis::roofline::RunRoofline;
use crate::analysis::summary::Verdict;
use crate::analysis::{Recorded, Summary};
use crate::record::Manifest;
use crate::record::shown::shown;
use crate::sections::answer;
pub use pictures::{Picture, Pictures};
use view::{Block, FindingView, Section};

/// A run to be reported.
pub struct Reported {
    /// The manifest of the run file.
    pub manifest: Manifest,
    /// The figures of the run.
    pub summary: Summary,
    /// Its layers with their work; `None` where only its summary is at hand.
    pub roofline: Option<RunRoofline>,
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
    /// How many expectations hold, and the class of that; empty where there are none.
    expected: String,
    expected_class: &'static str,
    /// The answer, a sentence for each tenant and some on the machine.
    answers: Vec<Answer>,
    /// Links to findings that stand further down.
    elsewhere: Vec<Elsewhere>,
    /// Findings on the run as a whole.
    findings: Vec<FindingView>,
    sections: Vec<Section>,
}

/// A sentence of the answer, with the number of its tenant's colour.
struct Answer {
    colour: Option<usize>,
    text: String,
}

/// The findings of one code that stand in a section.
struct Elsewhere {
    code: String,
    /// Where the first stands.
    id: String,
    /// Where each tenant's stands, by the tenant's name.
    tenants: Vec<(String, String)>,
    section: String,
}

/// The comparison of several runs with the first, or why there is none.
pub type Compared = Result<Comparison, Incomparable>;

/// Writes the page of one run, or of several with their comparison first.
pub fn write(runs: &[Reported], compared: Option<&Compared>, out: &mut dyn Write) -> io::Result<()> {
    write_with_pictures(runs, &[], compared, out)
}

/// As [`write()`], with frames of the runs as pictures: one for each run, in the same order; those beyond the last have none.
pub fn write_with_pictures(
    runs: &[Reported],
    pictures: &[Pictures],
    compared: Option<&Compared>,
    out: &mut dyn Write,
) -> io::Result<()> {
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
            .map(|(number, run)| view_of(number, run, pictures.get(number), runs.len()))
            .collect(),
    };
    // Names of other people's files may hold what acts instead of being shown: escape sequences, marks that turn letters round.
    let text = page.render().map_err(io::Error::other)?;
    out.write_all(shown(&text).as_bytes())
}

fn view_of(number: usize, run: &Reported, shown: Option<&Pictures>, of: usize) -> RunView {
    let Reported {
        manifest,
        summary,
        roofline,
    } = run;
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
    let mut sections = sections::all(summary, &id);
    after(
        &mut sections,
        &format!("{id}-time"),
        timeline::section(summary, &id, of),
    );
    after(
        &mut sections,
        &format!("{id}-slowest"),
        shown.and_then(|shown| pictures::section(shown, &id)),
    );
    sections.extend(sections::setup(manifest, summary, roofline.as_ref(), &id));
    let of_run = findings::placed(&summary.run.findings, &id, &mut sections);
    let expected = answer::expectations(&summary.expectations);
    RunView {
        id,
        label,
        name: summary.run.name.clone(),
        file: summary.run.file.clone().unwrap_or_default(),
        verdict,
        verdict_class,
        about: match summary.run.recorded {
            Recorded::Machine => format!(
                "{:.1} s of this machine recorded; {findings}",
                summary.run.duration_s
            ),
            Recorded::Scenario | Recorded::Program => {
                format!("{:.1} s measured{simulated}; {findings}", summary.run.duration_s)
            }
        },
        expected: expected.unwrap_or_default(),
        expected_class: expected_class(summary),
        answers: answers(summary),
        elsewhere: elsewhere(&sections),
        findings: of_run,
        sections,
    }
}

fn expected_class(summary: &Summary) -> &'static str {
    let mut results = summary.expectations.iter();
    match summary.expectations_hold() {
        true => "valid",
        false if results.any(|result| result.value.is_some() && !result.holds) => "broken",
        false => "limited",
    }
}

fn answers(summary: &Summary) -> Vec<Answer> {
    let of_machine = |text| Answer { colour: None, text };
    let tenants = summary.tenants.iter().enumerate();
    let mut answers: Vec<Answer> = tenants
        .map(|(number, tenant)| Answer {
            colour: Some(number % 8),
            text: answer::tenant(tenant),
        })
        .collect();
    if summary.tenants.is_empty() {
        answers.extend(answer::machine(summary).into_iter().map(of_machine));
    }
    answers.push(of_machine(answer::power(summary)));
    answers
}

fn elsewhere(sections: &[Section]) -> Vec<Elsewhere> {
    let mut all: Vec<Elsewhere> = Vec::new();
    for section in sections {
        for block in &section.blocks {
            let Block::Finding(finding) = block else { continue };
            let known = all.iter().position(|known| known.code == finding.code);
            let place = known.unwrap_or(all.len());
            if known.is_none() {
                all.push(Elsewhere {
                    code: finding.code.clone(),
                    id: finding.id.clone(),
                    tenants: Vec::new(),
                    section: section.title.to_string(),
                });
            }
            if !finding.tenant.is_empty() {
                all[place]
                    .tenants
                    .push((finding.tenant.clone(), finding.id.clone()));
            }
        }
    }
    all
}

/// Puts a section behind the one of this id, and at the end where that is absent.
fn after(sections: &mut Vec<Section>, id: &str, section: Option<Section>) {
    let Some(section) = section else { return };
    let place = sections.iter().position(|known| known.id == id);
    sections.insert(place.map_or(sections.len(), |place| place + 1), section);
}
