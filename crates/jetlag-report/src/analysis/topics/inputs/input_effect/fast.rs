//! The part of a series that changes from one value to the next: each value less the median of those around it.

/// Values on either side of which the median is taken.
const AROUND: usize = 10;

/// The fast part; towards the ends there are fewer values on one side.
pub(super) fn fast(series: &[f64]) -> Vec<f64> {
    let mut window: Vec<f64> = Vec::with_capacity(2 * AROUND + 1);
    let mut fast = Vec::with_capacity(series.len());
    let place = |window: &[f64], value: f64| window.partition_point(|other| *other < value);
    for &value in series.iter().take(AROUND) {
        window.insert(place(&window, value), value);
    }
    for (n, &value) in series.iter().enumerate() {
        if let Some(&entering) = series.get(n + AROUND) {
            window.insert(place(&window, entering), entering);
        }
        if let Some(&leaving) = n.checked_sub(AROUND + 1).and_then(|left| series.get(left)) {
            window.remove(place(&window, leaving));
        }
        fast.push(value - middle(&window));
    }
    fast
}

fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    match (sorted.len() % 2, sorted.get(half)) {
        (1, Some(&middle)) => middle,
        (_, Some(&above)) if half > 0 => f64::midpoint(sorted[half - 1], above),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_step_and_of_a_line_nothing_is_left_and_a_spike_stays() {
        let step: Vec<f64> = (0..100).map(|n| if n < 50 { 1.0 } else { 9.0 }).collect();
        assert_eq!(fast(&step), [0.0; 100]);
        let line: Vec<f64> = (0..100).map(f64::from).collect();
        let left = fast(&line);
        assert!(
            left[AROUND..100 - AROUND].iter().all(|left| *left == 0.0),
            "{left:?}"
        );
        let mut spike = vec![2.0; 100];
        spike[40] = 7.0;
        let left = fast(&spike);
        assert_eq!((left[39], left[40], left[41]), (0.0, 5.0, 0.0));
    }

    #[test]
    fn short_series_are_compared_with_all_of_them() {
        assert_eq!(fast(&[]), [0.0; 0]);
        assert_eq!(fast(&[3.0]), [0.0]);
        assert_eq!(fast(&[1.0, 2.0, 6.0]), [-1.0, 0.0, 4.0]);
    }
}
