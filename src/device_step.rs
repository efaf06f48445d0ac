//! What a device can do in the place of the host, as data: a detector says it, `gpu` has the kernels, and neither needs the other.

/// Words of a point in a block; as many stand before the first.
pub const POINT_WORDS: usize = 4;

/// A network's input for images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputShape {
    /// Width and height in pixels.
    pub size: [usize; 2],
    /// Whether the three channels of a pixel stand together.
    pub interleaved: bool,
}

impl InputShape {
    /// Bytes of a block before its rows or values; all sizes here are cut to what a number holds, which no memory has.
    pub fn head_bytes(&self) -> usize {
        let [width, height] = self.size;
        let words = width.saturating_mul(2).saturating_add(height.saturating_mul(3));
        words.saturating_add(16).div_ceil(4).saturating_mul(16)
    }

    /// Bytes of the input.
    pub fn input_bytes(&self) -> usize {
        self.size[0].saturating_mul(self.size[1]).saturating_mul(12)
    }
}

/// What pillars are, and how many.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PillarRules {
    /// Lower corner of the range in metres: x, y, z.
    pub low: [f32; 3],
    /// Size of one pillar in metres.
    pub size: [f32; 3],
    /// Pillars along x and y.
    pub cells: [u32; 2],
    /// The middle of pillar (0, 0), and what a network was given as such along x and y.
    pub centre: [f32; 3],
    /// The middle of pillar (0, 0) as networks are given it, along x and y; see `centre`.
    pub first: [f32; 2],
    /// Most points of a pillar.
    pub max_points: u32,
    /// Most pillars of a sweep.
    pub max_pillars: u32,
    /// Whether points beyond the last pillar are passed over; otherwise reading stops there.
    pub skips: bool,
    /// Most points of a sweep.
    pub capacity: u32,
    /// Whether a block has the time of each point as well.
    pub has_times: bool,
}

impl PillarRules {
    /// Bytes of the largest block: four words, the first of which is the number of points, then four to a point, and behind
    /// the last of them, if there are times, one to a point.
    pub fn block_bytes(&self) -> usize {
        let points = self.capacity as usize;
        let times = if self.has_times {
            points.div_ceil(POINT_WORDS)
        } else {
            0
        };
        (1 + points).saturating_add(times).saturating_mul(POINT_WORDS * 4)
    }
}

/// A tensor of `max_pillars` rows that is made of pillars.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PillarTensor {
    /// Places in a row: a point each, or one for the row.
    pub slots: usize,
    /// Elements from row to row, from place to place and from feature to feature.
    pub strides: [usize; 3],
    /// What stands there, by the kernel's codes.
    pub features: Vec<u8>,
}

/// What a scatter writes where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CanvasShape {
    /// Channels of features and canvas.
    pub channels: usize,
    /// Cells along x and y.
    pub cells: [usize; 2],
    /// Most pillars in a frame.
    pub max_pillars: usize,
    /// Whether features stand channel by channel.
    pub channels_first: bool,
}

impl CanvasShape {
    /// Bytes of the canvas.
    pub fn canvas_bytes(&self) -> usize {
        let [columns, rows] = self.cells;
        columns
            .saturating_mul(rows)
            .saturating_mul(self.channels)
            .saturating_mul(4)
    }
}
