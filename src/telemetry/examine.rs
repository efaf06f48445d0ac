//! What can be sampled on a machine, for `jetlag doctor`: each source is looked for and read once.
//!
//! Unlike the board's facts this loads NVIDIA's library, since whether it answers can be known in no other way.
//! It changes nothing and starts no program.

use std::io::ErrorKind;

use super::{Sampler, emc, fan, gpu, nvml, power_mode, rails, rapl, thermal};
use crate::board::modules::{self, Total};
use crate::board::{Check, Roots, Status, facts, jetpack};
use crate::files;
use crate::record::{Averaging, Event, RailRole, SampleRecord, SignalRecord};
use crate::units::{Nanos, Stamp};

/// All checks of sensors, clocks and power mode, in the order in which they are shown.
pub fn examine(roots: &Roots) -> Vec<Check> {
    let l4t = facts::l4t(roots);
    let jetson = l4t.is_some() || facts::module(roots).is_some();
    let gpu = facts::gpu(roots).is_some();
    let mut checks = vec![rights(roots)];
    if jetson {
        checks.push(jetpack_of(l4t.as_deref()));
        checks.push(power_mode::examine(roots));
    }
    checks.push(rails_of(roots, jetson));
    checks.extend(over_current_of(roots));
    checks.push(nvml_of(roots, jetson, gpu));
    if !jetson {
        checks.push(rapl_of(roots));
    }
    if jetson {
        checks.push(gpu_of(roots));
        checks.push(clocks(roots));
        checks.push(emc_of(roots));
        checks.push(fan_of(roots));
    }
    checks.push(temperatures(roots));
    checks
}

/// A check of what was found, or not.
fn check(subject: &'static str, from: &str) -> Check {
    Check {
        subject,
        status: Status::Good,
        found: None,
        from: from.to_owned(),
        meaning: "not found".to_owned(),
        fix: None,
    }
}

/// Signals and first readings of a sampler; none of the values if it failed.
fn read(sampler: Option<impl Sampler>) -> Option<(Vec<SignalRecord>, Vec<SampleRecord>)> {
    let mut sampler = sampler?;
    let (mut readings, mut asides) = (Vec::new(), Vec::new());
    let _ = sampler.sample(Stamp(0), &mut readings);
    sampler.asides(&mut asides);
    let signals = asides.into_iter().filter_map(|aside| match aside {
        Event::Signal(signal) => Some(signal),
        _ => None,
    });
    Some((signals.collect(), readings))
}

fn value(readings: &[SampleRecord], signal: &str) -> Option<f64> {
    readings.iter().find(|r| r.signal == signal)?.value
}

fn rights(roots: &Roots) -> Check {
    let mut check = check("Rights", "effective user");
    let root = rustix::process::geteuid().is_root();
    check.found = Some(if root { "root" } else { "not root" }.to_owned());
    if root {
        check.meaning = "everything can be read and set".to_owned();
        return check;
    }
    // Only what is there and closed is missed.
    let closed =
        |path: &str| files::open(&roots.file(path)).is_err_and(|e| e.kind() == ErrorKind::PermissionDenied);
    let mut missed = Vec::new();
    if closed("/sys/class/powercap/intel-rapl:0/energy_uj") {
        missed.push("the CPU's energy (RAPL)");
    }
    if closed("/sys/kernel/debug/bpmp") || closed("/sys/kernel/debug/clk") {
        missed.push("the memory controller's clock and load");
    }
    check.status = Status::Note;
    check.meaning = match missed.as_slice() {
        [] => "clocks and power modes cannot be set, only read".to_owned(),
        missed => format!(
            "clocks and power modes cannot be set; root is also needed to read {}",
            missed.join(", ")
        ),
    };
    check.fix = Some("For these: sudo jetlag …; everything else works without root.");
    check
}

fn jetpack_of(l4t: Option<&str>) -> Check {
    let mut check = check("JetPack", "/etc/nv_tegra_release");
    match (l4t, l4t.and_then(jetpack::of_l4t)) {
        (Some(l4t), Some(jetpack)) => {
            check.found = Some(jetpack.version.to_owned());
            check.meaning = format!(
                "L4T {l4t}; it came with CUDA {} and TensorRT {}",
                jetpack.cuda, jetpack.tensorrt
            );
        }
        (Some(l4t), None) => {
            check.status = Status::Note;
            check.found = Some(format!("L4T {l4t}"));
            check.meaning = "unknown release; sensors are still found by their names".to_owned();
            check.fix = Some("Update jetlag, or report the release.");
        }
        (None, _) => {
            check.status = Status::Note;
            check.fix =
                Some("Inside a container, mount /etc/nv_tegra_release; else see: dpkg -s nvidia-l4t-core.");
        }
    }
    check
}

