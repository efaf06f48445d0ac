//! How much to read at once. A call of the system or a query for each message of a few hundred bytes costs many times what its bytes
//! do; reading far ahead of somebody who jumps about costs as much in vain.

/// Longest message that is read together with those behind it. The copy of a longer one outweighs the call.
pub(crate) const SMALL: u32 = 4 << 10;

/// Follows where a reader reads: as long as it goes forward in small steps, each piece is twice as long as the one before; after a
/// jump, messages are read one by one again. Positions and amounts are bytes of a file, or rows of a table.
#[derive(Debug)]
pub(crate) struct Pace {
    least: usize,
    most: usize,
    /// Longest step over what is not wanted: passing over that much costs no more than a call.
    step: u64,
    /// Of the next piece.
    amount: usize,
    /// Where what was last wanted ends.
    end: Option<u64>,
}

impl Pace {
    pub(crate) fn new(least: usize, most: usize, step: u64) -> Pace {
        Pace {
            least,
            most,
            step,
            amount: least,
            end: None,
        }
    }

    /// How much to read from a position on; none for what is to be read alone, since it does not follow what was wanted before.
    pub(crate) fn piece(&mut self, at: u64) -> Option<usize> {
        let step = self.end.and_then(|end| at.checked_sub(end));
        if step.is_none_or(|step| step > self.step) {
            self.amount = self.least;
            return None;
        }
        let amount = self.amount;
        self.amount = amount.saturating_mul(2).min(self.most);
        Some(amount)
    }

    /// Notes where what was wanted ends.
    pub(crate) fn wanted(&mut self, end: u64) {
        self.end = Some(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_grow_as_long_as_what_is_wanted_follows_what_was() {
        let mut pace = Pace::new(4, 16, 10);
        let mut piece = |at: u64| {
            let piece = pace.piece(at);
            pace.wanted(at + 1);
            piece
        };
        assert_eq!(piece(100), None, "nothing was wanted before");
        assert_eq!([101, 102, 113, 114].map(&mut piece), [4, 8, 16, 16].map(Some));
        assert_eq!(piece(126), None, "11 are passed over");
        assert_eq!(piece(127), Some(4));
        assert_eq!(piece(127), None, "a step back");
        assert_eq!(piece(u64::MAX - 1), None);
    }
}
