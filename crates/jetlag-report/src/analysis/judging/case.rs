//! What the rules of findings look at of one tenant.

use crate::analysis::catalogue::{FramesLimit, Limit, ServingLimit};
use crate::analysis::summary::TenantSummary;
use crate::analysis::topics::latency::tenant::TenantFacts;
use crate::record::Manifest;
use crate::scenario::{Scenario, Tenant};

/// One tenant as the rules see it.
pub(super) struct Case<'a> {
    pub(super) manifest: &'a Manifest,
    pub(super) plan: &'a Scenario,
    pub(super) scenario: &'a Tenant,
    pub(super) summary: &'a TenantSummary,
    pub(super) facts: &'a TenantFacts,
}

impl Case<'_> {
    pub(super) fn frames(&self, limit: FramesLimit) -> Limit {
        Limit::Frames {
            tenant: self.scenario.name.clone(),
            limit,
        }
    }

    pub(super) fn serving(&self, limit: ServingLimit) -> Limit {
        Limit::Serving {
            tenant: self.scenario.name.clone(),
            limit,
        }
    }
}