fn rails_of(roots: &Roots, jetson: bool) -> Check {
    let mut check = check("Power rails", "/sys/class/hwmon, /sys/bus/i2c/drivers/ina3221x");
    let Some((signals, readings)) = read(rails::find(roots, Nanos::from_millis(100))) else {
        if let Some(program) = crate::board::libraries::program(roots, "tegrastats") {
            check.status = Status::Note;
            check.found = Some(program.display().to_string());
            check.meaning =
                "no power sensor can be read directly; tegrastats reports power, but needs a process"
                    .to_owned();
            check.fix = Some("Inside a container, mount /sys to read the sensors directly.");
        } else if jetson {
            check.status = Status::Gap;
            check.meaning = "no power sensor found, so no energy".to_owned();
            check.fix =
                Some("Inside a container, mount /sys. The Nano 2GB has no sensor: measure its supply.");
        } else {
            check.status = Status::Note;
            check.meaning = "no rails, as usual off Jetson boards".to_owned();
        }
        return check;
    };
    let rails: Vec<&SignalRecord> = signals.iter().filter(|s| s.unit == "mw").collect();
    let shown = rails.iter().map(|rail| match value(&readings, &rail.signal) {
        Some(mw) => format!("{} {:.2} W", rail.signal, mw / 1e3),
        None => format!("{} (not readable now)", rail.signal),
    });
    check.found = Some(shown.collect::<Vec<_>>().join(", "));
    let with = |role: RailRole| -> Vec<&str> {
        let fits = rails.iter().filter(|rail| rail.role == role);
        fits.map(|rail| rail.signal.as_str()).collect()
    };
    let refresh = rails.iter().filter_map(|rail| rail.refresh).max();
    let filter = rails.iter().filter(|rail| rail.averaging == Averaging::Filter);
    let lag = filter.filter_map(|rail| rail.window).max();
    let refresh = match (refresh, lag) {
        (Some(refresh), Some(lag)) => format!("renewed every {refresh}, through a filter of {lag}"),
        (Some(refresh), None) => format!("renewed every {refresh}"),
        (None, _) => "refresh not stated".to_owned(),
    };
    let (total, sum, input) = (
        with(RailRole::Total),
        with(RailRole::Summand),
        with(RailRole::Input),
    );
    let wanted = modules::rails_of_machine(roots).map(|rails| &rails.total);
    let incomplete = matches!(wanted, Some(Total::Sum(all)) if all.len() > sum.len());
    check.meaning = match (total.as_slice(), sum.as_slice(), input.as_slice()) {
        ([total, ..], ..) => format!("{total} is the module's total; {refresh}"),
        (_, [_, ..], _) if !incomplete => format!("total of the module: {}; {refresh}", sum.join(" + ")),
        (.., [input, ..]) => format!("{input} is the board's input, including carrier and fan; {refresh}"),
        _ => format!("it is not known which of them make up the total; {refresh}"),
    };
    if readings
        .iter()
        .filter(|r| r.unit == "mw")
        .all(|r| r.value.is_none())
    {
        check.status = Status::Gap;
        check.meaning = "there are sensors, but none can be read".to_owned();
        check.fix = Some("Run as root, or make the hwmon files readable for your group.");
    } else if total.is_empty() && (sum.is_empty() || incomplete) && input.is_empty() {
        check.status = Status::Gap;
        check.fix =
            Some("Rails are recorded, but energy per frame is not. Please report the board and its rails.");
    }
    check
}

/// The guard that slows an Orin or a Thor down when its supply gives way, where there is one.
fn over_current_of(roots: &Roots) -> Option<Check> {
    let (_, readings) = read(thermal::find(roots, Nanos::from_millis(100)))?;
    let counts = [
        ("under-voltage", "oc1_events"),
        ("average power", "oc2_events"),
        ("momentary power", "oc3_events"),
    ];
    let counts: Vec<(&str, f64)> = counts
        .into_iter()
        .filter_map(|(what, signal)| Some((what, value(&readings, signal)?)))
        .collect();
    if counts.is_empty() {
        return None;
    }
    let mut check = check("Over-current", "/sys/class/hwmon/*/oc*_event_cnt (soctherm_oc)");
    let shown: Vec<String> = counts
        .iter()
        .map(|(what, count)| format!("{what} {count:.0}"))
        .collect();
    check.found = Some(format!("events since boot: {}", shown.join(", ")));
    let limits = rails::limits(roots);
    let limits: Vec<String> = limits
        .iter()
        .map(|(rail, milliamperes)| format!("{rail} {:.2} A", milliamperes / 1e3))
        .collect();
    check.meaning = match limits.is_empty() {
        true => "each throttles CPU and GPU briefly; a run reports how many occurred".to_owned(),
        false => format!(
            "each throttles CPU and GPU briefly; a run reports how many occurred; limits: {}",
            limits.join(", ")
        ),
    };
    if counts.iter().any(|(_, count)| *count > 0.0) {
        check.status = Status::Note;
        check.fix = Some(
            "Under-voltage: use a stronger supply or a shorter cable. Power: use a mode with lower peaks (see: sudo nvpmodel -q).",
        );
    }
    Some(check)
}

