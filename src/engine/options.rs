//! What to build of a network: the options that builders of plans know, in trtexec's words.
//!
//! Pure data and its reading from text. What a TensorRT release supports of it is decided in
//! `backend/tensorrt`; every option is part of the plan cache's key.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::record::scenario::{Shapes, WrongShapes};
use crate::units::Bytes;

/// Which number formats kernels may compute in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// The library's default: FP32, with TF32 for matrix products where the GPU has it.
    #[default]
    Tf32,
    /// FP32 only: TF32 is turned off.
    Fp32,
    /// FP16 where it is faster.
    Fp16,
    /// BF16 where it is faster.
    Bf16,
    /// INT8 from the network's Q/DQ nodes, or by calibration.
    Int8,
    /// FP8 from the network's Q/DQ nodes.
    Fp8,
    /// Whatever is fastest of all the above that the release has.
    Best,
    /// Exactly the types that the network states.
    StronglyTyped,
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tf32 => "tf32",
            Self::Fp32 => "fp32",
            Self::Fp16 => "fp16",
            Self::Bf16 => "bf16",
            Self::Int8 => "int8",
            Self::Fp8 => "fp8",
            Self::Best => "best",
            Self::StronglyTyped => "strongly-typed",
        })
    }
}

/// How much of its layers a plan keeps for inspectors and profilers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Verbosity {
    /// Nothing: layers have no names.
    None,
    /// Names of layers, and no details.
    #[default]
    LayerNamesOnly,
    /// Names, shapes, formats, tactics.
    Detailed,
}

/// Which other GPUs the plan may run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum HardwareCompatibility {
    /// Ampere and everything after it.
    AmperePlus,
    /// GPUs of the same compute capability.
    SameComputeCapability,
}

/// A pool of memory that can be limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pool {
    /// Scratch memory of kernels.
    Workspace,
    /// SRAM of a deep-learning accelerator.
    DlaManagedSram,
    /// Host memory of a deep-learning accelerator.
    DlaLocalDram,
    /// Memory for weights of a deep-learning accelerator.
    DlaGlobalDram,
    /// Memory of the tactics that are timed.
    TacticDram,
    /// Shared memory of kernels.
    TacticSharedMemory,
}

/// Names of the pools, as trtexec has them, with ours.
const POOLS: [(&str, Pool); 6] = [
    ("workspace", Pool::Workspace),
    ("dlaSRAM", Pool::DlaManagedSram),
    ("dlaLocalDRAM", Pool::DlaLocalDram),
    ("dlaGlobalDRAM", Pool::DlaGlobalDram),
    ("tacticDRAM", Pool::TacticDram),
    ("tacticSharedMem", Pool::TacticSharedMemory),
];

/// Three shapes of each dynamic input.
pub type Profile = BTreeMap<String, ShapeRange>;

/// The shapes of one input that a plan accepts, and the one that it is tuned for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ShapeRange {
    /// The smallest extents that the plan takes.
    pub min: Vec<i64>,
    /// The one that kernels are chosen for.
    pub opt: Vec<i64>,
    /// The largest extents that the plan takes.
    pub max: Vec<i64>,
}

impl ShapeRange {
    /// What is wrong with it, if anything.
    fn problem(&self) -> Option<String> {
        let Self { min, opt, max } = self;
        if min.len() != opt.len() || opt.len() != max.len() {
            return Some(format!(
                "its shapes have {}, {} and {} dimensions",
                min.len(),
                opt.len(),
                max.len()
            ));
        }
        let ordered = min
            .iter()
            .zip(opt)
            .zip(max)
            .all(|((min, opt), max)| 0 <= *min && min <= opt && opt <= max);
        (!ordered).then(|| {
            format!(
                "its shapes are not in order: min {}, opt {}, max {}",
                shape_text(min),
                shape_text(opt),
                shape_text(max)
            )
        })
    }
}

/// A shape as it is typed: `1x3x640x640`.
pub fn shape_text(shape: &[i64]) -> String {
    let extents: Vec<String> = shape.iter().map(ToString::to_string).collect();
    extents.join("x")
}

