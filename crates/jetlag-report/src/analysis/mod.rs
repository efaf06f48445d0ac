//! From records to numbers: pure, with no clock, no device and no file.
//!
//! [`Summarizer`] takes a run's manifest and then its events, one by one in any order, and returns a [`Summary`]:
//! counts, rates, quantiles with their intervals, slowdown, findings, expectations and the verdict. `run` and
//! `report` both get every number from it. `record` reads the file, and the report modules show the summary. Every
//! definition is in docs/measurement.md.
//!
//! Terms that the modules share:
//!
//! - *autocorrelation time* τ: the factor by which autocorrelation increases the variance of an estimate
//!   (`jetlag_stats::autocorrelation`);
//! - *effective sample size*: n ÷ τ, the number of independent frames that would give the same precision
//!   (`dependence`);
//! - a quantile is *supported* if the effective sample is large enough for it (`jetlag_stats::quantile`); otherwise it is
//!   *withheld*, and the summary says how many frames it needs.

mod amounts;
mod attribution;
mod backlog;
mod batch_work;
mod budget;
mod cameras;
mod clocks;
mod code;
pub mod compare;
mod conditions;
mod counter;
pub mod counters;
pub mod critical;
mod curve;
pub mod cvcuda;
mod dependence;
mod drawn;
pub mod duty;
mod energy;
mod expectation;
mod explained;
mod failed;
mod failures;
mod feeds;
pub mod figures;
mod findings;
mod host;
mod idle;
mod input_effect;
pub mod interference;
mod judge;
mod kernels;
mod lack;
mod layer_name;
pub mod layers;
mod limit;
pub mod live;
mod memory;
mod missed;
pub mod nodes;
mod observer;
mod outliers;
mod outputs;
pub mod phases;
mod plan;
pub mod plot;
mod power;
mod predictability;
mod protection;
mod recorded;
pub mod roofline;
mod sample;
mod sampling;
mod sensors;
mod series;
mod signals;
pub mod stamps;
pub mod start_up;
mod stats;
mod steady;
pub mod submission;
mod summarizer;
pub mod summary;
mod supply;
mod tenant;
mod timeline;
mod total;
pub mod trace;
pub mod traced;
mod track;
pub mod trtexec;
mod uncertainty;
mod waiting;
mod wander;
mod watch;
pub mod waterfall;
pub mod what_if;
mod within;

/// The code of the finding that other programs used the processors, from which others follow.
pub(crate) const HOST_BUSY: &str = code::Code::HostBusy.word();

pub use amounts::parse_power;
pub use expectation::{Expectation, ExpectationError, parse as parse_expectation};
pub use explained::Explained;
pub use figures::figures;
pub use recorded::Recorded;
pub use summarizer::Summarizer;
pub use summary::Summary;
