//! The grid of pillars over the ground, and which of its cells a point falls in.

use multiversion::multiversion;

/// A regular grid of pillars: `floor((p − min) / size)` in single precision, as training code computes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// Lower corner of the range in metres: x, y, z.
    pub min: [f32; 3],
    /// Size of one pillar in metres: x, y, z.
    pub size: [f32; 3],
    /// Pillars along x and along y. Along z there is one.
    pub cells: [u32; 2],
}

/// The code of "no cell".
pub(super) const NONE: u32 = u32::MAX;
/// What [`cells`] says of a point that lies too near to a border for it: ask [`Lanes::cell`].
pub(super) const DOUBTFUL: u32 = NONE - 1;
/// Cells that single precision counts exactly, with room for the bits that [`cells`] cuts off.
const COUNTABLE: usize = 1 << 23;
/// Adding and subtracting it rounds to a whole number, where less than 2²² has been added to it.
const ROUNDING: f32 = 12_582_912.0;
/// Added to a whole number below 2²³, it leaves the number in the bits of the mantissa.
const IN_MANTISSA: f32 = 8_388_608.0;
/// A product with the reciprocal is off the quotient by less than this part of it: three roundings.
const CLOSE: f32 = 1.0 / 4_194_304.0;
/// As many points at a time, so that their columns stay in registers and the first-level cache.
const STEP: usize = 32;

impl Grid {
    /// How many pillars there are.
    pub fn cell_count(&self) -> usize {
        self.cells[0] as usize * self.cells[1] as usize
    }

    /// The middle of a pillar in metres, x, y and z.
    pub fn centre(&self, [ix, iy]: [u32; 2]) -> [f32; 3] {
        [
            ix as f32 * self.size[0] + (self.min[0] + self.size[0] / 2.0),
            iy as f32 * self.size[1] + (self.min[1] + self.size[1] / 2.0),
            self.min[2] + self.size[2] / 2.0,
        ]
    }

    /// Cell `[ix, iy]` of a position in the flattened grid (row-major, x fastest).
    pub(super) fn unflatten(&self, cell: u32) -> [u32; 2] {
        [cell % self.cells[0], cell / self.cells[0]]
    }
}

/// The grid in the form that the inner loop wants: four lanes, so that a point is one vector. The fourth
/// lane holds the intensity, which only has to be finite.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    min: [f32; 4],
    size: [f32; 4],
    low: [f32; 4],
    high: [f32; 4],
    columns: u32,
    inverse: [f32; 3],
    countable: bool,
}

impl Lanes {
    pub(super) fn new(grid: &Grid) -> Self {
        let [x, y, z] = grid.min;
        let [dx, dy, dz] = grid.size;
        let [nx, ny] = grid.cells;
        Lanes {
            min: [x, y, z, 0.0],
            size: [dx, dy, dz, 1.0],
            low: [0.0, 0.0, 0.0, f32::MIN],
            high: [nx as f32, ny as f32, 1.0, f32::MAX],
            columns: nx,
            inverse: grid.size.map(|size| 1.0 / size),
            countable: grid.cell_count() <= COUNTABLE,
        }
    }

    /// Flattened cell of a point, or [`NONE`] outside the range or where anything is not finite.
    #[inline(always)]
    pub(super) fn cell(&self, point: &[f32; 4]) -> u32 {
        let at: [f32; 4] = std::array::from_fn(|k| (point[k] - self.min[k]) / self.size[k]);
        let within = |k: usize| at[k] >= self.low[k] && at[k] < self.high[k];
        let inside = within(0) & within(1) & within(2) & within(3);
        // Within the range nothing is negative, so that cutting off the fraction is `floor`.
        let cell = (at[1] as u32)
            .wrapping_mul(self.columns)
            .wrapping_add(at[0] as u32);
        if inside { cell } else { NONE }
    }
}

