//! What CUPTI's functions answer (`CUptiResult`).

use std::fmt;

/// An answer, as its number; newer libraries have more of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Status(pub u32);

macro_rules! statuses {
    ($($name:ident = $value:literal;)*) => {
        #[allow(missing_docs, reason = "the header's names")]
        impl Status {
            $(pub const $name: Self = Self($value);)*

            /// The constant as the header writes it, without `CUPTI_` and `ERROR_`.
            #[must_use]
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some(stringify!($name)),)*
                    _ => None,
                }
            }

            const ROWS: &'static [(&'static str, u32)] = &[$((stringify!($name), $value),)*];
        }
    };
}

statuses! {
    SUCCESS = 0;
    INVALID_PARAMETER = 1;
    INVALID_DEVICE = 2;
    INVALID_CONTEXT = 3;
    INVALID_EVENT_DOMAIN_ID = 4;
    INVALID_EVENT_ID = 5;
    INVALID_EVENT_NAME = 6;
    INVALID_OPERATION = 7;
    OUT_OF_MEMORY = 8;
    HARDWARE = 9;
    PARAMETER_SIZE_NOT_SUFFICIENT = 10;
    API_NOT_IMPLEMENTED = 11;
    MAX_LIMIT_REACHED = 12;
    NOT_READY = 13;
    NOT_COMPATIBLE = 14;
    NOT_INITIALIZED = 15;
    INVALID_METRIC_ID = 16;
    INVALID_METRIC_NAME = 17;
    QUEUE_EMPTY = 18;
    INVALID_HANDLE = 19;
    INVALID_STREAM = 20;
    INVALID_KIND = 21;
    INVALID_EVENT_VALUE = 22;
    DISABLED = 23;
    INVALID_MODULE = 24;
    INVALID_METRIC_VALUE = 25;
    HARDWARE_BUSY = 26;
    NOT_SUPPORTED = 27;
    UM_PROFILING_NOT_SUPPORTED = 28;
    UM_PROFILING_NOT_SUPPORTED_ON_DEVICE = 29;
    UM_PROFILING_NOT_SUPPORTED_ON_NON_P2P_DEVICES = 30;
    UM_PROFILING_NOT_SUPPORTED_WITH_MPS = 31;
    CDP_TRACING_NOT_SUPPORTED = 32;
    VIRTUALIZED_DEVICE_NOT_SUPPORTED = 33;
    CUDA_COMPILER_NOT_COMPATIBLE = 34;
    INSUFFICIENT_PRIVILEGES = 35;
    OLD_PROFILER_API_INITIALIZED = 36;
    OPENACC_UNDEFINED_ROUTINE = 37;
    LEGACY_PROFILER_NOT_SUPPORTED = 38;
    MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED = 39;
    VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES = 40;
    CONFIDENTIAL_COMPUTING_NOT_SUPPORTED = 41;
    CMP_DEVICE_NOT_SUPPORTED = 42;
    MIG_DEVICE_NOT_SUPPORTED = 43;
    SLI_DEVICE_NOT_SUPPORTED = 44;
    WSL_DEVICE_NOT_SUPPORTED = 45;
    INVALID_CHIP_NAME = 46;
    HES_TRACE_NOT_SUPPORTED_ON_MPS = 47;
    UNKNOWN = 999;
}

impl Status {
    /// Nothing went wrong.
    #[must_use]
    pub fn is_success(self) -> bool {
        self == Self::SUCCESS
    }

    /// Whether the answer to enabling a kind means that this kind cannot be had here, and says nothing of the others.
    #[must_use]
    pub fn refuses_a_kind(self) -> bool {
        matches!(
            self,
            Self::NOT_COMPATIBLE
                | Self::INVALID_KIND
                | Self::NOT_SUPPORTED
                | Self::INSUFFICIENT_PRIVILEGES
                | Self::LEGACY_PROFILER_NOT_SUPPORTED
        )
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{} ({name})", self.0),
            None => write!(f, "{} (a status that this build does not know)", self.0),
        }
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Every status: the constant without `CUPTI_` and `ERROR_`, and its number.
pub fn statuses() -> impl Iterator<Item = (&'static str, u32)> {
    Status::ROWS.iter().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_number_survives() {
        assert_eq!(
            Status::MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED.to_string(),
            "39 (MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)"
        );
        assert!(Status(77).to_string().starts_with("77 "));
        assert!(!Status(77).is_success());
    }
}
