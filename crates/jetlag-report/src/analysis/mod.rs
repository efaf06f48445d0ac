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
mod catalogue;
mod code;
mod expectation;
mod explained;
pub mod figures;
mod finding;
mod foreign;
mod gathering;
mod judging;
pub mod live;
mod stats;
mod summarizer;
pub mod summary;
mod topics;

/// The code of the finding that other programs used the processors, from which others follow.
pub(crate) const HOST_BUSY: &str = code::Code::HostBusy.word();

pub use amounts::parse_power;
pub use expectation::{Expectation, ExpectationError, parse as parse_expectation};
pub use explained::Explained;
pub use figures::figures;
pub use gathering::recorded::Recorded;
pub use summarizer::Summarizer;
pub use summary::Summary;

// Found without their floor.
pub use foreign::cvcuda;
pub use foreign::trtexec;
pub use gathering::plot;
pub use gathering::stamps;
pub use gathering::trace;
pub use gathering::traced;
pub use judging::compare;
pub use topics::duty;
pub use topics::interference;
pub use topics::latency::nodes;
pub use topics::latency::start_up;
pub use topics::latency::submission;
pub use topics::latency::waterfall;
pub use topics::phases;
pub use topics::roofline;
pub use topics::traces::counters;
pub use topics::traces::critical;
pub use topics::traces::layers;
pub use topics::traces::what_if;
