//! Made inputs as written: `Network(network: "net.onnx", shapes: "images:1x3x640x640", fill: Zeros)`, in a scenario in place of
//! a detector, or as a detector spec of its own.

use std::num::NonZeroU32;

use super::{Fill, InputFile, MadeInputs, RecordOutputs, Shapes};
use crate::written::{Choices, Fields, Kind, Node, Place, ProblemKind, Read, Reader, Spot, choice, plain};

/// The fields of a bare network.
pub(crate) const FIELDS: &[&str] = &["network", "shapes", "fill", "record_outputs"];

static FILLS: Choices<'_> = Choices {
    what: "fill",
    default: "Random",
    all: &[
        plain("Zeros"),
        plain("Ones"),
        choice("Random", &["seed", "max"], 1, "Random(seed: 7)"),
        choice("Files", &["files"], 1, "Files([\"images.npy\"])"),
    ],
};

/// A bare network as typed.
#[derive(Clone, Debug)]
pub(crate) struct NetworkFile {
    /// The ONNX file.
    pub(crate) network: Spot<String>,
    /// What it is fed, with paths as written.
    pub(crate) made: MadeInputs,
    /// Where its other files are named: those of `fill` in order, then the reference.
    pub(crate) places: Vec<Place>,
}

/// Reads the fields of a bare network.
pub(crate) fn read(r: &mut Reader, fields: &Fields<'_>) -> Option<NetworkFile> {
    let network = r.required(fields, "network", "network: \"net.onnx\"", Reader::text);
    let shapes = r.optional(fields, "shapes", shapes).or_default();
    let mut places = Vec::new();
    let fill = r.optional(fields, "fill", |r, node, _| fill(r, node, &mut places));
    let outputs = r.optional(fields, "record_outputs", |r, node, _| {
        outputs(r, node, &mut places)
    });
    Some(NetworkFile {
        network: network?,
        made: MadeInputs {
            shapes,
            fill: fill.or_default(),
            record_outputs: outputs.given().map(|spot| spot.value.clone()),
        },
        places,
    })
}

/// What is done with the outputs.
fn outputs(r: &mut Reader, node: &Node, places: &mut Vec<Place>) -> Option<RecordOutputs> {
    let expected = "(keep: \"folder\", reference: \"folder\", absolute: 1e-5, relative: 1e-5)";
    let known = &["keep", "reference", "absolute", "relative"];
    let f = r.record(node, "`record_outputs`", "Outputs", expected, known)?;
    let keep = r.optional(&f, "keep", Reader::text);
    let reference = r.optional(&f, "reference", Reader::text);
    let absolute = r.optional(&f, "absolute", tolerance);
    let relative = r.optional(&f, "relative", tolerance);
    if let (Read::Absent, Read::Absent) = (&keep, &reference) {
        let problem = "`record_outputs` has neither `keep` nor `reference`: name the folder that the outputs are written to, or the \
                       one with what they are compared with"
            .to_owned();
        r.report(&node.place, ProblemKind::Syntax { problem });
        return None;
    }
    places.extend(reference.given().map(|spot| spot.place.clone()));
    let folder = |read: &Read<String>| read.given().map(|spot| spot.value.clone().into());
    Some(RecordOutputs {
        keep: folder(&keep),
        reference: folder(&reference),
        absolute: absolute.or(RecordOutputs::TOLERANCE),
        relative: relative.or(RecordOutputs::TOLERANCE),
    })
}

/// How far something may be off.
fn tolerance(r: &mut Reader, node: &Node, field: &str) -> Option<f64> {
    let value: f64 = r.number(node, field)?;
    if value.is_finite() && value >= 0.0 {
        return Some(value);
    }
    let problem = format!("`{field}` is {value}; write a number from 0 on, such as 1e-5");
    r.report(&node.place, ProblemKind::Syntax { problem });
    None
}

/// A file of an input: its path, or `(input: "images", file: "images.npy")`.
fn input_file(r: &mut Reader, node: &Node, field: &str) -> Option<InputFile> {
    if let Kind::Call(_) = node.kind {
        let expected = "(input: \"images\", file: \"images.npy\")";
        let f = r.record(node, "a file of `fill`", "File", expected, &["input", "file"])?;
        let input = r.optional(&f, "input", Reader::text);
        let file = r.needed(&f, "file", "file: \"images.npy\"", Reader::text)?;
        return Some(InputFile {
            input: input.given().map(|spot| spot.value.clone()),
            file: file.into(),
        });
    }
    r.text(node, field).map(|file| InputFile {
        input: None,
        file: file.into(),
    })
}

fn shapes(r: &mut Reader, node: &Node, field: &str) -> Option<Shapes> {
    let text = r.text(node, field)?;
    match text.parse() {
        Ok(shapes) => Some(shapes),
        Err(error) => {
            // What was written stands in it.
            let problem = format!("`shapes`: {}", error.to_string().replace(char::is_control, " "));
            r.report(&node.place, ProblemKind::Syntax { problem });
            None
        }
    }
}

fn fill(r: &mut Reader, node: &Node, places: &mut Vec<Place>) -> Option<Fill> {
    let (name, fields) = r.choice(node, &FILLS)?;
    Some(match name {
        "Zeros" => Fill::Zeros,
        "Ones" => Fill::Ones,
        "Files" => {
            let example = "Files([\"images.npy\"])";
            let files = r.needed(&fields, "files", example, |r, node, field| {
                r.list(node, field, "a list of files", input_file)
            })?;
            places.extend(files.iter().map(|spot| spot.place.clone()));
            Fill::Files(files.into_iter().map(|spot| spot.value).collect())
        }
        _ => Fill::Random {
            seed: r.optional(&fields, "seed", Reader::whole).or(0),
            max: r.optional(&fields, "max", max).given().map(|spot| spot.value),
        },
    })
}

/// What integers are below: an i32 holds them too.
fn max(r: &mut Reader, node: &Node, field: &str) -> Option<NonZeroU32> {
    let most = r.whole::<u32>(node, field)?;
    let max = NonZeroU32::new(most).filter(|max| i32::try_from(max.get()).is_ok());
    if max.is_none() {
        let problem = format!(
            "`max` is {most}: integers are below it, and it must be from 1 to {}",
            i32::MAX
        );
        r.report(&node.place, ProblemKind::Syntax { problem });
    }
    max
}
