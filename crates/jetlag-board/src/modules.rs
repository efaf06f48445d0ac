//! What is known of NVIDIA's Jetson modules: the table of jetson/boards.ron, which the binary carries.
//!
//! Every figure stands with its source, and what is not known is not there. What a module does at this moment (its
//! power mode, its clocks) is not here: that is read from the machine.

use std::sync::LazyLock;

use serde::Deserialize;

use super::Roots;
use super::identity::{Flash, Identity};
use jetlag_record::RailRole;

/// The table of modules, jetson/boards.ron, built into the binary.
const TABLE: &str = include_str!("../boards.ron");

/// Where a figure of the table comes from; jetson/boards.ron says what each means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[allow(missing_docs, reason = "defined at the head of the table")]
pub enum Origin {
    DataSheet,
    DeviceQuery,
    Capture,
    Document,
    Derived,
    Published,
    Unconfirmed,
}

/// A figure and its source.
pub type Sourced<T> = (T, Origin);

/// What is known of one Jetson module.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Module {
    /// The name that NVIDIA sells it under.
    pub name: String,
    /// Its part numbers: `p3701-0005`.
    pub parts: Vec<String>,
    /// What device trees call it; as its part numbers, if empty.
    #[serde(default)]
    pub tree: Vec<String>,
    /// Beginnings of the carrier boards that tell it from another module of the same name.
    #[serde(default)]
    pub carriers: Vec<String>,
    /// Its system on chip, by NVIDIA's part name: `tegra234`.
    pub soc: String,
    /// The architecture of its GPU.
    pub gpu: String,
    /// CUDA's number for it.
    pub compute_capability: String,
    /// The processor's cores, in words.
    pub cpu: String,
    /// Number of CUDA cores; `None` where no document says.
    #[serde(default)]
    pub cuda_cores: Option<Sourced<u32>>,
    /// Number of streaming multiprocessors; `None` where no document says.
    #[serde(default)]
    pub sms: Option<Sourced<u32>>,
    /// Tensor cores, as marketed.
    #[serde(default)]
    pub tensor_cores: Option<Sourced<u32>>,
    /// Number of deep-learning accelerators; `None` where no document says.
    #[serde(default)]
    pub dlas: Option<Sourced<u32>>,
    /// Number of processor cores; `None` where no document says.
    #[serde(default)]
    pub cpu_cores: Option<Sourced<u32>>,
    /// Memory in GB; `None` where no document says.
    #[serde(default)]
    pub memory_gb: Option<Sourced<u32>>,
    /// Width of the memory bus, bits.
    #[serde(default)]
    pub bus_bits: Option<Sourced<u32>>,
    /// The ways in which it can be flashed.
    pub configurations: Vec<Configuration>,
    /// Power rails, where they are known.
    #[serde(default)]
    pub rails: Option<Rails>,
    /// What somebody who uses it should know, a sentence each.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// What a module does as it is flashed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    /// The way in which it is flashed.
    pub flash: Flash,
    /// Highest clock of the GPU, MHz.
    #[serde(default)]
    pub gpu_mhz: Option<Sourced<f64>>,
    /// Highest clock of the processor, MHz.
    #[serde(default)]
    pub cpu_mhz: Option<Sourced<f64>>,
    /// Highest clock of the memory controller, MHz.
    #[serde(default)]
    pub emc_mhz: Option<Sourced<f64>>,
    /// Peak rate of the memory at that clock, GB/s (10⁹).
    #[serde(default)]
    pub bandwidth_gb_s: Option<Sourced<f64>>,
    /// From the smallest to the largest power mode, W.
    #[serde(default)]
    pub watts: Option<Sourced<(f64, f64)>>,
    /// Peak rates of the GPU at `gpu_mhz`.
    #[serde(default)]
    pub peaks: Option<Peaks>,
    /// The file that has the modes, and where it was read.
    #[serde(default)]
    pub modes_from: Option<String>,
    /// Power modes; empty where they are not known.
    #[serde(default)]
    pub modes: Vec<PowerMode>,
}

