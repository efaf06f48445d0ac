//! Green contexts: a share of a device's multiprocessors, which the kernels of a stream then stay in.
//!
//! The driver has them since CUDA 12.4 (their streams since 12.5), so their functions are asked for by name and
//! version, and a driver without them is an error that says so. Memory is the whole device's: a partition divides
//! multiprocessors, not bandwidth and not caches.

use std::ffi::{CStr, c_int, c_uint, c_void};
use std::sync::Arc;

use cudarc::driver::sys;

use super::{Gpu, GpuError};

/// The CUDA version whose layouts are declared here; the driver answers functions that keep to them.
const SINCE: c_int = 12_040;
const STREAMS_SINCE: c_int = 12_050;
/// `CU_DEV_RESOURCE_TYPE_SM`: the resource is multiprocessors.
const MULTIPROCESSORS: c_uint = 1;
/// `CU_GREEN_CTX_DEFAULT_STREAM`: the only way to make one.
const DEFAULT_STREAM: c_uint = 1;
/// `CU_STREAM_NON_BLOCKING`, which streams of green contexts must be.
const NON_BLOCKING: c_uint = 1;
/// More groups than any device has.
const MOST_GROUPS: usize = 256;

/// `CUdevResource` of CUDA 12.4 (144 bytes).
#[repr(C)]
#[derive(Clone, Copy)]
struct Resource {
    kind: c_uint,
    padding: [u8; 92],
    multiprocessors: c_uint,
    rest: [u8; 44],
}

const EMPTY: Resource = Resource {
    kind: 0,
    padding: [0; 92],
    multiprocessors: 0,
    rest: [0; 44],
};

type Handle = *mut c_void;

/// The driver's functions, by name.
struct Functions {
    resource: unsafe extern "C" fn(sys::CUdevice, *mut Resource, c_uint) -> sys::CUresult,
    split: unsafe extern "C" fn(
        *mut Resource,
        *mut c_uint,
        *const Resource,
        *mut Resource,
        c_uint,
        c_uint,
    ) -> sys::CUresult,
    describe: unsafe extern "C" fn(*mut Handle, *mut Resource, c_uint) -> sys::CUresult,
    create: unsafe extern "C" fn(*mut Handle, Handle, sys::CUdevice, c_uint) -> sys::CUresult,
}

type CreateStream = unsafe extern "C" fn(*mut sys::CUstream, Handle, c_uint, c_int) -> sys::CUresult;
type Destroy = unsafe extern "C" fn(Handle) -> sys::CUresult;

/// Looks a function up; `T` is its type.
fn function<T: Copy>(name: &'static CStr, since: c_int, found: c_int) -> Result<T, GpuError> {
    const { assert!(size_of::<T>() == size_of::<*mut c_void>()) };
    let missing = || GpuError::TooOld {
        what: "a partition of the GPU (green contexts)",
        // Without streams the rest is of no use.
        needs: STREAMS_SINCE,
        found,
    };
    if found < STREAMS_SINCE {
        return Err(missing());
    }
    let mut address = std::ptr::null_mut();
    // SAFETY: writes one pointer; the driver knows the function or answers an error.
    let answer = unsafe { sys::cuGetProcAddress(name.as_ptr(), &raw mut address, since, 0) };
    if answer != sys::CUresult::CUDA_SUCCESS || address.is_null() {
        return Err(missing());
    }
    // SAFETY: `T` is the function's type in the headers of CUDA `since`, and as large as a pointer.
    Ok(unsafe { std::mem::transmute_copy(&address) })
}

fn check(answer: sys::CUresult, call: &'static str) -> Result<(), GpuError> {
    match answer {
        sys::CUresult::CUDA_SUCCESS => Ok(()),
        error => Err(GpuError::Driver {
            call,
            problem: format!("{error:?}"),
        }),
    }
}

/// A share of a device's multiprocessors.
#[derive(Debug)]
pub struct Partition {
    raw: Handle,
    create_stream: CreateStream,
    destroy: Destroy,
    multiprocessors: u32,
    gpu: Arc<Gpu>,
}

// SAFETY: the driver lets any thread use a green context.
unsafe impl Send for Partition {}
// SAFETY: as above.
unsafe impl Sync for Partition {}

