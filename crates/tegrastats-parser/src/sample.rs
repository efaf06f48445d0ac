//! What one line says, typed. Units stand in the names; what the line does not say is `None` or an empty list,
//! never 0. Nothing here is computed: sums over rails, energy and module power are for the caller, who knows the board.

use alloc::vec::Vec;
use core::fmt;

/// One line of tegrastats. Names borrow from the line.
///
/// Which fields a line holds depends on the board, the L4T release ("R36" below is L4T 36.x) and on whether
/// tegrastats ran as root. A field that is absent is unknown, not zero.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Sample<'a> {
    /// Text before the line proper, blanks included, as a user's logger adds it; `None` where the line starts
    /// with the stamp or a field, or holds no `RAM`. All before a stamp is prefix, and so are words that merely have
    /// the shape of a rail or an engine (`JOB 3/4`, `FAN off`) before the first field that no other text holds.
    pub prefix: Option<&'a str>,
    /// Local time, whole seconds, no zone. Since R34 (JetPack 5); earlier releases print none. At intervals under
    /// one second several lines carry the same stamp.
    pub timestamp: Option<Timestamp>,
    /// Main memory, shared by CPU and GPU. On every complete line; `None` where the line was cut at its left.
    pub ram: Option<Ram>,
    /// Swap space; `None` where no swap is configured.
    pub swap: Option<Swap>,
    /// On-chip memory. TX1 and Nano up to R32, as root.
    pub iram: Option<Iram>,
    /// One entry per core, offline cores included. Empty where the list is absent (a line cut at its left).
    pub cpus: Vec<Core>,
    /// Memory controller: share of bandwidth in use, and its clock. Without root R28 to R35 print `0%` and no
    /// clock, which is no measurement (see [`Sample::emc_load_percent`]); R36 and later then print nothing.
    pub emc: Option<Activity>,
    /// GPU (`GR3D` up to R28.1, then `GR3D_FREQ`). The load is readable without root, the clocks are not. Thor
    /// (R38) prints clocks without a load as root, and no field at all without root.
    ///
    /// A clock of 0 in a list (late R35 and later) means that the cluster is power-gated; older releases keep
    /// showing the last clock while gated.
    pub gr3d: Option<Activity>,
    /// Second graphics cluster (`GR3D2_FREQ`): Orin, R34 and R35 only, where each cluster had its own field.
    /// Parts with one cluster print `0%@0`. Later releases list all clocks in [`Sample::gr3d`].
    pub gr3d2: Option<Activity>,
    /// Video, image, audio and deep-learning engines in the line's order. Up to R35 an engine is printed only
    /// while clocked, so absent means off; from R36 all are listed as root and none without root.
    pub engines: Vec<Engine<'a>>,
    /// Code translation on the Denver and Carmel cores: TX2 and Xavier, R28 to R32, as root.
    pub mts: Option<Mts>,
    /// `EDP limit` of R21 and R24, as printed: the cap of the electrical design point governor. tegrastats states
    /// no unit; 0 is seen where no cap is in force.
    pub edp_limit: Option<u32>,
    /// Thermal zones in the line's order. Since R28.2.
    pub temperatures: Vec<Temperature<'a>>,
    /// Power rails in the line's order. Since R28.2. Some boards print none without root, or none at all (Nano
    /// 2GB). Names are not unique: AGX Orin prints `NC` (not connected) twice.
    pub rails: Vec<Rail<'a>>,
    /// Tokens that belong to no field known here, in the line's order.
    pub unknown: Vec<Token<'a>>,
    /// Whether the last token was understood. `false` is how a line cut by a kill mostly looks. A cut inside a
    /// number can still read as a shorter number (`1431/14` for `1431/1431`, R28 to R32, where rails bear no
    /// unit), so do not use the last line of a file or pipe that does not end in a newline.
    pub ends_cleanly: bool,
}

