//! The rules for networks that take an image.
//!
//! Shapes are those of public exports: `C` classes, `N` boxes, cells of the grids of 8, 16 and 32 pixels. What decides between two
//! families of one shape is the number of rows (cells, three times the cells, or a fixed number of queries) and the number of
//! columns less those of the family.

use super::draft::{CameraDraft, ClassNames, Scaling};
use super::seen::{Image, Seen, Tensor, cells, strides};
use super::{Draft, Proposal};
use crate::detector::camera::fit::{Align, FitSpec, Letterbox, Rounding};
use crate::detector::camera::preprocess::Colour;
use crate::detector::camera::spec::LARGEST_SIDE;

/// A rule: what it makes of a network, if anything.
pub(super) type Rule = fn(&Seen<'_>) -> Option<Proposal>;

/// Families in the order in which equal fits are told.
pub(super) const RULES: &[Rule] = &[
    other_task,
    yolox,
    yolov6,
    yunet,
    fastest_det,
    yolov5,
    yolov5_maps,
    anchor_free,
    nanodet,
    nanodet_plus,
    yolo_nas,
    damo_yolo,
    raw_anchors,
    query_boxes,
    prior_boxes,
    end_to_end,
    rows_of_any_number,
    detr,
    after_nms,
    classifier,
    dense,
];

/// Rows of boxes that a query-based detector has: fewer than any grid.
const QUERIES: std::ops::RangeInclusive<usize> = 20..=1000;

fn letterbox(align: Align, pad: u8, rounding: Rounding) -> FitSpec {
    FitSpec::Letterbox(Letterbox { align, pad, rounding })
}

/// Ultralytics' preprocessing, which most families share.
pub(super) fn draft(seen: &Seen<'_>, image: &Image<'_>, classes: usize, head: String) -> CameraDraft {
    let classes = match &seen.names {
        Some(names) if names.len() == classes => ClassNames::OfTheFile(names.clone()),
        _ if classes == 80 => ClassNames::Coco80,
        _ => ClassNames::MadeUp(classes),
    };
    CameraDraft {
        classes,
        tensor: image.tensor.to_owned(),
        batch: image.batch,
        width: image.width,
        height: image.height,
        is_sized: image.is_sized,
        layout: image.layout,
        colour: Colour::Rgb,
        scaling: Scaling::Unit,
        fit: letterbox(Align::Centre, 114, Rounding::Nearest),
        also: Vec::new(),
        head,
        score_threshold: 0.25,
        iou: 0.45,
        assumed: Vec::new(),
    }
}

/// A proposal that a head reads; of an input that our preprocessing cannot fill, only the time can be had.
pub(super) fn with_head(
    family: &'static str,
    fit: u8,
    reasons: Vec<String>,
    image: &Image<'_>,
    draft: CameraDraft,
) -> Option<Proposal> {
    let is_side = |side: usize| (1..=LARGEST_SIDE).contains(&side);
    let draft = match (image.is_float, is_side(image.width) && is_side(image.height)) {
        (true, true) => Draft::Camera(Box::new(draft)),
        (true, false) => Draft::TimeOnly(format!(
            "whose image of {} × {} pixels is not one that jetlag's preprocessing makes (1 to {LARGEST_SIDE} a side): time only",
            image.width, image.height
        )),
        (false, _) => Draft::TimeOnly(
            "whose input is not float, as jetlag's preprocessing makes it: time only".to_owned(),
        ),
    };
    Some(Proposal {
        family,
        fit: fit.min(100),
        reasons,
        draft,
    })
}

pub(super) fn without_head(family: &'static str, fit: u8, reasons: Vec<String>) -> Option<Proposal> {
    Some(Proposal {
        family,
        fit,
        reasons,
        draft: Draft::TimeOnly("which has no head here: time only".to_owned()),
    })
}

pub(super) fn shown(tensor: &Tensor<'_>) -> String {
    let dims = tensor
        .dims
        .iter()
        .map(|dim| dim.map_or("?".to_owned(), |dim| dim.to_string()));
    format!("`{}` [{}]", tensor.name, dims.collect::<Vec<_>>().join(", "))
}

fn said(tensor: &Tensor<'_>, what: String) -> String {
    format!("output {} has {what}", shown(tensor))
}

fn listed(strides: &[usize]) -> String {
    let words: Vec<String> = strides.iter().map(usize::to_string).collect();
    words.join(", ")
}

/// What Ultralytics' exporter names something other than boxes: their outputs have the shapes of detectors.
fn other_task(seen: &Seen<'_>) -> Option<Proposal> {
    let family = match seen.task? {
        "segment" => "a YOLO for segmentation",
        "pose" => "a YOLO for poses",
        "obb" => "a YOLO for rotated boxes",
        _ => return None,
    };
    let task = seen.task.unwrap_or_default();
    without_head(
        family,
        100,
        vec![format!("its exporter wrote `task: {task}` into the file")],
    )
}

/// `[1, N, 5 + C]`, a row a cell.
fn yolox(seen: &Seen<'_>) -> Option<Proposal> {
    let image = seen.image?;
    let output = seen.only_output()?;
    let [rows, columns] = output.behind_batch()?[..] else {
        return None;
    };
    let strides = strides(&image, rows, 1)?;
    let classes = columns.checked_sub(5).filter(|classes| *classes > 0)?;
    // Its file says itself that it has a class for each column but four: no objectness.
    if seen
        .names
        .as_ref()
        .is_some_and(|names| names.len() == columns - 4)
    {
        return None;
    }
    let is_usual = strides == [8, 16, 32];
    let reasons = vec![said(
        output,
        format!(
            "a row for each cell of strides {} at {} × {}, and columns for a box, objectness and {classes} classes",
            listed(strides),
            image.width,
            image.height
        ),
    )];
    let head = match is_usual {
        true => format!("YoloxGrid(output: {:?})", output.name),
        false => format!("YoloxGrid(output: {:?}, strides: {strides:?})", output.name),
    };
    let mut draft = draft(seen, &image, classes, head);
    draft.colour = Colour::Bgr;
    draft.scaling = Scaling::Bytes;
    draft.fit = letterbox(Align::TopLeft, 114, Rounding::Down);
    draft.score_threshold = 0.35;
    let fit = if is_usual { 85 } else { 60 };
    with_head("YOLOX", fit + seen.likely(classes), reasons, &image, draft)
}

/// The same shape, decoded in the network.
fn yolov6(seen: &Seen<'_>) -> Option<Proposal> {
    let image = seen.image?;
    let output = seen.only_output()?;
    let [rows, columns] = output.behind_batch()?[..] else {
        return None;
    };
    let strides = strides(&image, rows, 1)?;
    let classes = columns.checked_sub(5).filter(|classes| *classes > 0)?;
    if seen.names.as_ref().is_some_and(|names| names.len() != classes) {
        return None;
    }
    // Its exporter calls the output so; YOLOX's calls it `output`.
    let is_named = output.name == "outputs";
    let mut reasons = vec![said(
        output,
        format!(
            "a row for each cell of strides {}, and columns for a box in pixels, objectness and {classes} classes",
            listed(strides)
        ),
    )];
    if is_named {
        reasons.push("its exporter calls the output `outputs`".to_owned());
    }
    let head = format!("YoloAnchors(Decoded(output: {:?}))", output.name);
    let draft = draft(seen, &image, classes, head);
    let fit = if is_named { 89 } else { 65 };
    with_head("YOLOv6", fit + seen.likely(classes), reasons, &image, draft)
}

/// OpenCV's face detector: class score, objectness and box of each cell, and landmarks, an output each a stride.
fn yunet(seen: &Seen<'_>) -> Option<Proposal> {
    let image = seen.image?;
    let mut levels = Vec::new();
    for stride in [8, 16, 32, 64] {
        let Some(rows) = cells(&image, stride) else {
            continue;
        };
        let called = |part: &str, columns: usize| {
            seen.outputs.iter().find(|output| {
                output.behind_batch().as_deref() == Some(&[rows, columns]) && output.is_called(&[part])
            })
        };
        if let (Some(class), Some(objectness), Some(place)) =
            (called("cls", 1), called("obj", 1), called("bbox", 4))
        {
            levels.push(format!(
                "(stride: {stride}, tensors: [{:?}, {:?}, {:?}])",
                class.name, objectness.name, place.name
            ));
        }
    }
    if levels.len() < 2 {
        return None;
    }
    let reasons = vec![format!(
        "for each of {} strides an output of one class, one of objectness and one of boxes, by name",
        levels.len()
    )];
    let head = format!(
        "Grid(\n        columns: [[Classes], [Objectness], [X, Y, Width, Height]],\n        levels: [\n            {},\n        ],\n        \
         size: Exp(times: Stride), score: GeometricMean,\n    )",
        levels.join(",\n            ")
    );
    let mut draft = draft(seen, &image, 1, head);
    draft.colour = Colour::Bgr;
    draft.scaling = Scaling::Bytes;
    draft.fit = letterbox(Align::TopLeft, 0, Rounding::Down);
    draft.score_threshold = 0.6;
    draft.iou = 0.3;
    with_head("YuNet", 94, reasons, &image, draft)
}

/// `[1, 5 + C, h, w]` at one stride of 16, sigmoid and softmax done.
fn fastest_det(seen: &Seen<'_>) -> Option<Proposal> {
    let image = seen.image?;
    let output = seen.only_output()?;
    let [columns, h, w] = output.behind_batch()?[..] else {
        return None;
    };
    let is_its = |side: usize, of: usize| side.checked_mul(16) == Some(of);
    let classes = columns.checked_sub(5).filter(|classes| *classes > 0)?;
    if !is_its(h, image.height) || !is_its(w, image.width) {
        return None;
    }
    let mut reasons = vec![said(
        output,
        format!("a map of stride 16 with objectness, a box and {classes} classes"),
    )];
    // Objectness, box and classes are three branches that are joined at its end; a backbone's map comes of a layer.
    let is_joined = output.is_made_by(&["Concat"]);
    if is_joined {
        reasons.push("it is joined of branches".to_owned());
    }
    let head = format!(
        "Grid(\n        tensors: [{:?}], columns: [[Objectness, X, Y, Width, Height, Classes]], layout: Maps, levels: [(stride: 16)],\n        \
         // A hyperbolic tangent, and a share of the input.\n        \
         offset: Sigmoid(gain: 2, scale: 2, shift: -1, times: Stride), size: Sigmoid(times: Input),\n        \
         score: Powers(objectness: 0.6, class: 0.4),\n    )",
        output.name
    );
    let mut draft = draft(seen, &image, classes, head);
    draft.colour = Colour::Bgr;
    draft.fit = FitSpec::Stretch;
    draft.score_threshold = 0.65;
    let fit = if is_joined { 80 } else { 54 };
    with_head("FastestDet", fit + seen.likely(classes), reasons, &image, draft)
}

/// `[1, N, 5 + C]`, three rows a cell, decoded.
fn yolov5(seen: &Seen<'_>) -> Option<Proposal> {
    let image = seen.image?;
    // Exports without simplifying also have the maps of each scale, behind the boxes.
    let output = seen.outputs.first()?;
    let [rows, columns] = output.behind_batch()?[..] else {
        return None;
    };
    let strides = strides(&image, rows, 3)?;
    let classes = columns.checked_sub(5).filter(|classes| *classes > 0)?;
    let reasons = vec![said(
        output,
        format!(
            "three rows for each cell of strides {} at {} × {}, and columns for a box, objectness and {classes} classes",
            listed(strides),
            image.width,
            image.height
        ),
    )];
    let head = format!("YoloAnchors(Decoded(output: {:?}))", output.name);
    let draft = draft(seen, &image, classes, head);
    with_head(
        "YOLOv5, YOLOv7",
        88 + seen.likely(classes),
        reasons,
        &image,
        draft,
    )
}

/// `[1, 3, h, w, 5 + C]` for each of three strides: the same without its last layer.
fn yolov5_maps(seen: &Seen<'_>) -> Option<Proposal> {
    const ANCHORS: [(usize, &str); 3] = [
        (8, "[[10, 13], [16, 30], [33, 23]]"),
        (16, "[[30, 61], [62, 45], [59, 119]]"),
        (32, "[[116, 90], [156, 198], [373, 326]]"),
    ];
    let image = seen.image?;
    let mut levels = Vec::new();
    let mut classes = None;
    for output in &seen.outputs {
        let [3, h, w, columns] = output.behind_batch()?[..] else {
            return None;
        };
        let (stride, anchors) = ANCHORS.iter().find(|(stride, _)| {
            h.checked_mul(*stride) == Some(image.height) && w.checked_mul(*stride) == Some(image.width)
        })?;
        let of_this = columns.checked_sub(5).filter(|classes| *classes > 0)?;
        if *classes.get_or_insert(of_this) != of_this {
            return None;
        }
        levels.push(format!(
            "(output: {:?}, stride: {stride}, anchors: {anchors})",
            output.name
        ));
    }
    let classes = classes.filter(|_| levels.len() == ANCHORS.len())?;
    let first = seen.outputs.first()?;
    let reasons = vec![format!(
        "outputs such as {} are maps of three anchors a cell, raw, for strides 8, 16, 32 and {classes} classes",
        shown(first)
    )];
    let head = format!(
        "YoloAnchors(Maps(levels: [\n        {},\n    ]))",
        levels.join(",\n        ")
    );
    let mut draft = draft(seen, &image, classes, head);
    draft
        .assumed
        .push("The anchors are YOLOv5's for COCO; a network trained with others needs its own.");
    with_head(
        "YOLOv5, YOLOv7 without their last layer",
        80 + seen.likely(classes),
        reasons,
        &image,
        draft,
    )
}

/// `[1, 4 + C, N]`, or turned round.
fn anchor_free(seen: &Seen<'_>) -> Option<Proposal> {
    let image = seen.image?;
    let output = seen.only_output()?;
    let (_, rest) = output.dims.split_first()?;
    let (columns, rows, is_turned) = match *rest {
        [Some(columns), rows] if rows.is_none_or(|rows| rows > columns) => (columns, rows, false),
        [Some(rows), Some(columns)] => (columns, Some(rows), true),
        _ => return None,
    };
    let classes = columns.checked_sub(4).filter(|classes| *classes > 0)?;
    let (rows, fit) = match rows {
        Some(rows) => {
            let strides = strides(&image, rows, 1)?;
            let rows = format!(
                "a column for each cell of strides {} at {} × {}",
                listed(strides),
                image.width,
                image.height
            );
            (rows, if strides == [8, 16, 32] { 88 } else { 75 })
        }
        None => ("any number of columns".to_owned(), 60),
    };
    let rows = if is_turned {
        rows.replace("column", "row")
    } else {
        rows
    };
    let columns = if is_turned { "columns" } else { "rows" };
    let reasons = vec![said(
        output,
        format!("{rows}, and {columns} for a box and {classes} classes, without objectness"),
    )];
    let head = format!("YoloAnchorFree(output: {:?})", output.name);
    let draft = draft(seen, &image, classes, head);
    let is_named = seen.names.as_ref().is_some_and(|names| names.len() == classes);
    let fit = match (is_named, is_turned) {
        (true, _) => fit.max(90),
        // Turned round, it has the shape of YOLOX with one class fewer. 80 classes are COCO's, and nobody has 79.
        (false, true) if classes == 80 => fit,
        (false, true) => fit - 25,
        (false, false) => fit,
    };
    with_head(
        "YOLOv8, YOLOv9, YOLO11",
        fit + seen.likely(classes),
        reasons,
        &image,
        draft,
    )
}

/// Pairs of scores `[1, cells, C]` and sides `[1, cells, 4 · bins]`, a pair for each stride.
fn nanodet(seen: &Seen<'_>) -> Option<Proposal> {
    const BINS: [usize; 4] = [8, 11, 16, 17];
    let image = seen.image?;
    let mut levels = Vec::new();
    let mut last = None;
    let (mut are_final, mut are_raw) = (true, true);
    for stride in [8, 16, 32, 64] {
        let Some(wanted) = cells(&image, stride) else {
            continue;
        };
        let of_stride: Vec<(&Tensor<'_>, usize)> = seen
            .outputs
            .iter()
            .filter_map(|output| match output.behind_batch()?[..] {
                [rows, columns] if rows == wanted => Some((output, columns)),
                _ => None,
            })
            .collect();
        let [first, second] = of_stride[..] else { continue };
        let is_sides = |(_, columns): (&Tensor<'_>, usize)| BINS.iter().any(|bins| 4 * bins == columns);
        let (scores, sides) = match is_sides(first) && !is_sides(second) {
            true => (second, first),
            false if is_sides(second) => (first, second),
            false => return None,
        };
        if *last.get_or_insert((scores.1, sides.1)) != (scores.1, sides.1) {
            return None;
        }
        are_final &= scores.0.is_made_by(&["Sigmoid"]);
        are_raw &= scores.0.is_made_by(&["Conv", "Add"]);
        levels.push(format!(
            "(scores: {:?}, boxes: {:?}, stride: {stride})",
            scores.0.name, sides.0.name
        ));
    }
    let (classes, sides) = last.filter(|_| 2 * levels.len() == seen.outputs.len() && levels.len() > 1)?;
    let bins = sides / 4;
    let reasons = vec![format!(
        "{} pairs of outputs, one for each stride: {classes} scores, and four sides of {bins} bins",
        levels.len()
    )];
    let head = format!(
        "NanoDet(bins: {bins}, {}levels: [\n        {},\n    ])",
        if are_raw { "logits: true, " } else { "" },
        levels.join(",\n        ")
    );
    let mut draft = draft(seen, &image, classes, head);
    draft.colour = Colour::Bgr;
    draft.scaling = Scaling::ImageNetBytes;
    draft.fit = letterbox(Align::Centre, 0, Rounding::Nearest);
    draft.score_threshold = 0.4;
    draft.iou = 0.5;
    if !are_final && !are_raw {
        draft
            .assumed
            .push("Scores are taken to be after their sigmoid; if nothing is found, try logits: true.");
    }
    with_head("NanoDet", 90 + seen.likely(classes), reasons, &image, draft)
}

/// NanoDet-Plus: one output `[1, N, C + 4 · 8]` over four strides.
fn nanodet_plus(seen: &Seen<'_>) -> Option<Proposal> {
    let image = seen.image?;
    let output = seen.only_output()?;
    let [rows, columns] = output.behind_batch()?[..] else {
        return None;
    };
    // Its grids are rounded up: 416 pixels are 7 cells of 64.
    let cells = |stride: usize| {
        image
            .width
            .div_ceil(stride)
            .checked_mul(image.height.div_ceil(stride))
    };
    let all = [8, 16, 32, 64]
        .into_iter()
        .try_fold(0_usize, |all, stride| all.checked_add(cells(stride)?));
    let is_its = all == Some(rows);
    let classes = columns.checked_sub(32).filter(|classes| is_its && *classes > 0)?;
    let reasons = vec![said(
        output,
        format!(
            "a row for each cell of strides 8, 16, 32, 64, and columns for {classes} classes and four sides of 8 bins"
        ),
    )];
    let level = |stride: usize| {
        let [across, down] = [image.width, image.height].map(|side| side.div_ceil(stride));
        format!("(stride: {stride}, cells: ({across}, {down}))")
    };
    let head = format!(
        "Grid(\n        tensors: [{:?}], columns: [[Classes, Left, Top, Right, Bottom]], bins: 8,\n        levels: [{}],\n    )",
        output.name,
        [8, 16, 32, 64].map(level).join(", ")
    );
    let mut draft = draft(seen, &image, classes, head);
    draft.colour = Colour::Bgr;
    draft.scaling = Scaling::ImageNetBytes;
    draft.fit = FitSpec::Stretch;
    draft.score_threshold = 0.4;
    draft.iou = 0.6;
    with_head("NanoDet-Plus", 72 + seen.likely(classes), reasons, &image, draft)
}

/// Two outputs, `[1, N, C]` and `[1, N, 4]`.
struct Scored<'s, 'a> {
    scores: &'s Tensor<'a>,
    boxes: &'s Tensor<'a>,
    rows: usize,
    columns: usize,
    /// Whether the file has the scores before the boxes.
    is_first: bool,
}

fn scored<'s, 'a>(seen: &'s Seen<'a>) -> Option<Scored<'s, 'a>> {
    let [first, second] = &seen.outputs[..] else {
        return None;
    };
    let shape = |output: &Tensor<'_>| match output.behind_batch()?[..] {
        [rows, columns] => Some((rows, columns)),
        _ => None,
    };
    let ((rows, a), (others, b)) = (shape(first)?, shape(second)?);
    let (is_first, columns) = match (a, b) {
        _ if rows != others => return None,
        (4, 4) if second.is_called(&["score", "conf", "cls"]) => (false, b),
        (4, b) if b != 4 => (false, b),
        (a, 4) => (true, a),
        _ => return None,
    };
    let (scores, boxes) = match is_first {
        true => (first, second),
        false => (second, first),
    };
    Some(Scored {
        scores,
        boxes,
        rows,
        columns,
        is_first,
    })
}

/// Scores and boxes of fewer queries than a grid has cells.
fn query_boxes(seen: &Seen<'_>) -> Option<Proposal> {
    let image = seen.image?;
    let Scored {
        scores,
        boxes,
        rows,
        columns,
        ..
    } = scored(seen)?;
    if QUERIES.contains(&rows) && (scores.is_called(&["logits"]) || boxes.is_called(&["pred"])) {
        return queries(seen, &image, (scores, boxes), (rows, columns));
    }
    if QUERIES.contains(&rows) && (scores.is_called(&["label"]) || boxes.is_called(&["dets"])) {
        let reasons = vec![said(
            boxes,
            format!("{rows} queries, fewer than any grid has cells, and {columns} classes of each"),
        )];
        let activation = if scores.is_made_by(&["Sigmoid"]) {
            "Identity"
        } else {
            "Sigmoid"
        };
        let head = format!(
            "Queries(scores: {:?}, boxes: {:?}, activation: {activation})",
            scores.name, boxes.name
        );
        let mut draft = draft(seen, &image, columns, head);
        draft.scaling = Scaling::ImageNet;
        draft.fit = FitSpec::Stretch;
        draft.score_threshold = 0.5;
        draft.iou = 1.0;
        draft.assumed.push("Classes are in the order of the network's columns: RF-DETR's are COCO's own numbers, 0 to 90, of which 80 have a name.");
        return with_head("RF-DETR", 85, reasons, &image, draft);
    }
    None
}

/// Boxes that are corrections of nine or fewer anchors a cell, which a file does not hold.
fn raw_anchors(seen: &Seen<'_>) -> Option<Proposal> {
    let image = seen.image?;
    let Scored { boxes, rows, .. } = scored(seen)?;
    // Grids are rounded up at strides 64 and 128.
    let cells = |strides: [usize; 5]| {
        strides.iter().try_fold(0_usize, |all, stride| {
            let of_this = image
                .width
                .div_ceil(*stride)
                .checked_mul(image.height.div_ceil(*stride))?;
            all.checked_add(of_this)
        })
    };
    let all = cells([8, 16, 32, 64, 128])?;
    let each = (1..=9).find(|each| all.checked_mul(*each) == Some(rows))?;
    let reasons = vec![said(
        boxes,
        format!(
            "{each} boxes for each cell of strides 8 to 128, as corrections of anchors that are not in the file"
        ),
    )];
    without_head("EfficientDet or RetinaNet", 88, reasons)
}

/// Scores `[1, N, C]` and corners `[1, N, 4]`.
fn prior_boxes(seen: &Seen<'_>) -> Option<Proposal> {
    let image = seen.image?;
    let Scored {
        scores,
        boxes,
        rows,
        columns,
        ..
    } = scored(seen)?;
    let is_of_queries = QUERIES.contains(&rows)
        && (scores.is_called(&["logits", "label"]) || boxes.is_called(&["pred", "dets"]));
    if is_of_queries || strides(&image, rows, 1).is_some() {
        return None;
    }
    let classes = columns.checked_sub(1).filter(|classes| *classes > 0)?;
    let reasons = vec![format!(
        "outputs {} and {} are scores of {classes} classes and a background, and corners of the same {rows} boxes",
        shown(scores),
        shown(boxes)
    )];
    let head = format!(
        "PriorBoxes(scores: {:?}, boxes: {:?}, background: 0)",
        scores.name, boxes.name
    );
    let mut draft = draft(seen, &image, classes, head);
    draft.scaling = Scaling::Centred;
    draft.fit = FitSpec::Stretch;
    draft.score_threshold = 0.5;
    draft.assumed.push("Boxes are taken to be corners as fractions of the input; raw corrections of prior boxes would need another head.");
    let named = scores.is_called(&["score", "conf", "cls"]) && boxes.is_called(&["box"]);
    with_head(
        "SSD with decoded boxes",
        if named { 85 } else { 60 },
        reasons,
        &image,
        draft,
    )
}

/// Queries with logits and boxes. DETR has a softmax over the classes and no object; its descendants have a sigmoid a class.
fn queries(
    seen: &Seen<'_>,
    image: &Image<'_>,
    (scores, boxes): (&Tensor<'_>, &Tensor<'_>),
    (rows, columns): (usize, usize),
) -> Option<Proposal> {
    let mut reasons = vec![said(
        boxes,
        format!("{rows} queries, fewer than any grid has cells, and {columns} scores of each"),
    )];
    let named = seen.names.as_ref().map(Vec::len);
    let (ends_in_softmax, ends_in_sigmoid) =
        (scores.is_made_by(&["Softmax"]), scores.is_made_by(&["Sigmoid"]));
    // 92 columns are COCO's numbers to 90 and no object; 80, 90 and 91 are classes alone.
    let known = match columns {
        _ if ends_in_softmax => Some(true),
        _ if ends_in_sigmoid => Some(false),
        _ if named == Some(columns) => Some(false),
        _ if named.is_some_and(|count| count + 1 == columns) => Some(true),
        80 | 90 | 91 => Some(false),
        92 => Some(true),
        _ => None,
    };
    // DETR has 100 queries, and most of its descendants 300.
    let has_no_object = known.unwrap_or(rows <= 100);
    let is_done = ends_in_softmax || ends_in_sigmoid;
    if is_done {
        reasons.push("its scores are final in the network".to_owned());
    }
    let activation = match (is_done, has_no_object) {
        (true, _) => "Identity",
        (false, true) => "Softmax",
        (false, false) => "Sigmoid",
    };
    let (no_object, classes) = match has_no_object {
        true => (", no_object: Last", columns.checked_sub(1)?),
        false => ("", columns),
    };
    let head = format!(
        "Queries(scores: {:?}, boxes: {:?}, activation: {activation}{no_object})",
        scores.name, boxes.name
    );
    let mut draft = draft(seen, image, Some(classes).filter(|classes| *classes > 0)?, head);
    draft.scaling = Scaling::ImageNet;
    draft.fit = FitSpec::Stretch;
    draft.score_threshold = 0.5;
    draft.iou = 1.0;
    if has_no_object {
        draft.assumed.push("The last column is taken for no object, as DETR has it; Deformable DETR and DINO have none and need activation: Sigmoid.");
    } else {
        draft.assumed.push("Pixels are taken with ImageNet's mean and deviation, as Deformable DETR and DINO have them; RT-DETR takes 0 to 1.");
    }
    let family = match has_no_object {
        true => "DETR or a network like it",
        false => "RT-DETR, Deformable DETR or DINO",
    };
    let fit = if known.is_some() { 85 } else { 70 };
    with_head(family, fit, reasons, image, draft)
}

/// `[1, N, 4]` and `[1, N, C]`, a row a cell: decoded in the network.
fn yolo_nas(seen: &Seen<'_>) -> Option<Proposal> {
    cell_corners(seen, "YOLO-NAS", false)
}

/// The same in the other order.
fn damo_yolo(seen: &Seen<'_>) -> Option<Proposal> {
    cell_corners(seen, "DAMO-YOLO", true)
}

fn cell_corners(seen: &Seen<'_>, family: &'static str, are_scores_first: bool) -> Option<Proposal> {
    let image = seen.image?;
    let Scored {
        scores,
        boxes,
        rows,
        columns: classes,
        is_first,
    } = scored(seen)?;
    let strides = strides(&image, rows, 1)?;
    let mut reasons = vec![format!(
        "outputs {} and {} are scores of {classes} classes without a background, and corners in pixels, of a box for each of the \
         {rows} cells of strides {} at {} × {}",
        shown(scores),
        shown(boxes),
        listed(strides),
        image.width,
        image.height
    )];
    let is_its_order = is_first == are_scores_first;
    if is_its_order {
        reasons.push(format!("{family} has them in this order"));
    }
    let levels: Vec<String> = strides
        .iter()
        .map(|stride| format!("(stride: {stride})"))
        .collect();
    let head = format!(
        "Grid(\n        tensors: [{:?}, {:?}], columns: [[Classes], [X1, Y1, X2, Y2]], levels: [{}],\n        \
         point: Origin, offset: Identity(times: Pixels),\n    )",
        scores.name,
        boxes.name,
        levels.join(", ")
    );
    let mut draft = draft(seen, &image, classes, head);
    if are_scores_first {
        draft.colour = Colour::Bgr;
        draft.scaling = Scaling::Bytes;
        draft.fit = FitSpec::Stretch;
    } else {
        draft.fit = letterbox(Align::TopLeft, 114, Rounding::Nearest);
    }
    draft.assumed.push("YOLO-NAS takes RGB in 0..1, and DAMO-YOLO BGR in 0..255 and stretched: set `colour`, `scale` and `fit` to its own if it is the other one.");
    draft.assumed.push(
        "Boxes are taken to be corners in pixels of the input, and scores to have been through the sigmoid.",
    );
    let fit = if is_its_order { 72 } else { 64 };
    with_head(family, fit + seen.likely(classes), reasons, &image, draft)
}

/// `[1, N, 6]`: corners, score and class of boxes that need no suppression.
fn end_to_end(seen: &Seen<'_>) -> Option<Proposal> {
    let image = seen.image?;
    let output = seen.only_output()?;
    let [rows, 6] = output.behind_batch()?[..] else {
        return None;
    };
    if !QUERIES.contains(&rows) || strides(&image, rows, 1).is_some() {
        return None;
    }
    let reasons = vec![said(
        output,
        format!("{rows} rows of corners, score and class, suppressed already"),
    )];
    // The rows do not tell how many classes there are.
    let classes = seen.names.as_ref().map_or(80, Vec::len);
    let mut draft = draft(
        seen,
        &image,
        classes,
        format!("EndToEnd(boxes: {:?})", output.name),
    );
    draft.iou = 1.0;
    let family = "YOLOv10 or a network with its suppression inside";
    with_head(family, 90, reasons, &image, draft)
}

/// `[n, 6]` or `[n, 7]`: as many rows as there are boxes.
fn rows_of_any_number(seen: &Seen<'_>) -> Option<Proposal> {
    let image = seen.image.filter(|image| image.is_batch_stated)?;
    let output = seen.only_output()?;
    let [None, Some(columns @ (6 | 7))] = output.dims[..] else {
        return None;
    };
    let reasons = vec![said(
        output,
        format!(
            "as many rows of {columns} as there are boxes, for a batch of {}",
            image.batch
        ),
    )];
    without_head("YOLOv7 or a network with its suppression inside", 90, reasons)
}

/// One output of queries `[1, N, 4 + C]`.
fn detr(seen: &Seen<'_>) -> Option<Proposal> {
    let image = seen.image?;
    let output = seen.only_output()?;
    let [rows, columns] = output.behind_batch()?[..] else {
        return None;
    };
    let classes = columns.checked_sub(4).filter(|classes| *classes > 2)?;
    if !QUERIES.contains(&rows) || strides(&image, rows, 1).is_some() || strides(&image, rows, 3).is_some() {
        return None;
    }
    let reasons = vec![said(
        output,
        format!("{rows} queries, which are no grid's cells, and columns for a box and {classes} classes"),
    )];
    let head = format!(
        "Grid(\n        tensors: [{:?}], columns: [[X, Y, Width, Height, Classes]], levels: [(stride: 1, cells: ({rows}, 1))],\n        \
         point: Origin, offset: Identity(times: Input), size: Identity(times: Input),\n    )",
        output.name
    );
    let mut draft = draft(seen, &image, classes, head);
    draft.fit = FitSpec::Stretch;
    draft.iou = 1.0;
    draft.assumed.push("Boxes are taken to be centre and size as fractions of the input, and scores to have been through the sigmoid.");
    let fit = 80 + seen.likely(classes);
    with_head("RT-DETR or a network like it", fit, reasons, &image, draft)
}

/// Boxes, labels and scores, each box once: suppressed in the network.
fn after_nms(seen: &Seen<'_>) -> Option<Proposal> {
    seen.image?;
    let called = |parts: &[&str]| seen.outputs.iter().find(|output| output.is_called(parts));
    let boxes = called(&["box", "det"])?;
    called(&["label", "class"])?;
    called(&["score"])?;
    let reasons = vec![format!("outputs for boxes ({}), labels and scores", shown(boxes))];
    without_head(
        "SSD, Faster R-CNN or a network with its suppression inside",
        70,
        reasons,
    )
}

/// `[1, K]`, or that with two dimensions of 1.
fn classifier(seen: &Seen<'_>) -> Option<Proposal> {
    let image = seen.image?;
    let output = seen.only_output()?;
    let ([classes] | [classes, 1, 1]) = output.behind_batch()?[..] else {
        return None;
    };
    // A number of rows that the file leaves open is not that of its images.
    if image.is_batch_stated && output.dims.first() == Some(&None) {
        return None;
    }
    let is_of_ultralytics = seen.task == Some("classify");
    let mut reasons = vec![said(output, format!("{classes} values for the whole image"))];
    let is_noted = seen.names.as_ref().is_some_and(|names| names.len() == classes);
    // Not through a softmax, and as many as embeddings have.
    if matches!(classes, 128 | 256 | 512 | 768 | 1024 | 1280 | 2048)
        && !is_of_ultralytics
        && !is_noted
        && !output.is_made_by(&["Softmax", "Sigmoid"])
    {
        return without_head("an embedding, or features of an image", 70, reasons);
    }
    let ends_in_softmax = is_of_ultralytics || output.is_made_by(&["Softmax", "Sigmoid"]);
    if ends_in_softmax {
        reasons.push("its values are final in the network".to_owned());
    }
    let activation = if ends_in_softmax {
        ", activation: Identity"
    } else {
        ""
    };
    let mut draft = draft(
        seen,
        &image,
        classes,
        format!("Classifier(output: {:?}{activation})", output.name),
    );
    draft.scaling = if is_of_ultralytics {
        Scaling::Unit
    } else {
        Scaling::ImageNet
    };
    draft.fit = FitSpec::Stretch;
    draft.score_threshold = 0.0;
    draft.iou = 1.0;
    if is_of_ultralytics {
        draft.assumed.push("Ultralytics cuts the middle square out of an image before it; here images are stretched to the input.");
    } else if !ends_in_softmax {
        draft.assumed.push(
            "The values are taken for logits; write activation: Identity where the network ends in a softmax.",
        );
    }
    let (family, fit) = match is_of_ultralytics {
        true => {
            reasons.push("its exporter wrote `task: classify` into the file".to_owned());
            ("a YOLO for classification", 100)
        }
        false => ("an image classifier", 70),
    };
    with_head(family, fit, reasons, &image, draft)
}

/// `[1, K, h, w]`: something for each pixel.
fn dense(seen: &Seen<'_>) -> Option<Proposal> {
    let image = seen.image?;
    let output = seen.only_output()?;
    let [planes, h, w] = output.behind_batch()?[..] else {
        return None;
    };
    let is_dense = |size: usize, of: usize| size > 0 && of.is_multiple_of(size) && of / size <= 8;
    if !is_dense(h, image.height) || !is_dense(w, image.width) {
        return None;
    }
    let reasons = vec![said(
        output,
        format!("{planes} values for each pixel, or for each few"),
    )];
    without_head("segmentation, depth or another image from an image", 60, reasons)
}