impl Partition {
    /// Divides a device: one partition for each share, as near to it as the device's smallest group allows, none empty,
    /// no multiprocessor in two. Shares add up to 1 or less.
    ///
    /// # Errors
    /// The driver is older than CUDA 12.5, or the device has too few groups.
    pub fn divide(gpu: &Arc<Gpu>, shares: &[f64]) -> Result<Vec<Arc<Self>>, GpuError> {
        gpu.bind()?;
        let found = gpu.device().driver_cuda;
        let functions = Functions {
            resource: function(c"cuDeviceGetDevResource", SINCE, found)?,
            split: function(c"cuDevSmResourceSplitByCount", SINCE, found)?,
            describe: function(c"cuDevResourceGenerateDesc", SINCE, found)?,
            create: function(c"cuGreenCtxCreate", SINCE, found)?,
        };
        let create_stream: CreateStream = function(c"cuGreenCtxStreamCreate", STREAMS_SINCE, found)?;
        let destroy: Destroy = function(c"cuGreenCtxDestroy", SINCE, found)?;
        let mut whole = EMPTY;
        // SAFETY: writes one resource of the layout asked for.
        check(
            unsafe { (functions.resource)(gpu.handle(), &raw mut whole, MULTIPROCESSORS) },
            "cuDeviceGetDevResource",
        )?;
        let mut groups = [EMPTY; MOST_GROUPS];
        let mut count = MOST_GROUPS as c_uint;
        // SAFETY: writes at most `count` resources. A wish of one is rounded up to the device's smallest group.
        check(
            unsafe {
                (functions.split)(
                    groups.as_mut_ptr(),
                    &raw mut count,
                    &raw const whole,
                    std::ptr::null_mut(),
                    0,
                    1,
                )
            },
            "cuDevSmResourceSplitByCount",
        )?;
        let count = (count as usize).min(MOST_GROUPS);
        let Some(wanted) = groups_of(shares, count) else {
            return Err(GpuError::TooFewGroups {
                wanted: shares.len(),
                found: count,
            });
        };
        let mut rest = &mut groups[..count];
        let mut partitions = Vec::with_capacity(wanted.len());
        for wanted in wanted {
            let (own, after) = rest.split_at_mut(wanted);
            rest = after;
            let mut description = std::ptr::null_mut();
            // SAFETY: reads the groups, which are of one split.
            check(
                unsafe { (functions.describe)(&raw mut description, own.as_mut_ptr(), own.len() as c_uint) },
                "cuDevResourceGenerateDesc",
            )?;
            let mut raw = std::ptr::null_mut();
            // SAFETY: the description was made for this device.
            check(
                unsafe { (functions.create)(&raw mut raw, description, gpu.handle(), DEFAULT_STREAM) },
                "cuGreenCtxCreate",
            )?;
            partitions.push(Arc::new(Self {
                raw,
                create_stream,
                destroy,
                multiprocessors: own.iter().map(|group| group.multiprocessors).sum(),
                gpu: Arc::clone(gpu),
            }));
        }
        Ok(partitions)
    }

    /// How many multiprocessors it has.
    pub fn multiprocessors(&self) -> u32 {
        self.multiprocessors
    }

    pub(super) fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    pub(super) fn stream(&self, priority: i32) -> Result<sys::CUstream, GpuError> {
        self.gpu.bind()?;
        let mut stream = std::ptr::null_mut();
        // SAFETY: the green context is alive.
        check(
            unsafe { (self.create_stream)(&raw mut stream, self.raw, NON_BLOCKING, priority) },
            "cuGreenCtxStreamCreate",
        )?;
        Ok(stream)
    }
}

impl Drop for Partition {
    fn drop(&mut self) {
        let _ = self.gpu.synchronize();
        // SAFETY: made by us; its streams hold it, so none is left.
        let _ = unsafe { (self.destroy)(self.raw) };
    }
}

/// How many of `count` groups each share gets: at least one, together at most all; `None` if there are too few.
fn groups_of(shares: &[f64], count: usize) -> Option<Vec<usize>> {
    if shares.len() > count {
        return None;
    }
    let mut wanted: Vec<usize> = shares
        .iter()
        .map(|share| ((share * count as f64).round() as usize).clamp(1, count))
        .collect();
    // Rounding may have given out more than there is: the largest gives back.
    while wanted.iter().sum::<usize>() > count {
        let largest = wanted.iter_mut().max_by_key(|groups| **groups)?;
        *largest -= 1;
    }
    Some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_the_headers() {
        assert_eq!(size_of::<Resource>(), 144);
        assert_eq!(std::mem::offset_of!(Resource, multiprocessors), 96);
    }

    #[test]
    fn groups_follow_the_shares_and_none_is_empty_or_given_twice() {
        assert_eq!(groups_of(&[0.5, 0.5], 16), Some(vec![8, 8]));
        assert_eq!(groups_of(&[0.75, 0.25], 16), Some(vec![12, 4]));
        assert_eq!(groups_of(&[0.99, 0.01], 16), Some(vec![15, 1]));
        assert_eq!(groups_of(&[0.5, 0.5], 3).map(|g| g.iter().sum()), Some(3));
        assert_eq!(groups_of(&[0.2, 0.2], 10), Some(vec![2, 2]));
        assert_eq!(groups_of(&[0.5, 0.5], 1), None);
    }
}
