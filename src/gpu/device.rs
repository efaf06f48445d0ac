//! The CUDA devices of this machine, as the driver describes them.

use cudarc::driver::{result, sys};

use crate::units::Bytes;

/// What the driver says of one CUDA device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// The driver's number for it.
    pub ordinal: u16,
    /// Product name, as the driver gives it.
    pub name: String,
    /// Compute capability, as 87 for 8.7.
    pub compute_capability: u16,
    /// Streaming multiprocessors that are on: on a Jetson the power mode decides.
    pub multiprocessors: u32,
    /// Whether it shares its memory with the processor (Jetson).
    pub is_integrated: bool,
    /// The newest CUDA that the driver serves, as 12040 for 12.4.
    pub driver_cuda: i32,
}

/// Why the devices could not be listed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GpuError {
    /// The driver library cannot be loaded.
    #[error("there is no CUDA driver (libcuda.so.1) on this machine")]
    NoDriver,
    /// A driver without a device, or one that fails.
    #[error("the CUDA driver failed at {call}: {problem}")]
    Driver {
        /// Name of the driver function that failed.
        call: &'static str,
        /// Its error, by name.
        problem: String,
    },
    /// A driver that lists no device.
    #[error("the CUDA driver lists no device")]
    NoDevice,
    /// A number beyond the devices that there are.
    #[error("GPU {ordinal} does not exist: the driver lists {found}, numbered from 0")]
    NoSuchDevice {
        /// The number asked for.
        ordinal: u16,
        /// How many there are.
        found: usize,
    },
    /// The device's memory is full.
    #[error(
        "not enough GPU memory for {}{}; use fewer tenants, a smaller `depth` or `context_memory: Shared`",
        Bytes(*wanted), free.map_or(String::new(), |free| format!(" ({} are free)", Bytes(free)))
    )]
    OutOfMemory {
        /// Bytes that were requested.
        wanted: u64,
        /// Bytes free, where the driver tells.
        free: Option<u64>,
    },
    /// The host has no more memory that can be pinned.
    #[error(
        "not enough host memory for {} of pinned memory (an integrated GPU shares it); use fewer tenants or a smaller `depth`", Bytes(*wanted)
    )]
    PinnedFull {
        /// Bytes that were requested.
        wanted: u64,
    },
    /// The device has no room for one more program.
    #[error(
        "not enough GPU memory for another process's context; use fewer `processes`, or stop other programs"
    )]
    NoRoomForContext,
    /// A kernel's memory that is smaller than the kernel needs.
    #[error("{what} have {found} bytes, but {wanted} are needed")]
    TooSmall {
        /// What is too small.
        what: &'static str,
        /// Bytes that are needed.
        wanted: u64,
        /// Bytes that there are.
        found: u64,
    },
    /// A driver older than what is asked of it.
    #[error(
        "{what} needs a driver for CUDA {}, but this one supports {}; update the driver or use another sharing mode",
        version(*needs), version(*found)
    )]
    TooOld {
        /// What was requested, such as green contexts.
        what: &'static str,
        /// Since which CUDA there is such a thing, as 12040 for 12.4.
        needs: i32,
        /// What the driver serves.
        found: i32,
    },
    /// More partitions than the device can be divided into.
    #[error("the GPU divides into {found} groups of multiprocessors, but {wanted} partitions are needed")]
    TooFewGroups {
        /// Number of partitions that were requested.
        wanted: usize,
        /// Groups that there are.
        found: usize,
    },
    /// The device does not come to an end.
    #[error("the GPU did not finish within {} s (`watchdog`); it hangs, or the limit is too short", limit.as_secs_f64())]
    Hangs {
        /// The time limit that was reached (`watchdog`).
        limit: std::time::Duration,
    },
    /// No thread for the clock's calibration.
    #[error("cannot start a thread: {problem}")]
    NoThread {
        /// What the system said.
        problem: String,
    },
}

/// The version in the usual form: `12.4` for 12040.
fn version(number: i32) -> String {
    format!("{}.{}", number / 1000, number % 1000 / 10)
}

/// All devices, in the driver's order.
///
/// # Errors
/// There is no driver, no device, or the driver fails.
pub fn devices() -> Result<Vec<Device>, GpuError> {
    super::driver::load();
    // SAFETY: opens libcuda and looks; nothing is called.
    if !unsafe { sys::is_culib_present() } {
        return Err(GpuError::NoDriver);
    }
    result::init().map_err(driver_failed("cuInit"))?;
    let mut driver_cuda = 0;
    // SAFETY: writes one number.
    let _ = unsafe { sys::cuDriverGetVersion(&raw mut driver_cuda) };
    let count = result::device::get_count().map_err(driver_failed("cuDeviceGetCount"))?;
    let count = u16::try_from(count).unwrap_or(0);
    let mut devices = Vec::new();
    for ordinal in 0..count {
        let device = result::device::get(i32::from(ordinal)).map_err(driver_failed("cuDeviceGet"))?;
        let attribute = |attribute| {
            // SAFETY: the device was given by the driver just now.
            unsafe { result::device::get_attribute(device, attribute) }
                .map_err(driver_failed("cuDeviceGetAttribute"))
        };
        let major = attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        devices.push(Device {
            ordinal,
            name: result::device::get_name(device).map_err(driver_failed("cuDeviceGetName"))?,
            compute_capability: u16::try_from(major * 10 + minor).unwrap_or(0),
            multiprocessors: u32::try_from(attribute(
                sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
            )?)
            .unwrap_or(0),
            is_integrated: attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_INTEGRATED)? != 0,
            driver_cuda,
        });
    }
    Ok(devices)
}

/// The driver's error at a call.
pub(super) fn driver_failed(call: &'static str) -> impl Fn(result::DriverError) -> GpuError {
    move |error| GpuError::Driver {
        call,
        problem: format!("{:?}", error.0),
    }
}

/// The device that is used when none is named.
///
/// # Errors
/// As [`devices`], and if there is none.
pub fn first() -> Result<Device, GpuError> {
    devices()?.into_iter().next().ok_or(GpuError::NoDevice)
}

/// The device of a number.
///
/// # Errors
/// As [`devices`], and if there are not so many.
pub fn numbered(ordinal: u16) -> Result<Device, GpuError> {
    let devices = devices()?;
    let found = devices.len();
    let mut devices = devices.into_iter();
    devices
        .find(|device| device.ordinal == ordinal)
        .ok_or(match found {
            0 => GpuError::NoDevice,
            _ => GpuError::NoSuchDevice { ordinal, found },
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_driver_the_answer_is_an_error_and_no_panic() {
        let nodes = ["/dev/nvidia0", "/dev/nvhost-gpu"];
        let has_gpu = nodes.iter().any(|node| std::path::Path::new(node).exists());
        match first() {
            Ok(_) => assert!(has_gpu),
            Err(GpuError::NoDriver | GpuError::Driver { .. } | GpuError::NoDevice) => {}
            Err(other) => panic!("{other}"),
        }
    }
}
