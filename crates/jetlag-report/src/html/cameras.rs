//! The frames of several cameras, camera by camera.

use super::view::{Block, Section, Table, cell, words};
use crate::analysis::summary::Summary;
use crate::number::or_unknown;
use crate::text::cameras::{called, figures, known, unit_of, unknown};

/// A table for each tenant of several cameras.
pub(super) fn section(summary: &Summary, prefix: &str) -> Option<Section> {
    let all = || summary.tenants.iter().filter_map(known);
    let unit = unit_of(all().flat_map(|(_, cameras)| cameras));
    let columns = [
        "camera",
        "#offered",
        "#completed",
        "#dropped",
        "#missed",
        "#p50",
        "#p99",
        "#age p50",
        "#age p99",
    ];
    let mut blocks: Vec<Block> = all()
        .map(|(tenant, cameras)| {
            let mut table = Table::new(tenant.name.clone(), &columns);
            for of in cameras {
                let mut row = vec![cell(called(of))];
                let counts = [of.offered, of.completed, of.dropped, of.missed];
                row.extend(counts.map(|count| cell(count.to_string())));
                let times = [figures(Some(&of.response_ms)), figures(of.age_ms.as_ref())].concat();
                row.extend(
                    times
                        .into_iter()
                        .map(|ms| cell(or_unknown(ms, |ms| unit.show(ms)))),
                );
                table.row(row);
            }
            Block::Table(table)
        })
        .collect();
    blocks.extend(unknown(summary).map(|sentence| Block::Text(words(&sentence))));
    (!blocks.is_empty()).then(|| Section {
        id: format!("{prefix}-cameras"),
        title: "Each camera".into(),
        note: format!(
            "Response time from release to result, and age since the capture, in {}.",
            unit.name()
        ),
        blocks,
    })
}
