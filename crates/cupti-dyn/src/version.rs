//! Which CUDA release a libcupti is of. A label: what a record holds is asked of the library, not of its version.

use std::fmt;

/// What `cuptiGetVersion` answers, and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// The number itself.
    pub number: u32,
    /// CUDA's major.
    pub major: u32,
    /// CUDA's minor, where the number and the length of a kernel's record tell it.
    pub minor: Option<u32>,
}

/// The first of CUPTI's numbers that are CUDA's release written out, as 130001.
const WRITTEN_OUT: u32 = 100_000;

impl Version {
    /// From CUPTI's number; releases that share one are told apart by the length of a kernel's record.
    #[must_use]
    pub fn new(number: u32, kernel_bytes: Option<usize>) -> Self {
        let (major, minor) = match (number, kernel_bytes) {
            (WRITTEN_OUT.., _) => (number / 10_000, Some(number % 10_000 / 100)),
            (..14, _) => (11, None),
            (14, _) => (11, Some(4)),
            (16, Some(168)) => (11, Some(5)),
            (16, Some(176)) => (11, Some(6)),
            (17, _) => (11, Some(7)),
            (18, Some(200)) => (11, Some(8)),
            // 12.0 and 12.1 share their records, too.
            (18, Some(208)) => (12, None),
            (20..=24, _) => (12, Some(number - 18)),
            (26, _) => (12, Some(8)),
            (27 | 28, _) => (12, Some(9)),
            (..18, _) => (11, None),
            _ => (12, None),
        };
        Self { number, major, minor }
    }

    /// Whether it is 13.0's first release, whose `nvtxNameOsThreadA` crashes (NVIDIA/NVTX#125).
    #[must_use]
    pub fn crashes_with_nvtx(self) -> bool {
        self.number == 130_000
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.major, self.minor, self.number) {
            (major, Some(minor), WRITTEN_OUT..) => {
                write!(f, "CUPTI of CUDA {major}.{minor}.{}", self.number % 100)
            }
            (major, Some(minor), number) => write!(f, "CUPTI of CUDA {major}.{minor} (version {number})"),
            (_, None, 18) => f.write_str("CUPTI of CUDA 11.8, 12.0 or 12.1 (version 18)"),
            (major, None, number) => write!(f, "CUPTI of CUDA {major} (version {number})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_as_releases_of_cuda() {
        let told = |number, bytes| Version::new(number, bytes).to_string();
        assert_eq!(told(14, Some(168)), "CUPTI of CUDA 11.4 (version 14)");
        assert_eq!(told(24, Some(208)), "CUPTI of CUDA 12.6 (version 24)");
        assert_eq!(told(130_001, Some(216)), "CUPTI of CUDA 13.0.1");
        assert_eq!(told(130_500, None), "CUPTI of CUDA 13.5.0");
        assert_eq!(
            told(18, Some(208)),
            "CUPTI of CUDA 11.8, 12.0 or 12.1 (version 18)"
        );
        assert_eq!(Version::new(140_200, None).major, 14);
    }

    #[test]
    fn releases_that_share_a_number_are_told_apart_by_a_record() {
        let of = |number, bytes| {
            (
                Version::new(number, Some(bytes)).major,
                Version::new(number, Some(bytes)).minor,
            )
        };
        assert_eq!(of(16, 168), (11, Some(5)));
        assert_eq!(of(16, 176), (11, Some(6)));
        assert_eq!(of(18, 200), (11, Some(8)));
        assert_eq!(of(18, 208), (12, None));
    }

    #[test]
    fn only_the_first_13_0_crashes_with_nvtx() {
        assert!(Version::new(130_000, None).crashes_with_nvtx());
        assert!(!Version::new(130_001, None).crashes_with_nvtx());
    }
}
