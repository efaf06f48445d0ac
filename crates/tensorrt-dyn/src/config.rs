//! `IBuilderConfig`: the options of a build.
//!
//! Each setter that an era lacks answers [`Error::MissingMethod`] or [`Error::MissingValue`]; which option is sensible
//! for which release is the caller's business.

use std::ffi::{CString, c_void};
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::NotSync;
use crate::builder::BuilderObject;
use crate::callback::Given;
use crate::callback::calibrator::{Calibration, Calibrator, entropy};
use crate::callback::progress::{ProgressMonitor, monitor};
use crate::error::{Error, Result};
use crate::library::c_path;
use crate::object::{Owned, call, check, object};
use crate::profile::OptimizationProfile;
use crate::sys::method::Stream;
use crate::sys::slots_builder::config;
use crate::sys::values::{
    BuilderFlag, DeviceType, HardwareCompatibility, MemoryPool, PreviewFeature, ProfilingVerbosity,
    TacticSource,
};
use crate::timing_cache::TimingCache;
use crate::version::Version;

/// Options of a build. Fields drop in order: the C++ object goes before what it points to.
#[derive(Debug)]
pub struct BuilderConfig {
    pub(crate) object: Arc<Owned>,
    timing_cache: Option<Arc<Owned>>,
    monitor: Option<Arc<Given<Box<dyn ProgressMonitor>>>>,
    calibrator: Option<Given<Mutex<Calibration>>>,
    pub(crate) builder: Arc<BuilderObject>,
    not_sync: NotSync,
}

impl BuilderConfig {
    pub(crate) fn new(object: Owned, builder: Arc<BuilderObject>) -> Self {
        Self {
            object: Arc::new(object),
            timing_cache: None,
            monitor: None,
            calibrator: None,
            builder,
            not_sync: NotSync::default(),
        }
    }

    /// What a builder that uses this must not outlive.
    pub(crate) fn used(&self) -> Vec<Arc<dyn Send + Sync>> {
        let cache = self
            .timing_cache
            .iter()
            .map(|cache| Arc::clone(cache) as Arc<dyn Send + Sync>);
        let monitor = self
            .monitor
            .iter()
            .map(|monitor| Arc::clone(monitor) as Arc<dyn Send + Sync>);
        cache.chain(monitor).collect()
    }

    fn version(&self) -> Version {
        self.object.library().version()
    }

    /// Turns a switch on or off.
    ///
    /// # Errors
    /// The release has no such switch.
    #[doc(alias = "setFlag")]
    #[doc(alias = "clearFlag")]
    pub fn set_flag(&self, flag: BuilderFlag, on: bool) -> Result<()> {
        let value = self
            .object
            .library()
            .value(flag.value(self.version()), flag.name())?;
        match on {
            true => call!(self.object, config::SET_FLAG, value),
            false => call!(self.object, config::CLEAR_FLAG, value),
        }
    }

    /// Whether a switch is on.
    ///
    /// # Errors
    /// The release has no such switch.
    #[doc(alias = "getFlag")]
    pub fn flag(&self, flag: BuilderFlag) -> Result<bool> {
        let value = self
            .object
            .library()
            .value(flag.value(self.version()), flag.name())?;
        call!(self.object, config::GET_FLAG, value)
    }

    /// All switches as the library's bits.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getFlags")]
    pub fn flags(&self) -> Result<u32> {
        call!(self.object, config::GET_FLAGS)
    }

    /// Limits a pool of memory, in bytes.
    ///
    /// # Errors
    /// The release has no such pool. A limit that it does not accept is logged, and shows in
    /// [`Self::memory_pool_limit`].
    #[doc(alias = "setMemoryPoolLimit")]
    pub fn set_memory_pool_limit(&self, pool: MemoryPool, bytes: u64) -> Result<()> {
        let pool = self
            .object
            .library()
            .value(pool.value(self.version()), pool.name())?;
        call!(self.object, config::SET_MEMORY_POOL_LIMIT, pool, bytes)
    }

    /// The limit of a pool of memory, in bytes.
    ///
    /// # Errors
    /// The release has no such pool.
    #[doc(alias = "getMemoryPoolLimit")]
    pub fn memory_pool_limit(&self, pool: MemoryPool) -> Result<u64> {
        let pool = self
            .object
            .library()
            .value(pool.value(self.version()), pool.name())?;
        call!(self.object, config::GET_MEMORY_POOL_LIMIT, pool)
    }

