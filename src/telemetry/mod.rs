//! Samplers: quantities read at a steady pace beside the tenants.
//!
//! One thread runs all samplers of a run, each at its own period on an absolute schedule, and hands the
//! readings to the recorder. A sampler that fails ends, with a recorded reason, and the run goes on.
//! What is sampled is in one file a source; what readings mean is the analysis's affair.

pub mod host;
mod schedule;

pub use schedule::{SamplerReport, sampler_loop};

use crate::record::SampleRecord;
use crate::units::{Nanos, Stamp};

/// Reads some quantities each time it is asked.
pub trait Sampler: Send {
    /// The source's word in the run file: `host`.
    fn name(&self) -> &str;
    /// Time between two readings.
    fn period(&self) -> Nanos;
    /// Reads everything once and appends it to `out`. What could not be read this time has no value;
    /// what a machine does not have is not there at all. An error ends the sampler.
    fn sample(&mut self, at: Stamp, out: &mut Vec<SampleRecord>) -> Result<(), SamplerError>;
}

/// Why a sampler cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SamplerError {
    /// A file that must be there could not be read.
    #[error("cannot read {path}: {source}")]
    Io {
        /// Which file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file that does not say what it should.
    #[error("{path} should have {wanted}, and begins with `{found}`")]
    Format {
        /// Which file.
        path: String,
        /// What was looked for.
        wanted: &'static str,
        /// Its first line.
        found: String,
    },
}
