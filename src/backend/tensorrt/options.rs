//! Build options for the release at hand: what it cannot do is refused in plain words before anything is built, the
//! rest is set.
//!
//! [`refusals`] is pure and knows releases by their version alone; [`apply`] makes the calls.

use tensorrt_dyn::{
    Builder, BuilderConfig, BuilderFlag, DeviceType, Era, Flavour, HardwareCompatibility as Level,
    MemoryPool, Network, NetworkOptions, PreviewFeature, ProfileSelector, ProfilingVerbosity, Result,
    Version,
};

use crate::engine::options::{
    BuildOptions, ComputeCapability, HardwareCompatibility, Pool, Precision, Verbosity,
};

/// The first compute capability that computes in BF16.
const FIRST_WITH_BF16: u16 = 80;

/// What the network itself has to say on options.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NetworkTraits {
    /// It holds QuantizeLinear or DequantizeLinear nodes.
    pub(super) is_quantised: bool,
}

/// What the machine has to say on options.
#[derive(Clone, Copy, Debug)]
pub(super) struct MachineTraits {
    /// The compute capability of the GPU to build on, as 87 for 8.7; `None` without one.
    pub(super) compute_capability: Option<u16>,
}

/// Everything in the options that this release, network or machine cannot do.
pub(super) fn refusals(
    options: &BuildOptions,
    version: Version,
    network: NetworkTraits,
    machine: MachineTraits,
) -> Vec<String> {
    let mut refusals = options.problems();
    refusals.extend(precision(options, version, network));
    refusals.extend(calibration(options, network));
    refusals.extend(bf16_hardware(options, machine));
    let mut need = |wanted: bool, there: bool, what: &str, advice: &str| {
        if wanted && !there {
            refusals.push(format!("{version} has no {what}: {advice}"));
        }
    };
    let flag = |flag: BuilderFlag| flag.value(version).is_some();
    // The release that brought these, in era A; every later era has them.
    let from_8_6 = version.era() != Era::A || version.at_least(8, 6, 1);
    need(
        options.version_compatible,
        flag(BuilderFlag::VersionCompatible),
        "version-compatible plans",
        "they came with 8.6",
    );
    need(
        options.optimization_level.is_some(),
        from_8_6,
        "optimization levels",
        "they came with 8.6",
    );
    need(
        options.max_aux_streams.is_some(),
        from_8_6,
        "auxiliary streams",
        "they came with 8.6",
    );
    let compatible = |level: HardwareCompatibility| level_of(level).value(version).is_some();
    need(
        options.hardware_compatibility.is_some(),
        options.hardware_compatibility.is_none_or(compatible),
        "such hardware compatibility",
        "ampere-plus came with 8.6, same-compute-capability with 10.9",
    );
    for pool in options.pools.keys() {
        let there = pool_of(*pool).value(version).is_some();
        need(true, there, &format!("pool {}", pool.name()), "leave it out");
    }
    need(
        options.calibration.is_some(),
        matches!(version.era(), Era::A | Era::B),
        "INT8 calibration",
        "quantise the network with Q/DQ nodes (for example with NVIDIA's Model Optimizer), or build with TensorRT 8 to 10",
    );
    let is_rtx = version.flavour == Flavour::Rtx;
    if options.version_compatible && is_rtx {
        refusals.push(format!(
            "{version} cannot build version-compatible plans: it does not ship the lean runtime that they contain"
        ));
    }
    if options.dla_core.is_some() && is_rtx {
        refusals.push(format!("{version} is for desktop GPUs and does not support DLA"));
    }
    match (is_rtx, options.compute_capabilities.is_empty()) {
        (false, false) => refusals.push(format!(
            "{version} builds only for this machine's GPU: leave out --compute-capability, or build with TensorRT-RTX"
        )),
        (true, true) if machine.compute_capability.is_none() => refusals.push(
            "no GPU to build for: set --compute-capability, for example 89 for Ada".to_owned(),
        ),
        (true, false) => refusals.extend(unknown_capabilities(options, version)),
        _ => {}
    }
    refusals
}