    /// Adds a profile of input shapes and answers its index.
    ///
    /// # Errors
    /// The profile is not valid.
    #[doc(alias = "addOptimizationProfile")]
    pub fn add_optimization_profile(&self, profile: &OptimizationProfile) -> Result<i32> {
        let mark = self.object.library().mark();
        let index = call!(
            self.object,
            config::ADD_OPTIMIZATION_PROFILE,
            self.object.taking("a profile", &profile.object)?.cast_const()
        )?;
        if index < 0 {
            Err(self.object.failure(config::ADD_OPTIMIZATION_PROFILE.row(), mark))
        } else {
            Ok(index)
        }
    }

    /// Number of profiles added.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getNbOptimizationProfiles")]
    pub fn optimization_profiles(&self) -> Result<i32> {
        call!(self.object, config::GET_NB_OPTIMIZATION_PROFILES)
    }

    /// The profile whose shapes calibration uses (releases with calibrators only).
    ///
    /// # Errors
    /// The release has no calibrators, or refuses the profile.
    #[doc(alias = "setCalibrationProfile")]
    pub fn set_calibration_profile(&self, profile: &OptimizationProfile) -> Result<()> {
        check!(
            self.object,
            config::SET_CALIBRATION_PROFILE,
            self.object.taking("a profile", &profile.object)?.cast_const()
        )
    }

    /// How much of the layers the plan keeps.
    ///
    /// # Errors
    /// Only if the release lacks the value.
    #[doc(alias = "setProfilingVerbosity")]
    pub fn set_profiling_verbosity(&self, verbosity: ProfilingVerbosity) -> Result<()> {
        let value = self
            .object
            .library()
            .value(verbosity.value(self.version()), verbosity.name())?;
        call!(self.object, config::SET_PROFILING_VERBOSITY, value)
    }

    /// How much of the layers the plan keeps; `None` for a level that this build does not know.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getProfilingVerbosity")]
    pub fn profiling_verbosity(&self) -> Result<Option<ProfilingVerbosity>> {
        let value = call!(self.object, config::GET_PROFILING_VERBOSITY)?;
        Ok(ProfilingVerbosity::from_value(value, self.version()))
    }

    /// How long the builder searches, 0 (fast build) to 5 (8.6 and later).
    ///
    /// # Errors
    /// The release has no such option.
    #[doc(alias = "setBuilderOptimizationLevel")]
    pub fn set_optimization_level(&self, level: i32) -> Result<()> {
        call!(self.object, config::SET_BUILDER_OPTIMIZATION_LEVEL, level)
    }

    /// How long the builder searches.
    ///
    /// # Errors
    /// The release has no such option.
    #[doc(alias = "getBuilderOptimizationLevel")]
    pub fn optimization_level(&self) -> Result<i32> {
        call!(self.object, config::GET_BUILDER_OPTIMIZATION_LEVEL)
    }

    /// Which other GPUs the plan may run on (8.6 and later).
    ///
    /// # Errors
    /// The release has no such option or level.
    #[doc(alias = "setHardwareCompatibilityLevel")]
    pub fn set_hardware_compatibility(&self, level: HardwareCompatibility) -> Result<()> {
        let value = self
            .object
            .library()
            .value(level.value(self.version()), level.name())?;
        call!(self.object, config::SET_HARDWARE_COMPATIBILITY_LEVEL, value)
    }

    /// Which other GPUs the plan may run on.
    ///
    /// # Errors
    /// The release has no such option.
    #[doc(alias = "getHardwareCompatibilityLevel")]
    pub fn hardware_compatibility(&self) -> Result<Option<HardwareCompatibility>> {
        let value = call!(self.object, config::GET_HARDWARE_COMPATIBILITY_LEVEL)?;
        Ok(HardwareCompatibility::from_value(value, self.version()))
    }

    /// Which libraries of kernels the builder may choose from.
    ///
    /// # Errors
    /// The release lacks one of them, or refuses the set.
    #[doc(alias = "setTacticSources")]
    pub fn set_tactic_sources(&self, sources: &[TacticSource]) -> Result<()> {
        let mut bits = 0_u32;
        for source in sources {
            bits |= 1
                << self
                    .object
                    .library()
                    .value(source.value(self.version()), source.name())?;
        }
        check!(self.object, config::SET_TACTIC_SOURCES, bits)
    }

    /// The libraries of kernels that the builder may choose from.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getTacticSources")]
    pub fn tactic_sources(&self) -> Result<Vec<TacticSource>> {
        let bits = call!(self.object, config::GET_TACTIC_SOURCES)?;
        let is_set = |source: &&TacticSource| {
            source
                .value(self.version())
                .is_some_and(|bit| bits >> bit & 1 == 1)
        };
        Ok(TacticSource::ALL.iter().filter(is_set).copied().collect())
    }

