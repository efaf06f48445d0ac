//! A bounded number of equally wide stretches of time, which grow wider as time goes on.

use crate::units::{Nanos, Stamp};

/// Cells of one tenant.
pub(super) const MOST_CELLS: usize = 1024;
/// Width of the narrowest cell as a power of two: 1.05 ms.
pub(super) const NARROWEST: u32 = 20;

/// What is gathered in a cell.
pub(super) trait Cell: Copy + Default {
    /// Both as one.
    fn join(self, other: Self) -> Self;
}

/// Cells of time from the first stamp to the last.
#[derive(Clone, Debug, Default)]
pub(super) struct Cells<C> {
    pub(super) cells: Vec<C>,
    /// Number of the first cell, counted in cells from the stamp zero.
    first: i64,
    /// Width of a cell as a power of two of nanoseconds.
    pub(super) width: u32,
}

impl<C: Cell> Cells<C> {
    /// Joins a value to the cell of a timestamp, which exists from then on.
    pub(super) fn add(&mut self, at: Stamp, value: C) {
        let place = self.place(at);
        if let Some(known) = self.cells.get_mut(place) {
            *known = known.join(value);
        }
    }

    /// Joins to every cell of a stretch of time what `value` makes of the part within the cell.
    pub(super) fn spread(&mut self, from: Stamp, to: Stamp, value: impl Fn(Nanos) -> C) {
        // Both ends first: the width may change.
        self.place(from);
        let last = self.place(to);
        let first = self.place(from);
        for (number, cell) in (self.first..).zip(&mut self.cells).take(last + 1).skip(first) {
            let begins = number << self.width;
            let ends = begins.saturating_add(1 << self.width);
            let part = to.0.min(ends).saturating_sub(from.0.max(begins));
            *cell = cell.join(value(Nanos(part.max(0))));
        }
    }

    /// The cells in order, each with its beginning and end.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Stamp, Stamp, &C)> {
        let numbered = (self.first..).zip(&self.cells);
        numbered.map(|(number, cell)| {
            let from = Stamp(number << self.width);
            (from, from + Nanos(1 << self.width), cell)
        })
    }

    /// The index of a timestamp's cell, which exists from then on.
    fn place(&mut self, at: Stamp) -> usize {
        if self.cells.is_empty() {
            self.width = NARROWEST;
            self.first = at.0 >> self.width;
            self.cells.push(C::default());
            return 0;
        }
        loop {
            let number = at.0 >> self.width;
            let last = self.first + self.cells.len() as i64 - 1;
            let (first, last) = (self.first.min(number), last.max(number));
            // Both are small: a width of 2²⁰ ns leaves 43 bits.
            if last - first < MOST_CELLS as i64 {
                let before = (self.first - first) as usize;
                if before > 0 {
                    self.cells.splice(0..0, std::iter::repeat_n(C::default(), before));
                    self.first = first;
                }
                let length = (last - first + 1) as usize;
                if self.cells.len() < length {
                    self.cells.resize(length, C::default());
                }
                return (number - self.first) as usize;
            }
            self.widen();
        }
    }

    fn widen(&mut self) {
        self.width += 1;
        let first = self.first >> 1;
        let mut joined: Vec<C> = Vec::with_capacity(self.cells.len() / 2 + 1);
        for (number, cell) in (self.first..).zip(&self.cells) {
            let place = ((number >> 1) - first) as usize;
            match joined.get_mut(place) {
                Some(known) => *known = known.join(*cell),
                None => joined.push(*cell),
            }
        }
        (self.first, self.cells) = (first, joined);
    }
}
