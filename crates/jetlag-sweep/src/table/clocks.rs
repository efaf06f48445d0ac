//! Clocks that moved between runs: figures of runs at other clocks are not figures of their settings.

use jetlag_stats::median::upper_median;

use super::Table;

/// Deviation from the median clock of all runs that is told.
const MOVED: f64 = 0.02;

/// What a row is marked with.
const CODE: &str = "clocks-moved-between-runs";

impl Table {
    /// Marks each run in which a clock's mean was more than 2 % off the median of all runs.
    pub(super) fn mark_moved_clocks(&mut self) {
        let clocks: Vec<String> = self
            .columns
            .iter()
            .filter(|column| column.name.starts_with("clock.") && column.name.ends_with(".mean"))
            .map(|column| column.name.clone())
            .collect();
        for clock in clocks {
            let mut values: Vec<f64> = self
                .rows
                .iter()
                .filter_map(|row| row.figure(&clock).value)
                .collect();
            let Some(median) = upper_median(&mut values, f64::total_cmp).filter(|median| *median > 0.0)
            else {
                continue;
            };
            for row in &mut self.rows {
                let moved = row
                    .figure(&clock)
                    .value
                    .is_some_and(|value| (value / median - 1.0).abs() > MOVED);
                if moved && !row.findings.iter().any(|code| code == CODE) {
                    row.findings.push(CODE.to_owned());
                }
            }
        }
    }
}
