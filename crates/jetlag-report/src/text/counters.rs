//! What the hardware counted, as tables: a frame by pipe and by memory, layers, kernels; and beside the static work.

use std::cmp::Reverse;

use jetlag_figure::section::terminal::{both_ends, paragraph};

use super::{dim, heading, plain};
use crate::Style;
use crate::analysis::counters::{Caches, Counted, Counters, KNOWN, Measurement, NVPROF, wanted};
use crate::analysis::roofline::{Against, Ratio};
use crate::number::{UNKNOWN, or_unknown, percent, scaled, short};
use crate::table::{Align, Grid, Ink};

/// Letters of a layer's name.
const NAME: usize = 36;

/// Layers and kernels shown; JSON has all.
const SHOWN: usize = 25;

/// All measurements.
pub fn counters(counters: &Counters, style: &Style) -> String {
    let mut sections: Vec<String> = Vec::new();
    if counters.measurements.len() > 1 {
        sections.push(batches(counters, style));
    }
    for one in &counters.measurements {
        sections.extend([
            total(one, style),
            layers(one, style),
            kernels(one, style),
            notes(&one.notes, style),
        ]);
    }
    sections.retain(|section| !section.is_empty());
    sections.join("\n")
}

fn batches(counters: &Counters, style: &Style) -> String {
    let mut grid = Grid::headed()
        .column("measured", Align::Left)
        .column("FLOP", Align::Right)
        .column("DRAM", Align::Right)
        .column("L2", Align::Right)
        .column("FLOP/byte", Align::Right);
    for one in &counters.measurements {
        let total = &one.total;
        grid.row(vec![
            (one.shapes.clone().unwrap_or_else(|| one.name.clone()), Ink::Bold),
            amount(total.flops),
            amount(total.dram_bytes),
            amount(total.l2_bytes),
            plain(or_unknown(intensity(total), short)),
        ]);
    }
    heading("COUNTERS", "of a frame", style) + &grid.render(style)
}

fn amount(value: Option<f64>) -> crate::table::Text {
    plain(or_unknown(value, scaled))
}

fn intensity(counted: &Counted) -> Option<f64> {
    let bytes = counted.dram_bytes.filter(|bytes| *bytes > 0.0)?;
    Some(counted.flops? / bytes)
}

fn total(one: &Measurement, style: &Style) -> String {
    let mut grid = Grid::headless()
        .column("", Align::Left)
        .column("", Align::Right)
        .column("", Align::Left);
    let own = &one.total;
    grid.row(vec![
        plain("operations"),
        (or_unknown(own.flops, scaled), Ink::Bold),
        dim("FLOP, all pipes"),
    ]);
    for (pipe, flops) in &own.flops_by_pipe {
        grid.row(vec![
            plain(format!("  {pipe}")),
            plain(scaled(*flops)),
            dim("FLOP"),
        ]);
    }
    for (kind, count) in &own.tensor_instructions {
        grid.row(vec![
            plain(format!("  {kind}")),
            plain(scaled(*count)),
            dim("warp instructions of the tensor cores"),
        ]);
    }
    for (name, bytes, says) in [
        ("DRAM", own.dram_bytes, "bytes, read and written"),
        ("L2", own.l2_bytes, "bytes"),
        ("L1", own.l1_bytes, "bytes"),
    ] {
        grid.row(vec![plain(name), amount(bytes), dim(says)]);
    }
    grid.row(vec![
        plain("time"),
        plain(or_unknown(own.seconds, |s| short(s * 1e3))),
        dim("ms, kernels one by one under the profiler"),
    ]);
    for (name, value) in &own.others {
        grid.row(vec![plain(name), plain(scaled(*value)), dim("")]);
    }
    let caches = match one.caches {
        Caches::Emptied => ", caches emptied before each kernel",
        Caches::Kept => ", caches as they were",
        Caches::Unknown => "",
    };
    let of = one
        .shapes
        .as_ref()
        .map_or_else(|| one.name.clone(), |shapes| format!("{}, {shapes}", one.name));
    let frames = if one.frames == 1 {
        "1 frame".to_owned()
    } else {
        format!("a frame of {}", one.frames)
    };
    let note = format!("{of}: {frames}, {} kernels in all{caches}", one.launches);
    heading("COUNTED BY THE HARDWARE", &note, style) + &grid.render(style)
}

/// The columns that layers and kernels have in common.
fn grid(of: &'static str) -> Grid {
    Grid::headed()
        .column(of, Align::Left)
        .column("launches", Align::Right)
        .column("µs", Align::Right)
        .column("FLOP", Align::Right)
        .column("DRAM", Align::Right)
        .optional("L2", Align::Right)
        .optional("L1", Align::Right)
        .optional("FLOP/byte", Align::Right)
        .optional("tensor", Align::Left)
}

fn row(name: String, launches: f64, counted: &Counted) -> Vec<crate::table::Text> {
    vec![
        plain(name),
        plain(short(launches)),
        plain(or_unknown(counted.seconds, |s| short(s * 1e6))),
        amount(counted.flops),
        amount(counted.dram_bytes),
        amount(counted.l2_bytes),
        amount(counted.l1_bytes),
        plain(or_unknown(intensity(counted), short)),
        dim(counted.generation.as_deref().unwrap_or_default()),
    ]
}

