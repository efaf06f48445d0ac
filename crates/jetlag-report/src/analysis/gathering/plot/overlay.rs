//! The distributions of one tenant in several runs, on one axis.

use super::{Axis, Shape, WIDE};

/// An axis in milliseconds for the CDFs of several runs and the deadline.
pub fn common_axis(shapes: &[&Shape], deadline_ms: Option<f64>) -> Axis {
    let firsts = shapes.iter().filter_map(|shape| shape.at_most.first());
    let lasts = shapes.iter().filter_map(|shape| shape.at_most.last());
    let least = firsts.map(|&(ms, _)| ms).fold(f64::INFINITY, f64::min);
    let most = lasts.map(|&(ms, _)| ms).chain(deadline_ms).fold(0.0, f64::max);
    if !(least.is_finite() && most > 0.0) {
        return Axis::default();
    }
    let medians = shapes.iter().filter_map(|shape| {
        let half = shape.at_most.partition_point(|&(_, share)| share < 0.5);
        shape.at_most.get(half).map(|&(ms, _)| ms)
    });
    let logarithmic = least > 0.0 && most > WIDE * medians.fold(f64::INFINITY, f64::min);
    if logarithmic {
        return Axis {
            from: least.min(deadline_ms.filter(|ms| *ms > 0.0).unwrap_or(least)) * 0.9,
            to: most * 1.15,
            logarithmic,
        };
    }
    let least = least.min(deadline_ms.unwrap_or(least));
    let width = (most - least).max(most * 0.01);
    Axis {
        from: (least - width * 0.04).max(0.0),
        to: most + width * 0.06,
        logarithmic,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(values: &[f64]) -> Shape {
        let count = values.len() as f64;
        let ranked = (1..).zip(values).map(|(rank, &ms)| (ms, f64::from(rank) / count));
        Shape {
            bars: Vec::new(),
            at_most: ranked.collect(),
        }
    }

    #[test]
    fn the_axis_holds_every_curve_and_the_deadline_and_bends_only_for_a_long_tail() {
        let (a, b) = (shape(&[8.0, 9.0, 10.0, 11.0]), shape(&[12.0, 13.0, 14.0]));
        let axis = common_axis(&[&a, &b], Some(33.0));
        assert!(!axis.logarithmic && axis.from < 8.0 && axis.to > 33.0, "{axis:?}");
        let early = common_axis(&[&a, &b], Some(2.0));
        assert!(early.from < 2.0 && early.to < 15.0, "{early:?}");
        let tail = shape(&[8.0, 9.0, 400.0]);
        let axis = common_axis(&[&tail, &b], None);
        assert!(axis.logarithmic && axis.from < 8.0 && axis.to > 400.0, "{axis:?}");
        assert_eq!(common_axis(&[], Some(33.0)), Axis::default());
    }
}
