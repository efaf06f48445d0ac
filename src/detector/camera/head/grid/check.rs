//! What must hold of the general head in the spec.

use super::super::{Geometry, check_strides};
use super::{CENTRED, CORNERS, Column, Combine, Grid, Layout, SIDES, Score, Unit};
use crate::written::Rules;

/// What must hold of the head in the spec.
pub(super) fn check(head: &Grid, geometry: &Geometry, rules: &mut Rules<'_>) {
    check_columns(head, rules);
    check_levels(head, geometry, rules);
    head.offset.check("head.offset", rules);
    head.size.check("head.size", rules);
    rules.require(
        (1..=256).contains(&head.bins),
        "head.bins",
        head.bins,
        "from 1 to 256",
    );
    if let Combine::Powers { objectness, class } = head.score {
        for (field, power) in [("objectness", objectness), ("class", class)] {
            let wanted = "a number above 0, to 10";
            rules.require(
                power > 0.0 && power <= 10.0,
                &format!("head.score.{field}"),
                power,
                wanted,
            );
        }
    }
    if head.objectness == Score::Softmax {
        let advice = "write Sigmoid, or Identity";
        rules.contradiction("head.objectness", "one score has no softmax", advice);
    }
}

fn check_columns(head: &Grid, rules: &mut Rules<'_>) {
    let all: Vec<Column> = head.columns.iter().flatten().copied().collect();
    let has = |wanted: &[Column]| wanted.iter().all(|column| all.contains(column));
    let whole = [CENTRED, SIDES, CORNERS]
        .iter()
        .filter(|shape| has(*shape))
        .count();
    rules.require(
        whole == 1,
        "head.columns",
        format!("{all:?}"),
        "the four columns of one kind of box: X, Y, Width, Height; or Left, Top, Right, Bottom; or X1, Y1, X2, Y2",
    );
    rules.require(
        has(&[Column::Classes]),
        "head.columns",
        "without Classes",
        "with the column Classes, one value a class",
    );
    let single =
        |column: &&Column| **column != Column::Skip && all.iter().filter(|c| c == column).count() > 1;
    if let Some(twice) = all.iter().find(single) {
        rules.contradiction(
            "head.columns",
            format!("{twice:?} stands there twice"),
            "write Skip for what is not used",
        );
    }
    let bins = head.bins > 1 && !has(&SIDES);
    if bins {
        let why = "only Left, Top, Right and Bottom have bins";
        rules.contradiction("head.bins", why, "leave it out");
    }
    if has(&[Column::Background]) && head.classes != Score::Softmax {
        let why = "a background counts in a softmax alone";
        rules.contradiction("head.columns", why, "write Skip for it, or classes: Softmax");
    }
    if has(&[Column::Objectness]) && head.classes == Score::Softmax && head.peaks {
        let why = "peaks are of class maps without objectness";
        rules.contradiction("head.peaks", why, "leave one of them out");
    }
}

fn check_levels(head: &Grid, geometry: &Geometry, rules: &mut Rules<'_>) {
    let counted = head.levels.iter().all(|level| level.cells.is_none());
    if counted {
        let strides = head.levels.iter().map(|level| level.stride);
        check_strides(geometry, "head.levels", ".stride", strides, rules);
    }
    let maps = matches!(head.layout, Layout::Maps | Layout::Cells);
    let anchored = [head.offset.times, head.size.times].contains(&Unit::Anchor);
    for (index, level) in head.levels.iter().enumerate() {
        let path = format!("head.levels[{index}]");
        let wanted = "at least 1";
        rules.require(level.stride > 0, &format!("{path}.stride"), level.stride, wanted);
        if let Some([across, down]) = level.cells {
            let ok = (1..=16_384).contains(&across) && (1..=16_384).contains(&down);
            let found = format!("({across}, {down})");
            rules.require(
                ok,
                &format!("{path}.cells"),
                found,
                "cells across and down, from 1 to 16384",
            );
        }
        for (number, anchor) in level.anchors.iter().enumerate() {
            let ok = anchor.iter().all(|side| side.is_finite() && *side > 0.0);
            rules.require(
                ok,
                &format!("{path}.anchors[{number}]"),
                format!("{anchor:?}"),
                "width and height in pixels, both above 0",
            );
        }
        if anchored && level.anchors.is_empty() {
            let why = "lengths are in units of the anchor, and this level has none";
            rules.contradiction(&path, why, "give it anchors: [[width, height], …] in pixels");
        }
        let tensors = head.tensors_of(level).len();
        if tensors != head.columns.len() {
            let why = format!(
                "it has {tensors} outputs, and `columns` describes {}",
                head.columns.len()
            );
            rules.contradiction(
                &path,
                why,
                "name one output for each list of columns, in `tensors` of the head or of each level",
            );
        }
        if maps && level.tensors.is_empty() && head.levels.len() > 1 {
            let why = "a map holds one level";
            rules.contradiction(&path, why, "give each level its own `tensors`");
        }
    }
}
