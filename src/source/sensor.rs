//! One of several sensors whose frames are fetched by their numbers.

use super::{Frame, Source, SourceError};

/// A source with where it is in its lap.
pub(super) struct Sensor {
    pub(super) source: Box<dyn Source>,
    /// How many frames it has in a lap.
    length: u64,
    /// The one that it yields next, within its lap.
    at: u64,
}

impl Sensor {
    /// At its first frame, of so many in a lap.
    pub(super) fn new(source: Box<dyn Source>, length: usize) -> Self {
        Sensor {
            source,
            length: length as u64,
            at: 0,
        }
    }

    /// Fetches the frame of this number.
    pub(super) fn fetch(&mut self, number: u64, frame: &mut Frame) -> Result<bool, SourceError> {
        let passed = match number.checked_sub(self.at) {
            Some(passed) => passed,
            // The next lap.
            None => (self.length - self.at.min(self.length)) + number,
        };
        self.at = number + 1;
        if passed > 0 {
            self.source.skip(passed)?;
        }
        self.source.acquire(frame)
    }

    pub(super) fn rewind(&mut self) -> Result<(), SourceError> {
        self.at = 0;
        self.source.rewind()
    }
}
