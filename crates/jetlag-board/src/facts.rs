//! The facts, each read from its file.

use super::identity::Identity;
use super::{Roots, libraries};
use jetlag_record::units::Bytes;

/// One thing that is known of a machine, or is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Its name in the manifest: `cpu`.
    pub name: &'static str,
    /// In words; none if it is not there or cannot be read.
    pub value: Option<String>,
    /// Where it was read, or looked for.
    pub from: String,
}

/// All facts that are looked for, in the order in which they are shown.
pub fn read(roots: &Roots) -> Vec<Fact> {
    let fact = |name, from: &str, value| Fact {
        name,
        value,
        from: from.to_owned(),
    };
    let path = |found: Option<std::path::PathBuf>| found.map(|p| p.display().to_string());
    let (driver, driver_from) = driver(roots);
    let (container, container_from) = container(roots);
    vec![
        fact("cpu", "/proc/cpuinfo", cpu(roots)),
        fact("cores", "/proc/cpuinfo", cores(roots)),
        fact(
            "governor",
            "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
            governor(roots),
        ),
        fact("memory", "/proc/meminfo", memory(roots)),
        fact("os", "/etc/os-release", os(roots)),
        fact(
            "kernel",
            "/proc/sys/kernel/osrelease",
            roots.text("/proc/sys/kernel/osrelease"),
        ),
        fact("container", container_from, container),
        fact(
            "board",
            "/proc/device-tree/model",
            roots.text("/proc/device-tree/model"),
        ),
        fact("module", "/proc/device-tree/compatible", module(roots)),
        fact("l4t", "/etc/nv_tegra_release", l4t(roots)),
        fact("gpu", "/proc/driver/nvidia/gpus/*/information", gpu(roots)),
        fact("nvidia_driver", driver_from, driver),
        fact(
            "cuda",
            "libcuda.so in the loader's folders",
            path(libraries::library(roots, "libcuda")),
        ),
        fact(
            "tensorrt",
            "libnvinfer.so in the loader's folders",
            path(libraries::library(roots, "libnvinfer")),
        ),
        fact(
            "power_sensors",
            "/sys/class/hwmon, /sys/bus/i2c/drivers/ina3221x, /sys/class/powercap",
            power_sensors(roots),
        ),
        fact(
            "tegrastats",
            "tegrastats on the PATH",
            path(libraries::program(roots, "tegrastats")),
        ),
    ]
}

/// The first value of a `key : value` file.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}

fn cpu(roots: &Roots) -> Option<String> {
    let info = roots.text("/proc/cpuinfo")?;
    // Arm's "model name" is the architecture; the part number is the processor.
    if let Some(part) = field(&info, "CPU part") {
        let implementer = field(&info, "CPU implementer").unwrap_or("?");
        let name = match (implementer, part) {
            ("0x41", "0xd07") => "Arm Cortex-A57",
            ("0x4e", "0x003") => "NVIDIA Denver 2",
            ("0x4e", "0x004") => "NVIDIA Carmel",
            ("0x41", "0xd42") => "Arm Cortex-A78AE",
            ("0x41", "0xd83") => "Arm Neoverse-V3AE",
            _ => return Some(format!("Arm implementer {implementer}, part {part}")),
        };
        return Some(name.to_owned());
    }
    field(&info, "model name").map(str::to_owned)
}

fn cores(roots: &Roots) -> Option<String> {
    let info = roots.text("/proc/cpuinfo")?;
    let cores = info
        .lines()
        .filter(|line| {
            line.split_once(':')
                .is_some_and(|(key, _)| key.trim() == "processor")
        })
        .count();
    (cores > 0).then(|| cores.to_string())
}

/// One word if all processors have the same governor, else each with its count.
fn governor(roots: &Roots) -> Option<String> {
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for cpu in roots.names("/sys/devices/system/cpu") {
        let path = format!("/sys/devices/system/cpu/{cpu}/cpufreq/scaling_governor");
        if let Some(governor) = roots.text(&path) {
            *counts.entry(governor).or_default() += 1;
        }
    }
    match counts.len() {
        0 => None,
        1 => counts.into_keys().next(),
        _ => Some(join(counts.into_iter().map(|(name, n)| format!("{name} on {n}")))),
    }
}

