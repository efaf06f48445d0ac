//! What a GPU reaches at most, measured.
//!
//! - **fp32, tf32, fp16, int8**: square matrix products by cuBLAS, NVIDIA's own library; of several sizes the fastest. Where cuBLAS
//!   is not there, fp32 by multiply-adds in registers, and the others not at all.
//! - **memory**: copies from one block to another by the driver, bytes read and written; both are four times the second-level
//!   cache or more. **L2**: reads of a block of at most half of it.
//! - **copies**: the same within the device, and between it and pinned memory of the host.
//!
//! The device's own stamps are around rounds of 10 ms or longer; each figure is that of the shortest round.

use std::sync::Arc;
use std::time::Duration;

use jetlag_stats::random::SplitMix64;

use super::{DevicePeak, DeviceRate, OfDevice};
use crate::backend::gpu::{KernelError, kernels};
use crate::clock::{Clock, RealClock};
use crate::gpu::{
    Blas, BlasError, CopyLoad, DeviceMemory, Event, Gpu, GpuError, LOAD, Load, LoadKernel, Module, Numbers,
    Stream, Sync, Way,
};
use crate::units::Nanos;

/// A round takes at least this long, so that the stamps' steps and the host's pace do not count.
const ROUND: Nanos = Nanos::from_millis(10);
/// As few rounds as one counts of.
const LEAST: u32 = 3;
/// A round that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(60);
/// Rows of the matrices that are tried: which is fastest depends on the number of multiprocessors.
const SIZES: [u16; 4] = [1024, 2048, 4096, 8192];
/// The first compute capability that has TF32.
const TF32_FROM: u16 = 80;
/// With 0, NVIDIA's libraries do without TF32.
const TF32_OVERRIDE: &str = "NVIDIA_TF32_OVERRIDE";
/// Matrices take no more than this part of the memory that is free.
const PART_OF_MEMORY: u64 = 4;

/// Why there are no ceilings of the GPU.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// There is no GPU, or it fails.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// cuBLAS fails.
    #[error(transparent)]
    Blas(#[from] BlasError),
    /// Neither cuBLAS nor NVRTC is there.
    #[error("no peak of arithmetic can be measured: {blas}. And {kernels}")]
    NoArithmetic {
        /// What is wrong with cuBLAS.
        blas: Box<BlasError>,
        /// What is wrong with our own kernels.
        kernels: Box<KernelError>,
    },
}

/// Measures the GPU of this number, each figure for so long.
///
/// # Errors
/// There is no such GPU, it fails, or neither cuBLAS nor NVRTC is there.
pub fn of_device(ordinal: u16, each: Nanos) -> Result<OfDevice, DeviceError> {
    let gpu = Gpu::open(ordinal)?;
    let bench = Bench {
        stream: Stream::new(&gpu, 0)?,
        begun: Event::new(&gpu)?,
        done: Event::new(&gpu)?,
        each,
    };
    let mut missing = Vec::new();
    let (peaks, module) = match (Blas::find(&gpu), kernels(&gpu, LOAD)) {
        (Ok(mut blas), module) => {
            let peaks = products(&bench, &gpu, &mut blas, &mut missing)?;
            let unmeasured = |problem| missing.push(format!("L2 is not measured: {problem}."));
            (peaks, module.map_err(unmeasured).ok())
        }
        (Err(problem), Ok(module)) => {
            missing.push(format!("tf32, fp16 and int8 are not measured: {problem}."));
            (vec![registers(&bench, &module)?], Some(module))
        }
        (Err(blas), Err(kernels)) => {
            return Err(DeviceError::NoArithmetic {
                blas: Box::new(blas),
                kernels: Box::new(kernels),
            });
        }
    };
    let within = bench.copies(&gpu, Way::Within)?;
    // As fast as the driver copies: a kernel of our own found part of its blocks in the cache, and was above the data sheet.
    let mut bandwidths = vec![DeviceRate {
        name: "memory".to_owned(),
        ..within.clone()
    }];
    if let Some(module) = &module {
        bandwidths.push(bench.cache(module)?);
    }
    let copies = vec![
        within,
        bench.copies(&gpu, Way::ToDevice)?,
        bench.copies(&gpu, Way::FromDevice)?,
    ];
    Ok(OfDevice {
        name: gpu.device().name.clone(),
        peaks,
        bandwidths,
        copies,
        missing,
    })
}

