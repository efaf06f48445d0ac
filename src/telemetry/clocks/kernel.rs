//! Clocks that are files of the kernel's: processors, a Jetson's GPU and its memory controller.
//!
//! A GPU whose rail may be switched off is held on too: by `railgate_enable` up to Orin, by the runtime power management
//! of its PCI device (`power/control`) on Thor.

use std::time::Duration;

use super::{Change, ClockError, memory};
use crate::board::Roots;
use crate::telemetry::gpu;
use crate::whole;

const CPUS: &str = "/sys/devices/system/cpu";
const BWMGR: &str = "/sys/class/devfreq/bwmgr";

/// One clock, as `jetlag clocks show` lists it; in MHz.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ClockRow {
    /// What it is of: `cpu0`, `17000000.gpu`, `emc`.
    pub of: String,
    /// The lowest that it may take.
    pub min_mhz: Option<f64>,
    /// The highest frequency that it may take.
    pub max_mhz: Option<f64>,
    /// What it is now.
    pub current_mhz: Option<f64>,
    /// Whether it cannot move.
    pub held: bool,
}

/// All clocks that can be read.
pub fn rows(roots: &Roots) -> Vec<ClockRow> {
    let mhz = |path: String, factor: f64| -> Option<f64> {
        let value: f64 = roots.text(&path)?.split_whitespace().next()?.parse().ok()?;
        Some(value * factor)
    };
    let row = |of: &str, folder: &str, names: [&str; 3], factor: f64| {
        let [min_mhz, max_mhz, current_mhz] = names.map(|name| mhz(format!("{folder}/{name}"), factor));
        ClockRow {
            of: of.to_owned(),
            min_mhz,
            max_mhz,
            current_mhz,
            held: min_mhz.is_some() && min_mhz == max_mhz,
        }
    };
    let mut rows: Vec<ClockRow> = cpus(roots)
        .iter()
        .map(|cpu| {
            let folder = format!("{CPUS}/{cpu}/cpufreq");
            row(
                cpu,
                &folder,
                ["scaling_min_freq", "scaling_max_freq", "scaling_cur_freq"],
                1e-3,
            )
        })
        .collect();
    for folder in devices(roots) {
        let name = folder.rsplit('/').next().unwrap_or_default();
        rows.push(row(name, &folder, ["min_freq", "max_freq", "cur_freq"], 1e-6));
    }
    if let Some(memory) = memory::find(roots) {
        rows.push(ClockRow {
            of: "emc".to_owned(),
            min_mhz: mhz(memory.min.to_owned(), 1e-6),
            max_mhz: memory.highest(roots).map(|hz| hz as f64 * 1e-6),
            current_mhz: mhz(memory.current.to_owned(), 1e-6),
            held: memory.held(roots),
        });
    }
    rows.retain(|row| row.current_mhz.is_some() || row.max_mhz.is_some());
    rows
}

/// Processors that have a clock, in order.
fn cpus(roots: &Roots) -> Vec<String> {
    let mut numbers: Vec<u32> = roots
        .names(CPUS)
        .iter()
        .filter_map(|name| name.strip_prefix("cpu")?.parse().ok())
        .collect();
    numbers.sort_unstable();
    let named = numbers.into_iter().map(|n| format!("cpu{n}"));
    named
        .filter(|cpu| {
            roots
                .file(&format!("{CPUS}/{cpu}/cpufreq/scaling_max_freq"))
                .exists()
        })
        .collect()
}

/// Devices whose clock devfreq governs: the GPU, and Thor's memory.
fn devices(roots: &Roots) -> Vec<String> {
    let mut devices = gpu::devices(roots);
    if roots.file(&format!("{BWMGR}/max_freq")).exists() {
        devices.push(BWMGR.to_owned());
    }
    devices
}

