//! The grid of pillars over the ground, and which of its cells a point falls in.

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
