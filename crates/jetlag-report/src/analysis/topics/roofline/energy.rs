//! E = e_flop · W + e_byte · Q + p0 · T, fitted to measured executions.
//!
//! J. W. Choi and others: A Roofline Model of Energy (IPDPS 2013); as Pagoda uses it, arXiv 2509.20189.
//! Each row weighs by its own energy, so that errors are relative and a long run does not decide alone. No coefficient may be
//! negative. One that the rows cannot tell from nothing, or from a mixture of the others, is said to be not identifiable
//! instead of being printed.

use jetlag_stats::student::t_quantile;
use serde::Serialize;

use super::fit::{Solution, solve};

/// A measured execution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EnergyRow {
    /// Operations.
    pub flops: f64,
    /// Bytes moved.
    pub bytes: f64,
    /// Seconds that it took.
    pub seconds: f64,
    /// Joules that it took.
    pub joules: f64,
}

/// A coefficient, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Coefficient {
    /// The estimate; none where the rows cannot tell it.
    pub value: Option<f64>,
    /// The interval that holds it at 95 %, if errors are independent; never below 0.
    pub interval: Option<(f64, f64)>,
    /// Why there is none.
    pub not_identifiable: Option<String>,
}

/// What was fitted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EnergyFit {
    /// Joules an operation.
    pub e_flop: Coefficient,
    /// Joules a byte.
    pub e_byte: Coefficient,
    /// Watts whatever is done.
    pub p0: Coefficient,
    /// Mean of the rows' errors, as a share of their energy.
    pub mean_relative_error: f64,
    /// The largest of them.
    pub worst_relative_error: f64,
    /// How many rows there were.
    pub rows: usize,
}

/// Why nothing was fitted.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FitError {
    /// Three coefficients take more than three rows.
    #[error(
        "{found} rows do not tell three coefficients with an error; measure at least {wanted} executions that differ in intensity"
    )]
    TooFew {
        /// How many there are.
        found: usize,
        /// How many there should be.
        wanted: usize,
    },
    /// A number that no execution has.
    #[error("row {row} has a work, traffic, time or energy that is not positive; leave it out")]
    Row {
        /// Which, from 0.
        row: usize,
    },
    /// All rows are the same execution, or multiples of it.
    #[error("the rows are multiples of one another; measure executions that differ in intensity")]
    Alike,
}

/// As few rows as are fitted.
const LEAST_ROWS: usize = 5;

/// Fits the energy model to rows.
///
/// # Errors
/// There are too few rows, one of them is no execution, or all of them are alike.
pub fn fit_energy(rows: &[EnergyRow]) -> Result<EnergyFit, FitError> {
    if rows.len() < LEAST_ROWS {
        return Err(FitError::TooFew {
            found: rows.len(),
            wanted: LEAST_ROWS,
        });
    }
    let is_sound = |row: &EnergyRow| {
        let numbers = [row.flops, row.bytes, row.seconds, row.joules];
        numbers.iter().all(|number| number.is_finite() && *number > 0.0)
    };
    if let Some(row) = rows.iter().position(|row| !is_sound(row)) {
        return Err(FitError::Row { row });
    }
    let relative: Vec<[f64; 3]> = rows
        .iter()
        .map(|row| {
            [
                row.flops / row.joules,
                row.bytes / row.joules,
                row.seconds / row.joules,
            ]
        })
        .collect();
    let free = solve(&relative, [true; 3]);
    let best = constrained(&relative).ok_or(FitError::Alike)?;
    let names = ["work", "traffic", "time"];
    let coefficient = |at: usize| {
        let refuse = |why: String| Coefficient {
            value: None,
            interval: None,
            not_identifiable: Some(why),
        };
        let Some(all) = &free else {
            return refuse("two of work, traffic and time are proportional in these rows".to_owned());
        };
        let own = |values: &[f64; 3]| values.get(at).copied().unwrap_or(0.0);
        if own(&all.values) < 0.0 || own(&best.values) <= 0.0 {
            return refuse(format!(
                "the rows would give {} a negative price: it cannot be told from the others",
                names.get(at).copied().unwrap_or_default()
            ));
        }
        let reach = own(&best.errors) * t_quantile(0.975, rows.len().saturating_sub(best.used).max(1) as f64);
        let value = own(&best.values);
        if value - reach <= 0.0 {
            return refuse(format!(
                "between 0 and {:.3e} all prices of {} fit the rows",
                value + reach,
                names.get(at).copied().unwrap_or_default()
            ));
        }
        Coefficient {
            value: Some(value),
            interval: Some((value - reach, value + reach)),
            not_identifiable: None,
        }
    };
    Ok(EnergyFit {
        e_flop: coefficient(0),
        e_byte: coefficient(1),
        p0: coefficient(2),
        mean_relative_error: best.residuals.iter().map(|error| error.abs()).sum::<f64>() / rows.len() as f64,
        worst_relative_error: best
            .residuals
            .iter()
            .fold(0.0, |worst, error| error.abs().max(worst)),
        rows: rows.len(),
    })
}

/// Least squares without negative coefficients: of three there are seven choices of those that are not 0, and the best that
/// is allowed is the answer.
fn constrained(rows: &[[f64; 3]]) -> Option<Solution> {
    let choices = (1..8_u8).map(|bits| [bits & 1 != 0, bits & 2 != 0, bits & 4 != 0]);
    let allowed = choices
        .filter_map(|used| solve(rows, used))
        .filter(|solution| solution.values.iter().all(|value| *value >= 0.0));
    allowed.min_by(|a, b| a.squares.total_cmp(&b.squares))
}

/// The intensity at which work and traffic take the same energy, in operations a byte. None, with the reason, where one of the two
/// prices is not identifiable.
///
/// # Errors
/// Why there is none.
pub fn balance_point(fit: &EnergyFit) -> Result<f64, String> {
    match (fit.e_flop.value, fit.e_byte.value) {
        (Some(flop), Some(byte)) => Ok(byte / flop),
        _ => {
            let why = [&fit.e_byte, &fit.e_flop]
                .into_iter()
                .find_map(|price| price.not_identifiable.clone());
            Err(why.unwrap_or_else(|| "a price is not known".to_owned()))
        }
    }
}