/// The cells of points, as [`Lanes::cell`] has them, or [`DOUBTFUL`]: products in place of divisions, several points an instruction.
/// Rounding may put a product on the other side of a border than the quotient, so whatever is that near is left to the caller;
/// everything else is in the same cell. Both lists have the same length.
// Masks instead of branches and choices, or it is not compiled to vectors.
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn cells(lanes: &Lanes, points: &[[f32; 4]], cells: &mut [u32]) {
    let (min, inverse) = (lanes.min, lanes.inverse);
    let ([.., low], [nx, ny, _, high]) = (lanes.low, lanes.high);
    let (steps, _) = points.as_chunks::<STEP>();
    let steps = if lanes.countable { steps } else { &[] };
    let (out, _) = cells.as_chunks_mut::<STEP>();
    for (points, cells) in steps.iter().zip(out) {
        for i in 0..STEP {
            let [x, y, z, w] = points[i];
            let at = [
                (x - min[0]) * inverse[0],
                (y - min[1]) * inverse[1],
                (z - min[2]) * inverse[2],
            ];
            let whole = at.map(|at| (at + ROUNDING) - ROUNDING);
            // False of NaN, and of what cannot be rounded so.
            let clear = |k: usize| (at[k] - whole[k]).abs() > at[k].abs() * CLOSE;
            let floor = |k: usize| {
                if whole[k] > at[k] {
                    whole[k] - 1.0
                } else {
                    whole[k]
                }
            };
            let inside = (at[0] >= 0.0)
                & (at[0] < nx)
                & (at[1] >= 0.0)
                & (at[1] < ny)
                & (at[2] >= 0.0)
                & (at[2] < 1.0)
                & (w >= low)
                & (w < high);
            let flat = floor(1) * nx + floor(0);
            let flat = (flat + IN_MANTISSA).to_bits() & 0x7f_ffff;
            let outside = u32::from(!inside).wrapping_neg();
            let doubtful = u32::from(!(clear(0) & clear(1) & clear(2)));
            cells[i] = (flat | outside | doubtful.wrapping_neg()).wrapping_sub(doubtful);
        }
    }
    let done = steps.len() * STEP;
    cells[done..].fill(DOUBTFUL);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Coordinates on borders, a rounding away from them, far outside, and none at all.
    fn coordinate(min: f32, size: f32) -> impl Strategy<Value = f32> {
        let border = move |n: i32| n as f32 * size + min;
        prop_oneof![
            4 => min - 3.0 * size..min + 12.0 * size,
            4 => (-2i32..12).prop_map(border),
            2 => (-2i32..12).prop_map(move |n| border(n).next_up()),
            2 => (-2i32..12).prop_map(move |n| border(n).next_down()),
            1 => any::<f32>(),
        ]
    }

    proptest! {
        #[test]
        fn cells_of_many_points_are_those_of_each(
            (grid, points) in (-50.0f32..50.0, 0.01f32..3.0, any::<bool>()).prop_flat_map(|(min, size, large)| {
                let grid = Grid { min: [min, -min, -3.0], size: [size, size * 1.5, 4.0], cells: if large { [4096, 4096] } else { [9, 7] } };
                let point = (coordinate(min, size), coordinate(-min, size * 1.5), coordinate(-3.0, 4.0), prop_oneof![9 => 0.0f32..1.0, 1 => any::<f32>()]);
                (Just(grid), prop::collection::vec(point.prop_map(|(x, y, z, w)| [x, y, z, w]), 0..100))
            }),
        ) {
            let lanes = Lanes::new(&grid);
            let mut found = vec![0; points.len()];
            cells(&lanes, &points, &mut found);
            for (found, point) in found.iter().zip(&points) {
                if *found != DOUBTFUL {
                    prop_assert_eq!(*found, lanes.cell(point), "{:?} in {:?}", point, grid);
                }
            }
        }
    }

    #[test]
    fn few_points_are_left_in_doubt() {
        let grid = Grid {
            min: [0.0, -39.68, -3.0],
            size: [0.16, 0.16, 4.0],
            cells: [432, 496],
        };
        let lanes = Lanes::new(&grid);
        let points: Vec<[f32; 4]> = (0..3200)
            .map(|n| [n as f32 * 0.0217, n as f32 * 0.0123 - 19.7, -1.7, 0.3])
            .collect();
        let mut found = vec![0; points.len()];
        cells(&lanes, &points, &mut found);
        let doubtful = found.iter().filter(|cell| **cell == DOUBTFUL).count();
        assert!(doubtful < 10, "{doubtful} of 3200");
    }
}