impl Sample<'_> {
    /// Load of the memory controller in percent where it was measured: `None` also for the bare `0%` that R28 to
    /// R35 print without root in place of a measurement.
    pub fn emc_load_percent(&self) -> Option<u16> {
        let emc = self.emc.as_ref()?;
        if emc.freqs_mhz().is_empty() {
            return None;
        }
        emc.load_percent()
    }
}

/// Local time as tegrastats stamps it: `MM-DD-YYYY HH:MM:SS`. Prints in that form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Timestamp {
    /// The year, with four digits.
    pub year: u16,
    /// The month, 1 to 12.
    pub month: u8,
    /// The day of the month, 1 to 31.
    pub day: u8,
    /// The hour, 0 to 23.
    pub hour: u8,
    /// The minute, 0 to 59.
    pub minute: u8,
    /// 0 to 60 (a leap second).
    pub second: u8,
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            year,
            month,
            day,
            hour,
            minute,
            second,
        } = self;
        write!(
            f,
            "{month:02}-{day:02}-{year:04} {hour:02}:{minute:02}:{second:02}"
        )
    }
}

/// `RAM used/totalMB (lfb NxZMB)`. The kernel counts in powers of two: 1 MB here is 1024 kB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ram {
    /// Memory in use, MB.
    pub used_mb: u32,
    /// Seen by the kernel, MB (less than the module holds: carve-outs are taken off).
    pub total_mb: u32,
    /// Largest free blocks; `None` where the line does not say.
    pub largest_free: Option<FreeBlocks>,
}

/// Fragmentation: how many free blocks there are of the largest size. Blocks larger than 4 MB are counted as 4 MB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeBlocks {
    /// How many free blocks have that size.
    pub count: u32,
    /// Size of one, kB (the line says MB or kB).
    pub block_kb: u32,
}

/// `SWAP used/totalMB (cached cMB)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Swap {
    /// Swap space in use, MB.
    pub used_mb: u32,
    /// Swap space that is configured, MB.
    pub total_mb: u32,
    /// Held in memory and on the device, MB; `None` where the line does not say.
    pub cached_mb: Option<u32>,
}

/// `IRAM used/totalkB(lfb ZkB)`: on-chip memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Iram {
    /// On-chip memory in use, kB.
    pub used_kb: u32,
    /// Size of the on-chip memory, kB.
    pub total_kb: u32,
    /// Largest free block, kB; `None` where the line does not say.
    pub largest_free_kb: Option<u32>,
}

/// One processor core, as it stands at the moment of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Core {
    /// Printed `off`: unplugged, as power modes do. Not a load of 0.
    Offline,
    /// It runs, and has a load and perhaps a clock.
    Online {
        /// Busy share of the interval, percent.
        load_percent: u16,
        /// Clock, MHz; `None` where the line gives none. Before R28.2 one clock is printed for all cores, and
        /// each core carries it here.
        freq_mhz: Option<u32>,
    },
}

/// What the GPU, the memory controller or an engine is doing.
///
/// Forms: `off`, `MHz`, `@MHz`, `N%`, `N%@MHz`, `N%@[MHz,..]`, `@[MHz,..]`. "Does not say" is kept apart from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Activity {
    /// Printed `off`: neither clocked nor loaded.
    Off,
    /// Present, with what the line says of it. A clock of 0 is as printed (gated), not a missing one.
    On {
        /// Busy share, percent; `None` where the line gives clocks alone.
        load_percent: Option<u16>,
        /// Clock or clocks, MHz.
        freq_mhz: Clocks,
    },
}

/// The clocks of an [`Activity`], MHz.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Clocks {
    /// The line gives none.
    NotShown,
    /// One clock for the whole engine, MHz.
    One(u32),
    /// A bracketed list, one per graphics cluster.
    Each(Vec<u32>),
}

impl Activity {
    /// Busy share in percent; `None` where off or not shown.
    pub fn load_percent(&self) -> Option<u16> {
        match self {
            Self::Off => None,
            Self::On { load_percent, .. } => *load_percent,
        }
    }

