//! The work of a network as a table for a terminal.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::element::As;
use crate::training::Optimiser;
use crate::work::{Bound, NodeWork, Work};

/// As many operators as are listed.
const MOST_OPERATORS: usize = 12;
/// As many nodes as are listed.
const MOST_NODES: usize = 8;

/// Operators by share, the nodes with most work, totals, and what is not known; no line is longer than `width`, which is
/// taken as 60 at least.
pub fn text(work: &Work, width: usize) -> String {
    let mut out = String::new();
    let width = width.max(60);
    for (name, shape) in &work.inputs {
        line(
            &mut out,
            width,
            &format!("{name}: {}", crate::call::spelled(shape)),
        );
    }
    operators(&mut out, work, width);
    nodes(&mut out, work, width);
    totals(&mut out, work, width);
    training(&mut out, work, width);
    unknown(&mut out, work, width);
    out
}

/// Adds a line, broken between words where it is too long.
fn line(out: &mut String, width: usize, text: &str) {
    let mut length = 0;
    let indent = text.len() - text.trim_start().len();
    for (at, word) in text.split(' ').enumerate() {
        let word: String = word.chars().flat_map(shown).collect();
        let count = word.chars().count();
        if at > 0 && length + 1 + count > width && length > indent {
            out.push('\n');
            out.push_str(&" ".repeat(indent + 2));
            length = indent + 2;
        } else if at > 0 {
            out.push(' ');
            length += 1;
        }
        out.push_str(&word);
        length += count;
    }
    out.push('\n');
}

/// Names come from the file: what a terminal obeys, control characters and marks of direction, is written out.
fn shown(letter: char) -> Vec<char> {
    let turns = matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    match turns || letter.is_control() {
        true => format!("\\u{:04x}", u32::from(letter)).chars().collect(),
        false => vec![letter],
    }
}

/// A name cut to so many characters.
fn cut(name: &str, most: usize) -> String {
    let name: String = name.chars().flat_map(shown).collect();
    match name.chars().count() > most {
        true => {
            let end: String = name.chars().skip(name.chars().count() + 1 - most).collect();
            format!("…{end}")
        }
        false => name,
    }
}

fn percent(part: u64, of: u64) -> String {
    match of {
        0 => "–".to_owned(),
        of => format!("{:.1} %", 100.0 * part as f64 / of as f64),
    }
}

#[derive(Default)]
struct Sum {
    nodes: usize,
    flops: u64,
    bytes: u64,
    is_bound: bool,
    is_unknown: bool,
}

fn by_operator(work: &Work) -> Vec<(&str, Sum)> {
    let mut sums: BTreeMap<&str, Sum> = BTreeMap::new();
    for node in work.nodes.iter().filter(|node| !node.at_load) {
        let sum = sums.entry(&node.operator).or_default();
        sum.nodes += 1;
        sum.flops = sum.flops.saturating_add(node.flops.unwrap_or(0));
        let bytes = node
            .bytes_read
            .unwrap_or(0)
            .saturating_add(node.bytes_written.unwrap_or(0));
        sum.bytes = sum.bytes.saturating_add(bytes);
        sum.is_bound |= node.bound == Bound::UpperBound;
        sum.is_unknown |= matches!(node.bound, Bound::Unknown(_));
    }
    let mut sums: Vec<(&str, Sum)> = sums.into_iter().collect();
    sums.sort_by(|(a_name, a), (b_name, b)| (b.flops, b.bytes, *a_name).cmp(&(a.flops, a.bytes, *b_name)));
    sums
}

/// `≤` before an upper bound, `≥` before a sum with parts that are not known.
/// In front of a sum: `≤` where some of it is an upper bound, `≥` where something is not in it, `~` where both.
fn mark(is_bound: bool, is_unknown: bool) -> &'static str {
    match (is_bound, is_unknown) {
        (true, true) => "~ ",
        (false, true) => "≥ ",
        (true, false) => "≤ ",
        (false, false) => "",
    }
}

