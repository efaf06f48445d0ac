//! What a tenant took of memory when it was made ready, part by part.

use serde::{Deserialize, Serialize};

/// A number of bytes, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Amount {
    /// So many bytes; 0 is a known nothing.
    Bytes(u64),
    /// It is not known, for this reason: a sentence.
    Unknown(String),
}

impl Amount {
    /// The bytes, if they are known.
    pub fn bytes(&self) -> Option<u64> {
        match self {
            Amount::Bytes(bytes) => Some(*bytes),
            Amount::Unknown(_) => None,
        }
    }

    /// Why they are not known.
    pub fn unknown(&self) -> Option<&str> {
        match self {
            Amount::Bytes(_) => None,
            Amount::Unknown(why) => Some(why),
        }
    }
}

/// What a tenant took when it was made ready, for all of its frames in flight. A part that its backend does not have is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantMemory {
    /// What loading its networks took where they execute: plans, or sessions with their weights, arenas and kernels. On a device:
    /// by how much its free memory sank meanwhile.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub networks: Option<Amount>,
    /// Working memory of its execution contexts on the device, as TensorRT states it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub contexts: Option<Amount>,
    /// Its tensors, or the buffers of a stressor, in device memory.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub device_tensors: Option<Amount>,
    /// Its tensors in host memory that the device reaches: pinned, mapped or managed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pinned: Option<Amount>,
    /// Its tensors in ordinary host memory.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub host_tensors: Option<Amount>,
    /// By how much the device's free memory sank from before its networks were loaded until it was ready: all of the above that
    /// lies there, what else the driver and the libraries took, and how the driver rounds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub device: Option<Amount>,
}
