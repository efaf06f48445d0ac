//! The signals of a view, sorted into what the screen has places for.

use crate::analysis::live::{LiveSignal, LiveView};
use crate::record::{Measurand, Part, Quantity, RailRole};

/// Sources that are of Jetson boards only.
const JETSON_SOURCES: [&str; 5] = ["tegrastats", "ina3221", "ina3221x", "ina238", "gpu"];

/// The signals, sorted into what the screen has places for.
pub(super) struct Parts<'v> {
    pub(super) rails: Vec<(&'v str, &'v LiveSignal)>,
    /// Name of each unit with its load, and its clock's signal.
    pub(super) loads: Vec<(String, Option<f64>, Option<&'v LiveSignal>)>,
    /// Engines that are there and switched off.
    pub(super) off: Vec<String>,
    /// Load of each processor.
    pub(super) cores: Vec<CoreLoad>,
    pub(super) temperatures: Vec<(&'v str, &'v LiveSignal)>,
    /// Name, used, of how much.
    pub(super) memory: Vec<(&'static str, f64, Option<f64>)>,
    pub(super) fan: Vec<(&'static str, f64)>,
    pub(super) programs: Vec<Program>,
    pub(super) mode: Option<f64>,
}

impl<'v> Parts<'v> {
    pub(super) fn of(view: &'v LiveView) -> Parts<'v> {
        let all: Vec<(&str, &str, &LiveSignal)> = view.current().collect();
        // A source that tells something directly goes before tegrastats, which tells it again.
        let find = |quantity, part| {
            let wanted = Measurand::new(quantity, part);
            let mut found: Vec<_> = all.iter().filter(|(.., s)| s.measurand == wanted).collect();
            found.sort_by_key(|(source, ..)| *source == "tegrastats");
            found.first().map(|(.., signal)| *signal)
        };
        let value = |quantity, part| find(quantity, part).and_then(|signal| signal.value);
        let mut rails: Vec<(&str, &LiveSignal)> = all
            .iter()
            .filter(|(.., s)| s.measurand.quantity == Quantity::Power)
            .filter(|(source, _, s)| *source != "nvml" || s.role != RailRole::Within)
            .map(|(_, name, s)| (*name, *s))
            .collect();
        let place = |role: RailRole| match role {
            RailRole::Total => 0,
            RailRole::Input => 1,
            RailRole::Summand => 2,
            RailRole::Part => 3,
            _ => 4,
        };
        rails.sort_by_key(|(_, s)| place(s.role));
        let mut loads: Vec<(String, Option<f64>, Option<&LiveSignal>)> = Vec::new();
        // A Jetson has all three; what is not told of them (it may take root) is to be seen as such.
        let jetson = all.iter().any(|(source, ..)| JETSON_SOURCES.contains(source));
        let mut push = |shown: String, load: Option<f64>, clock: Option<&'v LiveSignal>, is_there: bool| {
            if is_there {
                loads.push((shown, load, clock));
            }
        };
        let boards_gpu = [None].into_iter().chain((0..8).map(Some));
        for number in boards_gpu {
            let shown = number.map_or("GPU".to_owned(), |n: u32| format!("GPU {n}"));
            let gpu = Part::Gpu(number);
            let (load, clock) = (find(Quantity::Load, gpu), find(Quantity::Clock, gpu));
            let is_there = load.is_some() || clock.is_some() || (number.is_none() && jetson);
            push(shown, load.and_then(|s| s.value), clock, is_there);
        }
        let load = find(Quantity::Load, Part::Processors);
        let clock = find(Quantity::Clock, Part::Processor(0));
        let of_cores = load.and_then(|s| s.value).or_else(|| view.mean_of_cores());
        push(
            "CPU".into(),
            of_cores,
            clock,
            load.is_some() || clock.is_some() || jetson,
        );
        let memory = Part::MemoryController;
        let (load, clock) = (find(Quantity::Load, memory), find(Quantity::Clock, memory));
        let is_there = load.is_some() || clock.is_some() || jetson;
        push("EMC".into(), load.and_then(|s| s.value), clock, is_there);
        // Every engine that says whether it is on, the DLAs first; the audio processor is always on.
        let of_engines = || all.iter().filter(|(.., s)| s.measurand.part == Part::Engine);
        let mut engines: Vec<(&str, bool)> = of_engines()
            .filter(|(.., s)| s.measurand.quantity == Quantity::On)
            .filter_map(|(_, name, s)| Some((name.strip_suffix("_on")?, s.value? != 0.0)))
            .filter(|(engine, _)| *engine != "ape")
            .collect();
        engines.sort_by_key(|(engine, _)| !engine.contains("dla"));
        for (engine, _) in engines.iter().filter(|(_, on)| *on) {
            let of_it = |quantity: Quantity, what: &str| {
                let name = format!("{engine}_{what}");
                let mut found = of_engines().filter(|(_, signal, _)| *signal == name);
                found
                    .find(|(.., s)| s.measurand.quantity == quantity)
                    .map(|(.., s)| *s)
            };
            let load = of_it(Quantity::Load, "load").and_then(|s| s.value);
            let clock = of_it(Quantity::Clock, "frequency");
            push(engine.to_ascii_uppercase(), load, clock, true);
        }
        let off = engines.iter().filter(|(_, on)| !*on);
        let off = off.map(|(engine, _)| engine.to_ascii_uppercase()).collect();
        let cores = (0..256).map_while(|n| {
            let on = value(Quantity::On, Part::Processor(n));
            let load = find(Quantity::Load, Part::Processor(n));
            (on.is_some() || load.is_some()).then(|| match (on, load.and_then(|s| s.value)) {
                (Some(0.0), _) => CoreLoad::Off,
                (_, Some(load)) => CoreLoad::Percent(load),
                _ => CoreLoad::Unknown,
            })
        });
        let cores = cores.collect();
        let temperatures = all
            .iter()
            .filter(|(.., s)| s.measurand.quantity == Quantity::Temperature)
            .map(|(_, name, s)| (name.trim_end_matches("_temperature"), *s))
            .collect();
        let mut memory = Vec::new();
        if let Some(used) = value(Quantity::MemoryUsed, Part::Board) {
            let free = value(Quantity::MemoryAvailable, Part::Board);
            let total = value(Quantity::MemoryTotal, Part::Board).or(free.map(|free| used + free));
            memory.push(("memory", used, total));
        }
        if let Some(used) = value(Quantity::MemoryUsed, Part::GpuMemory(Some(0))) {
            memory.push(("GPU mem", used, None));
        }
        if let Some(used) = value(Quantity::MemoryUsed, Part::Swap) {
            memory.push(("swap", used, None));
        }
        let fan = [("%", Quantity::FanDrive), ("rpm", Quantity::FanSpeed)]
            .into_iter()
            .filter_map(|(unit, quantity)| Some((unit, value(quantity, Part::Board)?)))
            .collect();
        let mut programs: Vec<Program> = Vec::new();
        for (source, name, signal) in &all {
            let found = match signal.measurand.part {
                Part::Program => Some(((*name).to_owned(), "processors".to_owned())),
                Part::ProgramOnGpu(number) => {
                    let pid = name.split('_').find(|word| word.parse::<u32>().is_ok());
                    let on = number.map_or("GPU".to_owned(), |n| format!("GPU {n}"));
                    pid.map(|pid| (format!("pid {pid}"), on))
                }
                Part::Jetlag if *source == "host" => Some(("jetlag".to_owned(), "processors".to_owned())),
                _ => None,
            };
            let Some((name, on)) = found else { continue };
            let known = programs
                .iter()
                .position(|known| known.name == name && known.on == on);
            let known = known.unwrap_or_else(|| {
                programs.push(Program {
                    name,
                    on,
                    load: None,
                    memory: None,
                });
                programs.len() - 1
            });
            match signal.measurand.quantity {
                Quantity::Load => programs[known].load = signal.value,
                Quantity::MemoryUsed => programs[known].memory = signal.value,
                _ => {}
            }
        }
        programs.retain(|program| program.load.is_some() || program.memory.is_some());
        Parts {
            rails,
            loads,
            off,
            cores,
            temperatures,
            memory,
            fan,
            programs,
            mode: value(Quantity::PowerMode, Part::Board),
        }
    }
}

/// What is known of one processor.
pub(super) enum CoreLoad {
    Off,
    Unknown,
    Percent(f64),
}

/// A program beside the tenants, or jetlag itself.
pub(super) struct Program {
    pub(super) name: String,
    /// What it runs on.
    pub(super) on: String,
    /// In percent: of one processor, or of the GPU.
    pub(super) load: Option<f64>,
    /// In bytes.
    pub(super) memory: Option<f64>,
}