fn operators(out: &mut String, work: &Work, width: usize) {
    let sums = by_operator(work);
    if sums.is_empty() {
        return;
    }
    let name_width = width.saturating_sub(44).clamp(14, 30);
    let _ = writeln!(
        out,
        "\n{:<name_width$} {:>6} {:>14} {:>8} {:>12}",
        "operator", "nodes", "FLOPs", "share", "bytes"
    );
    for (name, sum) in sums.iter().take(MOST_OPERATORS) {
        let marked = mark(sum.is_bound, sum.is_unknown);
        let _ = writeln!(
            out,
            "{:<name_width$} {:>6} {:>14} {:>8} {:>12}",
            cut(name, name_width),
            sum.nodes,
            format!("{marked}{}", flops(sum.flops)),
            percent(sum.flops, work.totals.flops),
            bytes(sum.bytes),
        );
    }
    if sums.len() > MOST_OPERATORS {
        let rest = sums.iter().skip(MOST_OPERATORS);
        let (count, left) = rest.fold((0, 0_u64), |(count, left), (_, sum)| {
            (count + sum.nodes, left.saturating_add(sum.flops))
        });
        let _ = writeln!(
            out,
            "{:<name_width$} {:>6} {:>14} {:>8}",
            "others",
            count,
            flops(left),
            percent(left, work.totals.flops)
        );
    }
}

fn nodes(out: &mut String, work: &Work, width: usize) {
    let mut nodes: Vec<&NodeWork> = work
        .nodes
        .iter()
        .filter(|node| !node.at_load && node.flops > Some(0))
        .collect();
    nodes.sort_by_key(|node| std::cmp::Reverse(node.flops));
    if nodes.len() < 2 {
        return;
    }
    let name_width = width.saturating_sub(44).clamp(14, 50);
    let _ = writeln!(
        out,
        "\n{:<name_width$} {:<14} {:>14} {:>8}",
        "node with most", "operator", "FLOPs", "share"
    );
    for node in nodes.iter().take(MOST_NODES) {
        let _ = writeln!(
            out,
            "{:<name_width$} {:<14} {:>14} {:>8}",
            cut(&node.name, name_width),
            cut(&node.operator, 14),
            format!(
                "{}{}",
                mark(node.bound == Bound::UpperBound, false),
                flops(node.flops.unwrap_or(0))
            ),
            percent(node.flops.unwrap_or(0), work.totals.flops),
        );
    }
}

fn totals(out: &mut String, work: &Work, width: usize) {
    let totals = &work.totals;
    let marked = mark(totals.nodes_bound > 0, work.unknown.nodes > 0);
    out.push('\n');
    let elements = match work.element {
        As::Stored => "as stored",
        As::Fp16 => "floating point as 16 bits",
        As::Int8 => "floating point as 8 bits",
    };
    line(
        out,
        width,
        &format!(
            "FLOPs            {marked}{} ({} multiply-adds)",
            flops(totals.flops),
            flops(totals.macs)
        ),
    );
    line(
        out,
        width,
        &format!(
            "parameters       {} ({}, {elements})",
            count(totals.params),
            bytes(totals.params_bytes)
        ),
    );
    // A quotient of two sums that lack something is neither a lower nor an upper bound.
    let of = if work.unknown.nodes > 0 {
        " of what is counted"
    } else {
        ""
    };
    let intensity = |value: Option<f64>| {
        value.map_or_else(|| "–".to_owned(), |value| format!("{value:.2} FLOPs/byte{of}"))
    };
    let fused = mark(
        totals.nodes_bound > 0,
        work.unknown.nodes > 0 || work.unknown.fused_transfers > 0,
    );
    line(
        out,
        width,
        &format!(
            "traffic          {marked}{} if every operator goes through memory, {}",
            bytes(totals.round_trip_bytes),
            intensity(totals.intensity_round_trip)
        ),
    );
    line(
        out,
        width,
        &format!(
            "traffic, fused   {fused}{} if chains stay on the chip ({} {}), {}",
            bytes(totals.fused_bytes),
            totals.fused_groups,
            if totals.fused_groups == 1 {
                "group"
            } else {
                "groups"
            },
            intensity(totals.intensity_fused)
        ),
    );
    match (totals.peak_activation_bytes, &work.unknown.peak) {
        (Some(peak), _) => {
            let at = totals
                .peak_at
                .as_ref()
                .map(|at| format!(", at {}", cut(at, 40)))
                .unwrap_or_default();
            let all = totals
                .peak_live_bytes
                .map(|all| format!(", {} with the weights", bytes(all)))
                .unwrap_or_default();
            line(out, width, &format!("peak activations {}{at}{all}", bytes(peak)));
        }
        (None, why) => {
            let why = why.as_deref().unwrap_or("a size is not known");
            line(out, width, &format!("peak activations not known: {why}"));
        }
    }
    if totals.nodes_at_load > 0 {
        line(
            out,
            width,
            &format!(
                "{} of {} nodes take constants alone and are computed at load; they are not in the sums",
                totals.nodes_at_load, totals.nodes
            ),
        );
    }
    if totals.nodes_bound > 0 {
        line(
            out,
            width,
            &format!(
                "≤ {} on data: the figures are the most that can occur",
                match totals.nodes_bound {
                    1 => "1 node depends".to_owned(),
                    nodes => format!("{nodes} nodes depend"),
                }
            ),
        );
    }
}

