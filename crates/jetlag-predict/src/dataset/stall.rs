//! Rows that something else than the network made slow.

use std::collections::BTreeMap;

use super::{Row, Stall, Target};
use crate::features::Device;

/// The rule, in words.
pub const RULE: &str = "of one variant on one board, a time (or the energy of a step) is taken for a stall where it is more than twice what the next smaller batch allows, growing in proportion to the batch, and no larger batch took half of it or more; where no batch is smaller, where it is more than twice what the next larger batch took; and where it is more than twice the median of three or more repetitions";

/// How much more than allowed is a stall.
const FACTOR: f64 = 2.0;

/// Marks stalls and tells them.
///
/// A step's time grows at most in proportion to its batch, since every fixed cost is shared. The first of a pair that
/// contradicts this could be too fast instead of the second too slow; so a stall must also stand out from larger batches.
pub(super) fn mark(rows: &mut [Row], devices: &[Device]) -> Vec<Stall> {
    let mut groups: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (at, row) in rows.iter().enumerate() {
        if matches!(row.target, Target::Latency | Target::Energy) {
            let key = (
                row.device,
                row.stage,
                row.target,
                row.network.clone(),
                row.variant.clone(),
            );
            groups.entry(key).or_default().push(at);
        }
    }
    let mut stalls = Vec::new();
    for group in groups.into_values() {
        for (at, expected_at_most) in of_variant(rows, &group) {
            let Some(row) = rows.get_mut(at) else { continue };
            row.stalled = true;
            stalls.push(Stall {
                device: devices
                    .get(row.device)
                    .map(|device| device.name.clone())
                    .unwrap_or_default(),
                target: row.target,
                network: row.network.clone(),
                variant: row.variant.clone(),
                batch: row.batch,
                value: row.value,
                expected_at_most,
            });
        }
    }
    stalls
}

/// Rows of a group that are stalls, each with the most that was allowed.
fn of_variant(rows: &[Row], group: &[usize]) -> Vec<(usize, f64)> {
    let mut batches: BTreeMap<u32, Vec<(usize, f64)>> = BTreeMap::new();
    for at in group {
        let row = &rows[*at];
        // Energy is of a frame; the step's follows the rule.
        let step = if row.target == Target::Energy {
            row.value * f64::from(row.batch)
        } else {
            row.value
        };
        batches.entry(row.batch).or_default().push((*at, step));
    }
    let least = |of: &[(usize, f64)]| of.iter().map(|(_, step)| *step).fold(f64::INFINITY, f64::min);
    let all: Vec<(u32, Vec<(usize, f64)>)> = batches.into_iter().collect();
    let mut found = Vec::new();
    // Batch and the least time of the last batch that was no stall.
    let mut before: Option<(u32, f64)> = None;
    for (place, (batch, steps)) in all.iter().enumerate() {
        let later = all
            .get(place + 1..)
            .unwrap_or_default()
            .iter()
            .map(|(_, steps)| least(steps))
            .fold(f64::NAN, f64::min);
        let mut sound = f64::INFINITY;
        for (at, step) in steps {
            let repeated = (steps.len() >= 3)
                .then(|| {
                    crate::score::quantile(&steps.iter().map(|(_, step)| *step).collect::<Vec<_>>(), 0.5)
                })
                .flatten();
            let allowed = match (repeated, before) {
                (Some(median), _) => Some(median),
                (None, Some((smaller, time))) => {
                    let grown = time * f64::from(*batch) / f64::from(smaller);
                    // A larger batch that took as long says that this one may.
                    Some(if later >= step / FACTOR {
                        grown.max(*step)
                    } else {
                        grown
                    })
                }
                (None, None) => later.is_finite().then_some(later),
            };
            match allowed {
                Some(allowed) if *step > FACTOR * allowed => {
                    let per_frame = if rows[*at].target == Target::Energy {
                        f64::from(*batch)
                    } else {
                        1.0
                    };
                    found.push((*at, allowed / per_frame));
                }
                _ => sound = sound.min(*step),
            }
        }
        if sound.is_finite() {
            before = Some((*batch, sound));
        }
    }
    found
}