fn nvml_of(roots: &Roots, jetson: bool, gpu: bool) -> Check {
    let mut check = check("NVML", "libnvidia-ml.so");
    let facts = match nvml::open(roots) {
        Ok(nvml) => nvml::examine(&nvml),
        Err(why) => {
            check.meaning = why.to_string();
            // Thor tells its GPU's load in no other way.
            let thor = modules::of_machine(roots).is_some_and(|module| module.soc == "tegra264");
            let gpu = gpu || thor;
            check.status = if gpu { Status::Gap } else { Status::Note };
            check.fix = match (gpu, jetson) {
                (true, true) => {
                    Some("Install the nvidia-l4t-core package; in a container, run with --runtime nvidia.")
                }
                (true, _) => Some(
                    "Install the driver's libnvidia-compute package; in a container, run with --gpus all.",
                ),
                (_, true) => Some("No action needed before Thor: the board's own sensors give more."),
                _ => Some("No action needed without an NVIDIA GPU."),
            };
            return check;
        }
    };
    if !facts.lost.is_empty() {
        check.found = Some(
            facts
                .devices
                .iter()
                .map(|(name, ..)| name.as_str())
                .collect::<Vec<_>>()
                .join(", "),
        );
        check.status = Status::Gap;
        check.meaning = format!(
            "some of the driver's cards do not answer: {}",
            facts.lost.join("; ")
        );
        check.fix = Some("See the kernel's log (dmesg) and nvidia-smi; a lost card often needs a reboot.");
        return check;
    }
    if facts.devices.is_empty() {
        check.status = if gpu { Status::Gap } else { Status::Note };
        check.meaning = "it loads, but finds no GPU".to_owned();
        check.fix = Some("In a container, run with --gpus all; else see what nvidia-smi says.");
        return check;
    }
    let names: Vec<&str> = facts.devices.iter().map(|(name, ..)| name.as_str()).collect();
    check.found = Some(names.join(", "));
    let told: Vec<&str> = facts
        .devices
        .iter()
        .flat_map(|(_, told, _)| told.iter().copied())
        .collect();
    let has = |name: &str| told.contains(&name);
    let energy = match (has("energy"), has("power_instant") || has("power")) {
        (true, _) => "energy from its counter, checked against power",
        (false, true) => "energy from integrated power",
        (false, false) => "no power",
    };
    check.meaning = match told.is_empty() {
        true => "it has no data here, as on Orin; the board's own sensors do".to_owned(),
        false => format!("{energy}; tells {}", dedup(&told).join(", ")),
    };
    if !jetson && energy == "no power" {
        check.status = Status::Gap;
        check.fix = Some("The driver reports no power sensor for this card: measure at the wall.");
    }
    check
}

fn dedup<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(name) {
            seen.push(*name);
        }
    }
    seen
}

fn rapl_of(roots: &Roots) -> Check {
    let mut check = check("RAPL", "/sys/class/powercap");
    let Some((signals, _)) = read(rapl::find(roots, Nanos::from_millis(100))) else {
        check.status = Status::Note;
        check.meaning = "no RAPL counters, as in virtual machines and on Arm".to_owned();
        check.fix = Some("On bare metal, try: sudo modprobe intel_rapl_msr.");
        return check;
    };
    let zones = signals.iter().filter(|s| s.unit == "mw");
    check.found = Some(zones.map(|s| s.signal.as_str()).collect::<Vec<_>>().join(", "));
    let path = signals.first().map_or(String::new(), |s| s.origin.clone());
    match files::open(path.as_ref()) {
        Ok(_) => check.meaning = "CPU energy from its counters".to_owned(),
        Err(error) => {
            check.status = Status::Gap;
            check.meaning = format!("the counters exist but cannot be read ({error})");
            check.fix =
                Some("sudo chmod a+r /sys/class/powercap/*/energy_uj (until the next boot), or run as root.");
        }
    }
    check
}

