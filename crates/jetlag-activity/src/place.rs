//! Where time slices were. Pure.
//!
//! CUPTI stamps switches by another clock than kernels, and the two drift: on an H100 switches lay 660 µs too early, 17 µs a second
//! more. What holds whatever the clocks do: a kernel begins and ends while its context has the device. So for a stretch of time the
//! offset is that with which the most begins and ends lie in slices; how far such offsets reach is how uncertain the place is.

/// The farthest that slices are looked for from their own stamps: 3 ms.
const FARTHEST: i64 = 3_000_000;
/// The clocks count as one for so long, unless there are too few kernels in it: 250 ms.
const STRETCH: i64 = 250_000_000;
/// Begins and ends of kernels that a stretch needs.
const LEAST: usize = 20;
/// Those that are looked at of a stretch; more say little more.
const MOST: usize = 256;
/// Slices that are looked at for a moment.
const MOST_NEAR: usize = 200;

/// Where slices were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) offsets: Offsets,
    /// The most that places are off by.
    pub(crate) within: i64,
    /// Begins and ends of kernels that were looked at.
    pub(crate) stamps: u64,
    /// Those of them that lie in slices now.
    pub(crate) inside: u64,
}

/// What is to be added to the stamps of slices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offsets {
    /// From when on, and how much; the first also before.
    steps: Vec<(i64, i64)>,
}

impl Offsets {
    pub(crate) fn at(&self, moment: i64) -> i64 {
        let after = self.steps.partition_point(|(from, _)| *from <= moment);
        self.steps
            .get(after.saturating_sub(1))
            .map_or(0, |(_, offset)| *offset)
    }
}

/// Places slices by the begins and ends of kernels, both in order. `None` where there are too few of either.
pub(crate) fn place(slices: &[(i64, i64)], stamps: &[i64]) -> Option<Placed> {
    let slices = apart(slices);
    if slices.is_empty() || stamps.len() < LEAST {
        return None;
    }
    let mut placed = Placed {
        offsets: Offsets { steps: Vec::new() },
        within: 0,
        stamps: 0,
        inside: 0,
    };
    for stretch in stretches(stamps) {
        let every = stretch.len().div_ceil(MOST);
        let some: Vec<i64> = stretch.iter().step_by(every).copied().collect();
        placed.stamps += some.len() as u64;
        let Some(found) = offset(&slices, &some) else {
            continue;
        };
        placed.inside += found.inside;
        // A stretch whose kernels lie outside whatever is done says nothing of the clocks.
        if found.inside * 10 < some.len() as u64 * 9 {
            continue;
        }
        if let Some((_, before)) = placed.offsets.steps.last() {
            // Between the middles of two stretches the clocks drift from one offset to the other.
            placed.within = placed.within.max((found.offset - before).abs());
        }
        placed.within = placed.within.max(found.within);
        placed.offsets.steps.push((stretch[0], found.offset));
    }
    Some(placed)
}

/// Slices without those parts that lie in an earlier one.
fn apart(slices: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let mut apart: Vec<(i64, i64)> = Vec::with_capacity(slices.len());
    for &(from, to) in slices {
        match apart.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => apart.push((from, to)),
        }
    }
    apart
}

/// Parts of the time, each with enough stamps.
fn stretches(stamps: &[i64]) -> Vec<&[i64]> {
    let mut found: Vec<&[i64]> = Vec::new();
    let mut rest = stamps;
    while let Some(&first) = rest.first() {
        let until = rest.partition_point(|stamp| stamp.saturating_sub(first) <= STRETCH);
        let mut end = until.max(LEAST).min(rest.len());
        if rest.len() - end < LEAST {
            end = rest.len();
        }
        let (stretch, later) = rest.split_at(end);
        found.push(stretch);
        rest = later;
    }
    found
}

struct Found {
    offset: i64,
    within: i64,
    inside: u64,
}

