//! How many blocks of a kernel fit on a multiprocessor, and how often they fill the GPU.
//!
//! The limits are those of NVIDIA's "CUDA Programming Guide", table "Technical Specifications per Compute Capability" (and
//! `cuda/__device/arch_traits.h` of NVIDIA's CCCL, which has the same numbers from 7.5 on); how registers and shared memory
//! are set aside is that of `cuda_occupancy.h` of the CUDA Toolkit. The occupancy is the theoretical one: it assumes the
//! largest part of the cache that may be shared memory, and says nothing of what was reached.

use std::collections::BTreeMap;

use crate::record::activity::Launch;
use crate::record::{compute_capability_fact, multiprocessors_fact};

/// Threads of a warp, 32-bit registers of a multiprocessor, and its parts that share them evenly.
const WARP: u32 = 32;
const REGISTERS: u32 = 65_536;
const PARTS: u32 = 4;
/// Registers are set aside for a warp in steps of this many.
const REGISTER_STEP: u32 = 256;
/// The most threads of a block, and registers of a thread.
const MOST_THREADS: u32 = 1024;
const MOST_REGISTERS: u32 = 255;

/// A multiprocessor of one compute capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Multiprocessor {
    warps: u32,
    blocks: u32,
    shared_bytes: u32,
    /// Shared memory that each block takes beside its own.
    reserved_bytes: u32,
    shared_step: u32,
    /// How many of them the GPU has.
    count: u32,
}

/// How a kernel fills the GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Filled {
    /// Warps that fit ÷ warps that could.
    pub(super) occupancy: f64,
    pub(super) limited_by: &'static str,
    /// None for clusters: how many of them fit depends on more than a multiprocessor.
    pub(super) waves: Option<f64>,
}

/// The multiprocessors of a GPU by the facts of the manifest, else what is missing.
pub(super) fn of_machine(machine: &BTreeMap<String, String>, gpu: u16) -> Result<Multiprocessor, String> {
    let (capability, count) = (compute_capability_fact(gpu), multiprocessors_fact(gpu));
    let (Some(of), Some(many)) = (machine.get(&capability), machine.get(&count)) else {
        return Err(format!(
            "needs the facts `{capability}` and `{count}` of the run's machine"
        ));
    };
    let many: u32 = many
        .parse()
        .ok()
        .filter(|many| *many > 0)
        .ok_or_else(|| format!("needs a number of multiprocessors in `{count}`, not `{many}`"))?;
    Multiprocessor::of(of, many)
        .ok_or_else(|| format!("needs the limits of compute capability {of}, which are not known here"))
}

impl Multiprocessor {
    fn of(capability: &str, count: u32) -> Option<Multiprocessor> {
        let (warps, blocks, shared_kib) = match capability {
            "7.0" | "7.2" => (64, 32, 96),
            "7.5" => (32, 16, 64),
            "8.0" => (64, 32, 164),
            "8.6" => (48, 16, 100),
            "8.7" => (48, 16, 164),
            "8.9" => (48, 24, 100),
            "9.0" | "10.0" | "10.3" => (64, 32, 228),
            // 10.1 is what 11.0 was called before CUDA 13.
            "10.1" | "11.0" => (48, 24, 228),
            "12.0" | "12.1" => (48, 24, 100),
            _ => return None,
        };
        let old = capability.starts_with('7');
        Some(Multiprocessor {
            warps,
            blocks,
            shared_bytes: shared_kib * 1024,
            reserved_bytes: if old { 0 } else { 1024 },
            shared_step: if old { 256 } else { 128 },
            count,
        })
    }

