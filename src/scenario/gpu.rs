//! Devices that several tenants name, or copies of one.
//!
//! Whether this machine has a GPU that can do so is not asked here: a scenario resolves the same everywhere.

use super::file::TenantFile;
use crate::written::{ProblemKind, Reader};

/// Shares of one device add up to at most 1.
pub(super) fn shares<'a>(tenants: impl Iterator<Item = &'a TenantFile<'a>>, r: &mut Reader) {
    let mut sum = 0.0;
    for tenant in tenants {
        let (Some(share), Some(place)) = (tenant.plain.gpu.share, tenant.place_of("share")) else {
            continue;
        };
        sum += share;
        if sum > 1.0 + 1e-9 && share <= 1.0 {
            let kind = ProblemKind::OutOfRange {
                what: "the sum of all `share`s".to_owned(),
                found: format!("{sum:.2} with this one"),
                wanted: "at most 1".to_owned(),
            };
            r.report(place, kind);
            return;
        }
    }
}
