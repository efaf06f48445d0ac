//! Shapes and types of a node's outputs, and their numbers where they decide shapes further on. One file a family of
//! operators.

mod attention;
mod conv;
mod fold;
mod gather;
mod generate;
mod layout;
mod matmul;
mod microsoft;
mod pointwise;
mod reduce;
mod resize;
mod rnn;
mod signal;

pub(crate) use attention::heads;
pub(crate) use conv::spatial;
pub(crate) use layout::slices;
pub(crate) use matmul::{equation, terms};
pub(crate) use microsoft::operands;
pub(crate) use pointwise::{is_binary, is_unary, is_variadic};
pub(crate) use resize::scaled_axes;

use crate::call::{Call, Stop};
use crate::value::Value;

/// What a node makes, as far as its inputs tell.
///
/// # Errors
/// The operator is not known here, its output depends on data without bound, or its inputs contradict each other.
pub(crate) fn infer(call: &Call) -> Result<Vec<Value>, Stop> {
    let made = match &*call.node.domain {
        "" => standard(call),
        "com.microsoft" => microsoft::infer(call),
        domain => Err(Stop::operator(format!("the domain `{domain}` is not known here"))),
    };
    match made {
        // Largest sizes need not fit together where the real ones do.
        Err(Stop::Contradiction(_)) if call.is_bound() => {
            Err(Stop::unknown("its sizes depend on data".to_owned()))
        }
        Ok(mut values) => {
            fold::fold(call, &mut values);
            Ok(values)
        }
        stopped => stopped,
    }
}

fn standard(call: &Call) -> Result<Vec<Value>, Stop> {
    let families = [
        pointwise::infer,
        conv::infer,
        matmul::infer,
        attention::infer,
        layout::infer,
        gather::infer,
        reduce::infer,
        generate::infer,
        resize::infer,
        rnn::infer,
        signal::infer,
    ];
    for family in families {
        if let Some(made) = family(call) {
            return made;
        }
    }
    Err(Stop::operator(format!(
        "the operator {} is not known here",
        call.operator()
    )))
}

/// What a family says of a node; none where it is another family's.
type Made = Option<Result<Vec<Value>, Stop>>;
