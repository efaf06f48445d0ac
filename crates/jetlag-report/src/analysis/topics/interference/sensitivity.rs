//! How sensitive each tenant is to load on one resource: its slowdown next to stressors, by resource and level.
//!
//! A stressor is a tenant whose work is a load of a given level on one resource; the scenario says which tenants are
//! stressors. The figures are those of the matrix in another order.

use crate::analysis::summary::interference::{Point, Sensitivity, Way};

/// The load of a stressor.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// JSON name of the resource: `sm`, `dram`, ….
    pub resource: String,
    /// Level of the load, from 0 to 1.
    pub level: f64,
}

/// Orders the matrix by stressor; `loads` has the load of each tenant in `names` that is a stressor.
pub(super) fn of(matrix: &[Way], names: &[&str], loads: &[Option<Load>]) -> Vec<Sensitivity> {
    let load_of = |name: &str| {
        let place = names.iter().position(|known| *known == name)?;
        loads.get(place)?.as_ref()
    };
    let mut found: Vec<Sensitivity> = Vec::new();
    for way in matrix {
        for cell in way.cells.iter().filter(|cell| load_of(&cell.tenant).is_none()) {
            let [stressor] = cell.with.as_slice() else {
                continue;
            };
            let Some(load) = load_of(stressor) else { continue };
            let point = Point {
                stressor: stressor.clone(),
                level: load.level,
                slowdown: cell.slowdown.clone(),
            };
            let same = found.iter_mut().find(|known| {
                known.sharing == way.sharing && known.tenant == cell.tenant && known.resource == load.resource
            });
            match same {
                Some(known) => known.points.push(point),
                None => found.push(Sensitivity {
                    sharing: way.sharing.clone(),
                    tenant: cell.tenant.clone(),
                    resource: load.resource.clone(),
                    points: vec![point],
                }),
            }
        }
    }
    for sensitivity in &mut found {
        sensitivity.points.sort_by(|a, b| a.level.total_cmp(&b.level));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::summary::interference::Cell;
    use crate::analysis::summary::{Estimate, Slowdown};

    fn cell(tenant: &str, with: &[&str], p50: f64) -> Cell {
        Cell {
            tenant: tenant.into(),
            with: with.iter().map(|&name| name.into()).collect(),
            slowdown: Some(Slowdown {
                p50: Estimate::of_run(p50),
                ..Slowdown::default()
            }),
            count: 10,
        }
    }

    #[test]
    fn stressors_of_one_resource_make_one_curve_by_level_and_detectors_are_no_stressors() {
        let names = ["camera", "sm-high", "sm-low", "copy", "lidar"];
        let load = |resource: &str, level| {
            Some(Load {
                resource: resource.into(),
                level,
            })
        };
        let loads = [None, load("sm", 0.9), load("sm", 0.1), load("copy", 0.5), None];
        let matrix = [Way {
            sharing: "Streams".into(),
            cells: vec![
                cell("camera", &["sm-high"], 1.9),
                cell("camera", &["sm-low"], 1.1),
                cell("camera", &["copy"], 1.0),
                cell("camera", &["lidar"], 1.5),
                cell("camera", &["sm-high", "sm-low", "copy", "lidar"], 3.0),
                cell("sm-high", &["camera"], 1.2),
            ],
        }];
        let found = of(&matrix, &names, &loads);
        let shown = |place: usize| -> Vec<(f64, Option<f64>)> {
            let points = found[place].points.iter();
            points
                .map(|point| (point.level, point.slowdown.as_ref().and_then(|s| s.p50.value)))
                .collect()
        };
        let names: Vec<(&str, &str)> = found
            .iter()
            .map(|s| (s.tenant.as_str(), s.resource.as_str()))
            .collect();
        assert_eq!(names, [("camera", "sm"), ("camera", "copy")]);
        assert_eq!(shown(0), [(0.1, Some(1.1)), (0.9, Some(1.9))]);
        assert_eq!(shown(1), [(0.5, Some(1.0))]);
    }

    #[test]
    fn tenants_ways_of_sharing_and_resources_have_curves_of_their_own() {
        let names = ["camera", "lidar", "sm", "copy"];
        let load = |resource: &str| {
            Some(Load {
                resource: resource.into(),
                level: 0.5,
            })
        };
        let loads = [None, None, load("sm"), load("copy")];
        let cells = || {
            vec![
                cell("camera", &["sm"], 1.1),
                cell("lidar", &["sm"], 1.2),
                cell("camera", &["copy"], 1.3),
                cell("lidar", &["copy"], 1.4),
            ]
        };
        let way = |sharing: &str| Way {
            sharing: sharing.into(),
            cells: cells(),
        };
        let found = of(&[way("Streams"), way("Exclusive")], &names, &loads);
        let curves: Vec<(&str, &str, &str, usize)> = found
            .iter()
            .map(|s| {
                (
                    s.sharing.as_str(),
                    s.tenant.as_str(),
                    s.resource.as_str(),
                    s.points.len(),
                )
            })
            .collect();
        assert_eq!(
            curves,
            [
                ("Streams", "camera", "sm", 1),
                ("Streams", "lidar", "sm", 1),
                ("Streams", "camera", "copy", 1),
                ("Streams", "lidar", "copy", 1),
                ("Exclusive", "camera", "sm", 1),
                ("Exclusive", "lidar", "sm", 1),
                ("Exclusive", "camera", "copy", 1),
                ("Exclusive", "lidar", "copy", 1),
            ]
        );
    }
}
