//! Times of day in UTC, as names of files and reports have them.

/// A time in UTC, to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Utc {
    year: i64,
    month: i64,
    day: i64,
    second: u64,
}

impl Utc {
    /// So many seconds after the beginning of 1970, by the civil-from-days algorithm of Howard Hinnant.
    pub fn of(unix_seconds: u64) -> Utc {
        let (days, second) = (unix_seconds / 86_400, unix_seconds % 86_400);
        let z = i64::try_from(days).unwrap_or(i64::MAX / 2) + 719_468;
        let era = z.div_euclid(146_097);
        let doe = z.rem_euclid(146_097);
        let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
        let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
        let mp = (5 * doy + 2) / 153;
        let month = if mp < 10 { mp + 3 } else { mp - 9 };
        Utc {
            year: yoe + era * 400 + i64::from(month <= 2),
            month,
            day: doy - (153 * mp + 2) / 5 + 1,
            second,
        }
    }

    fn clock(self) -> [u64; 3] {
        [self.second / 3600, self.second / 60 % 60, self.second % 60]
    }

    /// `20261121-140509`, for names.
    pub fn compact(self) -> String {
        let Utc { year, month, day, .. } = self;
        let [hours, minutes, seconds] = self.clock();
        format!("{year:04}{month:02}{day:02}-{hours:02}{minutes:02}{seconds:02}")
    }

    /// `2026-11-21T14:05:09`, without a zone.
    pub fn iso(self) -> String {
        let Utc { year, month, day, .. } = self;
        let [hours, minutes, seconds] = self.clock();
        format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_dates_of_the_calendar() {
        for (seconds, compact, iso) in [
            (0, "19700101-000000", "1970-01-01T00:00:00"),
            (951_826_145, "20000229-120905", "2000-02-29T12:09:05"),
            (1_795_270_000, "20261121-140640", "2026-11-21T14:06:40"),
        ] {
            let utc = Utc::of(seconds);
            assert_eq!((utc.compact().as_str(), utc.iso().as_str()), (compact, iso));
        }
        // No panic, whatever a file says.
        Utc::of(u64::MAX).iso();
    }
}
