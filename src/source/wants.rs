//! What a detector takes of points beside where they are, and what a source lacks of it.
//!
//! A number that no sensor measured is never made up: a tenant whose source lacks what its detector takes does not start, and a
//! frame that lacks it fails, unless the tenant says `missing: Zero`.

use std::fmt;

/// What is asked of a source's points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// How strong each return was.
    pub intensity: bool,
    /// The laser of each point, which costs time to read.
    pub ring: bool,
    /// Whether zeros stand for what a frame lacks.
    pub zeros: bool,
}

/// A number of each point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// See [`Wants::intensity`].
    Intensity,
    /// See [`Wants::ring`].
    Ring,
}

/// What a source, or one of its frames, lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// What.
    pub what: Vec<Quantity>,
    /// What there is, in words: `its fields are x, y, z`.
    pub there: String,
}

impl Wants {
    /// What several tenants of one source want.
    pub fn and(self, other: Wants) -> Wants {
        Wants {
            intensity: self.intensity || other.intensity,
            ring: self.ring || other.ring,
            zeros: self.zeros || other.zeros,
        }
    }

    /// What is wanted and not there; `there` says what is.
    pub fn lack(self, has_intensity: bool, has_ring: bool, there: impl FnOnce() -> String) -> Option<Lack> {
        let all = [
            (self.intensity && !has_intensity, Quantity::Intensity),
            (self.ring && !has_ring, Quantity::Ring),
        ];
        let what: Vec<Quantity> = all
            .into_iter()
            .filter(|(is, _)| *is)
            .map(|(_, what)| what)
            .collect();
        (!what.is_empty()).then(|| Lack { what, there: there() })
    }

    /// The same as an error of a frame, where zeros are not to stand for it.
    ///
    /// # Errors
    /// The frame lacks something, in words.
    pub fn check(
        self,
        has_intensity: bool,
        has_ring: bool,
        there: impl FnOnce() -> String,
    ) -> Result<(), Lack> {
        match self.lack(has_intensity, has_ring, there) {
            Some(lack) if !self.zeros => Err(lack),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Quantity::Intensity => "an intensity (`Intensity`)",
            Quantity::Ring => "the laser of each point (`Ring`)",
        })
    }
}

/// As the end of a sentence that begins with "its detector takes".
impl fmt::Display for Lack {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what: Vec<String> = self.what.iter().map(Quantity::to_string).collect();
        write!(out, "{}, which is missing: {}", what.join(" and "), self.there)
    }
}
