//! The rule for networks that are told the image's size beside the image, and answer in pixels of it: RT-DETR as its authors export it,
//! and what PaddleDetection exports.

use super::Proposal;
use super::camera::{Rule, draft, shown, with_head, without_head};
use super::seen::{Seen, Tensor};
use crate::detector::camera::fit::FitSpec;

/// Among those of networks that take an image.
pub(super) const RULE: Rule = told_size;

const FAMILY: &str = "RT-DETR or a network like it";

/// What an input is filled with, as an entry of `also`; none where nobody knows.
fn entry(input: &Tensor<'_>) -> Option<String> {
    let values = [
        ("orig_target_size", "[ImageWidth, ImageHeight]"),
        ("im_shape", "[FittedHeight, FittedWidth]"),
        ("scale_factor", "[ScaleY, ScaleX]"),
    ];
    let (_, values) = values.into_iter().find(|(name, _)| input.is_called(&[name]))?;
    let element = match input.element {
        "float" => "",
        "int64" => ", element: I64",
        "int32" => ", element: I32",
        _ => return None,
    };
    let shape = match input.dims[..] {
        [Some(1) | None, Some(2)] => "",
        [Some(2)] => ", shape: [2]",
        _ => return None,
    };
    Some(format!(
        "(tensor: {:?}, values: {values}{element}{shape})",
        input.name
    ))
}

/// Rows of class, score and corners with their number, or boxes, labels and scores by name.
fn head(seen: &Seen<'_>) -> Option<(String, &'static str)> {
    let rows = |output: &&Tensor<'_>| matches!(output.dims[..], [.., Some(6)]);
    if let [a, b] = &seen.outputs[..]
        && let Some(boxes) = [a, b].into_iter().find(rows)
    {
        let count = [a, b].into_iter().find(|output| output.name != boxes.name)?;
        let head = format!(
            "EndToEnd(\n        boxes: {:?}, columns: [Class, Score, X1, Y1, X2, Y2], count: {:?},\n        units: ImagePixels,\n    )",
            boxes.name, count.name
        );
        return Some((
            head,
            "Pixels are taken from 0 to 1, as PP-YOLOE+ and RT-DETR have them; PP-YOLOE takes ImageNet's mean and deviation.",
        ));
    }
    let called = |parts: &[&str]| seen.outputs.iter().find(|output| output.is_called(parts));
    let (boxes, labels, scores) = (
        called(&["box"])?,
        called(&["label", "class"])?,
        called(&["score"])?,
    );
    let head = format!(
        "EndToEnd(\n        boxes: {:?}, columns: [X1, Y1, X2, Y2], scores: {:?}, classes: {:?},\n        units: ImagePixels,\n    )",
        boxes.name, scores.name, labels.name
    );
    Some((
        head,
        "The size is taken width first, as RT-DETR has it; DETR's own code has the height first.",
    ))
}

/// Beside the image, the size that it had or how it was resized.
fn told_size(seen: &Seen<'_>) -> Option<Proposal> {
    let image = seen.image?;
    let beside: Vec<&Tensor<'_>> = seen
        .inputs
        .iter()
        .filter(|input| input.name != image.tensor)
        .collect();
    let sizes = beside
        .iter()
        .find(|input| input.is_called(&["orig_target_size", "im_shape", "scale_factor"]))?;
    let reasons = vec![format!(
        "input {} takes the size of the original image, beside the image",
        shown(sizes)
    )];
    let entries: Option<Vec<String>> = beside.iter().map(|input| entry(input)).collect();
    let Some((also, (head, assumed))) = entries.zip(head(seen)) else {
        return without_head(FAMILY, 92, reasons);
    };
    // The outputs do not tell how many classes there are.
    let classes = seen.names.as_ref().map_or(80, Vec::len);
    let mut draft = draft(seen, &image, classes, head);
    draft.also = also;
    draft.fit = FitSpec::Stretch;
    draft.score_threshold = 0.5;
    draft.iou = 1.0;
    draft.assumed.push(assumed);
    with_head(FAMILY, 92, reasons, &image, draft)
}
