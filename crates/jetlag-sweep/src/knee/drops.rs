//! Frames that were dropped where a promise on response times holds: only frames that were served have one, so a tenant that drops
//! most of its frames keeps such a promise at any rate.

use crate::table::Table;

/// What was dropped at the value that holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Dropped {
    /// The tenant.
    pub tenant: String,
    /// Of its frames, from 0 to 1.
    pub share: f64,
}

impl Dropped {
    /// In words; `at` is the value.
    pub fn sentence(&self, what: &str, at: f64) -> String {
        format!(
            "at {what} = {at} {:.0} % of {}'s frames were dropped, and response times are of the others: to count them, add --while '{}.miss_rate < 1%'",
            (100.0 * self.share).max(1.0),
            self.tenant,
            self.tenant
        )
    }
}

/// The tenants of these promises whose frames were dropped in the runs at `at`, unless a promise counts drops.
pub fn dropped(table: &Table, what: &str, at: f64, promises: &[String]) -> Vec<Dropped> {
    let counts_drops = |promise: &String| {
        ["miss_rate", "dropped", "missed", "throughput", "completed"]
            .iter()
            .any(|figure| promise.contains(figure))
    };
    let mut tenants: Vec<&str> = Vec::new();
    for promise in promises {
        if let Some((tenant, _)) = promise.trim().split_once('.')
            && !tenants.contains(&tenant)
            && !promises
                .iter()
                .any(|other| other.trim().starts_with(&format!("{tenant}.")) && counts_drops(other))
        {
            tenants.push(tenant);
        }
    }
    let rows = || {
        table
            .rows
            .iter()
            .filter(|row| row.setting(what).and_then(|value| value.parse::<f64>().ok()) == Some(at))
    };
    let of = |tenant: &str, figure: &str| -> f64 {
        rows()
            .filter_map(|row| row.figure(&format!("{tenant}.{figure}")).value)
            .sum()
    };
    tenants
        .into_iter()
        .filter_map(|tenant| {
            let (gone, all) = (of(tenant, "dropped"), of(tenant, "offered"));
            (gone > 0.0 && all > 0.0).then(|| Dropped {
                tenant: tenant.to_owned(),
                share: gone / all,
            })
        })
        .collect()
}
