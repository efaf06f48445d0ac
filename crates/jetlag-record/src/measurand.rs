//! What a signal measures, and of what: a quantity, and a part of the machine.
//!
//! Samplers state it with the signal. Of readings whose signal nobody described, [`Measurand::of_names`] makes it from jetlag's own names.

/// What a signal measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Measurand {
    /// The kind of figure.
    pub quantity: Quantity,
    /// What it is a figure of.
    pub part: Part,
}

/// A kind of figure. The signal's unit says what its values are in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Quantity {
    /// Not stated, or of a later version.
    #[default]
    Unknown = 0,
    /// Power that is drawn.
    Power = 1,
    /// The limit that power is held to.
    PowerLimit = 2,
    /// Energy, as a counter.
    Energy = 3,
    /// Voltage of a rail or supply.
    Voltage = 4,
    /// Current through a rail.
    Current = 5,
    /// The frequency at which a clock runs.
    Clock = 6,
    /// The share of time in which it was busy.
    Load = 7,
    /// The share of time in an idle state that takes at most 10 µs to leave.
    ShallowIdle = 8,
    /// The share of time in an idle state that takes longer to leave.
    DeepIdle = 9,
    /// Temperature of a sensor or thermal zone.
    Temperature = 10,
    /// How hard a fan is driven, of its most.
    FanDrive = 11,
    /// Turns of a fan.
    FanSpeed = 12,
    /// Bits of NVML's reasons why a clock is held down.
    ThrottleReasons = 13,
    /// The state of a cooling device of the kernel that slows something down; 0 is full speed.
    Slowdown = 14,
    /// The state of a cooling device that slows nothing down: a fan, a warning.
    Cooling = 15,
    /// Whether an over-current alarm is up.
    OverCurrent = 16,
    /// How often an over-current guard acted, as a counter.
    OverCurrentEvents = 17,
    /// The number of the power mode.
    PowerMode = 18,
    /// Memory in use, by everyone or by one program.
    MemoryUsed = 19,
    /// Memory that can still be had.
    MemoryAvailable = 20,
    /// The size of the memory.
    MemoryTotal = 21,
    /// Whether it is switched on.
    On = 22,
    /// What it sends over its bus.
    BusSent = 23,
    /// What it receives over its bus.
    BusReceived = 24,
    /// How far two readings of a device's clock are from what they should be.
    ClockResidual = 25,
}

/// A part of the machine, or a program on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Part {
    /// Not stated, or of a later version.
    #[default]
    Unknown,
    /// The board or the module as a whole, or a line of it that has no part here; the signal's name says which.
    Board,
    /// All processors (CPU cores) together.
    Processors,
    /// One processor, by the kernel's number.
    Processor(u32),
    /// A GPU by NVML's number; `None` for a board's own.
    Gpu(Option<u32>),
    /// The memory of a GPU; numbered as for `Gpu`.
    GpuMemory(Option<u32>),
    /// A board's memory controller.
    MemoryController,
    /// A fixed-function engine: video, vision, the further clocks of a GPU; the signal's name says which.
    Engine,
    /// An over-current guard, by its number.
    Guard(u32),
    /// A program on the processors; the signal's name says which.
    Program,
    /// A program on a GPU.
    ProgramOnGpu(Option<u32>),
    /// jetlag itself, and its tenants' processes.
    Jetlag,
    /// A sampler of jetlag's; the signal's name says which.
    Sampler,
    /// Swap space on disk or in compressed memory.
    Swap,
}

/// Cooling devices of the kernel's that slow nothing down: fans, a screen's light, a setting of the firmware's, and a
/// Jetson's warning that its surface is too hot to touch (from 70 °C on; clocks are held down from 99 °C on).
const SLOWS_NOTHING: [&str; 8] = [
    "fan",
    "pwm",
    "lcd",
    "backlight",
    "video",
    "tcc",
    "iwlwifi",
    "hot-surface",
];

/// In the file: a part without a number.
const NO_NUMBER: u32 = u32::MAX;

impl Measurand {
    /// This quantity of this part.
    pub const fn new(quantity: Quantity, part: Part) -> Self {
        Measurand { quantity, part }
    }