/// Everything that decides what plan comes out of a network.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BuildOptions {
    /// The number formats that the builder may choose from.
    pub precision: Precision,
    /// Profiles of input shapes; empty where every shape is fixed.
    pub profiles: Vec<Profile>,
    /// Limits on memory pools.
    pub pools: BTreeMap<Pool, u64>,
    /// How long the builder searches, 0 to 5.
    pub optimization_level: Option<i32>,
    /// Streams beside its own that a context may use.
    pub max_aux_streams: Option<i32>,
    /// How many contexts have the plan at once, where the release wants a profile for each (before 8.6.1); 0 elsewhere.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub contexts: u32,
    /// Whether structured sparsity of weights is used.
    pub sparsity: bool,
    /// Whether later releases of the same major version can load the plan.
    pub version_compatible: bool,
    /// Which other GPUs can load the plan.
    pub hardware_compatibility: Option<HardwareCompatibility>,
    /// How much of its layers the plan keeps.
    pub verbosity: Verbosity,
    /// The deep-learning accelerator to build for.
    pub dla_core: Option<i32>,
    /// Whether layers that the accelerator cannot run go to the GPU.
    pub gpu_fallback: bool,
    /// Compute capabilities to build for, as 89 for 8.9; empty for the GPU at hand.
    pub compute_capabilities: Vec<u16>,
    /// Libraries of plugins, which are loaded before the network is read.
    #[serde(serialize_with = "as_text")]
    pub plugins: Vec<PathBuf>,
    /// Where calibration takes its frames from, in words; `None` without calibration.
    pub calibration: Option<String>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl BuildOptions {
    /// Everything that is wrong with the options themselves, whatever builds them.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for (number, profile) in self.profiles.iter().enumerate() {
            for (input, range) in profile {
                if let Some(problem) = range.problem() {
                    problems.push(format!("profile {number}, input `{input}`: {problem}"));
                }
            }
        }
        if let Some(level) = self.optimization_level
            && !(0..=5).contains(&level)
        {
            problems.push(format!(
                "optimization level {level}: must be from 0 (fast build) to 5 (longest search)"
            ));
        }
        if let Some(streams) = self.max_aux_streams
            && streams < 0
        {
            problems.push(format!("{streams} auxiliary streams: 0 or more"));
        }
        if self.gpu_fallback && self.dla_core.is_none() {
            problems.push("GPU fallback is only for DLA builds: set --dla-core".to_owned());
        }
        if self.dla_core.is_some_and(|core| core < 0) {
            problems.push("the DLA core must be 0 or more".to_owned());
        }
        if self.dla_core.is_some()
            && matches!(
                self.precision,
                Precision::Fp32 | Precision::Tf32 | Precision::Bf16 | Precision::Fp8
            )
        {
            problems.push(format!(
                "a DLA computes in fp16 or int8, not in {}: use fp16, int8, or strongly-typed with a network of these types",
                self.precision
            ));
        }
        let is_dla = |pool: &&Pool| {
            matches!(
                pool,
                Pool::DlaManagedSram | Pool::DlaLocalDram | Pool::DlaGlobalDram
            )
        };
        if let Some(pool) = self.pools.keys().find(is_dla).filter(|_| self.dla_core.is_none()) {
            problems.push(format!(
                "the pool {} is only for DLA builds: set --dla-core",
                pool.name()
            ));
        }
        if self.calibration.is_some() && !matches!(self.precision, Precision::Int8 | Precision::Best) {
            problems.push("calibration needs --precision int8 or best".to_owned());
        }
        problems
    }
}

/// Paths as text, whatever bytes they hold: what decides a plan is the libraries' content, which the key covers.
fn as_text<S: serde::Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
}

/// A phrase about an option's text that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OptionError(String);

/// `images:1x3x640x640,anchors:100x4`, the shapes of one profile for one of min, opt and max.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedShapes(pub BTreeMap<String, Vec<i64>>);

impl FromStr for NamedShapes {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let shapes: Shapes = text
            .parse()
            .map_err(|error: WrongShapes| OptionError(error.to_string()))?;
        let extent = |extent: usize| {
            i64::try_from(extent).map_err(|_| OptionError(format!("`{text}`: {extent} is too large")))
        };
        let shape = |(name, extents): (String, Vec<usize>)| {
            let extents = extents.into_iter().map(extent).collect::<Result<_, _>>()?;
            Ok((name, extents))
        };
        let shapes: Result<_, OptionError> = shapes.0.into_iter().map(shape).collect();
        Ok(Self(shapes?))
    }
}

