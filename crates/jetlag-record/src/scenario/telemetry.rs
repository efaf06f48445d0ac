//! What is sampled beside the tenants.

use serde::{Deserialize, Serialize};

use crate::units::Nanos;
use crate::{fields, words};

fields! {
    /// Sampling beside the tenants.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Telemetry: "Telemetry", "fields in parentheses, such as (interval: \"100ms\")" {
        /// Time between two readings, where a sensor allows it.
        pub interval: Nanos = Nanos::from_millis(100),
            if |interval| (Nanos::from_millis(1)..=Nanos::from_secs(3600)).contains(interval) => "from 1ms to 1h";
        /// What is sampled; where it is not said, all that the machine has (tegrastats only where nothing
        /// else tells a Jetson's power).
        #[serde(default)]
        pub sources: Option<Vec<TelemetrySource>> = None;
    }
}

words! {
    TelemetrySource: "source of samples", "a list of sources, such as [Rails, Nvml, Thermal]";
}

/// Where samples come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TelemetrySource {
    /// Processor load, clocks, on and off; memory; jetlag's own share.
    Host,
    /// Which programs use the processors.
    Processes,
    /// Power rails: the INA3221 and INA238 chips of Jetson boards.
    Rails,
    /// Temperatures and cooling devices.
    Thermal,
    /// A Jetson's GPU: load and clock.
    Gpu,
    /// A Jetson's memory controller: clock and activity.
    Emc,
    /// Speeds of the fans.
    Fan,
    /// The power mode of a Jetson.
    PowerMode,
    /// NVIDIA's management library: power, energy, clocks, load and limits of a GPU.
    Nvml,
    /// The energy counters of Intel's and AMD's processors.
    Rapl,
    /// NVIDIA's program of that name, as a process of its own.
    Tegrastats,
}

impl TelemetrySource {
    /// All of them, in the order in which they are looked for.
    pub const ALL: [TelemetrySource; 11] = [
        TelemetrySource::Host,
        TelemetrySource::Processes,
        TelemetrySource::Rails,
        TelemetrySource::Thermal,
        TelemetrySource::Gpu,
        TelemetrySource::Emc,
        TelemetrySource::Fan,
        TelemetrySource::PowerMode,
        TelemetrySource::Nvml,
        TelemetrySource::Rapl,
        TelemetrySource::Tegrastats,
    ];
}
