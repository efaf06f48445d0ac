//! Results as JUnit XML, for a CI's page of tests: a suite for each run, with a case for each tenant (it produced frames and
//! went on), for each expectation, and two for the record (nothing is missing in it, and the run was not interrupted).
//!
//! What fails a run is a *failure*; what cannot be judged is an *error*, which a CI counts as broken too. Elements and
//! attributes are those that both schemas in use allow: that of Apache Ant's reports and that of Jenkins.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::analysis::Summary;
use crate::analysis::summary::{ExpectationResult, Finding, TenantSummary};
use crate::github::{broken, in_a_line, undecided};
use crate::record::shown::{is_obeyed, shown};
use crate::record::{Manifest, Utc};

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum End {
    Passed,
    Failed(String),
    /// Nothing is known.
    Unknown(String),
}

struct Case {
    class: &'static str,
    name: String,
    end: End,
}

/// Writes the results of runs.
pub fn write(runs: &[(&Manifest, &Summary)], out: &mut dyn Write) -> io::Result<()> {
    let suites = runs.iter().enumerate();
    let suites: String = suites
        .map(|(number, (manifest, summary))| suite(number, manifest, summary))
        .collect();
    document(&suites, out)
}

/// Writes what stands for a run until it has ended: an error, so that no older file is taken for its result.
pub fn write_unfinished(name: &str, unix_seconds: u64, out: &mut dyn Write) -> io::Result<()> {
    let cases = [Case {
        class: "run",
        name: "the run ended".to_owned(),
        end: End::Unknown("the run has not ended, or it ended without a result; its log says why".to_owned()),
    }];
    document(&element(0, name, unix_seconds, 0.0, &cases, &[], ""), out)
}

fn document(suites: &str, out: &mut dyn Write) -> io::Result<()> {
    write!(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n{suites}</testsuites>\n"
    )
}

fn suite(number: usize, manifest: &Manifest, summary: &Summary) -> String {
    let run = &summary.run;
    let mut cases: Vec<Case> = summary
        .tenants
        .iter()
        .map(|tenant| of_tenant(tenant, summary))
        .collect();
    cases.extend(
        summary
            .expectations
            .iter()
            .map(|result| of_expectation(result, &run.findings)),
    );
    cases.extend(of_record(summary));
    let mut properties = vec![
        ("jetlag", manifest.jetlag_version.clone()),
        ("clock", run.clock.to_owned()),
    ];
    properties.extend(run.file.iter().map(|file| ("run file", file.clone())));
    let mut lines: Vec<String> = summary
        .tenants
        .iter()
        .map(|tenant| format!("{}: {}", tenant.name, in_a_line(tenant)))
        .collect();
    lines.extend(run.findings.iter().map(said));
    let at = u64::try_from(manifest.anchor_unix_ns).unwrap_or(0) / 1_000_000_000;
    element(
        number,
        &run.name,
        at,
        run.duration_s,
        &cases,
        &properties,
        &lines.join("\n"),
    )
}

/// A tenant that could not go on has failed; of one that completed nothing for no fault of its own, nothing is known.
fn of_tenant(tenant: &TenantSummary, summary: &Summary) -> Case {
    let failure = summary
        .failures()
        .find(|finding| finding.tenant.as_ref() == Some(&tenant.name));
    let end = match failure {
        Some(finding) => End::Failed(said(finding)),
        None if tenant.frames.completed == 0 => {
            let of_it = |finding: &&Finding| finding.tenant.as_ref() == Some(&tenant.name);
            let why = summary.run.findings.iter().find(of_it);
            End::Unknown(why.map_or_else(|| "it completed no frame".to_owned(), said))
        }
        None => End::Passed,
    };
    Case {
        class: "tenants",
        name: format!("{} produced frames", tenant.name),
        end,
    }
}

fn of_expectation(result: &ExpectationResult, findings: &[Finding]) -> Case {
    let end = match (result.holds, result.value) {
        (true, _) => End::Passed,
        (false, Some(_)) => End::Failed(broken(result)),
        (false, None) => End::Unknown(undecided(result, findings).map_or_else(|| broken(result), said)),
    };
    Case {
        class: "expectations",
        name: result.text.clone(),
        end,
    }
}

