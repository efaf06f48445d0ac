//! A training step: forward, backward, and the optimiser's.
//!
//! Backward, a matrix product costs as much again for each operand that has a gradient, as PyTorch's counter has it: a
//! convolution twice, the first one once, since a picture has no gradient; of grouped ones the counter takes the weight's part as
//! if there were no groups, which is not taken over. All else costs twice what it costs forward (the
//! derivative, and its product with what comes back); a bias once. Views and copies compute nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::cost::{Kind, is_weight};
use crate::element::As;
use crate::traffic::{Bytes, bytes_of, is_still, reads};
use crate::value::product;
use crate::walk::{Id, Step, Walk};

/// What updates the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Optimiser {
    /// Plain gradient descent: 2 operations a weight.
    Sgd,
    /// With momentum: 4 operations, one state.
    Momentum,
    /// Adam: 14 operations, two states.
    Adam,
}

impl Optimiser {
    /// Operations for each weight.
    pub fn flops_per_parameter(self) -> u64 {
        match self {
            Optimiser::Sgd => 2,
            Optimiser::Momentum => 4,
            // 3 for the mean, 4 for the squares, 2 corrections, root, sum, division, product, difference.
            Optimiser::Adam => 14,
        }
    }

    /// Numbers that it keeps for each weight.
    pub fn states(self) -> u64 {
        match self {
            Optimiser::Sgd => 0,
            Optimiser::Momentum => 1,
            Optimiser::Adam => 2,
        }
    }
}

/// What a node costs beyond its forward pass.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Backward {
    /// Operations.
    pub flops: u64,
    /// Multiply-adds of matrix products and convolutions.
    pub macs: u64,
    /// Bytes read: what was kept, and the gradients of the outputs. None where a size is not known.
    pub bytes_read: Option<u64>,
    /// Bytes written: the gradients of inputs and weights.
    pub bytes_written: Option<u64>,
}

/// The backward pass of a walk.
#[derive(Debug, Default)]
pub(crate) struct Pass {
    /// Of each step; none where nothing comes back through it.
    pub(crate) steps: Vec<Option<Backward>>,
    /// Tensors that the forward pass leaves for the backward pass: bytes; none where a size is not known.
    pub(crate) kept_bytes: Option<u64>,
    /// The weights that have a gradient.
    pub(crate) trained: BTreeSet<Id>,
}

/// What a step keeps for the way back.
enum Kept {
    Inputs,
    Output,
    Nothing,
}

fn kept(step: &Step) -> Kept {
    match &*step.operator {
        "Relu" | "Sigmoid" | "Tanh" | "Softmax" | "LogSoftmax" | "Exp" | "Sqrt" | "Reciprocal"
        | "HardSigmoid" => Kept::Output,
        "Add" | "Sub" | "Sum" | "Mean" | "Neg" | "Identity" | "Cast" | "AveragePool"
        | "GlobalAveragePool" | "ReduceMean" | "ReduceSum" | "Resize" | "Upsample" | "Where" => Kept::Nothing,
        _ if matches!(step.kind, Kind::View | Kind::Free | Kind::Move) => Kept::Nothing,
        _ => Kept::Inputs,
    }
}

/// No gradient goes through these.
fn is_flat(operator: &str) -> bool {
    matches!(
        operator,
        "Shape"
            | "Size"
            | "ArgMax"
            | "ArgMin"
            | "NonZero"
            | "NonMaxSuppression"
            | "Equal"
            | "Greater"
            | "Less"
            | "GreaterOrEqual"
            | "LessOrEqual"
            | "Not"
            | "And"
            | "Or"
            | "Xor"
            | "OneHot"
            | "Range"
            | "ConstantOfShape"
            | "Floor"
            | "Ceil"
            | "Round"
            | "Sign"
            | "IsNaN"
            | "IsInf"
            | "EyeLike"
            | "Unique"
            | "Hardmax"
    )
}

/// Operations and bytes of the way back.
pub(crate) fn backward(walk: &Walk, wanted: As) -> Option<Pass> {
    let root = |id: Id| walk.roots.get(id).copied().unwrap_or(id);
    let is_float = |id: Id| walk.values.get(id).is_some_and(|value| value.element.is_float());
    let mut pass = Pass::default();
    let mut has_gradient: BTreeSet<Id> = BTreeSet::new();
    let mut is_kept: BTreeMap<Id, Bytes> = BTreeMap::new();
    for step in &walk.steps {
        if step.at_load || is_flat(&step.operator) {
            pass.steps.push(None);
            continue;
        }
        let mut gradients: Vec<Id> = Vec::new();
        let mut operands = 0;
        for (at, id) in step.inputs.iter().enumerate() {
            let Some(id) = *id else { continue };
            let is_trained = walk.values.get(id).is_some_and(|value| value.constant)
                && is_weight(&step.operator, at)
                && is_float(id)
                && !is_statistic(step, at)
                && !matches!(step.kind, Kind::Free);
            if !is_trained && !has_gradient.contains(&root(id)) {
                continue;
            }
            if !gradients.contains(&id) {
                gradients.push(id);
            }
            if at < 2 {
                operands += 1;
            }
            if is_trained {
                pass.trained.insert(root(id));
            }
        }
        if gradients.is_empty() {
            pass.steps.push(None);
            continue;
        }
        for id in step.outputs.iter().filter(|id| is_float(**id)) {
            has_gradient.insert(root(*id));
        }
        pass.steps
            .push(Some(of_step(walk, step, &gradients, operands, wanted)?));
        let keeps: Vec<Id> = match kept(step) {
            Kept::Inputs => reads(step).into_iter().map(|(id, _)| id).collect(),
            Kept::Output => step.outputs.first().copied().into_iter().collect(),
            Kept::Nothing => Vec::new(),
        };
        for id in keeps {
            if walk.values.get(id).is_some_and(|value| !value.constant) {
                is_kept.insert(root(id), bytes_of(walk, id, None, wanted));
            }
        }
    }
    pass.kept_bytes = is_kept
        .into_values()
        .try_fold(0_u64, |sum, bytes| sum.checked_add(bytes.ok()?));
    Some(pass)
}

