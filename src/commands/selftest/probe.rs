//! `jetlag selftest-probe WHAT`: one question to a library or a sensor, in a process of its own, since the answer may be a
//! crash. It is no verb for people, and not in the help; the answer is a [`Verdict`] as JSON.

use std::collections::HashSet;
use std::time::Duration;

use crate::board::Roots;
#[cfg(feature = "gpu")]
use crate::board::libraries;
#[cfg(not(all(feature = "gpu", feature = "onnxruntime")))]
use crate::built::LeftOut;
use crate::clock::{Clock, RealClock};
use crate::commands::outcome::Outcome;
use crate::commands::output::print;
use crate::record::{Event, SampleRecord};
use crate::scenario::{Telemetry, TelemetrySource};
use crate::show::selftest::Verdict;
use crate::telemetry;
use crate::units::Nanos;

/// Readings of a sensor, fewer of one that is slow, and the time between two.
const READINGS: (usize, usize) = (5, 2);
const APART: Duration = Duration::from_millis(300);
const SLOW: Nanos = Nanos::from_secs(1);
/// What a sensor is asked by.
pub(super) const SENSOR: &str = "sensor:";

/// Asks, and prints the answer.
pub(in crate::commands) fn run(what: &str) -> anyhow::Result<Outcome> {
    let roots = Roots::system();
    let verdict = match what.strip_prefix(SENSOR) {
        Some(source) => sensor(&roots, source),
        None => match what {
            "nvml" => nvml(&roots),
            "onnxruntime" => onnxruntime(false),
            "onnxruntime-cuda" => onnxruntime(true),
            _ => gpu_part(&roots, what),
        },
    };
    print(&(serde_json::to_string(&verdict)? + "\n"))?;
    Ok(Outcome::Done)
}

fn nvml(roots: &Roots) -> Verdict {
    match telemetry::open_nvml(roots) {
        Ok(nvml) => {
            let driver = nvml
                .sys_driver_version()
                .unwrap_or_else(|error| error.to_string());
            let cards = nvml
                .device_count()
                .map_or_else(|error| error.to_string(), |n| n.to_string());
            Verdict::pass(format!("loads and starts; driver {driver}, devices: {cards}"))
        }
        Err(why) => Verdict::not_applicable(why.to_string()),
    }
}

#[cfg(feature = "onnxruntime")]
fn onnxruntime(cuda: bool) -> Verdict {
    match crate::backend::onnxruntime::find(None) {
        Ok(library) => {
            let seen = format!(
                "ONNX Runtime {} ({})",
                library.version(),
                library.path().display()
            );
            match (cuda, library.has_cuda()) {
                (true, false) => Verdict::not_applicable(format!("{seen} has no CUDA provider")),
                (_, true) => Verdict::pass(format!("{seen}, with the CUDA provider")),
                (false, false) => Verdict::pass(format!("{seen}, without the CUDA provider")),
            }
        }
        Err(missing) => match missing.refusal() {
            Some(problem) => Verdict::fail(problem),
            None => Verdict::not_applicable("no ONNX Runtime was found"),
        },
    }
}

#[cfg(not(feature = "onnxruntime"))]
fn onnxruntime(_cuda: bool) -> Verdict {
    Verdict::not_applicable(LeftOut::ONNXRUNTIME.to_string())
}

#[cfg(not(feature = "gpu"))]
fn gpu_part(_roots: &Roots, _what: &str) -> Verdict {
    Verdict::not_applicable(LeftOut::GPU.to_string())
}

#[cfg(feature = "gpu")]
fn gpu_part(roots: &Roots, what: &str) -> Verdict {
    match what {
        "cuda" => cuda(roots),
        "tensorrt" => tensorrt(false),
        "tensorrt-builder" => tensorrt(true),
        "tensorrt-plugins" => plugins(),
        "nvrtc" => nvrtc(),
        "cupti" => cupti(roots),
        _ => Verdict::fail(format!("unknown probe `{what}`")),
    }
}

