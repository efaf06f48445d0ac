//! The phases of a run: which tenants run in each, from when to when.

use serde::{Deserialize, Serialize};

use crate::units::Stamp;

/// The phase of a run that a frame belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// All tenants together, as the scenario has them: the measurement.
    #[default]
    Together,
    /// This tenant alone, sharing as the scenario says: the baseline for its slowdown in recordings from before the first
    /// release. Since then it is a turn in each round.
    Alone,
    /// A null tenant that measures jetlag's own cost.
    Overhead,
    /// Any other phase: a turn alone, of a pair or of all, a step of a duty cycle, a traced phase. The [`PhaseSpec`] with this number describes
    /// it.
    Other(u16),
}

impl Phase {
    /// Its value in the run file; all of [`Phase::Other`] have the same value, followed by their number.
    pub const fn code(self) -> u8 {
        match self {
            Phase::Together => 0,
            Phase::Alone => 1,
            Phase::Overhead => 2,
            Phase::Other(_) => 3,
        }
    }

    /// A tenant's random seed in this phase: its own in the measurement, another one in each other phase. With one
    /// seed for all, a simulated tenant would draw the same latencies alone as with others, and a comparison of the
    /// two would show no random variation.
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

/// The finaliser of SplitMix64 (G. L. Steele, D. Lea and C. H. Flood, 2014): a bijection that maps neighbouring
/// numbers to unrelated ones.
const fn scattered(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The description of a phase; recorded once, when it begins. Together, and each tenant's Alone, have one too.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseSpec {
    /// When the phase began.
    pub at: Stamp,
    /// The phase, as its frames refer to it. There is one [`Phase::Alone`] for each tenant, told apart by `members`.
    pub phase: Phase,
    /// In words: `camera + lidar`.
    pub label: String,
    /// Its sharing mode, as a scenario writes it: `Streams`.
    pub sharing: String,
    /// Positions of the tenants that run in it, in ascending order.
    pub members: Vec<u16>,
    /// The changed rate, for a step of a duty cycle.
    pub rate: Option<SweptRate>,
    /// Whether the GPU was traced meanwhile, which costs time: its frames are in no figure but the kernels', unless it is
    /// [`Phase::Together`], the measurement itself, as of a program under `jetlag trace`.
    pub traced: bool,
    /// The round that it is a turn of; `None` of a phase that is no turn. Phases of the same
    /// tenants, rates and sharing are the turns of one cell, one a round: they are compared within their rounds.
    pub round: Option<u16>,
}

impl PhaseSpec {
    /// `round 3 of 10: camera alone`, where it is a turn, and of how many rounds is known; else its label.
    pub fn in_words(&self, rounds: Option<u16>) -> String {
        match (self.round, rounds) {
            (None, _) => self.label.clone(),
            (Some(round), None) => format!("round {}: {}", u32::from(round) + 1, self.label),
            (Some(round), Some(rounds)) => {
                format!("round {} of {rounds}: {}", u32::from(round) + 1, self.label)
            }
        }
    }
}

/// The rate of one tenant in a step of a duty cycle.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum EndReason {
    /// The planned time was over.
    #[default]
    Duration = 0,
    /// It had served the requested number of frames.
    Count = 1,
    /// A tenant's source had no more frames.
    EndOfSource = 2,
    /// Interrupted by Ctrl-C or SIGTERM.
    Interrupted = 3,
    /// It gave up after failures; see the log.
    Failed = 4,
}

/// The end of one tenant's part of a phase; it gives rates their time base.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// Frame records that were lost because the queue to the recorder was full.
    pub lost_records: u64,
    /// What a timer made of the frames that came, for [`Arrival::Sampled`](crate::scenario::Arrival::Sampled); `None` for others.
    pub sampled: Option<Sampled>,
    /// The most memory that the process which ran the tenant had resident during the phase, warm-up included, in bytes: of all of
    /// that process, so of all tenants that share it. `None` where the kernel does not tell.
    pub process_peak: Option<u64>,
}

/// What a timer that takes the newest frame made of the frames that came, in the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sampled {
    /// Releases for which none had come since the one before: the same frame was taken again.
    pub repeated: u64,
    /// Frames that came and were taken by no release, because a newer one was there.
    pub skipped: u64,
}