    /// Of a launch that this GPU can run; none of another.
    pub(super) fn filled(&self, launch: &Launch) -> Option<Filled> {
        let product = |[x, y, z]: [u32; 3]| u64::from(x) * u64::from(y) * u64::from(z);
        let threads = u32::try_from(product(launch.block)).ok()?;
        if !(1..=MOST_THREADS).contains(&threads) || launch.registers > MOST_REGISTERS {
            return None;
        }
        let warps = threads.div_ceil(WARP);
        let registers_of_warp = (launch.registers * WARP).next_multiple_of(REGISTER_STEP);
        let shared = launch
            .static_shared_bytes
            .checked_add(launch.dynamic_shared_bytes)?;
        let shared = shared
            .checked_add(self.reserved_bytes)?
            .checked_next_multiple_of(self.shared_step)?;
        let by_registers = (REGISTERS / PARTS).checked_div(registers_of_warp);
        let limits = [
            (self.warps / warps, "warps"),
            (self.blocks, "blocks"),
            (
                by_registers.map_or(u32::MAX, |each| each * PARTS / warps),
                "registers",
            ),
            (
                self.shared_bytes.checked_div(shared).unwrap_or(u32::MAX),
                "shared memory",
            ),
        ];
        let (fit, limited_by) = limits
            .into_iter()
            .min_by_key(|(fit, _)| *fit)
            .filter(|(fit, _)| *fit > 0)?;
        let clustered = product(launch.cluster) > 1;
        let at_once = f64::from(fit) * f64::from(self.count);
        Some(Filled {
            occupancy: f64::from(fit * warps) / f64::from(self.warps),
            limited_by,
            waves: (!clustered).then(|| product(launch.grid) as f64 / at_once),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(grid: u32, block: u32, registers: u32, shared: u32) -> Launch {
        Launch {
            grid: [grid, 1, 1],
            block: [block, 1, 1],
            registers,
            static_shared_bytes: shared,
            ..Launch::default()
        }
    }

    fn filled(capability: &str, launch: Launch) -> (f64, &'static str) {
        let filled = Multiprocessor::of(capability, 100)
            .unwrap()
            .filled(&launch)
            .unwrap();
        (filled.occupancy, filled.limited_by)
    }

    #[test]
    fn the_scarcest_resource_limits() {
        // 8 warps of a block: 8 blocks fill 64 warps.
        assert_eq!(filled("9.0", launch(1, 256, 32, 0)), (1.0, "warps"));
        // 32 blocks of one warp each.
        assert_eq!(filled("9.0", launch(1, 32, 32, 0)), (0.5, "blocks"));
        // 128 registers: 4096 a warp, 4 warps in each quarter, 16 in all, two blocks of 8.
        assert_eq!(filled("9.0", launch(1, 256, 128, 0)), (0.25, "registers"));
        // 200 registers: 6400 a warp, and of 16 384 a quarter holds two, not 2.56: 8 warps, 4 blocks of 2.
        assert_eq!(filled("8.9", launch(1, 64, 200, 0)), (8.0 / 48.0, "registers"));
        // 40 000 bytes and the 1024 reserved are 41 088 in steps of 128: two in 100 KiB.
        assert_eq!(
            filled("8.6", launch(1, 64, 16, 40_000)),
            (4.0 / 48.0, "shared memory")
        );
        // Xavier reserves none: 48 KiB twice.
        assert_eq!(filled("7.2", launch(1, 1024, 16, 49_152)), (1.0, "warps"));
        assert_eq!(filled("7.2", launch(1, 512, 16, 49_152)), (0.5, "shared memory"));
    }

    #[test]
    fn waves_are_blocks_over_those_that_fit_at_once_and_clusters_have_none() {
        let orin = Multiprocessor::of("8.7", 8).unwrap();
        // 6 blocks of 8 warps on each of 8.
        assert_eq!(orin.filled(&launch(120, 256, 32, 0)).unwrap().waves, Some(2.5));
        let clustered = Launch {
            cluster: [2, 1, 1],
            ..launch(120, 256, 32, 0)
        };
        assert_eq!(orin.filled(&clustered).unwrap().waves, None);
    }

    #[test]
    fn what_no_gpu_can_launch_has_no_occupancy() {
        let any = Multiprocessor::of("9.0", 1).unwrap();
        for wrong in [
            launch(1, 0, 32, 0),
            launch(1, 2048, 32, 0),
            launch(1, 32, 256, 0),
            launch(1, 32, 32, 300 << 10),
            launch(1, 32, 32, u32::MAX),
            launch(1, 1024, 255, 0),
        ] {
            assert_eq!(any.filled(&wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn what_is_missing_is_said() {
        let mut machine = BTreeMap::new();
        let said = |machine: &BTreeMap<String, String>| of_machine(machine, 1).unwrap_err();
        assert!(said(&machine).contains("`gpu1_compute_capability` and `gpu1_multiprocessors`"));
        machine.insert("gpu1_compute_capability".to_owned(), "9.9".to_owned());
        machine.insert("gpu1_multiprocessors".to_owned(), "many".to_owned());
        assert!(said(&machine).contains("`many`"));
        machine.insert("gpu1_multiprocessors".to_owned(), "132".to_owned());
        assert!(said(&machine).contains("9.9"));
        machine.insert("gpu1_compute_capability".to_owned(), "9.0".to_owned());
        assert_eq!(of_machine(&machine, 1).unwrap().count, 132);
    }
}