#[cfg(feature = "gpu")]
fn cuda(roots: &Roots) -> Verdict {
    use crate::board::facts;
    use crate::gpu::{Gpu, GpuError, devices};
    use crate::units::Bytes;

    let listed = devices().and_then(|all| match all.is_empty() {
        true => Err(GpuError::NoDevice),
        false => Ok(all),
    });
    let all = match listed {
        Ok(all) => all,
        Err(error) => {
            let why = error.to_string();
            let gpu = facts::gpu(roots).or_else(|| facts::module(roots));
            // What a container without the GPU has, and a stub.
            let absent = matches!(error, GpuError::NoDriver | GpuError::NoDevice)
                || ["NO_DEVICE", "STUB"].iter().any(|code| why.contains(code));
            return match (gpu.filter(|_| roots.is_this_machine()), absent) {
                (Some(gpu), _) => Verdict::fail(format!("this machine has a GPU ({gpu}), and {why}")),
                (None, true) => Verdict::not_applicable(why),
                (None, false) => Verdict::fail(why),
            };
        }
    };
    let mut seen = Vec::new();
    for device in &all {
        let kind = match device.is_integrated {
            true => "shares the processor's memory",
            false => "memory of its own",
        };
        let opened = Gpu::open(device.ordinal).and_then(|gpu| Ok((gpu.multiprocessors()?, gpu.memory()?)));
        match opened {
            Ok((sms, (free, total))) => seen.push(format!(
                "GPU {}: {}, compute capability {}.{}, {sms} multiprocessors, {kind}, {} of {} free",
                device.ordinal,
                device.name,
                device.compute_capability / 10,
                device.compute_capability % 10,
                Bytes(free),
                Bytes(total)
            )),
            Err(error) => return Verdict::fail(format!("GPU {}, {}: {error}", device.ordinal, device.name)),
        }
    }
    let cuda = all.first().map_or(0, |device| device.driver_cuda);
    seen.insert(0, format!("driver for CUDA {}.{}", cuda / 1000, cuda % 1000 / 10));
    Verdict::pass(seen.join("; "))
}

#[cfg(feature = "gpu")]
fn tensorrt(builder: bool) -> Verdict {
    let library = match crate::backend::tensorrt::find(None) {
        Ok(library) => library,
        Err(error) => {
            return match error.refusal() {
                Some(problem) => Verdict::fail(problem),
                None => Verdict::not_applicable("no TensorRT was found"),
            };
        }
    };
    let seen = format!("{} ({})", library.version(), library.path().display());
    let halves = match (library.has_builder(), library.parser_path()) {
        (false, _) => Err(format!(
            "{seen} has no builder: it can load plans, but not build any"
        )),
        (true, Err(error)) => Err(format!("{seen} cannot read ONNX: {error}")),
        (true, Ok(parser)) => Ok(format!("{seen}, with its builder and {}", parser.display())),
    };
    match (builder, halves) {
        (_, Ok(seen)) => Verdict::pass(seen),
        (false, Err(seen)) => Verdict::pass(seen),
        (true, Err(seen)) => Verdict::not_applicable(seen),
    }
}

/// NVIDIA's own plugins, loaded and registered.
#[cfg(feature = "gpu")]
fn plugins() -> Verdict {
    let Ok(library) = crate::backend::tensorrt::find(None) else {
        return Verdict::not_applicable("no TensorRT was found");
    };
    let beside = library.path().parent().map(std::path::Path::to_owned);
    let mut roots = Roots::system();
    roots.library_path = beside.into_iter().chain(roots.library_path).collect();
    let Some(file) = libraries::library(&roots, "libnvinfer_plugin") else {
        return Verdict::not_applicable(format!(
            "no libnvinfer_plugin beside {}",
            library.path().display()
        ));
    };
    match library.load_plugins(&file) {
        Ok(()) => Verdict::pass(format!("{} loaded into {}", file.display(), library.version())),
        Err(error) => Verdict::fail(format!("{}: {error}", file.display())),
    }
}