    /// The state of a cooling device, by the type that the kernel gives it.
    pub fn of_cooling_device(kind: &str) -> Self {
        let lower = kind.to_ascii_lowercase();
        let quantity = match SLOWS_NOTHING.iter().any(|word| lower.contains(word)) {
            true => Quantity::Cooling,
            false => Quantity::Slowdown,
        };
        Measurand::new(quantity, Part::Board)
    }

    /// The temperature of a zone, by the name that the kernel or tegrastats gives it.
    pub fn of_zone(name: &str) -> Self {
        let part = match name.to_ascii_lowercase().contains("gpu") {
            true => Part::Gpu(None),
            false => Part::Board,
        };
        Measurand::new(Quantity::Temperature, part)
    }

    /// What a signal that nobody described measures, by the names that jetlag gives its signals.
    pub fn of_names(source: &str, signal: &str, unit: &str) -> Self {
        let (quantity, part) = match source {
            "processes" => (Quantity::Load, Part::Program),
            "samplers" => (Quantity::Load, Part::Sampler),
            "host" if signal == "own_cpu_load" => (Quantity::Load, Part::Jetlag),
            "host" if signal == "own_memory" => (Quantity::MemoryUsed, Part::Jetlag),
            "tegrastats" if signal == "process_load" => (Quantity::Load, Part::Sampler),
            _ => {
                let meant = of_signal(signal, unit);
                return match meant.quantity.is_in(unit) {
                    true => meant,
                    false => Measurand::default(),
                };
            }
        };
        Measurand::new(quantity, part)
    }
}

/// What a signal of any other source measures.
fn of_signal(signal: &str, unit: &str) -> Measurand {
    if let Some((number, rest)) = numbered(signal, "gpu")
        && let Some(meant) = of_gpu(number, rest, unit)
    {
        return meant;
    }
    if let Some((Some(number), rest)) = numbered(signal, "cpu") {
        let quantity = match rest {
            "load" => Some(Quantity::Load),
            "frequency" => Some(Quantity::Clock),
            "online" => Some(Quantity::On),
            _ => None,
        };
        if let Some(quantity) = quantity {
            return Measurand::new(quantity, Part::Processor(number));
        }
    }
    let (quantity, part) = match (signal, unit) {
        ("cpu_load", _) => (Quantity::Load, Part::Processors),
        ("memory_used", _) => (Quantity::MemoryUsed, Part::Board),
        ("memory_available", _) => (Quantity::MemoryAvailable, Part::Board),
        ("memory_total", _) => (Quantity::MemoryTotal, Part::Board),
        ("swap_used", _) => (Quantity::MemoryUsed, Part::Swap),
        ("emc_frequency", _) => (Quantity::Clock, Part::MemoryController),
        ("emc_load", _) => (Quantity::Load, Part::MemoryController),
        ("power_mode", _) => (Quantity::PowerMode, Part::Board),
        (_, "mw") => (Quantity::Power, Part::Board),
        (_, "mj") => (Quantity::Energy, Part::Board),
        (_, "c") => return Measurand::of_zone(signal),
        (_, "rpm") => (Quantity::FanSpeed, Part::Board),
        (_, "state") => {
            return Measurand::of_cooling_device(signal.strip_suffix("_cooling").unwrap_or(signal));
        }
        _ => return of_shape(signal, unit),
    };
    Measurand::new(quantity, part)
}

