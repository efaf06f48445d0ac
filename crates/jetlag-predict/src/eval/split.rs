//! Which rows are fitted, and which are scored.

use std::collections::BTreeSet;

use jetlag_stats::random::SplitMix64;

use super::{EvalOptions, Protocol};
use crate::dataset::{Dataset, Row};
use crate::error::PredictError;

/// Levels of pruning that perf4sight fits on, and those that it scores.
const FIT: [&str; 5] = ["0", "30", "50", "70", "90"];
const SCORE: [&str; 14] = [
    "5", "10", "15", "20", "25", "35", "40", "45", "55", "60", "65", "75", "80", "85",
];

/// Places of rows, those to fit in the folder that is fitted on.
pub(super) struct Split {
    pub(super) network: String,
    pub(super) fit: Vec<usize>,
    pub(super) score: Vec<usize>,
}

fn networks(data: &Dataset, rows: &[usize]) -> Vec<String> {
    let names: BTreeSet<&String> = rows.iter().map(|at| &data.rows[*at].network).collect();
    names.into_iter().cloned().collect()
}

fn chosen(data: &Dataset, rows: &[usize], is: impl Fn(&Row) -> bool) -> Vec<usize> {
    rows.iter().copied().filter(|at| is(&data.rows[*at])).collect()
}

pub(super) fn other_folder(fit: &[usize], data: &Dataset, rows: &[usize]) -> Vec<Split> {
    let split = |network: String| Split {
        fit: fit.to_vec(),
        score: chosen(data, rows, |row| row.network == network),
        network,
    };
    networks(data, rows).into_iter().map(split).collect()
}

pub(super) fn by_protocol(
    options: &EvalOptions,
    data: &Dataset,
    rows: &[usize],
    what: &str,
) -> Result<Vec<Split>, PredictError> {
    let networks = networks(data, rows);
    let published = |network: String, is: &dyn Fn(&Row) -> bool| {
        let of = |levels: &[&str]| {
            chosen(data, rows, |row| {
                is(row) && levels.contains(&row.variant.as_str())
            })
        };
        let (fit, score) = (of(&FIT), of(&SCORE));
        match fit.is_empty() || score.is_empty() {
            true => Err(PredictError::Split {
                what: what.to_owned(),
                network,
                fit: fit.len(),
                score: score.len(),
            }),
            false => Ok(Split { network, fit, score }),
        }
    };
    match options.protocol {
        Protocol::SameNetwork => networks
            .into_iter()
            .map(|network| published(network.clone(), &|row| row.network == network))
            .collect(),
        Protocol::Pooled => Ok(vec![published("all".to_owned(), &|_| true)?]),
        Protocol::LeaveOneNetworkOut => {
            if let [network] = networks.as_slice() {
                return Err(PredictError::OneNetwork {
                    what: what.to_owned(),
                    network: network.clone(),
                });
            }
            let split = |network: String| Split {
                fit: chosen(data, rows, |row| row.network != network),
                score: chosen(data, rows, |row| row.network == network),
                network,
            };
            Ok(networks.into_iter().map(split).collect())
        }
        Protocol::LeaveModesOut => {
            let fitted = drawn_modes(options, data, rows, what)?;
            let is_fitted = |row: &Row| fitted.contains(&row.device);
            let split = |network: String| Split {
                fit: chosen(data, rows, is_fitted),
                score: chosen(data, rows, |row| !is_fitted(row) && row.network == network),
                network,
            };
            let all = networks.into_iter().map(split);
            // A network that was measured in the drawn modes alone has nothing to score.
            Ok(all.filter(|split| !split.score.is_empty()).collect())
        }
    }
}

/// The boards in modes that are fitted.
fn drawn_modes(
    options: &EvalOptions,
    data: &Dataset,
    rows: &[usize],
    what: &str,
) -> Result<BTreeSet<usize>, PredictError> {
    let all: BTreeSet<usize> = rows.iter().map(|at| data.rows[*at].device).collect();
    let with_clocks = |at: &usize| data.devices.get(*at).is_some_and(|device| device.mode.is_some());
    let found = all.iter().filter(|at| with_clocks(at)).count();
    if found != all.len() || found <= options.modes {
        return Err(PredictError::Modes {
            what: what.to_owned(),
            found,
            without: all.len() - found,
            wanted: options.modes,
        });
    }
    let mut drawn: Vec<(u64, usize)> = all
        .into_iter()
        .map(|at| (SplitMix64::stream(options.fit.seed, at as u64).bits(), at))
        .collect();
    drawn.sort_unstable();
    Ok(drawn.into_iter().take(options.modes).map(|(_, at)| at).collect())
}
