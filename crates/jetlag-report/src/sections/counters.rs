//! What the hardware counted: a frame by pipe and by memory, layers, kernels; and beside the static work.

use std::cmp::Reverse;

use jetlag_figure::section::{Cell, Section, Table, Tone};

use super::traced::names::shortened;
use crate::analysis::counters::{Caches, Counted, Counters, KNOWN, Measurement, NVPROF, wanted};
use crate::analysis::roofline::{Against, Ratio};
use crate::number::{percent, scaled, short};

/// Letters of a layer's or kernel's name.
const NAME: usize = 40;

/// Layers and kernels shown; JSON has all.
const SHOWN: usize = 25;

/// All measurements.
pub(crate) fn sections<D>(counters: &Counters) -> Vec<Section<D>> {
    let several = (counters.measurements.len() > 1).then(|| batches(counters));
    let each = counters.measurements.iter().flat_map(|one| {
        let kernels = kernels(one).texts(one.notes.iter().cloned());
        [Some(total(one)), layers(one), Some(kernels)]
    });
    std::iter::once(several).chain(each).flatten().collect()
}

fn batches<D>(counters: &Counters) -> Section<D> {
    let mut table = Table::new("")
        .words("measured")
        .numbers(["FLOP", "DRAM", "L2", "FLOP/byte"]);
    for one in &counters.measurements {
        let total = &one.total;
        table.row([
            Cell::new(one.shapes.as_ref().unwrap_or(&one.name)).tone(Tone::Strong),
            Cell::of(total.flops, scaled),
            Cell::of(total.dram_bytes, scaled),
            Cell::of(total.l2_bytes, scaled),
            Cell::of(intensity(total), short),
        ]);
    }
    Section::new("counters", "Counters", "of a frame").table(table)
}

fn intensity(counted: &Counted) -> Option<f64> {
    let bytes = counted.dram_bytes.filter(|bytes| *bytes > 0.0)?;
    Some(counted.flops? / bytes)
}

fn total<D>(one: &Measurement) -> Section<D> {
    let mut table = Table::new("").words("").number("").words("");
    let mut line = |name: &str, value: Cell, says: &str| {
        table.row([Cell::new(name), value, Cell::new(says).tone(Tone::Dim)]);
    };
    let own = &one.total;
    line(
        "operations",
        Cell::of(own.flops, scaled).tone(Tone::Strong),
        "FLOP, all pipes",
    );
    for (pipe, flops) in &own.flops_by_pipe {
        line(&format!("· {pipe}"), Cell::new(scaled(*flops)), "FLOP");
    }
    for (kind, count) in &own.tensor_instructions {
        let says = "warp instructions of the tensor cores";
        line(&format!("· {kind}"), Cell::new(scaled(*count)), says);
    }
    line(
        "DRAM",
        Cell::of(own.dram_bytes, scaled),
        "bytes, read and written",
    );
    line("L2", Cell::of(own.l2_bytes, scaled), "bytes");
    line("L1", Cell::of(own.l1_bytes, scaled), "bytes");
    line(
        "time",
        Cell::of(own.seconds, |s| short(s * 1e3)),
        "ms, kernels one by one under the profiler",
    );
    for (name, value) in &own.others {
        line(name, Cell::new(scaled(*value)), "");
    }
    let caches = match one.caches {
        Caches::Emptied => ", caches emptied before each kernel",
        Caches::Kept => ", caches as they were",
        Caches::Unknown => "",
    };
    let shapes = one
        .shapes
        .as_ref()
        .map_or_else(String::new, |of| format!(", {of}"));
    let frames = match one.frames {
        1 => "1 frame".to_owned(),
        frames => format!("a frame of {frames}"),
    };
    let note = format!(
        "{}{shapes}: {frames}, {} kernels in all{caches}",
        one.name, one.launches
    );
    Section::new("counted", "Counted by the hardware", note).table(table)
}

/// The columns that layers and kernels have in common.
fn table(of: &'static str) -> Table {
    Table::new("")
        .words(of)
        .numbers(["launches", "µs", "FLOP", "DRAM"])
        .optional_number("L2")
        .optional_number("L1")
        .optional_number("FLOP/byte")
        .optional_words("tensor")
}

fn row(name: &str, launches: f64, counted: &Counted) -> [Cell; 9] {
    [
        Cell::new(shortened(name, NAME)),
        Cell::new(short(launches)),
        Cell::of(counted.seconds, |s| short(s * 1e6)),
        Cell::of(counted.flops, scaled),
        Cell::of(counted.dram_bytes, scaled),
        Cell::of(counted.l2_bytes, scaled),
        Cell::of(counted.l1_bytes, scaled),
        Cell::of(intensity(counted), short),
        Cell::new(counted.generation.as_deref().unwrap_or_default()).tone(Tone::Dim),
    ]
}