fn precision(options: &BuildOptions, version: Version, network: NetworkTraits) -> Option<String> {
    let era = version.era();
    let wanted = options.precision;
    let typed = era.is_always_strongly_typed();
    let from_model = format!("{version} takes precisions from the network alone");
    match wanted {
        Precision::Tf32 | Precision::Fp32 => None,
        Precision::StronglyTyped => (era == Era::A && !version.at_least(9, 1, 0))
            .then(|| format!("{version} has no strongly typed networks: they came with 9.1")),
        Precision::Int8 | Precision::Fp8 if typed && network.is_quantised => None,
        Precision::Int8 | Precision::Fp8 if typed => Some(format!(
            "{from_model}, and this one has no Q/DQ nodes: quantise it first (for example with NVIDIA's Model Optimizer), then build it strongly-typed"
        )),
        Precision::Fp16 | Precision::Bf16 | Precision::Best if typed => Some(format!(
            "{from_model}: convert the network to {} (onnxconverter-common or NVIDIA's Model Optimizer), or build with TensorRT 8 to 10",
            if wanted == Precision::Best {
                "the types you want".to_owned()
            } else {
                wanted.to_string()
            }
        )),
        Precision::Int8 if !network.is_quantised && options.calibration.is_none() => Some(
            "int8 needs scales, and this network has none: quantise it with Q/DQ nodes, or use --calibrate"
                .to_owned(),
        ),
        Precision::Fp8 if !network.is_quantised => {
            Some("fp8 needs scales, and this network has no Q/DQ nodes: quantise it first".to_owned())
        }
        Precision::Fp8 => missing(BuilderFlag::Fp8, version, "fp8", "8.6"),
        Precision::Bf16 => missing(BuilderFlag::Bf16, version, "bf16", "9.1"),
        Precision::Fp16 | Precision::Int8 | Precision::Best => None,
    }
}

fn calibration(options: &BuildOptions, network: NetworkTraits) -> Option<String> {
    (options.calibration.is_some() && network.is_quantised).then(|| {
        "this network has Q/DQ nodes, and TensorRT takes its scales from them: leave out --calibrate"
            .to_owned()
    })
}

/// BF16 came with Ampere.
fn bf16_hardware(options: &BuildOptions, machine: MachineTraits) -> Option<String> {
    let capability = machine
        .compute_capability
        .filter(|_| options.precision == Precision::Bf16)?;
    (capability < FIRST_WITH_BF16).then(|| {
        format!(
            "this GPU has compute capability {}, and bf16 needs 8.0 or later",
            ComputeCapability(capability)
        )
    })
}

fn missing(flag: BuilderFlag, version: Version, name: &str, since: &str) -> Option<String> {
    flag.value(version)
        .is_none()
        .then(|| format!("{version} has no {name}: it came with {since}"))
}

fn unknown_capabilities(options: &BuildOptions, version: Version) -> Vec<String> {
    let mut known: Vec<u16> = vec![75, 80, 86, 89, 120];
    // Of releases after the tables nothing is known, so the library decides.
    if version.is_newer_than_tables() {
        return Vec::new();
    }
    known.extend((version.era() == Era::E).then_some(121));
    let names: Vec<String> = known.iter().map(ToString::to_string).collect();
    options
        .compute_capabilities
        .iter()
        .filter(|capability| !known.contains(capability))
        .map(|capability| {
            let advice = match capability {
                72 | 87 | 101 | 110 => "; that is a Jetson, which needs TensorRT: build there",
                90 | 100 | 103 => "; that is a data-centre GPU, which needs TensorRT: build there",
                _ => "",
            };
            format!(
                "{version} does not build for compute capability {}: it supports {}{advice}",
                ComputeCapability(*capability),
                names.join(", ")
            )
        })
        .collect()
}

fn level_of(level: HardwareCompatibility) -> Level {
    match level {
        HardwareCompatibility::AmperePlus => Level::AmperePlus,
        HardwareCompatibility::SameComputeCapability => Level::SameComputeCapability,
    }
}

fn pool_of(pool: Pool) -> MemoryPool {
    match pool {
        Pool::Workspace => MemoryPool::Workspace,
        Pool::DlaManagedSram => MemoryPool::DlaManagedSram,
        Pool::DlaLocalDram => MemoryPool::DlaLocalDram,
        Pool::DlaGlobalDram => MemoryPool::DlaGlobalDram,
        Pool::TacticDram => MemoryPool::TacticDram,
        Pool::TacticSharedMemory => MemoryPool::TacticSharedMemory,
    }
}

/// Whether the network is created strongly typed.
pub(super) fn network_options(options: &BuildOptions) -> NetworkOptions {
    NetworkOptions {
        strongly_typed: options.precision == Precision::StronglyTyped,
    }
}