    /// How many runs each kernel's timing averages.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "setAvgTimingIterations")]
    pub fn set_average_timing_iterations(&self, iterations: i32) -> Result<()> {
        call!(self.object, config::SET_AVG_TIMING_ITERATIONS, iterations)
    }

    /// Makes a timing cache from the bytes of an earlier one; empty bytes give an empty cache.
    ///
    /// # Errors
    /// The library cannot read the bytes.
    #[doc(alias = "createTimingCache")]
    pub fn create_timing_cache(&self, bytes: &[u8]) -> Result<TimingCache> {
        let (data, size) = (bytes.as_ptr().cast::<c_void>(), bytes.len() as u64);
        let cache = object!(self.object, config::CREATE_TIMING_CACHE, data, size)?;
        // SAFETY: made for us.
        Ok(TimingCache::new(unsafe { Owned::new(cache) }))
    }

    /// Uses a timing cache, and fills it; `ignore_mismatch` accepts one of another GPU.
    ///
    /// # Errors
    /// The cache is of another GPU or release.
    #[doc(alias = "setTimingCache")]
    pub fn set_timing_cache(&mut self, cache: &TimingCache, ignore_mismatch: bool) -> Result<()> {
        check!(
            self.object,
            config::SET_TIMING_CACHE,
            self.object.taking("a timing cache", &cache.object)?.cast_const(),
            ignore_mismatch
        )?;
        self.timing_cache = Some(Arc::clone(&cache.object));
        Ok(())
    }

    /// Whether a timing cache is in use.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getTimingCache")]
    pub fn has_timing_cache(&self) -> Result<bool> {
        Ok(!call!(self.object, config::GET_TIMING_CACHE)?.is_null())
    }

    /// Where layers run by default.
    ///
    /// # Errors
    /// Only if the release lacks the value.
    #[doc(alias = "setDefaultDeviceType")]
    pub fn set_default_device(&self, device: DeviceType) -> Result<()> {
        let value = self
            .object
            .library()
            .value(device.value(self.version()), device.name())?;
        call!(self.object, config::SET_DEFAULT_DEVICE_TYPE, value)
    }

    /// Where layers run by default.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getDefaultDeviceType")]
    pub fn default_device(&self) -> Result<Option<DeviceType>> {
        Ok(DeviceType::from_value(
            call!(self.object, config::GET_DEFAULT_DEVICE_TYPE)?,
            self.version(),
        ))
    }

    /// Which deep-learning accelerator to build for.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "setDLACore")]
    pub fn set_dla_core(&self, core: i32) -> Result<()> {
        call!(self.object, config::SET_DLA_CORE, core)
    }

    /// Which deep-learning accelerator is built for.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getDLACore")]
    pub fn dla_core(&self) -> Result<i32> {
        call!(self.object, config::GET_DLA_CORE)
    }

    /// Whether a layer can run on the deep-learning accelerator.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "canRunOnDLA")]
    pub fn can_run_on_dla(&self, layer: &crate::Layer<'_>) -> Result<bool> {
        call!(
            self.object,
            config::CAN_RUN_ON_DLA,
            self.object.taking("a layer", &layer.object)?.cast_const()
        )
    }

    /// Turns a feature on trial on or off.
    ///
    /// # Errors
    /// The release has no such feature.
    #[doc(alias = "setPreviewFeature")]
    pub fn set_preview_feature(&self, feature: PreviewFeature, on: bool) -> Result<()> {
        let value = self
            .object
            .library()
            .value(feature.value(self.version()), feature.name())?;
        call!(self.object, config::SET_PREVIEW_FEATURE, value, on)
    }

    /// Whether a feature on trial is on.
    ///
    /// # Errors
    /// The release has no such feature.
    #[doc(alias = "getPreviewFeature")]
    pub fn preview_feature(&self, feature: PreviewFeature) -> Result<bool> {
        let value = self
            .object
            .library()
            .value(feature.value(self.version()), feature.name())?;
        call!(self.object, config::GET_PREVIEW_FEATURE, value)
    }

    /// How many streams beside its own a context may use (8.6 and later).
    ///
    /// # Errors
    /// The release has no such option, or refuses the number.
    #[doc(alias = "setMaxAuxStreams")]
    pub fn set_max_aux_streams(&self, streams: i32) -> Result<()> {
        if self.object.has(&config::SET_MAX_AUX_STREAMS) {
            return check!(self.object, config::SET_MAX_AUX_STREAMS, streams);
        }
        call!(self.object, config::SET_MAX_AUX_STREAMS_UNCHECKED, streams)
    }

