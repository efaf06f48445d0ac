//! What stands beside a plan: how it was made, for whom, and what it holds. JSON, `<plan>.json`.
//!
//! A plan itself can be read only by the library that made it, on the GPU it was made for; the manifest can be
//! read anywhere, so that `jetlag inspect` has an answer without a GPU.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::options::BuildOptions;
use crate::files;

/// Version of the manifest's form. A reader refuses a newer one.
pub const SCHEMA: u32 = 1;

/// How a plan came about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanManifest {
    /// [`SCHEMA`] of the writer.
    pub schema: u32,
    /// The jetlag that built it.
    pub jetlag: String,
    /// The network that was built.
    pub network: NetworkIdentity,
    /// The options that it was built with.
    pub options: BuildOptions,
    /// The command line's arguments, to build it anew.
    pub arguments: Vec<String>,
    /// The library that built it.
    pub builder: BuilderIdentity,
    /// The GPU that it was built for.
    pub target: Target,
    /// When, in seconds since 1970 (UTC).
    pub built_unix_s: u64,
    /// How long that took.
    pub build_seconds: f64,
    /// BLAKE3 of the plan.
    pub plan_blake3: String,
    /// The length of the plan.
    pub plan_bytes: u64,
    /// Layers of the network before fusion.
    pub network_layers: u32,
    /// The plan's inputs and outputs, in its own order.
    pub tensors: Vec<PlanTensor>,
}

/// A network's name and content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkIdentity {
    /// The path that the network was read from, or the name of an embedded one.
    pub name: String,
    /// BLAKE3 of its content, files with its weights included.
    pub blake3: String,
    /// Length of its content, files with its weights included.
    pub bytes: u64,
}

/// A library that builds plans.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuilderIdentity {
    /// Which library built it: `TensorRT` or `TensorRT-RTX`.
    pub flavour: String,
    /// The library's version, as `10.3.0.30`.
    pub version: String,
}

impl fmt::Display for BuilderIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.flavour, self.version)
    }
}

/// What a plan was built for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// The GPU of the machine that built it.
    Gpu {
        /// The product name of the GPU.
        name: String,
        /// As 87 for 8.7.
        compute_capability: u16,
        /// Multiprocessors that were on when it was built, where the power mode decides that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        multiprocessors: Option<u32>,
        /// Which of them were off, as the board has it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        off: Option<String>,
    },
    /// Any GPU of these compute capabilities, as 89 for 8.9.
    ComputeCapabilities(Vec<u16>),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dotted = |capability: &u16| format!("{}.{}", capability / 10, capability % 10);
        match self {
            Self::Gpu {
                name,
                compute_capability,
                multiprocessors,
                off,
            } => {
                write!(f, "{name} (compute capability {}", dotted(compute_capability))?;
                if let Some(count) = multiprocessors {
                    write!(f, ", {count} multiprocessors")?;
                }
                if let Some(mask) = off {
                    write!(f, ", TPC mask {mask}")?;
                }
                f.write_str(")")
            }
            Self::ComputeCapabilities(all) => {
                let all: Vec<String> = all.iter().map(dotted).collect();
                write!(f, "compute capability {}", all.join(", "))
            }
        }
    }
}

/// An input or output of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanTensor {
    /// The tensor's name in the network.
    pub name: String,
    /// The tensor's direction: `input` or `output`.
    pub mode: String,
    /// The type of its elements in TensorRT's words: `float`, `half`, `int8`, ….
    pub data_type: String,
    /// -1 where it is dynamic.
    pub shape: Vec<i64>,
}

