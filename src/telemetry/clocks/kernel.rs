//! Clocks that are files of the kernel's: processors, a Jetson's GPU and its memory controller.

use super::{Change, ClockError, memory};
use crate::board::Roots;
use crate::files;
use crate::telemetry::gpu;

const CPUS: &str = "/sys/devices/system/cpu";
const BWMGR: &str = "/sys/class/devfreq/bwmgr";

/// One clock, as `jetlag clocks show` lists it; in MHz.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ClockRow {
    /// What it is of: `cpu0`, `17000000.gpu`, `emc`.
    pub of: String,
    /// The lowest that it may take.
    pub min_mhz: Option<f64>,
    /// The highest.
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
        set(format!("{folder}/device/railgate_enable"), Some("0".to_owned()));
        set(format!("{folder}/min_freq"), highest);
    }
    if let Some(memory) = memory::find(roots) {
        changes.extend(memory.plan(roots));
    }
    changes
}

/// Writes a setting.
pub(super) fn write(roots: &Roots, path: &str, value: &str) -> Result<(), ClockError> {
    let file = roots.file(path);
    files::overwrite(&file, value).map_err(|why| ClockError::Set { path: file, why })
}
