//! Which section a finding stands in: beside the figures that it limits.

use super::view::{Block, FindingView, Section, words};
use crate::analysis::summary::Finding;

/// What a finding touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Touches {
    /// Everything: it stands in the headline.
    Run,
    /// What became of a tenant's frames, and how it was served.
    Tenants,
    /// Response times over time.
    Time,
    /// Where the time goes.
    Stages,
    /// Slowdowns and the phases that they are made of.
    Slowdown,
    /// Time per layer.
    Layers,
    /// Traced phases.
    Kernels,
    /// Power, clocks, temperatures and their sensors.
    Power,
    /// Expectations.
    Expectations,
}

impl Touches {
    /// By the finding's code; `None` for one that is not known here.
    fn of_code(code: &str) -> Option<Touches> {
        Some(match code {
            "truncated-file" | "newer-scenario" | "short-run" | "not-started" | "process-died"
            | "lost-records" | "host-busy" | "own-cost" | "lost-ranges" | "traced-frames" => Touches::Run,
            "impossible-stamps" | "tenant-failed" | "failed-frames" | "no-frames" | "overload"
            | "late-releases" | "too-few-samples" | "source-damaged" | "zeros-for-missing" => {
                Touches::Tenants
            }
            "not-settled" | "drift" | "latency-shift" | "wanders" => Touches::Time,
            "host-bound" | "compute-unclear" | "source-late" | "shared-behind" => Touches::Stages,
            "phase-overload"
            | "phase-failed"
            | "phase-late-releases"
            | "phase-ended-early"
            | "no-baseline"
            | "not-protected" => Touches::Slowdown,
            "profiled" | "no-node-times" | "few-node-times" => Touches::Layers,
            "perturbed" | "trace-incomplete" => Touches::Kernels,
            "idle-power-not-measured"
            | "power-not-measured"
            | "no-total-power"
            | "short-for-sensor"
            | "rails-do-not-add-up"
            | "energy-disagrees"
            | "counter-reset"
            | "sampler-hangs"
            | "sampler-gaps"
            | "lines-skipped"
            | "sampler-ended"
            | "source-missing"
            | "throttled"
            | "over-current"
            | "clock-fell"
            | "clocks-moved"
            | "power-mode-changed"
            | "temperature-rising" => Touches::Power,
            "expectation-undecided" | "outputs-not-compared" => Touches::Expectations,
            _ => return None,
        })
    }

    /// The end of its section's id.
    fn section(self) -> Option<&'static str> {
        Some(match self {
            Touches::Run => return None,
            Touches::Tenants => "tenants",
            Touches::Time => "time",
            Touches::Stages => "stages",
            Touches::Slowdown => "slowdown",
            Touches::Layers => "layers",
            Touches::Kernels => "kernels",
            Touches::Power => "power",
            Touches::Expectations => "expectations",
        })
    }
}

/// Puts each finding into the section that it touches; those that touch the whole run, or a section that the page does not
/// have, are returned for the headline.
pub(super) fn placed(findings: &[Finding], prefix: &str, sections: &mut [Section]) -> Vec<FindingView> {
    let mut of_run = Vec::new();
    for (number, finding) in (1..).zip(findings) {
        let touched = match (Touches::of_code(&finding.code), &finding.tenant) {
            (Some(touched), _) => touched,
            (None, Some(_)) => Touches::Tenants,
            (None, None) => Touches::Run,
        };
        let finding = view(finding, format!("{prefix}-finding{number}"));
        let id = touched.section().map(|section| format!("{prefix}-{section}"));
        let place = id.and_then(|id| sections.iter_mut().find(|section| section.id == id));
        match place {
            Some(section) => {
                let after = section
                    .blocks
                    .iter()
                    .take_while(|block| matches!(block, Block::Finding(_)));
                let after = after.count();
                section.blocks.insert(after, Block::Finding(finding));
            }
            None => of_run.push(finding),
        }
    }
    of_run
}

/// A finding as the page shows it.
pub(super) fn view(finding: &Finding, id: String) -> FindingView {
    FindingView {
        id,
        code: finding.code.clone(),
        tenant: finding.tenant.clone().unwrap_or_default(),
        message: words(&finding.message),
        advice: words(&finding.advice),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summary::Facts;

    #[test]
    fn every_code_of_the_documentation_has_its_place() {
        let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/measurement.md");
        let docs = std::fs::read_to_string(docs).unwrap();
        let (_, findings) = docs.split_once("## Findings and the verdict").unwrap();
        let findings = findings.split("\n## ").next().unwrap();
        let rows = findings.lines().filter_map(|line| line.strip_prefix("| `"));
        let codes: Vec<&str> = rows
            .filter_map(|row| row.split(" |").next())
            .flat_map(|codes| codes.split(['`', ',', ' ']))
            .filter(|code| !code.is_empty())
            .collect();
        assert!(codes.len() > 40, "{codes:?}");
        for code in codes {
            assert!(Touches::of_code(code).is_some(), "{code}");
        }
    }

    #[test]
    fn what_has_no_section_stands_in_the_headline() {
        let finding = |code: &str, tenant: Option<&str>| Finding {
            code: code.to_owned(),
            tenant: tenant.map(str::to_owned),
            message: String::new(),
            advice: String::new(),
            facts: Facts::default(),
        };
        let mut sections = [Section {
            id: "run1-power".to_owned(),
            title: "Power and clocks".into(),
            note: String::new(),
            blocks: vec![Block::Text(words("figures"))],
        }];
        let findings = [
            finding("throttled", None),
            finding("short-run", None),
            finding("clocks-moved", None),
            finding("overload", Some("camera")),
        ];
        let of_run = placed(&findings, "run1", &mut sections);
        let codes: Vec<&str> = of_run.iter().map(|finding| finding.code.as_str()).collect();
        assert_eq!(codes, ["short-run", "overload"]);
        let there: Vec<&str> = sections[0]
            .blocks
            .iter()
            .map(|block| match block {
                Block::Finding(finding) => finding.id.as_str(),
                _ => "figures",
            })
            .collect();
        assert_eq!(there, ["run1-finding1", "run1-finding3", "figures"]);
    }
}