/// Sets everything in `config` but profiles, caches and callbacks. What was refused is not here.
pub(super) fn apply(
    options: &BuildOptions,
    config: &BuilderConfig,
    version: Version,
    compute_capability: Option<u16>,
    has_scales: bool,
) -> Result<()> {
    let set = |flag: BuilderFlag| config.set_flag(flag, true);
    let set_if_there = |flag: BuilderFlag| {
        if flag.value(version).is_some() {
            set(flag)
        } else {
            Ok(())
        }
    };
    match options.precision {
        Precision::Tf32 | Precision::StronglyTyped => {}
        Precision::Fp32 => config.set_flag(BuilderFlag::Tf32, false)?,
        Precision::Fp16 => set(BuilderFlag::Fp16)?,
        Precision::Bf16 => set(BuilderFlag::Bf16)?,
        // In eras without the flag the network's Q/DQ nodes say it all.
        Precision::Int8 => set_if_there(BuilderFlag::Int8)?,
        Precision::Fp8 => set_if_there(BuilderFlag::Fp8)?,
        // As trtexec does: FP8 and INT8 exclude each other, BF16 where the GPU has it.
        Precision::Best => {
            set(BuilderFlag::Fp16)?;
            if has_scales {
                set(BuilderFlag::Int8)?;
            } else {
                log::warn!(
                    "`best` does not use INT8 here: the network has no Q/DQ nodes and there is no calibration, so INT8 scales are unknown; use --calibrate to get them"
                );
            }
            if compute_capability.is_some_and(|capability| capability >= FIRST_WITH_BF16) {
                set_if_there(BuilderFlag::Bf16)?;
            }
        }
    }
    for (pool, bytes) in &options.pools {
        config.set_memory_pool_limit(pool_of(*pool), *bytes)?;
    }
    // Every slot has a context of its own, and all have the same shapes. From 10 on profiles are always shared.
    if version.era() == Era::A && PreviewFeature::ProfileSharing0806.value(version).is_some() {
        config.set_preview_feature(PreviewFeature::ProfileSharing0806, true)?;
    }
    if let Some(level) = options.optimization_level {
        config.set_optimization_level(level)?;
    }
    if let Some(streams) = options.max_aux_streams {
        config.set_max_aux_streams(streams)?;
    }
    if options.sparsity {
        set(BuilderFlag::SparseWeights)?;
    }
    if options.version_compatible {
        set(BuilderFlag::VersionCompatible)?;
        // Such a plan is loaded by releases that know nothing of its plugins, so it carries them.
        if !options.plugins.is_empty() {
            let plugins: Vec<&std::path::Path> =
                options.plugins.iter().map(std::path::PathBuf::as_path).collect();
            config.set_plugins_to_serialize(&plugins)?;
        }
    }
    if let Some(level) = options.hardware_compatibility {
        config.set_hardware_compatibility(level_of(level))?;
    }
    config.set_profiling_verbosity(match options.verbosity {
        Verbosity::None => ProfilingVerbosity::None,
        Verbosity::LayerNamesOnly => ProfilingVerbosity::LayerNamesOnly,
        Verbosity::Detailed => ProfilingVerbosity::Detailed,
    })?;
    if let Some(core) = options.dla_core {
        config.set_default_device(DeviceType::Dla)?;
        config.set_dla_core(core)?;
        if options.gpu_fallback {
            set(BuilderFlag::GpuFallback)?;
        }
    }
    if !options.compute_capabilities.is_empty() {
        config.set_compute_capabilities(&options.compute_capabilities)?;
    }
    Ok(())
}

/// Limits that the library did not take, in words: it logs and goes on.
pub(super) fn pools_not_taken(options: &BuildOptions, config: &BuilderConfig) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for (pool, bytes) in &options.pools {
        let taken = config.memory_pool_limit(pool_of(*pool))?;
        if taken != *bytes {
            problems.push(format!(
                "TensorRT did not accept the limit {bytes} on {}; it is {taken}",
                pool.name()
            ));
        }
    }
    Ok(problems)
}

