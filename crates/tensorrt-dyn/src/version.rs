//! Which library this is: its flavour and version, and the era of the ABI that they imply.
//!
//! The number that `getInferLibVersion` returns says all of it. An **era** is a range of releases whose
//! vtables only ever grew at the end, so one slot table with "first version that has it" serves them all;
//! TensorRT-RTX 1.4 and 1.5 share a file name and not an ABI. What the slots are stands in [`crate::sys`].

use std::fmt;

/// The two products that speak this API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Flavour {
    /// TensorRT (`libnvinfer`), on Jetson, servers and desktops.
    TensorRt,
    /// TensorRT for RTX (`libtensorrt_rtx`), whose plans are compiled further on the target GPU.
    Rtx,
}

impl fmt::Display for Flavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TensorRt => "TensorRT",
            Self::Rtx => "TensorRT-RTX",
        })
    }
}

/// A range of releases with append-only vtables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Era {
    /// TensorRT 8.5 to 9.x: 32-bit dimensions, no interface head on callbacks.
    A,
    /// TensorRT 10.x: 64-bit dimensions.
    B,
    /// TensorRT 11.x: every network strongly typed, loggers carry an interface head.
    C,
    /// TensorRT-RTX 1.3 and 1.4, laid out like TensorRT 10.16.
    D,
    /// TensorRT-RTX 1.5 and later 1.x, laid out like TensorRT 11.
    E,
}

impl Era {
    /// All eras, oldest first.
    pub const ALL: [Self; 5] = [Self::A, Self::B, Self::C, Self::D, Self::E];

    /// Whether `Dims` holds 32-bit values (36 bytes) and not 64-bit ones (72 bytes).
    #[must_use]
    pub const fn has_32_bit_dims(self) -> bool {
        matches!(self, Self::A)
    }

    /// Whether `ILogger` and `IProfiler` begin with the versioned-interface head. The short layout ends
    /// such a library with SIGSEGV at its first message.
    #[must_use]
    pub const fn logger_has_interface_head(self) -> bool {
        matches!(self, Self::C | Self::E)
    }

    /// Whether the other callback interfaces (error recorder, progress monitor, …) begin with it.
    #[must_use]
    pub const fn callbacks_have_interface_head(self) -> bool {
        !matches!(self, Self::A)
    }

    /// Whether every network takes its precisions from the model. C and E have no FP16 or INT8 builder flags any
    /// more; D has them and makes strongly typed networks all the same (seen in 1.4).
    #[must_use]
    pub const fn is_always_strongly_typed(self) -> bool {
        matches!(self, Self::C | Self::D | Self::E)
    }

    /// The newest release whose tables were checked against its headers.
    #[must_use]
    pub const fn newest_known(self) -> (u16, u16) {
        match self {
            Self::A => (9, 2),
            Self::B => (10, 16),
            Self::C => (11, 4),
            Self::D => (1, 4),
            Self::E => (1, 7),
        }
    }
}

/// The version of a library, which decides where its methods lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    /// Which of the two libraries it is: TensorRT or TensorRT-RTX.
    pub flavour: Flavour,
    /// The major version: 10 of 10.3.0.
    pub major: u16,
    /// The minor version: 3 of 10.3.0.
    pub minor: u16,
    /// The patch: 0 of 10.3.0.
    pub patch: u16,
    /// Fourth part, where the library tells it (from 10.0 on).
    pub build: Option<u32>,
}

/// Why a version number cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnsupportedVersion {
    /// Before name-based input and output, which everything here uses.
    #[error("TensorRT before 8.5 has no name-based inputs and outputs; install 8.5 or newer")]
    TooOld,
    /// The early-access release whose parser differs from 8.6.1's.
    #[error("8.6.0 is an early-access release whose interfaces differ from 8.6.1's; install 8.6.1 or newer")]
    EarlyAccess,
    /// TensorRT-RTX 1.0 to 1.2, whose tables are not known.
    #[error("TensorRT-RTX before 1.3 is not known to this build; install 1.3 or newer")]
    RtxTooOld,
    /// A major version that this build has no tables for.
    #[error(
        "this build knows TensorRT 8.5 to 11 and TensorRT-RTX 1.3 to 1.x; a newer build is needed for it"
    )]
    UnknownMajor,
    /// Not a version number at all.
    #[error("that is not a TensorRT version number")]
    Nonsense,
}

impl Version {
    /// Reads the number that `getInferLibVersion` returns.
    ///
    /// Up to 9.x it is `major*1000 + minor*100 + patch`, from 10.0 on and in RTX
    /// `major*10000 + minor*100 + patch`; the ranges do not meet.
    ///
    /// # Errors
    /// Numbers of releases whose layout is not known are refused, since an unknown vtable slot is not an
    /// error but another function.
    pub fn from_number(number: i32) -> Result<Self, UnsupportedVersion> {
        let version = Self::split(number).ok_or(UnsupportedVersion::Nonsense)?;
        version.check().map(|()| version)
    }