/// Whether what was recorded is what was to be recorded.
fn of_record(summary: &Summary) -> [Case; 2] {
    let gap = summary
        .run
        .findings
        .iter()
        .find(|finding| Summary::is_gap(finding));
    let interruption = summary.interruption();
    [
        Case {
            class: "record",
            name: "nothing is missing in the record".to_owned(),
            end: gap.map_or(End::Passed, |finding| End::Failed(said(finding))),
        },
        Case {
            class: "record",
            name: "the run was not interrupted".to_owned(),
            end: interruption.map_or(End::Passed, |finding| End::Unknown(said(finding))),
        },
    ]
}

fn said(finding: &Finding) -> String {
    format!("{}: {} {}", finding.code, finding.message, finding.advice)
}

fn element(
    number: usize,
    name: &str,
    unix_seconds: u64,
    seconds: f64,
    cases: &[Case],
    properties: &[(&str, String)],
    said: &str,
) -> String {
    let count = |of: fn(&End) -> bool| cases.iter().filter(|case| of(&case.end)).count();
    let mut text = String::new();
    let name = escaped(name);
    let _ = writeln!(
        text,
        "  <testsuite name=\"{name}\" timestamp=\"{}\" hostname=\"localhost\" tests=\"{}\" failures=\"{}\" errors=\"{}\" \
         time=\"{seconds:.3}\" package=\"jetlag\" id=\"{number}\">",
        Utc::of(unix_seconds).iso(),
        cases.len(),
        count(|end| matches!(end, End::Failed(_))),
        count(|end| matches!(end, End::Unknown(_))),
    );
    text.push_str("    <properties>\n");
    for (property, value) in properties {
        let _ = writeln!(
            text,
            "      <property name=\"{}\" value=\"{}\"/>",
            escaped(property),
            escaped(value)
        );
    }
    text.push_str("    </properties>\n");
    for case in cases {
        let head = format!(
            "    <testcase name=\"{}\" classname=\"jetlag.{name}.{}\" time=\"0.000\"",
            escaped(&case.name),
            case.class
        );
        let _ = match &case.end {
            End::Passed => writeln!(text, "{head}/>"),
            End::Failed(why) => writeln!(
                text,
                "{head}>\n{}    </testcase>",
                problem("failure", "broken", why)
            ),
            End::Unknown(why) => {
                writeln!(
                    text,
                    "{head}>\n{}    </testcase>",
                    problem("error", "cannot be judged", why)
                )
            }
        };
    }
    let _ = writeln!(
        text,
        "    <system-out>{}</system-out>\n    <system-err></system-err>\n  </testsuite>",
        escaped(said)
    );
    text
}

fn problem(element: &str, kind: &str, why: &str) -> String {
    format!(
        "      <{element} message=\"{}\" type=\"{kind}\">{0}</{element}>\n",
        escaped(why)
    )
}

/// Escaped for text and attributes; what XML cannot hold at all is shown as a replacement character.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // XML cannot hold all of it, and who prints a result prints it to a terminal.
            c if is_obeyed(c) && !matches!(c, '\r') => {
                safe.push_str(&shown(c.encode_utf8(&mut [0; 4])));
            }
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            // A reader would turn them into blanks in attributes.
            '\n' => safe.push_str("&#10;"),
            '\t' => safe.push_str("&#9;"),
            '\r' => safe.push_str("&#13;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_cannot_hold_is_replaced_and_the_rest_is_escaped() {
        assert_eq!(
            escaped("a<b> & \"c\" 'd'\n\u{1b}[31m\u{ffff}"),
            "a&lt;b&gt; &amp; &quot;c&quot; &apos;d&apos;&#10;\\u001b[31m\u{fffd}"
        );
    }

    #[test]
    fn a_run_that_has_not_ended_is_an_error() {
        let mut out = Vec::new();
        write_unfinished("demo", 0, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("tests=\"1\" failures=\"0\" errors=\"1\""), "{text}");
        assert!(text.contains("<error message=\"the run has not ended"), "{text}");
    }
}
