//! How findings write counts, shares and quotes.

pub(super) use jetlag_figure::number::percent_of_whole as percent;
use jetlag_stats::quantile::Quantile;

/// `1 frame`, `12 frames`.
pub(super) fn frames(count: u64) -> String {
    if count == 1 {
        "1 frame".to_owned()
    } else {
        format!("{count} frames")
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
