//! Times of a bag, on the robot's clock.

use jetlag_record::units::Nanos;
use serde::Serialize;

/// A time on the clock of whoever recorded or stamped: nanoseconds, since 1970 unless the robot's clock or its simulation
/// began elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Time(pub i64);

impl Time {
    /// Of the two numbers of `builtin_interfaces/Time`.
    pub fn of(sec: i32, nanosec: u32) -> Time {
        Time(i64::from(sec) * 1_000_000_000 + i64::from(nanosec))
    }

    /// An unsigned count of nanoseconds, as MCAP has it; what is beyond the year 2262 becomes the latest time there is.
    pub(crate) fn of_unsigned(ns: u64) -> Time {
        Time(i64::try_from(ns).unwrap_or(i64::MAX))
    }

    /// Time since `earlier`, negative if it is later.
    pub fn since(self, earlier: Time) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    /// This much later.
    pub fn after(self, offset: Nanos) -> Time {
        Time(self.0.saturating_add(offset.0))
    }

    /// As `builtin_interfaces/Time` has it: seconds, and nanoseconds from 0 to 999 999 999. Seconds are kept within 32 bits.
    pub fn parts(self) -> (i32, u32) {
        let seconds = self.0.div_euclid(1_000_000_000);
        let seconds = seconds.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
        (seconds, self.0.rem_euclid(1_000_000_000) as u32)
    }
}

/// Which of a message's times counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// When the recorder received it.
    #[default]
    Log,
    /// The stamp in its header: when the sensor measured, if the driver does its work.
    Header,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_numbers_of_a_stamp_make_one_time_and_back() {
        for (sec, nanosec) in [(0, 0), (1_700_000_000, 5), (-1, 999_999_999), (i32::MAX, 0)] {
            assert_eq!(Time::of(sec, nanosec).parts(), (sec, nanosec));
        }
        // No valid stamp, and still a time.
        assert_eq!(Time::of(1, u32::MAX).0, 5_294_967_295);
        assert_eq!(Time::of_unsigned(u64::MAX), Time(i64::MAX));
        assert_eq!(Time(i64::MIN).since(Time(1)), Nanos(i64::MIN));
    }
}
