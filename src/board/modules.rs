//! What is known of NVIDIA's Jetson modules: the table of jetson/boards.ron, which the binary carries.
//!
//! Every figure stands with its source. What a module does at this moment (its power mode, its clocks) is not
//! here: that is read from the machine.

use std::sync::LazyLock;

use serde::Deserialize;

use super::Roots;
use crate::record::RailRole;

/// jetson/boards.ron.
const TABLE: &str = include_str!("../../jetson/boards.ron");

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

/// One module.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Module {
    /// NVIDIA's name.
    pub name: String,
    /// Its part numbers: `p3701-0005`.
    pub parts: Vec<String>,
    /// Its chip: `tegra234`.
    pub soc: String,
    /// The architecture of its GPU.
    pub gpu: String,
    /// CUDA's number for it.
    pub compute_capability: String,
    /// CUDA cores.
    pub cuda_cores: Sourced<u32>,
    /// Streaming multiprocessors.
    pub sms: Sourced<u32>,
    /// Tensor cores, as marketed.
    pub tensor_cores: Sourced<u32>,
    /// Deep-learning accelerators.
    pub dlas: Sourced<u32>,
    /// Highest clock of the GPU, MHz.
    pub gpu_mhz: Sourced<f64>,
    /// The processor.
    pub cpu: String,
    /// Its cores.
    pub cpu_cores: Sourced<u32>,
    /// Highest clock of the processor, MHz.
    pub cpu_mhz: Sourced<f64>,
    /// Memory, GB.
    pub memory_gb: Sourced<u32>,
    /// Width of the memory bus, bits.
    pub bus_bits: Sourced<u32>,
    /// Highest clock of the memory controller, MHz.
    pub emc_mhz: Sourced<f64>,
    /// Peak rate of the memory at that clock, GB/s (10⁹).
    pub bandwidth_gb_s: Sourced<f64>,
    /// From the smallest to the largest power mode, W.
    pub watts: Sourced<(f64, f64)>,
    /// Peak rates of the GPU at `gpu_mhz`.
    pub peaks: Peaks,
    /// The same before the "Super" releases raised the clocks.
    #[serde(default)]
    pub before_super: Option<BeforeSuper>,
    /// Power modes, as far as they are known.
    #[serde(default)]
    pub modes: Vec<PowerMode>,
    /// Power rails.
    pub rails: Rails,
    /// What to mind.
    #[serde(default)]
    pub notes: Vec<String>,
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

/// Clocks and peaks of Orin Nano and Orin NX up to L4T 36.3.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "as in Module")]
pub struct BeforeSuper {
    pub gpu_mhz: Sourced<f64>,
    pub emc_mhz: Sourced<f64>,
    pub bandwidth_gb_s: Sourced<f64>,
    pub peaks: Peaks,
}

/// One power mode: a preset of clocks and cores.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerMode {
    /// nvpmodel's number; it has no common meaning over modules.
    pub id: u32,
    /// nvpmodel's name.
    pub name: String,
    /// The power that the preset is named after, W; not a limit.
    #[serde(default)]
    pub watts: Option<Sourced<f64>>,
    /// Whether the module starts in it.
    #[serde(default)]
    pub default: bool,
    /// Cap of the GPU's clock as configured, MHz.
    #[serde(default)]
    pub gpu_mhz: Option<Sourced<f64>>,
    /// The cap that is in force, where the configured one is not in the table of clocks, MHz.
    #[serde(default)]
    pub gpu_in_force_mhz: Option<Sourced<f64>>,
    /// Cap of the memory controller, MHz.
    #[serde(default)]
    pub emc_mhz: Option<Sourced<f64>>,
    /// Cap of the processor's clock, MHz.
    #[serde(default)]
    pub cpu_mhz: Option<Sourced<f64>>,
    /// Cores that are on.
    #[serde(default)]
    pub cpu_cores: Option<Sourced<u32>>,
    /// Streaming multiprocessors that are on.
    #[serde(default)]
    pub active_sms: Option<Sourced<u32>>,
    /// Published sparse INT8 rate of the GPU, TOPS.
    #[serde(default)]
    pub gpu_sparse_tops: Option<Sourced<f64>>,
    /// Published sparse INT8 rate of both DLAs, TOPS.
    #[serde(default)]
    pub dla_sparse_tops: Option<Sourced<f64>>,
    /// Where the number and the name come from.
    pub source: Origin,
}

/// The power rails of a module.
#[derive(Clone, Debug, Deserialize)]
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

static MODULES: LazyLock<Result<Vec<Module>, String>> = LazyLock::new(|| {
    let options =
        ron::Options::default().with_default_extension(ron::extensions::Extensions::UNWRAP_NEWTYPES);
    options.from_str(TABLE).map_err(|error| error.to_string())
});

/// All modules of the table.
pub fn modules() -> &'static [Module] {
    // The table is part of the binary and tests load it; were it damaged, nothing would be known.
    MODULES.as_deref().unwrap_or_default()
}

