//! What a tenant whose outputs have a reference promises, and whether it holds.

use crate::analysis::summary::{ExpectationResult, TenantSummary, Unit};
use crate::record::TenantManifest;

/// Each output is within the tolerances. Undecided where one was not compared.
pub(in crate::analysis) fn promise(
    manifest: &TenantManifest,
    tenant: &TenantSummary,
) -> Option<ExpectationResult> {
    let rules = manifest.record_outputs.as_ref()?;
    rules.reference.as_ref()?;
    let all: Option<u64> = tenant.outputs.iter().map(|output| output.differing).sum();
    let value = all.filter(|_| !tenant.outputs.is_empty());
    Some(ExpectationResult {
        text: format!(
            "{}.outputs within {:?} + {:?} × |reference|: 0 elements differ",
            tenant.name, rules.absolute, rules.relative
        ),
        holds: value.is_some() && tenant.outputs.iter().all(|output| output.within == Some(true)),
        value: value.map(|count| count as f64),
        unit: Some(Unit::Count),
        ci95: None,
        certain: None,
    })
}
