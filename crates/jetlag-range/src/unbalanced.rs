//! Ranges that an application did not push and pop in pairs, and the finding that they become.

use jetlag_record::Finding;

/// How often that was so for a tenant.
pub(super) struct Unbalanced<'a> {
    pub(super) tenant: &'a str,
    pub(super) ranges: u64,
}

impl From<Unbalanced<'_>> for Finding {
    fn from(Unbalanced { tenant, ranges }: Unbalanced<'_>) -> Finding {
        Finding {
            code: "unbalanced-ranges".to_owned(),
            tenant: Some(tenant.to_owned()),
            message: format!(
                "{ranges} ranges were popped without a push, or never popped; the times of those around them may be wrong."
            ),
            advice: "Use guards (`range`, `batch`), which end with their scope.".to_owned(),
        }
    }
}
