//! Points to pillars and a network's inputs, on the device (`kernels/pillars.cu`).

use std::ffi::CStr;
use std::sync::Arc;

use super::kernels::{BLOCK, Kernel, Module};
use super::memory::DeviceMemory;
use super::stream::Stream;
use super::{GpuError, Span};
use crate::device_step::{POINT_WORDS, PillarRules, PillarTensor};

/// Blocks of a launch, in whose strides threads go through points, cells and rows.
const MOST_BLOCKS: usize = 128;
/// As in the kernels: values to a tile, tiles to a group.
const TILE: usize = 32;
const GROUP: usize = 64;
/// Most features of a tensor: four bits each.
const MOST_FEATURES: usize = 16;

/// The kernels, in the order of their work.
#[derive(Debug)]
struct Kernels {
    clear: Kernel,
    cells: Kernel,
    flags: Kernel,
    tiles: Kernel,
    groups: Kernel,
    prefix: Kernel,
    rows: Kernel,
    count: Kernel,
    fill: Kernel,
    keep: Kernel,
    mean: Kernel,
    encode: Kernel,
}

/// One slot's voxelisation, with working memory of its own.
#[derive(Debug)]
pub struct Pillars {
    kernels: Kernels,
    rules: PillarRules,
    setup: DeviceMemory,
    work: DeviceMemory,
    places: Places,
    block: Span,
    cells: Span,
    tensors: Vec<(Span, PillarTensor)>,
}

/// Where the parts of the working memory begin, in words; as the kernels' `Setup` has them.
#[derive(Clone, Copy, Debug)]
struct Places {
    all: [u32; 11],
    words: usize,
}

impl Places {
    const FLAG: usize = 2;
    const RANK: usize = 3;
    const COUNT: usize = 6;
    const START: usize = 7;

    fn new(rules: &PillarRules) -> Option<Self> {
        let [columns, rows] = rules.cells.map(|n| n as usize);
        let (points, pillars) = (rules.capacity as usize, rules.max_pillars as usize);
        let tiles = points.max(pillars).div_ceil(TILE);
        let kept = pillars.checked_mul(rules.max_points as usize)?;
        let sizes = [
            columns.checked_mul(rows)?,
            points,
            points,
            points,
            tiles,
            tiles.div_ceil(GROUP),
            pillars,
            pillars,
            points,
            kept,
            3 * pillars,
        ];
        let (mut all, mut words) = ([0; 11], POINT_WORDS);
        for (place, size) in all.iter_mut().zip(sizes) {
            *place = u32::try_from(words).ok()?;
            words = words.checked_add(size)?;
        }
        // Strides of threads are counted in 32 bits.
        (words < 1 << 31).then_some(Places { all, words })
    }

    fn word(&self, place: usize) -> u64 {
        u64::from(self.all[place])
    }
}

impl Pillars {
    /// From a block into cells (`i32 [max_pillars, 2]`, x before y, −1 in rows that only fill up) and tensors (`f32`).
    ///
    /// # Errors
    /// Something is smaller than it must be, there are more pillars or features than can be, or the driver fails.
    pub fn new(
        module: &Arc<Module>,
        rules: PillarRules,
        block: Span,
        cells: Span,
        tensors: Vec<(Span, PillarTensor)>,
    ) -> Result<Self, GpuError> {
        let pillars = rules.max_pillars as usize;
        let needs = |tensor: &PillarTensor| {
            let [row, slot, feature] = tensor.strides;
            let last = |count: usize, stride: usize| count.saturating_sub(1).saturating_mul(stride);
            let last = last(pillars, row)
                .saturating_add(last(tensor.slots, slot))
                .saturating_add(last(tensor.features.len(), feature));
            last.saturating_add(1).saturating_mul(4)
        };
        let is_too_long = |tensor: &PillarTensor| {
            tensor.features.len() > MOST_FEATURES
                || tensor.slots == 0
                || tensor.slots.saturating_mul(pillars) >= 1 << 31
        };
        let places = Places::new(&rules);
        let is_small =
            |(span, tensor): &(Span, PillarTensor)| span.bytes() < needs(tensor) || is_too_long(tensor);
        let small = block.bytes() < rules.block_bytes() || cells.bytes() < pillars * 8;
        let (Some(places), false) = (places, small || tensors.iter().any(is_small)) else {
            return Err(GpuError::TooSmall {
                what: "the pillars' memory",
                wanted: (rules.block_bytes() + pillars * 8) as u64,
                found: (block.bytes() + cells.bytes()) as u64,
            });
        };
        let setup = DeviceMemory::new(module.gpu(), setup_of(&rules, &places).len() * 4)?;
        setup.fill(bytemuck::cast_slice(&setup_of(&rules, &places)))?;
        let kernel = |name: &CStr| module.kernel(name);
        Ok(Pillars {
            kernels: Kernels {
                clear: kernel(c"jetlag_pillars_clear")?,
                cells: kernel(c"jetlag_pillars_cells")?,
                flags: kernel(c"jetlag_pillars_flags")?,
                tiles: kernel(c"jetlag_pillars_tiles")?,
                groups: kernel(c"jetlag_pillars_groups")?,
                prefix: kernel(c"jetlag_pillars_prefix")?,
                rows: kernel(c"jetlag_pillars_rows")?,
                count: kernel(c"jetlag_pillars_count")?,
                fill: kernel(c"jetlag_pillars_fill")?,
                keep: kernel(c"jetlag_pillars_keep")?,
                mean: kernel(c"jetlag_pillars_mean")?,
                encode: kernel(c"jetlag_pillars_encode")?,
            },
            work: DeviceMemory::new(module.gpu(), places.words * 4)?,
            rules,
            setup,
            places,
            block,
            cells,
            tensors,
        })
    }

