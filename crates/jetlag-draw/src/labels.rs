//! Where labels stand: beside their boxes, within the picture, and none over another.

use crate::Kind;

/// Left, top, right, bottom, in pixels; right and bottom are outside.
pub(crate) type Area = [i32; 4];

/// A label's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) area: Area,
    /// From the label to its box, where it does not stand right beside it.
    pub(crate) leader: Option<[[i32; 2]; 2]>,
}

/// How far a label goes from its box, in its own heights.
const FARTHEST: i32 = 12;
/// More labels than a picture has room for that anybody reads.
const MOST: usize = 256;

/// The labels of a picture, placed one after the other: the first ones have the best places. Allocates nothing.
pub(crate) struct Labels {
    size: [i32; 2],
    taken: [Area; MOST],
    count: usize,
}

impl Labels {
    /// None yet, on a picture of this width and height.
    pub(crate) fn of(size: [i32; 2]) -> Self {
        Labels {
            size,
            taken: [[0; 4]; MOST],
            count: 0,
        }
    }

    /// The place of a label of this width and height beside a box; `None` for a box outside of the picture, and where there is no
    /// room near it. What was found has its label above, truth has it below, where these are free.
    pub(crate) fn place(&mut self, beside: Area, label: [i32; 2], kind: Kind) -> Option<Spot> {
        let [width, height] = [label[0].min(self.size[0]), label[1].min(self.size[1])];
        let [x1, y1, x2, y2] = beside;
        let is_seen = x1 < self.size[0] && x2 > 0 && y1 < self.size[1] && y2 > 0;
        if !is_seen || width <= 0 || height <= 0 || self.count == MOST {
            return None;
        }
        let (above, below) = (y1 - height, y2);
        let [first, second] = match kind {
            Kind::Found => [above, below],
            Kind::Truth => [below, above],
        };
        let near = [
            [x1, first],
            [x2 - width, first],
            [x1, second],
            [x2 - width, second],
            [x2, y1],
            [x1 - width, y1],
            [x2, y2 - height],
            [x1 - width, y2 - height],
        ];
        let far = (1..=FARTHEST).flat_map(|steps| {
            let by = steps * height;
            [
                [x1, above - by],
                [x1, below + by],
                [x2 + by, above - by],
                [x1 - width - by, above - by],
                [x2 + by, below + by],
                [x1 - width - by, below + by],
            ]
        });
        let places = near.into_iter().chain(far).map(|[x, y]| {
            let x = x.clamp(0, self.size[0] - width);
            let y = y.clamp(0, self.size[1] - height);
            [x, y, x + width, y + height]
        });
        let taken = self.taken.get(..self.count).unwrap_or_default();
        let area = places
            .into_iter()
            .find(|place| !taken.iter().any(|other| overlap(*place, *other)))?;
        *self.taken.get_mut(self.count)? = area;
        self.count += 1;
        Some(Spot {
            area,
            leader: leader(area, beside),
        })
    }
}

fn overlap(a: Area, b: Area) -> bool {
    a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3]
}

/// The shortest line between the two; none where they touch.
fn leader(label: Area, beside: Area) -> Option<[[i32; 2]; 2]> {
    let touches = |axis: usize| label[axis] <= beside[axis + 2] && beside[axis] <= label[axis + 2];
    if touches(0) && touches(1) {
        return None;
    }
    let ends = [0, 1].map(|axis| {
        let (from, to) = ([label[axis], label[axis + 2]], [beside[axis], beside[axis + 2]]);
        if from[1] < to[0] {
            [from[1], to[0]]
        } else if to[1] < from[0] {
            [from[0], to[1]]
        } else {
            let middle = (from[0].max(to[0]) + from[1].min(to[1])) / 2;
            [middle, middle]
        }
    });
    Some([[ends[0][0], ends[1][0]], [ends[0][1], ends[1][1]]])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LABEL: [i32; 2] = [60, 10];

    #[test]
    fn alone_a_label_stands_above_what_was_found_and_below_what_is_true() {
        let place = |kind| {
            Labels::of([400, 300])
                .place([100, 100, 150, 160], LABEL, kind)
                .unwrap()
        };
        assert_eq!(
            place(Kind::Found),
            Spot {
                area: [100, 90, 160, 100],
                leader: None
            }
        );
        assert_eq!(
            place(Kind::Truth),
            Spot {
                area: [100, 160, 160, 170],
                leader: None
            }
        );
    }

    #[test]
    fn at_the_edge_a_label_is_within_the_picture_and_out_of_it_there_is_none() {
        let mut labels = Labels::of([400, 300]);
        let place = labels.place([380, -5, 420, 30], LABEL, Kind::Found).unwrap();
        assert_eq!(place.area, [340, 0, 400, 10]);
        assert_eq!(labels.place([400, 0, 420, 30], LABEL, Kind::Found), None);
        // A text that is wider than the picture is cut off.
        let cut = Labels::of([40, 30]).place([5, 15, 20, 25], LABEL, Kind::Found);
        assert_eq!(cut.map(|spot| spot.area), Some([0, 5, 40, 15]));
    }

    #[test]
    fn many_boxes_at_one_place_have_a_label_each_with_a_line_to_the_far_ones() {
        let mut labels = Labels::of([640, 384]);
        let spots: Vec<Spot> = (0..30)
            .map(|_| labels.place([300, 180, 320, 200], LABEL, Kind::Found).unwrap())
            .collect();
        assert_eq!(spots[0].area, [300, 170, 360, 180]);
        assert_eq!(spots[0].leader, None);
        let last = spots.last().unwrap();
        let [[x, y], [u, v]] = last.leader.unwrap();
        assert!((last.area[0]..=last.area[2]).contains(&x) && (last.area[1]..=last.area[3]).contains(&y));
        assert!((300..=320).contains(&u) && (180..=200).contains(&v));
    }

    proptest! {
        #[test]
        fn no_label_is_over_another_or_out_of_the_picture(
            size in [1i32..700, 1i32..500],
            boxes in prop::collection::vec((-50i32..700, -50i32..500, 1i32..200, 1i32..200, 1i32..120, any::<bool>()), 0..80),
        ) {
            let mut labels = Labels::of(size);
            let mut placed: Vec<Area> = Vec::new();
            for (x, y, width, height, letters, truth) in boxes {
                let kind = if truth { Kind::Truth } else { Kind::Found };
                if let Some(spot) = labels.place([x, y, x + width, y + height], [letters, 10], kind) {
                    let [x1, y1, x2, y2] = spot.area;
                    prop_assert!(0 <= x1 && x1 < x2 && x2 <= size[0] && 0 <= y1 && y1 < y2 && y2 <= size[1]);
                    prop_assert!(!placed.iter().any(|other| overlap(*other, spot.area)));
                    placed.push(spot.area);
                }
            }
        }
    }
}
