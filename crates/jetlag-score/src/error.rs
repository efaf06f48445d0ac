//! What keeps a set of frames from being scored: always something about the data that was handed over.

use std::fmt;

/// Why nothing can be scored.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ScoreError {
    /// A number that no score can be made of.
    #[error(
        "frame {frame}, {what} {index}: its {field} is {value}, but must be {wanted}; leave this {what} out, or correct it"
    )]
    BadNumber {
        /// Index of the frame among those handed over.
        frame: usize,
        /// Whether it is a detection or a label.
        what: What,
        /// Index within the frame.
        index: usize,
        /// Which number.
        field: &'static str,
        /// What it is.
        value: f64,
        /// What it may be.
        wanted: &'static str,
    },
    /// A class or attribute beyond the list.
    #[error(
        "frame {frame}, {what} {index}: {field} {number} does not exist, there are {count}, from 0; map it first, or leave this {what} out"
    )]
    Beyond {
        /// Index of the frame among those handed over.
        frame: usize,
        /// Whether it is a detection or a label.
        what: What,
        /// Index within the frame.
        index: usize,
        /// `class` or `attribute`.
        field: &'static str,
        /// The number that was named.
        number: usize,
        /// How many there are.
        count: usize,
    },
    /// More detections in a frame than the benchmark takes.
    #[error(
        "frame {frame}: {found} detections, but this benchmark takes at most {most} in a frame; keep those with the highest scores"
    )]
    TooManyBoxes {
        /// Index of the frame among those handed over.
        frame: usize,
        /// How many detections it has.
        found: usize,
        /// How many it may have.
        most: usize,
    },
    /// More frames or boxes than are counted with 32 bits.
    #[error("{found} {of}: at most {most} can be scored together; score parts of the data")]
    TooMuch {
        /// What there is too much of.
        of: &'static str,
        /// How many there are.
        found: usize,
        /// How many there may be.
        most: usize,
    },
}

/// What a number belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Something that a detector found.
    Detection,
    /// Something that is there.
    Label,
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            What::Detection => "detection",
            What::Label => "label",
        })
    }
}

/// Where a box is, for errors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    pub(crate) frame: usize,
    pub(crate) what: What,
    pub(crate) index: usize,
}

impl Site {
    fn bad(self, field: &'static str, value: f64, wanted: &'static str) -> ScoreError {
        ScoreError::BadNumber {
            frame: self.frame,
            what: self.what,
            index: self.index,
            field,
            value,
            wanted,
        }
    }

    /// Every number must be finite.
    pub(crate) fn finite(self, field: &'static str, values: &[f64]) -> Result<(), ScoreError> {
        match values.iter().find(|value| !value.is_finite()) {
            Some(value) => Err(self.bad(field, *value, "finite")),
            None => Ok(()),
        }
    }

    /// Every number must be finite and not below zero.
    pub(crate) fn not_negative(self, field: &'static str, values: &[f64]) -> Result<(), ScoreError> {
        match values.iter().find(|value| !(value.is_finite() && **value >= 0.0)) {
            Some(value) => Err(self.bad(field, *value, "finite and at least 0")),
            None => Ok(()),
        }
    }

    /// Every number must be finite and above zero.
    pub(crate) fn positive(self, field: &'static str, values: &[f64]) -> Result<(), ScoreError> {
        match values.iter().find(|value| !(value.is_finite() && **value > 0.0)) {
            Some(value) => Err(self.bad(field, *value, "finite and above 0")),
            None => Ok(()),
        }
    }

    pub(crate) fn class(self, class: usize, classes: usize) -> Result<(), ScoreError> {
        self.within("class", class, classes)
    }

    /// A number must be one of so many, from 0.
    pub(crate) fn within(self, field: &'static str, number: usize, count: usize) -> Result<(), ScoreError> {
        if number < count {
            return Ok(());
        }
        Err(ScoreError::Beyond {
            frame: self.frame,
            what: self.what,
            index: self.index,
            field,
            number,
            count,
        })
    }
}

/// Frames and boxes are counted with 32 bits.
pub(crate) fn few_enough(of: &'static str, found: usize) -> Result<(), ScoreError> {
    let most = u32::MAX as usize;
    match found > most {
        true => Err(ScoreError::TooMuch { of, found, most }),
        false => Ok(()),
    }
}
