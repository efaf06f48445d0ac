//! A network's inputs and outputs in the form that the rules look at.

use crate::detector::camera::preprocess::Layout;
use crate::detector::camera::spec::LARGEST_SIDE;
use crate::engine::network::{NetworkFacts, Port};

/// An input or output: an extent that the file leaves open is `None`.
#[derive(Clone, Debug)]
pub(super) struct Tensor<'a> {
    pub(super) name: &'a str,
    pub(super) element: &'a str,
    pub(super) dims: Vec<Option<usize>>,
    /// The operator that makes its values.
    pub(super) made_by: Option<&'a str>,
}

/// The input that takes an image.
#[derive(Clone, Copy, Debug)]
pub(super) struct Image<'a> {
    pub(super) tensor: &'a str,
    /// Images of an inference.
    pub(super) batch: usize,
    /// Whether the file says how many.
    pub(super) is_batch_stated: bool,
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) layout: Layout,
    /// Whether the file says the size, or the usual one stands for it.
    pub(super) is_sized: bool,
    /// Whether it takes f32, as our preprocessing makes it.
    pub(super) is_float: bool,
}

/// What the rules look at.
pub(super) struct Seen<'a> {
    pub(super) inputs: Vec<Tensor<'a>>,
    pub(super) outputs: Vec<Tensor<'a>>,
    pub(super) image: Option<Image<'a>>,
    /// Class names that the exporter wrote into the file.
    pub(super) names: Option<Vec<String>>,
    /// What the exporter says that the network does: `detect`, `segment`.
    pub(super) task: Option<&'a str>,
}

/// Side of an image where a file leaves it open and notes none.
pub const USUAL_SIDE: usize = 640;

impl<'a> Seen<'a> {
    pub(super) fn of(facts: &'a NetworkFacts) -> Self {
        let mut inputs: Vec<Tensor<'_>> = facts.inputs.iter().map(tensor).collect();
        let mut outputs: Vec<Tensor<'_>> = facts.outputs.iter().map(tensor).collect();
        let size = noted_size(facts);
        let is_of = |batch: usize, tensor: &Tensor<'_>| tensor.dims.first() == Some(&Some(batch));
        // Several images of which the outputs have one row each are a batch; else they are views of one scene, which is another task.
        let image = inputs
            .iter()
            .find_map(|input| image(input, size))
            .filter(|image| image.batch == 1 || outputs.iter().all(|output| is_of(image.batch, output)));
        if let Some(image) = image.filter(|image| image.batch > 1) {
            for tensor in inputs.iter_mut().chain(&mut outputs) {
                if is_of(image.batch, tensor) {
                    tensor.dims[0] = Some(1);
                }
            }
        }
        Seen {
            image,
            inputs,
            outputs,
            names: facts.metadata.get("names").and_then(|text| python_values(text)),
            task: facts.metadata.get("task").map(String::as_str),
        }
    }

    /// The output of these dimensions, where there is exactly one that `is_it`.
    pub(super) fn only_output(&self) -> Option<&Tensor<'a>> {
        match &self.outputs[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// How likely a network has so many classes: those of the file, or a set that many networks share.
    pub(super) fn likely(&self, classes: usize) -> u8 {
        match (&self.names, classes) {
            (Some(names), _) if names.len() == classes => 10,
            (Some(_), _) => 0,
            (None, 80) => 8,
            (None, 20 | 90 | 91) => 6,
            (None, 1..=20) => 4,
            (None, _) => 2,
        }
    }
}

fn tensor(port: &Port) -> Tensor<'_> {
    Tensor {
        name: &port.name,
        element: &port.element,
        dims: port.shape.iter().map(|extent| extent.parse().ok()).collect(),
        made_by: port.made_by.as_deref(),
    }
}

impl Tensor<'_> {
    /// Whether one of these operators makes its values.
    pub(super) fn is_made_by(&self, operators: &[&str]) -> bool {
        self.made_by.is_some_and(|maker| operators.contains(&maker))
    }

    /// The dimensions behind the batch, where that is 1 or open and these are all known.
    pub(super) fn behind_batch(&self) -> Option<Vec<usize>> {
        match self.dims.split_first()? {
            (Some(1) | None, rest) => rest.iter().copied().collect(),
            _ => None,
        }
    }

    /// Whether its name has one of these parts.
    pub(super) fn is_called(&self, parts: &[&str]) -> bool {
        let name = self.name.to_ascii_lowercase();
        parts.iter().any(|part| name.contains(part))
    }
}

