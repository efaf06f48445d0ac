//! `IBuilder`: makes networks, configurations and profiles, and builds plans.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use crate::NotSync;
use crate::config::BuilderConfig;
use crate::error::Result;
use crate::memory::Plan;
use crate::network::{Network, NetworkOptions};
use crate::object::{Owned, call, check, object};
use crate::profile::OptimizationProfile;
use crate::sys::method::This;
use crate::sys::slots_builder::builder;
use crate::version::Version;

/// A builder, and what must outlive it: the timing caches and progress monitors of its builds.
pub(crate) struct BuilderObject {
    /// Dropped before what it used.
    object: Owned,
    used: Mutex<Vec<Arc<dyn Send + Sync>>>,
}

impl Deref for BuilderObject {
    type Target = Owned;

    fn deref(&self) -> &Owned {
        &self.object
    }
}

impl fmt::Debug for BuilderObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.object.fmt(f)
    }
}

/// Builds plans from networks. Different builders may work in different threads.
#[derive(Debug)]
pub struct Builder {
    object: Arc<BuilderObject>,
    not_sync: NotSync,
}

impl Builder {
    pub(crate) fn new(object: Owned) -> Self {
        Self {
            object: Arc::new(BuilderObject {
                object,
                used: Mutex::default(),
            }),
            not_sync: NotSync::default(),
        }
    }

    /// The version of the library that made it.
    #[must_use]
    pub fn version(&self) -> Version {
        self.object.library().version()
    }

    /// An empty network.
    ///
    /// # Errors
    /// The release has no strongly typed networks, or the library refuses.
    #[doc(alias = "createNetworkV2")]
    pub fn network(&self, options: NetworkOptions) -> Result<Network> {
        let flags = options.flags(self.version())?;
        let network = object!(self.object, builder::CREATE_NETWORK_V2, flags)?;
        // SAFETY: made for us.
        Ok(Network::new(
            unsafe { Owned::new(network) },
            Arc::clone(&self.object),
        ))
    }

    /// A configuration with the library's defaults.
    ///
    /// # Errors
    /// The library refuses.
    #[doc(alias = "createBuilderConfig")]
    pub fn config(&self) -> Result<BuilderConfig> {
        let config = object!(self.object, builder::CREATE_BUILDER_CONFIG)?;
        // SAFETY: made for us.
        Ok(BuilderConfig::new(
            unsafe { Owned::new(config) },
            Arc::clone(&self.object),
        ))
    }

    /// A profile of input shapes, to be filled and given to a configuration.
    ///
    /// # Errors
    /// The library refuses.
    #[doc(alias = "createOptimizationProfile")]
    pub fn optimization_profile(&self) -> Result<OptimizationProfile> {
        let profile = object!(self.object, builder::CREATE_OPTIMIZATION_PROFILE)?;
        Ok(OptimizationProfile::new(profile, Arc::clone(&self.object)))
    }

    /// Builds a plan. This can take minutes; a progress monitor in `config` watches and can stop it. Builds of one
    /// library wait for each other.
    ///
    /// # Errors
    /// Whatever the library logs: unsupported layers, shapes that do not fit, memory, cancellation.
    #[doc(alias = "buildSerializedNetwork")]
    pub fn build(&self, network: &Network, config: &BuilderConfig) -> Result<Plan> {
        let (network, settings) = self.arguments(network, config)?;
        let _alone = self.object.library().build_alone();
        self.object
            .used
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(config.used());
        let plan = object!(self.object, builder::BUILD_SERIALIZED_NETWORK, network, settings)?;
        // SAFETY: made for us.
        Plan::new(unsafe { Owned::new(plan) })
    }

    /// Whether the network could be built with this configuration.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "isNetworkSupported")]
    pub fn supports(&self, network: &Network, config: &BuilderConfig) -> Result<bool> {
        let (network, settings) = self.arguments(network, config)?;
        call!(
            self.object,
            builder::IS_NETWORK_SUPPORTED,
            network.cast_const(),
            settings.cast_const()
        )
    }

    fn arguments(&self, network: &Network, config: &BuilderConfig) -> Result<(This, This)> {
        Ok((
            self.object.taking("a network", &network.object)?,
            self.object.taking("a configuration", &config.object)?,
        ))
    }

    /// Whether FP16 is fast here; `None` where the release no longer says (11, RTX 1.5 on).
    #[doc(alias = "platformHasFastFp16")]
    #[must_use]
    pub fn has_fast_fp16(&self) -> Option<bool> {
        call!(self.object, builder::PLATFORM_HAS_FAST_FP16).ok()
    }

    /// Whether INT8 is fast here; `None` where the release no longer says (11, RTX 1.5 on).
    #[doc(alias = "platformHasFastInt8")]
    #[must_use]
    pub fn has_fast_int8(&self) -> Option<bool> {
        call!(self.object, builder::PLATFORM_HAS_FAST_INT8).ok()
    }

    /// Whether TF32 is there; `None` where the release no longer says.
    #[doc(alias = "platformHasTf32")]
    #[must_use]
    pub fn has_tf32(&self) -> Option<bool> {
        call!(self.object, builder::PLATFORM_HAS_TF32).ok()
    }

    /// Number of deep-learning accelerators.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getNbDLACores")]
    pub fn dla_cores(&self) -> Result<i32> {
        call!(self.object, builder::GET_NB_DLA_CORES)
    }

    /// The largest batch that a deep-learning accelerator takes.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getMaxDLABatchSize")]
    pub fn max_dla_batch_size(&self) -> Result<i32> {
        call!(self.object, builder::GET_MAX_DLA_BATCH_SIZE)
    }

    /// Limits the builder's own threads (this one included).
    ///
    /// # Errors
    /// The library refuses the number.
    #[doc(alias = "setMaxThreads")]
    pub fn set_max_threads(&self, threads: i32) -> Result<()> {
        check!(self.object, builder::SET_MAX_THREADS, threads)
    }

    /// The limit on the builder's threads.
    ///
    /// # Errors
    /// Only if the release lacks the call.
    #[doc(alias = "getMaxThreads")]
    pub fn max_threads(&self) -> Result<i32> {
        call!(self.object, builder::GET_MAX_THREADS)
    }

    /// Whether the library kept the logger of this crate (another component of the process may have come first).
    #[must_use]
    pub fn uses_our_logger(&self) -> bool {
        call!(self.object, builder::GET_LOGGER).is_ok_and(|logger| logger == self.object.library().logger())
    }
}
