//! What is wrong with a spec, all at once and in words: numbers that make no sense, parts that do not fit together.

use super::{HeadSpec, LayoutSpec, LidarSpec, WholeInput};
use crate::detector::lidar::encode::CELLS;
use crate::detector::lidar::scatter::WRITTEN;

/// Most cells that a grid may have: a typing error in `voxel` should not take all memory.
const MAX_CELLS: f64 = 64e6;

impl LidarSpec {
    /// All that is wrong with the spec itself, in words.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut check = |holds: bool, problem: &dyn Fn() -> String| {
            if !holds {
                problems.push(problem());
            }
        };
        check(!self.classes.is_empty(), &|| {
            "`classes` is empty: name at least one".into()
        });
        check(self.max_points > 0, &|| {
            "`max_points` is 0: it must be at least 1".into()
        });
        check(self.max_pillars > 0, &|| {
            "`max_pillars` is 0: it must be at least 1".into()
        });
        let buffer = f64::from(self.max_points) * f64::from(self.max_pillars);
        check(buffer <= MAX_CELLS, &|| {
            format!("`max_points` × `max_pillars` is {buffer}: the maximum is {MAX_CELLS}")
        });
        let axes = [
            ("x", self.range.x, self.voxel.0),
            ("y", self.range.y, self.voxel.1),
            ("z", self.range.z, self.voxel.2),
        ];
        for (axis, (from, to), size) in axes {
            let cells = (to - from) / size;
            check(from < to, &|| {
                format!("`range.{axis}` goes from {from} to {to}: the second must be larger")
            });
            check(size > 0.0, &|| {
                format!("`voxel` is {size} along {axis}: it must be above 0")
            });
            let whole = (cells - cells.round()).abs() < 1e-3 && cells >= 0.5;
            check(!(from < to && size > 0.0) || whole, &|| {
                format!("`range.{axis}` holds {cells:.3} voxels of {size} m: it must be a whole number")
            });
        }
        let [nx, ny, nz] = axes.map(|(_, (from, to), size)| ((to - from) / size).round());
        check(nx * ny <= MAX_CELLS, &|| {
            format!("the grid has {nx} × {ny} pillars: at most {MAX_CELLS} are allowed")
        });
        check(!nz.is_finite() || nz <= 1.0, &|| {
            format!(
                "`voxel` divides the range into {nz} layers along z: set its z to the height of the range, since a pillar spans all of it"
            )
        });
        check((0.0..1.0).contains(&self.score_threshold), &|| {
            format!(
                "`score_threshold` is {}: it must be from 0 to below 1",
                self.score_threshold
            )
        });
        let nms = &self.nms;
        check((0.0..=1.0).contains(&nms.iou), &|| {
            format!("`nms.iou` is {}: it must be from 0 to 1", nms.iou)
        });
        check(nms.before > 0 && nms.after > 0, &|| {
            "`nms.before` and `nms.after` must be above 0".into()
        });
        self.network_problems(&mut check);
        self.head_problems([nx, ny], &mut check);
        problems
    }

    fn network_problems(&self, check: &mut dyn FnMut(bool, &dyn Fn() -> String)) {
        let parts = [
            self.encoder.is_some(),
            self.scatter.is_some(),
            self.backbone.is_some(),
        ];
        let complete = if self.whole.is_some() {
            parts == [false; 3]
        } else {
            parts == [true; 3]
        };
        check(complete, &|| {
            "give either `encoder`, `scatter` and `backbone`, or only `whole`".into()
        });
        let mut names: Vec<&str> = vec![CELLS, WRITTEN];
        let mut layouts = Vec::new();
        if let Some(encoder) = &self.encoder {
            check(encoder.channels > 0, &|| {
                "`encoder.channels` is 0: set the number of features of a pillar".into()
            });
            names.push(&encoder.output);
            layouts.push(&encoder.layout);
        }
        names.extend(self.scatter.iter().map(|s| s.tensor.as_str()));
        match self.whole.as_ref().map(|w| &w.input) {
            Some(WholeInput::Pillars {
                layout,
                cells,
                cell_columns,
                count,
                ..
            }) => {
                check(!cell_columns.is_empty(), &|| {
                    "`whole.input.cell_columns` is empty".into()
                });
                names.push(cells);
                names.extend(count.iter().map(String::as_str));
                layouts.push(layout);
            }
            Some(WholeInput::Points {
                tensor, columns, max, ..
            }) => {
                check(*max > 0, &|| {
                    "`whole.input.max` is 0: set the maximum number of points of a sweep".into()
                });
                check(!columns.is_empty(), &|| "`whole.input.columns` is empty".into());
                names.push(tensor);
            }
            None => {}
        }
        for layout in layouts {
            layout.check(&mut names, check);
        }
        names.sort_unstable();
        for pair in names.windows(2) {
            check(pair[0] != pair[1], &|| {
                format!("two tensors are named `{}`", pair[0])
            });
        }
    }

    fn head_problems(&self, [nx, ny]: [f64; 2], check: &mut dyn FnMut(bool, &dyn Fn() -> String)) {
        let HeadSpec::Anchors {
            stride,
            anchors,
            drop_empty,
            ..
        } = &self.head;
        let divides = *stride > 0 && nx % f64::from(*stride) == 0.0 && ny % f64::from(*stride) == 0.0;
        check(divides, &|| {
            format!("`head.stride` is {stride}: it must divide the {nx} × {ny} pillars")
        });
        check(anchors.iter().any(|a| !a.rotations.is_empty()), &|| {
            "`head.anchors` is empty".into()
        });
        for (index, anchor) in anchors.iter().enumerate() {
            let known = usize::from(anchor.class) < self.classes.len();
            check(known, &|| {
                let last = self.classes.len().saturating_sub(1);
                format!(
                    "`head.anchors[{index}].class` is {}: classes go from 0 to {last}",
                    anchor.class
                )
            });
            let (a, b, c) = anchor.size;
            check(a > 0.0 && b > 0.0 && c > 0.0, &|| {
                format!(
                    "`head.anchors[{index}].size` is {:?}: each side must be above 0",
                    anchor.size
                )
            });
        }
        let by_points = matches!(&self.whole, Some(w) if matches!(w.input, WholeInput::Points { .. }));
        check(!(*drop_empty && by_points), &|| {
            "`head.drop_empty` needs pillars, but `whole.input` takes points: set it to false".into()
        });
    }
}

impl LayoutSpec {
    fn check<'a>(&'a self, names: &mut Vec<&'a str>, check: &mut dyn FnMut(bool, &dyn Fn() -> String)) {
        match self {
            LayoutSpec::Planes {
                x,
                y,
                z,
                intensity,
                centre_x,
                centre_y,
                mask,
                count,
                ..
            } => {
                names.extend([x, y, z, intensity, centre_x, centre_y, mask, count].map(String::as_str));
            }
            LayoutSpec::PillarsPointsFeatures {
                tensor,
                features,
                mask,
                ..
            } => {
                check(!features.is_empty(), &|| "`layout.features` is empty".into());
                names.push(tensor);
                names.extend(mask.iter().map(String::as_str));
            }
            LayoutSpec::FeaturesPillarsPoints { tensor, features } => {
                check(!features.is_empty(), &|| "`layout.features` is empty".into());
                names.push(tensor);
            }
        }
    }
}
