//! Points to pillars: which points share a cell of the ground, in which order, and which are left out.
//!
//! The rules are those of the training code that published networks come from: pillars stand in order of
//! first appearance, points of a pillar in file order, the first `max_points` of each are kept, and what
//! happens at the pillar beyond the last is [`WhenFull`]. Points with a coordinate or intensity that is not
//! finite are skipped and counted. What the network is given of a pillar is in `encode`.
//!
//! Nothing is allocated once the largest sweep has been seen, and only the cells that a sweep touched are
//! cleared before the next one. Points are gathered in two passes (count, then place), so that what the
//! encoder reads afterwards is compact and in order: a buffer of `max_pillars × max_points` is larger than
//! any cache, and mostly empty.

use serde::Deserialize;

use super::grid::{DOUBTFUL, Grid, Lanes, NONE, cells};

/// What happens at the first point that would need one pillar more than allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum WhenFull {
    /// Reading ends there: later points are lost even where their pillar exists (second.pytorch).
    #[default]
    Stop,
    /// That point is left out, and later points still join pillars that exist (mmdetection3d, OpenPCDet).
    Skip,
}

/// Where the points of a sweep went. The sum of all but `pillars` is the number of points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Pillars that hold points.
    pub pillars: u32,
    /// Points that entered a pillar.
    pub kept: u32,
    /// Points outside the range.
    pub outside: u32,
    /// Points with NaN or infinity.
    pub not_finite: u32,
    /// Points whose pillar was full, and points left out for want of a pillar.
    pub crowded: u32,
    /// Points after the one at which reading stopped, and that one.
    pub unread: u32,
}

/// Points per step of the first pass: their cells stay in the first-level cache.
const BLOCK: usize = 256;

/// Sorts sweeps into pillars; owns all memory that this takes.
pub struct Voxeliser {
    grid: Grid,
    lanes: Lanes,
    max_points: u32,
    max_pillars: usize,
    when_full: WhenFull,
    /// Per cell of the grid: its pillar, or [`NONE`]. Cleared through `cells` before the next sweep.
    pillar_at: Vec<u32>,
    /// Per pillar: its cell.
    cells: Vec<u32>,
    /// Per pillar: points kept in the first pass; where the next one goes in the second.
    ends: Vec<u32>,
    /// Per point of the sweep: its pillar, or [`NONE`].
    pillar_of: Vec<u32>,
    /// The kept points, pillar by pillar.
    grouped: Vec<[f32; 4]>,
    /// Points of the last sweep that were read.
    read: usize,
    /// As `grouped`, the time of each; empty where it was not asked for or the sweep has none.
    times: Vec<f32>,
    /// Where the next time of each pillar goes.
    next: Vec<u32>,
}

impl Voxeliser {
    /// For this grid and these limits, both at least 1.
    pub fn new(grid: Grid, max_points: u32, max_pillars: u32, when_full: WhenFull) -> Self {
        let max_pillars = max_pillars as usize;
        Voxeliser {
            lanes: Lanes::new(&grid),
            max_points,
            max_pillars,
            when_full,
            pillar_at: vec![NONE; grid.cell_count()],
            cells: Vec::with_capacity(max_pillars.min(grid.cell_count())),
            ends: Vec::with_capacity(max_pillars.min(grid.cell_count())),
            pillar_of: Vec::new(),
            grouped: Vec::new(),
            read: 0,
            times: Vec::new(),
            next: Vec::new(),
            grid,
        }
    }

    /// The grid that points are sorted into.
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Whether points beyond the last pillar are passed over.
    pub fn skips(&self) -> bool {
        self.when_full == WhenFull::Skip
    }

    /// How many pillars the last sweep filled.
    pub fn filled(&self) -> usize {
        self.cells.len()
    }

    /// Each pillar's cell `[ix, iy]` and points, in order of first appearance.
    pub fn pillars(&self) -> impl Iterator<Item = ([u32; 2], &[[f32; 4]])> {
        let mut start = 0;
        self.cells.iter().zip(&self.ends).map(move |(cell, end)| {
            let points = &self.grouped[start..*end as usize];
            start = *end as usize;
            (self.grid.unflatten(*cell), points)
        })
    }

    /// The times of each pillar's points, in the order of [`pillars`](Self::pillars); none for a sweep without times.
    pub fn times(&self) -> impl Iterator<Item = &[f32]> {
        let mut start = 0;
        let ends = self.ends.iter().map(|end| *end as usize);
        ends.map(move |end| {
            let times = self.times.get(start..end).unwrap_or_default();
            start = end;
            times
        })
    }

