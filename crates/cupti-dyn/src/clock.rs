//! The clock of a trace: CLOCK_MONOTONIC, which no one sets.
//!
//! From 11.6 on CUPTI takes its stamps from a function of ours. Before, they are of CLOCK_REALTIME, which may be set during a
//! trace: then CUPTI's clock is read between two readings of ours, from time to time, and stamps are converted. What that may
//! be off by, and where the clock was set, is told.

use std::ffi::{c_int, c_long};

/// `struct timespec` of 64-bit Linux.
#[repr(C)]
struct Timespec {
    seconds: i64,
    nanos: c_long,
}

// libc's, which Rust's library is linked to.
unsafe extern "C" {
    fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
}

/// This thread's number in the system, as records have it.
#[must_use]
pub fn thread_number() -> u32 {
    #[cfg(target_arch = "x86_64")]
    const GETTID: c_long = 186;
    #[cfg(not(target_arch = "x86_64"))]
    const GETTID: c_long = 178; // aarch64's, and that of all later architectures
    thread_local! {
        static NUMBER: u32 = {
            // SAFETY: gettid takes nothing and cannot fail.
            u32::try_from(unsafe { syscall(GETTID) }).unwrap_or(0)
        };
    }
    NUMBER.try_with(|number| *number).unwrap_or(0)
}

/// CLOCK_MONOTONIC in nanoseconds.
#[must_use]
pub fn monotonic_ns() -> u64 {
    const MONOTONIC: c_int = 1; // CLOCK_MONOTONIC
    let mut time = Timespec { seconds: 0, nanos: 0 };
    // SAFETY: the clock exists on every Linux; the time lives through the call.
    unsafe { clock_gettime(MONOTONIC, &mut time) };
    // Since the machine started: neither is negative, and together they last for 584 years.
    time.seconds.unsigned_abs() * 1_000_000_000 + time.nanos.unsigned_abs()
}

/// What CUPTI calls for a stamp.
pub(crate) unsafe extern "C" fn stamp() -> u64 {
    monotonic_ns()
}

/// How a session's stamps are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// They are of CLOCK_MONOTONIC.
    Monotonic,
    /// They are of CUPTI's own clock; [`Brackets`] convert them.
    Cupti,
}

/// CUPTI's clock, read between two readings of CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bracket {
    /// Before.
    pub before_ns: u64,
    /// CUPTI's clock.
    pub cupti_ns: u64,
    /// After.
    pub after_ns: u64,
}

impl Bracket {
    /// The moment, in the middle.
    fn monotonic_ns(self) -> u64 {
        self.before_ns + self.width_ns() / 2
    }

    fn width_ns(self) -> u64 {
        self.after_ns.saturating_sub(self.before_ns)
    }

    /// From CUPTI's clock to ours.
    fn offset_ns(self) -> i128 {
        i128::from(self.monotonic_ns()) - i128::from(self.cupti_ns)
    }
}

/// A clock that is disciplined gains or loses no more than this (NTP's limit).
const MOST_DRIFT: f64 = 500e-6;

/// Brackets of one trace, in order of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Brackets(Vec<Bracket>);

impl Brackets {
    /// Adds one; it is later than those before.
    pub fn push(&mut self, bracket: Bracket) {
        self.0.push(bracket);
    }