#[cfg(feature = "gpu")]
fn nvrtc() -> Verdict {
    use crate::gpu::{Nvrtc, NvrtcError, first};

    let device = first().ok();
    let driver = device.as_ref().map_or(0, |device| device.driver_cuda);
    let nvrtc = match Nvrtc::find(driver, None) {
        Ok(nvrtc) => nvrtc,
        Err(NvrtcError::Missing { .. }) => {
            return Verdict::not_applicable(
                "no NVRTC was found; it comes with the CUDA toolkit (cuda-nvrtc)",
            );
        }
        Err(error) => return Verdict::fail(error.to_string()),
    };
    let Some(device) = device else {
        return Verdict::pass(format!("{nvrtc:?} loads; no device to compile for"));
    };
    for source in crate::gpu::SOURCES {
        if let Err(error) = nvrtc.compile(source.name, source.text, device.compute_capability) {
            return Verdict::fail(error.to_string());
        }
    }
    Verdict::pass(format!(
        "{nvrtc:?} compiles jetlag's {} sources for {}",
        crate::gpu::SOURCES.len(),
        device.name
    ))
}

/// Whether it is there and loads; `doctor` says whether it may trace.
#[cfg(feature = "gpu")]
fn cupti(roots: &Roots) -> Verdict {
    let mut folders: Vec<std::path::PathBuf> = Vec::new();
    for toolkit in roots
        .names("/usr/local")
        .iter()
        .filter(|name| name.starts_with("cuda"))
    {
        folders.push(roots.file(&format!("/usr/local/{toolkit}/extras/CUPTI/lib64")));
        for target in roots.names(&format!("/usr/local/{toolkit}/targets")) {
            folders.push(roots.file(&format!("/usr/local/{toolkit}/targets/{target}/lib")));
        }
    }
    let mut searched = roots.clone();
    searched.library_path.extend(folders);
    let Some(file) = libraries::library(&searched, "libcupti") else {
        return Verdict::not_applicable(
            "absent: no libcupti in the loader's folders or below /usr/local/cuda* (package cuda-cupti); jetlag does not need it",
        );
    };
    let real = file.canonicalize().unwrap_or_else(|_| file.clone());
    cupti_at(&file, &real)
}

#[cfg(feature = "trace")]
fn cupti_at(file: &std::path::Path, real: &std::path::Path) -> Verdict {
    use crate::activity::Refused;
    match crate::activity::at(file) {
        Ok(found) => Verdict::pass(format!("present: {}, {}", real.display(), found.version())),
        Err(Refused::NoDriver(why)) => Verdict::not_applicable(format!(
            "present: {}; not entered, since there is no driver: {why}",
            real.display()
        )),
        Err(why) => Verdict::fail(format!("present but unusable: {}: {why}", real.display())),
    }
}

/// Without the feature nothing of jetlag enters it: that it is there is all.
#[cfg(all(feature = "gpu", not(feature = "trace")))]
fn cupti_at(_: &std::path::Path, real: &std::path::Path) -> Verdict {
    Verdict::pass(format!(
        "present: {}; this jetlag was built without the feature `trace`",
        real.display()
    ))
}