/// The module of a part number such as `p3701-0005`; kits and revisions that the table does not list are taken
/// for the first module of the same number.
pub fn find(part: &str) -> Option<&'static Module> {
    // Some releases add a word: `p3767-0005-super`.
    let part = part.get(..10).unwrap_or(part);
    // The device tree of Nano kits up to R32 names only the kit; the 2GB kit has no power rails.
    let part = match part {
        "p3450-0000" | "p3449-0000" => "p3448-0000",
        other => other,
    };
    let exact = modules().iter().find(|m| m.parts.iter().any(|p| p == part));
    exact.or_else(|| {
        let family = part.split_once('-').map_or(part, |(number, _)| number);
        // Several modules share a number where the revision decides: then none is better than a wrong one.
        let mut same = modules()
            .iter()
            .filter(|m| m.parts.iter().any(|p| p.split('-').next() == Some(family)));
        let first = same.next()?;
        same.next().is_none().then_some(first)
    })
}

/// This machine's module, by its device tree.
pub fn of_machine(roots: &Roots) -> Option<&'static Module> {
    super::facts::module(roots).as_deref().and_then(find)
}

/// The rails of a board by the names that its sensors show, for a module that is not known: the first in the
/// table whose total can be had from them.
pub fn rails_by_names<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Option<&'static Rails> {
    let has = |wanted: &str| names.clone().any(|name| name == wanted);
    modules().iter().map(|module| &module.rails).find(|rails| {
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
mod tests {
    use super::*;

    #[test]
    fn the_table_in_the_binary_is_whole() {
        MODULES.as_ref().unwrap();
        assert_eq!(modules().len(), 14);
        for module in modules() {
            let name = &module.name;
            assert!(module.parts.iter().all(|p| p.starts_with('p')), "{name}");
            assert!(module.watts.0.0 < module.watts.0.1, "{name}");
            let ids: std::collections::HashSet<u32> = module.modes.iter().map(|m| m.id).collect();
            assert_eq!(ids.len(), module.modes.len(), "{name}: a mode twice");
            assert!(module.modes.iter().filter(|m| m.default).count() <= 1, "{name}");
        }
    }

    #[test]
    fn derived_peaks_follow_from_the_figures_before_them() {
        let close = |a: f64, b: f64| (a - b).abs() <= 0.01 * b.max(0.05);
        for module in modules() {
            let name = &module.name;
            let mhz = module.gpu_mhz.0;
            let fp32 = f64::from(module.cuda_cores.0) * 2.0 * mhz / 1e6;
            assert!(close(module.peaks.fp32_tflops.0, fp32), "{name}: {fp32}");
            let per_sm = match module.compute_capability.as_str() {
                "7.2" => 1024.0,
                "8.7" => 2048.0,
                "11.0" => 8192.0,
                _ => 0.0,
            };
            let fp16 = match per_sm {
                0.0 => 2.0 * fp32,
                rate => f64::from(module.sms.0) * rate * mhz / 1e6,
            };
            assert!(close(module.peaks.fp16_tflops.0, fp16), "{name}: {fp16}");
            if let Some((int8, _)) = module.peaks.int8_tops {
                assert!(close(int8, 2.0 * fp16), "{name}: {int8}");
            }
            let bandwidth = f64::from(module.bus_bits.0) / 8.0 * module.emc_mhz.0 * 2.0 / 1e3;
            assert!(close(module.bandwidth_gb_s.0, bandwidth), "{name}: {bandwidth}");
        }
    }

    #[test]
    fn every_rail_of_a_sum_feeds_something_and_rails_within_others_are_no_summands() {
        for module in modules() {
            let rails = &module.rails;
            if let Total::Sum(all) = &rails.total {
                for rail in all {
                    assert!(
                        rails.parts.iter().any(|(name, _)| name == rail),
                        "{}: {rail}",
                        module.name
                    );
                    assert_eq!(rails.role(rail).0, RailRole::Summand);
                }
            }
            for (rail, parent) in &rails.within {
                assert_eq!(rails.role(rail), (RailRole::Within, Some(parent.clone())));
                assert!(rails.parts.iter().any(|(name, _)| name == parent));
            }
        }
        let orin = find("p3701-0005").unwrap();
        assert_eq!(orin.rails.role("VDDQ_VDD2_1V8AO").0, RailRole::Within);
        assert_eq!(orin.rails.role("VDD_NEW").0, RailRole::Unknown);
        assert_eq!(find("p3834-0008").unwrap().rails.role("VIN").0, RailRole::Input);
        assert_eq!(
            find("p3310-1000").unwrap().rails.role("VDD_MUX").0,
            RailRole::Input
        );
    }

    #[test]
    fn modules_are_found_by_part_number_and_not_guessed_where_the_revision_decides() {
        assert_eq!(find("p3767-0003").unwrap().name, find("p3767-0005").unwrap().name);
        assert!(find("p3767-9999").is_none(), "NX or Nano, 4 to 16 GB");
        assert!(find("p3668-9999").is_some(), "all of that number are Xavier NX");
        assert!(find("p9999-0000").is_none());
        assert_eq!(find("p3767-0005-super").unwrap().parts[1], "p3767-0005");
        assert_eq!(find("p3450-0000").unwrap().parts[0], "p3448-0000");
    }

    #[test]
    fn a_board_that_is_not_known_is_read_by_the_names_of_its_rails() {
        let names = ["VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0", "VDDQ_VDD2_1V8AO"];
        let rails = rails_by_names(names.into_iter()).unwrap();
        assert_eq!(rails.role("VDD_CPU_CV").0, RailRole::Summand);
        assert!(rails_by_names(["VDD_SOMETHING"].into_iter()).is_none());
    }
}