fn layers(one: &Measurement, style: &Style) -> String {
    if one.layers.iter().all(|layer| layer.name.is_none()) {
        return String::new();
    }
    let mut table = grid("layer");
    for layer in one.layers.iter().take(SHOWN) {
        let name = layer
            .name
            .as_deref()
            .map_or_else(|| "(no layer)".to_owned(), |name| both_ends(name, NAME));
        table.row(row(name, layer.launches, &layer.counted));
    }
    heading("LAYERS", "in the order of execution", style)
        + &table.render(style)
        + &more(one.layers.len(), style)
}

fn kernels(one: &Measurement, style: &Style) -> String {
    let mut table = grid("kernel");
    for kernel in one.kernels.iter().take(SHOWN) {
        table.row(row(beginning(&kernel.name), kernel.launches, &kernel.counted));
    }
    heading("KERNELS", "the longest first", style) + &table.render(style) + &more(one.kernels.len(), style)
}

fn more(all: usize, style: &Style) -> String {
    match all.checked_sub(SHOWN).filter(|rest| *rest > 0) {
        Some(rest) => format!(
            "  {}\n",
            Ink::Dim.paint(&format!("{rest} more: --format json"), style)
        ),
        None => String::new(),
    }
}

/// The beginning of a kernel's name, without what C++ writes before and behind it.
fn beginning(name: &str) -> String {
    const ROOM: usize = 40;
    let name = name.strip_prefix("void ").unwrap_or(name);
    match name.chars().count() > ROOM {
        true => name.chars().take(ROOM - 1).chain(['…']).collect(),
        false => name.to_owned(),
    }
}

fn notes(notes: &[String], style: &Style) -> String {
    notes
        .iter()
        .map(|note| paragraph(note, Ink::Plain, style))
        .collect()
}

/// Counted beside static, of one tenant.
pub(super) fn against(own: &Against, style: &Style) -> String {
    let mut grid = Grid::headed()
        .column("", Align::Left)
        .column("counted", Align::Right)
        .column("of the file", Align::Right)
        .column("ratio", Align::Right);
    let mut line = |name: &str, ratio: Option<Ratio>| {
        grid.row(match ratio {
            Some(ratio) => vec![
                plain(name),
                plain(scaled(ratio.counted)),
                plain(scaled(ratio.of_file)),
                (percent(ratio.ratio), Ink::Bold),
            ],
            None => vec![plain(name), plain(UNKNOWN), plain(UNKNOWN), plain(UNKNOWN)],
        });
    };
    line("operations", own.flops);
    line("bytes, chains on the chip", own.fused);
    line("bytes, every operator through memory", own.round_trip);
    let mut text = heading("COUNTERS", &own.name, style) + &grid.render(style);
    match own.nearer {
        Some("fused") => {
            text += &paragraph(
                "The bytes are nearer to chains that stay on the chip.",
                Ink::Plain,
                style,
            )
        }
        Some(_) => {
            text += &paragraph(
                "The bytes are nearer to every operator going through memory.",
                Ink::Plain,
                style,
            )
        }
        None => {}
    }
    if !own.layers.is_empty() {
        text += "\n";
        text += &layers_against(own, style);
    }
    text + &notes(&own.notes, style)
}

fn layers_against(own: &Against, style: &Style) -> String {
    let mut table = Grid::headed()
        .column("layer", Align::Left)
        .column("FLOP", Align::Right)
        .column("of the file", Align::Right)
        .column("ratio", Align::Right)
        .column("DRAM", Align::Right)
        .column("of the file", Align::Right);
    let mut all: Vec<_> = own.layers.iter().collect();
    all.sort_by_key(|layer| Reverse(layer.flops.map_or(0, |flops| flops.counted as u64)));
    for layer in all.iter().take(SHOWN) {
        table.row(vec![
            plain(both_ends(&layer.name, NAME)),
            amount(layer.flops.map(|of| of.counted)),
            amount(layer.flops.map(|of| of.of_file)),
            plain(or_unknown(layer.flops.map(|of| of.ratio), percent)),
            amount(layer.bytes.map(|of| of.counted)),
            amount(layer.bytes.map(|of| of.of_file)),
        ]);
    }
    heading("LAYERS, COUNTED", "most operations first", style)
        + &table.render(style)
        + &more(own.layers.len(), style)
}

/// The metrics that are asked for, and nvprof's names.
pub fn known(style: &Style) -> String {
    let note = format!("{} that are asked for without --metrics", wanted(&[]).len());
    let mut text = heading("METRICS", &note, style);
    for metric in KNOWN {
        text += &format!("  {:<56} {}\n", metric.name, Ink::Dim.paint(metric.says, style));
    }
    text += "\n";
    text += &heading("NVPROF'S NAMES", "--metrics takes these too", style);
    for renamed in NVPROF {
        let new = if renamed.new.is_empty() {
            "has no successor"
        } else {
            renamed.new
        };
        text += &format!("  {:<34} {}\n", renamed.old, Ink::Dim.paint(new, style));
    }
    text
}
