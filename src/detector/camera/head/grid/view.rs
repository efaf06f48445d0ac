//! Where the values of a cell lie in an output: every layout is three steps and a beginning.

use super::{Layout, Order};

/// One level's values in an output tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct View {
    /// Index of the first value of the first anchor of the first cell.
    pub(super) start: usize,
    /// From a cell to the next one.
    pub(super) cell: usize,
    /// From an anchor of a cell to its next one.
    pub(super) anchor: usize,
    /// From a column to the next one.
    pub(super) column: usize,
}

/// How much of an output a level takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// Cells across and down.
    pub(super) cells: [usize; 2],
    /// Anchors of a cell.
    pub(super) anchors: usize,
    /// Columns of the tensor.
    pub(super) columns: usize,
    /// Boxes of earlier levels in the same tensor.
    pub(super) before: usize,
    /// Boxes of all levels in the tensor.
    pub(super) all: usize,
}

impl Extent {
    fn boxes(&self) -> usize {
        self.cells[0] * self.cells[1] * self.anchors
    }
}

impl View {
    /// Of a level in a tensor of this shape; `None` where the shape is not one of the layout's.
    pub(super) fn of(dims: &[usize], layout: Layout, order: Order, extent: Extent) -> Option<View> {
        let Extent {
            cells: [across, down],
            anchors,
            columns,
            before,
            all,
        } = extent;
        let cells = across * down;
        // The steps of boxes that follow one another, in units of one box.
        let (cell, anchor) = match order {
            Order::AnchorsInCells => (anchors, 1),
            Order::CellsInAnchors => (1, cells),
        };
        let rows = View {
            start: before * columns,
            cell: cell * columns,
            anchor: anchor * columns,
            column: 1,
        };
        let planes = View {
            start: 0,
            cell: 1,
            anchor: columns * cells,
            column: cells,
        };
        let cell_by_cell = View {
            start: 0,
            cell: anchors * columns,
            anchor: columns,
            column: 1,
        };
        let anchor_by_anchor = View {
            start: 0,
            cell: columns,
            anchor: columns * cells,
            column: 1,
        };
        match (layout, dims) {
            (Layout::Rows, &[1, n, c] | &[n, c] | &[1, n, 1, c]) if n == all && c == columns => Some(rows),
            // One column needs no dimension of its own.
            (Layout::Rows, &[1, n]) if n == all && columns == 1 => Some(rows),
            (Layout::Columns, &[1, c, n] | &[c, n]) if n == all && c == columns => Some(View {
                start: before,
                cell,
                anchor,
                column: all,
            }),
            (Layout::Maps, &[1, k, h, w]) if k == anchors * columns && [w, h] == extent.cells => Some(planes),
            (Layout::Maps, &[1, a, c, h, w]) if a == anchors && c == columns && [w, h] == extent.cells => {
                Some(planes)
            }
            (Layout::Cells, &[1, h, w, k]) if k == anchors * columns && [w, h] == extent.cells => {
                Some(cell_by_cell)
            }
            (Layout::Cells, &[1, h, w, a, c]) if a == anchors && c == columns && [w, h] == extent.cells => {
                Some(cell_by_cell)
            }
            (Layout::Cells, &[1, a, h, w, c]) if a == anchors && c == columns && [w, h] == extent.cells => {
                Some(anchor_by_anchor)
            }
            _ => None,
        }
    }

    /// The shapes that fit, in words.
    pub(super) fn expected(layout: Layout, extent: Extent) -> String {
        let Extent {
            cells: [w, h],
            anchors,
            columns,
            all,
            ..
        } = extent;
        let k = anchors * columns;
        match layout {
            Layout::Rows => format!("[1, {all}, {columns}]"),
            Layout::Columns => format!("[1, {columns}, {all}]"),
            Layout::Maps => format!("[1, {k}, {h}, {w}] or [1, {anchors}, {columns}, {h}, {w}]"),
            Layout::Cells => format!("[1, {h}, {w}, {k}] or [1, {anchors}, {h}, {w}, {columns}]"),
        }
    }

    /// Whether a level's values lie within so many, given its extent.
    pub(super) fn fits(&self, extent: Extent, values: usize) -> bool {
        let boxes = extent.boxes();
        if boxes == 0 || extent.columns == 0 {
            return true;
        }
        let [across, down] = extent.cells;
        let last = self.start
            + self.cell * (across * down - 1)
            + self.anchor * (extent.anchors - 1)
            + self.column * (extent.columns - 1);
        last < values
    }

    /// Index of a value.
    #[inline]
    pub(super) fn index(&self, cell: usize, anchor: usize, column: usize) -> usize {
        self.start + self.cell * cell + self.anchor * anchor + self.column * column
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVEL: Extent = Extent {
        cells: [3, 2],
        anchors: 2,
        columns: 5,
        before: 4,
        all: 20,
    };

    /// Every value of the level is found at its place exactly once, and none outside of the tensor.
    fn assert_covers(dims: &[usize], layout: Layout, order: Order, extent: Extent) {
        let view = View::of(dims, layout, order, extent).unwrap_or_else(|| panic!("{layout:?} {dims:?}"));
        let values: usize = dims.iter().product();
        assert!(view.fits(extent, values));
        let mut seen = vec![false; values];
        for cell in 0..6 {
            for anchor in 0..extent.anchors {
                for column in 0..extent.columns {
                    let index = view.index(cell, anchor, column);
                    assert!(!std::mem::replace(&mut seen[index], true), "{layout:?} {dims:?}");
                }
            }
        }
    }

    #[test]
    fn each_layout_reaches_each_value_once() {
        for order in [Order::AnchorsInCells, Order::CellsInAnchors] {
            for dims in [&[1, 20, 5][..], &[20, 5], &[1, 20, 1, 5]] {
                assert_covers(dims, Layout::Rows, order, LEVEL);
            }
            assert_covers(&[1, 5, 20], Layout::Columns, order, LEVEL);
            let alone = Extent {
                before: 0,
                all: 12,
                ..LEVEL
            };
            for dims in [&[1, 10, 2, 3][..], &[1, 2, 5, 2, 3]] {
                assert_covers(dims, Layout::Maps, order, alone);
            }
            for dims in [&[1, 2, 3, 10][..], &[1, 2, 3, 2, 5], &[1, 2, 2, 3, 5]] {
                assert_covers(dims, Layout::Cells, order, alone);
            }
        }
    }

    #[test]
    fn a_shape_of_another_size_fits_no_layout() {
        for layout in [Layout::Rows, Layout::Columns, Layout::Maps, Layout::Cells] {
            for dims in [&[][..], &[1, 19, 5], &[1, 20, 6], &[2, 20, 5], &[1, 10, 3, 2]] {
                assert_eq!(View::of(dims, layout, Order::AnchorsInCells, LEVEL), None);
            }
        }
    }
}