/// What is wrong with the profiles for this network: unknown inputs, dynamic ones without shapes, shapes that
/// contradict fixed extents.
pub(super) fn profile_problems(options: &BuildOptions, network: &Network) -> Result<Vec<String>> {
    let mut inputs = Vec::new();
    for input in network.inputs()? {
        inputs.push((input.name()?, input.dimensions()?, input.is_shape_tensor()?));
    }
    let mut problems = Vec::new();
    for (number, profile) in options.profiles.iter().enumerate() {
        for (name, range) in profile {
            let Some((_, shape, is_shape)) = inputs.iter().find(|(input, ..)| input == name) else {
                let names: Vec<&str> = inputs.iter().map(|(input, ..)| input.as_str()).collect();
                problems.push(format!(
                    "profile {number} has shapes for `{name}`, but the network's inputs are {}",
                    names.join(", ")
                ));
                continue;
            };
            let fits = |given: &[i64]| {
                *is_shape
                    || (given.len() == shape.len()
                        && shape
                            .iter()
                            .zip(given)
                            .all(|(have, want)| *have < 0 || have == want))
            };
            for (which, given) in [("min", &range.min), ("opt", &range.opt), ("max", &range.max)] {
                if !fits(given) {
                    problems.push(format!(
                        "profile {number}: the {which} shape {} of `{name}` does not fit the network's {}",
                        crate::engine::options::shape_text(given),
                        shape_of(shape)
                    ));
                }
            }
        }
    }
    for (name, shape, is_shape) in &inputs {
        let is_dynamic = *is_shape || shape.iter().any(|extent| *extent < 0);
        if is_dynamic
            && (options.profiles.is_empty()
                || options.profiles.iter().any(|profile| !profile.contains_key(name)))
        {
            problems.push(format!(
                "input `{name}` {} is dynamic: give its shapes, for example --min-shapes {name}:{} --opt-shapes … --max-shapes …",
                shape_of(shape),
                crate::engine::options::shape_text(&shape.iter().map(|extent| (*extent).max(1)).collect::<Vec<_>>())
            ));
        }
    }
    Ok(problems)
}

fn shape_of(shape: &[i64]) -> String {
    let extents: Vec<String> = shape
        .iter()
        .map(|extent| {
            if *extent < 0 {
                "?".to_owned()
            } else {
                extent.to_string()
            }
        })
        .collect();
    format!("[{}]", extents.join(", "))
}