fn layers<D>(one: &Measurement) -> Option<Section<D>> {
    one.layers.iter().find(|layer| layer.name.is_some())?;
    let mut table = table("layer");
    for layer in one.layers.iter().take(SHOWN) {
        let name = layer.name.as_deref().unwrap_or("(no layer)");
        table.row(row(name, layer.launches, &layer.counted));
    }
    let section = Section::new("counted-layers", "Layers", "in the order of execution");
    Some(section.table(table).remarks(more(one.layers.len())))
}

fn kernels<D>(one: &Measurement) -> Section<D> {
    let mut table = table("kernel");
    for kernel in one.kernels.iter().take(SHOWN) {
        table.row(row(&kernel.name, kernel.launches, &kernel.counted));
    }
    Section::new("counted-kernels", "Kernels", "the longest first")
        .table(table)
        .remarks(more(one.kernels.len()))
}

fn more(all: usize) -> Option<String> {
    let rest = all.checked_sub(SHOWN).filter(|rest| *rest > 0)?;
    Some(format!("{rest} more: --format json"))
}

/// Counted beside static, of one tenant.
pub(crate) fn against<D>(own: &Against) -> Vec<Section<D>> {
    let mut table = Table::new("")
        .words("")
        .numbers(["counted", "of the file", "ratio"]);
    let mut line = |name: &str, ratio: Option<Ratio>| {
        table.row([
            Cell::new(name),
            Cell::of(ratio, |of| scaled(of.counted)),
            Cell::of(ratio, |of| scaled(of.of_file)),
            Cell::of(ratio, |of| percent(of.ratio)).tone(Tone::Strong),
        ]);
    };
    line("operations", own.flops);
    line("bytes, chains on the chip", own.fused);
    line("bytes, every operator through memory", own.round_trip);
    let nearer = own.nearer.map(|nearer| match nearer {
        "fused" => "The bytes are nearer to chains that stay on the chip.",
        _ => "The bytes are nearer to every operator going through memory.",
    });
    let whole = Section::new("against", "Counters", own.name.clone())
        .table(table)
        .texts(nearer.map(str::to_owned));
    match layers_against(own) {
        Some(layers) => vec![whole, layers.texts(own.notes.iter().cloned())],
        None => vec![whole.texts(own.notes.iter().cloned())],
    }
}

fn layers_against<D>(own: &Against) -> Option<Section<D>> {
    let mut table =
        Table::new("")
            .words("layer")
            .numbers(["FLOP", "of the file", "ratio", "DRAM", "of the file"]);
    let mut all: Vec<_> = own.layers.iter().collect();
    all.sort_by_key(|layer| Reverse(layer.flops.map_or(0, |flops| flops.counted as u64)));
    for layer in all.iter().take(SHOWN) {
        table.row([
            Cell::new(&layer.name).code(),
            Cell::of(layer.flops, |of| scaled(of.counted)),
            Cell::of(layer.flops, |of| scaled(of.of_file)),
            Cell::of(layer.flops, |of| percent(of.ratio)),
            Cell::of(layer.bytes, |of| scaled(of.counted)),
            Cell::of(layer.bytes, |of| scaled(of.of_file)),
        ]);
    }
    Section::new("against-layers", "Layers, counted", "most operations first")
        .table(table)
        .remarks(more(own.layers.len()))
        .unless_empty()
}

/// The metrics that are asked for, and nvprof's names.
pub(crate) fn known<D>() -> [Section<D>; 2] {
    let pairs = |pairs: &mut dyn Iterator<Item = (&str, &str)>| {
        let mut table = Table::new("").words("").words("");
        for (name, says) in pairs {
            table.row([Cell::new(name), Cell::new(says).tone(Tone::Dim)]);
        }
        table
    };
    let note = format!("{} that are asked for without --metrics", wanted(&[]).len());
    let metrics = pairs(&mut KNOWN.iter().map(|metric| (metric.name, metric.says)));
    let renamed = pairs(&mut NVPROF.iter().map(|renamed| match renamed.new {
        "" => (renamed.old, "has no successor"),
        new => (renamed.old, new),
    }));
    [
        Section::new("metrics", "Metrics", note).table(metrics),
        Section::new("nvprof", "nvprof's names", "--metrics takes these too").table(renamed),
    ]
}
