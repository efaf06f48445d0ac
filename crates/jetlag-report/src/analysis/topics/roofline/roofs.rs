//! Which rate a device can reach at an intensity, and where a measured execution lies below that.
//!
//! S. Williams, A. Waterman, D. Patterson: Roofline (Communications of the ACM 52.4, 2009).

use serde::Serialize;

/// What limits a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The arithmetic.
    Compute,
    /// The memory.
    Memory,
}

/// A device's two roofs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Roofs {
    /// Operations a second, at most.
    pub peak_flops_per_s: f64,
    /// Bytes a second, at most.
    pub bytes_per_s: f64,
}

/// Where a measured execution lies below the roofs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Place {
    /// Operations a byte.
    pub intensity: f64,
    /// Operations a second that the roofs allow at this intensity.
    pub attainable_flops_per_s: f64,
    /// Operations a second that were reached.
    pub achieved_flops_per_s: f64,
    /// The second of the first, 0 to 1; more than 1 says that the roofs or the counts are not this execution's.
    pub share: f64,
    /// Which roof is above it.
    pub limit: Limit,
    /// The shortest time that the roofs allow, in seconds.
    pub least_s: f64,
}

impl Roofs {
    /// Operations a second that can be reached at this intensity: the lower of the two roofs. None where a number is not
    /// positive and finite.
    pub fn attainable(&self, intensity: f64) -> Option<(f64, Limit)> {
        if !(is_positive(self.peak_flops_per_s) && is_positive(self.bytes_per_s) && is_positive(intensity)) {
            return None;
        }
        let by_memory = intensity * self.bytes_per_s;
        Some(match by_memory < self.peak_flops_per_s {
            true => (by_memory, Limit::Memory),
            false => (self.peak_flops_per_s, Limit::Compute),
        })
    }

    /// The intensity at which the roofs meet, in operations a byte. None where a roof is not positive and finite.
    pub fn balance(&self) -> Option<f64> {
        let are_sound = is_positive(self.peak_flops_per_s) && is_positive(self.bytes_per_s);
        are_sound.then(|| self.peak_flops_per_s / self.bytes_per_s)
    }

    /// The shortest time that the roofs allow for this much work and traffic, in seconds, and which roof decides it; either may be 0,
    /// as of what only moves. None where a number is negative or not finite, or both are 0.
    pub fn least(&self, flops: f64, bytes: f64) -> Option<(f64, Limit)> {
        if !(is_positive(self.peak_flops_per_s) && is_positive(self.bytes_per_s)) {
            return None;
        }
        let (computing, moving) = (flops / self.peak_flops_per_s, bytes / self.bytes_per_s);
        let are_sound = [computing, moving]
            .iter()
            .all(|time| time.is_finite() && *time >= 0.0);
        (are_sound && computing + moving > 0.0).then_some(match computing >= moving {
            true => (computing, Limit::Compute),
            false => (moving, Limit::Memory),
        })
    }

    /// Where an execution of this much work and traffic in this time lies. None where a number is not positive and finite.
    pub fn place(&self, flops: f64, bytes: f64, seconds: f64) -> Option<Place> {
        if !(is_positive(flops) && is_positive(bytes) && is_positive(seconds)) {
            return None;
        }
        let intensity = flops / bytes;
        let (attainable, limit) = self.attainable(intensity)?;
        let achieved = flops / seconds;
        Some(Place {
            intensity,
            attainable_flops_per_s: attainable,
            achieved_flops_per_s: achieved,
            share: achieved / attainable,
            limit,
            least_s: (flops / self.peak_flops_per_s).max(bytes / self.bytes_per_s),
        })
    }
}

fn is_positive(number: f64) -> bool {
    number.is_finite() && number > 0.0
}