    /// How many streams beside its own a context may use.
    ///
    /// # Errors
    /// The release has no such option.
    #[doc(alias = "getMaxAuxStreams")]
    pub fn max_aux_streams(&self) -> Result<i32> {
        call!(self.object, config::GET_MAX_AUX_STREAMS)
    }

    /// Libraries of plugins to put into the plan (8.6 and later).
    ///
    /// # Errors
    /// The release cannot, or a path has a NUL byte.
    #[doc(alias = "setPluginsToSerialize")]
    pub fn set_plugins_to_serialize(&self, files: &[&Path]) -> Result<()> {
        let names: Vec<CString> = files.iter().map(|file| c_path(file)).collect::<Result<_>>()?;
        let pointers: Vec<*const std::ffi::c_char> = names.iter().map(|name| name.as_ptr()).collect();
        let count = i32::try_from(pointers.len()).unwrap_or(i32::MAX);
        call!(
            self.object,
            config::SET_PLUGINS_TO_SERIALIZE,
            pointers.as_ptr().cast::<c_void>(),
            count
        )
    }

    /// How far layers are tiled for the L2 cache, 0 to 3 (10.8 and later, RTX).
    ///
    /// # Errors
    /// The release has no such option, or refuses the level.
    #[doc(alias = "setTilingOptimizationLevel")]
    pub fn set_tiling_optimization_level(&self, level: i32) -> Result<()> {
        check!(self.object, config::SET_TILING_OPTIMIZATION_LEVEL, level)
    }

    /// The compute capabilities that the plan is for, as 89 for 8.9 (TensorRT-RTX only, which then needs no GPU).
    ///
    /// # Errors
    /// The release builds for the GPU at hand only, or does not know a capability.
    #[doc(alias = "setComputeCapability")]
    #[doc(alias = "setNbComputeCapabilities")]
    pub fn set_compute_capabilities(&self, capabilities: &[u16]) -> Result<()> {
        let count = i32::try_from(capabilities.len()).unwrap_or(i32::MAX);
        check!(self.object, config::SET_NB_COMPUTE_CAPABILITIES, count)?;
        for (index, capability) in (0..count).zip(capabilities) {
            check!(
                self.object,
                config::SET_COMPUTE_CAPABILITY,
                i32::from(*capability),
                index
            )?;
        }
        Ok(())
    }

    /// The compute capabilities that the plan is for (TensorRT-RTX only).
    ///
    /// # Errors
    /// The release has no such option.
    #[doc(alias = "getComputeCapability")]
    pub fn compute_capabilities(&self) -> Result<Vec<i32>> {
        let count = call!(self.object, config::GET_NB_COMPUTE_CAPABILITIES)?;
        (0..count)
            .map(|index| call!(self.object, config::GET_COMPUTE_CAPABILITY, index))
            .collect()
    }

    /// Watches builds with this configuration (9.1 and later, RTX).
    ///
    /// # Errors
    /// The release has no progress monitors; the monitor is dropped then.
    #[doc(alias = "setProgressMonitor")]
    pub fn set_progress_monitor(&mut self, watcher: Box<dyn ProgressMonitor>) -> Result<()> {
        let watcher = monitor(self.version().era(), watcher);
        call!(self.object, config::SET_PROGRESS_MONITOR, watcher.as_ptr())?;
        self.monitor = Some(Arc::new(watcher));
        Ok(())
    }

    /// Calibrates INT8 from representative inputs (TensorRT 8 to 10).
    ///
    /// # Safety
    /// Every address that the calibrator gives is device memory of at least the bytes of that input's opt shape in the
    /// calibration profile, and stays valid until the next batch is asked for.
    ///
    /// # Errors
    /// The release has no calibrators: quantise the network with Q/DQ nodes there.
    #[doc(alias = "setInt8Calibrator")]
    pub unsafe fn set_int8_calibrator(&mut self, calibrator: Box<dyn Calibrator>) -> Result<()> {
        let calibrator = entropy(self.version().era(), calibrator);
        call!(self.object, config::SET_INT8_CALIBRATOR, calibrator.as_ptr())?;
        self.calibrator = Some(calibrator);
        Ok(())
    }

    /// The stream that kernels are timed on.
    ///
    /// # Safety
    /// `stream` is a stream of the current device that outlives this configuration, or null.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "setProfileStream")]
    pub unsafe fn set_profile_stream(&self, stream: Stream) -> Result<()> {
        call!(self.object, config::SET_PROFILE_STREAM, stream)
    }
}

impl crate::Library {
    /// A value of an enum in this release, or the error that says which it lacks.
    pub(crate) fn value(self, value: Option<i32>, name: &str) -> Result<i32> {
        value.ok_or_else(|| Error::MissingValue {
            value: name.to_owned(),
            version: self.version(),
        })
    }
}
