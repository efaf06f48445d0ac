//! A Jetson's GPU: load and clock, through the kernel's devfreq.
//!
//! Its device is found by the name in its device tree, since paths moved with every release. The load is the
//! driver's average, in thousandths. A clock that is set while the GPU is gated is not a running clock; the
//! true clock per cluster takes root and debugfs. Thor has no load here: NVML tells it.
//!
//! The driver holds the GPU on while it reads its load, and a GPU is switched off 500 ms after it was last held: one whose
//! load is read ten times a second never is. So the idle baseline is taken without.

use super::file::NumberFile;
use super::files::{Channel, Files, Formula};
use crate::board::Roots;
use crate::record::{Averaging, Measurand, Part, Quantity, SignalRecord};
use crate::units::Nanos;

/// Where the load was, besides beside the clock.
const LOADS: [&str; 6] = [
    "/sys/devices/platform/bus@0/17000000.gpu/load",
    "/sys/devices/platform/17000000.ga10b/load",
    "/sys/devices/platform/17000000.gv11b/load",
    "/sys/devices/17000000.gv11b/load",
    "/sys/devices/17000000.gp10b/load",
    "/sys/devices/gpu.0/load",
];
const CHIPS: [&str; 6] = ["gm20b", "gp10b", "gv11b", "ga10b", "gb10b", "gpu"];

/// The sampler; none where there is no such GPU.
pub(super) fn find(roots: &Roots, interval: Nanos) -> Option<Files> {
    let mut channels = Vec::new();
    let devices = devices(roots);
    let beside = devices.iter().map(|folder| format!("{folder}/device/load"));
    let load = beside
        .chain(LOADS.map(str::to_owned))
        .find(|path| roots.file(path).exists());
    if let Some(path) = load {
        channels.push(channel(
            roots,
            "gpu_load",
            Measurand::new(Quantity::Load, Part::Gpu(None)),
            "percent",
            &path,
            0.1,
            (0.0, 100.0),
        ));
    }
    for (n, folder) in devices.iter().enumerate() {
        let path = format!("{folder}/cur_freq");
        let (name, part) = match n {
            0 => ("gpu_frequency".to_owned(), Part::Gpu(None)),
            _ => {
                let device = folder.rsplit('/').next().unwrap_or_default();
                (format!("{device}_frequency"), Part::Engine)
            }
        };
        let clock = Measurand::new(Quantity::Clock, part);
        channels.push(channel(roots, &name, clock, "mhz", &path, 1e-6, (0.0, 10_000.0)));
    }
    Files::new("gpu", interval.max(Nanos::from_millis(10)), channels).map(Files::that_keeps_the_gpu_on)
}

/// Folders of the GPU's clocks, the graphics clock first.
pub(crate) fn devices(roots: &Roots) -> Vec<String> {
    let is_gpu = |name: &str| {
        let tree = roots.text(&format!("/sys/class/devfreq/{name}/device/of_node/name"));
        let chip = |text: &str| CHIPS.contains(&text);
        tree.as_deref().is_some_and(chip)
            || name.split_once('.').is_some_and(|(_, kind)| chip(kind))
            || name.starts_with("gpu-")
    };
    let mut found: Vec<String> = roots
        .names("/sys/class/devfreq")
        .into_iter()
        .filter(|name| is_gpu(name))
        .map(|name| format!("/sys/class/devfreq/{name}"))
        .collect();
    // Thor's graphics clusters before its video engines.
    found.sort_by_key(|path| !path.contains("gpu-gpc") && path.contains("gpu-"));
    found.retain(|folder| roots.file(&format!("{folder}/cur_freq")).exists());
    found
}

fn channel(
    roots: &Roots,
    name: &str,
    measurand: Measurand,
    unit: &str,
    path: &str,
    factor: f64,
    plausible: (f64, f64),
) -> Channel {
    Channel {
        signal: SignalRecord {
            source: "gpu".to_owned(),
            signal: name.to_owned(),
            unit: unit.to_owned(),
            measurand,
            origin: path.to_owned(),
            averaging: match unit {
                "percent" => Averaging::Mean,
                _ => Averaging::Instant,
            },
            ..SignalRecord::default()
        },
        formula: Formula::Scaled(NumberFile::new(roots.file(path)), factor),
        plausible,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::testing::{readings, tree};

    #[test]
    fn the_gpu_is_found_on_boards_of_each_kind() {
        for (load, clock, wanted) in [
            (
                Some("/sys/devices/gpu.0/load"),
                "/sys/class/devfreq/57000000.gpu/cur_freq",
                Some(63.0),
            ),
            (
                Some("/sys/devices/platform/17000000.ga10b/load"),
                "/sys/class/devfreq/17000000.ga10b/cur_freq",
                Some(63.0),
            ),
            (
                Some("/sys/class/devfreq/17000000.gpu/device/load"),
                "/sys/class/devfreq/17000000.gpu/cur_freq",
                Some(63.0),
            ),
            (None, "/sys/class/devfreq/gpu-gpc-0/cur_freq", None),
        ] {
            let mut files = vec![(clock, "621000000"), ("/sys/class/devfreq/bwmgr/cur_freq", "1")];
            files.extend(load.map(|path| (path, "630")));
            let root = tree(&files);
            let mut gpu = find(&Roots::at(root.path()), Nanos::from_millis(100)).unwrap();
            let values = readings(&mut gpu);
            assert_eq!(values["gpu_frequency"], Some(621.0), "{clock}");
            assert_eq!(values.get("gpu_load").copied().flatten(), wanted, "{clock}");
        }
        assert!(find(&Roots::at(tree(&[]).path()), Nanos::from_millis(100)).is_none());
    }
}
