//! From records to numbers: pure, with no clock, no device and no file.
//!
//! [`Summarizer`] takes a run's manifest and then its events, one by one in any order, and ends in a
//! [`Summary`]: counts, rates, quantiles with their intervals, slowdown, findings, expectations and the
//! verdict. It is the one path from record to number, for `run` and `report` alike. Reading the file is
//! `record`'s affair, showing the summary `report`'s. Every definition is in docs/measurement.md.

mod attribution;
mod autocorrelation;
mod binomial;
mod changepoint;
mod clocks;
mod code;
pub mod compare;
mod conditions;
mod counter;
pub mod cvcuda;
mod dependence;
pub mod duty;
mod energy;
mod expectation;
mod failures;
mod findings;
mod histogram;
mod host;
mod idle;
pub mod interference;
mod judge;
mod limit;
pub mod live;
mod metric;
pub mod nodes;
mod outliers;
pub mod phases;
mod plan;
pub mod plot;
mod power;
mod predictability;
mod protection;
mod quantile;
mod sample;
mod sampling;
mod series;
mod signals;
mod states;
mod stats;
mod steady;
mod student;
pub mod submission;
mod summarizer;
pub mod summary;
mod supply;
mod tenant;
mod timeline;
pub mod trace;
mod track;
pub mod trtexec;
mod uncertainty;
mod waiting;
mod watch;
pub mod waterfall;

pub use expectation::{Expectation, ExpectationError, parse as parse_expectation};
pub use quantile::Quantile;
pub use summarizer::Summarizer;
pub use summary::Summary;
