//! The comparison of several runs with the first: the result of each, and the figures behind it.

use super::view::{Block, Section, words};
use super::{Compared, Reported, overlay, sections};
use crate::compare;

/// The comparison, or why there is none.
pub(super) fn section(compared: &Compared, runs: &[Reported]) -> Section {
    let (note, blocks) = match compared {
        Err(reason) => (
            String::new(),
            vec![Block::Text(words(&format!("Not compared: {reason}")))],
        ),
        Ok(comparison) => {
            let percent = comparison.confidence * 100.0;
            let note = format!(
                "Each run against A, {}. Intervals have joint {percent:.0} % confidence. On the CDFs, the bar at 50 % and at 99 % \
                 is the interval of the difference, laid off from A's figure: one that leaves out A's curve shows a difference.",
                comparison.baseline.name
            );
            let tables = compare::sections(comparison)
                .into_iter()
                .flat_map(sections::blocks);
            (note, tables.chain(overlay::blocks(comparison, runs)).collect())
        }
    };
    Section {
        id: "comparison".to_owned(),
        title: "Comparison".into(),
        note,
        blocks,
    }
}