    /// Sorts the times of the last sweep's points as its points were; a list of another length is none at all.
    pub fn gather_times(&mut self, times: &[f32]) {
        self.times.clear();
        if times.len() < self.read || times.is_empty() {
            return;
        }
        self.times.resize(self.grouped.len(), 0.0);
        self.next.clear();
        self.next.push(0);
        self.next.extend_from_slice(&self.ends);
        for (time, pillar) in times.iter().zip(&self.pillar_of[..self.read]) {
            if *pillar != NONE {
                let next = &mut self.next[*pillar as usize];
                self.times[*next as usize] = *time;
                *next += 1;
            }
        }
    }

    /// Sorts a sweep of `x, y, z, intensity` into pillars; what was there before is forgotten.
    pub fn run(&mut self, points: &[[f32; 4]]) -> Tally {
        for cell in self.cells.drain(..) {
            self.pillar_at[cell as usize] = NONE;
        }
        self.ends.clear();
        self.times.clear();
        // Too long is harmless: what the first pass does not reach is not looked at.
        if self.pillar_of.len() < points.len() {
            self.pillar_of.resize(points.len(), NONE);
        }
        let mut tally = Tally::default();
        let read = self.assign(points, &mut tally);
        tally.unread = (points.len() - read) as u32;
        self.read = read;
        self.gather(&points[..read]);
        tally.pillars = self.cells.len() as u32;
        tally.kept = self.grouped.len() as u32;
        tally
    }

    /// First pass: each point's pillar, and how many each holds. Returns how many points were read.
    fn assign(&mut self, points: &[[f32; 4]], tally: &mut Tally) -> usize {
        let mut found = [NONE; BLOCK];
        let mut base = 0;
        for block in points.chunks(BLOCK) {
            cells(&self.lanes, block, &mut found[..block.len()]);
            let pillar_of = &mut self.pillar_of[base..base + block.len()];
            for (index, (cell, slot)) in found.iter().zip(pillar_of).enumerate() {
                *slot = NONE;
                let cell = match *cell {
                    DOUBTFUL => self.lanes.cell(&block[index]),
                    cell => cell,
                };
                if cell == NONE {
                    if block[index].iter().all(|v| v.is_finite()) {
                        tally.outside += 1;
                    } else {
                        tally.not_finite += 1;
                    }
                    continue;
                }
                let at = &mut self.pillar_at[cell as usize];
                if *at == NONE {
                    if self.cells.len() == self.max_pillars {
                        match self.when_full {
                            WhenFull::Stop => return base + index,
                            WhenFull::Skip => {
                                tally.crowded += 1;
                                continue;
                            }
                        }
                    }
                    *at = self.cells.len() as u32;
                    self.cells.push(cell);
                    self.ends.push(0);
                }
                let count = &mut self.ends[*at as usize];
                if *count < self.max_points {
                    *count += 1;
                    *slot = *at;
                } else {
                    tally.crowded += 1;
                }
            }
            base += block.len();
        }
        points.len()
    }

