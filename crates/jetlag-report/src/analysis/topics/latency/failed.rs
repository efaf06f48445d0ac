//! How a tenant failed, for programs: its stage and kind follow from findings and from how its measurement ended; only the sentence
//! comes from the log.

use crate::analysis::code::Code;
use crate::analysis::finding::Finding;
use crate::analysis::summary::TenantSummary;
use crate::record::{EndReason, Failure, FailureKind, FailureStage, NOT_STARTED, PhaseRecord};

/// What became of a tenant that failed; none of one that did not.
pub(in crate::analysis) fn of(
    tenant: &TenantSummary,
    findings: &[Finding],
    end: Option<&PhaseRecord>,
    cause: Option<&str>,
) -> Option<Failure> {
    let finding = |code: &str| {
        let mut own = findings
            .iter()
            .filter(|finding| finding.tenant.as_deref() == Some(tenant.name.as_str()));
        own.find(|finding| finding.code == code)
    };
    let failed = |stage, kind, message: &str| {
        Some(Failure {
            stage,
            kind,
            tenant: Some(tenant.name.clone()),
            message: cause.unwrap_or(message).to_owned(),
        })
    };
    // A tenant alone is left out of a run only where its device has no room for it.
    if let Some(found) = finding(NOT_STARTED) {
        return failed(FailureStage::Start, FailureKind::OutOfMemory, &found.message);
    }
    for (code, kind) in [
        ("device-hangs", FailureKind::Hang),
        ("process-died", FailureKind::Died),
    ] {
        if let Some(found) = finding(code) {
            return failed(FailureStage::Run, kind, &found.message);
        }
    }
    if end.is_some_and(|end| end.reason == EndReason::Failed) {
        let message = finding(Code::TenantFailed.word()).map_or("it could not go on", |found| &found.message);
        return failed(FailureStage::Run, FailureKind::Frames, message);
    }
    let found = finding(Code::NoFrames.word())?;
    let kind = match tenant.frames.failed + tenant.frames.failed_in_warmup > 0 {
        true => FailureKind::Frames,
        false => FailureKind::NoFrames,
    };
    failed(FailureStage::Run, kind, &found.message)
}
