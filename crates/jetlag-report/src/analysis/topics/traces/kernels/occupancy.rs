//! How many blocks of a kernel fit on a multiprocessor, and how often they fill the GPU.
//!
//! The limits are those that the tracer reads of the device; where it does not say, those of NVIDIA's "CUDA Programming Guide",
//! table "Technical Specifications per Compute Capability" (`cuda/__device/arch_traits.h` of NVIDIA's CCCL has the same numbers
//! from 7.5 on). How registers and shared memory are set aside is that of `cuda_occupancy.h` of the CUDA Toolkit. The occupancy is
//! the theoretical one: it assumes the largest part of the cache that may be shared memory, and says nothing of what was reached.

use crate::record::activity::{Launch, TracedDevice};

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
    registers: u32,
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

/// The multiprocessors of a GPU as the tracer described it, else what is missing.
pub(super) fn of_device<'a>(
    mut devices: impl Iterator<Item = &'a TracedDevice>,
    gpu: u16,
) -> Result<Multiprocessor, String> {
    let Some(device) = devices.find(|device| device.device == gpu) else {
        return Err(format!(
            "needs the tracer's description of GPU {gpu}, which the run file does not have"
        ));
    };
    Multiprocessor::of(device).ok_or_else(|| {
        format!(
            "needs the limits of a multiprocessor of {}, compute capability {}.{}, which are not known here",
            device.name,
            device.capability / 10,
            device.capability % 10
        )
    })
}

/// Warps and blocks that a multiprocessor holds, and its shared memory in KiB, by compute capability: 87 is 8.7.
fn known(capability: u32) -> Option<(u32, u32, u32)> {
    Some(match capability {
        70 | 72 => (64, 32, 96),
        75 => (32, 16, 64),
        80 => (64, 32, 164),
        86 => (48, 16, 100),
        87 => (48, 16, 164),
        89 => (48, 24, 100),
        90 | 100 | 103 => (64, 32, 228),
        // 10.1 is what 11.0 was called before CUDA 13.
        101 | 110 => (48, 24, 228),
        120 | 121 => (48, 24, 100),
        _ => return None,
    })
}

impl Multiprocessor {
    fn of(device: &TracedDevice) -> Option<Multiprocessor> {
        let stated = |value: u32| (value > 0).then_some(value);
        let known = known(device.capability);
        // How memory is set aside is known of these alone; a newer one may do it in another way.
        let old = device.capability < 80;
        if !(70..130).contains(&device.capability) || !matches!(device.warp_threads, 0 | WARP) {
            return None;
        }
        Some(Multiprocessor {
            warps: stated(device.most_warps).or(known.map(|(warps, ..)| warps))?,
            blocks: stated(device.most_blocks).or(known.map(|(_, blocks, _)| blocks))?,
            registers: stated(device.registers).unwrap_or(REGISTERS),
            shared_bytes: stated(device.shared_bytes).or(known.map(|(.., kib)| kib * 1024))?,
            reserved_bytes: if old { 0 } else { 1024 },
            shared_step: if old { 256 } else { 128 },
            count: stated(device.multiprocessors)?,
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
        let by_registers = (self.registers / PARTS).checked_div(registers_of_warp);
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

    fn device(capability: u32, multiprocessors: u32) -> TracedDevice {
        TracedDevice {
            name: "made".to_owned(),
            capability,
            multiprocessors,
            ..TracedDevice::default()
        }
    }

    fn filled(capability: u32, launch: Launch) -> (f64, &'static str) {
        let multiprocessor = Multiprocessor::of(&device(capability, 100)).unwrap();
        let filled = multiprocessor.filled(&launch).unwrap();
        (filled.occupancy, filled.limited_by)
    }

    #[test]
    fn the_scarcest_resource_limits() {
        // 8 warps of a block: 8 blocks fill 64 warps.
        assert_eq!(filled(90, launch(1, 256, 32, 0)), (1.0, "warps"));
        // 32 blocks of one warp each.
        assert_eq!(filled(90, launch(1, 32, 32, 0)), (0.5, "blocks"));
        // 128 registers: 4096 a warp, 4 warps in each quarter, 16 in all, two blocks of 8.
        assert_eq!(filled(90, launch(1, 256, 128, 0)), (0.25, "registers"));
        // 200 registers: 6400 a warp, and of 16 384 a quarter holds two, not 2.56: 8 warps, 4 blocks of 2.
        assert_eq!(filled(89, launch(1, 64, 200, 0)), (8.0 / 48.0, "registers"));
        // 40 000 bytes and the 1024 reserved are 41 088 in steps of 128: two in 100 KiB.
        assert_eq!(
            filled(86, launch(1, 64, 16, 40_000)),
            (4.0 / 48.0, "shared memory")
        );
        // Xavier reserves none: 48 KiB twice.
        assert_eq!(filled(72, launch(1, 1024, 16, 49_152)), (1.0, "warps"));
        assert_eq!(filled(72, launch(1, 512, 16, 49_152)), (0.5, "shared memory"));
    }

    #[test]
    fn waves_are_blocks_over_those_that_fit_at_once_and_clusters_have_none() {
        let orin = Multiprocessor::of(&device(87, 8)).unwrap();
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
        let any = Multiprocessor::of(&device(90, 1)).unwrap();
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
    fn what_the_tracer_says_comes_before_the_table_and_what_is_missing_is_said() {
        let mut devices = vec![device(90, 132)];
        let said = |devices: &[TracedDevice], gpu| of_device(devices.iter(), gpu);
        assert!(said(&devices, 1).is_err());
        assert_eq!(
            said(&devices, 0).map(|found| (found.warps, found.count)),
            Ok((64, 132))
        );
        (devices[0].most_warps, devices[0].shared_bytes) = (32, 4096);
        assert_eq!(
            said(&devices, 0).map(|found| (found.warps, found.shared_bytes)),
            Ok((32, 4096))
        );
        for unknown in [
            device(95, 132),
            device(200, 132),
            device(90, 0),
            TracedDevice {
                warp_threads: 64,
                ..device(90, 1)
            },
        ] {
            assert!(said(&[unknown], 0).is_err());
        }
        // A new one whose limits the tracer tells.
        let told = TracedDevice {
            most_warps: 48,
            most_blocks: 24,
            shared_bytes: 100 << 10,
            ..device(95, 10)
        };
        assert!(said(&[told], 0).is_ok());
    }
}