    /// Second pass: the kept points side by side. Leaves in `ends` where each pillar's points end.
    fn gather(&mut self, points: &[[f32; 4]]) {
        let mut total = 0;
        for end in &mut self.ends {
            let count = *end;
            *end = total;
            total += count;
        }
        self.grouped.resize(total as usize, [0.0; 4]);
        for (point, pillar) in points.iter().zip(&self.pillar_of) {
            if *pillar != NONE {
                let next = &mut self.ends[*pillar as usize];
                self.grouped[*next as usize] = *point;
                *next += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn grid() -> Grid {
        Grid {
            min: [0.0, -2.0, -1.0],
            size: [0.5, 0.5, 2.0],
            cells: [8, 8],
        }
    }

    /// The rules, written down as plainly as they can be.
    fn plainly(
        grid: &Grid,
        max_points: usize,
        max_pillars: usize,
        when_full: WhenFull,
        points: &[[f32; 4]],
    ) -> Vec<([u32; 2], Vec<[f32; 4]>)> {
        let mut pillars: Vec<([u32; 2], Vec<[f32; 4]>)> = Vec::new();
        for point in points {
            if point.iter().any(|v| !v.is_finite()) {
                continue;
            }
            let at = [0, 1, 2].map(|k| ((point[k] - grid.min[k]) / grid.size[k]).floor());
            let limits = [grid.cells[0] as f32, grid.cells[1] as f32, 1.0];
            if (0..3).any(|k| at[k] < 0.0 || at[k] >= limits[k]) {
                continue;
            }
            let cell = [at[0] as u32, at[1] as u32];
            match pillars.iter().position(|p| p.0 == cell) {
                Some(k) if pillars[k].1.len() < max_points => pillars[k].1.push(*point),
                Some(_) => {}
                None if pillars.len() < max_pillars => pillars.push((cell, vec![*point])),
                None if when_full == WhenFull::Stop => break,
                None => {}
            }
        }
        pillars
    }

    fn held(voxeliser: &Voxeliser) -> Vec<([u32; 2], Vec<[f32; 4]>)> {
        voxeliser.pillars().map(|(c, p)| (c, p.to_vec())).collect()
    }

    fn coordinate() -> impl Strategy<Value = f32> {
        prop_oneof![
            8 => -3.0f32..5.0,
            4 => (-6i32..10).prop_map(|n| n as f32 * 0.5),
            1 => prop_oneof![Just(f32::NAN), Just(f32::INFINITY), Just(f32::NEG_INFINITY), Just(-0.0)],
        ]
    }

    proptest! {
        #[test]
        fn pillars_follow_the_rules_as_plainly_written_sweep_after_sweep(
            sweeps in prop::collection::vec(
                prop::collection::vec([coordinate(), coordinate(), coordinate(), coordinate()], 0..600), 1..4),
            max_points in 1u32..6,
            max_pillars in 1u32..40,
            skip in any::<bool>(),
        ) {
            let when_full = if skip { WhenFull::Skip } else { WhenFull::Stop };
            let mut voxeliser = Voxeliser::new(grid(), max_points, max_pillars, when_full);
            for sweep in &sweeps {
                let tally = voxeliser.run(sweep);
                let wanted = plainly(&grid(), max_points as usize, max_pillars as usize, when_full, sweep);
                prop_assert_eq!(held(&voxeliser), wanted);
                // The place in the sweep as its time: each goes where its point went.
                let places: Vec<f32> = (0..sweep.len()).map(|n| n as f32).collect();
                voxeliser.gather_times(&places);
                for ((_, points), times) in voxeliser.pillars().zip(voxeliser.times()) {
                    prop_assert_eq!(points.len(), times.len());
                    for (point, time) in points.iter().zip(times) {
                        prop_assert_eq!(point, &sweep[*time as usize]);
                    }
                    prop_assert!(times.is_sorted_by(|a, b| a < b));
                }
                let sum = tally.kept + tally.outside + tally.not_finite + tally.crowded + tally.unread;
                prop_assert_eq!(sum as usize, sweep.len());
            }
        }
    }

    #[test]
    fn points_that_are_not_finite_are_counted_and_left_out() {
        let mut voxeliser = Voxeliser::new(grid(), 4, 4, WhenFull::Stop);
        let tally = voxeliser.run(&[
            [f32::NAN, 0.0, 0.0, 0.0],
            [1.0, 0.0, 0.0, f32::INFINITY],
            [1.0, 0.0, 0.0, 0.5],
            [100.0, 0.0, 0.0, 0.5],
        ]);
        assert_eq!(
            tally,
            Tally {
                pillars: 1,
                kept: 1,
                outside: 1,
                not_finite: 2,
                crowded: 0,
                unread: 0
            }
        );
    }

    #[test]
    fn when_full_decides_what_happens_beyond_the_last_pillar() {
        let points = [[0.1, 0.0, 0.0, 0.0], [1.1, 0.0, 0.0, 0.0], [0.2, 0.0, 0.0, 0.0]];
        let mut stop = Voxeliser::new(grid(), 4, 1, WhenFull::Stop);
        let tally = stop.run(&points);
        assert_eq!((tally.kept, tally.unread), (1, 2));
        let mut skip = Voxeliser::new(grid(), 4, 1, WhenFull::Skip);
        let tally = skip.run(&points);
        assert_eq!((tally.kept, tally.crowded, tally.unread), (2, 1, 0));
    }

    #[test]
    fn a_device_is_told_what_becomes_of_points_when_all_pillars_are_taken() {
        let skips = |when_full| Voxeliser::new(grid(), 3, 4, when_full).skips();
        assert!(skips(WhenFull::Skip) && !skips(WhenFull::Stop));
    }
}
