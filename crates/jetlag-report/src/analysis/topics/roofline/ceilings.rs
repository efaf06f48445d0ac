//! What a device reaches at most: peak rates by number format, bandwidth of memory and caches.

use serde::{Deserialize, Serialize};

use super::roofs::Roofs;

/// Version of the form in files; larger when a field changes its meaning or is removed.
pub const CEILINGS_SCHEMA: u32 = 1;

/// The bandwidth that roofs take: that of the device's memory.
const MEMORY: &str = "memory";

/// Ceilings of one device, measured or from a table; a file of `jetlag ceilings` is its JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceilings {
    /// Version of the form, [`CEILINGS_SCHEMA`].
    pub schema: u32,
    /// Of what.
    pub name: String,
    /// Which part of the machine.
    pub processor: Processor,
    /// How they are known: measured, by which program; or the table and the mode.
    pub source: String,
    /// Peak rates.
    pub peaks: Vec<Peak>,
    /// Bandwidth of `memory`, and of caches (`L1`, `L2`, `L3`).
    pub bandwidths: Vec<Bandwidth>,
    /// Copies within the device's memory, and to it.
    #[serde(default)]
    pub copies: Vec<Bandwidth>,
    /// What limits them, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// The part of a machine that computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Processor {
    /// The processor.
    Cpu,
    /// A GPU.
    Gpu,
}

impl Processor {
    /// As it is written in text.
    pub fn word(self) -> &'static str {
        match self {
            Processor::Cpu => "the processor",
            Processor::Gpu => "a GPU",
        }
    }
}

/// The highest rate of arithmetic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peak {
    /// The number format: `fp32`, `fp16`, `int8`.
    pub precision: String,
    /// Threads that it takes; none where that has no meaning, as of a GPU.
    #[serde(default)]
    pub threads: Option<u32>,
    /// Operations a second, two for a multiply-add.
    pub flops_per_s: f64,
    /// How it is known.
    #[serde(default)]
    pub how: String,
}

/// The highest rate of moving bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// Of what.
    pub name: String,
    /// Threads that it takes; none where that has no meaning.
    #[serde(default)]
    pub threads: Option<u32>,
    /// Bytes a second, read and written together.
    pub bytes_per_s: f64,
    /// Bytes that were moved again and again; none where it was not measured.
    #[serde(default)]
    pub working_set: Option<u64>,
    /// How it is known.
    #[serde(default)]
    pub how: String,
}

/// Why a file holds no ceilings.
#[derive(Debug, thiserror::Error)]
pub enum CeilingsError {
    /// It is written otherwise.
    #[error(
        "these are no ceilings: {0}; write them with `jetlag ceilings -o FILE`, docs/models.md has the form"
    )]
    Form(#[from] serde_json::Error),
    /// A newer jetlag wrote it.
    #[error(
        "the ceilings have version {found}, and this jetlag reads {CEILINGS_SCHEMA}; update jetlag, or measure them again"
    )]
    Version {
        /// The version that was found.
        found: u32,
    },
    /// Something is not in it.
    #[error("the ceilings have no {missing}; docs/models.md has the form")]
    Missing {
        /// What.
        missing: &'static str,
    },
    /// A rate that nothing has.
    #[error("the rate of `{of}` is {found}, which is not above 0")]
    Rate {
        /// Of what.
        of: String,
        /// The number that was found.
        found: f64,
    },
}

impl Ceilings {
    /// Reads the JSON of a file.
    ///
    /// # Errors
    /// It is of another form or version, lacks a peak or the memory's bandwidth, or has a rate that is not above 0.
    pub fn read(text: &str) -> Result<Ceilings, CeilingsError> {
        let read: Ceilings = serde_json::from_str(text)?;
        read.check()?;
        Ok(read)
    }

    fn check(&self) -> Result<(), CeilingsError> {
        if self.schema != CEILINGS_SCHEMA {
            return Err(CeilingsError::Version { found: self.schema });
        }
        if self.peaks.is_empty() {
            return Err(CeilingsError::Missing { missing: "peaks" });
        }
        if !self.bandwidths.iter().any(|of| of.name == MEMORY) {
            return Err(CeilingsError::Missing {
                missing: "bandwidth of `memory`",
            });
        }
        let peaks = self.peaks.iter().map(|of| (&of.precision, of.flops_per_s));
        let bandwidths = self.bandwidths.iter().chain(&self.copies);
        let mut rates = peaks.chain(bandwidths.map(|of| (&of.name, of.bytes_per_s)));
        match rates.find(|(_, rate)| !(rate.is_finite() && *rate > 0.0)) {
            Some((of, found)) => Err(CeilingsError::Rate {
                of: of.clone(),
                found,
            }),
            None => Ok(()),
        }
    }

    /// The roofs of a number format for so many threads: those of as many threads, else of the fewest above, else of the most.
    ///
    /// # Errors
    /// There is no peak of that format; the sentence names those that there are.
    pub fn roofs(&self, precision: &str, threads: Option<u32>) -> Result<Roofs, String> {
        let peaks = self.peaks.iter().filter(|of| of.precision == precision);
        let peak = fitting(peaks, threads, |of| of.threads).ok_or_else(|| {
            let mut known: Vec<&str> = self.peaks.iter().map(|of| of.precision.as_str()).collect();
            known.dedup();
            format!(
                "{} has no peak of {precision}, but of {}",
                self.name,
                known.join(", ")
            )
        })?;
        let bandwidths = self.bandwidths.iter().filter(|of| of.name == MEMORY);
        let bandwidth = fitting(bandwidths, threads, |of| of.threads)
            .ok_or_else(|| format!("{} has no bandwidth of memory", self.name))?;
        Ok(Roofs {
            peak_flops_per_s: peak.flops_per_s,
            bytes_per_s: bandwidth.bytes_per_s,
        })
    }
}

impl Ceilings {
    /// The highest bandwidth that so many bytes can have: that of the smallest cache that holds them, where one is known, else the
    /// memory's. None where there is none.
    pub(super) fn nearest_bandwidth(&self, bytes: u64, threads: Option<u32>) -> Option<f64> {
        let holds = |of: &&Bandwidth| {
            // Half of a cache was measured, and less than that certainly fits.
            of.name == MEMORY || of.working_set.is_some_and(|held| bytes <= held.saturating_mul(2))
        };
        let wanted = threads.unwrap_or(u32::MAX);
        let lacks = |of: &Bandwidth| of.threads.is_some_and(|own| own > wanted);
        let fits = self.bandwidths.iter().filter(holds).filter(|of| !lacks(of));
        fits.map(|of| of.bytes_per_s).reduce(f64::max)
    }
}

fn fitting<T>(
    all: impl Iterator<Item = T>,
    threads: Option<u32>,
    of: impl Fn(&T) -> Option<u32>,
) -> Option<T> {
    let wanted = threads.unwrap_or(u32::MAX);
    all.min_by_key(|one| {
        let own = of(one).unwrap_or(wanted);
        // Those with enough threads come first, by how many they have too many; then the others, by how many they lack.
        (own < wanted, own.abs_diff(wanted))
    })
}