/// Puts the shapes of each profile together: the n-th min, opt and max belong to profile n. Where only one or two
/// are given they stand for the others.
///
/// # Errors
/// Different numbers of profiles, or inputs that have no shape at all in one.
pub fn profiles(
    min: &[NamedShapes],
    opt: &[NamedShapes],
    max: &[NamedShapes],
) -> Result<Vec<Profile>, OptionError> {
    let count = min.len().max(opt.len()).max(max.len());
    let given = [("min", min), ("opt", opt), ("max", max)];
    for (name, shapes) in given {
        if !shapes.is_empty() && shapes.len() != count {
            return Err(OptionError(format!(
                "--{name}-shapes is given {} times and another {count} times: give each once per profile",
                shapes.len()
            )));
        }
    }
    let mut profiles = Vec::new();
    for number in 0..count {
        let of = |shapes: &[NamedShapes], input: &str| {
            shapes.get(number).and_then(|shapes| shapes.0.get(input)).cloned()
        };
        let names = given
            .iter()
            .filter_map(|(_, shapes)| shapes.get(number))
            .flat_map(|shapes| shapes.0.keys());
        let mut profile = Profile::new();
        for name in names {
            let (min, opt, max) = (of(min, name), of(opt, name), of(max, name));
            let any = opt
                .clone()
                .or_else(|| max.clone())
                .or_else(|| min.clone())
                .unwrap_or_default();
            let range = ShapeRange {
                min: min.or_else(|| opt.clone()).unwrap_or_else(|| any.clone()),
                opt: opt.clone().or_else(|| max.clone()).unwrap_or_else(|| any.clone()),
                max: max.or(opt).unwrap_or(any),
            };
            profile.insert(name.clone(), range);
        }
        profiles.push(profile);
    }
    Ok(profiles)
}

/// `workspace:1GiB`, one limited pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolLimit(pub Pool, pub u64);

impl FromStr for PoolLimit {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let names = || POOLS.map(|(name, _)| name).join(", ");
        let (name, size) = text.split_once([':', '=']).ok_or_else(|| {
            OptionError(format!(
                "`{text}`: write POOL:SIZE, for example workspace:1GiB; pools: {}",
                names()
            ))
        })?;
        let pool = POOLS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let (_, pool) =
            pool.ok_or_else(|| OptionError(format!("unknown pool `{name}`; pools: {}", names())))?;
        Ok(Self(*pool, parse_bytes(size)?))
    }
}

impl Pool {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        POOLS
            .iter()
            .find(|(_, pool)| *pool == self)
            .map_or("pool", |(name, _)| name)
    }
}

/// `512MiB`, `1.5GiB`, `4096`: sizes in binary units; trtexec's bare number is MiB, so a unit is asked for.
fn parse_bytes(text: &str) -> Result<u64, OptionError> {
    let wrong = || {
        OptionError(format!(
            "`{text}` is not a size: write a number with its unit, B, KiB, MiB or GiB"
        ))
    };
    let text = text.trim();
    let digits = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    let scale = match unit.to_ascii_lowercase().as_str() {
        "b" => 1.0,
        "kib" | "k" => 1024.0,
        "mib" | "m" => 1024.0 * 1024.0,
        "gib" | "g" => 1024.0 * 1024.0 * 1024.0,
        _ => return Err(wrong()),
    };
    let bytes = number * scale;
    if !(bytes >= 0.0 && bytes < 2f64.powi(60)) {
        return Err(wrong());
    }
    Ok(bytes as u64)
}

/// `89` or `8.9`, a compute capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComputeCapability(pub u16);

impl FromStr for ComputeCapability {
    type Err = OptionError;

    fn from_str(text: &str) -> Result<Self, OptionError> {
        let wrong = || OptionError(format!("`{text}` is not a compute capability: write 89 or 8.9"));
        let number = match text.split_once('.') {
            Some((major, minor)) if minor.len() == 1 => format!("{major}{minor}"),
            None => text.to_owned(),
            Some(_) => return Err(wrong()),
        };
        let number: u16 = number.parse().map_err(|_| wrong())?;
        if !(30..1000).contains(&number) {
            return Err(wrong());
        }
        Ok(Self(number))
    }
}

