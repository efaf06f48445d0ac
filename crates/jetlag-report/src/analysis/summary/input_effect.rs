//! How a tenant's times go with the size of its input.

use serde::Serialize;

use super::map::as_map;

/// What the size of an input counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Counted {
    /// Points of a sweep.
    Points,
    /// Pixels of an image.
    Pixels,
}

/// How a tenant's times go with the size of its input.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InputEffect {
    /// What sizes count; `None` where the run file does not say.
    pub of: Option<Counted>,
    /// Slopes are per so many of these.
    pub per: u32,
    /// Frames behind it: completed, with a size. Of a very long run a part.
    pub frames: u64,
    /// Distinct inputs among them.
    pub inputs: u64,
    /// How sizes are spread.
    pub size: Sizes,
    /// Why there is no slope at all.
    pub withheld: Option<Withheld>,
    /// Of the service time.
    pub service: Option<SizeSlope>,
    /// Of the response time, which contains the wait for earlier frames.
    pub response: Option<SizeSlope>,
    /// Of each stage.
    #[serde(serialize_with = "as_map")]
    pub stages: Vec<(&'static str, SizeSlope)>,
    /// The stage with at least half of the slope of the service time, where both differ from zero.
    pub most_in: Option<&'static str>,
}

/// Quantiles of sizes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the quantiles")]
pub struct Sizes {
    pub p10: u32,
    pub p50: u32,
    pub p90: u32,
}

/// How one duration goes with the size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct SizeSlope {
    /// Milliseconds per [`InputEffect::per`].
    pub slope_ms: Option<f64>,
    /// Its 95 % interval.
    pub ci95: Option<[f64; 2]>,
    /// The slope times the way from p10 to p90 of the sizes, in milliseconds.
    pub across_ms: Option<f64>,
    /// Correlation of size and duration, beside slow changes; `None` also where the duration never changes.
    pub correlation: Option<f64>,
    /// Share of the duration's variance beside slow changes that goes with the size: the square of the correlation.
    pub variance_share: Option<f64>,
    /// Why there is none.
    pub withheld: Option<Withheld>,
}

impl SizeSlope {
    /// Whether the interval leaves out zero.
    pub fn is_clear(&self) -> bool {
        self.ci95.is_some_and(|[low, high]| low > 0.0 || high < 0.0)
    }
}

/// Why a slope is withheld, and what it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Withheld {
    /// The reason.
    pub why: WhyWithheld,
    /// Distinct inputs that it needs, where their number is the reason.
    pub needs: Option<u64>,
}

/// Reasons for which a slope is withheld.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhyWithheld {
    /// Sizes hardly differ.
    SizesAlike,
    /// Too few distinct inputs, or inputs that resemble those before them.
    FewInputs,
    /// Sizes change only slowly, together with everything else that does.
    SlowSizes,
    /// The sizes of a few stretches of the recording decide.
    FewStretches,
    /// The interval is too wide to be of use.
    WideInterval,
}