/// Where a Jetson's GPU can be switched on that was not used since the start: nvpmodel writes `on` there before it sets the
/// GPU's clock, too.
const GPU_POWER: [&str; 8] = [
    "/sys/devices/gpu.0/power/control",
    "/sys/devices/platform/gpu.0/power/control",
    "/sys/devices/platform/bus@0/17000000.gpu/power/control",
    "/sys/devices/platform/17000000.ga10b/power/control",
    "/sys/devices/platform/17000000.gv11b/power/control",
    "/sys/devices/17000000.ga10b/power/control",
    "/sys/devices/17000000.gv11b/power/control",
    "/sys/devices/17000000.gp10b/power/control",
];
/// Longest wait for a GPU's clock after it was switched on. It takes about a tenth of a second.
const WAKES_WITHIN: Duration = Duration::from_secs(5);

/// What switches a Jetson's GPU on whose driver has not made its clock yet (JetPack 5 without a screen, before the first
/// use); none where there is a clock, or no such GPU.
pub(super) fn wake(roots: &Roots) -> Option<Change> {
    if !gpu::devices(roots).is_empty() {
        return None;
    }
    GPU_POWER.into_iter().find_map(|path| {
        let earlier = roots.text(path).filter(|control| control != "on")?;
        Some(Change {
            path: path.to_owned(),
            earlier,
            value: "on".to_owned(),
        })
    })
}

/// Waits for the GPU's clock; whether it came.
pub(super) fn has_woken(roots: &Roots) -> bool {
    let begun = std::time::Instant::now();
    while gpu::devices(roots).is_empty() {
        if begun.elapsed() > WAKES_WITHIN {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

/// Runtime power management of Thor's GPU, which is a PCI device.
fn pci_power(roots: &Roots) -> Vec<String> {
    const PCI: &str = "/sys/bus/pci/devices";
    let text = |device: &str, file: &str| roots.text(&format!("{PCI}/{device}/{file}"));
    let is_gpu = |device: &String| {
        text(device, "vendor").as_deref() == Some("0x10de")
            && text(device, "class").is_some_and(|class| class.starts_with("0x03"))
    };
    let devices = roots.names(PCI).into_iter().filter(is_gpu);
    devices
        .map(|device| format!("{PCI}/{device}/power/control"))
        .collect()
}

/// Everything that is to be set, with what it holds now; what already is as it should be is left out.
pub(super) fn plan(roots: &Roots) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut set = |path: String, value: Option<String>| {
        let (Some(earlier), Some(value)) = (roots.text(&path), value) else {
            return;
        };
        if earlier != value {
            changes.push(Change { path, earlier, value });
        }
    };
    for cpu in cpus(roots) {
        let folder = format!("{CPUS}/{cpu}");
        let highest = roots.text(&format!("{folder}/cpufreq/scaling_max_freq"));
        set(format!("{folder}/cpufreq/scaling_min_freq"), highest);
        // Waking from deep idle takes longer than many kernels run.
        for state in roots.names(&format!("{folder}/cpuidle")) {
            set(format!("{folder}/cpuidle/{state}/disable"), Some("1".to_owned()));
        }
    }
    for folder in devices(roots) {
        let highest = roots.text(&format!("{folder}/max_freq"));
        let highest = match folder == BWMGR {
            true => highest.and_then(|hz| Some(memory::capped(roots, hz.parse().ok()?).to_string())),
            false => highest,
        };
        set(format!("{folder}/device/railgate_enable"), Some("0".to_owned()));
        set(format!("{folder}/min_freq"), highest);
    }
    if gpu::devices(roots)
        .iter()
        .any(|folder| folder.contains("gpu-gpc"))
    {
        for path in pci_power(roots) {
            set(path, Some("on".to_owned()));
        }
    }
    if let Some(memory) = memory::find(roots) {
        changes.extend(memory.plan(roots));
    }
    changes
}

/// Writes the value of one setting below /sys.
pub(super) fn write(roots: &Roots, path: &str, value: &str) -> Result<(), ClockError> {
    let file = roots.file(path);
    whole::set(&file, value).map_err(|why| ClockError::Set { path: file, why })
}