/// Peaks by cuBLAS; what the device does not compute with is `missing`.
fn products(
    bench: &Bench,
    gpu: &Arc<Gpu>,
    blas: &mut Blas,
    missing: &mut Vec<String>,
) -> Result<Vec<DevicePeak>, DeviceError> {
    let mut peaks: Vec<DevicePeak> = Vec::new();
    let has_tf32 = gpu.device().compute_capability >= TF32_FROM;
    let is_forbidden = std::env::var_os(TF32_OVERRIDE).is_some_and(|value| value == "0");
    for (precision, ways) in [
        ("fp32", &[(Numbers::Fp32, "")][..]),
        ("tf32", &[(Numbers::Tf32, "")]),
        (
            "fp16",
            &[
                (Numbers::Fp16, ", sums of 32 bits"),
                (Numbers::Fp16Sums16, ", sums of 16 bits"),
            ],
        ),
        ("int8", &[(Numbers::Int8, ", sums of 32 bits")]),
    ] {
        // cuBLAS would answer with a product in fp32.
        if precision == "tf32" && (!has_tf32 || is_forbidden) {
            missing.push(match has_tf32 {
                true => format!(
                    "tf32 is not measured: {TF32_OVERRIDE} is 0, so that libraries compute without it."
                ),
                false => "tf32 is not measured: GPUs have it from compute capability 8.0 on.".to_owned(),
            });
            continue;
        }
        let mut best: Option<DevicePeak> = None;
        for (numbers, sums) in ways {
            match bench.products(gpu, blas, *numbers) {
                Ok((size, flops_per_s)) => {
                    if best.as_ref().is_none_or(|best| flops_per_s > best.flops_per_s) {
                        best = Some(DevicePeak {
                            precision,
                            flops_per_s,
                            how: format!(
                                "product of two {size} x {size} matrices, cuBLAS {}{sums}",
                                blas.version()
                            ),
                        });
                    }
                }
                Err(BlasError::NotSupported { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        match best {
            Some(best) => peaks.push(best),
            None => missing.push(format!(
                "{precision} is not measured: cuBLAS {} has no such product for this device.",
                blas.version()
            )),
        }
    }
    Ok(peaks)
}

/// fp32 where there is no cuBLAS.
fn registers(bench: &Bench, module: &Arc<Module>) -> Result<DevicePeak, GpuError> {
    let load = LoadKernel::new(module, Load::Compute)?;
    let rounds_per_s = bench.fastest(bench.each, 1024, |count| load.launch(&bench.stream, count))?;
    // Of 1024 rounds, so that nothing is lost to whole numbers.
    let operations = load.operations(1024).unwrap_or_default() as f64 / 1024.0;
    Ok(DevicePeak {
        precision: "fp32",
        flops_per_s: rounds_per_s * operations,
        how: "multiply-adds in registers".to_owned(),
    })
}

/// A stream with nothing else in it, and the stamps around rounds of it.
struct Bench {
    stream: Stream,
    begun: Event,
    done: Event,
    each: Nanos,
}

impl Bench {
    /// Units of work a second, in the shortest round.
    fn fastest<E: From<GpuError>>(
        &self,
        within: Nanos,
        first: u64,
        mut enqueue: impl FnMut(u64) -> Result<(), E>,
    ) -> Result<f64, E> {
        let (mut count, mut rounds, mut best) = (first.max(1), 0, 0.0_f64);
        let began = RealClock.now();
        loop {
            self.stream.record(&self.begun)?;
            enqueue(count)?;
            self.stream.record(&self.done)?;
            self.done.wait(Sync::Block, LIMIT)?;
            let took = self.done.since(&self.begun)?.max(Nanos(1));
            if took < ROUND {
                // The first launch also loads code: no more than a leap at a time.
                let wanted = 1.2 * ROUND.0 as f64 / took.0 as f64;
                count = (count as f64 * wanted.clamp(2.0, 16.0)) as u64;
                continue;
            }
            rounds += 1;
            best = best.max(count as f64 / (took.0 as f64 / 1e9));
            if rounds >= LEAST && RealClock.now() - began > within {
                return Ok(best);
            }
        }
    }

    /// The fastest product of such numbers: its size, and operations a second.
    fn products(&self, gpu: &Arc<Gpu>, blas: &mut Blas, numbers: Numbers) -> Result<(u16, f64), BlasError> {
        let (of_factor, of_result) = numbers.widths();
        let bytes = |size: u16, width: usize| usize::from(size).pow(2) * width;
        let (free, _) = gpu.memory()?;
        let fits = |size: &&u16| {
            let all = 2 * bytes(**size, of_factor) + bytes(**size, of_result);
            all as u64 <= free / PART_OF_MEMORY
        };
        let largest = SIZES.iter().filter(fits).max().copied().unwrap_or(SIZES[0]);
        let content = noise(bytes(largest, of_factor), numbers);
        let factors = [
            DeviceMemory::new(gpu, content.len())?,
            DeviceMemory::new(gpu, content.len())?,
        ];
        factors.iter().try_for_each(|factor| factor.fill(&content))?;
        let result = DeviceMemory::new(gpu, bytes(largest, of_result))?;
        let sizes: Vec<u16> = SIZES.into_iter().filter(|size| *size <= largest).collect();
        let part = Nanos(self.each.0 / sizes.len() as i64);
        let mut best = (sizes[0], 0.0);
        for size in sizes {
            let per_s = self.fastest(part, 1, |count| {
                (0..count).try_for_each(|_| {
                    blas.product(&self.stream, numbers, size, [&factors[0], &factors[1]], &result)
                })
            })?;
            let flops_per_s = per_s * 2.0 * f64::from(size).powi(3);
            if flops_per_s > best.1 {
                best = (size, flops_per_s);
            }
        }
        Ok(best)
    }

    fn cache(&self, module: &Arc<Module>) -> Result<DeviceRate, GpuError> {
        let kernel = LoadKernel::new(module, Load::L2)?;
        let vectors_per_s = self.fastest(self.each, 1 << 16, |count| kernel.launch(&self.stream, count))?;
        Ok(DeviceRate {
            name: "L2".to_owned(),
            bytes_per_s: vectors_per_s * kernel.bytes(1).unwrap_or_default() as f64,
            working_set: kernel.block_bytes(),
            how: "read",
        })
    }

    fn copies(&self, gpu: &Arc<Gpu>, way: Way) -> Result<DeviceRate, GpuError> {
        let copies = CopyLoad::new(gpu, way)?;
        let each = copies.each();
        let per_s = self.fastest(self.each, 1, |count| {
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            copies.enqueue(&self.stream, each.saturating_mul(count))
        })?;
        let (name, times, how) = match way {
            Way::Within => ("copy within memory", 2.0, "bytes read and written"),
            Way::ToDevice => ("copy to the device", 1.0, "from pinned memory"),
            Way::FromDevice => ("copy to the host", 1.0, "to pinned memory"),
        };
        Ok(DeviceRate {
            name: name.to_owned(),
            bytes_per_s: per_s * each as f64 * times,
            working_set: Some(each as u64),
            how,
        })
    }
}

/// Numbers between 1/2 and 1 of either sign, or any integers: zeros would draw less power, and be multiplied at higher clocks.
fn noise(bytes: usize, numbers: Numbers) -> Vec<u8> {
    let (keep, set) = match numbers {
        Numbers::Fp32 | Numbers::Tf32 => (0x807f_ffff_807f_ffff, 0x3f00_0000_3f00_0000),
        Numbers::Fp16 | Numbers::Fp16Sums16 => (0x83ff_83ff_83ff_83ff, 0x3800_3800_3800_3800),
        Numbers::Int8 => (u64::MAX, 0),
    };
    let (mut random, mut all) = (SplitMix64::new(0), Vec::with_capacity(bytes + 8));
    while all.len() < bytes {
        all.extend_from_slice(&((random.bits() & keep) | set).to_le_bytes());
    }
    all.truncate(bytes);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_numbers_between_a_half_and_one_of_either_sign() {
        let words = noise(4096, Numbers::Fp32);
        let numbers: Vec<f32> = words
            .chunks_exact(4)
            .map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]))
            .collect();
        assert_eq!(numbers.len(), 1024);
        assert!(numbers.iter().all(|number| (0.5..1.0).contains(&number.abs())));
        let below = numbers.iter().filter(|number| **number < 0.0).count();
        assert!((400..624).contains(&below), "{below}");
        let halves = noise(10, Numbers::Fp16);
        assert!(halves.len() == 10 && halves.chunks_exact(2).all(|half| half[1] & 0x7c == 0x38));
    }
}
