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
    yolov5,
    yolov5_maps,
    anchor_free,
    nanodet,
    nanodet_plus,
    prior_boxes,
    end_to_end,
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
        "NanoDet(bins: {bins}, levels: [\n        {},\n    ])",
        levels.join(",\n        ")
    );
    let mut draft = draft(seen, &image, classes, head);
    draft.colour = Colour::Bgr;
    draft.scaling = Scaling::ImageNetBytes;
    draft.fit = letterbox(Align::Centre, 0, Rounding::Nearest);
    draft.score_threshold = 0.4;
    draft.iou = 0.5;
    draft
        .assumed
        .push("Scores are taken to be after their sigmoid; if nothing is found, try logits: true.");
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

/// Scores `[1, N, C]` and corners `[1, N, 4]`.
fn prior_boxes(seen: &Seen<'_>) -> Option<Proposal> {
    let image = seen.image?;
    let [first, second] = &seen.outputs[..] else {
        return None;
    };
    let shape = |output: &Tensor<'_>| match output.behind_batch()?[..] {
        [rows, columns] => Some((rows, columns)),
        _ => None,
    };
    let ((rows, a), (others, b)) = (shape(first)?, shape(second)?);
    let (scores, boxes, columns) = match (a, b) {
        _ if rows != others => return None,
        (4, 4) if second.is_called(&["score", "conf", "cls"]) => (second, first, b),
        (4, b) if b != 4 => (second, first, b),
        (a, 4) => (first, second, a),
        _ => return None,
    };
    if QUERIES.contains(&rows) && (scores.is_called(&["logits"]) || boxes.is_called(&["pred"])) {
        let reasons = vec![said(
            boxes,
            format!("{rows} queries, fewer than any grid has cells"),
        )];
        let classes = columns.checked_sub(1).filter(|classes| *classes > 0)?;
        let head = format!(
            "Queries(scores: {:?}, boxes: {:?}, activation: Softmax, no_object: Last)",
            scores.name, boxes.name
        );
        let mut draft = draft(seen, &image, classes, head);
        draft.scaling = Scaling::ImageNet;
        draft.fit = FitSpec::Stretch;
        draft.score_threshold = 0.5;
        draft.iou = 1.0;
        draft.assumed.push("The last column is taken for no object, as DETR has it; Deformable DETR and DINO have none and need activation: Sigmoid.");
        return with_head("DETR or a network like it", 85, reasons, &image, draft);
    }
    if QUERIES.contains(&rows) && (scores.is_called(&["label"]) || boxes.is_called(&["dets"])) {
        let reasons = vec![said(
            boxes,
            format!("{rows} queries, fewer than any grid has cells, and {columns} classes of each"),
        )];
        let head = format!(
            "Queries(scores: {:?}, boxes: {:?}, activation: Sigmoid)",
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
    if let Some(strides) = strides(&image, rows, 1) {
        return cell_corners(seen, &image, (scores, boxes), columns, strides);
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

/// `[1, N, C]` and `[1, N, 4]`, a row a cell: decoded in the network, as YOLO-NAS and DAMO-YOLO have it.
fn cell_corners(
    seen: &Seen<'_>,
    image: &Image<'_>,
    (scores, boxes): (&Tensor<'_>, &Tensor<'_>),
    classes: usize,
    strides: &[usize],
) -> Option<Proposal> {
    let rows = boxes.behind_batch()?.first().copied()?;
    let reasons = vec![format!(
        "outputs {} and {} are scores of {classes} classes without a background, and corners in pixels, of a box for each of the \
         {rows} cells of strides {} at {} × {}",
        shown(scores),
        shown(boxes),
        listed(strides),
        image.width,
        image.height
    )];
    let head = format!(
        "Grid(\n        tensors: [{:?}, {:?}], columns: [[Classes], [X1, Y1, X2, Y2]], levels: [(stride: 1, cells: ({rows}, 1))],\n        \
         point: Origin, offset: Identity(times: Pixels),\n    )",
        scores.name, boxes.name
    );
    let mut draft = draft(seen, image, classes, head);
    draft.fit = letterbox(Align::TopLeft, 114, Rounding::Nearest);
    draft.assumed.push("It may be YOLO-NAS, whose images are RGB in 0..1, or DAMO-YOLO, whose are BGR in 0..255 and stretched: set `colour`, `scaling` and `fit` to its own.");
    draft.assumed.push(
        "Boxes are taken to be corners in pixels of the input, and scores to have been through the sigmoid.",
    );
    with_head(
        "YOLO-NAS, or DAMO-YOLO",
        80 + seen.likely(classes),
        reasons,
        image,
        draft,
    )
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
    let is_of_ultralytics = seen.task == Some("classify");
    let mut reasons = vec![said(output, format!("{classes} values for the whole image"))];
    let ends_in_softmax = is_of_ultralytics || output.made_by == Some("Softmax");
    if ends_in_softmax {
        reasons.push("its values have been through a softmax in the network".to_owned());
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