/// One source of samples: looked for, and read for a while.
fn sensor(roots: &Roots, name: &str) -> Verdict {
    let Some(source) = TelemetrySource::ALL
        .into_iter()
        .find(|source| format!("{source:?}") == name)
    else {
        return Verdict::fail(format!("unknown telemetry source `{name}`"));
    };
    let wanted = Telemetry {
        interval: Nanos::from_millis(100),
        sources: Some(vec![source]),
    };
    let found = telemetry::find(roots, &wanted, std::env::current_exe().ok());
    if let Some(missing) = found.missing.into_iter().next() {
        return Verdict::not_applicable(missing.why);
    }
    let Some(mut sampler) = found.samplers.into_iter().next() else {
        return Verdict::not_applicable("nothing to sample");
    };
    let mut samples: Vec<SampleRecord> = Vec::new();
    let mut problems = Vec::new();
    let readings = match sampler.period() >= SLOW {
        true => READINGS.1,
        false => READINGS.0,
    };
    for reading in 0..readings {
        if reading > 0 {
            std::thread::sleep(APART.max(sampler.period().to_std()));
        }
        if let Err(error) = sampler.sample(RealClock.now(), &mut samples) {
            return Verdict::fail(format!("reading {} of {readings}: {error}", reading + 1));
        }
        let mut asides = Vec::new();
        sampler.asides(&mut asides);
        problems.extend(asides.into_iter().filter_map(|aside| match aside {
            Event::Finding(finding) => Some(finding.message),
            Event::Log(line) if line.level != "info" => Some(line.message),
            _ => None,
        }));
    }
    problems.dedup();
    match source {
        // Which programs a machine runs is nobody else's affair.
        TelemetrySource::Processes => {
            let programs: HashSet<&str> = samples.iter().map(|sample| sample.signal.as_str()).collect();
            Verdict::pass(format!("programs that use the processors: {}", programs.len()))
        }
        _ => told(&samples, &problems),
    }
}

/// Each signal with its mean; a source of which no signal can be read at all fails.
fn told(samples: &[SampleRecord], problems: &[String]) -> Verdict {
    let mut signals: Vec<(&str, &str)> = Vec::new();
    for sample in samples {
        if !signals.contains(&(&sample.signal, &sample.unit)) {
            signals.push((&sample.signal, &sample.unit));
        }
    }
    let (mut seen, mut unread) = (Vec::new(), Vec::new());
    for &(signal, unit) in &signals {
        let of_it = samples
            .iter()
            .filter(|sample| sample.signal == signal && sample.unit == unit);
        let values: Vec<f64> = of_it.filter_map(|sample| sample.value).collect();
        match values.len() {
            0 => unread.push(signal),
            n => seen.push(format!(
                "{signal} {}",
                shown(values.iter().sum::<f64>() / n as f64, unit)
            )),
        }
    }
    let mut words = format!("{} signals: {}", signals.len(), seen.join(", "));
    if !unread.is_empty() {
        words += &format!("; never readable: {}", unread.join(", "));
    }
    for problem in problems {
        words += &format!("; {problem}");
    }
    match seen.is_empty() {
        true => Verdict::fail(words),
        false => Verdict::pass(words),
    }
}

fn shown(value: f64, unit: &str) -> String {
    match unit {
        "mw" => format!("{:.2} W", value / 1e3),
        "mj" => format!("{:.1} J", value / 1e3),
        "c" => format!("{value:.1} °C"),
        "percent" => format!("{value:.0} %"),
        "mhz" => format!("{value:.0} MHz"),
        "bytes" => crate::units::Bytes(value.max(0.0) as u64).to_string(),
        "flag" | "state" => format!("{value:.0}"),
        unit => format!("{value:.1} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::selftest;
    use crate::units::Stamp;

    fn sample(signal: &str, value: Option<f64>) -> SampleRecord {
        SampleRecord {
            at: Stamp(0),
            source: "x".to_owned(),
            signal: signal.to_owned(),
            value,
            unit: "mw".to_owned(),
        }
    }

    #[test]
    fn a_source_passes_where_anything_of_it_can_be_read() {
        let read = told(
            &[
                sample("A", Some(1000.0)),
                sample("A", Some(3000.0)),
                sample("B", None),
            ],
            &[],
        );
        assert_eq!(read, Verdict::pass("2 signals: A 2.00 W; never readable: B"));
        let silent = told(&[sample("A", None)], &["it hangs".to_owned()]);
        assert_eq!(silent.outcome, selftest::Outcome::Fail);
        assert!(silent.seen.ends_with("it hangs"), "{}", silent.seen);
        assert_eq!(told(&[], &[]).outcome, selftest::Outcome::Fail);
    }
}