    /// Clocks in MHz, as many as the line shows; empty where off or not shown.
    pub fn freqs_mhz(&self) -> &[u32] {
        match self {
            Self::Off
            | Self::On {
                freq_mhz: Clocks::NotShown,
                ..
            } => &[],
            Self::On {
                freq_mhz: Clocks::One(mhz),
                ..
            } => core::slice::from_ref(mhz),
            Self::On {
                freq_mhz: Clocks::Each(mhz),
                ..
            } => mhz,
        }
    }

    /// Whether the line says `off`.
    pub fn is_off(&self) -> bool {
        matches!(self, Self::Off)
    }
}

/// An engine beside CPU and GPU: NVENC, NVDEC, NVJPG, VIC, OFA, NVDLA, PVA, APE, MSENC, VDE, AVP, ...
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engine<'a> {
    /// As printed: `NVENC`, `VIC_FREQ`, `NVENC0_FREQ`.
    pub label: &'a str,
    /// What it is doing.
    pub activity: Activity,
}

impl<'a> Engine<'a> {
    /// The label without `_FREQ`, which comes and goes between releases. Numbers stay: R36 prints `NVENC`, R39 `NVENC0`.
    pub fn name(&self) -> &'a str {
        self.label.strip_suffix("_FREQ").unwrap_or(self.label)
    }
}

/// `MTS fg N% bg N%`: time the Denver or Carmel cores spend translating code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mts {
    /// In the foreground, percent.
    pub foreground_percent: u16,
    /// In the background, percent.
    pub background_percent: u16,
}

/// A thermal zone: `NAME@T C`, since R39 `NAME@T C/peak C`.
///
/// Names are the kernel's zone types without `-therm`/`-thermal`: upper case through R35 (`CPU`), lower case
/// since R36 (`cpu`). `tj` is the hottest on-die sensor; `thermal` is a weighted estimate for fan control.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Temperature<'a> {
    /// The name, as the line has it.
    pub name: &'a str,
    /// Degrees Celsius. `None` where tegrastats printed [`Temperature::UNREADABLE_C`]: the zone's domain is
    /// power-gated (R34, R35; R36 and later leave the zone out).
    pub c: Option<f64>,
    /// Highest since tegrastats started, degrees Celsius. Since R39.
    pub peak_c: Option<f64>,
}

impl Temperature<'_> {
    /// What tegrastats prints for a sensor that cannot be read, degrees Celsius.
    pub const UNREADABLE_C: f64 = -256.0;

    /// Whether this is the constant that releases up to R35 print for the power chip (`PMIC@100C`, later
    /// `PMIC@50C`) in place of a temperature.
    pub fn is_placeholder(&self) -> bool {
        self.name.eq_ignore_ascii_case("PMIC") && matches!(self.c, Some(c) if c == 100.0 || c == 50.0)
    }
}

/// A power rail: `NAME cur/avg` (mW, R28 to R32), `NAME curmW/avgmW` (since R34), `NAME curmW/avgmW/peakmW` (R39).
///
/// Which rails add up to the module differs by board; some hang off another (AGX Orin's `VDDQ_VDD2_1V8AO` off
/// `VIN_SYS_5V0`), so adding all counts twice. Values are signed: an idle rail can read below zero by the sensor's offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rail<'a> {
    /// As printed. AGX Xavier's `GPU` and `CPU` are rails beside thermal zones of the same name.
    pub name: &'a str,
    /// The latest reading, mW, as the monitor chip averaged it over its own conversion time.
    pub instant_mw: i32,
    /// Plain mean of the readings since tegrastats started, mW: it depends on when that was and on the interval,
    /// so it is no basis for energy.
    pub average_mw: i32,
    /// Highest reading since tegrastats started, mW. Since R39.
    pub peak_mw: Option<i32>,
}

/// A piece of text between blanks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    /// The text that no rule of the parser takes, as the line has it.
    pub text: &'a str,
    /// Where it starts in the line: counted in bytes, from 1.
    pub column: usize,
}