/// What is known by how its name begins or ends.
fn of_shape(signal: &str, unit: &str) -> Measurand {
    let ends = |with: &str| signal.ends_with(with);
    let (quantity, part) = if signal.starts_with("cpu_deep_idle_") {
        (Quantity::DeepIdle, Part::Processors)
    } else if signal.starts_with("cpu_idle_") {
        (Quantity::ShallowIdle, Part::Processors)
    } else if signal.starts_with("fan_drive") {
        (Quantity::FanDrive, Part::Board)
    } else if ends("throttle_reasons") {
        (Quantity::ThrottleReasons, Part::Gpu(None))
    } else if ends("_over_current") {
        (Quantity::OverCurrent, Part::Board)
    } else if let Some(number) = signal
        .strip_prefix("oc")
        .and_then(|rest| rest.strip_suffix("_events"))
        .and_then(|number| number.parse().ok())
    {
        (Quantity::OverCurrentEvents, Part::Guard(number))
    } else if unit == "mhz" {
        (Quantity::Clock, Part::Engine)
    } else if ends("_load") {
        (Quantity::Load, Part::Engine)
    } else if ends("_on") {
        (Quantity::On, Part::Engine)
    } else {
        (Quantity::Unknown, Part::Unknown)
    };
    Measurand::new(quantity, part)
}

/// `gpu0_sm_frequency` of NVML, `gpu_frequency` of a board, `gpu0_process_17_load` of a program; nothing of a zone or a
/// cooling device whose name begins so.
fn of_gpu(number: Option<u32>, rest: &str, unit: &str) -> Option<Measurand> {
    let (gpu, memory) = (Part::Gpu(number), Part::GpuMemory(number));
    let (quantity, part) = match rest {
        "power_limit" => (Quantity::PowerLimit, gpu),
        "load" => (Quantity::Load, gpu),
        "memory_load" => (Quantity::Load, memory),
        "encoder_load" | "decoder_load" => (Quantity::Load, Part::Engine),
        "frequency" | "sm_frequency" => (Quantity::Clock, gpu),
        "memory_frequency" => (Quantity::Clock, memory),
        "memory_used" => (Quantity::MemoryUsed, memory),
        "temperature" => (Quantity::Temperature, gpu),
        "throttle_reasons" => (Quantity::ThrottleReasons, gpu),
        "energy" => (Quantity::Energy, gpu),
        "pcie_sent" => (Quantity::BusSent, gpu),
        "pcie_received" => (Quantity::BusReceived, gpu),
        "clock_residual" => (Quantity::ClockResidual, gpu),
        _ if rest.starts_with("process_") && unit == "bytes" => {
            (Quantity::MemoryUsed, Part::ProgramOnGpu(number))
        }
        _ if rest.starts_with("process_") => (Quantity::Load, Part::ProgramOnGpu(number)),
        _ if unit == "mw" => (Quantity::Power, gpu),
        _ if unit == "c" => (Quantity::Temperature, gpu),
        _ => return None,
    };
    Some(Measurand::new(quantity, part))
}

/// `(Some(1), "load")` of `gpu1_load`, `(None, "load")` of `gpu_load`; nothing of `gpubatt`.
fn numbered<'s>(signal: &'s str, prefix: &str) -> Option<(Option<u32>, &'s str)> {
    let (number, rest) = signal.strip_prefix(prefix)?.split_once('_')?;
    match number {
        "" => Some((None, rest)),
        digits => Some((Some(digits.parse().ok()?), rest)),
    }
}

impl Quantity {
    /// All of them, by their numbers.
    pub const ALL: [Quantity; 26] = [
        Quantity::Unknown,
        Quantity::Power,
        Quantity::PowerLimit,
        Quantity::Energy,
        Quantity::Voltage,
        Quantity::Current,
        Quantity::Clock,
        Quantity::Load,
        Quantity::ShallowIdle,
        Quantity::DeepIdle,
        Quantity::Temperature,
        Quantity::FanDrive,
        Quantity::FanSpeed,
        Quantity::ThrottleReasons,
        Quantity::Slowdown,
        Quantity::Cooling,
        Quantity::OverCurrent,
        Quantity::OverCurrentEvents,
        Quantity::PowerMode,
        Quantity::MemoryUsed,
        Quantity::MemoryAvailable,
        Quantity::MemoryTotal,
        Quantity::On,
        Quantity::BusSent,
        Quantity::BusReceived,
        Quantity::ClockResidual,
    ];

    /// Whether jetlag's own signals of this quantity have this unit, where they all have one.
    fn is_in(self, unit: &str) -> bool {
        let own = match self {
            Quantity::Clock => "mhz",
            Quantity::ThrottleReasons => "bits",
            Quantity::OverCurrentEvents => "count",
            _ => unit,
        };
        unit == own
    }