    /// The parts of a version number, whether or not that release can be used.
    #[must_use]
    pub fn split(number: i32) -> Option<Self> {
        let number = u32::try_from(number).ok()?;
        let (flavour, scale) = match number {
            1_000..=9_999 => (Flavour::TensorRt, 1_000),
            10_000..=99_999 => (Flavour::Rtx, 10_000),
            100_000..=999_999 => (Flavour::TensorRt, 10_000),
            _ => return None,
        };
        let part = |n: u32| u16::try_from(n).ok();
        Some(Self {
            flavour,
            major: part(number / scale)?,
            minor: part(number % scale / 100)?,
            patch: part(number % 100)?,
            build: None,
        })
    }

    fn check(self) -> Result<(), UnsupportedVersion> {
        match (self.flavour, self.major, self.minor, self.patch) {
            (Flavour::TensorRt, 8, 6, 0) => Err(UnsupportedVersion::EarlyAccess),
            (Flavour::TensorRt, 0..=7, ..) | (Flavour::TensorRt, 8, 0..=4, _) => {
                Err(UnsupportedVersion::TooOld)
            }
            (Flavour::TensorRt, 8..=11, ..) | (Flavour::Rtx, 1, 3.., _) => Ok(()),
            (Flavour::Rtx, 0..=1, ..) => Err(UnsupportedVersion::RtxTooOld),
            _ => Err(UnsupportedVersion::UnknownMajor),
        }
    }

    /// The era of its ABI.
    #[must_use]
    pub const fn era(self) -> Era {
        match (self.flavour, self.major, self.minor) {
            (Flavour::TensorRt, 0..=9, _) => Era::A,
            (Flavour::TensorRt, 10, _) => Era::B,
            (Flavour::TensorRt, ..) => Era::C,
            (Flavour::Rtx, 1, 0..=4) => Era::D,
            (Flavour::Rtx, ..) => Era::E,
        }
    }

    /// Whether it is newer than the tables of its era: then only what was there before is used.
    #[must_use]
    pub fn is_newer_than_tables(self) -> bool {
        (self.major, self.minor) > self.era().newest_known()
    }

    /// Whether this is `major.minor.patch` or later (of the same flavour).
    #[must_use]
    pub fn at_least(self, major: u16, minor: u16, patch: u16) -> bool {
        (self.major, self.minor, self.patch) >= (major, minor, patch)
    }

    /// The number in the form of its own release (what headers call `NV_TENSORRT_VERSION`).
    #[must_use]
    pub fn number(self) -> i32 {
        let scale = if self.era() == Era::A { 1_000 } else { 10_000 };
        i32::from(self.major) * scale + i32::from(self.minor) * 100 + i32::from(self.patch)
    }

    /// `major.minor.patch[.build]` without the flavour's name.
    #[must_use]
    pub fn dotted(self) -> String {
        let Self {
            major, minor, patch, ..
        } = self;
        match self.build {
            Some(build) => format!("{major}.{minor}.{patch}.{build}"),
            None => format!("{major}.{minor}.{patch}"),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.flavour, self.dotted())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn version(number: i32) -> (String, Era) {
        let version = Version::from_number(number).expect("a known version");
        assert_eq!(version.number(), number);
        (version.to_string(), version.era())
    }

    #[test]
    fn numbers_of_released_libraries_are_told_apart() {
        assert_eq!(version(8_501), ("TensorRT 8.5.1".into(), Era::A));
        assert_eq!(version(8_602), ("TensorRT 8.6.2".into(), Era::A));
        assert_eq!(version(9_200), ("TensorRT 9.2.0".into(), Era::A));
        assert_eq!(version(100_300), ("TensorRT 10.3.0".into(), Era::B));
        assert_eq!(version(101_600), ("TensorRT 10.16.0".into(), Era::B));
        assert_eq!(version(110_400), ("TensorRT 11.4.0".into(), Era::C));
        assert_eq!(version(10_400), ("TensorRT-RTX 1.4.0".into(), Era::D));
        assert_eq!(version(10_701), ("TensorRT-RTX 1.7.1".into(), Era::E));
    }

    #[test]
    fn what_has_no_table_is_refused_and_told_why() {
        for (number, why) in [
            (8_403, UnsupportedVersion::TooOld),
            (7_103, UnsupportedVersion::TooOld),
            (8_600, UnsupportedVersion::EarlyAccess),
            (10_200, UnsupportedVersion::RtxTooOld),
            (20_000, UnsupportedVersion::UnknownMajor),
            (120_000, UnsupportedVersion::UnknownMajor),
            (0, UnsupportedVersion::Nonsense),
            (-1, UnsupportedVersion::Nonsense),
            (i32::MIN, UnsupportedVersion::Nonsense),
            (i32::MAX, UnsupportedVersion::Nonsense),
        ] {
            assert_eq!(Version::from_number(number), Err(why), "{number}");
        }
    }

    #[test]
    fn a_release_after_the_newest_table_is_used_and_says_so() {
        for (number, newer) in [
            (110_400, false),
            (110_500, true),
            (101_700, true),
            (10_800, true),
            (10_701, false),
        ] {
            let version = Version::from_number(number).expect("a known major");
            assert_eq!(version.is_newer_than_tables(), newer, "{version}");
        }
    }
}