/// Peak rates of a GPU, dense.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "the names say it; formulas at the head of the table")]
pub struct Peaks {
    pub fp32_tflops: Sourced<f64>,
    pub fp16_tflops: Sourced<f64>,
    #[serde(default)]
    pub int8_tops: Option<Sourced<f64>>,
    #[serde(default)]
    pub fp8_tflops: Option<Sourced<f64>>,
    #[serde(default)]
    pub fp4_tflops: Option<Sourced<f64>>,
}

/// One power mode: a preset of clocks and switched-off parts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerMode {
    /// nvpmodel's number; it has no common meaning over modules.
    pub id: u32,
    /// The mode's name, as nvpmodel has it.
    pub name: String,
    /// The power that the preset is named after, W; not a limit.
    #[serde(default)]
    pub watts: Option<f64>,
    /// Whether the module starts in it.
    #[serde(default)]
    pub default: bool,
    /// What it caps; none where only its name is known.
    #[serde(default)]
    pub caps: Option<Caps>,
    /// Where it comes from, if not from the configuration's file.
    #[serde(default)]
    pub from: Option<String>,
}

/// What a power mode caps. What is not there is not capped, and parts that are not there are all on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Caps {
    /// Processor cores that are on.
    pub cores: Option<u32>,
    /// The processor's clock, MHz.
    pub cpu_mhz: Option<f64>,
    /// Streaming multiprocessors that are on.
    pub sms: Option<u32>,
    /// Whether it is not known how many are.
    pub sms_unknown: bool,
    /// The GPU's clock as configured, MHz.
    pub gpu_mhz: Option<f64>,
    /// The clock that is in force, where the configured one is not in the chip's table, MHz.
    pub gpu_in_force_mhz: Option<f64>,
    /// The memory controller's clock, MHz.
    pub emc_mhz: Option<f64>,
}

impl Caps {
    /// Whether no clock is capped, whatever is switched off.
    pub fn is_nothing_but_parts(&self) -> bool {
        self.cpu_mhz.is_none() && self.gpu_mhz.is_none() && self.emc_mhz.is_none()
    }
}

/// The power rails of a module.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rails {
    /// All that the module takes.
    pub total: Total,
    /// What is measured before the module.
    #[serde(default)]
    pub input: Option<String>,
    /// What each rail feeds.
    pub parts: Vec<(String, Vec<Feeds>)>,
    /// Rails that hang off another.
    #[serde(default)]
    pub within: Vec<(String, String)>,
    /// Rails of the carrier board, before the module.
    #[serde(default)]
    pub carrier: Vec<String>,
    /// Where the names come from.
    pub source: Origin,
}

/// How a module's total power is had.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub enum Total {
    /// It is one rail.
    One(String),
    /// It is the sum of these.
    Sum(Vec<String>),
    /// No rail tells it.
    NotMeasured,
}

/// What a rail feeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Feeds {
    Gpu,
    Cpu,
    Soc,
    Accelerators,
    Memory,
    Io,
}

static MODULES: LazyLock<Result<Vec<Module>, ron::error::SpannedError>> = LazyLock::new(|| {
    let extensions =
        ron::extensions::Extensions::UNWRAP_NEWTYPES | ron::extensions::Extensions::IMPLICIT_SOME;
    let options = ron::Options::default().with_default_extension(extensions);
    options.from_str(TABLE)
});

/// All modules of the table.
pub fn modules() -> &'static [Module] {
    // The table is part of the binary and tests load it; were it damaged, nothing would be known.
    MODULES.as_deref().unwrap_or_default()
}

impl Module {
    /// What it does as it is flashed; none where the table does not have that.
    pub fn configuration(&self, flash: Flash) -> Option<&Configuration> {
        self.configurations.iter().find(|known| known.flash == flash)
    }

    /// What device trees call it.
    fn tree(&self) -> &[String] {
        match self.tree.is_empty() {
            true => &self.parts,
            false => &self.tree,
        }
    }
}