    /// The last one.
    #[must_use]
    pub fn last(&self) -> Option<Bracket> {
        self.0.last().copied()
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// A stamp of CUPTI's clock on CLOCK_MONOTONIC: between two brackets in proportion, before the first and after the last
    /// by its own offset. As it is where there is no bracket.
    #[must_use]
    pub fn to_monotonic(&self, cupti_ns: u64) -> u64 {
        // Brackets are in order of our clock; where CUPTI's was set back, the last that fits is taken.
        let Some(first) = self.0.first() else {
            return cupti_ns;
        };
        let before = self.0.iter().rposition(|bracket| bracket.cupti_ns <= cupti_ns);
        let offset = match before {
            None => first.offset_ns(),
            Some(at) => {
                let left = self.0[at];
                match self.0.get(at + 1) {
                    Some(right) if right.cupti_ns > left.cupti_ns && !is_step(left, *right) => {
                        let part =
                            (cupti_ns - left.cupti_ns) as f64 / (right.cupti_ns - left.cupti_ns) as f64;
                        let change = (right.offset_ns() - left.offset_ns()) as f64;
                        left.offset_ns() + (change * part) as i128
                    }
                    _ => left.offset_ns(),
                }
            }
        };
        u64::try_from(i128::from(cupti_ns) + offset).unwrap_or(0)
    }

    /// What a converted stamp may be off by: half the widest bracket.
    #[must_use]
    pub fn residual_ns(&self) -> u64 {
        self.0
            .iter()
            .map(|bracket| bracket.width_ns().div_ceil(2))
            .max()
            .unwrap_or(0)
    }

    /// Where CUPTI's clock was set: when, at the latest, and by how much.
    #[must_use]
    pub fn steps(&self) -> Vec<Step> {
        let pairs = self.0.windows(2).filter(|pair| is_step(pair[0], pair[1]));
        pairs
            .map(|pair| Step {
                after_ns: pair[0].monotonic_ns(),
                before_ns: pair[1].monotonic_ns(),
                by_ns: i64::try_from(pair[0].offset_ns() - pair[1].offset_ns()).unwrap_or(i64::MAX),
            })
            .collect()
    }
}

/// A clock that was set during a trace: stamps between these moments have no certain place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// It was right until here.
    pub after_ns: u64,
    /// It was set by here.
    pub before_ns: u64,
    /// By how much; forwards is positive.
    pub by_ns: i64,
}

/// Whether the offset changed by more than drift and the brackets' widths explain.
fn is_step(left: Bracket, right: Bracket) -> bool {
    let change = (right.offset_ns() - left.offset_ns()).unsigned_abs() as f64;
    let between = right.monotonic_ns().saturating_sub(left.monotonic_ns()) as f64;
    let widths = (left.width_ns() + right.width_ns()) as f64;
    change > widths + between * MOST_DRIFT
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Our clock and CUPTI's at a moment, read within two microseconds.
    fn bracket(monotonic_ns: u64, cupti_ns: u64) -> Bracket {
        Bracket {
            before_ns: monotonic_ns - 1000,
            cupti_ns,
            after_ns: monotonic_ns + 1000,
        }
    }

    fn brackets(pairs: &[(u64, u64)]) -> Brackets {
        Brackets(
            pairs
                .iter()
                .map(|(ours, theirs)| bracket(*ours, *theirs))
                .collect(),
        )
    }

    const S: u64 = 1_000_000_000;

    #[test]
    fn our_clock_goes_forwards() {
        let first = monotonic_ns();
        assert!(first > 0 && monotonic_ns() >= first);
    }

    #[test]
    fn stamps_are_moved_by_the_offset_and_between_brackets_in_proportion() {
        // CUPTI's clock gains 100 µs in a second.
        let brackets = brackets(&[(10 * S, 1000 * S), (11 * S, 1001 * S + 100_000)]);
        assert_eq!(brackets.to_monotonic(1000 * S), 10 * S);
        assert_eq!(brackets.to_monotonic(1001 * S + 100_000), 11 * S);
        let middle = brackets.to_monotonic(1000 * S + S / 2 + 50_000);
        assert!(middle.abs_diff(10 * S + S / 2) <= 1, "{middle}");
        assert_eq!(brackets.to_monotonic(999 * S), 9 * S);
        assert_eq!(brackets.residual_ns(), 1000);
        assert!(brackets.steps().is_empty());
    }

    #[test]
    fn a_clock_that_is_set_is_told_and_not_smeared() {
        // Half a second forwards between the two.
        let brackets = brackets(&[
            (10 * S, 1000 * S),
            (11 * S, 1001 * S + S / 2),
            (12 * S, 1002 * S + S / 2),
        ]);
        let steps = brackets.steps();
        assert_eq!(
            steps,
            [Step {
                after_ns: 10 * S,
                before_ns: 11 * S,
                by_ns: 500_000_000
            }]
        );
        assert_eq!(brackets.to_monotonic(1000 * S + 1000), 10 * S + 1000);
        assert_eq!(brackets.to_monotonic(1002 * S), 11 * S + S / 2);
    }

    #[test]
    fn nothing_is_converted_without_brackets() {
        assert_eq!(Brackets::default().to_monotonic(7), 7);
        assert_eq!(Brackets::default().residual_ns(), 0);
    }
}
