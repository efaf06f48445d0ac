//! The phases of a run: which tenants run in each, from when to when.

use serde::{Deserialize, Serialize};

use crate::units::Stamp;

/// In which part of the run a frame was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// All tenants together, as the scenario has them: the measurement.
    Together,
    /// This tenant alone, sharing as the scenario says: the baseline for its slowdown.
    Alone,
    /// A null tenant that measures jetlag's own cost.
    Overhead,
    /// Any other: a pair, another way of sharing, a step of a sweep. The [`PhaseSpec`] of this number tells what it is.
    Other(u16),
}

impl Phase {
    /// Its value in the run file; all of [`Phase::Other`] have the same, and their number beside it.
    pub const fn code(self) -> u8 {
        match self {
            Phase::Together => 0,
            Phase::Alone => 1,
            Phase::Overhead => 2,
            Phase::Other(_) => 3,
        }
    }

    /// A tenant's seed in this phase: its own in the measurement, and another in each other phase. With one seed for all, a
    /// simulated tenant would draw the same latencies alone as beside others, and a comparison of the two would know
    /// nothing of chance.
    pub const fn seed(self, tenants: u64) -> u64 {
        let number = match self {
            Phase::Together => return tenants,
            Phase::Alone => 1,
            Phase::Overhead => 2,
            Phase::Other(number) => 3 + number as u64,
        };
        scattered(tenants ^ scattered(number))
    }
}

/// The finaliser of SplitMix64 (G. L. Steele, D. Lea and C. H. Flood, 2014): neighbours come to lie far apart, and no two
/// together.
const fn scattered(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// What a phase is; recorded once, when it begins. Together, and each tenant's Alone, have one too; files older than
/// version 1.3 have none.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseSpec {
    /// When the phase began.
    pub at: Stamp,
    /// What its frames refer to it by. Of [`Phase::Alone`] there is one for each tenant, told apart by `members`.
    pub phase: Phase,
    /// In words: `camera + lidar`.
    pub label: String,
    /// The way of sharing in it, as a scenario writes it: `Streams`.
    pub sharing: String,
    /// Positions of the tenants that run in it, ascending.
    pub members: Vec<u16>,
    /// For a step of a sweep, whose rate is not its own.
    pub rate: Option<SweptRate>,
}

/// The rate of one tenant in a step of a sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweptRate {
    /// Position of the tenant in the scenario.
    pub tenant: u16,
    /// Frames per second; `None` is the closed loop.
    pub hz: Option<f64>,
}

/// The tenant number of the null tenant that measures jetlag's own cost.
pub const OVERHEAD_TENANT: u16 = u16::MAX;

/// Why a tenant stopped in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum EndReason {
    /// The planned time was over.
    Duration = 0,
    /// It had served the frames that it was asked for.
    Count = 1,
    /// A tenant's source had no more frames.
    EndOfSource = 2,
    /// Somebody pressed Ctrl-C, or sent SIGTERM.
    Interrupted = 3,
    /// It could not go on; see the log.
    Failed = 4,
}

/// How one tenant's part of one phase went; written when it ends, so that rates have their time base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseRecord {
    /// Position of the tenant in the scenario, or [`OVERHEAD_TENANT`].
    pub tenant: u16,
    /// The phase that ended.
    pub phase: Phase,
    /// The common start of all tenants in it.
    pub epoch: Stamp,
    /// Start of the measured window: the epoch plus warm-up.
    pub measured_from: Stamp,
    /// When releases stopped: end of the measured window.
    pub measured_to: Stamp,
    /// Why the tenant's phase ended.
    pub reason: EndReason,
    /// Frame records that found the queue to the recorder full.
    pub lost_records: u64,
}
