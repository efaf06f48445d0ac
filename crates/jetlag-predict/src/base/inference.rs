//! The physical half of inference.
//!
//! - Time: multiplies, traffic (weights too: a byte costs the same whoever reads it) and what kernels see, laid out as a matrix, which is
//!   what a convolution on a processor copies; beside them the launches, and what a frame takes by itself. Whether a runtime makes
//!   those matrices is not known, nor whether launches come on top: a price for the matrices, the price of all bytes, and launches on top
//!   with and without the matrices are four hypotheses.
//! - Memory is bytes that are known to be held: weights, with the copies that folding norms makes; blocks for tensors; inputs and
//!   outputs. So their coefficients are drawn towards 1 ([`super::fit`]). Blocks are kept whole, or what is alive decides too.
//!
//! Energy and power have the same hypotheses as those of training: what a multiply, a byte and a predicted millisecond take was no better on
//! left-out networks of the one board that was tried.

use super::{Column, Joined, Parts};
use crate::features::Term;

/// How many hypotheses time has.
pub(super) const OF_TIME: usize = 4;
/// And memory.
pub(super) const OF_MEMORY: usize = 2;

pub(super) fn time(hypothesis: usize) -> Parts {
    use Column::{Launches, Moved, MovedAndPatches, Multiplied, One, Traffic, Work};
    Parts {
        joined: Joined::Overlapping,
        floor: [Term::Layers, Term::OtherLayers].map(Launches).to_vec(),
        line: match hypothesis {
            0 => vec![
                Multiplied,
                Work(Term::Depthwise),
                Moved,
                Traffic(Term::Patches),
                One,
            ],
            1 => vec![Multiplied, MovedAndPatches, One],
            2 => vec![Multiplied, Moved, Traffic(Term::Patches), Launches(Term::Layers)],
            _ => vec![Multiplied, Moved, Launches(Term::Layers)],
        },
        rest: Vec::new(),
    }
}

pub(super) fn memory(hypothesis: usize) -> Parts {
    use Column::{Held, One, Plain};
    let mut line = vec![One, Plain(Term::Layers), Plain(Term::OtherLayers)];
    line.extend([Term::WeightsHeld, Term::LargestKernel, Term::Ends].map(Held));
    match hypothesis {
        0 => line.push(Held(Term::Blocks)),
        _ => line.extend([Term::Blocks, Term::LivePeak].map(Plain)),
    }
    Parts {
        joined: Joined::Clipped,
        floor: Vec::new(),
        line,
        rest: Vec::new(),
    }
}
