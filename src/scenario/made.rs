//! Made inputs as written: `Network(network: "net.onnx", shapes: "images:1x3x640x640", fill: Zeros)`, in a scenario in place of
//! a detector, or as a detector spec of its own.

use std::num::NonZeroU32;

use super::{Fill, MadeInputs, Shapes};
use crate::written::{Choices, Fields, Node, ProblemKind, Reader, Spot, choice, plain};

/// The fields of a bare network.
pub(crate) const FIELDS: &[&str] = &["network", "shapes", "fill"];

static FILLS: Choices<'_> = Choices {
    what: "fill",
    default: "Random",
    all: &[
        plain("Zeros"),
        plain("Ones"),
        choice("Random", &["seed", "max"], 1, "Random(seed: 7)"),
    ],
};

/// A bare network as typed.
#[derive(Clone, Debug)]
pub(crate) struct NetworkFile {
    /// The ONNX file.
    pub(crate) network: Spot<String>,
    /// What it is fed.
    pub(crate) made: MadeInputs,
}

/// Reads the fields of a bare network.
pub(crate) fn read(r: &mut Reader, fields: &Fields<'_>) -> Option<NetworkFile> {
    let network = r.required(fields, "network", "network: \"net.onnx\"", Reader::text);
    let shapes = r.optional(fields, "shapes", shapes).or_default();
    let fill = r.optional(fields, "fill", fill).or_default();
    Some(NetworkFile {
        network: network?,
        made: MadeInputs { shapes, fill },
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

fn fill(r: &mut Reader, node: &Node, _: &str) -> Option<Fill> {
    let (name, fields) = r.choice(node, &FILLS)?;
    Some(match name {
        "Zeros" => Fill::Zeros,
        "Ones" => Fill::Ones,
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
