//! What went wrong with one tenant while the others went on, as facts, and the finding that each becomes: its code, message and
//! advice are made here.

use crate::record::{Finding, NOT_STARTED};
use crate::units::Nanos;

/// Something that happened to a tenant and not to its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mishap {
    /// It could not be opened.
    NotStarted { problem: String },
    /// Lists of detections found no place on their way to the recorder.
    LostDetections { lists: u64 },
    /// Its process is gone; how it ended.
    ProcessDied { how: String },
    /// The device did not come to an end with one of its frames.
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
            Mishap::DeviceHangs { .. } => "device-hangs",
        }
    }

    fn message(&self, tenant: &str) -> String {
        match self {
            Mishap::NotStarted { problem } => {
                format!("{tenant} could not be opened, and the others ran without it: {problem}.")
            }
            Mishap::LostDetections { lists } => format!(
                "{tenant}: what was found in {lists} frames was not recorded, because the recorder fell behind."
            ),
            Mishap::ProcessDied { how } => format!(
                "{tenant}: its process ended in the middle of the run ({how}). What it had recorded is here, up to some 10 ms before \
                 its end; the others went on without it."
            ),
            Mishap::DeviceHangs { frame, limit } => format!(
                "{tenant}: the device was not done with frame {frame} after {limit} (`watchdog`), so the run ended."
            ),
        }
    }

    fn advice(&self) -> &'static str {
        match self {
            Mishap::NotStarted { .. } => "Give the others less memory, or leave it out.",
            Mishap::LostDetections { .. } => {
                "Times are not affected. Set `record_detections: false` if only times matter, or write to a faster disk."
            }
            Mishap::ProcessDied { .. } => {
                "Run it alone under sharing: Streams and see whether it ends there too; after SIGKILL look for the kernel's \
                 out-of-memory killer (dmesg)."
            }
            Mishap::DeviceHangs { .. } => {
                "What was recorded before is kept. Look for the driver's words in the kernel's log (dmesg), or raise \
                 `watchdog` if such a frame may take that long."
            }
        }
    }
}
