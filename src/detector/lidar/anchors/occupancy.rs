//! Which pillars of a sweep hold points, so that anchors over none can be left out.

use crate::detector::lidar::grid::Grid;

/// How many pillars are occupied below and left of each corner of the grid (a summed-area table).
#[derive(Default)]
pub(super) struct Occupancy {
    sums: Vec<u32>,
    width: usize,
}

impl Occupancy {
    /// Of these cells; what lies beside the grid only fills up.
    pub(super) fn count(&mut self, grid: &Grid, pillars: &[[i32; 2]]) {
        let [nx, ny] = grid.cells.map(|n| n as usize);
        self.width = nx + 1;
        self.sums.clear();
        self.sums.resize((nx + 1) * (ny + 1), 0);
        for cell in pillars {
            let [ix, iy] = cell.map(|at| usize::try_from(at).unwrap_or(usize::MAX));
            if ix < nx && iy < ny {
                self.sums[(iy + 1) * self.width + ix + 1] = 1;
            }
        }
        for y in 1..=ny {
            let (above, row) = self.sums[(y - 1) * self.width..].split_at_mut(self.width);
            let mut sum = 0;
            for (cell, above) in row.iter_mut().zip(above).take(self.width) {
                sum += *cell;
                *cell = sum + *above;
            }
        }
    }

    /// Occupied pillars within `[from, to)` along x and y, in pillars, fractions cut off.
    pub(super) fn within(&self, [x, y]: [[f64; 2]; 2]) -> u32 {
        let height = self.sums.len() / self.width - 1;
        // Casting clamps below at 0.
        let [x0, x1] = x.map(|v| (v as usize).min(self.width - 1));
        let [y0, y1] = y.map(|v| (v as usize).min(height));
        let sum = |x: usize, y: usize| self.sums[y * self.width + x];
        sum(x1, y1) + sum(x0, y0) - sum(x0, y1) - sum(x1, y0)
    }
}
