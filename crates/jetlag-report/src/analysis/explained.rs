//! Findings that follow from another one, which is told in their place: six things to do where one would do help nobody.

use std::collections::HashSet;

use serde::Serialize;

use crate::analysis::code::Code;
use crate::analysis::finding::Finding;

/// A finding with the one that it follows from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// The finding as it would stand by itself.
    #[serde(flatten)]
    pub finding: Finding,
    /// The code of the finding that explains it.
    pub explained_by: String,
}

/// What a host that other programs use brings about in any run.
const ON_A_BUSY_HOST: [Code; 7] = [
    Code::LateReleases,
    Code::PhaseLateReleases,
    Code::NotSettled,
    Code::Drift,
    Code::LatencyShift,
    Code::Wanders,
    Code::SamplerGaps,
];

/// And of a tenant whose work is executed by the host's processors.
const EXECUTED_ON_IT: [Code; 2] = [Code::Overload, Code::PhaseOverload];

/// Sets apart what follows from a busy host; `on_host` are the tenants that its processors execute.
pub(super) fn apart(findings: Vec<Finding>, on_host: &HashSet<&str>) -> (Vec<Finding>, Vec<Explained>) {
    let busy = Code::HostBusy.word();
    if !findings.iter().any(|finding| finding.code == busy) {
        return (findings, Vec::new());
    }
    let is_of = |codes: &[Code], finding: &Finding| codes.iter().any(|code| code.word() == finding.code);
    let is_executed = |finding: &Finding| {
        finding
            .tenant
            .as_deref()
            .is_some_and(|tenant| on_host.contains(tenant))
    };
    let overloaded: HashSet<String> = findings
        .iter()
        .filter(|finding| is_of(&[Code::Overload], finding) && is_executed(finding))
        .filter_map(|finding| finding.tenant.clone())
        .collect();
    let follows = |finding: &Finding| {
        let tenant = finding.tenant.as_ref();
        is_of(&ON_A_BUSY_HOST, finding)
            || is_of(&EXECUTED_ON_IT, finding) && is_executed(finding)
            // Frames that it dropped for want of a processor are not there to count.
            || is_of(&[Code::TooFewSamples], finding) && tenant.is_some_and(|tenant| overloaded.contains(tenant))
    };
    let (followers, findings): (Vec<Finding>, Vec<Finding>) = findings.into_iter().partition(follows);
    let explained = followers
        .into_iter()
        .map(|finding| Explained {
            finding,
            explained_by: busy.to_owned(),
        })
        .collect();
    (findings, explained)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::finding::Facts;

    fn finding(code: Code, tenant: Option<&str>) -> Finding {
        Finding {
            code: code.word().to_owned(),
            tenant: tenant.map(str::to_owned),
            message: "…".to_owned(),
            advice: "…".to_owned(),
            facts: Facts::default(),
        }
    }

    #[test]
    fn what_follows_from_a_busy_host_is_set_apart_and_nothing_else() {
        let all = || {
            vec![
                finding(Code::HostBusy, None),
                finding(Code::LateReleases, Some("camera")),
                finding(Code::Wanders, Some("camera")),
                finding(Code::Overload, Some("camera")),
                finding(Code::TooFewSamples, Some("camera")),
                finding(Code::Overload, Some("gpu")),
                finding(Code::TooFewSamples, Some("gpu")),
            ]
        };
        let on_host = HashSet::from(["camera"]);
        let (findings, explained) = apart(all(), &on_host);
        let told: Vec<_> = findings
            .iter()
            .map(|f| (f.code.as_str(), f.tenant.as_deref()))
            .collect();
        assert_eq!(
            told,
            [
                ("host-busy", None),
                ("overload", Some("gpu")),
                ("too-few-samples", Some("gpu"))
            ]
        );
        assert_eq!(explained.len(), 4);
        assert!(explained.iter().all(|of| of.explained_by == "host-busy"));
        // On a quiet host each stands by itself.
        let quiet = all().split_off(1);
        assert_eq!(apart(quiet.clone(), &on_host), (quiet, Vec::new()));
    }
}
