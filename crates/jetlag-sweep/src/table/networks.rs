//! Networks that changed between the runs of a point: such runs are not repeats of one another.

use super::Table;

/// What a row is marked with.
const CODE: &str = "networks-changed-between-runs";

impl Table {
    /// Marks each run whose networks are others than those of its point's first run. A journal knows the hashes of what ran; which file a
    /// base or a value names may have been replaced since.
    pub(super) fn mark_changed_networks(&mut self) {
        let mut first: Option<(usize, Vec<String>)> = None;
        for row in self.rows.iter_mut().filter(|row| !row.networks.is_empty()) {
            match &first {
                Some((point, networks)) if *point == row.point => {
                    if *networks != row.networks {
                        row.findings.push(CODE.to_owned());
                    }
                }
                _ => first = Some((row.point, row.networks.clone())),
            }
        }
    }

    /// The points of whose runs some had other networks.
    pub fn points_of_changed_networks(&self) -> Vec<usize> {
        let is_marked = |row: &&super::Row| row.findings.iter().any(|code| code == CODE);
        let mut points: Vec<usize> = self.rows.iter().filter(is_marked).map(|row| row.point).collect();
        points.dedup();
        points
    }
}