/// The module of a part number such as `p3701-0005`, on a Jetson's own carrier board; none where the table does not
/// have that very number.
pub fn find(part: &str) -> Option<&'static Module> {
    let has = |module: &&Module| module.parts.iter().any(|known| known == part);
    modules()
        .iter()
        .filter(has)
        .find(|module| module.carriers.is_empty())
}

/// This machine's module, by its device tree.
pub fn of_machine(roots: &Roots) -> Option<&'static Module> {
    let memory = roots.text("/proc/meminfo").and_then(|text| {
        let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        total.trim().strip_suffix("kB")?.trim().parse().ok()
    });
    by_tree(&Identity::of_machine(roots)?, memory)
}

/// The modules that a device tree names, as far as their carrier tells.
fn named(identity: &Identity) -> Vec<&'static Module> {
    let carrier = identity.carrier.as_deref().unwrap_or_default();
    let on_it = |module: &Module| {
        module
            .carriers
            .iter()
            .any(|known| carrier.starts_with(known.as_str()))
    };
    let named: Vec<&Module> = modules()
        .iter()
        .filter(|module| module.tree().contains(&identity.part))
        .collect();
    match named.iter().any(|module| on_it(module)) {
        true => named.into_iter().filter(|module| on_it(module)).collect(),
        false => named
            .into_iter()
            .filter(|module| module.carriers.is_empty())
            .collect(),
    }
}

/// The module that a device tree names; of several the one that fits the memory that the kernel has (KiB), which is less
/// than the module's by what firmware and GPU keep.
fn by_tree(identity: &Identity, memory_kib: Option<f64>) -> Option<&'static Module> {
    let named = named(identity);
    if let [only] = named.as_slice() {
        return Some(only);
    }
    let gib = memory_kib? / f64::from(1 << 20);
    let mut fits = named.into_iter().filter(|module| {
        let all = module.memory_gb.map_or(0.0, |(gb, _)| f64::from(gb));
        all / 2.0 < gib && gib <= all
    });
    let first = fits.next()?;
    fits.next().is_none().then_some(first)
}

/// The rails of this machine's module, where they are known: also where it may be one of several, which have the same.
pub fn rails_of_machine(roots: &Roots) -> Option<&'static Rails> {
    let identity = Identity::of_machine(roots)?;
    match of_machine(roots) {
        Some(module) => module.rails.as_ref(),
        None => {
            let mut named = named(&identity).into_iter();
            let first = named.next()?.rails.as_ref()?;
            named
                .all(|other| other.rails.as_ref() == Some(first))
                .then_some(first)
        }
    }
}

/// The rails of a board by the names that its sensors show, for a module that is not known: the first in the
/// table whose total can be had from them.
pub fn rails_by_names<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Option<&'static Rails> {
    let has = |wanted: &str| names.clone().any(|name| name == wanted);
    modules()
        .iter()
        .filter_map(|module| module.rails.as_ref())
        .find(|rails| {
            let total = match &rails.total {
                Total::One(rail) => has(rail),
                Total::Sum(all) => all.iter().all(|rail| has(rail)),
                Total::NotMeasured => rails.input.as_deref().is_some_and(has),
            };
            total && rails.parts.iter().all(|(rail, _)| has(rail))
        })
}

impl Rails {
    /// What a rail is to the whole, and the rail that it hangs off.
    pub fn role(&self, rail: &str) -> (RailRole, Option<String>) {
        if let Some((_, parent)) = self.within.iter().find(|(name, _)| name == rail) {
            return (RailRole::Within, Some(parent.clone()));
        }
        let role = match &self.total {
            Total::One(total) if total == rail => RailRole::Total,
            Total::Sum(all) if all.iter().any(|name| name == rail) => RailRole::Summand,
            _ if self.input.as_deref() == Some(rail) || self.carrier.iter().any(|name| name == rail) => {
                RailRole::Input
            }
            _ if self.parts.iter().any(|(name, _)| name == rail) => RailRole::Part,
            _ => RailRole::Unknown,
        };
        (role, None)
    }
}

#[cfg(test)]
mod tests;
