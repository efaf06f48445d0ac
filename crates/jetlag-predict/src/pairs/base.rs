//! Slowdowns of pairs from what networks suffer and take: two forms with coefficients that cannot be negative.

use jetlag_stats::nonnegative::nnls;
use serde::{Deserialize, Serialize};

use super::data::Signature;

/// How resources join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Form {
    /// What is beyond 1 adds up: waiting for one resource comes after waiting for another.
    Sum,
    /// Slowdowns multiply.
    Product,
}

pub(super) const FORMS: [Form; 2] = [Form::Sum, Form::Product];

/// A fitted form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Base {
    pub(super) form: Form,
    coefficients: Vec<f64>,
}

/// The share of a load's resource that a network takes from it: a load that becomes s times slower has lost 1 − 1 / s.
pub(super) fn share(causes: f64) -> f64 {
    (1.0 - 1.0 / causes).max(0.0)
}

/// For each load: what the one suffers times what the other takes, and what the other takes whatever the one suffers (a queue that all
/// stand in).
fn columns(form: Form, of: &Signature, beside: &Signature) -> Vec<f64> {
    let loss = |suffers: f64| match form {
        Form::Sum => (suffers - 1.0).max(0.0),
        Form::Product => libm::log(suffers).max(0.0),
    };
    let both = of.meetings.iter().zip(&beside.meetings);
    both.flat_map(|(own, other)| {
        let taken = share(other.causes);
        // The load took its level of the resource to do that harm; what the other takes is of the whole.
        [loss(own.suffers) * taken / own.level, taken]
    })
    .collect()
}

impl Base {
    /// Fits a form to slowdowns, each by its relative error.
    pub(super) fn fit(form: Form, pairs: &[(&Signature, &Signature, f64)]) -> Self {
        let rows: Vec<Vec<f64>> = pairs
            .iter()
            .map(|(of, beside, slowdown)| {
                let weight = match form {
                    Form::Sum => 1.0 / slowdown,
                    Form::Product => 1.0,
                };
                columns(form, of, beside)
                    .into_iter()
                    .map(|x| x * weight)
                    .collect()
            })
            .collect();
        let right: Vec<f64> = pairs
            .iter()
            .map(|(_, _, slowdown)| match form {
                Form::Sum => (slowdown - 1.0) / slowdown,
                Form::Product => libm::log(*slowdown),
            })
            .collect();
        Self {
            form,
            coefficients: nnls(&rows, &right),
        }
    }

    /// The logarithm of the slowdown that it says.
    pub(super) fn log(&self, of: &Signature, beside: &Signature) -> f64 {
        let columns = columns(self.form, of, beside);
        let sum: f64 = columns.iter().zip(&self.coefficients).map(|(x, c)| x * c).sum();
        match self.form {
            Form::Sum => libm::log(1.0 + sum),
            Form::Product => sum,
        }
    }

    /// Whether a read one can be evaluated with so many loads.
    pub(super) fn is_sound(&self, loads: usize) -> bool {
        self.coefficients.len() == 2 * loads && self.coefficients.iter().all(|x| x.is_finite() && *x >= 0.0)
    }
}