/// The offset with which the most stamps lie in slices; none where none does with any.
fn offset(slices: &[(i64, i64)], stamps: &[i64]) -> Option<Found> {
    // A stamp lies in a slice from one offset to another.
    let mut edges: Vec<(i64, bool)> = Vec::new();
    for &stamp in stamps {
        let first = slices.partition_point(|(_, to)| to.saturating_add(FARTHEST) < stamp);
        let near = slices[first..]
            .iter()
            .take_while(|(from, _)| from.saturating_sub(FARTHEST) <= stamp)
            .take(MOST_NEAR);
        for (from, to) in near {
            let low = stamp.saturating_sub(*to).max(-FARTHEST);
            let high = stamp.saturating_sub(*from).min(FARTHEST);
            // Both ends belong to it.
            edges.push((low, true));
            edges.push((high.saturating_add(1), false));
        }
    }
    edges.sort_unstable();
    let mut reached: Vec<(i64, i64, u64)> = Vec::new();
    let mut inside = 0u64;
    for (&(at, begins), &(next, _)) in edges.iter().zip(edges.iter().skip(1)) {
        inside = match begins {
            true => inside + 1,
            false => inside.saturating_sub(1),
        };
        if next > at {
            reached.push((at, next - 1, inside));
        }
    }
    let most = reached
        .iter()
        .map(|(.., inside)| *inside)
        .max()
        .filter(|most| *most > 0)?;
    // The widest of the best; a few stamps more or less decide nothing.
    let (low, high, _) = *reached
        .iter()
        .filter(|(.., inside)| *inside == most)
        .max_by_key(|(low, high, _)| high - low)?;
    let offset = low + (high - low) / 2;
    let good = || reached.iter().filter(|(.., inside)| *inside * 100 >= most * 99);
    let lowest = good().map(|(low, ..)| *low).min()?;
    let highest = good().map(|(_, high, _)| *high).max()?;
    Some(Found {
        offset,
        within: (highest - offset).max(offset - lowest),
        inside: most,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const US: i64 = 1_000;

    /// Slices 30 µs longer on both sides than the kernel of 1.5 ms in each, of a clock that is early and drifts.
    fn scene(gaps_us: &[i64], early_us: i64, ppm: i64) -> (Vec<(i64, i64)>, Vec<i64>) {
        let (mut slices, mut stamps, mut at) = (Vec::new(), Vec::new(), 1_000_000 * US);
        for gap in gaps_us {
            at += gap * US;
            let (from, to) = (at, at + 1_500 * US);
            let early = |stamp: i64| early_us * US + (stamp - 1_000_000 * US) / 1_000_000 * ppm;
            slices.push((from - 30 * US - early(from), to + 30 * US - early(to)));
            stamps.extend([from, to]);
            at = to;
        }
        (slices, stamps)
    }

    fn irregular(count: i64) -> Vec<i64> {
        (0..count).map(|n| 700 + n * 7_919 % 1_300).collect()
    }

    #[test]
    fn slices_that_are_early_and_drift_are_placed_around_their_kernels() {
        let (slices, stamps) = scene(&irregular(2_000), 660, 17);
        let placed = place(&slices, &stamps).unwrap();
        assert_eq!(placed.inside, placed.stamps, "{placed:?}");
        assert!(placed.within < 40 * US, "{placed:?}");
        for (slice, kernel) in slices.iter().zip(stamps.chunks(2)) {
            let moved = [slice.0, slice.1].map(|stamp| stamp + placed.offsets.at(slice.0));
            let off = moved[0] - (kernel[0] - 30 * US);
            assert!(off.abs() <= placed.within, "{off} {placed:?}");
        }
    }

    #[test]
    fn kernels_that_outlast_their_slices_begin_and_end_within_some() {
        // The GPU turns: 1 ms for us, 1 ms for another, whatever runs.
        let slices: Vec<(i64, i64)> = (0..500)
            .map(|n| (n * 2_000 * US, (n * 2_000 + 1_000) * US))
            .collect();
        let later = 400 * US;
        let stamps: Vec<i64> = (0..100)
            .flat_map(|n| {
                let from = n * 10_000 * US + 17 * n % 900 * US;
                [from + later, from + 4_000 * US + 50 * US + later]
            })
            .collect();
        let placed = place(&slices, &stamps).unwrap();
        assert_eq!(placed.inside, placed.stamps, "{placed:?}");
        // Slices that are alike are told apart by nothing, and that is said.
        assert!(placed.within >= 2_000 * US, "{placed:?}");
    }

    #[test]
    fn too_little_places_nothing_and_kernels_elsewhere_are_not_inside() {
        let (slices, stamps) = scene(&irregular(9), 660, 0);
        assert_eq!(place(&slices, &stamps), None);
        assert_eq!(place(&[], &irregular(100)), None);
        let (slices, _) = scene(&irregular(100), 0, 0);
        let far: Vec<i64> = (0..100).map(|n| n * 1_000 * US).collect();
        let placed = place(&slices, &far).unwrap();
        assert_eq!((placed.inside, placed.offsets.at(0)), (0, 0), "{placed:?}");
    }

    proptest! {
        #[test]
        fn whatever_comes_is_placed_without_a_panic(
            mut slices in prop::collection::vec((any::<i64>(), any::<i64>()), 0..50),
            mut stamps in prop::collection::vec(any::<i64>(), 0..100),
        ) {
            slices.sort_unstable();
            stamps.sort_unstable();
            if let Some(placed) = place(&slices, &stamps) {
                prop_assert!(placed.inside <= placed.stamps);
                prop_assert!(placed.within >= 0);
                prop_assert!(placed.offsets.at(0).abs() <= FARTHEST);
            }
        }

        #[test]
        fn any_offset_within_reach_is_found(early_us in -2_900i64..2_900, seed in 1i64..1_000) {
            let gaps: Vec<i64> = (0..60).map(|n| 200 + (n * 7_919 + seed * n * n) % 1_700).collect();
            let (slices, stamps) = scene(&gaps, early_us, 0);
            let placed = place(&slices, &stamps).unwrap();
            prop_assert_eq!(placed.inside, placed.stamps);
            let off = placed.offsets.at(i64::MAX) - early_us * US;
            prop_assert!(off.abs() <= placed.within, "{} {:?}", off, placed);
        }
    }
}