fn memory(roots: &Roots) -> Option<String> {
    let info = roots.text("/proc/meminfo")?;
    let kib: u64 = field(&info, "MemTotal")?
        .strip_suffix("kB")?
        .trim()
        .parse()
        .ok()?;
    Some(Bytes(kib.saturating_mul(1024)).to_string())
}

fn os(roots: &Roots) -> Option<String> {
    let release = roots.text("/etc/os-release")?;
    release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))
        .map(|name| name.trim_matches(['"', '\'']).to_owned())
}

/// Which kind of container, if any; control groups name theirs unless they have a namespace of their own.
fn container(roots: &Roots) -> (Option<String>, &'static str) {
    for (file, kind) in [("/.dockerenv", "docker"), ("/run/.containerenv", "podman")] {
        if roots.file(file).exists() {
            return (Some(kind.to_owned()), file);
        }
    }
    let groups = roots.text("/proc/1/cgroup").unwrap_or_default();
    let kind = ["kubepods", "docker", "containerd", "lxc"]
        .into_iter()
        .find(|kind| groups.contains(kind));
    (kind.map(str::to_owned), "/proc/1/cgroup")
}

/// The module as the device tree names it, which decides the numbers; the model's text names the carrier too.
pub fn module(roots: &Roots) -> Option<String> {
    Identity::of_machine(roots).map(|identity| identity.text)
}

/// `R36.4.4` from `# R36 (release), REVISION: 4.4, …`.
pub fn l4t(roots: &Roots) -> Option<String> {
    let text = roots.text("/etc/nv_tegra_release")?;
    let line = text.lines().next()?;
    let release = line.trim_start_matches('#').split_whitespace().next()?;
    let revision = line.split("REVISION:").nth(1)?.split(',').next()?.trim();
    Some(format!("{release}.{revision}"))
}

/// Names of the GPUs that the driver lists; a Jetson's is part of its chip and not among them.
pub fn gpu(roots: &Roots) -> Option<String> {
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for device in roots.names("/proc/driver/nvidia/gpus") {
        let information = roots.text(&format!("/proc/driver/nvidia/gpus/{device}/information"));
        if let Some(model) = information.as_deref().and_then(|text| field(text, "Model")) {
            *counts.entry(model.to_owned()).or_default() += 1;
        }
    }
    let names = counts.into_iter().map(|(name, n)| match n {
        1 => name,
        _ => format!("{n} × {name}"),
    });
    Some(join(names)).filter(|names| !names.is_empty())
}

fn driver(roots: &Roots) -> (Option<String>, &'static str) {
    let module = "/sys/module/nvidia/version";
    if let Some(version) = roots.text(module) {
        return (Some(version), module);
    }
    let proc = "/proc/driver/nvidia/version";
    // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 …"
    let text = roots.text(proc);
    let version = text.as_deref().and_then(|text| field(text, "NVRM version"));
    let number = version.and_then(|line| line.split_whitespace().find(|word| is_version(word)));
    (number.map(str::to_owned), proc)
}

fn is_version(word: &str) -> bool {
    word.contains('.') && word.split('.').all(|part| part.parse::<u32>().is_ok())
}

/// What measures power here, by driver, and how many of each.
fn power_sensors(roots: &Roots) -> Option<String> {
    let mut found = Vec::new();
    let hwmon = roots.names("/sys/class/hwmon");
    let count = |driver: &str| {
        let named =
            |dir: &&String| roots.text(&format!("/sys/class/hwmon/{dir}/name")).as_deref() == Some(driver);
        hwmon.iter().filter(named).count()
    };
    for driver in ["ina3221", "ina238"] {
        match count(driver) {
            0 => {}
            1 => found.push(driver.to_owned()),
            n => found.push(format!("{n} × {driver}")),
        }
    }
    // The driver of L4T R32 and before has no hwmon entry; its chips are named by bus and address.
    let old = roots.names("/sys/bus/i2c/drivers/ina3221x");
    let chips = old.iter().filter(|name| name.contains("-00")).count();
    if chips > 0 {
        found.push(format!("{chips} × ina3221x"));
    }
    let rapl = roots.names("/sys/class/powercap");
    if rapl
        .iter()
        .any(|zone| zone.starts_with("intel-rapl:") || zone.starts_with("amd-rapl:"))
    {
        found.push("RAPL".to_owned());
    }
    Some(join(found)).filter(|names| !names.is_empty())
}

fn join(parts: impl IntoIterator<Item = String>) -> String {
    parts.into_iter().collect::<Vec<_>>().join(", ")
}