impl fmt::Display for ComputeCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 10, self.0 % 10)
    }
}

impl fmt::Display for PoolLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0.name(), Bytes(self.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes(text: &str) -> NamedShapes {
        text.parse().expect("shapes")
    }

    #[test]
    fn shapes_are_read_as_trtexec_writes_them() {
        let named = shapes("images:0:1x3x640x640,scale:1");
        assert_eq!(named.0["images:0"], [1, 3, 640, 640]);
        assert_eq!(named.0["scale"], [1]);
        for wrong in [
            "images",
            "images:",
            ":1x2",
            "images:1x-3",
            "images:1xx3",
            "a:1,a:2",
            "",
        ] {
            assert!(wrong.parse::<NamedShapes>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn shapes_of_a_profile_stand_for_those_that_are_not_given() {
        let made = profiles(&[shapes("x:1x4")], &[], &[shapes("x:9x4")]).expect("profiles");
        assert_eq!(
            (
                &made[0]["x"].min[..],
                &made[0]["x"].opt[..],
                &made[0]["x"].max[..]
            ),
            (&[1, 4][..], &[9, 4][..], &[9, 4][..])
        );
        let made = profiles(&[], &[shapes("x:5")], &[]).expect("profiles");
        assert_eq!(
            made[0]["x"],
            ShapeRange {
                min: vec![5],
                opt: vec![5],
                max: vec![5]
            }
        );
        assert_eq!(profiles(&[], &[], &[]).expect("none").len(), 0);
    }

    #[test]
    fn the_nth_min_opt_and_max_make_the_nth_profile() {
        let made = profiles(
            &[shapes("x:1"), shapes("x:2")],
            &[],
            &[shapes("x:3"), shapes("x:4")],
        )
        .expect("profiles");
        assert_eq!((made[1]["x"].min[0], made[1]["x"].max[0]), (2, 4));
        assert!(profiles(&[shapes("x:1")], &[shapes("x:1"), shapes("x:2")], &[]).is_err());
    }

    #[test]
    fn impossible_options_are_told_all_at_once() {
        let options = BuildOptions {
            profiles: profiles(&[shapes("x:5")], &[], &[shapes("x:4")]).expect("profiles"),
            optimization_level: Some(9),
            gpu_fallback: true,
            calibration: Some("frames".into()),
            ..BuildOptions::default()
        };
        let problems = options.problems();
        assert_eq!(problems.len(), 4, "{problems:?}");
        assert!(
            problems[0].contains("not in order: min 5, opt 4, max 4"),
            "{problems:?}"
        );
    }

    #[test]
    fn a_dla_build_needs_a_precision_that_it_has() {
        let with = |precision| {
            BuildOptions {
                dla_core: Some(0),
                precision,
                ..BuildOptions::default()
            }
            .problems()
            .len()
        };
        assert_eq!(with(Precision::Tf32), 1);
        assert_eq!(with(Precision::Fp16), 0);
    }

    #[test]
    fn pools_and_sizes_are_read_with_units() {
        assert_eq!("workspace:1GiB".parse(), Ok(PoolLimit(Pool::Workspace, 1 << 30)));
        assert_eq!(
            "dlaSRAM=0.5MiB".parse(),
            Ok(PoolLimit(Pool::DlaManagedSram, 1 << 19))
        );
        for wrong in [
            "workspace",
            "workspace:1",
            "worksapce:1GiB",
            "workspace:-1GiB",
            "workspace:1TB",
            "workspace:GiB",
        ] {
            assert!(wrong.parse::<PoolLimit>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn compute_capabilities_are_read_in_both_forms() {
        assert_eq!("89".parse(), Ok(ComputeCapability(89)));
        assert_eq!("8.9".parse(), Ok(ComputeCapability(89)));
        assert_eq!(
            "12.0".parse::<ComputeCapability>().map(|c| c.to_string()),
            Ok("12.0".into())
        );
        for wrong in ["8", "8.", "8.90", "sm89", "-89", ""] {
            assert!(wrong.parse::<ComputeCapability>().is_err(), "{wrong}");
        }
    }
}