/// Makes the profiles and adds them.
pub(super) fn add_profiles(
    options: &BuildOptions,
    builder: &Builder,
    network: &Network,
    config: &BuilderConfig,
) -> Result<()> {
    let mut shape_inputs = Vec::new();
    for input in network.inputs()? {
        if input.is_shape_tensor()? {
            shape_inputs.push(input.name()?);
        }
    }
    // The first slot's profiles, then the second's.
    let slots = usize::try_from(options.contexts.max(1)).unwrap_or(1);
    let all = std::iter::repeat_n(&options.profiles, slots).flatten();
    for (number, profile) in all.enumerate() {
        let made = builder.optimization_profile()?;
        for (name, range) in profile {
            for (selector, shape) in [
                (ProfileSelector::Min, &range.min),
                (ProfileSelector::Opt, &range.opt),
                (ProfileSelector::Max, &range.max),
            ] {
                if shape_inputs.contains(name) {
                    made.set_shape_values(name, selector, shape)?;
                } else {
                    made.set_dimensions(name, selector, shape)?;
                }
            }
        }
        config.add_optimization_profile(&made)?;
        if number == 0 && options.calibration.is_some() {
            config.set_calibration_profile(&made)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WITH_GPU: MachineTraits = MachineTraits {
        compute_capability: Some(87),
    };
    const WITHOUT_GPU: MachineTraits = MachineTraits {
        compute_capability: None,
    };
    const PLAIN: NetworkTraits = NetworkTraits { is_quantised: false };
    const QUANTISED: NetworkTraits = NetworkTraits { is_quantised: true };

    fn version(number: i32) -> Version {
        Version::from_number(number).expect("known")
    }

    fn refused(options: &BuildOptions, number: i32, network: NetworkTraits) -> String {
        refusals(options, version(number), network, WITH_GPU).join("\n")
    }

    fn precision(precision: Precision) -> BuildOptions {
        BuildOptions {
            precision,
            ..BuildOptions::default()
        }
    }

    #[test]
    fn precisions_are_refused_where_a_release_takes_them_from_the_network() {
        for number in [110_400, 10_701, 10_400] {
            for wanted in [Precision::Fp16, Precision::Bf16, Precision::Best] {
                let text = refused(&precision(wanted), number, QUANTISED);
                assert!(
                    text.contains("takes precisions from the network alone"),
                    "{number} {wanted}: {text}"
                );
            }
            assert_eq!(refused(&precision(Precision::Int8), number, QUANTISED), "");
            assert!(refused(&precision(Precision::Int8), number, PLAIN).contains("no Q/DQ nodes"));
        }
        for number in [8_501, 8_602, 100_300, 101_600] {
            assert_eq!(refused(&precision(Precision::Fp16), number, PLAIN), "");
            assert_eq!(refused(&precision(Precision::Int8), number, QUANTISED), "");
            assert!(refused(&precision(Precision::Int8), number, PLAIN).contains("int8 needs scales"));
        }
    }

    #[test]
    fn what_came_later_is_refused_with_the_release_that_brought_it() {
        let text = refused(
            &BuildOptions {
                precision: Precision::Bf16,
                optimization_level: Some(5),
                max_aux_streams: Some(0),
                version_compatible: true,
                hardware_compatibility: Some(HardwareCompatibility::AmperePlus),
                ..BuildOptions::default()
            },
            8_502,
            PLAIN,
        );
        for phrase in [
            "bf16: it came with 9.1",
            "optimization levels",
            "auxiliary streams",
            "version-compatible",
            "hardware compatibility",
        ] {
            assert!(text.contains(phrase), "{phrase} in {text}");
        }
        assert!(refused(&precision(Precision::StronglyTyped), 8_602, PLAIN).contains("they came with 9.1"));
        let same = BuildOptions {
            hardware_compatibility: Some(HardwareCompatibility::SameComputeCapability),
            ..BuildOptions::default()
        };
        assert!(refused(&same, 100_300, PLAIN).contains("10.9"));
        assert_eq!(refused(&same, 101_100, PLAIN), "");
    }

    #[test]
    fn bf16_is_asked_of_a_gpu_that_has_it() {
        let xavier = MachineTraits {
            compute_capability: Some(72),
        };
        let text = refusals(&precision(Precision::Bf16), version(100_300), PLAIN, xavier).join("\n");
        assert!(
            text.contains("compute capability 7.2, and bf16 needs 8.0"),
            "{text}"
        );
        assert_eq!(refused(&precision(Precision::Bf16), 100_300, PLAIN), "");
    }

    #[test]
    fn calibration_is_for_releases_that_have_it() {
        let options = BuildOptions {
            calibration: Some("frames".into()),
            ..precision(Precision::Int8)
        };
        assert_eq!(refused(&options, 100_300, PLAIN), "");
        assert!(refused(&options, 110_400, PLAIN).contains("no INT8 calibration"));
        assert!(refused(&options, 100_300, QUANTISED).contains("leave out --calibrate"));
    }

    #[test]
    fn targets_are_for_tensorrt_rtx_and_for_gpus_that_it_knows() {
        let target = |capability| BuildOptions {
            compute_capabilities: vec![capability],
            ..BuildOptions::default()
        };
        assert_eq!(refused(&target(89), 10_701, PLAIN), "");
        assert_eq!(refused(&target(121), 10_701, PLAIN), "");
        assert!(refused(&target(121), 10_400, PLAIN).contains("does not build for compute capability 12.1"));
        assert!(refused(&target(87), 10_701, PLAIN).contains("that is a Jetson"));
        assert!(refused(&target(90), 10_701, PLAIN).contains("data-centre"));
        assert!(refused(&target(89), 100_300, PLAIN).contains("builds only for this machine's GPU"));
        assert_eq!(
            refused(&target(200), 10_800, PLAIN),
            "",
            "a release after the tables decides itself"
        );
    }

    #[test]
    fn without_a_gpu_only_a_named_target_can_be_built_for() {
        let none = BuildOptions::default();
        let rtx = refusals(&none, version(10_701), PLAIN, WITHOUT_GPU).join("\n");
        assert!(rtx.contains("--compute-capability"), "{rtx}");
        // Full TensorRT says itself, and better, what is missing.
        assert!(refusals(&none, version(100_300), PLAIN, WITHOUT_GPU).is_empty());
    }

    #[test]
    fn a_dla_is_asked_of_a_release_that_has_one() {
        let options = BuildOptions {
            dla_core: Some(0),
            ..precision(Precision::Fp16)
        };
        assert_eq!(refused(&options, 8_602, PLAIN), "");
        let rtx = BuildOptions {
            compute_capabilities: vec![89],
            dla_core: Some(0),
            ..precision(Precision::Int8)
        };
        assert!(refused(&rtx, 10_701, QUANTISED).contains("does not support DLA"));
    }
}
