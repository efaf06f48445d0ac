//! How findings write counts, shares and quotes.

use jetlag_stats::quantile::Quantile;

/// `1 frame`, `12 frames`.
pub(super) fn frames(count: u64) -> String {
    if count == 1 {
        "1 frame".to_owned()
    } else {
        format!("{count} frames")
    }
}

/// A share in percent, with as many digits as it takes not to read as zero.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    // What is near the whole is told from it.
    if percent >= 10.0 && !(99.0..110.0).contains(&percent) {
        format!("{percent:.0} %")
    } else if percent >= 0.1 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.2} %")
    }
}

/// Why something failed, in the words of whatever failed, after `before`; nothing where that is not known.
pub(super) fn quoted(before: &str, cause: Option<&str>) -> String {
    cause.map_or(String::new(), |cause| format!("{before}\"{cause}\""))
}

/// A quantile's usual name: `p99`, `p99.9`.
pub(super) fn name_of(quantile: Quantile) -> String {
    format!("p{}", (quantile.share() * 1000.0).round() / 10.0)
}