/// Why a manifest could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// There is no manifest beside the plan.
    #[error("the plan has no manifest {path}")]
    Absent {
        /// Where it should be.
        path: PathBuf,
    },
    /// It cannot be read.
    #[error("cannot read the plan's manifest {path}: {problem}")]
    Unreadable {
        /// The path of the manifest.
        path: PathBuf,
        /// What the system said.
        problem: String,
    },
    /// It is no JSON of this form.
    #[error("the plan's manifest {path} is damaged: {problem}")]
    Damaged {
        /// The path of the manifest.
        path: PathBuf,
        /// What in it is not understood.
        problem: String,
    },
    /// It was written by a newer jetlag.
    #[error(
        "the manifest {path} has schema {found}, but this jetlag reads only up to {SCHEMA}: use a newer jetlag, or build the plan again"
    )]
    Newer {
        /// The path of the manifest.
        path: PathBuf,
        /// The schema that it states.
        found: u32,
    },
}

/// Where a plan's manifest is: `camera.plan` has `camera.plan.json`.
pub fn path_of(plan: &Path) -> PathBuf {
    let mut name = plan.as_os_str().to_owned();
    name.push(".json");
    PathBuf::from(name)
}

/// Reads the manifest of a plan.
///
/// # Errors
/// There is none, it is not JSON of this form, or it is of a newer schema.
pub fn read(plan: &Path) -> Result<PlanManifest, ManifestError> {
    let path = path_of(plan);
    let bytes = match files::read(&path, files::TEXT) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(ManifestError::Absent { path });
        }
        Err(error) => {
            return Err(ManifestError::Unreadable {
                path,
                problem: error.to_string(),
            });
        }
    };
    #[derive(Deserialize)]
    struct Schema {
        schema: u32,
    }
    let unreadable = |error: serde_json::Error| ManifestError::Damaged {
        path: path.clone(),
        problem: error.to_string(),
    };
    let Schema { schema: found } = serde_json::from_slice(&bytes).map_err(unreadable)?;
    if found > SCHEMA {
        return Err(ManifestError::Newer { path, found });
    }
    serde_json::from_slice(&bytes).map_err(unreadable)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(crate) fn manifest(plan: &[u8]) -> PlanManifest {
        PlanManifest {
            schema: SCHEMA,
            jetlag: "0.1.0".into(),
            network: NetworkIdentity {
                name: "a.onnx".into(),
                blake3: "00".into(),
                bytes: 1,
            },
            options: BuildOptions::default(),
            arguments: vec!["build".into(), "a.onnx".into()],
            builder: BuilderIdentity {
                flavour: "TensorRT-RTX".into(),
                version: "1.7.1.116".into(),
            },
            target: Target::ComputeCapabilities(vec![89, 120]),
            built_unix_s: 1_769_860_800,
            build_seconds: 1.5,
            plan_blake3: blake3::hash(plan).to_hex().to_string(),
            plan_bytes: plan.len() as u64,
            network_layers: 12,
            tensors: vec![PlanTensor {
                name: "x".into(),
                mode: "input".into(),
                data_type: "float".into(),
                shape: vec![-1, 4],
            }],
        }
    }

    #[test]
    fn a_manifest_survives_its_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let plan = folder.path().join("a.plan");
        let written = manifest(b"plan");
        std::fs::write(path_of(&plan), serde_json::to_vec_pretty(&written).expect("JSON")).expect("written");
        assert_eq!(read(&plan).expect("read"), written);
        assert_eq!(written.target.to_string(), "compute capability 8.9, 12.0");
    }

    #[test]
    fn what_is_absent_damaged_or_newer_is_told_apart() {
        let folder = tempfile::tempdir().expect("a folder");
        let plan = folder.path().join("a.plan");
        assert!(matches!(read(&plan), Err(ManifestError::Absent { .. })));
        std::fs::write(path_of(&plan), b"{\"schema\": 1, ").expect("written");
        assert!(matches!(read(&plan), Err(ManifestError::Damaged { .. })));
        std::fs::write(path_of(&plan), b"{\"schema\": 2, \"of\": \"another form\"}").expect("written");
        assert!(
            read(&plan)
                .expect_err("newer")
                .to_string()
                .contains("has schema 2")
        );
    }
}
