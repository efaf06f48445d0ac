//! Checks whether a sharing mode that promises to protect a tenant did so: `Priority` for the tenant with the highest
//! priority, `Partition` for every tenant.
//!
//! A pure rule over slowdowns; `interference` computes these.

use jetlag_stats::quantile::Quantile;

use crate::analysis::catalogue::{Limit, Promise, ServingLimit};
use crate::analysis::summary::Slowdown;
use crate::scenario::{Scenario, Sharing, Tenant};

/// A tenant counts as protected unless the whole interval of its slowdown is above this.
const PROTECTED: f64 = 1.1;

/// A finding if the scenario's sharing mode promises this tenant something that it did not get.
pub(in crate::analysis) fn not_protected(
    scenario: &Scenario,
    tenant: &Tenant,
    slowdown: Option<&Slowdown>,
) -> Option<Limit> {
    let others = || scenario.tenants.iter().filter(|other| other.name != tenant.name);
    let promise = match scenario.sharing {
        Sharing::Priority if others().next().is_some() && others().all(|o| o.priority < tenant.priority) => {
            Promise::MostUrgent
        }
        Sharing::Partition => Promise::OwnMultiprocessors,
        _ => return None,
    };
    let Slowdown { p50, p99, .. } = slowdown?;
    // Protection is about the tail; if the sample does not support p99, the median is used.
    let (statistic, slowdown, interval) = match (p99.value, p99.ci95, p50.value, p50.ci95) {
        (Some(p99), Some(interval), ..) => (Quantile::P99, p99, interval),
        (.., Some(p50), Some(interval)) => (Quantile::P50, p50, interval),
        _ => return None,
    };
    (interval[0] > PROTECTED).then(|| Limit::Serving {
        tenant: tenant.name.clone(),
        limit: ServingLimit::NotProtected {
            promise,
            statistic,
            slowdown,
            interval,
        },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::analysis::finding::Finding;
    use crate::analysis::summary::Estimate;
    use crate::scenario::BackendChoice;

    fn scenario(sharing: Sharing) -> Scenario {
        let tenant = |name, priority| Tenant {
            priority,
            ..Tenant::of_backend(name, BackendChoice::Null)
        };
        Scenario {
            sharing,
            tenants: vec![tenant("urgent", 2), tenant("other", 1)],
            ..Scenario::empty("made")
        }
    }

    /// Low end, value, high end.
    fn slowdown(p50: [f64; 3], p99: Option<[f64; 3]>) -> Slowdown {
        let of = |[low, value, high]: [f64; 3]| Estimate::between(value, [low, high]);
        Slowdown {
            p50: of(p50),
            p99: p99.map(of).unwrap_or_default(),
            ..Slowdown::default()
        }
    }

    fn found(scenario: &Scenario, tenant: usize, slowdown: &Slowdown) -> Option<Finding> {
        not_protected(scenario, &scenario.tenants[tenant], Some(slowdown)).map(Finding::from)
    }

    #[test]
    fn the_most_urgent_tenant_is_told_when_its_tail_grew() {
        let grown = slowdown([1.0, 1.0, 1.0], Some([1.3, 1.5, 1.7]));
        let mut priority = scenario(Sharing::Priority);
        let finding = found(&priority, 0, &grown).unwrap();
        assert_eq!(finding.tenant.as_deref(), Some("urgent"));
        let facts = &finding.facts;
        assert_eq!(
            (&facts["quantile"], &facts["slowdown"]),
            (&json!("p99"), &json!(1.5))
        );
        assert_eq!(facts["ci95"], json!([1.3, 1.7]));
        assert_eq!(facts["promise"], "most-urgent");
        assert_eq!(found(&priority, 1, &grown), None, "nothing was promised to it");
        assert_eq!(
            found(&scenario(Sharing::Streams), 0, &grown),
            None,
            "nor to anybody there"
        );
        priority.tenants[1].priority = 2;
        assert_eq!(found(&priority, 0, &grown), None, "nor to one of equals");
    }

    #[test]
    fn an_interval_that_reaches_down_is_no_finding_and_without_a_tail_the_median_speaks() {
        let priority = scenario(Sharing::Priority);
        let unsure = slowdown([1.3, 1.4, 1.5], Some([0.9, 1.5, 1.9]));
        assert_eq!(found(&priority, 0, &unsure), None);
        let median = slowdown([1.3, 1.4, 1.5], None);
        assert_eq!(found(&priority, 0, &median).unwrap().facts["quantile"], "p50");
        let partition = scenario(Sharing::Partition);
        let finding = found(&partition, 1, &median).unwrap();
        assert_eq!(finding.tenant.as_deref(), Some("other"));
        assert_eq!(finding.facts["promise"], "own-multiprocessors");
        assert_eq!(
            not_protected(&partition, &partition.tenants[0], None),
            None,
            "not measured"
        );
    }
}