    /// Enqueues the voxelisation of the sweep that the block holds.
    ///
    /// # Errors
    /// The driver fails.
    pub fn enqueue(&self, stream: &Stream) -> Result<(), GpuError> {
        let Self {
            kernels,
            rules,
            places,
            ..
        } = self;
        let (block, cells) = (self.block.address(), self.cells.address());
        let (setup, work) = (self.setup.address(), self.work.address());
        let (points, pillars) = (rules.capacity as usize, rules.max_pillars as usize);
        let area = rules.cells[0] as usize * rules.cells[1] as usize;
        let launch = |kernel: &Kernel, threads: usize, arguments: &[u64]| {
            let blocks = threads.div_ceil(BLOCK as usize).min(MOST_BLOCKS) as u32;
            // SAFETY: the declarations in kernels/pillars.cu; sizes were asked for in `new`, indices there come from counts
            // that are cut to these sizes, and this and its spans hold the memory, which is not freed before the device is done.
            unsafe { kernel.launch(stream, blocks, arguments) }
        };
        // Word 2 of the working memory is the number of points, word 0 that of pillars.
        let sums = |number: u64, most: usize, values: usize, into: usize| {
            let (values, into) = (places.word(values), places.word(into));
            let tiles = most.div_ceil(TILE);
            launch(&kernels.tiles, tiles, &[setup, work, number, values])?;
            launch(&kernels.groups, tiles.div_ceil(GROUP), &[setup, work, number])?;
            launch(&kernels.prefix, tiles, &[setup, work, number, values, into])
        };
        launch(&kernels.clear, area.max(pillars), &[setup, block, work, cells])?;
        launch(&kernels.cells, points, &[setup, block, work])?;
        launch(&kernels.flags, points, &[setup, work])?;
        sums(2, points, Places::FLAG, Places::RANK)?;
        launch(&kernels.rows, points, &[setup, work, cells])?;
        launch(&kernels.count, points, &[setup, work])?;
        sums(0, pillars, Places::COUNT, Places::START)?;
        launch(&kernels.fill, points, &[setup, work])?;
        launch(&kernels.keep, points, &[setup, work])?;
        launch(&kernels.mean, pillars, &[setup, block, work])?;
        for (span, tensor) in &self.tensors {
            let [row, slot, feature] = tensor.strides.map(|stride| stride as u64);
            let codes = tensor.features.iter().rev();
            let codes = codes.fold(0, |codes, code| codes << 4 | u64::from(code & 15));
            let (slots, features) = (tensor.slots as u64, tensor.features.len() as u64);
            let arguments = [
                span.address(),
                setup,
                block,
                work,
                cells,
                slots,
                row,
                slot,
                feature,
                codes,
                features,
            ];
            launch(&kernels.encode, pillars * tensor.slots, &arguments)?;
        }
        Ok(())
    }
}

/// The words of the kernels' struct `Setup`, in its order.
fn setup_of(rules: &PillarRules, places: &Places) -> Vec<u32> {
    let mut words = rules.cells.to_vec();
    words.extend([
        rules.max_points,
        rules.max_pillars,
        u32::from(rules.skips),
        rules.capacity,
    ]);
    let numbers = [rules.low, rules.size, rules.centre];
    words.extend(
        numbers
            .as_flattened()
            .iter()
            .chain(&rules.first)
            .map(|n| n.to_bits()),
    );
    words.extend(places.all);
    words
}