fn training(out: &mut String, work: &Work, width: usize) {
    let Some(step) = &work.training else { return };
    let name = match step.optimiser {
        Optimiser::Sgd => "SGD",
        Optimiser::Momentum => "SGD with momentum",
        Optimiser::Adam => "Adam",
    };
    out.push('\n');
    line(
        out,
        width,
        &format!(
            "training step    {} forward, {} backward, {} by {name}: {} FLOPs",
            flops(step.forward_flops),
            flops(step.backward_flops),
            flops(step.optimiser_flops),
            flops(step.flops)
        ),
    );
    if let Some(moved) = step.bytes {
        line(
            out,
            width,
            &format!(
                "traffic          {} if every operator goes through memory",
                bytes(moved)
            ),
        );
    }
    let kept = step
        .kept_activation_bytes
        .map_or_else(|| "not known".to_owned(), bytes);
    line(
        out,
        width,
        &format!(
            "memory           activations kept: {kept}; weights, gradients and states: {}",
            bytes(step.weights_bytes)
        ),
    );
}

fn unknown(out: &mut String, work: &Work, width: usize) {
    let unknown = &work.unknown;
    if unknown.nodes == 0 {
        return;
    }
    out.push('\n');
    line(
        out,
        width,
        &format!(
            "NOT COUNTED: {} of {} nodes ({:.1} %); the sums are without them",
            unknown.nodes,
            work.totals.nodes,
            100.0 * unknown.share
        ),
    );
    for (operator, (count, why)) in unknown.operators.iter().take(MOST_OPERATORS) {
        line(out, width, &format!("  {operator} ({count}): {why}"));
    }
    if unknown.operators.len() > MOST_OPERATORS {
        line(
            out,
            width,
            &format!(
                "  and {} more operators",
                unknown.operators.len() - MOST_OPERATORS
            ),
        );
    }
}

/// `4.09 G`, with three digits.
fn scaled(number: u64, step: f64, names: [&str; 7]) -> String {
    let mut value = number as f64;
    let mut at = 0;
    while value >= step && at + 1 < names.len() {
        value /= step;
        at += 1;
    }
    let name = names.get(at).copied().unwrap_or_default();
    let space = if name.is_empty() { "" } else { " " };
    match at {
        0 => format!("{number}{space}{name}"),
        _ if value < 9.995 => format!("{value:.2}{space}{name}"),
        _ if value < 99.95 => format!("{value:.1}{space}{name}"),
        _ => format!("{value:.0}{space}{name}"),
    }
}

fn flops(number: u64) -> String {
    scaled(number, 1000.0, ["", "k", "M", "G", "T", "P", "E"])
}

fn count(number: u64) -> String {
    scaled(number, 1000.0, ["", "k", "M", "G", "T", "P", "E"])
}

fn bytes(number: u64) -> String {
    scaled(number, 1000.0, ["B", "kB", "MB", "GB", "TB", "PB", "EB"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::{Totals, Unknown};

    fn told(bound: usize, unknown: usize) -> String {
        text(
            &Work {
                inputs: Vec::new(),
                outputs: Vec::new(),
                element: As::Stored,
                nodes: Vec::new(),
                totals: Totals {
                    nodes: 9,
                    nodes_bound: bound,
                    flops: 1000,
                    round_trip_bytes: 500,
                    fused_bytes: 250,
                    intensity_round_trip: Some(2.0),
                    intensity_fused: Some(4.0),
                    ..Totals::default()
                },
                unknown: Unknown {
                    nodes: unknown,
                    ..Unknown::default()
                },
                training: None,
            },
            100,
        )
    }

    #[test]
    fn a_sum_that_lacks_something_is_marked_everywhere() {
        let whole = told(0, 0);
        assert!(whole.contains("FLOPs            1.00 k"), "{whole}");
        assert!(whole.contains("chip (0 groups), 4.00 FLOPs/byte\n"), "{whole}");
        for (bound, unknown, mark) in [(0, 1, "≥"), (1, 0, "≤"), (1, 1, "~")] {
            let text = told(bound, unknown);
            for line in ["FLOPs            ", "traffic          ", "traffic, fused   "] {
                assert!(text.contains(&format!("{line}{mark} ")), "{text}");
            }
            assert_eq!(
                text.contains("2.00 FLOPs/byte of what is counted"),
                unknown > 0,
                "{text}"
            );
        }
    }
}