    /// The one of this number; of a later version's, unknown.
    pub(crate) fn of_number(number: u8) -> Self {
        Quantity::ALL
            .get(usize::from(number))
            .copied()
            .unwrap_or_default()
    }
}

impl Part {
    /// As the file has it: the kind, and the number that it has within that.
    pub(crate) fn numbers(self) -> (u8, u32) {
        let or_none = |number: Option<u32>| number.unwrap_or(NO_NUMBER);
        match self {
            Part::Unknown => (0, NO_NUMBER),
            Part::Board => (1, NO_NUMBER),
            Part::Processors => (2, NO_NUMBER),
            Part::Processor(number) => (3, number),
            Part::Gpu(number) => (4, or_none(number)),
            Part::GpuMemory(number) => (5, or_none(number)),
            Part::MemoryController => (6, NO_NUMBER),
            Part::Engine => (7, NO_NUMBER),
            Part::Guard(number) => (8, number),
            Part::Program => (9, NO_NUMBER),
            Part::ProgramOnGpu(number) => (10, or_none(number)),
            Part::Jetlag => (11, NO_NUMBER),
            Part::Sampler => (12, NO_NUMBER),
            Part::Swap => (13, NO_NUMBER),
        }
    }

    /// The inverse; unknown for a later version's.
    pub(crate) fn of_numbers(kind: u8, number: u32) -> Self {
        let some = (number != NO_NUMBER).then_some(number);
        match kind {
            1 => Part::Board,
            2 => Part::Processors,
            3 => Part::Processor(number),
            4 => Part::Gpu(some),
            5 => Part::GpuMemory(some),
            6 => Part::MemoryController,
            7 => Part::Engine,
            8 => Part::Guard(number),
            9 => Part::Program,
            10 => Part::ProgramOnGpu(some),
            11 => Part::Jetlag,
            12 => Part::Sampler,
            13 => Part::Swap,
            _ => Part::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_earlier_files_tell_what_they_measured() {
        use Part::*;
        use Quantity::*;
        for (source, signal, unit, quantity, part) in [
            ("host", "cpu_load", "percent", Load, Processors),
            ("host", "cpu11_load", "percent", Load, Processor(11)),
            ("host", "cpu3_frequency", "mhz", Clock, Processor(3)),
            ("host", "cpu3_online", "flag", On, Processor(3)),
            ("host", "cpu_idle_POLL", "percent", ShallowIdle, Processors),
            ("host", "cpu_deep_idle_C6", "percent", DeepIdle, Processors),
            ("host", "own_cpu_load", "percent", Load, Jetlag),
            ("host", "own_memory", "bytes", MemoryUsed, Jetlag),
            ("host", "memory_used", "bytes", MemoryUsed, Board),
            ("host", "memory_available", "bytes", MemoryAvailable, Board),
            ("tegrastats", "memory_total", "bytes", MemoryTotal, Board),
            ("tegrastats", "swap_used", "bytes", MemoryUsed, Swap),
            ("tegrastats", "process_load", "percent", Load, Sampler),
            ("tegrastats", "gpu_2_frequency_1", "mhz", Clock, Engine),
            ("tegrastats", "nvdec_on", "flag", On, Engine),
            ("tegrastats", "nvdec_load", "percent", Load, Engine),
            ("tegrastats", "vic_frequency", "mhz", Clock, Engine),
            ("tegrastats", "gpu_temperature", "c", Temperature, Gpu(None)),
            ("tegrastats", "cpu_temperature", "c", Temperature, Board),
            ("tegrastats", "VDD_GPU_SOC", "mw", Power, Board),
            ("thermal", "GPU", "c", Temperature, Gpu(None)),
            ("thermal", "tj", "c", Temperature, Board),
            ("thermal", "cpufreq-cpu0_cooling", "state", Slowdown, Board),
            ("thermal", "pwm-fan_cooling", "state", Cooling, Board),
            ("thermal", "hot-surface-alert_cooling", "state", Cooling, Board),
            ("thermal", "gpu_cooling", "state", Slowdown, Board),
            ("thermal", "cpu0_cooling", "state", Slowdown, Board),
            ("thermal", "cpu0_thermal", "c", Temperature, Board),
            ("soctherm_oc", "oc3_events", "count", OverCurrentEvents, Guard(3)),
            ("ina3221", "VDD_IN_over_current", "flag", OverCurrent, Board),
            ("ina3221", "VDD_IN", "mw", Power, Board),
            ("rapl", "package-0_energy", "mj", Energy, Board),
            ("gpu", "gpu_load", "percent", Load, Gpu(None)),
            ("gpu", "gpu_frequency", "mhz", Clock, Gpu(None)),
            ("gpu", "gpu-nvd-0_frequency", "mhz", Clock, Engine),
            ("gpu", "gpu0_clock_residual", "ns", ClockResidual, Gpu(Some(0))),
            ("nvml", "gpu0_power_instant", "mw", Power, Gpu(Some(0))),
            ("nvml", "gpu0_power_limit", "mw", PowerLimit, Gpu(Some(0))),
            ("nvml", "gpu1_energy", "mj", Energy, Gpu(Some(1))),
            ("nvml", "gpu1_sm_frequency", "mhz", Clock, Gpu(Some(1))),
            ("nvml", "gpu1_memory_frequency", "mhz", Clock, GpuMemory(Some(1))),
            ("nvml", "gpu1_memory_load", "percent", Load, GpuMemory(Some(1))),
            (
                "nvml",
                "gpu1_memory_used",
                "bytes",
                MemoryUsed,
                GpuMemory(Some(1)),
            ),
            (
                "nvml",
                "gpu1_throttle_reasons",
                "bits",
                ThrottleReasons,
                Gpu(Some(1)),
            ),
            ("nvml", "gpu1_encoder_load", "percent", Load, Engine),
            ("nvml", "gpu0_pcie_sent", "kb_s", BusSent, Gpu(Some(0))),
            (
                "nvml",
                "gpu0_process_17_load",
                "percent",
                Load,
                ProgramOnGpu(Some(0)),
            ),
            (
                "nvml",
                "gpu0_process_17_memory",
                "bytes",
                MemoryUsed,
                ProgramOnGpu(Some(0)),
            ),
            ("emc", "emc_frequency", "mhz", Clock, MemoryController),
            ("emc", "emc_load", "percent", Load, MemoryController),
            ("fan", "fan_drive_2", "percent", FanDrive, Board),
            ("fan", "pwm_tach_fan_speed", "rpm", FanSpeed, Board),
            ("nvpmodel", "power_mode", "id", PowerMode, Board),
            ("processes", "cc1plus", "percent", Load, Program),
            ("samplers", "all_cost", "percent", Load, Sampler),
            (
                "somebody",
                "cpu0_frequency",
                "hz",
                Quantity::Unknown,
                Part::Unknown,
            ),
            (
                "somebody",
                "gpu0_throttle_reasons",
                "count",
                Quantity::Unknown,
                Part::Unknown,
            ),
            (
                "somebody",
                "something",
                "furlongs",
                Quantity::Unknown,
                Part::Unknown,
            ),
        ] {
            let wanted = Measurand::new(quantity, part);
            assert_eq!(
                Measurand::of_names(source, signal, unit),
                wanted,
                "{source} {signal} {unit}"
            );
        }
    }

    #[test]
    fn what_the_file_has_is_read_back() {
        for (number, quantity) in Quantity::ALL.into_iter().enumerate() {
            assert_eq!(quantity as usize, number);
            assert_eq!(Quantity::of_number(quantity as u8), quantity);
        }
        assert_eq!(Quantity::of_number(200), Quantity::Unknown);
        let mut parts = 0;
        for kind in 0..=u8::MAX {
            for number in [0, 7, NO_NUMBER] {
                let part = Part::of_numbers(kind, number);
                let (again, its_number) = part.numbers();
                assert_eq!(Part::of_numbers(again, its_number), part);
                parts += u32::from(part != Part::Unknown);
            }
        }
        assert_eq!(parts, 13 * 3);
    }
}