/// Three channels in the second place or the last; `size` is width and height as the exporter noted them.
fn image<'a>(input: &Tensor<'a>, size: Option<[usize; 2]>) -> Option<Image<'a>> {
    let (batch, height, width, layout) = match input.dims[..] {
        [batch, Some(3), height, width] => (batch, height, width, Layout::Nchw),
        [batch, height, width, Some(3)] => (batch, height, width, Layout::Nhwc),
        _ => return None,
    };
    let open = size.unwrap_or([USUAL_SIDE; 2]);
    Some(Image {
        tensor: input.name,
        batch: batch.unwrap_or(1),
        is_batch_stated: batch.is_some(),
        width: width.unwrap_or(open[0]),
        height: height.unwrap_or(open[1]),
        layout,
        is_sized: width.is_some() && height.is_some(),
        is_float: input.element == "float",
    })
}

/// Width and height of the image, as the exporter noted them beside the graph.
pub(super) fn noted_size(facts: &NetworkFacts) -> Option<[usize; 2]> {
    facts.metadata.get("imgsz").and_then(|text| size(text))
}

/// `[480, 640]` or `(480, 640)`, height first, or `640`, as width and height.
fn size(text: &str) -> Option<[usize; 2]> {
    let text = text.trim();
    let brackets = [('[', ']'), ('(', ')')];
    let inner = brackets
        .iter()
        .find_map(|(begin, end)| text.strip_prefix(*begin)?.strip_suffix(*end))
        .unwrap_or(text);
    let sides: Option<Vec<usize>> = inner.split(',').map(|side| side.trim().parse().ok()).collect();
    let (height, width) = match sides?[..] {
        [height, width] => (height, width),
        [side] => (side, side),
        _ => return None,
    };
    let is_side = |side: usize| (1..=LARGEST_SIDE).contains(&side);
    (is_side(height) && is_side(width)).then_some([width, height])
}

/// The values of a Python dictionary as it prints itself, `{0: 'person', 1: "driver's cab"}`, whose keys count from 0.
fn python_values(text: &str) -> Option<Vec<String>> {
    let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
    let mut values = Vec::new();
    while !rest.is_empty() {
        let (key, after) = rest.split_once(':')?;
        if key.trim().parse() != Ok(values.len()) {
            return None;
        }
        let after = after.trim_start();
        let quote = after.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (value, behind) = after[1..].split_once(quote)?;
        values.push(value.to_owned());
        let behind = behind.trim_start();
        rest = behind.strip_prefix(',').unwrap_or(behind).trim_start();
    }
    (!values.is_empty()).then_some(values)
}

/// Cells of a grid: the input's size divided by the stride; none where it does not divide both.
pub(super) fn cells(image: &Image<'_>, stride: usize) -> Option<usize> {
    let divides = image.width.is_multiple_of(stride) && image.height.is_multiple_of(stride);
    match divides {
        true => (image.width / stride).checked_mul(image.height / stride),
        false => None,
    }
}

/// The sets of strides that detectors use, the usual one first.
const STRIDES: [&[usize]; 7] = [
    &[8, 16, 32],
    &[8, 16, 32, 64],
    &[4, 8, 16, 32],
    &[16, 32],
    &[8, 16],
    &[8],
    &[16],
];

/// The strides whose cells, `boxes` each, are so many rows.
pub(super) fn strides(image: &Image<'_>, rows: usize, boxes: usize) -> Option<&'static [usize]> {
    STRIDES.into_iter().find(|strides| {
        let all = strides
            .iter()
            .try_fold(0_usize, |all, stride| all.checked_add(cells(image, *stride)?));
        all.is_some_and(|all| all > 0 && all.checked_mul(boxes) == Some(rows))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_exporters_write_beside_the_graph_is_read() {
        assert_eq!(size("[480, 640]"), Some([640, 480]));
        assert_eq!(size("(480, 640)"), Some([640, 480]));
        assert_eq!(size("640"), Some([640, 640]));
        for wrong in ["[0, 640]", "[640", "", "[1, 2, 3]", "[640, 99999]"] {
            assert_eq!(size(wrong), None, "{wrong}");
        }
        let names = python_values("{0: 'person', 1: \"driver's cab\"}").unwrap();
        assert_eq!(names, ["person", "driver's cab"]);
        for wrong in ["", "{}", "{1: 'a'}", "{0: a}", "['a']", "{0: 'a"] {
            assert_eq!(python_values(wrong), None, "{wrong}");
        }
    }
}
