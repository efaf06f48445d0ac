//! What went wrong with one tenant while the others went on, as facts, and the finding that each becomes: its code, message and
//! advice are made here.

use crate::record::{Finding, NOT_STARTED};
use crate::source::Waits;
use crate::source::shared::SharedCost;
use crate::source::wants::Lack;
use crate::units::Nanos;

/// Something that happened to a tenant and not to its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mishap {
    /// It could not be opened.
    NotStarted { problem: String },
    /// Lists of detections were lost because the recorder fell behind.
    LostDetections { lists: u64 },
    /// Its process is gone; how it ended.
    ProcessDied { how: String },
    /// Frames were not there when they were to be worked on, though they are read ahead.
    SourceLate { waits: Waits },
    /// Its detector is given zeros for what its frames lack.
    ZerosForMissing { lack: Lack },
    /// Frames of a shared source were decoded again for a tenant that was far behind the others.
    SharedBehind { cost: SharedCost },
    /// Outputs that have a reference, or were to be kept, and could not be.
    OutputsNotCompared { why: String },
    /// The device did not finish one of its frames.
    DeviceHangs { frame: u64, limit: Nanos },
}

impl Mishap {
    /// As a finding of the tenant of this name.
    pub(crate) fn of(self, tenant: &str) -> Finding {
        Finding {
            code: self.code().to_owned(),
            tenant: Some(tenant.to_owned()),
            message: self.message(tenant),
            advice: self.advice().to_owned(),
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Mishap::NotStarted { .. } => NOT_STARTED,
            Mishap::LostDetections { .. } => "lost-detections",
            Mishap::ProcessDied { .. } => "process-died",
            Mishap::SourceLate { .. } => "source-late",
            Mishap::ZerosForMissing { .. } => "zeros-for-missing",
            Mishap::SharedBehind { .. } => "shared-behind",
            Mishap::OutputsNotCompared { .. } => "outputs-not-compared",
            Mishap::DeviceHangs { .. } => "device-hangs",
        }
    }

    fn message(&self, tenant: &str) -> String {
        match self {
            Mishap::NotStarted { problem } => {
                format!("{tenant} could not be started, so the other tenants ran without it: {problem}.")
            }
            Mishap::LostDetections { lists } => format!(
                "{tenant}: the detections of {lists} frames were not recorded, because the recorder fell behind."
            ),
            Mishap::ProcessDied { how } => format!(
                "{tenant}: its process ended in the middle of the run ({how}). Its records up to about 10 ms before its \
                 end are kept; the other tenants ran on without it."
            ),
            Mishap::SourceLate { waits } => format!(
                "{tenant}: {} frames had not been read when work on them began: they were waited for, {:.1} ms on average and \
                 {:.1} ms at most. That time is in the stage acquire, and is storage's and not the detector's.",
                waits.frames,
                waits.total.as_secs_f64() * 1e3 / waits.frames.max(1) as f64,
                waits.longest.as_secs_f64() * 1e3
            ),
            Mishap::ZerosForMissing { lack } => format!(
                "{tenant}: its detector takes {lack}. Zeros, which no sensor measured, stand in its place (`missing: Zero`)."
            ),
            Mishap::SharedBehind { cost } => format!(
                "Of the {} frames that were decoded for the {} tenants of source {}, {} had been decoded before: a tenant was so far \
                 behind the others that they were no longer kept.",
                cost.frames, cost.tenants, cost.name, cost.again
            ),
            Mishap::OutputsNotCompared { why } => {
                format!("{tenant}: its outputs could not be compared or kept as `record_outputs` says: {why}")
            }
            Mishap::DeviceHangs { frame, limit } => format!(
                "{tenant}: the device had not finished frame {frame} after {limit} (`watchdog`), so the run was ended."
            ),
        }
    }

    fn advice(&self) -> &'static str {
        match self {
            Mishap::NotStarted { .. } => "Let the other tenants use less memory, or remove this one.",
            Mishap::LostDetections { .. } => {
                "Times are not affected. Set `record_detections: false` if only times matter, or write to a faster disk."
            }
            Mishap::ProcessDied { .. } => {
                "Run it alone under sharing: Streams and see whether it ends there too; after SIGKILL, look for the \
                 kernel's out-of-memory killer in dmesg."
            }
            Mishap::SourceLate { .. } => {
                "Use `preload: true`, read more frames ahead (`ahead`), use faster storage, or ask for frames less often."
            }
            Mishap::ZerosForMissing { .. } => {
                "Times count, and detections are not those of whole data. Record what is missing, or use a detector that does \
                 without."
            }
            Mishap::SharedBehind { .. } => {
                "Its decoding is in these tenants' times more than once. Let frames of the slower tenant be dropped (`overload: \
                 DropOldest`), or let all have the same `arrival`; tenants in closed loops do not stay in step."
            }
            Mishap::OutputsNotCompared { .. } => {
                "What they are is not known. Give a reference for these shapes (a run with `keep` writes one), and let a frame finish."
            }
            Mishap::DeviceHangs { .. } => {
                "What was recorded before is kept. Look for the driver's messages in the kernel's log (dmesg), or raise \
                 `watchdog` if such a frame may take that long."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_mishap_says_whose_it_is_what_happened_and_what_to_do() {
        let cases = [
            (
                Mishap::NotStarted {
                    problem: "no memory".to_owned(),
                },
                NOT_STARTED,
                "camera could not be started, so the other tenants ran without it: no memory.",
                "less memory",
            ),
            (
                Mishap::LostDetections { lists: 12 },
                "lost-detections",
                "camera: the detections of 12 frames were not recorded",
                "record_detections: false",
            ),
            (
                Mishap::ProcessDied {
                    how: "signal: 9 (SIGKILL)".to_owned(),
                },
                "process-died",
                "camera: its process ended in the middle of the run (signal: 9 (SIGKILL)).",
                "dmesg",
            ),
            (
                Mishap::SourceLate {
                    waits: Waits {
                        frames: 4,
                        total: Duration::from_millis(10),
                        longest: Duration::from_millis(7),
                    },
                },
                "source-late",
                "camera: 4 frames had not been read when work on them began: they were waited for, 2.5 ms on average and 7.0 ms",
                "`preload: true`",
            ),
            (
                Mishap::SharedBehind {
                    cost: SharedCost {
                        name: "front".to_owned(),
                        tenants: 2,
                        frames: 300,
                        again: 12,
                        took: Duration::from_secs(1),
                    },
                },
                "shared-behind",
                "Of the 300 frames that were decoded for the 2 tenants of source front, 12 had been decoded before",
                "DropOldest",
            ),
            (
                Mishap::OutputsNotCompared {
                    why: "no frame was finished.".to_owned(),
                },
                "outputs-not-compared",
                "camera: its outputs could not be compared or kept as `record_outputs` says: no frame",
                "`keep`",
            ),
            (
                Mishap::DeviceHangs {
                    frame: 7,
                    limit: Nanos::from_secs(10),
                },
                "device-hangs",
                "camera: the device had not finished frame 7 after 10",
                "`watchdog`",
            ),
        ];
        for (mishap, code, message, advice) in cases {
            let finding = mishap.of("camera");
            assert_eq!(
                (finding.code.as_str(), finding.tenant.as_deref()),
                (code, Some("camera"))
            );
            assert!(finding.message.starts_with(message), "{}", finding.message);
            assert!(finding.advice.contains(advice), "{}", finding.advice);
        }
    }
}
