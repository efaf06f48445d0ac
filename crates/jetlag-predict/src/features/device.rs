//! What a model knows of a board: its figures, and the clocks of the power mode that it is in.

use jetlag_record::ModeClocks;
use serde::{Deserialize, Serialize};

/// Figures of a board in one power mode. They scale work and traffic, so that one model serves several boards and modes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// Its name, with the mode where there are several.
    pub name: String,
    /// Arithmetic peak in the precision used, 10¹² operations per second (a multiply-add is two).
    pub tflops: f64,
    /// Memory bandwidth, 10⁹ bytes per second.
    pub gb_s: f64,
    /// Clock of the processor that launches the work, GHz; 1 where it is not known.
    pub cpu_ghz: f64,
    /// Memory that a network can have at most, MiB, where it is known.
    pub memory_mib: Option<f64>,
    /// The power mode, where its clocks are known.
    #[serde(default)]
    pub mode: Option<Mode>,
    /// The module as its device tree has it (`p3701-0005`), where it is one: by it other power modes are found.
    #[serde(default)]
    pub module: Option<String>,
}

/// A power mode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mode {
    /// The board.
    pub board: String,
    /// Its name: `MODE_30W`.
    pub name: String,
    /// What runs how fast in it.
    pub clocks: ModeClocks,
}

/// What numbers of clocks are called in sentences, with their units.
pub(crate) const CLOCK_NAMES: [(&str, &str); 5] = [
    ("the GPU's clock", "MHz"),
    ("the memory's clock", "MHz"),
    ("the processors' clock", "MHz"),
    ("the number of processors", ""),
    ("the number of multiprocessors", ""),
];

/// Clocks as numbers, in the order of [`CLOCK_NAMES`]. Multiprocessors that are not told are the same in all modes: 1.
pub(crate) fn numbers(clocks: ModeClocks) -> [f64; 5] {
    [
        clocks.gpu_mhz,
        clocks.emc_mhz,
        clocks.cpu_mhz,
        f64::from(clocks.cores),
        f64::from(clocks.sms.unwrap_or(1)),
    ]
}

impl Device {
    /// A board without figures: 1 TFLOP/s, 100 GB/s, 1 GHz. Such rows are of one board, whose figures the fit absorbs.
    pub fn unknown(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            tflops: 1.0,
            gb_s: 100.0,
            cpu_ghz: 1.0,
            memory_mib: None,
            mode: None,
            module: None,
        }
    }

    /// A board without figures in a power mode: as [`Device::unknown`] at 1 GHz of each clock, and in proportion to the clocks. The
    /// fit absorbs what is the same in all modes.
    pub fn in_mode(mode: Mode) -> Self {
        let [gpu_mhz, emc_mhz, cpu_mhz, _, sms] = numbers(mode.clocks);
        Self {
            name: format!("{}, {}", mode.board, mode.name),
            tflops: sms * gpu_mhz / 1e3,
            gb_s: 100.0 * emc_mhz / 1e3,
            cpu_ghz: cpu_mhz / 1e3,
            memory_mib: None,
            mode: Some(mode),
            module: None,
        }
    }

    /// The same board in another power mode, its figures in proportion to the clocks; none where its own clocks are not known, or only
    /// one of both modes tells its multiprocessors.
    pub fn in_other_mode(&self, name: &str, clocks: ModeClocks) -> Option<Self> {
        let own = self.mode.as_ref()?;
        if own.clocks.sms.is_some() != clocks.sms.is_some() {
            return None;
        }
        let [gpu, emc, cpu, _, parts] = numbers(clocks);
        let [own_gpu, own_emc, own_cpu, _, own_parts] = numbers(own.clocks);
        Some(Self {
            name: format!("{}, {name}", own.board),
            tflops: self.tflops * (gpu * parts) / (own_gpu * own_parts),
            gb_s: self.gb_s * emc / own_emc,
            cpu_ghz: self.cpu_ghz * cpu / own_cpu,
            memory_mib: self.memory_mib,
            mode: Some(Mode {
                board: own.board.clone(),
                name: name.to_owned(),
                clocks,
            }),
            module: self.module.clone(),
        })
    }

    /// The clocks of its mode, where they are known.
    pub(crate) fn clocks(&self) -> Option<ModeClocks> {
        self.mode.as_ref().map(|mode| mode.clocks)
    }

    /// Whether the figures are numbers that a board can have.
    pub fn is_sound(&self) -> bool {
        let sound = |x: f64| (1e-6..=1e9).contains(&x);
        sound(self.tflops)
            && sound(self.gb_s)
            && sound(self.cpu_ghz)
            && self.memory_mib.is_none_or(sound)
            && self.clocks().is_none_or(|clocks| clocks.is_sound())
    }
}