/// Running means and variances are not learnt.
fn is_statistic(step: &Step, at: usize) -> bool {
    step.operator == "BatchNormalization" && at >= 3
}

/// None beyond 64 bits.
fn of_step(walk: &Walk, step: &Step, gradients: &[Id], operands: u64, wanted: As) -> Option<Backward> {
    let (mut macs, mut other) = (0, 0);
    if let Ok(cost) = &step.cost {
        macs = match &*step.operator {
            // Queries, keys and values: of two products, four.
            "Attention" => cost.macs.checked_mul(2)?,
            "LSTM" | "GRU" | "RNN" => through_time(walk, step, gradients, cost.macs)?,
            _ => cost.macs.checked_mul(operands)?,
        };
        let is_bias = cost.macs > 0 && !matches!(&*step.operator, "Attention" | "LSTM" | "GRU" | "RNN");
        other = cost.other.checked_mul(if is_bias { 1 } else { 2 })?;
        macs = macs.checked_mul(step.times)?;
        other = other.checked_mul(step.times)?;
    }
    let sum = |ids: Vec<Id>| -> Option<u64> {
        let bytes = ids.into_iter().try_fold(0_u64, |sum, id| {
            sum.checked_add(bytes_of(walk, id, None, wanted).ok()?)
        });
        bytes?.checked_mul(step.times)
    };
    let (bytes_read, bytes_written) = match is_still(step) {
        true => (Some(0), Some(0)),
        false => {
            let mut read: Vec<Id> = match kept(step) {
                Kept::Inputs => reads(step).into_iter().map(|(id, _)| id).collect(),
                Kept::Output => step.outputs.first().copied().into_iter().collect(),
                Kept::Nothing => Vec::new(),
            };
            read.extend(step.outputs.first());
            (sum(read), sum(gradients.to_vec()))
        }
    };
    Some(Backward {
        flops: macs.checked_mul(2)?.checked_add(other)?,
        macs,
        bytes_read,
        bytes_written,
    })
}

/// Products of a recurrent network's way back: with the input's weight for each of the two that has a gradient, with the
/// recurrent weight for that weight's own, and for the state of every step but the first, which is given.
fn through_time(walk: &Walk, step: &Step, gradients: &[Id], macs: u64) -> Option<u64> {
    let id = |at: usize| step.inputs.get(at).copied().flatten();
    let dims = |id: Id| walk.values.get(id)?.shape.as_ref().ok().map(|shape| &*shape.dims);
    let has = |at: usize| id(at).is_some_and(|id| gradients.contains(&id));
    let ([first, second, wide, ..], [_, _, hidden, ..]) = (dims(id(0)?)?, dims(id(2)?)?) else {
        return macs.checked_mul(2);
    };
    let is_batch_first = match dims(*step.outputs.first()?) {
        Some([_, _, batch, _]) => batch != second,
        _ => false,
    };
    let length = if is_batch_first { *second } else { *first };
    // Both weights have the same number of rows.
    let all = u128::from(macs);
    let across = wide.checked_add(*hidden).filter(|across| *across > 0)?;
    let recurrent = u64::try_from(all * u128::from(*hidden) / u128::from(across)).ok()?;
    let outer = macs - recurrent;
    let given = if has(5) {
        0
    } else {
        recurrent.checked_div(length).unwrap_or(0)
    };
    let own = if has(2) { recurrent } else { 0 };
    outer
        .checked_mul(u64::from(has(0)) + u64::from(has(1)))?
        .checked_add(own)?
        .checked_add(recurrent - given)
}

/// Elements of all weights that are learnt.
pub(crate) fn trained_elements(walk: &Walk, pass: &Pass) -> Option<u64> {
    let sizes = pass
        .trained
        .iter()
        .map(|id| product(&walk.values.get(*id)?.shape.as_ref().ok()?.dims));
    sizes
        .into_iter()
        .try_fold(0_u64, |sum, size| sum.checked_add(size?))
}