fn gpu_of(roots: &Roots) -> Check {
    let mut check = check("GPU load", "/sys/class/devfreq, /sys/devices");
    let Some((_, readings)) = read(gpu::find(roots, Nanos::from_millis(100))) else {
        check.status = Status::Gap;
        check.fix = Some("Inside a container, mount /sys.");
        return check;
    };
    let load = readings.iter().find(|r| r.signal == "gpu_load");
    let mhz = value(&readings, "gpu_frequency");
    let load = match load {
        Some(reading) => reading
            .value
            .map_or("not readable now".to_owned(), |v| format!("{v:.0} %")),
        None => "no load available".to_owned(),
    };
    check.found = Some(match mhz {
        Some(mhz) => format!("{load}, {mhz:.0} MHz"),
        None => load.clone(),
    });
    check.meaning = match load.as_str() {
        "no load available" => "Thor reports its load only through NVML".to_owned(),
        _ => "load is the driver's average; the clock is the one that is set, even while the GPU is gated"
            .to_owned(),
    };
    check
}

/// Whether the GPU's clock is held.
fn clocks(roots: &Roots) -> Check {
    let mut check = check("Clocks", "/sys/class/devfreq/*/{min,max}_freq");
    let Some(device) = gpu::devices(roots).into_iter().next() else {
        check.status = Status::Note;
        check.fix = Some("Inside a container, mount /sys.");
        return check;
    };
    let mhz = |name: &str| -> Option<f64> {
        let hz: f64 = roots.text(&format!("{device}/{name}"))?.parse().ok()?;
        Some(hz / 1e6)
    };
    let (Some(least), Some(most)) = (mhz("min_freq"), mhz("max_freq")) else {
        check.status = Status::Note;
        check.meaning = "the GPU's clock limits cannot be read".to_owned();
        return check;
    };
    check.found = Some(format!("GPU {least:.0} to {most:.0} MHz"));
    if least == most {
        check.meaning = "locked: latencies of short and long runs are comparable".to_owned();
    } else {
        check.status = Status::Note;
        check.meaning =
            "not locked, they follow the load: short runs and runs with idle gaps look slower".to_owned();
        check.fix = Some("sudo jetlag clocks max (sudo jetlag clocks restore gives them back).");
    }
    check
}

fn emc_of(roots: &Roots) -> Check {
    let mut check = check("Memory clock", "/sys/kernel/debug/bpmp, /sys/class/devfreq/bwmgr");
    let Some((signals, readings)) = read(emc::find(roots, Nanos::from_millis(100))) else {
        check.status = Status::Note;
        check.meaning = "the memory controller's clock and load are not readable".to_owned();
        check.fix = Some("Needs root: sudo jetlag …; in a container also /sys/kernel/debug.");
        return check;
    };
    check.found = value(&readings, "emc_frequency").map(|mhz| format!("{mhz:.0} MHz"));
    check.meaning = match signals.iter().any(|s| s.signal == "emc_load") {
        true => "clock and load of the memory controller; load counts every client".to_owned(),
        false => {
            "its load is not readable: on R35 and later try sudo modprobe tegra_cactmon_mc_all".to_owned()
        }
    };
    check
}

fn fan_of(roots: &Roots) -> Check {
    let mut check = check("Fan", "/sys/class/hwmon, /sys/devices/pwm-fan");
    match read(fan::find(roots, Nanos::from_millis(100))) {
        Some((_, readings)) => {
            let shown = readings
                .iter()
                .filter_map(|r| Some(format!("{:.0} {}", r.value?, r.unit)));
            check.found = Some(shown.collect::<Vec<_>>().join(", ")).filter(|s| !s.is_empty());
            check.meaning = "a fan that speeds up means that temperature has not settled".to_owned();
        }
        None => {
            check.status = Status::Note;
            check.meaning = "no fan found".to_owned();
            check.fix = Some("Without a fan, watch for throttling; runs report it.");
        }
    }
    check
}

fn temperatures(roots: &Roots) -> Check {
    let mut check = check("Temperatures", "/sys/class/thermal");
    match read(thermal::find(roots, Nanos::from_millis(100))) {
        Some((_, readings)) => {
            let zones: Vec<&SampleRecord> = readings.iter().filter(|r| r.unit == "c").collect();
            let hottest = zones.iter().filter_map(|r| Some((r.value?, &r.signal)));
            let hottest = hottest.max_by(|a, b| a.0.total_cmp(&b.0));
            check.found = Some(match hottest {
                Some((c, zone)) => format!("{} zones, hottest {zone} at {c:.0} °C", zones.len()),
                None => format!("{} zones", zones.len()),
            });
            check.meaning = "throttling and unsettled temperatures are detected".to_owned();
            if value(&readings, "hot-surface-alert_cooling").is_some_and(|state| state > 0.0) {
                check.status = Status::Note;
                check.meaning =
                    "its surface is too hot to touch (hot-surface-alert); this does not throttle anything"
                        .to_owned();
                check.fix = Some("Clocks are throttled from about 99 °C: improve cooling before long runs.");
            }
        }
        None => {
            check.status = Status::Note;
            check.meaning = "no thermal zones, as usual in virtual machines".to_owned();
        }
    }
    check
}
